/*
 * An approximate inverse of the Hessian of a particle's energy, for all rows of a batch: the Gauss-Newton matrix, block
 * tridiagonal over the layers, with nominal variances and the slope of the activations taken out. In float32 for both
 * precisions: it only guides the search.
 *
 * Two parts: the layers above the lowest depend on the parameters alone; the lowest block also on what the rows know
 * and on the variance added to s_0.
 */
#ifndef BPCN_PRECONDITIONER_H
#define BPCN_PRECONDITIONER_H

#include "energy.h"
#include "network.h"
#include "real.h"
#include "symbols.h"
#include "threads.h"

struct elimination;
struct preconditioner;

/* The layers above the lowest, eliminated from the top. NULL when out of memory or without hidden layers. */
struct elimination *elimination_create(const struct model *model, const struct particle *particle,
                                       struct weighing weighing, struct team *team);
void elimination_free(struct elimination *e);
size_t elimination_bytes(const struct elimination *e);

/* What the rows of a batch know. */
struct knowledge {
    const double *g; /* [d_1 x d_1], upper triangle: M M' over the entries that all know, or over all entries */
    double of_g;     /* its weight: 1, or the share of the entries that each knows */
    double share;    /* of the entries, on average */
};

/* For rows that know so much. NULL when out of memory. The elimination is borrowed. */
struct preconditioner *preconditioner_create(const struct elimination *e, struct knowledge knowledge);
void preconditioner_free(struct preconditioner *p);
size_t preconditioner_bytes(struct preconditioner *p);

/* The level to use with `extra` variance in s_0 , or -1. Made at the first call, by the team; any thread may ask. */
int preconditioner_level(struct preconditioner *p, struct team *team, double extra);

/* vectors [n x code_dim] = approximate inverse Hessian * vectors, all at one level. slopes [n x code_dim] are f' at the
   rows' codes; room [n x 2 widest hidden]. */
void preconditioner_apply(const struct preconditioner *p, struct team *team, int level, size_t n, const float *slopes,
                          float *vectors, float *room);

/* ---- the diagonal alone, where the rest does not pay */

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
void norms_inverse_diagonal(const struct model *model, const struct norms *norms, const struct fit *fit, double count,
                            double extra, double negative_slope, const struct weighing *weighing, real *inverse);

#endif
