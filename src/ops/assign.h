/*
 * Which shards read which rows. The index names the rows that a query could be, and their shards read it; where those are too many, their residuals decide (shortlist.h). Without an index,
 * and for densities of rows that were never written, the residuals of all shards decide.
 */
#ifndef BPCN_ASSIGN_H
#define BPCN_ASSIGN_H

#include "shards.h"
#include "symbols.h"

struct assignment {
    size_t shard, row; /* the row's number in its request */
    double residual;   /* squared, where it was computed */
    int settled;       /* the shard reads the row, whatever its residual */
};

/* In rising order of shard, then row. */
struct assignments {
    struct assignment *list;
    size_t count, room;
};

void assignments_free(struct assignments *assignments);

/* assignments_free in any case. */
bpcn_status assign_rows(const struct shards *shards, const struct read_request *request, struct assignments *assignments);

/* The rows of the index that each query of the request could be, best first: see index_find. Rows of shards that the
   index misses are not among them. query [n]: of each `ranked` is set. The caller frees query[i].hits, also after a failure. */
bpcn_status assign_find(const struct shards *shards, const struct read_request *request, struct index_query *query);

/* residual [count x n], of all shards: see shortlist.h. */
bpcn_status assign_residuals(const struct shards *shards, size_t n, const void *x, const unsigned char *known,
                             double *residual);

#endif
