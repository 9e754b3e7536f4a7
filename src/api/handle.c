/* Handles, and the one way in which a memory changes. */
#include "handle.h"

#include "alloc.h"
#include "error.h"

#include <stdlib.h>

bpcn_status out_of_memory(void)
{
    return fail(BPCN_NO_MEMORY, "out of memory");
}

bpcn_status handle_create(struct contents *contents, struct store *store, bpcn_memory **memory)
{
    const struct core *core = core_for(contents->model);
    bpcn_memory *m = alloc_zeroed(1, sizeof *m);
    struct prepared *prepared = core->prepare(contents->model);
    struct crew *crew = crew_create(contents->model->options.threads);
    if (m == NULL || prepared == NULL || crew == NULL) {
        free(m);
        core->unprepare(prepared);
        crew_free(crew);
        store_abandon(store);
        contents_free(contents);
        return out_of_memory();
    }
    *m = (bpcn_memory){*contents, prepared, crew, store};
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
    core_for(memory->contents.model)->unprepare(memory->prepared);
    contents_free(&memory->contents);
    crew_free(memory->crew);
    free(memory);
    return status;
}

bpcn_status edit_begin(struct edit *c, bpcn_memory *memory, enum change_kind kind)
{
    bpcn_status status = store_begin(memory->store, kind);
    if (status != BPCN_OK)
        return status;
    struct shard shard = shard_of(memory);
    struct team *team = crew_borrow(memory->crew);
    const struct core *core = core_for(shard.model);
    *c = (struct edit){memory, core, team, core->edit(&shard, team, 0)};
    if (c->editor != NULL)
        return BPCN_OK;
    crew_return(memory->crew, team);
    return out_of_memory();
}

bpcn_status edit_make(struct edit *c, const struct change *change)
{
    bpcn_memory *m = c->memory;
    struct contents copy = {NULL, NULL, 0}; /* of the note, made first: what is in the log must not fail afterwards */
    bpcn_status status = c->core->ready(c->editor, change->kind);
    if (status == BPCN_OK && change->kind == CHANGE_NOTE &&
        contents_keep_note(&copy, change->note, change->note_bytes) != 0)
        status = BPCN_NO_MEMORY;
    if (status == BPCN_OK)
        status = store_append(m->store, &m->contents, change);
    if (status != BPCN_OK) {
        free(copy.note);
        return status;
    }
    c->core->make(c->editor, change);
    if (change->kind == CHANGE_NOTE) {
        free(m->contents.note);
        m->contents.note = copy.note;
        m->contents.note_bytes = copy.note_bytes;
    }
    return BPCN_OK;
}

bpcn_status edit_end(struct edit *c, bpcn_status status, size_t *lost)
{
    bpcn_memory *m = c->memory;
    const struct model *before = m->contents.model;
    c->core->done(c->editor);
    crew_return(m->crew, c->team);
    status = store_finish(m->store, &m->contents, status, lost);
    if (m->contents.model != before) /* taken back */
        c->core->outdate(m->prepared, m->contents.model);
    return status;
}
