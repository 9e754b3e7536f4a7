/* Writing, reading back and scoring. */
#include "stream.h"

#include "gpcn.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { WRITE_PIECE = 64, READ_PIECE = 512, FEW_QUERIES = 16 };

int stream_create(struct stream *s, const struct dataset *dataset, const struct method_spec *spec,
                  struct failure *failure)
{
    *s = (struct stream){.dataset = dataset};
    return method_create(spec, dataset->dim, &s->method, failure);
}

void stream_free(struct stream *s)
{
    method_free(&s->method);
}

static void tell(const struct stream *s, const char *what, size_t done, size_t total)
{
    if (s->progress != NULL)
        s->progress(s->context, what, done, total);
}

int stream_advance(struct stream *s, size_t length, struct failure *failure)
{
    const struct dataset *d = s->dataset;
    if (length > d->count)
        return failed(failure, "%s has %zu images here, but %zu are to be written", d->name, d->count, length);
    while (s->method.written < length) {
        size_t at = s->method.written, piece = length - at < WRITE_PIECE ? length - at : WRITE_PIECE;
        double before = method_seconds(&s->method);
        if (method_write(&s->method, d->pixels + at * d->dim, piece, failure) != 0)
            return -1;
        s->write_seconds += method_seconds(&s->method) - before;
        tell(s, "writing", s->method.written, length);
    }
    return 0;
}

/* Running sums of one measurement. */
struct tally {
    size_t first, span; /* of the images asked for, whose ages are told */
    size_t queries, correct, aged[AGES], exact[AGES];
    double sum, squares, most, identity, age[AGES];
};

static void count_error(struct tally *t, double error, double identity, size_t age)
{
    t->queries++;
    t->correct += error < CORRECT_BELOW;
    t->sum += error;
    t->squares += error * error;
    t->most = error > t->most || isnan(error) ? error : t->most;
    t->identity += identity;
    t->aged[age]++;
    t->exact[age] += error < CORRECT_BELOW;
    t->age[age] += error;
}

/* Room for one piece of queries. */
struct piece {
    size_t n, images[READ_PIECE];
    float *query, *answer, *truth; /* [READ_PIECE x dim] */
    unsigned char *known;          /* [READ_PIECE x dim] */
};

static void piece_free(struct piece *p)
{
    free(p->query);
    free(p->known);
}

static int piece_create(struct piece *p, size_t dim, struct failure *failure)
{
    p->query = calloc(3 * (size_t)READ_PIECE, dim * sizeof *p->query);
    p->known = calloc(READ_PIECE, dim);
    if (p->query == NULL || p->known == NULL)
        return failed(failure, "out of memory for %d queries", READ_PIECE);
    p->answer = p->query + READ_PIECE * dim;
    p->truth = p->answer + READ_PIECE * dim;
    return 0;
}

static int read_piece(struct stream *s, const struct task *task, bpcn_objective objective, struct piece *p,
                      struct tally *t, struct read_report *report, struct failure *failure)
{
    const struct dataset *d = s->dataset;
    size_t dim = d->dim;
    for (size_t i = 0; i < p->n; i++) {
        task_corrupt(task, d, p->images[i], s->method.spec.seed, p->query + i * dim, p->known + i * dim);
        memcpy(p->truth + i * dim, d->pixels + p->images[i] * dim, dim * sizeof *p->truth);
    }
    if (method_read(&s->method, objective, p->query, task_has_mask(task) ? p->known : NULL, p->n, p->images, p->truth,
                    p->answer, report, failure) != 0)
        return -1;
    for (size_t i = 0; i < p->n; i++) {
        const unsigned char *known = p->known + i * dim;
        const float *truth = p->truth + i * dim;
        count_error(t, task_error(task, dim, known, truth, p->answer + i * dim),
                    task_error(task, dim, known, truth, p->query + i * dim),
                    (p->images[i] - t->first) * AGES / t->span);
    }
    return 0;
}

static void report_tally(const struct stream *s, const struct tally *t, const struct read_report *r,
                         struct record *record)
{
    double n = (double)t->queries, mean = t->sum / n;
    *record = (struct record){0};
    record_set(record, "length", (double)s->method.written);
    record_set(record, "queries", n);
    record_set(record, "mse", mean);
    record_set(record, "mse_max", t->most);
    record_set(record, "mse_std", sqrt(fmax(0, t->squares / n - mean * mean)));
    record_set(record, "accuracy", (double)t->correct / n);
    record_set(record, "identity_mse", t->identity / n);
    record_set(record, "evaluations", r->evaluations / n);
    if (r->has_above)
        record_set(record, "above_stored", r->above / n);
    if (r->has_right)
        record_set(record, "right", r->right / n);
    if (r->twice && r->again > 0) {
        record_set(record, "again_seconds", r->again);
        record_set(record, "prepared_bytes", (double)method_prepared_bytes(&s->method));
    }
    record_set(record, "write_seconds", s->write_seconds);
    record_set(record, "read_seconds", r->seconds);
    record_set(record, "bytes", (double)method_bytes(&s->method));
    for (size_t a = 0; a < AGES; a++) {
        char name[RECORD_NAME];
        snprintf(name, sizeof name, "age_%zu", a);
        if (t->aged[a] > 0)
            record_set(record, name, t->age[a] / (double)t->aged[a]);
    }
}

/* Reads back `limit` (0: all) of the images first .. first + span, spread evenly. */
static int measure(struct stream *s, const struct task *task, bpcn_objective objective, size_t limit,
                   struct tally *tally, struct record *record, struct failure *failure)
{
    struct read_report report = {.twice = s->twice};
    struct piece piece = {0};
    size_t queries = limit > 0 && limit < tally->span ? limit : tally->span;
    int status = piece_create(&piece, s->dataset->dim, failure);
    for (size_t at = 0; status == 0 && at < queries; at += piece.n) {
        piece.n = queries - at < READ_PIECE ? queries - at : READ_PIECE;
        for (size_t i = 0; i < piece.n; i++)
            piece.images[i] = tally->first + (at + i) * tally->span / queries;
        status = read_piece(s, task, objective, &piece, tally, &report, failure);
        tell(s, task->name, at + piece.n, queries);
    }
    if (status == 0)
        report_tally(s, tally, &report, record);
    piece_free(&piece);
    return status;
}

/* The version that recalls a few images best answers from then on. */
static int use_best_version(struct stream *s, const struct task *task, bpcn_objective objective,
                            struct failure *failure)
{
    size_t versions, best = 0;
    double least = INFINITY;
    if (method_versions(&s->method, &versions, failure) != 0)
        return -1;
    for (size_t v = 0; versions > 1 && v < versions; v++) {
        struct tally tally = {.span = s->method.written};
        struct record record;
        method_use_version(&s->method, v);
        if (measure(s, task, objective, FEW_QUERIES, &tally, &record, failure) != 0)
            return -1;
        if (record_get(&record, "mse") < least) {
            least = record_get(&record, "mse");
            best = v;
        }
    }
    method_use_version(&s->method, best);
    return 0;
}

int stream_measure(struct stream *s, const struct task *task, bpcn_objective objective, size_t limit,
                   struct record *record, struct failure *failure)
{
    struct tally tally = {.span = s->method.written};
    if (use_best_version(s, task, objective, failure) != 0)
        return -1;
    return measure(s, task, objective, limit, &tally, record, failure);
}

int stream_measure_latest(struct stream *s, const struct task *task, bpcn_objective objective, size_t latest,
                          size_t limit, struct record *record, struct failure *failure)
{
    size_t written = s->method.written, span = latest < written ? latest : written;
    struct tally tally = {.first = written - span, .span = span};
    if (measure(s, task, objective, limit, &tally, record, failure) != 0)
        return -1;
    for (size_t a = 0; a < AGES; a++) {
        char name[RECORD_NAME];
        snprintf(name, sizeof name, "exact_%zu", a);
        if (tally.aged[a] > 0)
            record_set(record, name, (double)tally.exact[a] / (double)tally.aged[a]);
    }
    return 0;
}

/* ---- what offline learning takes */

int stream_learn(struct stream *s, struct failure *failure)
{
    size_t versions;
    if (s->method.spec.kind != METHOD_GPCN_OFFLINE || s->learnt == s->method.written)
        return 0;
    double before = method_seconds(&s->method);
    if (gpcn_versions(s->method.model.self, &versions) != BPCN_OK)
        return failed(failure, "%s: %s", method_name(s->method.spec.kind), bpcn_error());
    s->learn_seconds = method_seconds(&s->method) - before;
    s->learnt = s->method.written;
    return 0;
}

void note_learning(const struct stream *s, struct record *record)
{
    if (s->learnt == s->method.written && s->learnt > 0)
        record_set(record, "learn_seconds", s->learn_seconds);
}
