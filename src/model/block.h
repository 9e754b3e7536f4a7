/*
 * The energy of several observations at once in one particle: their weights are shared, so the
 * rows are coupled through V = s I + z U z' in place of the scalar s.
 */
#ifndef BPCN_BLOCK_H
#define BPCN_BLOCK_H

#include "particle.h"

/* Room for a block of n rows; NULL when out of memory. The team is borrowed. */
struct block *block_create(const struct model *model, size_t n, struct team *team);
void block_free(struct block *block);

/* Takes the sensory layer of the particle and x0 [n x dim] through their inner products (see gram.h)
   in the evaluations that follow, or, with NULL, no more. -1 when out of memory. */
int block_aim(const struct model *model, const struct particle *particle, const real *x0, struct block *block);

/* energy: of the whole block, with `extra` added to s_0 and ReLU's slope below zero `leak`;
   grad [n x code_dim]. The energy is NaN when
   V cannot be factorised (values that overflow). x0 [n x dim], h [n x code_dim], weights of the
   particle. fit [n x (layers + 1)], or NULL: how each row fits given the others. */
void block_evaluate(const struct model *model, const struct particle *particle, const struct weights *weights,
                    const real *x0, const real *h, double extra, double leak, struct block *block, double *energy,
                    real *grad, struct fit *fit);

#endif
