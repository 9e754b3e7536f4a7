/*
 * A memory in a folder of files (part_files.h) as one memory: what bpcn does in one process (parts.c), and bpcn-mpi in
 * many (mpi/collective.c). Functions that return a bpcn_status leave the sentence in bpcn_error().
 */
#ifndef BPCN_CLI_PARTS_H
#define BPCN_CLI_PARTS_H

#include "part_files.h"

/* Processes that share a folder out; whether this program knows memories in folders alone. */
int parts_ranks(void);
bool parts_only_folders(void);

/* folder: path, and to create also options and files. */
bpcn_status parts_create(struct folder *folder, const char *note, int force);
bpcn_status parts_open(struct folder *folder, int read_only);
void parts_close(struct folder *folder);

/* options: noise, shards and objective count. out: NULL when only info is wanted. */
bpcn_status parts_read(struct folder *folder, const float *query, const unsigned char *known, size_t n,
                       const bpcn_read_options *options, float *out, bpcn_read_info *info);

/* names: n of them in NAME_ROOM bytes each, "" for none; or NULL. *written of the rows are in the memory, also after a
   failure. */
bpcn_status parts_write(struct folder *folder, const float *x, const unsigned char *known, size_t n, const char *names,
                        bpcn_write_row *rows, size_t *written);

bpcn_status parts_delete(struct folder *folder, const float *x);

/* The latest row of this name, as far as one file can tell; of several that have it, one. */
bpcn_status parts_delete_name(struct folder *folder, const char *name);

bpcn_status parts_change(struct folder *folder, enum change change, double beta);

/* Of the whole; fullness is the mean over its shards. */
bpcn_status parts_totals(struct folder *folder, int fullness, struct totals *totals);

/* rows [shards]: of every shard of the whole, the rows written since it was begun. */
bpcn_status parts_rows(struct folder *folder, uint64_t *rows);

/* The name that an answer has; the names of all files, to be freed. */
bpcn_status parts_name(struct folder *folder, const bpcn_read_info *info, char name[NAME_ROOM]);
bpcn_status parts_names(struct folder *folder, bpcn_name **names, size_t *count);

bpcn_status parts_sample(struct folder *folder, size_t n, uint64_t draw, float *out);

#endif
