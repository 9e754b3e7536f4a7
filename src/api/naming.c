/* Which names are kept, and which of them an answer has; rows taken back together with theirs. */
#include "naming.h"

#include "alloc.h"
#include "checks.h"
#include "placing.h"
#include "precision.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

bpcn_status check_names(const char *const *names, size_t n)
{
    for (size_t i = 0; names != NULL && i < n; i++)
        if (names[i] != NULL && !name_sound(names[i]))
            return fail(BPCN_INVALID, "the name of row %zu is not 1 to %d bytes of UTF-8 without control characters", i,
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
        return fail(BPCN_INVALID, "no name with the number %llu is kept", (unsigned long long)number);
    struct named one = names_at(kept, i);
    *name = public_name(&one);
    return BPCN_OK;
}

/* ---- which of them answered */

static const double sure = 2.2;      /* squares of a sketch over those of the row: more in one of 10,000 */
static const double recalled = 0.01; /* mean square error beyond which no row counts as recalled */

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
    return fmin(recalled, info->variance + left * known / dim);
}

void name_answers(const bpcn_memory *m, const struct read_request *request, bpcn_read_info *info)
{
    const struct names *kept = &m->contents.names;
    size_t dim = shape_of(m)->width[0], size = real_size(shape_of(m));
    for (size_t i = 0; kept->count > 0 && i < request->n; i++) {
        if (info[i].verdict != BPCN_KNOWN)
            continue;
        struct sketched answer = sketch_of((const unsigned char *)request->answers + i * dim * size, size, dim);
        info[i].name =
            names_recognise(kept, (size_t)info[i].shard, &answer, dim, sure * error_of(m, request, &info[i]));
    }
}

/* ---- delete */

bpcn_status delete_row(bpcn_memory *memory, const float *x, const struct named *named)
{
    struct edit edit;
    bpcn_status status = edit_begin(&edit, memory, CHANGE_DELETE);
    if (status != BPCN_OK)
        return status;
    struct placed placed = {.codes = NULL};
    void *copy, *row = to_real(shape_of(memory), x, shape_of(memory)->width[0], &copy);
    status = row != NULL ? place_delete(&edit, row, named, &placed) : BPCN_NO_MEMORY;
    if (status == BPCN_OK)
        status = edit_make(&edit, &placed.change);
    status = edit_end(&edit, status, NULL);
    placed_free(&placed);
    free(copy);
    if (status == BPCN_NO_MEMORY)
        return out_of_memory();
    if (status == BPCN_REFUSED)
        return fail(status, "the memory does not hold this row: taking it back would leave a covariance indefinite");
    if (status == BPCN_NUMERIC)
        return fail(status, "the row is too large: its energy is not finite");
    return status;
}
