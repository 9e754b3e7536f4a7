/* A bijection of 64 bits that leaves no pattern: the finaliser of SplitMix (Steele, Lea and Flood 2014). As in src/math,
   which is not seen from here. It stands alone because three files of cli share it. */
#ifndef CLI_SCRAMBLE_H
#define CLI_SCRAMBLE_H

#include <stdint.h>

/* What successive numbers are apart before they are scrambled. */
#define SCRAMBLE_STEP UINT64_C(0x9E3779B97F4A7C15)

static inline uint64_t scrambled(uint64_t x)
{
    x = (x ^ x >> 30) * UINT64_C(0xBF58476D1CE4E5B9);
    x = (x ^ x >> 27) * UINT64_C(0x94D049BB133111EB);
    return x ^ x >> 31;
}

#endif
