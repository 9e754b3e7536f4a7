/*
 * The ranks of bpcn-mpi. Rank 0 is the program: it reads the command line, the inputs, and says the results. The others
 * wait for its orders and work on their files. What is below are the orders: rank 0 calls one, the others come to the
 * same function by ranks_serve. Every order ends in an agreement: either all ranks succeeded, or every one knows the
 * first trouble, so that none waits for another that gave up. Of a rank that dies MPI ends the job.
 */
#ifndef BPCN_MPI_RANKS_H
#define BPCN_MPI_RANKS_H

#include "folder.h"

/* Of ranks other than 0: obeys until ranks_end. */
void ranks_serve(void);
void ranks_end(void);

/* Each returns 0, or a bpcn_status with the sentence in *trouble. folder: path, and to create also options and files.
 */
int ranks_create(struct folder *folder, const char *note, int force, struct trouble *trouble);
int ranks_open(struct folder *folder, int read_only, struct trouble *trouble);
int ranks_close(struct folder *folder);

int ranks_read(struct folder *folder, const float *query, const unsigned char *known, size_t n,
               const bpcn_read_options *options, float *out, bpcn_read_info *info, struct trouble *trouble);
int ranks_write(struct folder *folder, const float *x, size_t n, bpcn_write_row *rows, size_t *written,
                struct trouble *trouble);
int ranks_delete(struct folder *folder, const float *x, struct trouble *trouble);
int ranks_forget(struct folder *folder, double beta, struct trouble *trouble);
int ranks_discount(struct folder *folder, double beta, struct trouble *trouble);
int ranks_sync(struct folder *folder, struct trouble *trouble);

/* Sums over all files; of forgets and fullness the largest. */
struct totals {
    uint64_t writes, deletes, bytes, prepared_bytes, bytes_most, shards, file_bytes, forgets;
    double fullness;
};
int ranks_totals(struct folder *folder, int fullness, struct totals *totals, struct trouble *trouble);

#endif
