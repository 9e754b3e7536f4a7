/* Tables: settings that choose themselves by a look at the first rows, and trials of rows that are about to be written.
 */
#include "support.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { DIM = 12, CELLS = 6, ROWS = 300, MANY = 8000 };

static bpcn_options options_of(size_t dim)
{
    bpcn_options o;
    bpcn_options_default(&o, sizeof o);
    o.dim = dim;
    o.threads = 1;
    return o;
}

/* Rows along a line, and a little beside it. */
static void rows_of(uint64_t seed, size_t n, float *x)
{
    struct dice dice = {seed};
    double direction[DIM];
    dice_normals(&dice, DIM, 1, direction);
    for (size_t i = 0; i < n; i++) {
        double along = dice_normal(&dice);
        for (size_t j = 0; j < DIM; j++)
            x[i * DIM + j] = (float)(along * direction[j] + 0.1 * dice_normal(&dice));
    }
}

static bpcn_options with(size_t width, double sigma_x, size_t views, size_t shards)
{
    bpcn_options o = options_of(DIM);
    o.layers = 2;
    o.hidden[0] = o.hidden[1] = width;
    o.sigma_x = sigma_x;
    o.views = views;
    o.shards = shards;
    return o;
}

/* Mean square error of the last quarter's hidden entries after learning the rest. */
static double error_of(bpcn_options o, size_t n, const float *x)
{
    size_t from = n * 3 / 4, left = n - from, hidden = 0;
    float *out = room(left * DIM, sizeof *out);
    unsigned char *shown = room(left, DIM);
    double sum = 0;
    bpcn_read_options how;
    bpcn_read_options_default(&how, sizeof how);
    how.objective = BPCN_OBJECTIVE_MARGINAL;
    how.noise = 0;
    for (size_t i = 0; i < left; i++)
        for (size_t j = 0, row = from + i; j < DIM; j++)
            shown[i * DIM + j] = (row * 7 + j * 5 + row / 3 * (j + 1)) % 10 >= 3;
    bpcn_memory *m = make_memory(o);
    assert_ok(bpcn_memory_write(m, x, NULL, from, NULL));
    assert_ok(bpcn_memory_read(m, x + from * DIM, shown, left, &how, out, NULL));
    for (size_t j = 0; j < left * DIM; j++)
        if (!shown[j]) {
            sum += pow((double)out[j] - (double)x[from * DIM + j], 2);
            hidden++;
        }
    bpcn_memory_free(m);
    free(out);
    free(shown);
    return sum / (double)hidden;
}

static void the_setting_that_fills_hidden_entries_noticeably_better_is_chosen(void **state)
{
    (void)state;
    const size_t width[] = {16, 8, 8, 32};
    const double sigma[] = {0.1, 0.1, 0.05, 0.1};
    float x[ROWS * DIM];
    size_t usual = 0;
    for (uint64_t seed = 1; seed <= 3; seed++) {
        double error[4];
        size_t best = 0;
        rows_of(seed, ROWS, x);
        for (size_t k = 0; k < 4; k++) {
            error[k] = error_of(with(width[k], sigma[k], 4, 128), ROWS, x);
            if (error[k] < error[best] && error[k] < 0.97 * error[0])
                best = k;
        }
        bpcn_options o = options_of(DIM), want = with(width[best], sigma[best], 8, 512);
        assert_ok(bpcn_options_for_table(&o, NULL, x, NULL, ROWS));
        assert_memory_equal(&o, &want, sizeof o);
        usual += best == 0;
    }
    assert_in_range(usual, 1, 2); /* the rows do make a difference */
}

static void few_rows_get_the_usual_setting(void **state)
{
    (void)state;
    float x[199 * DIM];
    bpcn_options o = options_of(DIM), want = with(16, 0.1, 8, 512);
    rows_of(1, 199, x);
    assert_ok(bpcn_options_for_table(&o, NULL, x, NULL, 199));
    assert_memory_equal(&o, &want, sizeof o);
}

static void rows_after_the_first_hundreds_and_what_is_not_known_are_not_looked_at(void **state)
{
    (void)state;
    enum { N = BPCN_MAX_LOOK + 1 };
    float *x = room(N * DIM, sizeof *x);
    unsigned char *known = room(N, DIM);
    bpcn_options o = options_of(DIM);
    rows_of(1, N, x);
    memset(known, 1, N * DIM);
    for (size_t i = 0; i < N; i++) {
        known[i * DIM + i % DIM] = i == N - 1;
        x[i * DIM + i % DIM] = NAN;
    }
    assert_ok(bpcn_options_for_table(&o, NULL, x, known, N));
    free(x);
    free(known);
}

static void a_look_that_fails_says_why_and_changes_nothing(void **state)
{
    (void)state;
    float *x = room(ROWS * DIM, sizeof *x);
    bpcn_options o = options_of(DIM), before = o;
    rows_of(1, ROWS, x);
    assert_status(bpcn_options_for_table(NULL, NULL, x, NULL, ROWS), BPCN_INVALID);
    assert_status(bpcn_options_for_table(&o, NULL, NULL, NULL, 1), BPCN_INVALID);
    x[7 * DIM + 2] = NAN;
    assert_status(bpcn_options_for_table(&o, NULL, x, NULL, ROWS), BPCN_INVALID);
    assert_non_null(strstr(bpcn_error(), "row 7, entry 2 is NaN"));
    o.size = before.size = offsetof(bpcn_options, views);
    assert_status(bpcn_options_for_table(&o, NULL, x, NULL, 0), BPCN_INVALID);
    assert_non_null(strstr(bpcn_error(), "views"));
    assert_memory_equal(&o, &before, sizeof o);
    free(x);
}

static void one_row_in_eight_is_tried_with_three_columns_of_ten_hidden_whole(void **state)
{
    (void)state;
    const size_t column[CELLS] = {0, 1, 1, 1, 2, 3};
    const unsigned char known[CELLS] = {1, 1, 1, 1, 0, 1};
    unsigned char shown[CELLS];
    size_t tried = 0, hidden = 0;
    for (uint64_t row = 0; row < MANY; row++) {
        size_t left = bpcn_trials_hide(row, column, known, CELLS, shown);
        if (row < 16 || row % 8 != 0) {
            assert_int_equal(left, 0);
            continue;
        }
        size_t set = 0;
        for (size_t j = 0; j < CELLS; j++)
            set += shown[j];
        assert_int_equal(left, set);
        assert_false(shown[4]);
        assert_true(shown[1] == shown[2] && shown[2] == shown[3]);
        hidden += (size_t)!shown[0] + !shown[1] + !shown[5];
        tried++;
    }
    assert_int_equal(tried, MANY / 8 - 2);
    /* 3 columns of each: a share of 0.3 within 4 standard errors */
    assert_near((double)hidden / (double)(3 * tried), 0.3, 4 * sqrt(0.3 * 0.7 / (double)(3 * tried)));
}

static void the_factor_makes_the_spread_as_large_as_the_errors(void **state)
{
    (void)state;
    const float x[] = {1, 2, 3, 4}, answer[] = {1, 5, 9, 4}, spread[] = {0, 1, 7, 1};
    const unsigned char known[] = {1, 1, 0, 1}, shown[] = {1, 0, 0, 0};
    bpcn_trials t = {0};
    for (int i = 0; i < 25; i++) {
        assert_near(bpcn_trials_factor(&t), 1.4, 0);
        bpcn_trials_count(&t, x, known, 4, answer, spread, shown);
    }
    assert_int_equal(t.entries, 50); /* the second and the fourth, which are known and were hidden */
    assert_near(t.errors, 25 * 9, 0);
    assert_near(t.spreads, 25 * 2, 0);
    assert_near(t.plain, 25 * (4 + 16), 0);
    assert_near(bpcn_trials_factor(&t), sqrt(4.5), 1e-15);
}

static void what_was_tried_long_ago_counts_less(void **state)
{
    (void)state;
    const unsigned char hidden = 0;
    const float x = 0, spread = 1;
    bpcn_trials t = {0};
    for (int i = 0; i < 250000; i++)
        bpcn_trials_count(&t, &x, NULL, 1, &(float){i < 50000 ? 9.0f : 2.0f}, &spread, &hidden);
    assert_true(t.entries <= 20000);
    assert_near(bpcn_trials_factor(&t), 2, 0.01); /* half of 81 - 4 is left after every 10,000 */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_setting_that_fills_hidden_entries_noticeably_better_is_chosen),
        cmocka_unit_test(few_rows_get_the_usual_setting),
        cmocka_unit_test(rows_after_the_first_hundreds_and_what_is_not_known_are_not_looked_at),
        cmocka_unit_test(a_look_that_fails_says_why_and_changes_nothing),
        cmocka_unit_test(one_row_in_eight_is_tried_with_three_columns_of_ten_hidden_whole),
        cmocka_unit_test(the_factor_makes_the_spread_as_large_as_the_errors),
        cmocka_unit_test(what_was_tried_long_ago_counts_less),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
