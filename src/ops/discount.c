/*
 * discount: what was learnt weighs less, but nothing moves. In every layer
 *
 *   U^-1 = (1 - beta) U^-1 + beta sw^-2 I        1/S likewise
 *
 * and the means stay. An observation of a writes ago then counts as if its noise variance were
 * sx^2 / (1 - beta)^a: directions that only old observations needed come free for new ones.
 */
#include "discount.h"

#include "alloc.h"
#include "core.h"
#include "root.h"

#include <stdlib.h>

bpcn_status model_discount(struct model *model, double beta)
{
    double prior = 1 / (model->options.sigma_w * model->options.sigma_w);
    if (beta == 0)
        return BPCN_OK;
    double *work = alloc_zeroed(model->widest_hidden + 1, sizeof *work);
    bpcn_status status =
        work ? model_commit(model, &(struct change){.kind = CHANGE_DISCOUNT, .beta = beta}) : BPCN_NO_MEMORY;
    for (size_t n = 0; status == BPCN_OK && n < model->options.particles; n++) {
        struct particle *particle = &model->particles[n];
        for (size_t l = 0; l < model->options.layers; l++) {
            struct layer *layer = &particle->layer[l];
            root_discount(layer->above, 1 - beta, beta * prior, layer->root, work);
            core_for(model)->refresh_root(layer);
        }
        particle->top_variance = 1 / ((1 - beta) / particle->top_variance + beta * prior);
    }
    model->forgets += status == BPCN_OK;
    free(work);
    return status;
}
