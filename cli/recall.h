/* How rows are asked for: the one place that decides what a whole row, a row with gaps and a row to be scored mean. */
#ifndef BPCN_CLI_RECALL_H
#define BPCN_CLI_RECALL_H

#include "memory_file.h"

struct recall {
    double noise;  /* standard deviation that the rows carry; negative: not said */
    size_t shards; /* that a row is read in; 0: as the library thinks */
    bool score;    /* rows are meant as they stand, and only info is wanted */
    double *trace; /* NULL, or [n x TRACE_MOST], see bpcn_read_options; for a memory in one file */
    float *spread; /* NULL, or [n x dim]: the standard deviation of each entry of the answers */
};

enum { RECALL_MOST = 256, TRACE_MOST = 256 }; /* rows at once, evaluations */

/* known [n x dim], or NULL: the rows are whole, but may be noisy. answers [n x dim] may be NULL for scores. */
bpcn_status recall_rows(const struct memory_file *file, const struct recall *how, const float *x,
                        const unsigned char *known, size_t n, float *answers, bpcn_read_info *info);

/* ---- Rows with gaps to whole rows. */

/* x [n x dim]: what known [n x dim] leaves out is filled in. spread [n x dim], or NULL: the standard deviation of every
   filled entry, 0 for the others. */
bpcn_status recall_fill(const struct memory_file *file, float *x, const unsigned char *known, size_t n, float *spread);

/* How unsure a filled cell is, from the entries and spreads of its column: of a number a standard deviation in its
   units (of a date days, of a time hours, of ordered words places), of a category the chance that another word is
   right. */
double recall_cell_spread(const fmt_column *column, const float *x, const float *spread);

/* ---- Which columns of a row of a table are to blame for its being odd. */

struct blame {
    const fmt_column *column;
    double nats;      /* how much less likely the cell is than what is expected of it: z^2 / 2 for a number z off */
    double deviation; /* of a number, in its units; of a word the probability of the word that is expected */
    double chance;    /* of a word: that of the row's own */
};

/* Of a row x [dim], known or NULL: blames [columns], the greatest first, and expected [dim], to be decoded as a row. The
   number of columns that are known; a negative number after a message. */
int recall_explain(const struct memory_file *file, const float *x, const unsigned char *known, struct blame *blames,
                   float *expected);

enum { BLAMED_MOST = 5 };                    /* columns that are named of a row */
static const double recall_blamed_least = 2; /* nats from which they are: two deviations */

/* The columns to blame as a JSON array. 0, or -1 after a message. */
int recall_blame_json(const struct memory_file *file, const float *x, const unsigned char *known, FILE *out);

#endif
