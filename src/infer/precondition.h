/*
 * An approximate inverse of the Hessian of a particle's energy, shared by all rows of a batch: the
 * Gauss-Newton matrix, block tridiagonal over the layers, with nominal variances and the slope of
 * the activations taken out. Rows that know few entries have a lowest block of their own. float32 only; worth its
 * making for some tens of rows.
 */
#ifndef BPCN_PRECONDITION_H
#define BPCN_PRECONDITION_H

#include "fragment.h"
#include "particle.h"

struct preconditioner;

/* What the rows of a batch know. */
struct knowledge {
    const unsigned char *mask; /* [dim] when all know the same entries, else NULL */
    double share;              /* of the entries, on average */
    int apart;                 /* each knows others, and so few that their number says little about the lowest block */
};

/* NULL when out of memory or in float64. */
struct preconditioner *preconditioner_create(const struct model *model, const struct particle *particle,
                                             const struct weights *weights, struct knowledge knowledge,
                                             const struct weighing *weighing, struct team *team);
void preconditioner_free(struct preconditioner *p);

/* The level to use with `extra` variance in s_0 (made at the first call; any thread), or -1. */
int preconditioner_level(struct preconditioner *p, double extra);

/* Whether rows may have a lowest block of their own with `extra` variance in s_0: rows apart, where nothing is added,
   which is where they spend most of their time. */
int preconditioner_apart(const struct preconditioner *p, double extra);

/* What a row that knows these entries needs for that; NULL when it cannot be had. Free with free(). */
struct fragment *preconditioner_fragment(const struct preconditioner *p, const unsigned char *known);

/* vectors [n x code_dim] = approximate inverse Hessian * vectors, all at one level; `fragments` of all n rows, or NULL.
   slopes [n x code_dim] are f' at the rows' codes; scratch [n x 2 widest hidden]; room [n x dim] for fragments. */
void preconditioner_apply(const struct preconditioner *p, int level, size_t n, const real *slopes,
                          struct fragment *const *fragments, real *vectors, real *scratch, real *room);

#endif
