/*
 * Threads for one job at a time. A process has one pool of them, whatever the number of memories: it is made when it is
 * first wanted, and grows to the largest team that was asked for.
 *
 * A team has as many parts as were asked for. Where the pool serves somebody else, or has fewer threads, the caller
 * runs the parts that nobody takes, so that results do not depend on who was busy.
 */
#ifndef BPCN_THREADS_H
#define BPCN_THREADS_H

#include "bayespcn.h"
#include "symbols.h"

struct team;

/* A team of `threads` parts (0: BPCN_THREADS if that is set, otherwise one for each core; at most 64). NULL, which all
   functions take for the caller alone, where that is one part or memory is short: never an error. */
struct team *threads_borrow(int threads);
void threads_return(struct team *team);

/* Between these two a thread may hold locks or have a memory half changed: a fork waits until no thread is, so that the
   child finds none of that. Calls may be nested. */
void threads_enter(void);
void threads_leave(void);

/* BPCN_INVALID when BPCN_THREADS is not a number of threads. */
bpcn_status threads_check(void);

/* Parts of the team. */
size_t threads_count(const struct team *team);

/* Runs job(context, part, parts) for part = 0 .. parts-1 at once and returns when all are done. */
void threads_run(struct team *team, void (*job)(void *context, size_t part, size_t parts), void *context);

/* The share of 0 .. n-1 that belongs to a part, in multiples of `grain`: [*first, *last). */
void threads_share(size_t n, size_t grain, size_t part, size_t parts, size_t *first, size_t *last);

#endif
