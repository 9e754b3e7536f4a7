/* How GPCN learns: weight steps, one per item or thousands on all of them. */
#include "gpcn_seam.h"
#include "gpcn_state.h"

#include "alloc.h"
#include "error.h"

#include <stdlib.h>
#include <string.h>

/* What one weight step does beyond following the gradient. The lowest weights are in the span, if there is one. */
struct motion {
    struct span *span;
    double momentum;
    double *velocity[BPCN_MAX_LAYERS + 1]; /* the last step of each layer's weights; NULL: without momentum */
};

/* Entries of layer l's weights. */
static size_t entries_of(const struct gpcn *g, size_t l)
{
    return g->width[l] * (l < g->options.layers ? g->width[l + 1] : 1);
}

static void motion_free(struct motion *m)
{
    span_free(m->span);
    for (size_t l = 0; l <= BPCN_MAX_LAYERS; l++)
        free(m->velocity[l]);
}

/* Of training on n rows x: of more items than entries a span has nothing to gain. To be freed either way. */
static bpcn_status motion_create(const struct gpcn *g, const double *x, size_t n, struct motion *m)
{
    int with_span = n <= g->width[0], made = 1;
    if (with_span)
        made = (m->span = span_create(g->width[1], g->width[0], g->weights[0], n, x)) != NULL;
    for (size_t l = with_span ? 1 : 0; made && g->options.momentum > 0 && l <= g->options.layers; l++)
        made = (m->velocity[l] = alloc_zeroed(entries_of(g, l), sizeof(double))) != NULL;
    return made ? BPCN_OK : bpcn_fail(BPCN_NO_MEMORY, "out of memory");
}

/* The array to which layer l's gradient is added: its last step, of which momentum leaves a part, or its weights. */
static double *moved_by_gradient(struct gpcn *g, const struct motion *m, size_t l)
{
    for (size_t j = 0; m->velocity[l] != NULL && j < entries_of(g, l); j++)
        m->velocity[l][j] *= m->momentum;
    return m->velocity[l] != NULL ? m->velocity[l] : g->weights[l];
}

static void take_last_step(struct gpcn *g, const struct motion *m, size_t l)
{
    for (size_t j = 0; m->velocity[l] != NULL && j < entries_of(g, l); j++)
        g->weights[l][j] += m->velocity[l][j];
}

/* R_l += c z' e for one batch of rows, and what momentum adds. */
static void layer_step(struct gpcn *g, const struct motion *m, size_t l, const double *x, const double *codes, size_t n,
                       double c, double *z, double *slope, double *error)
{
    size_t above = g->width[l + 1], below = g->width[l];
    for (size_t i = 0; i < n; i++)
        gpcn_activate(g->options.activation, above, codes + i * g->code_dim + g->offset[l + 1], z + i * above, slope);
    if (l == 0 && m->span != NULL) {
        span_step(m->span, c, m->momentum, z);
        return;
    }
    gpcn_matmul(n, above, below, z, g->weights[l], error);
    for (size_t i = 0; i < n; i++) {
        const double *target = l == 0 ? x + i * below : codes + i * g->code_dim + g->offset[l];
        for (size_t j = 0; j < below; j++)
            error[i * below + j] = c * (target[j] - error[i * below + j]);
    }
    gpcn_rank_update(n, above, below, z, error, moved_by_gradient(g, m, l));
    take_last_step(g, m, l);
}

static void top_step(struct gpcn *g, const struct motion *m, const double *codes, size_t n, double c)
{
    size_t top = g->options.layers;
    double *moved = moved_by_gradient(g, m, top);
    for (size_t j = 0; j < g->width[top]; j++) {
        double sum = 0;
        for (size_t i = 0; i < n; i++)
            sum += codes[i * g->code_dim + g->offset[top] + j] - g->weights[top][j];
        moved[j] += c * sum;
    }
    take_last_step(g, m, top);
}

/* One weight step for given codes [n x code_dim]. */
static bpcn_status apply(struct gpcn *g, const struct motion *m, const double *x, const double *codes, size_t n)
{
    size_t widest = g->width[0];
    for (size_t l = 1; l <= g->options.layers; l++)
        widest = g->width[l] > widest ? g->width[l] : widest;
    double *z = alloc_zeroed(n + 1, widest * sizeof *z), *error = alloc_zeroed(n, widest * sizeof *error);
    double c = g->options.rate / ((double)n * g->options.sigma_x * g->options.sigma_x);
    bpcn_status status = z && error ? BPCN_OK : bpcn_fail(BPCN_NO_MEMORY, "out of memory");
    for (size_t l = 0; status == BPCN_OK && l < g->options.layers; l++)
        layer_step(g, m, l, x, codes, n, c, z, z + n * widest, error);
    if (status == BPCN_OK)
        top_step(g, m, codes, n, c);
    free(z);
    free(error);
    return status;
}

bpcn_status gpcn_step(struct gpcn *g, const double *x, size_t n, const double *starts)
{
    double *codes = alloc_zeroed(n, g->code_dim * sizeof *codes);
    if (codes == NULL)
        return bpcn_fail(BPCN_NO_MEMORY, "out of memory");
    if (starts != NULL)
        memcpy(codes, starts, n * g->code_dim * sizeof *codes);
    bpcn_status status = starts == NULL && g->options.minimizer == BPCN_ADAM
                             ? gpcn_paper_infer(g, x, n, codes)
                             : gpcn_infer(g, x, NULL, n, starts != NULL, codes, NULL, NULL);
    if (status == BPCN_OK)
        status = apply(g, &(struct motion){0}, x, codes, n);
    free(codes);
    return status;
}

/* ---- versions */

static size_t entries_of_all(const struct gpcn *g)
{
    size_t entries = 0;
    for (size_t l = 0; l <= g->options.layers; l++)
        entries += entries_of(g, l);
    return entries;
}

static bpcn_status save_version(struct gpcn *g)
{
    size_t entries = entries_of_all(g);
    double *larger = realloc(g->saved, (g->versions + 1) * entries * sizeof *larger);
    if (larger == NULL)
        return bpcn_fail(BPCN_NO_MEMORY, "out of memory");
    g->saved = larger;
    double *at = g->saved + g->versions++ * entries;
    for (size_t l = 0; l <= g->options.layers; at += entries_of(g, l++))
        memcpy(at, g->weights[l], entries_of(g, l) * sizeof *at);
    return BPCN_OK;
}

void gpcn_use_version(struct gpcn *g, size_t version)
{
    if (version >= g->versions)
        return;
    const double *at = g->saved + version * entries_of_all(g);
    for (size_t l = 0; l <= g->options.layers; at += entries_of(g, l++))
        memcpy(g->weights[l], at, entries_of(g, l) * sizeof *at);
}

/* Weight steps, each from the codes of the step before. */
static bpcn_status train_within(struct gpcn *g, struct motion *m, const double *x, size_t n, double *codes,
                                double *energy)
{
    bpcn_status status = BPCN_OK;
    for (size_t t = 0; status == BPCN_OK && t < g->options.iterations; t++) {
        int warm = t > 0 && g->options.warm > 0;
        size_t evaluations = 0;
        struct gpcn_asked asked = {.x = x,
                                   .span = m->span,
                                   .n = n,
                                   .started = warm,
                                   .iterations = warm ? g->options.warm : (size_t)GPCN_MOST_ITERATIONS};
        status = gpcn_infer_asked(g, &asked, codes, energy, &evaluations);
        m->momentum = t < GPCN_PLAIN_STEPS ? 0 : g->options.momentum;
        if (status == BPCN_OK)
            status = apply(g, m, x, codes, n);
        int save = g->options.checkpoint > 0 && (t + 1) % g->options.checkpoint == 0;
        if (m->span != NULL && (save || t + 1 == g->options.iterations))
            span_weights(m->span, g->weights[0]);
        if (status == BPCN_OK && save)
            status = save_version(g);
    }
    return status;
}

bpcn_status gpcn_train(struct gpcn *g, const double *x, size_t n, double *mean_energy)
{
    double *codes = alloc_zeroed(n, g->code_dim * sizeof *codes), *energy = alloc_zeroed(n, sizeof *energy);
    bpcn_status status = codes && energy ? BPCN_OK : bpcn_fail(BPCN_NO_MEMORY, "out of memory");
    struct motion motion = {0};
    if (status == BPCN_OK)
        status = motion_create(g, x, n, &motion);
    g->versions = 0;
    if (status == BPCN_OK)
        status = train_within(g, &motion, x, n, codes, energy);
    if (status == BPCN_OK && mean_energy != NULL) {
        *mean_energy = 0;
        for (size_t i = 0; i < n; i++)
            *mean_energy += energy[i] / (double)n;
    }
    motion_free(&motion);
    free(codes);
    free(energy);
    return status;
}
