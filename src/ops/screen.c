/*
 * A quick look at a shard (compiled per precision): what of the known entries of a row the span of its lowest mean
 * leaves unexplained,
 *
 *   min over z of |x - z M|^2 + ridge |z|^2 = |x|^2 - b (G + ridge)^-1 b',    b = M x', G = M M',
 *
 * all over the known entries. What was written to a shard lies in that span, as long as the shard has no more rows than
 * units. Where all rows know the same entries one factor of G serves them all. Where each knows others, its share of G
 * over all entries stands for its own, and a few steps of conjugate gradients mend what that leaves: two tell who could
 * have a row, and more, for those alone, who does.
 */
#include "screen.h"

#include "alloc.h"
#include "matmul.h"
#include "cholesky.h"
#include "matmul.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { QUICK_STEPS = 2, CLOSE_STEPS = 12 };
static const double ridge = 1e-3;
static const double enough = 1e-4; /* of |x|^2: steps that explain no more are the last */

/* The shard is looked at through its heaviest particle. */
struct look {
    const struct layer *layer;
    struct screen screen;
    size_t above, below;
    int steps;
    double *b, *z, *r, *p, *q; /* [above] each, of one row */
    real *short_p, *error;     /* [above], [below] */
};

static int look_create(struct look *l)
{
    l->b = alloc_zeroed(l->above, 5 * sizeof *l->b);
    l->short_p = alloc_zeroed(l->above + l->below, sizeof *l->short_p);
    if (l->b == NULL || l->short_p == NULL)
        return -1;
    l->z = l->b + l->above;
    l->r = l->z + l->above;
    l->p = l->r + l->above;
    l->q = l->p + l->above;
    l->error = l->short_p + l->above;
    return 0;
}

static void look_free(struct look *l)
{
    free(l->b);
    free(l->short_p);
}

/* q = p (M M' over the known entries + ridge) */
static void apply(struct look *l, const unsigned char *known)
{
    for (size_t i = 0; i < l->above; i++)
        l->short_p[i] = (real)l->p[i];
    matmul_row(l->above, l->below, l->layer->mean, l->short_p, l->error);
    for (size_t j = 0; j < l->below; j++)
        l->error[j] = known[j] ? l->error[j] : 0;
    const real *mean = l->layer->mean;
    size_t i = 0;
    for (; i + 4 <= l->above; i += 4)
        dot_four(l->below, l->below, mean + i * l->below, l->error, l->short_p + i);
    for (; i < l->above; i++)
        l->short_p[i] = (real)dot(l->below, mean + i * l->below, l->error);
    for (i = 0; i < l->above; i++)
        l->q[i] = (double)l->short_p[i] + ridge * l->p[i];
}

/* Preconditioned conjugate gradients for z A = b; returns what of |x|^2 = square z explains, as far as it came. */
static double solve(struct look *l, double square, const unsigned char *known)
{
    size_t n = l->above;
    double rho = 0, *s = l->q; /* the residual, preconditioned; before q is wanted */
    memset(l->z, 0, n * sizeof *l->z);
    memcpy(l->r, l->b, n * sizeof *l->r);
    for (int step = 0; step < l->steps; step++) {
        memcpy(s, l->r, n * sizeof *s);
        cholesky_solve(n, l->screen.factor, s);
        double next = dot(n, l->r, s), again = step > 0 ? next / rho : 0;
        for (size_t i = 0; i < n; i++)
            l->p[i] = s[i] + again * l->p[i];
        rho = next;
        apply(l, known);
        double bend = dot(n, l->p, l->q);
        if (!(bend > 0))
            break;
        axpy(n, rho / bend, l->p, l->z);
        axpy(n, -rho / bend, l->q, l->r);
        if (rho * rho / bend < enough * square)
            break;
    }
    return dot(n, l->z, l->b) + dot(n, l->z, l->r); /* |x|^2 less this is what z leaves, ridge included */
}

/* What is left of a row x, 0 where not known, with products [above] = M x'. */
static double left_of(struct look *l, const real *x, const real *products, const unsigned char *known, int same)
{
    double square = sum_of_squares(l->below, x), explained;
    for (size_t j = 0; j < l->above; j++)
        l->b[j] = (double)products[j];
    if (same) {
        cholesky_solve_half(l->above, l->screen.factor, l->b);
        explained = dot(l->above, l->b, l->b);
    } else {
        explained = solve(l, square, known);
    }
    return fmax(0, square - explained);
}

/* x [count x below]: the rows that were picked. */
static void gather(const struct screen_request *r, size_t dim, real *x)
{
    for (size_t i = 0; i < r->count; i++)
        memcpy(x + i * dim, (const real *)r->rows + r->picked[i] * dim, dim * sizeof *x);
}

/* Without layers the top is all there is to explain a row. */
static double from_top(const struct model *m, size_t k, const real *x, const unsigned char *known)
{
    double sum = 0;
    for (size_t j = 0; j < m->width[0]; j++) {
        double error = known == NULL || known[j] ? (double)x[j] - m->particles[k].top_mean[j] : 0;
        sum += error * error;
    }
    return sum;
}

bpcn_status screen(const struct shard *shard, const struct screen_request *r)
{
    const struct model *m = shard->model;
    size_t k = model_heaviest(m), dim = m->width[0], above = m->options.layers > 0 ? m->width[1] : 0;
    size_t count = r->picked ? r->count : r->n;
    struct look l = {.layer = &m->particles[k].layer[0], .above = above, .below = dim};
    real *picked = alloc_zeroed(r->picked ? count : 0, dim * sizeof *picked);
    real *products = alloc_zeroed(count, above * sizeof *products);
    const real *x = r->picked ? picked : r->rows;
    bpcn_status status = picked && products && look_create(&l) == 0 ? BPCN_OK : BPCN_NO_MEMORY;
    l.steps = r->picked ? CLOSE_STEPS : QUICK_STEPS;
    if (status == BPCN_OK && r->picked)
        gather(r, dim, picked);
    if (status == BPCN_OK && above > 0) {
        status = prepared_screen(shard->prepared, k, r->masks, ridge, &l.screen);
        if (status == BPCN_OK)
            matmul(NULL, &l.screen.up, count, x, products);
    }
    for (size_t i = 0; status == BPCN_OK && i < count; i++) {
        size_t row = r->picked ? r->picked[i] : i;
        const unsigned char *known = r->known ? r->known + row * dim : NULL;
        r->residual[row] = above > 0 ? left_of(&l, x + i * dim, products + i * above, known, r->masks.same)
                                     : from_top(m, k, x + i * dim, known);
    }
    if (above > 0)
        prepared_screened(shard->prepared, &l.screen);
    look_free(&l);
    free(picked);
    free(products);
    return status;
}
