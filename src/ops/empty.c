/* The prior is what is left when everything is forgotten. */
#include "empty.h"

#include "core.h"

struct model *model_create(const bpcn_options *options)
{
    struct shard shard = {.model = model_allocate(options)};
    if (shard.model == NULL)
        return NULL;
    const struct core *core = core_for(shard.model);
    struct editor *editor = core->edit(&shard, NULL, 0);
    if (editor == NULL || core->ready(editor, CHANGE_FORGET) != BPCN_OK) {
        core->done(editor);
        model_free(shard.model);
        return NULL;
    }
    core->make(editor, &(struct change){.kind = CHANGE_FORGET, .beta = 1});
    core->done(editor);
    shard.model->forgets = 0;
    return shard.model;
}
