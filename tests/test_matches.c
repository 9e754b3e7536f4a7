/* The k best answers: which rows they are, in which order, and that they agree with the densities of the rows. */
#include "support.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { DIM = 96, WIDTH = 32, ROWS = 600, K = 5 };

/* Smooth rows: sums of a few waves, of which row i and i + 1 of a pair share most. */
static void make_rows(size_t n, float *x)
{
    struct dice dice = {11};
    for (size_t i = 0; i < n; i++) {
        double wave[8], own[8];
        dice_normals(&dice, 8, 1, wave);
        dice_normals(&dice, 8, 1, own);
        for (size_t j = 0; j < DIM; j++) {
            double sum = 0;
            for (size_t k = 0; k < 8; k++)
                sum += wave[k] * cos((double)((k + 1) * j) / 9 + own[k]) / 2;
            x[i * DIM + j] = (float)sum;
        }
    }
}

static bpcn_memory *memory_of(size_t shards, bpcn_precision precision, size_t rows, const float *x)
{
    bpcn_options o;
    bpcn_options_default(&o, sizeof o);
    o.dim = DIM;
    o.layers = 2;
    o.hidden[0] = o.hidden[1] = shards > 1 ? WIDTH : 128;
    o.shards = shards;
    o.precision = precision;
    o.names = rows;
    o.threads = 1;
    bpcn_memory *m = make_memory(o);
    for (size_t i = 0; i < rows; i++) {
        char text[32];
        const char *name = text;
        bpcn_write_info info;
        bpcn_write_info_default(&info, sizeof info);
        info.names = &name;
        snprintf(text, sizeof text, "row %zu", i);
        assert_ok(bpcn_memory_write(m, x + i * DIM, NULL, 1, &info));
    }
    return m;
}

/* Rows by their mean square distance from the query over its known entries, nearest first. */
static void nearest_rows(size_t rows, const float *x, const float *query, const unsigned char *known, size_t k, size_t *near)
{
    double *square = room(rows, sizeof *square);
    for (size_t i = 0; i < rows; i++)
        for (size_t j = 0; j < DIM; j++)
            square[i] += known == NULL || known[j] ? pow((double)(x[i * DIM + j] - query[j]), 2) : 0;
    for (size_t c = 0; c < k; c++) {
        near[c] = 0;
        for (size_t i = 1; i < rows; i++)
            if (square[i] < square[near[c]])
                near[c] = i;
        square[near[c]] = INFINITY;
    }
    free(square);
}

struct tally {
    size_t queries, first, among, named;
};

/* Noisy or partial copies of written rows; how often the first answer is the nearest row, and how many of the K nearest
   rows are among the K answers. */
static struct tally try_queries(const bpcn_memory *m, size_t rows, const float *x, int partial)
{
    struct dice dice = {5};
    struct tally t = {0};
    float *answers = room(K * DIM, sizeof *answers), query[DIM];
    unsigned char known[DIM];
    for (size_t i = 0; i < rows; i += 23) {
        bpcn_match match[K];
        size_t found, near[K];
        for (size_t j = 0; j < DIM; j++) {
            known[j] = !partial || j < DIM / 2;
            query[j] = known[j] ? x[i * DIM + j] + (float)(partial ? 0 : 0.2 * dice_normal(&dice)) : NAN;
        }
        assert_ok(bpcn_memory_search(m, query, partial ? known : NULL, 1, K, NULL, match, answers, &found));
        nearest_rows(rows, x, query, partial ? known : NULL, K, near);
        assert_in_range(found, 1, K);
        bpcn_match single;
        size_t one;
        assert_ok(bpcn_memory_search(m, query, partial ? known : NULL, 1, 1, NULL, &single, NULL, &one));
        assert_int_equal(one, 1);
        assert_int_equal(single.shard, match[0].shard);
        assert_int_equal(single.name, match[0].name);
        t.queries++;
        t.first += mean_square_error(DIM, answers, x + near[0] * DIM) < 1e-2;
        for (size_t c = 0; c < K; c++)
            for (size_t a = 0; a < found; a++)
                t.among += mean_square_error(DIM, answers + a * DIM, x + near[c] * DIM) < 1e-2;
        for (size_t c = 0; c < found; c++) {
            double square = 0, count = 0;
            for (size_t j = 0; j < DIM; j++)
                if (known[j]) {
                    square += pow((double)(answers[c * DIM + j] - query[j]), 2);
                    count++;
                }
            assert_near(match[c].distance, sqrt(square / count), 1e-6); /* sums of 96 floats' squares, in another order */
            assert_true(c == 0 || match[c].log_density <= match[c - 1].log_density);
            assert_true(match[c].noise == match[0].noise);
        }
        if (match[0].name > 0) {
            bpcn_name name;
            char wanted[32];
            snprintf(wanted, sizeof wanted, "row %zu", near[0]);
            assert_ok(bpcn_memory_get_name(m, match[0].name, &name));
            assert_string_equal(name.name, wanted);
            t.named++;
        }
    }
    free(answers);
    return t;
}

static void the_best_answers_are_the_nearest_rows(void **state)
{
    (void)state;
    float *x = room(ROWS * DIM, sizeof *x);
    make_rows(ROWS, x);
    struct {
        size_t shards, rows;
        bpcn_precision precision;
    } cases[] = {{32, ROWS, BPCN_FLOAT32}, {4, 100, BPCN_FLOAT32}, {1, 100, BPCN_FLOAT64}, {1, 100, BPCN_FLOAT32}};
    for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
        bpcn_memory *m = memory_of(cases[c].shards, cases[c].precision, cases[c].rows, x);
        for (int partial = 0; partial < 2; partial++) {
            struct tally t = try_queries(m, cases[c].rows, x, partial);
            print_message("%zu shards, %zu rows, %s: first %zu, named %zu of %zu; among the %d best %zu of %zu\n",
                          cases[c].shards, cases[c].rows, partial ? "half known" : "noise .2", t.first, t.named, t.queries, K,
                          t.among, K * t.queries);
            assert_int_equal(t.first, t.queries); /* copies at noise .2, or exact halves, of rows that vary by about 1 */
            assert_int_equal(t.named, t.queries);
            /* The order after the first is that of densities, which weigh the codes too; measured 0.68 to 1. */
            assert_true(t.among >= K * t.queries / 2);
        }
        bpcn_memory_free(m);
    }
    free(x);
}

/* Twice the same row is one answer, a row that was deleted none, and an empty memory has none at all. */
static void alike_rows_count_once_and_deleted_ones_not(void **state)
{
    (void)state;
    float *x = room(20 * DIM, sizeof *x), *rows = room(K * DIM, sizeof *rows);
    bpcn_match match[K];
    size_t found = 9;
    make_rows(20, x);
    bpcn_memory *m = memory_of(1, BPCN_FLOAT32, 0, x);
    assert_ok(bpcn_memory_search(m, x, NULL, 1, K, NULL, match, rows, &found));
    assert_int_equal(found, 0);
    bpcn_memory_free(m);
    m = memory_of(1, BPCN_FLOAT32, 20, x);
    assert_ok(bpcn_memory_write(m, x, NULL, 1, NULL));
    assert_ok(bpcn_memory_search(m, x, NULL, 1, K, NULL, match, rows, &found));
    assert_int_equal(found, K);
    for (size_t a = 0; a < K; a++)
        assert_int_equal(mean_square_error(DIM, rows + a * DIM, x) < 1e-2, a == 0);
    assert_ok(bpcn_memory_delete(m, x + 3 * DIM));
    assert_ok(bpcn_memory_search(m, x + 3 * DIM, NULL, 1, K, NULL, match, rows, &found));
    for (size_t a = 0; a < found; a++)
        assert_true(mean_square_error(DIM, rows + a * DIM, x + 3 * DIM) > 1e-2);
    bpcn_memory_free(m);
    free(x);
    free(rows);
}

static void searches_that_cannot_be_are_refused(void **state)
{
    (void)state;
    float x[2 * DIM];
    bpcn_match match[2 * K];
    size_t found[2];
    make_rows(2, x);
    bpcn_memory *m = memory_of(1, BPCN_FLOAT32, 2, x);
    assert_status(bpcn_memory_search(NULL, x, NULL, 1, K, NULL, match, NULL, found), BPCN_INVALID);
    assert_status(bpcn_memory_search(m, NULL, NULL, 1, K, NULL, match, NULL, found), BPCN_INVALID);
    assert_status(bpcn_memory_search(m, x, NULL, 1, 0, NULL, match, NULL, found), BPCN_INVALID);
    assert_status(bpcn_memory_search(m, x, NULL, 1, BPCN_MAX_MATCHES + 1, NULL, match, NULL, found), BPCN_INVALID);
    assert_status(bpcn_memory_search(m, x, NULL, 1, K, NULL, NULL, NULL, found), BPCN_INVALID);
    assert_status(bpcn_memory_search(m, x, NULL, 1, K, NULL, match, NULL, NULL), BPCN_INVALID);
    assert_ok(bpcn_memory_search(m, NULL, NULL, 0, K, NULL, NULL, NULL, NULL));
    assert_ok(bpcn_memory_search(m, x, NULL, 2, K, NULL, match, NULL, found));
    assert_int_equal(found[0], 2);
    assert_int_equal(found[1], 2);
    x[DIM + 7] = NAN;
    assert_status(bpcn_memory_search(m, x, NULL, 2, K, NULL, match, NULL, found), BPCN_INVALID);
    assert_non_null(strstr(bpcn_error(), "row 1, entry 7"));
    bpcn_memory_free(m);
    bpcn_options o;
    bpcn_options_default(&o, sizeof o);
    o.dim = DIM;
    o.kind = BPCN_TABLE;
    m = make_memory(o);
    assert_status(bpcn_memory_search(m, x, NULL, 1, K, NULL, match, NULL, found), BPCN_INVALID);
    bpcn_memory_free(m);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(the_best_answers_are_the_nearest_rows),
                                       cmocka_unit_test(alike_rows_count_once_and_deleted_ones_not),
                                       cmocka_unit_test(searches_that_cannot_be_are_refused)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
