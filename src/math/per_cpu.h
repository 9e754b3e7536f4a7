/* A function marked PER_CPU is compiled for several kinds of CPU; the loader picks the fastest
   that this one can run. With gcc only: clang 14 gives the pickers of static functions one name
   for the whole program. */
#ifndef BPCN_PER_CPU_H
#define BPCN_PER_CPU_H

#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__) && !defined(BPCN_NO_CLONES)
#define PER_CPU __attribute__((target_clones("default", "avx2", "avx512f")))
#else
#define PER_CPU
#endif

#endif
