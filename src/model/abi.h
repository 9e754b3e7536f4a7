/*
 * Structs that a caller who was compiled against another version may hold. They open with their size
 * and grow at their end only, so the caller's bytes are the beginning of ours, or ours of the caller's.
 */
#ifndef BPCN_SIZED_H
#define BPCN_SIZED_H

#include "bayespcn.h"
#include "symbols.h"

struct abi {
    const char *type;
    size_t first; /* bytes of the first layout released: nobody has fewer */
    size_t ours;  /* bytes of the layout that this library knows */
};

extern const struct abi abi_options, abi_read_options, abi_write_info, abi_open_options, abi_stats,
    abi_file_info, abi_recovery;

/* Whether the size that the caller's struct says it has can be; NULL is fine. */
bpcn_status abi_check(const struct abi *kind, const void *theirs);

/* Copies theirs over ours, which holds the defaults: they stay in the fields that an older caller does
   not have. Fields that only a newer library would know must be zero. */
bpcn_status abi_take(const struct abi *kind, const void *theirs, void *ours);

/* Copies ours into the `size` bytes that the caller has and sets its size. Fields that only a newer
   library would know become zero. */
void abi_give(const struct abi *kind, const void *ours, void *theirs, size_t size);

#endif
