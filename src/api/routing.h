/* Which shards a row is written to, read in and taken back from. */
#ifndef BPCN_ROUTING_H
#define BPCN_ROUTING_H

#include "shards.h"
#include "symbols.h"
#include "transaction.h"

struct routed {
    struct change change; /* what it points to is the transaction's, until the next row is routed, or here */
    double surprise;      /* of the row, where it is asked for */
    char name[NAME_ROOM]; /* of the row */
};

/* How to write one row, in the model's precision, and what will have become of it. */
bpcn_status routing_write(struct transaction *transaction, const void *x, const unsigned char *known, struct routed *routed,
                        bpcn_write_row *row);

/* The row is to have this name, where names are kept. */
void routing_name(const struct transaction *transaction, const char *name, struct routed *routed);


/* The shards of a memory as reads want them, and room for one more. NULL: out of memory; to be freed. */
struct shard *routing_shards(const bpcn_memory *memory, struct team *team, struct shards *many);

/* In the one shard there is, or in the few that could have each row. */
bpcn_status routing_read(const bpcn_memory *memory, struct team *team, struct read_request *request);

/* The same, and in any case in the shard that the next row goes to. If that has yet to begin, in an empty one that
   counts as if it had one row. */
bpcn_status routing_read_and_next(const bpcn_memory *memory, struct team *team, struct read_request *request);

/* How densities are read. */
bpcn_read_options routing_density_options(const bpcn_memory *memory);

/* Whether the surprise of the next row is to be kept: of several shards only that of some rows, chosen by their number,
   because to ask all shards takes longer than to write to one. */
int routing_wants_surprise(const struct contents *contents);

/* The surprise of a row that is about to be written so, with this energy in its shard: -log density of the mixture of
   all, as bpcn_memory_score has it. */
bpcn_status routing_surprise(const bpcn_memory *memory, struct team *team, const struct change *change, double energy,
                        double *surprise);

#endif
