/*
 * Shards: a memory of several networks takes its rows one shard after the other, and answers from the one that has the
 * row. Whatever a shard does it does as a memory of its own would, with the same seed and the same rows.
 */
#include "shards_support.h"
#include "splitmix.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* ---- one shard */

static unsigned char *saved(const bpcn_memory *m, size_t *bytes)
{
    char path[] = "/tmp/bpcn-shards-XXXXXX";
    close(mkstemp(path));
    assert_ok(bpcn_memory_save(m, path));
    FILE *file = fopen(path, "rb");
    assert_non_null(file);
    unsigned char *all = room(1, 1 << 20);
    *bytes = fread(all, 1, 1 << 20, file);
    fclose(file);
    unlink(path);
    return all;
}

static void one_shard_is_the_memory_as_it_was_before_there_were_shards(void **state)
{
    (void)state;
    struct gallery *g = gallery_of(small_network(2), 6, 31);
    bpcn_options o = small_network(2);
    o.shards = 1;
    o.shard_rows = 2;
    bpcn_memory *one = make_memory(o);
    size_t n, m;
    float out[6 * PICTURE], again[6 * PICTURE];
    bpcn_read_info info[6], same[6];
    assert_ok(bpcn_memory_write(one, g->x, NULL, 6, NULL)); /* more than shard_rows: there is nowhere else */
    for (bpcn_memory *it = one; it != NULL; it = it == one ? g->memory : NULL) {
        assert_ok(bpcn_memory_delete(it, g->x + 5 * PICTURE));
        assert_ok(bpcn_memory_forget(it, 0.01));
    }
    assert_true(same_shard(one, 0, g->memory, 0));
    unsigned char *a = saved(one, &n), *b = saved(g->memory, &m);
    assert_int_equal(n, m);
    assert_memory_equal(a, b, n);
    assert_int_equal(a[8], 3); /* the version */
    assert_ok(bpcn_memory_read(one, g->x, NULL, 6, NULL, out, info));
    assert_ok(bpcn_memory_read(g->memory, g->x, NULL, 6, NULL, again, same));
    assert_memory_equal(out, again, sizeof out);
    assert_memory_equal(info, same, sizeof info);
    assert_int_equal(info[3].shard, 0);
    free(a);
    free(b);
    bpcn_memory_free(one);
    gallery_free(g);
}

static void impossible_shards_are_refused(void **state)
{
    (void)state;
    bpcn_memory *m;
    bpcn_options o = narrow(0, BPCN_BLUR);
    assert_status(bpcn_memory_create(&o, &m), BPCN_INVALID);
    assert_non_null(strstr(bpcn_error(), "shards is 0"));
    o.shards = BPCN_MAX_SHARDS + (size_t)1;
    assert_status(bpcn_memory_create(&o, &m), BPCN_INVALID);
    o = narrow(2, (bpcn_when_full)3);
    assert_status(bpcn_memory_create(&o, &m), BPCN_INVALID);
    assert_non_null(strstr(bpcn_error(), "when_full 3"));
    o = narrow(2, BPCN_BLUR);
    o.shard_rows = (size_t)UINT32_MAX + 1;
    assert_status(bpcn_memory_create(&o, &m), BPCN_INVALID);
    assert_non_null(strstr(bpcn_error(), "shard_rows"));
}

/* ---- which shard a row goes to */

static void rows_go_to_one_shard_after_the_other(void **state)
{
    (void)state;
    bpcn_write_row rows[MOST * ROWS];
    bpcn_write_info info;
    uint64_t of[MOST + 1] = {0};
    size_t begun;
    struct dice dice = {32};
    float x[MOST * ROWS * PICTURE];
    bpcn_memory *m = make_memory(narrow(MOST, BPCN_BLUR));
    pictures(&dice, MOST * ROWS, x);
    bpcn_write_info_default(&info, sizeof info);
    info.rows = rows;
    assert_int_equal(stats_of(m).shards, 1); /* shard 0 is there from the start */
    for (size_t i = 0; i < MOST * ROWS; i++) {
        info.rows = rows + i;
        assert_ok(bpcn_memory_write(m, x + i * PICTURE, NULL, 1, &info));
        assert_int_equal(rows[i].shard, i / ROWS);
        assert_int_equal(stats_of(m).shards, i / ROWS + 1);
        assert_int_equal(stats_of(m).open_shard, i / ROWS);
        assert_ok(bpcn_memory_get_shards(m, of, MOST + 1, &begun));
        assert_int_equal(begun, i / ROWS + 1);
        assert_int_equal(of[i / ROWS], i % ROWS + 1);
    }
    of[1] = 99;
    assert_ok(bpcn_memory_get_shards(m, of, 1, &begun)); /* as many as there is room for */
    assert_int_equal(begun, MOST);
    assert_int_equal(of[1], 99);
    assert_ok(bpcn_memory_get_shards(m, NULL, 0, &begun));
    assert_status(bpcn_memory_get_shards(m, NULL, 1, &begun), BPCN_INVALID);
    assert_status(bpcn_memory_get_shards(m, of, 1, NULL), BPCN_INVALID);
    bpcn_memory_free(m);
}

static void without_a_number_of_rows_a_shard_has_as_many_as_units(void **state)
{
    (void)state;
    bpcn_options o = narrow(2, BPCN_BLUR), back = {.size = sizeof back};
    o.shard_rows = 0;
    bpcn_memory *m = make_memory(o);
    assert_ok(bpcn_memory_get_options(m, &back));
    assert_int_equal(back.shard_rows, hidden[0]);
    assert_int_equal(back.shards, 2);
    bpcn_memory_free(m);
}

static void a_shard_depends_on_its_number_and_its_rows_alone(void **state)
{
    (void)state;
    for (size_t i = 0; i < SHAPES; i++) {
        bpcn_options o = shape(i), more = o;
        more.shards = 1000;
        struct gallery *few = gallery_of(o, 3 * ROWS, 33), *many = gallery_of(more, 3 * ROWS, 33);
        for (size_t k = 0; k < 3; k++) {
            bpcn_memory *own = alone(&o, k, few->x + k * ROWS * PICTURE);
            assert_true(same_shard(few->memory, k, many->memory, k));
            assert_true(same_shard(few->memory, k, own, 0));
            for (size_t j = 0; j < k; j++)
                assert_false(same_shard(few->memory, k, few->memory, j));
            bpcn_memory_free(own);
        }
        gallery_free(few);
        gallery_free(many);
    }
}

static uint64_t splitmix(uint64_t x)
{
    return next_random(&x);
}

/* Files do not hold what is drawn from it: it may never be another. */
static void the_seed_of_a_shard_is_the_one_in_the_format(void **state)
{
    (void)state;
    for (uint64_t seed = 0; seed < 1000; seed += 333)
        for (size_t k = 0; k < 5; k++) {
            bpcn_options o = {.seed = seed};
            assert_true(contents_shard_options(&o, k).seed ==
                        (k == 0 ? seed : splitmix(splitmix(splitmix(5) + seed) + (uint64_t)k)));
        }
}

static void rows_may_be_written_in_calls_of_any_length(void **state)
{
    (void)state;
    struct gallery *together = gallery_of(narrow(MOST, BPCN_RECYCLE), (MOST + 2) * ROWS, 34);
    bpcn_memory *m = make_memory(narrow(MOST, BPCN_RECYCLE));
    size_t all = (MOST + 2) * ROWS;
    for (size_t i = 0, n = 1; i < all; i += n, n = n % 7 + 1)
        assert_ok(bpcn_memory_write(m, together->x + i * PICTURE, NULL, n < all - i ? n : all - i, NULL));
    struct snapshot *s = snapshot_take(together->memory);
    assert_true(snapshot_same(s, m));
    snapshot_free(s);
    bpcn_memory_free(m);
    gallery_free(together);
}

static void a_shard_takes_memory_when_it_is_first_written(void **state)
{
    (void)state;
    bpcn_options one = narrow(1, BPCN_BLUR), o = narrow(MOST, BPCN_RECYCLE);
    one.surprises = o.surprises = one.deletable = o.deletable = 0; /* as many, whatever the shards */
    struct gallery *g = gallery_of(o, 2 * MOST * ROWS, 35);
    bpcn_memory *m = make_memory(o), *single = make_memory(one);
    size_t each = 0, most = stats_of(m).bytes_most;
    for (size_t i = 0; i < 2 * MOST * ROWS; i++) {
        size_t before = stats_of(m).bytes;
        assert_ok(bpcn_memory_write(m, g->x + i * PICTURE, NULL, 1, NULL));
        size_t grown = stats_of(m).bytes - before;
        if (i > 0 && i % ROWS == 0 && i < MOST * ROWS) {
            each = each > 0 ? each : grown;
            assert_true(grown == each && grown > 0);
        } else {
            assert_int_equal(grown, 0);
        }
        assert_int_equal(stats_of(m).bytes_most, most);
    }
    assert_int_equal(stats_of(m).bytes, most);
    assert_true(each < stats_of(single).bytes); /* as much as a memory of one, but for the handle */
    assert_true(each > stats_of(single).bytes / 2);
    bpcn_memory_free(m);
    bpcn_memory_free(single);
    gallery_free(g);
}

/* ---- when all are full */

static void a_full_memory_blurs_evenly(void **state)
{
    (void)state;
    struct gallery *g = gallery_of(narrow(3, BPCN_BLUR), 3 * ROWS + 7, 36);
    uint64_t rows[3];
    size_t begun;
    assert_ok(bpcn_memory_get_shards(g->memory, rows, 3, &begun));
    assert_int_equal(begun, 3);
    for (size_t k = 0; k < 3; k++)
        assert_int_equal(rows[k], ROWS + (k == 0 ? 3 : 2)); /* 7 rows over three, the first first */
    assert_int_equal(stats_of(g->memory).writes, 3 * ROWS + 7);
    gallery_free(g);
}

static void recycling_empties_the_oldest_shard_and_touches_no_other(void **state)
{
    (void)state;
    bpcn_options o = narrow(3, BPCN_RECYCLE);
    struct dice dice = {37};
    float x[9 * ROWS * PICTURE];
    bpcn_memory *m = make_memory(o);
    pictures(&dice, 9 * ROWS, x);
    assert_ok(bpcn_memory_write(m, x, NULL, 3 * ROWS, NULL));
    for (size_t round = 3; round < 9; round++) {
        size_t oldest = round % 3;
        bpcn_memory *own[3];
        for (size_t k = 0; k < 3; k++) /* what each has: the last ROWS that went to it, begun anew from its prior */
            own[k] = alone(&o, k, x + (k == oldest ? round : round - 3 + (k + 3 - oldest) % 3) * ROWS * PICTURE);
        for (size_t i = 0; i < ROWS; i++) {
            uint64_t rows[3];
            size_t begun;
            assert_ok(bpcn_memory_write(m, x + (round * ROWS + i) * PICTURE, NULL, 1, NULL));
            assert_ok(bpcn_memory_get_shards(m, rows, 3, &begun));
            assert_int_equal(rows[oldest], i + 1);
            assert_int_equal(stats_of(m).open_shard, oldest);
            for (size_t k = 0; k < 3; k++)
                if (k != oldest)
                    assert_true(same_shard(m, k, own[k], 0));
        }
        assert_true(same_shard(m, oldest, own[oldest], 0));
        for (size_t k = 0; k < 3; k++)
            bpcn_memory_free(own[k]);
    }
    bpcn_memory_free(m);
}

static void one_shard_can_be_recycled_too(void **state)
{
    (void)state;
    bpcn_options o = narrow(1, BPCN_RECYCLE);
    struct gallery *g = gallery_of(o, 3 * ROWS, 38);
    bpcn_memory *own = alone(&o, 0, g->x + 2 * ROWS * PICTURE);
    assert_true(same_shard(g->memory, 0, own, 0));
    bpcn_memory_free(own);
    gallery_free(g);
}

static void a_full_memory_that_refuses_changes_nothing_and_keeps_the_rows_before(void **state)
{
    (void)state;
    bpcn_options o = narrow(2, BPCN_REFUSE);
    struct gallery *full = gallery_of(o, 2 * ROWS, 39);
    bpcn_memory *m = make_memory(o);
    bpcn_write_row rows[3 * ROWS];
    bpcn_write_info info;
    float x[4 * ROWS * PICTURE];
    memcpy(x, full->x, sizeof x); /* and those unseen after them */
    bpcn_write_info_default(&info, sizeof info);
    info.rows = rows;
    assert_status(bpcn_memory_write(m, x, NULL, 3 * ROWS, &info), BPCN_FULL);
    assert_non_null(strstr(bpcn_error(), "full"));
    assert_string_equal(bpcn_status_name(BPCN_FULL), "full");
    assert_int_equal(info.written, 2 * ROWS);
    assert_int_equal(rows[2 * ROWS - 1].shard, 1);
    struct snapshot *s = snapshot_take(full->memory);
    assert_true(snapshot_same(s, m));
    assert_status(bpcn_memory_write(m, x, NULL, 1, &info), BPCN_FULL);
    assert_int_equal(info.written, 0);
    assert_true(snapshot_same(s, m));
    assert_ok(bpcn_memory_forget(m, 0)); /* all but writing goes on */
    assert_ok(bpcn_memory_delete(m, x));
    snapshot_free(s);
    bpcn_memory_free(m);
    gallery_free(full);
}

/* ---- changes of shards that are there */

static void a_row_is_deleted_from_the_shard_that_has_it(void **state)
{
    (void)state;
    for (size_t s = 0; s < SHAPES; s++) {
        enum { N = MOST * ROWS };
        struct gallery *g = gallery_of(shape(s), N, 50);
        for (size_t i = 1; i < N; i += 5) {
            bpcn_memory *before = make_memory(shape(s));
            assert_ok(bpcn_memory_write(before, g->x, NULL, N, NULL));
            struct snapshot *now = snapshot_take(g->memory);
            snapshot_restore(now, before);
            double there, gone;
            assert_ok(bpcn_memory_score(g->memory, g->x + i * PICTURE, NULL, 1, &there));
            assert_ok(bpcn_memory_delete(g->memory, g->x + i * PICTURE));
            assert_ok(bpcn_memory_score(g->memory, g->x + i * PICTURE, NULL, 1, &gone));
            assert_true(gone < there - 50); /* 192 entries, each a good part of a nat dearer */
            for (size_t k = 0; k < MOST; k++)
                assert_int_equal(same_shard(g->memory, k, before, k), k != i / ROWS);
            snapshot_free(now);
            bpcn_memory_free(before);
        }
        assert_int_equal(stats_of(g->memory).deletes, 5);
        gallery_free(g);
    }
}

static void a_row_that_no_shard_has_is_not_deleted(void **state)
{
    (void)state;
    for (size_t s = 0; s < SHAPES; s++) {
        enum { N = MOST * ROWS };
        struct gallery *g = gallery_of(shape(s), N, 51);
        struct snapshot *before = snapshot_take(g->memory);
        for (size_t i = 0; i < N; i++)
            assert_status(bpcn_memory_delete(g->memory, g->unseen + i * PICTURE), BPCN_NOT_HELD);
        assert_true(snapshot_same(before, g->memory));
        snapshot_free(before);
        gallery_free(g);
    }
}

static void forgetting_and_discounting_are_of_all_shards(void **state)
{
    (void)state;
    bpcn_options o = shape(2);
    struct gallery *g = gallery_of(o, MOST * ROWS, 52);
    for (size_t k = 0; k < MOST; k++) {
        bpcn_memory *own = alone(&o, k, g->x + k * ROWS * PICTURE);
        if (k == 0) {
            assert_ok(bpcn_memory_forget(g->memory, 0.25));
            assert_ok(bpcn_memory_discount(g->memory, 0.125));
        }
        assert_ok(bpcn_memory_forget(own, 0.25));
        assert_ok(bpcn_memory_discount(own, 0.125));
        assert_true(same_shard(g->memory, k, own, 0));
        bpcn_memory_free(own);
    }
    assert_int_equal(stats_of(g->memory).forgets, 2);
    assert_ok(bpcn_memory_forget(g->memory, 1)); /* the prior of each, whose weights stay */
    for (size_t k = 0; k < MOST; k++) {
        bpcn_options empty = contents_shard_options(&o, k);
        empty.shards = 1;
        bpcn_memory *own = make_memory(empty);
        double weights[2];
        assert_ok(bpcn_memory_get_weights(g->memory, k, weights));
        assert_ok(bpcn_memory_set_weights(own, 0, weights));
        for (size_t particle = 0; particle < 2; particle++)
            for (size_t l = 0; l < 2; l++)
                assert_true(same_layer(g->memory, k, own, 0, particle, l));
        bpcn_memory_free(own);
    }
    gallery_free(g);
}

static void the_minimiser_is_of_all_shards_and_of_those_to_come(void **state)
{
    (void)state;
    bpcn_options o = narrow(3, BPCN_BLUR), adam = o;
    adam.minimizer = BPCN_ADAM;
    adam.adam_steps = o.adam_steps = 5;
    adam.rounds = o.rounds = 2;
    struct gallery *set = gallery_of(o, ROWS, 53), *made = gallery_of(o, ROWS, 53);
    float x[2 * ROWS * PICTURE];
    struct dice dice = {54};
    pictures(&dice, 2 * ROWS, x);
    assert_ok(bpcn_memory_write(made->memory, x, NULL, 1, NULL)); /* shard 1 begins before, there after */
    for (struct gallery *g = set; g != NULL; g = g == set ? made : NULL)
        assert_ok(bpcn_memory_set_minimizer(g->memory, BPCN_ADAM));
    assert_ok(bpcn_memory_write(set->memory, x, NULL, 2 * ROWS, NULL));
    assert_ok(bpcn_memory_write(made->memory, x + PICTURE, NULL, 2 * ROWS - 1, NULL));
    assert_true(same_shard(set->memory, 0, made->memory, 0));
    assert_false(same_shard(set->memory, 1, made->memory, 1)); /* its first row was found otherwise */
    assert_true(same_shard(set->memory, 2, made->memory, 2));
    bpcn_options own = contents_shard_options(&adam, 2);
    own.shards = 1;
    bpcn_memory *m = make_memory(own);
    assert_ok(bpcn_memory_write(m, x + ROWS * PICTURE, NULL, ROWS, NULL));
    assert_true(same_shard(set->memory, 2, m, 0));
    struct answered r = answers_of(set->memory, x, NULL, ROWS, NULL);
    for (size_t i = 0; i < ROWS; i++)
        assert_true(r.info[i].shard < 3);
    answered_free(r);
    bpcn_memory_free(m);
    gallery_free(set);
    gallery_free(made);
}

static void parameters_are_those_of_the_shard_named(void **state)
{
    (void)state;
    struct gallery *g = gallery_of(shape(2), 2 * ROWS, 55);
    bpcn_memory *m = g->memory, *as_it_was = make_memory(shape(2));
    double mean[PICTURE * 16], u[16 * 16], top[12], variance, weights[2] = {0.25, 0.75};
    assert_ok(bpcn_memory_write(as_it_was, g->x, NULL, 2 * ROWS, NULL));
    for (size_t shard = 2; shard <= MOST; shard += MOST - 2) { /* one that has not begun, one that never will */
        struct snapshot *before = snapshot_take(m);
        assert_ok(bpcn_memory_get_layer(m, 1, 0, 0, mean, u));
        assert_ok(bpcn_memory_get_top(m, 1, 0, top, &variance));
        assert_status(bpcn_memory_get_layer(m, shard, 0, 0, mean, u), BPCN_INVALID);
        assert_non_null(strstr(bpcn_error(), "there is no shard"));
        assert_status(bpcn_memory_get_top(m, shard, 0, top, &variance), BPCN_INVALID);
        assert_status(bpcn_memory_get_weights(m, shard, weights), BPCN_INVALID);
        assert_status(bpcn_memory_set_layer(m, shard, 0, 0, mean, u), BPCN_INVALID);
        assert_status(bpcn_memory_set_top(m, shard, 0, top, 1), BPCN_INVALID);
        assert_status(bpcn_memory_set_weights(m, shard, weights), BPCN_INVALID);
        assert_status(bpcn_memory_get_layer(m, 1, 2, 0, mean, u), BPCN_INVALID);
        assert_status(bpcn_memory_get_layer(m, 1, 0, 2, mean, u), BPCN_INVALID);
        assert_true(snapshot_same(before, m));
        snapshot_free(before);
    }
    struct answered before = answers_of(m, g->x, NULL, 2 * ROWS, NULL);
    for (size_t j = 0; j < PICTURE * 16; j++)
        mean[j] = 0;
    assert_ok(bpcn_memory_set_layer(m, 1, 0, 0, mean, u));
    assert_ok(bpcn_memory_set_top(m, 1, 0, top, 2));
    weights[0] = 1, weights[1] = 0;
    assert_ok(bpcn_memory_set_weights(m, 1, weights));
    assert_true(same_shard(m, 0, as_it_was, 0));
    assert_false(same_shard(m, 1, as_it_was, 1));
    struct answered after = answers_of(m, g->x, NULL, 2 * ROWS, NULL);
    assert_memory_equal(before.out, after.out, ROWS * PICTURE * sizeof *after.out);
    for (size_t i = ROWS; i < 2 * ROWS; i++) /* nothing that was prepared of the old parameters answers */
        assert_memory_not_equal(before.out + i * PICTURE, after.out + i * PICTURE, PICTURE * sizeof *after.out);
    answered_free(before);
    answered_free(after);
    bpcn_memory_free(as_it_was);
    gallery_free(g);
}

/* ---- files */

static bpcn_memory *opened(const char *path, const bpcn_options *create)
{
    bpcn_open_options how;
    bpcn_memory *m = NULL;
    bpcn_open_options_default(&how, sizeof how);
    how.create = create;
    how.threads = 1;
    how.sync = BPCN_SYNC_MANUAL;
    assert_ok(bpcn_memory_open(path, &how, &m));
    return m;
}

static void check_same(const struct snapshot *want, const bpcn_memory *m, const bpcn_options *o)
{
    bpcn_options back = {.size = sizeof back};
    char note[8];
    size_t bytes;
    assert_true(snapshot_same(want, m));
    assert_ok(bpcn_memory_get_options(m, &back));
    assert_int_equal(back.shards, o->shards);
    assert_int_equal(back.shard_rows, o->shard_rows);
    assert_int_equal(back.when_full, o->when_full);
    assert_ok(bpcn_memory_get_note(m, note, sizeof note, &bytes));
    assert_int_equal(bytes, 6);
    assert_memory_equal(note, "shards", 6);
}

static void a_memory_of_shards_comes_back_from_its_file_to_the_bit(void **state)
{
    (void)state;
    for (size_t s = 0; s < 3 * SHAPES; s++) {
        char path[] = "/tmp/bpcn-shards-XXXXXX";
        bpcn_options o = shape(s % SHAPES);
        o.shards = 3;
        o.when_full = (bpcn_when_full)(s / SHAPES);
        size_t n = o.when_full == BPCN_REFUSE ? 3 * ROWS : 4 * ROWS + 1;
        struct gallery *g = gallery_of(o, n, 56);
        close(mkstemp(path));
        unlink(path);
        bpcn_memory *m = opened(path, &o), *copy = NULL;
        bpcn_file_info info = {.size = sizeof info};
        assert_ok(bpcn_memory_write(m, g->x, NULL, n, NULL));
        for (bpcn_memory *it = m; it != NULL; it = it == m ? g->memory : NULL) {
            assert_ok(bpcn_memory_delete(it, g->x + (n - 1) * PICTURE));
            assert_ok(bpcn_memory_discount(it, 0.01));
            assert_ok(bpcn_memory_set_note(it, "shards", 6));
        }
        struct snapshot *want = snapshot_take(g->memory);
        check_same(want, m, &o);
        assert_ok(bpcn_memory_get_file(m, &info));
        assert_int_equal(info.version, 3);
        if (o.when_full == BPCN_REFUSE)
            assert_status(bpcn_memory_write(m, g->x, NULL, 1, NULL), BPCN_FULL);
        assert_ok(bpcn_memory_close(m));
        m = opened(path, NULL); /* by its log */
        check_same(want, m, &o);
        assert_ok(bpcn_memory_checkpoint(m));
        check_same(want, m, &o);
        assert_ok(bpcn_memory_close(m));
        m = opened(path, NULL); /* by its snapshot */
        check_same(want, m, &o);
        assert_ok(bpcn_memory_load(path, &copy));
        check_same(want, copy, &o);
        assert_ok(bpcn_file_check(path, &info, &o));
        assert_int_equal(info.writes, n);
        bpcn_memory_free(copy);
        struct answered a = answers_of(m, g->x, NULL, n, NULL), b = answers_of(g->memory, g->x, NULL, n, NULL);
        assert_memory_equal(a.out, b.out, n * PICTURE * sizeof *a.out);
        assert_memory_equal(a.info, b.info, n * sizeof *a.info);
        answered_free(a);
        answered_free(b);
        assert_ok(bpcn_memory_close(m));
        unlink(path);
        snapshot_free(want);
        gallery_free(g);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_shard_is_the_memory_as_it_was_before_there_were_shards),
        cmocka_unit_test(impossible_shards_are_refused),
        cmocka_unit_test(rows_go_to_one_shard_after_the_other),
        cmocka_unit_test(without_a_number_of_rows_a_shard_has_as_many_as_units),
        cmocka_unit_test(a_shard_depends_on_its_number_and_its_rows_alone),
        cmocka_unit_test(the_seed_of_a_shard_is_the_one_in_the_format),
        cmocka_unit_test(rows_may_be_written_in_calls_of_any_length),
        cmocka_unit_test(a_shard_takes_memory_when_it_is_first_written),
        cmocka_unit_test(a_full_memory_blurs_evenly),
        cmocka_unit_test(recycling_empties_the_oldest_shard_and_touches_no_other),
        cmocka_unit_test(one_shard_can_be_recycled_too),
        cmocka_unit_test(a_full_memory_that_refuses_changes_nothing_and_keeps_the_rows_before),
        cmocka_unit_test(a_row_is_deleted_from_the_shard_that_has_it),
        cmocka_unit_test(a_row_that_no_shard_has_is_not_deleted),
        cmocka_unit_test(forgetting_and_discounting_are_of_all_shards),
        cmocka_unit_test(the_minimiser_is_of_all_shards_and_of_those_to_come),
        cmocka_unit_test(parameters_are_those_of_the_shard_named),
        cmocka_unit_test(a_memory_of_shards_comes_back_from_its_file_to_the_bit),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
