/*
 * The shared preconditioner (compiled per precision, for the means it reads). With slopes D = f'(x), nominal variances
 * s_l and G_l = M_l M_l', the Gauss-Newton Hessian over (x_1, .., x_L) is D H D with
 *
 *   H_ll = (G_{l-1} + d U) / s_{l-1} + 1 / s_l      H_{l,l+1} = -M_l' / s_l
 *
 * up to D in the off-diagonal blocks, which is taken as its value a at zero everywhere. Eliminating from the top leaves
 * one dense inverse for each layer. Only the lowest block depends on the annealing and on what the rows know: there G_0
 * is over the entries that all know, or, where each knows others, the average share of G_0 over all.
 */
#include "preconditioner.h"

#include "activation.h"
#include "alloc.h"
#include "cholesky.h"
#include "matmul.h"

#include <math.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_LEVELS = 24 };
static const float least_slope = 0.1f; /* of f', so that a flat unit does not run away */

/* What belongs to layer l, whose variable is x_{l+1}: the inverse of its block, and
   T = a/s inverse M, which carries from one layer to the next. */
struct eliminated {
    struct panels inverse, carry, carry_back;
};

struct elimination {
    const struct model *model;
    float slope;       /* a */
    double sensory;    /* of the weighing */
    double nominal;    /* s_0 */
    float *fixed;      /* [d_1 x d_1]: what the lowest block has from above */
    float *covariance; /* [d_1 x d_1]: U of the lowest layer */
    struct eliminated layer[BPCN_MAX_LAYERS];
};

struct level {
    double extra;
    struct panels inverse;
};

struct preconditioner {
    const struct elimination *above;
    float *data_term; /* [d_1 x d_1]: the lowest block is data_term / (s_0 + extra) + fixed */
    pthread_mutex_t looking, making;
    size_t levels;
    struct level level[MOST_LEVELS];
};

/* ---- the layers above the lowest */

void elimination_free(struct elimination *e)
{
    if (e == NULL)
        return;
    for (size_t l = 0; l < BPCN_MAX_LAYERS; l++) { /* all there may be: the model may be gone */
        free(e->layer[l].inverse.data);
        free(e->layer[l].carry.data);
        free(e->layer[l].carry_back.data);
    }
    free(e->fixed);
    free(e->covariance);
    free(e);
}

size_t elimination_bytes(const struct elimination *e)
{
    if (e == NULL)
        return 0;
    const size_t *width = e->model->width;
    size_t entries = 2 * width[1] * width[1];
    for (size_t l = 1; l < e->model->options.layers; l++)
        entries += width[l + 1] * (width[l + 1] + 2 * width[l]);
    return sizeof *e + entries * sizeof(float);
}

/* u [n x n] = R'R, room [2 n x n] */
static int covariance(struct team *team, const struct layer *layer, float *u, float *room)
{
    size_t n = layer->above;
    float *root = room, *turned = room + n * n;
    memset(root, 0, n * n * sizeof *root);
    for (size_t j = 0; j < n; j++)
        for (size_t i = j; i < n; i++)
            root[j * n + i] = (float)layer->root[cholesky_row(n, j) + i - j];
    matmul_transpose(n, n, root, turned);
    return matmul_unpacked(team, n, n, n, turned, root, 0, u);
}

/* block [n x n] += a^2 (of_g G + of_u U) / s */
static void add_curvature(size_t n, double a, double of_g, const float *g, double of_u, const float *u, double s,
                          double *block)
{
    for (size_t j = 0; j < n * n; j++)
        block[j] += a * a * (of_g * (double)g[j] + of_u * (double)u[j]) / s;
}

/* inverse [n x n] of the symmetric positive definite block [n x n], which is used up. float32 serves,
   unless the block is so ill-conditioned that it fails. */
static int invert(struct team *team, size_t n, double *block, float *inverse)
{
    for (size_t j = 0; j < n * n; j++)
        inverse[j] = (float)block[j];
    if (matmul_invert(team, n, inverse) == 0)
        return 0;
    if (cholesky_factor(n, block) != 0 || cholesky_inverse(n, block) != 0)
        return -1;
    for (size_t j = 0; j < n * n; j++)
        inverse[j] = (float)block[j];
    return 0;
}

/* Room for one layer while it is eliminated. */
struct scratch {
    float *mean, *turned;   /* [n x m], [m x n]: M and M' */
    float *g, *u, *inverse; /* [n x n] */
    float *carry, *taken;   /* [n x m], [m x m] */
    float *room;            /* [2 n x n] */
};

static int scratch_create(struct scratch *b, size_t n, size_t m)
{
    float *all = alloc_zeroed(3 * n * m + m * m + 5 * n * n, sizeof *all);
    *b = (struct scratch){.mean = all};
    if (all == NULL)
        return -1;
    b->turned = b->mean + n * m;
    b->carry = b->turned + n * m;
    b->taken = b->carry + n * m;
    b->g = b->taken + m * m;
    b->u = b->g + n * n;
    b->inverse = b->u + n * n;
    b->room = b->inverse + n * n;
    return 0;
}

/* Layer l >= 1: its own curvature joins block [n x n], whose inverse and carry are kept; `below` [m x m] = what its
   elimination takes off the block below, -M' (a/s)^2 inverse M. */
static int eliminate(struct elimination *e, const struct layer *layer, size_t l, double s, double *block, double *below,
                     struct scratch *b, struct team *team)
{
    size_t n = layer->above, m = layer->below;
    struct eliminated *kept = &e->layer[l];
    double a = (double)e->slope;
    for (size_t j = 0; j < n * m; j++)
        b->mean[j] = (float)((const real *)layer->mean)[j];
    matmul_transpose(n, m, b->mean, b->turned);
    if (matmul_unpacked(team, n, m, n, b->mean, b->mean, 1, b->g) != 0 || covariance(team, layer, b->u, b->room) != 0)
        return -1;
    add_curvature(n, a, 1, b->g, (double)m, b->u, s, block);
    if (invert(team, n, block, b->inverse) != 0 ||
        matmul_unpacked(team, n, n, m, b->inverse, b->mean, 0, b->carry) != 0)
        return -1;
    for (size_t j = 0; j < n * m; j++)
        b->carry[j] *= e->slope / (float)s;
    if (matmul_pack_new(n, n, b->inverse, 0, &kept->inverse) != 0 ||
        matmul_pack_new(n, m, b->carry, 0, &kept->carry) != 0 ||
        matmul_pack_new(m, n, b->carry, 1, &kept->carry_back) != 0)
        return -1;
    matmul(team, &kept->carry, m, b->turned, b->taken);
    for (size_t j = 0; j < m * m; j++)
        below[j] = -a / s * (double)b->taken[j];
    return 0;
}

static void add_diagonal(size_t n, double value, double *block)
{
    for (size_t i = 0; i < n; i++)
        block[i * n + i] += value;
}

/* From the top down, each layer eliminated into the next; e->fixed = what the lowest is left with. */
static int build(struct elimination *e, const struct particle *particle, struct weighing w, struct team *team)
{
    const struct model *m = e->model;
    size_t layers = m->options.layers, widest = m->widest_hidden;
    double noise = noise_variance(m, 1) / w.upper, above = noise + particle->top_variance / w.upper;
    double *block = alloc_zeroed(2 * widest * widest, sizeof *block), *below = block + widest * widest;
    struct scratch b;
    int failed = scratch_create(&b, widest, widest) != 0 || block == NULL;
    for (size_t l = layers - 1; !failed && l > 0; l--) {
        const struct layer *layer = &particle->layer[l];
        double s = l == layers - 1 ? noise : 1.5 * noise;
        add_diagonal(layer->above, 1 / above, block);
        failed = eliminate(e, layer, l, s, block, below, &b, team) != 0;
        memcpy(block, below, layer->below * layer->below * sizeof *block);
        above = s;
    }
    size_t n = m->width[1];
    failed = failed || covariance(team, &particle->layer[0], e->covariance, b.room) != 0;
    if (!failed)
        add_diagonal(n, 1 / above, block);
    for (size_t j = 0; !failed && j < n * n; j++)
        e->fixed[j] = (float)block[j];
    free(block);
    free(b.mean);
    return failed ? -1 : 0;
}

struct elimination *elimination_create(const struct model *model, const struct particle *particle,
                                       struct weighing weighing, struct team *team)
{
    struct elimination *e = model->options.layers > 0 ? alloc_zeroed(1, sizeof *e) : NULL;
    if (e == NULL)
        return NULL;
    size_t n = model->width[1];
    e->model = model;
    e->slope = (float)activation_of(model->options.activation)->slope_at_zero;
    e->sensory = weighing.sensory;
    e->nominal = 2 * weighing.sensory * noise_variance(model, 0);
    e->fixed = alloc_zeroed(n * n, sizeof *e->fixed);
    e->covariance = alloc_zeroed(n * n, sizeof *e->covariance);
    if (!e->fixed || !e->covariance || build(e, particle, weighing, team) != 0) {
        elimination_free(e);
        return NULL;
    }
    return e;
}

/* ---- the lowest block */

struct preconditioner *preconditioner_create(const struct elimination *e, struct knowledge k)
{
    size_t n = e->model->width[1];
    struct preconditioner *p = alloc_zeroed(1, sizeof *p);
    float *data_term = alloc_zeroed(n * n, sizeof *data_term);
    if (p == NULL || data_term == NULL) {
        free(p);
        free(data_term);
        return NULL;
    }
    double a = (double)e->slope, of_u = k.share * e->sensory * (double)e->model->width[0];
    for (size_t i = 0; i < n; i++)
        for (size_t j = i; j < n; j++) {
            double entry = a * a * (k.of_g * k.g[i * n + j] + of_u * (double)e->covariance[i * n + j]);
            data_term[i * n + j] = data_term[j * n + i] = (float)entry;
        }
    p->above = e;
    p->data_term = data_term;
    pthread_mutex_init(&p->looking, NULL);
    pthread_mutex_init(&p->making, NULL);
    return p;
}

void preconditioner_free(struct preconditioner *p)
{
    if (p == NULL)
        return;
    for (size_t i = 0; i < p->levels; i++)
        free(p->level[i].inverse.data);
    free(p->data_term);
    pthread_mutex_destroy(&p->looking);
    pthread_mutex_destroy(&p->making);
    free(p);
}

size_t preconditioner_bytes(struct preconditioner *p)
{
    if (p == NULL)
        return 0;
    size_t n = p->above->model->width[1];
    pthread_mutex_lock(&p->looking);
    size_t levels = p->levels;
    pthread_mutex_unlock(&p->looking);
    return sizeof *p + (1 + levels) * n * n * sizeof(float);
}

/* Levels are a factor of 4 apart: the minimiser corrects what is left, and making one takes as long as several
   iterations. */
static double rounded(double nominal, double extra)
{
    const double step = 2; /* bits */
    if (!(extra > 0))
        return 0;
    double power = rint(log2(extra / nominal) / step);
    return !(power >= 0) ? 0 : nominal * exp2(step * fmin(power, MOST_LEVELS - 2));
}

static int make_level(struct preconditioner *p, struct team *team, double extra)
{
    size_t n = p->above->model->width[1];
    double *block = alloc_zeroed(n * n, sizeof *block), s = p->above->nominal + extra;
    float *inverse = alloc_zeroed(n * n, sizeof *inverse);
    struct level *level = &p->level[p->levels];
    int failed = p->levels == MOST_LEVELS || block == NULL || inverse == NULL;
    for (size_t j = 0; !failed && j < n * n; j++)
        block[j] = (double)p->data_term[j] / s + (double)p->above->fixed[j];
    failed = failed || invert(team, n, block, inverse) != 0 || matmul_pack_new(n, n, inverse, 0, &level->inverse) != 0;
    free(block);
    free(inverse);
    if (failed)
        return -1;
    level->extra = extra;
    pthread_mutex_lock(&p->looking);
    int made = (int)p->levels++;
    pthread_mutex_unlock(&p->looking);
    return made;
}

static int find_level(struct preconditioner *p, double extra)
{
    int found = -1;
    pthread_mutex_lock(&p->looking);
    for (size_t i = 0; i < p->levels; i++)
        if (p->level[i].extra == extra)
            found = (int)i;
    pthread_mutex_unlock(&p->looking);
    return found;
}

/* Others go on with the levels there are while one makes another. */
int preconditioner_level(struct preconditioner *p, struct team *team, double extra)
{
    extra = rounded(p->above->nominal, extra);
    int found = find_level(p, extra);
    if (found >= 0)
        return found;
    pthread_mutex_lock(&p->making);
    found = find_level(p, extra);
    if (found < 0)
        found = make_level(p, team, extra);
    pthread_mutex_unlock(&p->making);
    return found;
}

/* ---- its application */

/* Layer l's part of the rows, gathered and scattered. */
static void take(const struct model *m, size_t l, size_t n, const float *rows, float *out)
{
    for (size_t i = 0; i < n; i++)
        memcpy(out + i * m->width[l], rows + i * m->code_dim + m->offset[l], m->width[l] * sizeof *out);
}

static void add(const struct model *m, size_t l, size_t n, const float *part, float *rows)
{
    for (size_t i = 0; i < n; i++)
        for (size_t j = 0; j < m->width[l]; j++)
            rows[i * m->code_dim + m->offset[l] + j] += part[i * m->width[l] + j];
}

static void put(const struct model *m, size_t l, size_t n, const float *part, float *rows)
{
    for (size_t i = 0; i < n; i++)
        memcpy(rows + i * m->code_dim + m->offset[l], part + i * m->width[l], m->width[l] * sizeof *part);
}

static void divide_by_slopes(size_t entries, float slope, const float *slopes, float *vectors)
{
    for (size_t j = 0; j < entries; j++) {
        float steep = fabsf(slopes[j]);
        vectors[j] *= slope / (steep > least_slope ? steep : least_slope);
    }
}

void preconditioner_apply(const struct preconditioner *p, struct team *team, int level, size_t n, const float *slopes,
                          float *vectors, float *room)
{
    const struct elimination *e = p->above;
    const struct model *m = e->model;
    size_t layers = m->options.layers;
    float *in = room, *out = room + n * m->widest_hidden;
    divide_by_slopes(n * m->code_dim, e->slope, slopes, vectors);
    for (size_t l = layers; l-- > 1;) {
        take(m, l + 1, n, vectors, in);
        matmul(team, &e->layer[l].carry, n, in, out);
        add(m, l, n, out, vectors);
    }
    take(m, 1, n, vectors, in);
    matmul(team, &p->level[level].inverse, n, in, out);
    put(m, 1, n, out, vectors);
    for (size_t l = 1; l < layers; l++) {
        take(m, l + 1, n, vectors, in);
        matmul(team, &e->layer[l].inverse, n, in, out);
        put(m, l + 1, n, out, vectors);
        take(m, l, n, vectors, in);
        matmul(team, &e->layer[l].carry_back, n, in, out);
        add(m, l + 1, n, out, vectors);
    }
    divide_by_slopes(n * m->code_dim, e->slope, slopes, vectors);
}

/* ---- the diagonal */

int norms_create(struct norms *norms, const struct model *model)
{
    norms->mean = alloc_zeroed(2 * model->code_dim, sizeof *norms->mean);
    if (norms->mean == NULL)
        return -1;
    norms->covariance = norms->mean + model->code_dim;
    return 0;
}

void norms_free(struct norms *norms)
{
    free(norms->mean);
}

void norms_compute(const struct model *model, const struct particle *particle, const struct gram *gram,
                   struct norms *norms)
{
    for (size_t l = 0; l < model->options.layers; l++) {
        const struct layer *layer = &particle->layer[l];
        real *mean = norms->mean + model->offset[l + 1], *covariance = norms->covariance + model->offset[l + 1];
        memset(covariance, 0, layer->above * sizeof *covariance);
        for (size_t i = 0; i < layer->above; i++) {
            const real *row = (const real *)layer->mean + i * layer->below;
            const real *root = (const real *)layer->root_real + i * layer->above;
            mean[i] = (real)(l == 0 && gram != NULL ? gram->g[i * gram->above + i] : dot(layer->below, row, row));
            for (size_t j = i; j < layer->above; j++)
                covariance[j] += root[j] * root[j];
        }
    }
}

void norms_inverse_diagonal(const struct model *model, const struct norms *norms, const struct fit *fit, double count,
                            double extra, double negative_slope, const struct weighing *weighing, real *inverse)
{
    double slope = activation_mean_square_slope(model->options.activation, negative_slope);
    for (size_t l = 0; l < model->options.layers; l++) {
        double entries = l == 0 ? count : (double)model->width[l], share = entries / (double)model->width[l];
        double s = l == 0 ? weighing->sensory * fit[l].variance + extra : fit[l].variance / weighing->upper;
        double excess = fmax(0, l == 0 ? weighing->sensory * (entries - fit[l].squares / s)
                                       : entries - fit[l].squares / fit[l].variance);
        size_t first = model->offset[l + 1];
        real of_mean = (real)(slope * share / s), of_covariance = (real)(slope * excess / s);
        real of_prior = (real)(weighing->upper / fit[l + 1].variance);
        for (size_t j = first; j < first + model->width[l + 1]; j++)
            inverse[j] = 1 / (of_mean * norms->mean[j] + of_covariance * norms->covariance[j] + of_prior);
    }
}
