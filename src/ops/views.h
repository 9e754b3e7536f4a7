/*
 * Views of a table. In every view each row has one shard, by the sides of a few random planes through the centre on
 * which it lies: rows that are alike share a shard, and what one view cuts apart another keeps together. Shard
 * v 2^bits + c is cell c of view v.
 */
#ifndef BPCN_VIEWS_H
#define BPCN_VIEWS_H

#include "bayespcn.h"

enum { VIEW_CELLS = 256 }; /* of one view, at most */

struct views {
    size_t count, bits, dim; /* no views: count is 0 */
    double *planes;          /* [count x bits x dim]: normal vectors, from the memory's seed alone */
};

/* A row in the model's precision. */
struct view_row {
    const void *x;              /* [dim] */
    size_t size;                /* of an entry: float or double */
    const unsigned char *known; /* [dim] or NULL: all. What is not known counts as the centre, 0 */
};

/* -1 when out of memory. */
int views_create(struct views *views, const bpcn_options *options);
void views_free(struct views *views);

static inline size_t views_cells(const struct views *views)
{
    return (size_t)1 << views->bits;
}

/* The shard of a row in a view. */
size_t views_shard(const struct views *views, size_t view, const struct view_row *row);

/* log of the part that a cell with so many of all rows has in the density of its view; an empty one has a little. */
double views_log_share(const struct views *views, uint64_t rows, uint64_t all);

/* picked [cells]: the `most` cells in which the row most likely lies, of those that hold rows: an entry that is not
   known is as likely on either side of the centre. If there is to be one, that of views_shard. */
void views_pick(const struct views *views, size_t view, const struct view_row *row, const uint64_t *rows, size_t most,
                unsigned char *picked);

#endif
