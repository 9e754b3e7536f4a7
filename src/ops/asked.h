/* The rows that each shard is asked for, and what it says. */
#ifndef BPCN_ASKED_H
#define BPCN_ASKED_H

#include "many.h"

/* The rows that one shard is asked for. */
struct asked {
    size_t k, count;
    size_t *row;          /* [count] */
    unsigned char *query; /* real [count x dim] */
    unsigned char *known; /* [count x dim] or NULL */
    void *out;            /* real [count x dim or code_dim] or NULL */
    bpcn_read_info *info; /* [count] */
    double *trace;        /* [count x trace_room] or NULL */
    bpcn_status status;
};

struct reads {
    const struct many *many;
    const struct read_request *request;
    size_t row_bytes, out_bytes; /* of a query, of an answer or a code */
    unsigned char *asks;         /* [count x n]: whether a shard is asked for a row; NULL: all are, for all */
    struct asked *asked;         /* [count], those with rows first */
    size_t shards;               /* that are asked */
};

/* Answers, or codes, and info of the rows from what the shards said: the likeliest of them, or of views their average.
 */
bpcn_status choose_answers(const struct reads *reads);
bpcn_status average_answers(const struct reads *reads);

#endif
