/*
 * The file that a memory lives in: opening and recovery, the promise that an acknowledged change
 * is durable, and checkpoints. The public functions are in src/api/files.c; the ones here take the
 * table of file operations, so that tests can make them fail.
 */
#ifndef BPCN_STORE_H
#define BPCN_STORE_H

#include "change.h"
#include "contents.h"
#include "file.h"
#include "symbols.h"

struct store;

/* ---- changes: all do nothing for a memory without a file (store = NULL) */

/* Whether the memory may be changed: not if it is read-only, opened by another process, gone from its path, or if a sync
   failed. Called before the work of a change begins. A reader may choose its own minimiser. */
bpcn_status store_begin(const struct store *store, enum change_kind kind);

/* Puts a change of the contents into the log, before it is made. */
bpcn_status store_append(struct store *store, const struct contents *contents, const struct change *change);

/* Ends a call that may have changed the contents and came to `status`: makes the changes durable as
   the caller asked for. A change that spoilt them (numbers overflowed) is taken back, from the file too: the contents
   are then new ones, and *lost (may be NULL) says how many rows that were. */
bpcn_status store_finish(struct store *store, struct contents *contents, bpcn_status status, size_t *lost);

/* Refuses to set parameters of a memory that lives in a file. */
bpcn_status store_refuse_set(const struct store *store);

/* Syncs what is not yet durable, seals the file and closes it. In the child of a fork it only closes. */
bpcn_status store_close(struct store *store);

/* Closes the file without a sync, and removes it if this handle created it. */
void store_abandon(struct store *store);

/* ---- files. Structs are complete, in our layout */

/* Fills the contents; after a failure there are none, and no store. */
bpcn_status store_open(const struct file_ops *ops, const char *path, const bpcn_open_options *options,
                       struct contents *contents, struct store **store);
/* info may be NULL. */
bpcn_status store_load(const struct file_ops *ops, const char *path, struct contents *contents, bpcn_file_info *info);
bpcn_status store_save(const struct file_ops *ops, const struct contents *contents, const char *path);
bpcn_status store_inspect(const struct file_ops *ops, const char *path, bpcn_file_info *info, bpcn_options *options);
/* Saves what is intact of the file `from` to a new one. */
bpcn_status store_recover(const struct file_ops *ops, const char *from, const char *to, bpcn_recovery *report);
bpcn_status store_checkpoint(struct store *store, const struct contents *contents);
bpcn_status store_sync(struct store *store);
void store_info(const struct store *store, const struct contents *contents, bpcn_file_info *info);

#endif
