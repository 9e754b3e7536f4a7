/* What GPCN takes from BLAS, and its activations in float64. The library's minimisers are in gpcn_search.c. */
#ifndef BASELINES_GPCN_SEAM_H
#define BASELINES_GPCN_SEAM_H

#include "gpcn.h"

/* z = f(x) and slope = f'(x) */
void gpcn_activate(bpcn_activation kind, size_t n, const double *x, double *z, double *slope);

/* out [n x below] = z [n x above] weights [above x below]; out [n x above] = e [n x below] weights';
   weights += c [n x above]' e [n x below] */
void gpcn_matmul(size_t n, size_t above, size_t below, const double *z, const double *weights, double *out);
void gpcn_matmul_transposed(size_t n, size_t above, size_t below, const double *e, const double *weights, double *out);
void gpcn_rank_update(size_t n, size_t above, size_t below, const double *c, const double *e, double *weights);

/* b [n x width] becomes x of x upper = b, upper [width x width] */
void gpcn_solve_upper(size_t n, size_t width, const double *upper, double *b);

#endif
