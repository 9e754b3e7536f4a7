/*
 * The conjugate update (compiled per precision). With z = f(x_{l+1}), e = x_l - z M_l:
 *
 *   k = U z',  a = s + z U z',  M += k e / a,  U -= k k' / a
 *
 * and the inverse is the same with -s for s. Of a row with holes the columns it does not know stay,
 * and U -= k k' / (s / share + z U z'), share being that of the entries known (docs/MODEL.md). The gain k and the root
 * of U are float64, so that a million updates leave U as exact as one; M and e are `real`, the precision they are used
 * in.
 */
#include "update.h"

#include "activation.h"
#include "alloc.h"
#include "network.h"
#include "cholesky.h"
#include "matmul.h"

#include <stdlib.h>
#include <string.h>

struct update *update_create(const struct model *model, struct team *team)
{
    size_t widest = 1;
    for (size_t l = 0; l <= model->options.layers; l++)
        widest = model->width[l] > widest ? model->width[l] : widest;
    struct update *u = alloc_zeroed(1, sizeof *u);
    double *doubles = alloc_zeroed(3 * widest + gram_room(widest, team), sizeof *doubles);
    real *reals = alloc_zeroed(widest, 4 * sizeof *reals);
    if (u == NULL || doubles == NULL || reals == NULL) {
        free(u);
        free(doubles);
        free(reals);
        return NULL;
    }
    *u = (struct update){.z = doubles, .gain = doubles + widest, .work = doubles + 2 * widest, .activation = reals};
    u->team = team;
    u->room = doubles + 3 * widest;
    u->slope = reals + widest;
    u->gain_real = reals + 2 * widest;
    u->error = reals + 3 * widest;
    return u;
}

void update_free(struct update *u)
{
    if (u == NULL)
        return;
    free(u->z);
    free(u->activation);
    free(u);
}

void update_refresh_root(struct layer *layer)
{
    size_t n = layer->above;
    for (size_t j = 0; j < n; j++) {
        const double *row = layer->root + cholesky_row(n, j);
        real *out = (real *)layer->root_real + j * n;
        for (size_t i = j; i < n; i++)
            out[i] = (real)row[i - j];
    }
}

/* u->activation = f(x_{l+1}), and u->z the same in double. */
static void activate_above(const struct model *model, size_t l, const real *code, struct update *u)
{
    size_t above = model->width[l + 1];
    activation_apply(model->options.activation, 0, above, code + model->offset[l + 1], u->activation, u->slope);
    for (size_t j = 0; j < above; j++)
        u->z[j] = (double)u->activation[j];
}

/* What a layer is to predict. */
struct target {
    const real *row;
    const unsigned char *known; /* NULL: all of it */
    double share;               /* of it that is known */
};

static void layer_update(const struct model *model, struct layer *layer, size_t l, struct target target, int sign,
                         struct gram_update f, struct update *u)
{
    size_t above = layer->above, below = layer->below;
    matmul_residual(u->team, above, below, layer->mean, u->activation, target.row, target.known, u->error, NULL);
    double noise = sign * noise_variance(model, l), spread = noise / target.share;
    double a = cholesky_condition(above, spread, u->z, layer->root, u->gain, u->work);
    if (target.known != NULL)
        a -= spread - noise;
    for (size_t j = 0; j < above; j++)
        u->gain_real[j] = (real)(u->gain[j] / a);
    matmul_add_outer(u->team, above, below, u->gain_real, u->error, layer->mean);
    if (l == 0 && f.gram != NULL)
        gram_update(f.gram, f.projection, u->team, u->activation, u->gain_real, u->room);
}

static void top_update(const struct model *model, struct particle *particle, struct target target, int sign)
{
    size_t top = model->options.layers;
    double noise = sign * noise_variance(model, top), old = particle->top_variance;
    double variance = 1 / (1 / old + 1 / noise);
    for (size_t j = 0; j < model->width[top]; j++)
        if (target.known == NULL || target.known[j])
            particle->top_mean[j] = variance * (particle->top_mean[j] / old + (double)target.row[j] / noise);
    particle->top_variance = target.known == NULL ? variance : 1 / (1 / old + target.share / noise);
}

static struct target target_of(const struct model *model, size_t l, const real *x0, const unsigned char *known,
                               const real *code)
{
    if (l > 0 || known == NULL)
        return (struct target){l == 0 ? x0 : code + model->offset[l], NULL, 1};
    return (struct target){x0, known, (double)masks_count_known(model->width[0], known) / (double)model->width[0]};
}

void update_particle(const struct model *model, struct particle *particle, const real *x0, const unsigned char *known,
                     const real *code, int sign, int refresh, struct gram_update following, struct update *u)
{
    for (size_t l = 0; l < model->options.layers; l++) {
        struct layer *layer = &particle->layer[l];
        activate_above(model, l, code, u);
        layer_update(model, layer, l, target_of(model, l, x0, known, code), sign, following, u);
        if (refresh)
            update_refresh_root(layer);
    }
    top_update(model, particle, target_of(model, model->options.layers, x0, known, code), sign);
}

/* The same for one layer; root is a copy that becomes the one without the rows. */
static bpcn_status layer_can_revert(const struct model *model, size_t l, const real *const *codes, size_t n,
                                    double *root, struct update *u)
{
    size_t above = model->width[l + 1];
    double noise = noise_variance(model, l);
    for (size_t i = 0; i < n; i++) {
        activate_above(model, l, codes[i], u);
        if (!(cholesky_variance(above, root, u->z, u->work) < noise))
            return BPCN_REFUSED;
        cholesky_condition(above, -noise, u->z, root, u->gain, u->work);
    }
    int within = cholesky_within(above, root, model_prior_bound(model));
    return within < 0 ? BPCN_NO_MEMORY : within ? BPCN_OK : BPCN_REFUSED;
}

bpcn_status update_can_revert(const struct model *model, const struct particle *particle, const real *const *codes,
                              size_t n, struct update *u)
{
    bpcn_status status = BPCN_OK;
    for (size_t l = 0; status == BPCN_OK && l < model->options.layers; l++) {
        size_t entries = cholesky_entries(model->width[l + 1]);
        double *root = alloc_zeroed(entries, sizeof *root);
        if (root == NULL)
            return BPCN_NO_MEMORY;
        memcpy(root, particle->layer[l].root, entries * sizeof *root);
        status = layer_can_revert(model, l, codes, n, root, u);
        free(root);
    }
    double noise = noise_variance(model, model->options.layers);
    double left = 1 / particle->top_variance - (double)n / noise;
    return status == BPCN_OK && !(left >= 1 / model_prior_bound(model) - 1e-14 * (double)n / noise) ? BPCN_REFUSED : status;
}
