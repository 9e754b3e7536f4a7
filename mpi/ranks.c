/* Orders of rank 0, and how all ranks carry them out together. */
#include "ranks.h"

#include "verdict.h"

#include <mpi.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum op { END, CREATE, OPEN, CLOSE, READ, WRITE, DELETE, FORGET, DISCOUNT, SYNC, TOTALS };
enum { DELETE_TRIES = 4 };   /* files that a row is looked for in, as the library does with shards */
static const double tie = 1; /* nats within which the more familiar answer is taken, as among the shards of a file */

/* What the ranks are told of an order before its rows. */
struct order {
    int32_t op, flag;
    uint64_t n;
    double number;
    uint64_t shards;
};

/* ---- all together */

static int rank_of(void)
{
    int rank;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    return rank;
}

/* A rank without memory for its buffers cannot take part in what follows. */
static void *room(size_t count, size_t size)
{
    void *p = calloc(count > 0 ? count : 1, size);
    if (p == NULL) {
        fprintf(stderr, "bpcn-mpi: rank %d is out of memory; what was acknowledged is in the files\n", rank_of());
        MPI_Abort(MPI_COMM_WORLD, EXIT_FAILED);
    }
    return p;
}

static void tell_all(void *bytes, size_t count)
{
    MPI_Bcast(bytes, (int)count, MPI_BYTE, 0, MPI_COMM_WORLD);
}

static void give_order(struct order *order)
{
    tell_all(order, sizeof *order);
}

/* Every rank has the trouble of the first that has any. */
static int agree(struct trouble *trouble)
{
    struct {
        int fine, rank;
    } mine = {trouble->status == 0, rank_of()}, first;
    MPI_Allreduce(&mine, &first, 1, MPI_2INT, MPI_MINLOC, MPI_COMM_WORLD);
    if (first.fine)
        return 0;
    MPI_Bcast(trouble, (int)sizeof *trouble, MPI_BYTE, first.rank, MPI_COMM_WORLD);
    return trouble->status;
}

static uint64_t add_up(uint64_t mine)
{
    uint64_t all;
    MPI_Allreduce(&mine, &all, 1, MPI_UINT64_T, MPI_SUM, MPI_COMM_WORLD);
    return all;
}

static void find_ranks(struct folder *folder)
{
    MPI_Comm_rank(MPI_COMM_WORLD, &folder->rank);
    MPI_Comm_size(MPI_COMM_WORLD, &folder->ranks);
}

static int owner(const struct folder *folder, size_t f)
{
    return (int)(f % (size_t)folder->ranks);
}

static void library_failed(struct trouble *trouble, bpcn_status status)
{
    trouble_set(trouble, (int)status, "%s", bpcn_error());
}

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

/* ---- read */

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

static int all_read(struct folder *folder, const struct order *order, const float *query, const unsigned char *known,
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

/* ---- write */

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
    bpcn_write_row *info; /* of these */
    int written;          /* of these, before the first failure */
};

/* From rank 0, which has x, every rank its rows, in their order. */
static void scatter_rows(struct writing *w, const float *x)
{
    MPI_Datatype row;
    int ranks = w->folder->ranks;
    float *sorted = room(x != NULL ? w->n * w->dim : 1, sizeof *sorted);
    int *next = room((size_t)ranks, sizeof *next);
    for (size_t i = 0; i < w->n; i++)
        w->count[owner(w->folder, (size_t)w->place[i])]++;
    for (int p = 1; p < ranks; p++)
        next[p] = w->at[p] = w->at[p - 1] + w->count[p - 1];
    for (size_t i = 0; x != NULL && i < w->n; i++)
        memcpy(sorted + (size_t)next[owner(w->folder, (size_t)w->place[i])]++ * w->dim, x + i * w->dim,
               w->dim * sizeof *x);
    size_t mine = (size_t)w->count[w->folder->rank];
    w->rows = room(mine * w->dim, sizeof *w->rows);
    w->info = room(mine, sizeof *w->info);
    MPI_Type_contiguous((int)w->dim, MPI_FLOAT, &row);
    MPI_Type_commit(&row);
    MPI_Scatterv(sorted, w->count, w->at, row, w->rows, (int)mine, row, 0, MPI_COMM_WORLD);
    MPI_Type_free(&row);
    free(sorted);
    free(next);
}

static void write_parts(struct writing *w, struct trouble *trouble)
{
    struct folder *folder = w->folder;
    for (size_t i = 0; i < w->n && trouble->status == 0; i++) {
        size_t f = (size_t)w->place[i];
        bpcn_write_info info;
        if (owner(folder, f) != folder->rank)
            continue;
        bpcn_write_info_default(&info, sizeof info);
        info.rows = &w->info[w->written];
        struct part *part = &folder->part[f / (size_t)folder->ranks];
        bpcn_status status = bpcn_memory_write(part->memory, w->rows + (size_t)w->written * w->dim, 1, &info);
        if (status != BPCN_OK) {
            library_failed(trouble, status);
            return;
        }
        w->info[w->written].shard = f + w->info[w->written].shard * folder->files;
        w->written++;
    }
}

/* To rank 0 what became of the rows; the number of rows up to the first that failed on its rank. */
static size_t gather_rows(struct writing *w, bpcn_write_row *info)
{
    MPI_Datatype row;
    int ranks = w->folder->ranks, mine = w->count[w->folder->rank];
    int *done = room((size_t)ranks, sizeof *done), *next = room((size_t)ranks, sizeof *next);
    bpcn_write_row *all = room(info != NULL ? w->n : 1, sizeof *all);
    size_t acknowledged = 0;
    MPI_Type_contiguous((int)sizeof *info, MPI_BYTE, &row);
    MPI_Type_commit(&row);
    MPI_Gather(&w->written, 1, MPI_INT, done, 1, MPI_INT, 0, MPI_COMM_WORLD);
    MPI_Gatherv(w->info, mine, row, all, w->count, w->at, row, 0, MPI_COMM_WORLD);
    MPI_Type_free(&row);
    for (; info != NULL && acknowledged < w->n; acknowledged++) {
        int p = owner(w->folder, (size_t)w->place[acknowledged]);
        if (next[p] == done[p])
            break;
        info[acknowledged] = all[w->at[p] + next[p]++];
    }
    free(done);
    free(next);
    free(all);
    return acknowledged;
}

/* place and x of rank 0, NULL elsewhere. */
static size_t all_write(struct folder *folder, size_t n, const int *place, const float *x, bpcn_write_row *info,
                        struct trouble *trouble)
{
    struct writing w = {.folder = folder, .n = n, .dim = folder->options.dim};
    w.place = room(n, sizeof *w.place);
    w.count = room((size_t)folder->ranks, sizeof *w.count);
    w.at = room((size_t)folder->ranks, sizeof *w.at);
    if (place != NULL)
        memcpy(w.place, place, n * sizeof *place);
    MPI_Bcast(w.place, (int)n, MPI_INT, 0, MPI_COMM_WORLD);
    scatter_rows(&w, x);
    write_parts(&w, trouble);
    size_t acknowledged = gather_rows(&w, info);
    agree(trouble);
    free(w.place);
    free(w.count);
    free(w.at);
    free(w.rows);
    free(w.info);
    return acknowledged;
}

/* Rows before the first that no memory would take, so that none after it is written. */
static size_t sound_rows(const float *x, size_t n, size_t dim, struct trouble *trouble)
{
    for (size_t j = 0; j < n * dim; j++)
        if (!(fabsf(x[j]) <= 1e15f)) {
            trouble_set(trouble, BPCN_INVALID, "entry %zu is %s", j % dim,
                        isnan(x[j])   ? "NaN"
                        : isinf(x[j]) ? "infinite"
                                      : "too large");
            return j / dim;
        }
    return n;
}

int ranks_write(struct folder *folder, const float *x, size_t n, bpcn_write_row *rows, size_t *written,
                struct trouble *trouble)
{
    struct trouble later = {0}; /* of the row after those that are written now */
    int *place = room(n, sizeof *place);
    size_t sound = sound_rows(x, n, folder->options.dim, &later), taken = place_rows(folder, sound, place);
    *written = 0;
    if (taken < sound) {
        later = (struct trouble){0};
        trouble_set(&later, BPCN_FULL, "the memory is full: its %zu shards have their %zu rows each",
                    folder->options.shards, folder->options.shard_rows);
    }
    if (taken > 0) {
        struct order order = {.op = WRITE, .n = taken};
        give_order(&order);
        *written = all_write(folder, taken, place, x, rows, trouble);
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
    double *mine = room(folder->files, sizeof *mine);
    float *answer = room(dim, sizeof *answer);
    unsigned char *known = room(dim, 1);
    bpcn_read_options o;
    bpcn_read_options_default(&o, sizeof o);
    o.noise = 0;
    memset(known, 1, dim);
    for (size_t f = 0; f < folder->files; f++)
        mine[f] = -INFINITY;
    for (size_t i = 0; i < folder->count && trouble->status == 0; i++) {
        bpcn_read_info info;
        if (folder->part[i].written == 0)
            part_count(&folder->part[i]);
        if (folder->part[i].written == 0)
            continue;
        bpcn_status status = bpcn_memory_read(folder->part[i].memory, x, known, 1, &o, answer, &info);
        if (status != BPCN_OK)
            library_failed(trouble, status);
        else
            mine[folder->part[i].number] = info.shard_density;
    }
    MPI_Allreduce(mine, density, (int)folder->files, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
    free(mine);
    free(answer);
    free(known);
}

/* From the file that explains the row best of those that hold it. */
static int all_delete(struct folder *folder, const float *x, struct trouble *trouble)
{
    float *row = room(folder->options.dim, sizeof *row);
    double *density = room(folder->files, sizeof *density);
    int found = BPCN_REFUSED;
    if (x != NULL)
        memcpy(row, x, folder->options.dim * sizeof *row);
    MPI_Bcast(row, (int)folder->options.dim, MPI_FLOAT, 0, MPI_COMM_WORLD);
    densities(folder, row, density, trouble);
    int failed = agree(trouble);
    for (size_t tries = 0; !failed && found == BPCN_REFUSED && tries < folder->files && tries < DELETE_TRIES; tries++) {
        size_t best = 0;
        for (size_t f = 1; f < folder->files; f++)
            best = density[f] > density[best] ? f : best;
        if (isinf(density[best]))
            break;
        density[best] = -INFINITY;
        int rank = owner(folder, best);
        if (rank == folder->rank)
            found = (int)bpcn_memory_delete(folder->part[best / (size_t)folder->ranks].memory, row);
        if (rank == folder->rank && found != BPCN_OK && found != BPCN_REFUSED)
            library_failed(trouble, (bpcn_status)found);
        MPI_Bcast(&found, 1, MPI_INT, rank, MPI_COMM_WORLD);
        failed = agree(trouble);
    }
    if (!failed && found == BPCN_REFUSED)
        trouble_set(trouble, found, "the memory does not hold this row");
    free(row);
    free(density);
    return trouble->status;
}

int ranks_delete(struct folder *folder, const float *x, struct trouble *trouble)
{
    struct order order = {.op = DELETE};
    give_order(&order);
    return all_delete(folder, x, trouble);
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
