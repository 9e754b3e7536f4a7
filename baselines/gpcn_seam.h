/* All that GPCN takes from inside the library and from BLAS: one place to mend when those insides move. */
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

/* energy[i] and grad + i * dim of row rows[i] at points + i * dim, i < n */
typedef void gpcn_evaluate_fn(void *context, size_t n, const size_t *rows, const double *points, double *energy,
                              double *grad);

/* Minimises `rows` functions of `dim` entries by the options' minimiser: points in and out, energy [rows]; adds to
   evaluations. L-BFGS takes at most `iterations` each and evaluates at most GPCN_BATCH rows together. */
bpcn_status gpcn_minimize(const struct gpcn_options *options, size_t dim, size_t rows, size_t iterations,
                          gpcn_evaluate_fn *evaluate, void *context, double *points, double *energy,
                          size_t *evaluations);

#endif
