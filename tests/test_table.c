/* A memory of a table: every public call on it, and its file. What its forest computes, test_forest.c tests. */
#include "support.h"

#include "store_common.h"

#include <math.h>
#include <string.h>

enum { DIM = 6, ROWS = 300, QUERIES = 40 };

static bpcn_options table_options(void)
{
    bpcn_options o;
    bpcn_options_default(&o, sizeof o);
    o.kind = BPCN_TABLE;
    o.dim = DIM;
    o.seed = 3;
    o.threads = 1;
    return o;
}

/* Two groups of rows near planes; entries depend on each other. */
static void some_rows(size_t n, uint64_t seed, float *x)
{
    struct dice dice = {seed};
    for (size_t i = 0; i < n; i++) {
        double group = dice_uniform(&dice) < .5 ? -1 : 1, a = dice_normal(&dice), b = dice_normal(&dice);
        for (size_t j = 0; j < DIM; j++)
            x[i * DIM + j] = (float)(.7 * group * (j % 2 ? 1 : -1) + .6 * a * sin((double)j) +
                                     .6 * b * cos((double)(j * j)) + .2 * dice_normal(&dice));
    }
}

static void some_gaps(size_t n, uint64_t seed, unsigned char *known)
{
    struct dice dice = {seed};
    for (size_t i = 0; i < n * DIM; i++)
        known[i] = i % DIM == i / DIM % DIM || dice_uniform(&dice) >= .3;
}

struct scene {
    float x[(ROWS + QUERIES) * DIM];
    unsigned char known[(ROWS + QUERIES) * DIM];
    const float *query;
    const unsigned char *asked;
};

static void make_scene(struct scene *s)
{
    some_rows(ROWS + QUERIES, 1, s->x);
    some_gaps(ROWS + QUERIES, 2, s->known);
    s->query = s->x + ROWS * DIM;
    s->asked = s->known + ROWS * DIM;
}

/* With all that a call can say of the queries. */
struct answers {
    float answer[QUERIES * DIM], spread[QUERIES * DIM];
    double density[QUERIES], typicality[QUERIES];
};

static void ask(const bpcn_memory *m, const struct scene *s, struct answers *a)
{
    bpcn_read_options o;
    bpcn_read_options_default(&o, sizeof o);
    memset(a, 0, sizeof *a);
    o.spread = a->spread;
    assert_ok(bpcn_memory_read(m, s->query, s->asked, QUERIES, &o, a->answer, NULL));
    assert_ok(bpcn_memory_score(m, s->query, s->asked, QUERIES, a->density));
    assert_ok(bpcn_memory_typicality(m, a->density, QUERIES, a->typicality));
}

static int same_answers(const bpcn_memory *a, const bpcn_memory *b, const struct scene *s)
{
    struct answers of_a, of_b;
    ask(a, s, &of_a);
    ask(b, s, &of_b);
    return memcmp(&of_a, &of_b, sizeof of_a) == 0;
}

static void gaps_are_filled_better_than_by_means_and_known_cells_stay(void **state)
{
    (void)state;
    struct scene s;
    struct answers a;
    double off = 0, plain = 0;
    size_t cells = 0, within = 0;
    make_scene(&s);
    bpcn_memory *m = make_memory(table_options());
    assert_ok(bpcn_memory_write(m, s.x, s.known, ROWS, NULL));
    ask(m, &s, &a);
    for (size_t i = 0; i < QUERIES * DIM; i++) {
        double wrong = (double)a.answer[i] - (double)s.query[i];
        if (s.asked[i]) {
            assert_true(a.answer[i] == s.query[i] && a.spread[i] == 0);
            continue;
        }
        off += wrong * wrong;
        plain += (double)s.query[i] * (double)s.query[i];
        within += fabs(wrong) <= 1.6449 * (double)a.spread[i];
        cells++;
    }
    assert_true(off < .5 * plain); /* measured: .3 */
    assert_true(within > cells * 3 / 4);
    bpcn_memory_free(m);
}

static void odd_rows_are_less_likely_and_less_typical(void **state)
{
    (void)state;
    struct scene s;
    double density[2], typicality[2];
    float rows[2 * DIM];
    make_scene(&s);
    bpcn_memory *m = make_memory(table_options());
    assert_ok(bpcn_memory_write(m, s.x, NULL, ROWS, NULL));
    memcpy(rows, s.query, DIM * sizeof *rows);
    memcpy(rows + DIM, s.query, DIM * sizeof *rows);
    rows[DIM + 2] += 4; /* one wrong cell, within the column's range of some rows */
    assert_ok(bpcn_memory_score(m, rows, NULL, 2, density));
    assert_ok(bpcn_memory_typicality(m, density, 2, typicality));
    assert_true(density[1] < density[0] - 5);
    assert_true(typicality[1] < .02 && typicality[0] > typicality[1]);
    bpcn_memory_free(m);
}

static void a_wrong_cell_is_blamed_before_all_others(void **state)
{
    (void)state;
    struct scene s;
    double expected[DIM], deviation[DIM], blame[DIM], was[DIM];
    float row[DIM];
    make_scene(&s);
    bpcn_memory *m = make_memory(table_options());
    assert_ok(bpcn_memory_write(m, s.x, NULL, ROWS, NULL));
    for (size_t j = 0; j < DIM; j++) {
        memcpy(row, s.query, sizeof row);
        assert_ok(bpcn_memory_explain(m, row, NULL, 1, was, deviation, blame));
        row[j] += 5;
        assert_ok(bpcn_memory_explain(m, row, NULL, 1, expected, deviation, blame));
        for (size_t i = 0; i < DIM; i++)
            assert_true(i == j || blame[i] < blame[j]);
        assert_near(expected[j], was[j], 1e-9); /* what the others say of it does not depend on it */
        assert_true(blame[j] > 10 && fabs((double)row[j] - expected[j]) > 4 * deviation[j]);
    }
    memset(row, 0, sizeof row);
    assert_ok(bpcn_memory_explain(m, s.query, s.asked, 1, expected, deviation, blame));
    for (size_t j = 0; j < DIM; j++)
        assert_true(s.asked[j] || (expected[j] == 0 && deviation[j] == 0 && blame[j] == 0));
    bpcn_memory_free(m);
}

/* The words of a category say each other: each is expected by the rest of the row alone. */
static void a_column_of_several_entries_is_explained_without_itself(void **state)
{
    (void)state;
    enum { N = 400 };
    static const size_t column[4] = {7, 3, 3, 9};
    static float x[N * 4];
    double expected[4], deviation[4], blame[4];
    struct dice dice = {4};
    bpcn_options o = table_options();
    for (size_t i = 0; i < N; i++) { /* two words, by the sign of the first entry; the last is noise */
        float *row = x + 4 * i;
        row[0] = (float)dice_normal(&dice);
        row[1] = row[0] > 0 ? 1 : -1;
        row[2] = -row[1];
        row[3] = (float)dice_normal(&dice);
    }
    o.dim = 4;
    o.column = column;
    bpcn_memory *m = make_memory(o);
    assert_ok(bpcn_memory_write(m, x, NULL, N, NULL));
    float wrong[4] = {1.5f, -1, 1, 0};
    assert_ok(bpcn_memory_explain(m, wrong, NULL, 1, expected, deviation, blame));
    assert_true(expected[1] > .5 && expected[2] < -.5); /* measured: .97 */
    assert_true(blame[1] == 0 && blame[2] == 0);
    bpcn_memory_free(m);
}

static void a_file_gives_the_same_bits_after_its_log_a_checkpoint_and_a_copy(void **state)
{
    (void)state;
    struct scene s;
    bpcn_options o = table_options();
    make_scene(&s);
    bpcn_memory *plain = make_memory(o), *m = create_file(scratch("t.mem"), &o, BPCN_SYNC_MANUAL), *copy;
    for (int part = 0; part < 3; part++) {
        assert_ok(bpcn_memory_write(m, s.x + part * 100 * DIM, s.known + part * 100 * DIM, 100, NULL));
        assert_ok(bpcn_memory_write(plain, s.x + part * 100 * DIM, s.known + part * 100 * DIM, 100, NULL));
        assert_ok(part == 1 ? bpcn_memory_forget(m, .25) : bpcn_memory_discount(m, .1));
        assert_ok(part == 1 ? bpcn_memory_forget(plain, .25) : bpcn_memory_discount(plain, .1));
    }
    assert_true(same_answers(plain, m, &s));
    assert_ok(bpcn_memory_close(m));
    m = reopen(scratch("t.mem")); /* by its log */
    assert_true(same_answers(plain, m, &s));
    assert_ok(bpcn_memory_checkpoint(m));
    assert_ok(bpcn_memory_save(m, scratch("copy.mem")));
    assert_ok(bpcn_memory_close(m));
    m = reopen(scratch("t.mem")); /* by its snapshot */
    assert_ok(bpcn_memory_load(scratch("copy.mem"), &copy));
    assert_true(same_answers(plain, m, &s));
    assert_true(same_answers(plain, copy, &s));
    bpcn_stats stats = {.size = sizeof stats};
    assert_ok(bpcn_memory_get_stats(m, &stats));
    assert_true(stats.writes == ROWS && stats.forgets == 3);
    assert_ok(bpcn_file_check(scratch("t.mem"), NULL, NULL));
    bpcn_memory_free(m);
    bpcn_memory_free(copy);
    bpcn_memory_free(plain);
}

static void a_deleted_row_is_gone_and_one_that_is_not_held_is_refused(void **state)
{
    (void)state;
    struct scene s;
    bpcn_options o = table_options();
    float other[DIM] = {.3f, -.2f, .1f, .4f, .7f, .1f};
    make_scene(&s);
    bpcn_memory *m = create_file(scratch("d.mem"), &o, BPCN_SYNC_MANUAL);
    assert_ok(bpcn_memory_write(m, s.x, NULL, ROWS, NULL));
    assert_int_not_equal(bpcn_memory_delete(m, other), BPCN_OK);
    for (size_t i = 0; i < ROWS; i += 3)
        assert_ok(bpcn_memory_delete(m, s.x + i * DIM));
    assert_int_not_equal(bpcn_memory_delete(m, s.x), BPCN_OK);
    struct answers before, after;
    ask(m, &s, &before);
    assert_ok(bpcn_memory_close(m));
    m = reopen(scratch("d.mem"));
    ask(m, &s, &after);
    assert_memory_equal(&before, &after, sizeof before);
    bpcn_memory_free(m);
}

static void forgetting_all_leaves_the_empty_memory(void **state)
{
    (void)state;
    struct scene s;
    struct answers a, b;
    make_scene(&s);
    bpcn_memory *m = make_memory(table_options()), *empty = make_memory(table_options());
    assert_ok(bpcn_memory_write(m, s.x, NULL, ROWS, NULL));
    assert_ok(bpcn_memory_forget(m, 1));
    ask(m, &s, &a);
    ask(empty, &s, &b);
    assert_memory_equal(a.answer, b.answer, sizeof a.answer);
    assert_memory_equal(a.density, b.density, sizeof a.density);
    bpcn_memory_free(m);
    bpcn_memory_free(empty);
}

static void names_are_kept_and_rows_deleted_by_them(void **state)
{
    (void)state;
    struct scene s;
    bpcn_options o = table_options();
    bpcn_write_info info;
    const char *names[3] = {"one", NULL, "three"};
    bpcn_name kept[4];
    size_t count;
    make_scene(&s);
    o.names = 4;
    bpcn_memory *m = create_file(scratch("n.mem"), &o, BPCN_SYNC_MANUAL);
    bpcn_write_info_default(&info, sizeof info);
    info.names = names;
    assert_ok(bpcn_memory_write(m, s.x, NULL, 3, &info));
    assert_ok(bpcn_memory_close(m));
    m = reopen(scratch("n.mem"));
    assert_ok(bpcn_memory_delete_name(m, "three"));
    assert_int_not_equal(bpcn_memory_delete(m, s.x + 2 * DIM), BPCN_OK);
    assert_ok(bpcn_memory_get_names(m, kept, 4, &count));
    assert_int_equal(count, 1);
    assert_string_equal(kept[0].name, "one");
    bpcn_memory_free(m);
}

static void calls_about_codes_and_networks_say_that_a_table_has_none(void **state)
{
    (void)state;
    struct scene s;
    float codes[DIM];
    double energy;
    bpcn_options o = table_options(), seen;
    bpcn_read_options noisy;
    make_scene(&s);
    bpcn_memory *m = make_memory(o);
    assert_status(bpcn_memory_infer(m, s.x, NULL, 1, NULL, codes, NULL), BPCN_INVALID);
    assert_status(bpcn_memory_energy(m, s.x, NULL, codes, 1, NULL, &energy, NULL), BPCN_INVALID);
    assert_status(bpcn_memory_get_top(m, 0, 0, NULL, NULL), BPCN_INVALID);
    assert_status(bpcn_memory_get_weights(m, 0, &energy), BPCN_INVALID);
    assert_status(bpcn_memory_set_minimizer(m, BPCN_ADAM), BPCN_INVALID);
    assert_status(bpcn_memory_set_shards(m, (uint64_t[]){1}, 1, 0), BPCN_INVALID);
    assert_status(bpcn_memory_read(m, s.x, NULL, 1, NULL, codes, NULL), BPCN_INVALID);
    bpcn_read_options_default(&noisy, sizeof noisy);
    noisy.noise = .1;
    assert_status(bpcn_memory_read(m, s.x, s.known, 1, &noisy, codes, NULL), BPCN_INVALID);
    seen.size = sizeof seen;
    assert_ok(bpcn_memory_get_options(m, &seen));
    assert_true(seen.kind == BPCN_TABLE && seen.layers == 0 && seen.precision == BPCN_FLOAT64);
    bpcn_memory_free(m);
    o.shards = 2;
    assert_status(bpcn_memory_create(&o, &m), BPCN_INVALID);
    o = table_options();
    o.kind = (bpcn_kind)2;
    assert_status(bpcn_memory_create(&o, &m), BPCN_INVALID);
}

static void samples_look_like_rows(void **state)
{
    (void)state;
    struct scene s;
    float drawn[200 * DIM];
    double density[200], own[QUERIES], drawn_mean = 0, own_mean = 0;
    make_scene(&s);
    bpcn_memory *m = make_memory(table_options());
    assert_ok(bpcn_memory_write(m, s.x, NULL, ROWS, NULL));
    assert_ok(bpcn_memory_sample(m, 200, 1, drawn));
    assert_ok(bpcn_memory_score(m, drawn, NULL, 200, density));
    assert_ok(bpcn_memory_score(m, s.query, NULL, QUERIES, own));
    for (size_t i = 0; i < 200; i++)
        drawn_mean += density[i] / 200;
    for (size_t i = 0; i < QUERIES; i++)
        own_mean += own[i] / QUERIES;
    assert_near(drawn_mean, own_mean, 3);
    bpcn_memory_free(m);
}

/* Every bit of the trees' section and of a record is checked: 2000 flipped bits over the file. */
static void a_damaged_file_is_refused_or_as_it_once_was(void **state)
{
    (void)state;
    struct scene s;
    bpcn_options o = table_options();
    bpcn_memory *m;
    size_t bytes, accepted = 0;
    make_scene(&s);
    o.dim = 3; /* a smaller file */
    m = create_file(scratch("c.mem"), &o, BPCN_SYNC_MANUAL);
    assert_ok(bpcn_memory_write(m, s.x, NULL, 60, NULL));
    assert_ok(bpcn_memory_checkpoint(m));
    assert_ok(bpcn_memory_write(m, s.x, s.known, 2, NULL));
    assert_ok(bpcn_memory_delete(m, s.x + 30));
    assert_ok(bpcn_memory_close(m));
    unsigned char *file = read_whole(scratch("c.mem"), &bytes);
    struct dice dice = {9};
    for (int i = 0; i < 100; i++) {
        size_t bit = (size_t)(dice_uniform(&dice) * 8 * (double)bytes);
        file[bit / 8] ^= (unsigned char)(1u << bit % 8);
        write_whole(scratch("c2.mem"), file, bytes);
        file[bit / 8] ^= (unsigned char)(1u << bit % 8);
        bpcn_status status = bpcn_memory_load(scratch("c2.mem"), &m);
        assert_true(status == BPCN_OK || status == BPCN_CORRUPT || status == BPCN_FORMAT || status == BPCN_NEWER);
        accepted += status == BPCN_OK; /* a bit of one seal */
        bpcn_memory_free(m);
    }
    assert_true(accepted < 5);
    for (size_t cut = bytes - 200; cut < bytes; cut += 9) {
        write_whole(scratch("c2.mem"), file, cut);
        assert_int_not_equal(bpcn_memory_load(scratch("c2.mem"), &m), BPCN_OK); /* it was closed */
    }
    bpcn_recovery report = {.size = sizeof report};
    file[bytes - 100] ^= 1;
    write_whole(scratch("c2.mem"), file, bytes);
    assert_ok(bpcn_file_recover(scratch("c2.mem"), scratch("saved.mem"), &report));
    assert_true(report.writes >= 60);
    assert_ok(bpcn_file_check(scratch("saved.mem"), NULL, NULL));
    free(file);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(gaps_are_filled_better_than_by_means_and_known_cells_stay),
        cmocka_unit_test(odd_rows_are_less_likely_and_less_typical),
        cmocka_unit_test(a_wrong_cell_is_blamed_before_all_others),
        cmocka_unit_test(a_column_of_several_entries_is_explained_without_itself),
        cmocka_unit_test(a_file_gives_the_same_bits_after_its_log_a_checkpoint_and_a_copy),
        cmocka_unit_test(a_deleted_row_is_gone_and_one_that_is_not_held_is_refused),
        cmocka_unit_test(forgetting_all_leaves_the_empty_memory),
        cmocka_unit_test(names_are_kept_and_rows_deleted_by_them),
        cmocka_unit_test(calls_about_codes_and_networks_say_that_a_table_has_none),
        cmocka_unit_test(samples_look_like_rows),
        cmocka_unit_test(a_damaged_file_is_refused_or_as_it_once_was),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
