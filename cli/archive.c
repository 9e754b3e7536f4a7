/* Parameters to and from .npz. */
#include "archive.h"

#include "formats/formats.h"

#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MEMBERS_MOST = 2 * BPCN_MAX_LAYERS + 16, NAME_MOST = 32 };

/* The members of an archive being made; every array is owned here. */
struct packing {
    fmt_member member[MEMBERS_MOST];
    void *data[MEMBERS_MOST];
    char name[MEMBERS_MOST][NAME_MOST];
    size_t count;
};

static void packing_free(struct packing *p)
{
    for (size_t i = 0; i < p->count; i++)
        free(p->data[i]);
    free(p);
}

/* Room for a member of up to three axes (0: no such axis); NULL when there is none. */
static void *add_member(struct packing *p, const char *name, int layer, fmt_type type, size_t a, size_t b, size_t c)
{
    size_t shape[3] = {a, b, c}, count = 1, ndim = 0, i = p->count;
    for (; ndim < 3 && shape[ndim] > 0; ndim++) {
        if (shape[ndim] > SIZE_MAX / 16 / count)
            return NULL;
        count *= shape[ndim];
    }
    p->data[i] = calloc(count, type == FMT_U8 ? 1 : type == FMT_F32 ? sizeof(float) : sizeof(double));
    if (p->data[i] == NULL)
        return NULL;
    if (layer < 0)
        snprintf(p->name[i], NAME_MOST, "%s", name);
    else
        snprintf(p->name[i], NAME_MOST, "%s%d", name, layer);
    p->member[i] = (fmt_member){.name = p->name[i], .type = type, .ndim = ndim, .data = p->data[i]};
    memcpy(p->member[i].shape, shape, ndim * sizeof *shape);
    p->count++;
    return p->data[i];
}

static int add_number(struct packing *p, const char *name, double value)
{
    double *data = add_member(p, name, -1, FMT_F64, 0, 0, 0);
    if (data != NULL)
        *data = value;
    return data == NULL ? -1 : 0;
}

static int pack_options(struct packing *p, const bpcn_options *o)
{
    int failed = add_number(p, "dim", (double)o->dim) || add_number(p, "activation", (double)o->activation) ||
                 add_number(p, "precision", (double)o->precision) || add_number(p, "particles", (double)o->particles) ||
                 add_number(p, "sigma_w", o->sigma_w) || add_number(p, "sigma_x", o->sigma_x) ||
                 add_number(p, "sigma_data", o->sigma_data);
    double *seed = failed ? NULL : add_member(p, "seed", -1, FMT_F64, 2, 0, 0);
    if (seed == NULL)
        return -1;
    seed[0] = (double)(o->seed >> 32);
    seed[1] = (double)(o->seed & 0xFFFFFFFFu);
    double *hidden = o->layers ? add_member(p, "hidden", -1, FMT_F64, o->layers, 0, 0) : NULL;
    for (size_t l = 0; hidden != NULL && l < o->layers; l++)
        hidden[l] = (double)o->hidden[l];
    return o->layers > 0 && hidden == NULL ? -1 : 0;
}

/* float32 memories keep their means as float32, which loses nothing. */
static int pack_layer(struct packing *p, const bpcn_memory *memory, const bpcn_options *o, size_t l)
{
    size_t above = o->hidden[l], below = l ? o->hidden[l - 1] : o->dim, n = o->particles;
    fmt_type type = o->precision == BPCN_FLOAT64 ? FMT_F64 : FMT_F32;
    void *means = add_member(p, "mean", (int)l, type, n, above, below);
    double *covs = means ? add_member(p, "cov", (int)l, FMT_F64, n, above, above) : NULL;
    double *mean = covs ? calloc(above * below, sizeof *mean) : NULL;
    int failed = mean == NULL;
    for (size_t k = 0; k < n && !failed; k++) {
        failed = bpcn_memory_get_layer(memory, 0, k, l, mean, covs + k * above * above) != BPCN_OK;
        for (size_t j = 0; j < above * below; j++)
            if (type == FMT_F64)
                ((double *)means)[k * above * below + j] = mean[j];
            else
                ((float *)means)[k * above * below + j] = (float)mean[j];
    }
    free(mean);
    return failed;
}

static int pack_rest(struct packing *p, const bpcn_memory *memory, const bpcn_options *o, const char *fields)
{
    size_t width = o->layers ? o->hidden[o->layers - 1] : o->dim, n = o->particles, length = strlen(fields);
    double *weights = add_member(p, "weights", -1, FMT_F64, n, 0, 0);
    double *mean = weights ? add_member(p, "top_mean", -1, FMT_F64, n, width, 0) : NULL;
    double *variance = mean ? add_member(p, "top_variance", -1, FMT_F64, n, 0, 0) : NULL;
    char *text = variance && length > 0 ? add_member(p, "fields", -1, FMT_U8, length, 0, 0) : NULL;
    int failed = variance == NULL || (length > 0 && text == NULL) || bpcn_memory_get_weights(memory, 0, weights);
    for (size_t k = 0; k < n && !failed; k++)
        failed = bpcn_memory_get_top(memory, 0, k, mean + k * width, &variance[k]) != BPCN_OK;
    if (!failed && text != NULL)
        memcpy(text, fields, length);
    return failed;
}

int archive_save(const struct say *say, const char *path, const bpcn_memory *memory, const char *fields)
{
    bpcn_options o = {.size = sizeof o};
    fmt_error error = {"out of memory"};
    struct packing *p = calloc(1, sizeof *p);
    int failed = p == NULL || bpcn_memory_get_options(memory, &o) != BPCN_OK || pack_options(p, &o);
    for (size_t l = 0; !failed && l < o.layers; l++)
        failed = pack_layer(p, memory, &o, l);
    failed =
        failed || pack_rest(p, memory, &o, fields) || fmt_write_npz(path, p->member, p->count, false, &error) != FMT_OK;
    if (p != NULL)
        packing_free(p);
    return failed ? say_error(say, "%s", error.message) : EXIT_DONE;
}

/* ---- and back */

struct unpacking {
    const struct say *say;
    const char *path;
};

static int wrong(const struct unpacking *u, const char *member, const char *why)
{
    return say_error(u->say, "%s: %s: %s", u->path, member, why);
}

static int read_member(const struct unpacking *u, const char *name, size_t count, fmt_array *array)
{
    fmt_error error;
    if (fmt_npz_read_f64(u->path, name, array, &error) != FMT_OK)
        return say_error(u->say, "%s", error.message);
    if (count > 0 && array->count != count) {
        int status = say_error(u->say, "%s: %s: %zu values, but %zu are wanted", u->path, name, array->count, count);
        fmt_array_free(array);
        return status;
    }
    return 0;
}

static int read_number(const struct unpacking *u, const char *name, double *value)
{
    fmt_array a;
    if (read_member(u, name, 1, &a) != 0)
        return EXIT_FAILED;
    *value = a.data[0];
    fmt_array_free(&a);
    return isfinite(*value) ? 0 : wrong(u, name, "not a finite number");
}

static int read_size(const struct unpacking *u, const char *name, double most, size_t *value)
{
    double number;
    if (read_number(u, name, &number) != 0)
        return EXIT_FAILED;
    if (!(number >= 0 && number <= most) || number != floor(number))
        return wrong(u, name, "not a whole number within its range");
    *value = (size_t)number;
    return 0;
}

static int read_hidden(const struct unpacking *u, bpcn_options *o)
{
    fmt_names names = {0};
    fmt_array a;
    fmt_error error;
    bool there = false;
    if (fmt_npz_list(u->path, &names, &error) != FMT_OK)
        return say_error(u->say, "%s", error.message);
    for (size_t i = 0; i < names.count; i++)
        there = there || strcmp(names.name[i], "hidden") == 0;
    fmt_names_free(&names);
    o->layers = 0;
    if (!there)
        return 0;
    if (read_member(u, "hidden", 0, &a) != 0)
        return EXIT_FAILED;
    int failed = a.count > BPCN_MAX_LAYERS;
    for (size_t l = 0; l < a.count && !failed; l++) {
        failed = !(a.data[l] >= 1 && a.data[l] <= BPCN_MAX_WIDTH) || a.data[l] != floor(a.data[l]);
        o->hidden[l] = failed ? 0 : (size_t)a.data[l];
    }
    o->layers = a.count;
    fmt_array_free(&a);
    return failed ? wrong(u, "hidden", "not the widths of hidden layers") : 0;
}

static int read_options(const struct unpacking *u, bpcn_options *o)
{
    size_t activation, precision;
    fmt_array seed;
    bpcn_options_default(o, sizeof *o);
    if (read_size(u, "dim", BPCN_MAX_WIDTH, &o->dim) || read_size(u, "activation", INT_MAX, &activation) ||
        read_size(u, "precision", BPCN_FLOAT64, &precision) ||
        read_size(u, "particles", BPCN_MAX_PARTICLES, &o->particles) || read_number(u, "sigma_w", &o->sigma_w) ||
        read_number(u, "sigma_x", &o->sigma_x) || read_number(u, "sigma_data", &o->sigma_data) || read_hidden(u, o) ||
        read_member(u, "seed", 2, &seed))
        return EXIT_FAILED;
    o->activation = (bpcn_activation)activation;
    o->precision = (bpcn_precision)precision;
    int failed =
        !(seed.data[0] >= 0 && seed.data[0] < 4294967296.0 && seed.data[1] >= 0 && seed.data[1] < 4294967296.0);
    o->seed = failed ? 0 : (uint64_t)seed.data[0] << 32 | (uint64_t)seed.data[1];
    fmt_array_free(&seed);
    return failed ? wrong(u, "seed", "not two 32-bit numbers") : 0;
}

static int read_layer(const struct unpacking *u, const bpcn_options *o, size_t l, bpcn_memory *memory)
{
    size_t above = o->hidden[l], below = l ? o->hidden[l - 1] : o->dim, n = o->particles;
    char mean_name[NAME_MOST], cov_name[NAME_MOST];
    fmt_array mean, cov;
    snprintf(mean_name, sizeof mean_name, "mean%zu", l);
    snprintf(cov_name, sizeof cov_name, "cov%zu", l);
    if (read_member(u, mean_name, n * above * below, &mean) != 0)
        return EXIT_FAILED;
    if (read_member(u, cov_name, n * above * above, &cov) != 0) {
        fmt_array_free(&mean);
        return EXIT_FAILED;
    }
    int failed = 0;
    for (size_t k = 0; k < n && !failed; k++)
        if (bpcn_memory_set_layer(memory, 0, k, l, mean.data + k * above * below, cov.data + k * above * above))
            failed = say_error(u->say, "%s: layer %zu of particle %zu: %s", u->path, l, k, bpcn_error());
    fmt_array_free(&mean);
    fmt_array_free(&cov);
    return failed;
}

static int read_rest(const struct unpacking *u, const bpcn_options *o, bpcn_memory *memory)
{
    size_t width = o->layers ? o->hidden[o->layers - 1] : o->dim, n = o->particles;
    fmt_array mean = {0}, variance = {0}, weights = {0};
    int failed = read_member(u, "top_mean", n * width, &mean) || read_member(u, "top_variance", n, &variance) ||
                 read_member(u, "weights", n, &weights);
    for (size_t k = 0; k < n && !failed; k++)
        if (bpcn_memory_set_top(memory, 0, k, mean.data + k * width, variance.data[k]) != BPCN_OK)
            failed = say_error(u->say, "%s: top of particle %zu: %s", u->path, k, bpcn_error());
    if (!failed && bpcn_memory_set_weights(memory, 0, weights.data) != BPCN_OK)
        failed = say_error(u->say, "%s: weights: %s", u->path, bpcn_error());
    fmt_array_free(&mean);
    fmt_array_free(&variance);
    fmt_array_free(&weights);
    return failed;
}

/* The description of the fields is optional: an archive may come from elsewhere. */
static void read_fields(const struct unpacking *u, char *fields, size_t room)
{
    fmt_array a;
    fields[0] = '\0';
    if (fmt_npz_read_f64(u->path, "fields", &a, NULL) != FMT_OK)
        return;
    for (size_t i = 0; i < a.count && i + 1 < room; i++) {
        fields[i] = a.data[i] >= 32 && a.data[i] < 127 ? (char)a.data[i] : '?';
        fields[i + 1] = '\0';
    }
    fmt_array_free(&a);
}

int archive_load(const struct say *say, const char *path, bpcn_memory **memory, char *fields, size_t room)
{
    struct unpacking u = {say, path};
    bpcn_options o;
    *memory = NULL;
    int failed = read_options(&u, &o);
    if (!failed && bpcn_memory_create(&o, memory) != BPCN_OK)
        failed = say_error(say, "%s: %s", path, bpcn_error());
    for (size_t l = 0; !failed && l < o.layers; l++)
        failed = read_layer(&u, &o, l, *memory);
    failed = failed || read_rest(&u, &o, *memory);
    if (!failed)
        read_fields(&u, fields, room);
    if (failed) {
        bpcn_memory_free(*memory);
        *memory = NULL;
    }
    return failed;
}
