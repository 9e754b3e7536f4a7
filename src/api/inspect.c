/* Looking into a memory and setting what was found: options, counters, parameters. */
#include "alloc.h"
#include "checks.h"
#include "cholesky.h"
#include "error.h"
#include "kernels.h"
#include "options.h"
#include "shards.h"
#include "table.h"
#include "abi.h"
#include "store.h"
#include "threads.h"
#include "transaction.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

bpcn_status bpcn_options_bytes(const bpcn_options *options, uint64_t *bytes, uint64_t *bytes_most)
{
    bpcn_options checked;
    bpcn_status status = options_check(options, &checked);
    if (status != BPCN_OK)
        return status;
    if (bytes != NULL)
        *bytes = sizeof(bpcn_memory) + contents_options_bytes(&checked, 1);
    if (bytes_most != NULL)
        *bytes_most = sizeof(bpcn_memory) + contents_options_bytes(&checked, checked.shards);
    return BPCN_OK;
}

bpcn_status bpcn_memory_get_options(const bpcn_memory *memory, bpcn_options *options)
{
    bpcn_status status = check_memory(memory);
    if (status == BPCN_OK)
        status = check_pointer(options, "options");
    if (status == BPCN_OK)
        status = abi_check(&abi_options, options);
    if (status == BPCN_OK)
        abi_give(&abi_options, &memory->contents.options, options, options->size);
    return status;
}

bpcn_status bpcn_memory_set_minimizer(bpcn_memory *memory, bpcn_minimizer minimizer)
{
    struct transaction transaction;
    bpcn_status status = check_memory(memory);
    if (status == BPCN_OK && (unsigned)minimizer > BPCN_ADAM)
        return bpcn_fail(BPCN_INVALID, "minimizer %d does not exist", (int)minimizer);
    if (status == BPCN_OK)
        status = check_networks(memory, "minimiser");
    if (status == BPCN_OK)
        status = transaction_begin(&transaction, memory, CHANGE_MINIMIZER);
    if (status != BPCN_OK)
        return status;
    status = transaction_apply(&transaction, &(struct change){.kind = CHANGE_MINIMIZER, .minimizer = minimizer});
    return transaction_end(&transaction, status, NULL);
}

/* Of the first particles, those that today's come from. */
static size_t ancestors_of(const struct model *m)
{
    size_t count = 0;
    for (size_t n = 0; m->options.kind != BPCN_TABLE && n < m->options.particles; n++) {
        size_t before = 0;
        while (before < n && m->particles[before].origin != m->particles[n].origin)
            before++;
        count += before == n;
    }
    return m->options.kind == BPCN_TABLE ? 1 : count;
}

bpcn_status bpcn_memory_get_stats(const bpcn_memory *memory, bpcn_stats *stats)
{
    bpcn_status status = check_memory(memory);
    if (status == BPCN_OK)
        status = check_pointer(stats, "stats");
    if (status == BPCN_OK)
        status = abi_check(&abi_stats, stats);
    if (status != BPCN_OK)
        return status;
    const struct contents *c = &memory->contents;
    size_t open = contents_open(c), prepared = 0;
    const struct model *m = c->shard[open];
    double squares = 0;
    for (size_t n = 0; n < m->options.particles; n++)
        squares += exp(2 * m->log_weights[n]);
    threads_enter();
    for (size_t k = 0; k < c->count; k++)
        prepared += shard_ops_for(m)->count_cache_bytes(memory->cache[k]);
    threads_leave();
    bpcn_stats full = {.size = sizeof full,
                       .dim = m->width[0],
                       .code_dim = m->code_dim,
                       .particles = m->options.particles,
                       .writes = c->writes,
                       .forgets = c->forgets,
                       .deletes = c->deletes,
                       .bytes = sizeof *memory + contents_bytes(c),
                       .effective_particles = 1 / squares,
                       .kernels = kernels_chosen()->name,
                       .prepared_bytes = prepared,
                       .bytes_most =
                           sizeof *memory + contents_bytes(c) + (c->options.shards - c->count) * shard_bytes(m),
                       .shards = c->count,
                       .open_shard = open,
                       .surprises = c->surprises.count,
                       .names = c->names.count,
                       .name_bytes = c->names.most * c->names.each,
                       .ancestors = ancestors_of(m),
                       .deletable = held_there(&c->held)};
    full.trial_error = NAN;
    if (m->forest != NULL)
        full.trials = (uint64_t)forest_trials(m->forest, &full.trial_error);
    abi_give(&abi_stats, &full, stats, stats->size);
    return BPCN_OK;
}

bpcn_status bpcn_memory_get_shards(const bpcn_memory *memory, uint64_t *rows, size_t room, size_t *shards)
{
    bpcn_status status = check_memory(memory);
    if (status == BPCN_OK)
        status = check_pointer(shards, "the pointer for the number of shards");
    if (status == BPCN_OK && room > 0)
        status = check_pointer(rows, "the pointer for the rows of the shards");
    if (status != BPCN_OK)
        return status;
    *shards = memory->contents.count;
    for (size_t k = 0; k < room && k < *shards; k++)
        rows[k] = memory->contents.rows[k];
    return BPCN_OK;
}

/* ---- parameters */

/* Nothing that was prepared of the old parameters holds, and nobody knows which rows the new ones hold. */
static bpcn_status parameters_changed(bpcn_memory *memory, size_t shard)
{
    scale_settle(&memory->contents.scale);
    held_drop_shard(&memory->contents.held, shard);
    struct model *model = memory->contents.shard[shard];
    if (memory->contents.index != NULL)
        index_note_missing(memory->contents.index, shard);
    shard_ops_for(model)->reset_cache(memory->cache[shard], model);
    return BPCN_OK;
}

static bpcn_status find_shard(const bpcn_memory *memory, size_t shard, struct model **found)
{
    bpcn_status status = check_memory(memory);
    if (status == BPCN_OK)
        status = check_networks(memory, "parameters of networks");
    if (status == BPCN_OK && shard >= memory->contents.count)
        return bpcn_fail(BPCN_INVALID, "there is no shard %zu, only %zu", shard, memory->contents.count);
    if (status == BPCN_OK)
        *found = memory->contents.shard[shard];
    return status;
}

static bpcn_status find_particle(const bpcn_memory *memory, size_t shard, size_t particle, struct particle **found)
{
    struct model *model = NULL;
    bpcn_status status = find_shard(memory, shard, &model);
    if (status == BPCN_OK && particle >= model->options.particles)
        return bpcn_fail(BPCN_INVALID, "there is no particle %zu, only %zu", particle, model->options.particles);
    if (status == BPCN_OK)
        *found = &model->particles[particle];
    return status;
}

static bpcn_status find_layer(const bpcn_memory *memory, size_t shard, size_t particle, size_t layer,
                              struct layer **found)
{
    struct particle *p = NULL;
    bpcn_status status = find_particle(memory, shard, particle, &p);
    if (status == BPCN_OK && layer >= shape_of(memory)->options.layers)
        return bpcn_fail(BPCN_INVALID, "there is no layer %zu, only %zu", layer, shape_of(memory)->options.layers);
    if (status == BPCN_OK)
        *found = &p->layer[layer];
    return status;
}

bpcn_status bpcn_memory_get_layer(const bpcn_memory *memory, size_t shard, size_t particle, size_t layer, double *mean,
                                  double *covariance)
{
    struct layer *found = NULL;
    bpcn_status status = find_layer(memory, shard, particle, layer, &found);
    if (status != BPCN_OK)
        return status;
    if (mean != NULL)
        shard_ops_for(shape_of(memory))->get_mean(found, mean);
    if (covariance != NULL)
        cholesky_to_covariance(found->above, found->root, covariance);
    return BPCN_OK;
}

static bpcn_status check_values(const char *what, size_t n, const double *x, double most)
{
    for (size_t j = 0; j < n; j++)
        if (!(fabs(x[j]) <= most))
            return bpcn_fail(BPCN_INVALID, "entry %zu of the %s is not finite or too large", j, what);
    return BPCN_OK;
}

static bpcn_status check_symmetric(size_t n, const double *u)
{
    for (size_t i = 0; i < n; i++)
        for (size_t j = 0; j < i; j++)
            if (fabs(u[i * n + j] - u[j * n + i]) > 1e-9 * (fabs(u[i * n + i]) + fabs(u[j * n + j])))
                return bpcn_fail(BPCN_INVALID, "the covariance is not symmetric at row %zu, column %zu", i, j);
    return BPCN_OK;
}

/* Replaces the root by that of the covariance, or fails with nothing changed. */
static bpcn_status set_covariance(struct layer *layer, const double *covariance)
{
    size_t n = layer->above;
    bpcn_status status = check_values("covariance", n * n, covariance, FLT_MAX);
    if (status == BPCN_OK)
        status = check_symmetric(n, covariance);
    if (status != BPCN_OK)
        return status;
    double *work = alloc_zeroed(n, n * sizeof *work), *root = alloc_zeroed(cholesky_entries(n), sizeof *root);
    if (work == NULL || root == NULL)
        status = bpcn_fail(BPCN_NO_MEMORY, "out of memory");
    else if (cholesky_from_covariance(n, covariance, root, work) != 0)
        status = bpcn_fail(BPCN_INVALID, "the covariance is not positive definite");
    else
        memcpy(layer->root, root, cholesky_entries(n) * sizeof *root);
    free(work);
    free(root);
    return status;
}

bpcn_status bpcn_memory_set_layer(bpcn_memory *memory, size_t shard, size_t particle, size_t layer, const double *mean,
                                  const double *covariance)
{
    struct layer *found = NULL;
    bpcn_status status = find_layer(memory, shard, particle, layer, &found);
    if (status == BPCN_OK && (mean == NULL || covariance == NULL))
        return bpcn_fail(BPCN_INVALID, "mean or covariance is NULL");
    if (status == BPCN_OK)
        status = store_refuse_set(memory->store);
    double most = memory != NULL && shape_of(memory)->options.precision == BPCN_FLOAT64 ? DBL_MAX : (double)FLT_MAX;
    if (status == BPCN_OK)
        status = check_values("mean", found->above * found->below, mean, most);
    if (status == BPCN_OK)
        status = set_covariance(found, covariance);
    if (status != BPCN_OK)
        return status;
    shard_ops_for(shape_of(memory))->set_mean(found, mean);
    shard_ops_for(shape_of(memory))->refresh_root(found);
    return parameters_changed(memory, shard);
}

bpcn_status bpcn_memory_get_top(const bpcn_memory *memory, size_t shard, size_t particle, double *mean,
                                double *variance)
{
    struct particle *found = NULL;
    bpcn_status status = find_particle(memory, shard, particle, &found);
    if (status != BPCN_OK)
        return status;
    if (mean != NULL)
        memcpy(mean, found->top_mean, top_width(shape_of(memory)) * sizeof *mean);
    if (variance != NULL)
        *variance = found->top_variance;
    return BPCN_OK;
}

bpcn_status bpcn_memory_set_top(bpcn_memory *memory, size_t shard, size_t particle, const double *mean, double variance)
{
    struct particle *found = NULL;
    bpcn_status status = find_particle(memory, shard, particle, &found);
    if (status == BPCN_OK && mean == NULL)
        return bpcn_fail(BPCN_INVALID, "mean is NULL");
    if (status == BPCN_OK && !(variance > 0 && variance <= (double)FLT_MAX))
        return bpcn_fail(BPCN_INVALID, "the variance is %g, but must be above 0", variance);
    if (status == BPCN_OK)
        status = check_values("mean", top_width(shape_of(memory)), mean, (double)FLT_MAX);
    if (status == BPCN_OK)
        status = store_refuse_set(memory->store);
    if (status != BPCN_OK)
        return status;
    memcpy(found->top_mean, mean, top_width(shape_of(memory)) * sizeof *mean);
    found->top_variance = variance;
    return parameters_changed(memory, shard);
}

bpcn_status bpcn_memory_get_weights(const bpcn_memory *memory, size_t shard, double *weights)
{
    struct model *model = NULL;
    bpcn_status status = find_shard(memory, shard, &model);
    if (status == BPCN_OK && weights == NULL)
        return bpcn_fail(BPCN_INVALID, "weights is NULL");
    for (size_t n = 0; status == BPCN_OK && n < model->options.particles; n++)
        weights[n] = exp(model->log_weights[n]);
    return status;
}

bpcn_status bpcn_memory_set_weights(bpcn_memory *memory, size_t shard, const double *weights)
{
    struct model *model = NULL;
    bpcn_status status = find_shard(memory, shard, &model);
    double sum = 0;
    if (status == BPCN_OK && weights == NULL)
        return bpcn_fail(BPCN_INVALID, "weights is NULL");
    for (size_t n = 0; status == BPCN_OK && n < model->options.particles; n++) {
        if (!(weights[n] >= 0 && weights[n] < INFINITY))
            return bpcn_fail(BPCN_INVALID, "weight %zu is %g, but must be 0 or more", n, weights[n]);
        sum += weights[n];
    }
    if (status == BPCN_OK && !(sum > 0 && sum < INFINITY))
        return bpcn_fail(BPCN_INVALID, "the weights add up to %g", sum);
    if (status == BPCN_OK)
        status = store_refuse_set(memory->store);
    for (size_t n = 0; status == BPCN_OK && n < model->options.particles; n++)
        model->log_weights[n] = weights[n] > 0 ? log(weights[n] / sum) : -INFINITY;
    if (status == BPCN_OK)
        scale_settle(&memory->contents.scale);
    return status;
}

/* Counts that a memory of these options can have. */
static bpcn_status check_shard_rows(const struct contents *c, const uint64_t *rows, size_t shards, size_t open)
{
    const bpcn_options *o = &c->options;
    if (shards < 1 || shards > o->shards || open >= shards || shards < c->count)
        return bpcn_fail(BPCN_INVALID, "%zu shards, with number %zu begun last, cannot be in a memory of %zu", shards,
                         open, o->shards);
    for (size_t k = 0; k < shards; k++)
        if (rows[k] > (uint64_t)1 << 53 || (o->when_full != BPCN_BLUR && rows[k] > o->shard_rows))
            return bpcn_fail(BPCN_INVALID, "shard %zu cannot have %llu rows", k, (unsigned long long)rows[k]);
    return BPCN_OK;
}

/* An empty shard, and what is prepared of it. */
static bpcn_status begin_shard(bpcn_memory *m, size_t k)
{
    bpcn_options options = contents_shard_options(&m->contents.options, k);
    struct model *model = shard_prior(&options);
    m->cache[k] = model ? shard_ops_for(model)->create_cache(model) : NULL;
    if (m->cache[k] == NULL) {
        shard_free(model);
        return out_of_memory();
    }
    contents_begin(&m->contents, k, model);
    return BPCN_OK;
}

bpcn_status bpcn_memory_set_shards(bpcn_memory *memory, const uint64_t *rows, size_t shards, size_t open)
{
    bpcn_status status = check_memory(memory);
    if (status == BPCN_OK)
        status = check_networks(memory, "shards to set");
    if (status == BPCN_OK)
        status = check_pointer(rows, "the pointer to the rows");
    if (status == BPCN_OK)
        status = check_shard_rows(&memory->contents, rows, shards, open);
    if (status == BPCN_OK)
        status = store_refuse_set(memory->store);
    while (status == BPCN_OK && memory->contents.count < shards)
        status = begin_shard(memory, memory->contents.count);
    if (status != BPCN_OK)
        return status;
    struct contents *c = &memory->contents;
    uint64_t before = 0;
    scale_settle(&c->scale);
    held_drop_shard(&c->held, SIZE_MAX);
    for (size_t i = 0; i < shards; i++) { /* the oldest comes after the one begun last */
        size_t k = (open + 1 + i) % shards;
        if (c->index != NULL && c->rows[k] != rows[k])
            index_note_missing(c->index, k);
        c->rows[k] = rows[k];
        c->begun[k] = before;
        before += rows[k] > 0 ? rows[k] : 1; /* no two are of one age */
    }
    c->writes = 0;
    for (size_t k = 0; k < shards; k++)
        c->writes += rows[k];
    return BPCN_OK;
}
