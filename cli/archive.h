/* A memory's parameters as a NumPy archive, and back (bpcn export, bpcn import).
 *
 *   dim hidden activation precision particles sigma_w sigma_x sigma_data seed    its options; seed
 *                            as [high, low] 32-bit halves, which a float64 holds exactly
 *   weights [N]              of the particles
 *   meanL   [N, above, below]    layer L, predicting `below` entries from the `above` ones over it
 *   covL    [N, above, above]    row covariance of layer L
 *   top_mean [N, width]  top_variance [N]
 *   fields  [bytes]          what a row is, as text: image:28x28,label:10, or the lines of a table's schema
 *   shards shard_rows when_full  more options; rows [begun] of every shard that has begun, open_shard: begun last
 *
 * Weights, layers and top are those of shard 0; shardK.weights, shardK.mean0, ... those of the others.
 */
#ifndef BPCN_CLI_ARCHIVE_H
#define BPCN_CLI_ARCHIVE_H

#include "bayespcn.h"
#include "console.h"

/* 0, or an exit status after a message. */
int archive_save(const struct console *console, const char *path, const bpcn_memory *memory, const char *fields);

/* The memory, and in fields [capacity] the text that was saved with it ("" when none). */
int archive_load(const struct console *console, const char *path, bpcn_memory **memory, char *fields, size_t capacity);

#endif
