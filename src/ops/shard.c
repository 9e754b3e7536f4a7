/* The table of a shard's operations, and the short ones among them (compiled per precision). */
#include "activation.h"
#include "alloc.h"
#include "random.h"
#include "read.h"
#include "shortlist.h"
#include "matmul.h"
#include "write.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static void shard_apply(struct writer *w, const struct change *change)
{
    switch (change->kind) {
    case CHANGE_WRITE:
        write_apply(w, change);
        return; /* it keeps the cache up to date itself */
    case CHANGE_DELETE:
        delete_apply(w, change);
        break;
    case CHANGE_FORGET:
        forget_apply(w->model, change->beta, w->scratch);
        break;
    case CHANGE_DISCOUNT:
        discount_apply(w->model, change->beta, w->team, w->scratch);
        break;
    case CHANGE_MINIMIZER:
        w->model->options.minimizer = change->minimizer;
        return;
    case CHANGE_NOTE:
        return;
    }
    if (w->cache != NULL)
        cache_reset(w->cache, w->model);
}

/* ---- sampling */

struct sampler {
    real *x, *z, *slope; /* [widest] */
    double *normals;     /* [widest] */
};

/* x ~ N(mean, noise variance of layer l), the mean being in x. */
static void sampler_add_noise(const struct model *model, size_t l, uint64_t stream, uint64_t *drawn, struct sampler *s)
{
    double sigma = sqrt(noise_variance(model, l));
    random_normals(model->options.seed, stream, *drawn, model->width[l], s->normals);
    for (size_t j = 0; j < model->width[l]; j++)
        s->x[j] += (real)(sigma * s->normals[j]);
    *drawn += model->width[l];
}

/* Draws a particle by its weight, then x_L ~ N(mu, sx^2 I) and x_l ~ N(f(x_{l+1}) M_l, sx^2 I) down to the observation.
 */
static void sampler_draw(const struct model *model, uint64_t stream, struct sampler *s, real *out)
{
    size_t top = model->options.layers, last = model->options.particles - 1, n = 0;
    double u = random_uniform(model->options.seed, stream, UINT64_MAX), reached = exp(model->log_weights[0]);
    while (reached <= u && n < last)
        reached += exp(model->log_weights[++n]);
    const struct particle *particle = &model->particles[n];
    uint64_t drawn = 0;
    for (size_t j = 0; j < model->width[top]; j++)
        s->x[j] = (real)particle->top_mean[j];
    sampler_add_noise(model, top, stream, &drawn, s);
    for (size_t l = top; l-- > 0;) {
        const struct layer *layer = &particle->layer[l];
        activation_apply(model->options.activation, 0, layer->above, s->x, s->z, s->slope);
        matmul_row(layer->above, layer->below, layer->mean, s->z, s->x);
        sampler_add_noise(model, l, stream, &drawn, s);
    }
    memcpy(out, s->x, model->width[0] * sizeof *out);
}

static bpcn_status shard_sample(const struct model *model, size_t n, uint64_t draw, void *out)
{
    size_t widest = 0;
    for (size_t l = 0; l <= model->options.layers; l++)
        widest = model->width[l] > widest ? model->width[l] : widest;
    struct sampler s = {.x = alloc_zeroed(widest, 3 * sizeof *s.x), .normals = alloc_zeroed(widest, sizeof *s.normals)};
    bpcn_status status = s.x && s.normals ? BPCN_OK : BPCN_NO_MEMORY;
    if (status == BPCN_OK) {
        s.z = s.x + widest;
        s.slope = s.z + widest;
        for (size_t i = 0; i < n; i++)
            sampler_draw(model, random_stream(STREAM_SAMPLE, draw, i), &s, (real *)out + i * model->width[0]);
    }
    free(s.x);
    free(s.normals);
    return status;
}

/* ---- parameters in and out */

static void shard_get_mean(const struct layer *layer, double *mean)
{
    const real *from = layer->mean;
    for (size_t j = 0; j < layer->above * layer->below; j++)
        mean[j] = (double)from[j];
}

static void shard_set_mean(struct layer *layer, const double *mean)
{
    real *to = layer->mean;
    for (size_t j = 0; j < layer->above * layer->below; j++)
        to[j] = (real)mean[j];
}

const struct shard_ops network_ops = {
    .create_cache = cache_create,
    .free_cache = cache_free,
    .reset_cache = cache_reset,
    .count_cache_bytes = cache_bytes,
    .create_writer = writer_create,
    .free_writer = writer_free,
    .attach_writer = writer_attach,
    .reserve_writer = writer_reserve,
    .find_write = write_find,
    .can_delete = delete_check,
    .apply = shard_apply,
    .residuals = shortlist_residuals,
    .read = read_rows,
    .energy = read_energy,
    .predict = read_predict,
    .liken = read_liken,
    .sample = shard_sample,
    .get_mean = shard_get_mean,
    .set_mean = shard_set_mean,
    .refresh_root = update_refresh_root,
};
