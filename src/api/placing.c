/* A row's shard, or its shards, one in each view. */
#include "placing.h"

#include "alloc.h"
#include "reads.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { DELETE_TRIES = 4 };             /* shards that a row is looked for in */
static const double same_row = 1e-6; /* mean square difference of sketches up to which a row has the name of another */

static struct table_view_row row_of(const struct edit *edit, const void *x, const unsigned char *known)
{
    return (struct table_view_row){x, real_size(edit->memory->contents.shard[0]), known};
}

/* To this shard. */
static bpcn_status find_write(struct edit *edit, const void *x, const unsigned char *known, size_t shard, int begin,
                              struct change *change, bpcn_write_row *row)
{
    struct writer *editor = editing_of(&edit->editing, shard, begin);
    bpcn_status status = editor ? edit->editing.core->find_write(editor, x, known, NULL, change, row) : BPCN_NO_MEMORY;
    row->shard = change->shard = shard;
    change->begin = begin;
    return status;
}

/* ---- views: the changes of one shard in each, joined into one */

static int join_begin(const struct contents *contents, struct placed *placed)
{
    const struct model *model = contents->shard[0];
    size_t networks = contents->views.count * model->options.particles;
    placed->codes = alloc_zeroed(networks * model->code_dim + 1, real_size(model));
    placed->log_weights = alloc_zeroed(networks, sizeof *placed->log_weights);
    return placed->codes != NULL && placed->log_weights != NULL ? 0 : -1;
}

static void join(const struct contents *contents, const struct change *one, size_t view, struct placed *placed)
{
    const struct model *model = contents->shard[0];
    size_t particles = model->options.particles, bytes = particles * model->code_dim * real_size(model);
    memcpy((unsigned char *)placed->codes + view * bytes, one->codes, bytes);
    if (one->log_weights != NULL)
        memcpy(placed->log_weights + view * particles, one->log_weights, particles * sizeof *one->log_weights);
    placed->change = *one;
    placed->change.shard = 0;
    placed->change.codes = placed->codes;
    placed->change.log_weights = one->log_weights != NULL ? placed->log_weights : NULL;
}

/* The report is of the first view, the energy the mean, and the evaluations are of all. The surprise is what
   bpcn_memory_score would have said before. */
static bpcn_status find_views(struct edit *edit, const void *x, const unsigned char *known, struct placed *placed,
                              bpcn_write_row *row)
{
    const struct contents *contents = &edit->memory->contents;
    struct table_view_row where = row_of(edit, x, known);
    bpcn_status status = join_begin(contents, placed) == 0 ? BPCN_OK : BPCN_NO_MEMORY;
    for (size_t v = 0; status == BPCN_OK && v < contents->views.count; v++) {
        struct change change;
        bpcn_write_row one;
        status = find_write(edit, x, known, table_views_shard(&contents->views, v, &where), 0, &change, &one);
        if (status != BPCN_OK)
            break;
        join(contents, &change, v, placed);
        double log_share = table_views_log_share(&contents->views, contents->rows[change.shard], contents->writes);
        placed->surprise += (one.energy - log_share) / (double)contents->views.count;
        if (v == 0) {
            *row = one;
            row->familiarity = 0; /* see average_answers */
            row->verdict = BPCN_CANNOT_TELL;
            continue;
        }
        row->energy += (one.energy - row->energy) / (double)(v + 1);
        row->evaluations += one.evaluations;
        row->converged &= one.converged;
    }
    return status;
}

/* ---- write */

bpcn_status place_write(struct edit *edit, const void *x, const unsigned char *known, struct placed *placed,
                        bpcn_write_row *row)
{
    const struct contents *contents = &edit->memory->contents;
    size_t shard;
    int begin;
    *placed = (struct placed){.codes = NULL};
    bpcn_status status = BPCN_OK;
    if (contents->views.count > 0)
        status = find_views(edit, x, known, placed, row);
    else if ((status = contents_next(contents, &shard, &begin)) == BPCN_OK)
        status = find_write(edit, x, known, shard, begin, &placed->change, row);
    if (status != BPCN_OK)
        return status;
    row->typicality = -1;
    if (!asks_surprise(contents))
        return status;
    if (contents->views.count == 0)
        status = surprise_of(edit->memory, edit->team, &placed->change, row->energy, &placed->surprise);
    placed->change.surprise = &placed->surprise;
    row->typicality =
        surprises_typicality(&contents->surprises, placed->surprise, contents_met(contents, &placed->change));
    return status;
}

void placed_name(const struct edit *edit, const char *name, struct placed *placed)
{
    if (edit->memory->contents.options.names == 0)
        return;
    memcpy(placed->name, name, strlen(name));
    placed->change.name = placed->name;
}

/* ---- delete */

static bpcn_status find_delete(struct edit *edit, const void *x, size_t shard, struct change *change)
{
    struct writer *editor = editing_of(&edit->editing, shard, 0);
    bpcn_status status = editor ? edit->editing.core->find_delete(editor, x, change) : BPCN_NO_MEMORY;
    change->shard = shard;
    return status;
}

static bpcn_status find_holder(struct edit *edit, const void *x, struct change *change)
{
    struct shards many;
    struct shard *shard = all_shards(edit->memory, edit->team, &many);
    double *residual = alloc_zeroed(many.count, sizeof *residual);
    bpcn_status status = shard && residual ? BPCN_OK : BPCN_NO_MEMORY;
    if (status == BPCN_OK && many.count > 1)
        status = shards_residuals(&many, 1, x, NULL, residual);
    bpcn_status found = status;
    for (size_t tries = 0; status == BPCN_OK && tries < many.count && tries < DELETE_TRIES; tries++) {
        size_t best = 0;
        for (size_t k = 1; k < many.count; k++)
            best = residual[k] < residual[best] ? k : best;
        found = find_delete(edit, x, best, change);
        residual[best] = INFINITY;
        if (found != BPCN_REFUSED)
            break;
    }
    free(shard);
    free(residual);
    return found;
}

/* The number of the name that goes with a row. */
static uint64_t name_of(const struct contents *contents, const struct change *change)
{
    size_t dim = contents->shard[0]->width[0];
    struct sketched row = sketch_of(change->x, real_size(contents->shard[0]), dim);
    return names_recognise(&contents->names, contents_part(contents, change, 0).shard, &row, dim, same_row);
}

static bpcn_status find_in_views(struct edit *edit, const void *x, struct placed *placed)
{
    const struct contents *contents = &edit->memory->contents;
    struct table_view_row where = row_of(edit, x, NULL);
    bpcn_status status = join_begin(contents, placed) == 0 ? BPCN_OK : BPCN_NO_MEMORY;
    for (size_t v = 0; status == BPCN_OK && v < contents->views.count; v++) {
        struct change one;
        status = find_delete(edit, x, table_views_shard(&contents->views, v, &where), &one);
        if (status == BPCN_OK)
            join(contents, &one, v, placed);
    }
    return status;
}

bpcn_status place_delete(struct edit *edit, const void *x, const struct named *named, struct placed *placed)
{
    const struct contents *contents = &edit->memory->contents;
    bpcn_status status;
    *placed = (struct placed){.codes = NULL};
    if (contents->views.count > 0)
        status = find_in_views(edit, x, placed);
    else if (named != NULL)
        status = find_delete(edit, x, named->shard, &placed->change);
    else
        status = find_holder(edit, x, &placed->change);
    if (status == BPCN_OK)
        placed->change.unnamed = named != NULL ? named->number : name_of(contents, &placed->change);
    return status;
}

void placed_free(struct placed *placed)
{
    free(placed->codes);
    free(placed->log_weights);
}
