/* One change of a model's state, with all that repeats it without inferring again. */
#ifndef BPCN_CHANGE_H
#define BPCN_CHANGE_H

#include "model.h"

enum change_kind {
    CHANGE_WRITE = 1,
    CHANGE_FORGET = 2,
    CHANGE_DELETE = 3,
    CHANGE_NOTE = 4, /* not the model's: nothing is made of it here */
    CHANGE_MINIMIZER = 5,
    CHANGE_DISCOUNT = 6
};

struct change {
    enum change_kind kind;
    size_t shard;               /* write, delete: whose it is; 0 with views, of which each has its own; the others are
                                   of all */
    int begin;                  /* write: the shard begins with it, empty */
    size_t rows;                /* write, delete: 1; files of earlier versions hold writes of several rows at once */
    const void *x;              /* real [rows x dim] (write, delete) */
    const unsigned char *known; /* [dim] of 0 and 1: a write of one row with holes, where x is 0; NULL: all is known */
    const void *codes;          /* real [views x particles x rows x code_dim] (write, delete); no views count as one */
    const double *log_weights;  /* [views x particles]: after the write */
    const double *surprise;     /* write: of its row, to be kept; NULL: none */
    const char *name;           /* write: of its row, in BPCN_MAX_NAME + 1 bytes, zeros after its end; NULL: none */
    uint64_t unnamed;           /* delete: the number of the name that goes with its row; 0: none */
    double beta;                /* forget, discount */
    bpcn_minimizer minimizer;   /* from now on */
    const void *note;           /* [note_bytes] */
    size_t note_bytes;
};

#endif
