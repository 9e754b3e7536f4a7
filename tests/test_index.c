/* The bitmap index, against plain loops over the levels of all rows. */
#include "support.h"

#include "index.h"
#include "kernels.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { DIM = 90, ROWS = 1100, SHARD = 64 };

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

/* The level of each value by its definition: thresholds from the first 64 rows. */
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
            levels[i][j] = (unsigned char)(j == 5 ? 1 : (d > -unit) + (d > 0) + (d > unit));
        }
    }
}

static struct index *filled(void)
{
    struct index *x = index_create(DIM);
    assert_non_null(x);
    make_rows();
    make_levels();
    for (size_t i = 0; i < ROWS; i++)
        assert_int_equal(index_add(x, rows[i], NULL, (uint32_t)(i / SHARD)), BPCN_OK);
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

static void a_match_finds_exactly_the_rows_that_agree(void **unused)
{
    struct index *x = filled();
    struct index_hit hits[ROWS];
    unsigned char known[DIM];
    (void)unused;
    for (size_t q = 0; q < 60; q++) {
        size_t row = q * 17, allowed = q % 2 ? 3 : 0;
        draw_mask(known, q < 10 ? 0.03 : 0.4);
        size_t found = index_match(x, rows[row], known, (int)allowed, ROWS, hits), expected = 0, at = 0;
        for (size_t i = 0; i < ROWS; i++) {
            if (mismatches(i, row, known) > allowed)
                continue;
            expected++;
            assert_true(at < found);
            assert_int_equal(hits[at].item, i);
            assert_int_equal(hits[at++].shard, i / SHARD);
        }
        assert_int_equal(found, expected);
    }
    index_free(x);
}

static void hits_beyond_the_room_are_counted(void **unused)
{
    struct index *x = filled();
    struct index_hit hit;
    unsigned char known[DIM] = {0};
    (void)unused;
    assert_int_equal(index_match(x, rows[3], known, 0, 1, &hit), ROWS);
    index_free(x);
}

static void the_nearest_are_ranked_by_their_distance(void **unused)
{
    struct index *x = filled();
    struct index_hit hits[16];
    unsigned char known[DIM];
    size_t found;
    (void)unused;
    for (size_t q = 0; q < 40; q++) {
        size_t row = q * 23;
        float query[DIM];
        draw_mask(known, 0.7);
        for (size_t j = 0; j < DIM; j++)
            query[j] = rows[row][j] + (float)(0.2 * dice_normal(&dice));
        assert_int_equal(index_nearest(x, query, known, 16, hits, &found), BPCN_OK);
        assert_true(found >= 1);
        assert_int_equal(hits[0].item, row);
        for (size_t h = 1; h < found; h++)
            assert_true(hits[h].square >= hits[h - 1].square);
        /* a row as it was written has distance 0 to itself */
        assert_int_equal(index_nearest(x, rows[row], known, 16, hits, &found), BPCN_OK);
        assert_int_equal(hits[0].distance, 0);
    }
    index_free(x);
}

static void distances_are_sums_of_levels_apart(void **unused)
{
    struct index *x = filled();
    struct index_hit hits[ROWS];
    size_t found;
    (void)unused;
    assert_int_equal(index_nearest(x, rows[11], NULL, ROWS, hits, &found), BPCN_OK);
    for (size_t h = 0; h < found; h++) {
        uint32_t sum = 0;
        for (size_t j = 0; j < DIM; j++)
            sum += (uint32_t)abs(levels[hits[h].item][j] - levels[11][j]);
        assert_int_equal(hits[h].distance, sum);
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

static size_t matches(const struct index *x, size_t row)
{
    struct index_hit hit;
    return index_match(x, rows[row], NULL, 0, 1, &hit);
}

static void what_is_dropped_is_found_no_more(void **unused)
{
    struct index *x = filled();
    (void)unused;
    assert_int_equal(matches(x, 100), 1);
    assert_int_equal(index_drop_row(x, rows[100], 0), 0); /* another shard's */
    assert_int_equal(index_drop_row(x, rows[100], 100 / SHARD), 1);
    assert_int_equal(index_drop_row(x, rows[100], 100 / SHARD), 0);
    assert_int_equal(matches(x, 100), 0);
    assert_int_equal(matches(x, 101), 1);
    index_drop_shard(x, 2);
    assert_int_equal(matches(x, 2 * SHARD), 0);
    assert_int_equal(matches(x, 3 * SHARD), 1);
    assert_int_equal(index_items(x), ROWS - SHARD - 1); /* row 100 was one of shard 1 */
    index_free(x);
}

static void what_faded_away_leaves_the_index(void **unused)
{
    struct index *x = filled();
    (void)unused;
    index_fade(x, 0.9);
    assert_int_equal(index_items(x), ROWS); /* a tenth is left */
    assert_int_equal(index_add(x, rows[0], NULL, 99), BPCN_OK);
    index_fade(x, 0.95); /* of the first two groups 0.005 is left, of the last one's latest row 0.05 */
    assert_int_equal(index_items(x), ROWS + 1 - 1024);
    index_fade(x, 1);
    assert_int_equal(index_items(x), 0);
    index_free(x);
}

static void a_shard_with_gaps_is_remembered(void **unused)
{
    struct index *x = filled();
    unsigned char known[DIM];
    (void)unused;
    memset(known, 1, sizeof known);
    known[4] = 0;
    assert_false(index_misses(x, 70));
    assert_int_equal(index_add(x, rows[0], known, 70), BPCN_OK);
    assert_true(index_misses(x, 70));
    assert_false(index_misses(x, 69));
    index_drop_shard(x, 70);
    assert_false(index_misses(x, 70));
    index_free(x);
}

static void check_round_trip(struct index *x)
{
    size_t length = index_saved(x);
    unsigned char *bytes = malloc(length), *again = malloc(length);
    assert_true(bytes != NULL && again != NULL);
    index_save(x, bytes);
    struct index *y = index_load(DIM, bytes, length);
    assert_non_null(y);
    assert_int_equal(index_items(y), index_items(x));
    assert_int_equal(index_saved(y), length);
    index_save(y, again);
    assert_memory_equal(bytes, again, length);
    assert_null(index_load(DIM, bytes, length - 1));
    assert_null(index_load(DIM + 1, bytes, length));
    free(bytes);
    free(again);
    index_free(y);
}

static void an_index_comes_back_from_its_bytes(void **unused)
{
    struct index *x = filled();
    (void)unused;
    unsigned char known[DIM] = {0};
    assert_int_equal(index_add(x, rows[0], known, 3), BPCN_OK);
    index_drop_shard(x, 5);
    index_fade(x, 0.25);
    check_round_trip(x);
    index_free(x);
    x = index_create(DIM);
    assert_int_equal(index_add(x, rows[0], NULL, 0), BPCN_OK);
    assert_false(index_ready(x));
    check_round_trip(x);
    assert_int_equal(index_drop_row(x, rows[0], 0), 1);
    assert_int_equal(index_items(x), 0);
    check_round_trip(x);
    index_free(x);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_match_finds_exactly_the_rows_that_agree),
        cmocka_unit_test(hits_beyond_the_room_are_counted),
        cmocka_unit_test(the_nearest_are_ranked_by_their_distance),
        cmocka_unit_test(distances_are_sums_of_levels_apart),
        cmocka_unit_test(all_sets_of_kernels_give_the_same),
        cmocka_unit_test(what_is_dropped_is_found_no_more),
        cmocka_unit_test(what_faded_away_leaves_the_index),
        cmocka_unit_test(a_shard_with_gaps_is_remembered),
        cmocka_unit_test(an_index_comes_back_from_its_bytes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
