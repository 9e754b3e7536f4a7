/* A query is broadcast, every rank reads its files, and the winner sends its answer. */
#include "together.h"

#include <mpi.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const double tie = 1; /* nats within which the more familiar answer is taken, as among the shards of a file */

/* An answer that could win: within `tie` of this rank's best. */
struct candidate {
    bpcn_read_info info; /* shard: its number in the whole */
    float *answer;
    struct candidate *next;
};

struct reading {
    struct folder *folder;
    size_t n, dim;
    bpcn_read_options options;
    float *query;                  /* [n x dim] */
    unsigned char *known;          /* [n x dim] or NULL */
    struct candidate **candidates; /* [n] */
    double *best;                  /* [n] greatest density in a shard, [n] in a file with its share of the rows */
    double *sums;                  /* [n] of densities in files, in terms of the greatest; [n] of evaluations */
    double *density;               /* [count x n] log of the files' parts of the mixture */
};

/* A file without rows knows nothing; if none has any, the first answers. */
static int takes_part(const struct part *part, uint64_t all)
{
    return all > 0 ? part->rows > 0 : part->number == 0;
}

static void drop_candidates(struct candidate **list, double least)
{
    while (*list != NULL) {
        struct candidate *c = *list;
        if (c->info.shard_density >= least) {
            list = &c->next;
            continue;
        }
        *list = c->next;
        free(c->answer);
        free(c);
    }
}

static void add_candidate(struct reading *r, size_t i, const bpcn_read_info *info, const float *answer)
{
    if (info->shard_density < r->best[i] - tie)
        return;
    struct candidate *c = room(1, sizeof *c);
    c->info = *info;
    c->answer = room(r->dim, sizeof *c->answer);
    memcpy(c->answer, answer, r->dim * sizeof *answer);
    c->next = r->candidates[i];
    r->candidates[i] = c;
    r->best[i] = fmax(r->best[i], info->shard_density);
    drop_candidates(&r->candidates[i], r->best[i] - tie);
}

static void read_part(struct reading *r, size_t at, uint64_t all, struct trouble *trouble)
{
    const struct part *part = &r->folder->part[at];
    double share = all > 0 ? log((double)part->rows / (double)all) : 0;
    float *answers = room(r->n * r->dim, sizeof *answers);
    bpcn_read_info *info = room(r->n, sizeof *info);
    bpcn_status status = bpcn_memory_read(part->memory, r->query, r->known, r->n, &r->options, answers, info);
    if (status != BPCN_OK)
        library_failed(trouble, status);
    for (size_t i = 0; status == BPCN_OK && i < r->n; i++) {
        info[i].shard = part->number + info[i].shard * r->folder->files;
        r->density[at * r->n + i] = share + info[i].log_density;
        r->best[r->n + i] = fmax(r->best[r->n + i], share + info[i].log_density);
        r->sums[r->n + i] += (double)info[i].evaluations;
        add_candidate(r, i, &info[i], answers + i * r->dim);
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
    all = add_up(all);
    for (size_t j = 0; j < r->folder->count * r->n; j++)
        r->density[j] = -INFINITY;
    for (size_t i = 0; i < 2 * r->n; i++)
        r->best[i] = -INFINITY;
    for (size_t i = 0; trouble->status == 0 && i < r->folder->count; i++)
        if (takes_part(&r->folder->part[i], all))
            read_part(r, i, all, trouble);
}

struct claim {
    double familiarity;
    int shard;
};

/* The most familiar of the candidates that are likely enough; of two as familiar, the lower number. */
static const struct candidate *favourite(const struct reading *r, size_t i)
{
    const struct candidate *best = NULL;
    for (const struct candidate *c = r->candidates[i]; c != NULL; c = c->next)
        if (c->info.shard_density >= r->best[i] - tie &&
            (best == NULL || c->info.familiarity > best->info.familiarity ||
             (c->info.familiarity == best->info.familiarity && c->info.shard < best->info.shard)))
            best = c;
    return best;
}

/* winner [n]: the shard, in the whole, that answers. */
static void find_winners(struct reading *r, int *winner)
{
    struct claim *mine = room(r->n, sizeof *mine), *best = room(r->n, sizeof *best);
    double *all = room(2 * r->n, sizeof *all);
    MPI_Allreduce(r->best, all, (int)(2 * r->n), MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
    memcpy(r->best, all, 2 * r->n * sizeof *all);
    for (size_t i = 0; i < r->n; i++) {
        const struct candidate *c = favourite(r, i);
        mine[i] = c ? (struct claim){c->info.familiarity, (int)c->info.shard} : (struct claim){-1, INT32_MAX};
        for (size_t at = 0; at < r->folder->count; at++)
            r->sums[i] += isinf(r->best[r->n + i]) ? 0 : exp(r->density[at * r->n + i] - r->best[r->n + i]);
    }
    MPI_Allreduce(mine, best, (int)r->n, MPI_DOUBLE_INT, MPI_MAXLOC, MPI_COMM_WORLD);
    MPI_Reduce(r->sums, all, (int)(2 * r->n), MPI_DOUBLE, MPI_SUM, 0, MPI_COMM_WORLD);
    memcpy(r->sums, all, 2 * r->n * sizeof *all);
    for (size_t i = 0; i < r->n; i++)
        winner[i] = best[i].shard;
    free(mine);
    free(best);
    free(all);
}

static int winning_rank(const struct reading *r, int shard)
{
    return owner(r->folder, (size_t)shard % r->folder->files);
}

/* The winners' answers to rank 0: out and info of it alone. */
static void gather_answers(struct reading *r, const int *winner, float *out, bpcn_read_info *info)
{
    size_t row = r->dim * sizeof *out, each = sizeof *info + row, used = 0;
    int ranks = r->folder->ranks, *bytes = room((size_t)ranks, sizeof *bytes), *at = room((size_t)ranks, sizeof *at);
    unsigned char *mine = room(r->n, each), *all = room(r->folder->rank == 0 ? r->n : 1, each);
    for (size_t i = 0; i < r->n; i++) {
        int rank = winning_rank(r, winner[i]);
        bytes[rank] += (int)each;
        const struct candidate *c = rank == r->folder->rank ? favourite(r, i) : NULL;
        if (c == NULL)
            continue;
        memcpy(mine + used, &c->info, sizeof c->info);
        memcpy(mine + used + sizeof c->info, c->answer, row);
        used += each;
    }
    for (int p = 1; p < ranks; p++)
        at[p] = at[p - 1] + bytes[p - 1];
    MPI_Gatherv(mine, (int)used, MPI_BYTE, all, bytes, at, MPI_BYTE, 0, MPI_COMM_WORLD);
    for (size_t i = 0; out != NULL && i < r->n; i++) {
        int rank = winning_rank(r, winner[i]);
        memcpy(&info[i], all + at[rank], sizeof *info);
        memcpy(out + i * r->dim, all + at[rank] + sizeof *info, row);
        at[rank] += (int)each;
        info[i].log_density = r->best[r->n + i] + log(r->sums[i]);
        info[i].evaluations = (uint64_t)r->sums[r->n + i];
    }
    free(bytes);
    free(at);
    free(mine);
    free(all);
}

int all_read(struct folder *folder, const struct order *order, const float *query, const unsigned char *known,
             float *out, bpcn_read_info *info, struct trouble *trouble)
{
    struct reading r = {.folder = folder, .n = (size_t)order->n, .dim = folder->options.dim};
    size_t entries = r.n * r.dim;
    bpcn_read_options_default(&r.options, sizeof r.options);
    r.options.noise = order->number;
    r.options.shards = (size_t)order->shards;
    r.options.objective = (bpcn_objective)(order->flag >> 1);
    r.query = room(entries, sizeof *r.query);
    r.known = order->flag & 1 ? room(entries, 1) : NULL;
    r.candidates = room(r.n, sizeof(struct candidate *));
    r.best = room(2 * r.n, sizeof *r.best);
    r.sums = room(2 * r.n, sizeof *r.sums);
    r.density = room(folder->count * r.n, sizeof *r.density);
    if (query != NULL)
        memcpy(r.query, query, entries * sizeof *query);
    if (known != NULL && r.known != NULL)
        memcpy(r.known, known, entries);
    MPI_Bcast(r.query, (int)entries, MPI_FLOAT, 0, MPI_COMM_WORLD);
    if (r.known != NULL)
        tell_all(r.known, entries);
    read_parts(&r, trouble);
    if (agree(trouble) == 0) {
        int *winner = room(r.n, sizeof *winner);
        find_winners(&r, winner);
        gather_answers(&r, winner, out, info);
        free(winner);
    }
    for (size_t i = 0; i < r.n; i++)
        drop_candidates(&r.candidates[i], INFINITY);
    free(r.query);
    free(r.known);
    free(r.candidates);
    free(r.best);
    free(r.sums);
    free(r.density);
    return trouble->status;
}

int ranks_read(struct folder *folder, const float *query, const unsigned char *known, size_t n,
               const bpcn_read_options *options, float *out, bpcn_read_info *info, struct trouble *trouble)
{
    struct order order = {.op = READ,
                          .flag = (known != NULL) | (int)options->objective << 1,
                          .n = n,
                          .number = options->noise,
                          .shards = options->shards};
    give_order(&order);
    return all_read(folder, &order, query, known, out, info, trouble);
}
