/* Queues, turns and batches, and the two copies that a worker can make: one that has forgotten, and a snapshot. */
#include "worker.h"

#include "progress.h"
#include "recall.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum {
    STACK_BYTES = 1 << 20,         /* of the worker's thread: a call takes 66 kB for a note or path, and 64 kB below */
    ROWS_A_TURN = 8,               /* of changes: a read waits for no more */
    JOBS_A_BATCH = 512,            /* read together at most */
    STEP_ROWS_MOST = 64,           /* of a write that can be undone */
    PREVIEW_BYTES_MOST = 512 << 20 /* the largest memory copied for reads with `forget` */
};

struct queue {
    struct job *first, **last;
    size_t count;
};

/* A copy of the memory that has forgotten something: what reads would be like, before anything is forgotten. */
struct preview {
    struct memory_file copy;
    bool open;
    double beta;      /* that it has forgotten */
    uint64_t changes; /* of the memory, when it was copied */
};

/* The rows of the latest write. */
struct step {
    uint64_t number; /* 0: there is none */
    float *x;        /* [rows x dim] */
    size_t rows;
};

struct worker {
    struct served *served;
    struct memory_file *file;
    const struct settings *settings;
    pthread_t thread;
    pthread_mutex_t lock;
    pthread_cond_t arrived;
    struct queue reads, changes;
    size_t syncing; /* changes that are made and wait to be on disk */
    bool stopping, abandoned;
    int connections;
    struct worker_state state;
    uint64_t reads_so_far;   /* jobs that were added to reads */
    uint64_t changes_so_far; /* rows changed */
    struct worker_event event[EVENTS_MOST];
    uint64_t events;
    bpcn_status logged; /* the error that the log already reports */
    /* the thread's own */
    bool closed;       /* the file could not be opened again */
    uint64_t measured; /* changes_so_far when its fullness was measured */
    struct preview preview;
    struct step step;
    const struct memory_file *source; /* of the answers: the memory, or a copy that has forgotten */
    size_t dim, capacity;             /* rows that are read together */
    float *x, *answers, *spread;
    double *trace;
    unsigned char *known;
    bpcn_read_info *info;
};

static bool is_change(const struct job *job)
{
    return job->kind >= JOB_WRITE;
}

/* Jobs of which several are answered by one call of the library. */
static bool goes_in_batches(const struct job *job)
{
    return job->kind == JOB_READ || job->kind == JOB_SCORE;
}

static void queue_add(struct queue *q, struct job *job)
{
    job->next = NULL;
    *q->last = job;
    q->last = &job->next;
    q->count++;
}

static void queue_remove(struct queue *q, struct job *job)
{
    struct job **at = &q->first;
    while (*at != job)
        at = &(*at)->next;
    *at = job->next;
    if (*at == NULL)
        q->last = at;
    q->count--;
}

static size_t jobs_waiting(const struct worker *w)
{
    return w->reads.count + w->changes.count + w->syncing;
}

/* Troubles of the file, as opposed to those of a request. */
static bool is_of_file(bpcn_status status)
{
    return status == BPCN_IO || status == BPCN_CORRUPT || status == BPCN_NO_SPACE || status == BPCN_GONE;
}

static void fail_job(struct job *job, bpcn_status status, const char *why)
{
    job->status = status;
    snprintf(job->why, sizeof job->why, "%s", why);
}

/* The result of a change, for health and for the log, which has one line for each error, however often it recurs. */
static void note_error(struct worker *w, bpcn_status status, const char *why)
{
    pthread_mutex_lock(&w->lock);
    bool is_new = status != w->logged;
    w->logged = status;
    w->state.error = status;
    pthread_mutex_unlock(&w->lock);
    if (is_new && status != BPCN_OK)
        console_error(w->file->console, "%s: %s", w->served->path, why);
    else if (is_new)
        console_note(w->file->console, "%s: changes are written again", w->served->path);
}

/* ---- copies */

/* A file in $TMPDIR that has no name any more, with the memory in it; the path is for messages and is gone. */
static bpcn_status copy_to_file(const struct memory_file *file, struct memory_file *copy, int *snapshot)
{
    const char *place = getenv("TMPDIR");
    char folder[256], path[300];
    const bpcn_memory *memory = memory_file_memory(file);
    if (memory == NULL ||
        snprintf(folder, sizeof folder, "%s/bpcn-XXXXXX", place ? place : "/tmp") >= (int)sizeof folder ||
        mkdtemp(folder) == NULL)
        return bpcn_fail(BPCN_IO, "no temporary folder can be made for a copy");
    snprintf(path, sizeof path, "%s/copy.mem", folder);
    bpcn_status status = bpcn_memory_save(memory, path);
    if (status == BPCN_OK && copy != NULL && memory_file_open(file->console, path, TO_CHANGE, copy) != 0)
        status = BPCN_IO;
    if (status == BPCN_OK && snapshot != NULL && (*snapshot = open(path, O_RDONLY | O_CLOEXEC)) < 0)
        status = bpcn_fail(BPCN_IO, "the copy cannot be read again");
    unlink(path);
    rmdir(folder);
    return status;
}

static void preview_drop(struct preview *p)
{
    if (p->open)
        memory_file_close(&p->copy);
    p->open = false;
}

/* The copy that has forgotten as much as the job asks, new if the memory has changed. NULL: the job has the error. */
static const struct memory_file *preview_open(struct worker *w, struct job *job)
{
    struct preview *p = &w->preview;
    bpcn_stats stats = {.size = sizeof stats};
    if (p->open && p->beta == job->forgotten && p->changes == w->changes_so_far)
        return &p->copy;
    preview_drop(p);
    if (memory_file_is_folder(w->file->path))
        fail_job(job, BPCN_REFUSED, "a folder of files cannot be read as if it had forgotten");
    else if (memory_file_stats(w->file, &stats) != BPCN_OK || stats.bytes > PREVIEW_BYTES_MOST)
        fail_job(job, BPCN_REFUSED, "the memory is too large for a copy that has forgotten");
    else if ((job->status = copy_to_file(w->file, &p->copy, NULL)) != BPCN_OK)
        fail_job(job, job->status, "a copy that has forgotten does not fit into memory");
    else if (p->open = true, (job->status = memory_file_forget(&p->copy, job->forgotten)) != BPCN_OK)
        fail_job(job, job->status, "the copy could not forget");
    if (job->status != BPCN_OK) {
        preview_drop(p);
        return NULL;
    }
    p->beta = job->forgotten;
    p->changes = w->changes_so_far;
    return &p->copy;
}

/* ---- reads */

static bool can_share_batch(const struct job *a, const struct job *b)
{
    return a->kind == b->kind && (a->known == NULL) == (b->known == NULL) && a->noise == b->noise &&
           a->forgotten == b->forgotten && a->shards == b->shards && (a->spread == NULL) == (b->spread == NULL) &&
           (a->trace == NULL) == (b->trace == NULL);
}

static size_t rows_left(const struct job *job)
{
    return job->rows - job->done;
}

/* Waits until the batch is full, every client has sent a read, or the first has waited for settings->gather. */
static void wait_for_others(struct worker *w)
{
    double until = w->reads.first->arrived + w->settings->gather;
    struct timespec when = {.tv_sec = (time_t)until, .tv_nsec = (long)((until - floor(until)) * 1e9)};
    while (!w->stopping && jobs_waiting(w) < (size_t)w->connections) {
        size_t rows = 0;
        for (const struct job *j = w->reads.first; j != NULL; j = j->next)
            rows += can_share_batch(j, w->reads.first) ? rows_left(j) : 0;
        if (rows >= w->capacity || pthread_cond_timedwait(&w->arrived, &w->lock, &when) == ETIMEDOUT)
            return;
    }
}

/* Reads `rows` rows of the worker's batch; an error goes to `job`. */
static bpcn_status read_batch_rows(struct worker *w, struct job *job, const float *x, const unsigned char *known,
                                   size_t rows)
{
    const struct memory_file *file = job->forgotten > 0 ? preview_open(w, job) : w->file;
    struct recall how = {.noise = job->noise,
                         .shards = job->shards,
                         .score = job->kind == JOB_SCORE,
                         .trace = job->trace != NULL ? w->trace : NULL,
                         .spread = job->spread != NULL ? w->spread : NULL};
    if (file == NULL)
        return job->status;
    w->source = file;
    bpcn_status status = recall_rows(file, &how, x, known, rows, w->answers, w->info);
    if (status != BPCN_OK)
        fail_job(job, status, bpcn_error());
    return status;
}

/* One row after the other from the jobs to the batch, as many as fit; returns how many, and of how many jobs. */
static size_t gather_rows(struct worker *w, size_t take[], struct job *jobs[], size_t *count)
{
    size_t rows = 0;
    struct job *first = w->reads.first;
    *count = 0;
    for (struct job *j = first; j != NULL && rows < w->capacity && *count < JOBS_A_BATCH; j = j->next) {
        if (!can_share_batch(j, first))
            continue;
        size_t n = rows_left(j) < w->capacity - rows ? rows_left(j) : w->capacity - rows;
        memcpy(w->x + rows * w->dim, j->x + j->done * w->dim, n * w->dim * sizeof *w->x);
        if (j->known != NULL)
            memcpy(w->known + rows * w->dim, j->known + j->done * w->dim, n * w->dim);
        take[*count] = n;
        jobs[(*count)++] = j;
        rows += n;
    }
    return rows;
}

/* n rows of the batch, from `at` on, are the next of the job. */
static void give_answers(const struct worker *w, struct job *job, size_t at, size_t n)
{
    if (job->answers != NULL)
        memcpy(job->answers + job->done * w->dim, w->answers + at * w->dim, n * w->dim * sizeof *w->answers);
    if (job->spread != NULL)
        memcpy(job->spread + job->done * w->dim, w->spread + at * w->dim, n * w->dim * sizeof *w->spread);
    if (job->trace != NULL)
        memcpy(job->trace + job->done * TRACE_MOST, w->trace + at * TRACE_MOST, n * TRACE_MOST * sizeof *w->trace);
    memcpy(job->info + job->done, w->info + at, n * sizeof *w->info);
    for (size_t i = job->done; job->answered != NULL && i < job->done + n; i++)
        memory_file_name(w->source, &job->info[i], job->answered + i * NAME_ROOM);
    job->done += n;
}

static void add_typicality(const struct worker *w, struct job *job)
{
    bool told = job->forgotten == 0 &&
                memory_file_typicality(w->file, job->x, job->known, job->rows, job->typicality) == BPCN_OK;
    for (size_t i = 0; i < job->rows && !told; i++)
        job->typicality[i] = -1;
}

static void add_blame(const struct worker *w, struct job *job)
{
    for (size_t i = 0; i < job->rows && w->file->options.kind == BPCN_TABLE && job->forgotten == 0; i++) {
        size_t bytes;
        FILE *text = open_memstream(&job->blame[i], &bytes);
        if (text == NULL)
            return;
        const unsigned char *known = job->known != NULL ? job->known + i * w->dim : NULL;
        int status = recall_blame_json(w->file, job->x + i * w->dim, known, text);
        fclose(text);
        if (status != 0) {
            free(job->blame[i]);
            job->blame[i] = NULL;
        }
    }
}

/* If the batch fails, reads each job by itself, so that a bad row fails only its own job. */
static void job_read_batch(struct worker *w, struct job *jobs[], const size_t take[], size_t count, size_t rows)
{
    bpcn_status status = read_batch_rows(w, jobs[0], w->x, jobs[0]->known ? w->known : NULL, rows);
    for (size_t i = 0, at = 0; i < count; at += take[i++]) {
        struct job *j = jobs[i];
        if (status == BPCN_OK) {
            give_answers(w, j, at, take[i]);
        } else if (count > 1) {
            size_t from = j->done * w->dim;
            j->status = BPCN_OK;
            if (read_batch_rows(w, j, j->x + from, j->known ? j->known + from : NULL, take[i]) == BPCN_OK)
                give_answers(w, j, 0, take[i]);
        }
        if (j->typicality != NULL && j->done == j->rows)
            add_typicality(w, j);
        if (j->blame != NULL && j->done == j->rows)
            add_blame(w, j);
    }
}

static void update_state(struct worker *w)
{
    struct worker_state s = {.stats.size = sizeof s.stats, .fullness = w->state.fullness};
    if (memory_file_stats(w->file, &s.stats) != BPCN_OK)
        return;
    if (w->measured != w->changes_so_far)
        s.fullness = memory_file_fullness(w->file);
    w->measured = w->changes_so_far;
    s.rows = calloc(w->served->options.shards, sizeof *s.rows);
    bool counted = s.rows != NULL && memory_file_shard_rows(w->file, s.rows) == BPCN_OK;
    s.shards = counted ? w->served->options.shards : 0;
    pthread_mutex_lock(&w->lock);
    s.batches = w->state.batches;
    s.changes_waited = w->state.changes_waited;
    s.reopened = w->state.reopened;
    s.error = w->state.error;
    free(w->state.rows);
    w->state = s;
    pthread_mutex_unlock(&w->lock);
}

/* The worker's file becomes the other, which the caller closes. The schema stays: others read it. */
static void swap_files(struct worker *w, struct memory_file *other)
{
    struct memory_file old = *w->file;
    fmt_schema schema = old.note.fields;
    *w->file = *other;
    old.note.fields = other->note.fields;
    w->file->note.fields = schema;
    *other = old;
    preview_drop(&w->preview);
    w->step.number = 0;
    w->changes_so_far++;
    pthread_mutex_lock(&w->lock);
    w->state.reopened++;
    w->logged = w->state.error = BPCN_OK;
    pthread_mutex_unlock(&w->lock);
}

static void job_codes(struct worker *w, struct job *job)
{
    const bpcn_memory *memory = memory_file_is_folder(w->file->path) ? NULL : memory_file_memory(w->file);
    if (memory == NULL)
        fail_job(job, BPCN_REFUSED, "the codes of a folder of files cannot be compared");
    else if ((job->status = bpcn_memory_infer(memory, job->x, job->known, job->rows, NULL, job->answers, job->info)) !=
             BPCN_OK)
        fail_job(job, job->status, bpcn_error());
}

static void job_search(struct worker *w, struct job *job)
{
    const bpcn_memory *memory = memory_file_is_folder(w->file->path) ? NULL : memory_file_memory(w->file);
    bpcn_read_options options;
    bpcn_read_options_default(&options, sizeof options);
    options.noise = job->noise;
    options.shards = job->shards;
    if (memory == NULL)
        fail_job(job, BPCN_REFUSED, "a folder of files cannot be searched");
    else if ((job->status = bpcn_memory_search(memory, job->x, job->known, job->rows, job->k, &options, job->matches,
                                               job->answers, job->found)) != BPCN_OK)
        fail_job(job, job->status, bpcn_error());
    for (size_t i = 0; job->status == BPCN_OK && i < job->rows * job->k; i++) {
        bpcn_name name = {.number = 0};
        if (i % job->k < job->found[i / job->k] && job->matches[i].name > 0)
            bpcn_memory_get_name(memory, job->matches[i].name, &name);
        memcpy(job->answered + i * NAME_ROOM, name.name, NAME_ROOM);
    }
}

/* A read outside a batch. */
static void run_other_read(struct worker *w, struct job *job)
{
    if (job->kind == JOB_REPLACE) {
        swap_files(w, job->replacement);
    } else if (w->closed) {
        fail_job(job, BPCN_GONE, "the memory's file is not open");
    } else if (job->kind == JOB_STATE) {
        update_state(w);
    } else if (job->kind == JOB_CODES) {
        job_codes(w, job);
    } else if (job->kind == JOB_SEARCH) {
        job_search(w, job);
    } else if (job->kind == JOB_NAMES) {
        job->list = memory_file_names(w->file, &job->listed);
        if (job->list == NULL)
            fail_job(job, BPCN_NO_MEMORY, "out of memory");
    } else if (job->kind == JOB_SNAPSHOT && memory_file_is_folder(w->file->path)) {
        fail_job(job, BPCN_REFUSED, "a folder of files has no snapshot: copy its files while nothing writes them");
    } else if (job->kind == JOB_SNAPSHOT) {
        job->status = copy_to_file(w->file, NULL, &job->snapshot);
        if (job->status != BPCN_OK)
            fail_job(job, job->status, bpcn_error());
    } else if ((job->status = memory_file_sample(w->file, job->rows, job->draw, job->answers)) != BPCN_OK) {
        fail_job(job, job->status, bpcn_error());
    }
    job->done = job->rows;
}

/* ---- changes */

static int compare_given(const void *a, const void *b)
{
    const char *const *x = a, *const *y = b;
    int order = strcmp(*x, *y);
    return order != 0 ? order : (*x > *y) - (*x < *y); /* those that are equal in the order they were given in */
}

static int compare_kept(const void *a, const void *b)
{
    return strcmp(((const bpcn_name *)a)->name, ((const bpcn_name *)b)->name);
}

/* Whether the memory keeps all names of the job, those that are given twice two times; otherwise job->wrong is the
   first that it lacks. Both lists are sorted and walked along side by side. */
static void check_names_kept(struct worker *w, struct job *job)
{
    size_t there = 0, k = 0, missing = job->rows;
    bpcn_name *kept = memory_file_names(w->file, &there);
    const char **given = malloc((job->rows + 1) * sizeof *given);
    if (kept != NULL && given != NULL) {
        for (size_t i = 0; i < job->rows; i++)
            given[i] = job->names + i * NAME_ROOM;
        qsort(given, job->rows, sizeof *given, compare_given);
        qsort(kept, there, sizeof *kept, compare_kept);
        for (size_t i = 0; i < job->rows; i++) {
            size_t place = (size_t)(given[i] - job->names) / NAME_ROOM;
            while (k < there && strcmp(kept[k].name, given[i]) < 0)
                k++;
            if (k < there && strcmp(kept[k].name, given[i]) == 0)
                k++;
            else if (place < missing)
                missing = place;
        }
    }
    job->status = kept == NULL || given == NULL ? BPCN_NO_MEMORY : missing < job->rows ? BPCN_INVALID : BPCN_OK;
    job->wrong = missing < job->rows ? missing : 0;
    free(kept);
    free(given);
}

/* Looks up all names first, so that nothing is deleted if one is missing. */
static void job_delete_row(struct worker *w, struct job *job)
{
    if (job->names == NULL) {
        job->status = memory_file_delete(w->file, job->x + job->done * w->dim);
        return;
    }
    if (job->done == 0)
        check_names_kept(w, job);
    if (job->status == BPCN_OK)
        job->status = memory_file_delete_name(w->file, job->names + job->done * NAME_ROOM);
}

/* The latest row of the step. */
static void undo_row(struct worker *w, struct job *job)
{
    struct step *step = &w->step;
    if (step->number == 0 || step->number != job->step) {
        fail_job(job, BPCN_REFUSED, "that write cannot be undone any more: the memory has changed since");
        return;
    }
    job->rows = job->done + step->rows;
    job->status = memory_file_delete(w->file, step->x + (step->rows - 1) * w->dim);
    if (job->status == BPCN_OK && --step->rows == 0)
        step->number = 0;
}

/* Remembers the row that was written, whole rows of one small request alone. */
static void remember_step(struct worker *w, struct job *job)
{
    struct step *step = &w->step;
    if (job->done == 0)
        step->number = 0;
    if (job->known != NULL || job->rows > STEP_ROWS_MOST || (job->done > 0 && step->number == 0))
        return;
    memcpy(step->x + job->done * w->dim, job->x + job->done * w->dim, w->dim * sizeof *step->x);
    step->rows = job->done + 1;
    step->number = job->done == 0 ? w->changes_so_far : step->number;
    job->step = job->done + 1 == job->rows ? step->number : 0;
}

/* The lock on the file must go before it can be taken again: between the two there is no memory. */
static void reopen_file(struct worker *w, struct job *job)
{
    struct memory_file opened;
    const struct console *console = w->file->console;
    fmt_schema schema = w->file->note.fields;
    preview_drop(&w->preview);
    w->step.number = 0;
    if (!w->closed) {
        memory_file_commit(w->file);
        w->file->note.fields = (fmt_schema){0}; /* stays: others read it */
        memory_file_close(w->file);
        w->file->note.fields = schema;
    }
    w->closed = memory_file_open(console, w->served->path, TO_CHANGE, &opened) != 0;
    if (!w->closed && opened.note.fields.dim != schema.dim) {
        memory_file_close(&opened);
        w->closed = true;
    }
    if (w->closed) {
        fail_job(job, BPCN_GONE, "the memory's file could not be opened again");
        return;
    }
    fmt_schema_free(&opened.note.fields);
    *w->file = opened;
    w->file->note.fields = schema;
    pthread_mutex_lock(&w->lock);
    w->state.reopened++;
    pthread_mutex_unlock(&w->lock);
}

/* One row, or the whole of a forgetting. */
static void change_a_little(struct worker *w, struct job *job)
{
    size_t written = 0, at = job->done * w->dim;
    const unsigned char *known = job->known ? job->known + at : NULL;
    job->wrong = job->done;
    if (known != NULL && memchr(known, 0, w->dim) == NULL)
        known = NULL;
    if (job->kind == JOB_REOPEN)
        reopen_file(w, job);
    else if (w->closed)
        fail_job(job, BPCN_GONE, "the memory's file is not open");
    else if (job->kind == JOB_WRITE)
        job->status =
            memory_file_write(w->file, job->x + at, known, 1, job->names ? job->names + job->done * NAME_ROOM : NULL,
                         &job->became[job->done], &written);
    else if (job->kind == JOB_UNDO)
        undo_row(w, job);
    else if (job->kind == JOB_DELETE)
        job_delete_row(w, job);
    else
        job->status = memory_file_forget(w->file, job->beta);
    if (job->status != BPCN_OK) {
        if (job->why[0] == '\0')
            fail_job(job, job->status, bpcn_error());
        return;
    }
    if (job->kind == JOB_WRITE)
        remember_step(w, job);
    else if (job->kind != JOB_UNDO)
        w->step.number = 0;
    job->done++;
}

/* ---- the thread */

static bool is_complete(const struct job *job)
{
    return job->status != BPCN_OK || job->done >= job->rows;
}

static void finish_job(struct queue *q, struct job *job)
{
    queue_remove(q, job);
    job->finished = true;
    pthread_cond_signal(&job->is_finished);
}

/* With the lock held. */
static void abandon_queue(struct queue *q)
{
    while (q->first != NULL) {
        fail_job(q->first, BPCN_BUSY, "");
        finish_job(q, q->first);
    }
}

/* These are called, and return, with the lock held. */
static void run_some_reads(struct worker *w)
{
    struct job *jobs[JOBS_A_BATCH];
    size_t take[JOBS_A_BATCH], count = 1, rows = 0;
    jobs[0] = w->reads.first;
    bool in_batch = goes_in_batches(jobs[0]);
    if (in_batch && !w->closed) {
        wait_for_others(w);
        rows = gather_rows(w, take, jobs, &count);
        w->state.batches++;
    }
    pthread_mutex_unlock(&w->lock);
    if (in_batch && !w->closed)
        job_read_batch(w, jobs, take, count, rows);
    else
        run_other_read(w, jobs[0]);
    pthread_mutex_lock(&w->lock);
    for (size_t i = 0; i < count; i++)
        if (is_complete(jobs[i]))
            finish_job(&w->reads, jobs[i]);
}

/* All that wait when the turn begins, so that none of them waits for another turn of changes. */
static void turn_of_reads(struct worker *w)
{
    uint64_t before = w->reads_so_far;
    for (const struct job *j = w->reads.first; j != NULL; j = j->next)
        if (w->changes_so_far - j->changes_before > w->state.changes_waited)
            w->state.changes_waited = w->changes_so_far - j->changes_before;
    while (!w->abandoned && w->reads.first != NULL && w->reads.first->number < before)
        run_some_reads(w);
}

/* Rows of the changes that wait, one after the other, as many as a turn has; then one sync for all of them, after which
   those that are complete are answered. A forgetting is a turn of its own: it takes as long as the memory is large. */
static void turn_of_changes(struct worker *w)
{
    struct queue done = {.last = &done.first};
    bpcn_status error = BPCN_OK;
    char why[sizeof w->changes.first->why] = "";
    for (size_t rows = 0; !w->abandoned && w->changes.first != NULL && rows < ROWS_A_TURN; rows++) {
        struct job *job = w->changes.first;
        bool alone = job->kind == JOB_FORGET || job->kind == JOB_REOPEN;
        if (alone && rows > 0)
            break;
        w->changes_so_far++;
        pthread_mutex_unlock(&w->lock);
        change_a_little(w, job);
        pthread_mutex_lock(&w->lock);
        if (is_of_file(job->status)) {
            error = job->status;
            memcpy(why, job->why, sizeof why);
        }
        if (is_complete(job)) {
            queue_remove(&w->changes, job);
            queue_add(&done, job);
            w->syncing = done.count;
        }
        if (alone)
            break;
    }
    if (done.first == NULL)
        return;
    pthread_mutex_unlock(&w->lock);
    bpcn_status synced = w->closed ? BPCN_GONE : memory_file_sync(w->file);
    if (synced != BPCN_OK && error == BPCN_OK) {
        error = synced;
        snprintf(why, sizeof why, "%s", w->closed ? "the memory's file is not open" : bpcn_error());
    }
    note_error(w, error, why);
    pthread_mutex_lock(&w->lock);
    while (done.first != NULL) {
        if (synced != BPCN_OK && done.first->status == BPCN_OK)
            fail_job(done.first, synced, why);
        finish_job(&done, done.first);
    }
    w->syncing = 0;
}

static void *worker_thread(void *arg)
{
    struct worker *w = arg;
    pthread_mutex_lock(&w->lock);
    for (;;) {
        while (jobs_waiting(w) == 0 && !w->stopping)
            pthread_cond_wait(&w->arrived, &w->lock);
        if (jobs_waiting(w) == 0)
            break;
        if (w->reads.first != NULL)
            turn_of_reads(w);
        if (w->changes.first != NULL)
            turn_of_changes(w);
        if (w->abandoned) {
            abandon_queue(&w->reads);
            abandon_queue(&w->changes);
        }
    }
    pthread_mutex_unlock(&w->lock);
    return NULL;
}

/* ---- for other threads */

static void worker_free(struct worker *w)
{
    preview_drop(&w->preview);
    free(w->step.x);
    free(w->x);
    free(w->answers);
    free(w->spread);
    free(w->trace);
    free(w->known);
    free(w->info);
    free(w->state.rows);
    free(w);
}

struct worker *worker_start(struct served *served, const struct settings *settings)
{
    struct worker *w = calloc(1, sizeof *w);
    pthread_condattr_t clock;
    pthread_attr_t attributes;
    if (w == NULL)
        return NULL;
    w->served = served;
    w->file = &served->file;
    w->settings = settings;
    w->dim = served->schema.dim;
    w->changes_so_far = 1;
    w->capacity = settings->batch;
    w->reads.last = &w->reads.first;
    w->changes.last = &w->changes.first;
    w->step.x = calloc(STEP_ROWS_MOST * w->dim, sizeof *w->step.x);
    w->x = calloc(w->capacity * w->dim, sizeof *w->x);
    w->answers = calloc(w->capacity * w->dim, sizeof *w->answers);
    w->spread = calloc(w->capacity * w->dim, sizeof *w->spread);
    w->trace = calloc(w->capacity * TRACE_MOST, sizeof *w->trace);
    w->known = calloc(w->capacity * w->dim, 1);
    w->info = calloc(w->capacity, sizeof *w->info);
    pthread_mutex_init(&w->lock, NULL);
    pthread_condattr_init(&clock);
    pthread_condattr_setclock(&clock, CLOCK_MONOTONIC);
    pthread_cond_init(&w->arrived, &clock);
    pthread_condattr_destroy(&clock);
    update_state(w);
    pthread_attr_init(&attributes);
    pthread_attr_setstacksize(&attributes, STACK_BYTES);
    bool started = w->step.x && w->x && w->answers && w->spread && w->trace && w->known && w->info &&
                   pthread_create(&w->thread, &attributes, worker_thread, w) == 0;
    pthread_attr_destroy(&attributes);
    if (started)
        return w;
    worker_free(w);
    return NULL;
}

enum worker_answer worker_do(struct worker *w, struct job *job)
{
    struct queue *q = is_change(job) ? &w->changes : &w->reads;
    enum worker_answer answer = WORKER_DONE;
    pthread_mutex_lock(&w->lock);
    if (w->stopping || w->abandoned) {
        answer = WORKER_STOPPED;
    } else if (jobs_waiting(w) >= w->settings->most_waiting) {
        answer = WORKER_FULL;
    } else {
        job->arrived = seconds_now();
        job->changes_before = w->changes_so_far;
        job->number = w->reads_so_far;
        w->reads_so_far += q == &w->reads;
        pthread_cond_init(&job->is_finished, NULL);
        queue_add(q, job);
        pthread_cond_signal(&w->arrived);
        while (!job->finished)
            pthread_cond_wait(&job->is_finished, &w->lock);
        pthread_cond_destroy(&job->is_finished);
        if (w->abandoned && job->status == BPCN_BUSY)
            answer = WORKER_STOPPED;
    }
    pthread_mutex_unlock(&w->lock);
    return answer;
}

void worker_tell_connections(struct worker *w, int more)
{
    pthread_mutex_lock(&w->lock);
    w->connections += more;
    pthread_cond_signal(&w->arrived);
    pthread_mutex_unlock(&w->lock);
}

struct worker_state worker_state(struct worker *w)
{
    pthread_mutex_lock(&w->lock);
    struct worker_state s = w->state;
    s.waiting = jobs_waiting(w);
    s.rows = malloc((s.shards + 1) * sizeof *s.rows);
    if (s.rows == NULL)
        s.shards = 0;
    else if (s.shards > 0)
        memcpy(s.rows, w->state.rows, s.shards * sizeof *s.rows);
    pthread_mutex_unlock(&w->lock);
    return s;
}

void worker_record(struct worker *w, enum job_kind kind, double familiarity, bpcn_verdict verdict, const char *name)
{
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    pthread_mutex_lock(&w->lock);
    struct worker_event *e = &w->event[w->events++ % EVENTS_MOST];
    *e = (struct worker_event){.number = w->events,
                               .when = (double)now.tv_sec + 1e-9 * (double)now.tv_nsec,
                               .kind = kind,
                               .familiarity = familiarity,
                               .verdict = verdict};
    snprintf(e->name, sizeof e->name, "%s", name != NULL ? name : "");
    pthread_mutex_unlock(&w->lock);
}

size_t worker_events(struct worker *w, uint64_t after, struct worker_event *events)
{
    size_t count = 0;
    pthread_mutex_lock(&w->lock);
    uint64_t first = w->events > EVENTS_MOST ? w->events - EVENTS_MOST : 0;
    for (uint64_t k = after > first && after <= w->events ? after : first; k < w->events; k++)
        events[count++] = w->event[k % EVENTS_MOST];
    pthread_mutex_unlock(&w->lock);
    return count;
}

void worker_check_file(struct worker *w)
{
    struct stat there;
    if (stat(w->served->path, &there) != 0) {
        note_error(w, BPCN_GONE, "the memory's file is gone");
        return;
    }
    pthread_mutex_lock(&w->lock);
    bool was_missing = w->state.error == BPCN_GONE && w->settings->read_only;
    pthread_mutex_unlock(&w->lock);
    if (was_missing)
        note_error(w, BPCN_OK, "");
}

void worker_abandon(struct worker *w)
{
    pthread_mutex_lock(&w->lock);
    w->abandoned = true;
    pthread_cond_signal(&w->arrived);
    pthread_mutex_unlock(&w->lock);
}

bool worker_stop(struct worker *w)
{
    pthread_mutex_lock(&w->lock);
    w->stopping = true;
    pthread_cond_signal(&w->arrived);
    pthread_mutex_unlock(&w->lock);
    pthread_join(w->thread, NULL);
    pthread_mutex_destroy(&w->lock);
    pthread_cond_destroy(&w->arrived);
    bool open = !w->closed;
    worker_free(w);
    return open;
}
