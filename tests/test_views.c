/* Views: every row once in each, by the sides of planes; answers and their spread are what the shards say together. */
#include "support.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { DIM = 6, WIDTH = 8, VIEWS = 3, CELLS = 4, SHARDS = VIEWS * CELLS, ROWS = 60, QUERIES = 5 };

static bpcn_options table_options(void)
{
    bpcn_options o = network(DIM, 2, (size_t[]){WIDTH, WIDTH});
    o.sigma_x = 0.1;
    o.seed = 5;
    o.threads = 1;
    o.views = VIEWS;
    o.shards = SHARDS;
    return o;
}

static bpcn_read_options filling(float *spread)
{
    bpcn_read_options o;
    bpcn_read_options_default(&o, sizeof o);
    o.objective = BPCN_OBJECTIVE_MARGINAL;
    o.noise = 0;
    o.spread = spread;
    return o;
}

/* Rows around a few centres: entries depend on each other. */
static void clusters(struct dice *dice, size_t n, float *x)
{
    for (size_t i = 0; i < n; i++)
        for (size_t j = 0, c = (size_t)(dice_uniform(dice) * 5); j < DIM; j++)
            x[i * DIM + j] = (float)(1.3 * sin((double)(3 * c + 1) * (double)(j + 1)) + 0.2 * dice_normal(dice));
}

/* where [rows x VIEWS]: the shards that each row was written to, by what the counts say. */
static bpcn_memory *written(bpcn_options o, size_t n, const float *x, const unsigned char *known, size_t *where)
{
    bpcn_memory *m = make_memory(o);
    uint64_t before[SHARDS] = {0}, after[SHARDS];
    size_t shards;
    for (size_t i = 0; i < n; i++) {
        assert_ok(bpcn_memory_write(m, x + i * DIM, known ? known + i * DIM : NULL, 1, NULL));
        assert_ok(bpcn_memory_get_shards(m, after, SHARDS, &shards));
        assert_int_equal(shards, SHARDS);
        for (size_t k = 0, at = 0; k < SHARDS; k++)
            if (after[k] != before[k]) {
                assert_int_equal(after[k], before[k] + 1);
                assert_int_equal(k / CELLS, at);
                where[i * VIEWS + at++] = k;
            }
        memcpy(before, after, sizeof before);
    }
    return m;
}

static void every_row_is_written_once_in_every_view_and_alike_rows_alike(void **state)
{
    (void)state;
    struct dice dice = {1};
    float x[ROWS * DIM];
    size_t where[ROWS * VIEWS], used = 0;
    uint64_t rows[SHARDS];
    bpcn_stats stats = {.size = sizeof stats};
    clusters(&dice, ROWS / 2, x);
    memcpy(x + ROWS / 2 * DIM, x, sizeof x / 2);
    bpcn_memory *m = written(table_options(), ROWS, x, NULL, where);
    assert_memory_equal(where, where + ROWS / 2 * VIEWS, sizeof where / 2);
    assert_ok(bpcn_memory_get_stats(m, &stats));
    assert_int_equal(stats.writes, ROWS);
    assert_ok(bpcn_memory_get_shards(m, rows, SHARDS, &stats.shards));
    for (size_t v = 0; v < VIEWS; v++) {
        uint64_t sum = 0;
        for (size_t c = 0; c < CELLS; c++) {
            sum += rows[v * CELLS + c];
            used += rows[v * CELLS + c] > 0;
        }
        assert_int_equal(sum, ROWS);
    }
    assert_true(used > VIEWS + 1); /* the planes cut */
    bpcn_memory_free(m);
}

static void what_is_not_known_of_a_row_does_not_say_where_it_goes(void **state)
{
    (void)state;
    struct dice dice = {2};
    float x[2 * DIM];
    unsigned char known[2 * DIM];
    size_t where[2 * VIEWS];
    clusters(&dice, 1, x);
    memcpy(x + DIM, x, DIM * sizeof *x);
    memset(known, 1, sizeof known);
    known[1] = known[DIM + 1] = known[4] = known[DIM + 4] = 0;
    x[DIM + 1] = 7;
    x[DIM + 4] = NAN;
    bpcn_memory_free(written(table_options(), 2, x, known, where));
    assert_memory_equal(where, where + VIEWS, VIEWS * sizeof *where);
}

/* Every shard again as a memory of its own, with the prior of its number. */
static void alone(const float *x, const size_t *where, bpcn_memory **shard)
{
    for (size_t k = 0; k < SHARDS; k++) {
        bpcn_options o = table_options();
        o.views = 0;
        o.shards = 1;
        o.first_shard = k;
        shard[k] = make_memory(o);
        for (size_t i = 0; i < ROWS; i++)
            if (where[i * VIEWS + k / CELLS] == k)
                assert_ok(bpcn_memory_write(shard[k], x + i * DIM, NULL, 1, NULL));
    }
}

/* The law of total expectation and variance, from answers of all shards alone. */
static void expect(bpcn_memory **shard, const float *query, const unsigned char *known, double *mean, double *deviation,
                   double *density)
{
    double square[DIM] = {0}, log_part[SHARDS];
    bpcn_read_info info[SHARDS];
    float out[SHARDS][DIM];
    bpcn_read_options how = filling(NULL);
    memset(mean, 0, DIM * sizeof *mean);
    *density = 0;
    for (size_t k = 0; k < SHARDS; k++) {
        bpcn_stats stats = {.size = sizeof stats};
        assert_ok(bpcn_memory_read(shard[k], query, known, 1, &how, out[k], &info[k]));
        assert_ok(bpcn_memory_get_stats(shard[k], &stats));
        log_part[k] = log(((double)stats.writes + 1) / (ROWS + CELLS)) + info[k].log_density;
    }
    for (size_t v = 0; v < VIEWS; v++) {
        double top = -INFINITY, total = 0;
        for (size_t k = v * CELLS; k < (v + 1) * CELLS; k++)
            top = fmax(top, log_part[k]);
        for (size_t k = v * CELLS; k < (v + 1) * CELLS; k++)
            total += exp(log_part[k] - top);
        *density += (top + log(total)) / VIEWS;
        for (size_t k = v * CELLS; k < (v + 1) * CELLS; k++)
            for (size_t j = 0; j < DIM; j++) {
                double weight = exp(log_part[k] - top) / total / VIEWS;
                mean[j] += weight * (double)out[k][j];
                square[j] += weight * ((double)out[k][j] * (double)out[k][j] + info[k].variance);
            }
    }
    for (size_t j = 0; j < DIM; j++)
        deviation[j] = known[j] ? 0 : sqrt(square[j] - mean[j] * mean[j]);
}

static void answers_are_the_average_of_what_the_shards_say_alone(void **state)
{
    (void)state;
    struct dice dice = {3};
    float x[(ROWS + QUERIES) * DIM], out[QUERIES * DIM], spread[QUERIES * DIM];
    const float *query = x + ROWS * DIM;
    unsigned char known[QUERIES * DIM];
    size_t where[ROWS * VIEWS];
    bpcn_memory *shard[SHARDS];
    bpcn_read_info info[QUERIES];
    clusters(&dice, ROWS + QUERIES, x);
    for (size_t j = 0; j < QUERIES * DIM; j++)
        known[j] = (j * 7 + j / DIM) % 3 != 0;
    bpcn_memory *m = written(table_options(), ROWS, x, NULL, where);
    bpcn_read_options how = filling(spread);
    how.shards = CELLS; /* all */
    assert_ok(bpcn_memory_read(m, query, known, QUERIES, &how, out, info));
    alone(x, where, shard);
    for (size_t i = 0; i < QUERIES; i++) {
        double mean[DIM], deviation[DIM], density;
        expect(shard, query + i * DIM, known + i * DIM, mean, deviation, &density);
        assert_near(info[i].log_density, density, 1e-3); /* as far as rows of a batch may differ in a search */
        for (size_t j = 0; j < DIM; j++) {
            assert_near((double)out[i * DIM + j], mean[j], 2e-3);
            assert_near((double)spread[i * DIM + j], deviation[j], 2e-3);
            if (known[i * DIM + j])
                assert_true(out[i * DIM + j] == query[i * DIM + j]);
        }
    }
    for (size_t k = 0; k < SHARDS; k++)
        bpcn_memory_free(shard[k]);
    bpcn_memory_free(m);
}

/* Mean square error of hidden entries; *covered: the share within two deviations. */
static double fill_error(bpcn_memory *m, size_t n, const float *x, const unsigned char *known, double *covered)
{
    float *out = room(n * DIM, sizeof *out), *spread = room(n * DIM, sizeof *spread);
    double sum = 0, count = 0, within = 0;
    bpcn_read_options how = filling(spread);
    assert_ok(bpcn_memory_read(m, x, known, n, &how, out, NULL));
    for (size_t j = 0; j < n * DIM; j++)
        if (!known[j]) {
            double error = (double)out[j] - (double)x[j];
            sum += error * error;
            within += fabs(error) <= 2 * (double)spread[j];
            count++;
        }
    free(out);
    free(spread);
    *covered = within / count;
    return sum / count;
}

static void unseen_rows_of_clusters_are_filled_better_than_by_one_network_and_the_spread_covers_it(void **state)
{
    (void)state;
    enum { LEARNT = 400, UNSEEN = 200 };
    struct dice dice = {4};
    float *x = room((LEARNT + UNSEEN) * DIM, sizeof *x), *unseen = x + LEARNT * DIM;
    unsigned char *known = room(UNSEEN * DIM, 1);
    bpcn_options o = table_options(), one = o;
    double covered, alone_covered;
    one.views = 0;
    one.shards = 1;
    clusters(&dice, LEARNT + UNSEEN, x);
    for (size_t j = 0; j < UNSEEN * DIM; j++)
        known[j] = dice_uniform(&dice) >= 0.3;
    bpcn_memory *m = make_memory(o), *single = make_memory(one);
    assert_ok(bpcn_memory_write(m, x, NULL, LEARNT, NULL));
    assert_ok(bpcn_memory_write(single, x, NULL, LEARNT, NULL));
    double mine = fill_error(m, UNSEEN, unseen, known, &covered);
    double its = fill_error(single, UNSEEN, unseen, known, &alone_covered);
    assert_true(mine < 0.7 * its); /* 0.3 measured */
    assert_true(covered > 0.85 && covered > alone_covered);
    bpcn_memory_free(m);
    bpcn_memory_free(single);
    free(known);
    free(x);
}

static void the_surprise_that_is_kept_is_the_score_before_the_write(void **state)
{
    (void)state;
    struct dice dice = {8};
    float x[ROWS * DIM];
    unsigned char known[DIM] = {1, 1, 0, 1, 0, 1};
    double off = 0, high = -INFINITY, low = INFINITY;
    clusters(&dice, ROWS, x);
    bpcn_memory *m = make_memory(table_options());
    for (size_t i = 0; i < ROWS; i++) {
        double score;
        const unsigned char *mask = i % 5 == 4 ? known : NULL;
        assert_ok(bpcn_memory_score(m, x + i * DIM, mask, 1, &score));
        assert_ok(bpcn_memory_write(m, x + i * DIM, mask, 1, NULL));
        assert_int_equal(m->contents.surprises.count, i + 1);
        off += fabs(m->contents.surprises.row[i].surprise + score) / ROWS;
        high = fmax(high, score);
        low = fmin(low, score);
    }
    assert_true(off < 0.05 && high - low > 10); /* 0.002 nats measured: one search may end in another minimum */
    bpcn_memory_free(m);
}

static void a_row_is_taken_back_from_every_view(void **state)
{
    (void)state;
    struct dice dice = {5};
    float x[ROWS * DIM];
    double with, without;
    bpcn_stats stats = {.size = sizeof stats};
    bpcn_options o = table_options();
    clusters(&dice, ROWS, x);
    bpcn_memory *m = make_memory(o), *fewer = make_memory(o);
    assert_ok(bpcn_memory_write(fewer, x, NULL, 20, NULL));
    assert_ok(bpcn_memory_write(m, x, NULL, 21, NULL));
    assert_ok(bpcn_memory_score(fewer, x + 20 * DIM, NULL, 1, &without));
    assert_ok(bpcn_memory_delete(m, x + 20 * DIM));
    assert_ok(bpcn_memory_score(m, x + 20 * DIM, NULL, 1, &with));
    assert_near(with, without, 0.05 * fabs(without) + 0.5); /* its share of rows stays counted */
    assert_ok(bpcn_memory_get_stats(m, &stats));
    assert_int_equal(stats.deletes, 1);
    float never[DIM] = {9, -9, 9, -9, 9, -9};
    struct snapshot *before = snapshot_take(m);
    assert_status(bpcn_memory_delete(m, never), BPCN_REFUSED);
    assert_true(snapshot_same(before, m));
    snapshot_free(before);
    bpcn_memory_free(m);
    bpcn_memory_free(fewer);
}

/* A name of our own, with no file of that name. */
static void scratch(char *path)
{
    int file = mkstemp(path);
    assert_true(file >= 0);
    close(file);
    unlink(path);
}

static void a_file_gives_back_what_it_was_given(void **state)
{
    (void)state;
    struct dice dice = {6};
    float x[ROWS * DIM], out[2][ROWS * DIM];
    unsigned char known[ROWS * DIM];
    char path[] = "/tmp/bpcn-views-XXXXXX";
    scratch(path);
    bpcn_options o = table_options();
    bpcn_open_options open;
    bpcn_open_options_default(&open, sizeof open);
    open.create = &o;
    bpcn_memory *m;
    clusters(&dice, ROWS, x);
    for (size_t j = 0; j < ROWS * DIM; j++)
        known[j] = j % 4 != 1;
    bpcn_read_options how = filling(NULL);
    for (int checkpoint = 0; checkpoint < 2; checkpoint++) {
        assert_ok(bpcn_memory_open(path, &open, &m));
        assert_ok(bpcn_memory_write(m, x, checkpoint ? known : NULL, ROWS / 2, NULL));
        if (checkpoint)
            assert_ok(bpcn_memory_checkpoint(m));
        else
            assert_ok(bpcn_memory_delete(m, x + 3 * DIM));
        assert_ok(bpcn_memory_read(m, x, known, ROWS, &how, out[0], NULL));
        assert_ok(bpcn_memory_close(m));
        assert_ok(bpcn_file_check(path, NULL, NULL));
        assert_ok(bpcn_memory_open(path, &open, &m));
        assert_ok(bpcn_memory_read(m, x, known, ROWS, &how, out[1], NULL));
        assert_memory_equal(out[0], out[1], sizeof out[0]);
        assert_ok(bpcn_memory_close(m));
    }
    unlink(path);
}

static void options_that_cannot_be_are_refused(void **state)
{
    (void)state;
    bpcn_memory *m;
    for (int wrong = 0; wrong < 6; wrong++) {
        bpcn_options o = table_options();
        const char *word[] = {"views is 65", "shards is 13", "shards is 9", "shards is 3", "blurs", "part of another"};
        o.views = wrong == 0 ? 65 : VIEWS;
        o.shards = wrong == 0 ? 130 : wrong == 1 ? 13 : wrong == 2 ? 9 : wrong == 3 ? 3 : SHARDS;
        o.when_full = wrong == 4 ? BPCN_RECYCLE : BPCN_BLUR;
        o.first_shard = wrong == 5;
        assert_status(bpcn_memory_create(&o, &m), BPCN_INVALID);
        assert_non_null(strstr(bpcn_error(), word[wrong]));
    }
}

static void threads_do_not_change_an_answer(void **state)
{
    (void)state;
    struct dice dice = {7};
    float x[ROWS * DIM], out[2][ROWS * DIM];
    unsigned char known[ROWS * DIM];
    char path[] = "/tmp/bpcn-views-XXXXXX";
    scratch(path);
    clusters(&dice, ROWS, x);
    for (size_t j = 0; j < ROWS * DIM; j++)
        known[j] = j % 5 != 2;
    bpcn_memory *m = make_memory(table_options());
    assert_ok(bpcn_memory_write(m, x, NULL, ROWS, NULL));
    assert_ok(bpcn_memory_save(m, path));
    bpcn_memory_free(m);
    bpcn_open_options open;
    bpcn_open_options_default(&open, sizeof open);
    open.read_only = 1;
    bpcn_read_options how = filling(NULL);
    for (int threads = 1; threads <= 4; threads += 3) {
        open.threads = threads;
        assert_ok(bpcn_memory_open(path, &open, &m));
        assert_ok(bpcn_memory_read(m, x, known, ROWS, &how, out[threads > 1], NULL));
        bpcn_memory_free(m);
    }
    assert_memory_equal(out[0], out[1], sizeof out[0]);
    unlink(path);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_row_is_written_once_in_every_view_and_alike_rows_alike),
        cmocka_unit_test(what_is_not_known_of_a_row_does_not_say_where_it_goes),
        cmocka_unit_test(answers_are_the_average_of_what_the_shards_say_alone),
        cmocka_unit_test(unseen_rows_of_clusters_are_filled_better_than_by_one_network_and_the_spread_covers_it),
        cmocka_unit_test(the_surprise_that_is_kept_is_the_score_before_the_write),
        cmocka_unit_test(a_row_is_taken_back_from_every_view),
        cmocka_unit_test(a_file_gives_back_what_it_was_given),
        cmocka_unit_test(options_that_cannot_be_are_refused),
        cmocka_unit_test(threads_do_not_change_an_answer),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
