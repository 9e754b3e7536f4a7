/* GELU, ReLU, tanh and the identity. The float32 GELU is one of the kernels. */
#include "activation.h"

#include "kernels.h"

#include <math.h>
#include <string.h>

static void gelu_f64(size_t n, const double *x, double *z, double *slope)
{
    for (size_t i = 0; i < n; i++) {
        double cdf = 0.5 * erfc(-x[i] * 0.70710678118654752440);
        z[i] = x[i] * cdf;
        slope[i] = cdf + x[i] * exp(-0.5 * x[i] * x[i]) * 0.39894228040143267794;
    }
}

void activate_f32(bpcn_activation kind, double leak, size_t n, const float *x, float *z, float *slope)
{
    switch (kind) {
    case BPCN_GELU:
        kernels_chosen()->gelu(n, x, z, slope);
        return;
    case BPCN_RELU:
        for (size_t i = 0; i < n; i++) {
            slope[i] = x[i] > 0 ? 1.0f : (float)leak;
            z[i] = slope[i] * x[i]; /* a NaN stays one */
        }
        return;
    case BPCN_TANH:
        for (size_t i = 0; i < n; i++) {
            z[i] = tanhf(x[i]);
            slope[i] = 1.0f - z[i] * z[i];
        }
        return;
    case BPCN_LINEAR:
        memcpy(z, x, n * sizeof *z);
        for (size_t i = 0; i < n; i++)
            slope[i] = 1.0f;
        return;
    }
}

void activate_f64(bpcn_activation kind, double leak, size_t n, const double *x, double *z, double *slope)
{
    switch (kind) {
    case BPCN_GELU:
        gelu_f64(n, x, z, slope);
        return;
    case BPCN_RELU:
        for (size_t i = 0; i < n; i++) {
            slope[i] = x[i] > 0 ? 1.0 : leak;
            z[i] = slope[i] * x[i];
        }
        return;
    case BPCN_TANH:
        for (size_t i = 0; i < n; i++) {
            z[i] = tanh(x[i]);
            slope[i] = 1.0 - z[i] * z[i];
        }
        return;
    case BPCN_LINEAR:
        memcpy(z, x, n * sizeof *z);
        for (size_t i = 0; i < n; i++)
            slope[i] = 1.0;
        return;
    }
}

void activate_plain(bpcn_activation kind, size_t n, const float *x, float *z, float *slope)
{
    for (size_t i = 0; i < n; i++) {
        double in = (double)x[i], out = 0, derivative = 0;
        activate_f64(kind, 0, 1, &in, &out, &derivative);
        z[i] = (float)out;
        slope[i] = (float)derivative;
    }
}
