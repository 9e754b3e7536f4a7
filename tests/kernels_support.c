/* See kernels_support.h. */
#include "kernels_support.h"

#include <stdlib.h>

float *numbers(size_t n, uint32_t seed)
{
    float *x = aligned_alloc(64, (n * sizeof *x / 64 + 1) * 64);
    for (size_t i = 0; i < n; i++) {
        seed = seed * 1664525u + 1013904223u;
        x[i] = (float)(seed >> 8) / 8388608.0f - 1;
    }
    return x;
}

double *doubles(size_t n, uint64_t seed)
{
    struct dice dice = {seed};
    double *x = room(n, sizeof *x);
    dice_normals(&dice, n, 1, x);
    return x;
}
