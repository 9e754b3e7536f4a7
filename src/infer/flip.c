/* Turning units of a code on and off (compiled per precision). */
#include "flip.h"

#include "matmul.h"

#include <math.h>
#include <string.h>

/* Of a unit's curvature, what is left when the other units make up for its move: of one that goes on and one that
   goes off. */
static const double stiff_on = 0.5, stiff_off = 0.003;
static const double worth_flipping = 0.1; /* nats */

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
    matmul_row(layer->above, layer->below, layer->mean, above, prediction);
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
