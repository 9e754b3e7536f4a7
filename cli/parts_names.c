/* Names of the rows of a memory that is cut into files: each file keeps those of its own rows. */
#include "console.h"
#include "parts.h"

#include <stdlib.h>
#include <string.h>

int all_name(struct folder *folder, uint64_t shard, uint64_t number, char name[NAME_ROOM], struct trouble *trouble)
{
    size_t f = (size_t)shard % folder->files;
    bpcn_name found = {.number = 0};
    if (part_rank(folder, f) == folder->rank) {
        bpcn_status status = bpcn_memory_get_name(own_part(folder, f)->memory, number, &found);
        if (status != BPCN_OK)
            part_trouble(trouble, status);
    }
    tell_from(part_rank(folder, f), found.name, sizeof found.name);
    memcpy(name, found.name, NAME_ROOM);
    return agree(trouble);
}

int parts_name(struct folder *folder, const bpcn_read_info *info, char name[NAME_ROOM], struct trouble *trouble)
{
    struct order order = {.op = NAME, .n = info->name, .shards = info->shard};
    give_order(&order);
    return all_name(folder, info->shard, info->name, name, trouble);
}

/* The names of this rank's files, to be freed, with the numbers of their shards in the whole. */
static bpcn_name *own_names(struct folder *folder, size_t *count, struct trouble *trouble)
{
    bpcn_name *all = NULL;
    *count = 0;
    for (size_t i = 0; i < folder->count && trouble->status == 0; i++) {
        const struct part *part = &folder->part[i];
        size_t there = 0, got;
        bpcn_status status = bpcn_memory_get_names(part->memory, NULL, 0, &there);
        bpcn_name *more = room(*count + there, sizeof *more);
        if (*count > 0)
            memcpy(more, all, *count * sizeof *more);
        free(all);
        all = more;
        if (status == BPCN_OK)
            status = bpcn_memory_get_names(part->memory, all + *count, there, &got);
        if (status != BPCN_OK)
            part_trouble(trouble, status);
        for (size_t k = *count; k < *count + there; k++)
            all[k].shard = part_shard(folder, part->number, (size_t)all[k].shard);
        *count += there;
    }
    return all;
}

bpcn_name *all_names(struct folder *folder, size_t *count, struct trouble *trouble)
{
    size_t ranks = (size_t)folder->ranks, mine_count;
    bpcn_name *mine = own_names(folder, &mine_count, trouble);
    uint64_t *counts = room(ranks, sizeof *counts), sum = 0;
    int *each = room(ranks, sizeof *each), *at = room(ranks, sizeof *at);
    counts[folder->rank] = mine_count;
    add_up(counts, ranks);
    for (size_t p = 0; p < ranks; sum += counts[p++]) {
        each[p] = (int)counts[p];
        at[p] = (int)sum;
    }
    bpcn_name *all = room((size_t)sum, sizeof *all);
    if (agree(trouble) == 0)
        hand_in(mine, each, at, sizeof *all, all);
    *count = (size_t)sum;
    free(mine);
    free(counts);
    free(each);
    free(at);
    return all;
}

bpcn_name *parts_names(struct folder *folder, size_t *count, struct trouble *trouble)
{
    struct order order = {.op = NAMES};
    give_order(&order);
    return all_names(folder, count, trouble);
}

/* number [files]: the greatest number that a row of this name has in each; 0: there is none. */
static void find_name(struct folder *folder, const char *name, double *number, struct trouble *trouble)
{
    size_t count;
    bpcn_name *mine = own_names(folder, &count, trouble);
    for (size_t k = 0; k < count; k++) {
        double *most = &number[mine[k].shard % folder->files];
        if (strcmp(mine[k].name, name) == 0 && (double)mine[k].number > *most)
            *most = (double)mine[k].number;
    }
    greatest(number, folder->files);
    free(mine);
}

int all_delete_name(struct folder *folder, const char *given, struct trouble *trouble)
{
    char name[NAME_ROOM] = "";
    double *number = room(folder->files, sizeof *number);
    size_t best = 0;
    int found = BPCN_INVALID;
    if (given != NULL)
        strncat(name, given, sizeof name - 1);
    tell_all(name, sizeof name);
    find_name(folder, name, number, trouble);
    int failed = agree(trouble);
    for (size_t f = 1; f < folder->files; f++)
        best = number[f] > number[best] ? f : best;
    if (!failed && number[best] > 0) {
        int rank = part_rank(folder, best);
        if (rank == folder->rank)
            found = (int)bpcn_memory_delete_name(own_part(folder, best)->memory, name);
        if (rank == folder->rank && found != BPCN_OK)
            part_trouble(trouble, (bpcn_status)found);
        agree(trouble);
    } else if (!failed) {
        trouble_set(trouble, BPCN_INVALID, "no row named '%s' is kept", name);
    }
    free(number);
    return trouble->status;
}

int parts_delete_name(struct folder *folder, const char *name, struct trouble *trouble)
{
    struct order order = {.op = DELETE_NAME};
    give_order(&order);
    return all_delete_name(folder, name, trouble);
}
