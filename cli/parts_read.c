/* A query goes to all ranks, every rank reads its files, and the winner sends its answer. */
#include "parts.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MASKED = 1, ANSWERED = 2, OBJECTIVE = 4 }; /* of an order's flag: two bits, then the objective */

struct reading {
    struct folder *folder;
    size_t n, dim;
    bpcn_read_options options;
    float *query;         /* [n x dim] */
    unsigned char *known; /* [n x dim] or NULL */
    float *answers;       /* [n x dim] of the shards that answer, as far as this rank knows; or NULL: none are wanted */
    bpcn_read_info *info; /* [n] likewise */
    struct claim *claim;  /* [n] likewise, with the shard's number in the whole */
    double *density;      /* [count x n] log of the files' parts of the mixture */
    double *most;         /* [n] the greatest of these */
    double *sums;         /* [n] of densities in terms of the greatest; [n] of evaluations */
};

/* A file without rows knows nothing; if none has any, the first answers. */
static int takes_part(const struct part *part, uint64_t all)
{
    return all > 0 ? part->rows > 0 : part->number == 0;
}

/* As among the shards of a file (docs/MODEL.md): the likeliest, where to be familiar counts for up to a nat. */
static double height(const bpcn_read_info *info)
{
    return info->shard_density + info->familiarity;
}

/* What a file says of row i is kept if its claim is the highest so far; of equals, the lower shard's. */
static void put_claim(struct reading *r, size_t i, const bpcn_read_info *info, const float *answer)
{
    struct claim claim = {height(info), (int)info->shard}, *best = &r->claim[i];
    if (claim.height < best->height || (claim.height == best->height && claim.shard > best->shard))
        return;
    *best = claim;
    r->info[i] = *info;
    if (r->answers != NULL)
        memcpy(r->answers + i * r->dim, answer, r->dim * sizeof *answer);
}

static void read_part(struct reading *r, size_t at, uint64_t all, struct trouble *trouble)
{
    const struct part *part = &r->folder->part[at];
    double share = all > 0 ? log((double)part->rows / (double)all) : 0;
    float *answers = room(r->n * r->dim, sizeof *answers);
    bpcn_read_info *info = room(r->n, sizeof *info);
    bpcn_status status = bpcn_memory_read(part->memory, r->query, r->known, r->n, &r->options, answers, info);
    if (status != BPCN_OK)
        part_trouble(trouble, status);
    for (size_t i = 0; status == BPCN_OK && i < r->n; i++) {
        double density = share + info[i].log_density;
        info[i].shard = part_shard(r->folder, part->number, info[i].shard);
        r->density[at * r->n + i] = density;
        r->most[i] = fmax(r->most[i], density);
        r->sums[r->n + i] += (double)info[i].evaluations;
        put_claim(r, i, &info[i], answers + i * r->dim);
    }
    free(answers);
    free(info);
}

static void read_parts(struct reading *r, struct trouble *trouble)
{
    uint64_t all = 0;
    for (size_t i = 0; i < r->folder->count; i++) {
        part_count(&r->folder->part[i]);
        all += r->folder->part[i].rows;
    }
    add_up(&all, 1);
    for (size_t j = 0; j < r->folder->count * r->n; j++)
        r->density[j] = -INFINITY;
    for (size_t i = 0; i < r->n; i++) {
        r->most[i] = -INFINITY;
        r->claim[i] = (struct claim){-INFINITY, INT32_MAX};
    }
    for (size_t i = 0; trouble->status == 0 && i < r->folder->count; i++)
        if (takes_part(&r->folder->part[i], all))
            read_part(r, i, all, trouble);
}

/* Every rank has the claims that are the highest of all, and the sums. */
static void find_winners(struct reading *r)
{
    highest(r->claim, r->n);
    greatest(r->most, r->n);
    for (size_t i = 0; i < r->n; i++)
        for (size_t at = 0; at < r->folder->count; at++)
            r->sums[i] += isinf(r->most[i]) ? 0 : exp(r->density[at * r->n + i] - r->most[i]);
    add_up_reals(r->sums, 2 * r->n);
}

static int winning_rank(const struct reading *r, size_t i)
{
    return part_rank(r->folder, (size_t)r->claim[i].shard % r->folder->files);
}

/* The winners' answers to rank 0: out and info of it alone. */
static void gather_answers(struct reading *r, float *out, bpcn_read_info *info)
{
    size_t row = r->answers != NULL ? r->dim * sizeof *out : 0, each = sizeof *info + row,
           ranks = (size_t)r->folder->ranks;
    int *count = room(ranks, sizeof *count), *at = room(ranks, sizeof *at);
    unsigned char *mine = room(r->n, each), *all = room(r->folder->rank == 0 ? r->n : 1, each), *next = mine;
    for (size_t i = 0; i < r->n; i++) {
        int rank = winning_rank(r, i);
        count[rank]++;
        if (rank != r->folder->rank)
            continue;
        memcpy(next, &r->info[i], sizeof *info);
        if (row > 0)
            memcpy(next + sizeof *info, r->answers + i * r->dim, row);
        next += each;
    }
    for (size_t p = 1; p < ranks; p++)
        at[p] = at[p - 1] + count[p - 1];
    hand_in(mine, count, at, each, all);
    for (size_t i = 0; info != NULL && i < r->n; i++) {
        const unsigned char *from = all + (size_t)at[winning_rank(r, i)]++ * each;
        memcpy(&info[i], from, sizeof *info);
        if (row > 0)
            memcpy(out + i * r->dim, from + sizeof *info, row);
        info[i].log_density = r->most[i] + log(r->sums[i]);
        info[i].evaluations = (uint64_t)r->sums[r->n + i];
    }
    free(count);
    free(at);
    free(mine);
    free(all);
}

static void reading_begin(struct reading *r, struct folder *folder, const struct order *order)
{
    *r = (struct reading){.folder = folder, .n = (size_t)order->n, .dim = folder->options.dim};
    size_t entries = r->n * r->dim;
    bpcn_read_options_default(&r->options, sizeof r->options);
    r->options.noise = order->number;
    r->options.shards = (size_t)order->shards;
    r->options.objective = (bpcn_objective)(order->flag / OBJECTIVE);
    r->query = room(entries, sizeof *r->query);
    r->known = order->flag & MASKED ? room(entries, 1) : NULL;
    r->answers = order->flag & ANSWERED ? room(entries, sizeof *r->answers) : NULL;
    r->info = room(r->n, sizeof *r->info);
    r->claim = room(r->n, sizeof *r->claim);
    r->density = room(folder->count * r->n, sizeof *r->density);
    r->most = room(r->n, sizeof *r->most);
    r->sums = room(2 * r->n, sizeof *r->sums);
}

static void reading_end(struct reading *r)
{
    free(r->query);
    free(r->known);
    free(r->answers);
    free(r->info);
    free(r->claim);
    free(r->density);
    free(r->most);
    free(r->sums);
}

int all_read(struct folder *folder, const struct order *order, const float *query, const unsigned char *known,
             float *out, bpcn_read_info *info, struct trouble *trouble)
{
    struct reading r;
    reading_begin(&r, folder, order);
    size_t entries = r.n * r.dim;
    if (query != NULL)
        memcpy(r.query, query, entries * sizeof *query);
    if (known != NULL)
        memcpy(r.known, known, entries);
    tell_all(r.query, entries * sizeof *r.query);
    if (r.known != NULL)
        tell_all(r.known, entries);
    read_parts(&r, trouble);
    if (agree(trouble) == 0) {
        find_winners(&r);
        gather_answers(&r, out, info);
    }
    reading_end(&r);
    return trouble->status;
}

int parts_read(struct folder *folder, const float *query, const unsigned char *known, size_t n,
               const bpcn_read_options *options, float *out, bpcn_read_info *info, struct trouble *trouble)
{
    struct order order = {.op = READ,
                          .flag = (known != NULL ? MASKED : 0) | (out != NULL ? ANSWERED : 0) |
                                  (int)options->objective * OBJECTIVE,
                          .n = n,
                          .number = options->noise,
                          .shards = options->shards};
    give_order(&order);
    return all_read(folder, &order, query, known, out, info, trouble);
}
