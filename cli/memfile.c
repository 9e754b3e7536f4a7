/* Memory files, as the library keeps them, with the program's remark in their note. */
#include "memfile.h"

#include "progress.h"
#include "verdict.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum { NOTE_MOST = FIELDS_TEXT_MOST + 256 };
static const double seconds_between_syncs = 1;

/* The library's sentence, after the file's name unless it has it. */
static int library_error(const struct say *say, const char *path, bpcn_status status)
{
    const char *why = bpcn_error();
    if (strstr(why, path) != NULL)
        say_error(say, "%s", why);
    else
        say_error(say, "%s: %s", path, why);
    if (status == BPCN_CORRUPT)
        say_note(say, "bpcn recover %s NEW saves what is intact of it to a new file", path);
    return status == BPCN_FORMAT || status == BPCN_NEWER || status == BPCN_CORRUPT ? EXIT_DAMAGED : EXIT_FAILED;
}

/* What a crash left, once a run. */
static void tell_dropped(const struct say *say, const char *path, const bpcn_memory *memory)
{
    static bool told;
    bpcn_file_info info = {.size = sizeof info};
    if (told || bpcn_memory_get_file(memory, &info) != BPCN_OK || info.dropped_bytes == 0)
        return;
    told = true;
    say_note(say,
             "%s: its last %llu bytes were never finished (a crash, or a writer at work) and are dropped: at most "
             "%llu row%s, none of them acknowledged",
             path, (unsigned long long)info.dropped_bytes, (unsigned long long)info.dropped_rows,
             info.dropped_rows == 1 ? "" : "s");
}

int memfile_error(const struct memfile *file)
{
    return library_error(file->say, file->path, BPCN_INVALID);
}

static bpcn_status put_remark(bpcn_memory *memory, const struct remark *remark)
{
    char note[NOTE_MOST];
    remark_format(remark, note, sizeof note);
    return bpcn_memory_set_note(memory, note, strlen(note));
}

int memfile_adopt(const struct say *say, const char *path, bpcn_memory *memory, const struct fields *fields, bool force)
{
    struct stat st;
    struct remark remark = {.fields = *fields, .fullness = memory_fullness(memory)};
    bpcn_stats stats = {.size = sizeof stats};
    int failed = 0;
    if (bpcn_memory_get_stats(memory, &stats) == BPCN_OK)
        remark.measured = stats.writes;
    if (!force && lstat(path, &st) == 0)
        failed = say_error(say, "%s: already exists (use --force to replace it)", path);
    bpcn_status status = failed ? BPCN_OK : put_remark(memory, &remark);
    if (!failed && status == BPCN_OK)
        status = bpcn_memory_save(memory, path);
    if (!failed && status != BPCN_OK)
        failed = library_error(say, path, status);
    bpcn_memory_free(memory);
    return failed;
}

const struct option memfile_create_list[] = {{NULL, 0, NULL, 0}};

int memfile_create(const struct say *say, const char *path, const bpcn_options *options, const struct fields *fields,
                   bool force, size_t files)
{
    bpcn_memory *memory;
    (void)files;
    if (bpcn_memory_create(options, &memory) != BPCN_OK)
        return say_error(say, "%s: %s", path, bpcn_error());
    return memfile_adopt(say, path, memory, fields, force);
}

static int get_remark(struct memfile *file)
{
    char note[NOTE_MOST] = "";
    size_t bytes = 0;
    bpcn_options o = {.size = sizeof o};
    bpcn_status status = bpcn_memory_get_options(file->memory, &o);
    if (status == BPCN_OK)
        status = bpcn_memory_get_note(file->memory, note, sizeof note - 1, &bytes);
    if (status != BPCN_OK)
        return library_error(file->say, file->path, status);
    if (remark_parse(note, o.dim, &file->remark) != 0) {
        say_error(file->say, "%s: its note does not describe its rows", file->path);
        return EXIT_DAMAGED;
    }
    return 0;
}

int memfile_open(const struct say *say, const char *path, enum purpose purpose, struct memfile *file)
{
    bpcn_open_options o;
    bpcn_open_options_default(&o, sizeof o);
    *file = (struct memfile){.say = say, .path = path, .synced = seconds_now()};
    o.read_only = purpose == TO_LOOK;
    o.sync = BPCN_SYNC_MANUAL;
    bpcn_status status = bpcn_memory_open(path, &o, &file->memory);
    if (status != BPCN_OK)
        return library_error(say, path, status);
    tell_dropped(say, path, file->memory);
    int failed = get_remark(file);
    if (failed)
        memfile_close(file);
    return failed;
}

static int make_durable(struct memfile *file)
{
    bpcn_status status = bpcn_memory_sync(file->memory);
    file->synced = seconds_now();
    return status == BPCN_OK ? 0 : library_error(file->say, file->path, status);
}

int memfile_commit(struct memfile *file)
{
    bpcn_status status = put_remark(file->memory, &file->remark);
    if (status != BPCN_OK)
        return library_error(file->say, file->path, status);
    return make_durable(file);
}

int memfile_breathe(struct memfile *file)
{
    return seconds_now() - file->synced < seconds_between_syncs ? 0 : make_durable(file);
}

void memfile_close(struct memfile *file)
{
    bpcn_memory_free(file->memory);
    file->memory = NULL;
}

bpcn_status memfile_options(const struct memfile *file, bpcn_options *options)
{
    return bpcn_memory_get_options(file->memory, options);
}

bpcn_status memfile_stats(const struct memfile *file, bpcn_stats *stats)
{
    return bpcn_memory_get_stats(file->memory, stats);
}

bpcn_status memfile_read(const struct memfile *file, const float *query, const unsigned char *known, size_t n,
                         const bpcn_read_options *options, float *out, bpcn_read_info *info)
{
    return bpcn_memory_read(file->memory, query, known, n, options, out, info);
}

bpcn_status memfile_delete(struct memfile *file, const float *x)
{
    return bpcn_memory_delete(file->memory, x);
}

bpcn_status memfile_forget(struct memfile *file, double beta)
{
    return bpcn_memory_forget(file->memory, beta);
}

bpcn_status memfile_discount(struct memfile *file, double beta)
{
    return bpcn_memory_discount(file->memory, beta);
}

double memfile_fullness(const struct memfile *file)
{
    return memory_fullness(file->memory);
}

bpcn_status memfile_write(struct memfile *file, const float *x, size_t n, bpcn_write_row *rows, size_t *written)
{
    bpcn_write_info info;
    bpcn_write_info_default(&info, sizeof info);
    info.rows = rows;
    bpcn_status status = bpcn_memory_write(file->memory, x, NULL, n, &info);
    *written = info.written;
    return status;
}

size_t memfile_write_most(const struct memfile *file)
{
    (void)file;
    return 1; /* so that an interrupt waits for one row only */
}

const char *memfile_why(const struct memfile *file)
{
    (void)file;
    return bpcn_error();
}

int memfile_header(const struct say *say, const char *path, struct memhead *head)
{
    bpcn_file_info info = {.size = sizeof info};
    *head = (struct memhead){.options.size = sizeof head->options, .files = 1};
    bpcn_status status = bpcn_file_inspect(path, &info, &head->options);
    if (status != BPCN_OK)
        return library_error(say, path, status);
    head->file_bytes = info.file_bytes;
    head->file_most = info.file_most;
    head->disk_most = info.disk_most;
    head->stats = (bpcn_stats){
        .writes = info.writes, .forgets = info.forgets, .deletes = info.deletes, .bytes = (size_t)info.snapshot_bytes};
    return remark_parse("", head->options.dim, &head->remark) == 0 ? 0 : EXIT_DAMAGED;
}

int memfile_head(const struct say *say, const char *path, struct memhead *head)
{
    struct memfile file;
    size_t shards;
    bpcn_file_info info = {.size = sizeof info};
    *head = (struct memhead){.options.size = sizeof head->options, .files = 1};
    bpcn_status status = bpcn_file_inspect(path, &info, &head->options);
    if (status != BPCN_OK)
        return library_error(say, path, status);
    head->file_bytes = info.file_bytes;
    head->file_most = info.file_most;
    head->disk_most = info.disk_most;
    int failed = memfile_open(say, path, TO_LOOK, &file);
    if (failed)
        return failed;
    head->remark = file.remark;
    head->stats.size = sizeof head->stats;
    status = bpcn_memory_get_stats(file.memory, &head->stats);
    head->rows = status == BPCN_OK ? calloc(head->stats.shards, sizeof *head->rows) : NULL;
    if (head->rows != NULL)
        status = bpcn_memory_get_shards(file.memory, head->rows, head->stats.shards, &shards);
    if (status != BPCN_OK)
        failed = library_error(say, path, status);
    else if (head->rows == NULL)
        failed = say_error(say, "out of memory");
    if (failed)
        memhead_free(head);
    memfile_close(&file);
    return failed;
}

void memhead_free(struct memhead *head)
{
    free(head->rows);
    head->rows = NULL;
}

static void check_json(const char *path, const bpcn_file_info *info)
{
    fputs("{\"file\":", stdout);
    json_string(stdout, path);
    printf(
        ",\"sound\":%s,\"closed\":%s,\"bytes\":%llu,\"records\":%llu,\"dropped_bytes\":%llu,\"dropped_rows\":%llu}\n",
        info->dropped_bytes == 0 ? "true" : "false", info->sealed ? "true" : "false",
        (unsigned long long)info->file_bytes, (unsigned long long)info->records,
        (unsigned long long)info->dropped_bytes, (unsigned long long)info->dropped_rows);
}

int memfile_check(const struct say *say, const char *path)
{
    bpcn_file_info info = {.size = sizeof info};
    bpcn_status status = bpcn_file_check(path, &info, NULL);
    if (status != BPCN_OK)
        return library_error(say, path, status);
    if (say->json)
        check_json(path, &info);
    if (info.dropped_bytes > 0) {
        say_result(say,
                   "%s: torn: a crash (or a writer at work) left %llu bytes at the end that were never finished, at "
                   "most %llu row%s; all that was acknowledged is there, and the next write drops the rest\n",
                   path, (unsigned long long)info.dropped_bytes, (unsigned long long)info.dropped_rows,
                   info.dropped_rows == 1 ? "" : "s");
        return EXIT_REFUSED;
    }
    say_result(say, "%s: sound%s\n", path,
               info.sealed        ? ""
               : info.version < 3 ? " (of an older format, which tells no damage of its end from a crash)"
                                  : " (not closed: a crash ended its writer, or one is at work)");
    return EXIT_DONE;
}

static void tell_loss(void *user, const char *what)
{
    say_note(user, "%s", what);
}

static void recover_json(const char *from, const char *to, const bpcn_recovery *r)
{
    fputs("{\"file\":", stdout);
    json_string(stdout, from);
    fputs(",\"recovered\":", stdout);
    json_string(stdout, to);
    printf(",\"writes\":%llu,\"records\":%llu,\"rows\":%llu,\"mended\":%llu,\"lost_records\":%llu,\"shards\":%llu,"
           "\"lost_shards\":%llu}\n",
           (unsigned long long)r->writes, (unsigned long long)r->records, (unsigned long long)r->rows,
           (unsigned long long)r->mended, (unsigned long long)r->lost_records, (unsigned long long)r->shards,
           (unsigned long long)r->lost_shards);
}

int memfile_recover(struct say *say, const char *from, const char *to)
{
    bpcn_recovery r = {.size = sizeof r, .tell = tell_loss, .user = say};
    bpcn_status status = bpcn_file_recover(from, to, &r);
    if (status != BPCN_OK) {
        say_error(say, "%s: %s", from, bpcn_error());
        return status == BPCN_FORMAT || status == BPCN_NEWER || status == BPCN_CORRUPT ? EXIT_DAMAGED : EXIT_FAILED;
    }
    if (say->json)
        recover_json(from, to, &r);
    say_result(say, "%s: %llu rows written, %llu of them in whole records of the log", to, (unsigned long long)r.writes,
               (unsigned long long)r.rows);
    if (r.lost_shards > 0)
        say_result(say, "; %llu of %llu shards lost", (unsigned long long)r.lost_shards, (unsigned long long)r.shards);
    if (r.lost_records > 0)
        say_result(say, "; %llu record%s of the log lost", (unsigned long long)r.lost_records,
                   r.lost_records == 1 ? "" : "s");
    say_result(say, r.lost_shards + r.lost_records + r.lost_note == 0 ? "; nothing is lost\n" : "\n");
    return r.lost_shards + r.lost_records + r.lost_note == 0 ? EXIT_DONE : EXIT_REFUSED;
}

/* Folds the log into the file itself, or into a new one. */
static bpcn_status fold(bpcn_memory *memory, const char *to)
{
    return to == NULL ? bpcn_memory_checkpoint(memory) : bpcn_memory_save(memory, to);
}

int memfile_compact(const struct say *say, const char *path, const char *to)
{
    struct memfile file;
    bpcn_file_info before = {.size = sizeof before}, after = {.size = sizeof after};
    struct stat st;
    if (to != NULL && lstat(to, &st) == 0)
        return say_error(say, "%s: already exists", to);
    bpcn_status status = bpcn_file_inspect(path, &before, NULL);
    if (status != BPCN_OK)
        return library_error(say, path, status);
    int failed = memfile_open(say, path, to != NULL ? TO_LOOK : TO_CHANGE, &file);
    if (failed)
        return failed;
    if (to != NULL || before.log_bytes > 0)
        status = fold(file.memory, to);
    memfile_close(&file);
    if (status == BPCN_OK)
        status = bpcn_file_inspect(to != NULL ? to : path, &after, NULL);
    if (status != BPCN_OK)
        return library_error(say, path, status);
    say_result(say, "%s: %s, it was %s with a log of %s\n", to != NULL ? to : path, say_bytes(after.file_bytes),
               say_bytes(before.file_bytes), say_bytes(before.log_bytes));
    if (say->json) {
        fputs("{\"file\":", stdout);
        json_string(stdout, to != NULL ? to : path);
        printf(",\"bytes_before\":%llu,\"bytes\":%llu}\n", (unsigned long long)before.file_bytes,
               (unsigned long long)after.file_bytes);
    }
    return EXIT_DONE;
}
