/* Notes, states that no file may hold, and arguments that are refused. */
#include "store_common.h"

#include "log.h"
#include "store.h"
#include "format.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

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
    struct transaction edit;
    size_t lost = 0;
    assert_int_equal(transaction_begin(&edit, m, CHANGE_WRITE), BPCN_OK);
    assert_int_equal(transaction_end(&edit, transaction_apply(&edit, &change), &lost), BPCN_NUMERIC);
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
    bpcn_options o = small_options();
    shard(&o);
    o.when_full = BPCN_BLUR;
    bpcn_memory *m = create_file(scratch("spoilt-shard"), &o, BPCN_SYNC_CALL);
    struct change change = {.kind = CHANGE_WRITE,
                            .shard = spoilt,
                            .begin = begin,
                            .rows = 1,
                            .x = (float[5]){0},
                            .codes = (float[7]){0},
                            .log_weights = (double[1]){0}};
    struct transaction edit;
    size_t lost = 0;
    for (uint64_t i = 0; i < 4; i++)
        assert_int_equal(write_row(m, i), BPCN_OK);
    uint32_t before = state_sum(m);
    assert_int_equal(transaction_begin(&edit, m, CHANGE_WRITE), BPCN_OK);
    assert_int_equal(transaction_apply(&edit, &change), BPCN_OK);
    m->contents.shard[spoilt]->particles[0].top_mean[0] = NAN; /* as an overflow would leave it */
    change.shard = 0;
    change.begin = 0;
    bpcn_status status = transaction_apply(&edit, next != NULL ? next : &change);
    assert_int_equal(status, BPCN_NUMERIC);
    assert_int_equal(transaction_end(&edit, status, &lost), BPCN_NUMERIC);
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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(note_is_kept_and_can_be_taken_away),
        cmocka_unit_test(memory_spoilt_by_overflow_is_taken_back),
        cmocka_unit_test(shard_spoilt_by_overflow_is_taken_back_before_others_follow),
        cmocka_unit_test(discount_too_small_to_compute_with_does_not_cost_the_memory),
        cmocka_unit_test(state_that_no_file_may_hold_is_not_saved),
        cmocka_unit_test(parameters_of_a_memory_without_a_file_can_be_set),
        cmocka_unit_test(wrong_ways_of_opening_are_refused_with_a_sentence),
        cmocka_unit_test(wrong_arguments_are_refused_with_a_sentence),
        cmocka_unit_test(fast_checksum_equals_the_plain_one_and_the_standard),
    };
    return cmocka_run_group_tests_name("notes and refusals of memory files", tests, NULL, NULL);
}
