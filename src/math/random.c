/* Philox 4x32 with ten rounds (Salmon et al. 2011), a counter-based generator, and normal numbers
   from it by Box and Muller. */
#include "random.h"

#include "random.h"

#include <math.h>

struct philox_block {
    uint32_t word[4];
};

static struct philox_block philox(uint64_t seed, uint64_t stream, uint64_t counter)
{
    uint32_t c0 = (uint32_t)counter, c1 = (uint32_t)(counter >> 32);
    uint32_t c2 = (uint32_t)stream, c3 = (uint32_t)(stream >> 32);
    uint32_t k0 = (uint32_t)seed, k1 = (uint32_t)(seed >> 32);
    for (int round = 0; round < 10; round++) {
        uint64_t p0 = UINT64_C(0xD2511F53) * c0, p1 = UINT64_C(0xCD9E8D57) * c2;
        uint32_t n0 = (uint32_t)(p1 >> 32) ^ c1 ^ k0, n2 = (uint32_t)(p0 >> 32) ^ c3 ^ k1;
        c1 = (uint32_t)p1;
        c3 = (uint32_t)p0;
        c0 = n0;
        c2 = n2;
        k0 += UINT32_C(0x9E3779B9);
        k1 += UINT32_C(0xBB67AE85);
    }
    return (struct philox_block){{c0, c1, c2, c3}};
}

/* 53 random bits as a number in [0, 1). */
static double unit_interval(uint32_t high, uint32_t low)
{
    return (double)(((uint64_t)high << 21) ^ (low >> 11)) * 0x1p-53;
}

static uint64_t next_scramble(uint64_t x)
{
    return random_scramble(x + RANDOM_SCRAMBLE_STEP);
}

uint64_t random_stream(enum stream_purpose purpose, uint64_t first, uint64_t second)
{
    return next_scramble(next_scramble(next_scramble((uint64_t)purpose) + first) + second);
}

static void normal_pair(uint64_t seed, uint64_t stream, uint64_t counter, double pair[2])
{
    struct philox_block b = philox(seed, stream, counter);
    double radius = sqrt(-2 * log(1 - unit_interval(b.word[0], b.word[1])));
    double angle = 6.283185307179586477 * unit_interval(b.word[2], b.word[3]);
    pair[0] = radius * cos(angle);
    pair[1] = radius * sin(angle);
}

void random_normals(uint64_t seed, uint64_t stream, uint64_t index, size_t n, double *out)
{
    double pair[2] = {0, 0};
    for (size_t k = 0; k < n; k++) {
        uint64_t i = index + k;
        if (k == 0 || i % 2 == 0)
            normal_pair(seed, stream, i / 2, pair);
        out[k] = pair[i % 2];
    }
}

double random_uniform(uint64_t seed, uint64_t stream, uint64_t index)
{
    struct philox_block b = philox(seed, stream, index);
    return unit_interval(b.word[0], b.word[1]);
}
