/*
 * GELU, ReLU, tanh and the identity. The float32 GELU is written as straight-line arithmetic that
 * the compiler turns into vector code, once for each kind of CPU; the loader picks.
 */
#include "activation.h"

#include "per_cpu.h"

#include <math.h>
#include <string.h>

static const char *const names[] = {
    [BPCN_GELU] = "gelu", [BPCN_RELU] = "relu", [BPCN_TANH] = "tanh", [BPCN_LINEAR] = "linear"};

const char *bpcn_activation_name(bpcn_activation activation)
{
    return (size_t)activation < sizeof names / sizeof *names ? names[activation] : NULL;
}

/* exp(x) for x <= 0: 2^k e^r with |r| <= log(2)/2, e^r by a polynomial with relative error 4e-9;
   0 below -87. */
static inline float exp_negative(float x)
{
    float inside = x < -87.0f ? 0.0f : 1.0f;
    x = x < -87.0f ? -87.0f : x;
    float k = (x * 1.44269504f + 12582912.0f) - 12582912.0f; /* to the nearest integer */
    float r = (x - k * 0.693359375f) + k * 2.12194440e-4f;
    float p = 1.375140790e-03f;
    p = p * r + 8.368916341e-03f;
    p = p * r + 4.166953311e-02f;
    p = p * r + 1.666651846e-01f;
    p = p * r + 4.999998860e-01f;
    p = 1.0f + r + r * r * p;
    int32_t bits = ((int32_t)(k > -127.0f ? k : -127.0f) + 127) << 23; /* NaN goes with p */
    float scale;
    memcpy(&scale, &bits, sizeof scale);
    return p * scale * inside;
}

/* Phi(-a) exp(a^2/2) for a >= 0, the Mills ratio over sqrt(2 pi), as a polynomial in
   t = 1 / (1 + 0.32 a): relative error 1.4e-8 before rounding. */
static inline float normal_tail_ratio(float a)
{
    float t = 1.0f / (1.0f + 0.32f * a);
    float p = -1.596064674e-02f;
    p = p * t + 6.866492999e-02f;
    p = p * t + -8.658241865e-02f;
    p = p * t + -1.075816775e-02f;
    p = p * t + 5.013560137e-02f;
    p = p * t + 2.892596915e-02f;
    p = p * t + 9.727784586e-02f;
    p = p * t + 1.127857200e-01f;
    p = p * t + 1.278585966e-01f;
    p = p * t + 1.276525633e-01f;
    return p * t;
}

PER_CPU
static void gelu_f32(size_t n, const float *restrict x, float *restrict z, float *restrict slope)
{
    for (size_t i = 0; i < n; i++) {
        float v = x[i], a = v < 0 ? -v : v;
        float bell = exp_negative(-0.5f * v * v);
        float tail = bell * normal_tail_ratio(a);
        float cdf = v < 0 ? tail : 1.0f - tail;
        z[i] = v * cdf;
        slope[i] = cdf + v * bell * 0.398942280f;
    }
}

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
        gelu_f32(n, x, z, slope);
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
