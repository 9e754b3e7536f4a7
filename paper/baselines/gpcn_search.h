/*
 * The codes of least energy, in float32 or float64: gpcn_search.c is compiled for each (src/math/real.h). What is
 * prepared for it comes in float64 (gpcn_infer.c).
 */
#ifndef BASELINES_GPCN_SEARCH_H
#define BASELINES_GPCN_SEARCH_H

#include "gpcn_state.h"

/* n rows, and what layer 0 has to explain of them: target = z lowest. */
struct gpcn_problem {
    const struct gpcn *g;
    size_t n, iterations;       /* of L-BFGS, at most */
    size_t below;               /* entries of a row of target */
    const double *lowest;       /* [d1 x below] */
    int triangular;             /* lowest is so: (k, j) is nothing for j > k */
    const double *target;       /* [n x below] */
    const unsigned char *known; /* [n x below] of target, or NULL: all */
    const double *rest;         /* [n]: squares that no code explains, or NULL: none */
};

/* codes [n x code_dim]: starts in, codes of least energy out; energy [n]; adds to evaluations. */
bpcn_status gpcn_search_f32(const struct gpcn_problem *problem, double *codes, double *energy, size_t *evaluations);
bpcn_status gpcn_search_f64(const struct gpcn_problem *problem, double *codes, double *energy, size_t *evaluations);

#endif
