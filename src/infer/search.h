/*
 * One search: the codes of some rows, in one particle or under the mixture, through stages that add less and less
 * variance to s_0. What is not known is integrated out unless the paper's objective is asked for: the residual and
 * the log s_0 term run over the known entries.
 */
#ifndef BPCN_SEARCH_H
#define BPCN_SEARCH_H

#include "precondition.h"
#include "reader.h"
#include "schedule.h"

enum plan { ANNEAL, ESTIMATE, FLIP, POLISH };

/* Which rows, and what their stages are. */
struct search {
    struct reader *reader;
    const size_t *subset;   /* row of the minimiser -> row of the reader */
    unsigned char *settled; /* [n]: the noise estimate no longer moves */
    enum plan plan;
    const double *estimate;                /* [n]: noise that annealing is tried against, or NULL */
    int rough;                             /* the code need not be exact: it is to be compared */
    double given;                          /* noise variance of the known entries */
    struct norms norms;                    /* of the particle searched */
    struct preconditioner *preconditioner; /* NULL: the diagonal will do */
    const struct particle *preconditioned; /* the particle that it was made for */
    struct fragment **fragment;            /* [n]: of rows at work that have a lowest block of their own; others NULL */
};

/* points [rows x code_dim]: starts in, minima out. The rows are shared out among the team; a single row is minimised
   by all together. */
bpcn_status search_minimize(struct search *s, size_t rows, real *points, struct outcome *outcome);

#endif
