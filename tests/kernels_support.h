/* Numbers for the tests of kernels and products, to be freed. */
#ifndef TESTS_KERNELS_SUPPORT_H
#define TESTS_KERNELS_SUPPORT_H

#include "support.h"

float *numbers(size_t n, uint32_t seed);  /* in -1 .. 1, aligned to 64 bytes */
double *doubles(size_t n, uint64_t seed); /* normal */

#endif
