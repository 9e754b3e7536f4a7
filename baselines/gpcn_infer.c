/*
 * Inference of GPCN's codes. Layer 0 is the wide one, and its observation does not move: with
 * G = R_0 R_0' and p = x_0 R_0' over the known entries,
 *
 *   |x_0 - z R_0|^2 = |x_0|^2 - 2 z p' + z G z',   d/dz = 2 (z G - p)
 *
 * so that an evaluation never touches R_0. In float64 the cancellation costs nothing that is
 * looked at: 1e7 * 1e-16 against a tolerance of 1e-3. It needs one mask for all rows; rows with
 * masks of their own take the plain way.
 */
#include "gpcn_seam.h"
#include "gpcn_state.h"
#include "linalg.h"

#include "alloc.h"
#include "error.h"
#include "random.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

struct inference {
    const struct gpcn *g;
    const double *x;            /* [n x dim] */
    const unsigned char *known; /* [n x dim] or NULL */
    struct span *span;          /* R_0 and the rows, from row `first` on; NULL: the weights are R_0 */
    size_t first, n, iterations;
    double *gram;             /* [d1 x d1], or NULL: the plain way */
    double *cross;            /* [n x d1] */
    double *squares;          /* [n] */
    double *z, *slope, *pull; /* [batch x widest] */
    double *error;            /* [batch x widest below] */
};

static void inference_free(struct inference *f)
{
    free(f->gram);
    free(f->cross);
    free(f->squares);
    free(f->z);
    free(f->error);
}

/* Whether every row has the mask of the first. */
static int one_mask(const struct inference *f)
{
    size_t dim = f->g->width[0];
    for (size_t i = 1; f->known != NULL && i < f->n; i++)
        if (memcmp(f->known, f->known + i * dim, dim) != 0)
            return 0;
    return 1;
}

static int allocate(struct inference *f)
{
    const struct gpcn *g = f->g;
    size_t widest = 1, below = g->width[0], d1 = g->width[1];
    for (size_t l = 1; l <= g->options.layers; l++)
        widest = g->width[l] > widest ? g->width[l] : widest;
    below = one_mask(f) ? widest : below > widest ? below : widest;
    f->z = alloc_zeroed(GPCN_BATCH, 3 * widest * sizeof *f->z);
    f->error = alloc_zeroed(GPCN_BATCH, below * sizeof *f->error);
    if (f->z == NULL || f->error == NULL)
        return -1;
    f->slope = f->z + GPCN_BATCH * widest;
    f->pull = f->slope + GPCN_BATCH * widest;
    if (!one_mask(f))
        return 0;
    f->gram = alloc_zeroed(d1, d1 * sizeof *f->gram);
    f->cross = alloc_zeroed(f->n, d1 * sizeof *f->cross);
    f->squares = alloc_zeroed(f->n, sizeof *f->squares);
    return f->gram && f->cross && f->squares ? 0 : -1;
}

/* Zeroes what is not known in rows [n x dim] that all have the same mask. */
static void hide(size_t n, size_t dim, const unsigned char *known, double *rows)
{
    for (size_t i = 0; i < n; i++)
        for (size_t j = 0; j < dim; j++)
            rows[i * dim + j] = known[j] ? rows[i * dim + j] : 0;
}

/* G, p and |x|^2 over the known entries. */
static int prepare_gram(struct inference *f)
{
    size_t dim = f->g->width[0], d1 = f->g->width[1];
    const double *weights = f->g->weights[0];
    double *visible = NULL;
    if (f->known != NULL) {
        visible = alloc_zeroed(d1, dim * sizeof *visible);
        if (visible == NULL)
            return -1;
        memcpy(visible, weights, d1 * dim * sizeof *visible);
        hide(d1, dim, f->known, visible);
        weights = visible;
    }
    if (f->span != NULL)
        span_products(f->span, f->first, f->n, f->gram, f->cross);
    else {
        gpcn_matmul_transposed(d1, d1, dim, weights, weights, f->gram);
        gpcn_matmul_transposed(f->n, d1, dim, f->x, weights, f->cross);
    }
    for (size_t i = 0; i < f->n; i++)
        for (size_t j = 0; j < dim; j++)
            if (f->known == NULL || f->known[j])
                f->squares[i] += f->x[i * dim + j] * f->x[i * dim + j];
    free(visible);
    return 0;
}

static void activate_rows(const struct gpcn *g, size_t l, size_t n, const double *codes, double *z, double *slope)
{
    for (size_t i = 0; i < n; i++)
        gpcn_activate(g->options.activation, g->width[l], codes + i * g->code_dim + g->offset[l], z + i * g->width[l],
                      slope + i * g->width[l]);
}

/* Layer 0 by G: energy and pull = z G - p. */
static void gram_layer(struct inference *f, size_t n, const size_t *rows, double *energy)
{
    size_t d1 = f->g->width[1];
    double s = f->g->options.sigma_x * f->g->options.sigma_x;
    gpcn_matmul(n, d1, d1, f->z, f->gram, f->pull);
    for (size_t i = 0; i < n; i++) {
        double *pull = f->pull + i * d1;
        const double *z = f->z + i * d1, *p = f->cross + rows[i] * d1;
        energy[i] += (f->squares[rows[i]] - 2 * dot(d1, z, p) + dot(d1, z, pull)) / (2 * s);
        for (size_t j = 0; j < d1; j++)
            pull[j] -= p[j];
    }
}

/* Any layer the plain way: pull = -e R'. Leaves e in f->error. */
static void plain_layer(struct inference *f, size_t l, size_t n, const size_t *rows, const double *codes,
                        double *energy)
{
    const struct gpcn *g = f->g;
    size_t above = g->width[l + 1], below = g->width[l];
    double s = g->options.sigma_x * g->options.sigma_x;
    gpcn_matmul(n, above, below, f->z, g->weights[l], f->error);
    for (size_t i = 0; i < n; i++) {
        const double *target = l == 0 ? f->x + rows[i] * below : codes + i * g->code_dim + g->offset[l];
        const unsigned char *known = l == 0 && f->known ? f->known + rows[i] * below : NULL;
        double *e = f->error + i * below;
        for (size_t j = 0; j < below; j++)
            e[j] = known == NULL || known[j] ? e[j] - target[j] : 0;
        energy[i] += sum_of_squares(below, e) / (2 * s);
    }
    gpcn_matmul_transposed(n, above, below, f->error, g->weights[l], f->pull);
}

static void top_layer(const struct gpcn *g, size_t n, const double *codes, double *energy, double *grad)
{
    size_t top = g->options.layers, at = g->offset[top];
    double s = g->options.sigma_x * g->options.sigma_x;
    for (size_t i = 0; i < n; i++)
        for (size_t j = 0; j < g->width[top]; j++) {
            double e = codes[i * g->code_dim + at + j] - g->weights[top][j];
            energy[i] += e * e / (2 * s);
            grad[i * g->code_dim + at + j] += e / s;
        }
}

static double constant(const struct gpcn *g)
{
    const double two_pi = 6.283185307179586477;
    double entries = (double)(g->width[0] + g->code_dim);
    return 0.5 * entries * log(two_pi * g->options.sigma_x * g->options.sigma_x);
}

static void evaluate(void *context, size_t n, const size_t *rows, const double *codes, double *energy, double *grad)
{
    struct inference *f = context;
    const struct gpcn *g = f->g;
    double s = g->options.sigma_x * g->options.sigma_x;
    for (size_t i = 0; i < n; i++)
        energy[i] = constant(g);
    for (size_t l = 0; l < g->options.layers; l++) {
        size_t above = g->width[l + 1];
        activate_rows(g, l + 1, n, codes, f->z, f->slope);
        if (l == 0 && f->gram != NULL)
            gram_layer(f, n, rows, energy);
        else
            plain_layer(f, l, n, rows, codes, energy);
        for (size_t i = 0; i < n; i++) {
            double *up = grad + i * g->code_dim + g->offset[l + 1], *down = grad + i * g->code_dim + g->offset[l];
            for (size_t j = 0; j < above; j++)
                up[j] = f->slope[i * above + j] * f->pull[i * above + j] / s;
            for (size_t j = 0; l > 0 && j < g->width[l]; j++)
                down[j] -= f->error[i * g->width[l] + j] / s;
        }
    }
    top_layer(g, n, codes, energy, grad);
}

/* The library's starts: top-down, which for ReLU can be dead, so there N(0, 1/width). */
static void start(const struct gpcn *g, size_t row, double *z, double *slope, double *code)
{
    size_t top = g->options.layers;
    memcpy(code + g->offset[top], g->weights[top], g->width[top] * sizeof *code);
    for (size_t l = top; l-- > 1;) {
        gpcn_activate(g->options.activation, g->width[l + 1], code + g->offset[l + 1], z, slope);
        gpcn_matmul(1, g->width[l + 1], g->width[l], z, g->weights[l], code + g->offset[l]);
    }
    if (g->options.activation != BPCN_RELU && g->options.minimizer != BPCN_ADAM)
        return;
    for (size_t l = 1; l <= top; l++) {
        double scale = 1 / sqrt((double)g->width[l]);
        random_normals(g->options.seed, stream_id(STREAM_START, UINT64_MAX / 2 + row, l), 0, g->width[l],
                       code + g->offset[l]);
        for (size_t j = 0; j < g->width[l]; j++)
            code[g->offset[l] + j] *= scale;
    }
}

static bpcn_status infer_rows(struct inference *f, int started, double *codes, double *energy, size_t *evaluations)
{
    size_t code = f->g->code_dim;
    double *energies = alloc_zeroed(f->n, sizeof *energies);
    bpcn_status status = BPCN_NO_MEMORY;
    if (energies != NULL && allocate(f) == 0 && (f->gram == NULL || prepare_gram(f) == 0)) {
        for (size_t i = 0; !started && i < f->n; i++)
            start(f->g, i, f->z, f->slope, codes + i * code);
        status = gpcn_minimize(&f->g->options, code, f->n, f->iterations, evaluate, f, codes, energies, evaluations);
    }
    for (size_t i = 0; status == BPCN_OK && i < f->n; i++) {
        if (!isfinite(energies[i]))
            status = BPCN_NUMERIC;
        if (energy != NULL)
            energy[i] = energies[i];
    }
    free(energies);
    inference_free(f);
    return status;
}

/* Adam evaluates all its rows at once, so it gets them a batch at a time. */
bpcn_status gpcn_infer_within(const struct gpcn *g, struct span *span, const double *x, const unsigned char *known,
                              size_t n, int started, size_t iterations, double *codes, double *energy,
                              size_t *evaluations)
{
    size_t dim = g->width[0], code = g->code_dim, piece = g->options.minimizer == BPCN_ADAM ? GPCN_BATCH : n;
    bpcn_status status = BPCN_OK;
    for (size_t i = 0; status == BPCN_OK && i < n; i += piece) {
        struct inference f = {.g = g,
                              .x = x + i * dim,
                              .known = known ? known + i * dim : NULL,
                              .span = span,
                              .first = i,
                              .n = n - i < piece ? n - i : piece,
                              .iterations = iterations};
        status = infer_rows(&f, started, codes + i * code, energy ? energy + i : NULL, evaluations);
    }
    if (status == BPCN_NUMERIC)
        return fail(status, "the network has diverged: an energy is not finite");
    return status == BPCN_NO_MEMORY ? fail(status, "out of memory") : status;
}

bpcn_status gpcn_infer(const struct gpcn *g, const double *x, const unsigned char *known, size_t n, int started,
                       double *codes, double *energy, size_t *evaluations)
{
    size_t unused = 0;
    return gpcn_infer_within(g, NULL, x, known, n, started, GPCN_MOST_ITERATIONS, codes, energy,
                             evaluations ? evaluations : &unused);
}
