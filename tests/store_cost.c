/*
 * What durability costs, in processor time (the machine may be shared) and without the time of
 * the disk: a write at CIFAR10 size into a file and into a memory alone; opening a file of 50 MB
 * against reading it into memory and summing it; replaying a log against the updates alone.
 * Usage: store_cost [rows].
 */
#include "store_seam.h"
#include "store_session.h"

#include "core.h"
#include "store.h"
#include "store_crc.h"

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
    bpcn_options o = bpcn_options_default();
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
    bpcn_open_options how = bpcn_open_options_default();
    bpcn_memory *memory;
    how.create = o;
    how.threads = 1;
    how.checkpoint_bytes = UINT64_MAX;
    REQUIRE(store_open(ops, path, &how, &memory) == BPCN_OK);
    return memory;
}

static void cost_of_writing(unsigned long rows)
{
    static float row[3072];
    struct file_ops quick = file_without_sync();
    bpcn_options o = large_options(1024);
    bpcn_memory *plain, *durable = open_large(&quick, scratch("cifar"), &o);
    double alone = 0, together = 0;
    REQUIRE(bpcn_memory_create(&o, &plain) == BPCN_OK);
    for (unsigned long i = 0; i < rows; i++) {
        make_picture(i, row);
        double start = now();
        REQUIRE(bpcn_memory_write(plain, row, 1, NULL) == BPCN_OK);
        double middle = now();
        REQUIRE(bpcn_memory_write(durable, row, 1, NULL) == BPCN_OK);
        alone += middle - start;
        together += now() - middle;
    }
    REQUIRE(same_state(plain, durable));
    printf("store_cost: a write of 3072 numbers, h = 1024: %.0f ms in memory, %.0f ms durable (%+.1f %%, sync apart), "
           "at most +5 %%\n",
           1e3 * alone / (double)rows, 1e3 * together / (double)rows, 100 * (together / alone - 1));
    REQUIRE(together < 1.05 * alone);
    bpcn_memory_free(plain);
    bpcn_memory_free(durable);
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
    store_info(memory, &info);
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
    for (int i = 0; i < RECORDS; i++) { /* what core_write does, without its inference */
        REQUIRE(model_commit(memory->model, &change) == BPCN_OK);
        REQUIRE(core_for(memory->model)->repeat_write(memory->model, &change) == BPCN_OK);
    }
    bpcn_memory_free(memory);
    for (int round = 0; round < 9; round++) { /* the best of nine */
        double start = now();
        memory = open_large(&quick, scratch("replay-empty"), NULL);
        double took = now() - start;
        empty = took < empty ? took : empty;
        memory->model->commit = NULL;
        start = now();
        for (int i = 0; i < RECORDS; i++)
            REQUIRE(core_for(memory->model)->repeat_write(memory->model, &change) == BPCN_OK);
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
    REQUIRE(replaying - empty <
            1.25 * updating); /* the same arithmetic: the margin is for caches that others use too */
}

int main(int argc, char **argv)
{
    cost_of_opening();
    cost_of_replaying();
    cost_of_writing(count_argument(argc, argv, 4));
    return 0;
}
