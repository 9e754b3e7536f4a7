/* What is behind struct gpcn, and how its files share the work. */
#ifndef BASELINES_GPCN_STATE_H
#define BASELINES_GPCN_STATE_H

#include "gpcn.h"

struct gpcn {
    struct gpcn_options options;
    size_t width[BPCN_MAX_LAYERS + 1];  /* of layer 0 (the observation) .. layers */
    size_t offset[BPCN_MAX_LAYERS + 1]; /* of layer l >= 1 in a code */
    size_t code_dim;
    double *weights[BPCN_MAX_LAYERS + 1]; /* [above x below]; the last one the top's mean */
    double *items;                        /* offline: [count x dim] */
    size_t count, room;
    size_t trained;     /* items that the weights were trained on */
    double evaluations; /* per query, of the last read */
};

/* The most iterations of one inference. */
enum { GPCN_MOST_ITERATIONS = 500, GPCN_BATCH = 128 };

/* gpcn_infer with a limit on the minimiser's iterations. */
bpcn_status gpcn_infer_within(const struct gpcn *g, const double *x, const unsigned char *known, size_t n, int started,
                              size_t iterations, double *codes, double *energy, size_t *evaluations);

/* Weights drawn from the prior. */
bpcn_status gpcn_reset(struct gpcn *g);

/* One weight step for given codes [n x code_dim]. */
bpcn_status gpcn_apply(struct gpcn *g, const double *x, const double *codes, size_t n);

/* out [n x dim] = f(x_1) R_0 */
bpcn_status gpcn_predict(const struct gpcn *g, const double *codes, size_t n, double *out);

#endif
