/* The energies of a memory as objectives of the minimisers: of one particle or of the mixture. */
#ifndef BPCN_PROBLEM_H
#define BPCN_PROBLEM_H

#include "minimize.h"
#include "mixture.h"

enum { BATCH = 128 }; /* rows evaluated together: enough for the matrix products to be fast */

/* What one thread needs to evaluate rows: a workspace, and the rows of one batch gathered. */
struct lane {
    struct workspace *work; /* for BATCH rows */
    const real **x0;        /* [BATCH] each from here on */
    const unsigned char **known;
    real *vectors, *slopes; /* [BATCH x code_dim], for preconditioning */
    real *scratch;          /* [BATCH x max(code_dim, 2 widest)] */
    double *count, *extra, *leak;
    struct fit *fit; /* [BATCH x (layers + 1)] */
};

/* Rows to find codes for. Different lanes may evaluate different rows at once. */
struct problem {
    const struct model *model;
    const struct particle *particle; /* NULL: the mixture */
    size_t rows;
    const real **x0;             /* [rows] -> [dim] */
    const unsigned char **known; /* [rows] -> [dim], or NULL: every entry */
    double *count;               /* [rows], see struct batch */
    double *extra;               /* [rows]: variance added to s_0, set by the stages */
    double *leak;                /* [rows]: ReLU's slope below zero, set by the stages */
    const struct weighing *weighing;
    struct fit *fit;     /* [rows x (layers + 1)]: of the point evaluated last (one particle only) */
    struct inner *inner; /* of the sensory layer of one particle, or NULL; borrowed */
    const struct particle *inner_particle;
    struct weights **weights; /* [particles]: made when wanted, or NULL */
    struct team *team;
    size_t lanes;
    struct lane *lane; /* [lanes] */
};

/* Room for `rows` rows, with every entry known and nothing added; NULL when out of memory. One
   row is the team's common work; of several, each member of the team has a lane of its own. */
struct problem *problem_create(const struct model *model, size_t rows, int with_mask);
void problem_free(struct problem *problem);

/* Takes a particle (or NULL, the mixture) for the evaluations to come, and prepares its weights if
   there is more than one row. */
bpcn_status problem_choose(struct problem *problem, const struct particle *particle);

/* Evaluates codes [n x code_dim] of the rows given, n <= BATCH. grad and responsibility
   [n x particles] (mixture only) may be NULL. */
void problem_evaluate(struct problem *problem, size_t lane, size_t n, const size_t *rows, const real *codes,
                      double *energy, real *grad, double *responsibility);

#endif
