/*
 * The files that compute with `real` are compiled twice, for float and for double. symbols.h gives each function of theirs
 * that another file calls a suffix, _f32 or _f64, so that both copies live in one library. Callers that are compiled
 * once reach the right copy through a table of functions (shard.h). Functions of math that exist for both types are
 * called by their common name, which picks by the type of an argument (kernels.h, matmul.h, activation.h).
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
