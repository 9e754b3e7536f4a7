/* What is behind the public handle, and the one way in which a memory changes: changes are logged, then made. */
#ifndef BPCN_TRANSACTION_H
#define BPCN_TRANSACTION_H

#include "contents.h"
#include "shard.h"
#include "store.h"
#include "symbols.h"

struct bpcn_memory {
    struct contents contents;
    struct cache **cache; /* [options.shards], of the shards that have begun, for readers */
    int threads;          /* of a call, see threads_borrow */
    struct store *store;  /* the file that the memory lives in, or NULL */
};

/* A new handle that owns contents and store; both are gone after a failure. */
bpcn_status handle_create(struct contents *contents, struct store *store, bpcn_memory **memory);

/* Shard k, which has begun. */
static inline struct shard shard_of(const bpcn_memory *memory, size_t k)
{
    return (struct shard){memory->contents.shard[k], memory->cache[k]};
}

/* The shape that all shards have. */
static inline const struct model *shape_of(const bpcn_memory *memory)
{
    return memory->contents.shard[0];
}

bpcn_status out_of_memory(void);

/* Begins and ends what a call of so many rows computes: threads that help, NULL where there is little to do. */
struct team *handle_begin(const bpcn_memory *memory, size_t rows);
void handle_end(struct team *team);

/* ---- a call that may change a memory: begun, its changes logged and made one by one, ended */

struct transaction {
    bpcn_memory *memory;
    struct team *team;
    struct writers writers;
};

/* After a failure there is nothing to end. */
bpcn_status transaction_begin(struct transaction *transaction, bpcn_memory *memory, enum change_kind kind);

/* Logs the change if the memory lives in a file, then makes it. */
bpcn_status transaction_apply(struct transaction *transaction, const struct change *change);

/* The call came to `status`; *lost (may be NULL): rows that were taken back, see store_finish. */
bpcn_status transaction_end(struct transaction *transaction, bpcn_status status, size_t *lost);

/* ---- the file's functions with a table of operations, so that tests can let them fail; structs in our layout */

bpcn_status memory_open(const struct file_ops *ops, const char *path, const bpcn_open_options *options,
                        bpcn_memory **memory);
bpcn_status memory_load(const struct file_ops *ops, const char *path, bpcn_memory **memory, bpcn_file_info *info);
bpcn_status memory_save(const struct file_ops *ops, const bpcn_memory *memory, const char *path);

#endif
