/* Creating, opening, fading and counting a memory that is cut into files. */
#include "parts.h"

#include "fullness.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- create, open, close */

static void too_many(const struct folder *folder, struct trouble *trouble)
{
    if ((size_t)folder->ranks > folder->files)
        trouble_set(trouble, BPCN_INVALID, "%s: %d ranks cannot share %zu file%s out: start at most %zu", folder->path,
                    folder->ranks, folder->files, folder->files == 1 ? "" : "s", folder->files);
}

int all_create(struct folder *folder, char *note, int force, struct trouble *trouble)
{
    struct trouble none = {0};
    find_ranks(folder);
    tell_all(folder->path, sizeof folder->path);
    tell_all(&folder->options, sizeof folder->options);
    tell_all(&folder->files, sizeof folder->files);
    tell_all(note, BPCN_MAX_NOTE);
    too_many(folder, trouble);
    if (folder->options.shards < folder->files)
        trouble_set(trouble, BPCN_INVALID, "%s: %zu shards cannot be cut into %zu files", folder->path,
                    folder->options.shards, folder->files);
    folder_try(folder, trouble);
    if (trouble->status == 0 && !force && folder_scan(folder->path, &none) > 0)
        trouble_set(trouble, BPCN_INVALID, "%s: already has a memory (use --force to replace it)", folder->path);
    if (agree(trouble) != 0)
        return trouble->status;
    if (force)
        folder_clear(folder->path, trouble);
    if (agree(trouble) != 0) /* nobody makes files while somebody still removes them */
        return trouble->status;
    folder_make(folder, note, trouble);
    if (agree(trouble) != 0)
        folder_clear(folder->path, &none);
    return trouble->status;
}

int parts_create(struct folder *folder, const char *note, int force, struct trouble *trouble)
{
    struct order order = {.op = CREATE, .flag = force};
    char *copy = room(BPCN_MAX_NOTE, 1);
    snprintf(copy, BPCN_MAX_NOTE, "%s", note);
    give_order(&order);
    int status = all_create(folder, copy, force, trouble);
    free(copy);
    return status;
}

/* The number of files by what every rank sees: one folder, or each machine its own. */
static int find_files(struct folder *folder, struct trouble *trouble)
{
    double seen = folder->lone ? 1 : (double)folder_scan(folder->path, trouble);
    double most[2] = {seen, seen > 0 ? -seen : -INFINITY}; /* and least, of those that see any */
    greatest(most, 2);
    folder->files = (size_t)most[0];
    if (most[0] == 0)
        trouble_set(trouble, BPCN_FORMAT, "%s: there are no files part-....mem of a memory in it", folder->path);
    else if (most[0] != -most[1])
        trouble_set(trouble, BPCN_CORRUPT, "%s: the ranks see memories of %.0f and of %.0f files", folder->path,
                    -most[1], most[0]);
    else
        too_many(folder, trouble);
    return agree(trouble);
}

static void share_counts(struct folder *folder)
{
    folder->written = room(folder->files, sizeof *folder->written);
    for (size_t i = 0; i < folder->count; i++)
        folder->written[folder->part[i].number] = folder->part[i].written;
    add_up(folder->written, folder->files);
}

int all_open(struct folder *folder, int read_only, struct trouble *trouble)
{
    find_ranks(folder);
    tell_all(folder->path, sizeof folder->path);
    tell_all(&folder->lone, sizeof folder->lone);
    if (find_files(folder, trouble) != 0)
        return trouble->status;
    folder_open(folder, read_only, trouble);
    if (agree(trouble) != 0)
        return trouble->status;
    uint64_t sums[2] = {0}; /* shards, and names to be kept */
    for (size_t i = 0; i < folder->count; i++) {
        bpcn_options o = {.size = sizeof o};
        bpcn_memory_get_options(folder->part[i].memory, &o);
        sums[0] += o.shards;
        sums[1] += o.names;
    }
    add_up(sums, 2);
    tell_all(&folder->options, sizeof folder->options);
    bpcn_options first = folder->options;
    folder->options.shards = (size_t)sums[0];
    folder->options.names = (size_t)sums[1];
    folder_check(folder, &first, trouble);
    if (agree(trouble) == 0)
        share_counts(folder);
    return trouble->status;
}

int parts_open(struct folder *folder, int read_only, struct trouble *trouble)
{
    struct order order = {.op = OPEN, .flag = read_only};
    give_order(&order);
    return all_open(folder, read_only, trouble);
}

void parts_close(struct folder *folder)
{
    struct order order = {.op = CLOSE};
    give_order(&order);
    folder_close(folder);
}

/* ---- forget, discount, sync */

int all_change(struct folder *folder, const struct order *order, struct trouble *trouble)
{
    for (size_t i = 0; i < folder->count && trouble->status == 0; i++) {
        struct part *part = &folder->part[i];
        bpcn_status status = BPCN_OK;
        part_count(part);
        if (order->op == SYNC)
            status = bpcn_memory_sync(part->memory);
        else if (part->written == 0 && part->number > 0)
            continue; /* its shards have not begun */
        else
            status = order->op == FORGET ? bpcn_memory_forget(part->memory, order->number)
                                         : bpcn_memory_discount(part->memory, order->number);
        if (status != BPCN_OK)
            part_trouble(trouble, status);
    }
    return agree(trouble);
}

static int change(struct folder *folder, struct order order, struct trouble *trouble)
{
    give_order(&order);
    return all_change(folder, &order, trouble);
}

int parts_forget(struct folder *folder, double beta, struct trouble *trouble)
{
    return change(folder, (struct order){.op = FORGET, .number = beta}, trouble);
}

int parts_discount(struct folder *folder, double beta, struct trouble *trouble)
{
    return change(folder, (struct order){.op = DISCOUNT, .number = beta}, trouble);
}

int parts_sync(struct folder *folder, struct trouble *trouble)
{
    return change(folder, (struct order){.op = SYNC}, trouble);
}

/* ---- counts */

int all_totals(struct folder *folder, int fullness, struct totals *totals, struct trouble *trouble)
{
    enum { SUMS = 13 };
    uint64_t sum[SUMS] = {0};
    double forgets = 0, full = 0;
    for (size_t i = 0; i < folder->count; i++) {
        bpcn_stats s = {.size = sizeof s};
        bpcn_file_info info = {.size = sizeof info};
        const struct part *part = &folder->part[i];
        bpcn_status status = bpcn_memory_get_stats(part->memory, &s);
        if (status == BPCN_OK)
            status = bpcn_memory_get_file(part->memory, &info);
        if (status != BPCN_OK)
            part_trouble(trouble, status);
        int begun = s.writes > 0 || part->number == 0;
        const uint64_t mine[SUMS] = {s.writes,
                                     s.deletes,
                                     s.bytes,
                                     s.prepared_bytes,
                                     s.bytes_most,
                                     part->bytes,
                                     begun ? s.shards : 0,
                                     info.file_most,
                                     info.disk_most,
                                     info.dropped_bytes,
                                     info.dropped_rows,
                                     info.torn_seal,
                                     s.names};
        for (size_t k = 0; k < SUMS; k++)
            sum[k] += mine[k];
        forgets = fmax(forgets, (double)s.forgets);
        if (fullness && begun) {
            double own = memory_fullness(part->memory);
            if (own < 0)
                trouble_set(trouble, BPCN_NO_MEMORY, "out of memory");
            full += own * (double)part_shards(&folder->options, folder->files, part->number);
        }
    }
    add_up(sum, SUMS);
    greatest(&forgets, 1);
    add_up_reals(&full, 1);
    *totals = (struct totals){.writes = sum[0],
                              .deletes = sum[1],
                              .bytes = sum[2],
                              .prepared_bytes = sum[3],
                              .bytes_most = sum[4],
                              .file_bytes = sum[5],
                              .shards = sum[6],
                              .file_most = sum[7],
                              .disk_most = sum[8],
                              .dropped_bytes = sum[9],
                              .dropped_rows = sum[10],
                              .torn_seal = sum[11],
                              .names = sum[12],
                              .forgets = (uint64_t)forgets,
                              .fullness = full / (double)folder->options.shards};
    return agree(trouble);
}

int parts_totals(struct folder *folder, int fullness, struct totals *totals, struct trouble *trouble)
{
    struct order order = {.op = TOTALS, .flag = fullness};
    give_order(&order);
    return all_totals(folder, fullness, totals, trouble);
}

uint64_t *all_rows(struct folder *folder)
{
    size_t shards = folder->options.shards;
    uint64_t *rows = room(shards, sizeof *rows), *own = room(shards, sizeof *own);
    for (size_t i = 0; i < folder->count; i++) {
        size_t begun = 0;
        bpcn_memory_get_shards(folder->part[i].memory, own, shards, &begun);
        for (size_t k = 0; k < begun; k++)
            rows[part_shard(folder, folder->part[i].number, k)] = own[k];
    }
    free(own);
    add_up(rows, shards);
    return rows;
}

uint64_t *parts_rows(struct folder *folder)
{
    struct order order = {.op = ROWS};
    give_order(&order);
    return all_rows(folder);
}
