/* Which shards are read: by a quick look at all of them, or by views. */
#include "asked.h"

#include "alloc.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum {
    READ_AT_MOST = 4,
    OF_A_VIEW = 16,
    AT_ONCE = 256,
    CLOSER_AT_LEAST = 8,
    CLOSER_OF = 16
}; /* looked at closely: one in so many, at least */
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
        threads_run(m->team, screen_part, &job);
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

static void reads_free(struct reads *r)
{
    for (size_t k = 0; r->asked != NULL && k < r->many->count; k++) {
        free(r->asked[k].row);
        free(r->asked[k].query);
        free(r->asked[k].known);
        free(r->asked[k].out);
        free(r->asked[k].info);
        free(r->asked[k].trace);
    }
    free(r->asked);
    free(r->asks);
}

/* Row i is asked of those shards that could win by what they leave of it, and of few. */
static void ask_nearest(struct reads *r, const double *residual, size_t i, size_t most, double *least)
{
    size_t n = r->request->n, room = 0;
    double largest = smallest(residual, r->many->count, n, i, most, least); /* about |x|^2: most explain little */
    double limit = fmin(near * least[0] + some * largest, least[most - 1]);
    for (size_t j = 0; j < most; j++)
        room += least[j] == limit; /* of shards that leave just as much as the limit, only as many as these */
    for (size_t k = 0; k < r->many->count; k++) {
        double left = residual[k * n + i];
        r->asks[k * n + i] = left < limit || (left == limit && room > 0) || k == r->many->always;
        room -= left == limit && room > 0;
    }
}

/* A quick look at all shards. */
static bpcn_status ask_by_look(struct reads *r, size_t most)
{
    const struct read_request *request = r->request;
    double *residual = alloc_zeroed(r->many->count * request->n, sizeof *residual);
    double *least = alloc_zeroed(most, sizeof *least); /* in rising order */
    bpcn_status status =
        residual && least ? many_screen(r->many, request->n, request->query, request->known, residual) : BPCN_NO_MEMORY;
    for (size_t i = 0; status == BPCN_OK && i < request->n; i++)
        ask_nearest(r, residual, i, most, least);
    free(residual);
    free(least);
    return status;
}

/* Of every view the shards where the row most likely belongs. */
static void ask_by_views(struct reads *r, size_t most)
{
    const struct views *views = r->many->views;
    const struct read_request *request = r->request;
    size_t n = request->n, cells = views_cells(views);
    unsigned char picked[VIEW_CELLS];
    for (size_t i = 0; i < n; i++)
        for (size_t v = 0; v < views->count; v++) {
            const unsigned char *known = request->known ? request->known + i * views->dim : NULL;
            struct view_row row = {(const unsigned char *)request->query + i * r->row_bytes, r->row_bytes / views->dim,
                                   known};
            views_pick(views, v, &row, r->many->rows + v * cells, most, picked);
            for (size_t c = 0; c < cells; c++)
                r->asks[(v * cells + c) * n + i] = picked[c];
        }
}

/* Which shards are asked for which rows. */
static bpcn_status plan(struct reads *r)
{
    const struct views *views = r->many->views;
    size_t wanted = r->request->options.shards;
    if (views == NULL && wanted > 0 && wanted >= r->many->count)
        return BPCN_OK;
    r->asks = alloc_zeroed(r->many->count * r->request->n, 1);
    if (r->asks == NULL)
        return BPCN_NO_MEMORY;
    if (views == NULL)
        return ask_by_look(r, wanted > 0 ? wanted : READ_AT_MOST);
    ask_by_views(r, wanted > 0 ? wanted : OF_A_VIEW);
    return BPCN_OK;
}

static int ask(struct reads *r, size_t k)
{
    const struct read_request *request = r->request;
    size_t n = request->n, dim = r->many->shard[0].model->width[0];
    struct asked *a = &r->asked[r->shards];
    int traces = request->options.trace != NULL && r->many->views == NULL;
    a->k = k;
    a->row = alloc_zeroed(n, sizeof *a->row);
    for (size_t i = 0; a->row != NULL && i < n; i++)
        if (r->asks == NULL || r->asks[k * n + i])
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
    a->trace = traces ? alloc_zeroed(a->count * request->options.trace_room, sizeof *a->trace) : NULL;
    r->shards++;
    if ((traces && !a->trace) || !a->query || !a->info || (request->known && !a->known) ||
        (r->out_bytes > 0 && !a->out))
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
    request.options.trace = a->trace;
    for (size_t j = 0; a->trace != NULL && j < a->count * request.options.trace_room; j++)
        a->trace[j] = NAN;
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
    if (r->shards >= 2 * threads_count(r->many->team))
        threads_run(r->many->team, read_part, r);
    else
        for (size_t i = 0; i < r->shards; i++)
            read_one(r, &r->asked[i], r->many->team);
    for (size_t i = 0; i < r->shards; i++)
        if (r->asked[i].status != BPCN_OK)
            return r->asked[i].status;
    return BPCN_OK;
}

static bpcn_status read_batch(const struct many *m, const struct read_request *request)
{
    const struct model *model = m->shard[0].model;
    size_t size = real_size(model);
    struct reads r = {.many = m, .request = request, .row_bytes = model->width[0] * size};
    r.out_bytes = request->answers ? r.row_bytes : request->codes ? model->code_dim * size : 0;
    r.asked = alloc_zeroed(m->count, sizeof *r.asked);
    bpcn_status status = r.asked != NULL ? plan(&r) : BPCN_NO_MEMORY;
    for (size_t k = 0; status == BPCN_OK && k < m->count; k++)
        if (ask(&r, k) != 0)
            status = BPCN_NO_MEMORY;
    if (status == BPCN_OK)
        status = read_all(&r);
    if (status == BPCN_OK)
        status = m->views != NULL && request->codes == NULL ? average_answers(&r) : choose_answers(&r);
    reads_free(&r);
    return status;
}

bpcn_status many_read(const struct many *m, const struct read_request *request)
{
    const struct model *model = m->shard[0].model;
    size_t dim = model->width[0], size = real_size(model);
    size_t most = m->views != NULL ? AT_ONCE : request->n; /* of views every row is read in many shards */
    bpcn_status status = BPCN_OK;
    for (size_t first = 0; status == BPCN_OK && first < request->n; first += most) {
        struct read_request part = *request;
        part.n = request->n - first < most ? request->n - first : most;
        part.query = (const unsigned char *)request->query + first * dim * size;
        part.known = request->known ? request->known + first * dim : NULL;
        part.answers = request->answers ? (unsigned char *)request->answers + first * dim * size : NULL;
        part.codes = request->codes ? (unsigned char *)request->codes + first * model->code_dim * size : NULL;
        if (part.options.trace != NULL)
            part.options.trace += first * part.options.trace_room;
        part.spread = request->spread ? request->spread + first * dim : NULL;
        part.info = request->info + first;
        status = read_batch(m, &part);
    }
    return status;
}
