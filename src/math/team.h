/*
 * A few threads that work on one job together, and the crew that keeps them between calls.
 */
#ifndef BPCN_TEAM_H
#define BPCN_TEAM_H

#include "bayespcn.h"

struct team;

/* A team of at most `threads` (0: BPCN_THREADS if that is set, otherwise one per core; at most 64), the
   caller included. NULL stands for
   the caller alone, and is also what comes back when no more can be had: that is never an error. */
struct team *team_create(int threads);

/* BPCN_INVALID when BPCN_THREADS is not a number of threads. */
bpcn_status team_check(void);

void team_free(struct team *team);
size_t team_size(const struct team *team);

/* Runs job(context, part, parts) for part = 0 .. parts-1 at once, parts = team_size, and returns
   when all are done. */
void team_run(struct team *team, void (*job)(void *context, size_t part, size_t parts), void *context);

/* The share of 0 .. n-1 that belongs to a part, in multiples of `grain`: [*first, *last). */
void team_share(size_t n, size_t grain, size_t part, size_t parts, size_t *first, size_t *last);

/* ---- a team kept for one borrower at a time */

struct crew;

/* Its threads are made when they are first wanted; NULL when out of memory. */
struct crew *crew_create(int threads);
void crew_free(struct crew *crew);

/* The team; or NULL, the caller alone, when somebody else has it. What comes out must not depend on that. After a fork
   the child has a team of its own. */
struct team *crew_borrow(struct crew *crew);
void crew_return(struct crew *crew, struct team *team);

#endif
