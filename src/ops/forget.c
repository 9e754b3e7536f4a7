/*
 * forget and discount (compiled per precision).
 *
 * forget lets everything diffuse towards the prior. With r = sqrt(1 - beta):
 *
 *   M = r M + (1 - r) M_0        U = (1 - beta) U + beta sw^2 I
 *
 * and likewise for the top. The prior's means M_0 are not stored but drawn again from the seed.
 *
 * discount lets the evidence of everything written weigh (1 - beta) as much. In information form a layer's posterior
 * is U^-1 and U^-1 M, its prior sw^-2 I and sw^-2 M_0; both parts of the posterior move towards the prior:
 *
 *   U'^-1 = (1 - beta) U^-1 + beta sw^-2 I        M' = M + beta sw^-2 U' (M_0 - M)
 *
 * and 1/S and mu likewise. A row written a discounts ago then counts as if its noise variance were sx^2 / (1 - beta)^a.
 * What recent rows determine does not move, because U' is small there; directions that only old rows needed become free
 * for new ones, and their means return to the prior.
 */
#include "random.h"
#include "cholesky.h"
#include "matmul.h"
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
    update_refresh_root(layer);
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

/* Columns of a mean that one product of the discount moves. */
enum { DISCOUNT_COLUMNS = 64 };

struct discount_buffers {
    real *lower, *upper;  /* packed R' and R */
    real *pull, *product; /* [DISCOUNT_COLUMNS x widest hidden] each */
    double *normals;      /* [DISCOUNT_COLUMNS], or as many as the widest hidden layer */
};

/* Doubles for each of the buffers in turn; their sizes keep the packed ones aligned to 64 bytes. */
static void discount_sizes(const struct model *model, size_t *packed, size_t *columns, size_t *normals)
{
    size_t widest = model->widest_hidden > 0 ? model->widest_hidden : 1;
    *packed = (matmul_packed_entries(widest, widest, sizeof(real)) * sizeof(real) + 63) / 64 * 8;
    *columns = (DISCOUNT_COLUMNS * widest * sizeof(real) + 63) / 64 * 8;
    *normals = DISCOUNT_COLUMNS + widest + top_width(model) + 1;
}

size_t discount_scratch(const struct model *model)
{
    size_t packed, columns, normals;
    discount_sizes(model, &packed, &columns, &normals);
    return 2 * packed + 2 * columns + normals;
}

/* M += beta sw^-2 U (M_0 - M), some columns at a time, as (M_0 - M)' R' R with U = R'R. In `real`: U keeps its small
   directions small there, which is all that matters. */
static void discount_mean(const struct model *model, struct layer *layer, uint64_t stream, double weight,
                          const struct discount_buffers *b, struct team *team)
{
    size_t above = layer->above, below = layer->below;
    double scale = 1 / sqrt((double)below);
    struct panels lower = matmul_pack(above, above, (const real *)layer->root_real, 1, PANEL_LOWER, b->lower);
    struct panels upper = matmul_pack(above, above, (const real *)layer->root_real, 0, PANEL_UPPER, b->upper);
    for (size_t first = 0, n; first < below; first += n) {
        n = below - first < DISCOUNT_COLUMNS ? below - first : DISCOUNT_COLUMNS;
        for (size_t j = 0; j < above; j++) {
            const real *row = (const real *)layer->mean + j * below + first;
            random_normals(model->options.seed, stream, j * below + first, n, b->normals);
            for (size_t i = 0; i < n; i++)
                b->pull[i * above + j] = (real)(scale * b->normals[i] - (double)row[i]);
        }
        matmul(team, &lower, n, b->pull, b->product);
        matmul(team, &upper, n, b->product, b->pull);
        for (size_t j = 0; j < above; j++) {
            real *row = (real *)layer->mean + j * below + first;
            for (size_t i = 0; i < n; i++)
                row[i] = (real)((double)row[i] + weight * (double)b->pull[i * above + j]);
        }
    }
}

void discount_apply(struct model *model, double beta, struct team *team, double *scratch)
{
    double weight = beta / (model->options.sigma_w * model->options.sigma_w);
    size_t packed, columns, normals, top = model->options.layers, width = top_width(model);
    discount_sizes(model, &packed, &columns, &normals);
    struct discount_buffers b = {.lower = (real *)(void *)scratch,
                                 .upper = (real *)(void *)(scratch + packed),
                                 .pull = (real *)(void *)(scratch + 2 * packed),
                                 .product = (real *)(void *)(scratch + 2 * packed + columns),
                                 .normals = scratch + 2 * packed + 2 * columns};
    for (size_t n = 0; n < model->options.particles; n++) {
        struct particle *particle = &model->particles[n];
        for (size_t l = 0; l < top; l++) {
            struct layer *layer = &particle->layer[l];
            cholesky_discount(layer->above, 1 - beta, weight, layer->root, b.normals);
            update_refresh_root(layer);
            discount_mean(model, layer, random_stream(STREAM_PRIOR, particle->origin, l), weight, &b, team);
        }
        double variance = 1 / ((1 - beta) / particle->top_variance + weight), scale = 1 / sqrt((double)width);
        random_normals(model->options.seed, random_stream(STREAM_PRIOR, particle->origin, top), 0, width, b.normals);
        for (size_t j = 0; j < width; j++)
            particle->top_mean[j] += weight * variance * (scale * b.normals[j] - particle->top_mean[j]);
        particle->top_variance = variance;
    }
    model->forgets++;
}
