/*
 * Table views. A view cuts the space of rows into cells by a few random planes through the centre, and each cell is a
 * shard: rows that are alike share one, and rows that one view separates share a cell in another. Shard v 2^bits + c is
 * cell c of view v.
 */
#ifndef BPCN_TABLE_VIEWS_H
#define BPCN_TABLE_VIEWS_H

#include "bayespcn.h"
#include "symbols.h"

enum { TABLE_VIEW_CELLS = 256 }; /* of one view, at most */

struct table_views {
    size_t count, bits, dim; /* no views: count is 0 */
    double *planes;          /* [count x bits x dim]: normal vectors, from the memory's seed alone */
};

/* A row in the model's precision. */
struct table_view_row {
    const void *x;              /* [dim] */
    size_t size;                /* of an entry: float or double */
    const unsigned char *known; /* [dim] or NULL: all. Unknown entries count as the centre, 0 */
};

/* -1 when out of memory. */
int table_views_create(struct table_views *views, const bpcn_options *options);
void table_views_free(struct table_views *views);

static inline size_t table_views_cells(const struct table_views *views)
{
    return (size_t)1 << views->bits;
}

/* The shard of a row in a view. */
size_t table_views_shard(const struct table_views *views, size_t view, const struct table_view_row *row);

/* log of the weight in the density of its view of a cell with so many of `all` rows; above -inf for empty ones. */
double table_views_log_share(const struct table_views *views, uint64_t rows, uint64_t all);

/* picked [cells]: 1 for the `most` cells in which the row most likely lies, among those that hold rows; an unknown entry
   is as likely on either side of the centre. With most = 1 the cell is that of table_views_shard. */
void table_views_pick(const struct table_views *views, size_t view, const struct table_view_row *row, const uint64_t *rows, size_t most,
                unsigned char *picked);

#endif
