/*
 * discount: what was learnt weighs less, but nothing moves (compiled per precision). In every layer
 *
 *   U^-1 = (1 - beta) U^-1 + beta sw^-2 I        1/S likewise
 *
 * and the means stay. An observation of a writes ago then counts as if its noise variance were
 * sx^2 / (1 - beta)^a: directions that only old observations needed come free for new ones.
 */
#include "editor.h"

#include "cholesky.h"

size_t discount_room(const struct model *model)
{
    return model->widest_hidden + 1;
}

void discount(struct model *model, double beta, double *room)
{
    double prior = 1 / (model->options.sigma_w * model->options.sigma_w);
    for (size_t n = 0; n < model->options.particles; n++) {
        struct particle *particle = &model->particles[n];
        for (size_t l = 0; l < model->options.layers; l++) {
            struct layer *layer = &particle->layer[l];
            cholesky_discount(layer->above, 1 - beta, beta * prior, layer->root, room);
            layer_refresh(layer);
        }
        particle->top_variance = 1 / ((1 - beta) / particle->top_variance + beta * prior);
    }
    model->forgets++;
}
