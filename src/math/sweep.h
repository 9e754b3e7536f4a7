/*
 * Products for a single row at the speed of memory, by all threads of a team.
 */
#ifndef BPCN_SWEEP_H
#define BPCN_SWEEP_H

#include "real.h"
#include "team.h"

/* out [below] = z mean, mean [above x below], by the caller alone */
void sweep_down(size_t above, size_t below, const real *mean, const real *z, real *out);

/* Entries of scratch that sweep_root needs. */
size_t sweep_scratch(size_t width, size_t parts);

/* error [below] = target - z mean (0 where not known; known may be NULL) and
   pull [above] = error mean', mean [above x below], unless it is NULL. Returns |error|^2. Neither the
   errors nor their squares depend on the number of threads. */
double sweep_mean(struct team *team, size_t above, size_t below, const real *mean, const real *z, const real *target,
                  const unsigned char *known, real *error, real *pull);

/* mean [above x below] += gain [above]' error [below] */
void sweep_add(struct team *team, size_t above, size_t below, const real *gain, const real *error, real *mean);

/* spread [width] = z U for U = R'R, root [width x width] = R upper triangular. Returns z U z'. */
double sweep_root(struct team *team, size_t width, const real *root, const real *z, real *spread, real *scratch);

#endif
