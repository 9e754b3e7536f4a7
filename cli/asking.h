/* How rows are asked for: the one place that decides what a whole row, a row with gaps and a row to be scored mean. */
#ifndef BPCN_CLI_ASKING_H
#define BPCN_CLI_ASKING_H

#include "memfile.h"

struct asking {
    double noise;  /* standard deviation that the rows carry; negative: not said */
    size_t shards; /* that a row is read in; 0: as the library thinks */
    bool score;    /* rows are meant as they stand, and only info is wanted */
    double *trace; /* NULL, or room for n x TRACE_MOST: see bpcn_read_options; of a memory in one file */
    float *spread; /* NULL, or room for n x dim: how unsure every entry of the answers is */
};

enum { ASK_MOST = 256, TRACE_MOST = 256 }; /* rows at once, evaluations */

/* known [n x dim], or NULL: the rows are whole, but may be noisy. answers [n x dim] may be NULL for scores. */
bpcn_status ask(const struct memfile *file, const struct asking *how, const float *x, const unsigned char *known,
                size_t n, float *answers, bpcn_read_info *info);

#endif
