/*
 * Familiarity: what was written is known, what was not is not, and where the memory cannot tell it says so. On made
 * pictures; tests/cli/knowing.sh asks the same of real ones.
 */
#include "support.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { ROWS = 16, WIDTH = 32 };
static const size_t hidden[] = {WIDTH, WIDTH};

static struct gallery *full_gallery(bpcn_options o)
{
    return gallery_of(o, ROWS, 3);
}

/* 1 in every entry but a share of them, drawn anew for every row. */
static void drop_entries(size_t n, size_t dim, double share, unsigned char *known)
{
    struct dice dice = {11};
    for (size_t j = 0; j < n * dim; j++)
        known[j] = dice_uniform(&dice) >= share;
}

static void read_verdicts(const bpcn_memory *m, const float *x, const unsigned char *known, double noise,
                          bpcn_objective objective, bpcn_read_info *info)
{
    bpcn_read_options o;
    bpcn_read_options_default(&o, sizeof o);
    o.noise = noise;
    o.objective = objective;
    float *out = room(ROWS * PICTURE, sizeof *out);
    assert_ok(bpcn_memory_read(m, x, known, ROWS, &o, out, info));
    free(out);
}

static void check_all(const bpcn_read_info *info, bpcn_verdict want, const char *what)
{
    for (size_t i = 0; i < ROWS; i++) {
        int known = info[i].verdict == BPCN_KNOWN;
        assert_true(info[i].familiarity >= 0 && info[i].familiarity <= 1);
        assert_true((info[i].familiarity >= 0.5) == known);
        if (info[i].verdict == want)
            continue;
        print_error("%s, row %zu: %s, %.3f (residual %.4f, variance %.2e, %d known)\n", what, i,
                    bpcn_verdict_name(info[i].verdict), info[i].familiarity, info[i].residual, info[i].variance,
                    (int)info[i].known);
        fail();
    }
}

static void check_memory(const struct gallery *s, bpcn_objective objective, const char *what)
{
    unsigned char known[ROWS * PICTURE];
    bpcn_read_info info[ROWS];
    for (int part = 0; part <= 3; part++) {
        if (part < 3)
            drop_entries(ROWS, PICTURE, 0.25 * part, known);
        else
            left_half(ROWS, known);
        read_verdicts(s->memory, s->x, known, 0, objective, info);
        check_all(info, BPCN_KNOWN, what);
        read_verdicts(s->memory, s->unseen, known, 0, objective, info);
        check_all(info, BPCN_NEW, what);
    }
}

static void written_rows_are_known_and_others_new_whatever_the_activation(void **state)
{
    (void)state;
    for (int a = 0; bpcn_activation_name((bpcn_activation)a) != NULL; a++) {
        bpcn_options o = network(PICTURE, 2, hidden);
        o.activation = (bpcn_activation)a;
        struct gallery *s = full_gallery(o);
        check_memory(s, BPCN_OBJECTIVE_DEFAULT, bpcn_activation_name(o.activation));
        gallery_free(s);
    }
}

static void written_rows_are_known_and_others_new_whatever_is_minimised(void **state)
{
    (void)state;
    struct gallery *s = full_gallery(network(PICTURE, 2, hidden));
    check_memory(s, BPCN_OBJECTIVE_MARGINAL, "marginal");
    check_memory(s, BPCN_OBJECTIVE_PAPER, "paper");
    gallery_free(s);
}

static void written_rows_are_known_and_others_new_to_mixtures_and_shards_and_in_double(void **state)
{
    (void)state;
    bpcn_options mixed = network(PICTURE, 2, hidden), shards = mixed, wide = mixed;
    mixed.particles = 3;
    shards.shards = 4;
    shards.shard_rows = 4;
    wide.precision = BPCN_FLOAT64;
    bpcn_options all[] = {mixed, shards, wide};
    const char *const names[] = {"mixture", "shards", "double"};
    for (size_t i = 0; i < 3; i++) {
        struct gallery *s = full_gallery(all[i]);
        check_memory(s, BPCN_OBJECTIVE_DEFAULT, names[i]);
        gallery_free(s);
    }
}

static void an_empty_memory_cannot_tell(void **state)
{
    (void)state;
    struct gallery *s = full_gallery(network(PICTURE, 2, hidden));
    bpcn_memory *empty = make_memory(network(PICTURE, 2, hidden));
    unsigned char known[ROWS * PICTURE];
    float grey[ROWS * PICTURE] = {0};
    bpcn_read_info info[ROWS];
    for (int any = 0; any <= 1; any++) {
        memset(known, any, sizeof known);
        read_verdicts(empty, s->x, known, 0, BPCN_OBJECTIVE_DEFAULT, info);
        check_all(info, BPCN_CANNOT_TELL, "empty");
        read_verdicts(empty, grey, known, 0, BPCN_OBJECTIVE_DEFAULT, info);
        check_all(info, BPCN_CANNOT_TELL, "empty, grey");
    }
    assert_ok(bpcn_memory_forget(s->memory, 1));
    read_verdicts(s->memory, s->x, known, 0, BPCN_OBJECTIVE_DEFAULT, info);
    check_all(info, BPCN_CANNOT_TELL, "all forgotten");
    bpcn_memory_free(empty);
    gallery_free(s);
}

static void nothing_known_and_nothing_there_are_not_told(void **state)
{
    (void)state;
    struct gallery *s = full_gallery(network(PICTURE, 2, hidden));
    unsigned char known[ROWS * PICTURE] = {0};
    float grey[ROWS * PICTURE] = {0};
    bpcn_read_info info[ROWS];
    read_verdicts(s->memory, s->x, known, 0, BPCN_OBJECTIVE_DEFAULT, info);
    check_all(info, BPCN_CANNOT_TELL, "nothing known");
    memset(known, 1, sizeof known);
    read_verdicts(s->memory, grey, known, 0, BPCN_OBJECTIVE_DEFAULT, info);
    check_all(info, BPCN_CANNOT_TELL, "zeros");
    gallery_free(s);
}

/* Fewer columns than rows: any row is explained by those written. */
static void rows_that_any_code_could_explain_are_never_known(void **state)
{
    enum { MANY = 50 };
    static const size_t columns[] = {5, 10, 20}, widths[] = {64, 64};
    (void)state;
    for (size_t c = 0; c < 3; c++) {
        size_t dim = columns[c];
        struct dice dice = {c + 1};
        float x[2 * MANY * 20], out[2 * MANY * 20];
        bpcn_read_info info[2 * MANY];
        bpcn_memory *m = make_memory(network(dim, 2, widths));
        dice_normals_f32(&dice, 2 * MANY * dim, 0.5, x);
        assert_ok(bpcn_memory_write(m, x, NULL, MANY, NULL));
        for (double noise = -1; noise <= 0; noise++) {
            bpcn_read_options o;
            bpcn_read_options_default(&o, sizeof o);
            o.noise = noise;
            assert_ok(bpcn_memory_read(m, x, NULL, 2 * MANY, &o, out, info));
            for (size_t i = 0; i < 2 * MANY; i++) {
                assert_true(info[i].familiarity == 0);
                assert_true(info[i].verdict == BPCN_CANNOT_TELL || info[i].verdict == BPCN_BLEND);
            }
        }
        bpcn_memory_free(m);
    }
}

/* Eight pictures of each of two kinds, and a key that says which kind: asked for by the key alone. */
static void an_answer_that_several_rows_share_is_a_blend(void **state)
{
    enum { KEY = 4, DIM = PICTURE + KEY };
    (void)state;
    struct gallery *s = full_gallery(network(PICTURE, 2, hidden));
    bpcn_memory *m = make_memory(network(DIM, 2, hidden));
    float x[ROWS * DIM], out[ROWS * DIM];
    unsigned char known[ROWS * DIM] = {0};
    bpcn_read_info info[ROWS];
    for (size_t i = 0; i < ROWS; i++) {
        memcpy(x + i * DIM, s->x + i * PICTURE, PICTURE * sizeof *x);
        for (size_t j = 0; j < KEY; j++) {
            x[i * DIM + PICTURE + j] = j == i % 2;
            known[i * DIM + PICTURE + j] = 1;
        }
    }
    assert_ok(bpcn_memory_write(m, x, NULL, ROWS, NULL));
    assert_ok(bpcn_memory_read(m, x, known, ROWS, NULL, out, info));
    check_all(info, BPCN_BLEND, "by the kind");
    for (size_t j = 0; j < ROWS * DIM; j++)
        known[j] = !known[j];
    assert_ok(bpcn_memory_read(m, x, known, ROWS, NULL, out, info));
    check_all(info, BPCN_KNOWN, "by the picture");
    bpcn_memory_free(m);
    gallery_free(s);
}

static void add_noise(const float *x, double noise, float *out)
{
    struct dice dice = {21};
    for (size_t j = 0; j < ROWS * PICTURE; j++)
        out[j] = x[j] + (float)(noise * dice_normal(&dice));
}

static void noise_that_is_given_is_no_licence(void **state)
{
    (void)state;
    struct gallery *s = full_gallery(network(PICTURE, 2, hidden));
    float query[ROWS * PICTURE];
    bpcn_read_info info[ROWS];
    for (int level = 1; level <= 3; level++)
        for (int there = 0; there <= 1; there++) {
            double noise = 0.1 * level;
            add_noise(s->unseen, there ? noise : 0, query);
            read_verdicts(s->memory, query, NULL, noise, BPCN_OBJECTIVE_DEFAULT, info);
            for (size_t i = 0; i < ROWS; i++)
                assert_true(info[i].familiarity < 0.5);
            if (!there)
                continue;
            add_noise(s->x, noise, query);
            read_verdicts(s->memory, query, NULL, noise, BPCN_OBJECTIVE_DEFAULT, info);
            check_all(info, BPCN_KNOWN, "noisy copies");
        }
    gallery_free(s);
}

static void noise_that_is_given_but_not_there_hides_what_is_true(void **state)
{
    (void)state;
    struct gallery *s = full_gallery(network(PICTURE, 2, hidden));
    bpcn_read_info info[ROWS];
    read_verdicts(s->memory, s->x, NULL, 0.3, BPCN_OBJECTIVE_DEFAULT, info);
    check_all(info, BPCN_CANNOT_TELL, "clean copies said to be noisy");
    gallery_free(s);
}

/* Its mean square error where it is hidden. */
static double hidden_error(const float *truth, const float *answer, const unsigned char *known)
{
    double sum = 0, count = 0;
    for (size_t j = 0; j < PICTURE; j++)
        if (!known[j]) {
            sum += pow((double)(truth[j] - answer[j]), 2);
            count++;
        }
    return sum / count;
}

static void what_fades_is_known_for_as_long_as_it_is_recalled(void **state)
{
    static const double steps[] = {0.003, 0.01, 0.03, 0.1, 0.2, 0.9};
    (void)state;
    struct gallery *s = full_gallery(network(PICTURE, 2, hidden));
    unsigned char known[ROWS * PICTURE];
    float out[ROWS * PICTURE];
    bpcn_read_info info[ROWS];
    size_t lost = 0, kept = 0;
    drop_entries(ROWS, PICTURE, 0.25, known);
    for (size_t b = 0; b < sizeof steps / sizeof *steps; b++) {
        assert_ok(bpcn_memory_forget(s->memory, steps[b]));
        assert_ok(bpcn_memory_read(s->memory, s->x, known, ROWS, NULL, out, info));
        for (size_t i = 0; i < ROWS; i++) {
            double error = hidden_error(s->x + i * PICTURE, out + i * PICTURE, known + i * PICTURE);
            if (error < 0.001)
                assert_int_equal(info[i].verdict, BPCN_KNOWN);
            if (error > 0.03)
                assert_true(info[i].verdict != BPCN_KNOWN);
            kept += error < 0.001;
            lost += error > 0.03;
        }
    }
    assert_true(kept >= 4 * ROWS && lost > 0);
    gallery_free(s);
}

static void a_row_is_new_when_first_written_and_known_ever_after(void **state)
{
    (void)state;
    struct gallery *s = full_gallery(network(PICTURE, 2, hidden));
    bpcn_memory *m = make_memory(network(PICTURE, 2, hidden));
    for (int round = 0; round < 3; round++) {
        bpcn_write_row rows[ROWS];
        bpcn_write_info info;
        bpcn_write_info_default(&info, sizeof info);
        info.rows = rows;
        assert_ok(bpcn_memory_write(m, s->x, NULL, ROWS, &info));
        for (size_t i = 0; i < ROWS; i++) {
            assert_int_equal(rows[i].verdict, round == 0 ? BPCN_NEW : BPCN_KNOWN);
            assert_true((rows[i].familiarity >= 0.5) == (round > 0));
        }
    }
    bpcn_memory_free(m);
    gallery_free(s);
}

/* The more of a written row is spoilt, the less familiar it is, by steps that are none. */
static void familiarity_falls_smoothly_with_what_is_changed(void **state)
{
    (void)state;
    struct gallery *s = full_gallery(network(PICTURE, 2, hidden));
    bpcn_read_info info[ROWS];
    double last = 1, largest = 0;
    for (int step = 0; step <= 60; step++) {
        float query[ROWS * PICTURE];
        double mean = 0;
        add_noise(s->x, 1e-4 * pow(10, 0.05 * step), query);
        unsigned char known[ROWS * PICTURE];
        memset(known, 1, sizeof known);
        read_verdicts(s->memory, query, known, 0, BPCN_OBJECTIVE_DEFAULT, info);
        for (size_t i = 0; i < ROWS; i++)
            mean += info[i].familiarity / ROWS;
        assert_true(mean <= last + 0.02);
        largest = fmax(largest, last - mean);
        last = mean;
    }
    assert_true(last < 0.3);
    assert_true(largest < 0.4);
    gallery_free(s);
}

/* Brighter and of more contrast, and with a tenth of the entries replaced: no noise, and copies all the same. */
static void changed_copies_are_near_copies_and_new_rows_are_not(void **state)
{
    enum { COPIES = 24, LONG = 512 };
    (void)state;
    struct dice dice = {3};
    float *x = room(2 * COPIES * LONG, sizeof *x), *q = room(2 * COPIES * LONG, sizeof *q), *out = room(2 * COPIES * LONG, sizeof *out);
    bpcn_read_info info[2 * COPIES];
    dice_normals_f32(&dice, 2 * COPIES * LONG, 0.5, x);
    bpcn_memory *m = make_memory(network(LONG, 2, hidden));
    assert_ok(bpcn_memory_write(m, x, NULL, COPIES, NULL));
    for (size_t i = 0; i < 2 * COPIES; i++)
        for (size_t j = 0; j < LONG; j++)
            q[i * LONG + j] = j < LONG / 10 ? 1 : 0.1f + 1.2f * x[i * LONG + j];
    assert_ok(bpcn_memory_read(m, q, NULL, 2 * COPIES, NULL, out, info));
    size_t copies = 0;
    for (size_t i = 0; i < 2 * COPIES; i++) {
        if (i < COPIES)
            copies += info[i].verdict == BPCN_NEAR_COPY;
        else
            assert_true(info[i].verdict != BPCN_NEAR_COPY && info[i].verdict != BPCN_KNOWN);
        assert_int_equal(info[i].verdict == BPCN_NEAR_COPY || info[i].verdict == BPCN_KNOWN, info[i].familiarity >= 0.5);
    }
    print_message("%zu of %d changed copies are near copies\n", copies, COPIES);
    assert_true(copies >= COPIES * 9 / 10);
    bpcn_memory_free(m);
    free(x);
    free(q);
    free(out);
}

static void verdicts_have_names(void **state)
{
    (void)state;
    assert_string_equal(bpcn_verdict_name(BPCN_CANNOT_TELL), "cannot tell");
    assert_string_equal(bpcn_verdict_name(BPCN_NEW), "new");
    assert_string_equal(bpcn_verdict_name(BPCN_KNOWN), "known");
    assert_string_equal(bpcn_verdict_name(BPCN_BLEND), "blend");
    assert_string_equal(bpcn_verdict_name(BPCN_NEAR_COPY), "near copy");
    assert_null(bpcn_verdict_name((bpcn_verdict)5));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(written_rows_are_known_and_others_new_whatever_the_activation),
        cmocka_unit_test(written_rows_are_known_and_others_new_whatever_is_minimised),
        cmocka_unit_test(written_rows_are_known_and_others_new_to_mixtures_and_shards_and_in_double),
        cmocka_unit_test(an_empty_memory_cannot_tell),
        cmocka_unit_test(nothing_known_and_nothing_there_are_not_told),
        cmocka_unit_test(rows_that_any_code_could_explain_are_never_known),
        cmocka_unit_test(an_answer_that_several_rows_share_is_a_blend),
        cmocka_unit_test(noise_that_is_given_is_no_licence),
        cmocka_unit_test(noise_that_is_given_but_not_there_hides_what_is_true),
        cmocka_unit_test(what_fades_is_known_for_as_long_as_it_is_recalled),
        cmocka_unit_test(a_row_is_new_when_first_written_and_known_ever_after),
        cmocka_unit_test(familiarity_falls_smoothly_with_what_is_changed),
        cmocka_unit_test(changed_copies_are_near_copies_and_new_rows_are_not),
        cmocka_unit_test(verdicts_have_names),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
