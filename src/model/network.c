/* Allocation of the state, its weights, and resampling. */
#include "network.h"

#include "alloc.h"
#include "random.h"
#include "cholesky.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

const struct weighing weighing_density = {1, 1};

static void layer_free(struct layer *layer)
{
    free(layer->mean);
    free(layer->root);
    free(layer->root_real);
}

static int layer_allocate(struct layer *layer, size_t above, size_t below, size_t size)
{
    layer->above = above;
    layer->below = below;
    layer->mean = alloc_zeroed(above * below, size);
    layer->root = alloc_zeroed(cholesky_entries(above), sizeof(double));
    layer->root_real = alloc_zeroed(above * above, size);
    return layer->mean && layer->root && layer->root_real ? 0 : -1;
}

static int particle_allocate(struct model *model, struct particle *particle)
{
    for (size_t l = 0; l < model->options.layers; l++)
        if (layer_allocate(&particle->layer[l], model->width[l + 1], model->width[l], real_size(model)) != 0)
            return -1;
    particle->top_mean = alloc_zeroed(top_width(model), sizeof(double));
    return particle->top_mean ? 0 : -1;
}

static void set_shape(struct model *model)
{
    model->width[0] = model->options.dim;
    for (size_t l = 1; l <= model->options.layers; l++) {
        model->width[l] = model->options.hidden[l - 1];
        model->offset[l] = model->code_dim;
        model->code_dim += model->width[l];
        if (model->width[l] > model->widest_hidden)
            model->widest_hidden = model->width[l];
    }
}

struct model *model_allocate(const bpcn_options *options)
{
    struct model *model = alloc_zeroed(1, sizeof *model);
    if (model == NULL)
        return NULL;
    model->options = *options;
    set_shape(model);
    model->particles = alloc_zeroed(options->particles, sizeof *model->particles);
    model->log_weights = alloc_zeroed(options->particles, sizeof *model->log_weights);
    model->copies = alloc_zeroed(options->particles, sizeof *model->copies);
    int failed = model->particles == NULL || model->log_weights == NULL || model->copies == NULL;
    for (size_t n = 0; !failed && n < options->particles; n++) {
        failed = particle_allocate(model, &model->particles[n]) != 0;
        model->particles[n].origin = n;
        model->log_weights[n] = -log((double)options->particles);
    }
    if (failed) {
        model_free(model);
        return NULL;
    }
    return model;
}

void model_free(struct model *model)
{
    if (model == NULL)
        return;
    for (size_t n = 0; model->particles && n < model->options.particles; n++) {
        for (size_t l = 0; l < model->options.layers; l++)
            layer_free(&model->particles[n].layer[l]);
        free(model->particles[n].top_mean);
    }
    free(model->particles);
    free(model->log_weights);
    free(model->copies);
    free(model);
}

size_t model_bytes(const struct model *model)
{
    size_t one = sizeof(struct particle) + sizeof(double) * (top_width(model) + 2);
    for (size_t l = 0; l < model->options.layers; l++) {
        size_t above = model->width[l + 1], below = model->width[l];
        one += real_size(model) * above * (below + above) + sizeof(double) * cholesky_entries(above);
    }
    return sizeof *model + model->options.particles * one;
}

uint64_t model_options_bytes(const bpcn_options *o)
{
    uint64_t real = o->precision == BPCN_FLOAT64 ? 8 : 4, below = o->dim;
    uint64_t one = sizeof(struct particle) + sizeof(double) * ((o->layers > 0 ? o->hidden[o->layers - 1] : o->dim) + 2);
    for (size_t l = 0; l < o->layers; l++) { /* below 2^58 in all */
        uint64_t above = o->hidden[l];
        one += real * above * (below + above) + 8 * (above * (above + 1) / 2);
        below = above;
    }
    return o->particles > UINT64_MAX / 2 / one ? UINT64_MAX : sizeof(struct model) + o->particles * one;
}

/* By how much a variance may exceed the prior's: by prior_slack of it, and by what a removal loses of the digits of
   float64, which is one in (sigma_w / sigma_x)^2. Larger: more wrong deletes pass. A wrong one exceeds it by 1e-2 to 1e5
   of the prior's variance. */
static const double prior_slack = 1e-6, prior_rounding = 1e-13;

double model_prior_bound(const struct model *model)
{
    double prior = model->options.sigma_w * model->options.sigma_w, noise = noise_variance(model, 0);
    for (size_t l = 1; l < model->options.layers; l++)
        noise = noise_variance(model, l) < noise ? noise_variance(model, l) : noise;
    return prior * (1 + prior_slack + prior_rounding * prior / noise);
}

size_t model_heaviest(const struct model *model)
{
    size_t best = 0;
    for (size_t n = 1; n < model->options.particles; n++)
        if (model->log_weights[n] > model->log_weights[best])
            best = n;
    return best;
}

int model_normalize_weights(size_t n, double *log_weights)
{
    double most = -INFINITY, sum = 0;
    for (size_t i = 0; i < n; i++)
        if (log_weights[i] > most)
            most = log_weights[i];
    for (size_t i = 0; i < n; i++)
        sum += exp(log_weights[i] - most);
    if (!isfinite(most) || !isfinite(sum))
        return -1;
    for (size_t i = 0; i < n; i++)
        log_weights[i] -= most + log(sum);
    return 0;
}

static void particle_copy(const struct model *model, struct particle *to, const struct particle *from)
{
    size_t size = real_size(model);
    for (size_t l = 0; l < model->options.layers; l++) {
        const struct layer *source = &from->layer[l];
        struct layer *target = &to->layer[l];
        memcpy(target->mean, source->mean, source->above * source->below * size);
        memcpy(target->root, source->root, cholesky_entries(source->above) * sizeof(double));
        memcpy(target->root_real, source->root_real, source->above * source->above * size);
    }
    memcpy(to->top_mean, from->top_mean, top_width(model) * sizeof(double));
    to->top_variance = from->top_variance;
    to->origin = from->origin;
}

/* Systematic resampling: copies[n] = how often particle n is drawn. */
static void draw_copies(const struct model *model, size_t *copies)
{
    size_t count = model->options.particles, n = 0;
    double u = random_uniform(model->options.seed, random_stream(STREAM_RESAMPLE, 0, 0), model->writes);
    double reached = exp(model->log_weights[0]);
    for (size_t k = 0; k < count; k++) {
        double position = ((double)k + u) / (double)count;
        while (reached < position && n + 1 < count)
            reached += exp(model->log_weights[++n]);
        copies[n]++;
    }
}

void model_resample(struct model *model, size_t *source)
{
    size_t count = model->options.particles, spare = 0, *copies = model->copies;
    double squares = 0;
    for (size_t n = 0; n < count; n++)
        squares += exp(2 * model->log_weights[n]);
    for (size_t n = 0; source != NULL && n < count; n++)
        source[n] = n;
    if (1 / squares >= 0.5 * (double)count)
        return;
    memset(copies, 0, count * sizeof *copies);
    draw_copies(model, copies);
    for (size_t n = 0; n < count; n++)
        for (; copies[n] > 1; copies[n]--) { /* into the next particle that nobody drew */
            while (copies[spare] != 0)
                spare++;
            particle_copy(model, &model->particles[spare], &model->particles[n]);
            copies[spare] = 1;
            if (source != NULL)
                source[spare] = n;
        }
    for (size_t n = 0; n < count; n++)
        model->log_weights[n] = -log((double)count);
}

/* ---- masks */

size_t masks_count_known(size_t dim, const unsigned char *known)
{
    size_t count = 0;
    for (size_t j = 0; j < dim; j++)
        count += known[j] != 0;
    return count;
}

struct masks masks_of_rows(size_t dim, size_t n, const unsigned char *known)
{
    struct masks m = {.same = 1, .share = 1};
    size_t count = 0;
    for (size_t i = 0; known != NULL && i < n; i++) {
        count += masks_count_known(dim, known + i * dim);
        m.same = m.same && memcmp(known, known + i * dim, dim) == 0;
    }
    if (known != NULL)
        m.share = (double)count / (double)(n * dim); /* of the same rows the same bits, however many there are */
    if (m.same && known != NULL && memchr(known, 0, dim) != NULL)
        m.mask = known;
    return m;
}
