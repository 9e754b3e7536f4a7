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
   sought; then bent while much variance is left. */
static const struct step relu_read[] = {
    {0.03, 1, {40, 1}, 0},    {0.03, 0.3, {40, 0.1}, 0}, {0.03, 0, {40, 0.1}, 0},
    {0.001, 0, {400, 0.1}, 0}, {0, 0, {400, 0}, 0}};

static const struct step relu_flip[] = {{0, 0, {60, 0}, 0}, {0, 0, {400, 0}, 1e-4}};

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

/* With the noise of a query known. */
static const struct step noisy[] = {{0, 0, {400, 0}, 0}};
/* clang-format on */

/* Of a unit's curvature, what is left when the other units make up for its move: of one that goes on and one that
   goes off. */
static const double stiff_on = 0.5, stiff_off = 0.003;
static const double worth_flipping = 0.1; /* nats */

struct steps read_steps(bpcn_activation activation)
{
    return activation == BPCN_RELU ? STEPS(relu_read) : STEPS(smooth_read);
}

struct steps flip_steps(bpcn_activation activation)
{
    return activation == BPCN_RELU ? STEPS(relu_flip) : (struct steps){0, NULL};
}

struct steps write_steps(bpcn_activation activation)
{
    return activation == BPCN_RELU ? STEPS(relu_write) : STEPS(smooth_write);
}

struct steps block_steps(bpcn_activation activation)
{
    return activation == BPCN_RELU ? STEPS(relu_block) : STEPS(smooth_block);
}

struct steps noisy_steps(void)
{
    return STEPS(noisy);
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
            mean[i] = (real)(l == 0 && gram != NULL ? gram_square(gram, i) : dot(layer->below, row, row));
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

/* prediction = what the layers above a ReLU code want of layer l. */
static void predict(const struct model *model, const struct particle *particle, size_t l, const real *code, real *above,
                    real *prediction)
{
    if (l == model->options.layers) {
        for (size_t j = 0; j < model->width[l]; j++)
            prediction[j] = (real)particle->top_mean[j];
        return;
    }
    const struct layer *layer = &particle->layer[l];
    const real *x = code + model->offset[l + 1];
    for (size_t j = 0; j < layer->above; j++)
        above[j] = x[j] > 0 ? x[j] : 0;
    matmul(1, layer->above, layer->below, above, layer->mean, prediction);
}

/* Where a unit that is off is best, given what it is wanted to be. */
static real off_value(double prediction)
{
    return (real)fmin(prediction, 0) - (real)1e-6;
}

void snap_code(const struct model *model, const struct particle *particle, double threshold, real *code, real *above,
               real *prediction)
{
    size_t top = model->options.layers;
    for (size_t l = top > 1 ? top - 1 : top; l > 0;
         l--) { /* the mean of a top would keep the prior's negative entries */
        real *x = code + model->offset[l];
        real limit = (real)(threshold * pow(0.1, (double)(l - 1)));
        predict(model, particle, l, code, above, prediction);
        for (size_t j = 0; j < model->width[l]; j++)
            if (x[j] < limit)
                x[j] = off_value((double)prediction[j]);
    }
}

void open_code(const struct model *model, const real *code, real *opened)
{
    memcpy(opened, code, model->code_dim * sizeof *code);
    real *x = opened + model->offset[1];
    for (size_t j = 0; j < model->width[1]; j++)
        x[j] = x[j] > 0 ? x[j] : (real)1e-12;
}

/* Flips one unit, wanted to be p with variance s, if that pays; the energy of the layers below is
   slope z + curvature z^2 / 2 around z = f(x). */
static int flip_unit(double p, double s, double slope, double curvature, real *x)
{
    double was = (double)*x, held = fmax(p, 0) * fmax(p, 0) / (2 * s); /* the energy of being off */
    if (was > 0) {
        double on = (was - p) * (was - p) / (2 * s);
        if (on - held + slope * was - stiff_off * curvature * was * was / 2 < worth_flipping)
            return 0;
        *x = off_value(p);
        return 1;
    }
    double at = (p / s - slope) / (1 / s + stiff_on * curvature);
    double on = (at - p) * (at - p) / (2 * s) + slope * at + stiff_on * curvature * at * at / 2;
    if (at <= 0 || held - on < worth_flipping)
        return 0;
    *x = (real)at;
    return 1;
}

size_t flip_code(const struct model *model, const struct particle *particle, const struct norms *norms,
                 const struct fit *fit, double count, double extra, const struct weighing *weighing, const real *grad,
                 real *code, real *above, real *prediction)
{
    size_t first = model->offset[1], flipped = 0;
    double s0 = weighing->sensory * fit[0].variance + extra, s1 = fit[1].variance / weighing->upper,
           share = count / (double)model->width[0];
    double excess = weighing->sensory * fmax(0, count - fit[0].squares / s0);
    predict(model, particle, 1, code, above, prediction);
    for (size_t j = 0; j < model->width[1]; j++) {
        real *x = code + first + j;
        double p = (double)prediction[j], on = fmax((double)*x, 0);
        double slope = (double)grad[first + j] - (on - p) / s1; /* less the unit's own part */
        double curvature =
            (share * (double)norms->mean[first + j] + excess * (double)norms->covariance[first + j]) / s0;
        flipped += (size_t)flip_unit(p, s1, slope, curvature, x);
    }
    return flipped;
}
