/*
 * An approximate inverse of the Hessian of a particle's energy, shared by all rows of a batch: the
 * Gauss-Newton matrix, block tridiagonal over the layers, with nominal variances and the slope of
 * the activations taken out. float32 only; worth its making for some tens of rows.
 */
#ifndef BPCN_PRECONDITION_H
#define BPCN_PRECONDITION_H

#include "particle.h"

struct preconditioner;

/* `mask` [dim] when all rows know the same entries, else NULL and the `share` of entries that they
   know on average. NULL when out of memory or in float64. */
struct preconditioner *preconditioner_create(const struct model *model, const struct particle *particle,
                                             const struct weights *weights, const unsigned char *mask, double share,
                                             const struct weighing *weighing, struct team *team);
void preconditioner_free(struct preconditioner *p);

/* The level to use with `extra` variance in s_0 (made at the first call; any thread), or -1. */
int preconditioner_level(struct preconditioner *p, double extra);

/* vectors [n x code_dim] = approximate inverse Hessian * vectors, all at one level.
   slopes [n x code_dim] are f' at the rows' codes; scratch [n x 2 widest hidden]. */
void preconditioner_apply(const struct preconditioner *p, int level, size_t n, const real *slopes, real *vectors,
                          real *scratch);

#endif
