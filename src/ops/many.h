/* Reads of several shards: a quick look at all of them, then a read in the few that could have the row. */
#ifndef BPCN_MANY_H
#define BPCN_MANY_H

#include "core.h"
#include "views.h"

struct many {
    const struct shard *shard; /* [count] */
    size_t count;
    const uint64_t *rows; /* [count]: that each was written */
    struct team *team;
    size_t always; /* a shard that is read whatever a quick look says of it; from count on: none */
    const struct views *views; /* or NULL: each row is in one shard */
};

/* As core->read; info (which is wanted) says which shard answered, and gives the density of the mixture over the shards
   that were read, by their rows. Of views: the average over views of that density's logarithm, and of the answers, each
   weighed by its shard's part in the density. */
bpcn_status many_read(const struct many *many, const struct read_request *request);

/* As core->energy, without the gradient over x: of the mixture over all shards, by their rows. */
bpcn_status many_energy(const struct many *many, const struct energy_request *request);

/* As core->sample: each from a shard drawn by its rows. */
bpcn_status many_sample(const struct many *many, size_t n, uint64_t seed, uint64_t draw, void *out);

/* residual [count x n]: see core->screen. */
bpcn_status many_screen(const struct many *many, size_t n, const void *x, const unsigned char *known, double *residual);

#endif
