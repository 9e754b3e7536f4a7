/*
 * Near copies: how well a row explains a query if copies may differ from it by brightness and contrast, by a little blur,
 * sharpening or shift, and in a fifth of their entries by anything (a caption, a border). docs/MODEL.md, Familiarity, has
 * the model, the figures and how the limits were chosen.
 */
#ifndef BPCN_COPIES_H
#define BPCN_COPIES_H

#include "symbols.h"

#include <stddef.h>
#include <stdint.h>

enum {
    COPY_CANDIDATES = 6, /* rows that a query is compared with */
    COPY_LEAST = 32      /* known entries from which on rows are compared: of fewer some row is near by chance */
};

/* A candidate, and what it leaves unexplained of the query, as a share of the query's variance. */
struct copy {
    size_t shard;
    const float *row; /* [dim] */
    uint64_t name;    /* number of its name, where that is known; 0 */
    double all;       /* over all known entries */
    double most;      /* over the four fifths of them that it explains best; 1 where it was not computed */
};

/* The lag, of 8 entries at least, at which a row is most like itself: the width of a picture. 1: rows are too short. */
size_t copy_stride(const float *row, size_t dim);

/* Fills all and most of the candidates. known [dim], or NULL: all entries are known; of others only a plain copy is
   looked for. squares [dim]: scratch. */
void copy_fit(const float *query, const unsigned char *known, size_t dim, size_t stride, size_t count, struct copy *copy,
              float *squares);

/* Which of the candidates the query is a copy of, with its familiarity of 0.5 or more; count: none, with the familiarity
   below 0.5. */
size_t copy_decide(size_t count, const struct copy *copy, double *familiarity);

#endif
