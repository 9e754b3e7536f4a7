/* What a memory holds, which shard is written next, and how the contents change. */
#include "contents.h"

#include "alloc.h"
#include "error.h"
#include "random.h"
#include "shards.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- contents */

int contents_create(struct contents *c, const bpcn_options *options)
{
    *c = (struct contents){.options = *options};
    c->shard = alloc_zeroed(options->shards, sizeof *c->shard);
    c->rows = alloc_zeroed(options->shards, 2 * sizeof *c->rows);
    if (c->shard == NULL || c->rows == NULL || novelty_history_create(&c->surprises, options->surprises) != 0 ||
        names_create(&c->names, options) != 0 || scale_create(&c->scale, options) != 0 ||
        held_create(&c->held, options) != 0)
        return -1;
    c->begun = c->rows + options->shards;
    if (index_serves(options))
        c->index = index_create(options->dim, options->shards, options->shard_rows);
    return index_serves(options) && c->index == NULL ? -1 : 0;
}

int contents_create_empty(struct contents *c, const bpcn_options *options)
{
    int status = contents_create(c, options);
    for (size_t k = 0; status == 0 && k < 1; k++) {
        bpcn_options own = contents_shard_options(options, k);
        struct model *model = shard_prior(&own);
        if (model != NULL)
            contents_begin(c, k, model);
        status = model != NULL ? 0 : -1;
    }
    c->options.column = NULL; /* the shard has it */
    if (status != 0)
        contents_free(c);
    return status;
}

void contents_free(struct contents *c)
{
    for (size_t k = 0; c->shard != NULL && k < c->count; k++)
        shard_free(c->shard[k]);
    free(c->shard);
    free(c->rows);
    free(c->note);
    novelty_history_free(&c->surprises);
    names_free(&c->names);
    scale_free(&c->scale);
    held_free(&c->held);
    index_free(c->index);
    *c = (struct contents){.count = 0};
}

bpcn_options contents_shard_options(const bpcn_options *options, size_t k)
{
    bpcn_options o = *options;
    uint64_t step = options->shard_step > 0 ? options->shard_step : 1; /* as options_check has it */
    uint64_t number = options->first_shard + k * step;
    if (number > 0)
        o.seed = random_stream(STREAM_SHARD, options->seed, number);
    return o;
}

size_t contents_open(const struct contents *c)
{
    size_t open = 0;
    for (size_t k = 1; k < c->count; k++)
        open = c->begun[k] > c->begun[open] ? k : open;
    return open;
}

int contents_find_next(const struct contents *c, size_t *k, int *begin)
{
    size_t open = contents_open(c), fewest = 0, oldest = 0;
    *begin = 0;
    *k = open;
    if (c->rows[open] < c->options.shard_rows)
        return 0;
    *begin = c->count < c->options.shards;
    *k = c->count;
    if (*begin)
        return 0;
    for (size_t i = 1; i < c->count; i++) {
        fewest = c->rows[i] < c->rows[fewest] ? i : fewest;
        oldest = c->begun[i] < c->begun[oldest] ? i : oldest;
    }
    *begin = c->options.when_full == BPCN_RECYCLE;
    *k = *begin ? oldest : fewest;
    return c->options.when_full != BPCN_REFUSE ? 0 : -1;
}

bpcn_status contents_next(const struct contents *c, size_t *k, int *begin)
{
    if (contents_find_next(c, k, begin) == 0)
        return BPCN_OK;
    return bpcn_fail(BPCN_FULL, "the memory is full: its %zu shards have their %zu rows each", c->count,
                     c->options.shard_rows);
}

void contents_begin(struct contents *c, size_t k, struct model *model)
{
    if (k < c->count) /* first rows are gone, and must not come back */
        scale_settle(&c->scale);
    shard_free(c->shard[k]);
    c->shard[k] = model;
    c->rows[k] = 0;
    c->begun[k] = c->writes;
    c->count = k < c->count ? c->count : k + 1;
    names_drop_shard(&c->names, k);
    held_drop_shard(&c->held, k);
    if (c->index != NULL)
        index_drop_shard(c->index, k);
}

int contents_lose_index(struct contents *c)
{
    if (c->index == NULL)
        return 0;
    index_free(c->index);
    c->index = index_create(c->options.dim, c->options.shards, c->options.shard_rows);
    for (size_t k = 0; c->index != NULL && k < c->count; k++)
        if (c->rows[k] > 0)
            index_note_missing(c->index, k);
    return c->index != NULL ? 0 : -1;
}

double contents_met(const struct contents *c, const struct change *write)
{
    return write->begin ? 0 : (double)c->rows[write->shard];
}

/* Of a write with a name: the name, and by what the row is known again. */
static void keep_name(struct contents *c, const struct change *write)
{
    const struct model *model = c->shard[0];
    size_t size = real_size(model), best = 0;
    for (size_t k = 1; k < model->options.particles; k++)
        best = write->log_weights[k] > write->log_weights[best] ? k : best;
    struct named row = {.shard = write->shard, .particle = best, .holes = write->known != NULL};
    row.held = write->print != NULL ? (uint32_t)(c->held.next + 1) : 0;
    memcpy(row.name, write->name, sizeof row.name);
    row.row = sketch_row(write->x, size, model->width[0]);
    const unsigned char *code = (const unsigned char *)write->codes + best * model->code_dim * size;
    names_keep(&c->names, &row, names_keep_rows(&c->options) ? write->x : code, size);
}

/* A row of which less than this share of its content is left is gone: it is recalled no more. */
static const double gone_share = 0.01;

/* By how much rows age, 1 being gone, when the memory forgets or discounts by beta. Forgetting scales content by
   sqrt(1 - beta). Discounting scales its precision, 1 / sigma_x^2, by 1 - beta; it is gone when the prior's, 1 / sigma_w^2,
   is as large. */
static double age_by(const bpcn_options *o, const struct change *change)
{
    if (change->beta >= 1)
        return 1;
    double log_left = log1p(-change->beta), least = fmin(gone_share, pow(o->sigma_x / o->sigma_w, 2));
    return change->kind == CHANGE_FORGET ? log_left / (2 * log(gone_share)) : log_left / log(least);
}

static void index_change(struct contents *c, const struct change *change)
{
    const struct model *model = c->shard[0];
    size_t size = real_size(model), bytes = model->width[0] * size;
    const unsigned char *x = change->x;
    if (change->kind == CHANGE_WRITE)
        for (size_t i = 0; i < change->rows; i++)
            index_put(c->index, change->shard, c->rows[change->shard] + i, x + i * bytes, size, change->known);
    else if (change->kind == CHANGE_DELETE)
        for (size_t i = 0; i < change->rows; i++)
            (void)index_drop_row(c->index, change->shard, x + i * bytes, size);
    else if (change->kind == CHANGE_FORGET || change->kind == CHANGE_DISCOUNT)
        index_age(c->index, age_by(&c->options, change));
}

/* The first row that is row `held` of those that can be taken back is gone. -1 when it is not among them. */
static int drop_first_row(struct contents *c, uint64_t held)
{
    size_t slot = (size_t)(held % c->held.most);
    for (size_t i = 0; slot < c->held.count && i < c->scale.rows; i++) {
        struct held_row row = held_at(&c->held, slot);
        struct fingerprint print = scale_row_print(&c->scale, i);
        if (row.number == held && memcmp(&print, &row.print, sizeof print) == 0) {
            scale_drop_row(&c->scale, i);
            return 0;
        }
    }
    return -1;
}

/* The first rows are kept until a change that is not one of them settles the scale. */
static void count_first_row(struct contents *c, const struct change *change)
{
    if (c->scale.settled || change->kind == CHANGE_NOTE || change->kind == CHANGE_MINIMIZER)
        return;
    if (change->kind == CHANGE_WRITE && change->first != NULL)
        scale_keep_row(&c->scale, &(struct first_row){change->first, change->known, change->name});
    else if (change->kind != CHANGE_DELETE && c->writes == 0 && change->rows == 0)
        return; /* nothing has faded */
    else if (change->kind != CHANGE_DELETE || drop_first_row(c, change->held) != 0)
        scale_settle(&c->scale);
}

void contents_count(struct contents *c, const struct change *change)
{
    if (c->index != NULL)
        index_change(c, change);
    count_first_row(c, change);
    switch (change->kind) {
    case CHANGE_WRITE:
        if (change->name != NULL)
            keep_name(c, change);
        if (change->print != NULL)
            held_keep(&c->held,
                      &(struct held_row){.print = {{change->print[0], change->print[1]}},
                                         .fades = c->forgets,
                                         .shard = change->shard},
                      change->codes);
        if (change->surprise != NULL)
            novelty_history_keep(&c->surprises, *change->surprise, contents_met(c, change));
        c->rows[change->shard] += change->rows;
        c->writes += change->rows;
        break;
    case CHANGE_DELETE:
        c->deletes++;
        names_drop(&c->names, change->unnamed);
        held_drop(&c->held, change->held);
        break;
    case CHANGE_FORGET:
        if (change->beta == 1) {
            c->names.count = 0;
            held_drop_shard(&c->held, SIZE_MAX);
        }
        c->forgets++;
        break;
    case CHANGE_DISCOUNT:
        c->forgets++;
        break;
    case CHANGE_MINIMIZER:
        c->options.minimizer = change->minimizer;
        break;
    case CHANGE_NOTE:
        break;
    }
}

size_t contents_bytes(const struct contents *c)
{
    size_t bytes = c->options.shards * (sizeof *c->shard + 2 * sizeof *c->rows) + novelty_history_bytes(&c->surprises) +
                   c->names.most * c->names.each + scale_bytes(&c->scale) + c->held.most * c->held.each + (c->index != NULL ? index_bytes(c->index) : 0);
    for (size_t k = 0; k < c->count; k++)
        bytes += shard_bytes(c->shard[k]);
    return bytes;
}

uint64_t contents_options_bytes(const bpcn_options *options, size_t shards)
{
    struct contents c;
    uint64_t bytes = UINT64_MAX, shard = options->kind == BPCN_TABLE ? 0 : model_options_bytes(options);
    int status = options->kind == BPCN_TABLE ? contents_create_empty(&c, options) : contents_create(&c, options);
    if (status == 0)
        bytes = contents_bytes(&c);
    contents_free(&c);
    return shards > 0 && shard > (UINT64_MAX - bytes) / shards ? UINT64_MAX : bytes + shards * shard;
}

int contents_keep_note(struct contents *c, const void *note, size_t bytes)
{
    void *copy = bytes > 0 ? alloc_zeroed(1, bytes) : NULL;
    if (bytes > 0 && copy == NULL)
        return -1;
    if (bytes > 0)
        memcpy(copy, note, bytes);
    free(c->note);
    c->note = copy;
    c->note_bytes = bytes;
    return 0;
}

/* ---- writers */

int writers_create(struct writers *e, struct contents *contents, struct cache **cache, struct team *team, int replaying)
{
    *e = (struct writers){.contents = contents, .cache = cache, .team = team, .replaying = replaying};
    e->core = shard_ops_for(contents->shard[0]);
    e->editor = alloc_zeroed(contents->options.shards, sizeof *e->editor);
    return e->editor != NULL ? 0 : -1;
}

static void writers_drop_fresh(struct writers *e)
{
    e->core->free_writer(e->first);
    e->core->free_cache(e->fresh.cache);
    shard_free(e->fresh.model);
    e->first = NULL;
    e->fresh = (struct shard){NULL, NULL};
}

void writers_free(struct writers *e)
{
    for (size_t k = 0; e->editor != NULL && k < e->contents->options.shards; k++)
        e->core->free_writer(e->editor[k]);
    e->core->free_writer(e->all);
    writers_drop_fresh(e);
    free(e->editor);
}

static struct shard writers_shard(const struct writers *e, size_t k)
{
    return (struct shard){e->contents->shard[k], e->cache ? e->cache[k] : NULL};
}

/* Makes the empty shard that is to be number k. */
static struct writer *writers_fresh(struct writers *e, size_t k)
{
    bpcn_options options = contents_shard_options(&e->contents->options, k);
    writers_drop_fresh(e);
    e->next = k;
    e->fresh.model = shard_prior(&options);
    if (e->fresh.model != NULL && e->cache != NULL)
        e->fresh.cache = e->core->create_cache(e->fresh.model);
    if (e->fresh.model != NULL && (e->cache == NULL || e->fresh.cache != NULL))
        e->first = e->core->create_writer(&e->fresh, e->team, e->replaying);
    if (e->first == NULL)
        writers_drop_fresh(e);
    return e->first;
}

struct writer *writers_of(struct writers *e, size_t k, int begin)
{
    if (begin)
        return e->first != NULL && e->next == k ? e->first : writers_fresh(e, k);
    struct shard shard = writers_shard(e, k);
    if (e->editor[k] == NULL)
        e->editor[k] = e->core->create_writer(&shard, e->team, e->replaying);
    return e->editor[k];
}

/* Whether it is of all shards. */
static int is_of_all_shards(const struct change *change)
{
    return change->kind != CHANGE_WRITE && change->kind != CHANGE_DELETE;
}

bpcn_status writers_reserve(struct writers *e, const struct change *change)
{
    struct shard first = writers_shard(e, 0);
    bpcn_status status = BPCN_OK;
    if (!is_of_all_shards(change)) {
        struct writer *editor = writers_of(e, change->shard, change->begin);
        status = editor != NULL ? e->core->reserve_writer(editor, change->kind) : BPCN_NO_MEMORY;
    }
    if (status == BPCN_OK && change->name != NULL &&
        names_reserve(&e->contents->names, e->contents->names.count + 1) != 0)
        status = BPCN_NO_MEMORY;
    if (status == BPCN_OK && change->kind == CHANGE_WRITE && e->contents->index != NULL)
        status = index_reserve(e->contents->index, change->shard,
                               change->begin ? 0 : e->contents->rows[change->shard], change->rows);
    if (status == BPCN_OK && change->print != NULL && held_reserve(&e->contents->held, e->contents->held.count + 1) != 0)
        status = BPCN_NO_MEMORY;
    if (status == BPCN_OK && change->first != NULL && scale_reserve_row(&e->contents->scale) != 0)
        status = BPCN_NO_MEMORY;
    if (!is_of_all_shards(change))
        return status;
    if (e->all == NULL)
        e->all = e->core->create_writer(&first, e->team, e->replaying);
    else
        e->core->attach_writer(e->all, &first); /* the shard it was at last may have begun anew since */
    return e->all != NULL ? e->core->reserve_writer(e->all, change->kind) : BPCN_NO_MEMORY;
}

/* The shards that were written before are closed: what their writers had is given back. */
static void writers_close_others(struct writers *e)
{
    for (size_t k = 0; k < e->contents->count; k++) {
        if (e->editor[k] == NULL)
            continue;
        e->core->free_writer(e->editor[k]);
        e->editor[k] = NULL;
        if (e->cache != NULL)
            e->core->reset_cache(e->cache[k], e->contents->shard[k]);
    }
}

/* The empty shard takes its place. */
static void writers_begin(struct writers *e, size_t k)
{
    writers_close_others(e);
    e->core->free_writer(e->editor[k]);
    contents_begin(e->contents, k, e->fresh.model);
    if (e->cache != NULL) {
        e->core->free_cache(e->cache[k]);
        e->cache[k] = e->fresh.cache;
    }
    e->editor[k] = e->first;
    e->fresh = (struct shard){NULL, NULL};
    e->first = NULL;
}

void writers_apply(struct writers *e, const struct change *change)
{
    if (change->begin)
        writers_begin(e, change->shard);
    if (!is_of_all_shards(change))
        e->core->apply(e->editor[change->shard], change);
    for (size_t k = 0; is_of_all_shards(change) && k < e->contents->count; k++) {
        struct shard shard = writers_shard(e, k);
        e->core->attach_writer(e->all, &shard);
        e->core->apply(e->all, change);
    }
    contents_count(e->contents, change);
}
