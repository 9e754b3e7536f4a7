/*
 * forget and discount (compiled per precision).
 *
 * forget lets everything diffuse towards the prior. With r = sqrt(1 - beta):
 *
 *   M = r M + (1 - r) M_0        U = (1 - beta) U + beta sw^2 I
 *
 * and likewise for the top. The prior's means M_0 are not stored but drawn again from the seed.
 *
 * discount lets the evidence weigh less and moves nothing. In every layer
 *
 *   U^-1 = (1 - beta) U^-1 + beta sw^-2 I        1/S likewise
 *
 * and the means stay. A row written a discounts ago then counts as if its noise variance were sx^2 / (1 - beta)^a:
 * directions that only old rows needed become free for new ones.
 */
#include "random.h"
#include "cholesky.h"
#include "write.h"

#include <math.h>

size_t forget_scratch(const struct model *model)
{
    size_t most = top_width(model);
    for (size_t l = 0; l < model->options.layers; l++) {
        size_t diffuse = cholesky_diffuse_work(model->width[l + 1]);
        most = model->width[l] > most ? model->width[l] : most;
        most = diffuse > most ? diffuse : most;
    }
    return most;
}

static void forget_layer(const struct model *model, struct layer *layer, uint64_t stream, double beta, double *scratch)
{
    double keep = beta == 1 ? 0 : sqrt(1 - beta), scale = 1 / sqrt((double)layer->below);
    double prior = model->options.sigma_w * model->options.sigma_w;
    for (size_t j = 0; j < layer->above; j++) {
        real *row = (real *)layer->mean + j * layer->below;
        for (size_t i = 0; beta == 1 && i < layer->below; i++)
            row[i] = 0; /* 0 times NaN is NaN, and 0 times -1 is -0 */
        random_normals(model->options.seed, stream, j * layer->below, layer->below, scratch);
        for (size_t i = 0; i < layer->below; i++)
            row[i] = (real)(keep * (double)row[i] + (1 - keep) * scale * scratch[i]);
    }
    if (beta == 1)
        cholesky_identity(layer->above, model->options.sigma_w, layer->root);
    else
        cholesky_diffuse(layer->above, 1 - beta, beta * prior, layer->root, scratch);
    layer_refresh(layer);
}

static void forget_top(const struct model *model, struct particle *particle, uint64_t stream, double beta,
                       double *scratch)
{
    size_t width = top_width(model);
    double keep = beta == 1 ? 0 : sqrt(1 - beta), scale = 1 / sqrt((double)width);
    double prior = model->options.sigma_w * model->options.sigma_w;
    random_normals(model->options.seed, stream, 0, width, scratch);
    for (size_t j = 0; j < width; j++) {
        double old = beta == 1 ? 0 : particle->top_mean[j];
        particle->top_mean[j] = keep * old + (1 - keep) * scale * scratch[j];
    }
    particle->top_variance = beta == 1 ? prior : (1 - beta) * particle->top_variance + beta * prior;
}

void forget_apply(struct model *model, double beta, double *scratch)
{
    for (size_t n = 0; n < model->options.particles; n++) {
        struct particle *particle = &model->particles[n];
        size_t layers = model->options.layers;
        for (size_t l = 0; l < layers; l++)
            forget_layer(model, &particle->layer[l], random_stream(STREAM_PRIOR, particle->origin, l), beta, scratch);
        forget_top(model, particle, random_stream(STREAM_PRIOR, particle->origin, layers), beta, scratch);
    }
    model->forgets++;
}

size_t discount_scratch(const struct model *model)
{
    return model->widest_hidden + 1;
}

void discount_apply(struct model *model, double beta, double *scratch)
{
    double prior = 1 / (model->options.sigma_w * model->options.sigma_w);
    for (size_t n = 0; n < model->options.particles; n++) {
        struct particle *particle = &model->particles[n];
        for (size_t l = 0; l < model->options.layers; l++) {
            struct layer *layer = &particle->layer[l];
            cholesky_discount(layer->above, 1 - beta, beta * prior, layer->root, scratch);
            layer_refresh(layer);
        }
        particle->top_variance = 1 / ((1 - beta) / particle->top_variance + beta * prior);
    }
    model->forgets++;
}
