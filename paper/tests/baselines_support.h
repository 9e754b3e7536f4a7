/* What the tests of the opponents share: cmocka, the size of an item, and numbers. */
#ifndef TESTS_BASELINES_SUPPORT_H
#define TESTS_BASELINES_SUPPORT_H

/* cmocka wants these first */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

enum { DIM = 24, ITEMS = 6 };

/* Numbers in [-1, 1] that look random and are the same everywhere. */
void fill(float *x, size_t n, uint64_t seed);

#endif
