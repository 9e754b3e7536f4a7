/* Reads of a memory's shards, and how surprising a row is to all of them. */
#ifndef BPCN_READS_H
#define BPCN_READS_H

#include "handle.h"
#include "shards.h"

/* The shards of a memory as reads want them, and room for one more. NULL: out of memory; to be freed. */
struct shard *all_shards(const bpcn_memory *memory, struct team *team, struct shards *many);

/* In the one shard there is, or in the few that could have each row. */
bpcn_status read_shards(const bpcn_memory *memory, struct team *team, struct read_request *request);

/* The same, and in any case in the shard that the next row goes to. If that has yet to begin, in an empty one that
   counts as if it had one row. */
bpcn_status read_shards_and_next(const bpcn_memory *memory, struct team *team, struct read_request *request);

/* How densities are read. */
bpcn_read_options density_options(const bpcn_memory *memory);

/* Whether the surprise of the next row is to be kept: of several shards only that of some rows, chosen by their number,
   because to ask all shards takes longer than to write to one. */
int asks_surprise(const struct contents *contents);

/* The surprise of a row that is about to be written so, with this energy in its shard: -log density of the mixture of
   all, as bpcn_memory_score has it. */
bpcn_status surprise_of(const bpcn_memory *memory, struct team *team, const struct change *change, double energy,
                        double *surprise);

#endif
