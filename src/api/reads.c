/* Which shards of a memory are read, and what all of them say of a row. */
#include "reads.h"

#include "alloc.h"
#include "checks.h"
#include "shards.h"
#include "error.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

struct shard *all_shards(const bpcn_memory *m, struct team *team, struct shards *many)
{
    struct shard *shard = alloc_zeroed(m->contents.count + 1, sizeof *shard); /* and one more */
    for (size_t k = 0; shard != NULL && k < m->contents.count; k++)
        shard[k] = shard_of(m, k);
    *many = (struct shards){shard, m->contents.count, m->contents.rows, team, m->contents.count, NULL};
    many->views = m->contents.views.count > 0 ? &m->contents.views : NULL;
    return shard;
}

/* Without views the spread of what is not known is the variance of the shard that answers. */
static void spread_variance(const struct read_request *request, size_t dim)
{
    for (size_t j = 0; j < request->n * dim; j++)
        request->spread[j] =
            request->known != NULL && request->known[j] ? 0 : (float)sqrt(request->info[j / dim].variance);
}

bpcn_status read_shards(const bpcn_memory *m, struct team *team, struct read_request *request)
{
    struct shards many;
    struct shard *shard = all_shards(m, team, &many);
    bpcn_read_info *own = request->info == NULL ? alloc_zeroed(request->n, sizeof *own) : NULL;
    request->info = request->info != NULL ? request->info : own;
    bpcn_status status = shard && request->info ? BPCN_OK : BPCN_NO_MEMORY;
    if (status == BPCN_OK)
        status = many.count == 1 ? shard_ops_for(shard->model)->read(shard, team, request) : shards_read(&many, request);
    if (status == BPCN_OK && request->spread != NULL && many.views == NULL)
        spread_variance(request, m->contents.options.dim);
    free(shard);
    free(own);
    return status;
}

bpcn_status read_shards_and_next(const bpcn_memory *m, struct team *team, struct read_request *request)
{
    const struct contents *c = &m->contents;
    struct shards many;
    size_t next;
    int begin;
    if (c->views.count > 0)
        request->options.shards = 1; /* a row is in one shard of each */
    if (c->views.count > 0 || contents_find_next(c, &next, &begin) != 0 || (c->count == 1 && !begin))
        return read_shards(m, team, request);
    struct shard *shard = all_shards(m, team, &many), empty = {NULL, NULL};
    uint64_t *rows = alloc_zeroed(c->count + 1, sizeof *rows);
    bpcn_status status = shard && rows ? BPCN_OK : BPCN_NO_MEMORY;
    many.always = next;
    if (status == BPCN_OK && begin) {
        bpcn_options options = shard_options(&c->options, next);
        empty.model = shard_prior(&options);
        empty.prepared = empty.model ? shard_ops_for(empty.model)->cache_create(empty.model) : NULL;
        memcpy(rows, c->rows, c->count * sizeof *rows);
        rows[c->count] = 1;
        shard[c->count] = empty;
        many = (struct shards){shard, c->count + 1, rows, team, c->count, NULL};
        status = empty.prepared ? BPCN_OK : BPCN_NO_MEMORY;
    }
    if (status == BPCN_OK)
        status = shards_read(&many, request);
    if (empty.model != NULL)
        shard_ops_for(empty.model)->cache_free(empty.prepared);
    model_free(empty.model);
    free(shard);
    free(rows);
    return status;
}

/* ---- surprise */

bpcn_read_options density_options(const bpcn_memory *memory)
{
    bpcn_read_options exact;
    bpcn_read_options_default(&exact, sizeof exact);
    exact.noise = 0;
    if (memory->contents.options.minimizer == BPCN_LBFGS)
        exact.objective = BPCN_OBJECTIVE_MARGINAL;
    return exact;
}

int asks_surprise(const struct contents *c)
{
    uint64_t every = c->count == 1 || c->views.count > 0
                         ? 1
                         : 5 + 2 * (c->count / 8); /* odd: it meets shards at any number of rows */
    return c->options.surprises > 0 && c->writes % every == 0;
}

bpcn_status surprise_of(const bpcn_memory *m, struct team *team, const struct change *change, double energy,
                        double *surprise)
{
    const struct contents *c = &m->contents;
    struct shards many;
    bpcn_read_info info;
    struct read_request request = {
        .query = change->x, .known = change->known, .n = 1, .options = density_options(m), .info = &info};
    *surprise = energy;
    if (c->count == 1 && !change->begin)
        return BPCN_OK;
    struct shard *shard = all_shards(m, team, &many);
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
    if (status == BPCN_OK)
        status = check_pointer(log_density, "the pointer to the densities");
    if (status == BPCN_OK)
        status = check_pointer(typicality, "the pointer for the typicalities");
    for (size_t i = 0; status == BPCN_OK && i < n; i++)
        if (isnan(log_density[i]))
            return fail(BPCN_INVALID, "density %zu is NaN", i);
    if (status != BPCN_OK)
        return status;
    const struct contents *c = &memory->contents;
    struct change next = {.kind = CHANGE_WRITE};
    if (c->views.count == 0)
        (void)contents_find_next(c, &next.shard, &next.begin); /* a full memory is compared as it is */
    double before = contents_met(c, &next);
    for (size_t i = 0; i < n; i++)
        typicality[i] = surprises_typicality(&c->surprises, -log_density[i], before);
    return status;
}
