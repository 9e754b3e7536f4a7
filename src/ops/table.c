/*
 * The shard of a table: the operations of struct shard_ops on a forest. Its rows are in float64. A change's codes are the
 * numbers of its row as forest_find has them, so that the log repeats them.
 */
#include "table.h"

#include "alloc.h"
#include "shard.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- the state */

int table_allocate(struct model *model)
{
    struct forest_options options = forest_options_for(model->options.dim, model->options.seed);
    options.column = model->options.column;
    model->options.column = NULL;
    model->forest = forest_create(&options);
    return model->forest != NULL ? 0 : -1;
}

size_t table_words(const bpcn_options *o)
{
    struct forest_options options = forest_options_for(o->dim, o->seed);
    return forest_words(&options);
}

/* ---- the cache: a forest has its own, so this only says of which */

struct table_cache {
    const struct forest *forest;
};

static struct cache *table_cache_create(const struct model *model)
{
    struct table_cache *cache = alloc_zeroed(1, sizeof *cache);
    if (cache != NULL)
        cache->forest = model->forest;
    return (struct cache *)(void *)cache;
}

static void table_cache_free(struct cache *cache)
{
    free(cache);
}

static void table_cache_reset(struct cache *cache, const struct model *model)
{
    ((struct table_cache *)(void *)cache)->forest = model->forest;
    forest_drop_cache(model->forest);
}

static size_t table_cache_bytes(struct cache *cache)
{
    return forest_cache_bytes(((struct table_cache *)(void *)cache)->forest);
}

/* ---- changes */

struct table_change {
    struct model *model;
    double *entry; /* [forest_entry_most] of the row that was found last */
};

static struct writer *table_writer_create(const struct shard *shard, struct team *team, int replaying)
{
    struct table_change *w = alloc_zeroed(1, sizeof *w);
    (void)team;
    if (w == NULL)
        return NULL;
    w->model = shard->model;
    w->entry = replaying ? NULL : alloc_zeroed(forest_entry_most(shard->model->options.dim), sizeof *w->entry);
    if (!replaying && w->entry == NULL) {
        free(w);
        return NULL;
    }
    return (struct writer *)(void *)w;
}

static void table_writer_free(struct writer *writer)
{
    struct table_change *w = (void *)writer;
    if (w != NULL)
        free(w->entry);
    free(w);
}

static void table_writer_attach(struct writer *writer, const struct shard *shard)
{
    ((struct table_change *)(void *)writer)->model = shard->model;
}

static bpcn_status table_reserve(struct writer *writer, enum change_kind kind)
{
    (void)writer;
    (void)kind;
    return BPCN_OK;
}

static bpcn_status table_find_write(struct writer *writer, const void *x, const unsigned char *known, const double *starts,
                                    struct change *change, bpcn_write_row *row)
{
    struct table_change *w = (void *)writer;
    (void)starts;
    *change = (struct change){.kind = CHANGE_WRITE, .rows = 1, .x = x, .known = known, .codes = w->entry};
    *row = (bpcn_write_row){.energy = NAN, .converged = 1};
    return forest_find(w->model->forest, x, known, w->entry, &change->numbers) == 0 ? BPCN_OK : BPCN_NO_MEMORY;
}

static bpcn_status table_can_delete(struct writer *writer, const void *const *x, const void *const *codes, size_t n)
{
    struct table_change *w = (void *)writer;
    (void)codes;
    for (size_t i = 0; i < n; i++) {
        int held = forest_holds(w->model->forest, x[i]);
        if (held <= 0)
            return held < 0 ? BPCN_NO_MEMORY : BPCN_REFUSED;
    }
    return BPCN_OK;
}

static void table_apply(struct writer *writer, const struct change *change)
{
    struct model *model = ((struct table_change *)(void *)writer)->model;
    switch (change->kind) {
    case CHANGE_WRITE:
        forest_learn(model->forest, change->x, change->known, change->codes);
        model->writes++;
        break;
    case CHANGE_DELETE:
        forest_remove(model->forest, change->x);
        model->deletes++;
        break;
    case CHANGE_FORGET:
    case CHANGE_DISCOUNT:
        forest_fade(model->forest, 1 - change->beta);
        model->forgets++;
        break;
    case CHANGE_MINIMIZER:
    case CHANGE_NOTE:
        break;
    }
}

/* ---- reads */

static bpcn_status table_read(const struct shard *shard, struct team *team, const struct read_request *request)
{
    size_t d = shard->model->options.dim, n = request->n;
    double *density = request->info != NULL ? alloc_zeroed(n, sizeof *density) : NULL;
    double *spread = request->spread != NULL ? alloc_zeroed(n * d, sizeof *spread) : NULL;
    struct forest_query query = {.n = n,
                                 .x = request->query,
                                 .known = request->known,
                                 .answer = request->answers,
                                 .spread = spread,
                                 .log_density = density};
    int failed = (request->info != NULL && density == NULL) || (request->spread != NULL && spread == NULL) ||
                 forest_ask(shard->model->forest, team, &query) != 0;
    for (size_t i = 0; !failed && request->info != NULL && i < n; i++) {
        const unsigned char *known = request->known != NULL ? request->known + i * d : NULL;
        double squares = 0;
        for (size_t j = 0; spread != NULL && j < d; j++)
            squares += spread[i * d + j] * spread[i * d + j];
        size_t count = known != NULL ? masks_count_known(d, known) : d;
        request->info[i] = (bpcn_read_info){.energy = -density[i],
                                            .log_density = density[i],
                                            .shard_density = density[i],
                                            .variance = count < d ? squares / (double)(d - count) : 0,
                                            .known = count,
                                            .converged = 1};
    }
    for (size_t j = 0; !failed && spread != NULL && j < n * d; j++)
        request->spread[j] = (float)spread[j];
    free(density);
    free(spread);
    return failed ? BPCN_NO_MEMORY : BPCN_OK;
}

static bpcn_status table_sample(const struct model *model, size_t n, uint64_t draw, void *out)
{
    return forest_sample(model->forest, n, draw, out) == 0 ? BPCN_OK : BPCN_NO_MEMORY;
}

/* What is left out is of layers and codes, which a table has none of: the API refuses it. */
const struct shard_ops table_ops = {
    .create_cache = table_cache_create,
    .free_cache = table_cache_free,
    .reset_cache = table_cache_reset,
    .count_cache_bytes = table_cache_bytes,
    .create_writer = table_writer_create,
    .free_writer = table_writer_free,
    .attach_writer = table_writer_attach,
    .reserve_writer = table_reserve,
    .find_write = table_find_write,
    .can_delete = table_can_delete,
    .apply = table_apply,
    .read = table_read,
    .sample = table_sample,
};
