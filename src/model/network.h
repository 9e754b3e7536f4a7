/*
 * The state of a memory: a weighted mixture of particles, each a stack of layers with Gaussian
 * weights. Arrays whose element type is `real` (float or double by the memory's precision) are
 * void pointers here; the files compiled per precision give them their type.
 */
#ifndef BPCN_NETWORK_H
#define BPCN_NETWORK_H

#include "bayespcn.h"
#include "symbols.h"

#include <stddef.h>

struct forest;

/* Layer l predicts the activations below (layer l) from those above (layer l + 1). */
struct layer {
    size_t above, below;
    void *mean;      /* real [above x below]: M */
    double *root;    /* packed upper triangle R of the row covariance U = R'R, see root.h */
    void *root_real; /* real [above x above]: R rounded, for inference; below its diagonal unused */
};

struct particle {
    struct layer layer[BPCN_MAX_LAYERS];
    double *top_mean; /* [width of the top layer] */
    double top_variance;
    size_t origin; /* the particle of the prior that it descends from (resampling) */
};

struct model {
    bpcn_options options;               /* sigma_data filled in */
    size_t width[BPCN_MAX_LAYERS + 1];  /* of layer 0 (the observation) .. options.layers */
    size_t offset[BPCN_MAX_LAYERS + 1]; /* of layer l >= 1 in a code */
    size_t code_dim, widest_hidden;
    struct particle *particles; /* [options.particles] */
    double *log_weights;        /* [options.particles], normalised */
    size_t *copies;             /* [options.particles], for model_resample */
    uint64_t writes, forgets, deletes;
    struct forest *forest; /* of a table, which has one particle without layers; else NULL */
};

/* Bytes of one `real`. */
static inline size_t real_size(const struct model *model)
{
    return model->options.precision == BPCN_FLOAT64 ? sizeof(double) : sizeof(float);
}

/* Noise variance of layer l. */
static inline double noise_variance(const struct model *model, size_t l)
{
    double sigma = l == 0 ? model->options.sigma_data : model->options.sigma_x;
    return sigma * sigma;
}

static inline size_t top_width(const struct model *model)
{
    return model->width[model->options.layers];
}

/* The particle of greatest weight. */
size_t model_heaviest(const struct model *model);

/* Makes log_weights sum to one; -1 when they cannot be (not finite). */
int model_normalize_weights(size_t n, double *log_weights);

/* Layers and tops are left to be filled; NULL when out of memory. */
struct model *model_allocate(const bpcn_options *options);
void model_free(struct model *model);
size_t model_bytes(const struct model *model);

/* The largest variance that a direction may have: the prior's, and what rounding adds. */
double model_prior_bound(const struct model *model);

/* The same of a model that is yet to be made; UINT64_MAX when it is more than any machine has. */
uint64_t model_options_bytes(const bpcn_options *options);

/* Replaces the particles by draws from among them when their effective number is below half.
   source [particles], or NULL: which particle each one is now. */
void model_resample(struct model *model, size_t *source);

/* How the layers of an energy are weighed against each other. */
struct weighing {
    double sensory; /* times the variance s_0 */
    double upper;   /* times the energies of the layers above */
};

extern const struct weighing weighing_density; /* both 1 */

/* What the rows of a call know. */
struct masks {
    const unsigned char *mask; /* [dim]: what all of them know; NULL: everything, or not all the same */
    double share;              /* of the entries that count for a row, on average */
    int same;                  /* all know the same entries */
};

/* How many of a row's entries are known. */
size_t masks_count_known(size_t dim, const unsigned char *known);

/* Of n rows with their masks [n x dim], or NULL: all is known. Every entry that is known counts. */
struct masks masks_of_rows(size_t dim, size_t n, const unsigned char *known);

#endif
