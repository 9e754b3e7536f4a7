/* The strongest simple opponent: keep everything, answer with what fits the known entries best. */
#include "baselines.h"

#include "error.h"
#include "kept.h"

#include <cblas.h>
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

/* ---- by matrix products

   sum over the known entries of (q - y)^2 = sum of q^2 - 2 (q k) y' + k (y y)', for a block of rows y at a time; the
   first term is the same for all y. Where all queries know the same entries, one row of k serves them. */

enum { BLOCK = 2048 };

struct batch {
    size_t n, masks;        /* queries; rows of weight: 1 or n */
    float *query, *weight;  /* [n x dim], 0 where not known; [masks x dim] */
    float *squares;         /* [BLOCK x dim] */
    float *distance, *norm; /* [n x BLOCK]; [masks x BLOCK] */
    float *least;           /* [n] */
    size_t *best;           /* [n] */
};

static void batch_free(struct batch *b)
{
    free(b->query);
    free(b->squares);
    free(b->distance);
    free(b->least);
    free(b->best);
}

static int batch_create(const struct kept *s, const float *query, const unsigned char *known, size_t n, struct batch *b)
{
    size_t dim = s->dim;
    *b = (struct batch){.n = n, .masks = 1};
    for (size_t i = 1; known != NULL && i < n; i++)
        b->masks = memcmp(known, known + i * dim, dim) != 0 ? n : b->masks;
    b->query = calloc(n + b->masks, dim * sizeof *b->query);
    b->squares = calloc(BLOCK, dim * sizeof *b->squares);
    b->distance = calloc(n + b->masks, BLOCK * sizeof *b->distance);
    b->least = calloc(n, sizeof *b->least);
    b->best = calloc(n, sizeof *b->best);
    if (!b->query || !b->squares || !b->distance || !b->least || !b->best)
        return -1;
    b->weight = b->query + n * dim;
    b->norm = b->distance + n * BLOCK;
    for (size_t j = 0; j < n * dim; j++)
        b->query[j] = known == NULL || known[j] ? query[j] : 0;
    for (size_t j = 0; j < b->masks * dim; j++)
        b->weight[j] = known == NULL || known[j] ? 1 : 0;
    for (size_t i = 0; i < n; i++)
        b->least[i] = INFINITY;
    return 0;
}

static void look_at_block(const struct kept *s, size_t from, size_t rows, struct batch *b)
{
    const float *y = s->values + from * s->dim;
    int dim = (int)s->dim, count = (int)rows;
    for (size_t j = 0; j < rows * s->dim; j++)
        b->squares[j] = y[j] * y[j];
    cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasTrans, (int)b->n, count, dim, -2, b->query, dim, y, dim, 0,
                b->distance, BLOCK);
    cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasTrans, (int)b->masks, count, dim, 1, b->weight, dim, b->squares, dim,
                0, b->norm, BLOCK);
    for (size_t i = 0; i < b->n; i++)
        for (size_t k = 0; k < rows; k++) {
            float distance = b->distance[i * BLOCK + k] + b->norm[(b->masks > 1 ? i : 0) * BLOCK + k];
            if (distance < b->least[i]) {
                b->least[i] = distance;
                b->best[i] = from + k;
            }
        }
}

static bpcn_status read_together(const struct kept *s, const float *query, const unsigned char *known, size_t n,
                                 float *out)
{
    struct batch b;
    if (batch_create(s, query, known, n, &b) != 0) {
        batch_free(&b);
        return bpcn_fail(BPCN_NO_MEMORY, "out of memory");
    }
    for (size_t from = 0; from < s->count; from += BLOCK)
        look_at_block(s, from, s->count - from < BLOCK ? s->count - from : BLOCK, &b);
    for (size_t i = 0; i < n; i++)
        for (size_t j = 0; j < s->dim; j++) {
            size_t at = i * s->dim + j;
            out[at] = known != NULL && known[at] ? query[at] : s->values[b.best[i] * s->dim + j];
        }
    batch_free(&b);
    return BPCN_OK;
}

static bpcn_status read_rows(const void *self, const float *query, const unsigned char *known, size_t n, float *out)
{
    const struct kept *s = self;
    if (s->count == 0)
        return bpcn_fail(BPCN_INVALID, "nothing was stored yet, so nothing is nearest");
    if (s->products)
        return read_together(s, query, known, n, out);
    float *room = calloc(2 * s->dim, sizeof *room);
    if (room == NULL)
        return bpcn_fail(BPCN_NO_MEMORY, "out of memory");
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
        return bpcn_fail(BPCN_INVALID, "an observation must have entries");
    if (options->products && options->store_bytes)
        return bpcn_fail(BPCN_INVALID, "matrix products want observations in float32");
    struct kept *self = calloc(1, sizeof *self);
    if (self == NULL)
        return bpcn_fail(BPCN_NO_MEMORY, "out of memory");
    self->dim = options->dim;
    self->capacity = options->capacity;
    self->bytes = options->store_bytes;
    self->products = options->products;
    *model = (bpcn_model){self, "nearest", write_rows, read_rows, bytes, free_self};
    return BPCN_OK;
}
