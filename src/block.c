/*
 * The coupled energy of a block of rows (compiled per precision):
 *
 *   V = s I + z U z'      P = V^-1 e      E = d/2 log |2 pi V| + tr(e' P) / 2
 *   dE/dz = (d V^-1 - P P') z U - P mean'      dE/dx_l += P
 *
 * With one row this is particle.c. V and its factor are float64.
 */
#include "block.h"

#include "activation.h"
#include "alloc.h"
#include "linalg.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const double log_two_pi = 1.83787706640934548356;

struct block {
    size_t n;
    real *z, *slope, *spread, *pull; /* [n x widest hidden] */
    real *error, *solved;            /* [n x widest]: e and P */
    real *mix;                       /* [n x n]: d V^-1 - P P' */
    double *v, *inverse;             /* [n x n] */
    double *right;                   /* [n x widest]: e, then P, in double */
};

struct block *block_create(const struct model *model, size_t n)
{
    size_t widest = 1;
    for (size_t l = 0; l <= model->options.layers; l++)
        widest = model->width[l] > widest ? model->width[l] : widest;
    struct block *b = alloc_zeroed(1, sizeof *b);
    real *reals = alloc_zeroed(n, (6 * widest + n) * sizeof *reals);
    double *doubles = alloc_zeroed(n, (widest + 2 * n) * sizeof *doubles);
    if (b == NULL || reals == NULL || doubles == NULL) {
        free(b);
        free(reals);
        free(doubles);
        return NULL;
    }
    size_t step = n * widest;
    *b = (struct block){n,
                        reals,
                        reals + step,
                        reals + 2 * step,
                        reals + 3 * step,
                        reals + 4 * step,
                        reals + 5 * step,
                        reals + 6 * step,
                        doubles,
                        doubles + n * n,
                        doubles + 2 * n * n};
    return b;
}

void block_free(struct block *b)
{
    if (b == NULL)
        return;
    free(b->z);
    free(b->v);
    free(b);
}

/* From the errors [n x below] and V: adds to the energy, leaves P in b->solved and the weights
   d V^-1 - P P' in b->mix. Returns -1 when V is not positive definite. */
static int solve(struct block *b, size_t below, double *energy)
{
    size_t n = b->n;
    double log_det = 0, squares = 0;
    if (cholesky(n, b->v) != 0)
        return -1;
    for (size_t i = 0; i < n; i++)
        log_det += 2 * log(b->v[i * n + i]);
    for (size_t j = 0; j < n * below; j++)
        b->right[j] = (double)b->error[j];
    cholesky_solve(n, below, b->v, b->right);
    for (size_t j = 0; j < n * below; j++) {
        squares += (double)b->error[j] * b->right[j];
        b->solved[j] = (real)b->right[j];
    }
    memset(b->inverse, 0, n * n * sizeof *b->inverse);
    for (size_t i = 0; i < n; i++)
        b->inverse[i * n + i] = (double)below;
    cholesky_solve(n, n, b->v, b->inverse);
    for (size_t i = 0; i < n; i++)
        for (size_t j = 0; j < n; j++)
            b->mix[i * n + j] =
                (real)(b->inverse[i * n + j] - dot_f64(below, b->right + i * below, b->right + j * below));
    *energy += 0.5 * ((double)below * ((double)n * log_two_pi + log_det) + squares);
    return 0;
}

/* v = s I + spread spread', spread [n x above] */
static void coupling(struct block *b, size_t above, double s)
{
    for (size_t i = 0; i < b->n; i++)
        for (size_t j = 0; j <= i; j++) {
            double v = i == j ? s : 0;
            for (size_t k = 0; k < above; k++)
                v += (double)b->spread[i * above + k] * (double)b->spread[j * above + k];
            b->v[i * b->n + j] = b->v[j * b->n + i] = v;
        }
}

static int layer_terms(const struct model *model, const struct layer *layer, size_t l, const real *x0, const real *h,
                       struct block *b, double *energy, real *grad)
{
    size_t n = b->n, above = layer->above, below = layer->below, code = model->code_dim;
    for (size_t i = 0; i < n; i++)
        activate(model->options.activation, 0, above, h + i * code + model->offset[l + 1], b->z + i * above,
                 b->slope + i * above);
    matmul(n, above, below, b->z, layer->mean, b->error);
    for (size_t i = 0; i < n; i++) {
        const real *target = l == 0 ? x0 + i * below : h + i * code + model->offset[l];
        for (size_t j = 0; j < below; j++)
            b->error[i * below + j] = target[j] - b->error[i * below + j];
    }
    memcpy(b->spread, b->z, n * above * sizeof *b->z);
    triangle_apply(n, above, layer->root_real, b->spread);
    coupling(b, above, noise_variance(model, l));
    if (solve(b, below, energy) != 0)
        return -1;
    triangle_apply_back(n, above, layer->root_real, b->spread);
    matmul(n, n, above, b->mix, b->spread, b->z);
    matmul_transposed(n, above, below, b->solved, layer->mean, b->pull);
    for (size_t i = 0; i < n; i++) {
        real *up = grad + i * code + model->offset[l + 1];
        for (size_t j = 0; j < above; j++)
            up[j] = b->slope[i * above + j] * (b->z[i * above + j] - b->pull[i * above + j]);
        if (l > 0)
            axpy(below, 1, b->solved + i * below, grad + i * code + model->offset[l]);
    }
    return 0;
}

/* The top's mean is shared by the rows as well: V = sx^2 I + variance 1 1'. */
static int top_terms(const struct model *model, const struct particle *particle, const real *x0, const real *h,
                     struct block *b, double *energy, real *grad)
{
    size_t n = b->n, top = model->options.layers, width = top_width(model), code = model->code_dim;
    for (size_t i = 0; i < n; i++) {
        const real *target = top == 0 ? x0 + i * width : h + i * code + model->offset[top];
        for (size_t j = 0; j < width; j++)
            b->error[i * width + j] = target[j] - (real)particle->top_mean[j];
        b->spread[i] = (real)sqrt(particle->top_variance);
    }
    coupling(b, 1, noise_variance(model, top));
    if (solve(b, width, energy) != 0)
        return -1;
    for (size_t i = 0; top > 0 && i < n; i++)
        axpy(width, 1, b->solved + i * width, grad + i * code + model->offset[top]);
    return 0;
}

void block_evaluate(const struct model *model, const struct particle *particle, const real *x0, const real *h,
                    struct block *b, double *energy, real *grad)
{
    int failed = 0;
    *energy = 0;
    for (size_t l = 0; !failed && l < model->options.layers; l++)
        failed = layer_terms(model, &particle->layer[l], l, x0, h, b, energy, grad);
    if (failed || top_terms(model, particle, x0, h, b, energy, grad) != 0)
        *energy = NAN;
}
