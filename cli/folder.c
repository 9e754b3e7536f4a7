/* Names, places and files of a memory. */
#include "folder.h"

#include <dirent.h>
#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

void trouble_set(struct trouble *t, int status, const char *format, ...)
{
    va_list args;
    if (t->status != 0)
        return; /* the first one counts */
    va_start(args, format);
    t->status = status;
    vsnprintf(t->text, sizeof t->text, format, args);
    va_end(args);
}

/* The library's sentence, after the file's name unless it has it. */
static void library_trouble(struct trouble *t, bpcn_status status, const char *path)
{
    const char *why = bpcn_error();
    if (strstr(why, path) != NULL)
        trouble_set(t, (int)status, "%s", why);
    else
        trouble_set(t, (int)status, "%s: %s", path, why);
}

void part_trouble(struct trouble *t, bpcn_status status)
{
    trouble_set(t, (int)status, "%s", bpcn_error());
}

/* ---- places */

void part_path(const struct folder *folder, size_t f, char *out, size_t room)
{
    if (folder->lone)
        snprintf(out, room, "%s", folder->path);
    else
        snprintf(out, room, "%s/part-%05zu-of-%05zu.mem", folder->path, f, folder->files);
}

size_t part_shard(const struct folder *folder, size_t f, size_t k)
{
    return f + k * folder->files;
}

int part_rank(const struct folder *folder, size_t f)
{
    return (int)(f % (size_t)folder->ranks);
}

struct part *own_part(const struct folder *folder, size_t f)
{
    return &folder->part[f / (size_t)folder->ranks];
}

size_t part_shards(const bpcn_options *whole, size_t files, size_t f)
{
    return whole->shards > f ? (whole->shards - f + files - 1) / files : 0;
}

bpcn_options part_options(const bpcn_options *whole, size_t files, size_t f)
{
    bpcn_options o = *whole;
    o.shards = part_shards(whole, files, f);
    o.first_shard = f;
    o.shard_step = files;
    o.names = (whole->names + files - 1) / files;
    return o;
}

uint64_t part_slot(const bpcn_options *whole, size_t files, size_t f, uint64_t written)
{
    uint64_t all = whole->shards, own = part_shards(whole, files, f), rows = whole->shard_rows;
    uint64_t round = written / (own * rows), within = written % (own * rows);
    if (round == 0 || whole->when_full == BPCN_RECYCLE)
        return (round * all + within / rows * files + f) * rows + within % rows;
    if (whole->when_full == BPCN_REFUSE)
        return UINT64_MAX;
    uint64_t more = written - own * rows; /* evenly, one row for each shard in turn */
    return all * rows + more / own * all + more % own * files + f;
}

size_t folder_open_shard(const struct folder *folder)
{
    const bpcn_options *o = &folder->options;
    uint64_t last = 0;
    for (size_t f = 0; f < folder->files; f++) {
        uint64_t own = folder->written[f];
        uint64_t slot = own > 0 ? part_slot(o, folder->files, f, own - 1) : 0;
        last = slot > last ? slot : last;
    }
    if (o->when_full == BPCN_BLUR && last >= (uint64_t)o->shards * o->shard_rows)
        return o->shards - 1;
    return (size_t)(last / o->shard_rows % o->shards);
}

/* ---- names */

static int parse_name(const char *name, size_t *f, size_t *files)
{
    char again[64];
    if (sscanf(name, "part-%5zu-of-%5zu.mem", f, files) != 2)
        return -1;
    snprintf(again, sizeof again, "part-%05zu-of-%05zu.mem", *f, *files);
    return strcmp(name, again) == 0 && *f < *files ? 0 : -1;
}

size_t folder_scan(const char *path, struct trouble *trouble)
{
    DIR *dir = opendir(path);
    size_t found = 0, f, files;
    if (dir == NULL) {
        trouble_set(trouble, BPCN_IO, "%s: %s", path, strerror(errno));
        return 0;
    }
    for (struct dirent *e; (e = readdir(dir)) != NULL;) {
        if (parse_name(e->d_name, &f, &files) != 0)
            continue;
        if (found != 0 && files != found)
            trouble_set(trouble, BPCN_CORRUPT, "%s: it has files of two memories, one of %zu files and one of %zu",
                        path, found < files ? found : files, found < files ? files : found);
        found = files;
    }
    closedir(dir);
    return found;
}

void folder_clear(const char *path, struct trouble *trouble)
{
    DIR *dir = opendir(path);
    char full[PATH_MOST + 64];
    size_t f, files;
    for (struct dirent *e; dir != NULL && (e = readdir(dir)) != NULL;) {
        if (parse_name(e->d_name, &f, &files) != 0)
            continue;
        snprintf(full, sizeof full, "%s/%.32s", path, e->d_name);
        if (unlink(full) != 0 && errno != ENOENT)
            trouble_set(trouble, BPCN_IO, "%s: %s", full, strerror(errno));
    }
    if (dir != NULL)
        closedir(dir);
}

/* ---- files */

void folder_try(const struct folder *folder, struct trouble *trouble)
{
    bpcn_options o = part_options(&folder->options, folder->files, (size_t)folder->rank);
    bpcn_memory *memory = NULL;
    bpcn_status status = trouble->status == 0 ? bpcn_memory_create(&o, &memory) : BPCN_OK;
    if (status != BPCN_OK)
        library_trouble(trouble, status, folder->path);
    bpcn_memory_free(memory);
}

void folder_make(struct folder *folder, const char *note, struct trouble *trouble)
{
    char path[PATH_MOST + 64];
    if (mkdir(folder->path, 0777) != 0 && errno != EEXIST)
        trouble_set(trouble, BPCN_IO, "%s: %s", folder->path, strerror(errno));
    for (size_t f = (size_t)folder->rank; trouble->status == 0 && f < folder->files; f += (size_t)folder->ranks) {
        bpcn_options o = part_options(&folder->options, folder->files, f);
        bpcn_memory *memory;
        part_path(folder, f, path, sizeof path);
        bpcn_status status = bpcn_memory_create(&o, &memory);
        if (status == BPCN_OK)
            status = bpcn_memory_set_note(memory, note, strlen(note));
        if (status == BPCN_OK)
            status = bpcn_memory_save(memory, path);
        if (status != BPCN_OK)
            library_trouble(trouble, status, path);
        bpcn_memory_free(memory);
    }
}

void part_count(struct part *part)
{
    bpcn_stats stats = {.size = sizeof stats};
    size_t shards = 0;
    bpcn_memory_get_stats(part->memory, &stats);
    part->written = stats.writes;
    part->rows = 0;
    uint64_t *rows = calloc(stats.shards, sizeof *rows);
    if (rows != NULL && bpcn_memory_get_shards(part->memory, rows, stats.shards, &shards) == BPCN_OK)
        for (size_t k = 0; k < shards; k++)
            part->rows += rows[k];
    free(rows);
}

/* As many threads as the ranks on this machine leave each other, unless the user says. */
static int threads_here(void)
{
    const char *mates = getenv("OMPI_COMM_WORLD_LOCAL_SIZE");
    long here = mates != NULL ? strtol(mates, NULL, 10) : 1, cores = sysconf(_SC_NPROCESSORS_ONLN);
    if (getenv("BPCN_THREADS") != NULL || here <= 1)
        return 0;
    return cores / here > 1 ? (int)(cores / here) : 1;
}

static void open_part(const char *path, int read_only, struct part *part, struct trouble *trouble)
{
    struct stat st;
    bpcn_open_options o;
    bpcn_open_options_default(&o, sizeof o);
    o.read_only = read_only;
    o.sync = BPCN_SYNC_MANUAL;
    o.threads = threads_here();
    bpcn_status status = bpcn_memory_open(path, &o, &part->memory);
    if (status != BPCN_OK) {
        library_trouble(trouble, status, path);
        return;
    }
    part->bytes = stat(path, &st) == 0 ? (uint64_t)st.st_size : 0;
    part_count(part);
}

void folder_open(struct folder *folder, int read_only, struct trouble *trouble)
{
    char path[PATH_MOST + 64];
    size_t rank = (size_t)folder->rank, ranks = (size_t)folder->ranks;
    folder->count = (folder->files - rank + ranks - 1) / ranks;
    folder->part = calloc(folder->count, sizeof *folder->part);
    if (folder->part == NULL) {
        trouble_set(trouble, BPCN_NO_MEMORY, "out of memory");
        return;
    }
    for (size_t i = 0; trouble->status == 0 && i < folder->count; i++) {
        folder->part[i].number = rank + i * ranks;
        part_path(folder, folder->part[i].number, path, sizeof path);
        open_part(path, read_only, &folder->part[i], trouble);
    }
    folder->options.size = sizeof folder->options;
    if (trouble->status == 0)
        bpcn_memory_get_options(folder->part[0].memory, &folder->options);
    if (!folder->lone) {
        folder->options.first_shard = 0;
        folder->options.shard_step = 1;
    }
}

/* What parts of one memory have in common. */
static int alike(const bpcn_options *a, const bpcn_options *b)
{
    return a->dim == b->dim && a->layers == b->layers &&
           memcmp(a->hidden, b->hidden, a->layers * sizeof *a->hidden) == 0 && a->activation == b->activation &&
           a->particles == b->particles && a->precision == b->precision && a->resample == b->resample &&
           a->sigma_w == b->sigma_w && a->sigma_x == b->sigma_x && a->sigma_data == b->sigma_data &&
           a->seed == b->seed && a->shard_rows == b->shard_rows && a->when_full == b->when_full;
}

void part_check(const struct folder *folder, size_t f, const bpcn_options *own, const bpcn_options *first,
                struct trouble *trouble)
{
    char path[PATH_MOST + 64];
    part_path(folder, f, path, sizeof path);
    if (!alike(own, first))
        trouble_set(trouble, BPCN_CORRUPT, "%s: it is of another shape than the folder's first file", path);
    else if (!folder->lone && (own->first_shard != f || own->shard_step != folder->files ||
                               own->shards != part_shards(&folder->options, folder->files, f)))
        trouble_set(trouble, BPCN_CORRUPT, "%s: it holds other shards than its name says", path);
}

void folder_check(const struct folder *folder, const bpcn_options *first, struct trouble *trouble)
{
    for (size_t i = 0; i < folder->count; i++) {
        bpcn_options o = {.size = sizeof o};
        bpcn_memory_get_options(folder->part[i].memory, &o);
        part_check(folder, folder->part[i].number, &o, first, trouble);
    }
}

void folder_close(struct folder *folder)
{
    for (size_t i = 0; folder->part != NULL && i < folder->count; i++)
        bpcn_memory_free(folder->part[i].memory);
    free(folder->part);
    free(folder->written);
    folder->part = NULL;
    folder->written = NULL;
    folder->count = 0;
}
