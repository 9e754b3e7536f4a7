/*
 * Random numbers as a function: draw number `index` of stream (seed, stream) needs no state and no earlier draw, so a
 * memory computes its prior again instead of keeping a second copy.
 */
#ifndef BPCN_RANDOM_H
#define BPCN_RANDOM_H

#include "symbols.h"

#include <stddef.h>
#include <stdint.h>

/* What a stream is for; two numbers more tell particle and layer, or row and round, apart. */
enum stream_purpose {
    STREAM_PRIOR = 1,
    STREAM_START = 2,
    STREAM_SAMPLE = 3,
    STREAM_RESAMPLE = 4,
    STREAM_SHARD = 5,
    STREAM_VIEW = 6
};

uint64_t random_stream(enum stream_purpose purpose, uint64_t first, uint64_t second);

/* out[k] = standard normal number `index + k` of the stream. */
void random_normals(uint64_t seed, uint64_t stream, uint64_t index, size_t n, double *out);

/* A uniform number in [0, 1). */
double random_uniform(uint64_t seed, uint64_t stream, uint64_t index);

/* ---- a bijection of 64 bits that leaves no pattern: the finaliser of SplitMix (Steele, Lea and Flood 2014) */

/* What successive numbers are apart before they are random_scramble. */
#define RANDOM_SCRAMBLE_STEP UINT64_C(0x9E3779B97F4A7C15)

static inline uint64_t random_scramble(uint64_t x)
{
    x = (x ^ x >> 30) * UINT64_C(0xBF58476D1CE4E5B9);
    x = (x ^ x >> 27) * UINT64_C(0x94D049BB133111EB);
    return x ^ x >> 31;
}

#endif
