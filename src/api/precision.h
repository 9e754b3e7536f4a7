/* Rows of floats in the model's precision, and back. */
#ifndef BPCN_PRECISION_H
#define BPCN_PRECISION_H

#include "alloc.h"
#include "network.h"
#include "symbols.h"
#include "scale.h"

#include <math.h>

/* The rows as the model sees them, of n x dim entries: themselves where nothing is to be done, otherwise a copy that the
   caller frees. Entries that are not known are 0 in a copy. Entries beyond `most` scales are brought there. */
static inline void *to_real(const struct model *model, const struct scale *scale, double most, const float *x,
                            const unsigned char *known, size_t n, void **copy)
{
    size_t dim = model->width[0];
    int wide = model->options.precision == BPCN_FLOAT64;
    *copy = NULL;
    if (!wide && scale->pairs == 0 && most == INFINITY)
        return (void *)(uintptr_t)x;
    *copy = alloc_zeroed(n * dim, real_size(model));
    for (size_t i = 0; *copy != NULL && i < n * dim; i++) {
        if (known != NULL && !known[i])
            continue;
        double value = fmin(fmax(scale_in(scale, i % dim, (double)x[i]), -most), most);
        if (wide)
            ((double *)*copy)[i] = value;
        else
            ((float *)*copy)[i] = (float)value;
    }
    return *copy;
}

/* Codes, which have no unit. */
static inline void *to_real_plain(const struct model *model, const float *x, size_t entries, void **copy)
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
