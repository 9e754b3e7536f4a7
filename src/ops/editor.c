/* Room for changes (compiled per precision). */
#include "editor.h"

#include "alloc.h"

#include <stdlib.h>
#include <string.h>

/* root_real of every layer, where it is behind. */
static void refresh(struct editor *e)
{
    for (size_t k = 0; e->stale && k < e->model->options.particles; k++)
        for (size_t l = 0; l < e->model->options.layers; l++)
            layer_refresh(&e->model->particles[k].layer[l]);
    e->stale = 0;
}

void editor_free(struct editor *e)
{
    if (e == NULL)
        return;
    refresh(e);
    for (size_t k = 0; e->aims != NULL && e->grams != NULL && k < e->model->options.particles; k++)
        editor_unaim(e, k);
    rows_free(e->rows);
    update_free(e->update);
    norms_free(&e->norms);
    free(e->room);
    free(e->codes);
    free(e->outcomes);
    free(e->leverage);
    free(e->sources);
    free(e->aims);
    free(e->grams);
    free(e);
}

struct editor *editor_create(const struct shard *shard, struct team *team, int replaying)
{
    struct editor *e = alloc_zeroed(1, sizeof *e);
    if (e == NULL)
        return NULL;
    e->model = shard->model;
    e->prepared = shard->prepared;
    e->team = team;
    e->replaying = replaying;
    return e;
}

void editor_turn(struct editor *e, const struct shard *shard)
{
    e->model = shard->model;
    e->prepared = shard->prepared;
}

/* Rows are written and deleted one by one. */
static bpcn_status ready_for_rows(struct editor *e)
{
    size_t particles = e->model->options.particles;
    if (e->update != NULL)
        return BPCN_OK;
    e->rows = rows_create(e->model, 1, 1, e->team);
    e->codes = alloc_zeroed(particles, e->model->code_dim * sizeof *e->codes);
    e->outcomes = alloc_zeroed(particles, sizeof *e->outcomes);
    e->leverage = alloc_zeroed(particles, 3 * sizeof *e->leverage);
    e->sources = alloc_zeroed(particles, sizeof *e->sources);
    e->aims = alloc_zeroed(particles, sizeof *e->aims);
    e->grams = alloc_zeroed(particles, sizeof *e->grams);
    if (!e->rows || !e->codes || !e->outcomes || !e->leverage || !e->sources || !e->aims || !e->grams ||
        (e->norms.mean == NULL && norms_create(&e->norms, e->model) != 0))
        return BPCN_NO_MEMORY;
    e->log_weights = e->leverage + particles;
    e->squares = e->log_weights + particles;
    e->update = update_create(e->model, e->team);
    return e->update != NULL ? BPCN_OK : BPCN_NO_MEMORY;
}

bpcn_status editor_ready(struct editor *e, enum change_kind kind)
{
    switch (kind) {
    case CHANGE_WRITE:
    case CHANGE_DELETE:
        return ready_for_rows(e);
    case CHANGE_FORGET:
    case CHANGE_DISCOUNT:
        free(e->room);
        e->room =
            alloc_zeroed(kind == CHANGE_FORGET ? forget_room(e->model) : discount_room(e->model), sizeof *e->room);
        return e->room != NULL ? BPCN_OK : BPCN_NO_MEMORY;
    case CHANGE_NOTE:
    case CHANGE_MINIMIZER:
        break;
    }
    return BPCN_OK;
}

void editor_look(struct editor *e, const real *x, const unsigned char *known)
{
    size_t dim = e->model->width[0];
    e->rows->x0[0] = x;
    e->rows->known[0] = known;
    e->rows->count[0] = (double)(known != NULL ? known_entries(dim, known) : dim);
}

void editor_unaim(struct editor *e, size_t k)
{
    aim_free(&e->aims[k]);
    gram_free(e->grams[k]);
    e->grams[k] = NULL;
}
