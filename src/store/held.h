/*
 * The latest rows that can be taken back: of each a fingerprint of its entries as the caller gave them, when it was
 * written, and the codes that it was written with, by which its write is undone exactly. A ring, kept as the bytes that a
 * file has.
 */
#ifndef BPCN_HELD_H
#define BPCN_HELD_H

#include "bayespcn.h"
#include "symbols.h"

/* Two rows have the same one by chance once in 2^128. */
struct fingerprint {
    uint64_t word[2];
};
struct fingerprint fingerprint_of(const float *x, size_t dim);
struct fingerprint fingerprint_of_bytes(const unsigned char *x, size_t dim); /* little-endian, as in a file */

struct held {
    size_t most, count, room; /* of rows: to be kept; kept; that memory was taken for */
    size_t codes, size, each; /* numbers of a row's codes, bytes of one; bytes of all that is kept of a row */
    uint64_t next;            /* number of the next row; row i is in slot i % most */
    unsigned char *slot;      /* [room x each] */
};

/* What is kept of one row. */
struct held_row {
    uint64_t number;
    struct fingerprint print;
    uint64_t fades; /* of the memory, before it was written */
    size_t shard;   /* of the first view */
    int gone;       /* it is not there any more */
};

/* Bytes of a row; a memory that resamples its particles keeps none (options_check). */
size_t held_bytes(const bpcn_options *options);

/* None yet; -1 when out of memory. */
int held_create(struct held *held, const bpcn_options *options);
void held_free(struct held *held);

/* Memory for `count` of them, and for one more; -1 when there is none. */
int held_reserve(struct held *held, size_t count);

/* There is room for one more, with codes [codes] of `size` bytes each. The oldest makes way when there are enough. */
void held_keep(struct held *held, const struct held_row *row, const void *codes);

/* The slots came from a file. */
void held_restore(struct held *held, size_t count);

size_t held_there(const struct held *held); /* rows that are not gone */
struct held_row held_at(const struct held *held, size_t i);
void held_codes(const struct held *held, size_t i, void *codes);

/* The latest row of this fingerprint that is there and has a number below `before`: its slot, or count. */
size_t held_find(const struct held *held, const struct fingerprint *print, uint64_t before);

void held_drop(struct held *held, uint64_t number);
void held_drop_shard(struct held *held, size_t shard); /* SIZE_MAX: all */

/* What of row i cannot be as it is kept; NULL: all can. */
const char *held_wrong(const struct held *held, size_t i, size_t shards);

#endif
