/* memfile.h for bpcn-mpi: a memory in a folder of files, of which every rank has some. Rank 0 runs this. */
#include "memfile.h"

#include "progress.h"
#include "ranks.h"
#include "verdict.h"

#include <mpi.h>

#include <stdlib.h>
#include <string.h>

enum { GROUP_BYTES = 64 << 20 };
static const double seconds_between_syncs = 1;

const struct option memfile_create_list[] = {{"files", required_argument, NULL, OPT_FILES}, {NULL, 0, NULL, 0}};

static int say_trouble(const struct say *say, const struct trouble *t)
{
    say_error(say, "%s", t->text);
    return t->status == BPCN_FORMAT || t->status == BPCN_NEWER || t->status == BPCN_CORRUPT ? EXIT_DAMAGED
                                                                                            : EXIT_FAILED;
}

const char *memfile_why(const struct memfile *file)
{
    return file->folder->trouble.text;
}

int memfile_error(const struct memfile *file)
{
    return say_error(file->say, "%s: %s", file->path, memfile_why(file));
}

/* Room for the next trouble. */
static struct trouble *fresh(const struct memfile *file)
{
    file->folder->trouble = (struct trouble){0};
    return &file->folder->trouble;
}

/* ---- create, open, close */

static struct folder *folder_of(const struct say *say, const char *path)
{
    struct folder *folder = calloc(1, sizeof *folder);
    if (folder == NULL)
        say_error(say, "out of memory");
    else if (snprintf(folder->path, sizeof folder->path, "%s", path) >= (int)sizeof folder->path) {
        say_error(say, "%s: the name is too long", path);
        free(folder);
        folder = NULL;
    }
    return folder;
}

int memfile_create(const struct say *say, const char *path, const bpcn_options *options, const fmt_schema *fields,
                   bool force, size_t files)
{
    struct folder *folder = folder_of(say, path);
    struct trouble trouble = {0};
    struct remark remark = {.fields = *fields, .fullness = -1};
    char note[NOTE_MOST];
    int ranks, status;
    if (folder == NULL)
        return EXIT_FAILED;
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    folder->options = *options;
    folder->files = files > 0 ? files : (size_t)ranks;
    if (folder->options.shards == 1)
        folder->options.shards = folder->files; /* unsaid: one a file */
    if (remark_format(&remark, note, sizeof note) != 0)
        status = say_error(say, "%s: the description of its rows is too long", path);
    else
        status = ranks_create(folder, note, force, &trouble) ? say_trouble(say, &trouble) : 0;
    free(folder);
    return status;
}

/* The remark is in the note of the first file. */
static int get_remark(struct memfile *file)
{
    char note[NOTE_MOST] = "";
    size_t bytes = 0;
    bpcn_memory *first = file->folder->part[0].memory;
    if (bpcn_memory_get_note(first, note, sizeof note - 1, &bytes) != BPCN_OK)
        return say_error(file->say, "%s: %s", file->path, bpcn_error());
    if (remark_parse(note, file->folder->options.dim, &file->remark) == 0)
        return 0;
    say_error(file->say, "%s: the note of its first file does not describe its rows", file->path);
    return EXIT_DAMAGED;
}

int memfile_open(const struct say *say, const char *path, enum purpose purpose, struct memfile *file)
{
    *file = (struct memfile){.say = say, .path = path, .synced = seconds_now(), .folder = folder_of(say, path)};
    if (file->folder == NULL)
        return EXIT_FAILED;
    if (ranks_open(file->folder, purpose == TO_LOOK, fresh(file)) != 0) {
        int status = say_trouble(say, &file->folder->trouble);
        folder_close(file->folder);
        free(file->folder);
        file->folder = NULL;
        return status;
    }
    int failed = get_remark(file);
    if (failed)
        memfile_close(file);
    return failed;
}

void memfile_close(struct memfile *file)
{
    if (file->folder != NULL)
        ranks_close(file->folder);
    free(file->folder);
    file->folder = NULL;
    fmt_schema_free(&file->remark.fields);
}

static int make_durable(struct memfile *file)
{
    int status = ranks_sync(file->folder, fresh(file));
    file->synced = seconds_now();
    return status == 0 ? 0 : memfile_error(file);
}

int memfile_commit(struct memfile *file)
{
    char note[NOTE_MOST];
    if (remark_format(&file->remark, note, sizeof note) != 0)
        return say_error(file->say, "%s: the description of its rows is too long", file->path);
    if (bpcn_memory_set_note(file->folder->part[0].memory, note, strlen(note)) != BPCN_OK)
        return say_error(file->say, "%s: %s", file->path, bpcn_error());
    return make_durable(file);
}

int memfile_breathe(struct memfile *file)
{
    return seconds_now() - file->synced < seconds_between_syncs ? 0 : make_durable(file);
}

/* ---- what is done with it */

bpcn_status memfile_options(const struct memfile *file, bpcn_options *options)
{
    *options = file->folder->options;
    return BPCN_OK;
}

bpcn_status memfile_stats(const struct memfile *file, bpcn_stats *stats)
{
    struct totals t;
    if (ranks_totals(file->folder, 0, &t, fresh(file)) != 0)
        return (bpcn_status)file->folder->trouble.status;
    bpcn_memory_get_stats(file->folder->part[0].memory, stats);
    stats->writes = t.writes;
    stats->forgets = t.forgets;
    stats->deletes = t.deletes;
    stats->bytes = (size_t)t.bytes;
    stats->prepared_bytes = (size_t)t.prepared_bytes;
    stats->bytes_most = (size_t)t.bytes_most;
    stats->shards = (size_t)t.shards;
    return BPCN_OK;
}

bpcn_status memfile_read(const struct memfile *file, const float *query, const unsigned char *known, size_t n,
                         const bpcn_read_options *options, float *out, bpcn_read_info *info)
{
    bpcn_read_info *own = info == NULL ? calloc(n, sizeof *own) : NULL;
    if (info == NULL && own == NULL)
        return BPCN_NO_MEMORY;
    int status = ranks_read(file->folder, query, known, n, options, out, info ? info : own, fresh(file));
    free(own);
    return (bpcn_status)status;
}

bpcn_status memfile_write(struct memfile *file, const float *x, const unsigned char *known, size_t n,
                          bpcn_write_row *info, size_t *written)
{
    if (known != NULL) {
        *fresh(file) = (struct trouble){.status = BPCN_INVALID, .text = "rows with missing values are written by bpcn"};
        *written = 0;
        return BPCN_INVALID;
    }
    return (bpcn_status)ranks_write(file->folder, x, n, info, written, fresh(file));
}

/* So many that every rank has a shard to fill. */
size_t memfile_write_most(const struct memfile *file)
{
    const struct folder *f = file->folder;
    size_t fit = GROUP_BYTES / (f->options.dim * sizeof(float)), each = f->options.shard_rows;
    size_t all = each < SIZE_MAX / (size_t)f->ranks ? each * (size_t)f->ranks : SIZE_MAX;
    return fit < 1 ? 1 : all < fit ? all : fit;
}

bpcn_status memfile_delete(struct memfile *file, const float *x)
{
    return (bpcn_status)ranks_delete(file->folder, x, fresh(file));
}

bpcn_status memfile_forget(struct memfile *file, double beta)
{
    return (bpcn_status)ranks_forget(file->folder, beta, fresh(file));
}

bpcn_status memfile_discount(struct memfile *file, double beta)
{
    return (bpcn_status)ranks_discount(file->folder, beta, fresh(file));
}

double memfile_fullness(const struct memfile *file)
{
    struct totals t;
    return ranks_totals(file->folder, 1, &t, fresh(file)) == 0 ? t.fullness : -1;
}

/* ---- about it */

int memfile_head(const struct say *say, const char *path, struct memhead *head)
{
    struct memfile file;
    struct totals t;
    *head = (struct memhead){.options.size = sizeof head->options, .stats.size = sizeof head->stats};
    int failed = memfile_open(say, path, TO_LOOK, &file);
    if (failed)
        return failed;
    head->options = file.folder->options;
    head->remark = file.remark;
    file.remark.fields = (fmt_schema){0}; /* the head has it now */
    head->files = file.folder->files;
    if (memfile_stats(&file, &head->stats) != BPCN_OK || ranks_totals(file.folder, 0, &t, fresh(&file)) != 0)
        failed = memfile_error(&file);
    else
        head->file_bytes = t.file_bytes;
    memfile_close(&file);
    return failed;
}

/* Of a folder there is no quick look. */
int memfile_header(const struct say *say, const char *path, struct memhead *head)
{
    return memfile_head(say, path, head);
}

void memhead_free(struct memhead *head)
{
    free(head->rows);
    head->rows = NULL;
    fmt_schema_free(&head->remark.fields);
}
