/* One change of a memory's state, with all that is needed to repeat it without inference: what a log keeps. */
#ifndef BPCN_CHANGE_H
#define BPCN_CHANGE_H

#include "network.h"
#include "symbols.h"

enum change_kind {
    CHANGE_WRITE = 1,
    CHANGE_FORGET = 2,
    CHANGE_DELETE = 3,
    CHANGE_NOTE = 4, /* of the memory, not of a model: applying it to a shard does nothing */
    CHANGE_MINIMIZER = 5,
    CHANGE_DISCOUNT = 6
};

struct change {
    enum change_kind kind;
    size_t shard;               /* write, delete: the one that changes. The other kinds change all shards */
    int begin;                  /* write: the shard is empty and begins with this row */
    size_t rows;                /* write, delete: 1 */
    const void *x;              /* write, delete: real [rows x dim] */
    const float *first;         /* write: [dim], one of the first rows as the caller gave it, which is kept until the scale
                                   of the data is settled (scale.h); NULL: the scale is settled by this write */
    const unsigned char *known; /* [dim] of 0 and 1: a write of one row with holes, where x is 0; NULL: all is known */
    const void *codes;          /* write, delete: real [particles x rows x code_dim] */
    size_t numbers;             /* write, of a table: doubles in codes, which are then its row's entry (forest.h) */
    const double *log_weights;  /* [particles]: after the write */
    const double *surprise;     /* write: of its row, to be kept; NULL: none */
    const char *name;           /* write: of its row, in BPCN_MAX_NAME + 1 bytes, zeros after its end; NULL: none */
    const uint64_t *print;      /* write: [2] fingerprint of its row (held.h), by which it can be taken back; NULL: it
                                   cannot */
    uint64_t held;              /* delete: the number of its row among those */
    uint64_t unnamed;           /* delete: the number of the name that is removed with its row; 0: none */
    double beta;                /* forget, discount */
    bpcn_minimizer minimizer;   /* from now on */
    const void *note;           /* [note_bytes] */
    size_t note_bytes;
};

#endif
