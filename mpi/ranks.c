/* Orders of rank 0, and how all ranks carry them out together. */
#include "together.h"

#include "verdict.h"

#include <mpi.h>

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

static int all_create(struct folder *folder, char *note, int force, struct trouble *trouble)
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
    if (trouble->status == 0 && !force && folder_scan(folder->path, &none) > 0)
        trouble_set(trouble, BPCN_INVALID, "%s: already has a memory (use --force to replace it)", folder->path);
    if (agree(trouble) != 0)
        return trouble->status;
    if (force)
        folder_clear(folder->path, trouble);
    if (agree(trouble) == 0) /* nobody makes files while somebody still removes them */
        folder_make(folder, note, trouble);
    return agree(trouble);
}

int ranks_create(struct folder *folder, const char *note, int force, struct trouble *trouble)
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
    uint64_t seen = folder_scan(folder->path, trouble), most, least;
    MPI_Allreduce(&seen, &most, 1, MPI_UINT64_T, MPI_MAX, MPI_COMM_WORLD);
    seen = seen == 0 ? most : seen;
    MPI_Allreduce(&seen, &least, 1, MPI_UINT64_T, MPI_MIN, MPI_COMM_WORLD);
    folder->files = (size_t)most;
    if (most == 0)
        trouble_set(trouble, BPCN_FORMAT, "%s: there are no files part-....mem of a memory in it", folder->path);
    if (most != least)
        trouble_set(trouble, BPCN_CORRUPT, "%s: the ranks see memories of %zu and of %zu files", folder->path,
                    (size_t)least, (size_t)most);
    if (most > 0)
        too_many(folder, trouble);
    return agree(trouble);
}

static void share_counts(struct folder *folder)
{
    uint64_t *mine = room(folder->files, sizeof *mine);
    folder->written = room(folder->files, sizeof *folder->written);
    for (size_t i = 0; i < folder->count; i++)
        mine[folder->part[i].number] = folder->part[i].written;
    MPI_Allreduce(mine, folder->written, (int)folder->files, MPI_UINT64_T, MPI_SUM, MPI_COMM_WORLD);
    free(mine);
}

static int all_open(struct folder *folder, int read_only, struct trouble *trouble)
{
    find_ranks(folder);
    tell_all(folder->path, sizeof folder->path);
    if (find_files(folder, trouble) != 0)
        return trouble->status;
    folder_open(folder, read_only, trouble);
    if (agree(trouble) != 0)
        return trouble->status;
    uint64_t shards = 0;
    for (size_t i = 0; i < folder->count; i++) {
        bpcn_options o = {.size = sizeof o};
        bpcn_memory_get_options(folder->part[i].memory, &o);
        shards += o.shards;
    }
    tell_all(&folder->options, sizeof folder->options);
    bpcn_options first = folder->options;
    folder->options.shards = (size_t)add_up(shards);
    folder->options.first_shard = 0;
    folder->options.shard_step = 1;
    folder_check(folder, &first, trouble);
    if (agree(trouble) == 0)
        share_counts(folder);
    return trouble->status;
}

int ranks_open(struct folder *folder, int read_only, struct trouble *trouble)
{
    struct order order = {.op = OPEN, .flag = read_only};
    give_order(&order);
    return all_open(folder, read_only, trouble);
}

int ranks_close(struct folder *folder)
{
    struct order order = {.op = CLOSE};
    give_order(&order);
    folder_close(folder);
    return 0;
}

/* ---- forget, discount, sync */

static int all_change(struct folder *folder, const struct order *order, struct trouble *trouble)
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
            library_failed(trouble, status);
    }
    return agree(trouble);
}

static int change(struct folder *folder, struct order order, struct trouble *trouble)
{
    give_order(&order);
    return all_change(folder, &order, trouble);
}

int ranks_forget(struct folder *folder, double beta, struct trouble *trouble)
{
    return change(folder, (struct order){.op = FORGET, .number = beta}, trouble);
}

int ranks_discount(struct folder *folder, double beta, struct trouble *trouble)
{
    return change(folder, (struct order){.op = DISCOUNT, .number = beta}, trouble);
}

int ranks_sync(struct folder *folder, struct trouble *trouble)
{
    return change(folder, (struct order){.op = SYNC}, trouble);
}

/* ---- totals */

static int all_totals(struct folder *folder, int fullness, struct totals *totals, struct trouble *trouble)
{
    enum { SUMS = 7 };
    uint64_t sum[SUMS] = {0}, sums[SUMS];
    double most[2] = {0, 0}, mosts[2];
    for (size_t i = 0; i < folder->count; i++) {
        bpcn_stats s = {.size = sizeof s};
        const struct part *part = &folder->part[i];
        bpcn_status status = bpcn_memory_get_stats(part->memory, &s);
        if (status != BPCN_OK)
            library_failed(trouble, status);
        int begun = s.writes > 0 || part->number == 0;
        const uint64_t mine[SUMS] = {s.writes,    s.deletes,           s.bytes, s.prepared_bytes, s.bytes_most,
                                     part->bytes, begun ? s.shards : 0};
        for (size_t k = 0; k < SUMS; k++)
            sum[k] += mine[k];
        most[0] = fmax(most[0], (double)s.forgets);
        most[1] = fmax(most[1], fullness && begun ? memory_fullness(part->memory) : 0);
    }
    MPI_Allreduce(sum, sums, SUMS, MPI_UINT64_T, MPI_SUM, MPI_COMM_WORLD);
    MPI_Allreduce(most, mosts, 2, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
    *totals = (struct totals){.writes = sums[0],
                              .deletes = sums[1],
                              .bytes = sums[2],
                              .prepared_bytes = sums[3],
                              .bytes_most = sums[4],
                              .file_bytes = sums[5],
                              .shards = sums[6],
                              .forgets = (uint64_t)mosts[0],
                              .fullness = mosts[1]};
    return agree(trouble);
}

int ranks_totals(struct folder *folder, int fullness, struct totals *totals, struct trouble *trouble)
{
    struct order order = {.op = TOTALS, .flag = fullness};
    give_order(&order);
    return all_totals(folder, fullness, totals, trouble);
}

/* ---- the others */

static void obey(struct folder *folder, const struct order *order, struct trouble *trouble)
{
    struct totals totals;
    char *note;
    switch ((enum op)order->op) {
    case CREATE:
        note = room(BPCN_MAX_NOTE, 1);
        all_create(folder, note, order->flag, trouble);
        free(note);
        break;
    case OPEN:
        if (all_open(folder, order->flag, trouble) != 0)
            folder_close(folder);
        break;
    case READ:
        all_read(folder, order, NULL, NULL, NULL, NULL, trouble);
        break;
    case WRITE:
        all_write(folder, (size_t)order->n, NULL, NULL, NULL, trouble);
        break;
    case DELETE:
        all_delete(folder, NULL, trouble);
        break;
    case FORGET:
    case DISCOUNT:
    case SYNC:
        all_change(folder, order, trouble);
        break;
    case TOTALS:
        all_totals(folder, order->flag, &totals, trouble);
        break;
    case CLOSE:
    case END:
        folder_close(folder);
        break;
    }
}

void ranks_serve(void)
{
    struct folder *folder = room(1, sizeof *folder);
    struct order order;
    do {
        struct trouble trouble = {0};
        tell_all(&order, sizeof order);
        obey(folder, &order, &trouble);
    } while (order.op != END);
    free(folder);
}

void ranks_end(void)
{
    struct order order = {.op = END};
    give_order(&order);
}
