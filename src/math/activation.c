/* GELU, ReLU, tanh and the identity. The float32 GELU is one of the kernels. */
#include "activation.h"

#include "kernels.h"

#include <math.h>
#include <string.h>

static void gelu_f32(double negative_slope, size_t n, const float *x, float *z, float *slope)
{
    (void)negative_slope;
    kernels_chosen()->gelu(n, x, z, slope);
}

static void gelu_f64(double negative_slope, size_t n, const double *x, double *z, double *slope)
{
    (void)negative_slope;
    for (size_t i = 0; i < n; i++) {
        double cdf = 0.5 * erfc(-x[i] * 0.70710678118654752440);
        z[i] = x[i] * cdf;
        slope[i] = cdf + x[i] * exp(-0.5 * x[i] * x[i]) * 0.39894228040143267794;
    }
}

/* A NaN stays one. */
static void relu_f32(double negative_slope, size_t n, const float *x, float *z, float *slope)
{
    for (size_t i = 0; i < n; i++) {
        slope[i] = x[i] > 0 ? 1.0f : (float)negative_slope;
        z[i] = slope[i] * x[i];
    }
}

static void relu_f64(double negative_slope, size_t n, const double *x, double *z, double *slope)
{
    for (size_t i = 0; i < n; i++) {
        slope[i] = x[i] > 0 ? 1.0 : negative_slope;
        z[i] = slope[i] * x[i];
    }
}

static void tanh_f32(double negative_slope, size_t n, const float *x, float *z, float *slope)
{
    (void)negative_slope;
    for (size_t i = 0; i < n; i++) {
        z[i] = tanhf(x[i]);
        slope[i] = 1.0f - z[i] * z[i];
    }
}

static void tanh_f64(double negative_slope, size_t n, const double *x, double *z, double *slope)
{
    (void)negative_slope;
    for (size_t i = 0; i < n; i++) {
        z[i] = tanh(x[i]);
        slope[i] = 1.0 - z[i] * z[i];
    }
}

static void linear_f32(double negative_slope, size_t n, const float *x, float *z, float *slope)
{
    (void)negative_slope;
    memcpy(z, x, n * sizeof *z);
    for (size_t i = 0; i < n; i++)
        slope[i] = 1.0f;
}

static void linear_f64(double negative_slope, size_t n, const double *x, double *z, double *slope)
{
    (void)negative_slope;
    memcpy(z, x, n * sizeof *z);
    for (size_t i = 0; i < n; i++)
        slope[i] = 1.0;
}

static const struct activation table[] = {
    [BPCN_GELU] = {"gelu", 0, 0.5, 0.25, gelu_f32, gelu_f64},
    [BPCN_RELU] = {"relu", 1, 1, 1, relu_f32, relu_f64},
    [BPCN_TANH] = {"tanh", 0, 1, 1, tanh_f32, tanh_f64},
    [BPCN_LINEAR] = {"linear", 0, 1, 1, linear_f32, linear_f64},
};

const struct activation *activation_of(bpcn_activation kind)
{
    return (size_t)kind < sizeof table / sizeof *table ? &table[kind] : NULL;
}

const char *bpcn_activation_name(bpcn_activation activation)
{
    const struct activation *a = activation_of(activation);
    return a != NULL ? a->name : NULL;
}

double activation_mean_square_slope(bpcn_activation kind, double negative_slope)
{
    const struct activation *a = &table[kind];
    return a->kinked ? 0.5 * (a->mean_square + negative_slope * negative_slope) : a->mean_square;
}

void activation_apply_f32(bpcn_activation kind, double negative_slope, size_t n, const float *x, float *z, float *slope)
{
    table[kind].f32(negative_slope, n, x, z, slope);
}

void activation_apply_f64(bpcn_activation kind, double negative_slope, size_t n, const double *x, double *z,
                          double *slope)
{
    table[kind].f64(negative_slope, n, x, z, slope);
}

void activation_apply_plain(bpcn_activation kind, size_t n, const float *x, float *z, float *slope)
{
    for (size_t i = 0; i < n; i++) {
        double in = (double)x[i], out = 0, derivative = 0;
        activation_apply_f64(kind, 0, 1, &in, &out, &derivative);
        z[i] = (float)out;
        slope[i] = (float)derivative;
    }
}
