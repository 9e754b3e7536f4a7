/* A row that is known by its name alone: had again from the memory, and taken back. */
#include "naming.h"

#include "activation.h"
#include "alloc.h"
#include "checks.h"
#include "store_bytes.h"

#include <math.h>
#include <stdlib.h>

enum { TRIES = 8, GRIDS = 2 };
static const double lowest[GRIDS] = {-1, 0}, span[GRIDS] = {2, 1}; /* of pictures, whose entries have 256 values */

/* x [dim] as the network predicts it from the code that the row was written with. */
static bpcn_status predict(const bpcn_memory *m, const struct named *named, float *x)
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
            x[j] = (float)sum;
        }
    }
    bpcn_status status = mean != NULL && code != NULL ? BPCN_OK : out_of_memory();
    free(mean);
    free(code);
    return status;
}

/* Every entry to the nearest of the grid. */
static void round_to(size_t grid, size_t dim, float *x)
{
    for (size_t j = 0; j < dim; j++)
        x[j] = (float)(span[grid] * rint(255 * ((double)x[j] - lowest[grid]) / span[grid]) / 255 + lowest[grid]);
}

/* The row itself, to the last bit of its entries that counts, from x as it is predicted: what is recalled is rounded,
   and what was rounded recalled. BPCN_REFUSED if that does not end at the row. */
static bpcn_status settle(const bpcn_memory *m, const struct named *named, size_t grid, float *x)
{
    size_t dim = shape_of(m)->width[0];
    bpcn_read_options options;
    bpcn_read_options_default(&options, sizeof options);
    options.noise = m->contents.options.sigma_data;
    for (int tries = 0; tries < TRIES; tries++) {
        round_to(grid, dim, x);
        if (sketch_of(x, sizeof *x, dim).sum == named->row.sum)
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
        return fail(status, "'%s' was written with holes: such a row cannot be taken back", named->name);
    if (names_keep_rows(&m->contents.options)) {
        get_reals(x, named->kept, m->contents.names.kept, 4);
        return BPCN_OK;
    }
    for (size_t grid = 0; status == BPCN_REFUSED && grid < GRIDS; grid++) {
        status = predict(m, named, x);
        if (status == BPCN_OK)
            status = settle(m, named, grid, x);
    }
    if (status == BPCN_REFUSED)
        return fail(status, "'%s' cannot be had again exactly from the memory: to take it back, give the row itself",
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
        return fail(BPCN_INVALID, "no row named '%.*s' is kept", BPCN_MAX_NAME, name);
    struct named named = names_at(kept, i);
    float *x = alloc_zeroed(shape_of(memory)->width[0], sizeof *x);
    if (x == NULL)
        return out_of_memory();
    status = row_again(memory, &named, x);
    if (status == BPCN_OK)
        status = delete_row(memory, x, &named);
    free(x);
    return status;
}
