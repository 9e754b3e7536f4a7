/* Which shards a row is written to, read in and taken back from. */
#include "routing.h"

#include "alloc.h"
#include "assign.h"
#include "checks.h"
#include "error.h"
#include "shards.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>


/* To this shard. */
static bpcn_status route_row(struct transaction *transaction, const void *x, const unsigned char *known, size_t shard,
                             int begin, struct change *change, bpcn_write_row *row)
{
    struct writer *writer = writers_of(&transaction->writers, shard, begin);
    bpcn_status status =
        writer ? transaction->writers.core->find_write(writer, x, known, NULL, change, row) : BPCN_NO_MEMORY;
    row->shard = change->shard = shard;
    change->begin = begin;
    return status;
}

/* ---- write */

/* -log density of a row before it is learnt, which finding it leaves out: it costs more than learning it. */
static bpcn_status table_surprise(const bpcn_memory *m, const struct change *change, double *surprise)
{
    bpcn_read_info info;
    struct shard shard = shard_of(m, 0);
    struct read_request request = {.query = change->x, .known = change->known, .n = 1, .info = &info};
    bpcn_status status = shard_ops_for(shard.model)->read(&shard, NULL, &request);
    *surprise = info.energy;
    return status;
}

bpcn_status routing_write(struct transaction *transaction, const void *x, const unsigned char *known,
                          struct routed *routed, bpcn_write_row *row)
{
    const struct contents *contents = &transaction->memory->contents;
    size_t shard;
    int begin;
    *routed = (struct routed){.surprise = 0};
    bpcn_status status = BPCN_OK;
    if ((status = contents_next(contents, &shard, &begin)) == BPCN_OK)
        status = route_row(transaction, x, known, shard, begin, &routed->change, row);
    if (status != BPCN_OK)
        return status;
    row->typicality = -1;
    if (!routing_wants_surprise(contents))
        return status;
    if (contents->options.kind == BPCN_TABLE)
        status = table_surprise(transaction->memory, &routed->change, &row->energy);
    if (status != BPCN_OK)
        return status;
    status = routing_surprise(transaction->memory, transaction->team, &routed->change, row->energy, &routed->surprise);
    routed->change.surprise = &routed->surprise;
    row->typicality =
        novelty_history_typicality(&contents->surprises, routed->surprise, contents_met(contents, &routed->change));
    return status;
}

void routing_name(const struct transaction *transaction, const char *name, struct routed *routed)
{
    if (transaction->memory->contents.options.names == 0)
        return;
    memcpy(routed->name, name, strlen(name));
    routed->change.name = routed->name;
}

struct shard *routing_shards(const bpcn_memory *m, struct team *team, struct shards *many)
{
    struct shard *shard = alloc_zeroed(m->contents.count + 1, sizeof *shard); /* and one more */
    for (size_t k = 0; shard != NULL && k < m->contents.count; k++)
        shard[k] = shard_of(m, k);
    *many = (struct shards){shard, m->contents.count, m->contents.rows, team, m->contents.count, NULL};
    many->index = m->contents.index;
    return shard;
}

/* The spread of what is not known is the variance of the shard that answers. */
static void spread_variance(const struct read_request *request, size_t dim)
{
    for (size_t j = 0; j < request->n * dim; j++)
        request->spread[j] =
            request->known != NULL && request->known[j] ? 0 : (float)sqrt(request->info[j / dim].variance);
}

bpcn_status routing_read(const bpcn_memory *m, struct team *team, struct read_request *request)
{
    struct shards many;
    struct shard *shard = routing_shards(m, team, &many);
    int table = m->contents.options.kind == BPCN_TABLE;
    bpcn_read_info *own = request->info == NULL && !table ? alloc_zeroed(request->n, sizeof *own) : NULL;
    request->info = request->info != NULL ? request->info : own;
    bpcn_status status = shard && (request->info || table) ? BPCN_OK : BPCN_NO_MEMORY;
    if (status == BPCN_OK)
        status =
            many.count == 1 ? shard_ops_for(shard->model)->read(shard, team, request) : shards_read(&many, request);
    if (status == BPCN_OK && request->spread != NULL && !table)
        spread_variance(request, m->contents.options.dim);
    free(shard);
    free(own);
    return status;
}

bpcn_status routing_read_and_next(const bpcn_memory *m, struct team *team, struct read_request *request)
{
    const struct contents *c = &m->contents;
    struct shards many;
    size_t next;
    int begin;
    if (contents_find_next(c, &next, &begin) != 0 || (c->count == 1 && !begin))
        return routing_read(m, team, request);
    struct shard *shard = routing_shards(m, team, &many), empty = {NULL, NULL};
    uint64_t *rows = alloc_zeroed(c->count + 1, sizeof *rows);
    bpcn_status status = shard && rows ? BPCN_OK : BPCN_NO_MEMORY;
    many.always = next;
    if (status == BPCN_OK && begin) {
        bpcn_options options = contents_shard_options(&c->options, next);
        empty.model = shard_prior(&options);
        empty.cache = empty.model ? shard_ops_for(empty.model)->create_cache(empty.model) : NULL;
        memcpy(rows, c->rows, c->count * sizeof *rows);
        rows[c->count] = 1;
        shard[c->count] = empty;
        many.count = c->count + 1;
        many.rows = rows;
        many.always = c->count;
        status = empty.cache ? BPCN_OK : BPCN_NO_MEMORY;
    }
    if (status == BPCN_OK)
        status = shards_read(&many, request);
    if (empty.model != NULL)
        shard_ops_for(empty.model)->free_cache(empty.cache);
    shard_free(empty.model);
    free(shard);
    free(rows);
    return status;
}

/* ---- surprise */

bpcn_read_options routing_density_options(const bpcn_memory *memory)
{
    bpcn_read_options exact;
    bpcn_read_options_default(&exact, sizeof exact);
    exact.noise = 0;
    if (memory->contents.options.minimizer == BPCN_LBFGS)
        exact.objective = BPCN_OBJECTIVE_MARGINAL;
    return exact;
}

enum { TABLE_EACH = 1024, TABLE_SOME = 16 }; /* rows of a table of which each, later one in so many, is asked */

int routing_wants_surprise(const struct contents *c)
{
    if (c->options.kind == BPCN_TABLE)
        return c->options.surprises > 0 && (c->writes < TABLE_EACH || c->writes % TABLE_SOME == 0);
    uint64_t every = c->count == 1
                         ? 1
                         : 5 + 2 * (c->count / 8); /* odd: it meets shards at any number of rows */
    return c->options.surprises > 0 && c->writes % every == 0;
}

bpcn_status routing_surprise(const bpcn_memory *m, struct team *team, const struct change *change, double energy,
                             double *surprise)
{
    const struct contents *c = &m->contents;
    struct shards many;
    bpcn_read_info info;
    struct read_request request = {
        .query = change->x, .known = change->known, .n = 1, .options = routing_density_options(m), .info = &info};
    *surprise = energy;
    if (c->count == 1 && !change->begin)
        return BPCN_OK;
    struct shard *shard = routing_shards(m, team, &many);
    uint64_t *rows = alloc_zeroed(c->count, sizeof *rows);
    bpcn_status status = shard && rows ? BPCN_OK : BPCN_NO_MEMORY;
    double mine = change->begin ? 1 : (double)c->rows[change->shard], others = 0;
    many.count = 0;
    for (size_t k = 0; status == BPCN_OK && k < c->count; k++)
        if (change->begin || k != change->shard) {
            others += (double)c->rows[k];
            rows[many.count] = c->rows[k];
            shard[many.count++] = shard[k];
        }
    many.always = many.count;
    many.rows = rows;
    many.index = NULL; /* it numbers shards as the memory does */
    if (status == BPCN_OK)
        status = shards_read(&many, &request);
    if (status == BPCN_OK) {
        double a = log(mine / (mine + others)) - energy, b = log(others / (mine + others)) + info.log_density;
        *surprise = -fmax(a, b) - log1p(exp(-fabs(a - b)));
    }
    free(shard);
    free(rows);
    return status;
}

bpcn_status bpcn_memory_typicality(const bpcn_memory *memory, const double *log_density, size_t n, double *typicality)
{
    bpcn_status status = check_memory(memory);
    if (status == BPCN_OK && n > 0)
        status = check_pointer(log_density, "the pointer to the densities");
    if (status == BPCN_OK && n > 0)
        status = check_pointer(typicality, "the pointer for the typicalities");
    for (size_t i = 0; status == BPCN_OK && i < n; i++)
        if (isnan(log_density[i]))
            return bpcn_fail(BPCN_INVALID, "density %zu is NaN", i);
    if (status != BPCN_OK)
        return status;
    const struct contents *c = &memory->contents;
    struct change next = {.kind = CHANGE_WRITE};
    (void)contents_find_next(c, &next.shard, &next.begin); /* a full memory is compared as it is */
    double before = contents_met(c, &next);
    for (size_t i = 0; i < n; i++)
        typicality[i] = novelty_history_typicality(&c->surprises, -log_density[i], before);
    return status;
}
