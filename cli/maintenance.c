/* bpcn check, recover and compact. */
#include "args.h"
#include "memory_file.h"
#include "parts.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>

/* Calls a function for every file of a folder, or for the one file. */
static int each_file(const struct console *console, const char *path,
                     int (*act)(const struct console *console, const char *path, bpcn_file_info *total),
                     bpcn_file_info *total)
{
    struct memory_file file;
    char part[PATH_MOST + 64];
    if (!memory_file_is_folder(path))
        return act(console, path, total);
    int failed = memory_file_open(console, path, TO_LOOK, &file); /* whether each belongs to the folder */
    if (failed)
        return failed;
    for (size_t f = 0; !failed && f < file.folder->files; f++) {
        part_path(file.folder, f, part, sizeof part);
        failed = act(console, part, total);
    }
    memory_file_close(&file);
    return failed;
}

/* ---- check */

static int check_file(const struct console *console, const char *path, bpcn_file_info *total)
{
    bpcn_file_info info = {.size = sizeof info};
    bpcn_status status = bpcn_file_check(path, &info, NULL);
    if (status != BPCN_OK)
        return memory_file_refuse(console, path, status);
    if (console->quiet)
        memory_file_tell_dropped(console, path, info.dropped_bytes, info.dropped_rows);
    else if (info.dropped_bytes > 0)
        console_print(console,
                      "%s: torn: a crash, or an active writer, left %llu unfinished bytes at the end, at most %llu "
                      "row%s; every acknowledged row is intact, and the next write drops the rest\n",
                      path, (unsigned long long)info.dropped_bytes, (unsigned long long)info.dropped_rows,
                      info.dropped_rows == 1 ? "" : "s");
    memory_file_tell_seal(console, path, info.torn_seal);
    total->torn_seal += info.torn_seal;
    total->file_bytes += info.file_bytes;
    total->records += info.records;
    total->dropped_bytes += info.dropped_bytes;
    total->dropped_rows += info.dropped_rows;
    total->sealed = total->sealed && info.sealed;
    return 0;
}

/* Verifies everything and prints the first damage: EXIT_DAMAGED if there is any, EXIT_REFUSED if a crash left something
   unfinished. */
static int maintenance_check(const struct console *console, const char *path)
{
    bpcn_file_info total = {.size = sizeof total, .sealed = 1};
    int failed = each_file(console, path, check_file, &total);
    if (failed)
        return failed;
    if (console->json) {
        fputs("{\"file\":", stdout);
        json_write_string(stdout, path);
        printf(",\"sound\":%s,\"closed\":%s,\"bytes\":%llu,\"records\":%llu,\"dropped_bytes\":%llu,"
               "\"dropped_rows\":%llu,\"torn_seals\":%llu}\n",
               total.dropped_bytes == 0 ? "true" : "false", total.sealed ? "true" : "false",
               (unsigned long long)total.file_bytes, (unsigned long long)total.records,
               (unsigned long long)total.dropped_bytes, (unsigned long long)total.dropped_rows,
               (unsigned long long)total.torn_seal);
    }
    if (total.dropped_bytes > 0)
        return EXIT_REFUSED;
    console_print(console, "%s: sound%s\n", path, total.sealed ? "" : " (not closed: its writer crashed or is active)");
    return total.torn_seal > 0 ? EXIT_REFUSED : EXIT_DONE;
}

/* ---- recover */

static void print_loss(void *user, const char *what)
{
    console_warn(user, "%s", what);
}

static void recover_json(const char *from, const char *to, const bpcn_recovery *r)
{
    fputs("{\"file\":", stdout);
    json_write_string(stdout, from);
    fputs(",\"recovered\":", stdout);
    json_write_string(stdout, to);
    printf(",\"writes\":%llu,\"records\":%llu,\"rows\":%llu,\"mended\":%llu,\"lost_records\":%llu,\"shards\":%llu,"
           "\"lost_shards\":%llu}\n",
           (unsigned long long)r->writes, (unsigned long long)r->records, (unsigned long long)r->rows,
           (unsigned long long)r->mended, (unsigned long long)r->lost_records, (unsigned long long)r->shards,
           (unsigned long long)r->lost_shards);
}

static void recovery_add(bpcn_recovery *sum, const bpcn_recovery *r)
{
    sum->writes += r->writes;
    sum->records += r->records;
    sum->rows += r->rows;
    sum->mended += r->mended;
    sum->lost_records += r->lost_records;
    sum->shards += r->shards;
    sum->lost_shards += r->lost_shards;
    sum->lost_note += r->lost_note;
}

/* Every file of the folder to a new folder, where they are one memory whatever state each was of. */
static bpcn_status recover_folder(const char *from, const char *to, bpcn_recovery *sum)
{
    struct folder old, new;
    char in[PATH_MOST + 64], out[PATH_MOST + 64];
    snprintf(old.path, sizeof old.path, "%s", from);
    snprintf(new.path, sizeof new.path, "%s", to);
    bpcn_status status = folder_scan(from, &old.files);
    new.files = old.files;
    if (status == BPCN_OK && old.files == 0)
        status = bpcn_fail(BPCN_FORMAT, "the folder holds no files part-....mem of a memory");
    if (status == BPCN_OK && mkdir(to, 0777) != 0)
        return bpcn_fail(BPCN_IO, "%s: %s", to, strerror(errno));
    for (size_t f = 0; status == BPCN_OK && f < old.files; f++) {
        bpcn_recovery r = {.size = sizeof r, .tell = sum->tell, .user = sum->user};
        part_path(&old, f, in, sizeof in);
        part_path(&new, f, out, sizeof out);
        status = bpcn_file_recover(in, out, &r);
        recovery_add(sum, &r);
    }
    return status == BPCN_OK ? folder_unite(to) : status;
}

/* Saves what is intact to a new file: EXIT_REFUSED if something is lost. */
static int maintenance_recover(struct console *console, const char *from, const char *to)
{
    bpcn_recovery r = {.size = sizeof r, .tell = print_loss, .user = console};
    bpcn_status status = memory_file_is_folder(from) ? recover_folder(from, to, &r) : bpcn_file_recover(from, to, &r);
    if (status != BPCN_OK) {
        console_error(console, "%s: %s", from, bpcn_error());
        return status == BPCN_FORMAT || status == BPCN_NEWER || status == BPCN_CORRUPT ? EXIT_DAMAGED : EXIT_FAILED;
    }
    if (console->json)
        recover_json(from, to, &r);
    console_print(console, "%s: %llu rows written, %llu of them in whole records of the log", to,
                  (unsigned long long)r.writes, (unsigned long long)r.rows);
    if (r.lost_shards > 0)
        console_print(console, "; %llu of %llu shards lost", (unsigned long long)r.lost_shards,
                      (unsigned long long)r.shards);
    if (r.lost_records > 0)
        console_print(console, "; %llu record%s of the log lost", (unsigned long long)r.lost_records,
                      r.lost_records == 1 ? "" : "s");
    console_print(console, r.lost_shards + r.lost_records + r.lost_note == 0 ? "; nothing is lost\n" : "\n");
    return r.lost_shards + r.lost_records + r.lost_note == 0 ? EXIT_DONE : EXIT_REFUSED;
}

/* ---- compact */

/* Opens a file and fills in *info. */
static int open_file(const struct console *console, const char *path, int read_only, bpcn_memory **memory,
                     bpcn_file_info *info)
{
    bpcn_open_options o;
    bpcn_open_options_default(&o, sizeof o);
    o.read_only = read_only;
    bpcn_status status = bpcn_memory_open(path, &o, memory);
    if (status == BPCN_OK)
        status = bpcn_memory_get_file(*memory, info);
    if (status != BPCN_OK)
        return memory_file_refuse(console, path, status);
    memory_file_tell_dropped(console, path, info->dropped_bytes, info->dropped_rows);
    return 0;
}

static int fold_file(const struct console *console, const char *path, bpcn_file_info *total)
{
    bpcn_file_info before = {.size = sizeof before}, after = {.size = sizeof after};
    bpcn_memory *memory = NULL;
    int failed = open_file(console, path, 0, &memory, &before);
    bpcn_status status = failed || before.log_bytes == 0 ? BPCN_OK : bpcn_memory_checkpoint(memory);
    if (!failed && status == BPCN_OK)
        status = bpcn_memory_get_file(memory, &after);
    if (status != BPCN_OK)
        failed = memory_file_refuse(console, path, status);
    if (bpcn_memory_close(memory) != BPCN_OK && !failed)
        failed = memory_file_refuse(console, path, BPCN_IO);
    total->file_bytes += before.file_bytes;
    total->log_bytes += before.log_bytes;
    total->snapshot_bytes += after.file_bytes;
    return failed;
}

/* Saves to a new file with the permissions of the file `path`; until then only its owner may read it. */
static bpcn_status save_like(const bpcn_memory *memory, const char *path, const char *to)
{
    struct stat st;
    if (stat(path, &st) != 0)
        return bpcn_fail(BPCN_IO, "%s: %s", path, strerror(errno));
    mode_t before = umask(077);
    bpcn_status status = bpcn_memory_save(memory, to);
    umask(before);
    if (status == BPCN_OK && chmod(to, st.st_mode & 07777) != 0)
        return bpcn_fail(BPCN_IO, "%s: cannot set its permissions: %s", to, strerror(errno));
    return status;
}

/* The same to a new file; the old one stays as it is. */
static int fold_to(const struct console *console, const char *path, const char *to, bpcn_file_info *total)
{
    struct stat st;
    bpcn_file_info after = {.size = sizeof after};
    bpcn_memory *memory = NULL;
    if (lstat(to, &st) == 0)
        return console_error(console, "%s: already exists", to);
    int failed = open_file(console, path, 1, &memory, total);
    bpcn_status status = failed ? BPCN_OK : save_like(memory, path, to);
    bpcn_memory_free(memory);
    if (!failed && status == BPCN_OK)
        status = bpcn_file_inspect(to, &after, NULL);
    total->snapshot_bytes = after.file_bytes;
    return status == BPCN_OK ? failed : memory_file_refuse(console, to, status);
}

/* Folds the log of a file or of every file of a folder, in place or (to not NULL) to a new file. */
static int maintenance_compact(const struct console *console, const char *path, const char *to)
{
    bpcn_file_info total = {.size = sizeof total};
    if (to != NULL && memory_file_is_folder(path))
        return console_error(console, "%s: is a folder; give its files one by one", path);
    int failed = to != NULL ? fold_to(console, path, to, &total) : each_file(console, path, fold_file, &total);
    if (failed)
        return failed;
    const char *name = to != NULL ? to : path;
    console_print(console, "%s: %s, it was %s with a log of %s\n", name, console_bytes(total.snapshot_bytes),
                  console_bytes(total.file_bytes), console_bytes(total.log_bytes));
    if (console->json) {
        fputs("{\"file\":", stdout);
        json_write_string(stdout, name);
        printf(",\"bytes_before\":%llu,\"bytes\":%llu}\n", (unsigned long long)total.file_bytes,
               (unsigned long long)total.snapshot_bytes);
    }
    return EXIT_DONE;
}

/* ---- bpcn check: verifies a memory file from end to end. */

int cmd_check(int argc, char **argv)
{
    struct args a;
    if (!args_only(&a, argc, argv, 1, 1))
        return a.status;
    int status = maintenance_check(&a.console, args_rest(&a)[0]);
    return console_flush(&a.console, status);
}

/* ---- bpcn compact: the log of a memory file folded, so that the file is as small as it can be. */

int cmd_compact(int argc, char **argv)
{
    struct args a;
    if (!args_only(&a, argc, argv, 1, 2))
        return a.status;
    char **rest = args_rest(&a);
    int status = maintenance_compact(&a.console, rest[0], args_count(&a) > 1 ? rest[1] : NULL);
    return console_flush(&a.console, status);
}

/* ---- bpcn recover: what is intact of a damaged memory file, in a new one. */

int cmd_recover(int argc, char **argv)
{
    struct args a;
    if (!args_only(&a, argc, argv, 2, 2))
        return a.status;
    int status = maintenance_recover(&a.console, args_rest(&a)[0], args_rest(&a)[1]);
    return console_flush(&a.console, status);
}
