/*
 * The files that compute with `real` are compiled twice, for float and for double. The two copies live in one library
 * because each is joined into one object of which only the table of operations is seen from outside (see the
 * Makefile). Functions of the layer below that exist for both types are called by their common name, which picks by
 * the type of an argument (linalg.h, gemm.h, dense.h, activation.h).
 */
#ifndef BPCN_REAL_H
#define BPCN_REAL_H

#if BPCN_REAL_BITS == 32
typedef float real;
#elif BPCN_REAL_BITS == 64
typedef double real;
#else
#error "compile with -DBPCN_REAL_BITS=32 or 64"
#endif

#endif
