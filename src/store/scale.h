/*
 * The scale of a memory's data: centre and scale, one pair for all entries or one for each. Inside, an entry x is
 * (x - centre) / scale; callers see their own units. Data that vary about 0 by about 1 have no pair, and stay bit for
 * bit as they are.
 *
 * By default the pairs come from the first rows (scale_measure). Until SCALE_SETTLED rows were seen they may change, so
 * the first rows are kept as the caller gave them, and a memory whose pairs change is written again from them: it is
 * then what it would have been with these pairs from the start.
 */
#ifndef BPCN_SCALE_H
#define BPCN_SCALE_H

#include "bayespcn.h"
#include "held.h"
#include "name_table.h"

enum {
    SCALE_SETTLED = 16, /* rows that settle the scale. Larger: fewer surprises after it, more rows kept */
    SCALE_ROWS = 256    /* rows of one write that are looked at, at most */
};

struct scale {
    size_t dim, pairs; /* pairs: 0 (as given), 1 or dim */
    double *pair;      /* [2 x pairs]: centre, scale */
    double unit;       /* of noises and spreads where one number is meant: the scale of a single pair, otherwise 1 */
    int settled;
    size_t rows, each;  /* first rows that are kept; bytes of one */
    unsigned char *row; /* [SCALE_SETTLED x each]: f32 [dim], known [dim], name [NAME_ROOM], padded to 8 bytes */
};

/* A first row, and whether it fits. */
struct first_row {
    const float *x;             /* [dim] */
    const unsigned char *known; /* [dim] or NULL */
    const char *name;           /* or NULL */
};

static inline size_t scale_row_bytes(size_t dim)
{
    return (5 * dim + NAME_ROOM + 7) / 8 * 8;
}

int scale_create(struct scale *scale, const bpcn_options *options); /* as given so far; -1 when out of memory */
void scale_free(struct scale *scale);
size_t scale_bytes(const struct scale *scale);

/* Room for these; -1 when out of memory. */
int scale_allocate(struct scale *scale, size_t pairs, size_t rows);

/* A copy without its first rows. */
int scale_copy(const struct scale *from, struct scale *to);

/* The pairs of n more rows and the first ones that are kept, into `out`, which is created. -1 when out of memory. */
int scale_measure(const struct scale *scale, const bpcn_options *options, const float *x, const unsigned char *known,
                  size_t n, struct scale *out);
int scale_same_pairs(const struct scale *a, const struct scale *b);

/* Room for one more first row; it is kept; number i. */
int scale_reserve_row(struct scale *scale);
void scale_keep_row(struct scale *scale, const struct first_row *row);
void scale_drop_row(struct scale *scale, size_t i);
void scale_first_row(const struct scale *scale, size_t i, float *x, unsigned char *known, char name[NAME_ROOM]);

/* Of the entries of first row i. */
struct fingerprint scale_row_print(const struct scale *scale, size_t i);

/* Nothing changes the pairs any more. */
void scale_settle(struct scale *scale);

/* What cannot be, as it was read from a file; NULL: all can. */
const char *scale_wrong(const struct scale *scale);

static inline double scale_centre_of(const struct scale *s, size_t j)
{
    return s->pairs == 0 ? 0 : s->pair[2 * (s->pairs == 1 ? 0 : j)];
}

static inline double scale_scale_of(const struct scale *s, size_t j)
{
    return s->pairs == 0 ? 1 : s->pair[2 * (s->pairs == 1 ? 0 : j) + 1];
}

/* Entry j inside, and back. */
static inline double scale_in(const struct scale *s, size_t j, double x)
{
    return s->pairs == 0 ? x : (x - scale_centre_of(s, j)) / scale_scale_of(s, j);
}

static inline double scale_out(const struct scale *s, size_t j, double x)
{
    return s->pairs == 0 ? x : x * scale_scale_of(s, j) + scale_centre_of(s, j);
}

#endif
