/* Which kernels run: see kernels.h. */
#include "kernels.h"

#include "error.h"

#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

extern const struct kernels kernels_portable, kernels_avx2, kernels_avx512;

/* From the plainest to the best. */
#if defined(__x86_64__)
enum { SETS = 3 };
static const struct kernels *const all[SETS] = {&kernels_portable, &kernels_avx2, &kernels_avx512};

static int has(size_t i)
{
    int avx2 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
    return i == 0 || (avx2 && (i == 1 || __builtin_cpu_supports("avx512f")));
}
#else
enum { SETS = 1 };
static const struct kernels *const all[SETS] = {&kernels_portable};

static int has(size_t i)
{
    return i == 0;
}
#endif

const struct kernels *kernels_set(size_t i)
{
    return i < SETS && has(i) ? all[i] : NULL;
}

static const struct kernels *best(void)
{
    size_t i = 0;
    while (kernels_set(i + 1) != NULL)
        i++;
    return kernels_set(i);
}

/* The set of that name, if this CPU has it. */
static const struct kernels *named(const char *name)
{
    const struct kernels *set = NULL;
    for (size_t i = 0; kernels_set(i) != NULL; i++)
        if (strcmp(name, kernels_set(i)->name) == 0)
            set = kernels_set(i);
    return set;
}

static const char *wanted(void)
{
    const char *name = getenv("BPCN_KERNELS");
    return name != NULL && name[0] != '\0' ? name : NULL;
}

/* Threads that come first at once choose the same. */
static _Atomic(const struct kernels *) chosen;

const struct kernels *kernels_chosen(void)
{
    const struct kernels *set = atomic_load_explicit(&chosen, memory_order_relaxed);
    if (set != NULL)
        return set;
    set = wanted() != NULL ? named(wanted()) : NULL;
    if (set == NULL)
        set = best(); /* kernels_check has refused the name, or there is none */
    atomic_store_explicit(&chosen, set, memory_order_relaxed);
    return set;
}

bpcn_status kernels_check(void)
{
    const char *name = wanted();
    char sets[64] = "";
    if (name == NULL || atomic_load_explicit(&chosen, memory_order_relaxed) != NULL || named(name) != NULL)
        return BPCN_OK;
    for (size_t i = 0, at = 0; kernels_set(i) != NULL; i++) {
        const char *between = i == 0 ? "" : kernels_set(i + 1) == NULL ? " and " : ", ";
        at += (size_t)snprintf(sets + at, sizeof sets - at, "%s%s", between, kernels_set(i)->name);
    }
    return fail(BPCN_INVALID, "BPCN_KERNELS is %.32s, but this CPU has only %s", name, sets);
}
