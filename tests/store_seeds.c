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

/* For the law that such files open (test_store.c). */
static void make_version_1(const char *folder, const char *name, int fold)
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
    for (uint64_t i = 0; i < 4; i++)
        REQUIRE(write_row(memory, i) == BPCN_OK);
    REQUIRE(bpcn_memory_forget(memory, 0.001) == BPCN_OK && bpcn_memory_set_note(memory, "version 1", 9) == BPCN_OK);
    if (fold)
        REQUIRE(bpcn_memory_checkpoint(memory) == BPCN_OK);
    bpcn_memory_free(memory);
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

int main(int argc, char **argv)
{
    bpcn_options o = session_options();
    const char *folder = argc > 1 ? argv[1] : scratch_folder();
    make_version_1(folder, "version-1-log", 0);
    make_version_1(folder, "version-1-folded", 1);
    make(folder, "seed-empty", &o, 0, 0);
    make(folder, "seed-log", &o, 12, 0);
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
    o.particles = 1; /* the fuzzer's longest inputs are of 4096 bytes */
    o.layers = 1;
    o.hidden[0] = 2;
    make(folder, "seed-shards-log", &o, 14, 0);
    make(folder, "seed-shards-folded", &o, 14, 1);
    o.precision = BPCN_FLOAT64;
    o.when_full = BPCN_BLUR;
    make(folder, "seed-shards-float64", &o, 10, 0);
    o.layers = 0;
    make(folder, "seed-shards-no-layers", &o, 10, 0);
    return 0;
}
