/* Which shards read which rows: see assign.h. */
#include "assign.h"

#include "alloc.h"
#include "kernels.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Shards that one row is read in, unless options.shards says otherwise. */
enum { SHORTLIST_READS = 4 };
/* Rows that know different entries are solved accurately in one shard out of so many, but in so many at least. */
enum { ACCURATE_ONE_IN = 16, ACCURATE_AT_LEAST = 8 };
/* Rows that know the same entries from which on a factor of their own pays in every shard that they are compared in. */
enum { FACTOR_PAYS = 16 };
/* A shard is read if its residual is at most this many times the least, plus this share of |x|^2. Larger: more shards
   are read. */
static const double near_ratio = 1.25, near_share = 1e-3;
/* A noisy row is read in the shard of every item that is by no more nats less likely than the first, were its noise white
   and of the variance that the first leaves. Larger: more shards are read, and of those that are not right more win. */
static const double near_nats = 3;

/* ---- residuals of all shards */

struct shortlist_job {
    const struct shards *shards;
    const struct shortlist_request *request; /* of all rows, residual [count x n] */
    const double *limit; /* [n]: only rows whose residual is not above it are solved, accurately; NULL: all, roughly */
    bpcn_status *status; /* [count] */
};

static bpcn_status shortlist_shard(const struct shortlist_job *j, size_t k)
{
    const struct shard *shard = &j->shards->shard[k];
    struct shortlist_request r = *j->request;
    size_t *subset = NULL;
    r.residual += k * r.n;
    if (j->limit != NULL) {
        subset = alloc_zeroed(r.n, sizeof *subset);
        for (size_t i = 0; subset != NULL && i < r.n; i++)
            if (r.residual[i] <= j->limit[i])
                subset[r.count++] = i;
        if (subset == NULL || r.count == 0) {
            free(subset);
            return subset == NULL ? BPCN_NO_MEMORY : BPCN_OK;
        }
        r.subset = subset;
    }
    bpcn_status status = shard_ops_for(shard->model)->residuals(shard, &r);
    free(subset);
    return status;
}

static void shortlist_part(void *context, size_t part, size_t parts)
{
    const struct shortlist_job *j = context;
    for (size_t k = part; k < j->shards->count; k += parts)
        j->status[k] = shortlist_shard(j, k);
}

static bpcn_status shortlist_all(const struct shards *m, const struct shortlist_request *request, const double *limit)
{
    bpcn_status *status = alloc_zeroed(m->count, sizeof *status), result = BPCN_NO_MEMORY;
    struct shortlist_job job = {m, request, limit, status};
    if (status != NULL) {
        threads_run(m->team, shortlist_part, &job);
        result = BPCN_OK;
    }
    for (size_t k = 0; status != NULL && k < m->count; k++)
        result = status[k] != BPCN_OK ? status[k] : result;
    free(status);
    return result;
}

/* least [most], in rising order: the smallest residuals of row i. Returns the largest of all. */
static double smallest_residuals(const double *residual, size_t count, size_t n, size_t i, size_t most, double *least)
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

/* The rough residuals of rows that know different entries are inexact: among hundreds of shards some seem nearer than
   the right one. Those that come first are solved accurately. */
static bpcn_status shortlist_refine(const struct shards *m, const struct shortlist_request *r)
{
    size_t most = m->count / ACCURATE_ONE_IN > ACCURATE_AT_LEAST ? m->count / ACCURATE_ONE_IN : ACCURATE_AT_LEAST;
    double *least = alloc_zeroed(most, sizeof *least), *limit = alloc_zeroed(r->n, sizeof *limit);
    bpcn_status status = BPCN_NO_MEMORY;
    for (size_t i = 0; least != NULL && limit != NULL && i < r->n; i++) {
        smallest_residuals(r->residual, m->count, r->n, i, most, least);
        limit[i] = least[most - 1];
    }
    if (least != NULL && limit != NULL)
        status = shortlist_all(m, r, limit);
    free(least);
    free(limit);
    return status;
}

/* A copy of rows of entries of `size` bytes, 0 where not known; NULL when out of memory. */
static unsigned char *shortlist_zero_unknown(size_t size, size_t entries, const unsigned char *x,
                                             const unsigned char *known)
{
    unsigned char *copy = alloc_zeroed(entries, size);
    for (size_t j = 0; copy != NULL && j < entries; j++)
        if (known[j])
            memcpy(copy + j * size, x + j * size, size);
    return copy;
}

bpcn_status assign_residuals(const struct shards *m, size_t n, const void *x, const unsigned char *known,
                             double *residual)
{
    const struct model *model = m->shard[0].model;
    size_t dim = model->width[0];
    unsigned char *copy = known != NULL ? shortlist_zero_unknown(real_size(model), n * dim, x, known) : NULL;
    if (known != NULL && copy == NULL)
        return BPCN_NO_MEMORY;
    struct shortlist_request request = {
        .rows = copy ? copy : x, .known = known, .masks = masks_of_rows(dim, n, known), .n = n, .residual = residual};
    if (request.masks.mask != NULL && n < FACTOR_PAYS && m->count > ACCURATE_ONE_IN)
        request.masks = (struct masks){.share = request.masks.share};
    bpcn_status status = shortlist_all(m, &request, NULL);
    if (status == BPCN_OK && !request.masks.same)
        status = shortlist_refine(m, &request);
    free(copy);
    return status;
}

/* ---- lists */

void assignments_free(struct assignments *a)
{
    free(a->list);
    *a = (struct assignments){.list = NULL};
}

static int assignments_add(struct assignments *a, size_t shard, size_t row, int settled)
{
    if (a->count == a->room) {
        size_t room = a->room > 0 ? 2 * a->room : 64;
        struct assignment *grown = realloc(a->list, room * sizeof *grown);
        if (grown == NULL)
            return -1;
        a->list = grown;
        a->room = room;
    }
    a->list[a->count++] = (struct assignment){.shard = shard, .row = row, .settled = settled};
    return 0;
}

static int by_shard(const void *a, const void *b)
{
    const struct assignment *x = a, *y = b;
    if (x->shard != y->shard)
        return x->shard < y->shard ? -1 : 1;
    return (x->row > y->row) - (x->row < y->row);
}

static int by_row(const void *a, const void *b)
{
    const struct assignment *x = a, *y = b;
    if (x->row != y->row)
        return x->row < y->row ? -1 : 1;
    if (x->residual != y->residual)
        return x->residual < y->residual ? -1 : 1;
    return (x->shard > y->shard) - (x->shard < y->shard);
}

/* Sorts by shard, then row, and keeps one of equals. */
static void assignments_sort(struct assignments *a)
{
    size_t kept = 0;
    if (a->count == 0)
        return;
    qsort(a->list, a->count, sizeof *a->list, by_shard);
    for (size_t i = 0; i < a->count; i++)
        if (kept == 0 || by_shard(&a->list[kept - 1], &a->list[i]) != 0)
            a->list[kept++] = a->list[i];
        else
            a->list[kept - 1].settled |= a->list[i].settled;
    a->count = kept;
}

/* ---- one look at all shards */

/* Row i is read in the shards whose residual is near the least, in `most` at most. least [most]: buffer. */
static int assign_nearest(const struct shards *m, const double *residual, size_t n, size_t i, size_t row, size_t most,
                          double *least, struct assignments *out)
{
    size_t ties = 0;
    int failed = 0;
    double largest = smallest_residuals(residual, m->count, n, i, most, least);
    double limit = fmin(near_ratio * least[0] + near_share * largest, least[most - 1]);
    for (size_t j = 0; j < most; j++)
        ties += least[j] == limit; /* of the shards exactly at the limit only so many */
    for (size_t k = 0; k < m->count; k++) {
        double mine = residual[k * n + i];
        if (mine < limit || (mine == limit && ties > 0) || k == m->always)
            failed |= assignments_add(out, k, row, 1) != 0;
        ties -= mine == limit && ties > 0;
    }
    return failed ? -1 : 0;
}

/* The rows of list [count]; NULL: all of the request, count of them. */
static bpcn_status assign_by_residuals(const struct shards *m, const struct read_request *request, const size_t *list,
                                       size_t count, size_t most, struct assignments *out)
{
    size_t dim = m->shard[0].model->width[0], bytes = dim * real_size(m->shard[0].model);
    double *residual = alloc_zeroed(m->count * count, sizeof *residual);
    double *least = alloc_zeroed(most, sizeof *least);
    unsigned char *x = list ? alloc_uncleared(count, bytes) : NULL;
    unsigned char *known = list && request->known ? alloc_uncleared(count, dim) : NULL;
    bpcn_status status = residual && least ? BPCN_OK : BPCN_NO_MEMORY;
    if (list != NULL && (x == NULL || (request->known != NULL && known == NULL)))
        status = BPCN_NO_MEMORY;
    for (size_t i = 0; status == BPCN_OK && list != NULL && i < count; i++) {
        memcpy(x + i * bytes, (const unsigned char *)request->query + list[i] * bytes, bytes);
        if (known != NULL)
            memcpy(known + i * dim, request->known + list[i] * dim, dim);
    }
    if (status == BPCN_OK)
        status = assign_residuals(m, count, list ? x : request->query, list ? known : request->known, residual);
    for (size_t i = 0; status == BPCN_OK && i < count; i++)
        if (assign_nearest(m, residual, count, i, list ? list[i] : i, most, least, out) != 0)
            status = BPCN_NO_MEMORY;
    free(residual);
    free(least);
    free(x);
    free(known);
    return status;
}

/* ---- the index */

struct find_job {
    const struct index *index;
    size_t n;
    struct index_query *query;
    bpcn_status *status; /* [parts] */
};

static void find_part(void *context, size_t part, size_t parts)
{
    struct find_job *j = context;
    size_t first, last;
    threads_share(j->n, 1, part, parts, &first, &last);
    j->status[part] = first < last ? index_find(j->index, last - first, j->query + first) : BPCN_OK;
}

bpcn_status assign_find(const struct shards *m, const struct read_request *request, struct index_query *query)
{
    const struct model *model = m->shard[0].model;
    size_t dim = model->width[0], n = request->n, parts = threads_count(m->team);
    bpcn_status *status = alloc_zeroed(parts, sizeof *status), result = BPCN_NO_MEMORY;
    float *narrow = NULL;
    if (real_size(model) == sizeof(double))
        narrow = alloc_uncleared(n * dim, sizeof *narrow);
    for (size_t j = 0; narrow != NULL && j < n * dim; j++)
        narrow[j] = (float)((const double *)request->query)[j];
    const float *x = narrow != NULL ? narrow : request->query;
    struct find_job job = {m->index, n, query, status};
    for (size_t i = 0; i < n; i++)
        query[i] = (struct index_query){.row = x + i * dim,
                                        .known = request->known ? request->known + i * dim : NULL,
                                        .noisy = request->known == NULL || request->options.noise > 0,
                                        .ranked = query[i].ranked};
    if (status != NULL && (narrow != NULL || real_size(model) == sizeof *narrow)) {
        threads_run(m->team, find_part, &job);
        result = BPCN_OK;
    }
    for (size_t i = 0; status != NULL && i < parts; i++)
        result = status[i] != BPCN_OK ? status[i] : result;
    free(status);
    free(narrow);
    return result;
}

/* The shards of the query's hits: of equals all, to be settled unless they are `most` at most; of others the nearest,
   `most` of them. */
static int take_hits(const struct shards *m, const struct index_query *q, size_t row, size_t most, struct assignments *out)
{
    size_t first = out->count, missing = index_missing(m->index), dim = m->shard[0].model->width[0];
    double known = (double)(q->known != NULL ? masks_count_known(dim, q->known) : dim);
    double limit = q->found > 0 ? (double)q->hits[0].square * (1 + 2 * near_nats / known) : 0;
    int failed = 0;
    for (size_t h = 0; h < q->found; h++) {
        size_t i = out->count;
        if (q->how != INDEX_EQUAL &&
            (out->count - first == most || (double)q->hits[h].square > limit))
            break;
        while (i > first && out->list[i - 1].shard != q->hits[h].shard)
            i = q->how == INDEX_EQUAL ? first : i - 1; /* equals come shard by shard */
        if (i == first)
            failed |= assignments_add(out, q->hits[h].shard, row, 1) != 0;
    }
    int settled = missing == 0 && out->count - first <= most;
    for (size_t k = 0; missing > 0 && k < m->count; k++)
        if (index_misses(m->index, k))
            failed |= assignments_add(out, k, row, 1) != 0;
    for (size_t i = first; i < out->count; i++)
        out->list[i].settled = settled;
    return failed ? -1 : 0;
}

/* Residuals of the assignments that are not settled, shard by shard. */
struct settle_job {
    const struct shards *shards;
    struct shortlist_request request; /* of all rows */
    struct assignments *assigned;
    bpcn_status *status; /* [parts] */
};

static bpcn_status settle_shard(const struct settle_job *j, struct assignment *list, size_t count, size_t *subset,
                                double *residual)
{
    struct shortlist_request r = j->request;
    const struct shard *shard = &j->shards->shard[list->shard];
    for (size_t i = 0; i < count; i++)
        if (!list[i].settled)
            subset[r.count++] = list[i].row;
    r.subset = subset;
    r.residual = residual;
    bpcn_status status = r.count > 0 ? shard_ops_for(shard->model)->residuals(shard, &r) : BPCN_OK;
    for (size_t i = 0; status == BPCN_OK && i < count; i++)
        list[i].residual = list[i].settled ? INFINITY : residual[list[i].row];
    return status;
}

static void settle_part(void *context, size_t part, size_t parts)
{
    const struct settle_job *j = context;
    struct assignment *list = j->assigned->list;
    size_t count = j->assigned->count, number = 0;
    size_t *subset = alloc_zeroed(j->request.n, sizeof *subset);
    double *residual = alloc_zeroed(j->request.n, sizeof *residual);
    bpcn_status status = subset && residual ? BPCN_OK : BPCN_NO_MEMORY;
    for (size_t first = 0, last; status == BPCN_OK && first < count; first = last) {
        for (last = first; last < count && list[last].shard == list[first].shard; last++)
            ;
        if (number++ % parts == part)
            status = settle_shard(j, list + first, last - first, subset, residual);
    }
    j->status[part] = status;
    free(subset);
    free(residual);
}

/* Of each row's assignments, with their residuals, those near the least stay. */
static void keep_nearest(const struct settle_job *j, size_t most)
{
    struct assignments *a = j->assigned;
    const struct model *model = j->shards->shard[0].model;
    size_t dim = model->width[0], kept = 0;
    qsort(a->list, a->count, sizeof *a->list, by_row);
    for (size_t first = 0, last; first < a->count; first = last) {
        size_t row = a->list[first].row;
        double square = real_size(model) == sizeof(float) ? sum_of_squares(dim, (const float *)j->request.rows + row * dim)
                                                          : sum_of_squares(dim, (const double *)j->request.rows + row * dim);
        double limit = near_ratio * a->list[first].residual + near_share * square;
        for (last = first; last < a->count && a->list[last].row == row; last++)
            if (a->list[last].settled || (last - first < most && a->list[last].residual <= limit))
                a->list[kept++] = a->list[last];
    }
    a->count = kept;
}

static bpcn_status settle(const struct shards *m, const struct read_request *request, size_t most,
                          struct assignments *assigned)
{
    const struct model *model = m->shard[0].model;
    size_t dim = model->width[0], n = request->n, parts = threads_count(m->team);
    unsigned char *copy =
        request->known != NULL ? shortlist_zero_unknown(real_size(model), n * dim, request->query, request->known) : NULL;
    bpcn_status *status = alloc_zeroed(parts, sizeof *status);
    bpcn_status result = status && (copy || request->known == NULL) ? BPCN_OK : BPCN_NO_MEMORY;
    struct settle_job job = {.shards = m, .assigned = assigned, .status = status};
    job.request = (struct shortlist_request){
        .rows = copy ? copy : request->query, .known = request->known, .masks = masks_of_rows(dim, n, request->known), .n = n};
    if (job.request.masks.mask != NULL && n < FACTOR_PAYS)
        job.request.masks = (struct masks){.share = job.request.masks.share};
    if (result == BPCN_OK)
        threads_run(m->team, settle_part, &job);
    for (size_t i = 0; status != NULL && i < parts; i++)
        result = status[i] != BPCN_OK ? status[i] : result;
    if (result == BPCN_OK)
        keep_nearest(&job, most);
    free(copy);
    free(status);
    return result;
}

/* A density is that of the mixture of all shards. Only where a row was written does one shard decide it; others are looked
   for in all shards. */
static int index_answers(const struct read_request *request, const struct index_query *q)
{
    int scored = request->answers == NULL && request->codes == NULL;
    return q->found > 0 && (q->how == INDEX_EQUAL || !scored);
}

static bpcn_status assign_by_index(const struct shards *m, const struct read_request *request, size_t most,
                                   struct assignments *out)
{
    size_t n = request->n, left = 0;
    struct index_query *query = alloc_zeroed(n, sizeof *query);
    size_t *other = alloc_zeroed(n, sizeof *other);
    bpcn_status status = query && other ? assign_find(m, request, query) : BPCN_NO_MEMORY;
    int failed = 0, settled = 1;
    for (size_t i = 0; status == BPCN_OK && i < n; i++) {
        if (index_answers(request, &query[i])) {
            failed |= take_hits(m, &query[i], i, most, out) != 0;
            if (m->always < m->count)
                failed |= assignments_add(out, m->always, i, 1) != 0;
        } else {
            other[left++] = i;
        }
    }
    if (failed)
        status = BPCN_NO_MEMORY;
    assignments_sort(out);
    for (size_t i = 0; i < out->count; i++)
        settled &= out->list[i].settled;
    if (status == BPCN_OK && !settled)
        status = settle(m, request, most, out);
    if (status == BPCN_OK && left > 0)
        status = assign_by_residuals(m, request, left < n ? other : NULL, left, most, out);
    for (size_t i = 0; query != NULL && i < n; i++)
        free(query[i].hits);
    free(query);
    free(other);
    return status;
}

/* ---- all of them */

bpcn_status assign_rows(const struct shards *m, const struct read_request *request, struct assignments *out)
{
    size_t wanted = request->options.shards, most = wanted > 0 ? wanted : SHORTLIST_READS;
    bpcn_status status = BPCN_OK;
    *out = (struct assignments){.list = NULL};
    if (wanted >= m->count) {
        for (size_t i = 0; i < m->count * request->n; i++)
            if (assignments_add(out, i / request->n, i % request->n, 1) != 0)
                return BPCN_NO_MEMORY;
    } else if (m->index != NULL && index_ready(m->index)) {
        status = assign_by_index(m, request, most, out);
    } else {
        status = assign_by_residuals(m, request, NULL, request->n, most, out);
    }
    if (status == BPCN_OK)
        assignments_sort(out);
    return status;
}
