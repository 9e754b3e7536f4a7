/*
 * The file that a memory lives in: opening and recovery, the promise that an acknowledged change
 * is durable, and checkpoints. The public functions are in store_api.c; the ones here take the
 * table of file operations, so that tests can let them fail.
 */
#ifndef BPCN_STORE_H
#define BPCN_STORE_H

#include "file.h"
#include "memory.h"

struct store;

/* ---- for memory.c and inspect.c: all do nothing for a memory without a file (store = NULL) */

/* Whether the memory may be changed at all: asked before work is put into a change. */
bpcn_status store_begin(const struct store *store);

/* Ends a call that may have changed the memory and came to `status`: makes the changes durable as
   the caller asked for. A change that spoilt the memory (its numbers overflowed) is taken back,
   from the file too, and *lost (may be NULL) says how many rows that were. */
bpcn_status store_finish(bpcn_memory *memory, bpcn_status status, size_t *lost);

/* Refuses to set parameters of a memory that lives in a file. */
bpcn_status store_refuse_set(const struct store *store);

/* Syncs what is not yet durable and lets go of the file. */
bpcn_status store_close(struct store *store);

/* ---- behind the public functions */

/* Structs are complete, in our layout. store_load: info may be NULL. */
bpcn_status store_open(const struct file_ops *ops, const char *path, const bpcn_open_options *options,
                       bpcn_memory **memory);
bpcn_status store_load(const struct file_ops *ops, const char *path, bpcn_memory **memory, bpcn_file_info *info);
bpcn_status store_save(const struct file_ops *ops, const bpcn_memory *memory, const char *path);
bpcn_status store_inspect(const struct file_ops *ops, const char *path, bpcn_file_info *info, bpcn_options *options);
bpcn_status store_checkpoint(bpcn_memory *memory);
bpcn_status store_sync(struct store *store);
void store_info(const bpcn_memory *memory, bpcn_file_info *info);

#endif
