/*
 * What is done with a memory that is cut into files, by all ranks that have some of them (together.h). Rank 0 calls
 * parts_..., which gives the order; the others come to the same all_... by their orders. Every order ends in an
 * agreement: either all ranks succeeded, or every one knows the first trouble, so that none waits for another that gave
 * up.
 */
#ifndef BPCN_CLI_PARTS_H
#define BPCN_CLI_PARTS_H

#include "console.h"
#include "together.h"

/* Each returns 0, or a bpcn_status with the sentence in *trouble. folder: path and lone, and to create also options and
   files. */
int parts_create(struct folder *folder, const char *note, int force, struct trouble *trouble);
int parts_open(struct folder *folder, int read_only, struct trouble *trouble);
void parts_close(struct folder *folder);

/* out: NULL when only info is wanted. */
int parts_read(struct folder *folder, const float *query, const unsigned char *known, size_t n,
               const bpcn_read_options *options, float *out, bpcn_read_info *info, struct trouble *trouble);
/* names: n of them in NAME_ROOM bytes each, "" for none; or NULL. */
int parts_write(struct folder *folder, const float *x, const unsigned char *known, size_t n, const char *names,
                bpcn_write_row *rows, size_t *written, struct trouble *trouble);
int parts_delete(struct folder *folder, const float *x, struct trouble *trouble);
/* The latest row of this name, as far as one file can tell; of several that have it, one. */
int parts_delete_name(struct folder *folder, const char *name, struct trouble *trouble);
int parts_forget(struct folder *folder, double beta, struct trouble *trouble);
int parts_discount(struct folder *folder, double beta, struct trouble *trouble);
int parts_sync(struct folder *folder, struct trouble *trouble);

/* Sums over all files; of forgets the largest, of fullness the mean by their shards. */
struct totals {
    uint64_t writes, deletes, bytes, prepared_bytes, bytes_most, shards, file_bytes, forgets;
    uint64_t file_most, disk_most, dropped_bytes, dropped_rows, torn_seal; /* as in bpcn_file_info */
    uint64_t names;                                                        /* kept */
    double fullness;
};
int parts_totals(struct folder *folder, int fullness, struct totals *totals, struct trouble *trouble);

/* Of every shard of the whole, the rows written since it was begun; to be freed. */
uint64_t *parts_rows(struct folder *folder);

/* The name that an answer has; those of all files, to be freed. */
int parts_name(struct folder *folder, const bpcn_read_info *info, char name[NAME_ROOM], struct trouble *trouble);
bpcn_name *parts_names(struct folder *folder, size_t *count, struct trouble *trouble);

/* ---- carried out by all ranks; what only rank 0 has is NULL in the others */

int all_create(struct folder *folder, char *note, int force, struct trouble *trouble);
int all_open(struct folder *folder, int read_only, struct trouble *trouble);
int all_read(struct folder *folder, const struct order *order, const float *query, const unsigned char *known,
             float *out, bpcn_read_info *info, struct trouble *trouble);
size_t all_write(struct folder *folder, const struct order *order, const int *place, const float *x,
                 const unsigned char *known, const char *names, bpcn_write_row *info, struct trouble *trouble);
int all_delete(struct folder *folder, const float *x, struct trouble *trouble);
int all_delete_name(struct folder *folder, const char *name, struct trouble *trouble);
int all_name(struct folder *folder, uint64_t shard, uint64_t number, char name[NAME_ROOM], struct trouble *trouble);
bpcn_name *all_names(struct folder *folder, size_t *count, struct trouble *trouble);
int all_change(struct folder *folder, const struct order *order, struct trouble *trouble);
int all_totals(struct folder *folder, int fullness, struct totals *totals, struct trouble *trouble);
uint64_t *all_rows(struct folder *folder);

#endif
