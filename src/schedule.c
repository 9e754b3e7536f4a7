/* The steps of inference and the curvature it starts from (compiled per precision). */
#include "schedule.h"

#include "alloc.h"
#include "linalg.h"
#include "root.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define STEPS(array) ((struct steps){sizeof(array) / sizeof *(array), (array)})

/* clang-format off */
static const struct step smooth_read[] = {
    {0.03, 0, {40, 1}, 0}, {0.001, 0, {40, 0.1}, 0}, {0, 0, {400, 0}, 0}};

/* Linear first, where the sensory layer is a ridge regression whose minimum is near the code
   sought; then the kink is bent in while some variance is left. */
static const struct step relu_read[] = {
    {0.03, 1, {40, 1}, 0},           {0.001, 1, {40, 0.1}, 0},
    {0.001, 0.3, {100, 0.02}, 0},    {0.001, 0.1, {100, 0.02}, 0},
    {0.001, 0, {60, 0.03}, 1e-4},    {0.0003, 0, {40, 0.1}, 1e-4},
    {0.0001, 0, {40, 0.1}, 1e-4},    {0, 0, {400, 1e-3}, 1e-4}};

/* Another way to the same place, which finds some of the codes that the first one misses. */
static const struct step relu_read_again[] = {
    {0.03, 1, {40, 1}, 0},           {0.001, 1, {40, 0.1}, 0},      {0.0003, 1, {40, 0.1}, 0},
    {0.0003, 0.3, {80, 0.03}, 0},    {0.0003, 0.1, {60, 0.03}, 0},  {0.0003, 0, {60, 0.03}, 1e-3},
    {0.0001, 0, {30, 0.03}, 1e-4},   {0, 0, {400, 1e-3}, 1e-4}};

static const struct step smooth_write[] = {
    {0.3, 0, {10, 1}, 0}, {0.1, 0, {10, 1}, 0}, {0.03, 0, {10, 1}, 0}, {0.01, 0, {10, 1}, 0},
    {0, 0, {500, 0}, 0}};

static const struct step relu_write[] = {
    {0.3, 1, {10, 1}, 0}, {0.1, 0.5, {10, 1}, 0}, {0.03, 0.2, {10, 1}, 0}, {0, 0.1, {10, 1}, 0},
    {0, 0, {500, 1e-2}, 0}};

/* Of a block, per row: its rows must find their places among each other as well, late and for little. */
static const struct step smooth_block[] = {
    {0.1, 0, {15, 0.5}, 0}, {0.01, 0, {15, 0.5}, 0}, {0, 0, {500, 0}, 0}};

static const struct step relu_block[] = {
    {0.3, 1, {15, 1}, 0}, {0.1, 0.5, {15, 1}, 0}, {0.03, 0.2, {15, 1}, 0}, {0, 0.1, {15, 1}, 0},
    {0, 0, {500, 0}, 0}};

/* With the noise of a query known: what the linear network has found, bent. */
static const struct step smooth_noisy[] = {{0, 0, {400, 0}, 0}};
static const struct step relu_noisy[] = {
    {0, 0.3, {100, 0.02}, 0}, {0, 0.1, {100, 0.02}, 0}, {0, 0, {60, 0.03}, 1e-4}, {0, 0, {400, 1e-3}, 1e-4}};
/* clang-format on */

struct steps read_steps(bpcn_activation activation, int again)
{
    if (again)
        return activation == BPCN_RELU ? STEPS(relu_read_again) : (struct steps){0, NULL};
    return activation == BPCN_RELU ? STEPS(relu_read) : STEPS(smooth_read);
}

struct steps write_steps(bpcn_activation activation)
{
    return activation == BPCN_RELU ? STEPS(relu_write) : STEPS(smooth_write);
}

struct steps block_steps(bpcn_activation activation)
{
    return activation == BPCN_RELU ? STEPS(relu_block) : STEPS(smooth_block);
}

struct steps noisy_steps(bpcn_activation activation)
{
    return activation == BPCN_RELU ? STEPS(relu_noisy) : STEPS(smooth_noisy);
}

double density_tolerance(const struct model *model)
{
    return 5e-7 * (double)(model->width[0] + model->code_dim);
}

double recall_tolerance(const struct model *model)
{
    return 1e-5 * (double)(model->width[0] + model->code_dim);
}

struct stage stage_of(const struct step *step, double last)
{
    struct stage stage = step->stage;
    if (stage.tolerance == 0)
        stage.tolerance = last;
    return stage;
}

int starts_linear(bpcn_activation activation)
{
    return activation == BPCN_RELU;
}

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

void norms_compute(const struct model *model, const struct particle *particle, struct norms *norms)
{
    for (size_t l = 0; l < model->options.layers; l++) {
        const struct layer *layer = &particle->layer[l];
        real *mean = norms->mean + model->offset[l + 1], *covariance = norms->covariance + model->offset[l + 1];
        memset(covariance, 0, layer->above * sizeof *covariance);
        for (size_t i = 0; i < layer->above; i++) {
            const real *row = (const real *)layer->mean + i * layer->below;
            const real *root = (const real *)layer->root_real + i * layer->above;
            mean[i] = (real)dot(layer->below, row, row);
            for (size_t j = i; j < layer->above; j++)
                covariance[j] += root[j] * root[j];
        }
    }
}

/* The mean of f'^2 over a symmetric distribution of activations near zero. */
static double mean_square_slope(bpcn_activation activation, double leak)
{
    switch (activation) {
    case BPCN_GELU:
        return 0.25;
    case BPCN_RELU:
        return 0.5 * (1 + leak * leak);
    case BPCN_TANH:
    case BPCN_LINEAR:
        break;
    }
    return 1;
}

void inverse_curvature(const struct model *model, const struct norms *norms, const struct fit *fit, double count,
                       double extra, double leak, const struct weighing *weighing, real *inverse)
{
    double slope = mean_square_slope(model->options.activation, leak);
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

void snap_code(const struct model *model, const struct particle *particle, double threshold, real *code, real *above,
               real *prediction)
{
    size_t top = model->options.layers;
    for (size_t j = 0; j < model->width[top]; j++)
        prediction[j] = (real)particle->top_mean[j];
    for (size_t l = top; l > 0; l--) {
        int free = l == top && top > 1; /* the top's mean would keep the prior's negative entries */
        real *x = code + model->offset[l];
        real limit = (real)(threshold * pow(0.1, (double)(l - 1)));
        for (size_t j = 0; j < model->width[l]; j++) {
            if (!free && x[j] < limit)
                x[j] = (prediction[j] < 0 ? prediction[j] : 0) - (real)1e-6;
            above[j] = x[j] > 0 ? x[j] : 0;
        }
        const struct layer *layer = &particle->layer[l - 1];
        if (l > 1)
            matmul(1, layer->above, layer->below, above, layer->mean, prediction);
    }
}
