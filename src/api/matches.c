/*
 * The k best answers to a query. Candidates are codes in shards: those of the rows that the index has nearest, or without
 * an index those of the latest rows; where these are not all rows, also those that reads of the query find. They are
 * ranked by their densities.
 */
#include "alloc.h"
#include "assign.h"
#include "checks.h"
#include "copies.h"
#include "matches.h"
#include "names.h"
#include "options.h"
#include "precision.h"
#include "routing.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Answers are the same row if their mean square difference is at most this many times the variance of the memory's own
   noise: two recalls of one row differ by about 2. Larger: rows that are nearly alike count as one. */
static const double same_answer = 8;
/* Items of the index that are read for each answer that is wanted: some are alike, and some nearer than they seem. */
enum { ITEMS_EACH = 2 };

/* An answer is the row that a query is a copy of if their squared distance is at most this share of the row's square:
   the levels of the index leave about 0.1 open. Larger: blends pass for the row. */
static const double answer_is_row = 0.2;

struct candidate {
    size_t shard;
    double log_density, square; /* square: mean, between query and answer on what is known */
    unsigned char *code, *row;  /* real [code_dim], [dim] */
};

struct matcher {
    const bpcn_memory *memory;
    const struct model *model;
    struct shards many;
    struct shard *shard;
    struct team *team;
    bpcn_read_options options;
    size_t k, dim, size; /* size: bytes of a real */
    int indexed, whole;  /* the index is asked; index or codes have every row */
    struct candidate *list;
    size_t count, room;
    /* of a memory without an index: the rows that can be taken back, as their codes predict them now */
    size_t held, *held_shard;
    unsigned char *held_code, *held_row; /* real [held x code_dim], [held x dim] */
    double *held_square;                 /* [held] */
};

static double entry_of(const struct matcher *f, const unsigned char *row, size_t j)
{
    return f->size == sizeof(double) ? ((const double *)row)[j] : (double)((const float *)row)[j];
}

static double mean_square(const struct matcher *f, const unsigned char *a, const unsigned char *b, const unsigned char *known)
{
    double sum = 0;
    size_t count = 0;
    for (size_t j = 0; j < f->dim; j++) {
        if (known != NULL && !known[j])
            continue;
        double difference = entry_of(f, a, j) - entry_of(f, b, j);
        sum += difference * difference;
        count++;
    }
    return count > 0 ? sum / (double)count : 0;
}

/* ---- candidates */

/* One more, with a code and a row to be filled; NULL when out of memory. */
static struct candidate *candidate_add(struct matcher *f, size_t shard)
{
    if (f->count == f->room) {
        size_t room = f->room > 0 ? 2 * f->room : 16;
        struct candidate *grown = realloc(f->list, room * sizeof *grown);
        if (grown == NULL)
            return NULL;
        f->list = grown;
        f->room = room;
    }
    struct candidate *c = &f->list[f->count];
    *c = (struct candidate){.shard = shard, .code = alloc_zeroed(f->model->code_dim + f->dim + 1, f->size)};
    if (c->code == NULL)
        return NULL;
    c->row = c->code + f->model->code_dim * f->size;
    f->count++;
    return c;
}

static void candidates_drop(struct matcher *f)
{
    for (size_t i = 0; i < f->count; i++)
        free(f->list[i].code);
    f->count = 0;
}

/* The code that explains x best in a shard, and what it predicts. */
static bpcn_status candidate_read(struct matcher *f, size_t shard, const void *x, const unsigned char *known,
                                  const bpcn_read_options *options)
{
    const struct shard_ops *ops = shard_ops_for(f->model);
    struct candidate *c = candidate_add(f, shard);
    if (c == NULL)
        return BPCN_NO_MEMORY;
    bpcn_read_info info;
    struct read_request request = {
        .query = x, .known = known, .n = 1, .options = *options, .codes = c->code, .info = &info};
    bpcn_status status = ops->read(&f->many.shard[shard], f->team, &request);
    return status == BPCN_OK ? ops->predict(&f->many.shard[shard], 1, c->code, c->row) : status;
}

/* The query itself in each shard that could have it. */
static bpcn_status find_by_reading(struct matcher *f, const void *x, const unsigned char *known)
{
    struct assignments assigned = {.list = NULL};
    struct read_request request = {.query = x, .known = known, .n = 1, .options = f->options};
    request.options.shards = f->options.shards > 0 ? f->options.shards : f->k > 4 ? f->k : 0;
    if (f->many.count == 1)
        return candidate_read(f, 0, x, known, &f->options);
    request.answers = (void *)(uintptr_t)x; /* the index may answer; nothing is written */
    bpcn_status status = assign_rows(&f->many, &request, &assigned);
    for (size_t i = 0; status == BPCN_OK && i < assigned.count; i++)
        status = candidate_read(f, assigned.list[i].shard, x, known, &f->options);
    assignments_free(&assigned);
    return status;
}

/* The slot of row number `place` of a shard among those that can be taken back; held.count: it is none of them. */
static size_t held_slot(const struct matcher *f, size_t shard, uint64_t place)
{
    const struct held *held = &f->memory->contents.held;
    uint64_t after = f->many.rows[shard] > place ? f->many.rows[shard] - 1 - place : 0; /* rows of the shard since */
    for (size_t i = 0; i < held->count; i++) {
        /* slots are in the order of their numbers, from the oldest on */
        size_t slot = (size_t)((held->next - 1 - i) % held->most);
        struct held_row row = held_at(held, slot);
        if (row.shard == shard && after-- == 0)
            return row.gone ? held->count : slot;
    }
    return held->count;
}

/* The code that a row was written with, and what it predicts now. */
static bpcn_status candidate_take(struct matcher *f, size_t shard, size_t slot)
{
    const struct held *held = &f->memory->contents.held;
    const struct model *model = f->many.shard[shard].model;
    struct candidate *c = candidate_add(f, shard);
    unsigned char *codes = alloc_zeroed(held->codes + 1, f->size);
    if (c == NULL || codes == NULL) {
        free(codes);
        return BPCN_NO_MEMORY;
    }
    held_codes(held, slot, codes);
    memcpy(c->code, codes + model_heaviest(model) * f->model->code_dim * f->size, f->model->code_dim * f->size);
    free(codes);
    return shard_ops_for(model)->predict(&f->many.shard[shard], 1, c->code, c->row);
}

/* The rows that the index has nearest: by the codes that they were written with where those are kept, otherwise each read
   in its shard by its levels. */
static bpcn_status find_by_index(struct matcher *f, const void *x, const unsigned char *known)
{
    struct index_query query = {.ranked = 1};
    struct read_request request = {.query = x, .known = known, .n = 1};
    bpcn_read_options whole;
    bpcn_read_options_default(&whole, sizeof whole);
    request.options = whole;
    float *row = alloc_zeroed(f->dim, sizeof *row);
    double *wide = alloc_zeroed(f->dim, sizeof *wide);
    bpcn_status status = row && wide ? assign_find(&f->many, &request, &query) : BPCN_NO_MEMORY;
    for (size_t i = 0; status == BPCN_OK && i < query.found && i < ITEMS_EACH * f->k; i++) {
        const struct index_hit *hit = &query.hits[i];
        size_t slot = held_slot(f, hit->shard, hit->place);
        if (slot < f->memory->contents.held.count) {
            status = candidate_take(f, hit->shard, slot);
        } else if (index_get_row(f->many.index, hit->shard, hit->place, row)) {
            for (size_t j = 0; j < f->dim; j++)
                wide[j] = (double)row[j];
            status = candidate_read(f, hit->shard, f->size == sizeof *wide ? (const void *)wide : row, NULL, &whole);
        }
    }
    free(query.hits);
    free(row);
    free(wide);
    return status;
}

/* Of the latest rows those whose predictions are nearest. */
static bpcn_status find_by_codes(struct matcher *f, const unsigned char *x, const unsigned char *known)
{
    size_t code = f->model->code_dim * f->size, row = f->dim * f->size;
    for (size_t i = 0; i < f->held; i++)
        f->held_square[i] = mean_square(f, x, f->held_row + i * row, known);
    for (size_t taken = 0; taken < ITEMS_EACH * f->k && taken < f->held; taken++) {
        size_t best = 0;
        for (size_t i = 1; i < f->held; i++)
            if (f->held_square[i] < f->held_square[best])
                best = i;
        struct candidate *c = candidate_add(f, f->held_shard[best]);
        if (c == NULL)
            return BPCN_NO_MEMORY;
        memcpy(c->code, f->held_code + best * code, code);
        memcpy(c->row, f->held_row + best * row, row);
        f->held_square[best] = INFINITY;
    }
    return BPCN_OK;
}

/* ---- the latest rows */

static bpcn_status matcher_predict_held(struct matcher *f)
{
    const struct held *held = &f->memory->contents.held;
    size_t code = f->model->code_dim * f->size, row = f->dim * f->size;
    unsigned char *codes = alloc_zeroed(held->codes + 1, f->size);
    f->held_shard = alloc_zeroed(held->count + 1, sizeof *f->held_shard);
    f->held_code = alloc_zeroed(held->count * code + 1, 1);
    f->held_row = alloc_zeroed(held->count, row);
    f->held_square = alloc_zeroed(held->count, sizeof *f->held_square);
    bpcn_status status = codes && f->held_shard && f->held_code && f->held_row && f->held_square ? BPCN_OK : BPCN_NO_MEMORY;
    for (size_t i = 0; status == BPCN_OK && i < held->count; i++) {
        struct held_row kept = held_at(held, i);
        if (kept.gone || kept.shard >= f->many.count)
            continue;
        const struct shard *shard = &f->many.shard[kept.shard];
        held_codes(held, i, codes);
        memcpy(f->held_code + f->held * code, codes + model_heaviest(shard->model) * code, code);
        f->held_shard[f->held] = kept.shard;
        status = shard_ops_for(f->model)->predict(shard, 1, f->held_code + f->held * code, f->held_row + f->held * row);
        f->held++;
    }
    free(codes);
    return status;
}

/* ---- one query */

static int denser_first(const void *a, const void *b)
{
    const struct candidate *x = a, *y = b;
    if (x->log_density != y->log_density)
        return x->log_density > y->log_density ? -1 : 1;
    return (x->shard > y->shard) - (x->shard < y->shard);
}

/* Densities of all candidates under one noise variance, and the first of those that are the same. */
static bpcn_status candidates_rank(struct matcher *f, const unsigned char *x, const unsigned char *known, double *noise)
{
    double own = noise_variance(f->model, 0), nearest = INFINITY;
    struct energy_request request = {.x = x, .known = known, .n = 1, .options = f->options};
    bpcn_status status = BPCN_OK;
    for (size_t i = 0; i < f->count; i++) {
        f->list[i].square = mean_square(f, x, f->list[i].row, known);
        nearest = fmin(nearest, f->list[i].square);
    }
    if (f->options.noise < 0)
        request.options.noise = sqrt(fmax(0, nearest - 2 * own));
    request.options.objective = f->options.objective == BPCN_OBJECTIVE_PAPER ? BPCN_OBJECTIVE_PAPER : BPCN_OBJECTIVE_MARGINAL;
    *noise = request.options.noise;
    for (size_t i = 0; status == BPCN_OK && i < f->count; i++) {
        double energy;
        request.codes = f->list[i].code;
        request.energy = &energy;
        status = shard_ops_for(f->model)->energy(&f->many.shard[f->list[i].shard], NULL, &request);
        if (status == BPCN_OK && !isfinite(energy))
            status = BPCN_NUMERIC;
        f->list[i].log_density = -energy;
    }
    if (status != BPCN_OK || f->count == 0)
        return status;
    qsort(f->list, f->count, sizeof *f->list, denser_first);
    size_t kept = 0;
    for (size_t i = 0; i < f->count; i++) {
        int drop = kept == f->k;
        for (size_t j = 0; j < kept && !drop; j++)
            drop = mean_square(f, f->list[i].row, f->list[j].row, NULL) <= same_answer * own;
        if (drop)
            free(f->list[i].code);
        else
            f->list[kept++] = f->list[i];
    }
    f->count = kept;
    return BPCN_OK;
}

/* The query itself is read only where rows may be left out otherwise: what a read answers may be a mean of several. */
static bpcn_status match_query(struct matcher *f, const unsigned char *x, const unsigned char *known, double *noise)
{
    bpcn_status status = f->whole ? BPCN_OK : find_by_reading(f, x, known);
    if (status == BPCN_OK && f->indexed)
        status = find_by_index(f, x, known);
    if (status == BPCN_OK && f->held > 0)
        status = find_by_codes(f, x, known);
    return status == BPCN_OK ? candidates_rank(f, x, known, noise) : status;
}

/* In the caller's units. */
static void match_report(const struct matcher *f, const struct candidate *c, const float *query, const unsigned char *known,
                         double noise, bpcn_match *match, float *row)
{
    const struct scale *scale = &f->memory->contents.scale;
    double sum = 0;
    size_t count = 0;
    for (size_t j = 0; j < f->dim; j++) {
        float value = (float)scale_out(scale, j, entry_of(f, c->row, j));
        if (row != NULL)
            row[j] = value;
        if (known == NULL || known[j]) {
            sum += pow((double)value - (double)query[j], 2);
            count++;
        }
    }
    *match = (bpcn_match){.log_density = c->log_density,
                          .distance = count > 0 ? sqrt(sum / (double)count) : 0,
                          .noise = noise * scale->unit,
                          .shard = c->shard,
                          .name = name_of_answer(f->memory, c->shard, c->row)};
}

/* ---- the call */

static bpcn_status check_search(const bpcn_memory *m, const float *query, const unsigned char *known, size_t n, size_t k,
                                const bpcn_match *matches, const size_t *found)
{
    bpcn_status status = check_input(m, query, known, n);
    if (status == BPCN_OK)
        status = check_networks(m, "single rows to search for");
    if (status == BPCN_OK && (k < 1 || k > BPCN_MAX_MATCHES))
        return bpcn_fail(BPCN_INVALID, "%zu answers are wanted, but a search gives 1 to %d", k, BPCN_MAX_MATCHES);
    if (status == BPCN_OK && n > 0)
        status = check_pointer(matches, "the pointer for the matches");
    if (status == BPCN_OK && n > 0)
        status = check_pointer(found, "the pointer for the numbers of matches");
    if (status == BPCN_OK)
        status = check_far(&m->contents.scale, (double)LARGEST, query, known, n);
    return status;
}

static void matcher_free(struct matcher *f)
{
    candidates_drop(f);
    free(f->list);
    free(f->shard);
    free(f->held_shard);
    free(f->held_code);
    free(f->held_row);
    free(f->held_square);
}

bpcn_status bpcn_memory_search(const bpcn_memory *memory, const float *query, const unsigned char *known, size_t n, size_t k,
                               const bpcn_read_options *options, bpcn_match *matches, float *rows, size_t *found)
{
    struct matcher f = {.memory = memory, .k = k};
    bpcn_status status = check_search(memory, query, known, n, k, matches, found);
    if (status == BPCN_OK)
        status = read_options_check(memory->contents.options.minimizer, options, &f.options);
    if (status != BPCN_OK || n == 0)
        return status;
    f.model = shape_of(memory);
    f.dim = f.model->width[0];
    f.size = real_size(f.model);
    f.options.noise /= memory->contents.scale.unit;
    f.options.spread = NULL;
    f.options.trace = NULL;
    f.options.trace_room = 0;
    void *copy;
    const unsigned char *x = to_real(f.model, &memory->contents.scale, INFINITY, query, known, n, &copy);
    memset(found, 0, n * sizeof *found);
    f.team = handle_begin(memory, n);
    f.shard = routing_shards(memory, f.team, &f.many);
    status = x && f.shard ? BPCN_OK : BPCN_NO_MEMORY;
    const struct contents *c = &memory->contents;
    f.indexed = status == BPCN_OK && c->index != NULL && index_ready(c->index);
    f.whole = f.indexed ? index_missing(c->index) == 0 : held_there(&c->held) >= c->writes - c->deletes;
    if (status == BPCN_OK && !(f.indexed && f.whole))
        status = matcher_predict_held(&f);
    for (size_t i = 0; status == BPCN_OK && i < n && c->writes > 0; i++) {
        const unsigned char *mask = known != NULL ? known + i * f.dim : NULL;
        double noise = 0;
        status = match_query(&f, x + i * f.dim * f.size, mask, &noise);
        for (size_t j = 0; status == BPCN_OK && j < f.count; j++)
            match_report(&f, &f.list[j], query + i * f.dim, mask, noise, &matches[i * k + j],
                         rows != NULL ? rows + (i * k + j) * f.dim : NULL);
        found[i] = f.count;
        candidates_drop(&f);
    }
    handle_end(f.team);
    matcher_free(&f);
    free(copy);
    if (status == BPCN_NO_MEMORY)
        return out_of_memory();
    return status == BPCN_NUMERIC ? bpcn_fail(status, "a query is too large: its energy is not finite") : status;
}

/* ---- near copies: the verdict by comparison */

/* Rows that a query is compared with, as floats. */
struct comparison {
    struct matcher f;
    size_t count, dim;
    struct copy copy[COPY_CANDIDATES];
    float *row, *query, *squares; /* [COPY_CANDIDATES x dim], [dim], [dim] */
    unsigned char *real_row;      /* real [dim] */
};

static void put_floats(const struct comparison *c, const unsigned char *row, float *out)
{
    for (size_t j = 0; j < c->dim; j++)
        out[j] = (float)entry_of(&c->f, row, j);
}

/* One more candidate, whose row stands in its place. */
static void comparison_add(struct comparison *c, size_t shard)
{
    c->copy[c->count] = (struct copy){.shard = shard, .row = c->row + c->count * c->dim};
    c->count++;
}

static bpcn_status compare_slot(struct comparison *c, size_t shard, size_t slot)
{
    bpcn_status status = candidate_take(&c->f, shard, slot);
    if (status == BPCN_OK) {
        put_floats(c, c->f.list[c->f.count - 1].row, c->row + c->count * c->dim);
        comparison_add(c, shard);
        const struct contents *contents = &c->f.memory->contents;
        c->copy[c->count - 1].name = names_held(&contents->names, held_at(&contents->held, slot).number);
    }
    candidates_drop(&c->f);
    return status;
}

/* Candidates by the index: rows by their codes where these are kept, otherwise by their levels. */
static bpcn_status compare_by_index(struct comparison *c, const unsigned char *x, const unsigned char *known)
{
    struct index_query query = {.ranked = 1};
    struct read_request request = {.query = x, .known = known, .n = 1};
    const struct held *held = &c->f.memory->contents.held;
    bpcn_status status = assign_find(&c->f.many, &request, &query);
    for (size_t i = 0; status == BPCN_OK && i < query.found && c->count < COPY_CANDIDATES; i++) {
        const struct index_hit *hit = &query.hits[i];
        size_t slot = held_slot(&c->f, hit->shard, hit->place);
        if (slot < held->count)
            status = compare_slot(c, hit->shard, slot);
        else if (index_get_row(c->f.many.index, hit->shard, hit->place, c->row + c->count * c->dim))
            comparison_add(c, hit->shard);
    }
    free(query.hits);
    return status;
}

/* Candidates among the latest rows: those whose predictions are most like the query. */
static bpcn_status compare_by_codes(struct comparison *c, const unsigned char *x, const unsigned char *known)
{
    const struct held *held = &c->f.memory->contents.held;
    size_t size = c->f.size, code = c->f.model->code_dim * size;
    unsigned char *codes = alloc_zeroed(held->codes + 1, size), *row = c->real_row;
    double *like = alloc_zeroed(held->count, sizeof *like);
    bpcn_status status = codes && like ? BPCN_OK : BPCN_NO_MEMORY;
    memcpy(row, x, c->dim * size);
    for (size_t j = 0; known != NULL && j < c->dim; j++)
        if (!known[j])
            memset(row + j * size, 0, size);
    for (size_t i = 0; status == BPCN_OK && i < held->count; i++) {
        struct held_row kept = held_at(held, i);
        like[i] = -INFINITY;
        if (kept.gone || kept.shard >= c->f.many.count)
            continue;
        const struct shard *shard = &c->f.many.shard[kept.shard];
        held_codes(held, i, codes);
        status = shard_ops_for(shard->model)->liken(shard, 1, codes + model_heaviest(shard->model) * code, row, &like[i]);
    }
    while (status == BPCN_OK && c->count < COPY_CANDIDATES && c->count < held->count) {
        size_t best = 0;
        for (size_t i = 1; i < held->count; i++)
            best = like[i] > like[best] ? i : best;
        if (isinf(like[best]))
            break;
        like[best] = -INFINITY;
        status = compare_slot(c, held_at(held, best).shard, best);
    }
    free(codes);
    free(like);
    return status;
}

/* Whether a row is compared: it is not known, or it is known but its name is not. */
static int is_open(const bpcn_memory *m, const bpcn_read_info *info)
{
    int nameless = m->contents.names.count > 0 && info->name == 0 && info->known == shape_of(m)->width[0];
    return info->known >= COPY_LEAST && (info->verdict != BPCN_KNOWN || nameless);
}

static int comparison_create(struct comparison *c, const bpcn_memory *m, struct team *team)
{
    *c = (struct comparison){.f = {.memory = m, .model = shape_of(m), .team = team}};
    c->dim = c->f.dim = c->f.model->width[0];
    c->f.size = real_size(c->f.model);
    c->f.shard = routing_shards(m, team, &c->f.many);
    c->row = alloc_uncleared(c->dim, (COPY_CANDIDATES + 2) * sizeof *c->row);
    c->real_row = alloc_zeroed(c->dim, c->f.size);
    if (c->f.shard == NULL || c->row == NULL || c->real_row == NULL)
        return -1;
    c->query = c->row + COPY_CANDIDATES * c->dim;
    c->squares = c->query + c->dim;
    return 0;
}

static void comparison_free(struct comparison *c)
{
    matcher_free(&c->f);
    free(c->row);
    free(c->real_row);
}

/* Whether the answer is the row that the query is a copy of. */
static int answer_is(const struct comparison *c, const struct copy *copy, const unsigned char *answer)
{
    double away = 0, power = 0;
    for (size_t j = 0; j < c->dim; j++) {
        away += pow(entry_of(&c->f, answer, j) - (double)copy->row[j], 2);
        power += (double)copy->row[j] * (double)copy->row[j];
    }
    return away <= answer_is_row * power;
}

bpcn_status compare_answers(const bpcn_memory *m, struct team *team, const struct read_request *request,
                            bpcn_read_info *info)
{
    struct comparison c = {.count = 0};
    const struct contents *contents = &m->contents;
    size_t dim = shape_of(m)->width[0], row = dim * real_size(shape_of(m));
    int indexed = contents->index != NULL && index_ready(contents->index);
    bpcn_status status = BPCN_OK;
    if (contents->options.kind == BPCN_TABLE || contents->writes == contents->deletes || request->options.noise >= 0)
        return BPCN_OK;
    for (size_t i = 0; status == BPCN_OK && i < request->n; i++) {
        if (!is_open(m, &info[i]))
            continue;
        const unsigned char *x = (const unsigned char *)request->query + i * row;
        const unsigned char *known = info[i].known < dim ? request->known + i * dim : NULL;
        double familiarity;
        if (c.row == NULL && comparison_create(&c, m, team) != 0)
            status = BPCN_NO_MEMORY;
        c.count = 0;
        if (status == BPCN_OK)
            status = indexed ? compare_by_index(&c, x, known) : compare_by_codes(&c, x, known);
        if (status != BPCN_OK)
            break;
        put_floats(&c, x, c.query);
        size_t stride = known == NULL && c.count > 0 ? copy_stride(c.copy[0].row, dim) : 1;
        copy_fit(c.query, known, dim, stride, c.count, c.copy, c.squares);
        size_t best = copy_decide(c.count, c.copy, &familiarity);
        if (best == c.count)
            continue;
        unsigned char *answer = (unsigned char *)request->answers + i * row;
        if (!answer_is(&c, &c.copy[best], answer))
            continue;
        info[i].verdict = BPCN_NEAR_COPY;
        info[i].familiarity = fmax(familiarity, info[i].familiarity);
        info[i].shard = c.copy[best].shard;
        info[i].name = c.copy[best].name;
        if (info[i].name == 0)
            info[i].name = name_of_answer(m, c.copy[best].shard, answer);
    }
    comparison_free(&c);
    return status;
}
