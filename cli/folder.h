/*
 * A memory in files, as one process of several (ranks), or the only one, sees it: where every shard and row belongs,
 * and the files that are this rank's. Most memories are one file; a folder has several.
 *
 * Of K shards in F files, file f has the shards f, f + F, f + 2 F, ... of the whole, and belongs to rank f mod P. It is
 * a memory file of its own (first_shard f, shard_step F). Shards that follow each other are in different files, so that
 * a batch of rows is written, and a memory that is not full is read, by all ranks.
 */
#ifndef BPCN_CLI_FOLDER_H
#define BPCN_CLI_FOLDER_H

#include "bayespcn.h"
#include "console.h"

enum { PATH_MOST = 4096, WHY_MOST = 1024, FILES_MOST = 99999 };

/* What went wrong, 0: nothing. */
struct trouble {
    int status; /* a bpcn_status */
    char text[WHY_MOST];
};

struct part {
    size_t number; /* f */
    bpcn_memory *memory;
    uint64_t written; /* rows since creation */
    uint64_t rows;    /* in its shards now */
    uint64_t bytes;   /* of the file */
};

struct folder {
    char path[PATH_MOST];
    bool lone;            /* the path is the one file itself */
    bpcn_options options; /* of the whole */
    size_t files;
    int rank, ranks;
    size_t count;
    struct part *part; /* [count] this rank's */
    uint64_t *written; /* [files] rows of every file; of rank 0 */
    struct trouble trouble;
};

void trouble_set(struct trouble *t, int status, const char *format, ...) SAY_FORMAT(3);

/* The library's sentence. */
void part_trouble(struct trouble *t, bpcn_status status);

/* FOLDER/part-00002-of-00004.mem, or the lone file. */
void part_path(const struct folder *folder, size_t f, char *out, size_t room);

/* Of the whole's shards, how many are in file f, and which its shard k is. */
size_t part_shards(const bpcn_options *whole, size_t files, size_t f);
size_t part_shard(const struct folder *folder, size_t f, size_t k);

/* The rank that file f belongs to, and the place that it has among that rank's. */
int part_rank(const struct folder *folder, size_t f);
struct part *own_part(const struct folder *folder, size_t f);

/* The options of file f of the whole's. */
bpcn_options part_options(const bpcn_options *whole, size_t files, size_t f);

/* The number, among all rows that the whole was ever given, of the row that file f gets after `written` others: the
   file with the least one is next. UINT64_MAX: it takes no more. */
uint64_t part_slot(const bpcn_options *whole, size_t files, size_t f, uint64_t written);

/* The shard of the whole that was begun last; of rank 0. */
size_t folder_open_shard(const struct folder *folder);

/* How many files the names in the folder speak of; 0 when there are none. Trouble when they contradict each other. */
size_t folder_scan(const char *path, struct trouble *trouble);

/* Removes the files that folder_scan counts. */
void folder_clear(const char *path, struct trouble *trouble);

/* Whether its options are those of a memory. */
void folder_try(const struct folder *folder, struct trouble *trouble);

/* Makes this rank's files, empty, with this note. */
void folder_make(struct folder *folder, const char *note, struct trouble *trouble);

/* Opens this rank's files; options are those of its first, without its place in the whole. */
void folder_open(struct folder *folder, int read_only, struct trouble *trouble);

/* Whether a file of these options has its place in the whole, of which file 0 has the options `first`. */
void part_check(const struct folder *folder, size_t f, const bpcn_options *own, const bpcn_options *first,
                struct trouble *trouble);

/* The same of all files of this rank. */
void folder_check(const struct folder *folder, const bpcn_options *first, struct trouble *trouble);

void folder_close(struct folder *folder);

/* Counts the rows of a part anew. */
void part_count(struct part *part);

#endif
