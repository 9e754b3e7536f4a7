/* Where inference starts (compiled per precision). */
#include "start.h"

#include "activation.h"
#include "sweep.h"
#include "random.h"

#include <math.h>

void start_random(const struct model *model, uint64_t stream, real *code)
{
    for (size_t l = 1; l <= model->options.layers; l++) {
        double scale = 1 / sqrt((double)model->width[l]);
        for (size_t j = 0; j < model->width[l]; j++) {
            size_t k = model->offset[l] + j;
            double normal;
            random_normals(model->options.seed, stream, k, 1, &normal);
            code[k] = (real)(scale * normal);
        }
    }
}

void start_top_down(const struct model *model, const struct particle *particle, double leak, struct workspace *work,
                    real *code)
{
    size_t top = model->options.layers;
    for (size_t j = 0; top > 0 && j < model->width[top]; j++)
        code[model->offset[top] + j] = (real)particle->top_mean[j];
    for (size_t l = top; l-- > 1;) {
        const struct layer *layer = &particle->layer[l];
        activate(model->options.activation, leak, layer->above, code + model->offset[l + 1], work->z, work->slope);
        sweep_down(layer->above, layer->below, layer->mean, work->z, code + model->offset[l]);
    }
}
