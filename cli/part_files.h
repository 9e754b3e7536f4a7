/*
 * A memory cut into files, as one process has some or all of them open: where every shard and row belongs, and what is
 * done with the files of this process.
 *
 * Of K shards in F files, file f has the shards f, f + F, f + 2 F, ... of the whole; of P processes (ranks), file f
 * belongs to rank f mod P. Each is a memory file of its own (first_shard f, shard_step F). Shards that follow each
 * other are in different files, so that all ranks work on a batch of rows.
 */
#ifndef BPCN_CLI_PART_FILES_H
#define BPCN_CLI_PART_FILES_H

#include "bayespcn.h"
#include "console.h"

#include <stdbool.h>

enum { PATH_MOST = 4096, FILES_MOST = 99999 };

/* The first line of the note of every file, "folder=ID CHANGES open|closed", by which a file that was put back from an
   old copy is told from the others (docs/FORMAT.md, Folders). */
struct folder_stamp {
    uint64_t id;      /* of the folder; 0: the file has no such line */
    uint64_t changes; /* rows written, deleted and times faded, of all files together when the line was written */
    bool open;        /* a writer was at work then */
};
enum { STAMP_ROOM = 64 };

struct part {
    size_t number; /* f */
    struct folder_stamp stamp;
    bpcn_memory *memory;
    uint64_t written; /* rows since creation */
    uint64_t rows;    /* in its shards now */
    uint64_t bytes;   /* of the file */
};

struct folder {
    char path[PATH_MOST];
    bpcn_options options; /* of the whole */
    size_t files;
    int rank, ranks;
    size_t count;
    struct part *part; /* [count] of this process */
    uint64_t *written; /* [files] rows of every file; of rank 0 */
    struct folder_stamp stamp;
    bool session; /* its files are stamped open, and to be stamped closed */
};

/* ---- places */

/* FOLDER/part-00002-of-00004.mem */
void part_path(const struct folder *folder, size_t f, char *out, size_t capacity);

/* Of the whole's shards, how many are in file f, and which of the whole its shard k is. */
size_t part_shards(const bpcn_options *whole, size_t files, size_t f);
size_t part_shard(const struct folder *folder, size_t f, size_t k);

/* The rank that file f belongs to; the file, where that is this process. */
int part_rank(const struct folder *folder, size_t f);
struct part *own_part(const struct folder *folder, size_t f);

/* file [n]: where each of the next n rows goes. Returns how many of them some file takes, and counts those as written.
 */
size_t folder_place(struct folder *folder, size_t n, int *file);

/* The shard of the whole that was begun last; on rank 0. */
size_t folder_open_shard(const struct folder *folder);

/* ---- files */

/* How many files the names in the folder speak of: 0 when there are none. */
bpcn_status folder_scan(const char *path, size_t *files);

/* Removes the files that folder_scan counts. */
bpcn_status folder_clear(const char *path);

/* Whether the options are those of a memory, and the shards enough for the files. */
bpcn_status folder_try(const struct folder *folder);

/* Makes this process's files, empty, with this note. */
bpcn_status own_create(struct folder *folder, const char *note);

/* Opens this process's files. folder->options are then those of its first file, and *sums counts the shards and the
   names of all of them. */
bpcn_status own_open(struct folder *folder, int read_only, uint64_t sums[2]);

/* Whether each of them has its place in the whole, of which file 0 has the options `first`. */
bpcn_status own_check(const struct folder *folder, const bpcn_options *first);

void folder_close(struct folder *folder);

/* ---- whether the files are of one state of the memory */

uint64_t folder_new_id(void);
void folder_stamp_line(const struct folder_stamp *stamp, char line[STAMP_ROOM]);

/* Changes that this process's files have seen; the greatest number that a stamp of theirs tells. */
uint64_t own_changes(const struct folder *folder);
uint64_t own_stamped(const struct folder *folder);

/* BPCN_CORRUPT if a file of this process is of another folder than folder->stamp.id, or older than the others: all
   files together saw `changes`, and the newest stamp says `stamped`. */
bpcn_status own_check_stamps(const struct folder *folder, uint64_t changes, uint64_t stamped);

/* Makes all changes of this process's files durable, then stamps them with folder->stamp, durably. */
bpcn_status own_sync(struct folder *folder);
bpcn_status own_stamp(struct folder *folder);

/* Makes a folder of the files part-... that are at the path, whatever state each of them is of. */
bpcn_status folder_unite(const char *path);

/* ---- what the whole is made of */

/* Of each file of this process its rows; their sum. */
uint64_t own_rows(struct folder *folder);

/* rows [shards]: of every shard of the whole that is here, the rows written since it was begun. */
bpcn_status own_shard_rows(struct folder *folder, uint64_t *rows);

/* Sums over files; of forgets the greatest, of fullness the sum of each file's, weighted by its shards. */
struct totals {
    uint64_t writes, deletes, bytes, prepared_bytes, bytes_most, file_bytes, shards;
    uint64_t file_most, disk_most, dropped_bytes, dropped_rows, torn_seal; /* as in bpcn_file_info */
    uint64_t names;                                                        /* kept */
    double forgets, fullness;
};
enum { TOTALS_SUMS = 13 }; /* numbers before forgets */
bpcn_status own_totals(struct folder *folder, int fullness, struct totals *totals);

/* The names of this process's files, with the numbers of their shards in the whole; to be freed. */
bpcn_status own_names(struct folder *folder, bpcn_name **names, size_t *count);

enum change { CHANGE_FORGET, CHANGE_DISCOUNT, CHANGE_SYNC };
bpcn_status own_change(struct folder *folder, enum change change, double beta);

/* Writes rows [n x dim] to the files that `file` [n] names, as long as all goes well: *written of them. names:
   NAME_ROOM bytes each, or NULL. */
bpcn_status own_write(struct folder *folder, const int *file, const float *rows, const unsigned char *known, size_t n,
                      const char *names, bpcn_write_row *info, size_t *written);

/* density [files]: of the row in the likeliest shard of each file of this process; -infinity where there is none. */
bpcn_status own_densities(struct folder *folder, const float *row, double *density);

/* ---- reads: every file answers, and the likeliest answer counts */

/* The answer that is put highest; of equals, that of the lower shard. */
struct claim {
    double height;
    int shard; /* of the whole */
};

struct answers {
    size_t n, dim;
    float *answer;        /* [n x dim] of the shard that answers, or NULL: none are wanted */
    bpcn_read_info *info; /* [n] likewise */
    struct claim *claim;  /* [n] likewise */
    double *density;      /* [count x n] log of the files' shares in the mixture */
    double *most;         /* [n] the greatest of these */
    double *sums;         /* [n] of densities over the greatest; then [n] of evaluations */
};

bpcn_status answers_begin(struct answers *a, const struct folder *folder, size_t n, int wanted);
void answers_end(struct answers *a);

/* The best answers of this process's files; all: the rows of all files of the whole. */
bpcn_status own_read(struct folder *folder, const float *query, const unsigned char *known,
                     const bpcn_read_options *options, uint64_t all, struct answers *a);

/* With the greatest densities of all processes in a->most, this process's part of a->sums. */
void own_mix(const struct folder *folder, struct answers *a);

/* ---- what parts.c and mpi/collective.c share */


/* The file of the greatest density, which is then no longer the greatest; -1: none has any. */
int folder_likeliest(double *density, size_t files);

/* What is said of a row that no file takes, or holds, or names. */
bpcn_status folder_full(const struct folder *folder);
bpcn_status folder_not_held(void);
bpcn_status folder_not_named(const char *name);

/* How many rows are before the first that no memory would take, so that none after it is written. BPCN_OK, or what is
   wrong with that one. */
bpcn_status folder_sound(const float *x, const unsigned char *known, size_t n, size_t dim, size_t *sound);

#endif
