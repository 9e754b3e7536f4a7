/*
 * The shortlist's residuals (compiled per precision): what the span of a shard's lowest mean leaves unexplained of the
 * known entries of a row,
 *
 *   min over z of |x - z M|^2 + ridge |z|^2 = |x|^2 - b (G + ridge)^-1 b',    b = M x', G = M M',
 *
 * all over the known entries. The rows written to a shard lie in that span, as long as the shard has no more rows than
 * units. Where all rows know the same entries, one factor of G + ridge serves them all. Where each knows others, the
 * factor of G over all entries preconditions conjugate gradients: two steps tell which shards could have
 * a row, and more steps, for those alone, which of them does.
 */
#include "shortlist.h"

#include "alloc.h"
#include "matmul.h"
#include "cholesky.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Steps of conjugate gradients: for all rows, and for a subset. */
enum { ROUGH_STEPS = 2, ACCURATE_STEPS = 12 };
/* Squared units of M, whose rows are about 1 long. Larger: directions that were hardly written to explain less. */
static const double shortlist_ridge = 1e-3;
/* Share of |x|^2: a step that explains less is the last. */
static const double shortlist_tolerance = 1e-4;

/* Of one row at a time, in the particle of greatest weight. */
struct solver {
    const struct layer *layer;
    struct cached_ridge screen;
    size_t above, below;
    int steps;
    double *b, *z, *r, *p, *q; /* [above] each */
    real *real_p, *error;      /* [above], [below] */
};

static int solver_create(struct solver *s)
{
    s->b = alloc_zeroed(s->above, 5 * sizeof *s->b);
    s->real_p = alloc_zeroed(s->above + s->below, sizeof *s->real_p);
    if (s->b == NULL || s->real_p == NULL)
        return -1;
    s->z = s->b + s->above;
    s->r = s->z + s->above;
    s->p = s->r + s->above;
    s->q = s->p + s->above;
    s->error = s->real_p + s->above;
    return 0;
}

/* out [above] = M x' */
static void means_times(const struct layer *layer, const real *x, real *out)
{
    const real *mean = layer->mean;
    size_t n = layer->below, i = 0;
    for (; i + 4 <= layer->above; i += 4)
        dot_four(n, n, mean + i * n, x, out + i);
    for (; i < layer->above; i++)
        out[i] = (real)dot(n, mean + i * n, x);
}

/* q = p (M M' over the known entries + ridge) */
static void solver_apply(struct solver *s, const unsigned char *known)
{
    for (size_t i = 0; i < s->above; i++)
        s->real_p[i] = (real)s->p[i];
    matmul_row(s->above, s->below, s->layer->mean, s->real_p, s->error);
    for (size_t j = 0; j < s->below; j++)
        s->error[j] = known[j] ? s->error[j] : 0;
    means_times(s->layer, s->error, s->real_p);
    for (size_t i = 0; i < s->above; i++)
        s->q[i] = (double)s->real_p[i] + shortlist_ridge * s->p[i];
}

/* Preconditioned conjugate gradients for z (G + ridge) = b. Returns how much of |x|^2 = square z explains. */
static double solver_run(struct solver *s, double square, const unsigned char *known)
{
    size_t n = s->above;
    double rho = 0, *preconditioned = s->q; /* the residual's, until solver_apply needs q */
    memset(s->z, 0, n * sizeof *s->z);
    memcpy(s->r, s->b, n * sizeof *s->r);
    for (int step = 0; step < s->steps; step++) {
        memcpy(preconditioned, s->r, n * sizeof *preconditioned);
        cholesky_solve(n, s->screen.factor, preconditioned);
        double next = dot(n, s->r, preconditioned), beta = step > 0 ? next / rho : 0;
        for (size_t i = 0; i < n; i++)
            s->p[i] = preconditioned[i] + beta * s->p[i];
        rho = next;
        solver_apply(s, known);
        double curvature = dot(n, s->p, s->q);
        if (!(curvature > 0))
            break;
        axpy(n, rho / curvature, s->p, s->z);
        axpy(n, -rho / curvature, s->q, s->r);
        if (rho * rho / curvature < shortlist_tolerance * square)
            break;
    }
    return dot(n, s->z, s->b) + dot(n, s->z, s->r); /* exact for any z, with b = z (G + ridge) + r */
}

/* The residual of a row x, 0 where not known, with products [above] = M x'. */
static double solver_residual(struct solver *s, const real *x, const real *products, const unsigned char *known,
                              int same)
{
    double square = sum_of_squares(s->below, x), explained;
    for (size_t j = 0; j < s->above; j++)
        s->b[j] = (double)products[j];
    if (same) {
        cholesky_solve_half(s->above, s->screen.factor, s->b);
        explained = dot(s->above, s->b, s->b);
    } else {
        explained = solver_run(s, square, known);
    }
    return fmax(0, square - explained);
}

/* Without hidden layers only the top's mean explains a row. */
static double shortlist_from_top(const struct model *m, size_t k, const real *x, const unsigned char *known)
{
    double sum = 0;
    for (size_t j = 0; j < m->width[0]; j++) {
        double error = known == NULL || known[j] ? (double)x[j] - m->particles[k].top_mean[j] : 0;
        sum += error * error;
    }
    return sum;
}

bpcn_status shortlist_residuals(const struct shard *shard, const struct shortlist_request *r)
{
    const struct model *m = shard->model;
    size_t k = model_heaviest(m), dim = m->width[0], above = m->options.layers > 0 ? m->width[1] : 0;
    size_t count = r->subset ? r->count : r->n;
    struct solver s = {.layer = &m->particles[k].layer[0], .above = above, .below = dim};
    real *picked = alloc_zeroed(r->subset ? count : 0, dim * sizeof *picked); /* the rows of the subset */
    real *products = alloc_zeroed(count, above * sizeof *products);
    const real *x = r->subset ? picked : r->rows;
    bpcn_status status = picked && products && solver_create(&s) == 0 ? BPCN_OK : BPCN_NO_MEMORY;
    s.steps = r->subset ? ACCURATE_STEPS : ROUGH_STEPS;
    for (size_t i = 0; status == BPCN_OK && r->subset && i < count; i++)
        memcpy(picked + i * dim, (const real *)r->rows + r->subset[i] * dim, dim * sizeof *picked);
    if (status == BPCN_OK && above > 0) {
        status = cache_acquire_ridge(shard->cache, k, r->masks, shortlist_ridge, &s.screen);
        if (status == BPCN_OK && s.screen.up.data != NULL)
            matmul(NULL, &s.screen.up, count, x, products);
        for (size_t i = 0; status == BPCN_OK && s.screen.up.data == NULL && i < count; i++)
            means_times(s.layer, x + i * dim, products + i * above);
    }
    for (size_t i = 0; status == BPCN_OK && i < count; i++) {
        size_t row = r->subset ? r->subset[i] : i;
        const unsigned char *known = r->known ? r->known + row * dim : NULL;
        r->residual[row] = above > 0 ? solver_residual(&s, x + i * dim, products + i * above, known, r->masks.same)
                                     : shortlist_from_top(m, k, x + i * dim, known);
    }
    if (above > 0)
        cache_release_ridge(shard->cache, &s.screen);
    free(s.b);
    free(s.real_p);
    free(picked);
    free(products);
    return status;
}
