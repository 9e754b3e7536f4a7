/* The activation functions f and their derivatives. */
#ifndef BPCN_ACTIVATION_H
#define BPCN_ACTIVATION_H

#include "bayespcn.h"
#include "symbols.h"

/* One activation: all that the library knows of it. */
struct activation {
    const char *name;
    int kinked;           /* f' jumps at 0: searched by a schedule of its own (schedule.c), by steps that stop there
                             (kink.h) */
    double slope_at_zero; /* f'(0), of a kinked one just above: where most activations are */
    double mean_square;   /* the mean of f'^2 over activations near zero, of a kinked one above it */
    void (*f32)(double negative_slope, size_t n, const float *x, float *z, float *slope);
    void (*f64)(double negative_slope, size_t n, const double *x, double *z, double *slope);
};

/* NULL for a kind that does not exist. */
const struct activation *activation_of(bpcn_activation kind);

/* The mean of f'^2 over a symmetric distribution of activations near zero, with slope `negative_slope` below. */
double activation_mean_square_slope(bpcn_activation kind, double negative_slope);

/* z = f(x) and slope = f'(x), elementwise. float32: within 3e-7 of the exact value; float64: by the C
   library's erf, exp and tanh. `negative_slope` is the slope of a kinked activation below zero, 0 but for inference on
   its way from a linear network (schedule.h); the others do not look at it. */
void activation_apply_f32(bpcn_activation kind, double negative_slope, size_t n, const float *x, float *z,
                          float *slope);
void activation_apply_f64(bpcn_activation kind, double negative_slope, size_t n, const double *x, double *z,
                          double *slope);

/* Without a suffix: by the type that x points to, as in <tgmath.h>. */
#define activation_apply(kind, negative_slope, n, x, z, slope)                                                         \
    _Generic(*(x), float : activation_apply_f32, double : activation_apply_f64)(kind, negative_slope, n, x, z, slope)

/* The scalar float32 activations by the C library in double, which the fast ones are tested
   against. */
void activation_apply_plain(bpcn_activation kind, size_t n, const float *x, float *z, float *slope);

#endif
