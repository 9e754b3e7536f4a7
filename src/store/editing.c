/* Changes of shards. */
#include "editing.h"

#include "alloc.h"
#include "shards.h"

#include <stdlib.h>

int editing_create(struct editing *e, struct contents *contents, struct prepared **prepared, struct team *team,
                   int replaying)
{
    *e = (struct editing){.contents = contents, .prepared = prepared, .team = team, .replaying = replaying};
    e->core = shard_ops_for(contents->shard[0]);
    e->editor = alloc_zeroed(contents->options.shards, sizeof *e->editor);
    return e->editor != NULL ? 0 : -1;
}

static void forget_fresh(struct editing *e)
{
    e->core->writer_free(e->first);
    e->core->cache_free(e->fresh.prepared);
    model_free(e->fresh.model);
    e->first = NULL;
    e->fresh = (struct shard){NULL, NULL};
}

void editing_free(struct editing *e)
{
    for (size_t k = 0; e->editor != NULL && k < e->contents->options.shards; k++)
        e->core->writer_free(e->editor[k]);
    e->core->writer_free(e->all);
    forget_fresh(e);
    free(e->editor);
}

static struct shard shard_at(const struct editing *e, size_t k)
{
    return (struct shard){e->contents->shard[k], e->prepared ? e->prepared[k] : NULL};
}

/* Makes the empty shard that is to be number k. */
static struct writer *make_fresh(struct editing *e, size_t k)
{
    bpcn_options options = shard_options(&e->contents->options, k);
    forget_fresh(e);
    e->next = k;
    e->fresh.model = shard_prior(&options);
    if (e->fresh.model != NULL && e->prepared != NULL)
        e->fresh.prepared = e->core->cache_create(e->fresh.model);
    if (e->fresh.model != NULL && (e->prepared == NULL || e->fresh.prepared != NULL))
        e->first = e->core->writer_create(&e->fresh, e->team, e->replaying);
    if (e->first == NULL)
        forget_fresh(e);
    return e->first;
}

struct writer *editing_of(struct editing *e, size_t k, int begin)
{
    if (begin)
        return e->first != NULL && e->next == k ? e->first : make_fresh(e, k);
    struct shard shard = shard_at(e, k);
    if (e->editor[k] == NULL)
        e->editor[k] = e->core->writer_create(&shard, e->team, e->replaying);
    return e->editor[k];
}

/* Whether it is of all shards. */
static int of_all(const struct change *change)
{
    return change->kind != CHANGE_WRITE && change->kind != CHANGE_DELETE;
}

bpcn_status editing_ready(struct editing *e, const struct change *change)
{
    struct shard first = shard_at(e, 0);
    bpcn_status status = BPCN_OK;
    for (size_t part = 0; !of_all(change) && status == BPCN_OK && part < contents_parts(e->contents); part++) {
        struct writer *editor = editing_of(e, contents_part(e->contents, change, part).shard, change->begin);
        status = editor != NULL ? e->core->writer_reserve(editor, change->kind) : BPCN_NO_MEMORY;
    }
    if (status == BPCN_OK && change->name != NULL &&
        names_reserve(&e->contents->names, e->contents->names.count + 1) != 0)
        status = BPCN_NO_MEMORY;
    if (!of_all(change))
        return status;
    if (e->all == NULL)
        e->all = e->core->writer_create(&first, e->team, e->replaying);
    else
        e->core->writer_attach(e->all, &first); /* the shard it was at last may have begun anew since */
    return e->all != NULL ? e->core->writer_reserve(e->all, change->kind) : BPCN_NO_MEMORY;
}

/* The empty shard takes its place. */
static void begin(struct editing *e, size_t k)
{
    e->core->writer_free(e->editor[k]);
    contents_begin(e->contents, k, e->fresh.model);
    if (e->prepared != NULL) {
        e->core->cache_free(e->prepared[k]);
        e->prepared[k] = e->fresh.prepared;
    }
    e->editor[k] = e->first;
    e->fresh = (struct shard){NULL, NULL};
    e->first = NULL;
}

void editing_make(struct editing *e, const struct change *change)
{
    if (change->begin)
        begin(e, change->shard);
    for (size_t part = 0; !of_all(change) && part < contents_parts(e->contents); part++) {
        struct change one = contents_part(e->contents, change, part);
        e->core->apply(e->editor[one.shard], &one);
    }
    for (size_t k = 0; of_all(change) && k < e->contents->count; k++) {
        struct shard shard = shard_at(e, k);
        e->core->writer_attach(e->all, &shard);
        e->core->apply(e->all, change);
    }
    contents_count(e->contents, change);
}
