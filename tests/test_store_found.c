/* What is found in files that were left torn or were damaged since. */
#include "store_common.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

enum { RECORD = 136 }; /* bytes in the log of a row of 5 entries with the small options (docs/FORMAT.md) */

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
    assert_int_equal(info.dropped_bytes, RECORD - 9);
    assert_int_equal(info.dropped_rows, 1);
    assert_int_equal(info.sealed, 0);
    assert_int_equal(info.records, 1);
    assert_int_equal(info.file_bytes, n - 9);
    m = reopen(scratch("torn"));
    assert_true(same_state(plain, m));
    assert_int_equal(bpcn_memory_get_file(m, &info), BPCN_OK);
    assert_int_equal(info.dropped_bytes, RECORD - 9);
    assert_int_equal(info.dropped_rows, 1);
    assert_int_equal(info.file_bytes, n - RECORD);
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
    memset(bytes + n - 2 * RECORD + 40, 0, 8); /* in the second of three records */
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
    for (size_t at = n - 2 * RECORD; at < n - RECORD; at++) /* the second record, its header and its checksums too */
        for (unsigned bit = 0; bit < 8; bit++) {
            bytes[at] ^= (unsigned char)(1u << bit);
            write_whole(scratch("batch"), bytes, n);
            bytes[at] ^= (unsigned char)(1u << bit);
            assert_int_equal(bpcn_memory_open(scratch("batch"), NULL, &m), BPCN_CORRUPT);
            assert_non_null(strstr(bpcn_error(), "record 1 of the log"));
            assert_non_null(strstr(bpcn_error(), "one bit of it is wrong"));
        }
    memset(bytes + n - 2 * RECORD + 40, 0, 80);
    write_whole(scratch("batch"), bytes, n);
    free(bytes);
    m = reopen(scratch("batch"));
    assert_int_equal(bpcn_memory_get_file(m, &info), BPCN_OK);
    assert_int_equal(info.records, 1);
    assert_int_equal(info.dropped_bytes, 2 * RECORD);
    assert_int_equal(info.dropped_rows, 2);
    bpcn_memory_free(m);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(torn_last_record_is_dropped_and_reported),
        cmocka_unit_test(damaged_record_that_was_safe_is_not_dropped),
        cmocka_unit_test(record_of_a_batch_never_synced_is_torn_unless_one_bit_is_wrong),
    };
    return cmocka_run_group_tests_name("memory files as they are found", tests, NULL, NULL);
}
