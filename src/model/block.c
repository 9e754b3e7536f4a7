/*
 * The coupled energy of a block of rows (compiled per precision):
 *
 *   V = s I + z U z'      P = V^-1 e      E = d/2 log |2 pi V| + tr(e' P) / 2
 *   dE/dz = (d V^-1 - P P') z U - P mean'      dE/dx_l += P
 *
 * With one row this is particle.c. V, its factor and P are float64. Given the other rows, row i has
 * variance 1 / (V^-1)_ii and error P_i / (V^-1)_ii.
 *
 * The observations are given, so the sensory layer may also go through G = mean mean', B = x mean'
 * and x x', in double for the reason told in gram.c: with F = B - z G
 *
 *   e e' = x x' - B z' - z F'      P P' = V^-1 e e' V^-1      P mean' = V^-1 F
 *
 * The products with the weights are the team's, which shares out the rows.
 */
#include "block.h"

#include "activation.h"
#include "alloc.h"
#include "linalg.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const double log_two_pi = 1.83787706640934548356;

enum {
    GRAIN = 12,  /* rows of a share: the matrix kernels take as many at a time */
    COLUMNS = 64 /* turned into double at a time */
};

struct block {
    size_t n;
    struct team *team;
    real *z, *slope, *spread, *pull; /* [n x widest hidden] */
    real *error, *solved;            /* [n x widest]: e and P */
    real *mix;                       /* [n x n]: d V^-1 - P P' */
    double *v, *inverse, *squares;   /* [n x n]: V or its factor, V^-1, P P' (its upper triangle) */
    double *wide;                    /* [n x widest]: z R', then e, then P, in double */
    struct products *products;       /* of the sensory layer, or NULL */
};

/* Inner products of the sensory layer. */
struct products {
    double *g;              /* [above x above]: its upper triangle */
    double *b;              /* [n x above] */
    double *x;              /* [n x n]: x x', its upper triangle */
    double *z, *f;          /* [n x above]: of the codes at hand */
    double *error, *scaled; /* [n x n]: e e' and V^-1 e e' */
};

struct block *block_create(const struct model *model, size_t n, struct team *team)
{
    size_t widest = 1;
    for (size_t l = 0; l <= model->options.layers; l++)
        widest = model->width[l] > widest ? model->width[l] : widest;
    struct block *b = alloc_zeroed(1, sizeof *b);
    real *reals = alloc_zeroed(n, (6 * widest + n) * sizeof *reals);
    double *doubles = alloc_zeroed(n, (widest + 3 * n) * sizeof *doubles);
    if (b == NULL || reals == NULL || doubles == NULL) {
        free(b);
        free(reals);
        free(doubles);
        return NULL;
    }
    size_t step = n * widest;
    *b = (struct block){n,
                        team,
                        reals,
                        reals + step,
                        reals + 2 * step,
                        reals + 3 * step,
                        reals + 4 * step,
                        reals + 5 * step,
                        reals + 6 * step,
                        doubles,
                        doubles + n * n,
                        doubles + 2 * n * n,
                        doubles + 3 * n * n,
                        NULL};
    return b;
}

static void products_free(struct products *p)
{
    if (p == NULL)
        return;
    free(p->g);
    free(p->b);
    free(p);
}

void block_free(struct block *b)
{
    if (b == NULL)
        return;
    products_free(b->products);
    free(b->z);
    free(b->v);
    free(b);
}

static void widen(size_t n, const real *x, double *out)
{
    for (size_t j = 0; j < n; j++)
        out[j] = (double)x[j];
}

/* b->v = s I + wide wide', wide [n x above] */
static void coupling(struct block *b, size_t above, double s)
{
    size_t n = b->n;
    memset(b->v, 0, n * n * sizeof *b->v);
    add_gram(n, above, b->wide, b->v);
    for (size_t i = 0; i < n; i++)
        b->v[i * n + i] += s;
}

static struct products *products_create(size_t n, size_t above)
{
    struct products *p = alloc_zeroed(1, sizeof *p);
    double *g = alloc_zeroed(above * above, sizeof *g), *rest = alloc_zeroed(n, 3 * (above + n) * sizeof *rest);
    if (p == NULL || g == NULL || rest == NULL) {
        free(p);
        free(g);
        free(rest);
        return NULL;
    }
    *p = (struct products){.g = g, .b = rest, .z = rest + n * above, .f = rest + 2 * n * above};
    p->x = rest + 3 * n * above;
    p->error = p->x + n * n;
    p->scaled = p->error + n * n;
    return p;
}

/* out [rows x count] = columns first .. of m [rows x width], in double */
static void cut(size_t rows, size_t width, size_t first, size_t count, const real *m, double *out)
{
    for (size_t i = 0; i < rows; i++)
        widen(count, m + i * width + first, out + i * count);
}

int block_aim(const struct model *model, const struct particle *particle, const real *x0, struct block *b)
{
    products_free(b->products);
    b->products = NULL;
    if (particle == NULL)
        return 0;
    size_t n = b->n, above = model->width[1], below = model->width[0];
    double *chunk = alloc_zeroed(above + n, COLUMNS * sizeof *chunk), *x = chunk + above * COLUMNS;
    struct products *p = products_create(n, above);
    if (chunk == NULL || p == NULL) {
        free(chunk);
        products_free(p);
        return -1;
    }
    for (size_t first = 0; first < below; first += COLUMNS) {
        size_t count = below - first < COLUMNS ? below - first : COLUMNS;
        cut(above, below, first, count, particle->layer[0].mean, chunk);
        cut(n, below, first, count, x0, x);
        add_gram(above, count, chunk, p->g);
        add_gram(n, count, x, p->x);
        multiply_transposed(n, above, count, x, chunk, 1, p->b);
    }
    free(chunk);
    b->products = p;
    return 0;
}

/* V becomes its factor and b->inverse V^-1; returns log |V|, or NaN when V is not positive definite. */
static double factorise(struct block *b)
{
    size_t n = b->n;
    double log_det = 0;
    if (cholesky(n, b->v) != 0)
        return NAN;
    for (size_t i = 0; i < n; i++)
        log_det += 2 * log(b->v[i * n + i]);
    memcpy(b->inverse, b->v, n * n * sizeof *b->v);
    return cholesky_inverse(n, b->inverse) == 0 ? log_det : NAN;
}

/* From the errors [n x below]: P in b->solved and P P' in b->squares; returns tr(e' P). */
static double solve(struct block *b, size_t below)
{
    size_t n = b->n;
    double squares = 0;
    widen(n * below, b->error, b->wide);
    cholesky_solve(n, below, b->v, b->wide);
    for (size_t j = 0; j < n * below; j++) {
        squares += (double)b->error[j] * b->wide[j];
        b->solved[j] = (real)b->wide[j];
    }
    memset(b->squares, 0, n * n * sizeof *b->squares);
    add_gram(n, below, b->wide, b->squares);
    return squares;
}

/* The same by inner products, and P mean' in b->pull; there is no P. */
static double solve_products(struct block *b, size_t above)
{
    struct products *p = b->products;
    size_t n = b->n;
    double squares = 0;
    widen(n * above, b->z, p->z);
    multiply_symmetric(n, above, p->z, p->g, p->f);
    for (size_t j = 0; j < n * above; j++)
        p->f[j] = p->b[j] - p->f[j];
    multiply_transposed(n, n, above, p->b, p->z, 0, p->error);
    multiply_transposed(n, n, above, p->z, p->f, 1, p->error);
    for (size_t i = 0; i < n; i++)
        for (size_t j = i; j < n; j++)
            p->error[i * n + j] = p->error[j * n + i] = p->x[i * n + j] - p->error[i * n + j];
    multiply_transposed(n, n, n, b->inverse, p->error, 0, p->scaled);
    for (size_t i = 0; i < n; i++)
        squares += p->scaled[i * n + i];
    multiply_transposed(n, n, n, p->scaled, b->inverse, 0, b->squares);
    matmul_f64(n, n, above, b->inverse, p->f, p->z);
    for (size_t j = 0; j < n * above; j++)
        b->pull[j] = (real)p->z[j];
    return squares;
}

/* b->mix = d V^-1 - P P' */
static void mix(struct block *b, size_t below)
{
    size_t n = b->n;
    for (size_t i = 0; i < n; i++)
        for (size_t j = i; j < n; j++)
            b->mix[i * n + j] = b->mix[j * n + i] =
                (real)((double)below * b->inverse[i * n + j] - b->squares[i * n + j]);
}

static double gaussian(size_t n, size_t below, double log_det, double squares)
{
    return 0.5 * ((double)below * ((double)n * log_two_pi + log_det) + squares);
}

/* How the rows fit in layer l, each given the others. */
static void conditional_fit(const struct model *model, size_t l, const struct block *b, struct fit *fit)
{
    size_t n = b->n;
    for (size_t i = 0; fit != NULL && i < n; i++) {
        double variance = 1 / b->inverse[i * n + i];
        fit[i * (model->options.layers + 1) + l] = (struct fit){b->squares[i * n + i] * variance * variance, variance};
    }
}

/* One layer, as the parts of the team see it. */
struct layer_job {
    const struct model *model;
    const struct weights *weights;
    size_t l;
    const real *x0, *h;
    double extra, leak; /* see block_evaluate */
    struct block *block;
    real *grad;
};

/* The activations of a part's rows, their errors, z R' and z U. */
static void down_part(void *context, size_t part, size_t parts)
{
    const struct layer_job *job = context;
    const struct model *model = job->model;
    struct block *b = job->block;
    size_t l = job->l, above = model->width[l + 1], below = model->width[l], code = model->code_dim, first, last;
    team_share(b->n, GRAIN, part, parts, &first, &last);
    for (size_t i = first; i < last; i++)
        activate(model->options.activation, job->leak, above, job->h + i * code + model->offset[l + 1],
                 b->z + i * above, b->slope + i * above);
    if (first == last)
        return;
    real *z = b->z + first * above;
    if (l > 0 || b->products == NULL)
        weights_down(job->weights, l, last - first, z, b->error + first * below);
    for (size_t i = first; i < last && (l > 0 || b->products == NULL); i++) {
        const real *target = l == 0 ? job->x0 + i * below : job->h + i * code + model->offset[l];
        for (size_t j = 0; j < below; j++)
            b->error[i * below + j] = target[j] - b->error[i * below + j];
    }
    weights_spread(job->weights, l, last - first, z, b->pull + first * above);
    widen((last - first) * above, b->pull + first * above, b->wide + first * above);
    weights_back(job->weights, l, last - first, b->pull + first * above, b->spread + first * above);
}

/* The gradient of a part's rows. */
static void up_part(void *context, size_t part, size_t parts)
{
    const struct layer_job *job = context;
    const struct model *model = job->model;
    struct block *b = job->block;
    size_t l = job->l, above = model->width[l + 1], below = model->width[l], code = model->code_dim, first, last;
    team_share(b->n, GRAIN, part, parts, &first, &last);
    if (first == last)
        return;
    if (l > 0 || b->products == NULL)
        weights_up(job->weights, l, last - first, b->solved + first * below, b->pull + first * above);
    for (size_t i = first; i < last; i++) {
        real *up = job->grad + i * code + model->offset[l + 1];
        for (size_t j = 0; j < above; j++)
            up[j] = b->slope[i * above + j] * (b->z[i * above + j] - b->pull[i * above + j]);
        if (l > 0)
            axpy(below, 1, b->solved + i * below, job->grad + i * code + model->offset[l]);
    }
}

static int layer_terms(struct layer_job *job, double *energy, struct fit *fit)
{
    struct block *b = job->block;
    size_t n = b->n, l = job->l, above = job->model->width[l + 1], below = job->model->width[l];
    team_run(b->team, down_part, job);
    coupling(b, above, noise_variance(job->model, l) + (l == 0 ? job->extra : 0));
    double log_det = factorise(b);
    if (isnan(log_det))
        return -1;
    double squares = l == 0 && b->products != NULL ? solve_products(b, above) : solve(b, below);
    *energy += gaussian(n, below, log_det, squares);
    conditional_fit(job->model, l, b, fit);
    mix(b, below);
    matmul(n, n, above, b->mix, b->spread, b->z);
    team_run(b->team, up_part, job);
    return 0;
}

/* The top's mean is shared by the rows as well: V = sx^2 I + variance 1 1'. */
static int top_terms(const struct model *model, const struct particle *particle, const real *x0, const real *h,
                     struct block *b, double *energy, real *grad, struct fit *fit)
{
    size_t n = b->n, top = model->options.layers, width = top_width(model), code = model->code_dim;
    for (size_t i = 0; i < n; i++) {
        const real *target = top == 0 ? x0 + i * width : h + i * code + model->offset[top];
        for (size_t j = 0; j < width; j++)
            b->error[i * width + j] = target[j] - (real)particle->top_mean[j];
        b->wide[i] = sqrt(particle->top_variance);
    }
    coupling(b, 1, noise_variance(model, top));
    double log_det = factorise(b);
    if (isnan(log_det))
        return -1;
    *energy += gaussian(n, width, log_det, solve(b, width));
    conditional_fit(model, top, b, fit);
    for (size_t i = 0; top > 0 && i < n; i++)
        axpy(width, 1, b->solved + i * width, grad + i * code + model->offset[top]);
    return 0;
}

void block_evaluate(const struct model *model, const struct particle *particle, const struct weights *weights,
                    const real *x0, const real *h, double extra, double leak, struct block *b, double *energy,
                    real *grad, struct fit *fit)
{
    int failed = 0;
    *energy = 0;
    for (size_t l = 0; !failed && l < model->options.layers; l++) {
        struct layer_job job = {model, weights, l, x0, h, extra, leak, b, grad};
        failed = layer_terms(&job, energy, fit);
    }
    if (failed || top_terms(model, particle, x0, h, b, energy, grad, fit) != 0)
        *energy = NAN;
}
