/* What is known of the curvature of a particle's energy before the search: one number for each unit of a code. */
#ifndef BPCN_CURVATURE_H
#define BPCN_CURVATURE_H

#include "particle.h"

/* Norms of a particle that its curvature is made of, per hidden unit. */
struct norms {
    real *mean;       /* [code_dim]: |row of the mean that the unit predicts with|^2 */
    real *covariance; /* [code_dim]: U_ii */
};
int norms_create(struct norms *norms, const struct model *model); /* -1: out of memory */
void norms_free(struct norms *norms);
/* gram: of the sensory layer, which is then not read, or NULL */
void norms_compute(const struct model *model, const struct particle *particle, const struct gram *gram,
                   struct norms *norms);

/* inverse [code_dim]: one over the diagonal of the Gauss-Newton Hessian at a code whose fit
   [layers + 1] is given. `count` entries of the observation are known, `extra` is added to s_0. */
void inverse_curvature(const struct model *model, const struct norms *norms, const struct fit *fit, double count,
                       double extra, double leak, const struct weighing *weighing, real *inverse);

#endif
