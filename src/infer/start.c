/* Where inference starts (compiled per precision). */
#include "start.h"

#include "activation.h"
#include "cholesky.h"
#include "matmul.h"
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
        activation_apply(model->options.activation, leak, layer->above, code + model->offset[l + 1], work->z, work->slope);
        matmul_row(layer->above, layer->below, layer->mean, work->z, code + model->offset[l]);
    }
}

/* |z_1|^2, left in the workspace with z_1. */
static double size_of_code(const struct model *model, const real *code, struct workspace *work)
{
    activation_apply(model->options.activation, 0, model->width[1], code + model->offset[1], work->z, work->slope);
    return sum_of_squares(model->width[1], work->z);
}

double faded_leverage(struct rows *rows, const struct particle *particle, const real *code)
{
    const struct model *model = rows->model;
    struct workspace *work = rows->lane[0].work;
    real *start = rows->lane[0].codes;
    if (model->options.layers == 0)
        return 0;
    double size = size_of_code(model, code, work);
    start_top_down(model, particle, 0, work, start);
    double least = size_of_code(model, start, work);
    const struct layer *layer = &particle->layer[0];
    double leverage = matmul_covariance(NULL, layer->above, layer->root_real, work->z, work->spread, work->scratch);
    return least > 0 ? leverage * size / least : 0;
}
