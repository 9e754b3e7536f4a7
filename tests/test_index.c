/* The bitmap index, against plain loops over the levels of all rows. */
#include "support.h"

#include "index.h"
#include "kernels.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { DIM = 90, ROWS = 1100, SHARD = 64, SHARDS = 20 };

static float rows[ROWS][DIM];
static unsigned char levels[ROWS][DIM];

static struct dice dice;

/* Rows round eight centres; entry 5 is constant. */
static void make_rows(void)
{
    float centre[8][DIM];
    dice.state = 7;
    for (size_t k = 0; k < 8; k++)
        for (size_t j = 0; j < DIM; j++)
            centre[k][j] = (float)(0.5 * dice_normal(&dice));
    for (size_t i = 0; i < ROWS; i++)
        for (size_t j = 0; j < DIM; j++)
            rows[i][j] = j == 5 ? 0.25f : centre[i % 8][j] + (float)(0.4 * dice_normal(&dice));
}

/* The level of each value by its definition: thresholds from the first 64 rows. Entry 5 has one value, a level of its own. */
static void make_levels(void)
{
    for (size_t j = 0; j < DIM; j++) {
        double mean = 0, square = 0;
        for (size_t i = 0; i < 64; i++)
            mean += (double)rows[i][j] / 64;
        for (size_t i = 0; i < 64; i++)
            square += pow((double)rows[i][j] - mean, 2) / 64;
        double unit = 0.67 * sqrt(square);
        for (size_t i = 0; i < ROWS; i++) {
            double d = (double)rows[i][j] - mean;
            levels[i][j] = (unsigned char)(j == 5 ? 0 : (d > -unit) + (d > 0) + (d > unit));
        }
    }
}

static struct index *filled(void)
{
    struct index *x = index_create(DIM, SHARDS, SHARD);
    assert_non_null(x);
    make_rows();
    make_levels();
    for (size_t i = 0; i < ROWS; i++) {
        assert_int_equal(index_reserve(x, i / SHARD, i % SHARD, 1), BPCN_OK);
        index_put(x, i / SHARD, i % SHARD, rows[i], sizeof rows[i][0], NULL);
    }
    return x;
}

static size_t mismatches(size_t i, size_t k, const unsigned char *known)
{
    size_t n = 0;
    for (size_t j = 0; j < DIM; j++)
        n += (known == NULL || known[j]) && levels[i][j] != levels[k][j];
    return n;
}

static void draw_mask(unsigned char *known, double share)
{
    for (size_t j = 0; j < DIM; j++)
        known[j] = dice_uniform(&dice) < share;
}

static size_t item_of(struct index_hit hit)
{
    return hit.shard * SHARD + hit.place;
}

/* The answer to one query; its hits are freed with the next. */
static struct index_query answer_to(const struct index *x, const float *row, const unsigned char *known, int noisy)
{
    static struct index_query q;
    free(q.hits);
    q = (struct index_query){.row = row, .known = known, .noisy = noisy};
    assert_int_equal(index_find(x, 1, &q), BPCN_OK);
    return q;
}

static void a_row_is_found_with_all_that_agree(void **unused)
{
    struct index *x = filled();
    unsigned char known[DIM];
    (void)unused;
    for (size_t i = 0; i < 60; i++) {
        size_t row = i * 17, at = 0;
        draw_mask(known, i < 20 ? 0.05 : 0.4);
        struct index_query q = answer_to(x, rows[row], known, 0);
        assert_int_equal(q.how, INDEX_EQUAL);
        for (size_t k = 0; k < ROWS; k++) {
            if (mismatches(k, row, known) > 0)
                continue;
            assert_true(at < q.found);
            assert_int_equal(item_of(q.hits[at++]), k);
        }
        assert_int_equal(q.found, at);
    }
    index_free(x);
}

/* Two entries are far from what was written: nobody agrees, and those that differ in three levels at most are found. */
static void a_row_with_a_few_wrong_entries_is_found(void **unused)
{
    struct index *x = filled();
    (void)unused;
    for (size_t i = 0; i < 40; i++) {
        size_t row = i * 23;
        float query[DIM];
        memcpy(query, rows[row], sizeof query);
        query[3 + i] += query[3 + i] > 0 ? -3.0f : 3.0f;
        query[DIM - 1] += query[DIM - 1] > 0 ? -3.0f : 3.0f;
        struct index_query q = answer_to(x, query, NULL, 0);
        assert_int_equal(q.how, INDEX_NEARLY);
        assert_int_equal(item_of(q.hits[0]), row);
    }
    index_free(x);
}

static void a_noisy_row_comes_first_and_squares_rise(void **unused)
{
    struct index *x = filled();
    unsigned char known[DIM];
    (void)unused;
    for (size_t i = 0; i < 40; i++) {
        size_t row = i * 23;
        float query[DIM];
        draw_mask(known, 0.7);
        for (size_t j = 0; j < DIM; j++)
            query[j] = rows[row][j] + (float)(0.2 * dice_normal(&dice));
        struct index_query q = answer_to(x, query, known, 1);
        assert_true(q.found >= 1);
        assert_int_equal(item_of(q.hits[0]), row);
        for (size_t h = 1; h < q.found; h++)
            assert_true(q.hits[h].square >= q.hits[h - 1].square);
    }
    index_free(x);
}

/* What a batch finds does not depend on its other queries. */
static void a_batch_finds_what_each_query_finds_alone(void **unused)
{
    enum { N = 100 };
    struct index *x = filled();
    static float query[N][DIM];
    static unsigned char known[N][DIM];
    struct index_query batch[N];
    (void)unused;
    for (size_t i = 0; i < N; i++) {
        draw_mask(known[i], i % 3 ? 0.9 : 0.2);
        for (size_t j = 0; j < DIM; j++)
            query[i][j] = rows[i * 9][j] + (i % 4 == 1 ? (float)(0.3 * dice_normal(&dice)) : 0);
        batch[i] = (struct index_query){.row = query[i], .known = known[i], .noisy = i % 2 == 1};
    }
    assert_int_equal(index_find(x, N, batch), BPCN_OK);
    for (size_t i = 0; i < N; i++) {
        struct index_query q = answer_to(x, query[i], known[i], i % 2 == 1);
        assert_int_equal(q.how, batch[i].how);
        assert_int_equal(q.found, batch[i].found);
        assert_memory_equal(q.hits, batch[i].hits, q.found * sizeof *q.hits);
        free(batch[i].hits);
    }
    index_free(x);
}

/* Pictures are black where they are: a value that many rows have is a level of its own, however close others come. */
static void a_common_value_is_told_from_all_others(void **unused)
{
    enum { N = 200 };
    struct index *x = index_create(DIM, SHARDS, SHARD);
    static float picture[N][DIM];
    (void)unused;
    dice.state = 11;
    assert_non_null(x);
    for (size_t i = 0; i < N; i++) {
        for (size_t j = 0; j < DIM; j++)
            picture[i][j] = dice_uniform(&dice) < 0.7 ? -1.0f : (float)(2 * dice_uniform(&dice) - 0.99);
        assert_int_equal(index_reserve(x, i / SHARD, i % SHARD, 1), BPCN_OK);
        index_put(x, i / SHARD, i % SHARD, picture[i], sizeof(float), NULL);
    }
    for (size_t i = 0; i < N; i++) {
        float query[DIM];
        memcpy(query, picture[i], sizeof query);
        for (size_t j = 0; j < DIM; j++)
            if (query[j] == -1.0f) {
                query[j] = -0.98f;
                break;
            }
        assert_int_equal(answer_to(x, picture[i], NULL, 0).how, INDEX_EQUAL);
        assert_int_equal(answer_to(x, query, NULL, 0).how, INDEX_NEARLY);
    }
    index_free(x);
}

static void all_sets_of_kernels_give_the_same(void **unused)
{
    enum { ENTRIES = 37, PLANES = 8, LINE = 8 };
    static _Alignas(64) uint64_t plane[2 * ENTRIES * LINE];
    uint32_t line[ENTRIES];
    unsigned char level[ENTRIES];
    size_t of[4] = {9, 11, 8, 9};
    (void)unused;
    dice.state = 3;
    for (size_t w = 0; w < 2 * ENTRIES * LINE; w++)
        for (size_t b = 0; b < 64; b++)
            plane[w] |= (uint64_t)(dice_uniform(&dice) < 0.5) << b;
    for (size_t i = 0; i < ENTRIES; i++) {
        line[i] = (uint32_t)(i * LINE);
        level[i] = (unsigned char)(i < 9 ? 0 : i < 20 ? 1 : i < 28 ? 2 : 3);
    }
    for (size_t set = 0; kernels_set(set) != NULL; set++) {
        _Alignas(64) uint64_t count[PLANES * LINE], match[LINE], near[LINE];
        memset(match, 0xff, sizeof match);
        memset(near, 0xff, sizeof near);
        kernels_set(set)->bits_distance(of, line, plane, ENTRIES * LINE, PLANES, count);
        kernels_set(set)->bits_match(3, line + 9, level + 9, plane, ENTRIES * LINE, match);
        kernels_set(set)->bits_near(7, line + 9, level + 9, plane, ENTRIES * LINE, near);
        for (size_t item = 0; item < 512; item++) {
            size_t sum = 0, counted = 0, differ = 0, differ3 = 0;
            for (size_t i = 0; i < ENTRIES; i++) {
                uint64_t high = plane[line[i] + item / 64] >> item % 64 & 1;
                uint64_t low = plane[ENTRIES * LINE + line[i] + item / 64] >> item % 64 & 1;
                int l = (int)(2 * high + low);
                sum += (size_t)abs(l - level[i]);
                differ += i >= 9 && i < 16 && l != level[i];
                differ3 += i >= 9 && i < 12 && l != level[i];
            }
            for (size_t k = 0; k < PLANES; k++)
                counted |= (size_t)(count[k * LINE + item / 64] >> item % 64 & 1) << k;
            assert_int_equal(counted, sum);
            assert_int_equal(match[item / 64] >> item % 64 & 1, differ3 == 0);
            assert_int_equal(near[item / 64] >> item % 64 & 1, differ <= 3);
        }
    }
}

static int is_found(struct index *x, size_t row)
{
    struct index_query q = answer_to(x, rows[row], NULL, 0);
    return q.found > 0 && q.how == INDEX_EQUAL && item_of(q.hits[0]) == row;
}

static void what_is_dropped_is_found_no_more(void **unused)
{
    struct index *x = filled();
    (void)unused;
    assert_true(is_found(x, 100));
    assert_int_equal(index_drop_row(x, 0, rows[100], sizeof(float)), 0); /* another shard's */
    assert_int_equal(index_drop_row(x, 100 / SHARD, rows[100], sizeof(float)), 1);
    assert_int_equal(index_drop_row(x, 100 / SHARD, rows[100], sizeof(float)), 0);
    assert_false(is_found(x, 100));
    assert_true(is_found(x, 101));
    index_drop_shard(x, 2);
    assert_false(is_found(x, 2 * SHARD));
    assert_true(is_found(x, 3 * SHARD));
    assert_int_equal(index_items(x), ROWS - SHARD - 1); /* row 100 was one of shard 1 */
    index_free(x);
}

/* Nothing of a deleted row stays in the bytes of a file. */
static void a_dropped_row_leaves_no_trace(void **unused)
{
    struct index *x = filled();
    size_t length = (size_t)index_file_bytes(index_form(x), index_count(x), DIM, SHARDS);
    unsigned char *before = malloc(length), *after = malloc(length);
    (void)unused;
    assert_true(before != NULL && after != NULL);
    assert_int_equal(index_drop_row(x, 0, rows[9], sizeof(float)), 1);
    index_encode(x, 0, length, before);
    index_put(x, 0, 9, rows[500], sizeof(float), NULL);
    assert_int_equal(index_drop_row(x, 0, rows[500], sizeof(float)), 1);
    index_encode(x, 0, length, after);
    assert_memory_equal(before, after, length);
    free(before);
    free(after);
    index_free(x);
}

static void what_has_aged_leaves_the_index(void **unused)
{
    struct index *x = filled();
    (void)unused;
    index_age(x, 0.6);
    assert_int_equal(index_items(x), ROWS);
    assert_int_equal(index_reserve(x, SHARDS - 1, 0, 1), BPCN_OK);
    index_put(x, SHARDS - 1, 0, rows[0], sizeof(float), NULL); /* in the third group */
    index_age(x, 0.5);
    assert_int_equal(index_items(x), ROWS + 1 - 1024);
    index_age(x, 0.5);
    assert_int_equal(index_items(x), 0);
    assert_false(is_found(x, 3));
    index_free(x);
}

static void a_shard_that_the_index_misses_is_remembered(void **unused)
{
    struct index *x = filled();
    unsigned char known[DIM];
    (void)unused;
    memset(known, 1, sizeof known);
    known[4] = 0;
    index_drop_shard(x, 7);
    assert_int_equal(index_missing(x), 0);
    index_put(x, 7, 0, rows[0], sizeof(float), known);
    assert_true(index_misses(x, 7));
    assert_false(index_misses(x, 6));
    assert_int_equal(index_missing(x), 1);
    index_drop_shard(x, 7);
    assert_int_equal(index_missing(x), 0);
    index_put(x, 3, SHARD + 5, rows[1], sizeof(float), NULL); /* in the place of another row */
    assert_true(index_misses(x, 3));
    assert_true(is_found(x, 1)); /* where it was first, and again */
    index_free(x);
}

static void check_round_trip(struct index *x)
{
    size_t length = (size_t)index_file_bytes(index_form(x), index_count(x), DIM, SHARDS);
    unsigned char *bytes = malloc(length), *again = malloc(length);
    struct index *y = index_create(DIM, SHARDS, SHARD);
    assert_true(bytes != NULL && again != NULL && y != NULL);
    index_encode(x, 0, 8, bytes); /* in parts */
    index_encode(x, 8, length - 8, bytes + 8);
    assert_int_equal(index_announce(y, index_form(x), index_count(x)), 0);
    index_decode(y, 0, 8, bytes);
    index_decode(y, 8, length - 8, bytes + 8);
    assert_null(index_check(y));
    assert_int_equal(index_items(y), index_items(x));
    assert_int_equal(index_missing(y), index_missing(x));
    index_encode(y, 0, length, again);
    assert_memory_equal(bytes, again, length);
    free(bytes);
    free(again);
    index_free(y);
}

static void an_index_comes_back_from_its_bytes(void **unused)
{
    struct index *x = filled();
    (void)unused;
    index_note_missing(x, 3);
    index_drop_shard(x, 5);
    index_age(x, 0.25);
    check_round_trip(x);
    index_free(x);
    x = index_create(DIM, SHARDS, SHARD);
    assert_int_equal(index_form(x), INDEX_NONE);
    assert_int_equal(index_reserve(x, 0, 0, 1), BPCN_OK);
    index_put(x, 0, 0, rows[0], sizeof(float), NULL);
    index_put(x, 0, 1, rows[1], sizeof(float), NULL);
    assert_false(index_ready(x));
    check_round_trip(x);
    assert_int_equal(index_drop_row(x, 0, rows[0], sizeof(float)), 1);
    assert_int_equal(index_items(x), 1);
    check_round_trip(x);
    index_free(x);
}

/* An age that is no number, an item of no shard, an order that is none. */
static void bytes_that_are_no_index_are_refused(void **unused)
{
    struct index *x = filled();
    size_t length = (size_t)index_file_bytes(index_form(x), index_count(x), DIM, SHARDS);
    size_t entries = 8 * (2 + 1), groups = entries + 4 * 9 * DIM, each = 8 * (1 + 8 + 2 * DIM * 8);
    const size_t places[] = {7, entries + 3, entries + 4 * 8 * DIM + 3, groups + 2 * each + 8 + 7 * 8 + 7};
    unsigned char *bytes = malloc(length);
    (void)unused;
    assert_non_null(bytes);
    for (size_t i = 0; i < sizeof places / sizeof *places; i++) {
        struct index *y = index_create(DIM, SHARDS, SHARD);
        assert_non_null(y);
        assert_int_equal(index_announce(y, INDEX_DECIDED, index_count(x)), 0);
        index_encode(x, 0, length, bytes);
        bytes[places[i]] = 0xff;
        if (i < 2)
            bytes[places[i] - 1] = 0xff;
        index_decode(y, 0, length, bytes);
        assert_non_null(index_check(y));
        index_free(y);
    }
    free(bytes);
    index_free(x);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_row_is_found_with_all_that_agree),
        cmocka_unit_test(a_row_with_a_few_wrong_entries_is_found),
        cmocka_unit_test(a_noisy_row_comes_first_and_squares_rise),
        cmocka_unit_test(a_batch_finds_what_each_query_finds_alone),
        cmocka_unit_test(a_common_value_is_told_from_all_others),
        cmocka_unit_test(all_sets_of_kernels_give_the_same),
        cmocka_unit_test(what_is_dropped_is_found_no_more),
        cmocka_unit_test(a_dropped_row_leaves_no_trace),
        cmocka_unit_test(what_has_aged_leaves_the_index),
        cmocka_unit_test(a_shard_that_the_index_misses_is_remembered),
        cmocka_unit_test(an_index_comes_back_from_its_bytes),
        cmocka_unit_test(bytes_that_are_no_index_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
