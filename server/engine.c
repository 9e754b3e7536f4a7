/* Queues, turns and batches. */
#include "engine.h"

#include "names.h"
#include "parts.h"
#include "preview.h"
#include "progress.h"
#include "recall.h"

#include <errno.h>
#include <math.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { ROWS_A_TURN = 8 }; /* of changes: a read waits for no more */

struct queue {
    struct job *first, **last;
    size_t count;
};

struct engine {
    struct memfile *file;
    const struct settings *settings;
    pthread_t thread;
    pthread_mutex_t lock;
    pthread_cond_t arrived;
    struct queue looks, changes;
    size_t syncing; /* changes that are made and wait to be on disk */
    bool stopping;
    int connections;
    struct state state;
    uint64_t looked; /* jobs that were added to looks so far */
    uint64_t made;   /* rows changed so far */
    /* the thread's own */
    uint64_t measured; /* `made` when its fullness was measured */
    struct preview preview;
    const struct memfile *source; /* of the answers: the memory, or a copy that has forgotten */
    size_t dim, room;             /* rows that are read together */
    float *x, *answers, *spread;
    double *trace;
    unsigned char *known;
    bpcn_read_info *info;
};

static bool is_change(const struct job *job)
{
    return job->kind >= JOB_WRITE;
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

static size_t waiting(const struct engine *e)
{
    return e->looks.count + e->changes.count + e->syncing;
}

static void fail(struct job *job, bpcn_status status, const char *why)
{
    job->status = status;
    snprintf(job->why, sizeof job->why, "%s", why);
}

/* ---- looks */

/* Whether two jobs can be read in one call. */
static bool goes_with(const struct job *a, const struct job *b)
{
    return a->kind == b->kind && (a->known == NULL) == (b->known == NULL) && a->noise == b->noise &&
           a->forgotten == b->forgotten && a->shards == b->shards && (a->spread == NULL) == (b->spread == NULL) &&
           (a->trace == NULL) == (b->trace == NULL);
}

static size_t rows_left(const struct job *job)
{
    return job->rows - job->done;
}

static bool is_read(const struct job *job)
{
    return job->kind == JOB_READ || job->kind == JOB_SCORE;
}

/* Rows that wait to be read together with the first. */
static size_t rows_together(const struct engine *e)
{
    size_t rows = 0;
    for (const struct job *j = e->looks.first; j != NULL; j = j->next)
        rows += goes_with(j, e->looks.first) ? rows_left(j) : 0;
    return rows;
}

/* Until a batch is full, everyone who is connected has asked, or the first has waited long enough. */
static void wait_for_others(struct engine *e)
{
    double until = e->looks.first->arrived + e->settings->gather;
    struct timespec when = {.tv_sec = (time_t)until, .tv_nsec = (long)((until - floor(until)) * 1e9)};
    while (!e->stopping && rows_together(e) < e->room && waiting(e) < (size_t)e->connections)
        if (pthread_cond_timedwait(&e->arrived, &e->lock, &when) == ETIMEDOUT)
            break;
}

/* Reads `rows` rows of the engine's; the sentence of a failure goes to `job`. */
static bpcn_status read_rows(struct engine *e, struct job *job, const float *x, const unsigned char *known, size_t rows,
                             float *answers, float *spread, bpcn_read_info *info)
{
    const struct memfile *file = e->file;
    bpcn_status status = BPCN_OK;
    struct asking how = {.noise = job->noise,
                         .shards = job->shards,
                         .score = job->kind == JOB_SCORE,
                         .trace = job->trace != NULL ? e->trace : NULL,
                         .spread = spread};
    if (job->forgotten > 0)
        file = preview_of(&e->preview, file, job->forgotten, e->made, &status, job->why, sizeof job->why);
    if (file == NULL)
        return status;
    e->source = file;
    status = ask(file, &how, x, known, rows, answers, info);
    if (status != BPCN_OK)
        fail(job, status, memfile_why(file));
    return status;
}

/* One row after the other from the jobs to the batch, as far as there is room; how many, and of how many jobs. */
static size_t gather(struct engine *e, size_t take[], struct job *jobs[], size_t *count)
{
    size_t rows = 0;
    struct job *first = e->looks.first;
    *count = 0;
    for (struct job *j = first; j != NULL && rows < e->room; j = j->next) {
        if (!goes_with(j, first))
            continue;
        size_t n = rows_left(j) < e->room - rows ? rows_left(j) : e->room - rows;
        memcpy(e->x + rows * e->dim, j->x + j->done * e->dim, n * e->dim * sizeof *e->x);
        if (j->known != NULL)
            memcpy(e->known + rows * e->dim, j->known + j->done * e->dim, n * e->dim);
        take[*count] = n;
        jobs[(*count)++] = j;
        rows += n;
    }
    return rows;
}

/* n rows of the batch, from `at` on, are the next of the job. */
static void hand_back(const struct engine *e, struct job *job, size_t at, size_t n)
{
    if (job->answers != NULL)
        memcpy(job->answers + job->done * e->dim, e->answers + at * e->dim, n * e->dim * sizeof *e->answers);
    if (job->spread != NULL)
        memcpy(job->spread + job->done * e->dim, e->spread + at * e->dim, n * e->dim * sizeof *e->spread);
    if (job->trace != NULL)
        memcpy(job->trace + job->done * TRACE_MOST, e->trace + at * TRACE_MOST, n * TRACE_MOST * sizeof *e->trace);
    memcpy(job->info + job->done, e->info + at, n * sizeof *e->info);
    for (size_t i = job->done; job->answered != NULL && i < job->done + n; i++)
        memfile_name(e->source, &job->info[i], job->answered + i * NAME_ROOM);
    job->done += n;
}

static void add_typicality(const struct engine *e, struct job *job)
{
    bool told =
        job->forgotten == 0 && memfile_typicality(e->file, job->x, job->known, job->rows, job->typicality) == BPCN_OK;
    for (size_t i = 0; i < job->rows && !told; i++)
        job->typicality[i] = -1;
}

/* The rows of one job alone, after the batch has failed: so that nobody suffers for another's rows. */
static void read_alone(struct engine *e, struct job *job, size_t rows)
{
    size_t at = job->done * e->dim;
    if (read_rows(e, job, job->x + at, job->known ? job->known + at : NULL, rows, e->answers,
                  job->spread ? e->spread : NULL, e->info) == BPCN_OK)
        hand_back(e, job, 0, rows);
}

static void read_batch(struct engine *e, struct job *jobs[], const size_t take[], size_t count, size_t rows)
{
    struct job *first = jobs[0];
    bpcn_status status = read_rows(e, first, e->x, first->known ? e->known : NULL, rows, e->answers,
                                   first->spread ? e->spread : NULL, e->info);
    if (status != BPCN_OK)
        first->status = BPCN_OK;
    for (size_t i = 0, at = 0; i < count; at += take[i++])
        if (status == BPCN_OK)
            hand_back(e, jobs[i], at, take[i]);
        else if (count > 1)
            read_alone(e, jobs[i], take[i]);
        else
            jobs[i]->status = status;
    for (size_t i = 0; i < count; i++)
        if (jobs[i]->typicality != NULL && jobs[i]->done == jobs[i]->rows)
            add_typicality(e, jobs[i]);
}

static void look(struct engine *e)
{
    struct state s = {.stats.size = sizeof s.stats, .fullness = e->state.fullness};
    bpcn_options options;
    memfile_options(e->file, &options);
    if (memfile_stats(e->file, &s.stats) != BPCN_OK)
        return;
    if (e->measured != e->made)
        s.fullness = memfile_fullness(e->file);
    e->measured = e->made;
    s.rows = parts_rows(e->file->folder);
    s.shards = s.rows != NULL ? options.shards : 0;
    pthread_mutex_lock(&e->lock);
    s.batches = e->state.batches;
    s.changes_waited = e->state.changes_waited;
    free(e->state.rows);
    e->state = s;
    pthread_mutex_unlock(&e->lock);
}

static void do_other_look(struct engine *e, struct job *job)
{
    if (job->kind == JOB_LOOK)
        look(e);
    else if (job->kind == JOB_NAMES)
        job->status = (job->list = memfile_names(e->file, &job->listed)) != NULL ? BPCN_OK : BPCN_NO_MEMORY;
    else
        job->status = memfile_sample(e->file, job->rows, job->draw, job->answers);
    if (job->status != BPCN_OK)
        fail(job, job->status, memfile_why(e->file));
    job->done = job->rows;
}

/* ---- changes */

/* One row by its value or its name. Before the first all names are looked for, so that none goes where one is missing.
 */
static bpcn_status delete_one(struct engine *e, struct job *job)
{
    if (job->names == NULL)
        return memfile_delete(e->file, job->x + job->done * e->dim);
    size_t missing;
    bpcn_status status = job->done == 0 ? names_check(e->file, job->names, job->rows, &missing) : BPCN_OK;
    if (status != BPCN_OK) {
        job->wrong = missing;
        return status;
    }
    return memfile_delete_name(e->file, job->names + job->done * NAME_ROOM);
}

/* One row, or the whole of a forgetting. */
static void change_a_little(struct engine *e, struct job *job)
{
    size_t written = 0, at = job->done * e->dim;
    const unsigned char *known = job->known ? job->known + at : NULL;
    job->wrong = job->done;
    if (known != NULL && memchr(known, 0, e->dim) == NULL)
        known = NULL;
    if (job->kind == JOB_WRITE)
        job->status =
            trials_write(e->file, job->x + at, known, 1, job->names ? job->names + job->done * NAME_ROOM : NULL,
                         &job->became[job->done], &written);
    else if (job->kind == JOB_DELETE)
        job->status = delete_one(e, job);
    else
        job->status = memfile_forget(e->file, job->beta);
    if (job->status == BPCN_OK)
        job->done++;
    else
        fail(job, job->status, memfile_why(e->file));
}

/* ---- the thread */

static bool is_complete(const struct job *job)
{
    return job->status != BPCN_OK || job->done >= job->rows;
}

static void finish(struct queue *q, struct job *job)
{
    queue_remove(q, job);
    job->finished = true;
    pthread_cond_signal(&job->is_finished);
}

/* These are called, and return, with the lock held. */
static void look_at_some(struct engine *e)
{
    enum { JOBS_MOST = 1024 };
    struct job *jobs[JOBS_MOST];
    size_t take[JOBS_MOST], count = 1, rows = 0;
    jobs[0] = e->looks.first;
    if (is_read(jobs[0])) {
        wait_for_others(e);
        rows = gather(e, take, jobs, &count);
        e->state.batches++;
    }
    pthread_mutex_unlock(&e->lock);
    if (is_read(jobs[0]))
        read_batch(e, jobs, take, count, rows);
    else
        do_other_look(e, jobs[0]);
    pthread_mutex_lock(&e->lock);
    for (size_t i = 0; i < count; i++)
        if (is_complete(jobs[i]))
            finish(&e->looks, jobs[i]);
}

/* All that wait when the turn begins, so that none of them waits for another turn of changes. */
static void turn_of_looks(struct engine *e)
{
    uint64_t before = e->looked;
    for (const struct job *j = e->looks.first; j != NULL; j = j->next)
        if (e->made - j->made_before > e->state.changes_waited)
            e->state.changes_waited = e->made - j->made_before;
    while (e->looks.first != NULL && e->looks.first->number < before)
        look_at_some(e);
}

/* Rows of the changes that wait, one after the other, as many as a turn has; then one sync for all of them, after which
   those that are complete are answered. A forgetting is a turn of its own: it takes as long as the memory is large. */
static void turn_of_changes(struct engine *e)
{
    struct queue made = {.last = &made.first};
    for (size_t rows = 0; e->changes.first != NULL && rows < ROWS_A_TURN; rows++) {
        struct job *job = e->changes.first;
        if (job->kind == JOB_FORGET && rows > 0)
            break;
        e->made++;
        pthread_mutex_unlock(&e->lock);
        change_a_little(e, job);
        pthread_mutex_lock(&e->lock);
        if (is_complete(job)) {
            queue_remove(&e->changes, job);
            queue_add(&made, job);
            e->syncing = made.count;
        }
        if (job->kind == JOB_FORGET)
            break;
    }
    if (made.first == NULL)
        return;
    pthread_mutex_unlock(&e->lock);
    bool failed = memfile_sync(e->file) != 0;
    pthread_mutex_lock(&e->lock);
    while (made.first != NULL) {
        if (failed)
            fail(made.first, BPCN_IO, memfile_why(e->file));
        finish(&made, made.first);
    }
    e->syncing = 0;
}

static void *engine_thread(void *arg)
{
    struct engine *e = arg;
    pthread_mutex_lock(&e->lock);
    for (;;) {
        while (waiting(e) == 0 && !e->stopping)
            pthread_cond_wait(&e->arrived, &e->lock);
        if (waiting(e) == 0)
            break;
        if (e->looks.first != NULL)
            turn_of_looks(e);
        if (e->changes.first != NULL)
            turn_of_changes(e);
    }
    pthread_mutex_unlock(&e->lock);
    return NULL;
}

/* ---- from outside */

static void engine_free(struct engine *e)
{
    preview_drop(&e->preview);
    free(e->x);
    free(e->answers);
    free(e->spread);
    free(e->trace);
    free(e->known);
    free(e->info);
    free(e->state.rows);
    free(e);
}

struct engine *engine_start(struct memfile *file, const struct settings *settings)
{
    struct engine *e = calloc(1, sizeof *e);
    pthread_condattr_t clock;
    if (e == NULL)
        return NULL;
    *e = (struct engine){.file = file, .settings = settings, .dim = file->remark.fields.dim, .made = 1};
    e->room = settings->batch;
    e->looks.last = &e->looks.first;
    e->changes.last = &e->changes.first;
    e->x = calloc(e->room * e->dim, sizeof *e->x);
    e->answers = calloc(e->room * e->dim, sizeof *e->answers);
    e->spread = calloc(e->room * e->dim, sizeof *e->spread);
    e->trace = calloc(e->room * TRACE_MOST, sizeof *e->trace);
    e->known = calloc(e->room * e->dim, 1);
    e->info = calloc(e->room, sizeof *e->info);
    pthread_mutex_init(&e->lock, NULL);
    pthread_condattr_init(&clock);
    pthread_condattr_setclock(&clock, CLOCK_MONOTONIC);
    pthread_cond_init(&e->arrived, &clock);
    pthread_condattr_destroy(&clock);
    look(e);
    if (e->x && e->answers && e->spread && e->trace && e->known && e->info &&
        pthread_create(&e->thread, NULL, engine_thread, e) == 0)
        return e;
    engine_free(e);
    return NULL;
}

enum engine_answer engine_do(struct engine *e, struct job *job)
{
    struct queue *q = is_change(job) ? &e->changes : &e->looks;
    enum engine_answer answer = ENGINE_DONE;
    pthread_mutex_lock(&e->lock);
    if (e->stopping) {
        answer = ENGINE_STOPPED;
    } else if (waiting(e) >= e->settings->most_waiting) {
        answer = ENGINE_FULL;
    } else {
        job->arrived = seconds_now();
        job->made_before = e->made;
        job->number = e->looked;
        e->looked += q == &e->looks;
        pthread_cond_init(&job->is_finished, NULL);
        queue_add(q, job);
        pthread_cond_signal(&e->arrived);
        while (!job->finished)
            pthread_cond_wait(&job->is_finished, &e->lock);
        pthread_cond_destroy(&job->is_finished);
    }
    pthread_mutex_unlock(&e->lock);
    return answer;
}

void engine_tell_connections(struct engine *e, int more)
{
    pthread_mutex_lock(&e->lock);
    e->connections += more;
    pthread_cond_signal(&e->arrived);
    pthread_mutex_unlock(&e->lock);
}

struct state engine_state(struct engine *e)
{
    pthread_mutex_lock(&e->lock);
    struct state s = e->state;
    s.waiting = waiting(e);
    uint64_t *rows = malloc((s.shards + 1) * sizeof *rows);
    if (rows == NULL)
        s.shards = 0;
    else if (s.shards > 0)
        memcpy(rows, e->state.rows, s.shards * sizeof *rows);
    s.rows = rows;
    pthread_mutex_unlock(&e->lock);
    return s;
}

void engine_stop(struct engine *e)
{
    pthread_mutex_lock(&e->lock);
    e->stopping = true;
    pthread_cond_signal(&e->arrived);
    pthread_mutex_unlock(&e->lock);
    pthread_join(e->thread, NULL);
    pthread_mutex_destroy(&e->lock);
    pthread_cond_destroy(&e->arrived);
    engine_free(e);
}
