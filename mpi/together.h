/* What the files behind ranks.h share: orders, and doing things together. */
#ifndef BPCN_MPI_TOGETHER_H
#define BPCN_MPI_TOGETHER_H

#include "ranks.h"

enum op { END, CREATE, OPEN, CLOSE, READ, WRITE, DELETE, FORGET, DISCOUNT, SYNC, TOTALS };

/* What the ranks are told of an order before its rows. */
struct order {
    int32_t op, flag;
    uint64_t n;
    double number;
    uint64_t shards;
};

int rank_of(void);

/* Zeroed. A rank without memory for its buffers cannot take part in what follows: it ends the job. */
void *room(size_t count, size_t size);

/* From rank 0. */
void tell_all(void *bytes, size_t count);
void give_order(struct order *order);

/* Every rank has the trouble of the first that has any. */
int agree(struct trouble *trouble);

uint64_t add_up(uint64_t mine);
void find_ranks(struct folder *folder);

/* The rank that file f belongs to. */
int owner(const struct folder *folder, size_t f);

void library_failed(struct trouble *trouble, bpcn_status status);

/* ---- carried out by all ranks; what only rank 0 has is NULL in the others */

int all_read(struct folder *folder, const struct order *order, const float *query, const unsigned char *known,
             float *out, bpcn_read_info *info, struct trouble *trouble);
size_t all_write(struct folder *folder, size_t n, const int *place, const float *x, bpcn_write_row *info,
                 struct trouble *trouble);
int all_delete(struct folder *folder, const float *x, struct trouble *trouble);

#endif
