/* What is behind struct gpcn, and how its files share the work. */
#ifndef BASELINES_GPCN_STATE_H
#define BASELINES_GPCN_STATE_H

#include "gpcn.h"
#include "gpcn_span.h"

struct gpcn {
    struct gpcn_options options;
    size_t width[BPCN_MAX_LAYERS + 1];  /* of layer 0 (the observation) .. layers */
    size_t offset[BPCN_MAX_LAYERS + 1]; /* of layer l >= 1 in a code */
    size_t code_dim;
    double *weights[BPCN_MAX_LAYERS + 1]; /* [above x below]; the last one the top's mean */
    double *items;                        /* offline: [count x dim] */
    size_t count, room;
    size_t trained;       /* items that the weights were trained on */
    double evaluations;   /* per query, of the last read */
    bpcn_memory *network; /* for inference as the paper does it, made when first wanted */
    uint64_t draws;       /* of its starts */
    double *saved;        /* [versions x all weights]: of the training's checkpoints */
    size_t versions;
};

/* The most iterations of one inference. */
enum { GPCN_MOST_ITERATIONS = 500, GPCN_BATCH = 32 };

/* gpcn_infer with a limit on the minimiser's iterations; span: the lowest weights and these rows, all of them known, or
   NULL. */
bpcn_status gpcn_infer_within(const struct gpcn *g, struct span *span, const double *x, const unsigned char *known,
                              size_t n, int started, size_t iterations, double *codes, double *energy,
                              size_t *evaluations);

/* The paper's inference (gpcn_paper.c): codes [n x code_dim] of n rows, from starts drawn anew; a read. */
bpcn_status gpcn_paper_infer(struct gpcn *g, const double *x, size_t n, double *codes);
bpcn_status gpcn_paper_read(struct gpcn *g, const float *query, const unsigned char *known, size_t n, float *out);

/* Weights drawn from the prior. */
bpcn_status gpcn_reset(struct gpcn *g);

/* out [n x dim] = f(x_1) R_0 */
bpcn_status gpcn_predict(const struct gpcn *g, const double *codes, size_t n, double *out);

#endif
