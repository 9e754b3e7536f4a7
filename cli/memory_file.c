/* Memories in files, as the library keeps them, with the program's remark in the note of the first. */
#include "memory_file.h"

#include "fullness.h"
#include "parts.h"
#include "progress.h"
#include "scramble.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum { GROUP_BYTES = 64 << 20 };
static const double seconds_between_syncs = 1;

bool memfile_is_folder(const char *path)
{
    struct stat st;
    return stat(path, &st) == 0 ? S_ISDIR(st.st_mode) : !alone();
}

/* What was wrong, after the memory's name unless it has it, and what to do about it. */
static int say_why(const struct say *say, const char *path, int status, const char *why)
{
    const char *hint = status == BPCN_CORRUPT ? " (bpcn recover FILE NEW saves what is intact)" : "";
    if (strstr(why, path) != NULL)
        say_error(say, "%s%s", why, hint);
    else
        say_error(say, "%s: %s%s", path, why, hint);
    return status == BPCN_FORMAT || status == BPCN_NEWER || status == BPCN_CORRUPT ? EXIT_DAMAGED : EXIT_FAILED;
}

int memfile_refuse(const struct say *say, const char *path, bpcn_status status)
{
    return say_why(say, path, (int)status, bpcn_error());
}

const char *memfile_why(const struct memfile *file)
{
    return file->folder->trouble.text;
}

int memfile_error(const struct memfile *file)
{
    return say_why(file->say, file->path, file->folder->trouble.status, memfile_why(file));
}

/* Room for the next trouble. */
static struct trouble *fresh(const struct memfile *file)
{
    file->folder->trouble = (struct trouble){0};
    return &file->folder->trouble;
}

/* A status of the library, whose sentence is kept for memfile_why. */
static bpcn_status noted(const struct memfile *file, bpcn_status status)
{
    struct trouble *trouble = fresh(file);
    if (status != BPCN_OK)
        part_trouble(trouble, status);
    return status;
}

/* ---- create, open, close */

static bpcn_status put_remark(bpcn_memory *memory, const struct remark *remark)
{
    char note[NOTE_MOST];
    int failed = remark_format(remark, note, sizeof note); /* too long: the library's sentence says what is allowed */
    return bpcn_memory_set_note(memory, note, failed ? BPCN_MAX_NOTE + 1 : strlen(note));
}

int memfile_adopt(const struct say *say, const char *path, bpcn_memory *memory, const fmt_schema *fields, bool force)
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
        failed = memfile_refuse(say, path, status);
    bpcn_memory_free(memory);
    return failed;
}

static struct folder *folder_of(const struct say *say, const char *path)
{
    struct folder *folder = calloc(1, sizeof *folder);
    if (folder == NULL) {
        say_error(say, "out of memory");
    } else if (snprintf(folder->path, sizeof folder->path, "%s", path) >= (int)sizeof folder->path) {
        say_error(say, "%s: the name is too long", path);
        free(folder);
        folder = NULL;
    } else {
        folder->lone = !memfile_is_folder(path);
    }
    return folder;
}

static int create_folder(const struct say *say, const char *path, const bpcn_options *options, const fmt_schema *fields,
                         bool force, size_t files)
{
    struct folder *folder = folder_of(say, path);
    struct trouble trouble = {0};
    struct remark remark = {.fields = *fields, .fullness = -1};
    char note[NOTE_MOST];
    int status = 0;
    if (folder == NULL)
        return EXIT_FAILED;
    find_ranks(folder);
    folder->lone = false;
    folder->options = *options;
    folder->files = files > 0 ? files : (size_t)folder->ranks;
    if (folder->options.shards == 1)
        folder->options.shards = folder->files; /* unsaid: one a file */
    if (remark_format(&remark, note, sizeof note) != 0)
        status = say_error(say, "%s: the description of its rows is too long", path);
    else if (parts_create(folder, note, force, &trouble) != 0)
        status = say_why(say, path, trouble.status, trouble.text);
    free(folder);
    return status;
}

int memfile_create(const struct say *say, const char *path, const bpcn_options *options, const fmt_schema *fields,
                   bool force, size_t files)
{
    bpcn_memory *memory;
    if (files > 0 || !alone())
        return create_folder(say, path, options, fields, force, files);
    if (bpcn_memory_create(options, &memory) != BPCN_OK)
        return say_error(say, "%s: %s", path, bpcn_error());
    return memfile_adopt(say, path, memory, fields, force);
}

static int get_remark(struct memfile *file)
{
    char note[NOTE_MOST] = "";
    size_t bytes = 0;
    bpcn_status status = bpcn_memory_get_note(file->folder->part[0].memory, note, sizeof note - 1, &bytes);
    if (status != BPCN_OK)
        return memfile_refuse(file->say, file->path, status);
    if (remark_parse(note, file->folder->options.dim, &file->remark) == 0)
        return 0;
    say_error(file->say, "%s: %s does not describe its rows", file->path,
              file->folder->lone ? "its note" : "the note of its first file");
    return EXIT_DAMAGED;
}

void memfile_tell_dropped(const struct say *say, const char *path, uint64_t bytes, uint64_t rows)
{
    static bool told;
    if (bytes > 0 && !told)
        say_note(say,
                 "%s: its last %llu bytes were never finished (a crash, or a writer at work) and are dropped: at most "
                 "%llu row%s, none of them acknowledged",
                 path, (unsigned long long)bytes, (unsigned long long)rows, rows == 1 ? "" : "s");
    told |= bytes > 0;
}

void memfile_tell_seal(const struct say *say, const char *path, uint64_t torn)
{
    static bool told;
    if (torn > 0 && !told)
        say_note(say,
                 "%s: one of its two seals is damaged, or a crash tore it; nothing is missing, and the next write makes "
                 "it anew",
                 path);
    told |= torn > 0;
}

static int tell_dropped(struct memfile *file)
{
    struct totals t;
    if (parts_totals(file->folder, 0, &t, fresh(file)) != 0)
        return memfile_error(file);
    memfile_tell_dropped(file->say, file->path, t.dropped_bytes, t.dropped_rows);
    if (t.dropped_bytes == 0)
        memfile_tell_seal(file->say, file->path, t.torn_seal);
    return 0;
}

int memfile_open(const struct say *say, const char *path, enum purpose purpose, struct memfile *file)
{
    *file = (struct memfile){.say = say, .path = path, .synced = seconds_now(), .folder = folder_of(say, path)};
    if (file->folder == NULL)
        return EXIT_FAILED;
    int failed =
        parts_open(file->folder, purpose == TO_LOOK, fresh(file)) != 0 ? memfile_error(file) : tell_dropped(file);
    if (!failed)
        failed = get_remark(file);
    if (failed)
        memfile_close(file);
    return failed;
}

void memfile_close(struct memfile *file)
{
    if (file->folder != NULL)
        parts_close(file->folder);
    free(file->folder);
    file->folder = NULL;
    fmt_schema_free(&file->remark.fields);
}

int memfile_sync(struct memfile *file)
{
    int status = parts_sync(file->folder, fresh(file));
    file->synced = seconds_now();
    return status == 0 ? 0 : memfile_error(file);
}

int memfile_commit(struct memfile *file)
{
    bpcn_status status = put_remark(file->folder->part[0].memory, &file->remark);
    if (status != BPCN_OK)
        return memfile_refuse(file->say, file->path, status);
    return memfile_sync(file);
}

int memfile_breathe(struct memfile *file)
{
    return seconds_now() - file->synced < seconds_between_syncs ? 0 : memfile_sync(file);
}

/* ---- what is done with it */

bpcn_status memfile_options(const struct memfile *file, bpcn_options *options)
{
    *options = file->folder->options;
    return BPCN_OK;
}

static bpcn_status get_stats(const struct memfile *file, bpcn_stats *stats, struct totals *t)
{
    const struct folder *folder = file->folder;
    if (parts_totals(file->folder, 0, t, fresh(file)) != 0)
        return (bpcn_status)folder->trouble.status;
    bpcn_memory_get_stats(folder->part[0].memory, stats);
    stats->writes = t->writes;
    stats->forgets = t->forgets;
    stats->deletes = t->deletes;
    stats->bytes = (size_t)t->bytes;
    stats->prepared_bytes = (size_t)t->prepared_bytes;
    stats->bytes_most = (size_t)t->bytes_most;
    stats->shards = (size_t)t->shards;
    stats->names = (size_t)t->names;
    stats->name_bytes *= folder->files; /* they are alike */
    if (!folder->lone)
        stats->open_shard = folder_open_shard(folder);
    return BPCN_OK;
}

bpcn_status memfile_stats(const struct memfile *file, bpcn_stats *stats)
{
    struct totals t;
    return get_stats(file, stats, &t);
}

bpcn_status memfile_read(const struct memfile *file, const float *query, const unsigned char *known, size_t n,
                         const bpcn_read_options *options, float *out, bpcn_read_info *info)
{
    if (file->folder->lone && alone() && (options->spread != NULL || options->trace != NULL))
        return noted(file, bpcn_memory_read(file->folder->part[0].memory, query, known, n, options, out, info));
    bpcn_read_info *own = info == NULL ? room(n, sizeof *own) : NULL;
    int status = parts_read(file->folder, query, known, n, options, out, info ? info : own, fresh(file));
    size_t dim = file->folder->options.dim;
    for (size_t j = 0; options->spread != NULL && status == 0 && j < n * dim; j++)
        options->spread[j] = known && known[j] ? 0 : (float)sqrt((info ? info : own)[j / dim].variance);
    free(own);
    return (bpcn_status)status;
}

bpcn_status memfile_typicality(const struct memfile *file, const float *x, const unsigned char *known, size_t n,
                               double *typicality)
{
    const bpcn_memory *memory = file->folder->lone && alone() ? file->folder->part[0].memory : NULL;
    bpcn_stats stats = {.size = sizeof stats};
    for (size_t i = 0; i < n; i++)
        typicality[i] = -1;
    if (memory == NULL || bpcn_memory_get_stats(memory, &stats) != BPCN_OK || stats.surprises == 0)
        return BPCN_OK;
    double *log_density = room(n, sizeof *log_density);
    bpcn_status status = bpcn_memory_score(memory, x, known, n, log_density);
    if (status == BPCN_OK)
        status = bpcn_memory_typicality(memory, log_density, n, typicality);
    free(log_density);
    return noted(file, status);
}

/* Each row from a file drawn by its rows. */
bpcn_status memfile_sample(const struct memfile *file, size_t n, uint64_t draw, float *out)
{
    const struct folder *folder = file->folder;
    bpcn_status status = BPCN_OK;
    uint64_t all = 0;
    for (size_t f = 0; f < folder->files; f++)
        all += folder->part[f].rows;
    if (folder->files == 1 || all == 0)
        status = bpcn_memory_sample(folder->part[0].memory, n, draw, out);
    for (size_t i = 0; folder->files > 1 && all > 0 && status == BPCN_OK && i < n; i++) {
        uint64_t own = scrambled(scrambled(draw) + i), left = scrambled(own) % all;
        const struct part *part = folder->part;
        for (; left >= part->rows; part++)
            left -= part->rows;
        status = bpcn_memory_sample(part->memory, 1, own, out + i * folder->options.dim);
    }
    if (status != BPCN_OK)
        part_trouble(fresh(file), status);
    return status;
}

bpcn_status memfile_write(struct memfile *file, const float *x, const unsigned char *known, size_t n, const char *names,
                          bpcn_write_row *info, size_t *written)
{
    return (bpcn_status)parts_write(file->folder, x, known, n, names, info, written, fresh(file));
}

/* One, so that an interrupt waits for one row only; or so many that every rank has a shard to fill. */
size_t memfile_write_most(const struct memfile *file)
{
    const struct folder *f = file->folder;
    size_t fit = GROUP_BYTES / (f->options.dim * sizeof(float)), each = f->options.shard_rows;
    size_t all = each < SIZE_MAX / (size_t)f->ranks ? each * (size_t)f->ranks : SIZE_MAX;
    return alone() || fit < 1 ? 1 : all < fit ? all : fit;
}

bpcn_status memfile_delete(struct memfile *file, const float *x)
{
    return (bpcn_status)parts_delete(file->folder, x, fresh(file));
}

bpcn_status memfile_delete_name(struct memfile *file, const char *name)
{
    return (bpcn_status)parts_delete_name(file->folder, name, fresh(file));
}

bpcn_status memfile_name(const struct memfile *file, const bpcn_read_info *info, char name[NAME_ROOM])
{
    name[0] = '\0';
    return info->name > 0 ? (bpcn_status)parts_name(file->folder, info, name, fresh(file)) : BPCN_OK;
}

bpcn_name *memfile_names(const struct memfile *file, size_t *count)
{
    bpcn_name *names = parts_names(file->folder, count, fresh(file));
    if (file->folder->trouble.status == 0)
        return names;
    free(names);
    return NULL;
}

bpcn_status memfile_forget(struct memfile *file, double beta)
{
    return (bpcn_status)parts_forget(file->folder, beta, fresh(file));
}

bpcn_status memfile_discount(struct memfile *file, double beta)
{
    return (bpcn_status)parts_discount(file->folder, beta, fresh(file));
}

double memfile_fullness(const struct memfile *file)
{
    struct totals t;
    return parts_totals(file->folder, 1, &t, fresh(file)) == 0 ? t.fullness : -1;
}

const bpcn_memory *memfile_memory(const struct memfile *file)
{
    if (file->folder->lone)
        return file->folder->part[0].memory;
    say_error(file->say, "%s: is a folder; take its files one by one", file->path);
    return NULL;
}

/* ---- about it */

int memfile_header(const struct say *say, const char *path, struct memhead *head)
{
    bpcn_file_info info = {.size = sizeof info};
    if (memfile_is_folder(path))
        return memfile_head(say, path, head);
    *head = (struct memhead){.options.size = sizeof head->options};
    bpcn_status status = bpcn_file_inspect(path, &info, &head->options);
    if (status != BPCN_OK)
        return memfile_refuse(say, path, status);
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
    struct totals t;
    int failed = memfile_open(say, path, TO_LOOK, &file);
    if (failed)
        return failed;
    *head = (struct memhead){.options = file.folder->options,
                             .stats.size = sizeof head->stats,
                             .remark = file.remark,
                             .files = file.folder->lone ? 0 : file.folder->files};
    file.remark.fields = (fmt_schema){0}; /* the head has it now */
    if (get_stats(&file, &head->stats, &t) != BPCN_OK) {
        failed = memfile_error(&file);
    } else {
        head->file_bytes = t.file_bytes;
        head->file_most = t.file_most;
        head->disk_most = t.disk_most;
        head->rows = parts_rows(file.folder);
        for (size_t k = 0; k < head->options.shards; k++) /* after a crash there may be some before it that have not */
            if (head->rows[k] > 0 && k >= head->stats.shards)
                head->stats.shards = k + 1;
    }
    memfile_close(&file);
    return failed;
}

void memhead_free(struct memhead *head)
{
    free(head->rows);
    head->rows = NULL;
    fmt_schema_free(&head->remark.fields);
}

/* ---- The note of a memory file: lines of key=value, and the schema of its rows, so that it can be read by eye. */

int remark_format(const struct remark *r, char *out, size_t room)
{
    char *schema = fmt_schema_format(&r->fields);
    int used = -1, tried = 0;
    if (schema != NULL && r->trials.entries > 0) {
        tried = snprintf(out, room, "tried=%" PRIu64 "\nerrors=%.9g\nspreads=%.9g\nplain=%.9g\n", r->trials.entries,
                         r->trials.errors, r->trials.spreads, r->trials.plain);
        out += tried;
        room -= (size_t)tried;
    }
    if (schema != NULL && r->fullness >= 0)
        used = snprintf(out, room, "fullness=%.6f\nprobes=%zu\nrecalled=%zu\nscale=%.3g\nmeasured=%" PRIu64 "\n%s",
                        r->fullness, r->probes, r->recalled, r->scale, r->measured, schema);
    else if (schema != NULL)
        used = snprintf(out, room, "%s", schema);
    free(schema);
    return used < 0 || (size_t)used >= room ? -1 : 0;
}

/* The value of a key, up to the end of its line; false when there is none. Names of columns have no =. */
static bool find_value(const char *text, const char *key, char *out, size_t room)
{
    size_t length = strlen(key);
    for (const char *line = text; line != NULL && *line != '\0';) {
        if (strncmp(line, key, length) == 0 && line[length] == '=') {
            const char *value = line + length + 1;
            snprintf(out, room, "%.*s", (int)strcspn(value, "\n"), value);
            return true;
        }
        line = strchr(line, '\n');
        line = line ? line + 1 : NULL;
    }
    return false;
}

/* None where they make no sense. */
static void read_trials(const char *text, bpcn_trials *t)
{
    char entries[64], errors[64], spreads[64], plain[64];
    if (!find_value(text, "tried", entries, sizeof entries) || !find_value(text, "errors", errors, sizeof errors) ||
        !find_value(text, "spreads", spreads, sizeof spreads) || !find_value(text, "plain", plain, sizeof plain))
        return;
    *t = (bpcn_trials){strtod(errors, NULL), strtod(spreads, NULL), strtod(plain, NULL), strtoull(entries, NULL, 10)};
    if (!(t->errors >= 0 && t->errors < INFINITY && t->spreads > 0 && t->spreads < INFINITY && t->plain >= 0 &&
          t->plain < INFINITY))
        *t = (bpcn_trials){0};
}

int remark_parse(const char *text, size_t dim, struct remark *r)
{
    char value[64];
    *r = (struct remark){.fullness = -1};
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
    read_trials(text, &r->trials);
    return 0;
}
