/* Timed reads and writes. Times are the best or the mean of few runs and are meant as ratios
   within one run. */
#include "workload.h"

#include "machine.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { LAYERS = 3, PAPER_QUERIES = 4, PAPER_STEPS = 20, FULL_STEPS = 500, ROUNDS = 30 };

struct bench {
    const struct workload *w;
    bpcn_memory *memory;
    float *rows, *query, *answer; /* [writes + 1], [queries], [queries] x dim */
    unsigned char *known;         /* [queries x dim] */
    bpcn_read_info *info;         /* [queries] */
};

static uint32_t next_random(uint32_t *state)
{
    *state ^= *state << 13;
    *state ^= *state >> 17;
    *state ^= *state << 5;
    return *state;
}

/* Rows that are smooth along their entries, as pictures are, in [-1, 1]. */
static void random_pictures(size_t count, size_t dim, float *rows)
{
    uint32_t state = 12345;
    for (size_t i = 0; i < count; i++) {
        double level = 0;
        for (size_t j = 0; j < dim; j++) {
            level = 0.95 * level + 0.3 * ((double)next_random(&state) / 2147483648.0 - 1);
            rows[i * dim + j] = (float)tanh(level);
        }
    }
}

/* Whether a call of so many rows is written through G = M M' of the lowest layer. */
static int uses_gram(const struct workload *w, size_t rows)
{
    return w->hidden <= w->dim && rows >= 8 && rows >= w->hidden / 128;
}

/* What an evaluation of a write touches at least: means and triangular roots in float32; in a call
   of `rows` rows that are enough for it, one triangle of float64 in place of the lowest mean. */
static double per_evaluation_bytes(const struct workload *w, size_t rows)
{
    double h = (double)w->hidden, d = (double)w->dim, triangle = h * (h + 1) / 2;
    return (uses_gram(w, rows) ? 8 * triangle : 4 * d * h) + 4 * (LAYERS - 1) * h * h + 4 * LAYERS * triangle;
}

/* What a write touches once, beside its evaluations: in a call that uses G the lowest mean for its product with the
   row; means and float64 roots to be read and written, and the float32 roots to be written. */
static double per_update_bytes(const struct workload *w, size_t rows)
{
    double h = (double)w->hidden, d = (double)w->dim, triangle = h * (h + 1) / 2;
    return (uses_gram(w, rows) ? 4 * d * h : 0) + 8 * (d * h + (LAYERS - 1) * h * h) + (16 + 4) * LAYERS * triangle;
}

/* What a query of a batch needs: its evaluations; beside each, the products of the preconditioner, one in
   the lowest layer and three in each above; and its share of making that: the inner products of the means
   and of the roots, two products and an inverse for each upper layer, and an inverse for each of three levels
   of annealing. */
static double per_query_flops(const struct workload *w, double evaluations, int through_gram)
{
    double h = (double)w->hidden, d = (double)w->dim;
    double sensory = through_gram ? 2 * h * h : 4 * d * h;
    double evaluate = sensory + 4 * (LAYERS - 1) * h * h + 2 * LAYERS * h * h;
    double apply = 2 * h * h * (1 + 3 * (LAYERS - 1));
    double make = h * h * (2 * d + 2 * (LAYERS - 1) * h + 2 * LAYERS * h + 5 * (LAYERS - 1) * h + 3 * h);
    return evaluations * (evaluate + apply) + (double)w->particles * make / (double)w->queries;
}

static int create(struct bench *b)
{
    bpcn_options o;
    bpcn_options_default(&o, sizeof o);
    o.scale = BPCN_SCALE_AS_GIVEN;
    o.dim = b->w->dim;
    o.layers = LAYERS;
    for (size_t l = 0; l < LAYERS; l++)
        o.hidden[l] = b->w->hidden;
    o.particles = b->w->particles;
    o.adam_steps = PAPER_STEPS;
    o.adam_stop = 0;
    o.rounds = 1;
    return bpcn_memory_create(&o, &b->memory) == BPCN_OK ? 0 : -1;
}

/* Writes all rows; times the second half, when the memory is no longer empty. */
static int time_writes(struct bench *b, struct timings *t)
{
    size_t half = b->w->writes / 2, rest = b->w->writes - half;
    bpcn_write_info info;
    bpcn_write_info_default(&info, sizeof info);
    if (half > 0 && bpcn_memory_write(b->memory, b->rows, NULL, half, NULL))
        return -1;
    double start = machine_now();
    if (bpcn_memory_write(b->memory, b->rows + half * b->w->dim, NULL, rest, &info))
        return -1;
    t->write_ms = 1e3 * (machine_now() - start) / (double)rest;
    t->write_evals = (double)info.evaluations / (double)rest;
    t->write_bytes =
        t->write_evals * per_evaluation_bytes(b->w, rest) + (double)b->w->particles * per_update_bytes(b->w, rest);
    return 0;
}

/* Queries: written rows in turn, with a quarter of the entries hidden, a different one each. */
static void make_queries(struct bench *b)
{
    size_t dim = b->w->dim;
    uint32_t state = 99;
    for (size_t i = 0; i < b->w->queries; i++)
        for (size_t j = 0; j < dim; j++) {
            int known = next_random(&state) % 4 != 0;
            b->known[i * dim + j] = (unsigned char)known;
            b->query[i * dim + j] = known ? b->rows[i % b->w->writes * dim + j] : -1;
        }
}

static void make_noisy(struct bench *b)
{
    uint32_t state = 7;
    for (size_t i = 0; i < b->w->queries; i++)
        for (size_t j = 0; j < b->w->dim; j++) {
            double sum = 0;
            for (int k = 0; k < 4; k++)
                sum += (double)next_random(&state) / 2147483648.0 - 1;
            b->query[i * b->w->dim + j] = b->rows[i % b->w->writes * b->w->dim + j] + (float)(0.4 * sum * 0.866);
        }
}

static int time_read(struct bench *b, size_t n, int masked, double *ms, double *evals)
{
    double start = machine_now(), sum = 0;
    if (bpcn_memory_read(b->memory, b->query, masked ? b->known : NULL, n, NULL, b->answer, b->info))
        return -1;
    *ms = 1e3 * (machine_now() - start) / (double)n;
    for (size_t i = 0; i < n; i++)
        sum += (double)b->info[i].evaluations;
    *evals = sum / (double)n;
    return 0;
}

static int time_reads(struct bench *b, struct timings *t)
{
    make_queries(b);
    if (time_read(b, 1, 1, &t->single_ms, &t->single_evals) ||
        time_read(b, b->w->queries, 1, &t->batch_ms, &t->batch_evals))
        return -1;
    t->read_flops_plain = per_query_flops(b->w, t->batch_evals, 0);
    t->read_flops = per_query_flops(b->w, t->batch_evals, 2 * b->w->hidden <= b->w->dim); /* gram_pays_batch */
    make_noisy(b);
    return time_read(b, b->w->queries, 0, &t->auto_ms, &t->auto_evals);
}

/* The paper's schedule, each step of which costs the same: a few steps, scaled up. */
static int time_paper(struct bench *b, struct timings *t)
{
    const double scale = (double)FULL_STEPS / PAPER_STEPS;
    size_t n = b->w->queries < PAPER_QUERIES ? b->w->queries : PAPER_QUERIES;
    double unused;
    if (bpcn_memory_set_minimizer(b->memory, BPCN_ADAM))
        return -1;
    if (time_read(b, n, 0, &t->paper_auto_ms, &unused))
        return -1;
    make_queries(b);
    if (time_read(b, n, 1, &t->paper_hetero_ms, &unused))
        return -1;
    double start = machine_now();
    if (bpcn_memory_write(b->memory, b->rows + b->w->writes * b->w->dim, NULL, 1, NULL))
        return -1;
    t->paper_write_ms = scale * 1e3 * (machine_now() - start);
    t->paper_auto_ms *= scale * ROUNDS;
    t->paper_hetero_ms *= scale * ROUNDS;
    return bpcn_memory_set_minimizer(b->memory, BPCN_LBFGS) == BPCN_OK ? 0 : -1;
}

static int run(struct bench *b, const float *rows, size_t count, struct timings *t)
{
    size_t needed = b->w->writes + 1, dim = b->w->dim;
    bpcn_stats stats = {.size = sizeof stats};
    for (size_t i = 0; rows != NULL && i < needed; i++)
        memcpy(b->rows + i * dim, rows + i % count * dim, dim * sizeof *rows);
    if (rows == NULL)
        random_pictures(needed, dim, b->rows);
    if (create(b) || time_writes(b, t) || (b->w->queries > 0 && time_reads(b, t)))
        return -1;
    if (b->w->with_paper && time_paper(b, t))
        return -1;
    if (bpcn_memory_get_stats(b->memory, &stats))
        return -1;
    t->bytes = stats.bytes;
    return 0;
}

const char *workload_run(const struct workload *w, const float *rows, size_t count, struct timings *t)
{
    size_t queries = w->queries > 0 ? w->queries : 1;
    struct bench b = {.w = w};
    *t = (struct timings){0};
    b.rows = calloc((w->writes + 1) * w->dim, sizeof *b.rows);
    b.query = calloc(queries * w->dim, sizeof *b.query);
    b.answer = calloc(queries * w->dim, sizeof *b.answer);
    b.known = calloc(queries * w->dim, 1);
    b.info = calloc(queries, sizeof *b.info);
    const char *wrong = "out of memory";
    if (b.rows && b.query && b.answer && b.known && b.info)
        wrong = run(&b, rows, count, t) == 0 ? NULL : bpcn_error();
    bpcn_memory_free(b.memory);
    free(b.rows);
    free(b.query);
    free(b.answer);
    free(b.known);
    free(b.info);
    return wrong;
}
