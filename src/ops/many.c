/* Which shards are read, and whose answer it is. */
#include "many.h"

#include "alloc.h"
#include "random.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { READ_AT_MOST = 4, CLOSER_AT_LEAST = 8, CLOSER_OF = 16 }; /* looked at closely: one in so many, at least */
static const double near = 1.25,
                    some = 1e-3; /* residuals up to `near` times the least, and `some` of the row itself, could win */

/* ---- a quick look */

struct screen_job {
    const struct many *many;
    const struct screen_request *request; /* of all rows, residual [count x n] */
    const double *limit;                  /* [n] or NULL; else only rows whose residual is none above are looked at */
    bpcn_status *status;                  /* [count] */
};

static bpcn_status screen_one(const struct screen_job *j, size_t k)
{
    const struct shard *shard = &j->many->shard[k];
    struct screen_request r = *j->request;
    size_t *picked = NULL;
    r.residual += k * r.n;
    if (j->limit != NULL) {
        picked = alloc_zeroed(r.n, sizeof *picked);
        for (size_t i = 0; picked != NULL && i < r.n; i++)
            if (r.residual[i] <= j->limit[i])
                picked[r.count++] = i;
        if (picked == NULL || r.count == 0) {
            free(picked);
            return picked == NULL ? BPCN_NO_MEMORY : BPCN_OK;
        }
        r.picked = picked;
    }
    bpcn_status status = core_for(shard->model)->screen(shard, &r);
    free(picked);
    return status;
}

static void screen_part(void *context, size_t part, size_t parts)
{
    const struct screen_job *j = context;
    for (size_t k = part; k < j->many->count; k += parts)
        j->status[k] = screen_one(j, k);
}

static bpcn_status screen_all(const struct many *m, const struct screen_request *request, const double *limit)
{
    bpcn_status *status = alloc_zeroed(m->count, sizeof *status), result = BPCN_NO_MEMORY;
    struct screen_job job = {m, request, limit, status};
    if (status != NULL) {
        team_run(m->team, screen_part, &job);
        result = BPCN_OK;
    }
    for (size_t k = 0; status != NULL && k < m->count; k++)
        result = status[k] != BPCN_OK ? status[k] : result;
    free(status);
    return result;
}

/* least [most], in rising order: the smallest residuals of row i. Returns the largest of all. */
static double smallest(const double *residual, size_t count, size_t n, size_t i, size_t most, double *least)
{
    double largest = 0;
    for (size_t j = 0; j < most; j++)
        least[j] = INFINITY;
    for (size_t k = 0; k < count; k++) {
        double mine = residual[k * n + i];
        size_t at = most;
        largest = fmax(largest, mine);
        for (; at > 0 && mine < least[at - 1]; at--)
            if (at < most)
                least[at] = least[at - 1];
        if (at < most)
            least[at] = mine;
    }
    return largest;
}

/* Rows that all know the same are seen as they are at once. Others are not, and those shards that come first are looked
   at closely: among hundreds some are nearer than the right one by chance. */
static bpcn_status look_closer(const struct many *m, const struct screen_request *r)
{
    size_t most = m->count / CLOSER_OF > CLOSER_AT_LEAST ? m->count / CLOSER_OF : CLOSER_AT_LEAST;
    double *least = alloc_zeroed(most, sizeof *least), *limit = alloc_zeroed(r->n, sizeof *limit);
    bpcn_status status = BPCN_NO_MEMORY;
    for (size_t i = 0; least != NULL && limit != NULL && i < r->n; i++) {
        smallest(r->residual, m->count, r->n, i, most, least);
        limit[i] = least[most - 1];
    }
    if (least != NULL && limit != NULL)
        status = screen_all(m, r, limit);
    free(least);
    free(limit);
    return status;
}

/* A copy of rows, 0 where not known, floats or doubles; NULL when out of memory. */
static unsigned char *only_known(size_t size, size_t entries, const unsigned char *x, const unsigned char *known)
{
    unsigned char *copy = alloc_zeroed(entries, size);
    for (size_t j = 0; copy != NULL && j < entries; j++)
        if (known[j])
            memcpy(copy + j * size, x + j * size, size);
    return copy;
}

bpcn_status many_screen(const struct many *m, size_t n, const void *x, const unsigned char *known, double *residual)
{
    const struct model *model = m->shard[0].model;
    size_t dim = model->width[0];
    unsigned char *copy = known != NULL ? only_known(real_size(model), n * dim, x, known) : NULL;
    if (known != NULL && copy == NULL)
        return BPCN_NO_MEMORY;
    struct screen_request request = {
        .rows = copy ? copy : x, .known = known, .masks = masks_of_rows(dim, n, known), .n = n, .residual = residual};
    bpcn_status status = screen_all(m, &request, NULL);
    if (status == BPCN_OK && !request.masks.same)
        status = look_closer(m, &request);
    free(copy);
    return status;
}

/* ---- the reads */

/* The rows that one shard is asked for. */
struct asked {
    size_t k, count;
    size_t *row;          /* [count] */
    unsigned char *query; /* real [count x dim] */
    unsigned char *known; /* [count x dim] or NULL */
    void *out;            /* real [count x dim or code_dim] or NULL */
    bpcn_read_info *info; /* [count] */
    bpcn_status status;
};

struct reads {
    const struct many *many;
    const struct read_request *request;
    size_t row_bytes, out_bytes; /* of a query, of an answer or a code */
    size_t most;                 /* shards a row is read in */
    double *residual, *limit;    /* [count x n], [n]; or NULL: all are read */
    size_t *ties;                /* [n]: shards at the limit that may still be asked */
    struct asked *asked;         /* [count], those with rows first */
    size_t shards;               /* that are asked */
};

static void reads_free(struct reads *r)
{
    for (size_t k = 0; r->asked != NULL && k < r->many->count; k++) {
        free(r->asked[k].row);
        free(r->asked[k].query);
        free(r->asked[k].known);
        free(r->asked[k].out);
        free(r->asked[k].info);
    }
    free(r->asked);
    free(r->residual);
    free(r->limit);
    free(r->ties);
}

/* limit [n]: of the residuals with which a shard is asked for a row: it could win, and few explain more. */
static int set_limits(struct reads *r)
{
    size_t n = r->request->n, count = r->many->count;
    double *least = alloc_zeroed(r->most, sizeof *least); /* in rising order */
    r->limit = alloc_zeroed(n, sizeof *r->limit);
    r->ties = alloc_zeroed(n, sizeof *r->ties);
    int failed = least == NULL || r->limit == NULL || r->ties == NULL;
    for (size_t i = 0; !failed && i < n; i++) {
        double largest = smallest(r->residual, count, n, i, r->most, least); /* about |x|^2: most explain little */
        r->limit[i] = fmin(near * least[0] + some * largest, least[r->most - 1]);
        for (size_t j = 0; j < r->most; j++)
            r->ties[i] += least[j] == r->limit[i];
    }
    free(least);
    return failed ? -1 : 0;
}

/* Of shards that leave just as much as the limit, only as many as there is room for. */
static int could_have(struct reads *r, size_t k, size_t i)
{
    if (r->residual == NULL || k == r->many->always)
        return 1;
    double left = r->residual[k * r->request->n + i];
    if (left == r->limit[i] && r->ties[i] > 0) {
        r->ties[i]--;
        return 1;
    }
    return left < r->limit[i];
}

static int ask(struct reads *r, size_t k)
{
    const struct read_request *request = r->request;
    size_t n = request->n, dim = r->many->shard[0].model->width[0];
    struct asked *a = &r->asked[r->shards];
    a->k = k;
    a->row = alloc_zeroed(n, sizeof *a->row);
    for (size_t i = 0; a->row != NULL && i < n; i++)
        if (could_have(r, k, i))
            a->row[a->count++] = i;
    if (a->row == NULL)
        return -1;
    if (a->count == 0) {
        free(a->row);
        a->row = NULL;
        return 0;
    }
    a->query = alloc_zeroed(a->count, r->row_bytes);
    a->known = request->known ? alloc_zeroed(a->count, dim) : NULL;
    a->out = r->out_bytes > 0 ? alloc_zeroed(a->count, r->out_bytes) : NULL;
    a->info = alloc_zeroed(a->count, sizeof *a->info);
    r->shards++;
    if (!a->query || !a->info || (request->known && !a->known) || (r->out_bytes > 0 && !a->out))
        return -1;
    for (size_t i = 0; i < a->count; i++) {
        memcpy(a->query + i * r->row_bytes, (const unsigned char *)request->query + a->row[i] * r->row_bytes,
               r->row_bytes);
        if (a->known != NULL)
            memcpy(a->known + i * dim, request->known + a->row[i] * dim, dim);
    }
    return 0;
}

static void read_one(const struct reads *r, struct asked *a, struct team *team)
{
    const struct shard *shard = &r->many->shard[a->k];
    struct read_request request = {
        .query = a->query, .known = a->known, .n = a->count, .options = r->request->options, .info = a->info};
    *(r->request->answers != NULL ? &request.answers : &request.codes) = a->out;
    a->status = core_for(shard->model)->read(shard, team, &request);
}

static void read_part(void *context, size_t part, size_t parts)
{
    const struct reads *r = context;
    for (size_t i = part; i < r->shards; i += parts)
        read_one(r, &r->asked[i], NULL);
}

/* Shards side by side, or, where there are few, one after the other by all threads. What comes out is the same. */
static bpcn_status read_all(struct reads *r)
{
    if (r->shards >= 2 * team_size(r->many->team))
        team_run(r->many->team, read_part, r);
    else
        for (size_t i = 0; i < r->shards; i++)
            read_one(r, &r->asked[i], r->many->team);
    for (size_t i = 0; i < r->shards; i++)
        if (r->asked[i].status != BPCN_OK)
            return r->asked[i].status;
    return BPCN_OK;
}

/* ---- whose answer it is */

static double all_rows(const struct many *m)
{
    double all = 0;
    for (size_t k = 0; k < m->count; k++)
        all += (double)m->rows[k];
    return all;
}

/* Of shard k in the mixture, all being all_rows. */
static double share_of(const struct many *m, double all, size_t k)
{
    return all > 0 ? (double)m->rows[k] / all : 1 / (double)m->count;
}

/* Whose is greatest answers: the likeliest shard, where to be familiar counts for up to a nat. */
static double claim(const bpcn_read_info *info)
{
    return info->log_density + info->familiarity;
}

static double log_add(double a, double b)
{
    double high = fmax(a, b);
    return isinf(high) ? high : high + log(exp(a - high) + exp(b - high));
}

/* info and out: the best of what the shards said; evaluations and the density are of all of them. */
static void choose(const struct reads *r, const struct asked **winner, size_t *place, double *density)
{
    bpcn_read_info *info = r->request->info;
    double all = all_rows(r->many);
    for (size_t s = 0; s < r->shards; s++) {
        const struct asked *a = &r->asked[s];
        double share = log(share_of(r->many, all, a->k));
        for (size_t at = 0; at < a->count; at++) {
            size_t i = a->row[at];
            uint64_t evaluations = a->info[at].evaluations + (winner[i] ? info[i].evaluations : 0);
            density[i] = log_add(density[i], share + a->info[at].log_density);
            if (winner[i] == NULL || claim(&a->info[at]) > claim(&info[i])) {
                winner[i] = a;
                place[i] = at;
                info[i] = a->info[at];
                info[i].shard = a->k;
            }
            info[i].evaluations = evaluations;
        }
    }
}

static bpcn_status answer_all(const struct reads *r)
{
    size_t n = r->request->n;
    const struct asked **winner = alloc_zeroed(n, sizeof *winner);
    size_t *place = alloc_zeroed(n, sizeof *place);
    double *density = alloc_zeroed(n, sizeof *density);
    unsigned char *out = r->request->answers ? r->request->answers : r->request->codes;
    bpcn_status status = winner && place && density ? BPCN_OK : BPCN_NO_MEMORY;
    for (size_t i = 0; status == BPCN_OK && i < n; i++)
        density[i] = -INFINITY;
    if (status == BPCN_OK)
        choose(r, winner, place, density);
    for (size_t i = 0; status == BPCN_OK && i < n; i++) {
        r->request->info[i].log_density = density[i];
        if (r->out_bytes > 0)
            memcpy(out + i * r->out_bytes, (unsigned char *)winner[i]->out + place[i] * r->out_bytes, r->out_bytes);
    }
    free(winner);
    free(place);
    free(density);
    return status;
}

bpcn_status many_read(const struct many *m, const struct read_request *request)
{
    const struct model *model = m->shard[0].model;
    size_t size = real_size(model), n = request->n;
    struct reads r = {.many = m, .request = request, .row_bytes = model->width[0] * size};
    size_t wanted = request->options.shards;
    r.most = wanted > 0 ? wanted : READ_AT_MOST;
    r.out_bytes = request->answers ? r.row_bytes : request->codes ? model->code_dim * size : 0;
    r.asked = alloc_zeroed(m->count, sizeof *r.asked);
    bpcn_status status = r.asked != NULL ? BPCN_OK : BPCN_NO_MEMORY;
    if (status == BPCN_OK && (wanted == 0 || wanted < m->count)) {
        r.residual = alloc_zeroed(m->count * n, sizeof *r.residual);
        status = r.residual ? many_screen(m, n, request->query, request->known, r.residual) : BPCN_NO_MEMORY;
        if (status == BPCN_OK && set_limits(&r) != 0)
            status = BPCN_NO_MEMORY;
    }
    for (size_t k = 0; status == BPCN_OK && k < m->count; k++)
        if (ask(&r, k) != 0)
            status = BPCN_NO_MEMORY;
    if (status == BPCN_OK)
        status = read_all(&r);
    if (status == BPCN_OK)
        status = answer_all(&r);
    reads_free(&r);
    return status;
}

/* ---- the mixture */

/* total [n] += share (part - total), floats or doubles */
static void blend(size_t size, size_t n, double share, const void *part, void *total)
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
static void add_shard(const struct model *model, double log_share, const struct energy_request *part,
                      const struct energy_request *sum)
{
    size_t size = real_size(model), code = model->code_dim;
    for (size_t i = 0; i < part->n; i++) {
        double mine = log_share - part->energy[i], all = log_add(-sum->energy[i], mine);
        sum->energy[i] = -all;
        if (sum->grad != NULL && !isinf(mine))
            blend(size, code, exp(mine - all), (const unsigned char *)part->grad + i * code * size,
                  (unsigned char *)sum->grad + i * code * size);
    }
}

bpcn_status many_energy(const struct many *m, const struct energy_request *request)
{
    const struct model *model = m->shard[0].model;
    size_t n = request->n, grad_bytes = n * model->code_dim * real_size(model);
    double all = all_rows(m);
    struct energy_request part = *request, sum = *request; /* the caller's own room is written when all is well */
    part.energy = alloc_zeroed(n, sizeof *part.energy);
    sum.energy = alloc_zeroed(n, sizeof *sum.energy);
    part.grad = request->grad ? alloc_zeroed(1, grad_bytes) : NULL;
    sum.grad = request->grad ? alloc_zeroed(1, grad_bytes) : NULL;
    bpcn_status status =
        part.energy && sum.energy && (request->grad == NULL || (part.grad && sum.grad)) ? BPCN_OK : BPCN_NO_MEMORY;
    for (size_t i = 0; status == BPCN_OK && i < n; i++)
        sum.energy[i] = INFINITY;
    for (size_t k = 0; status == BPCN_OK && k < m->count; k++) {
        status = core_for(model)->energy(&m->shard[k], NULL, &part);
        if (status == BPCN_OK)
            add_shard(model, log(share_of(m, all, k)), &part, &sum);
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

bpcn_status many_sample(const struct many *m, size_t n, uint64_t seed, uint64_t draw, void *out)
{
    const struct model *model = m->shard[0].model;
    size_t bytes = model->width[0] * real_size(model);
    double all = all_rows(m);
    bpcn_status status = BPCN_OK;
    for (size_t i = 0; status == BPCN_OK && i < n; i++) {
        uint64_t own = stream_id(STREAM_SAMPLE, draw, i);
        double left = random_uniform(seed, own, 0);
        size_t k = 0;
        while (k + 1 < m->count && (left -= share_of(m, all, k)) >= 0)
            k++;
        status = core_for(model)->sample(m->shard[k].model, 1, own, (unsigned char *)out + i * bytes);
    }
    return status;
}
