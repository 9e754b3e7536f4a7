/* sample: ancestral samples with the weights at their means (compiled per precision). */
#include "read.h"

#include "activation.h"
#include "alloc.h"
#include "matmul.h"
#include "random.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

struct sampler {
    real *x, *z, *slope; /* [widest] */
    double *normals;     /* [widest] */
};

static const struct particle *pick(const struct model *model, double u)
{
    size_t last = model->options.particles - 1, n = 0;
    double reached = exp(model->log_weights[0]);
    while (reached <= u && n < last)
        reached += exp(model->log_weights[++n]);
    return &model->particles[n];
}

/* x ~ N(mean, noise of layer l), mean being in x. */
static void add_noise(const struct model *model, size_t l, uint64_t stream, uint64_t *drawn, struct sampler *s)
{
    double sigma = sqrt(noise_variance(model, l));
    random_normals(model->options.seed, stream, *drawn, model->width[l], s->normals);
    for (size_t j = 0; j < model->width[l]; j++)
        s->x[j] += (real)(sigma * s->normals[j]);
    *drawn += model->width[l];
}

static void sample_one(const struct model *model, uint64_t stream, struct sampler *s, real *out)
{
    const struct particle *particle = pick(model, random_uniform(model->options.seed, stream, UINT64_MAX));
    size_t top = model->options.layers;
    uint64_t drawn = 0;
    for (size_t j = 0; j < model->width[top]; j++)
        s->x[j] = (real)particle->top_mean[j];
    add_noise(model, top, stream, &drawn, s);
    for (size_t l = top; l-- > 0;) {
        const struct layer *layer = &particle->layer[l];
        activation_apply(model->options.activation, 0, layer->above, s->x, s->z, s->slope);
        matmul_row(layer->above, layer->below, layer->mean, s->z, s->x);
        add_noise(model, l, stream, &drawn, s);
    }
    memcpy(out, s->x, model->width[0] * sizeof *out);
}

bpcn_status sample(const struct model *model, size_t n, uint64_t draw, void *out)
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
            sample_one(model, random_stream(STREAM_SAMPLE, draw, i), &s, (real *)out + i * model->width[0]);
    }
    free(s.x);
    free(s.normals);
    return status;
}
