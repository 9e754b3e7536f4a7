/* The strongest simple opponent: keep everything, answer with what fits the known entries best. */
#include "baselines.h"

#include "error.h"
#include "kept.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static bpcn_status write_rows(void *self, const float *x, size_t n)
{
    return kept_append(self, x, n);
}

static size_t nearest_to(const struct kept *s, const float *query, const float *weight, float *buffer)
{
    double least = INFINITY;
    size_t best = 0;
    for (size_t i = 0; i < s->count; i++) {
        double distance = weighted_distance(s->dim, weight, query, kept_row(s, i, buffer), least);
        if (distance < least) {
            least = distance;
            best = i;
        }
    }
    return best;
}

static void answer(const struct kept *s, const float *query, const unsigned char *known, float *weight, float *buffer,
                   float *out)
{
    for (size_t j = 0; j < s->dim; j++)
        weight[j] = known == NULL || known[j] ? 1 : 0;
    size_t best = nearest_to(s, query, weight, buffer);
    const float *row = kept_row(s, best, buffer);
    for (size_t j = 0; j < s->dim; j++)
        out[j] = known != NULL && known[j] ? query[j] : row[j];
}

static bpcn_status read_rows(const void *self, const float *query, const unsigned char *known, size_t n, float *out)
{
    const struct kept *s = self;
    if (s->count == 0)
        return fail(BPCN_INVALID, "nothing was stored yet, so nothing is nearest");
    float *room = calloc(2 * s->dim, sizeof *room);
    if (room == NULL)
        return fail(BPCN_NO_MEMORY, "out of memory");
    for (size_t i = 0; i < n; i++)
        answer(s, query + i * s->dim, known ? known + i * s->dim : NULL, room, room + s->dim, out + i * s->dim);
    free(room);
    return BPCN_OK;
}

static size_t bytes(const void *self)
{
    return kept_bytes(self);
}

static void free_self(void *self)
{
    kept_free(self);
    free(self);
}

bpcn_status nearest_create(const struct nearest_options *options, bpcn_model *model)
{
    if (options->dim == 0)
        return fail(BPCN_INVALID, "an observation must have entries");
    struct kept *self = calloc(1, sizeof *self);
    if (self == NULL)
        return fail(BPCN_NO_MEMORY, "out of memory");
    self->dim = options->dim;
    self->capacity = options->capacity;
    self->bytes = options->store_bytes;
    *model = (bpcn_model){self, "nearest", write_rows, read_rows, bytes, free_self};
    return BPCN_OK;
}
