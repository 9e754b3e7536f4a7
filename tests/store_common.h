/* What the tests of the memory file share: a folder that is removed, small memories, rows, and
   the comparison of states to the bit. */
#ifndef STORE_COMMON_H
#define STORE_COMMON_H

#include "bayespcn.h"

#include "transaction.h"
#include "splitmix.h"

#include <stdio.h>
#include <stdlib.h>

/* Ends the program with the place and the reason: a test that cannot go on has failed. */
#define REQUIRE(condition)                                                                                             \
    do {                                                                                                               \
        if (!(condition)) {                                                                                            \
            fprintf(stderr, "%s:%d: %s does not hold (%s)\n", __FILE__, __LINE__, #condition, bpcn_error());           \
            exit(1);                                                                                                   \
        }                                                                                                              \
    } while (0)

/* A new folder, removed with everything in it when the program exits. */
const char *scratch_folder(void);

/* "<scratch folder>/<name>" in a buffer that the 16th next call uses again. */
const char *scratch(const char *name);

/* A memory of a few hundred numbers: dim 5, layers of 4 and 3. */
bpcn_options small_options(void);

/* Makes it a memory of three shards of two rows each, which are recycled. */
void shard(bpcn_options *options);

/* Row number i, entries in -1 .. 1. */
void make_row(uint64_t i, size_t dim, float *row);

/* Writes row number i. */
bpcn_status write_row(bpcn_memory *memory, uint64_t i);

/* The same with the name "row i". */
bpcn_status write_named(bpcn_memory *memory, uint64_t i);

/* The same with holes, which are a function of its number too. */
bpcn_status write_holes(bpcn_memory *memory, uint64_t i);

/* Logs and makes a change that was not found by inference. */
bpcn_status change_memory(bpcn_memory *memory, const struct change *change);

/* A write of n rows as one record to the shard begun last, with codes of its own: the library writes a record for every
   row, but files may hold such. */
bpcn_status write_together(bpcn_memory *memory, const float *rows, size_t n);

/* Whether two memories are the same in every bit of their state. */
int same_state(const bpcn_memory *a, const bpcn_memory *b);

/* A checksum of the whole state, its note and its counters. */
uint32_t state_sum(const bpcn_memory *memory);

/* Whole files in memory. */
unsigned char *read_whole(const char *path, size_t *bytes);
void write_whole(const char *path, const void *bytes, size_t n);

/* Makes the bytes of a closed file those of one whose writer died before he closed it. */
void leave_open(unsigned char *bytes);

/* What a program is asked for: its first argument as a count, or `usual`. */
unsigned long count_argument(int argc, char **argv, unsigned long usual);

bpcn_file_info empty_info(void);

/* A memory without a file; one at a fresh name, with the given sync; one that is there. */
bpcn_memory *create_plain(const bpcn_options *options);
bpcn_memory *create_file(const char *path, const bpcn_options *options, bpcn_sync sync);
bpcn_memory *reopen(const char *path);

#endif
