/* The life of a memory file in ordinary use: saved, opened, changed, folded, read beside its writer. The other
   tests/store_*.c attack it. */
#include "store_common.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

/* Every kind of change, the same in any memory. */
static void change_all_kinds(bpcn_memory *m)
{
    float rows[3 * 64];
    size_t dim = m->contents.shard[0]->width[0];
    for (uint64_t i = 0; i < 4; i++)
        assert_int_equal(write_row(m, i), BPCN_OK);
    for (size_t i = 0; i < 3; i++)
        make_row(10 + i, dim, rows + i * dim);
    assert_int_equal(bpcn_memory_write(m, rows, NULL, 3, NULL), BPCN_OK);
    for (size_t i = 0; i < 3; i++)
        make_row(20 + i, dim, rows + i * dim);
    assert_int_equal(write_together(m, rows, 3), BPCN_OK);
    assert_int_equal(bpcn_memory_forget(m, 0.01), BPCN_OK);
    assert_int_equal(bpcn_memory_forget(m, 0), BPCN_OK);
    assert_int_equal(bpcn_memory_discount(m, 0.125), BPCN_OK);
    assert_int_equal(bpcn_memory_set_note(m, "red \0 green", 11), BPCN_OK);
    assert_int_equal(bpcn_memory_set_minimizer(m, BPCN_ADAM), BPCN_OK);
    assert_int_equal(write_row(m, 30), BPCN_OK);
    assert_int_equal(bpcn_memory_set_minimizer(m, BPCN_LBFGS), BPCN_OK);
}

/* Shapes and precisions that differ in what the file holds. */
static bpcn_options variant(size_t i)
{
    bpcn_options o = small_options();
    if (i == 1)
        o.precision = BPCN_FLOAT64;
    if (i == 2) {
        o.particles = 3;
        o.resample = 1;
    }
    if (i == 3)
        o.layers = 0;
    if (i == 4) {
        o.dim = 64; /* a section of more than one block: 300 * 301 / 2 * 8 bytes of root */
        o.layers = 1;
        o.hidden[0] = 300;
        o.precision = BPCN_FLOAT64;
        o.activation = BPCN_TANH;
    }
    if (i == 5) {
        shard(&o);
        o.particles = 2;
    }
    if (i == 6) {
        shard(&o);
        o.when_full = BPCN_BLUR;
        o.precision = BPCN_FLOAT64;
    }
    return o;
}

enum { VARIANTS = 7 };

static void saved_and_loaded_memory_is_the_same_to_the_bit(void **state)
{
    (void)state;
    for (size_t i = 0; i < VARIANTS; i++) {
        bpcn_options o = variant(i), back = {.size = sizeof back};
        bpcn_memory *m = create_plain(&o), *copy;
        change_all_kinds(m);
        assert_int_equal(bpcn_memory_save(m, scratch("saved")), BPCN_OK);
        assert_int_equal(bpcn_memory_load(scratch("saved"), &copy), BPCN_OK);
        assert_true(same_state(m, copy));
        assert_int_equal(bpcn_memory_get_options(copy, &back), BPCN_OK);
        back.threads = o.threads;
        assert_int_equal(bpcn_memory_get_options(m, &o), BPCN_OK);
        for (size_t l = o.layers; l < BPCN_MAX_LAYERS; l++)
            back.hidden[l] = o.hidden[l]; /* widths of layers that do not exist are not kept */
        assert_memory_equal(&o, &back, sizeof o);
        copy->threads = 1; /* the same bits want the same number of threads */
        assert_int_equal(write_row(m, 99), write_row(copy, 99));
        assert_true(same_state(m, copy));
        bpcn_memory_free(m);
        bpcn_memory_free(copy);
    }
}

static void saving_twice_gives_the_same_file(void **state)
{
    size_t n, again;
    bpcn_options o = small_options();
    bpcn_memory *m = create_plain(&o);
    (void)state;
    change_all_kinds(m);
    assert_int_equal(bpcn_memory_save(m, scratch("once")), BPCN_OK);
    assert_int_equal(bpcn_memory_save(m, scratch("twice")), BPCN_OK);
    unsigned char *a = read_whole(scratch("once"), &n), *b = read_whole(scratch("twice"), &again);
    assert_int_equal(n, again);
    assert_memory_equal(a, b, n);
    free(a);
    free(b);
    bpcn_memory_free(m);
}

static void reopened_memory_is_the_same_to_the_bit_as_one_never_closed(void **state)
{
    (void)state;
    for (size_t i = 0; i < VARIANTS; i++)
        for (int sync = BPCN_SYNC_EACH; sync <= BPCN_SYNC_MANUAL; sync++) {
            bpcn_options o = variant(i);
            bpcn_memory *plain = create_plain(&o), *m = create_file(scratch("log"), &o, (bpcn_sync)sync);
            change_all_kinds(plain);
            change_all_kinds(m);
            assert_true(same_state(plain, m));
            assert_int_equal(bpcn_memory_close(m), BPCN_OK);
            m = reopen(scratch("log"));
            assert_true(same_state(plain, m));
            assert_int_equal(write_row(plain, 77), BPCN_OK);
            assert_int_equal(write_row(m, 77), BPCN_OK);
            bpcn_memory_free(m);
            m = reopen(scratch("log"));
            assert_true(same_state(plain, m));
            bpcn_memory_free(m);
            bpcn_memory_free(plain);
        }
}

/* The row is the last of three: of those, with shards of two, in the second. */
static void check_deleted(bpcn_options o)
{
    float row[5];
    o.particles = 2;
    bpcn_memory *plain = create_plain(&o), *m = create_file(scratch("deleted"), &o, BPCN_SYNC_EACH);
    for (uint64_t i = 0; i < 3; i++) {
        assert_int_equal(write_row(plain, i), BPCN_OK);
        assert_int_equal(write_row(m, i), BPCN_OK);
    }
    make_row(2, 5, row);
    bpcn_status status = bpcn_memory_delete(plain, row);
    assert_int_equal(bpcn_memory_delete(m, row), status);
    assert_int_equal(status, BPCN_OK);
    assert_true(same_state(plain, m));
    bpcn_memory_free(m);
    m = reopen(scratch("deleted"));
    assert_true(same_state(plain, m));
    bpcn_memory_free(m);
    bpcn_memory_free(plain);
}

static void deleted_row_stays_deleted_after_reopening(void **state)
{
    (void)state;
    check_deleted(small_options());
    check_deleted(variant(5));
}

static void check_checkpoint(bpcn_options o)
{
    bpcn_memory *plain = create_plain(&o), *m = create_file(scratch("folded"), &o, BPCN_SYNC_CALL);
    bpcn_file_info info = empty_info();
    change_all_kinds(plain);
    change_all_kinds(m);
    assert_int_equal(bpcn_memory_get_file(m, &info), BPCN_OK);
    assert_int_equal(info.records, 4 + 3 + 1 + 1 + 1 + 1 + 2 + 1);
    assert_int_equal(info.generation, 0);
    assert_true(info.log_bytes > 0);
    assert_int_equal(bpcn_memory_checkpoint(m), BPCN_OK);
    assert_int_equal(bpcn_memory_get_file(m, &info), BPCN_OK);
    assert_int_equal(info.records, 0);
    assert_int_equal(info.log_bytes, 0);
    assert_int_equal(info.generation, 1);
    assert_true(same_state(plain, m));
    assert_int_equal(write_row(m, 50), BPCN_OK);
    assert_int_equal(write_row(plain, 50), BPCN_OK);
    bpcn_memory_free(m);
    m = reopen(scratch("folded"));
    assert_true(same_state(plain, m));
    assert_int_equal(bpcn_memory_get_file(m, &info), BPCN_OK);
    assert_int_equal(info.replayed, 1);
    assert_int_equal(info.dropped_bytes, 0);
    assert_int_equal(info.writes, 12);
    bpcn_memory_free(m);
    bpcn_memory_free(plain);
}

static void checkpoint_keeps_the_state_and_empties_the_log(void **state)
{
    (void)state;
    check_checkpoint(variant(2));
    check_checkpoint(variant(5));
}

static void log_longer_than_asked_for_makes_a_checkpoint(void **state)
{
    bpcn_options o = small_options();
    bpcn_open_options how;
    bpcn_file_info info = empty_info();
    bpcn_memory *m;
    bpcn_open_options_default(&how, sizeof how);
    (void)state;
    how.create = &o;
    how.checkpoint_bytes = 560; /* a record of a row is 48 + 32 + 48 + 8 bytes: every fifth write */
    assert_int_equal(bpcn_memory_open(scratch("folding"), &how, &m), BPCN_OK);
    for (uint64_t i = 0; i < 11; i++)
        assert_int_equal(write_row(m, i), BPCN_OK);
    assert_int_equal(bpcn_memory_get_file(m, &info), BPCN_OK);
    assert_int_equal(info.generation, 2);
    assert_int_equal(info.records, 1);
    bpcn_memory_free(m);
}

/* A memory whose snapshot has grown is not folded at every MiB. */
static void log_may_grow_as_long_as_the_snapshot(void **state)
{
    static unsigned char note[BPCN_MAX_NOTE];
    bpcn_options o = small_options();
    bpcn_file_info info = empty_info();
    (void)state;
    o.dim = 64;
    o.layers = 1;
    o.hidden[0] = 100;
    o.shards = 40; /* of 100 x 64 means and 100 x 101 / 2 roots each: 2.6 MB */
    o.shard_rows = 1;
    bpcn_memory *m = create_file(scratch("grown"), &o, BPCN_SYNC_MANUAL);
    for (uint64_t i = 0; i < 40; i++)
        assert_int_equal(write_row(m, i), BPCN_OK);
    uint64_t generation = 0, folded[2] = {0};
    for (uint64_t notes = 0; generation < 2 && notes < 100; notes++) {
        assert_int_equal(bpcn_memory_set_note(m, note, sizeof note), BPCN_OK);
        assert_int_equal(bpcn_memory_get_file(m, &info), BPCN_OK);
        if (info.generation > generation)
            folded[generation++] = notes;
    }
    assert_int_equal(folded[0], 15);          /* 1 MiB, with the rows */
    assert_true(folded[1] - folded[0] >= 40); /* 2.6 MB and a note */
    bpcn_memory_free(m);
}

static void reader_sees_the_memory_as_it_was_and_cannot_change_it(void **state)
{
    bpcn_options o = small_options();
    bpcn_open_options how;
    bpcn_memory *m = create_file(scratch("shared"), &o, BPCN_SYNC_EACH), *reader;
    double u[9] = {1, 0, 0, 0, 1, 0, 0, 0, 1}, mean[12] = {0}, weight = 1;
    bpcn_open_options_default(&how, sizeof how);
    (void)state;
    change_all_kinds(m);
    how.read_only = 1;
    assert_int_equal(bpcn_memory_open(scratch("shared"), &how, &reader), BPCN_OK);
    assert_true(same_state(m, reader));
    uint32_t before = state_sum(reader);
    assert_int_equal(write_row(reader, 1), BPCN_READ_ONLY);
    assert_int_equal(bpcn_memory_forget(reader, 0.5), BPCN_READ_ONLY);
    assert_int_equal(bpcn_memory_delete(reader, (float[5]){0}), BPCN_READ_ONLY);
    assert_int_equal(bpcn_memory_set_note(reader, "x", 1), BPCN_READ_ONLY);
    assert_int_equal(bpcn_memory_checkpoint(reader), BPCN_READ_ONLY);
    assert_int_equal(bpcn_memory_sync(reader), BPCN_READ_ONLY);
    assert_int_equal(bpcn_memory_set_layer(reader, 0, 0, 1, mean, u), BPCN_READ_ONLY);
    assert_int_equal(bpcn_memory_set_top(reader, 0, 0, mean, 1), BPCN_READ_ONLY);
    assert_int_equal(bpcn_memory_set_weights(reader, 0, &weight), BPCN_READ_ONLY);
    assert_int_equal(write_row(m, 60), BPCN_OK);
    assert_int_equal(bpcn_memory_checkpoint(m), BPCN_OK);
    assert_int_equal(state_sum(reader), before);
    assert_int_equal(bpcn_memory_set_minimizer(reader, BPCN_ADAM), BPCN_OK); /* how it reads is its own choice */
    assert_int_equal(bpcn_memory_set_weights(m, 0, &weight), BPCN_READ_ONLY);
    bpcn_memory_free(reader);
    bpcn_memory_free(m);
}

/* What fades a memory goes from shard to shard, and one of them may have begun anew since it did last. */
static void log_may_fade_a_memory_before_and_after_a_shard_is_recycled(void **state)
{
    bpcn_options o = small_options();
    (void)state;
    shard(&o);
    bpcn_memory *plain = create_plain(&o), *m = create_file(scratch("faded"), &o, BPCN_SYNC_EACH);
    for (uint64_t i = 0; i < 16; i++) {
        assert_int_equal(write_row(plain, i), BPCN_OK);
        assert_int_equal(write_row(m, i), BPCN_OK);
        assert_int_equal(bpcn_memory_forget(plain, 0.01), BPCN_OK);
        assert_int_equal(bpcn_memory_forget(m, 0.01), BPCN_OK);
    }
    bpcn_memory_free(m);
    m = reopen(scratch("faded"));
    assert_true(same_state(plain, m));
    bpcn_memory_free(m);
    bpcn_memory_free(plain);
}

static void header_alone_tells_what_a_file_holds(void **state)
{
    bpcn_options o = variant(2);
    bpcn_memory *m = create_file(scratch("info"), &o, BPCN_SYNC_EACH);
    bpcn_file_info info = empty_info();
    bpcn_options inside = {.size = sizeof inside}, checked = {.size = sizeof checked};
    (void)state;
    change_all_kinds(m);
    assert_int_equal(bpcn_memory_checkpoint(m), BPCN_OK);
    assert_int_equal(write_row(m, 5), BPCN_OK);
    assert_int_equal(bpcn_file_inspect(scratch("info"), NULL, NULL), BPCN_OK);
    assert_int_equal(bpcn_file_inspect(scratch("info"), &info, &inside), BPCN_OK);
    assert_int_equal(bpcn_file_check(scratch("info"), NULL, &checked), BPCN_OK);
    assert_memory_equal(&inside, &checked, sizeof inside);
    assert_int_equal(info.version, 3);
    assert_int_equal(info.generation, 1);
    assert_int_equal(inside.particles, 3);
    assert_int_equal(inside.dim, 5);
    assert_int_equal(info.writes, 11);
    assert_int_equal(info.forgets, 2); /* and a discount */
    assert_int_equal(info.note_bytes, 11);
    assert_int_equal(info.file_bytes, info.snapshot_bytes + info.log_bytes);
    bpcn_memory_free(m);
    o = variant(5);
    m = create_file(scratch("info"), &o, BPCN_SYNC_EACH);
    change_all_kinds(m);
    assert_int_equal(bpcn_memory_checkpoint(m), BPCN_OK);
    assert_int_equal(bpcn_file_inspect(scratch("info"), &info, &inside), BPCN_OK);
    assert_int_equal(info.version, 3);
    assert_int_equal(info.writes, 11);
    assert_int_equal(inside.shards, 3);
    assert_int_equal(inside.shard_rows, 2);
    assert_int_equal(inside.when_full, BPCN_RECYCLE);
    bpcn_memory_free(m);
}

static void rows_with_holes_come_back_to_the_bit(void **state)
{
    (void)state;
    for (size_t i = 0; i < VARIANTS; i++) {
        bpcn_options o = variant(i);
        bpcn_file_info info = empty_info();
        bpcn_memory *m = create_file(scratch("holes"), &o, BPCN_SYNC_EACH), *plain = create_plain(&o);
        change_all_kinds(m);
        change_all_kinds(plain);
        assert_int_equal(bpcn_memory_checkpoint(m), BPCN_OK);
        for (uint64_t row = 40; row < 44; row++) {
            assert_int_equal(write_holes(m, row), BPCN_OK);
            assert_int_equal(write_holes(plain, row), BPCN_OK);
        }
        assert_true(same_state(m, plain));
        assert_int_equal(bpcn_memory_get_file(m, &info), BPCN_OK);
        assert_int_equal(info.records, 4);
        bpcn_memory_free(m);
        m = reopen(scratch("holes"));
        assert_true(same_state(m, plain));
        assert_int_equal(bpcn_memory_checkpoint(m), BPCN_OK);
        bpcn_memory_free(m);
        m = reopen(scratch("holes"));
        assert_true(same_state(m, plain));
        bpcn_memory_free(m);
        bpcn_memory_free(plain);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(saved_and_loaded_memory_is_the_same_to_the_bit),
        cmocka_unit_test(saving_twice_gives_the_same_file),
        cmocka_unit_test(reopened_memory_is_the_same_to_the_bit_as_one_never_closed),
        cmocka_unit_test(deleted_row_stays_deleted_after_reopening),
        cmocka_unit_test(checkpoint_keeps_the_state_and_empties_the_log),
        cmocka_unit_test(log_longer_than_asked_for_makes_a_checkpoint),
        cmocka_unit_test(log_may_grow_as_long_as_the_snapshot),
        cmocka_unit_test(reader_sees_the_memory_as_it_was_and_cannot_change_it),
        cmocka_unit_test(header_alone_tells_what_a_file_holds),
        cmocka_unit_test(log_may_fade_a_memory_before_and_after_a_shard_is_recycled),
        cmocka_unit_test(rows_with_holes_come_back_to_the_bit),
    };
    return cmocka_run_group_tests_name("memory file", tests, NULL, NULL);
}
