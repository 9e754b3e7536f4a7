/* See baselines_support.h. */
#include "baselines_support.h"

void fill(float *x, size_t n, uint64_t seed)
{
    for (size_t j = 0; j < n; j++) {
        seed = seed * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
        x[j] = (float)((double)(seed >> 11) * 0x1p-52 - 1);
    }
}
