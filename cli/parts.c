/* parts.h for one process, which has all files of the folder open and loops over them. */
#include "parts.h"

#include "scramble.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { LOOKS = 20 };

int parts_ranks(void)
{
    return 1;
}

bool parts_only_folders(void)
{
    return false;
}

static bpcn_status no_memory(void)
{
    return bpcn_fail(BPCN_NO_MEMORY, "out of memory");
}

bpcn_status parts_create(struct folder *folder, const char *note, int force)
{
    size_t there = 0;
    folder->rank = 0;
    folder->ranks = 1;
    bpcn_status status = folder_try(folder);
    if (status == BPCN_OK && !force && folder_scan(folder->path, &there) == BPCN_OK && there > 0)
        status = bpcn_fail(BPCN_INVALID, "%s: already has a memory (use --force to replace it)", folder->path);
    if (status == BPCN_OK && force)
        status = folder_clear(folder->path);
    if (status != BPCN_OK)
        return status;
    status = own_create(folder, note);
    if (status != BPCN_OK) {
        char why[BPCN_MAX_ERROR + 1]; /* keeps the message while cleaning up */
        snprintf(why, sizeof why, "%s", bpcn_error());
        folder_clear(folder->path);
        bpcn_fail(status, "%s", why);
    }
    return status;
}

static bpcn_status open_files(struct folder *folder, int read_only)
{
    uint64_t sums[2] = {0};
    folder->rank = 0;
    folder->ranks = 1;
    bpcn_status status = folder_scan(folder->path, &folder->files);
    if (status == BPCN_OK && folder->files == 0)
        status = bpcn_fail(BPCN_FORMAT, "%s: the folder has no files part-*.mem", folder->path);
    if (status == BPCN_OK)
        status = own_open(folder, read_only, sums);
    if (status != BPCN_OK)
        return status;
    bpcn_options first = folder->options;
    folder->options.shards = (size_t)sums[0];
    folder->options.names = (size_t)sums[1];
    status = own_check(folder, &first);
    if (status == BPCN_OK)
        status = own_check_stamps(folder, own_changes(folder), own_stamped(folder));
    if (status != BPCN_OK)
        return status;
    folder->written = calloc(folder->files, sizeof *folder->written);
    for (size_t f = 0; folder->written != NULL && f < folder->files; f++)
        folder->written[f] = folder->part[f].written;
    return folder->written != NULL ? BPCN_OK : no_memory();
}

/* A reader opens the files one after the other. While a writer is active they may differ in state; then it tries again.
 */
bpcn_status parts_open(struct folder *folder, int read_only)
{
    size_t size = folder->options.size;
    bpcn_status status = open_files(folder, read_only);
    for (int look = 1; read_only && status == BPCN_CORRUPT && look < LOOKS; look++) {
        folder_close(folder);
        folder->options.size = size;
        status = open_files(folder, read_only);
    }
    if (status != BPCN_OK || read_only)
        return status;
    if (folder->stamp.id == 0)
        folder->stamp.id = folder_new_id();
    folder->stamp.changes = own_changes(folder);
    folder->stamp.open = true;
    status = own_stamp(folder);
    folder->session = status == BPCN_OK;
    return status;
}

/* If this fails, the next open finds the folder as after a crash. */
void parts_close(struct folder *folder)
{
    if (folder->session && own_sync(folder) == BPCN_OK) {
        folder->stamp.changes = own_changes(folder);
        folder->stamp.open = false;
        (void)own_stamp(folder);
    }
    folder_close(folder);
}

bpcn_status parts_read(struct folder *folder, const float *query, const unsigned char *known, size_t n,
                       const bpcn_read_options *options, float *out, bpcn_read_info *info)
{
    struct answers a;
    bpcn_status status = answers_begin(&a, folder, n, out != NULL);
    if (status == BPCN_OK)
        status = own_read(folder, query, known, options, own_rows(folder), &a);
    if (status == BPCN_OK)
        own_mix(folder, &a);
    for (size_t i = 0; i < n && status == BPCN_OK; i++) {
        info[i] = a.info[i];
        info[i].log_density = a.most[i] + log(a.sums[i]);
        info[i].evaluations = (uint64_t)a.sums[n + i];
    }
    if (out != NULL && status == BPCN_OK)
        memcpy(out, a.answer, n * a.dim * sizeof *out);
    answers_end(&a);
    return status;
}

bpcn_status parts_write(struct folder *folder, const float *x, const unsigned char *known, size_t n, const char *names,
                        bpcn_write_row *rows, size_t *written)
{
    size_t sound = 0;
    int *file = malloc((n + 1) * sizeof *file);
    *written = 0;
    if (file == NULL)
        return no_memory();
    folder_sound(x, known, n, folder->options.dim, &sound);
    size_t taken = folder_place(folder, sound, file);
    bpcn_status status = own_write(folder, file, x, known, taken, names, rows, written);
    free(file);
    return status != BPCN_OK ? status
           : taken < sound   ? folder_full(folder)
                             : folder_sound(x, known, n, folder->options.dim, &sound);
}

bpcn_status parts_delete(struct folder *folder, const float *x)
{
    double *density = malloc(folder->files * sizeof *density);
    bpcn_status status = density != NULL ? own_densities(folder, x, density) : no_memory();
    bool found = false;
    for (int f; status == BPCN_OK && !found;) {
        f = folder_likeliest(density, folder->files);
        if (f < 0)
            break;
        status = bpcn_memory_delete(own_part(folder, (size_t)f)->memory, x);
        found = status == BPCN_OK;
        if (status == BPCN_REFUSED || status == BPCN_NOT_HELD)
            status = BPCN_OK;
    }
    free(density);
    return status == BPCN_OK && !found ? folder_not_held() : status;
}

bpcn_status parts_delete_name(struct folder *folder, const char *name)
{
    bpcn_name *names;
    size_t count, best = 0;
    uint64_t latest = 0;
    bpcn_status status = own_names(folder, &names, &count);
    for (size_t k = 0; k < count; k++)
        if (strcmp(names[k].name, name) == 0 && names[k].number > latest) {
            latest = names[k].number;
            best = (size_t)names[k].shard % folder->files;
        }
    free(names);
    if (status != BPCN_OK)
        return status;
    return latest > 0 ? bpcn_memory_delete_name(own_part(folder, best)->memory, name) : folder_not_named(name);
}

bpcn_status parts_change(struct folder *folder, enum change change, double beta)
{
    return own_change(folder, change, beta);
}

bpcn_status parts_totals(struct folder *folder, int fullness, struct totals *totals)
{
    return own_totals(folder, fullness, totals);
}

bpcn_status parts_rows(struct folder *folder, uint64_t *rows)
{
    return own_shard_rows(folder, rows);
}

bpcn_status parts_name(struct folder *folder, const bpcn_read_info *info, char name[NAME_ROOM])
{
    bpcn_name found = {.number = 0};
    bpcn_status status =
        bpcn_memory_get_name(own_part(folder, (size_t)info->shard % folder->files)->memory, info->name, &found);
    memcpy(name, found.name, NAME_ROOM);
    return status;
}

bpcn_status parts_names(struct folder *folder, bpcn_name **names, size_t *count)
{
    return own_names(folder, names, count);
}

/* Each sample comes from a file drawn with a probability proportional to its rows. */
bpcn_status parts_sample(struct folder *folder, size_t n, uint64_t draw, float *out)
{
    uint64_t all = own_rows(folder);
    bpcn_status status = BPCN_OK;
    if (folder->files == 1 || all == 0)
        return bpcn_memory_sample(folder->part[0].memory, n, draw, out);
    for (size_t i = 0; status == BPCN_OK && i < n; i++) {
        uint64_t own = scrambled(scrambled(draw) + i), left = scrambled(own) % all;
        const struct part *part = folder->part;
        for (; left >= part->rows; part++)
            left -= part->rows;
        status = bpcn_memory_sample(part->memory, 1, own, out + i * folder->options.dim);
    }
    return status;
}
