/* The command `reproduce`: its arguments, its jobs, and what it leaves behind. Shared by bpcn-paper and bpcn-paper-mpi.
 */
#ifndef EXPERIMENTS_REPRODUCE_H
#define EXPERIMENTS_REPRODUCE_H

#include "job.h"

#include <stdio.h>

struct reproduction {
    struct plan_request request;
    const char *out, *data_dir;
    size_t processes;
    int pictures; /* compute figures again whose pictures are not there */
    int verbose;
    int plan_only; /* compute nothing */
    int check;     /* compute a sample of the cells there are again and say how far they moved */
    int record;    /* and add that to checked.csv; else a check writes nothing */
    int again;     /* cells that are stale are computed again */
    size_t sample; /* of the check */
    size_t seed;
    struct best_rows best; /* of the search, where the results have all of it */
    struct plan plan;
    struct job_list list;
};

/* The text of --help. */
const char *reproduce_usage(void);

/* 0: go on; 1: help was wanted; -1: failed. argv[0] is "reproduce". */
int reproduce_parse(int argc, char **argv, struct reproduction *r, struct failure *failure);

/* Makes the list of jobs; free in any case. */
int reproduce_prepare(struct reproduction *r, struct failure *failure);
void reproduce_free(struct reproduction *r);

/* Writes OUT/plan.csv, which the report is made from. */
int reproduce_finish(const struct reproduction *r, struct failure *failure);

/* "12 of 40 cells are in results/cells.csv; ...": what is there now, in a line. */
void reproduce_tell(const struct reproduction *r, FILE *out);

#endif
