/*
 * The memory and its opponents behind one interface. Each constructor fills *model or returns a
 * status with a sentence in bpcn_error(). All of them take rows of `dim` floats on the scale of the
 * paper, [-1, 1].
 */
#ifndef BASELINES_H
#define BASELINES_H

#include "bayespcn.h"

/* What an experiment needs of a method. Failures leave their sentence in bpcn_error(). */
typedef struct bpcn_model {
    void *self;
    const char *name;
    bpcn_status (*write)(void *self, const float *x, size_t n);
    bpcn_status (*read)(const void *self, const float *query, const unsigned char *known, size_t n, float *out);
    size_t (*bytes)(const void *self);
    void (*free)(void *self);
} bpcn_model;

/* A memory. The model owns it from then on when the caller uses model.free, and borrows it otherwise. */
bpcn_model memory_model(bpcn_memory *memory);

/* Answers every query with itself. */
bpcn_status identity_create(size_t dim, bpcn_model *model);

/* Stores every observation; answers with the one nearest in squared distance over the known
   entries (all of them without a mask). Known entries come back as they are. */
struct nearest_options {
    size_t dim;
    size_t capacity; /* observations kept, the latest; 0: all */
    int store_bytes; /* 1: keep an entry in one byte (256 levels of [-1, 1]) instead of four */
    int products;    /* 1: find the distances of all rows of a read together, by BLAS; wants store_bytes 0 */
};
bpcn_status nearest_create(const struct nearest_options *options, bpcn_model *model);

/* A modern Hopfield network: every observation is the mean of a Gaussian of variance 1/beta. */
enum mhn_metric {
    MHN_DOT,
    MHN_EUCLIDEAN,
    MHN_PAPER_DOT /* what the paper calls the dot product: every observation K weighs 0.01 beta |K|^2 more, not half of
                     beta |K|^2, which leaves it nearly Euclidean */
};
enum mhn_recall {
    MHN_ONE_STEP, /* the softmax-weighted mean of the observations */
    MHN_GRADIENT  /* the paper's: Adam on the log density of the mixture, from the query */
};
struct mhn_options {
    size_t dim;
    enum mhn_metric metric; /* how similar an observation is: by dot product or by distance */
    enum mhn_recall recall;
    double beta;  /* inverse temperature; the paper: 10,000 */
    double rate;  /* Adam's, default 1. The paper says 1, and 1 gives the mask row of its Table 1; the mask
                     rows of its high-noise table come out to the last digit with 0.005 instead */
    double stop;  /* Adam stops once no energy moved by more; 1e-3 */
    size_t steps; /* of Adam at most, default 500; the paper allows 30 x 500, which small rates want. At
                     rate 1 it never rests, and after 500 only a haze of 1e-3 about the answer changes */
};
struct mhn_options mhn_options_default(size_t dim);
bpcn_status mhn_create(const struct mhn_options *options, bpcn_model *model);

/* Adam's steps per query in the last read of an MHN. */
size_t mhn_last_steps(const bpcn_model *model);

#endif
