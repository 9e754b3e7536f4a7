/* What is behind struct gpcn, and how its files share the work. */
#ifndef BASELINES_GPCN_STATE_H
#define BASELINES_GPCN_STATE_H

#include "gpcn.h"
#include "gpcn_span.h"
#include "threads.h"

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

/* What an inference is asked. */
struct gpcn_asked {
    const double *x;            /* [n x dim] */
    const unsigned char *known; /* [n x dim] or NULL: all */
    struct span *span;          /* the lowest weights and these rows, all of them known; NULL: the weights are g's */
    size_t first, n;            /* of the span's rows */
    int started;                /* the codes hold starts */
    uint64_t draw;              /* otherwise: the number of the first row's start */
    size_t iterations;          /* of L-BFGS, at most */
};

/* codes [n x code_dim] and energy [n]; adds to evaluations. */
bpcn_status gpcn_infer_asked(const struct gpcn *g, const struct gpcn_asked *asked, double *codes, double *energy,
                             size_t *evaluations);

/* Whether starts are drawn, so that another number is another start. */
int gpcn_draws_starts(const struct gpcn *g);

/* The paper's inference (gpcn_paper.c): codes [n x code_dim] of n rows, from starts drawn anew; a read. */
bpcn_status gpcn_paper_infer(struct gpcn *g, const double *x, size_t n, double *codes);
bpcn_status gpcn_paper_read(struct gpcn *g, const float *query, const unsigned char *known, size_t n, float *out);

/* Weights drawn from the prior. */
bpcn_status gpcn_reset(struct gpcn *g);

/* x [dim] becomes its prediction; returns the largest change. The first move, with *most infinite, takes noise away,
   and what is left of it is at most that of as many directions as there are units: *most becomes the sum of the squares
   of a move that far. A move beyond *most has gone elsewhere and is not made: infinite. */
double gpcn_take(size_t dim, size_t units, const double *prediction, double *most, double *x);

/* out [n x dim] = f(x_1) R_0 */
bpcn_status gpcn_predict(const struct gpcn *g, const double *codes, size_t n, double *out);

#endif
