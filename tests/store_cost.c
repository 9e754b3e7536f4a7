/*
 * What durability costs, in processor time (the machine may be shared) and without the time of
 * the disk: a write at CIFAR10 size into a file and into a memory alone; opening a file of 50 MB
 * against reading it into memory and summing it; replaying a log against the updates alone.
 * Usage: store_cost [rounds of four rows].
 */
#include "store_seam.h"
#include "store_session.h"

#include "shard.h"
#include "store.h"
#include "format.h"

#include <fcntl.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static bpcn_options large_options(size_t hidden)
{
    bpcn_options o;
    bpcn_options_default(&o, sizeof o);
    o.scale = BPCN_SCALE_AS_GIVEN;
    o.dim = 3072;
    for (size_t l = 0; l < 3; l++)
        o.hidden[l] = hidden;
    o.threads = 1;
    return o;
}

/* A row that is 32 x 32 pixels of 3 colours, smooth as pictures are. */
static void make_picture(uint64_t i, float *row)
{
    float corner[12];
    make_row(i, 12, corner);
    for (size_t j = 0; j < 3072; j++) {
        float u = (float)(j % 32) / 31, v = (float)(j / 32 % 32) / 31;
        const float *c = corner + 4 * (j / 1024);
        row[j] = (c[0] * (1 - u) + c[1] * u) * (1 - v) + (c[2] * (1 - u) + c[3] * u) * v;
    }
}

static bpcn_memory *open_large(const struct file_ops *ops, const char *path, const bpcn_options *o)
{
    bpcn_open_options how;
    bpcn_memory *memory;
    bpcn_open_options_default(&how, sizeof how);
    how.create = o;
    how.threads = 1;
    how.checkpoint_bytes = UINT64_MAX;
    REQUIRE(memory_open(ops, path, &how, &memory) == BPCN_OK);
    return memory;
}

static double added; /* time spent on the file */

/* The time of one write; if durable, with what a memory file adds to it. */
static double time_to_write(bpcn_memory *memory, const float *row, int durable)
{
    const struct shard_ops *core = shard_ops_for(memory->contents.shard[0]);
    struct transaction edit;
    struct change change;
    bpcn_write_row about;
    double start = now();
    REQUIRE(transaction_begin(&edit, memory, CHANGE_WRITE) == BPCN_OK);
    REQUIRE(core->find_write(writers_of(&edit.writers, 0, 0), row, NULL, NULL, &change, &about) == BPCN_OK);
    double found = now();
    if (durable)
        REQUIRE(store_append(memory->store, &memory->contents, &change) == BPCN_OK);
    double logged = now();
    writers_apply(&edit.writers, &change);
    double made = now();
    REQUIRE(transaction_end(&edit, BPCN_OK, NULL) == BPCN_OK);
    double end = now();
    added += durable ? logged - found + end - made : 0;
    return end - start;
}

/* What the file adds is timed by itself: it is less than what two equal memories differ by, for
   where each happens to lie. The whole writes are timed too, with the two memories taking turns at
   being durable and at being first; `ways` = 1 makes neither durable, to show that difference. */
static void cost_of_writing(unsigned long rounds, int ways)
{
    static float row[3072];
    struct file_ops quick = file_without_sync();
    bpcn_options o = large_options(1024);
    bpcn_memory *memory[2] = {open_large(&quick, scratch("one"), &o), open_large(&quick, scratch("other"), &o)};
    double took[2] = {0, 0}; /* [durable] */
    added = 0;
    for (unsigned long i = 0; i < 4 * rounds; i++) {
        int first = (int)(i % 2), durable = (int)(i / 2 % 2);
        make_picture(i, row);
        took[durable] += time_to_write(memory[first], row, ways == 2 && durable);
        took[!durable] += time_to_write(memory[!first], row, ways == 2 && !durable);
    }
    REQUIRE(same_state(memory[0], memory[1]));
    double each = 1e3 / (double)(4 * rounds);
    printf("store_cost: a write of 3072 numbers, h = 1024, %s: %.1f ms and %.1f ms (%+.1f %%), of which %.2f ms for "
           "the file "
           "(%.1f %%, at most 5; sync apart)\n",
           ways == 2 ? "in memory and durable" : "in memory and again", each * took[0], each * took[1],
           100 * (took[1] / took[0] - 1), each * added, 100 * added / took[0]);
    REQUIRE(added < 0.05 * took[0]);
    bpcn_memory_free(memory[0]);
    bpcn_memory_free(memory[1]);
    unlink(scratch("one"));
    unlink(scratch("other"));
}

/* Reading the whole file into memory as cat does, and its checksum. */
static double time_to_read(const char *path, size_t bytes)
{
    double start = now();
    unsigned char *all = malloc(bytes);
    int fd = open(path, O_RDONLY);
    size_t done = 0;
    REQUIRE(all != NULL && fd >= 0);
    while (done < bytes) {
        size_t want = bytes - done < 131072 ? bytes - done : 131072;
        ssize_t got = read(fd, all + done, want);
        REQUIRE(got > 0);
        done += (size_t)got;
    }
    uint32_t sum = crc32c(0, all, bytes);
    double took = now() - start;
    REQUIRE(sum != 0);
    close(fd);
    free(all);
    return took;
}

static void cost_of_opening(void)
{
    struct file_ops quick = file_without_sync();
    bpcn_options o = large_options(1300);
    bpcn_memory *memory = open_large(&quick, scratch("fifty"), &o);
    bpcn_file_info info = {.size = sizeof info};
    double reading = 1e9, opening = 1e9;
    store_info(memory->store, &memory->contents, &info);
    bpcn_memory_free(memory);
    for (int i = 0; i < 7; i++) { /* the best of seven: what else runs only adds */
        double took = time_to_read(scratch("fifty"), (size_t)info.file_bytes);
        reading = took < reading ? took : reading;
        double start = now();
        memory = open_large(&quick, scratch("fifty"), NULL);
        took = now() - start;
        opening = took < opening ? took : opening;
        bpcn_memory_free(memory);
    }
    printf(
        "store_cost: opening %.1f MB with an empty log: %.1f ms; reading and summing it: %.1f ms (%.2f times, at most "
        "2)\n",
        1e-6 * (double)info.file_bytes, 1e3 * opening, 1e3 * reading, opening / reading);
    REQUIRE(opening < 2 * reading);
}

/* What a write does after its inference: update and rounded roots. A replay leaves the latter to
   its end. */
static void update_alone(struct contents *contents, const struct change *change)
{
    struct writers editing;
    REQUIRE(writers_create(&editing, contents, NULL, NULL, 0) == 0);
    REQUIRE(writers_reserve(&editing, change) == BPCN_OK);
    writers_apply(&editing, change);
    writers_free(&editing);
}

static void cost_of_replaying(void)
{
    enum { RECORDS = 60 };
    static float row[3072], codes[3 * 1024];
    double weight = 0, updating = 1e9, replaying = 1e9, empty = 1e9;
    struct file_ops quick = file_without_sync();
    bpcn_options o = large_options(1024);
    struct change change = {.kind = CHANGE_WRITE, .rows = 1, .x = row, .codes = codes, .log_weights = &weight};
    bpcn_memory *memory = open_large(&quick, scratch("replay"), &o), *copy;
    REQUIRE(bpcn_memory_save(memory, scratch("replay-empty")) == BPCN_OK);
    make_picture(1, row);
    make_row(2, 3 * 1024, codes);
    for (int i = 0; i < RECORDS; i++)
        REQUIRE(store_append(memory->store, &memory->contents, &change) == BPCN_OK);
    bpcn_memory_free(memory);
    for (int round = 0; round < 9; round++) { /* the best of nine */
        double start = now();
        memory = open_large(&quick, scratch("replay-empty"), NULL);
        double took = now() - start;
        empty = took < empty ? took : empty;
        start = now();
        for (int i = 0; i < RECORDS; i++)
            update_alone(&memory->contents, &change);
        took = now() - start;
        updating = took < updating ? took : updating;
        start = now();
        copy = open_large(&quick, scratch("replay"), NULL);
        took = now() - start;
        replaying = took < replaying ? took : replaying;
        REQUIRE(same_state(memory, copy));
        bpcn_memory_free(copy);
        bpcn_memory_free(memory);
    }
    printf("store_cost: replaying %d records: %.2f ms each, the updates alone %.2f ms each (%.2f times)\n", RECORDS,
           1e3 * (replaying - empty) / RECORDS, 1e3 * updating / RECORDS, (replaying - empty) / updating);
    REQUIRE(replaying - empty < updating);
}

int main(int argc, char **argv)
{
    cost_of_opening();
    cost_of_replaying();
    cost_of_writing(count_argument(argc, argv, 1), 1);
    cost_of_writing(count_argument(argc, argv, 1), 2);
    return 0;
}
