/*
 * delete: what was written can be taken back; what was not is refused, and then nothing changes.
 */
#include "support.h"

#include "cholesky.h"
#include "held.h"
#include "naive.h"
#include "update.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const size_t hidden[] = {32, 24};
enum { STORED = 6 };

static bpcn_memory *empty(size_t particles, bpcn_precision precision, bpcn_activation activation)
{
    bpcn_options o = network(PICTURE, 2, hidden);
    o.particles = particles;
    o.precision = precision;
    o.activation = activation;
    o.sigma_x = 0.05;
    o.seed = 5;
    return make_memory(o);
}

/* The largest difference of the means, relative to the change that the write made. */
static double left_over(const struct naive *before, const struct naive *with, const struct naive *after, int covariance)
{
    double change = 0, rest = 0;
    for (size_t k = 0; k < before->options.particles; k++)
        for (size_t l = 0; l < before->options.layers; l++) {
            const struct naive_particle *p = &before->particles[k], *q = &with->particles[k], *r = &after->particles[k];
            size_t above = before->width[l + 1], n = above * (covariance ? above : before->width[l]);
            const double *a = covariance ? p->covariance[l] : p->mean[l],
                         *b = covariance ? q->covariance[l] : q->mean[l];
            change = fmax(change, greatest_difference(n, a, b));
            rest = fmax(rest, greatest_difference(n, a, covariance ? r->covariance[l] : r->mean[l]));
        }
    return rest / change;
}

/* Writes STORED pictures and takes the one at `which` back; what is left of it, against a memory
   that never had the last one (which = STORED - 1). */
static void check_delete_of_the_last(size_t particles, bpcn_precision precision, bpcn_activation activation,
                                     double tolerance)
{
    struct dice dice = {17};
    float x[STORED * PICTURE];
    bpcn_stats stats = {.size = sizeof stats};
    bpcn_memory *m = empty(particles, precision, activation);
    pictures(&dice, STORED, x);
    assert_ok(bpcn_memory_write(m, x, NULL, STORED - 1, NULL));
    struct naive *before = naive_of(m);
    assert_ok(bpcn_memory_write(m, x + (STORED - 1) * PICTURE, NULL, 1, NULL));
    struct naive *with = naive_of(m);
    assert_ok(bpcn_memory_delete(m, x + (STORED - 1) * PICTURE));
    struct naive *after = naive_of(m);
    double mean = left_over(before, with, after, 0), covariance = left_over(before, with, after, 1);
    print_message("%zu particles, float%d, activation %d: %.2g of the means' change left, %.2g of the covariances'\n",
                  particles, precision == BPCN_FLOAT64 ? 64 : 32, (int)activation, mean, covariance);
    assert_true(mean < tolerance && covariance < tolerance);
    assert_ok(bpcn_memory_get_stats(m, &stats));
    assert_int_equal(stats.deletes, 1);
    naive_free(before);
    naive_free(with);
    naive_free(after);
    bpcn_memory_free(m);
}

/* By the codes of the write itself. What is left is the rounding of the means, which of float32 is 6e-8 of the means
   and the means some 10 times the change; of float64 it is what the covariance loses, see an_update_and_its_inverse_cancel. */
static void deleting_the_last_row_takes_its_write_back(void **state)
{
    (void)state;
    check_delete_of_the_last(1, BPCN_FLOAT64, BPCN_GELU, 1e-9);
    check_delete_of_the_last(3, BPCN_FLOAT64, BPCN_GELU, 1e-9);
    check_delete_of_the_last(1, BPCN_FLOAT32, BPCN_GELU, 1e-4);
    check_delete_of_the_last(1, BPCN_FLOAT64, BPCN_TANH, 1e-9);
}

static void a_deleted_row_is_new_again_and_the_others_stay(void **state)
{
    (void)state;
    struct dice dice = {18};
    float x[STORED * PICTURE];
    double before[STORED], after[STORED];
    bpcn_memory *m = empty(1, BPCN_FLOAT32, BPCN_GELU);
    pictures(&dice, STORED, x);
    assert_ok(bpcn_memory_write(m, x, NULL, STORED, NULL));
    assert_ok(bpcn_memory_score(m, x, NULL, STORED, before));
    assert_ok(bpcn_memory_delete(m, x + 2 * PICTURE));
    assert_ok(bpcn_memory_score(m, x, NULL, STORED, after));
    for (size_t i = 0; i < STORED; i++)
        if (i == 2)
            assert_true(after[i] < before[i] - 50); /* 192 entries, each a good part of a nat dearer */
        else
            assert_near(after[i], before[i], 30);
    bpcn_memory_free(m);
}

static void a_row_never_written_is_refused_and_nothing_changes(void **state)
{
    (void)state;
    for (int precision = BPCN_FLOAT32; precision <= BPCN_FLOAT64; precision++)
        for (size_t particles = 1; particles <= 3; particles += 2) {
            struct dice dice = {19};
            float x[2 * STORED * PICTURE];
            bpcn_memory *m = empty(particles, (bpcn_precision)precision, BPCN_GELU);
            pictures(&dice, 2 * STORED, x);
            struct snapshot *before = snapshot_take(m);
            assert_status(bpcn_memory_delete(m, x), BPCN_NOT_HELD); /* an empty memory holds nothing */
            assert_true(snapshot_same(before, m));
            snapshot_free(before);
            assert_ok(bpcn_memory_write(m, x, NULL, STORED, NULL));
            before = snapshot_take(m);
            for (size_t i = STORED; i < 2 * STORED; i++) {
                assert_status(bpcn_memory_delete(m, x + i * PICTURE), BPCN_NOT_HELD);
                assert_non_null(strstr(bpcn_error(), "does not hold"));
                assert_true(snapshot_same(before, m));
            }
            snapshot_free(before);
            bpcn_memory_free(m);
        }
}

static void a_row_can_be_deleted_as_often_as_it_was_written(void **state)
{
    (void)state;
    struct dice dice = {20};
    float x[2 * PICTURE];
    bpcn_memory *m = empty(1, BPCN_FLOAT64, BPCN_GELU);
    pictures(&dice, 2, x);
    assert_ok(bpcn_memory_write(m, x, NULL, 2, NULL));
    assert_ok(bpcn_memory_delete(m, x));
    struct snapshot *once = snapshot_take(m);
    assert_status(bpcn_memory_delete(m, x), BPCN_NOT_HELD);
    assert_true(snapshot_same(once, m));
    snapshot_free(once);
    bpcn_memory_free(m);
}

/* dim 32, 64 and 64 units, 400 rows: six times as many as fit. Of the written ones all can go, of the others none, and
   no covariance exceeds the prior's. */
static void of_an_overfull_network_written_rows_go_and_no_others(void **state)
{
    (void)state;
    enum { DIM = 32, ROWS = 400, GO = 32, UNSEEN = 100 };
    static const size_t narrow[] = {64, 64};
    struct dice dice = {31};
    float *x = room((ROWS + UNSEEN) * DIM, sizeof *x);
    bpcn_options o = network(DIM, 2, narrow);
    bpcn_memory *m = make_memory(o);
    dice_normals_f32(&dice, (ROWS + UNSEEN) * DIM, 0.7, x);
    assert_ok(bpcn_memory_write(m, x, NULL, ROWS, NULL));
    struct snapshot *before = snapshot_take(m);
    for (size_t i = 0; i < UNSEEN; i++)
        assert_status(bpcn_memory_delete(m, x + (ROWS + i) * DIM), BPCN_NOT_HELD);
    assert_true(snapshot_same(before, m));
    snapshot_free(before);
    const struct model *model = m->contents.shard[0];
    for (size_t i = 0; i < GO; i++) {
        assert_ok(bpcn_memory_delete(m, x + i * (ROWS / GO) * DIM));
        for (size_t l = 0; l < 2; l++)
            assert_int_equal(cholesky_within(64, model->particles[0].layer[l].root, 1 + 1e-6), 1);
    }
    assert_status(bpcn_memory_delete(m, x), BPCN_NOT_HELD); /* a second time */
    bpcn_memory_free(m);
    free(x);
}

/* What is left after a delete is the posterior of the other rows with their codes, whichever row went. */
static void deleting_any_row_leaves_what_the_others_gave(void **state)
{
    (void)state;
    struct dice dice = {32};
    float x[STORED * PICTURE];
    pictures(&dice, STORED, x);
    for (size_t which = 0; which < STORED; which++) {
        bpcn_memory *m = empty(1, BPCN_FLOAT64, BPCN_GELU);
        bpcn_options o = {.size = sizeof o};
        assert_ok(bpcn_memory_get_options(m, &o));
        bpcn_memory *other = make_memory(o);
        assert_ok(bpcn_memory_write(m, x, NULL, STORED, NULL));
        /* the other memory takes the same codes in, by the update itself */
        struct model *model = other->contents.shard[0];
        struct update *u = update_create(model, NULL);
        for (size_t i = 0; i < STORED; i++) {
            double wide[PICTURE], codes[32 + 24];
            held_codes(&m->contents.held, i, codes);
            for (size_t j = 0; j < PICTURE; j++)
                wide[j] = (double)x[i * PICTURE + j];
            if (i != which)
                update_particle(model, &model->particles[0], wide, NULL, codes, 1, 1, (struct gram_update){NULL, NULL}, u);
        }
        update_free(u);
        assert_ok(bpcn_memory_delete(m, x + which * PICTURE));
        struct naive *a = naive_of(m), *b = naive_of(other);
        for (size_t l = 0; l < 2; l++) {
            size_t above = a->width[l + 1];
            assert_near(greatest_difference(above * a->width[l], a->particles[0].mean[l], b->particles[0].mean[l]), 0, 1e-9);
            assert_near(greatest_difference(above * above, a->particles[0].covariance[l], b->particles[0].covariance[l]), 0,
                        1e-9);
        }
        naive_free(a);
        naive_free(b);
        bpcn_memory_free(m);
        bpcn_memory_free(other);
    }
}

static void several_rows_are_deleted_all_or_none(void **state)
{
    (void)state;
    struct dice dice = {33};
    float x[2 * STORED * PICTURE], some[3 * PICTURE];
    bpcn_stats stats = {.size = sizeof stats};
    bpcn_memory *m = empty(2, BPCN_FLOAT32, BPCN_RELU);
    pictures(&dice, 2 * STORED, x);
    assert_ok(bpcn_memory_write(m, x, NULL, STORED, NULL));
    struct snapshot *before = snapshot_take(m);
    for (size_t bad = 0; bad < 3; bad++) { /* one of three was never written, or is given twice */
        for (size_t i = 0; i < 3; i++)
            memcpy(some + i * PICTURE, x + (i == bad ? STORED + i : i) * PICTURE, PICTURE * sizeof *x);
        char place[16];
        snprintf(place, sizeof place, "row %zu", bad);
        assert_status(bpcn_memory_delete_rows(m, some, 3), BPCN_NOT_HELD);
        assert_string_equal(bpcn_error_place(), place);
        memcpy(some + bad * PICTURE, x + (bad == 0 ? 1 : 0) * PICTURE, PICTURE * sizeof *x);
        assert_status(bpcn_memory_delete_rows(m, some, 3), BPCN_NOT_HELD);
        assert_true(snapshot_same(before, m));
    }
    snapshot_free(before);
    memcpy(some, x, 3 * PICTURE * sizeof *x);
    assert_ok(bpcn_memory_delete_rows(m, some, 3));
    assert_ok(bpcn_memory_delete_rows(m, NULL, 0));
    assert_ok(bpcn_memory_get_stats(m, &stats));
    assert_int_equal(stats.deletes, 3);
    assert_int_equal(stats.deletable, STORED - 3);
    bpcn_memory_free(m);
}

static void a_row_that_faded_is_not_deleted(void **state)
{
    (void)state;
    struct dice dice = {34};
    float x[STORED * PICTURE];
    pictures(&dice, STORED, x);
    for (int discount = 0; discount < 2; discount++) {
        bpcn_memory *m = empty(1, BPCN_FLOAT32, BPCN_GELU);
        assert_ok(bpcn_memory_write(m, x, NULL, STORED - 1, NULL));
        assert_ok(discount ? bpcn_memory_discount(m, 1e-6) : bpcn_memory_forget(m, 1e-6));
        assert_ok(bpcn_memory_write(m, x + (STORED - 1) * PICTURE, NULL, 1, NULL));
        struct snapshot *before = snapshot_take(m);
        for (size_t i = 0; i < STORED - 1; i++) {
            assert_status(bpcn_memory_delete(m, x + i * PICTURE), BPCN_NOT_HELD);
            assert_non_null(strstr(bpcn_error(), "has faded since it was written: it cannot be taken back exactly"));
        }
        assert_true(snapshot_same(before, m));
        snapshot_free(before);
        assert_ok(bpcn_memory_delete(m, x + (STORED - 1) * PICTURE));
        bpcn_memory_free(m);
    }
}

/* In a file, through its log and through a checkpoint, with shards that are recycled, and of a table. */
static void a_file_knows_which_rows_can_be_deleted(void **state)
{
    (void)state;
    enum { N = 24 };
    char path[] = "/tmp/bpcn_delete_XXXXXX";
    int fd = mkstemp(path);
    assert_true(fd >= 0);
    close(fd);
    static const size_t narrow[] = {16, 16};
    for (int kind = 0; kind < 3; kind++) {
        struct dice dice = {35};
        float x[N * PICTURE];
        pictures(&dice, N, x);
        unlink(path);
        bpcn_options o = network(PICTURE, 2, narrow);
        o.deletable = 12;
        o.shards = kind == 1 ? 2 : 1;
        o.shard_rows = kind == 1 ? 6 : 0;
        o.when_full = kind == 1 ? BPCN_RECYCLE : BPCN_BLUR;
        o.kind = kind == 2 ? BPCN_TABLE : BPCN_NETWORKS;
        bpcn_open_options open;
        bpcn_open_options_default(&open, sizeof open);
        open.create = &o;
        bpcn_memory *m;
        assert_ok(bpcn_memory_open(path, &open, &m));
        assert_ok(bpcn_memory_write(m, x, NULL, N - 2, NULL));
        assert_ok(bpcn_memory_checkpoint(m));
        assert_ok(bpcn_memory_write(m, x + (N - 2) * PICTURE, NULL, 2, NULL));
        assert_ok(bpcn_memory_delete(m, x + (N - 3) * PICTURE));
        assert_ok(bpcn_memory_close(m));
        assert_ok(bpcn_file_check(path, NULL, NULL));
        assert_ok(bpcn_memory_open(path, NULL, &m));
        assert_status(bpcn_memory_delete(m, x + (N - 3) * PICTURE), BPCN_NOT_HELD);
        for (size_t i = 0; i < N; i++)
            if (i != N - 3)
                assert_status(bpcn_memory_delete(m, x + i * PICTURE), i < N - 12 ? BPCN_NOT_HELD : BPCN_OK);
        assert_ok(bpcn_memory_close(m));
        assert_ok(bpcn_file_check(path, NULL, NULL));
    }
    unlink(path);
}

/* What an earlier version left behind after taking back a row that was never written. */
static void check_finds_a_covariance_wider_than_the_prior(void **state)
{
    (void)state;
    char path[] = "/tmp/bpcn_wide_XXXXXX";
    int fd = mkstemp(path);
    assert_true(fd >= 0);
    close(fd);
    double mean[PICTURE * 32] = {0}, wide[32 * 32];
    for (double variance = 1; variance < 1.5; variance += 0.01) {
        bpcn_memory *m = empty(1, BPCN_FLOAT32, BPCN_GELU);
        for (size_t j = 0; j < 32 * 32; j++)
            wide[j] = j % 33 == 0 ? (j == 5 * 33 ? variance : 0.5) : 0;
        assert_ok(bpcn_memory_set_layer(m, 0, 0, 0, mean, wide));
        assert_ok(bpcn_memory_save(m, path));
        assert_status(bpcn_file_check(path, NULL, NULL), variance > 1 ? BPCN_CORRUPT : BPCN_OK);
        bpcn_memory_free(m);
    }
    unlink(path);
}

static void delete_without_hidden_layers_is_exact(void **state)
{
    (void)state;
    enum { D = 4, N = 3 };
    struct dice dice = {21};
    float x[3 * D];
    double before[D], after[D], was, is, wa[N], wb[N];
    bpcn_options o = network(D, 0, NULL);
    o.particles = N;
    o.sigma_x = 0.3;
    o.precision = BPCN_FLOAT64;
    bpcn_memory *m = make_memory(o), *two = make_memory(o);
    dice_normals_f32(&dice, 3 * D, 0.1, x); /* near each other: within the noise of what is predicted */
    assert_ok(bpcn_memory_write(two, x, NULL, 2, NULL));
    assert_ok(bpcn_memory_write(m, x, NULL, 3, NULL));
    assert_ok(bpcn_memory_delete(m, x + 2 * D));
    assert_ok(bpcn_memory_get_weights(two, 0, wa));
    assert_ok(bpcn_memory_get_weights(m, 0, wb));
    for (size_t k = 0; k < N; k++) {
        assert_ok(bpcn_memory_get_top(two, 0, k, before, &was));
        assert_ok(bpcn_memory_get_top(m, 0, k, after, &is));
        assert_near(is, was, 1e-14); /* 1/S + 1/s - 1/s */
        assert_near(greatest_difference(D, before, after), 0, 1e-13);
        assert_near(wb[k], wa[k], 1e-12); /* its evidence is taken out of the weights */
    }
    bpcn_memory_free(m);
    bpcn_memory_free(two);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(deleting_the_last_row_takes_its_write_back),
        cmocka_unit_test(a_deleted_row_is_new_again_and_the_others_stay),
        cmocka_unit_test(a_row_never_written_is_refused_and_nothing_changes),
        cmocka_unit_test(a_row_can_be_deleted_as_often_as_it_was_written),
        cmocka_unit_test(of_an_overfull_network_written_rows_go_and_no_others),
        cmocka_unit_test(deleting_any_row_leaves_what_the_others_gave),
        cmocka_unit_test(several_rows_are_deleted_all_or_none),
        cmocka_unit_test(a_row_that_faded_is_not_deleted),
        cmocka_unit_test(a_file_knows_which_rows_can_be_deleted),
        cmocka_unit_test(check_finds_a_covariance_wider_than_the_prior),
        cmocka_unit_test(delete_without_hidden_layers_is_exact),
    };
    return cmocka_run_group_tests_name("delete", tests, NULL, NULL);
}
