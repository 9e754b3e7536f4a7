/*
 * The energy of several observations at once in one particle: their weights are shared, so the
 * rows are coupled through V = s I + z U z' in place of the scalar s.
 */
#ifndef BPCN_BLOCK_H
#define BPCN_BLOCK_H

#include "particle.h"

/* Room for a block of n rows; NULL when out of memory. */
struct block *block_create(const struct model *model, size_t n);
void block_free(struct block *block);

/* energy: of the whole block; grad [n x code_dim]. The energy is NaN when V cannot be factorised
   (values that overflow). x0 [n x dim], h [n x code_dim]. */
void block_evaluate(const struct model *model, const struct particle *particle, const real *x0, const real *h,
                    struct block *block, double *energy, real *grad);

#endif
