/* The laws of the memory file in ordinary use; the other tests/store_*.c attack it. */
#include "store_common.h"

#include "log.h"
#include "store.h"
#include "store_crc.h"

#include <errno.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

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
        crew_free(copy->crew); /* the same bits want the same number of threads */
        copy->crew = crew_create(1);
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
    how.checkpoint_bytes = 500; /* a record of a row is 48 + 16 + 48 + 8 bytes: every fifth write */
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

static void torn_last_record_is_dropped_and_reported(void **state)
{
    size_t n;
    bpcn_options o = small_options();
    bpcn_memory *plain = create_plain(&o), *m = create_file(scratch("torn"), &o, BPCN_SYNC_EACH);
    bpcn_file_info info = empty_info();
    (void)state;
    assert_int_equal(write_row(plain, 1), BPCN_OK);
    assert_int_equal(write_row(m, 1), BPCN_OK);
    assert_int_equal(write_row(m, 2), BPCN_OK);
    bpcn_memory_free(m);
    unsigned char *bytes = read_whole(scratch("torn"), &n);
    leave_open(bytes);
    write_whole(scratch("torn"), bytes, n - 9);
    free(bytes);
    assert_int_equal(bpcn_file_check(scratch("torn"), &info, NULL), BPCN_OK);
    assert_int_equal(info.dropped_bytes, 111);
    assert_int_equal(info.dropped_rows, 1);
    assert_int_equal(info.sealed, 0);
    assert_int_equal(info.records, 1);
    assert_int_equal(info.file_bytes, n - 9);
    m = reopen(scratch("torn"));
    assert_true(same_state(plain, m));
    assert_int_equal(bpcn_memory_get_file(m, &info), BPCN_OK);
    assert_int_equal(info.dropped_bytes, 111);
    assert_int_equal(info.dropped_rows, 1);
    assert_int_equal(info.file_bytes, n - 120);
    bpcn_memory_free(m);
    assert_int_equal(bpcn_file_check(scratch("torn"), &info, NULL), BPCN_OK);
    assert_int_equal(info.dropped_bytes, 0);
    assert_int_equal(info.sealed, 1);
    bpcn_memory_free(plain);
}

static void damaged_record_that_was_safe_is_not_dropped(void **state)
{
    size_t n;
    bpcn_options o = small_options();
    bpcn_memory *m = create_file(scratch("rotten"), &o, BPCN_SYNC_EACH);
    (void)state;
    for (uint64_t i = 0; i < 3; i++)
        assert_int_equal(write_row(m, i), BPCN_OK);
    bpcn_memory_free(m);
    unsigned char *bytes = read_whole(scratch("rotten"), &n);
    leave_open(bytes);
    memset(bytes + n - 200, 0, 8); /* in the second of three records of 120 bytes */
    write_whole(scratch("rotten"), bytes, n);
    free(bytes);
    assert_int_equal(bpcn_memory_open(scratch("rotten"), NULL, &m), BPCN_CORRUPT);
    assert_non_null(strstr(bpcn_error(), "record 1 of the log"));
}

/* Of a batch under one sync the disk may have had any sectors; but a single bit is not a sector. */
static void record_of_a_batch_never_synced_is_torn_unless_one_bit_is_wrong(void **state)
{
    size_t n;
    float rows[3 * 5];
    bpcn_options o = small_options();
    bpcn_memory *m = create_file(scratch("batch"), &o, BPCN_SYNC_CALL);
    bpcn_file_info info = empty_info();
    (void)state;
    for (size_t i = 0; i < 3; i++)
        make_row(i, 5, rows + 5 * i);
    assert_int_equal(bpcn_memory_write(m, rows, NULL, 3, NULL), BPCN_OK);
    bpcn_memory_free(m);
    unsigned char *bytes = read_whole(scratch("batch"), &n);
    leave_open(bytes);
    for (size_t at = n - 240; at < n - 120; at++) /* the second record, its header and its checksums too */
        for (unsigned bit = 0; bit < 8; bit++) {
            bytes[at] ^= (unsigned char)(1u << bit);
            write_whole(scratch("batch"), bytes, n);
            bytes[at] ^= (unsigned char)(1u << bit);
            assert_int_equal(bpcn_memory_open(scratch("batch"), NULL, &m), BPCN_CORRUPT);
            assert_non_null(strstr(bpcn_error(), "record 1 of the log"));
            assert_non_null(strstr(bpcn_error(), "one bit of it is wrong"));
        }
    memset(bytes + n - 200, 0, 80);
    write_whole(scratch("batch"), bytes, n);
    free(bytes);
    m = reopen(scratch("batch"));
    assert_int_equal(bpcn_memory_get_file(m, &info), BPCN_OK);
    assert_int_equal(info.records, 1);
    assert_int_equal(info.dropped_bytes, 240);
    assert_int_equal(info.dropped_rows, 2);
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

static void files_of_version_2_open(void **state)
{
    static const char *const names[] = {"tests/corpus/store/version-2-log", "tests/corpus/store/version-2-folded"};
    (void)state;
    for (size_t i = 0; i < 2; i++) {
        bpcn_file_info info = empty_info(), after = empty_info();
        bpcn_memory *m, *again;
        size_t n;
        unsigned char *bytes = read_whole(names[i], &n);
        assert_int_equal(bytes[8], 2);
        write_whole(scratch("version-2"), bytes, n);
        free(bytes);
        assert_int_equal(bpcn_file_check(scratch("version-2"), &info, NULL), BPCN_OK);
        assert_int_equal(info.version, 2);
        assert_int_equal(info.records > 0, i == 0);
        assert_true(info.writes > 6); /* more than three shards of two rows hold */
        assert_int_equal(bpcn_memory_load(scratch("version-2"), &m), BPCN_OK);
        again = reopen(scratch("version-2"));
        assert_true(same_state(m, again));
        bpcn_memory_free(again);
        bpcn_memory_free(m);
        assert_int_equal(bpcn_file_check(scratch("version-2"), &after, NULL), BPCN_OK);
        assert_int_equal(after.version, 3);
        assert_int_equal(after.sealed, 1);
        assert_int_equal(after.writes, info.writes);
    }
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

/* Kept from when there were only those: four rows, a forget and a note, in the log and folded. Their numbers are
   compared with what the rows are, to the noise of 0.1 with which they were written. */
static void files_of_version_1_open(void **state)
{
    static const char *const names[] = {"tests/corpus/store/version-1-log", "tests/corpus/store/version-1-folded"};
    (void)state;
    for (size_t i = 0; i < 2; i++) {
        bpcn_file_info info = empty_info();
        bpcn_options o = {.size = sizeof o};
        size_t n;
        unsigned char *bytes = read_whole(names[i], &n);
        assert_int_equal(bytes[8], 1);
        write_whole(scratch("version-1"), bytes, n);
        assert_int_equal(bpcn_file_check(scratch("version-1"), &info, NULL), BPCN_OK);
        assert_int_equal(info.version, 1);
        assert_int_equal(info.sealed, 0);
        bpcn_memory *m = reopen(scratch("version-1"));
        assert_int_equal(bpcn_memory_get_file(m, &info), BPCN_OK);
        assert_int_equal(info.version, 3); /* it was rewritten, so that it can be sealed */
        assert_int_equal(info.generation, i == 0 ? 1 : 2);
        assert_int_equal(info.replayed, i == 0 ? 6 : 0);
        assert_int_equal(info.writes, 4);
        assert_int_equal(info.forgets, 1);
        assert_int_equal(info.note_bytes, 9);
        assert_int_equal(bpcn_memory_get_options(m, &o), BPCN_OK);
        assert_int_equal(o.shards, 1);
        assert_int_equal(o.shard_rows, 4); /* the width of layer 1 */
        assert_int_equal(o.when_full, BPCN_BLUR);
        for (uint64_t row = 0; row < 4; row++) {
            float x[5], out[5];
            make_row(row, 5, x);
            assert_int_equal(bpcn_memory_read(m, x, NULL, 1, NULL, out, NULL), BPCN_OK);
            for (size_t j = 0; j < 5; j++)
                assert_true(fabsf(out[j] - x[j]) < 0.5f);
        }
        assert_int_equal(write_row(m, 5), BPCN_OK);
        assert_int_equal(bpcn_memory_checkpoint(m), BPCN_OK);
        bpcn_memory_free(m);
        free(bytes);
        bytes = read_whole(scratch("version-1"), &n);
        assert_int_equal(bytes[8], 3);
        free(bytes);
    }
}

static void note_is_kept_and_can_be_taken_away(void **state)
{
    char back[16];
    size_t n;
    static unsigned char longest[BPCN_MAX_NOTE + 1];
    bpcn_options o = small_options();
    bpcn_memory *m = create_file(scratch("note"), &o, BPCN_SYNC_EACH);
    (void)state;
    assert_int_equal(bpcn_memory_get_note(m, back, sizeof back, &n), BPCN_OK);
    assert_int_equal(n, 0);
    assert_int_equal(bpcn_memory_set_note(m, "fields: a b", 11), BPCN_OK);
    bpcn_memory_free(m);
    m = reopen(scratch("note"));
    assert_int_equal(bpcn_memory_get_note(m, back, 6, &n), BPCN_OK);
    assert_int_equal(n, 11);
    assert_memory_equal(back, "fields", 6);
    memset(longest, 3, sizeof longest);
    assert_int_equal(bpcn_memory_set_note(m, longest, BPCN_MAX_NOTE + 1), BPCN_INVALID);
    assert_int_equal(bpcn_memory_set_note(m, longest, BPCN_MAX_NOTE), BPCN_OK);
    bpcn_memory_free(m);
    m = reopen(scratch("note"));
    assert_int_equal(m->contents.note_bytes, BPCN_MAX_NOTE);
    assert_memory_equal(m->contents.note, longest, BPCN_MAX_NOTE);
    assert_int_equal(bpcn_memory_checkpoint(m), BPCN_OK);
    assert_int_equal(bpcn_memory_set_note(m, NULL, 0), BPCN_OK);
    bpcn_memory_free(m);
    m = reopen(scratch("note"));
    assert_int_equal(bpcn_memory_get_note(m, NULL, 0, &n), BPCN_OK);
    assert_int_equal(n, 0);
    bpcn_memory_free(m);
}

static void memory_spoilt_by_overflow_is_taken_back(void **state)
{
    /* The mean's step is the gain k / a times the error: with a prior far wider than the noise it
       overflows although the row's energy is finite. */
    float row[5] = {9e14f, -9e14f, 9e14f, -9e14f, 9e14f};
    bpcn_write_info info;
    bpcn_options o = small_options();
    bpcn_write_info_default(&info, sizeof info);
    o.sigma_w = 1e16;
    o.sigma_x = 1e-16;
    (void)state;
    bpcn_memory *m = create_file(scratch("spoilt"), &o, BPCN_SYNC_EACH);
    assert_int_equal(write_row(m, 1), BPCN_OK);
    uint32_t before = state_sum(m);
    bpcn_status status = bpcn_memory_write(m, row, NULL, 1, &info);
    if (status != BPCN_OK) { /* refused before or taken back after: the same for the caller */
        assert_int_equal(status, BPCN_NUMERIC);
        assert_int_equal(info.written, 0);
        assert_int_equal(state_sum(m), before);
    }
    m->contents.shard[0]->particles[0].top_mean[0] = NAN; /* as an overflow would leave it */
    struct change change = {
        .kind = CHANGE_WRITE, .rows = 1, .x = row, .codes = (float[7]){0}, .log_weights = (double[1]){0}};
    struct edit edit;
    size_t lost = 0;
    assert_int_equal(edit_begin(&edit, m, CHANGE_WRITE), BPCN_OK);
    assert_int_equal(edit_end(&edit, edit_make(&edit, &change), &lost), BPCN_NUMERIC);
    assert_int_equal(lost, 1);
    if (status != BPCN_OK)
        assert_int_equal(state_sum(m), before);
    assert_int_equal(write_row(m, 2), BPCN_OK);
    before = state_sum(m);
    bpcn_memory_free(m);
    m = reopen(scratch("spoilt"));
    assert_int_equal(state_sum(m), before);
    bpcn_memory_free(m);
}

/* Rows of several shards in one call: the one that overflows is not the last. */
static void check_spoilt_shard(size_t spoilt, int begin, const struct change *next)
{
    bpcn_options o = variant(6);
    o.precision = BPCN_FLOAT32;
    bpcn_memory *m = create_file(scratch("spoilt-shard"), &o, BPCN_SYNC_CALL);
    struct change change = {.kind = CHANGE_WRITE,
                            .shard = spoilt,
                            .begin = begin,
                            .rows = 1,
                            .x = (float[5]){0},
                            .codes = (float[7]){0},
                            .log_weights = (double[1]){0}};
    struct edit edit;
    size_t lost = 0;
    for (uint64_t i = 0; i < 4; i++)
        assert_int_equal(write_row(m, i), BPCN_OK);
    uint32_t before = state_sum(m);
    assert_int_equal(edit_begin(&edit, m, CHANGE_WRITE), BPCN_OK);
    assert_int_equal(edit_make(&edit, &change), BPCN_OK);
    m->contents.shard[spoilt]->particles[0].top_mean[0] = NAN; /* as an overflow would leave it */
    change.shard = 0;
    change.begin = 0;
    bpcn_status status = edit_make(&edit, next != NULL ? next : &change);
    assert_int_equal(status, BPCN_NUMERIC);
    assert_int_equal(edit_end(&edit, status, &lost), BPCN_NUMERIC);
    assert_int_equal(lost, 1);
    assert_int_equal(state_sum(m), before);
    for (uint64_t i = 50; i < 55; i++) /* all goes on */
        assert_int_equal(write_row(m, i), BPCN_OK);
    before = state_sum(m);
    bpcn_memory_free(m);
    m = reopen(scratch("spoilt-shard"));
    assert_int_equal(state_sum(m), before);
    bpcn_memory_free(m);
}

static void shard_spoilt_by_overflow_is_taken_back_before_others_follow(void **state)
{
    struct change forget = {.kind = CHANGE_FORGET, .beta = 0.5};
    (void)state;
    check_spoilt_shard(1, 0, NULL);
    check_spoilt_shard(1, 0, &forget);
    check_spoilt_shard(2, 1, NULL); /* one that began with the row, and is gone again */
}

static void discount_too_small_to_compute_with_does_not_cost_the_memory(void **state)
{
    bpcn_options o = small_options();
    bpcn_memory *m = create_file(scratch("tiny"), &o, BPCN_SYNC_EACH);
    (void)state;
    assert_int_equal(write_row(m, 1), BPCN_OK);
    uint32_t before = state_sum(m);
    bpcn_status status = bpcn_memory_discount(m, 1e-310); /* 1 / beta is infinite */
    assert_true(status == BPCN_OK || (status == BPCN_NUMERIC && state_sum(m) == before));
    before = state_sum(m);
    bpcn_memory_free(m);
    m = reopen(scratch("tiny"));
    assert_int_equal(state_sum(m), before);
    bpcn_memory_free(m);
}

static void state_that_no_file_may_hold_is_not_saved(void **state)
{
    bpcn_options o = small_options();
    bpcn_memory *m = create_plain(&o), *file = create_file(scratch("unsound"), &o, BPCN_SYNC_EACH);
    (void)state;
    m->contents.shard[0]->particles[0].top_variance = INFINITY;
    file->contents.shard[0]->particles[0].top_variance = INFINITY;
    assert_int_equal(bpcn_memory_save(m, scratch("never")), BPCN_NUMERIC);
    assert_int_equal(access(scratch("never"), F_OK), -1);
    assert_int_equal(bpcn_memory_checkpoint(file), BPCN_NUMERIC);
    struct change change = {
        .kind = CHANGE_WRITE, .rows = 1, .x = (float[5]){0}, .codes = (float[7]){NAN}, .log_weights = (double[1]){0}};
    assert_int_equal(store_append(file->store, &file->contents, &change), BPCN_NUMERIC);
    change.codes = (float[7]){0};
    change.log_weights = (double[1]){NAN};
    assert_int_equal(store_append(file->store, &file->contents, &change), BPCN_NUMERIC);
    bpcn_memory_free(m);
    bpcn_memory_free(file);
    assert_int_equal(bpcn_file_check(scratch("unsound"), NULL, NULL), BPCN_OK);
}

static void parameters_of_a_memory_without_a_file_can_be_set(void **state)
{
    bpcn_options o = small_options();
    bpcn_memory *m = create_plain(&o), *copy;
    double mean[12] = {0.5}, u[9] = {1, 0, 0, 0, 1, 0, 0, 0, 1}, weight = 1;
    (void)state;
    assert_int_equal(bpcn_memory_set_layer(m, 0, 0, 1, mean, u), BPCN_OK);
    assert_int_equal(bpcn_memory_set_top(m, 0, 0, mean, 1), BPCN_OK);
    assert_int_equal(bpcn_memory_set_weights(m, 0, &weight), BPCN_OK);
    assert_int_equal(bpcn_memory_save(m, scratch("set")), BPCN_OK);
    assert_int_equal(bpcn_memory_load(scratch("set"), &copy), BPCN_OK);
    assert_true(same_state(m, copy));
    bpcn_memory_free(m);
    bpcn_memory_free(copy);
}

static void wrong_ways_of_opening_are_refused_with_a_sentence(void **state)
{
    char longest[5000];
    bpcn_options o = small_options(), bad = small_options();
    bpcn_open_options how;
    bpcn_memory *m = create_plain(&o), *out;
    bpcn_open_options_default(&how, sizeof how);
    (void)state;
    memset(longest, 'a', sizeof longest - 1);
    longest[sizeof longest - 1] = '\0';
    assert_int_equal(bpcn_memory_open(NULL, NULL, &out), BPCN_INVALID);
    assert_int_equal(bpcn_memory_open("x", NULL, NULL), BPCN_INVALID);
    assert_int_equal(bpcn_memory_open("", NULL, &out), BPCN_INVALID);
    assert_int_equal(bpcn_memory_open(longest, NULL, &out), BPCN_INVALID);
    assert_int_equal(bpcn_memory_save(m, longest), BPCN_INVALID);
    how.size = 1;
    assert_int_equal(bpcn_memory_open("x", &how, &out), BPCN_INVALID);
    bpcn_open_options_default(&how, sizeof how);
    how.create = &o;
    how.read_only = 1;
    assert_int_equal(bpcn_memory_open("x", &how, &out), BPCN_INVALID);
    bpcn_open_options_default(&how, sizeof how);
    how.sync = (bpcn_sync)3;
    assert_int_equal(bpcn_memory_open("x", &how, &out), BPCN_INVALID);
    bpcn_open_options_default(&how, sizeof how);
    how.threads = -1;
    assert_int_equal(bpcn_memory_open("x", &how, &out), BPCN_INVALID);
    how.threads = 1025;
    assert_int_equal(bpcn_memory_open("x", &how, &out), BPCN_INVALID);
    how.threads = 1;
    bad.dim = 0;
    how.create = &bad;
    assert_int_equal(bpcn_memory_open(scratch("bad"), &how, &out), BPCN_INVALID);
    how.create = &o;
    assert_int_equal(bpcn_memory_open(scratch("no/such/folder"), &how, &out), BPCN_IO);
    assert_int_equal(bpcn_memory_open(scratch("fine"), &how, &out), BPCN_OK);
    bpcn_memory_free(out);
    bpcn_memory_free(m);
}

static void wrong_arguments_are_refused_with_a_sentence(void **state)
{
    size_t n;
    bpcn_options o = small_options();
    bpcn_file_info info = empty_info(), wrong = {.size = 3};
    bpcn_options short_options = {.size = 3};
    bpcn_memory *m = create_plain(&o), *out;
    (void)state;
    assert_int_equal(bpcn_memory_load("x", NULL), BPCN_INVALID);
    assert_int_equal(bpcn_memory_load(NULL, &out), BPCN_INVALID);
    assert_int_equal(bpcn_memory_save(NULL, "x"), BPCN_INVALID);
    assert_int_equal(bpcn_memory_save(m, NULL), BPCN_INVALID);
    assert_int_equal(bpcn_memory_sync(NULL), BPCN_INVALID);
    assert_int_equal(bpcn_memory_sync(m), BPCN_INVALID);
    assert_int_equal(bpcn_memory_checkpoint(m), BPCN_INVALID);
    assert_int_equal(bpcn_memory_close(NULL), BPCN_OK);
    assert_int_equal(bpcn_memory_get_file(m, &info), BPCN_INVALID);
    assert_int_equal(bpcn_file_inspect(NULL, &info, NULL), BPCN_INVALID);
    assert_int_equal(bpcn_file_inspect("x", &wrong, NULL), BPCN_INVALID);
    assert_int_equal(bpcn_file_check(NULL, NULL, NULL), BPCN_INVALID);
    assert_int_equal(bpcn_file_inspect("x", NULL, &short_options), BPCN_INVALID);
    assert_int_equal(bpcn_file_check("x", &wrong, NULL), BPCN_INVALID);
    assert_int_equal(bpcn_file_check("x", NULL, &short_options), BPCN_INVALID);
    assert_int_equal(bpcn_memory_set_note(NULL, "x", 1), BPCN_INVALID);
    assert_int_equal(bpcn_memory_set_note(m, NULL, 1), BPCN_INVALID);
    assert_int_equal(bpcn_memory_get_note(NULL, NULL, 0, &n), BPCN_INVALID);
    assert_int_equal(bpcn_memory_get_note(m, NULL, 0, NULL), BPCN_INVALID);
    assert_int_equal(bpcn_memory_get_note(m, NULL, 1, &n), BPCN_INVALID);
    bpcn_memory_free(m);
    m = create_file(scratch("args"), &o, BPCN_SYNC_EACH);
    assert_int_equal(bpcn_memory_get_file(m, NULL), BPCN_INVALID);
    assert_int_equal(bpcn_memory_get_file(m, &wrong), BPCN_INVALID);
    assert_int_equal(bpcn_memory_close(m), BPCN_OK);
}

static void fast_checksum_equals_the_plain_one_and_the_standard(void **state)
{
    unsigned char bytes[300];
    uint64_t random = 1;
    (void)state;
    for (size_t i = 0; i < sizeof bytes; i++)
        bytes[i] = (unsigned char)next_random(&random);
    assert_int_equal(crc32c(0, "123456789", 9), 0xe3069283u); /* the check value of CRC-32C */
    for (size_t n = 0; n < sizeof bytes; n++) {
        assert_int_equal(crc32c(0, bytes, n), crc32c_plain(0, bytes, n));
        assert_int_equal(crc32c(crc32c(0, bytes, n), bytes + n, sizeof bytes - n), crc32c(0, bytes, sizeof bytes));
    }
}

static void statuses_of_files_have_names(void **state)
{
    static const char *const names[] = {"io", "format", "newer", "corrupt", "busy", "read_only"};
    (void)state;
    for (int i = 0; i < 6; i++)
        assert_string_equal(bpcn_status_name((bpcn_status)(BPCN_IO + i)), names[i]);
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
        cmocka_unit_test(torn_last_record_is_dropped_and_reported),
        cmocka_unit_test(damaged_record_that_was_safe_is_not_dropped),
        cmocka_unit_test(record_of_a_batch_never_synced_is_torn_unless_one_bit_is_wrong),
        cmocka_unit_test(header_alone_tells_what_a_file_holds),
        cmocka_unit_test(log_may_fade_a_memory_before_and_after_a_shard_is_recycled),
        cmocka_unit_test(rows_with_holes_come_back_to_the_bit),
        cmocka_unit_test(files_of_version_1_open),
        cmocka_unit_test(files_of_version_2_open),
        cmocka_unit_test(note_is_kept_and_can_be_taken_away),
        cmocka_unit_test(memory_spoilt_by_overflow_is_taken_back),
        cmocka_unit_test(shard_spoilt_by_overflow_is_taken_back_before_others_follow),
        cmocka_unit_test(discount_too_small_to_compute_with_does_not_cost_the_memory),
        cmocka_unit_test(state_that_no_file_may_hold_is_not_saved),
        cmocka_unit_test(parameters_of_a_memory_without_a_file_can_be_set),
        cmocka_unit_test(wrong_ways_of_opening_are_refused_with_a_sentence),
        cmocka_unit_test(wrong_arguments_are_refused_with_a_sentence),
        cmocka_unit_test(fast_checksum_equals_the_plain_one_and_the_standard),
        cmocka_unit_test(statuses_of_files_have_names),
    };
    return cmocka_run_group_tests_name("memory file", tests, NULL, NULL);
}
