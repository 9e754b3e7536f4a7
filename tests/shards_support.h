/* Memories of small shards, for the laws of shards. */
#ifndef TESTS_SHARDS_SUPPORT_H
#define TESTS_SHARDS_SUPPORT_H

#include "support.h"

enum { ROWS = 4, MOST = 6, CODE = 16 + 12 }; /* rows of a shard, shards of a memory, of one code */

extern const size_t hidden[2]; /* widths */
bpcn_options narrow(size_t shards, bpcn_when_full when_full);

/* Every shape that the laws of reading are checked with. */
enum { SHAPES = 4 };
bpcn_options shape(size_t i);

/* A memory of its own with the seed of shard k and its rows: x [ROWS x PICTURE]. */
bpcn_memory *alone(const bpcn_options *options, size_t k, const float *x);

bpcn_stats stats_of(const bpcn_memory *m);

/* Whether two shards are the same in every bit of their parameters, as far as the header shows them. */
int same_layer(const bpcn_memory *a, size_t i, const bpcn_memory *b, size_t j, size_t particle, size_t l);
int same_shard(const bpcn_memory *a, size_t i, const bpcn_memory *b, size_t j);

/* Answers and what is said about them. */
struct answered {
    float *out;
    bpcn_read_info *info;
};

struct answered answers_of(const bpcn_memory *m, const float *query, const unsigned char *known, size_t n,
                           const bpcn_read_options *options);
void answered_free(struct answered r);

#endif
