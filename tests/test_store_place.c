/* The place of a memory file: paths, permissions, leftovers, and others who are at the same file. */
#include "store_common.h"

#include "file.h"
#include "store.h"
#include "store_seam.h"

#include <errno.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

static void second_writer_is_told_that_the_file_is_busy(void **state)
{
    bpcn_options o = small_options();
    bpcn_memory *m = create_file(scratch("mine"), &o, BPCN_SYNC_EACH), *other;
    (void)state;
    assert_int_equal(bpcn_memory_open(scratch("mine"), NULL, &other), BPCN_BUSY);
    assert_null(other);
    assert_int_equal(bpcn_memory_save(m, scratch("mine")), BPCN_BUSY);
    assert_int_equal(bpcn_memory_checkpoint(m), BPCN_OK);
    assert_int_equal(bpcn_memory_open(scratch("mine"), NULL, &other), BPCN_BUSY);
    bpcn_memory_free(m);
    assert_int_equal(bpcn_memory_open(scratch("mine"), NULL, &other), BPCN_OK);
    bpcn_memory_free(other);
}

static void file_that_was_replaced_is_not_overwritten(void **state)
{
    bpcn_options o = small_options();
    bpcn_memory *m = create_file(scratch("swapped"), &o, BPCN_SYNC_EACH), *plain = create_plain(&o);
    (void)state;
    assert_int_equal(bpcn_memory_save(plain, scratch("other")), BPCN_OK);
    assert_int_equal(rename(scratch("other"), scratch("swapped")), 0);
    assert_int_equal(bpcn_memory_checkpoint(m), BPCN_GONE);
    assert_non_null(strstr(bpcn_error(), "replaced"));
    bpcn_memory_free(m);
    bpcn_memory_free(plain);
}

/* Under each way to sync, what a call acknowledges is in the file at the path. */
static bpcn_status acknowledge(bpcn_memory *m, bpcn_sync sync, uint64_t row)
{
    bpcn_status status = write_row(m, row);
    return status == BPCN_OK && sync == BPCN_SYNC_MANUAL ? bpcn_memory_sync(m) : status;
}

static void file_that_was_moved_takes_no_more_rows(void **state)
{
    bpcn_options o = small_options();
    bpcn_file_info info = empty_info();
    (void)state;
    for (int sync = BPCN_SYNC_EACH; sync <= BPCN_SYNC_MANUAL; sync++) {
        bpcn_memory *m = create_file(scratch("here"), &o, (bpcn_sync)sync);
        assert_int_equal(acknowledge(m, (bpcn_sync)sync, 0), BPCN_OK);
        assert_int_equal(rename(scratch("here"), scratch("there")), 0);
        assert_int_equal(acknowledge(m, (bpcn_sync)sync, 1), BPCN_GONE);
        assert_non_null(strstr(bpcn_error(), "moved"));
        assert_non_null(strstr(bpcn_error(), "there")); /* where the rows are */
        assert_int_equal(write_row(m, 2), BPCN_GONE);
        assert_int_equal(bpcn_memory_checkpoint(m), BPCN_GONE);
        assert_int_equal(rename(scratch("there"), scratch("here")), 0);
        assert_int_equal(write_row(m, 2), BPCN_GONE); /* who moved it may have opened it meanwhile */
        bpcn_memory_free(m);
        assert_int_equal(bpcn_file_check(scratch("here"), &info, NULL), BPCN_OK);
        assert_in_range(info.writes, 1, 2); /* the second was refused after it had been synced */
        assert_int_equal(unlink(scratch("here")), 0);
    }
}

static void file_that_was_removed_takes_no_more_rows(void **state)
{
    bpcn_options o = small_options();
    (void)state;
    for (int sync = BPCN_SYNC_EACH; sync <= BPCN_SYNC_MANUAL; sync++) {
        bpcn_memory *m = create_file(scratch("here"), &o, (bpcn_sync)sync), *copy;
        assert_int_equal(acknowledge(m, (bpcn_sync)sync, 0), BPCN_OK);
        assert_int_equal(unlink(scratch("here")), 0);
        assert_int_equal(acknowledge(m, (bpcn_sync)sync, 1), BPCN_GONE);
        assert_non_null(strstr(bpcn_error(), "removed"));
        assert_int_equal(bpcn_memory_save(m, scratch("saved elsewhere")), BPCN_OK); /* as the sentence says */
        assert_int_equal(bpcn_memory_load(scratch("saved elsewhere"), &copy), BPCN_OK);
        assert_int_equal(same_state(m, copy), 1);
        bpcn_memory_free(copy);
        bpcn_memory_free(m);
        m = create_file(scratch("here"), &o, (bpcn_sync)sync); /* removed while nobody wrote: closing tells */
        assert_int_equal(write_row(m, 0), BPCN_OK);
        assert_int_equal(unlink(scratch("here")), 0);
        assert_int_equal(bpcn_memory_close(m), BPCN_GONE);
    }
}

/* Calls work(m) in a child; its sentence must contain `word`. */
static void in_child(bpcn_memory *m, bpcn_status (*work)(bpcn_memory *), bpcn_status expected, const char *word)
{
    int status;
    pid_t pid = fork();
    assert_true(pid >= 0);
    if (pid == 0)
        _exit(work(m) == expected && (word == NULL || strstr(bpcn_error(), word) != NULL) ? 0 : 1);
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

static bpcn_status write_one(bpcn_memory *m)
{
    return write_row(m, 7);
}

static bpcn_status delete_one(bpcn_memory *m)
{
    float row[5];
    make_row(0, 5, row);
    return bpcn_memory_delete(m, row);
}

static bpcn_status forget_some(bpcn_memory *m)
{
    return bpcn_memory_forget(m, 0.1);
}

static bpcn_status discount_some(bpcn_memory *m)
{
    return bpcn_memory_discount(m, 0.1);
}

static bpcn_status set_note(bpcn_memory *m)
{
    return bpcn_memory_set_note(m, "x", 1);
}

static bpcn_status set_minimizer(bpcn_memory *m)
{
    return bpcn_memory_set_minimizer(m, BPCN_ADAM);
}

static bpcn_status read_and_save(bpcn_memory *m)
{
    float row[5];
    make_row(0, 5, row);
    bpcn_status status = bpcn_memory_read(m, row, NULL, 1, NULL, row, NULL);
    return status == BPCN_OK ? bpcn_memory_save(m, scratch("of the child")) : status;
}

static void child_of_a_fork_reads_but_writes_nothing(void **state)
{
    bpcn_status (*const changes[])(bpcn_memory *) = {write_one,     delete_one,       forget_some,
                                                     discount_some, set_note,         set_minimizer,
                                                     bpcn_memory_sync, bpcn_memory_checkpoint, bpcn_memory_close};
    bpcn_options o = small_options();
    size_t n, before;
    (void)state;
    for (int sync = BPCN_SYNC_EACH; sync <= BPCN_SYNC_MANUAL; sync++) {
        bpcn_memory *m = create_file(scratch("forked"), &o, (bpcn_sync)sync);
        for (uint64_t i = 0; i < 8; i++)
            assert_int_equal(write_row(m, i), BPCN_OK);
        unsigned char *bytes = read_whole(scratch("forked"), &before);
        for (size_t i = 0; i < sizeof changes / sizeof *changes; i++)
            in_child(m, changes[i], BPCN_INVALID, "another process");
        in_child(m, read_and_save, BPCN_OK, NULL);
        unsigned char *after = read_whole(scratch("forked"), &n);
        assert_int_equal(n, before);
        assert_memory_equal(bytes, after, n); /* not even its seal */
        free(bytes);
        free(after);
        assert_int_equal(write_row(m, 8), BPCN_OK);
        assert_int_equal(bpcn_memory_close(m), BPCN_OK);
        m = reopen(scratch("forked"));
        bpcn_stats stats = {.size = sizeof stats};
        assert_int_equal(bpcn_memory_get_stats(m, &stats), BPCN_OK);
        assert_int_equal(stats.writes, 9);
        bpcn_memory_free(m);
        assert_int_equal(unlink(scratch("forked")), 0);
    }
}

/* The child has a copy of the descriptor, and with it of the lock. */
static void closed_file_is_free_while_a_forked_child_lives(void **state)
{
    int go[2], status;
    bpcn_options o = small_options();
    bpcn_memory *m = create_file(scratch("left to a child"), &o, BPCN_SYNC_EACH);
    (void)state;
    assert_int_equal(pipe(go), 0);
    pid_t pid = fork();
    assert_true(pid >= 0);
    if (pid == 0) {
        char end;
        close(go[1]);
        _exit(read(go[0], &end, 1) == 0 ? 0 : 1);
    }
    assert_int_equal(bpcn_memory_close(m), BPCN_OK);
    m = reopen(scratch("left to a child"));
    assert_int_equal(write_row(m, 0), BPCN_OK);
    bpcn_memory_free(m);
    close(go[0]);
    close(go[1]);
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

/* What a folder without the right to write in it does to whoever has no more rights than it gives. */
static int refuse_new_files(void *user, const struct event *event, size_t *most)
{
    (void)most;
    return *(int *)user && event->call == CALL_OPEN && strstr(event->path, ".bpcn-new") != NULL ? EACCES : 0;
}

static void file_in_a_folder_without_rights_stays_within_its_bound(void **state)
{
    int refuse = 0;
    struct file_ops quick = file_without_sync();
    struct seam seam = {.user = &refuse, .before = refuse_new_files, .beneath = &quick};
    bpcn_options o = small_options();
    bpcn_open_options how;
    bpcn_memory *m;
    bpcn_status status = BPCN_OK;
    bpcn_file_info info = empty_info();
    struct stat is;
    (void)state;
    bpcn_open_options_default(&how, sizeof how);
    how.create = &o;
    how.checkpoint_bytes = 2000;
    seam_start(&seam);
    assert_int_equal(memory_open(&seam.ops, scratch("locked in"), &how, &m), BPCN_OK);
    refuse = 1;
    uint64_t rows = 0;
    while (rows < 1000 && (status = write_row(m, rows)) == BPCN_OK)
        rows++;
    assert_int_equal(status, BPCN_IO);
    assert_non_null(strstr(bpcn_error(), "as long as it may get"));
    assert_non_null(strstr(bpcn_error(), "Permission denied"));
    assert_true(rows > 5); /* the log was used */
    assert_int_equal(bpcn_memory_get_file(m, &info), BPCN_OK);
    assert_int_equal(stat(scratch("locked in"), &is), 0);
    assert_true((uint64_t)is.st_size <= info.file_most);
    assert_int_equal(write_row(m, rows), BPCN_IO); /* every time */
    refuse = 0;
    assert_int_equal(write_row(m, rows), BPCN_OK); /* nothing was lost, and it goes on */
    bpcn_stats stats = {.size = sizeof stats};
    assert_int_equal(bpcn_memory_get_stats(m, &stats), BPCN_OK);
    assert_int_equal(stats.writes, rows + 1);
    bpcn_memory_free(m);
}

static void permissions_and_links_survive_a_checkpoint(void **state)
{
    struct stat info;
    bpcn_options o = small_options();
    bpcn_memory *m = create_file(scratch("private"), &o, BPCN_SYNC_EACH);
    (void)state;
    assert_int_equal(chmod(scratch("private"), 0640), 0);
    bpcn_memory_free(m);
    assert_int_equal(symlink(scratch("private"), scratch("link")), 0);
    m = reopen(scratch("link"));
    assert_int_equal(write_row(m, 1), BPCN_OK);
    assert_int_equal(bpcn_memory_checkpoint(m), BPCN_OK);
    bpcn_memory_free(m);
    assert_int_equal(lstat(scratch("link"), &info), 0);
    assert_true(S_ISLNK(info.st_mode));
    assert_int_equal(stat(scratch("private"), &info), 0);
    assert_int_equal(info.st_mode & 07777, 0640);
    assert_int_equal(bpcn_file_check(scratch("private"), NULL, NULL), BPCN_OK);
}

static void relative_paths_and_the_root_folder_work(void **state)
{
    char before[4096];
    bpcn_options o = small_options();
    bpcn_memory *m;
    (void)state;
    assert_non_null(getcwd(before, sizeof before));
    assert_int_equal(chdir(scratch_folder()), 0);
    m = create_file("relative", &o, BPCN_SYNC_EACH);
    assert_int_equal(bpcn_memory_checkpoint(m), BPCN_OK);
    bpcn_memory_free(m);
    assert_int_equal(bpcn_file_check("relative", NULL, NULL), BPCN_OK);
    assert_int_equal(chdir(before), 0);
    assert_int_equal(bpcn_memory_open("/no-such-memory-in-the-root", NULL, &m), BPCN_IO);
}

static void other_files_are_told_from_damaged_ones(void **state)
{
    bpcn_memory *m;
    bpcn_file_info info = empty_info();
    bpcn_open_options reader;
    bpcn_open_options_default(&reader, sizeof reader);
    (void)state;
    reader.read_only = 1;
    write_whole(scratch("empty"), "", 0);
    write_whole(scratch("text"), "hello, world, I am text\n", 24);
    write_whole(scratch("magic"),
                "\x89"
                "BPC",
                4);
    assert_int_equal(bpcn_memory_load(scratch("empty"), &m), BPCN_FORMAT);
    assert_int_equal(bpcn_memory_load(scratch("text"), &m), BPCN_FORMAT);
    assert_int_equal(bpcn_memory_load(scratch("magic"), &m), BPCN_CORRUPT);
    assert_int_equal(bpcn_memory_load(scratch_folder(), &m), BPCN_FORMAT);
    assert_int_equal(bpcn_file_inspect(scratch_folder(), &info, NULL), BPCN_FORMAT);
    assert_int_equal(bpcn_file_inspect(scratch("missing"), &info, NULL), BPCN_IO);
    assert_int_equal(bpcn_file_inspect(scratch("text"), &info, NULL), BPCN_FORMAT);
    assert_int_equal(bpcn_memory_load(scratch("missing"), &m), BPCN_IO);
    assert_int_equal(bpcn_memory_open(scratch("missing"), NULL, &m), BPCN_IO);
    assert_int_equal(bpcn_memory_open(scratch("missing"), &reader, &m), BPCN_IO);
    assert_int_equal(bpcn_memory_open(scratch_folder(), NULL, &m), BPCN_IO);
    assert_int_equal(mkfifo(scratch("pipe"), 0600), 0);
    assert_int_equal(bpcn_memory_open(scratch("pipe"), NULL, &m), BPCN_FORMAT);
}

static void leftovers_of_a_crashed_checkpoint_are_cleared(void **state)
{
    bpcn_options o = small_options();
    bpcn_memory *m = create_file(scratch("left"), &o, BPCN_SYNC_EACH);
    (void)state;
    write_whole(scratch("left.bpcn-new"), "half a file", 11);
    assert_int_equal(bpcn_memory_checkpoint(m), BPCN_OK);
    assert_int_equal(access(scratch("left.bpcn-new"), F_OK), -1);
    bpcn_memory_free(m);
    write_whole(scratch("left.bpcn-new"), "half a file", 11);
    m = reopen(scratch("left"));
    assert_int_equal(access(scratch("left.bpcn-new"), F_OK), -1);
    bpcn_memory_free(m);
}

static void something_else_in_the_way_of_a_checkpoint_is_left_alone(void **state)
{
    bpcn_options o = small_options();
    bpcn_memory *m = create_file(scratch("blocked"), &o, BPCN_SYNC_EACH);
    (void)state;
    assert_int_equal(mkfifo(scratch("blocked.bpcn-new"), 0600), 0);
    assert_int_equal(bpcn_memory_checkpoint(m), BPCN_IO);
    assert_non_null(strstr(bpcn_error(), "in the way"));
    assert_int_equal(access(scratch("blocked.bpcn-new"), F_OK), 0);
    assert_int_equal(write_row(m, 1), BPCN_OK);
    bpcn_memory_free(m);
}

static void checkpoint_that_was_due_but_failed_is_tried_again(void **state)
{
    bpcn_options o = small_options();
    bpcn_open_options how;
    bpcn_file_info info = empty_info();
    bpcn_memory *m;
    bpcn_open_options_default(&how, sizeof how);
    (void)state;
    how.create = &o;
    how.checkpoint_bytes = 600; /* four rows fit, five do not */
    assert_int_equal(bpcn_memory_open(scratch("stuck"), &how, &m), BPCN_OK);
    assert_int_equal(mkdir(scratch("stuck.bpcn-new"), 0700), 0); /* where the new file would go */
    for (uint64_t i = 0; i < 5; i++)
        assert_int_equal(write_row(m, i), BPCN_OK);
    assert_int_equal(bpcn_memory_checkpoint(m), BPCN_IO);
    assert_int_equal(rmdir(scratch("stuck.bpcn-new")), 0);
    for (uint64_t i = 5; i < 10; i++)
        assert_int_equal(write_row(m, i), BPCN_OK);
    assert_int_equal(bpcn_memory_get_file(m, &info), BPCN_OK);
    assert_int_equal(info.generation, 1);
    bpcn_memory_free(m);
}

static int fail_truncate(void *context, int fd, uint64_t length)
{
    (void)context;
    (void)fd;
    (void)length;
    errno = EIO;
    return -1;
}

static void change_that_cannot_be_taken_back_from_the_file_ends_writing(void **state)
{
    struct file_ops ops = file_posix;
    bpcn_options o = small_options();
    bpcn_open_options how;
    struct change change = {
        .kind = CHANGE_WRITE, .rows = 1, .x = (float[5]){0}, .codes = (float[7]){0}, .log_weights = (double[1]){0}};
    bpcn_memory *m;
    bpcn_open_options_default(&how, sizeof how);
    (void)state;
    ops.truncate = fail_truncate;
    how.create = &o;
    assert_int_equal(memory_open(&ops, scratch("uncut"), &how, &m), BPCN_OK);
    assert_int_equal(store_append(m->store, &m->contents, &change), BPCN_OK);
    m->contents.shard[0]->particles[0].top_variance = NAN;
    assert_int_equal(store_finish(m->store, &m->contents, BPCN_OK, NULL), BPCN_IO);
    assert_int_equal(write_row(m, 1), BPCN_IO);
    bpcn_memory_free(m);
    assert_int_equal(bpcn_file_check(scratch("uncut"), NULL, NULL), BPCN_OK);
}

static int full_for; /* errno of every write, or 0 */

static ssize_t write_when_full(void *context, int fd, const void *bytes, size_t n, uint64_t offset)
{
    errno = full_for;
    return full_for != 0 ? -1 : file_posix.write(context, fd, bytes, n, offset);
}

static void full_disk_has_a_status_of_its_own(void **state)
{
    static const int reasons[] = {ENOSPC, EDQUOT, EFBIG};
    struct file_ops ops = file_posix;
    bpcn_options o = small_options();
    bpcn_open_options how;
    bpcn_memory *m;
    (void)state;
    bpcn_open_options_default(&how, sizeof how);
    ops.write = write_when_full;
    how.create = &o;
    for (size_t i = 0; i < sizeof reasons / sizeof *reasons; i++) {
        full_for = 0;
        unlink(scratch("full"));
        assert_int_equal(memory_open(&ops, scratch("full"), &how, &m), BPCN_OK);
        assert_int_equal(write_row(m, 0), BPCN_OK);
        full_for = reasons[i];
        assert_int_equal(write_row(m, 1), BPCN_NO_SPACE);
        assert_int_equal(bpcn_memory_checkpoint(m), BPCN_NO_SPACE);
        assert_int_equal(memory_save(&ops, m, scratch("saved")), BPCN_NO_SPACE);
        full_for = EIO;
        assert_int_equal(memory_save(&ops, m, scratch("saved")), BPCN_IO);
        bpcn_memory_free(m);
    }
}

/* ---- others who are at the same file */

static const char *unsettled; /* a path that seems to lead to another file each time */

static int find_other(void *context, const char *path, struct file_status *status)
{
    int result = file_posix.find(context, path, status);
    if (result == 0 && strcmp(path, unsettled) == 0)
        status->inode++;
    return result;
}

static void file_that_others_keep_replacing_is_busy(void **state)
{
    char path[512], temporary[600];
    struct file_ops ops = file_posix;
    bpcn_options o = small_options();
    bpcn_open_options how;
    bpcn_memory *m;
    bpcn_open_options_default(&how, sizeof how);
    (void)state;
    snprintf(path, sizeof path, "%s", scratch("restless"));
    snprintf(temporary, sizeof temporary, "%s.bpcn-new", path);
    ops.find = find_other;
    unsettled = temporary;
    how.create = &o;
    assert_int_equal(memory_open(&ops, path, &how, &m), BPCN_BUSY);
    bpcn_memory_free(create_file(path, &o, BPCN_SYNC_EACH));
    unsettled = path;
    assert_int_equal(memory_open(&ops, path, &how, &m), BPCN_BUSY);
}

/* Reading the log finds that a writer has just cut it off, or (`lying`) that the file only says so. */
static uint64_t cut_at;
static int lying, looks;

static ssize_t read_cut(void *context, int fd, void *bytes, size_t n, uint64_t offset)
{
    if (offset < cut_at)
        return file_posix.read(context, fd, bytes, n, offset);
    return 0;
}

static int status_cut(void *context, int fd, struct file_status *status)
{
    int result = file_posix.status(context, fd, status);
    if (looks++ > 1 && !lying) /* after the file was measured, before the seal and after it */
        status->length = cut_at;
    errno = EIO;
    return looks > 2 && lying == 2 ? -1 : result;
}

static void log_cut_off_while_it_is_read_ends_there(void **state)
{
    struct file_ops ops = file_posix;
    bpcn_options o = small_options();
    bpcn_file_info info = empty_info();
    bpcn_memory *m = create_file(scratch("cut"), &o, BPCN_SYNC_EACH), *copy;
    size_t n;
    (void)state;
    store_info(m->store, &m->contents, &info);
    cut_at = info.snapshot_bytes;
    assert_int_equal(write_row(m, 1), BPCN_OK);
    bpcn_memory_free(m);
    unsigned char *bytes = read_whole(scratch("cut"), &n);
    leave_open(bytes);
    write_whole(scratch("cut"), bytes, n);
    free(bytes);
    ops.read = read_cut;
    ops.status = status_cut;
    assert_int_equal(memory_load(&ops, scratch("cut"), &copy, &info), BPCN_OK);
    assert_int_equal(info.records, 0);
    bpcn_memory_free(copy);
    for (lying = 1, looks = 0; lying <= 2; lying++, looks = 0) /* then it is an error, not a torn end */
        assert_int_equal(memory_load(&ops, scratch("cut"), &copy, &info), BPCN_IO);
}

static const char *wanted;

/* Somebody else makes the file just before we do. */
static int open_too_late(void *context, const char *path, int flags, unsigned mode)
{
    if (strcmp(path, wanted) != 0)
        write_whole(wanted, "", 0);
    return file_posix.open(context, path, flags, mode);
}

static void file_made_by_another_at_the_same_time_is_not_replaced(void **state)
{
    char path[512];
    struct file_ops ops = file_posix;
    bpcn_options o = small_options();
    bpcn_open_options how;
    struct stat info;
    bpcn_memory *m;
    bpcn_open_options_default(&how, sizeof how);
    (void)state;
    snprintf(path, sizeof path, "%s", scratch("race"));
    wanted = path;
    ops.open = open_too_late;
    how.create = &o;
    assert_int_equal(memory_open(&ops, path, &how, &m), BPCN_BUSY);
    assert_int_equal(stat(path, &info), 0);
    assert_int_equal(info.st_size, 0);
}

static void operating_system_errors_are_passed_on(void **state)
{
    struct file_status status;
    (void)state;
    assert_int_equal(file_posix.status(NULL, -1, &status), -1);
    assert_int_equal(file_posix.find(NULL, scratch("missing"), &status), -1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(second_writer_is_told_that_the_file_is_busy),
        cmocka_unit_test(file_that_was_replaced_is_not_overwritten),
        cmocka_unit_test(file_that_was_moved_takes_no_more_rows),
        cmocka_unit_test(file_that_was_removed_takes_no_more_rows),
        cmocka_unit_test(child_of_a_fork_reads_but_writes_nothing),
        cmocka_unit_test(closed_file_is_free_while_a_forked_child_lives),
        cmocka_unit_test(file_in_a_folder_without_rights_stays_within_its_bound),
        cmocka_unit_test(permissions_and_links_survive_a_checkpoint),
        cmocka_unit_test(relative_paths_and_the_root_folder_work),
        cmocka_unit_test(other_files_are_told_from_damaged_ones),
        cmocka_unit_test(leftovers_of_a_crashed_checkpoint_are_cleared),
        cmocka_unit_test(something_else_in_the_way_of_a_checkpoint_is_left_alone),
        cmocka_unit_test(checkpoint_that_was_due_but_failed_is_tried_again),
        cmocka_unit_test(change_that_cannot_be_taken_back_from_the_file_ends_writing),
        cmocka_unit_test(full_disk_has_a_status_of_its_own),
        cmocka_unit_test(file_that_others_keep_replacing_is_busy),
        cmocka_unit_test(log_cut_off_while_it_is_read_ends_there),
        cmocka_unit_test(file_made_by_another_at_the_same_time_is_not_replaced),
        cmocka_unit_test(operating_system_errors_are_passed_on),
    };
    return cmocka_run_group_tests_name("place of a memory file", tests, NULL, NULL);
}
