/*
 * A session is a row of steps, each a function of its number alone, so that what a memory file
 * holds after a crash can be compared with a memory that never had a file. One step is one log
 * record: a row, one with holes, several rows together, a forget, a discount, a note or a minimizer.
 */
#ifndef STORE_SESSION_H
#define STORE_SESSION_H

#include "store_common.h"

enum { MOST_TOGETHER = 3 }; /* steps that one call may make */

/* Which session is meant from now on: 0 (at first), a memory of one network; 1, one of three shards of two rows, which
   are recycled; 2, one network that keeps five surprises; 3, two views of two shards; 4, as 1 with
   three names, which three of four rows have. The steps are the same, but for rows together. */
enum { SESSIONS = 5 };
void session_choose(unsigned long which); /* any number: its remainder */

/* The memory of the session. */
bpcn_options session_options(void);

/* Makes the steps from number `step` on that go together in one call: rows that follow each other
   may be one batch. *made tells how many they are. */
bpcn_status session_call(bpcn_memory *memory, uint64_t step, size_t *made);

/* The checksum of the state after the first `steps` steps. */
uint32_t session_sum(uint64_t steps);

/* Which of least .. most steps the memory has made, or -1 when its state is none of those. */
long session_find(const bpcn_memory *memory, uint64_t least, uint64_t most);

#endif
