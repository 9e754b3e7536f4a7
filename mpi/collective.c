/*
 * parts.h for the ranks of an MPI job. Rank 0 is the program: it calls parts_..., which broadcasts an order. The others
 * wait in collective_serve and come to the same function by the order. Every order ends in agree(): either all ranks
 * succeeded, or all have the status and the sentence of the first that failed, so that none waits for another that
 * gave up. Memory is allocated before an agreement, never between two exchanges. When a rank dies, MPI ends the job.
 */
#include "collective.h"

#include "parts.h"

#include <mpi.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { AT_ONCE = 1 << 30 }; /* bytes of a broadcast: MPI counts them in an int */

enum op { END, CREATE, OPEN, CLOSE, READ, WRITE, DELETE, CHANGE, TOTALS, ROWS, NAME, NAMES, DELETE_NAME };

/* What the ranks are told of an order before its rows. */
struct order {
    int32_t op, flag;
    uint64_t n, shard;
    double number;
    bpcn_read_options read;
};

enum { WITH_KNOWN = 1, WITH_ANSWERS = 2, WITH_NAMES = 4 }; /* of an order's flag */

/* ---- exchanges */

static int rank_of(void)
{
    int rank;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    return rank;
}

int parts_ranks(void)
{
    int ranks;
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    return ranks;
}

bool parts_only_folders(void)
{
    return true;
}

static void broadcast(int rank, void *bytes, size_t count)
{
    for (unsigned char *at = bytes; count > 0;) {
        size_t some = count < AT_ONCE ? count : AT_ONCE;
        MPI_Bcast(at, (int)some, MPI_BYTE, rank, MPI_COMM_WORLD);
        at += some;
        count -= some;
    }
}

static void give(struct order order)
{
    broadcast(0, &order, sizeof order);
}

/* Every rank has the failure of the first that has one. */
static bpcn_status agree(bpcn_status status)
{
    struct {
        int fine, rank;
    } mine = {status == BPCN_OK, rank_of()}, first;
    char why[BPCN_MAX_ERROR + 1];
    MPI_Allreduce(&mine, &first, 1, MPI_2INT, MPI_MINLOC, MPI_COMM_WORLD);
    if (first.fine)
        return BPCN_OK;
    snprintf(why, sizeof why, "%s", bpcn_error());
    broadcast(first.rank, why, sizeof why);
    broadcast(first.rank, &status, sizeof status);
    return rank_of() == first.rank ? status : bpcn_fail(status, "%s", why);
}

/* Whether every rank got the memory that it asked for. */
static bpcn_status agree_on_memory(bool have)
{
    return agree(have ? BPCN_OK : bpcn_fail(BPCN_NO_MEMORY, "process %d is out of memory", rank_of()));
}

static void allreduce(void *number, size_t n, MPI_Datatype type, MPI_Op op)
{
    MPI_Allreduce(MPI_IN_PLACE, number, (int)n, type, op, MPI_COMM_WORLD);
}

static void allreduce_sum(uint64_t *number, size_t n)
{
    allreduce(number, n, MPI_UINT64_T, MPI_SUM);
}

static void allreduce_max(double *number, size_t n)
{
    allreduce(number, n, MPI_DOUBLE, MPI_MAX);
}

/* Items of `bytes` each: count [ranks] of every rank, from at [ranks] on in `all`, which rank 0 has. */
static void scatter(const void *all, const int *count, const int *at, size_t bytes, void *mine)
{
    MPI_Datatype item;
    MPI_Type_contiguous((int)bytes, MPI_BYTE, &item);
    MPI_Type_commit(&item);
    MPI_Scatterv(all, count, at, item, mine, count[rank_of()], item, 0, MPI_COMM_WORLD);
    MPI_Type_free(&item);
}

static void gather(const void *mine, const int *count, const int *at, size_t bytes, void *all)
{
    MPI_Datatype item;
    MPI_Type_contiguous((int)bytes, MPI_BYTE, &item);
    MPI_Type_commit(&item);
    MPI_Gatherv(mine, count[rank_of()], item, all, count, at, item, 0, MPI_COMM_WORLD);
    MPI_Type_free(&item);
}

/* ---- create, open, close */

static bpcn_status create_all(struct folder *folder, const char *text, int force)
{
    char note[BPCN_MAX_NOTE] = "";
    size_t there = 0;
    folder->rank = rank_of();
    folder->ranks = parts_ranks();
    if (text != NULL)
        snprintf(note, sizeof note, "%s", text);
    broadcast(0, folder->path, sizeof folder->path);
    broadcast(0, &folder->options, sizeof folder->options);
    broadcast(0, &folder->files, sizeof folder->files);
    broadcast(0, note, sizeof note);
    bpcn_status status = folder_try(folder);
    if (status == BPCN_OK && !force && folder_scan(folder->path, &there) == BPCN_OK && there > 0)
        status = bpcn_fail(BPCN_INVALID, "%s: already has a memory (use --force to replace it)", folder->path);
    status = agree(status);
    if (status == BPCN_OK) /* nobody makes files while somebody still removes them */
        status = agree(force ? folder_clear(folder->path) : BPCN_OK);
    if (status != BPCN_OK)
        return status;
    status = agree(own_create(folder, note));
    if (status != BPCN_OK) {
        char why[BPCN_MAX_ERROR + 1];
        snprintf(why, sizeof why, "%s", bpcn_error());
        folder_clear(folder->path);
        bpcn_fail(status, "%s", why);
    }
    return status;
}

bpcn_status parts_create(struct folder *folder, const char *note, int force)
{
    give((struct order){.op = CREATE, .flag = force});
    return create_all(folder, note, force);
}

/* The number of files by what every rank sees: one folder, or each machine its own. */
static bpcn_status find_files(struct folder *folder)
{
    size_t there = 0;
    bpcn_status status = folder_scan(folder->path, &there);
    double most[2] = {(double)there, there > 0 ? -(double)there : -INFINITY}; /* and least, of those that see any */
    allreduce_max(most, 2);
    folder->files = (size_t)most[0];
    if (status == BPCN_OK && most[0] == 0)
        status = bpcn_fail(BPCN_FORMAT, "%s: the folder has no files part-*.mem", folder->path);
    else if (status == BPCN_OK && most[0] != -most[1])
        status = bpcn_fail(BPCN_CORRUPT, "%s: the processes see memories of %.0f and of %.0f files", folder->path,
                           -most[1], most[0]);
    return agree(status);
}

/* Stamps the files of all ranks open, as of so many changes. */
static bpcn_status begin_session(struct folder *folder, uint64_t changes)
{
    if (folder->stamp.id == 0)
        folder->stamp.id = folder_new_id();
    folder->stamp.changes = changes;
    folder->stamp.open = true;
    broadcast(0, &folder->stamp, sizeof folder->stamp);
    bpcn_status status = agree(own_stamp(folder));
    folder->session = status == BPCN_OK;
    return status;
}

/* What fails here, the next one to open the folder finds as a crash leaves it. */
static void close_all(struct folder *folder)
{
    if (folder->session && agree(own_sync(folder)) == BPCN_OK) {
        folder->stamp.changes = own_changes(folder);
        allreduce_sum(&folder->stamp.changes, 1);
        folder->stamp.open = false;
        (void)own_stamp(folder);
    }
    folder_close(folder);
}

static bpcn_status open_all(struct folder *folder, int read_only)
{
    uint64_t sums[2] = {0}; /* shards, and names to be kept */
    folder->rank = rank_of();
    folder->ranks = parts_ranks();
    broadcast(0, folder->path, sizeof folder->path);
    bpcn_status status = find_files(folder);
    if (status == BPCN_OK)
        status = agree(own_open(folder, read_only, sums));
    if (status != BPCN_OK)
        return status;
    allreduce_sum(sums, 2);
    broadcast(0, &folder->options, sizeof folder->options);
    bpcn_options first = folder->options;
    folder->options.shards = (size_t)sums[0];
    folder->options.names = (size_t)sums[1];
    status = agree(own_check(folder, &first));
    uint64_t changes = own_changes(folder), stamped = own_stamped(folder);
    allreduce_sum(&changes, 1);
    allreduce(&stamped, 1, MPI_UINT64_T, MPI_MAX);
    broadcast(0, &folder->stamp, sizeof folder->stamp);
    if (status == BPCN_OK)
        status = agree(own_check_stamps(folder, changes, stamped));
    if (status == BPCN_OK && !read_only)
        status = begin_session(folder, changes);
    folder->written = status == BPCN_OK ? calloc(folder->files, sizeof *folder->written) : NULL;
    if (status == BPCN_OK)
        status = agree_on_memory(folder->written != NULL);
    if (status != BPCN_OK)
        return status;
    for (size_t i = 0; i < folder->count; i++)
        folder->written[folder->part[i].number] = folder->part[i].written;
    allreduce_sum(folder->written, folder->files);
    return BPCN_OK;
}

bpcn_status parts_open(struct folder *folder, int read_only)
{
    give((struct order){.op = OPEN, .flag = read_only});
    return open_all(folder, read_only);
}

void parts_close(struct folder *folder)
{
    give((struct order){.op = CLOSE});
    close_all(folder);
}

/* ---- reads: the query goes to all ranks, and those that have the best answers send them to rank 0 */

static int answering_rank(const struct folder *folder, const struct answers *a, size_t i)
{
    return part_rank(folder, (size_t)a->claim[i].shard % folder->files);
}

/* The best answers to rank 0, which alone has out and info. */
static bpcn_status gather_answers(struct folder *folder, struct answers *a, float *out, bpcn_read_info *info)
{
    size_t row = a->answer != NULL ? a->dim * sizeof *out : 0, each = sizeof *info + row, ranks = (size_t)folder->ranks;
    int *count = calloc(ranks, sizeof *count), *at = calloc(ranks, sizeof *at);
    unsigned char *mine = malloc(a->n * each + 1), *all = malloc(folder->rank == 0 ? a->n * each + 1 : 1), *next = mine;
    bpcn_status status = agree_on_memory(count != NULL && at != NULL && mine != NULL && all != NULL);
    for (size_t i = 0; status == BPCN_OK && i < a->n; i++) {
        int rank = answering_rank(folder, a, i);
        count[rank]++;
        if (rank != folder->rank)
            continue;
        memcpy(next, &a->info[i], sizeof *info);
        if (row > 0)
            memcpy(next + sizeof *info, a->answer + i * a->dim, row);
        next += each;
    }
    for (size_t p = 1; status == BPCN_OK && p < ranks; p++)
        at[p] = at[p - 1] + count[p - 1];
    if (status == BPCN_OK)
        gather(mine, count, at, each, all);
    for (size_t i = 0; status == BPCN_OK && info != NULL && i < a->n; i++) {
        const unsigned char *from = all + (size_t)at[answering_rank(folder, a, i)]++ * each;
        memcpy(&info[i], from, sizeof *info);
        if (row > 0)
            memcpy(out + i * a->dim, from + sizeof *info, row);
        info[i].log_density = a->most[i] + log(a->sums[i]);
        info[i].evaluations = (uint64_t)a->sums[a->n + i];
    }
    free(count);
    free(at);
    free(mine);
    free(all);
    return status;
}

static bpcn_status read_all(struct folder *folder, const struct order *order, const float *x,
                            const unsigned char *given, float *out, bpcn_read_info *info)
{
    size_t n = (size_t)order->n, entries = n * folder->options.dim;
    float *query = malloc(entries * sizeof *query + 1);
    unsigned char *known = malloc(entries + 1);
    struct answers a;
    bpcn_status status = answers_begin(&a, folder, n, order->flag & WITH_ANSWERS);
    status = agree_on_memory(status == BPCN_OK && query != NULL && known != NULL);
    if (status == BPCN_OK) {
        if (x != NULL)
            memcpy(query, x, entries * sizeof *query);
        if (given != NULL)
            memcpy(known, given, entries);
        broadcast(0, query, entries * sizeof *query);
        if (order->flag & WITH_KNOWN)
            broadcast(0, known, entries);
        uint64_t all = own_rows(folder);
        allreduce_sum(&all, 1);
        status = agree(own_read(folder, query, order->flag & WITH_KNOWN ? known : NULL, &order->read, all, &a));
    }
    if (status == BPCN_OK) {
        allreduce(a.claim, n, MPI_DOUBLE_INT, MPI_MAXLOC);
        allreduce_max(a.most, n);
        own_mix(folder, &a);
        allreduce(a.sums, 2 * n, MPI_DOUBLE, MPI_SUM);
        status = gather_answers(folder, &a, out, info);
    }
    answers_end(&a);
    free(query);
    free(known);
    return status;
}

bpcn_status parts_read(struct folder *folder, const float *query, const unsigned char *known, size_t n,
                       const bpcn_read_options *options, float *out, bpcn_read_info *info)
{
    struct order order = {
        .op = READ, .flag = (known ? WITH_KNOWN : 0) | (out ? WITH_ANSWERS : 0), .n = n, .read = *options};
    give(order);
    return read_all(folder, &order, query, known, out, info);
}

/* ---- writes: rows go to the rank whose file is next */

struct writing {
    struct folder *folder;
    size_t n, dim;
    int *file, *own_file;         /* [n] the file of each row; of this rank's alone */
    int *count, *at, *next;       /* [ranks] rows of each, those of the ranks before it, and a counter */
    size_t mine;                  /* rows of this rank */
    unsigned char *sorted;        /* on rank 0, what is scattered */
    float *rows;                  /* this rank's */
    unsigned char *known;         /* likewise */
    char *names;                  /* likewise */
    bpcn_write_row *info, *infos; /* of these; on rank 0 of all */
    uint64_t *done;               /* [ranks] rows that each has written */
};

/* From rank 0, which has them, every rank's rows of `size` bytes, in their order, to `mine`. */
static void scatter_rows(struct writing *w, const void *all, size_t size, void *mine)
{
    const unsigned char *from = all;
    memcpy(w->next, w->at, (size_t)w->folder->ranks * sizeof *w->next);
    for (size_t i = 0; from != NULL && i < w->n; i++)
        memcpy(w->sorted + (size_t)w->next[part_rank(w->folder, (size_t)w->file[i])]++ * size, from + i * size, size);
    scatter(w->sorted, w->count, w->at, size, mine);
}

/* Room for everything, after it is known where the rows go. */
static bpcn_status writing_begin(struct writing *w, const int *file, int flag)
{
    size_t ranks = (size_t)w->folder->ranks, row = w->dim * sizeof(float), widest = row > NAME_ROOM ? row : NAME_ROOM;
    w->file = malloc((w->n + 1) * sizeof *w->file);
    w->count = calloc(3 * ranks, sizeof *w->count);
    w->done = calloc(ranks, sizeof *w->done);
    bpcn_status status = agree_on_memory(w->file != NULL && w->count != NULL && w->done != NULL);
    if (status != BPCN_OK)
        return status;
    w->at = w->count + ranks;
    w->next = w->at + ranks;
    if (file != NULL)
        memcpy(w->file, file, w->n * sizeof *file);
    broadcast(0, w->file, w->n * sizeof *w->file);
    for (size_t i = 0; i < w->n; i++)
        w->count[part_rank(w->folder, (size_t)w->file[i])]++;
    for (size_t p = 1; p < ranks; p++)
        w->at[p] = w->at[p - 1] + w->count[p - 1];
    w->mine = (size_t)w->count[w->folder->rank];
    w->own_file = malloc((w->mine + 1) * sizeof *w->own_file);
    w->sorted = malloc(w->folder->rank == 0 ? w->n * widest + 1 : 1);
    w->rows = malloc(w->mine * row + 1);
    w->known = flag & WITH_KNOWN ? malloc(w->mine * w->dim + 1) : NULL;
    w->names = flag & WITH_NAMES ? malloc(w->mine * NAME_ROOM + 1) : NULL;
    w->info = calloc(w->mine + 1, sizeof *w->info);
    w->infos = malloc(w->folder->rank == 0 ? (w->n + 1) * sizeof *w->infos : 1);
    return agree_on_memory(w->own_file != NULL && w->sorted != NULL && w->rows != NULL &&
                           (w->known != NULL || !(flag & WITH_KNOWN)) && (w->names != NULL || !(flag & WITH_NAMES)) &&
                           w->info != NULL && w->infos != NULL);
}

static void writing_end(struct writing *w)
{
    void *all[] = {w->file, w->own_file, w->count, w->sorted, w->rows, w->known, w->names, w->info, w->infos, w->done};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        free(all[i]);
}

/* file, x, known and names of rank 0, NULL elsewhere. *written: rows up to the first that failed on its rank. */
static bpcn_status write_all(struct folder *folder, const struct order *order, const int *file, const float *x,
                             const unsigned char *known, const char *names, bpcn_write_row *info, size_t *written)
{
    struct writing w = {.folder = folder, .n = (size_t)order->n, .dim = folder->options.dim};
    size_t done = 0;
    *written = 0;
    bpcn_status status = writing_begin(&w, file, order->flag);
    if (status == BPCN_OK) {
        scatter_rows(&w, x, w.dim * sizeof *x, w.rows);
        if (order->flag & WITH_KNOWN)
            scatter_rows(&w, known, w.dim, w.known);
        if (order->flag & WITH_NAMES)
            scatter_rows(&w, names, NAME_ROOM, w.names);
        for (size_t i = 0, k = 0; i < w.n; i++)
            if (part_rank(folder, (size_t)w.file[i]) == folder->rank)
                w.own_file[k++] = w.file[i];
        status = own_write(folder, w.own_file, w.rows, w.known, w.mine, w.names, w.info, &done);
        w.done[folder->rank] = done;
        allreduce_sum(w.done, (size_t)folder->ranks);
        gather(w.info, w.count, w.at, sizeof *w.info, w.infos);
        memset(w.next, 0, (size_t)folder->ranks * sizeof *w.next);
        for (; info != NULL && *written < w.n; ++*written) {
            int p = part_rank(folder, (size_t)w.file[*written]);
            if ((uint64_t)w.next[p] == w.done[p])
                break;
            info[*written] = w.infos[(size_t)w.at[p] + (size_t)w.next[p]++];
        }
        status = agree(status);
    }
    writing_end(&w);
    return status;
}

bpcn_status parts_write(struct folder *folder, const float *x, const unsigned char *known, size_t n, const char *names,
                        bpcn_write_row *rows, size_t *written)
{
    size_t sound = 0;
    int *file = malloc((n + 1) * sizeof *file);
    bpcn_status status = BPCN_OK;
    *written = 0;
    if (file == NULL)
        return bpcn_fail(BPCN_NO_MEMORY, "out of memory");
    folder_sound(x, known, n, folder->options.dim, &sound);
    size_t taken = folder_place(folder, sound, file);
    if (taken > 0) {
        struct order order = {.op = WRITE, .flag = (known ? WITH_KNOWN : 0) | (names ? WITH_NAMES : 0), .n = taken};
        give(order);
        status = write_all(folder, &order, file, x, known, names, rows, written);
    }
    free(file);
    return status != BPCN_OK ? status
           : taken < sound   ? folder_full(folder)
                             : folder_sound(x, known, n, folder->options.dim, &sound);
}

/* ---- delete */

/* From the file that explains the row best of those that hold it. */
static bpcn_status delete_all(struct folder *folder, const float *x)
{
    size_t dim = folder->options.dim;
    float *row = malloc(dim * sizeof *row);
    double *density = malloc(folder->files * sizeof *density);
    bpcn_status status = agree_on_memory(row != NULL && density != NULL);
    int found = 0;
    if (status == BPCN_OK) {
        if (x != NULL)
            memcpy(row, x, dim * sizeof *row);
        broadcast(0, row, dim * sizeof *row);
        status = agree(own_densities(folder, row, density));
    }
    if (status == BPCN_OK)
        allreduce_max(density, folder->files);
    for (int f; status == BPCN_OK && !found;) {
        f = folder_likeliest(density, folder->files);
        if (f < 0)
            break;
        int rank = part_rank(folder, (size_t)f);
        if (rank == folder->rank)
            status = bpcn_memory_delete(own_part(folder, (size_t)f)->memory, row);
        found = rank == folder->rank && status == BPCN_OK;
        if (status == BPCN_REFUSED || status == BPCN_NOT_HELD)
            status = BPCN_OK;
        broadcast(rank, &found, sizeof found);
        status = agree(status);
    }
    free(row);
    free(density);
    return status == BPCN_OK && !found ? folder_not_held() : status;
}

bpcn_status parts_delete(struct folder *folder, const float *x)
{
    give((struct order){.op = DELETE});
    return delete_all(folder, x);
}

static bpcn_status delete_name_all(struct folder *folder, const char *given)
{
    char name[NAME_ROOM] = "";
    bpcn_name *names = NULL;
    size_t count = 0;
    double *latest =
        calloc(folder->files, sizeof *latest); /* the greatest number that a row of this name has in each */
    bpcn_status status = agree_on_memory(latest != NULL);
    if (status == BPCN_OK) {
        if (given != NULL)
            snprintf(name, sizeof name, "%s", given);
        broadcast(0, name, sizeof name);
        status = agree(own_names(folder, &names, &count));
    }
    for (size_t k = 0; status == BPCN_OK && k < count; k++) {
        double *most = &latest[names[k].shard % folder->files];
        if (strcmp(names[k].name, name) == 0)
            *most = fmax(*most, (double)names[k].number);
    }
    if (status == BPCN_OK) {
        size_t best = 0;
        allreduce_max(latest, folder->files);
        for (size_t f = 1; f < folder->files; f++)
            best = latest[f] > latest[best] ? f : best;
        if (!(latest[best] > 0))
            status = folder_not_named(name);
        else
            status = agree(part_rank(folder, best) == folder->rank
                               ? bpcn_memory_delete_name(own_part(folder, best)->memory, name)
                               : BPCN_OK);
    }
    free(names);
    free(latest);
    return status;
}

bpcn_status parts_delete_name(struct folder *folder, const char *name)
{
    give((struct order){.op = DELETE_NAME});
    return delete_name_all(folder, name);
}

/* ---- the rest */

static bpcn_status change_all(struct folder *folder, const struct order *order)
{
    return agree(own_change(folder, (enum change)order->flag, order->number));
}

bpcn_status parts_change(struct folder *folder, enum change change, double beta)
{
    struct order order = {.op = CHANGE, .flag = (int32_t)change, .number = beta};
    give(order);
    return change_all(folder, &order);
}

static bpcn_status totals_all(struct folder *folder, int fullness, struct totals *totals)
{
    bpcn_status status = agree(own_totals(folder, fullness, totals));
    if (status != BPCN_OK)
        return status;
    allreduce_sum(&totals->writes, TOTALS_SUMS);
    allreduce_max(&totals->forgets, 1);
    allreduce(&totals->fullness, 1, MPI_DOUBLE, MPI_SUM);
    return BPCN_OK;
}

bpcn_status parts_totals(struct folder *folder, int fullness, struct totals *totals)
{
    give((struct order){.op = TOTALS, .flag = fullness});
    return totals_all(folder, fullness, totals);
}

static bpcn_status rows_all(struct folder *folder, uint64_t *rows)
{
    uint64_t *own = rows != NULL ? rows : calloc(folder->options.shards, sizeof *own);
    bpcn_status status = agree_on_memory(own != NULL);
    if (status == BPCN_OK)
        status = agree(own_shard_rows(folder, own));
    if (status == BPCN_OK)
        allreduce_sum(own, folder->options.shards);
    if (own != rows)
        free(own);
    return status;
}

bpcn_status parts_rows(struct folder *folder, uint64_t *rows)
{
    give((struct order){.op = ROWS});
    return rows_all(folder, rows);
}

static bpcn_status name_all(struct folder *folder, size_t shard, uint64_t number, char name[NAME_ROOM])
{
    size_t f = shard % folder->files;
    int rank = part_rank(folder, f);
    bpcn_name found = {.number = 0};
    bpcn_status status = BPCN_OK;
    if (rank == folder->rank)
        status = bpcn_memory_get_name(own_part(folder, f)->memory, number, &found);
    broadcast(rank, found.name, sizeof found.name);
    memcpy(name, found.name, NAME_ROOM);
    return agree(status);
}

bpcn_status parts_name(struct folder *folder, const bpcn_read_info *info, char name[NAME_ROOM])
{
    give((struct order){.op = NAME, .n = info->name, .shard = info->shard});
    return name_all(folder, (size_t)info->shard, info->name, name);
}

/* *all of rank 0 alone. */
static bpcn_status names_all(struct folder *folder, bpcn_name **all, size_t *count)
{
    size_t ranks = (size_t)folder->ranks, mine_count = 0;
    bpcn_name *mine = NULL;
    uint64_t *counts = calloc(ranks, sizeof *counts), sum = 0;
    int *each = calloc(2 * ranks, sizeof *each), *at = NULL;
    *all = NULL;
    bpcn_status status = agree_on_memory(counts != NULL && each != NULL);
    if (status == BPCN_OK)
        status = agree(own_names(folder, &mine, &mine_count));
    if (status == BPCN_OK) {
        at = each + ranks;
        counts[folder->rank] = mine_count;
        allreduce_sum(counts, ranks);
        for (size_t p = 0; p < ranks; sum += counts[p++]) {
            each[p] = (int)counts[p];
            at[p] = (int)sum;
        }
        *all = malloc(folder->rank == 0 ? (size_t)(sum + 1) * sizeof **all : 1);
        status = agree_on_memory(*all != NULL);
    }
    if (status == BPCN_OK)
        gather(mine, each, at, sizeof **all, *all);
    *count = (size_t)sum;
    free(mine);
    free(counts);
    free(each);
    return status;
}

bpcn_status parts_names(struct folder *folder, bpcn_name **names, size_t *count)
{
    give((struct order){.op = NAMES});
    return names_all(folder, names, count);
}

bpcn_status parts_sample(struct folder *folder, size_t n, uint64_t draw, float *out)
{
    (void)n, (void)draw, (void)out;
    return bpcn_fail(BPCN_INVALID, "%s: samples are drawn in one process (bpcn sample)", folder->path);
}

/* ---- the ranks other than 0 */

static void obey(struct folder *folder, const struct order *order)
{
    struct totals totals;
    char name[NAME_ROOM];
    bpcn_name *names = NULL;
    size_t count;
    switch ((enum op)order->op) {
    case CREATE:
        create_all(folder, NULL, order->flag);
        break;
    case OPEN:
        if (open_all(folder, order->flag) != BPCN_OK)
            folder_close(folder);
        break;
    case READ:
        read_all(folder, order, NULL, NULL, NULL, NULL);
        break;
    case WRITE:
        write_all(folder, order, NULL, NULL, NULL, NULL, NULL, &count);
        break;
    case DELETE:
        delete_all(folder, NULL);
        break;
    case DELETE_NAME:
        delete_name_all(folder, NULL);
        break;
    case NAME:
        name_all(folder, (size_t)order->shard, order->n, name);
        break;
    case NAMES:
        names_all(folder, &names, &count);
        free(names);
        break;
    case CHANGE:
        change_all(folder, order);
        break;
    case TOTALS:
        totals_all(folder, order->flag, &totals);
        break;
    case ROWS:
        rows_all(folder, NULL);
        break;
    case CLOSE:
        close_all(folder);
        break;
    case END:
        folder_close(folder);
        break;
    }
}

void collective_serve(void)
{
    static struct folder folder; /* one for the life of the process */
    struct order order;
    do {
        broadcast(0, &order, sizeof order);
        obey(&folder, &order);
    } while (order.op != END);
}

void collective_end(void)
{
    give((struct order){.op = END});
}
