/*
 * The scale of the data: what varies by about 1 stays as it is, everything else works unprepared, and a wrong number is
 * refused before it spoils what was written.
 */
#include "support.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { ROWS = 48 };
static const size_t hidden[] = {64, 64};

static bpcn_options options(bpcn_scale scale)
{
    bpcn_options o = network(PICTURE, 2, hidden);
    o.scale = scale;
    o.far = 0;
    return o;
}

/* Pictures of -1 .. 1 as unit x + centre. */
static float *pictures_in(size_t n, double unit, double centre)
{
    struct dice dice = {77};
    float *x = room(n * PICTURE, sizeof *x);
    pictures(&dice, n, x);
    for (size_t i = 0; i < n * PICTURE; i++)
        x[i] = (float)((double)x[i] * unit + centre);
    return x;
}

/* How many of n rows come back from their left halves, to within 1 % of the unit squared, as "known". */
static size_t recalled(const bpcn_memory *m, const float *x, size_t n, double unit)
{
    unsigned char *known = room(n * PICTURE, 1);
    float *out = room(n * PICTURE, sizeof *out);
    bpcn_read_info *info = room(n, sizeof *info);
    size_t count = 0;
    left_half(n, known);
    assert_ok(bpcn_memory_read(m, x, known, n, NULL, out, info));
    for (size_t i = 0; i < n; i++) {
        count += mean_square_error(PICTURE, x + i * PICTURE, out + i * PICTURE) < 0.01 * unit * unit &&
                 info[i].verdict == BPCN_KNOWN;
        for (size_t j = 0; j < PICTURE; j++)
            if (known[i * PICTURE + j])
                assert_true(out[i * PICTURE + j] == x[i * PICTURE + j]);
    }
    free(known);
    free(out);
    free(info);
    return count;
}

static void data_that_vary_by_about_one_are_left_bit_for_bit(void **state)
{
    (void)state;
    for (int precision = BPCN_FLOAT32; precision <= BPCN_FLOAT64; precision++)
        for (size_t each = 1; each <= ROWS; each *= ROWS) { /* one by one, and all at once */
            float *x = pictures_in(ROWS, 1, 0);
            bpcn_options plain = options(BPCN_SCALE_AS_GIVEN), o = options(BPCN_SCALE_AUTO);
            plain.precision = o.precision = (bpcn_precision)precision;
            bpcn_memory *a = make_memory(plain), *b = make_memory(o);
            for (size_t i = 0; i < ROWS; i += each) {
                assert_ok(bpcn_memory_write(a, x + i * PICTURE, NULL, each, NULL));
                assert_ok(bpcn_memory_write(b, x + i * PICTURE, NULL, each, NULL));
            }
            struct snapshot *same = snapshot_take(a);
            assert_true(snapshot_same(same, b));
            snapshot_free(same);
            bpcn_memory_free(a);
            bpcn_memory_free(b);
            free(x);
        }
}

static void pixels_of_any_range_work_unprepared(void **state)
{
    (void)state;
    static const double units[] = {1, 127.5, 8, 0.5, 32767.5, 1e-4}, centres[] = {0, 127.5, 8, 0.5, 32767.5, 5};
    for (int precision = BPCN_FLOAT32; precision <= BPCN_FLOAT64; precision++)
        for (size_t u = 0; u < sizeof units / sizeof *units; u++) {
            float *x = pictures_in(2 * ROWS, units[u], centres[u]);
            bpcn_options o = options(BPCN_SCALE_AUTO);
            o.precision = (bpcn_precision)precision;
            bpcn_memory *m = make_memory(o);
            assert_ok(bpcn_memory_write(m, x, NULL, ROWS, NULL));
            size_t known = recalled(m, x, ROWS, units[u]),
                   unseen = recalled(m, x + ROWS * PICTURE, ROWS, units[u]);
            print_message("unit %g, float%d: %zu of %d recalled and known, %zu unseen\n", units[u],
                          precision == BPCN_FLOAT64 ? 64 : 32, known, ROWS, unseen);
            assert_int_equal(known, ROWS);
            assert_int_equal(unseen, 0);
            bpcn_memory_free(m);
            free(x);
        }
}

/* A pixel of 1e6 in a picture that is written first, last or among the others, and 1e3 as often. */
static void one_wrong_number_is_refused_and_the_others_stay_recalled(void **state)
{
    (void)state;
    static const float wrong[] = {1e3f, 1e6f, -1e9f};
    for (size_t w = 0; w < 3; w++)
        for (size_t at = 0; at < ROWS; at += ROWS / 2) {
            float *x = pictures_in(ROWS, 1, 0);
            bpcn_memory *m = make_memory(options(BPCN_SCALE_AUTO));
            float right = x[at * PICTURE + 7];
            x[at * PICTURE + 7] = wrong[w];
            char place[40];
            snprintf(place, sizeof place, "row %zu, entry 7", at);
            struct snapshot *before = snapshot_take(m);
            assert_status(bpcn_memory_write(m, x, NULL, ROWS, NULL), BPCN_INVALID);
            assert_string_equal(bpcn_error_place(), place);
            assert_non_null(strstr(bpcn_error(), place));
            assert_true(snapshot_same(before, m));
            snapshot_free(before);
            x[at * PICTURE + 7] = right;
            assert_ok(bpcn_memory_write(m, x, NULL, ROWS, NULL));
            before = snapshot_take(m);
            x[at * PICTURE + 7] = wrong[w];
            assert_status(bpcn_memory_write(m, x + at * PICTURE, NULL, 1, NULL), BPCN_INVALID);
            assert_string_equal(bpcn_error_place(), "row 0, entry 7");
            assert_true(snapshot_same(before, m));
            x[at * PICTURE + 7] = right;
            assert_int_equal(recalled(m, x, ROWS, 1), ROWS);
            snapshot_free(before);
            bpcn_memory_free(m);
            free(x);
        }
}

/* What is within the limit, or clipped to it, may be wrong too: it must not spoil the others. */
static void the_largest_number_that_is_written_spoils_no_other_row(void **state)
{
    (void)state;
    static const float largest[] = {99, 1e6f};
    for (size_t w = 0; w < 2; w++) {
        float *x = pictures_in(ROWS, 1, 0);
        bpcn_options o = options(BPCN_SCALE_AUTO);
        o.clip = 1;
        bpcn_memory *m = make_memory(o);
        assert_ok(bpcn_memory_write(m, x, NULL, ROWS - 1, NULL));
        x[(ROWS - 1) * PICTURE + 7] = largest[w];
        assert_ok(bpcn_memory_write(m, x + (ROWS - 1) * PICTURE, NULL, 1, NULL));
        size_t count = recalled(m, x, ROWS - 1, 1);
        print_message("an entry of %g, clipped at 100 scales: %zu of %d others recalled\n", (double)largest[w], count,
                      ROWS - 1);
        assert_int_equal(count, ROWS - 1);
        bpcn_memory_free(m);
        free(x);
    }
}

/* Rows one by one give the memory that the same rows at once give: the first are written again when the scale changes. */
static void rows_one_by_one_are_written_as_if_the_scale_had_been_known(void **state)
{
    (void)state;
    float *x = pictures_in(20, 127.5, 127.5);
    bpcn_memory *one = make_memory(options(BPCN_SCALE_AUTO)), *all = make_memory(options(BPCN_SCALE_AUTO));
    double centre, scale, other_centre, other_scale;
    size_t pairs;
    int settled;
    for (size_t i = 0; i < 20; i++) {
        assert_ok(bpcn_memory_write(one, x + i * PICTURE, NULL, 1, NULL));
        assert_ok(bpcn_memory_get_scale(one, &centre, &scale, 1, &pairs, &settled));
        assert_int_equal(settled, i + 1 >= 16);
        assert_int_equal(recalled(one, x, i + 1, 127.5), i + 1);
    }
    assert_ok(bpcn_memory_write(all, x, NULL, 16, NULL));
    assert_ok(bpcn_memory_write(all, x + 16 * PICTURE, NULL, 4, NULL));
    assert_ok(bpcn_memory_get_scale(all, &other_centre, &other_scale, 1, &pairs, NULL));
    assert_int_equal(pairs, 1);
    assert_true(centre == other_centre && scale == other_scale);
    struct snapshot *same = snapshot_take(all);
    assert_true(snapshot_same(same, one));
    snapshot_free(same);
    bpcn_memory_free(one);
    bpcn_memory_free(all);
    free(x);
}

/* The same in a file that is closed and opened between all rows, and once left without closing. */
static void a_file_keeps_the_scale_and_the_first_rows(void **state)
{
    (void)state;
    char path[] = "/tmp/bpcn_scale_XXXXXX";
    int fd = mkstemp(path);
    assert_true(fd >= 0);
    close(fd);
    unlink(path);
    float *x = pictures_in(20, 127.5, 127.5);
    bpcn_options o = options(BPCN_SCALE_AUTO);
    o.names = 32;
    bpcn_memory *plain = make_memory(o), *m;
    bpcn_open_options open;
    bpcn_open_options_default(&open, sizeof open);
    open.create = &o;
    for (size_t i = 0; i < 20; i++) {
        char name[16];
        const char *names[] = {name};
        bpcn_write_info info;
        bpcn_write_info_default(&info, sizeof info);
        info.names = names;
        snprintf(name, sizeof name, "row %zu", i);
        assert_ok(bpcn_memory_write(plain, x + i * PICTURE, NULL, 1, &info));
        assert_ok(bpcn_memory_open(path, &open, &m));
        assert_ok(bpcn_memory_write(m, x + i * PICTURE, NULL, 1, &info));
        bpcn_memory *seen; /* as a crash would leave it */
        assert_ok(bpcn_memory_load(path, &seen));
        assert_int_equal(recalled(seen, x, i + 1, 127.5), i + 1);
        bpcn_name kept;
        size_t count;
        assert_ok(bpcn_memory_get_names(seen, &kept, 1, &count));
        assert_int_equal(count, i + 1);
        assert_string_equal(kept.name, "row 0");
        bpcn_memory_free(seen);
        assert_ok(bpcn_memory_close(m));
    }
    double a[2], b[2];
    size_t pairs;
    int settled;
    assert_ok(bpcn_memory_open(path, &open, &m));
    assert_ok(bpcn_file_check(path, NULL, NULL));
    assert_ok(bpcn_memory_get_scale(m, a, a + 1, 1, &pairs, &settled));
    assert_ok(bpcn_memory_get_scale(plain, b, b + 1, 1, &pairs, NULL));
    assert_true(settled && pairs == 1 && a[0] == b[0] && a[1] == b[1]);
    assert_ok(bpcn_memory_close(m));
    bpcn_memory_free(plain);
    unlink(path);
    free(x);
}

/* Columns of very different units, each of which is a function of two hidden numbers. */
static void columns_of_different_units_have_a_scale_each(void **state)
{
    (void)state;
    enum { DIM = 6, N = 300, LEARNT = 200 };
    static const double unit[DIM] = {1, 1e4, 1e-3, 12, 300, 1e6}, centre[DIM] = {0, 5e4, 2, 40, -100, 1e6};
    struct dice dice = {5};
    float *x = room(N * DIM, sizeof *x), *out = room(N * DIM, sizeof *out), *spread = room(N * DIM, sizeof *spread);
    unsigned char *known = room(N * DIM, 1);
    for (size_t i = 0; i < N; i++) {
        double a = dice_normal(&dice), b = dice_normal(&dice);
        for (size_t j = 0; j < DIM; j++) {
            double t = (double)j;
            x[i * DIM + j] = (float)(centre[j] + unit[j] * (a * cos(t) + b * sin(t) + 0.05 * dice_normal(&dice)));
            known[i * DIM + j] = j % 2 == 0;
        }
    }
    bpcn_options o = network(DIM, 2, hidden);
    o.scale = BPCN_SCALE_AUTO_EACH;
    o.sigma_x = 0.1;
    bpcn_memory *m = make_memory(o);
    assert_ok(bpcn_memory_write(m, x, NULL, LEARNT, NULL));
    bpcn_read_options how;
    bpcn_read_options_default(&how, sizeof how);
    how.objective = BPCN_OBJECTIVE_MARGINAL;
    how.noise = 0;
    how.spread = spread;
    assert_ok(bpcn_memory_read(m, x + LEARNT * DIM, known + LEARNT * DIM, N - LEARNT, &how, out, NULL));
    for (size_t j = 1; j < DIM; j += 2) {
        double error = 0, wide = 0;
        for (size_t i = 0; i < N - LEARNT; i++) {
            error += pow((double)(out[i * DIM + j] - x[(LEARNT + i) * DIM + j]) / unit[j], 2) / (N - LEARNT);
            wide += (double)spread[i * DIM + j] / unit[j] / (N - LEARNT);
        }
        print_message("column %zu: error %.3f of its deviation, spread %.3f\n", j, sqrt(error), wide);
        assert_true(sqrt(error) < 0.3 && wide > 0.02 && wide < 1);
    }
    float sample[200 * DIM];
    assert_ok(bpcn_memory_sample(m, 200, 1, sample));
    for (size_t j = 0; j < DIM; j++) {
        double mean = 0;
        for (size_t i = 0; i < 200; i++)
            mean += (double)sample[i * DIM + j] / 200;
        assert_true(fabs(mean - centre[j]) < 3 * unit[j]); /* a sample of the prior's codes is not the data's mean */
    }
    bpcn_memory_free(m);
    free(x);
    free(out);
    free(spread);
    free(known);
}

static void a_scale_can_be_set_before_the_first_write_alone(void **state)
{
    (void)state;
    double centre = 10, scale = 5, bad = 0;
    size_t pairs;
    int settled;
    float *x = pictures_in(1, 5, 10);
    bpcn_memory *m = make_memory(options(BPCN_SCALE_AUTO));
    assert_status(bpcn_memory_set_scale(m, &centre, &bad, 1), BPCN_INVALID);
    assert_status(bpcn_memory_set_scale(m, &centre, &scale, PICTURE), BPCN_INVALID);
    assert_ok(bpcn_memory_set_scale(m, &centre, &scale, 1));
    centre = scale = 0;
    assert_ok(bpcn_memory_write(m, x, NULL, 1, NULL));
    assert_ok(bpcn_memory_get_scale(m, &centre, &scale, 1, &pairs, &settled));
    assert_true(centre == 10 && scale == 5 && pairs == 1 && settled);
    assert_status(bpcn_memory_set_scale(m, &centre, &scale, 1), BPCN_INVALID);
    bpcn_memory_free(m);
    m = make_memory(options(BPCN_SCALE_AS_GIVEN));
    assert_status(bpcn_memory_set_scale(m, &centre, &scale, 1), BPCN_INVALID);
    bpcn_memory_free(m);
    free(x);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(data_that_vary_by_about_one_are_left_bit_for_bit),
        cmocka_unit_test(pixels_of_any_range_work_unprepared),
        cmocka_unit_test(one_wrong_number_is_refused_and_the_others_stay_recalled),
        cmocka_unit_test(the_largest_number_that_is_written_spoils_no_other_row),
        cmocka_unit_test(rows_one_by_one_are_written_as_if_the_scale_had_been_known),
        cmocka_unit_test(a_file_keeps_the_scale_and_the_first_rows),
        cmocka_unit_test(columns_of_different_units_have_a_scale_each),
        cmocka_unit_test(a_scale_can_be_set_before_the_first_write_alone),
    };
    return cmocka_run_group_tests_name("scale", tests, NULL, NULL);
}
