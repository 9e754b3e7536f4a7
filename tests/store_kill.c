/*
 * kill: a process that writes, forgets and makes checkpoints is ended by SIGKILL, again and again
 * on the same file. Half of the time it is killed from outside, wherever it then is; half of the
 * time at a chosen file operation, before it, after it, or with part of a write done. Usage:
 * store_kill [kills].
 */
#include "store_seam.h"
#include "store_session.h"

#include "store.h"

#include <signal.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

/* How the child ends. */
struct plan {
    int inside;         /* killed by itself, at an operation */
    uint64_t operation; /* which */
    int part;           /* 0: before, 1: after, 2: half of a write */
    uint64_t calls;     /* killed from outside after so many were acknowledged */
    uint64_t seed;
};

static uint64_t operations;

static void die(void)
{
    raise(SIGKILL);
}

static int before(void *user, const struct event *event, size_t *most)
{
    const struct plan *plan = user;
    if (!plan->inside || operations != plan->operation)
        return 0;
    if (plan->part == 0 || (plan->part == 2 && event->call != CALL_WRITE))
        die();
    *most = plan->part == 2 ? event->n / 2 : event->n;
    return 0;
}

static void after(void *user, const struct event *event, long result)
{
    const struct plan *plan = user;
    (void)event;
    (void)result;
    if (plan->inside && operations == plan->operation)
        die();
    operations++;
}

/* Opens, and goes on from `step` for ever; one number down the pipe for every call that returned. */
static void child(const char *path, struct plan *plan, uint64_t step, int pipe_end)
{
    struct seam seam = {.user = plan, .before = before, .after = after};
    bpcn_options o = session_options();
    bpcn_open_options how;
    bpcn_memory *memory;
    bpcn_open_options_default(&how, sizeof how);
    seam_start(&seam);
    how.create = &o;
    how.threads = 1; /* the same bits want the same number of threads */
    how.sync = plan->seed % 3 == 0 ? BPCN_SYNC_CALL : BPCN_SYNC_EACH;
    how.checkpoint_bytes = plan->seed % 5 == 0 ? 700 : 0;
    REQUIRE(memory_open(&seam.ops, path, &how, &memory) == BPCN_OK);
    for (;;) {
        size_t made = 0;
        if (next_random(&plan->seed) % 6 == 0)
            REQUIRE(bpcn_memory_checkpoint(memory) == BPCN_OK);
        REQUIRE(session_call(memory, step, &made) == BPCN_OK);
        step += made;
        REQUIRE(write(pipe_end, &step, sizeof step) == sizeof step);
    }
}

/* Reads what was acknowledged; kills from outside when the plan says so. */
static uint64_t watch(pid_t pid, int pipe_end, const struct plan *plan, uint64_t acknowledged)
{
    uint64_t step, calls = 0;
    while (read(pipe_end, &step, sizeof step) == sizeof step) {
        acknowledged = step;
        if (!plan->inside && ++calls == plan->calls)
            kill(pid, SIGKILL);
    }
    return acknowledged;
}

static uint64_t kill_once(const char *path, struct plan *plan, uint64_t step)
{
    int ends[2], status;
    REQUIRE(pipe(ends) == 0);
    fflush(stdout);
    pid_t pid = fork();
    REQUIRE(pid >= 0);
    if (pid == 0) {
        close(ends[0]);
        child(path, plan, step, ends[1]);
        _exit(1);
    }
    close(ends[1]);
    uint64_t acknowledged = watch(pid, ends[0], plan, step);
    close(ends[0]);
    REQUIRE(waitpid(pid, &status, 0) == pid);
    REQUIRE(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
    return acknowledged;
}

/* The steps that the file holds now; it must be at least those acknowledged. */
static uint64_t check(const char *path, uint64_t acknowledged)
{
    bpcn_memory *memory;
    if (acknowledged == 0 && access(path, F_OK) != 0)
        return 0; /* killed before the file was made */
    REQUIRE(bpcn_memory_open(path, NULL, &memory) == BPCN_OK);
    long steps = session_find(memory, acknowledged, acknowledged + MOST_TOGETHER);
    REQUIRE(steps >= 0);
    bpcn_memory_free(memory);
    return (uint64_t)steps;
}

int main(int argc, char **argv)
{
    unsigned long kills = count_argument(argc, argv, 100);
    const char *path = scratch("memory");
    uint64_t random = 11, step = 0, unfinished = 0;
    char kept[512];
    snprintf(kept, sizeof kept, "%s", path);
    for (unsigned long i = 0; i < kills; i++) {
        struct plan plan = {.inside = (int)(next_random(&random) % 2),
                            .operation = next_random(&random) % 60,
                            .part = (int)(next_random(&random) % 3),
                            .calls = 1 + next_random(&random) % 8,
                            .seed = next_random(&random)};
        if (i % 50 == 49) { /* a fresh file of the other session: making one is killed too */
            session_choose((i + 1) / 50);
            unlink(kept);
            step = 0;
        }
        uint64_t acknowledged = kill_once(kept, &plan, step);
        step = check(kept, acknowledged);
        unfinished += step > acknowledged;
    }
    printf("store_kill: %lu kills, 0 acknowledged writes lost, 0 unreadable files (%llu kept more than was "
           "acknowledged)\n",
           kills, (unsigned long long)unfinished);
    return 0;
}
