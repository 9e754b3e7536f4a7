/* Writes small memory files of every kind to a folder: seeds for tests/fuzz/fuzz_store.c. Usage:
   store_seeds folder. */
#include "store_seam.h"
#include "store_session.h"

#include "store.h"

#include <unistd.h>

static void make(const char *folder, const char *name, const bpcn_options *o, uint64_t steps, int fold)
{
    struct file_ops quick = file_without_sync();
    bpcn_open_options how;
    bpcn_memory *memory;
    char path[512];
    size_t made = 0;
    bpcn_open_options_default(&how, sizeof how);
    snprintf(path, sizeof path, "%s/%s", folder, name);
    unlink(path);
    how.create = o;
    REQUIRE(memory_open(&quick, path, &how, &memory) == BPCN_OK);
    for (uint64_t i = 0; i < steps; i += made)
        REQUIRE(session_call(memory, i, &made) == BPCN_OK);
    if (fold)
        REQUIRE(bpcn_memory_checkpoint(memory) == BPCN_OK);
    bpcn_memory_free(memory);
}

/* As a crash leaves it: open, with half of its last record. */
static void crash(const char *folder, const char *from, const char *name)
{
    char path[512];
    size_t n;
    snprintf(path, sizeof path, "%s/%s", folder, from);
    unsigned char *bytes = read_whole(path, &n);
    leave_open(bytes);
    snprintf(path, sizeof path, "%s/%s", folder, name);
    write_whole(path, bytes, n - 30);
    free(bytes);
}

/* Rows with holes in the log, and one before it. */
static void make_holes(const char *folder, const char *name)
{
    struct file_ops quick = file_without_sync();
    bpcn_options o = small_options();
    bpcn_open_options how;
    bpcn_memory *memory;
    char path[512];
    bpcn_open_options_default(&how, sizeof how);
    snprintf(path, sizeof path, "%s/%s", folder, name);
    unlink(path);
    how.create = &o;
    REQUIRE(memory_open(&quick, path, &how, &memory) == BPCN_OK);
    for (uint64_t i = 0; i < 3; i++)
        REQUIRE(write_holes(memory, i) == BPCN_OK && write_row(memory, i) == BPCN_OK);
    bpcn_memory_free(memory);
}

/* A session of another kind, small enough for the fuzzer, with its log and without. */
static void make_small(const char *folder, unsigned long session, const char *log, const char *folded)
{
    session_choose(session);
    bpcn_options o = session_options();
    o.particles = 1;
    o.layers = 1;
    o.hidden[0] = 2;
    make(folder, log, &o, 14, 0);
    make(folder, folded, &o, 14, 1);
}

int main(int argc, char **argv)
{
    bpcn_options o = session_options();
    const char *folder = argc > 1 ? argv[1] : scratch_folder();
    make(folder, "seed-empty", &o, 0, 0);
    make(folder, "seed-log", &o, 12, 0);
    crash(folder, "seed-log", "seed-crashed");
    make(folder, "seed-folded", &o, 12, 1);
    o.precision = BPCN_FLOAT64;
    o.particles = 1;
    make(folder, "seed-float64", &o, 6, 0);
    o.layers = 0;
    make(folder, "seed-no-layers", &o, 6, 0);
    o = session_options();
    o.layers = 1;
    o.hidden[0] = 1;
    o.dim = 1;
    o.particles = 3;
    make(folder, "seed-tiny", &o, 8, 0);
    make_holes(folder, "seed-holes");
    session_choose(1);
    o = session_options();
    make(folder, "seed-shards-empty", &o, 0, 0);
    o.particles = 1; /* the fuzzer's longest inputs are of 8192 bytes */
    o.layers = 1;
    o.hidden[0] = 2;
    make(folder, "seed-shards-log", &o, 14, 0);
    crash(folder, "seed-shards-log", "seed-shards-crashed");
    make(folder, "seed-shards-folded", &o, 14, 1);
    o.precision = BPCN_FLOAT64;
    o.when_full = BPCN_BLUR;
    make(folder, "seed-shards-float64", &o, 10, 0);
    o.layers = 0;
    make(folder, "seed-shards-no-layers", &o, 10, 0);
    make_small(folder, 2, "seed-surprises-log", "seed-surprises-folded");
    make_small(folder, 3, "seed-views-log", "seed-views-folded");
    make_small(folder, 4, "seed-names-log", "seed-names-folded");
    return 0;
}
