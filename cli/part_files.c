/* Names, places and files of a memory that is cut into files. */
#include "part_files.h"

#include "fullness.h"
#include "scramble.h"

#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

/* The library's message, after the file's name unless that is in it. */
static bpcn_status fail_at_file(bpcn_status status, const char *path)
{
    return strstr(bpcn_error(), path) != NULL ? status : bpcn_fail(status, "%s: %s", path, bpcn_error());
}

/* ---- places */

void part_path(const struct folder *folder, size_t f, char *out, size_t capacity)
{
    snprintf(out, capacity, "%s/part-%05zu-of-%05zu.mem", folder->path, f, folder->files);
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

enum { PART_FAR = 100 }; /* as the library's own */

static bpcn_options part_options(const bpcn_options *whole, size_t files, size_t f)
{
    bpcn_options o = *whole;
    o.shards = part_shards(whole, files, f);
    o.first_shard = f;
    o.shard_step = files;
    o.names = (whole->names + files - 1) / files;
    o.far = o.far > 0 || o.scale == BPCN_SCALE_AS_GIVEN ? o.far : PART_FAR;
    o.scale = BPCN_SCALE_AS_GIVEN; /* each part would find its own scale */
    return o;
}

/* The number, among all rows that the whole was ever given, of the row that file f gets after `written` others: the
   file with the least one is next. UINT64_MAX: it takes no more. */
static uint64_t part_slot(const bpcn_options *whole, size_t files, size_t f, uint64_t written)
{
    uint64_t all = whole->shards, own = part_shards(whole, files, f), rows = whole->shard_rows;
    uint64_t round = written / (own * rows), within = written % (own * rows);
    if (round == 0 || whole->when_full == BPCN_RECYCLE)
        return (round * all + within / rows * files + f) * rows + within % rows;
    if (whole->when_full == BPCN_REFUSE)
        return UINT64_MAX;
    uint64_t more = written - own * rows; /* one row for each shard in turn */
    return all * rows + more / own * all + more % own * files + f;
}

/* The file that the next row of the whole goes to, and the row's number; -1: the memory is full. */
static int next_file(const struct folder *folder, uint64_t *number)
{
    int next = -1;
    *number = UINT64_MAX;
    for (size_t f = 0; f < folder->files; f++) {
        uint64_t slot = part_slot(&folder->options, folder->files, f, folder->written[f]);
        if (slot < *number) {
            *number = slot;
            next = (int)f;
        }
    }
    return next;
}

size_t folder_place(struct folder *folder, size_t n, int *file)
{
    uint64_t number = 0;
    int next = -1;
    for (size_t i = 0; i < n; i++) {
        /* a shard that has begun continues: no other file has a number in between */
        if (next < 0 || part_slot(&folder->options, folder->files, (size_t)next, folder->written[next]) != number + 1)
            next = next_file(folder, &number);
        else
            number++;
        if (next < 0)
            return i;
        file[i] = next;
        folder->written[next]++;
    }
    return n;
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

/* ---- files */

static int parse_part_name(const char *name, size_t *f, size_t *files)
{
    char again[64];
    if (sscanf(name, "part-%5zu-of-%5zu.mem", f, files) != 2)
        return -1;
    snprintf(again, sizeof again, "part-%05zu-of-%05zu.mem", *f, *files);
    return strcmp(name, again) == 0 && *f < *files ? 0 : -1;
}

bpcn_status folder_scan(const char *path, size_t *found)
{
    DIR *dir = opendir(path);
    bpcn_status status = BPCN_OK;
    size_t f, files;
    *found = 0;
    if (dir == NULL)
        return bpcn_fail(BPCN_IO, "%s: %s", path, strerror(errno));
    for (struct dirent *e; (e = readdir(dir)) != NULL;) {
        if (parse_part_name(e->d_name, &f, &files) != 0)
            continue;
        if (*found != 0 && files != *found && status == BPCN_OK)
            status =
                bpcn_fail(BPCN_CORRUPT, "%s: the folder has files of two memories, one of %zu files and one of %zu",
                          path, *found < files ? *found : files, *found < files ? files : *found);
        *found = files;
    }
    closedir(dir);
    return status;
}

bpcn_status folder_clear(const char *path)
{
    DIR *dir = opendir(path);
    bpcn_status status = BPCN_OK;
    char full[PATH_MOST + 64];
    size_t f, files;
    for (struct dirent *e; dir != NULL && (e = readdir(dir)) != NULL;) {
        if (parse_part_name(e->d_name, &f, &files) != 0)
            continue;
        snprintf(full, sizeof full, "%s/%.32s", path, e->d_name);
        if (unlink(full) != 0 && errno != ENOENT && status == BPCN_OK)
            status = bpcn_fail(BPCN_IO, "%s: %s", full, strerror(errno));
    }
    if (dir != NULL)
        closedir(dir);
    return status;
}

bpcn_status folder_try(const struct folder *folder)
{
    if ((size_t)folder->ranks > folder->files)
        return bpcn_fail(BPCN_INVALID, "%s: %d processes cannot share %zu file%s: start at most %zu", folder->path,
                         folder->ranks, folder->files, folder->files == 1 ? "" : "s", folder->files);
    if (folder->options.shards < folder->files)
        return bpcn_fail(BPCN_INVALID, "%s: %zu shards cannot be cut into %zu files", folder->path,
                         folder->options.shards, folder->files);
    bpcn_options o = part_options(&folder->options, folder->files, (size_t)folder->rank);
    bpcn_memory *memory = NULL;
    bpcn_status status = bpcn_memory_create(&o, &memory);
    bpcn_memory_free(memory);
    return status == BPCN_OK ? status : fail_at_file(status, folder->path);
}

bpcn_status own_create(struct folder *folder, const char *note)
{
    char path[PATH_MOST + 64];
    bpcn_status status = BPCN_OK;
    if (mkdir(folder->path, 0777) != 0 && errno != EEXIST)
        return bpcn_fail(BPCN_IO, "%s: %s", folder->path, strerror(errno));
    for (size_t f = (size_t)folder->rank; status == BPCN_OK && f < folder->files; f += (size_t)folder->ranks) {
        bpcn_options o = part_options(&folder->options, folder->files, f);
        bpcn_memory *memory = NULL;
        part_path(folder, f, path, sizeof path);
        status = bpcn_memory_create(&o, &memory);
        if (status == BPCN_OK)
            status = bpcn_memory_set_note(memory, note, strlen(note));
        if (status == BPCN_OK)
            status = bpcn_memory_save(memory, path);
        bpcn_memory_free(memory);
        if (status != BPCN_OK)
            fail_at_file(status, path);
    }
    return status;
}

static void part_count(struct part *part)
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

/* The ranks on a machine share its cores, unless BPCN_THREADS is set. */
static int threads_here(void)
{
    const char *mates = getenv("OMPI_COMM_WORLD_LOCAL_SIZE");
    long here = mates != NULL ? strtol(mates, NULL, 10) : 1, cores = sysconf(_SC_NPROCESSORS_ONLN);
    if (getenv("BPCN_THREADS") != NULL || here <= 1)
        return 0;
    return cores / here > 1 ? (int)(cores / here) : 1;
}

/* The note, with a zero behind it, to be freed; its stamp line, of *length bytes (0: none), is the first. */
static bpcn_status read_stamp(struct part *part, char **note, size_t *length)
{
    size_t bytes = 0;
    int read = 0;
    char state[8] = "";
    part->stamp = (struct folder_stamp){.id = 0};
    bpcn_status status = bpcn_memory_get_note(part->memory, NULL, 0, &bytes);
    *length = 0;
    *note = status == BPCN_OK ? calloc(bytes + STAMP_ROOM, 1) : NULL;
    if (status == BPCN_OK && *note == NULL)
        return bpcn_fail(BPCN_NO_MEMORY, "out of memory");
    if (status == BPCN_OK)
        status = bpcn_memory_get_note(part->memory, *note, bytes, &bytes);
    if (status == BPCN_OK && sscanf(*note, "folder=%16" SCNx64 " %20" SCNu64 " %6[a-z]%n", &part->stamp.id,
                                    &part->stamp.changes, state, &read) == 3) {
        part->stamp.open = strcmp(state, "open") == 0;
        *length = (size_t)read + ((*note)[read] == '\n');
    }
    return status;
}

bpcn_status own_open(struct folder *folder, int read_only, uint64_t sums[2])
{
    char path[PATH_MOST + 64];
    struct stat st;
    bpcn_open_options o;
    size_t rank = (size_t)folder->rank, ranks = (size_t)folder->ranks;
    if (ranks > folder->files)
        return bpcn_fail(BPCN_INVALID, "%s: %zu processes cannot share %zu file%s: start at most %zu", folder->path,
                         ranks, folder->files, folder->files == 1 ? "" : "s", folder->files);
    folder->count = (folder->files - rank + ranks - 1) / ranks;
    folder->part = calloc(folder->count, sizeof *folder->part);
    if (folder->part == NULL)
        return bpcn_fail(BPCN_NO_MEMORY, "out of memory");
    bpcn_open_options_default(&o, sizeof o);
    o.read_only = read_only;
    o.sync = BPCN_SYNC_MANUAL;
    o.threads = threads_here();
    for (size_t i = 0; i < folder->count; i++) {
        struct part *part = &folder->part[i];
        part->number = rank + i * ranks;
        part_path(folder, part->number, path, sizeof path);
        bpcn_status status = bpcn_memory_open(path, &o, &part->memory);
        if (status != BPCN_OK)
            return fail_at_file(status, path);
        part->bytes = stat(path, &st) == 0 ? (uint64_t)st.st_size : 0;
        part_count(part);
        char *note = NULL;
        size_t length;
        status = read_stamp(part, &note, &length);
        free(note);
        if (status != BPCN_OK)
            return fail_at_file(status, path);
        bpcn_options own = {.size = sizeof own};
        bpcn_memory_get_options(part->memory, &own);
        sums[0] += own.shards;
        sums[1] += own.names;
        if (i == 0) {
            folder->options = own;
            folder->stamp = part->stamp;
        }
    }
    folder->options.first_shard = 0;
    folder->options.shard_step = 1;
    return BPCN_OK;
}

/* What parts of one memory have in common. */
static int same_shape(const bpcn_options *a, const bpcn_options *b)
{
    return a->dim == b->dim && a->layers == b->layers &&
           memcmp(a->hidden, b->hidden, a->layers * sizeof *a->hidden) == 0 && a->activation == b->activation &&
           a->particles == b->particles && a->precision == b->precision && a->resample == b->resample &&
           a->sigma_w == b->sigma_w && a->sigma_x == b->sigma_x && a->sigma_data == b->sigma_data &&
           a->seed == b->seed && a->shard_rows == b->shard_rows && a->when_full == b->when_full;
}

bpcn_status own_check(const struct folder *folder, const bpcn_options *first)
{
    char path[PATH_MOST + 64];
    for (size_t i = 0; i < folder->count; i++) {
        size_t f = folder->part[i].number;
        bpcn_options o = {.size = sizeof o};
        bpcn_memory_get_options(folder->part[i].memory, &o);
        part_path(folder, f, path, sizeof path);
        if (!same_shape(&o, first))
            return bpcn_fail(BPCN_CORRUPT, "%s: its shape differs from that of the folder's first file", path);
        if (o.first_shard != f || o.shard_step != folder->files ||
            o.shards != part_shards(&folder->options, folder->files, f))
            return bpcn_fail(BPCN_CORRUPT, "%s: its shards are not those of its name", path);
    }
    return BPCN_OK;
}

/* ---- stamps: see docs/FORMAT.md, Folders */

uint64_t folder_new_id(void)
{
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    uint64_t seconds = (uint64_t)now.tv_sec, id = seconds * 1000000000u + (uint64_t)now.tv_nsec;
    id = scrambled(id ^ scrambled((uint64_t)getpid()));
    return id > 0 ? id : 1;
}

void folder_stamp_line(const struct folder_stamp *stamp, char line[STAMP_ROOM])
{
    snprintf(line, STAMP_ROOM, "folder=%016" PRIx64 " %" PRIu64 " %s\n", stamp->id, stamp->changes,
             stamp->open ? "open" : "closed");
}

static uint64_t part_changes(const struct part *part)
{
    bpcn_stats stats = {.size = sizeof stats};
    bpcn_memory_get_stats(part->memory, &stats);
    return stats.writes + stats.forgets + stats.deletes;
}

uint64_t own_changes(const struct folder *folder)
{
    uint64_t sum = 0;
    for (size_t i = 0; i < folder->count; i++)
        sum += part_changes(&folder->part[i]);
    return sum;
}

uint64_t own_stamped(const struct folder *folder)
{
    uint64_t most = 0;
    for (size_t i = 0; i < folder->count; i++)
        most = folder->part[i].stamp.changes > most ? folder->part[i].stamp.changes : most;
    return most;
}

/* Between the first and the last file that is stamped nothing changes: a crash there leaves files of an older stamp,
   that of an open session, but no change is missing. */
bpcn_status own_check_stamps(const struct folder *folder, uint64_t changes, uint64_t stamped)
{
    char path[PATH_MOST + 64];
    for (size_t i = 0; i < folder->count; i++) {
        const struct folder_stamp *own = &folder->part[i].stamp;
        part_path(folder, folder->part[i].number, path, sizeof path);
        if (own->id != folder->stamp.id)
            return bpcn_fail(BPCN_CORRUPT, "%s: it is of another memory than the folder's first file", path);
        if (own->changes < stamped && !(own->open && changes == stamped))
            return bpcn_fail(BPCN_CORRUPT,
                             "%s: it is older than the folder's other files: of %" PRIu64 " changes to the memory, not "
                             "of %" PRIu64
                             "; put the right file back, or save what is there by bpcn recover FOLDER NEW",
                             path, own->changes, stamped);
    }
    if (changes < stamped)
        return bpcn_fail(BPCN_CORRUPT,
                         "%s: its files have %" PRIu64 " changes, and had %" PRIu64 ": one of them is an old copy; put "
                         "the right file back, or save what is there by bpcn recover FOLDER NEW",
                         folder->path, changes, stamped);
    return BPCN_OK;
}

bpcn_status own_sync(struct folder *folder)
{
    bpcn_status status = BPCN_OK;
    for (size_t i = 0; i < folder->count && status == BPCN_OK; i++)
        status = bpcn_memory_sync(folder->part[i].memory);
    return status;
}

bpcn_status own_stamp(struct folder *folder)
{
    bpcn_status status = BPCN_OK;
    for (size_t i = 0; i < folder->count && status == BPCN_OK; i++) {
        struct part *part = &folder->part[i];
        char *note = NULL, *stamped = NULL, line[STAMP_ROOM];
        size_t length;
        status = read_stamp(part, &note, &length);
        folder_stamp_line(&folder->stamp, line);
        if (status == BPCN_OK && (stamped = malloc(strlen(note) + STAMP_ROOM)) == NULL)
            status = bpcn_fail(BPCN_NO_MEMORY, "out of memory");
        if (status == BPCN_OK) {
            int bytes = sprintf(stamped, "%s%s", line, note + length);
            status = bpcn_memory_set_note(part->memory, stamped, (size_t)bytes);
        }
        if (status == BPCN_OK)
            status = bpcn_memory_sync(part->memory);
        if (status == BPCN_OK)
            part->stamp = folder->stamp;
        free(note);
        free(stamped);
    }
    return status;
}

bpcn_status folder_unite(const char *path)
{
    struct folder folder = {.ranks = 1};
    uint64_t sums[2] = {0};
    snprintf(folder.path, sizeof folder.path, "%s", path);
    folder.options.size = sizeof folder.options;
    bpcn_status status = folder_scan(path, &folder.files);
    if (status == BPCN_OK)
        status = own_open(&folder, 0, sums);
    bpcn_options first = folder.options;
    folder.options.shards = (size_t)sums[0];
    if (status == BPCN_OK)
        status = own_check(&folder, &first);
    folder.stamp = (struct folder_stamp){.id = folder_new_id(), .changes = own_changes(&folder)};
    if (status == BPCN_OK)
        status = own_stamp(&folder);
    folder_close(&folder);
    return status;
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
    folder->session = false;
}

/* ---- what the whole is made of */

uint64_t own_rows(struct folder *folder)
{
    uint64_t all = 0;
    for (size_t i = 0; i < folder->count; i++) {
        part_count(&folder->part[i]);
        all += folder->part[i].rows;
    }
    return all;
}

bpcn_status own_shard_rows(struct folder *folder, uint64_t *rows)
{
    bpcn_status status = BPCN_OK;
    uint64_t *own = calloc(folder->options.shards, sizeof *own);
    if (own == NULL)
        return bpcn_fail(BPCN_NO_MEMORY, "out of memory");
    for (size_t i = 0; i < folder->count && status == BPCN_OK; i++) {
        size_t begun = 0;
        status = bpcn_memory_get_shards(folder->part[i].memory, own, folder->options.shards, &begun);
        for (size_t k = 0; k < begun; k++)
            rows[part_shard(folder, folder->part[i].number, k)] = own[k];
    }
    free(own);
    return status;
}

bpcn_status own_totals(struct folder *folder, int fullness, struct totals *t)
{
    *t = (struct totals){0};
    for (size_t i = 0; i < folder->count; i++) {
        const struct part *part = &folder->part[i];
        bpcn_stats s = {.size = sizeof s};
        bpcn_file_info info = {.size = sizeof info};
        bpcn_status status = bpcn_memory_get_stats(part->memory, &s);
        if (status == BPCN_OK)
            status = bpcn_memory_get_file(part->memory, &info);
        if (status != BPCN_OK)
            return status;
        int begun = s.writes > 0 || part->number == 0;
        t->writes += s.writes;
        t->deletes += s.deletes;
        t->bytes += s.bytes;
        t->prepared_bytes += s.prepared_bytes;
        t->bytes_most += s.bytes_most;
        t->file_bytes += part->bytes;
        t->shards += begun ? s.shards : 0;
        t->file_most += info.file_most;
        t->disk_most += info.disk_most;
        t->dropped_bytes += info.dropped_bytes;
        t->dropped_rows += info.dropped_rows;
        t->torn_seal += (uint64_t)info.torn_seal;
        t->names += s.names;
        t->forgets = fmax(t->forgets, (double)s.forgets);
        if (!fullness || !begun)
            continue;
        double own = memory_fullness(part->memory);
        if (own < 0)
            return bpcn_fail(BPCN_NO_MEMORY, "out of memory");
        t->fullness +=
            own * (double)part_shards(&folder->options, folder->files, part->number) / (double)folder->options.shards;
    }
    return BPCN_OK;
}

bpcn_status own_names(struct folder *folder, bpcn_name **names, size_t *count)
{
    bpcn_status status = BPCN_OK;
    *names = NULL;
    *count = 0;
    for (size_t i = 0; i < folder->count && status == BPCN_OK; i++) {
        const struct part *part = &folder->part[i];
        size_t there = 0, got;
        status = bpcn_memory_get_names(part->memory, NULL, 0, &there);
        if (status != BPCN_OK)
            return status;
        bpcn_name *more = realloc(*names, (*count + there + 1) * sizeof *more);
        if (more == NULL)
            return bpcn_fail(BPCN_NO_MEMORY, "out of memory");
        *names = more;
        status = bpcn_memory_get_names(part->memory, more + *count, there, &got);
        for (size_t k = *count; k < *count + there; k++)
            more[k].shard = part_shard(folder, part->number, (size_t)more[k].shard);
        *count += there;
    }
    return status;
}

bpcn_status own_change(struct folder *folder, enum change change, double beta)
{
    bpcn_status status = BPCN_OK;
    for (size_t i = 0; i < folder->count && status == BPCN_OK; i++) {
        struct part *part = &folder->part[i];
        part_count(part);
        if (change == CHANGE_SYNC)
            status = bpcn_memory_sync(part->memory);
        else if (part->written > 0 || part->number == 0) /* a part with no rows has no shards yet */
            status = change == CHANGE_FORGET ? bpcn_memory_forget(part->memory, beta)
                                             : bpcn_memory_discount(part->memory, beta);
    }
    return status;
}

bpcn_status own_write(struct folder *folder, const int *file, const float *rows, const unsigned char *known, size_t n,
                      const char *names, bpcn_write_row *info, size_t *written)
{
    size_t dim = folder->options.dim;
    bpcn_status status = BPCN_OK;
    for (*written = 0; *written < n && status == BPCN_OK; *written += status == BPCN_OK) {
        size_t i = *written, f = (size_t)file[i];
        bpcn_write_info how;
        bpcn_write_info_default(&how, sizeof how);
        how.rows = &info[i];
        const char *name = names != NULL ? names + i * NAME_ROOM : "";
        how.names = name[0] != '\0' ? &name : NULL;
        status =
            bpcn_memory_write(own_part(folder, f)->memory, rows + i * dim, known ? known + i * dim : NULL, 1, &how);
        if (status == BPCN_OK)
            info[i].shard = part_shard(folder, f, (size_t)info[i].shard);
    }
    return status;
}

bpcn_status own_densities(struct folder *folder, const float *row, double *density)
{
    size_t dim = folder->options.dim;
    bpcn_status status = BPCN_OK;
    bpcn_read_options o;
    bpcn_read_info info;
    float *answer = malloc(dim * sizeof *answer);
    unsigned char *known = malloc(dim);
    bpcn_read_options_default(&o, sizeof o);
    o.noise = 0;
    for (size_t f = 0; f < folder->files; f++)
        density[f] = -INFINITY;
    if (answer == NULL || known == NULL)
        status = bpcn_fail(BPCN_NO_MEMORY, "out of memory");
    else
        memset(known, 1, dim);
    for (size_t i = 0; i < folder->count && status == BPCN_OK; i++) {
        struct part *part = &folder->part[i];
        part_count(part);
        if (part->written == 0)
            continue;
        status = bpcn_memory_read(part->memory, row, known, 1, &o, answer, &info);
        density[part->number] = info.shard_density;
    }
    free(answer);
    free(known);
    return status;
}

/* ---- reads */

bpcn_status answers_begin(struct answers *a, const struct folder *folder, size_t n, int wanted)
{
    size_t dim = folder->options.dim;
    *a = (struct answers){.n = n,
                          .dim = dim,
                          .answer = wanted ? calloc(n * dim, sizeof *a->answer) : NULL,
                          .info = calloc(n, sizeof *a->info),
                          .claim = calloc(n, sizeof *a->claim),
                          .density = calloc(folder->count * n, sizeof *a->density),
                          .most = calloc(n, sizeof *a->most),
                          .sums = calloc(2 * n, sizeof *a->sums)};
    if ((wanted && a->answer == NULL) || a->info == NULL || a->claim == NULL || a->density == NULL || a->most == NULL ||
        a->sums == NULL)
        return bpcn_fail(BPCN_NO_MEMORY, "out of memory");
    for (size_t j = 0; j < folder->count * n; j++)
        a->density[j] = -INFINITY;
    for (size_t i = 0; i < n; i++) {
        a->most[i] = -INFINITY;
        a->claim[i] = (struct claim){-INFINITY, INT32_MAX};
    }
    return BPCN_OK;
}

void answers_end(struct answers *a)
{
    free(a->answer);
    free(a->info);
    free(a->claim);
    free(a->density);
    free(a->most);
    free(a->sums);
    *a = (struct answers){0};
}

/* What a file says of row i counts if its claim is the highest so far. As among the shards of a file (docs/MODEL.md):
   the likeliest, where to be familiar counts for up to a nat. */
static void put_claim(struct answers *a, size_t i, const bpcn_read_info *info, const float *answer)
{
    struct claim claim = {info->shard_density + info->familiarity, (int)info->shard}, *best = &a->claim[i];
    if (claim.height < best->height || (claim.height == best->height && claim.shard > best->shard))
        return;
    *best = claim;
    a->info[i] = *info;
    if (a->answer != NULL)
        memcpy(a->answer + i * a->dim, answer, a->dim * sizeof *answer);
}

bpcn_status own_read(struct folder *folder, const float *query, const unsigned char *known,
                     const bpcn_read_options *options, uint64_t all, struct answers *a)
{
    bpcn_status status = BPCN_OK;
    float *answers = malloc(a->n * a->dim * sizeof *answers + 1);
    bpcn_read_info *info = calloc(a->n + 1, sizeof *info);
    if (answers == NULL || info == NULL)
        status = bpcn_fail(BPCN_NO_MEMORY, "out of memory");
    for (size_t at = 0; at < folder->count && status == BPCN_OK; at++) {
        const struct part *part = &folder->part[at];
        if (all > 0 ? part->rows == 0
                    : part->number > 0) /* a file without rows is skipped, but if none has rows the first answers */
            continue;
        double share = all > 0 ? log((double)part->rows / (double)all) : 0;
        status = bpcn_memory_read(part->memory, query, known, a->n, options, answers, info);
        for (size_t i = 0; i < a->n && status == BPCN_OK; i++) {
            double density = share + info[i].log_density;
            info[i].shard = part_shard(folder, part->number, (size_t)info[i].shard);
            a->density[at * a->n + i] = density;
            a->most[i] = fmax(a->most[i], density);
            a->sums[a->n + i] += (double)info[i].evaluations;
            put_claim(a, i, &info[i], answers + i * a->dim);
        }
    }
    free(answers);
    free(info);
    return status;
}

void own_mix(const struct folder *folder, struct answers *a)
{
    for (size_t i = 0; i < a->n; i++)
        for (size_t at = 0; at < folder->count; at++)
            a->sums[i] += isinf(a->most[i]) ? 0 : exp(a->density[at * a->n + i] - a->most[i]);
}

/* ---- what parts.c and mpi/collective.c say alike */

int folder_likeliest(double *density, size_t files)
{
    size_t best = 0;
    for (size_t f = 1; f < files; f++)
        best = density[f] > density[best] ? f : best;
    if (isinf(density[best]))
        return -1;
    density[best] = -INFINITY;
    return (int)best;
}

bpcn_status folder_full(const struct folder *folder)
{
    return bpcn_fail(BPCN_FULL, "the memory is full: its %zu shards have their %zu rows each", folder->options.shards,
                     folder->options.shard_rows);
}

bpcn_status folder_not_held(void)
{
    return bpcn_fail(BPCN_NOT_HELD, "the memory does not hold this row");
}

bpcn_status folder_not_named(const char *name)
{
    return bpcn_fail(BPCN_INVALID, "no row named '%s' is kept", name);
}

bpcn_status folder_sound(const float *x, const unsigned char *known, size_t n, size_t dim, size_t *sound)
{
    for (*sound = 0; *sound < n; ++*sound) {
        size_t row = *sound * dim;
        if (known != NULL && memchr(known + row, 1, dim) == NULL)
            return bpcn_fail(BPCN_INVALID, "nothing of it is known");
        for (size_t j = 0; j < dim; j++) {
            float value = x[row + j]; /* unknown entries are 0 */
            if (!(fabsf(value) <= 1e15f))
                return bpcn_fail(BPCN_INVALID, "entry %zu is %s", j,
                                 isnan(value)   ? "NaN"
                                 : isinf(value) ? "infinite"
                                                : "too large");
        }
    }
    return BPCN_OK;
}
