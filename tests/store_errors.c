/*
 * I/O errors: in a session of opening (with recovery), writing, forgetting, checkpoints, saving
 * and closing, every file operation in turn fails: with ENOSPC, EIO or EINTR, or does less than
 * asked; once or from then on for ever. Every call must succeed or say why not, with the memory as
 * before; afterwards the file must hold every acknowledged step. Usage: store_errors [every], to let
 * only every so many-th operation fail, for a short run; 1 is all of them.
 */
#include "store_seam.h"
#include "store_session.h"

#include "store.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

enum { SHORT = -1, NOTHING = -2 }; /* in place of an errno: read or write one byte, or none */

struct fault {
    int reason;
    int for_ever;
    long at; /* which operation */
    long count;
    int writing;     /* steps are being made: a sync is one of the log, */
    int replacing;   /* unless it is one of a file that is to take the place of this one */
    int sync_failed; /* of the log, or the look at its path that belongs to it */
};

static int before(void *user, const struct event *event, size_t *most)
{
    struct fault *fault = user;
    long now = fault->count++;
    if (event->call == CALL_OPEN)
        fault->replacing = strstr(event->path, ".bpcn-new") != NULL;
    else if (event->call == CALL_RENAME || event->call == CALL_REMOVE)
        fault->replacing = 0;
    if (now != fault->at && !(fault->for_ever && now > fault->at))
        return 0;
    if (fault->reason == SHORT) {
        *most = event->n > 1 ? 1 : event->n;
        return 0;
    }
    if (fault->reason == NOTHING) {
        *most = 0;
        return 0;
    }
    if (fault->writing && !fault->replacing && event->call == CALL_SYNC)
        fault->sync_failed |= fault->reason != EINTR || fault->for_ever;
    if (fault->writing && !fault->replacing && (event->call == CALL_STATUS || event->call == CALL_FIND))
        fault->sync_failed = 1;
    return fault->reason;
}

static int disk_full; /* the fault says so */

/* What may go wrong without the memory's being at fault. */
static int is_clean(bpcn_status status)
{
    return status == BPCN_OK || ((status == BPCN_IO || (status == BPCN_NO_SPACE && disk_full)) && bpcn_error()[0] != '\0');
}

static uint64_t acknowledged, begun;

/* Steps, each of which may fail; what failed is made again, until the handle refuses. A call of
   several rows keeps the rows before the bad one: the memory itself tells where it is. */
static void make_steps(bpcn_memory *memory, struct fault *fault, bpcn_sync sync, uint64_t until)
{
    fault->writing = 1;
    for (int tries = 0; acknowledged < until && tries < 12; tries++) {
        size_t made;
        uint32_t sum = state_sum(memory);
        int failed_before = fault->sync_failed;
        long step = session_find(memory, acknowledged, begun);
        REQUIRE(step >= 0);
        bpcn_status status = session_call(memory, (uint64_t)step, &made);
        REQUIRE(is_clean(status));
        REQUIRE(!(failed_before && status == BPCN_OK)); /* after a failed sync: no more */
        begun = begun > (uint64_t)step + made ? begun : (uint64_t)step + made;
        if (status == BPCN_OK)
            acknowledged = (uint64_t)step + made;
        else if (made == 1 && !(sync == BPCN_SYNC_CALL && fault->sync_failed))
            REQUIRE(state_sum(memory) == sum);
    }
    fault->writing = 0;
}

static void check_checkpoint(bpcn_memory *memory)
{
    uint32_t sum = state_sum(memory);
    REQUIRE(is_clean(bpcn_memory_checkpoint(memory)));
    REQUIRE(state_sum(memory) == sum);
}

/* The session with one fault. Returns whether the fault was reached. */
static int run(const char *path, struct fault *fault, bpcn_sync sync)
{
    struct file_ops quick = file_without_sync();
    struct seam seam = {.user = fault, .before = before, .beneath = &quick};
    bpcn_options o = session_options();
    bpcn_open_options how;
    bpcn_memory *memory = NULL, *copy = NULL;
    bpcn_file_info info = {.size = sizeof info};
    bpcn_open_options_default(&how, sizeof how);
    disk_full = fault->reason == ENOSPC || fault->reason == NOTHING;
    seam_start(&seam);
    how.create = &o;
    how.threads = 1;
    how.sync = sync;
    bpcn_status status = memory_open(&seam.ops, path, &how, &memory);
    REQUIRE(is_clean(status));
    if (status == BPCN_OK) {
        make_steps(memory, fault, sync, begun + 3);
        check_checkpoint(memory);
        make_steps(memory, fault, sync, begun + 3);
        REQUIRE(is_clean(memory_save(&seam.ops, memory, scratch("saved"))));
        REQUIRE(is_clean(bpcn_memory_close(memory)));
    }
    status = memory_load(&seam.ops, path, &copy, &info);
    REQUIRE(is_clean(status));
    if (status == BPCN_OK)
        REQUIRE(session_find(copy, acknowledged, begun) >= 0);
    bpcn_memory_free(copy);
    REQUIRE(is_clean(store_inspect(&seam.ops, path, &info, &o)));
    return fault->count > fault->at;
}

/* Without faults, the file must now open. */
static void check_afterwards(const char *path)
{
    struct file_ops quick = file_without_sync();
    bpcn_open_options how;
    bpcn_memory *memory;
    bpcn_open_options_default(&how, sizeof how);
    if (access(path, F_OK) != 0) {
        REQUIRE(acknowledged == 0);
        return;
    }
    REQUIRE(memory_open(&quick, path, &how, &memory) == BPCN_OK);
    REQUIRE(session_find(memory, acknowledged, begun) >= 0);
    bpcn_memory_free(memory);
    if (access(scratch("saved"), F_OK) == 0)
        REQUIRE(bpcn_file_check(scratch("saved"), NULL, NULL) == BPCN_OK);
}

/* A file with a few steps and a torn end, so that opening it has something to recover; or none. */
static void prepare(const char *path, int torn)
{
    bpcn_options o = session_options();
    bpcn_open_options how;
    struct file_ops quick = file_without_sync();
    bpcn_memory *memory;
    size_t made, n;
    bpcn_open_options_default(&how, sizeof how);
    unlink(path);
    unlink(scratch("saved"));
    acknowledged = begun = 0;
    if (!torn)
        return;
    how.create = &o;
    how.threads = 1;
    REQUIRE(memory_open(&quick, path, &how, &memory) == BPCN_OK);
    while (acknowledged < 4) {
        REQUIRE(session_call(memory, acknowledged, &made) == BPCN_OK);
        acknowledged += made;
    }
    begun = acknowledged;
    bpcn_memory_free(memory);
    unsigned char *bytes = read_whole(path, &n);
    bytes = realloc(bytes, n + 100);
    memcpy(bytes + n, bytes + n - 100, 100); /* the beginning of nothing */
    write_whole(path, bytes, n + 100);
    free(bytes);
    write_whole(scratch("memory.bpcn-new"), "left by a crash", 15);
}

int main(int argc, char **argv)
{
    static const int reasons[] = {ENOSPC, EIO, EINTR, EINVAL, SHORT, NOTHING};
    unsigned long every = count_argument(argc, argv, 1), sessions = 0;
    char path[512];
    snprintf(path, sizeof path, "%s", scratch("memory"));
    for (int torn = 0; torn < 2; torn++)
        for (int sync = BPCN_SYNC_EACH; sync <= BPCN_SYNC_CALL; sync++)
            for (size_t r = 0; r < sizeof reasons / sizeof *reasons; r++)
                for (int for_ever = 0; for_ever < 2; for_ever++)
                    for (long at = (long)(sessions % every), reached = 1; reached; at += (long)every, sessions++) {
                        struct fault fault = {.reason = reasons[r], .for_ever = for_ever, .at = at};
                        session_choose((unsigned long)(torn + sync + for_ever) + r);
                        prepare(path, torn);
                        reached = run(path, &fault, (bpcn_sync)sync);
                        check_afterwards(path);
                    }
    printf("store_errors: %lu sessions with a failing operation, 0 acknowledged writes lost, 0 unreadable files\n",
           sessions);
    return 0;
}
