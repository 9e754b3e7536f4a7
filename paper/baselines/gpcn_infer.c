/*
 * Inference of GPCN's codes: what is prepared once, in float64, for the search (gpcn_search.c). Layer 0 is the wide
 * one, and its observation does not move: with R_0 = L Q over the known entries, L [d1 x d1] lower triangular and the
 * rows of Q orthonormal,
 *
 *   |x_0 - z R_0|^2 = |x_0|^2 - |y|^2 + |y - z L|^2,   y = x_0 Q'
 *
 * so that the search never touches R_0. L is the Cholesky factor of G = R_0 R_0', and y L' = p = x_0 R_0'. It needs
 * one mask for all rows, and rows of R_0 that differ: otherwise the search has R_0 itself.
 */
#include "gpcn_search.h"
#include "gpcn_seam.h"
#include "gpcn_state.h"
#include "cholesky.h"

#include "alloc.h"
#include "error.h"
#include "random.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Layer 0 as L and y. */
struct factored {
    double *lower;   /* L [d1 x d1] */
    double *target;  /* y [n x d1] */
    double *rest;    /* |x|^2 - |y|^2 [n] */
    double *visible; /* [d1 x dim]: R_0 with nothing where it is not known, or R_0 of a span */
};

static void factored_free(struct factored *f)
{
    free(f->lower);
    free(f->target);
    free(f->rest);
    free(f->visible);
}

static int factored_allocate(struct factored *f, size_t n, size_t d1)
{
    f->lower = alloc_zeroed(d1, d1 * sizeof *f->lower);
    f->target = alloc_zeroed(n, d1 * sizeof *f->target);
    f->rest = alloc_zeroed(n, sizeof *f->rest);
    return f->lower && f->target && f->rest ? 0 : -1;
}

static int one_mask(const struct gpcn_asked *a, size_t dim)
{
    for (size_t i = 1; a->known != NULL && i < a->n; i++)
        if (memcmp(a->known, a->known + i * dim, dim) != 0)
            return 0;
    return 1;
}

/* G and p over the known entries. -1 when out of memory. */
static int products(const struct gpcn *g, const struct gpcn_asked *a, struct factored *f)
{
    size_t dim = g->width[0], d1 = g->width[1];
    const double *weights = g->weights[0];
    if (a->span != NULL) {
        span_products(a->span, a->first, a->n, f->lower, f->target);
        return 0;
    }
    if (a->known != NULL) {
        f->visible = alloc_zeroed(d1, dim * sizeof *f->visible);
        if (f->visible == NULL)
            return -1;
        for (size_t k = 0; k < d1; k++)
            for (size_t j = 0; j < dim; j++)
                f->visible[k * dim + j] = a->known[j] ? weights[k * dim + j] : 0;
        weights = f->visible;
    }
    gpcn_matmul_transposed(d1, d1, dim, weights, weights, f->lower);
    gpcn_matmul_transposed(a->n, d1, dim, a->x, weights, f->target);
    return 0;
}

/* Whether G = R'R has a factor with which y is accurate: an error of p grows by 1 / R_kk. */
static int factorize(size_t d1, double *gram)
{
    double least = INFINITY, most = 0;
    if (cholesky_factor(d1, gram) != 0)
        return 0;
    for (size_t k = 0; k < d1; k++) {
        least = fmin(least, gram[k * d1 + k]);
        most = fmax(most, gram[k * d1 + k]);
    }
    return least > 1e-5 * most;
}

static void transpose(size_t n, double *a)
{
    for (size_t i = 0; i < n; i++)
        for (size_t j = 0; j < i; j++) {
            double upper = a[j * n + i];
            a[j * n + i] = a[i * n + j];
            a[i * n + j] = upper;
        }
}

/* R_0 itself is the problem's; from a span it has yet to be made. -1 when out of memory. */
static int plain_lowest(const struct gpcn *g, const struct gpcn_asked *a, struct factored *f, struct gpcn_problem *p)
{
    if (a->span == NULL)
        return 0;
    f->visible = alloc_zeroed(g->width[1], g->width[0] * sizeof *f->visible);
    if (f->visible == NULL)
        return -1;
    span_weights(a->span, f->visible);
    p->lowest = f->visible;
    return 0;
}

/* Makes L and y the problem, where they can be made. -1 when out of memory. */
static int factor_lowest(const struct gpcn *g, const struct gpcn_asked *a, struct factored *f, struct gpcn_problem *p)
{
    size_t dim = g->width[0], d1 = g->width[1];
    if (!one_mask(a, dim))
        return 0;
    if (factored_allocate(f, a->n, d1) != 0 || products(g, a, f) != 0)
        return -1;
    if (!factorize(d1, f->lower))
        return plain_lowest(g, a, f, p);
    gpcn_solve_upper(a->n, d1, f->lower, f->target);
    for (size_t i = 0; i < a->n; i++) {
        for (size_t j = 0; j < dim; j++)
            if (a->known == NULL || a->known[j])
                f->rest[i] += a->x[i * dim + j] * a->x[i * dim + j];
        f->rest[i] = fmax(0, f->rest[i] - dot(d1, f->target + i * d1, f->target + i * d1));
    }
    transpose(d1, f->lower);
    p->below = d1;
    p->lowest = f->lower;
    p->triangular = 1;
    p->target = f->target;
    p->known = NULL;
    p->rest = f->rest;
    return 0;
}

int gpcn_draws_starts(const struct gpcn *g)
{
    return g->options.activation == BPCN_RELU || g->options.minimizer == BPCN_ADAM;
}

/* The library's starts: top-down, which for ReLU can be dead, so there N(0, 1/width), drawn by number. */
static bpcn_status start(const struct gpcn *g, uint64_t number, double *code)
{
    size_t top = g->options.layers;
    double *z = alloc_zeroed(g->code_dim, 2 * sizeof *z);
    if (z == NULL)
        return BPCN_NO_MEMORY;
    memcpy(code + g->offset[top], g->weights[top], g->width[top] * sizeof *code);
    for (size_t l = top; l-- > 1;) {
        gpcn_activate(g->options.activation, g->width[l + 1], code + g->offset[l + 1], z, z + g->code_dim);
        gpcn_matmul(1, g->width[l + 1], g->width[l], z, g->weights[l], code + g->offset[l]);
    }
    free(z);
    for (size_t l = 1; gpcn_draws_starts(g) && l <= top; l++) {
        double scale = 1 / sqrt((double)g->width[l]);
        random_normals(g->options.seed, random_stream(STREAM_START, UINT64_MAX / 2 + number, l), 0, g->width[l],
                       code + g->offset[l]);
        for (size_t j = 0; j < g->width[l]; j++)
            code[g->offset[l] + j] *= scale;
    }
    return BPCN_OK;
}

static bpcn_status infer_rows(const struct gpcn *g, const struct gpcn_asked *a, double *codes, double *energy,
                              size_t *evaluations)
{
    struct gpcn_problem p = {.g = g,
                             .n = a->n,
                             .iterations = a->iterations,
                             .below = g->width[0],
                             .lowest = g->weights[0],
                             .target = a->x,
                             .known = a->known};
    struct factored f = {0};
    bpcn_status status = factor_lowest(g, a, &f, &p) == 0 ? BPCN_OK : BPCN_NO_MEMORY;
    for (size_t i = 0; !a->started && status == BPCN_OK && i < a->n; i++)
        status = start(g, a->draw + a->first + i, codes + i * g->code_dim);
    if (status == BPCN_OK)
        status = g->options.precision == BPCN_FLOAT64 ? gpcn_search_f64(&p, codes, energy, evaluations)
                                                      : gpcn_search_f32(&p, codes, energy, evaluations);
    for (size_t i = 0; status == BPCN_OK && i < a->n; i++)
        if (!isfinite(energy[i]))
            status = BPCN_NUMERIC;
    factored_free(&f);
    return status;
}

/* Adam evaluates all its rows at once, so it gets them a batch at a time. */
bpcn_status gpcn_infer_asked(const struct gpcn *g, const struct gpcn_asked *asked, double *codes, double *energy,
                             size_t *evaluations)
{
    size_t dim = g->width[0], piece = g->options.minimizer == BPCN_ADAM ? GPCN_BATCH : asked->n;
    bpcn_status status = BPCN_OK;
    for (size_t i = 0; status == BPCN_OK && i < asked->n; i += piece) {
        struct gpcn_asked a = *asked;
        a.x += i * dim;
        a.known = a.known ? a.known + i * dim : NULL;
        a.first = i;
        a.n = asked->n - i < piece ? asked->n - i : piece;
        status = infer_rows(g, &a, codes + i * g->code_dim, energy + i, evaluations);
    }
    if (status == BPCN_NUMERIC)
        return bpcn_fail(status, "the network has diverged: an energy is not finite");
    return status == BPCN_NO_MEMORY ? bpcn_fail(status, "out of memory") : status;
}

bpcn_status gpcn_infer(const struct gpcn *g, const double *x, const unsigned char *known, size_t n, int started,
                       double *codes, double *energy, size_t *evaluations)
{
    struct gpcn_asked asked = {.x = x, .known = known, .n = n, .started = started, .iterations = GPCN_MOST_ITERATIONS};
    double *unwanted = energy == NULL ? alloc_zeroed(n, sizeof *unwanted) : NULL;
    size_t uncounted = 0;
    if (energy == NULL && unwanted == NULL)
        return bpcn_fail(BPCN_NO_MEMORY, "out of memory");
    bpcn_status status =
        gpcn_infer_asked(g, &asked, codes, energy ? energy : unwanted, evaluations ? evaluations : &uncounted);
    free(unwanted);
    return status;
}
