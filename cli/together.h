/*
 * What the processes that have one memory open do together: those of an MPI job (mpi/together.c), or the one of bpcn
 * (alone.c). Rank 0 is the program; the others wait for its orders, and carry out each by the function of parts.h that
 * rank 0 is in.
 */
#ifndef BPCN_CLI_TOGETHER_H
#define BPCN_CLI_TOGETHER_H

#include "folder.h"

enum op { END, CREATE, OPEN, CLOSE, READ, WRITE, DELETE, FORGET, DISCOUNT, SYNC, TOTALS, ROWS, NAME, NAMES, DELETE_NAME };

/* What the ranks are told of an order before its rows. */
struct order {
    int32_t op, flag;
    uint64_t n;
    double number;
    uint64_t shards;
};

/* bpcn, in which nobody is waited for. A job of one rank is not alone: its memories are folders. */
bool alone(void);
void find_ranks(struct folder *folder);

/* Zeroed. A rank without memory for its buffers cannot take part in what follows: it ends the job. */
void *room(size_t count, size_t size);

void give_order(struct order *order);
void tell_all(void *bytes, size_t count); /* what rank 0 has */
void tell_from(int rank, void *bytes, size_t count);

/* Every rank has the trouble of the first that has any. */
int agree(struct trouble *trouble);

/* Of each number the sum, or the greatest, over all ranks. */
void add_up(uint64_t *number, size_t n);
void add_up_reals(double *number, size_t n);
void greatest(double *number, size_t n);

/* The claim that is put highest; of equals, of the lower shard. */
struct claim {
    double height;
    int shard;
};
void highest(struct claim *claim, size_t n);

/* Items of `bytes` each: count [ranks] of every rank, from place at [ranks] on in `all`, which rank 0 has. */
void hand_out(const void *all, const int *count, const int *at, size_t bytes, void *mine);
void hand_in(const void *mine, const int *count, const int *at, size_t bytes, void *all);

#endif
