/* Weights as sums of the rows they began with and of items. */
#include "gpcn_span.h"

#include "gpcn_seam.h"

#include "alloc.h"

#include <stdlib.h>
#include <string.h>

struct span {
    size_t above, dim, n, rows; /* rows of Y: above + n */
    double *y;                  /* Y [rows x dim] */
    double *inner;              /* Y Y' [rows x rows] */
    double *shares;             /* W [rows x above] */
    double *velocity;           /* of the shares: V = velocity'Y */
    double *product;            /* Y R' or W Z'Z [rows x above] */
    double *square;             /* Z'Z [above x above] */
};

void span_free(struct span *s)
{
    if (s != NULL) {
        free(s->y);
        free(s->inner);
        free(s->shares);
        free(s->velocity);
        free(s->product);
        free(s->square);
    }
    free(s);
}

static int allocate(struct span *s)
{
    s->y = alloc_zeroed(s->rows, s->dim * sizeof *s->y);
    s->inner = alloc_zeroed(s->rows, s->rows * sizeof *s->inner);
    s->shares = alloc_zeroed(s->rows, s->above * sizeof *s->shares);
    s->velocity = alloc_zeroed(s->rows, s->above * sizeof *s->velocity);
    s->product = alloc_zeroed(s->rows, s->above * sizeof *s->product);
    s->square = alloc_zeroed(s->above, s->above * sizeof *s->square);
    return s->y && s->inner && s->shares && s->velocity && s->product && s->square ? 0 : -1;
}

struct span *span_create(size_t above, size_t dim, const double *weights, size_t n, const double *items)
{
    struct span *s = alloc_zeroed(1, sizeof *s);
    if (s == NULL)
        return NULL;
    *s = (struct span){.above = above, .dim = dim, .n = n, .rows = above + n};
    if (allocate(s) != 0) {
        span_free(s);
        return NULL;
    }
    memcpy(s->y, weights, above * dim * sizeof *weights);
    memcpy(s->y + above * dim, items, n * dim * sizeof *items);
    for (size_t i = 0; i < above; i++)
        s->shares[i * above + i] = 1;
    gpcn_matmul_transposed(s->rows, s->rows, dim, s->y, s->y, s->inner);
    return s;
}

void span_products(struct span *s, size_t first, size_t count, double *gram, double *cross)
{
    gpcn_matmul(s->rows, s->rows, s->above, s->inner, s->shares, s->product);
    memcpy(cross, s->product + (s->above + first) * s->above, count * s->above * sizeof *cross);
    memset(gram, 0, s->above * s->above * sizeof *gram);
    gpcn_rank_update(s->rows, s->above, s->above, s->shares, s->product, gram);
}

void span_step(struct span *s, double c, double momentum, const double *z)
{
    size_t first = s->above * s->above; /* of the items' shares */
    memset(s->square, 0, first * sizeof *s->square);
    gpcn_rank_update(s->n, s->above, s->above, z, z, s->square);
    gpcn_matmul(s->rows, s->above, s->above, s->shares, s->square, s->product);
    for (size_t j = 0; j < s->rows * s->above; j++) {
        s->velocity[j] = momentum * s->velocity[j] + c * ((j < first ? 0 : z[j - first]) - s->product[j]);
        s->shares[j] += s->velocity[j];
    }
}

void span_weights(const struct span *s, double *weights)
{
    memset(weights, 0, s->above * s->dim * sizeof *weights);
    gpcn_rank_update(s->rows, s->above, s->dim, s->shares, s->y, weights);
}
