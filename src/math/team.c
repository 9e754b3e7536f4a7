/*
 * Threads that wait for work: they look for it a while, then sleep until called. Parts of a job
 * are claimed one by one, so a member that the system has not let run yet holds nobody up: the
 * others do its part.
 */
#include "team.h"

#include "alloc.h"
#include "error.h"

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>
#include <unistd.h>

enum {
    MOST_THREADS = 64,
    MOST_ASKED = 1024, /* as of options.threads */
    PATIENCE = 2000    /* looks before sleeping: some ten microseconds */
};

struct team {
    size_t size;
    void (*job)(void *context, size_t part, size_t parts); /* NULL: go home */
    void *context;
    atomic_ullong ticket; /* number of the job << 32 | next part to claim */
    atomic_size_t done;   /* parts finished */
    atomic_uint sleepers;
    pthread_mutex_t mutex;
    pthread_cond_t called;
    pthread_t thread[MOST_THREADS];
};

static inline void pause_briefly(void)
{
#if defined(__x86_64__)
    __builtin_ia32_pause();
#endif
}

static uint64_t job_of(uint64_t ticket)
{
    return ticket >> 32;
}

/* Claims and does parts of the present job while there are any. A claimed part is unfinished, so
   the job cannot change under it. Returns 0 when it was told to go home. */
static int work(struct team *team)
{
    while ((uint32_t)atomic_load(&team->ticket) < team->size) {
        size_t part = (uint32_t)atomic_fetch_add(&team->ticket, 1);
        if (part >= team->size)
            break;
        if (team->job == NULL)
            return 0;
        team->job(team->context, part, team->size);
        atomic_fetch_add(&team->done, 1);
    }
    return 1;
}

/* Waits for a job other than `seen`; returns its number. */
static uint64_t await_job(struct team *team, uint64_t seen)
{
    for (int look = 0; look < PATIENCE; look++) {
        uint64_t job = job_of(atomic_load(&team->ticket));
        if (job != seen)
            return job;
        pause_briefly();
    }
    pthread_mutex_lock(&team->mutex);
    atomic_fetch_add(&team->sleepers, 1);
    while (job_of(atomic_load(&team->ticket)) == seen)
        pthread_cond_wait(&team->called, &team->mutex);
    atomic_fetch_sub(&team->sleepers, 1);
    pthread_mutex_unlock(&team->mutex);
    return job_of(atomic_load(&team->ticket));
}

static void *serve(void *argument)
{
    struct team *team = argument;
    uint64_t seen = 0;
    do
        seen = await_job(team, seen);
    while (work(team));
    return NULL;
}

/* Publishes a job. A member about to sleep has counted itself under the mutex before it looks at
   the ticket for the last time, so it either sees the job or is woken. */
static void call(struct team *team, void (*job)(void *, size_t, size_t), void *context)
{
    team->job = job;
    team->context = context;
    atomic_store(&team->done, 0);
    atomic_store(&team->ticket, (job_of(atomic_load(&team->ticket)) + 1) << 32);
    if (atomic_load(&team->sleepers) > 0) {
        pthread_mutex_lock(&team->mutex);
        pthread_cond_broadcast(&team->called);
        pthread_mutex_unlock(&team->mutex);
    }
}

void team_run(struct team *team, void (*job)(void *context, size_t part, size_t parts), void *context)
{
    if (team == NULL) {
        job(context, 0, 1);
        return;
    }
    call(team, job, context);
    work(team);
    for (int look = 0; atomic_load(&team->done) < team->size; look++)
        if (look < PATIENCE)
            pause_briefly();
        else
            sched_yield();
}

/* What BPCN_THREADS says: 0 when it is not set, -1 when it is not a number from 1 to MOST_ASKED. */
static long threads_of_environment(void)
{
    const char *text = getenv("BPCN_THREADS");
    char *end;
    if (text == NULL || text[0] == '\0')
        return 0;
    long threads = strtol(text, &end, 10);
    return *end == '\0' && threads >= 1 && threads <= MOST_ASKED ? threads : -1;
}

bpcn_status team_check(void)
{
    if (threads_of_environment() < 0)
        return fail(BPCN_INVALID, "BPCN_THREADS is %.32s, but must be 1 to %d", getenv("BPCN_THREADS"), MOST_ASKED);
    return BPCN_OK;
}

struct team *team_create(int threads)
{
    long asked = threads > 0 ? threads : threads_of_environment();
    long cores = asked > 0 ? asked : sysconf(_SC_NPROCESSORS_ONLN);
    size_t wanted = cores > MOST_THREADS ? MOST_THREADS : cores > 1 ? (size_t)cores : 1;
    struct team *team = wanted > 1 ? alloc_zeroed(1, sizeof *team) : NULL;
    if (team == NULL)
        return NULL;
    pthread_mutex_init(&team->mutex, NULL);
    pthread_cond_init(&team->called, NULL);
    atomic_store(&team->ticket, UINT32_MAX); /* job 0: nothing to claim */
    for (team->size = 1; team->size < wanted; team->size++)
        if (pthread_create(&team->thread[team->size], NULL, serve, team) != 0)
            break; /* those that came are enough */
    return team;
}

void team_free(struct team *team)
{
    if (team == NULL)
        return;
    call(team, NULL, NULL);
    for (size_t member = 1; member < team->size; member++)
        pthread_join(team->thread[member], NULL);
    pthread_cond_destroy(&team->called);
    pthread_mutex_destroy(&team->mutex);
    free(team);
}

size_t team_size(const struct team *team)
{
    return team == NULL ? 1 : team->size;
}

void team_share(size_t n, size_t grain, size_t part, size_t parts, size_t *first, size_t *last)
{
    size_t units = (n + grain - 1) / grain;
    size_t from = units * part / parts * grain, to = units * (part + 1) / parts * grain;
    *first = from < n ? from : n;
    *last = to < n ? to : n;
}

struct crew {
    pthread_mutex_t mutex;
    int threads, busy;
    struct team *team; /* NULL: not made yet */
    pid_t owner;       /* the process whose threads they are */
};

struct crew *crew_create(int threads)
{
    struct crew *crew = alloc_zeroed(1, sizeof *crew);
    if (crew == NULL)
        return NULL;
    pthread_mutex_init(&crew->mutex, NULL);
    crew->threads = threads;
    return crew;
}

void crew_free(struct crew *crew)
{
    if (crew == NULL)
        return;
    if (crew->owner == getpid())
        team_free(crew->team);
    pthread_mutex_destroy(&crew->mutex);
    free(crew);
}

struct team *crew_borrow(struct crew *crew)
{
    struct team *team = NULL;
    pthread_mutex_lock(&crew->mutex);
    if (crew->owner != getpid()) { /* the first time, or in the child of a fork, which has none of the threads */
        crew->owner = getpid();
        crew->team = NULL;
        crew->busy = 0;
    }
    if (!crew->busy) {
        if (crew->team == NULL)
            crew->team = team_create(crew->threads);
        team = crew->team;
        crew->busy = team != NULL;
    }
    pthread_mutex_unlock(&crew->mutex);
    return team;
}

void crew_return(struct crew *crew, struct team *team)
{
    if (team == NULL)
        return;
    pthread_mutex_lock(&crew->mutex);
    crew->busy = 0;
    pthread_mutex_unlock(&crew->mutex);
}
