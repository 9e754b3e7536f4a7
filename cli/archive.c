/* bpcn export and import: a memory's parameters as a NumPy archive.
 *
 *   dim hidden activation precision particles sigma_w sigma_x sigma_data seed    its options; seed
 *                            as [high, low] 32-bit halves, which a float64 holds exactly
 *   weights [N]              of the particles
 *   meanL   [N, above, below]    layer L, predicting `below` entries from the `above` ones over it
 *   covL    [N, above, above]    row covariance of layer L
 *   top_mean [N, width]  top_variance [N]
 *   fields  [bytes]          what a row is, as text: image:28x28,label:10, or the lines of a table's schema
 *   shards shard_rows when_full  more options; rows [begun] of every shard that has begun, open_shard: begun last
 *
 * Weights, layers and top are those of shard 0; shardK.weights, shardK.mean0, ... those of the others.
 */
#include "args.h"
#include "formats/formats.h"
#include "memory_file.h"

#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

enum { NAME_MOST = 64 };

/* An array and its name, both owned here. */
struct packed {
    void *data;
    char name[NAME_MOST];
};

/* The members collected for a new archive. */
struct packing {
    struct packed *packed; /* [capacity] */
    fmt_member *member;    /* [capacity] */
    size_t count, capacity;
};

static void packing_free(struct packing *p)
{
    for (size_t i = 0; i < p->count; i++)
        free(p->packed[i].data);
    free(p->packed);
    free(p->member);
}

/* Options, fields, counts, and the layers, top and weights of every shard. */
static int packing_create(struct packing *p, size_t layers, size_t shards)
{
    *p = (struct packing){.capacity = 20 + shards * (2 * layers + 3)};
    p->packed = calloc(p->capacity, sizeof *p->packed);
    p->member = calloc(p->capacity, sizeof *p->member);
    return p->packed == NULL || p->member == NULL ? -1 : 0;
}

/* "mean0" for shard 0, "shard1.mean0" for shard 1; layer < 0 leaves the number out. */
static void member_name(char *out, size_t shard, const char *name, int layer)
{
    char before[24] = "", after[16] = "";
    if (shard > 0)
        snprintf(before, sizeof before, "shard%zu.", shard % (2 * (size_t)BPCN_MAX_SHARDS));
    if (layer >= 0)
        snprintf(after, sizeof after, "%d", layer);
    snprintf(out, NAME_MOST, "%s%.16s%s", before, name, after);
}

/* A new member with up to three axes (0: no such axis); NULL when out of memory. */
static void *add_member(struct packing *p, size_t shard, const char *name, int layer, fmt_type type, size_t a, size_t b,
                        size_t c)
{
    size_t shape[3] = {a, b, c}, count = 1, ndim = 0;
    struct packed *own = &p->packed[p->count];
    for (; ndim < 3 && shape[ndim] > 0; ndim++) {
        if (shape[ndim] > SIZE_MAX / 16 / count)
            return NULL;
        count *= shape[ndim];
    }
    if (p->count == p->capacity)
        return NULL;
    own->data = calloc(count, type == FMT_U8 ? 1 : type == FMT_F32 ? sizeof(float) : sizeof(double));
    if (own->data == NULL)
        return NULL;
    member_name(own->name, shard, name, layer);
    fmt_member *member = &p->member[p->count++];
    *member = (fmt_member){.name = own->name, .type = type, .ndim = ndim, .data = own->data};
    memcpy(member->shape, shape, ndim * sizeof *shape);
    return own->data;
}

static int add_number(struct packing *p, const char *name, double value)
{
    double *data = add_member(p, 0, name, -1, FMT_F64, 0, 0, 0);
    if (data != NULL)
        *data = value;
    return data == NULL ? -1 : 0;
}

static int pack_options(struct packing *p, const bpcn_options *o)
{
    int failed = add_number(p, "dim", (double)o->dim) || add_number(p, "activation", (double)o->activation) ||
                 add_number(p, "precision", (double)o->precision) || add_number(p, "particles", (double)o->particles) ||
                 add_number(p, "sigma_w", o->sigma_w) || add_number(p, "sigma_x", o->sigma_x) ||
                 add_number(p, "sigma_data", o->sigma_data) || add_number(p, "shards", (double)o->shards) ||
                 add_number(p, "shard_rows", (double)o->shard_rows) ||
                 add_number(p, "when_full", (double)o->when_full);
    double *seed = failed ? NULL : add_member(p, 0, "seed", -1, FMT_F64, 2, 0, 0);
    if (seed == NULL)
        return -1;
    seed[0] = (double)(o->seed >> 32);
    seed[1] = (double)(o->seed & 0xFFFFFFFFu);
    double *hidden = o->layers ? add_member(p, 0, "hidden", -1, FMT_F64, o->layers, 0, 0) : NULL;
    for (size_t l = 0; hidden != NULL && l < o->layers; l++)
        hidden[l] = (double)o->hidden[l];
    return o->layers > 0 && hidden == NULL ? -1 : 0;
}

/* float32 memories keep their means as float32, which loses nothing. */
static int pack_layer(struct packing *p, const bpcn_memory *memory, const bpcn_options *o, size_t shard, size_t l)
{
    size_t above = o->hidden[l], below = l ? o->hidden[l - 1] : o->dim, n = o->particles;
    fmt_type type = o->precision == BPCN_FLOAT64 ? FMT_F64 : FMT_F32;
    void *means = add_member(p, shard, "mean", (int)l, type, n, above, below);
    double *covs = means ? add_member(p, shard, "cov", (int)l, FMT_F64, n, above, above) : NULL;
    double *mean = covs ? calloc(above * below, sizeof *mean) : NULL;
    int failed = mean == NULL;
    for (size_t k = 0; k < n && !failed; k++) {
        failed = bpcn_memory_get_layer(memory, shard, k, l, mean, covs + k * above * above) != BPCN_OK;
        for (size_t j = 0; j < above * below; j++)
            if (type == FMT_F64)
                ((double *)means)[k * above * below + j] = mean[j];
            else
                ((float *)means)[k * above * below + j] = (float)mean[j];
    }
    free(mean);
    return failed;
}

static int pack_shard(struct packing *p, const bpcn_memory *memory, const bpcn_options *o, size_t shard)
{
    size_t width = o->layers ? o->hidden[o->layers - 1] : o->dim, n = o->particles;
    int failed = 0;
    for (size_t l = 0; !failed && l < o->layers; l++)
        failed = pack_layer(p, memory, o, shard, l);
    double *weights = failed ? NULL : add_member(p, shard, "weights", -1, FMT_F64, n, 0, 0);
    double *mean = weights ? add_member(p, shard, "top_mean", -1, FMT_F64, n, width, 0) : NULL;
    double *variance = mean ? add_member(p, shard, "top_variance", -1, FMT_F64, n, 0, 0) : NULL;
    failed = variance == NULL || bpcn_memory_get_weights(memory, shard, weights) != BPCN_OK;
    for (size_t k = 0; k < n && !failed; k++)
        failed = bpcn_memory_get_top(memory, shard, k, mean + k * width, &variance[k]) != BPCN_OK;
    return failed;
}

/* The rows of every shard, and which is open. */
static int pack_counts(struct packing *p, const bpcn_memory *memory, const bpcn_stats *stats)
{
    size_t count = stats->shards;
    uint64_t *rows = calloc(count, sizeof *rows);
    double *out = add_member(p, 0, "rows", -1, FMT_F64, count, 0, 0);
    int failed = rows == NULL || out == NULL || bpcn_memory_get_shards(memory, rows, count, &count) != BPCN_OK;
    for (size_t k = 0; k < stats->shards && !failed; k++)
        out[k] = (double)rows[k];
    free(rows);
    return failed || add_number(p, "open_shard", (double)stats->open_shard);
}

/* Centre and scale, where entries have some. */
static int pack_scale(struct packing *p, const bpcn_memory *memory, const bpcn_options *o)
{
    size_t pairs;
    if (bpcn_memory_get_scale(memory, NULL, NULL, 0, &pairs, NULL) != BPCN_OK)
        return -1;
    double *centre = pairs > 0 ? add_member(p, 0, "centre", -1, FMT_F64, pairs, 0, 0) : NULL;
    double *scale = centre ? add_member(p, 0, "scale", -1, FMT_F64, pairs, 0, 0) : NULL;
    if (pairs > 0 && (scale == NULL || bpcn_memory_get_scale(memory, centre, scale, pairs, &pairs, NULL) != BPCN_OK))
        return -1;
    return add_number(p, "clip", (double)o->clip) || add_number(p, "far", o->far);
}

static int pack_fields(struct packing *p, const char *fields)
{
    size_t length = strlen(fields);
    char *text = length > 0 ? add_member(p, 0, "fields", -1, FMT_U8, length, 0, 0) : NULL;
    if (text != NULL)
        memcpy(text, fields, length);
    return length > 0 && text == NULL ? -1 : 0;
}

/* 0, or an exit status after a message. */
static int archive_save(const struct console *console, const char *path, const bpcn_memory *memory, const char *fields)
{
    bpcn_options o = {.size = sizeof o};
    bpcn_stats stats = {.size = sizeof stats};
    struct packing p = {0};
    bpcn_fail(BPCN_NO_MEMORY, "out of memory"); /* unless a call below sets another error */
    int failed = bpcn_memory_get_options(memory, &o) != BPCN_OK || bpcn_memory_get_stats(memory, &stats) != BPCN_OK ||
                 packing_create(&p, o.layers, stats.shards) || pack_options(&p, &o) ||
                 pack_counts(&p, memory, &stats) || pack_scale(&p, memory, &o) || pack_fields(&p, fields);
    for (size_t k = 0; !failed && k < stats.shards; k++)
        failed = pack_shard(&p, memory, &o, k);
    failed = failed || fmt_write_npz(path, p.member, p.count, false) != BPCN_OK;
    packing_free(&p);
    return failed ? console_error(console, "%s", bpcn_error()) : EXIT_DONE;
}

/* ---- and back */

struct unpacking {
    const struct console *console;
    const char *path;
};

static int wrong(const struct unpacking *u, const char *member, const char *why)
{
    return console_error(u->console, "%s: %s: %s", u->path, member, why);
}

static int archive_member(const struct unpacking *u, const char *name, size_t count, fmt_array *array)
{
    if (fmt_npz_read_f64(u->path, name, array) != BPCN_OK)
        return console_error(u->console, "%s", bpcn_error());
    if (count > 0 && array->count != count) {
        int status =
            console_error(u->console, "%s: %s: has %zu values instead of %zu", u->path, name, array->count, count);
        fmt_array_free(array);
        return status;
    }
    return 0;
}

static int read_number(const struct unpacking *u, const char *name, double *value)
{
    fmt_array a;
    if (archive_member(u, name, 1, &a) != 0)
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

static int has_member(const struct unpacking *u, const char *name, bool *there)
{
    fmt_names names = {0};
    if (fmt_npz_list(u->path, &names) != BPCN_OK)
        return console_error(u->console, "%s", bpcn_error());
    *there = false;
    for (size_t i = 0; i < names.count; i++)
        *there = *there || strcmp(names.name[i], name) == 0;
    fmt_names_free(&names);
    return 0;
}

static int read_hidden(const struct unpacking *u, bpcn_options *o)
{
    fmt_array a;
    bool there = false;
    if (has_member(u, "hidden", &there) != 0)
        return EXIT_FAILED;
    o->layers = 0;
    if (!there)
        return 0;
    if (archive_member(u, "hidden", 0, &a) != 0)
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

/* An archive without shards holds one. */
static int read_shards(const struct unpacking *u, bpcn_options *o)
{
    size_t when_full = 0;
    bool there = false;
    if (has_member(u, "shards", &there) != 0)
        return EXIT_FAILED;
    if (!there)
        return 0;
    int failed = read_size(u, "shards", BPCN_MAX_SHARDS, &o->shards) ||
                 read_size(u, "shard_rows", UINT32_MAX, &o->shard_rows) ||
                 read_size(u, "when_full", BPCN_REFUSE, &when_full);
    o->when_full = (bpcn_when_full)when_full;
    return failed;
}

/* Without centres entries are as given. */
static int read_scale_options(const struct unpacking *u, bpcn_options *o)
{
    bool there, limits;
    fmt_array centre;
    size_t clip = 0;
    if (has_member(u, "centre", &there) != 0 || has_member(u, "far", &limits) != 0)
        return EXIT_FAILED;
    o->scale = BPCN_SCALE_AS_GIVEN;
    if (limits && (read_size(u, "clip", 1, &clip) || read_number(u, "far", &o->far)))
        return EXIT_FAILED;
    o->clip = (int)clip;
    if (!there)
        return 0;
    if (archive_member(u, "centre", 0, &centre) != 0)
        return EXIT_FAILED;
    o->scale = centre.count == 1 ? BPCN_SCALE_AUTO : BPCN_SCALE_AUTO_EACH;
    fmt_array_free(&centre);
    return 0;
}

static int read_scale(const struct unpacking *u, const bpcn_options *o, bpcn_memory *memory)
{
    fmt_array centre, scale;
    size_t pairs = o->scale == BPCN_SCALE_AUTO ? 1 : o->dim;
    if (o->scale == BPCN_SCALE_AS_GIVEN)
        return 0;
    if (archive_member(u, "centre", pairs, &centre) != 0)
        return EXIT_FAILED;
    int failed = archive_member(u, "scale", pairs, &scale);
    if (!failed && bpcn_memory_set_scale(memory, centre.data, scale.data, pairs) != BPCN_OK)
        failed = wrong(u, "scale", bpcn_error());
    fmt_array_free(&centre);
    if (!failed)
        fmt_array_free(&scale);
    return failed;
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
        read_shards(u, o) || read_scale_options(u, o) || archive_member(u, "seed", 2, &seed))
        return EXIT_FAILED;
    o->activation = (bpcn_activation)activation;
    o->precision = (bpcn_precision)precision;
    int failed =
        !(seed.data[0] >= 0 && seed.data[0] < 4294967296.0 && seed.data[1] >= 0 && seed.data[1] < 4294967296.0);
    o->seed = failed ? 0 : (uint64_t)seed.data[0] << 32 | (uint64_t)seed.data[1];
    fmt_array_free(&seed);
    return failed ? wrong(u, "seed", "not two 32-bit numbers") : 0;
}

/* "shard 3, " for messages; "" of the first. */
static const char *in_shard(size_t shard, char *out)
{
    snprintf(out, NAME_MOST, "shard %zu, ", shard);
    return shard > 0 ? out : "";
}

static int read_layer(const struct unpacking *u, const bpcn_options *o, size_t shard, size_t l, bpcn_memory *memory)
{
    size_t above = o->hidden[l], below = l ? o->hidden[l - 1] : o->dim, n = o->particles;
    char mean_name[NAME_MOST], cov_name[NAME_MOST], where[NAME_MOST];
    fmt_array mean, cov;
    member_name(mean_name, shard, "mean", (int)l);
    member_name(cov_name, shard, "cov", (int)l);
    if (archive_member(u, mean_name, n * above * below, &mean) != 0)
        return EXIT_FAILED;
    if (archive_member(u, cov_name, n * above * above, &cov) != 0) {
        fmt_array_free(&mean);
        return EXIT_FAILED;
    }
    int failed = 0;
    for (size_t k = 0; k < n && !failed; k++)
        if (bpcn_memory_set_layer(memory, shard, k, l, mean.data + k * above * below, cov.data + k * above * above))
            failed = console_error(u->console, "%s: %slayer %zu of particle %zu: %s", u->path, in_shard(shard, where),
                                   l, k, bpcn_error());
    fmt_array_free(&mean);
    fmt_array_free(&cov);
    return failed;
}

static int read_shard(const struct unpacking *u, const bpcn_options *o, size_t shard, bpcn_memory *memory)
{
    size_t width = o->layers ? o->hidden[o->layers - 1] : o->dim, n = o->particles;
    char mean_name[NAME_MOST], variance_name[NAME_MOST], weights_name[NAME_MOST], where[NAME_MOST];
    fmt_array mean = {0}, variance = {0}, weights = {0};
    int failed = 0;
    for (size_t l = 0; !failed && l < o->layers; l++)
        failed = read_layer(u, o, shard, l, memory);
    member_name(mean_name, shard, "top_mean", -1);
    member_name(variance_name, shard, "top_variance", -1);
    member_name(weights_name, shard, "weights", -1);
    failed = failed || archive_member(u, mean_name, n * width, &mean) ||
             archive_member(u, variance_name, n, &variance) || archive_member(u, weights_name, n, &weights);
    for (size_t k = 0; k < n && !failed; k++)
        if (bpcn_memory_set_top(memory, shard, k, mean.data + k * width, variance.data[k]) != BPCN_OK)
            failed = console_error(u->console, "%s: %stop of particle %zu: %s", u->path, in_shard(shard, where), k,
                                   bpcn_error());
    if (!failed && bpcn_memory_set_weights(memory, shard, weights.data) != BPCN_OK)
        failed = console_error(u->console, "%s: %sweights: %s", u->path, in_shard(shard, where), bpcn_error());
    fmt_array_free(&mean);
    fmt_array_free(&variance);
    fmt_array_free(&weights);
    return failed;
}

/* ---- shards */

/* Begins the archive's shards and returns their number. A memory with a single unlimited shard needs none of this. */
static int begin_shards(const struct unpacking *u, const bpcn_options *o, bpcn_memory *memory, size_t *shards)
{
    fmt_array rows = {0};
    size_t open = 0;
    *shards = 1;
    if (o->shards == 1 && o->when_full == BPCN_BLUR)
        return 0;
    if (archive_member(u, "rows", 0, &rows) || read_size(u, "open_shard", BPCN_MAX_SHARDS, &open)) {
        fmt_array_free(&rows);
        return EXIT_FAILED;
    }
    uint64_t *counts = calloc(rows.count + 1, sizeof *counts);
    bool sane = counts != NULL;
    for (size_t k = 0; sane && k < rows.count; k++) {
        sane = rows.data[k] >= 0 && rows.data[k] <= 9e15 && rows.data[k] == floor(rows.data[k]);
        counts[k] = sane ? (uint64_t)rows.data[k] : 0;
    }
    int failed = 0;
    if (!sane)
        failed = wrong(u, "rows", "not numbers of rows");
    else if (bpcn_memory_set_shards(memory, counts, rows.count, open) != BPCN_OK)
        failed = console_error(u->console, "%s: rows: %s", u->path, bpcn_error());
    free(counts);
    *shards = rows.count;
    fmt_array_free(&rows);
    return failed;
}

/* The description of the fields is optional: an archive may come from elsewhere. */
static void read_fields(const struct unpacking *u, char *fields, size_t capacity)
{
    fmt_array a;
    fields[0] = '\0';
    if (fmt_npz_read_f64(u->path, "fields", &a) != BPCN_OK)
        return;
    for (size_t i = 0; i < a.count && i + 1 < capacity; i++) {
        bool text = a.data[i] == '\t' || a.data[i] == '\n' || (a.data[i] >= 32 && a.data[i] < 256);
        fields[i] = text ? (char)(unsigned char)a.data[i] : '?';
        fields[i + 1] = '\0';
    }
    fmt_array_free(&a);
}

/* Loads the memory, and its fields text ("" if the archive has none) into fields [capacity]. */
static int archive_load(const struct console *console, const char *path, bpcn_memory **memory, char *fields,
                        size_t capacity)
{
    struct unpacking u = {console, path};
    bpcn_options o;
    size_t shards = 0;
    *memory = NULL;
    int failed = read_options(&u, &o);
    if (!failed && bpcn_memory_create(&o, memory) != BPCN_OK)
        failed = console_error(console, "%s: %s", path, bpcn_error());
    if (!failed && bpcn_memory_get_options(*memory, &o) == BPCN_OK) /* with its defaults */
        failed = read_scale(&u, &o, *memory) || begin_shards(&u, &o, *memory, &shards);
    for (size_t k = 0; !failed && k < shards; k++)
        failed = read_shard(&u, &o, k, *memory);
    if (!failed)
        read_fields(&u, fields, capacity);
    if (failed) {
        bpcn_memory_free(*memory);
        *memory = NULL;
    }
    return failed;
}

/* ---- bpcn export, bpcn import: parameters to and from NumPy. */

static bool is_archive(const char *path)
{
    size_t length = strlen(path);
    return length >= 4 && strcasecmp(path + length - 4, ".npz") == 0;
}

int cmd_export(int argc, char **argv)
{
    struct args a;
    struct memory_file file;
    if (!args_only(&a, argc, argv, 2, 2))
        return a.status;
    const char *path = args_rest(&a)[1];
    if (!is_archive(path))
        return console_usage(&a.console, "%s: an export must be an .npz file", path);
    int status = memory_file_open(&a.console, args_rest(&a)[0], TO_LOOK, &file);
    if (status != 0)
        return status;
    char *schema = fmt_schema_format(&file.note.fields), *text = schema;
    if (schema != NULL && strncmp(schema, "fields=", 7) == 0) { /* the short form has no key */
        schema[strcspn(schema, "\n")] = '\0';
        text = schema + 7;
    }
    const bpcn_memory *memory = NULL;
    if (schema == NULL)
        console_error(&a.console, "out of memory");
    else if (file.options.kind == BPCN_TABLE)
        console_error(&a.console, "%s: a table's memory is not exported: copy its file", file.path);
    else
        memory = memory_file_memory(&file);
    status = memory ? archive_save(&a.console, path, memory, text) : EXIT_FAILED;
    free(schema);
    memory_file_close(&file);
    if (status == 0)
        console_print(&a.console, "%s: parameters of %s\n", path, args_rest(&a)[0]);
    return console_flush(&a.console, status);
}

static int adopt(const struct console *console, const char *from, const char *to, bool force)
{
    bpcn_memory *memory;
    bpcn_options o = {.size = sizeof o};
    fmt_schema fields;
    char text[NOTE_MOST], size[32];
    int status = archive_load(console, from, &memory, text, sizeof text);
    if (status != 0)
        return status;
    bpcn_memory_get_options(memory, &o);
    snprintf(size, sizeof size, "%zu", o.dim);
    bool lines = strncmp(text, "columns=", 8) == 0 || strncmp(text, "missing=", 8) == 0 ||
                 strncmp(text, "schema=", 7) == 0 || strncmp(text, "decimal=", 8) == 0;
    int failed = lines     ? fmt_schema_parse(text, &fields) != BPCN_OK
                 : text[0] ? fmt_schema_parse_fields(text, &fields) != BPCN_OK
                           : fields_parse_shape("row", size, &fields);
    if (failed || fields.dim != o.dim) {
        bpcn_memory_free(memory);
        status = console_error(console, "%s: fields: %s", from,
                               failed ? bpcn_error() : "they do not match the memory's number of entries");
    } else {
        status = memory_file_adopt(console, to, memory, &fields, force);
    }
    if (!failed)
        fmt_schema_free(&fields);
    return status;
}

int cmd_import(int argc, char **argv)
{
    struct args a;
    bool force = false;
    args_begin(&a, argc, argv);
    while (args_next(&a) >= 0)
        force = true;
    if (!args_expect(&a, 2, 2))
        return a.status;
    const char *memory = args_rest(&a)[0], *archive = args_rest(&a)[1];
    if (is_archive(memory) && !is_archive(archive)) { /* accept the other order too */
        archive = memory;
        memory = args_rest(&a)[1];
    }
    int status = adopt(&a.console, archive, memory, force);
    if (status == 0)
        console_print(&a.console, "%s: parameters of %s\n", memory, archive);
    return console_flush(&a.console, status);
}
