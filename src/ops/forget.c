/*
 * forget: everything diffuses towards the prior (compiled per precision). With r = sqrt(1 - beta):
 *
 *   mean = r mean + (1 - r) prior mean        U = (1 - beta) U + beta sw^2 I
 *
 * and likewise for the top. The prior's means are not stored but drawn again from the seed.
 */
#include "editor.h"

#include "random.h"
#include "cholesky.h"

#include <math.h>

/* Mixes a row of the prior's mean, N(0, 1 / width below), into mean [n] at index `first`. */
static void mix_mean(const struct model *model, uint64_t stream, size_t first, size_t n, double scale, double keep,
                     double *normals, real *mean)
{
    random_normals(model->options.seed, stream, first, n, normals);
    for (size_t j = 0; j < n; j++)
        mean[j] = (real)(keep * (double)mean[j] + (1 - keep) * scale * normals[j]);
}

static void layer_forget(const struct model *model, struct layer *layer, uint64_t stream, double beta, double *work)
{
    double keep = beta == 1 ? 0 : sqrt(1 - beta), scale = 1 / sqrt((double)layer->below);
    double prior = model->options.sigma_w * model->options.sigma_w;
    for (size_t j = 0; j < layer->above; j++) {
        real *row = (real *)layer->mean + j * layer->below;
        for (size_t i = 0; beta == 1 && i < layer->below; i++)
            row[i] = 0; /* whatever was there must not survive as NaN or -0 */
        mix_mean(model, stream, j * layer->below, layer->below, scale, keep, work, row);
    }
    if (beta == 1)
        cholesky_identity(layer->above, model->options.sigma_w, layer->root);
    else
        cholesky_diffuse(layer->above, 1 - beta, beta * prior, layer->root, work);
    layer_refresh(layer);
}

static void top_forget(const struct model *model, struct particle *particle, uint64_t stream, double beta,
                       double *normals)
{
    size_t width = top_width(model);
    double keep = beta == 1 ? 0 : sqrt(1 - beta), scale = 1 / sqrt((double)width);
    double prior = model->options.sigma_w * model->options.sigma_w;
    random_normals(model->options.seed, stream, 0, width, normals);
    for (size_t j = 0; j < width; j++) {
        double old = beta == 1 ? 0 : particle->top_mean[j];
        particle->top_mean[j] = keep * old + (1 - keep) * scale * normals[j];
    }
    particle->top_variance = beta == 1 ? prior : (1 - beta) * particle->top_variance + beta * prior;
}

size_t forget_room(const struct model *model)
{
    size_t most = top_width(model);
    for (size_t l = 0; l < model->options.layers; l++) {
        size_t diffuse = cholesky_diffuse_work(model->width[l + 1]);
        most = model->width[l] > most ? model->width[l] : most;
        most = diffuse > most ? diffuse : most;
    }
    return most;
}

void forget(struct model *model, double beta, double *room)
{
    for (size_t n = 0; n < model->options.particles; n++) {
        struct particle *particle = &model->particles[n];
        size_t layers = model->options.layers;
        for (size_t l = 0; l < layers; l++)
            layer_forget(model, &particle->layer[l], random_stream(STREAM_PRIOR, particle->origin, l), beta, room);
        top_forget(model, particle, random_stream(STREAM_PRIOR, particle->origin, layers), beta, room);
    }
    model->forgets++;
}
