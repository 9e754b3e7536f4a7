/* The diagonal of the Gauss-Newton Hessian (compiled per precision). */
#include "curvature.h"

#include "activation.h"
#include "alloc.h"
#include "cholesky.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

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

void inverse_curvature(const struct model *model, const struct norms *norms, const struct fit *fit, double count,
                       double extra, double leak, const struct weighing *weighing, real *inverse)
{
    double slope = activation_mean_square_slope(model->options.activation, leak);
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
