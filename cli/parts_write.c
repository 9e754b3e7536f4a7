/* Rows go to the rank whose file is next, and are taken back from the file that holds them. */
#include "parts.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { WITH_HOLES = 1, WITH_NAMES = 2 }; /* of an order's flag */
enum { DELETE_TRIES = 4 };               /* files that a row is looked for in, as the library does with shards */

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

/* place [n]: the file of each row, of rank 0. Rows that no file takes are cut off: how many there are. */
static size_t place_rows(struct folder *folder, size_t n, int *place)
{
    uint64_t number = 0;
    int next = -1;
    for (size_t i = 0; i < n; i++) {
        /* where a shard goes on, its file is next: no other has a number between two that follow each other */
        if (next < 0 || part_slot(&folder->options, folder->files, (size_t)next, folder->written[next]) != number + 1)
            next = next_file(folder, &number);
        else
            number++;
        if (next < 0)
            return i;
        place[i] = next;
        folder->written[next]++;
    }
    return n;
}

struct writing {
    struct folder *folder;
    size_t n, dim;
    int *place;           /* [n] */
    int *count, *at;      /* [ranks] rows of each, and those of the ranks before it */
    float *rows;          /* this rank's */
    unsigned char *known; /* of these, or NULL: everything */
    char *names;          /* of these, or NULL: none */
    bpcn_write_row *info; /* of these */
    size_t written;       /* of these, before the first failure */
};

/* From rank 0, which has them, every rank its rows of `size` bytes, in their order. */
static void *scatter(const struct writing *w, const void *all, size_t size)
{
    const unsigned char *from = all;
    unsigned char *sorted = room(from != NULL ? w->n * size : 1, 1);
    void *mine = room((size_t)w->count[w->folder->rank] * size, 1);
    int *next = room((size_t)w->folder->ranks, sizeof *next);
    memcpy(next, w->at, (size_t)w->folder->ranks * sizeof *next);
    for (size_t i = 0; from != NULL && i < w->n; i++)
        memcpy(sorted + (size_t)next[part_rank(w->folder, (size_t)w->place[i])]++ * size, from + i * size, size);
    hand_out(sorted, w->count, w->at, size, mine);
    free(sorted);
    free(next);
    return mine;
}

static void scatter_rows(struct writing *w, const float *x, const unsigned char *known, const char *names, int flag)
{
    for (size_t i = 0; i < w->n; i++)
        w->count[part_rank(w->folder, (size_t)w->place[i])]++;
    for (int p = 1; p < w->folder->ranks; p++)
        w->at[p] = w->at[p - 1] + w->count[p - 1];
    w->rows = scatter(w, x, w->dim * sizeof *x);
    w->known = flag & WITH_HOLES ? scatter(w, known, w->dim) : NULL;
    w->names = flag & WITH_NAMES ? scatter(w, names, NAME_ROOM) : NULL;
    w->info = room((size_t)w->count[w->folder->rank], sizeof *w->info);
}

static void write_parts(struct writing *w, struct trouble *trouble)
{
    struct folder *folder = w->folder;
    for (size_t i = 0; i < w->n && trouble->status == 0; i++) {
        size_t f = (size_t)w->place[i];
        bpcn_write_info info;
        if (part_rank(folder, f) != folder->rank)
            continue;
        bpcn_write_info_default(&info, sizeof info);
        info.rows = &w->info[w->written];
        const char *name = w->names != NULL ? w->names + w->written * NAME_ROOM : "";
        info.names = name[0] != '\0' ? &name : NULL;
        const unsigned char *known = w->known ? w->known + w->written * w->dim : NULL;
        bpcn_status status =
            bpcn_memory_write(own_part(folder, f)->memory, w->rows + w->written * w->dim, known, 1, &info);
        if (status != BPCN_OK) {
            part_trouble(trouble, status);
            return;
        }
        w->info[w->written].shard = part_shard(folder, f, w->info[w->written].shard);
        w->written++;
    }
}

/* To rank 0 what became of the rows; the number of rows up to the first that failed on its rank. */
static size_t gather_rows(struct writing *w, bpcn_write_row *info)
{
    size_t ranks = (size_t)w->folder->ranks;
    uint64_t *done = room(ranks, sizeof *done), *next = room(ranks, sizeof *next);
    bpcn_write_row *all = room(info != NULL ? w->n : 1, sizeof *all);
    size_t acknowledged = 0;
    done[w->folder->rank] = w->written;
    add_up(done, ranks);
    hand_in(w->info, w->count, w->at, sizeof *all, all);
    for (; info != NULL && acknowledged < w->n; acknowledged++) {
        int p = part_rank(w->folder, (size_t)w->place[acknowledged]);
        if (next[p] == done[p])
            break;
        info[acknowledged] = all[(size_t)w->at[p] + next[p]++];
    }
    free(done);
    free(next);
    free(all);
    return acknowledged;
}

/* place, x, known and names of rank 0, NULL elsewhere; the order's flag says which of the last two there are. */
size_t all_write(struct folder *folder, const struct order *order, const int *place, const float *x,
                 const unsigned char *known, const char *names, bpcn_write_row *info, struct trouble *trouble)
{
    size_t n = (size_t)order->n;
    struct writing w = {.folder = folder, .n = n, .dim = folder->options.dim};
    w.place = room(n, sizeof *w.place);
    w.count = room((size_t)folder->ranks, sizeof *w.count);
    w.at = room((size_t)folder->ranks, sizeof *w.at);
    if (place != NULL)
        memcpy(w.place, place, n * sizeof *place);
    tell_all(w.place, n * sizeof *w.place);
    scatter_rows(&w, x, known, names, order->flag);
    write_parts(&w, trouble);
    size_t acknowledged = gather_rows(&w, info);
    agree(trouble);
    free(w.place);
    free(w.count);
    free(w.at);
    free(w.rows);
    free(w.known);
    free(w.names);
    free(w.info);
    return acknowledged;
}

/* Rows before the first that no memory would take, so that none after it is written. What is not known is 0 here. */
static size_t sound_rows(const float *x, const unsigned char *known, size_t n, size_t dim, struct trouble *trouble)
{
    for (size_t i = 0; i < n; i++) {
        if (known != NULL && memchr(known + i * dim, 1, dim) == NULL) {
            trouble_set(trouble, BPCN_INVALID, "nothing of it is known");
            return i;
        }
        for (size_t j = 0; j < dim; j++) {
            float value = x[i * dim + j];
            if (fabsf(value) <= 1e15f)
                continue;
            trouble_set(trouble, BPCN_INVALID, "entry %zu is %s", j,
                        isnan(value)   ? "NaN"
                        : isinf(value) ? "infinite"
                                       : "too large");
            return i;
        }
    }
    return n;
}

int parts_write(struct folder *folder, const float *x, const unsigned char *known, size_t n, const char *names,
                bpcn_write_row *rows, size_t *written, struct trouble *trouble)
{
    struct trouble later = {0}; /* of the row after those that are written now */
    int *place = room(n, sizeof *place);
    size_t sound = sound_rows(x, known, n, folder->options.dim, &later), taken = place_rows(folder, sound, place);
    *written = 0;
    if (taken < sound) {
        later = (struct trouble){0};
        trouble_set(&later, BPCN_FULL, "the memory is full: its %zu shards have their %zu rows each",
                    folder->options.shards, folder->options.shard_rows);
    }
    if (taken > 0) {
        struct order order = {.op = WRITE,
                              .flag = (known != NULL ? WITH_HOLES : 0) | (names != NULL ? WITH_NAMES : 0),
                              .n = taken};
        give_order(&order);
        *written = all_write(folder, &order, place, x, known, names, rows, trouble);
    }
    free(place);
    if (trouble->status == 0)
        *trouble = later;
    return trouble->status;
}

/* ---- delete */

/* density [files]: of the row in the likeliest shard of each; -infinity where there is nothing to delete. */
static void densities(struct folder *folder, const float *x, double *density, struct trouble *trouble)
{
    size_t dim = folder->options.dim;
    float *answer = room(dim, sizeof *answer);
    unsigned char *known = room(dim, 1);
    bpcn_read_options o;
    bpcn_read_options_default(&o, sizeof o);
    o.noise = 0;
    memset(known, 1, dim);
    for (size_t f = 0; f < folder->files; f++)
        density[f] = -INFINITY;
    for (size_t i = 0; i < folder->count && trouble->status == 0; i++) {
        struct part *part = &folder->part[i];
        bpcn_read_info info;
        if (part->written == 0)
            part_count(part);
        if (part->written == 0)
            continue;
        bpcn_status status = bpcn_memory_read(part->memory, x, known, 1, &o, answer, &info);
        if (status != BPCN_OK)
            part_trouble(trouble, status);
        else
            density[part->number] = info.shard_density;
    }
    greatest(density, folder->files);
    free(answer);
    free(known);
}

/* From the file that explains the row best of those that hold it. */
int all_delete(struct folder *folder, const float *x, struct trouble *trouble)
{
    float *row = room(folder->options.dim, sizeof *row);
    double *density = room(folder->files, sizeof *density);
    int found = BPCN_REFUSED;
    if (x != NULL)
        memcpy(row, x, folder->options.dim * sizeof *row);
    tell_all(row, folder->options.dim * sizeof *row);
    if (folder->files > 1)
        densities(folder, row, density, trouble);
    int failed = agree(trouble);
    for (size_t tries = 0; !failed && found == BPCN_REFUSED && tries < folder->files && tries < DELETE_TRIES; tries++) {
        size_t best = 0;
        for (size_t f = 1; f < folder->files; f++)
            best = density[f] > density[best] ? f : best;
        if (isinf(density[best]))
            break;
        density[best] = -INFINITY;
        int rank = part_rank(folder, best);
        if (rank == folder->rank)
            found = (int)bpcn_memory_delete(own_part(folder, best)->memory, row);
        if (rank == folder->rank && found != BPCN_OK && found != BPCN_REFUSED)
            part_trouble(trouble, (bpcn_status)found);
        tell_from(rank, &found, sizeof found);
        failed = agree(trouble);
    }
    if (!failed && found == BPCN_REFUSED)
        trouble_set(trouble, found, "the memory does not hold this row");
    free(row);
    free(density);
    return trouble->status;
}

int parts_delete(struct folder *folder, const float *x, struct trouble *trouble)
{
    struct order order = {.op = DELETE};
    give_order(&order);
    return all_delete(folder, x, trouble);
}
