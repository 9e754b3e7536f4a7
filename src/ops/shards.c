/*
 * A memory of several shards. A read first finds the shards that could have a row, then reads the
 * row in those, and takes the likeliest answer.
 */
#include "shards.h"

#include "alloc.h"
#include "assign.h"
#include "random.h"
#include "table.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* The rows that one shard reads, and what it answers. */
struct shard_task {
    size_t k, count;
    size_t *row;          /* [count] */
    unsigned char *query; /* real [count x dim] */
    unsigned char *known; /* [count x dim] or NULL */
    void *out;            /* real [count x dim or code_dim] or NULL */
    bpcn_read_info *info; /* [count] */
    double *trace;        /* [count x trace_room] or NULL */
    bpcn_status status;
};

struct shards_job {
    const struct shards *shards;
    const struct read_request *request;
    size_t row_bytes, out_bytes; /* of a query; of an answer or a code */
    struct assignments assigned;
    struct shard_task *task;     /* [shards that read any row], in rising order of k */
    size_t tasks;
};

/* ---- tasks */

static void shards_job_free(struct shards_job *r)
{
    for (size_t k = 0; k < r->tasks; k++) {
        free(r->task[k].row);
        free(r->task[k].query);
        free(r->task[k].known);
        free(r->task[k].out);
        free(r->task[k].info);
        free(r->task[k].trace);
    }
    free(r->task);
    assignments_free(&r->assigned);
}

/* The task of these assignments, which are of one shard. -1 when out of memory. */
static int task_create(struct shards_job *r, const struct assignment *assigned, size_t count)
{
    const struct read_request *request = r->request;
    size_t dim = r->shards->shard[0].model->width[0];
    struct shard_task *a = &r->task[r->tasks++];
    int traces = request->options.trace != NULL;
    *a = (struct shard_task){.k = assigned->shard, .count = count};
    a->row = alloc_zeroed(count, sizeof *a->row);
    a->query = alloc_zeroed(count, r->row_bytes);
    a->known = request->known ? alloc_zeroed(count, dim) : NULL;
    a->out = r->out_bytes > 0 ? alloc_zeroed(count, r->out_bytes) : NULL;
    a->info = alloc_zeroed(count, sizeof *a->info);
    a->trace = traces ? alloc_zeroed(count * request->options.trace_room, sizeof *a->trace) : NULL;
    if ((traces && !a->trace) || !a->row || !a->query || !a->info || (request->known && !a->known) ||
        (r->out_bytes > 0 && !a->out))
        return -1;
    for (size_t i = 0; i < count; i++)
        a->row[i] = assigned[i].row;
    for (size_t i = 0; i < a->count; i++) {
        memcpy(a->query + i * r->row_bytes, (const unsigned char *)request->query + a->row[i] * r->row_bytes,
               r->row_bytes);
        if (a->known != NULL)
            memcpy(a->known + i * dim, request->known + a->row[i] * dim, dim);
    }
    return 0;
}

static void task_read(const struct shards_job *r, struct shard_task *a, struct team *team)
{
    const struct shard *shard = &r->shards->shard[a->k];
    struct read_request request = {
        .query = a->query, .known = a->known, .n = a->count, .options = r->request->options, .info = a->info};
    request.options.trace = a->trace;
    for (size_t j = 0; a->trace != NULL && j < a->count * request.options.trace_room; j++)
        a->trace[j] = NAN;
    *(r->request->answers != NULL ? &request.answers : &request.codes) = a->out;
    a->status = shard_ops_for(shard->model)->read(shard, team, &request);
}

static void task_read_part(void *context, size_t part, size_t parts)
{
    const struct shards_job *r = context;
    for (size_t i = part; i < r->tasks; i += parts)
        task_read(r, &r->task[i], NULL);
}

/* A thread for each shard, or where there are few all threads for one after the other. The answers are the same. */
static bpcn_status tasks_read(struct shards_job *r)
{
    if (r->tasks >= 2 * threads_count(r->shards->team))
        threads_run(r->shards->team, task_read_part, r);
    else
        for (size_t i = 0; i < r->tasks; i++)
            task_read(r, &r->task[i], r->shards->team);
    for (size_t i = 0; i < r->tasks; i++)
        if (r->task[i].status != BPCN_OK)
            return r->task[i].status;
    return BPCN_OK;
}

/* ---- the likeliest answer */

static double shards_rows(const struct shards *m)
{
    double all = 0;
    for (size_t k = 0; k < m->count; k++)
        all += (double)m->rows[k];
    return all;
}

/* The weight of shard k in the mixture, all being shards_rows. */
static double shards_share(const struct shards *m, double all, size_t k)
{
    return all > 0 ? (double)m->rows[k] / all : 1 / (double)m->count;
}

/* The shard with the greatest claim answers: its log density in nats, plus its familiarity. */
static double task_claim(const bpcn_read_info *info)
{
    return info->log_density + info->familiarity;
}

static double log_add(double a, double b)
{
    double high = fmax(a, b);
    return isinf(high) ? high : high + log(exp(a - high) + exp(b - high));
}

/* The info of the winning shard; evaluations and density [n] are those of all of them. place: of its task's rows. */
static void choose_winners(const struct shards_job *r, const struct shard_task **winner, size_t *place, double *density)
{
    bpcn_read_info *info = r->request->info;
    double all = shards_rows(r->shards);
    for (size_t s = 0; s < r->tasks; s++) {
        const struct shard_task *a = &r->task[s];
        double share = log(shards_share(r->shards, all, a->k));
        for (size_t at = 0; at < a->count; at++) {
            size_t i = a->row[at];
            uint64_t evaluations = a->info[at].evaluations + (winner[i] ? info[i].evaluations : 0);
            density[i] = log_add(density[i], share + a->info[at].log_density);
            if (winner[i] == NULL || task_claim(&a->info[at]) > task_claim(&info[i])) {
                winner[i] = a;
                place[i] = at;
                info[i] = a->info[at];
                info[i].shard = a->k;
            }
            info[i].evaluations = evaluations;
        }
    }
}

/* Answers or codes, and info, of the shard with the greatest claim. */
static bpcn_status shards_choose(const struct shards_job *r)
{
    size_t n = r->request->n, traced = r->request->options.trace_room;
    const struct shard_task **winner = alloc_zeroed(n, sizeof *winner);
    size_t *place = alloc_zeroed(n, sizeof *place);
    double *density = alloc_zeroed(n, sizeof *density);
    unsigned char *out = r->request->answers ? r->request->answers : r->request->codes;
    bpcn_status status = winner && place && density ? BPCN_OK : BPCN_NO_MEMORY;
    for (size_t i = 0; status == BPCN_OK && i < n; i++)
        density[i] = -INFINITY;
    if (status == BPCN_OK)
        choose_winners(r, winner, place, density);
    for (size_t i = 0; status == BPCN_OK && i < n; i++) {
        r->request->info[i].log_density = density[i];
        if (r->out_bytes > 0)
            memcpy(out + i * r->out_bytes, (unsigned char *)winner[i]->out + place[i] * r->out_bytes, r->out_bytes);
        if (r->request->options.trace != NULL)
            memcpy(r->request->options.trace + i * traced, winner[i]->trace + place[i] * traced,
                   traced * sizeof *winner[i]->trace);
    }
    free(winner);
    free(place);
    free(density);
    return status;
}

/* ---- the read */

static bpcn_status tasks_create(struct shards_job *r)
{
    const struct assignment *list = r->assigned.list;
    size_t count = r->assigned.count, shards = 0;
    for (size_t i = 0; i < count; i++)
        shards += i == 0 || list[i].shard != list[i - 1].shard;
    r->task = alloc_zeroed(shards, sizeof *r->task);
    if (r->task == NULL)
        return BPCN_NO_MEMORY;
    for (size_t first = 0, last; first < count; first = last) {
        for (last = first; last < count && list[last].shard == list[first].shard; last++)
            ;
        if (task_create(r, list + first, last - first) != 0)
            return BPCN_NO_MEMORY;
    }
    return BPCN_OK;
}

bpcn_status shards_read(const struct shards *m, const struct read_request *request)
{
    const struct model *model = m->shard[0].model;
    size_t size = real_size(model);
    struct shards_job r = {.shards = m, .request = request, .row_bytes = model->width[0] * size};
    r.out_bytes = request->answers ? r.row_bytes : request->codes ? model->code_dim * size : 0;
    bpcn_status status = assign_rows(m, request, &r.assigned);
    if (status == BPCN_OK)
        status = tasks_create(&r);
    if (status == BPCN_OK)
        status = tasks_read(&r);
    if (status == BPCN_OK)
        status = shards_choose(&r);
    shards_job_free(&r);
    return status;
}

/* ---- the mixture */

/* total [n] += share (part - total), entries being of `size` bytes */
static void mix_in(size_t size, size_t n, double share, const void *part, void *total)
{
    const float *narrow = part;
    const double *wide = part;
    for (size_t j = 0; j < n; j++)
        if (size == sizeof *narrow)
            ((float *)total)[j] += (float)share * (narrow[j] - ((float *)total)[j]);
        else
            ((double *)total)[j] += share * (wide[j] - ((double *)total)[j]);
}

/* Adds a shard, whose energies and gradients are `part`, to the sum of those before it. */
static void energy_add_shard(const struct model *model, double log_share, const struct energy_request *part,
                      const struct energy_request *sum)
{
    size_t size = real_size(model), code = model->code_dim;
    for (size_t i = 0; i < part->n; i++) {
        double mine = log_share - part->energy[i], all = log_add(-sum->energy[i], mine);
        sum->energy[i] = -all;
        if (sum->grad != NULL && !isinf(mine))
            mix_in(size, code, exp(mine - all), (const unsigned char *)part->grad + i * code * size,
                  (unsigned char *)sum->grad + i * code * size);
    }
}

bpcn_status shards_energy(const struct shards *m, const struct energy_request *request)
{
    const struct model *model = m->shard[0].model;
    size_t n = request->n, grad_bytes = n * model->code_dim * real_size(model);
    double all = shards_rows(m);
    struct energy_request part = *request, sum = *request; /* the caller's arrays are filled at the end, on success */
    part.energy = alloc_zeroed(n, sizeof *part.energy);
    sum.energy = alloc_zeroed(n, sizeof *sum.energy);
    part.grad = request->grad ? alloc_zeroed(1, grad_bytes) : NULL;
    sum.grad = request->grad ? alloc_zeroed(1, grad_bytes) : NULL;
    bpcn_status status =
        part.energy && sum.energy && (request->grad == NULL || (part.grad && sum.grad)) ? BPCN_OK : BPCN_NO_MEMORY;
    for (size_t i = 0; status == BPCN_OK && i < n; i++)
        sum.energy[i] = INFINITY;
    for (size_t k = 0; status == BPCN_OK && k < m->count; k++) {
        status = shard_ops_for(model)->energy(&m->shard[k], NULL, &part);
        if (status == BPCN_OK)
            energy_add_shard(model, log(shards_share(m, all, k)), &part, &sum);
    }
    if (status == BPCN_OK)
        memcpy(request->energy, sum.energy, n * sizeof *sum.energy);
    if (status == BPCN_OK && request->grad != NULL)
        memcpy(request->grad, sum.grad, grad_bytes);
    free(part.energy);
    free(part.grad);
    free(sum.energy);
    free(sum.grad);
    return status;
}

bpcn_status shards_sample(const struct shards *m, size_t n, uint64_t seed, uint64_t draw, void *out)
{
    const struct model *model = m->shard[0].model;
    size_t bytes = model->width[0] * real_size(model);
    double all = shards_rows(m);
    bpcn_status status = BPCN_OK;
    for (size_t i = 0; status == BPCN_OK && i < n; i++) {
        uint64_t own = random_stream(STREAM_SAMPLE, draw, i);
        double left = random_uniform(seed, own, 0);
        size_t k = 0;
        while (k + 1 < m->count && (left -= shards_share(m, all, k)) >= 0)
            k++;
        status = shard_ops_for(model)->sample(m->shard[k].model, 1, own, (unsigned char *)out + i * bytes);
    }
    return status;
}

struct model *shard_allocate(const bpcn_options *options)
{
    struct model *model = model_allocate(options);
    if (model == NULL || options->kind != BPCN_TABLE || table_allocate(model) == 0)
        return model;
    model_free(model);
    return NULL;
}

void shard_free(struct model *shard)
{
    if (shard != NULL)
        forest_free(shard->forest);
    model_free(shard);
}

size_t shard_bytes(const struct model *shard)
{
    return model_bytes(shard) + (shard->forest != NULL ? forest_bytes(shard->forest) : 0);
}

struct model *shard_prior(const bpcn_options *options)
{
    struct shard shard = {.model = shard_allocate(options)};
    if (shard.model == NULL || options->kind == BPCN_TABLE) /* an empty forest is its prior */
        return shard.model;
    const struct shard_ops *ops = shard_ops_for(shard.model);
    struct writer *writer = ops->create_writer(&shard, NULL, 0);
    if (writer == NULL || ops->reserve_writer(writer, CHANGE_FORGET) != BPCN_OK) {
        ops->free_writer(writer);
        model_free(shard.model);
        return NULL;
    }
    /* the prior is what remains when everything is forgotten */
    ops->apply(writer, &(struct change){.kind = CHANGE_FORGET, .beta = 1});
    ops->free_writer(writer);
    shard.model->forgets = 0;
    return shard.model;
}
