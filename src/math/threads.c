/*
 * The pool of threads: see threads.h. Workers wait for a job actively for some microseconds, then sleep. Parts are
 * claimed one by one, so that a worker which the system does not let run delays nobody: the others do its part.
 */
#include "threads.h"

#include "alloc.h"
#include "error.h"

#include <stdlib.h>

enum {
    MOST_THREADS = 64,
    MOST_THREADS_ASKED = 1024 /* as of options.threads */
};

struct team {
    size_t parts;
    int pooled; /* the pool's workers help */
};

size_t threads_count(const struct team *team)
{
    return team == NULL ? 1 : team->parts;
}

void threads_share(size_t n, size_t grain, size_t part, size_t parts, size_t *first, size_t *last)
{
    size_t units = (n + grain - 1) / grain;
    size_t from = units * part / parts * grain, to = units * (part + 1) / parts * grain;
    *first = from < n ? from : n;
    *last = to < n ? to : n;
}

/* What BPCN_THREADS says: 0 when it is not set, -1 when it is not a number from 1 to MOST_THREADS_ASKED. */
static long threads_of_environment(void)
{
    const char *text = getenv("BPCN_THREADS");
    char *end;
    if (text == NULL || text[0] == '\0')
        return 0;
    long threads = strtol(text, &end, 10);
    return *end == '\0' && threads >= 1 && threads <= MOST_THREADS_ASKED ? threads : -1;
}

bpcn_status threads_check(void)
{
    if (threads_of_environment() < 0)
        return bpcn_fail(BPCN_INVALID, "BPCN_THREADS is %.32s, but must be 1 to %d", getenv("BPCN_THREADS"),
                    MOST_THREADS_ASKED);
    return BPCN_OK;
}

#ifdef BPCN_NO_THREADS

void threads_enter(void)
{
}

void threads_leave(void)
{
}

struct team *threads_borrow(int threads)
{
    (void)threads;
    return NULL;
}

void threads_return(struct team *team)
{
    free(team);
}

void threads_run(struct team *team, void (*job)(void *context, size_t part, size_t parts), void *context)
{
    (void)team;
    job(context, 0, 1);
}

#else

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdint.h>
#include <unistd.h>

enum {
    WORKER_STACK = 256 << 10, /* bytes; the deepest job needs less than 64 kB */
    SPINS = 2000              /* looks for a job before sleeping: some ten microseconds */
};

/* Whoever sets `busy` has the pool alone: it starts workers and publishes jobs. */
static struct {
    atomic_int busy;
    atomic_long owner; /* the process whose threads they are; a fork's child starts its own */
    size_t workers;    /* running, without the borrower */
    pthread_t thread[MOST_THREADS];

    void (*job)(void *context, size_t part, size_t parts); /* NULL: a worker that claims a part ends */
    void *context;
    atomic_size_t parts;
    atomic_ullong ticket; /* number of the job << 32 | next part to claim */
    atomic_size_t done;   /* parts finished */
    atomic_uint sleepers;
    pthread_mutex_t mutex;
    pthread_cond_t called;
} pool;

/* ---- calls and forks */

static struct {
    pthread_once_t once;
    pthread_mutex_t mutex;
    pthread_cond_t changed;
    size_t threads; /* between threads_enter and threads_leave */
    int forking;
} calls = {PTHREAD_ONCE_INIT, PTHREAD_MUTEX_INITIALIZER, PTHREAD_COND_INITIALIZER, 0, 0};

static _Thread_local unsigned depth; /* of this thread's calls */

static void before_fork(void)
{
    pthread_mutex_lock(&calls.mutex);
    while (calls.forking)
        pthread_cond_wait(&calls.changed, &calls.mutex);
    calls.forking = 1;
    while (calls.threads > (depth > 0))
        pthread_cond_wait(&calls.changed, &calls.mutex);
}

static void after_fork_in_parent(void)
{
    calls.forking = 0;
    pthread_cond_broadcast(&calls.changed);
    pthread_mutex_unlock(&calls.mutex);
}

static void after_fork_in_child(void)
{
    pthread_mutex_init(&calls.mutex, NULL);
    pthread_cond_init(&calls.changed, NULL);
    calls.forking = 0;
}

static void watch_forks(void)
{
    pthread_atfork(before_fork, after_fork_in_parent, after_fork_in_child);
}

void threads_enter(void)
{
    if (depth++ > 0)
        return;
    pthread_once(&calls.once, watch_forks);
    pthread_mutex_lock(&calls.mutex);
    while (calls.forking)
        pthread_cond_wait(&calls.changed, &calls.mutex);
    calls.threads++;
    pthread_mutex_unlock(&calls.mutex);
}

void threads_leave(void)
{
    if (--depth > 0)
        return;
    pthread_mutex_lock(&calls.mutex);
    calls.threads--;
    pthread_cond_broadcast(&calls.changed);
    pthread_mutex_unlock(&calls.mutex);
}

/* ---- the pool */

static inline void spin_once(void)
{
#if defined(__x86_64__) || defined(__i386__)
    __builtin_ia32_pause();
#endif
}

static uint64_t job_of_ticket(uint64_t ticket)
{
    return ticket >> 32;
}

/* Claims and does parts of the present job while there are any. A claimed part is unfinished, so the job cannot change
   under it. Returns 0 when the thread is to end. */
static int work_on_job(void)
{
    while ((uint32_t)atomic_load(&pool.ticket) < atomic_load(&pool.parts)) {
        size_t part = (uint32_t)atomic_fetch_add(&pool.ticket, 1);
        size_t parts = atomic_load(&pool.parts);
        if (part >= parts)
            break;
        if (pool.job == NULL)
            return 0;
        pool.job(pool.context, part, parts);
        atomic_fetch_add(&pool.done, 1);
    }
    return 1;
}

/* Waits for a job other than `seen`; returns its number. */
static uint64_t await_job(uint64_t seen)
{
    for (int look = 0; look < SPINS; look++) {
        uint64_t job = job_of_ticket(atomic_load(&pool.ticket));
        if (job != seen)
            return job;
        spin_once();
    }
    pthread_mutex_lock(&pool.mutex);
    atomic_fetch_add(&pool.sleepers, 1);
    while (job_of_ticket(atomic_load(&pool.ticket)) == seen)
        pthread_cond_wait(&pool.called, &pool.mutex);
    atomic_fetch_sub(&pool.sleepers, 1);
    pthread_mutex_unlock(&pool.mutex);
    return job_of_ticket(atomic_load(&pool.ticket));
}

/* `argument` points to nothing: a worker's first job is the one after that which was published last. */
static void *worker_main(void *argument)
{
    uint64_t seen = (uint64_t)(uintptr_t)argument;
    do
        seen = await_job(seen);
    while (work_on_job());
    return NULL;
}

/* A worker about to sleep counts itself under the mutex before it looks at the ticket for the last time, so it either
   sees the job or is woken. */
static void publish_job(void (*job)(void *, size_t, size_t), void *context, size_t parts)
{
    pool.job = job;
    pool.context = context;
    atomic_store(&pool.parts, parts);
    atomic_store(&pool.done, 0);
    atomic_store(&pool.ticket, (job_of_ticket(atomic_load(&pool.ticket)) + 1) << 32);
    if (atomic_load(&pool.sleepers) > 0) {
        pthread_mutex_lock(&pool.mutex);
        pthread_cond_broadcast(&pool.called);
        pthread_mutex_unlock(&pool.mutex);
    }
}

void threads_run(struct team *team, void (*job)(void *context, size_t part, size_t parts), void *context)
{
    size_t parts = threads_count(team);
    if (team == NULL || !team->pooled) {
        for (size_t part = 0; part < parts; part++)
            job(context, part, parts);
        return;
    }
    publish_job(job, context, parts);
    work_on_job();
    for (int look = 0; atomic_load(&pool.done) < parts; look++)
        if (look < SPINS)
            spin_once();
        else
            sched_yield();
}

/* Claims the pool; 0 when somebody else has it. In the child of a fork whoever comes first takes over what the parent
   may have had in use. */
static int pool_claim(void)
{
    long self = (long)getpid(), owner = atomic_load(&pool.owner);
    if (owner == self)
        return !atomic_exchange(&pool.busy, 1);
    if (!atomic_compare_exchange_strong(&pool.owner, &owner, self))
        return 0;
    atomic_store(&pool.busy, 1);
    pthread_mutex_init(&pool.mutex, NULL);
    pthread_cond_init(&pool.called, NULL);
    pool.workers = 0;
    atomic_store(&pool.parts, 0);
    atomic_store(&pool.sleepers, 0);
    return 1;
}

/* Starts workers up to a number; those that the system grants are enough. */
static void pool_grow(size_t workers)
{
    pthread_attr_t attributes;
    if (pool.workers >= workers || pthread_attr_init(&attributes) != 0)
        return;
    pthread_attr_setstacksize(&attributes, WORKER_STACK);
    uint64_t seen = job_of_ticket(atomic_load(&pool.ticket));
    while (pool.workers < workers &&
           pthread_create(&pool.thread[pool.workers], &attributes, worker_main, (void *)(uintptr_t)seen) == 0)
        pool.workers++;
    pthread_attr_destroy(&attributes);
}

struct team *threads_borrow(int threads)
{
    long asked = threads > 0 ? threads : threads_of_environment();
    long cores = asked > 0 ? asked : sysconf(_SC_NPROCESSORS_ONLN);
    size_t parts = cores > MOST_THREADS ? MOST_THREADS : cores > 1 ? (size_t)cores : 1;
    struct team *team = parts > 1 ? alloc_zeroed(1, sizeof *team) : NULL;
    if (team == NULL)
        return NULL;
    team->parts = parts;
    team->pooled = pool_claim();
    if (team->pooled)
        pool_grow(parts - 1);
    return team;
}

void threads_return(struct team *team)
{
    if (team != NULL && team->pooled)
        atomic_store(&pool.busy, 0);
    free(team);
}

/* Ends the workers when the process or the library does, so that none runs code that is no longer there. */
__attribute__((destructor)) static void pool_end(void)
{
    if (atomic_load(&pool.owner) != (long)getpid() || atomic_exchange(&pool.busy, 1))
        return;
    publish_job(NULL, NULL, pool.workers + 1);
    for (size_t i = 0; i < pool.workers; i++)
        pthread_join(pool.thread[i], NULL);
    pool.workers = 0;
}

#endif
