/*
 * The search for codes (compiled per precision).
 *
 *   E = sum_l |x_l - f(x_{l+1}) R_l|^2 / 2s + |x_L - mu|^2 / 2s + constant,   s = sx^2
 *
 * float32: errors e = x - z R are rounded by 1e-7 of x, which is 1e-5 of sx, and their squares are added in double.
 */
#include "gpcn_search.h"

#include "activation.h"
#include "alloc.h"
#include "matmul.h"
#include "error.h"
#include "cholesky.h"
#include "minimize.h"

#include <math.h>
#include <stdlib.h>

enum { WORTH_A_TEAM = 1 << 14 }; /* weights of layer 0: the products of smaller ones are over before others wake */

struct search {
    const struct gpcn_problem *p;
    struct team *team;
    size_t below[BPCN_MAX_LAYERS];                            /* entries that layer l predicts */
    struct panels down[BPCN_MAX_LAYERS], up[BPCN_MAX_LAYERS]; /* R_l and R_l' */
    real *target;                                             /* [n x below[0]] */
    real *top;                                                /* [width of the top] */
    real *z, *slope, *pull, *error;                           /* [batch x widest] */
};

static void search_free(struct search *s)
{
    for (size_t l = 0; l < BPCN_MAX_LAYERS; l++) {
        free(s->down[l].data);
        free(s->up[l].data);
    }
    free(s->target);
    free(s->z);
    free(s->error);
    threads_return(s->team);
}

static void narrow(size_t n, const double *from, real *to)
{
    for (size_t j = 0; j < n; j++)
        to[j] = (real)from[j];
}

static int fill_panels(struct search *s, size_t l)
{
    const struct gpcn *g = s->p->g;
    size_t above = g->width[l + 1], below = s->below[l];
    int triangular = l == 0 && s->p->triangular;
    real *weights = alloc_zeroed(above, below * sizeof *weights);
    real *down = alloc_zeroed(matmul_packed_entries(above, below, sizeof *down), sizeof *down);
    real *up = alloc_zeroed(matmul_packed_entries(below, above, sizeof *up), sizeof *up);
    int made = weights && down && up;
    s->down[l].data = down;
    s->up[l].data = up;
    if (made) {
        narrow(above * below, l == 0 ? s->p->lowest : g->weights[l], weights);
        s->down[l] = matmul_pack(above, below, weights, 0, triangular ? PANEL_LOWER : PANEL_FULL, down);
        s->up[l] = matmul_pack(below, above, weights, 1, triangular ? PANEL_UPPER : PANEL_FULL, up);
    }
    free(weights);
    return made ? 0 : -1;
}

static int search_create(struct search *s)
{
    const struct gpcn *g = s->p->g;
    size_t top = g->options.layers, widest = g->width[top], below = 1;
    for (size_t l = 0; l < top; l++) {
        s->below[l] = l == 0 ? s->p->below : g->width[l];
        widest = g->width[l + 1] > widest ? g->width[l + 1] : widest;
        below = s->below[l] > below ? s->below[l] : below;
        if (fill_panels(s, l) != 0)
            return -1;
    }
    s->z = alloc_zeroed(GPCN_BATCH, 3 * widest * sizeof *s->z);
    s->error = alloc_zeroed(GPCN_BATCH, below * sizeof *s->error);
    s->target = alloc_zeroed(s->p->n * s->below[0] + g->width[top], sizeof *s->target);
    if (s->z == NULL || s->error == NULL || s->target == NULL)
        return -1;
    s->slope = s->z + GPCN_BATCH * widest;
    s->pull = s->slope + GPCN_BATCH * widest;
    s->top = s->target + s->p->n * s->below[0];
    narrow(s->p->n * s->below[0], s->p->target, s->target);
    narrow(g->width[top], g->weights[top], s->top);
    if (s->below[0] * g->width[1] >= WORTH_A_TEAM)
        s->team = threads_borrow(g->options.threads);
    return 0;
}

/* What a code cannot change. */
static double constant(const struct search *s, size_t row)
{
    const double two_pi = 6.283185307179586477;
    const struct gpcn *g = s->p->g;
    double variance = g->options.sigma_x * g->options.sigma_x, entries = (double)(g->width[0] + g->code_dim);
    return 0.5 * entries * log(two_pi * variance) + (s->p->rest ? s->p->rest[row] / (2 * variance) : 0);
}

/* Layer l: z = f(x_{l+1}), error = z R - x_l where x_l is known, pull = error R'. */
static void layer_energy(struct search *s, size_t l, size_t n, const size_t *rows, const real *codes, double *energy)
{
    const struct gpcn *g = s->p->g;
    size_t above = g->width[l + 1], below = s->below[l];
    double variance = g->options.sigma_x * g->options.sigma_x;
    for (size_t i = 0; i < n; i++)
        activation_apply(g->options.activation, 0, above, codes + i * g->code_dim + g->offset[l + 1], s->z + i * above,
                 s->slope + i * above);
    matmul(s->team, &s->down[l], n, s->z, s->error);
    for (size_t i = 0; i < n; i++) {
        const real *target = l == 0 ? s->target + rows[i] * below : codes + i * g->code_dim + g->offset[l];
        const unsigned char *known = l == 0 && s->p->known ? s->p->known + rows[i] * below : NULL;
        real *e = s->error + i * below;
        for (size_t j = 0; j < below; j++)
            e[j] -= target[j];
        for (size_t j = 0; known != NULL && j < below; j++)
            e[j] = known[j] ? e[j] : 0;
        energy[i] += sum_of_squares(below, e) / (2 * variance);
    }
    matmul(s->team, &s->up[l], n, s->error, s->pull);
}

static void top_energy(const struct search *s, size_t n, const real *codes, double *energy, real *grad)
{
    const struct gpcn *g = s->p->g;
    size_t top = g->options.layers, at = g->offset[top];
    double variance = g->options.sigma_x * g->options.sigma_x;
    for (size_t i = 0; i < n; i++)
        for (size_t j = 0; j < g->width[top]; j++) {
            real e = codes[i * g->code_dim + at + j] - s->top[j];
            energy[i] += (double)e * (double)e / (2 * variance);
            grad[i * g->code_dim + at + j] += e / (real)variance;
        }
}

static void evaluate(void *context, size_t n, const size_t *rows, const real *codes, double *energy, real *grad)
{
    struct search *s = context;
    const struct gpcn *g = s->p->g;
    real precision = (real)(1 / (g->options.sigma_x * g->options.sigma_x));
    for (size_t i = 0; i < n; i++)
        energy[i] = constant(s, rows[i]);
    for (size_t l = 0; l < g->options.layers; l++) {
        size_t above = g->width[l + 1], below = s->below[l];
        layer_energy(s, l, n, rows, codes, energy);
        for (size_t i = 0; i < n; i++) {
            real *up = grad + i * g->code_dim + g->offset[l + 1], *down = grad + i * g->code_dim + g->offset[l];
            for (size_t j = 0; j < above; j++)
                up[j] = s->slope[i * above + j] * s->pull[i * above + j] * precision;
            for (size_t j = 0; l > 0 && j < below; j++)
                down[j] -= s->error[i * below + j] * precision;
        }
    }
    top_energy(s, n, codes, energy, grad);
}

/* One stage of L-BFGS, to the tolerance of the library's own searches. */
static int only_stage(void *context, size_t row, size_t number, real *point, struct stage *stage)
{
    const struct search *s = context;
    (void)row;
    (void)point;
    *stage = (struct stage){.iterations = s->p->iterations,
                            .tolerance = 5e-7 * (double)(s->p->g->width[0] + s->p->g->code_dim)};
    return number == 0;
}

static bpcn_status minimize(struct search *s, real *points, struct outcome *outcome)
{
    const struct gpcn_options *o = &s->p->g->options;
    struct objective objective = {.context = s, .dim = s->p->g->code_dim, .evaluate = evaluate, .enter = only_stage};
    struct adam_options how = {.rate = o->adam_rate, .stop = o->adam_stop, .steps = o->adam_steps};
    return o->minimizer == BPCN_ADAM ? adam_minimize(&objective, s->p->n, &how, points, outcome, NULL)
                                     : lbfgs_minimize(&objective, s->p->n, GPCN_BATCH, points, outcome);
}

#if BPCN_REAL_BITS == 32
bpcn_status gpcn_search_f32(const struct gpcn_problem *p, double *codes, double *energy, size_t *evaluations)
#else
bpcn_status gpcn_search_f64(const struct gpcn_problem *p, double *codes, double *energy, size_t *evaluations)
#endif
{
    size_t entries = p->n * p->g->code_dim;
    struct search s = {.p = p};
    struct outcome *outcome = alloc_zeroed(p->n, sizeof *outcome);
    real *points = alloc_zeroed(entries, sizeof *points);
    bpcn_status status = BPCN_NO_MEMORY;
    if (outcome != NULL && points != NULL && search_create(&s) == 0) {
        narrow(entries, codes, points);
        status = minimize(&s, points, outcome);
    }
    for (size_t j = 0; status == BPCN_OK && j < entries; j++)
        codes[j] = (double)points[j];
    for (size_t i = 0; status == BPCN_OK && i < p->n; i++) {
        energy[i] = outcome[i].energy;
        *evaluations += outcome[i].evaluations;
    }
    search_free(&s);
    free(points);
    free(outcome);
    return status;
}
