/*
 * GPCN, the generative predictive coding network that BayesPCN grew out of: the same layers with
 * point weights, learnt by gradient steps. Weights and their steps are float64; codes are searched in float32 unless
 * float64 is asked for.
 *
 *   E = sum_l [ d_l/2 log(2 pi s) + |x_l - f(x_{l+1}) R_l|^2 / (2 s) ] + the top,   s = sx^2
 *   one step: infer the codes of n items; R_l += rate * mean over items of -dE/dR_l; top likewise
 */
#ifndef BASELINES_GPCN_H
#define BASELINES_GPCN_H

#include "baselines.h"

enum gpcn_learning {
    GPCN_ONLINE, /* one step per arriving item */
    GPCN_OFFLINE /* items are collected; the next read first trains on all of them from the prior */
};

/* Momentum from the first step on does harm (docs/SPEED.md). */
enum { GPCN_PLAIN_STEPS = 50 };

struct gpcn_options {
    size_t dim, layers, hidden[BPCN_MAX_LAYERS]; /* at least one hidden layer */
    bpcn_activation activation;
    double sigma_x;              /* default 0.01 */
    double rate;                 /* of a weight step; default 1e-4 */
    enum gpcn_learning learning; /* default GPCN_ONLINE */
    size_t iterations;           /* offline: weight steps; default 4000 */
    size_t warm;                 /* offline: minimiser iterations at most per weight step, from the codes of the
                                    step before; 0: infer afresh every time; default 12. Fewer are not enough: with
                                    8, small networks leave the way of full inference within 16 steps */
    double momentum;          /* offline: of the weight steps after the first GPCN_PLAIN_STEPS; default 0, the paper's.
                                 A step is then momentum times the last one and the gradient's */
    bpcn_precision precision; /* of searches: BPCN_FLOAT32 (default) or BPCN_FLOAT64 */
    bpcn_minimizer minimizer; /* BPCN_LBFGS (default) or BPCN_ADAM, the paper's */
    double adam_rate, adam_stop; /* default 0.01, 1e-3 */
    size_t adam_steps;           /* default 500 */
    size_t rounds;               /* of an auto-associative read; default 30 */
    size_t checkpoint; /* offline: the weights of every so many steps are kept as a version; 0: the last only */
    int threads;       /* of the searches' products; 0: one per core. The others are BLAS's */
    uint64_t seed;     /* draws the prior, the same as bayespcn's for this seed */
};
struct gpcn_options gpcn_options_default(void);

struct gpcn;
bpcn_status gpcn_create(const struct gpcn_options *options, struct gpcn **gpcn);
void gpcn_free(struct gpcn *gpcn);

/* Entries of a code: the sum of the hidden widths; layer 1 first. */
size_t gpcn_code_dim(const struct gpcn *gpcn);

/* Weights of layer l < layers [above x below], or the top's mean [width of the top] for
   l = layers: the network's own array, to read or to overwrite. */
double *gpcn_weights(struct gpcn *gpcn, size_t l);

/* Infers the codes of n rows x [n x dim] with the entries `known` [n x dim] (or NULL: all). codes
   [n x code_dim] holds the starts if `started`, and gets the codes; energy [n] may be NULL. */
bpcn_status gpcn_infer(const struct gpcn *gpcn, const double *x, const unsigned char *known, size_t n, int started,
                       double *codes, double *energy, size_t *evaluations);

/* One weight step on n rows x [n x dim], from the starts [n x code_dim] or NULL. */
bpcn_status gpcn_step(struct gpcn *gpcn, const double *x, size_t n, const double *starts);

/* Trains from the present weights on n rows; mean_energy, if not NULL, gets the mean energy of the
   last codes before the last step. */
bpcn_status gpcn_train(struct gpcn *gpcn, const double *x, size_t n, double *mean_energy);

/* Offline: trains if that is still to be done, and says how many versions there are, at least one. */
bpcn_status gpcn_versions(struct gpcn *gpcn, size_t *count);

/* The weights become those of a version, 0 the first. */
void gpcn_use_version(struct gpcn *gpcn, size_t version);

/* Of the inferences from here on. */
void gpcn_set_minimizer(struct gpcn *gpcn, bpcn_minimizer minimizer);

/* Draws n ancestral samples, out [n x dim]. */
bpcn_status gpcn_sample(const struct gpcn *gpcn, size_t n, uint64_t draw, float *out);

/* Energy evaluations per query in the last read through the interface. */
double gpcn_last_evaluations(const struct gpcn *gpcn);

/* The common interface; the model's free frees the network. */
bpcn_model gpcn_model(struct gpcn *gpcn);

#endif
