/*
 * From rows to codes: the one entry that reads, writes and deletions share. Who is asked (struct energy), how the
 * search goes (struct schedule) and what is known of the curvature are arguments; what a search leaves of a row, its
 * variances and its fit, stands in struct rows.
 */
#ifndef BPCN_INFER_H
#define BPCN_INFER_H

#include "curvature.h"
#include "precondition.h"
#include "rows.h"
#include "schedule.h"

struct schedule {
    struct steps steps;  /* in this order; none: only `last`, with the row's variances as they are */
    struct stage last;   /* the tolerance of steps that leave it open */
    double given;        /* variance that stays beneath the steps' */
    const double *unit;  /* [rows]: what the steps' variance is in units of; NULL: 1 */
    int estimate;        /* first the noise of every row is estimated; it stays beneath the steps */
    const double *rival; /* [rows] or NULL: a row gives up when it leaves as much unexplained as this noise would */
    double tolerance;    /* of every stage, at least */
};

/* What L-BFGS starts from. */
struct curvature {
    const struct norms *norms;
    struct preconditioner *preconditioner; /* NULL: the diagonal will do */
};

/* Minimises the energy over the codes of `count` rows listed; points [count x code_dim]: starts in, minima out.
   curvature is NULL for a mixture. The rows are shared out among the lanes. */
bpcn_status infer(struct rows *rows, const struct energy *energy, const struct curvature *curvature,
                  const struct schedule *schedule, size_t count, const size_t *list, real *points,
                  struct outcome *outcome);

/* The same for all rows by the paper's Adam; losses as in adam_minimize. Only a single row is left its fit. */
bpcn_status infer_adam(struct rows *rows, const struct energy *energy, const struct adam_options *options, real *points,
                       struct outcome *outcome, double *losses);

#endif
