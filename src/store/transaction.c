/* Handles, and the one way in which a memory changes. */
#include "transaction.h"

#include "alloc.h"
#include "error.h"

#include <stdlib.h>

bpcn_status out_of_memory(void)
{
    return bpcn_fail(BPCN_NO_MEMORY, "out of memory");
}

static void caches_free(const struct contents *contents, struct cache **cache)
{
    for (size_t k = 0; cache != NULL && k < contents->options.shards; k++)
        shard_ops_for(contents->shard[0])->free_cache(cache[k]);
    free(cache);
}

/* NULL when out of memory. */
static struct cache **prepare(const struct contents *contents)
{
    struct cache **cache = alloc_zeroed(contents->options.shards, sizeof(struct cache *));
    for (size_t k = 0; cache != NULL && k < contents->count; k++) {
        cache[k] = shard_ops_for(contents->shard[k])->create_cache(contents->shard[k]);
        if (cache[k] == NULL) {
            caches_free(contents, cache);
            return NULL;
        }
    }
    return cache;
}

bpcn_status handle_create(struct contents *contents, struct store *store, bpcn_memory **memory)
{
    bpcn_memory *m = alloc_zeroed(1, sizeof *m);
    struct cache **cache = prepare(contents);
    if (m == NULL || cache == NULL) {
        free(m);
        caches_free(contents, cache);
        store_abandon(store);
        contents_free(contents);
        return out_of_memory();
    }
    *m = (bpcn_memory){*contents, cache, contents->options.threads, store};
    *memory = m;
    return BPCN_OK;
}

void bpcn_memory_free(bpcn_memory *memory)
{
    (void)bpcn_memory_close(memory);
}

bpcn_status bpcn_memory_close(bpcn_memory *memory)
{
    if (memory == NULL)
        return BPCN_OK;
    bpcn_status status = store_close(memory->store);
    caches_free(&memory->contents, memory->cache);
    contents_free(&memory->contents);
    free(memory);
    return status;
}

/* Bytes of parameters, times rows, below which a call runs on its own thread: one pass over them takes some tens of
   microseconds, no more than to wake another thread. Chosen on networks of three layers: a write to one of 784 x 64
   (285 kB) took two threads 2.1 times the processor time of one. */
enum { FEW_BYTES = 1 << 19 };

struct team *handle_begin(const bpcn_memory *memory, size_t rows)
{
    const struct contents *c = &memory->contents;
    double bytes = (double)model_bytes(c->shard[0]) * (double)c->count * (double)rows;
    threads_enter();
    return c->options.kind == BPCN_NETWORKS && bytes < FEW_BYTES ? NULL : threads_borrow(memory->threads);
}

void handle_end(struct team *team)
{
    threads_return(team);
    threads_leave();
}

bpcn_status transaction_begin(struct transaction *e, bpcn_memory *memory, enum change_kind kind)
{
    bpcn_status status = store_begin(memory->store, kind);
    if (status != BPCN_OK)
        return status;
    e->memory = memory;
    e->team = handle_begin(memory, 1);
    if (writers_create(&e->writers, &memory->contents, memory->cache, e->team, 0) == 0)
        return BPCN_OK;
    writers_free(&e->writers);
    handle_end(e->team);
    return out_of_memory();
}

bpcn_status transaction_apply(struct transaction *e, const struct change *change)
{
    bpcn_memory *m = e->memory;
    struct contents copy = {.count = 0}; /* of the note, made first: what is in the log must not fail afterwards */
    bpcn_status status = writers_reserve(&e->writers, change);
    if (status == BPCN_OK && change->kind == CHANGE_NOTE &&
        contents_keep_note(&copy, change->note, change->note_bytes) != 0)
        status = BPCN_NO_MEMORY;
    if (status == BPCN_OK)
        status = store_append(m->store, &m->contents, change);
    if (status != BPCN_OK) {
        free(copy.note);
        return status;
    }
    writers_apply(&e->writers, change);
    if (change->kind == CHANGE_NOTE) {
        free(m->contents.note);
        m->contents.note = copy.note;
        m->contents.note_bytes = copy.note_bytes;
    }
    return BPCN_OK;
}

/* Of contents that were taken back: other shards, perhaps fewer, as they were before. */
static void prepare_again(bpcn_memory *m)
{
    const struct shard_ops *core = shard_ops_for(m->contents.shard[0]);
    for (size_t k = 0; k < m->contents.options.shards; k++) {
        if (k < m->contents.count) {
            core->reset_cache(m->cache[k], m->contents.shard[k]);
            continue;
        }
        core->free_cache(m->cache[k]);
        m->cache[k] = NULL;
    }
}

bpcn_status transaction_end(struct transaction *e, bpcn_status status, size_t *lost)
{
    bpcn_memory *m = e->memory;
    writers_free(&e->writers);
    threads_return(e->team); /* before the file's sync, which takes long */
    struct model *const *before = m->contents.shard;
    status = store_finish(m->store, &m->contents, status, lost);
    if (m->contents.shard != before)
        prepare_again(m);
    threads_leave();
    return status;
}
