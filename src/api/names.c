/* Names of rows: which are kept, which an answer has, and rows that are taken back by their name. */
#include "names.h"

#include "activation.h"
#include "alloc.h"
#include "checks.h"
#include "format.h"
#include "precision.h"
#include "routing.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

bpcn_status check_names(const char *const *names, size_t n)
{
    for (size_t i = 0; names != NULL && i < n; i++)
        if (names[i] != NULL && !name_sound(names[i]))
            return bpcn_fail(BPCN_INVALID, "the name of row %zu is not 1 to %d bytes of UTF-8 without control characters", i,
                        BPCN_MAX_NAME);
    return BPCN_OK;
}

/* ---- which are kept */

static bpcn_name public_name(const struct named *named)
{
    bpcn_name out = {.number = named->number, .shard = named->shard};
    memcpy(out.name, named->name, sizeof out.name);
    return out;
}

static int by_number(const void *a, const void *b)
{
    const bpcn_name *x = a, *y = b;
    return (x->number > y->number) - (x->number < y->number);
}

bpcn_status bpcn_memory_get_names(const bpcn_memory *memory, bpcn_name *names, size_t room, size_t *count)
{
    bpcn_status status = check_memory(memory);
    if (status == BPCN_OK)
        status = check_pointer(count, "the pointer for the number of names");
    if (status == BPCN_OK && room > 0)
        status = check_pointer(names, "the pointer for the names");
    if (status != BPCN_OK)
        return status;
    const struct names *kept = &memory->contents.names;
    *count = kept->count;
    bpcn_name *all = alloc_zeroed(kept->count, sizeof *all);
    if (all == NULL)
        return out_of_memory();
    for (size_t i = 0; i < kept->count; i++) {
        struct named one = names_at(kept, i);
        all[i] = public_name(&one);
    }
    qsort(all, kept->count, sizeof *all, by_number);
    if (room > 0)
        memcpy(names, all, (room < kept->count ? room : kept->count) * sizeof *all);
    free(all);
    return BPCN_OK;
}

bpcn_status bpcn_memory_get_name(const bpcn_memory *memory, uint64_t number, bpcn_name *name)
{
    bpcn_status status = check_memory(memory);
    if (status == BPCN_OK)
        status = check_pointer(name, "the pointer for the name");
    if (status != BPCN_OK)
        return status;
    const struct names *kept = &memory->contents.names;
    size_t i = names_number(kept, number);
    if (i == kept->count)
        return bpcn_fail(BPCN_INVALID, "no name with the number %llu is kept", (unsigned long long)number);
    struct named one = names_at(kept, i);
    *name = public_name(&one);
    return BPCN_OK;
}

/* ---- which of them answered */

static const double name_sure = 2.2;      /* squares of a sketch over those of the row: more in one of 10,000 */
static const double name_recalled = 0.01; /* mean square error beyond which no row counts as recalled */

/* The mean square error that an answer may have, by what the read says of it: the variance of what was not known, and
   of what was, what noise leaves of itself in the directions of layer 1, or how far it is off. */
static double error_of(const bpcn_memory *m, const struct read_request *request, const bpcn_read_info *info)
{
    const struct model *model = shape_of(m);
    double dim = (double)model->width[0], known = (double)info->known, left = info->residual * info->residual;
    double units = model->options.layers > 0 ? (double)model->width[1] : 1;
    int predicted = request->known == NULL || request->options.noise > 0;
    if (predicted)
        left = info->noise * info->noise * fmin(1, units / fmax(1, known));
    return fmin(name_recalled, info->variance + left * known / dim);
}

void name_answers(const bpcn_memory *m, const struct read_request *request, bpcn_read_info *info)
{
    const struct names *kept = &m->contents.names;
    size_t dim = shape_of(m)->width[0], size = real_size(shape_of(m));
    for (size_t i = 0; kept->count > 0 && i < request->n; i++) {
        if (info[i].verdict != BPCN_KNOWN)
            continue;
        struct sketched answer = sketch_row((const unsigned char *)request->answers + i * dim * size, size, dim);
        info[i].name =
            names_recognise(kept, (size_t)info[i].shard, &answer, dim, name_sure * error_of(m, request, &info[i]));
    }
}

uint64_t name_of_answer(const bpcn_memory *m, size_t shard, const void *row)
{
    size_t dim = shape_of(m)->width[0];
    if (m->contents.names.count == 0)
        return 0;
    struct sketched answer = sketch_row(row, real_size(shape_of(m)), dim);
    return names_recognise(&m->contents.names, shard, &answer, dim, name_sure * name_recalled);
}

/* ---- delete */

enum { TRIES = 8, GRIDS = 3 };
static const double lowest[GRIDS] = {-1, 0, 0}, span[GRIDS] = {2, 1, 255}; /* of pictures, whose entries have 256 values */

/* x [dim] as the network predicts it from the code that the row was written with. */
static bpcn_status predict_row(const bpcn_memory *m, const struct named *named, float *x)
{
    const struct model *model = m->contents.shard[named->shard];
    const struct layer *layer = &model->particles[named->particle].layer[0];
    size_t width = layer->above, dim = layer->below;
    double *mean = alloc_zeroed(width * dim, sizeof *mean), *code = alloc_zeroed(3 * width, sizeof *code);
    for (size_t j = 0; mean != NULL && code != NULL && j < width; j++) {
        float value;
        get_reals(&value, named->kept + 4 * j, 1, 4);
        code[j] = (double)value;
    }
    if (mean != NULL && code != NULL) {
        shard_ops_for(model)->get_mean(layer, mean);
        activation_apply_f64(model->options.activation, 0, width, code, code + width, code + 2 * width);
        for (size_t j = 0; j < dim; j++) {
            double sum = 0;
            for (size_t k = 0; k < width; k++)
                sum += code[width + k] * mean[k * dim + j];
            x[j] = (float)scale_out(&m->contents.scale, j, sum);
        }
    }
    bpcn_status status = mean != NULL && code != NULL ? BPCN_OK : out_of_memory();
    free(mean);
    free(code);
    return status;
}

/* Every entry to the nearest of the grid. */
static void round_to_grid(size_t grid, size_t dim, float *x)
{
    for (size_t j = 0; j < dim; j++)
        x[j] = (float)(span[grid] * rint(255 * ((double)x[j] - lowest[grid]) / span[grid]) / 255 + lowest[grid]);
}

/* The sum of a row that is in the caller's units: 0 when out of memory. */
static uint32_t sum_of(const bpcn_memory *m, const float *x)
{
    void *copy, *row = to_real(shape_of(m), &m->contents.scale, INFINITY, x, NULL, 1, &copy);
    uint32_t sum = row != NULL ? sketch_row(row, real_size(shape_of(m)), shape_of(m)->width[0]).sum : 0;
    free(copy);
    return sum;
}

/* The row itself, to the last bit of its entries that counts, from x as it is predicted: what is recalled is rounded,
   and what was rounded recalled. BPCN_REFUSED if that does not end at the row. */
static bpcn_status settle_row(const bpcn_memory *m, const struct named *named, size_t grid, float *x)
{
    size_t dim = shape_of(m)->width[0];
    bpcn_read_options options;
    bpcn_read_options_default(&options, sizeof options);
    options.noise = m->contents.options.sigma_data * m->contents.scale.unit;
    for (int tries = 0; tries < TRIES; tries++) {
        round_to_grid(grid, dim, x);
        if (sum_of(m, x) == named->row.sum)
            return BPCN_OK;
        bpcn_status status = bpcn_memory_read(m, x, NULL, 1, &options, x, NULL);
        if (status != BPCN_OK)
            return status == BPCN_INVALID ? BPCN_REFUSED : status;
    }
    return BPCN_REFUSED;
}

static bpcn_status row_again(const bpcn_memory *m, const struct named *named, float *x)
{
    bpcn_status status = BPCN_REFUSED;
    if (named->holes)
        return bpcn_fail(status, "'%s' was written with holes: such a row cannot be taken back", named->name);
    if (names_keep_rows(&m->contents.options)) {
        get_reals(x, named->kept, m->contents.names.kept, 4);
        for (size_t j = 0; j < m->contents.names.kept; j++)
            x[j] = (float)scale_out(&m->contents.scale, j, (double)x[j]);
        return BPCN_OK;
    }
    for (size_t grid = 0; status == BPCN_REFUSED && grid < GRIDS; grid++) {
        status = predict_row(m, named, x);
        if (status == BPCN_OK)
            status = settle_row(m, named, grid, x);
    }
    if (status == BPCN_REFUSED)
        return bpcn_fail(status, "'%s' cannot be had again exactly from the memory: to take it back, give the row itself",
                    named->name);
    return status;
}

bpcn_status bpcn_memory_delete_name(bpcn_memory *memory, const char *name)
{
    bpcn_status status = check_memory(memory);
    if (status == BPCN_OK)
        status = check_pointer(name, "the name");
    if (status != BPCN_OK)
        return status;
    const struct names *kept = &memory->contents.names;
    size_t i = names_find(kept, name);
    if (i == kept->count)
        return bpcn_fail(BPCN_INVALID, "no row named '%.*s' is kept", BPCN_MAX_NAME, name);
    struct named named = names_at(kept, i);
    float *x = alloc_zeroed(shape_of(memory)->width[0], sizeof *x);
    if (x == NULL)
        return out_of_memory();
    status = row_again(memory, &named, x);
    void *copy = NULL, *row = x;
    if (status == BPCN_OK) {
        row = to_real(shape_of(memory), &memory->contents.scale, INFINITY, x, NULL, 1, &copy);
        status = row != NULL ? BPCN_OK : out_of_memory();
    }
    if (status == BPCN_OK && names_keep_rows(&memory->contents.options) && real_size(shape_of(memory)) == sizeof *x)
        get_reals(row, named.kept, kept->kept, 4); /* to the bit */
    if (status == BPCN_OK)
        status = delete_named(memory, row, named.held);
    free(copy);
    free(x);
    return status;
}
