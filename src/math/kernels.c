/* The choice of kernels: see kernels.h. */
#include "kernels.h"

#include "error.h"

#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

extern const struct kernels KERNELS(portable), KERNELS(avx2), KERNELS(avx512);

/* From the plainest to the best. */
#if defined(__x86_64__)
enum { KERNEL_SETS = 3 };
static const struct kernels *const kernel_sets[KERNEL_SETS] = {&KERNELS(portable), &KERNELS(avx2), &KERNELS(avx512)};

static int cpu_has_set(size_t i)
{
    int avx2 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
    return i == 0 || (avx2 && (i == 1 || __builtin_cpu_supports("avx512f")));
}
#else
enum { KERNEL_SETS = 1 };
static const struct kernels *const kernel_sets[KERNEL_SETS] = {&KERNELS(portable)};

static int cpu_has_set(size_t i)
{
    return i == 0;
}
#endif

const struct kernels *kernels_set(size_t i)
{
    return i < KERNEL_SETS && cpu_has_set(i) ? kernel_sets[i] : NULL;
}

static const struct kernels *best_set(void)
{
    size_t i = 0;
    while (kernels_set(i + 1) != NULL)
        i++;
    return kernels_set(i);
}

/* The set of that name, if this CPU has it. */
static const struct kernels *set_named(const char *name)
{
    const struct kernels *set = NULL;
    for (size_t i = 0; kernels_set(i) != NULL; i++)
        if (strcmp(name, kernels_set(i)->name) == 0)
            set = kernels_set(i);
    return set;
}

static const char *set_wanted(void)
{
    const char *name = getenv("BPCN_KERNELS");
    return name != NULL && name[0] != '\0' ? name : NULL;
}

/* Threads that race to choose first choose the same. */
static _Atomic(const struct kernels *) chosen_set;

const struct kernels *kernels_chosen(void)
{
    const struct kernels *set = atomic_load_explicit(&chosen_set, memory_order_relaxed);
    if (set != NULL)
        return set;
    set = set_wanted() != NULL ? set_named(set_wanted()) : NULL;
    if (set == NULL)
        set = best_set(); /* kernels_check has refused the name, or there is none */
    atomic_store_explicit(&chosen_set, set, memory_order_relaxed);
    return set;
}

bpcn_status kernels_check(void)
{
    const char *name = set_wanted();
    char sets[64] = "";
    if (name == NULL || atomic_load_explicit(&chosen_set, memory_order_relaxed) != NULL || set_named(name) != NULL)
        return BPCN_OK;
    for (size_t i = 0, at = 0; kernels_set(i) != NULL; i++) {
        const char *between = i == 0 ? "" : kernels_set(i + 1) == NULL ? " and " : ", ";
        at += (size_t)snprintf(sets + at, sizeof sets - at, "%s%s", between, kernels_set(i)->name);
    }
    return bpcn_fail(BPCN_INVALID, "BPCN_KERNELS is %.32s, but this CPU has only %s", name, sets);
}
