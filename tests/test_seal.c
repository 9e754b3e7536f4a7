/* Seals: what opening and closing a memory file costs and changes, and what is recovered of a damaged one. */
#include "store_common.h"
#include "store_seam.h"

#include "format.h"
#include "store.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

enum { RECORD = 136 }; /* bytes of a row's record in a memory of small_options */

/* ---- what it costs */

struct counts {
    int syncs, writes;
};

static int allow(void *user, const struct event *event, size_t *most)
{
    struct counts *counts = user;
    (void)most;
    counts->syncs += event->call == CALL_SYNC;
    counts->writes += event->call == CALL_WRITE || event->call == CALL_TRUNCATE;
    return 0;
}

static void closing_costs_one_sync_more(void **state)
{
    struct counts counts = {0};
    struct seam seam = {.user = &counts, .before = allow};
    bpcn_options o = small_options();
    bpcn_open_options how;
    bpcn_memory *m;
    (void)state;
    bpcn_memory_free(create_file(scratch("cost"), &o, BPCN_SYNC_EACH));
    bpcn_open_options_default(&how, sizeof how);
    seam_start(&seam);
    assert_int_equal(memory_open(&seam.ops, scratch("cost"), &how, &m), BPCN_OK);
    for (uint64_t i = 0; i < 3; i++)
        assert_int_equal(write_row(m, i), BPCN_OK);
    assert_int_equal(counts.syncs, 3);
    assert_int_equal(bpcn_memory_close(m), BPCN_OK);
    assert_int_equal(counts.syncs, 4);
    how.sync = BPCN_SYNC_MANUAL;
    assert_int_equal(memory_open(&seam.ops, scratch("cost"), &how, &m), BPCN_OK);
    counts = (struct counts){0};
    assert_int_equal(write_row(m, 4), BPCN_OK);
    assert_int_equal(bpcn_memory_close(m), BPCN_OK);
    assert_int_equal(counts.syncs, 2); /* the log's, which must be first, and the seal's */
}

static void opening_without_a_change_changes_nothing(void **state)
{
    struct counts counts = {0};
    struct seam seam = {.user = &counts, .before = allow};
    bpcn_options o = small_options();
    bpcn_open_options how;
    bpcn_memory *m = create_file(scratch("looked-at"), &o, BPCN_SYNC_EACH);
    (void)state;
    assert_int_equal(write_row(m, 1), BPCN_OK);
    bpcn_memory_free(m);
    bpcn_open_options_default(&how, sizeof how);
    seam_start(&seam);
    for (how.read_only = 0; how.read_only < 2; how.read_only++) {
        assert_int_equal(memory_open(&seam.ops, scratch("looked-at"), &how, &m), BPCN_OK);
        assert_int_equal(bpcn_memory_close(m), BPCN_OK);
        assert_int_equal(counts.writes, 0);
    }
    assert_int_equal(counts.syncs, 1); /* the writer makes sure of what it read */
}

/* ---- what a crash may leave of a file that was closed with one row, and then written to */

/* Bytes of the file with the second row, closed; *before of it with the first. */
static unsigned char *two_rows(size_t *n, unsigned char **before)
{
    bpcn_options o = small_options();
    size_t first;
    bpcn_memory *m = create_file(scratch("two"), &o, BPCN_SYNC_EACH);
    assert_int_equal(write_row(m, 1), BPCN_OK);
    bpcn_memory_free(m);
    *before = read_whole(scratch("two"), &first);
    m = reopen(scratch("two"));
    assert_int_equal(write_row(m, 2), BPCN_OK);
    bpcn_memory_free(m);
    unsigned char *bytes = read_whole(scratch("two"), n);
    assert_int_equal(*n, first + RECORD);
    return bytes;
}

/* Opens these bytes and says how many rows are there; then closes them, and they are sealed. */
static uint64_t rows_of(const unsigned char *bytes, size_t n)
{
    bpcn_file_info info = empty_info();
    write_whole(scratch("crashed"), bytes, n);
    bpcn_memory_free(reopen(scratch("crashed")));
    assert_int_equal(bpcn_file_check(scratch("crashed"), &info, NULL), BPCN_OK);
    assert_int_equal(info.sealed, 1);
    return info.writes;
}

static void crash_before_the_seal_was_opened_on_disk_is_no_damage(void **state)
{
    size_t n;
    unsigned char *before, *bytes = two_rows(&n, &before);
    (void)state;
    memcpy(bytes + HEADER_BYTES, before + HEADER_BYTES, SEALS * SEAL_BYTES); /* the record came first */
    assert_int_equal(rows_of(bytes, n), 2);
    memset(bytes + n - 60, 0, 60); /* or a part of it */
    assert_int_equal(rows_of(bytes, n), 1);
    assert_int_equal(rows_of(bytes, n - 60), 1);
    memset(bytes + HEADER_BYTES + SEAL_BYTES, 0xa5, SEAL_BYTES); /* the slot it was to be opened in is torn as well */
    assert_int_equal(rows_of(bytes, n), 1);
    bytes[n - RECORD - 20]++; /* but what had been closed is as it was */
    write_whole(scratch("crashed"), bytes, n);
    assert_int_equal(bpcn_file_check(scratch("crashed"), NULL, NULL), BPCN_CORRUPT);
    free(bytes);
    free(before);
}

static void crash_while_a_file_is_sealed_leaves_it_whole(void **state)
{
    size_t n;
    unsigned char *before, *bytes = two_rows(&n, &before);
    struct seal seal;
    (void)state;
    assert_int_equal(seals_decode(bytes + HEADER_BYTES, get32(bytes + HEADER_BYTES - 4), &seal), 0);
    assert_false(seal.open || seal.doubtful);
    memset(bytes + seal_offset(&seal), 0xa5, SEAL_BYTES);
    assert_int_equal(rows_of(bytes, n), 2);
    write_whole(scratch("crashed"), bytes, n - 8); /* the log was synced before: this is no crash */
    assert_int_equal(bpcn_file_check(scratch("crashed"), NULL, NULL), BPCN_CORRUPT);
    free(bytes);
    free(before);
}

/* A crash tore the seal; a writer opens the file, and power fails while he appends: his tear is no damage. */
static void torn_seal_is_written_again_before_anything_is_appended(void **state)
{
    size_t n, after;
    unsigned char *before, *bytes = two_rows(&n, &before);
    struct seal seal;
    (void)state;
    assert_int_equal(seals_decode(bytes + HEADER_BYTES, get32(bytes + HEADER_BYTES - 4), &seal), 0);
    memset(bytes + seal_offset(&seal), 0xa5, SEAL_BYTES);
    write_whole(scratch("crashed"), bytes, n);
    bpcn_memory *m = reopen(scratch("crashed"));
    assert_int_equal(write_row(m, 3), BPCN_OK);
    unsigned char *torn = read_whole(scratch("crashed"), &after);
    bpcn_memory_free(m);
    assert_int_equal(after, n + RECORD);
    assert_int_equal(rows_of(torn, n + 60), 2);
    free(torn);
    free(bytes);
    free(before);
}

/* ---- a reader beside a writer */

static int reads_of_seals;
static uint64_t log_at;

/* The first look finds a seal half written, and a record half appended after it. */
static ssize_t read_too_early(void *context, int fd, void *bytes, size_t n, uint64_t offset)
{
    ssize_t got = file_posix.read(context, fd, bytes, n, offset);
    reads_of_seals += offset == HEADER_BYTES && n == SEALS * SEAL_BYTES;
    if (offset == HEADER_BYTES && reads_of_seals == 1)
        memset((char *)bytes + 32, 0xa5, 16); /* of slot 0, the newer */
    if (offset >= log_at && reads_of_seals == 1)
        memset(bytes, 0, n);
    return got;
}

static void reader_who_met_a_half_written_seal_looks_again(void **state)
{
    struct file_ops ops = file_posix;
    bpcn_options o = small_options();
    bpcn_file_info info = empty_info();
    bpcn_memory *m = create_file(scratch("met"), &o, BPCN_SYNC_EACH);
    (void)state;
    assert_int_equal(write_row(m, 1), BPCN_OK);
    store_info(m->store, &m->contents, &info);
    log_at = info.snapshot_bytes;
    bpcn_memory_free(m);
    ops.read = read_too_early;
    assert_int_equal(memory_load(&ops, scratch("met"), &m, &info), BPCN_OK);
    assert_int_equal(info.records, 1);
    assert_int_equal(reads_of_seals, 3); /* too early, whether it has moved, and again */
    bpcn_memory_free(m);
}

/* ---- recovery */

static char told[2048];

static void listen(void *user, const char *what)
{
    size_t used = strlen(told);
    (void)user;
    snprintf(told + used, sizeof told - used, "%s\n", what);
}

static bpcn_recovery recover(const unsigned char *bytes, size_t n, bpcn_status expected)
{
    bpcn_recovery report = {.size = sizeof report, .tell = listen};
    told[0] = '\0';
    write_whole(scratch("broken"), bytes, n);
    unlink(scratch("mended"));
    assert_int_equal(bpcn_file_recover(scratch("broken"), scratch("mended"), &report), expected);
    return report;
}

static unsigned char *file_of_rows(const bpcn_options *o, uint64_t folded, uint64_t logged, size_t *n)
{
    bpcn_memory *m = create_file(scratch("rows"), o, BPCN_SYNC_CALL);
    assert_int_equal(bpcn_memory_set_note(m, "a note", 6), BPCN_OK);
    for (uint64_t i = 0; i < folded; i++)
        assert_int_equal(write_row(m, i), BPCN_OK);
    assert_int_equal(bpcn_memory_checkpoint(m), BPCN_OK);
    for (uint64_t i = folded; i < folded + logged; i++)
        assert_int_equal(write_row(m, i), BPCN_OK);
    bpcn_memory_free(m);
    return read_whole(scratch("rows"), n);
}

static void recovery_keeps_every_whole_record_and_mends_one_bit(void **state)
{
    bpcn_options o = small_options();
    size_t n;
    unsigned char *bytes = file_of_rows(&o, 1, 5, &n);
    bpcn_memory *whole, *mended;
    (void)state;
    bpcn_recovery r = recover(bytes, n, BPCN_OK);
    assert_int_equal(r.writes, 6);
    assert_int_equal(r.rows, 5);
    assert_string_equal(told, "");
    bytes[n - 3 * RECORD + 70] ^= 8; /* a bit of the third */
    r = recover(bytes, n, BPCN_OK);
    assert_int_equal(r.mended, 1);
    assert_int_equal(r.rows, 5);
    assert_non_null(strstr(told, "had one wrong bit"));
    assert_int_equal(bpcn_memory_load(scratch("rows"), &whole), BPCN_OK);
    assert_int_equal(bpcn_memory_load(scratch("mended"), &mended), BPCN_OK);
    assert_true(same_state(whole, mended));
    bpcn_memory_free(whole);
    bpcn_memory_free(mended);
    memset(bytes + n - 3 * RECORD + 10, 0xee, 90); /* all of it */
    r = recover(bytes, n, BPCN_OK);
    assert_int_equal(r.writes, 5);
    assert_int_equal(r.rows, 4);
    assert_int_equal(r.lost_records, 1);
    assert_non_null(strstr(told, "1 record of the log from number 2 on"));
    r = recover(bytes, n - 2 * RECORD - 8, BPCN_OK); /* and cut: the seal knows how many there were */
    assert_int_equal(r.rows, 2);
    assert_int_equal(r.lost_records, 3);
    bytes[100] ^= 2; /* and a bit of the header */
    r = recover(bytes, n, BPCN_OK);
    assert_int_equal(r.rows, 4);
    assert_non_null(strstr(told, "the header had one wrong bit"));
    bytes[200] ^= 2;
    recover(bytes, n, BPCN_CORRUPT);
    assert_int_not_equal(access(scratch("mended"), F_OK), 0);
    free(bytes);
}

static size_t section_at(const unsigned char *bytes, size_t n, enum section_tag tag, size_t shard)
{
    struct header header;
    assert_int_equal(header_decode(bytes, n, n, &header), BPCN_OK);
    struct section s = {.offset = SECTIONS_AT};
    for (uint64_t i = 0; i < section_count(&header); i++) {
        section_describe(&header, i, &s);
        if (s.tag == tag && s.shard == shard)
            return (size_t)s.offset;
        s.offset += section_length(&s);
    }
    fail_msg("no such section");
    return 0;
}

static void recovery_empties_a_damaged_shard_and_keeps_the_others(void **state)
{
    bpcn_options o = small_options();
    size_t n, shards = 0;
    uint64_t rows[3];
    bpcn_memory *m;
    (void)state;
    shard(&o);
    unsigned char *bytes = file_of_rows(&o, 4, 2, &n);
    bytes[section_at(bytes, n, SECTION_MEAN, 0) + 150] ^= 1;
    bytes[section_at(bytes, n, SECTION_NOTE, 0) + 130] ^= 1;
    bpcn_recovery r = recover(bytes, n, BPCN_OK);
    assert_int_equal(r.shards, 2);
    assert_int_equal(r.lost_shards, 1);
    assert_int_equal(r.lost_note, 1);
    assert_int_equal(r.rows, 2);
    assert_non_null(strstr(told, "shard 0 is lost, with 2 rows"));
    m = reopen(scratch("mended"));
    assert_int_equal(bpcn_memory_get_shards(m, rows, 3, &shards), BPCN_OK);
    assert_int_equal(shards, 3);
    assert_int_equal(rows[0], 0);
    assert_int_equal(rows[1], 2);
    assert_int_equal(rows[2], 2);
    assert_int_equal(write_row(m, 9), BPCN_OK);
    bpcn_memory_free(m);
    bytes[section_at(bytes, n, SECTION_SHARDS, 0) + 130] ^= 1; /* and how many rows each has */
    r = recover(bytes, n, BPCN_OK);
    assert_int_equal(r.lost_shards, 1);
    assert_int_equal(bpcn_file_check(scratch("mended"), NULL, NULL), BPCN_OK);
    free(bytes);
}

static void recovery_without_the_surprises_keeps_the_rows(void **state)
{
    bpcn_options o = small_options();
    bpcn_stats stats = {.size = sizeof stats};
    size_t n;
    (void)state;
    o.surprises = 9;
    unsigned char *bytes = file_of_rows(&o, 4, 2, &n);
    bytes[section_at(bytes, n, SECTION_SURPRISES, 0) + 130] ^= 1;
    bpcn_recovery r = recover(bytes, n, BPCN_OK);
    assert_int_equal(r.lost_shards, 0);
    assert_int_equal(r.rows, 2);
    assert_non_null(strstr(told, "the surprises of the latest rows"));
    bpcn_memory *m = reopen(scratch("mended"));
    assert_int_equal(bpcn_memory_get_stats(m, &stats), BPCN_OK);
    assert_int_equal(stats.writes, 6);
    assert_int_equal(stats.surprises, 2); /* of the rows in the log */
    bpcn_memory_free(m);
    free(bytes);
}

/* The record with which a shard begins is lost, and of one shard the only snapshot. */
static void recovery_begins_what_lost_its_beginning(void **state)
{
    bpcn_options o = small_options();
    size_t n;
    (void)state;
    unsigned char *bytes = file_of_rows(&o, 2, 3, &n);
    bytes[section_at(bytes, n, SECTION_ROOT, 0) + 200] ^= 1;
    bpcn_recovery r = recover(bytes, n, BPCN_OK);
    assert_int_equal(r.lost_shards, 1);
    assert_int_equal(r.writes, 3);
    free(bytes);
    shard(&o);
    bytes = file_of_rows(&o, 2, 4, &n);
    memset(bytes + n - 4 * RECORD, 0, RECORD); /* begins shard 1 */
    memset(bytes + n - 2 * RECORD, 0, RECORD); /* begins shard 2 */
    r = recover(bytes, n, BPCN_OK);
    assert_int_equal(r.rows, 2);
    assert_int_equal(r.lost_records, 2);
    memset(bytes + n - 3 * RECORD, 0, RECORD);
    r = recover(bytes, n, BPCN_OK); /* shard 2 alone, of which shard 1 never began */
    assert_int_equal(r.rows, 1);
    assert_int_equal(bpcn_file_check(scratch("mended"), NULL, NULL), BPCN_OK);
    free(bytes);
}

/* A row is deleted whose write is lost: to take it back would leave a covariance indefinite. */
static void recovery_leaves_out_a_delete_of_what_is_lost(void **state)
{
    bpcn_options o = small_options();
    float row[5];
    size_t n;
    (void)state;
    bpcn_memory *m = create_file(scratch("deleted"), &o, BPCN_SYNC_EACH);
    assert_int_equal(write_row(m, 1), BPCN_OK);
    make_row(1, 5, row);
    assert_int_equal(bpcn_memory_delete(m, row), BPCN_OK);
    assert_int_equal(write_row(m, 2), BPCN_OK);
    bpcn_memory_free(m);
    unsigned char *bytes = read_whole(scratch("deleted"), &n);
    bpcn_recovery r = recover(bytes, n, BPCN_OK);
    assert_int_equal(r.rows, 2);
    assert_int_equal(r.lost_records, 0);
    memset(bytes + (get64(bytes + 24) + 50), 0xee, 60);
    r = recover(bytes, n, BPCN_OK);
    assert_int_equal(r.rows, 1);
    assert_int_equal(bpcn_file_check(scratch("mended"), NULL, NULL), BPCN_OK);
    assert_non_null(strstr(told, "it is a delete"));
    free(bytes);
}

static void recovery_takes_only_a_new_name_and_a_memory(void **state)
{
    bpcn_options o = small_options();
    size_t n;
    unsigned char *bytes = file_of_rows(&o, 1, 1, &n);
    (void)state;
    assert_int_equal(bpcn_file_recover(scratch("rows"), scratch("rows"), NULL), BPCN_INVALID);
    assert_non_null(strstr(bpcn_error(), "is there already"));
    assert_int_equal(bpcn_file_recover(scratch("missing"), scratch("new"), NULL), BPCN_IO);
    assert_int_equal(bpcn_file_recover(scratch_folder(), scratch("new"), NULL), BPCN_FORMAT);
    assert_int_equal(bpcn_file_recover(NULL, scratch("new"), NULL), BPCN_INVALID);
    assert_int_equal(bpcn_file_recover(scratch("rows"), NULL, NULL), BPCN_INVALID);
    assert_int_equal(bpcn_file_recover(scratch("rows"), scratch("new"), NULL), BPCN_OK);
    recover(bytes, HEADER_BYTES, BPCN_OK); /* a small one of which nothing is left */
    struct header huge;
    assert_int_equal(header_decode(bytes, n, n, &huge), BPCN_OK);
    huge.options.dim = huge.options.hidden[0] = 1u << 24; /* a promise that is not to be believed */
    header_encode(&huge, bytes);
    recover(bytes, n, BPCN_CORRUPT);
    assert_non_null(strstr(bpcn_error(), "not even a 64th"));
    recover((const unsigned char *)"nothing", 7, BPCN_FORMAT);
    free(bytes);
}

/* ---- the bound */

static uint64_t free_bytes;

static int little_room(void *context, const char *folder, uint64_t *bytes)
{
    (void)context;
    (void)folder;
    *bytes = free_bytes;
    return 0;
}

/* The longest that the log gets in so many writes of one row, or in one of so many. */
static uint64_t longest_log(const struct file_ops *ops, int together, uint64_t checkpoint_bytes)
{
    bpcn_options o = small_options();
    bpcn_open_options how;
    bpcn_file_info info = empty_info();
    bpcn_memory *m;
    float rows[200 * 5];
    uint64_t longest = 0;
    bpcn_open_options_default(&how, sizeof how);
    how.create = &o;
    how.sync = BPCN_SYNC_CALL;
    how.checkpoint_bytes = checkpoint_bytes;
    unlink(scratch("bound"));
    assert_int_equal(memory_open(ops, scratch("bound"), &how, &m), BPCN_OK);
    for (size_t i = 0; i < 200; i++)
        make_row(i, 5, rows + 5 * i);
    for (size_t i = 0; i < (together ? 1 : 200); i++) {
        assert_int_equal(bpcn_memory_write(m, rows + 5 * i, NULL, together ? 200 : 1, NULL), BPCN_OK);
        assert_int_equal(bpcn_memory_get_file(m, &info), BPCN_OK);
        assert_true(info.file_bytes <= info.file_most && info.file_most < info.disk_most);
        longest = info.log_bytes > longest ? info.log_bytes : longest;
    }
    bpcn_memory_free(m);
    return longest;
}

static void log_is_folded_within_a_call_and_earlier_where_the_disk_is_small(void **state)
{
    struct file_ops ops = file_without_sync();
    (void)state;
    assert_true(longest_log(&ops, 0, 2000) <= 2000 + RECORD);
    assert_true(longest_log(&ops, 1, 2000) <= 2000 + RECORD);
    assert_int_equal(longest_log(&ops, 0, 0), 200 * RECORD); /* less than 1 MiB */
    ops.room = little_room;
    free_bytes = 12000; /* of which a new file takes some 3000 */
    assert_true(longest_log(&ops, 0, 0) <= 12000 / 2);
    free_bytes = 0; /* no new file fits: the log is as long as without */
    assert_int_equal(longest_log(&ops, 0, 0), 200 * RECORD);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(closing_costs_one_sync_more),
        cmocka_unit_test(opening_without_a_change_changes_nothing),
        cmocka_unit_test(crash_before_the_seal_was_opened_on_disk_is_no_damage),
        cmocka_unit_test(crash_while_a_file_is_sealed_leaves_it_whole),
        cmocka_unit_test(torn_seal_is_written_again_before_anything_is_appended),
        cmocka_unit_test(reader_who_met_a_half_written_seal_looks_again),
        cmocka_unit_test(recovery_keeps_every_whole_record_and_mends_one_bit),
        cmocka_unit_test(recovery_empties_a_damaged_shard_and_keeps_the_others),
        cmocka_unit_test(recovery_without_the_surprises_keeps_the_rows),
        cmocka_unit_test(recovery_begins_what_lost_its_beginning),
        cmocka_unit_test(recovery_leaves_out_a_delete_of_what_is_lost),
        cmocka_unit_test(recovery_takes_only_a_new_name_and_a_memory),
        cmocka_unit_test(log_is_folded_within_a_call_and_earlier_where_the_disk_is_small),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
