/* Memories in files, with the program's note in the note of the first file. */
#include "memory_file.h"

#include "fullness.h"
#include "parts.h"
#include "progress.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum { GROUP_BYTES = 64 << 20 };
static const double seconds_between_syncs = 1;

bool memory_file_is_folder(const char *path)
{
    struct stat st;
    return stat(path, &st) == 0 ? S_ISDIR(st.st_mode) : parts_only_folders();
}

/* ---- errors */

int memory_file_refuse(const struct console *console, const char *path, bpcn_status status)
{
    const char *hint = status == BPCN_CORRUPT ? " (bpcn recover FILE NEW saves what is intact)" : "";
    if (strstr(bpcn_error(), path) != NULL)
        console_error(console, "%s%s", bpcn_error(), hint);
    else
        console_error(console, "%s: %s%s", path, bpcn_error(), hint);
    return status == BPCN_FORMAT || status == BPCN_NEWER || status == BPCN_CORRUPT ? EXIT_DAMAGED : EXIT_FAILED;
}

int memory_file_error(const struct memory_file *file, bpcn_status status)
{
    return memory_file_refuse(file->console, file->path, status);
}

/* ---- the note */

int note_format(const struct memory_note *r, char *out, size_t capacity)
{
    char *schema = fmt_schema_format(&r->fields);
    int used = -1;
    if (schema != NULL && r->fullness >= 0)
        used = snprintf(out, capacity, "fullness=%.6f\nprobes=%zu\nrecalled=%zu\nscale=%.3g\nmeasured=%" PRIu64 "\n%s",
                        r->fullness, r->probes, r->recalled, r->scale, r->measured, schema);
    else if (schema != NULL)
        used = snprintf(out, capacity, "%s", schema);
    free(schema);
    return used < 0 || (size_t)used >= capacity ? -1 : 0;
}

/* The value of a key, up to the end of its line; false when the text has no such key. Names of columns have no =. */
static bool find_value(const char *text, const char *key, char *out, size_t capacity)
{
    size_t length = strlen(key);
    for (const char *line = text; line != NULL && *line != '\0';) {
        if (strncmp(line, key, length) == 0 && line[length] == '=') {
            const char *value = line + length + 1;
            snprintf(out, capacity, "%.*s", (int)strcspn(value, "\n"), value);
            return true;
        }
        line = strchr(line, '\n');
        line = line ? line + 1 : NULL;
    }
    return false;
}

int note_parse(const char *text, size_t dim, struct memory_note *r)
{
    char value[64];
    *r = (struct memory_note){.fullness = -1};
    if (fmt_schema_parse(text, &r->fields) != BPCN_OK)
        return -1;
    snprintf(value, sizeof value, "%zu", dim);
    if (r->fields.count == 0 && fields_parse_shape("row", value, &r->fields) != 0)
        return -1;
    if (r->fields.dim != dim) {
        fmt_schema_free(&r->fields);
        return -1;
    }
    if (find_value(text, "fullness", value, sizeof value))
        r->fullness = strtod(value, NULL);
    if (find_value(text, "probes", value, sizeof value))
        r->probes = (size_t)strtoull(value, NULL, 10);
    if (find_value(text, "recalled", value, sizeof value))
        r->recalled = (size_t)strtoull(value, NULL, 10);
    if (find_value(text, "scale", value, sizeof value))
        r->scale = strtod(value, NULL);
    if (find_value(text, "measured", value, sizeof value))
        r->measured = strtoull(value, NULL, 10);
    return 0;
}

/* ---- create */

/* stamp: of a folder's file, or NULL. */
static bpcn_status set_note(bpcn_memory *memory, const struct folder_stamp *stamp, const struct memory_note *note)
{
    char text[NOTE_MOST] = "";
    if (stamp != NULL)
        folder_stamp_line(stamp, text);
    size_t used = strlen(text);
    int failed = note_format(note, text + used, sizeof text - used); /* if it is too long, the library says so */
    return bpcn_memory_set_note(memory, text, failed ? BPCN_MAX_NOTE + 1 : strlen(text));
}

int memory_file_adopt(const struct console *console, const char *path, bpcn_memory *memory, const fmt_schema *fields,
                      bool force)
{
    struct stat st;
    struct memory_note note = {.fields = *fields, .fullness = memory_fullness(memory)};
    bpcn_stats stats = {.size = sizeof stats};
    int failed = 0;
    if (bpcn_memory_get_stats(memory, &stats) == BPCN_OK)
        note.measured = stats.writes;
    if (!force && lstat(path, &st) == 0)
        failed = console_error(console, "%s: already exists (use --force to replace it)", path);
    bpcn_status status = failed ? BPCN_OK : set_note(memory, NULL, &note);
    if (!failed && status == BPCN_OK)
        status = bpcn_memory_save(memory, path);
    if (!failed && status != BPCN_OK)
        failed = memory_file_refuse(console, path, status);
    bpcn_memory_free(memory);
    return failed;
}

static struct folder *folder_of(const struct console *console, const char *path)
{
    struct folder *folder = calloc(1, sizeof *folder);
    if (folder == NULL) {
        console_error(console, "out of memory");
    } else if (snprintf(folder->path, sizeof folder->path, "%s", path) >= (int)sizeof folder->path) {
        console_error(console, "%s: the name is too long", path);
        free(folder);
        folder = NULL;
    }
    return folder;
}

int memory_file_create(const struct console *console, const char *path, const bpcn_options *options,
                       const fmt_schema *fields, bool force, size_t files)
{
    bpcn_memory *memory;
    if (files == 0 && !parts_only_folders()) {
        if (bpcn_memory_create(options, &memory) != BPCN_OK)
            return console_error(console, "%s: %s", path, bpcn_error());
        return memory_file_adopt(console, path, memory, fields, force);
    }
    struct folder *folder = folder_of(console, path);
    struct memory_note note = {.fields = *fields, .fullness = -1};
    char text[NOTE_MOST];
    size_t used;
    int failed = 0;
    if (folder == NULL)
        return EXIT_FAILED;
    folder->options = *options;
    folder->files = files > 0 ? files : (size_t)parts_ranks();
    if (folder->options.shards == 1)
        folder->options.shards = folder->files; /* unsaid: one a file */
    bpcn_status status = BPCN_OK;
    folder_stamp_line(&(struct folder_stamp){.id = folder_new_id()}, text);
    used = strlen(text);
    if (note_format(&note, text + used, sizeof text - used) != 0)
        failed = console_error(console, "%s: the description of its rows is too long", path);
    else
        status = parts_create(folder, text, force);
    free(folder);
    return status == BPCN_OK ? failed : memory_file_refuse(console, path, status);
}

/* ---- open and close */

void memory_file_tell_dropped(const struct console *console, const char *path, uint64_t bytes, uint64_t rows)
{
    static bool noted;
    if (bytes > 0 && !noted)
        console_warn(console,
                     "%s: a crash, or an active writer, left %llu unfinished bytes at the end; they are dropped, with "
                     "at most %llu row%s, none of them acknowledged",
                     path, (unsigned long long)bytes, (unsigned long long)rows, rows == 1 ? "" : "s");
    noted |= bytes > 0;
}

void memory_file_tell_seal(const struct console *console, const char *path, uint64_t torn)
{
    static bool noted;
    if (torn > 0 && !noted)
        console_note(console,
                     "%s: one of its two seals is damaged, or a crash tore it; nothing is missing, and the next write "
                     "repairs it",
                     path);
    noted |= torn > 0;
}

/* Opens the file or the folder's files, notes what a crash left, and reads the note. */
static bpcn_status open_memory(struct memory_file *file, int read_only, bpcn_memory **first)
{
    struct totals t = {0};
    bpcn_status status;
    if (file->folder != NULL) {
        status = parts_open(file->folder, read_only);
        if (status == BPCN_OK)
            status = parts_totals(file->folder, 0, &t);
        file->options = file->folder->options;
        *first = status == BPCN_OK ? file->folder->part[0].memory : NULL;
    } else {
        bpcn_open_options o;
        bpcn_file_info info = {.size = sizeof info};
        bpcn_open_options_default(&o, sizeof o);
        o.read_only = read_only;
        o.sync = BPCN_SYNC_MANUAL;
        status = bpcn_memory_open(file->path, &o, &file->memory);
        if (status == BPCN_OK)
            status = bpcn_memory_get_file(file->memory, &info);
        if (status == BPCN_OK)
            status = bpcn_memory_get_options(file->memory, &file->options);
        t.dropped_bytes = info.dropped_bytes;
        t.dropped_rows = info.dropped_rows;
        t.torn_seal = (uint64_t)info.torn_seal;
        *first = file->memory;
    }
    if (status != BPCN_OK)
        return status;
    memory_file_tell_dropped(file->console, file->path, t.dropped_bytes, t.dropped_rows);
    if (t.dropped_bytes == 0)
        memory_file_tell_seal(file->console, file->path, t.torn_seal);
    return BPCN_OK;
}

int memory_file_open(const struct console *console, const char *path, enum purpose purpose, struct memory_file *file)
{
    char note[NOTE_MOST] = "";
    size_t bytes = 0;
    bpcn_memory *first = NULL;
    *file = (struct memory_file){
        .console = console, .path = path, .options.size = sizeof file->options, .synced = seconds_now()};
    if (memory_file_is_folder(path)) {
        file->folder = folder_of(console, path);
        if (file->folder == NULL)
            return EXIT_FAILED;
        file->folder->options.size = sizeof file->options;
    }
    bpcn_status status = open_memory(file, purpose == TO_LOOK, &first);
    if (status == BPCN_OK)
        status = bpcn_memory_get_note(first, note, sizeof note - 1, &bytes);
    int failed = status == BPCN_OK ? 0 : memory_file_error(file, status);
    if (!failed && strncmp(note, "sequence=", 9) == 0) {
        failed = console_error(console, "%s: holds a sequence of frames: see bpcn play, locate and follow", path);
        memory_file_close(file);
        return failed;
    }
    if (!failed && note_parse(note, file->options.dim, &file->note) != 0) {
        console_error(console, "%s: %s does not describe its rows", path,
                      file->folder == NULL ? "its note" : "the note of its first file");
        failed = EXIT_DAMAGED;
    }
    if (failed)
        memory_file_close(file);
    return failed;
}

void memory_file_close(struct memory_file *file)
{
    if (file->folder != NULL)
        parts_close(file->folder);
    bpcn_memory_free(file->memory);
    free(file->folder);
    file->memory = NULL;
    file->folder = NULL;
    fmt_schema_free(&file->note.fields);
}

bpcn_status memory_file_sync(struct memory_file *file)
{
    bpcn_status status =
        file->folder != NULL ? parts_change(file->folder, CHANGE_SYNC, 0) : bpcn_memory_sync(file->memory);
    file->synced = seconds_now();
    return status;
}

int memory_file_commit(struct memory_file *file)
{
    struct folder *folder = file->folder;
    bpcn_status status = folder != NULL ? set_note(folder->part[0].memory, &folder->stamp, &file->note)
                                        : set_note(file->memory, NULL, &file->note);
    if (status == BPCN_OK)
        status = memory_file_sync(file);
    return status == BPCN_OK ? 0 : memory_file_error(file, status);
}

int memory_file_sync_if_due(struct memory_file *file)
{
    bpcn_status status = seconds_now() - file->synced < seconds_between_syncs ? BPCN_OK : memory_file_sync(file);
    return status == BPCN_OK ? 0 : memory_file_error(file, status);
}

/* ---- what is done with it */

bpcn_status memory_file_options(const struct memory_file *file, bpcn_options *options)
{
    *options = file->options;
    return BPCN_OK;
}

/* For a folder, the sums over its files. */
static bpcn_status folder_stats(const struct memory_file *file, bpcn_stats *stats, struct totals *t)
{
    const struct folder *folder = file->folder;
    bpcn_status status = parts_totals(file->folder, 0, t);
    if (status != BPCN_OK)
        return status;
    bpcn_memory_get_stats(folder->part[0].memory, stats);
    stats->writes = t->writes;
    stats->forgets = (uint64_t)t->forgets;
    stats->deletes = t->deletes;
    stats->bytes = (size_t)t->bytes;
    stats->prepared_bytes = (size_t)t->prepared_bytes;
    stats->bytes_most = (size_t)t->bytes_most;
    stats->shards = (size_t)t->shards;
    stats->names = (size_t)t->names;
    stats->name_bytes *= folder->files; /* the files have one shape */
    stats->open_shard = folder_open_shard(folder);
    return BPCN_OK;
}

bpcn_status memory_file_stats(const struct memory_file *file, bpcn_stats *stats)
{
    struct totals t;
    return file->folder != NULL ? folder_stats(file, stats, &t) : bpcn_memory_get_stats(file->memory, stats);
}

bpcn_status memory_file_shard_rows(const struct memory_file *file, uint64_t *rows)
{
    size_t begun = 0;
    return file->folder != NULL ? parts_rows(file->folder, rows)
                                : bpcn_memory_get_shards(file->memory, rows, file->options.shards, &begun);
}

bpcn_status memory_file_read(const struct memory_file *file, const float *query, const unsigned char *known, size_t n,
                             const bpcn_read_options *options, float *out, bpcn_read_info *info)
{
    if (file->folder == NULL && out != NULL)
        return bpcn_memory_read(file->memory, query, known, n, options, out, info);
    if (file->folder == NULL) { /* the library needs a buffer for answers even if only info is wanted */
        float *unused = malloc(n * file->options.dim * sizeof *unused + 1);
        bpcn_status read = unused != NULL ? bpcn_memory_read(file->memory, query, known, n, options, unused, info)
                                          : bpcn_fail(BPCN_NO_MEMORY, "out of memory");
        free(unused);
        return read;
    }
    bpcn_read_options o = *options;
    bpcn_read_info *own = info == NULL ? calloc(n + 1, sizeof *own) : NULL;
    if (info == NULL && own == NULL)
        return bpcn_fail(BPCN_NO_MEMORY, "out of memory");
    const bpcn_read_info *about = info != NULL ? info : own;
    o.spread = NULL;
    o.trace = NULL;
    o.trace_room = 0;
    bpcn_status status = parts_read(file->folder, query, known, n, &o, out, info != NULL ? info : own);
    size_t dim = file->options.dim;
    for (size_t j = 0; options->spread != NULL && status == BPCN_OK && j < n * dim; j++)
        options->spread[j] = known && known[j] ? 0 : (float)sqrt(about[j / dim].variance);
    free(own);
    return status;
}

bpcn_status memory_file_typicality(const struct memory_file *file, const float *x, const unsigned char *known, size_t n,
                                   double *typicality)
{
    bpcn_stats stats = {.size = sizeof stats};
    for (size_t i = 0; i < n; i++)
        typicality[i] = -1;
    if (file->memory == NULL || bpcn_memory_get_stats(file->memory, &stats) != BPCN_OK || stats.surprises == 0)
        return BPCN_OK;
    double *log_density = calloc(n + 1, sizeof *log_density);
    if (log_density == NULL)
        return bpcn_fail(BPCN_NO_MEMORY, "out of memory");
    bpcn_status status = bpcn_memory_score(file->memory, x, known, n, log_density);
    if (status == BPCN_OK)
        status = bpcn_memory_typicality(file->memory, log_density, n, typicality);
    free(log_density);
    return status;
}

bpcn_status memory_file_sample(const struct memory_file *file, size_t n, uint64_t draw, float *out)
{
    return file->folder != NULL ? parts_sample(file->folder, n, draw, out)
                                : bpcn_memory_sample(file->memory, n, draw, out);
}

bpcn_status memory_file_write(struct memory_file *file, const float *x, const unsigned char *known, size_t n,
                              const char *names, bpcn_write_row *info, size_t *written)
{
    if (file->folder != NULL)
        return parts_write(file->folder, x, known, n, names, info, written);
    bpcn_write_info how;
    bpcn_write_info_default(&how, sizeof how);
    how.rows = info;
    const char **list = names != NULL ? malloc((n + 1) * sizeof *list) : NULL;
    *written = 0;
    if (names != NULL && list == NULL)
        return bpcn_fail(BPCN_NO_MEMORY, "out of memory");
    for (size_t i = 0; names != NULL && i < n; i++)
        list[i] = names[i * NAME_ROOM] != '\0' ? names + i * NAME_ROOM : NULL;
    how.names = list;
    bpcn_status status = bpcn_memory_write(file->memory, x, known, n, &how);
    free(list);
    *written = how.written;
    return status;
}

/* One row, so that an interrupt waits for one only; with several processes, enough rows for each to fill a shard. */
size_t memory_file_write_most(const struct memory_file *file)
{
    size_t fit = GROUP_BYTES / (file->options.dim * sizeof(float)), each = file->options.shard_rows;
    size_t ranks = (size_t)parts_ranks(), all = each < SIZE_MAX / ranks ? each * ranks : SIZE_MAX;
    return !parts_only_folders() || fit < 1 ? 1 : all < fit ? all : fit;
}

bpcn_status memory_file_delete(struct memory_file *file, const float *x)
{
    return file->folder != NULL ? parts_delete(file->folder, x) : bpcn_memory_delete(file->memory, x);
}

bpcn_status memory_file_delete_name(struct memory_file *file, const char *name)
{
    return file->folder != NULL ? parts_delete_name(file->folder, name) : bpcn_memory_delete_name(file->memory, name);
}

bpcn_status memory_file_name(const struct memory_file *file, const bpcn_read_info *info, char name[NAME_ROOM])
{
    name[0] = '\0';
    if (info->name == 0)
        return BPCN_OK;
    if (file->folder != NULL)
        return parts_name(file->folder, info, name);
    bpcn_name found = {.number = 0};
    bpcn_status status = bpcn_memory_get_name(file->memory, info->name, &found);
    memcpy(name, found.name, NAME_ROOM);
    return status;
}

bpcn_name *memory_file_names(const struct memory_file *file, size_t *count)
{
    bpcn_name *names = NULL;
    bpcn_status status;
    *count = 0;
    if (file->folder != NULL) {
        status = parts_names(file->folder, &names, count);
    } else {
        status = bpcn_memory_get_names(file->memory, NULL, 0, count);
        names = status == BPCN_OK ? malloc((*count + 1) * sizeof *names) : NULL;
        if (status == BPCN_OK)
            status = names != NULL ? bpcn_memory_get_names(file->memory, names, *count, count)
                                   : bpcn_fail(BPCN_NO_MEMORY, "out of memory");
    }
    if (status == BPCN_OK)
        return names;
    free(names);
    return NULL;
}

bpcn_status memory_file_forget(struct memory_file *file, double beta)
{
    return file->folder != NULL ? parts_change(file->folder, CHANGE_FORGET, beta)
                                : bpcn_memory_forget(file->memory, beta);
}

bpcn_status memory_file_discount(struct memory_file *file, double beta)
{
    return file->folder != NULL ? parts_change(file->folder, CHANGE_DISCOUNT, beta)
                                : bpcn_memory_discount(file->memory, beta);
}

double memory_file_fullness(const struct memory_file *file)
{
    struct totals t;
    if (file->folder == NULL)
        return memory_fullness(file->memory);
    return parts_totals(file->folder, 1, &t) == BPCN_OK ? t.fullness : -1;
}

const bpcn_memory *memory_file_memory(const struct memory_file *file)
{
    if (file->folder != NULL)
        console_error(file->console, "%s: is a folder; give its files one by one", file->path);
    return file->memory;
}

/* ---- about it */

int memory_file_header(const struct console *console, const char *path, struct memory_head *head)
{
    bpcn_file_info info = {.size = sizeof info};
    if (memory_file_is_folder(path))
        return memory_file_head(console, path, head);
    *head = (struct memory_head){.options.size = sizeof head->options};
    bpcn_status status = bpcn_file_inspect(path, &info, &head->options);
    if (status != BPCN_OK)
        return memory_file_refuse(console, path, status);
    head->file_bytes = info.file_bytes;
    head->file_most = info.file_most;
    head->disk_most = info.disk_most;
    head->stats = (bpcn_stats){
        .writes = info.writes, .forgets = info.forgets, .deletes = info.deletes, .bytes = (size_t)info.snapshot_bytes};
    return note_parse("", head->options.dim, &head->note) == 0 ? 0 : EXIT_DAMAGED;
}

/* Counts and sizes of an open memory. */
static bpcn_status fill_head(const struct memory_file *file, struct memory_head *head)
{
    struct totals t = {0};
    bpcn_file_info info = {.size = sizeof info};
    bpcn_status status =
        file->folder != NULL ? folder_stats(file, &head->stats, &t) : bpcn_memory_get_stats(file->memory, &head->stats);
    if (status == BPCN_OK && file->folder == NULL)
        status = bpcn_memory_get_file(file->memory, &info);
    head->file_bytes = file->folder != NULL ? t.file_bytes : info.file_bytes;
    head->file_most = file->folder != NULL ? t.file_most : info.file_most;
    head->disk_most = file->folder != NULL ? t.disk_most : info.disk_most;
    if (status == BPCN_OK && file->folder == NULL)
        status = bpcn_memory_get_scale(file->memory, &head->centre, &head->scale, 1, &head->pairs, &head->settled);
    head->rows = calloc(head->options.shards, sizeof *head->rows);
    if (status == BPCN_OK && head->rows == NULL)
        status = bpcn_fail(BPCN_NO_MEMORY, "out of memory");
    if (status == BPCN_OK)
        status = memory_file_shard_rows(file, head->rows);
    for (size_t k = 0; k < head->options.shards && status == BPCN_OK; k++)
        if (head->rows[k] > 0 && k >= head->stats.shards) /* after a crash an earlier shard may not have begun */
            head->stats.shards = k + 1;
    return status;
}

int memory_file_head(const struct console *console, const char *path, struct memory_head *head)
{
    struct memory_file file;
    int failed = memory_file_open(console, path, TO_LOOK, &file);
    if (failed)
        return failed;
    *head = (struct memory_head){.options = file.options,
                                 .stats.size = sizeof head->stats,
                                 .note = file.note,
                                 .files = file.folder != NULL ? file.folder->files : 0};
    file.note.fields = (fmt_schema){0}; /* the head owns it now */
    bpcn_status status = fill_head(&file, head);
    if (status != BPCN_OK) {
        failed = memory_file_error(&file, status);
        memory_head_free(head);
    }
    memory_file_close(&file);
    return failed;
}

void memory_head_free(struct memory_head *head)
{
    free(head->rows);
    head->rows = NULL;
    fmt_schema_free(&head->note.fields);
}
