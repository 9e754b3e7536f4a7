/* Rows of floats in the model's precision, and back. */
#ifndef BPCN_PRECISION_H
#define BPCN_PRECISION_H

#include "alloc.h"
#include "network.h"
#include "symbols.h"

/* The rows themselves for float32 models, else a copy in double that the caller frees. */
static inline void *to_real(const struct model *model, const float *x, size_t entries, void **copy)
{
    *copy = NULL;
    if (model->options.precision == BPCN_FLOAT32)
        return (void *)(uintptr_t)x;
    double *wide = alloc_zeroed(entries, sizeof *wide);
    for (size_t j = 0; wide != NULL && j < entries; j++)
        wide[j] = (double)x[j];
    *copy = wide;
    return wide;
}

/* Room for results: `out` itself for float32 models, else doubles that from_real copies over. */
static inline void *room_real(const struct model *model, float *out, size_t entries, void **copy)
{
    *copy = NULL;
    if (model->options.precision == BPCN_FLOAT32)
        return out;
    return *copy = alloc_zeroed(entries, sizeof(double));
}

static inline void from_real(void *copy, float *out, size_t entries)
{
    const double *wide = copy;
    for (size_t j = 0; wide != NULL && j < entries; j++)
        out[j] = (float)wide[j];
}

#endif
