/* A memory of several shards: which of them are read, and what they answer together. */
#ifndef BPCN_SHARDS_H
#define BPCN_SHARDS_H

#include "index.h"
#include "shard.h"
#include "symbols.h"

struct shards {
    const struct shard *shard; /* [count] */
    size_t count;
    const uint64_t *rows; /* [count]: written to each */
    struct team *team;
    size_t always; /* a shard that every read includes; from count on: none */
    const struct index *index; /* of the rows; or NULL */
};

/* As shard_ops.read, with info required. Info says which shard answered, and gives the density of the mixture of the
   shards that were read, weighed by their rows. */
bpcn_status shards_read(const struct shards *shards, const struct read_request *request);

/* As shard_ops.energy, without the gradient over x: of the mixture of all shards, weighed by their rows. */
bpcn_status shards_energy(const struct shards *shards, const struct energy_request *request);

/* As shard_ops.sample: each sample from a shard drawn by its rows. */
bpcn_status shards_sample(const struct shards *shards, size_t n, uint64_t seed, uint64_t draw, void *out);

/* A shard whose state is to be filled; an empty one, which is the prior of these options. NULL: out of memory. */
struct model *shard_allocate(const bpcn_options *options);
struct model *shard_prior(const bpcn_options *options);
void shard_free(struct model *shard);
size_t shard_bytes(const struct model *shard);

#endif
