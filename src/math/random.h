/*
 * Random numbers as a function: draw number `index` of stream (seed, stream) can be had in any
 * order and without any state, so a memory keeps no second copy of its prior.
 */
#ifndef BPCN_RANDOM_H
#define BPCN_RANDOM_H

#include <stddef.h>
#include <stdint.h>

/* What a stream is for; two numbers more tell particle and layer, or row and round, apart. */
enum stream_purpose { STREAM_PRIOR = 1, STREAM_START = 2, STREAM_SAMPLE = 3, STREAM_RESAMPLE = 4, STREAM_SHARD = 5, STREAM_VIEW = 6 };

uint64_t stream_id(enum stream_purpose purpose, uint64_t first, uint64_t second);

/* out[k] = standard normal number `index + k` of the stream. */
void random_normals(uint64_t seed, uint64_t stream, uint64_t index, size_t n, double *out);

/* A uniform number in [0, 1). */
double random_uniform(uint64_t seed, uint64_t stream, uint64_t index);

#endif
