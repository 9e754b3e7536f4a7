/* Numbers that look random: splitmix64, the same for the same state on every machine. */
#ifndef TESTS_SPLITMIX_H
#define TESTS_SPLITMIX_H

#include "random.h"

static inline uint64_t next_random(uint64_t *state)
{
    return random_scramble(*state += RANDOM_SCRAMBLE_STEP);
}

#endif
