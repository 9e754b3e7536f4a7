/*
 * The shared preconditioner (compiled per precision). With slopes D = f'(x), nominal variances s_l
 * and G_l = mean mean', the Gauss-Newton Hessian over (x_1, .., x_L) is D H D with
 *
 *   H_ll = (G_{l-1} + d U) / s_{l-1} + 1 / s_l      H_{l,l+1} = -mean_l' / s_l
 *
 * up to D in the off-diagonal blocks, which is taken as its value a at zero everywhere. Eliminating
 * from the top leaves one dense inverse per layer; only the lowest depends on the annealing and on what a row knows.
 * For that G_0 is of the entries that all know, or the share that each knows of all; or, in rows apart, of their own
 * (fragment.h).
 */
#include "precondition.h"

#if BPCN_REAL_BITS == 32

#include "alloc.h"
#include "dense.h"
#include "linalg.h"

#include <math.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_LEVELS = 24 };
static const float least_slope = 0.1f; /* of f', so that a flat unit does not run away */
static const double some_data = 0.3;   /* in the base of rows apart, by its trace, relative to the rest */

struct level {
    double extra;
    struct panels inverse;
};

/* What belongs to layer l, whose variable is x_{l+1}: the inverse of its block, and
   T = a/s inverse mean, which carries from one layer to the next. */
struct block_layer {
    struct panels inverse, carry, carry_back;
};

/* The lowest block of rows apart, with nothing added to s_0, before what each knows is counted. It holds a little of
   G_0: without, the directions that all data share are so much stiffer in the block than in the base that float32
   loses what taking one from the other leaves; more than a little would stiffen what a row leaves open. */
struct base {
    const struct weights *weights;
    struct panels inverse;
    float *products; /* [dim x dim]: mean' inverse mean, or NULL: no rows apart */
    float ridge;     /* s_0 / a^2, but for the little */
};

struct preconditioner {
    const struct model *model;
    struct team *team;
    float slope;          /* a */
    double *pull, *fixed; /* [d_1 x d_1]: the lowest block is pull / (s_0 + extra) + fixed */
    double nominal;       /* s_0 */
    struct base base;
    struct block_layer layer[BPCN_MAX_LAYERS];
    pthread_mutex_t looking, making;
    size_t levels;
    struct level level[MOST_LEVELS];
};

void preconditioner_free(struct preconditioner *p)
{
    if (p == NULL)
        return;
    for (size_t l = 0; l < p->model->options.layers; l++) {
        free(p->layer[l].inverse.data);
        free(p->layer[l].carry.data);
        free(p->layer[l].carry_back.data);
    }
    for (size_t i = 0; i < p->levels; i++)
        free(p->level[i].inverse.data);
    free(p->base.inverse.data);
    free(p->base.products);
    free(p->pull);
    free(p->fixed);
    pthread_mutex_destroy(&p->looking);
    pthread_mutex_destroy(&p->making);
    free(p);
}

/* f' at zero, where most activations are. */
static float slope_at_zero(bpcn_activation activation)
{
    return activation == BPCN_GELU ? 0.5f : 1.0f;
}

typedef void weights_product(const struct weights *w, size_t l, size_t n, const real *rows, real *out);

/* One of the products of weights.h, its rows shared out among the team. */
struct shared_product {
    weights_product *product;
    const struct weights *weights;
    size_t l, n, width, columns; /* rows [n x width], out [n x columns] */
    const float *rows;
    float *out;
};

static void product_part(void *context, size_t part, size_t parts)
{
    const struct shared_product *s = context;
    size_t first, last;
    team_share(s->n, 12, part, parts, &first, &last);
    if (first < last)
        s->product(s->weights, s->l, last - first, s->rows + first * s->width, s->out + first * s->columns);
}

/* g [above x above] = mean mean' over the masked entries, u = R'R. room [above x max(above, below)]. */
static void inner_products(struct team *team, const struct layer *layer, const struct weights *weights, size_t l,
                           const unsigned char *mask, float *g, float *u, float *room)
{
    size_t n = layer->above, below = layer->below;
    const float *mean = layer->mean;
    for (size_t i = 0; mask != NULL && i < n; i++)
        for (size_t j = 0; j < below; j++)
            room[i * below + j] = mask[j] ? mean[i * below + j] : 0;
    struct shared_product means = {weights_up, weights, l, n, below, n, mask ? room : mean, g};
    team_run(team, product_part, &means);
    dense_transpose(n, n, layer->root_real, room);
    for (size_t i = 0; i < n; i++)
        memset(room + i * n + i + 1, 0, (n - i - 1) * sizeof *room);
    struct shared_product roots = {weights_back, weights, l, n, n, n, room, u};
    team_run(team, product_part, &roots);
}

/* The part of layer l's block that the errors below make: a^2 (share G + d U), [above x above], and, unless NULL,
   `apart` without G; `sensory` weighs U (struct weighing). */
static int curvature_below(const struct preconditioner *p, const struct layer *layer, const struct weights *weights,
                           size_t l, struct knowledge k, double sensory, double *out, double *apart)
{
    size_t n = layer->above, widest = n > layer->below ? n : layer->below;
    float *g = alloc_zeroed(n * (2 * n + widest), sizeof *g);
    if (g == NULL)
        return -1;
    const float *u = g + n * n;
    inner_products(p->team, layer, weights, l, k.mask, g, g + n * n, g + 2 * n * n);
    double of_mean = k.mask ? 1 : k.share, a = (double)p->slope;
    for (size_t j = 0; j < n * n; j++) {
        double of_root = a * a * k.share * sensory * (double)layer->below * (double)u[j];
        out[j] = a * a * of_mean * (double)g[j] + of_root;
        if (apart != NULL)
            apart[j] = of_root;
    }
    free(g);
    return 0;
}

/* inverse [n x n] of the symmetric positive definite block [n x n], which is used up. float32 serves,
   unless the block is so ill-conditioned that it fails. */
static int invert(struct team *team, size_t n, double *block, float *inverse)
{
    for (size_t j = 0; j < n * n; j++)
        inverse[j] = (float)block[j];
    if (dense_invert(team, n, inverse) == 0)
        return 0;
    if (cholesky(n, block) != 0 || cholesky_inverse(n, block) != 0)
        return -1;
    for (size_t j = 0; j < n * n; j++)
        inverse[j] = (float)block[j];
    return 0;
}

/* Layer l >= 1: its inverse and carry panels, and what its elimination takes off the block below:
   `below` [below x below] -= mean' (a/s)^2 inverse mean. */
static int eliminate(struct preconditioner *p, const struct layer *layer, const struct weights *weights, size_t l,
                     double s, double *block, double *below)
{
    size_t n = layer->above, m = layer->below;
    float *inverse = alloc_zeroed(n * n, sizeof *inverse), *carry = alloc_zeroed(n * m, sizeof *carry);
    float *mean = alloc_zeroed(n * m, sizeof *mean), *taken = alloc_zeroed(m * m, sizeof *taken);
    int failed = !inverse || !carry || !mean || !taken || invert(p->team, n, block, inverse) != 0;
    if (!failed) {
        struct shared_product down = {weights_down, weights, l, n, n, m, inverse, carry};
        team_run(p->team, product_part, &down);
        for (size_t j = 0; j < n * m; j++)
            carry[j] *= p->slope / (float)s;
        dense_transpose(n, m, layer->mean, mean);
        failed = dense_panels(n, n, inverse, 0, &p->layer[l].inverse) ||
                 dense_panels(n, m, carry, 0, &p->layer[l].carry) ||
                 dense_panels(m, n, carry, 1, &p->layer[l].carry_back);
    }
    if (!failed)
        dense_multiply(p->team, &p->layer[l].carry, m, mean, taken);
    for (size_t j = 0; !failed && j < m * m; j++)
        below[j] -= (double)p->slope / s * (double)taken[j];
    free(inverse);
    free(carry);
    free(mean);
    free(taken);
    return failed ? -1 : 0;
}

/* base.products = mean' inverse mean of the lowest layer */
static int multiply_base(struct preconditioner *p, const struct layer *layer, const float *inverse)
{
    size_t n = layer->above, dim = layer->below;
    struct panels carried = {0};
    float *room = alloc_zeroed(n * dim, sizeof *room);
    p->base.products = alloc_zeroed(dim * dim, sizeof *p->base.products);
    int failed = room == NULL || p->base.products == NULL;
    if (!failed) {
        struct shared_product down = {weights_down, p->base.weights, 0, n, n, dim, inverse, room};
        team_run(p->team, product_part, &down);
        failed = dense_panels(n, dim, room, 0, &carried);
    }
    if (!failed) {
        dense_transpose(n, dim, layer->mean, room);
        dense_multiply(p->team, &carried, dim, room, p->base.products);
    }
    free(carried.data);
    free(room);
    return failed ? -1 : 0;
}

static double trace(size_t n, const double *a)
{
    double sum = 0;
    for (size_t i = 0; i < n; i++)
        sum += a[i * n + i];
    return sum;
}

/* What rows apart share: `block`, pull without G_0, becomes the base. Out of memory, or in float32 not positive
   definite, all rows share the lowest block. */
static void make_base(struct preconditioner *p, const struct layer *layer, const struct weights *weights, double share,
                      double *block)
{
    size_t n = layer->above, entries = n * n;
    float *inverse = alloc_zeroed(entries, sizeof *inverse);
    double a = (double)p->slope, of_data = trace(n, p->pull) - trace(n, block);
    double little = some_data * (trace(n, block) / p->nominal + trace(n, p->fixed)) / of_data;
    for (size_t j = 0; j < entries; j++)
        block[j] = block[j] / p->nominal + p->fixed[j] + little * (p->pull[j] - block[j]);
    p->base.weights = weights;
    p->base.ridge = (float)(1 / (a * a * (1 / p->nominal - little * share)));
    if (inverse == NULL || invert(p->team, n, block, inverse) != 0 ||
        dense_panels(n, n, inverse, 0, &p->base.inverse) != 0 || multiply_base(p, layer, inverse) != 0) {
        free(p->base.products);
        p->base.products = NULL;
    }
    free(inverse);
}

/* From the top down: every layer's block, eliminated into the next; the lowest is left open. */
static int build(struct preconditioner *p, const struct particle *particle, const struct weights *weights,
                 struct knowledge knowledge, struct weighing w)
{
    const struct knowledge all = {.share = 1};
    const struct model *model = p->model;
    size_t layers = model->options.layers;
    double noise = noise_variance(model, 1) / w.upper, above = noise + particle->top_variance / w.upper;
    double *fixed = NULL; /* of the layer at hand: 1 / s above, less what was eliminated */
    for (size_t l = layers; l-- > 0;) {
        const struct layer *layer = &particle->layer[l];
        size_t n = layer->above;
        double s = l == 0 ? 2 * w.sensory * noise_variance(model, 0) : l == layers - 1 ? noise : 1.5 * noise;
        double *pull = alloc_zeroed(n * n, sizeof *pull),
               *below = alloc_zeroed(l > 0 ? layer->below * layer->below : n * n, sizeof *below);
        fixed = fixed ? fixed : alloc_zeroed(n * n, sizeof *fixed);
        int failed = !pull || !below || !fixed ||
                     curvature_below(p, layer, weights, l, l == 0 ? knowledge : all, l == 0 ? w.sensory : 1, pull,
                                     l == 0 ? below : NULL);
        for (size_t i = 0; !failed && i < n; i++)
            fixed[i * n + i] += 1 / above;
        if (!failed && l == 0) {
            p->pull = pull;
            p->fixed = fixed;
            p->nominal = s;
            if (knowledge.apart)
                make_base(p, layer, weights, knowledge.share, below);
            free(below);
            return 0;
        }
        for (size_t j = 0; !failed && j < n * n; j++)
            fixed[j] += pull[j] / s;
        failed = failed || eliminate(p, layer, weights, l, s, fixed, below);
        free(pull);
        free(fixed);
        fixed = below;
        above = s;
        if (failed)
            break;
    }
    free(fixed);
    return -1;
}

struct preconditioner *preconditioner_create(const struct model *model, const struct particle *particle,
                                             const struct weights *weights, struct knowledge knowledge,
                                             const struct weighing *weighing, struct team *team)
{
    struct preconditioner *p = model->options.layers > 0 ? alloc_zeroed(1, sizeof *p) : NULL;
    if (p == NULL)
        return NULL;
    p->model = model;
    p->team = team;
    p->slope = slope_at_zero(model->options.activation);
    pthread_mutex_init(&p->looking, NULL);
    pthread_mutex_init(&p->making, NULL);
    if (build(p, particle, weights, knowledge, *weighing) != 0) {
        preconditioner_free(p);
        return NULL;
    }
    return p;
}

/* Levels are a factor of 4 apart: the minimiser corrects what is left, and making one takes as long as several
   iterations. */
static double rounded(double nominal, double extra)
{
    const double step = 2; /* bits */
    double power = rint(log2(extra / nominal) / step);
    return !(power >= 0) ? 0 : nominal * exp2(step * fmin(power, MOST_LEVELS - 2));
}

static int make_level(struct preconditioner *p, double extra)
{
    size_t n = p->model->width[1];
    double *block = alloc_zeroed(n * n, sizeof *block);
    float *inverse = alloc_zeroed(n * n, sizeof *inverse);
    struct level *level = &p->level[p->levels];
    int failed = p->levels == MOST_LEVELS || block == NULL || inverse == NULL;
    for (size_t j = 0; !failed && j < n * n; j++)
        block[j] = p->pull[j] / (p->nominal + extra) + p->fixed[j];
    failed = failed || invert(NULL, n, block, inverse) != 0 || dense_panels(n, n, inverse, 0, &level->inverse) != 0;
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
int preconditioner_level(struct preconditioner *p, double extra)
{
    extra = rounded(p->nominal, extra);
    int found = find_level(p, extra);
    if (found >= 0)
        return found;
    pthread_mutex_lock(&p->making);
    found = find_level(p, extra);
    if (found < 0)
        found = make_level(p, extra);
    pthread_mutex_unlock(&p->making);
    return found;
}

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
    for (size_t j = 0; j < entries; j++)
        vectors[j] *= slope / (slopes[j] > least_slope    ? slopes[j]
                               : slopes[j] < -least_slope ? -slopes[j]
                                                          : least_slope);
}

int preconditioner_apart(const struct preconditioner *p, double extra)
{
    return p->base.products != NULL && rounded(p->nominal, extra) == 0;
}

struct fragment *preconditioner_fragment(const struct preconditioner *p, const unsigned char *known)
{
    return fragment_create(p->model->width[0], p->base.products, p->base.ridge, known);
}

/* out = base^-1 (in - M K M' base^-1 in), K being that of the row; in [n x d_1] is used up. */
static void apply_apart(const struct preconditioner *p, size_t n, struct fragment *const *fragments, float *in,
                        float *out, float *room)
{
    const struct base *b = &p->base;
    size_t dim = p->model->width[0], entries = n * p->model->width[1];
    panels_multiply(&b->inverse, n, in, out);
    weights_down(b->weights, 0, n, out, room);
    for (size_t i = 0; i < n; i++)
        fragment_solve(fragments[i], dim, room + i * dim);
    weights_up(b->weights, 0, n, room, out);
    for (size_t j = 0; j < entries; j++)
        in[j] -= out[j];
    panels_multiply(&b->inverse, n, in, out);
}

void preconditioner_apply(const struct preconditioner *p, int level, size_t n, const real *slopes,
                          struct fragment *const *fragments, real *vectors, real *scratch, real *room)
{
    const struct model *m = p->model;
    size_t layers = m->options.layers;
    float *in = scratch, *out = scratch + n * m->widest_hidden;
    divide_by_slopes(n * m->code_dim, p->slope, slopes, vectors);
    for (size_t l = layers; l-- > 1;) {
        take(m, l + 1, n, vectors, in);
        panels_multiply(&p->layer[l].carry, n, in, out);
        add(m, l, n, out, vectors);
    }
    take(m, 1, n, vectors, in);
    if (fragments != NULL)
        apply_apart(p, n, fragments, in, out, room);
    else
        panels_multiply(&p->level[level].inverse, n, in, out);
    put(m, 1, n, out, vectors);
    for (size_t l = 1; l < layers; l++) {
        take(m, l + 1, n, vectors, in);
        panels_multiply(&p->layer[l].inverse, n, in, out);
        put(m, l + 1, n, out, vectors);
        take(m, l, n, vectors, in);
        panels_multiply(&p->layer[l].carry_back, n, in, out);
        add(m, l + 1, n, out, vectors);
    }
    divide_by_slopes(n * m->code_dim, p->slope, slopes, vectors);
}

#else

struct preconditioner *preconditioner_create(const struct model *model, const struct particle *particle,
                                             const struct weights *weights, struct knowledge knowledge,
                                             const struct weighing *weighing, struct team *team)
{
    (void)model;
    (void)particle;
    (void)weights;
    (void)knowledge;
    (void)weighing;
    (void)team;
    return NULL;
}

void preconditioner_free(struct preconditioner *p)
{
    (void)p;
}

int preconditioner_level(struct preconditioner *p, double extra)
{
    (void)p;
    (void)extra;
    return -1;
}

int preconditioner_apart(const struct preconditioner *p, double extra)
{
    (void)p;
    (void)extra;
    return 0;
}

struct fragment *preconditioner_fragment(const struct preconditioner *p, const unsigned char *known)
{
    (void)p;
    (void)known;
    return NULL;
}

void preconditioner_apply(const struct preconditioner *p, int level, size_t n, const real *slopes,
                          struct fragment *const *fragments, real *vectors, real *scratch, real *room)
{
    (void)p;
    (void)level;
    (void)n;
    (void)slopes;
    (void)fragments;
    (void)vectors;
    (void)scratch;
    (void)room;
}

#endif
