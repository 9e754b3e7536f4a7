/* What the paper says of forgetting, held against the cells. */
#ifndef EXPERIMENTS_FORGETTING_H
#define EXPERIMENTS_FORGETTING_H

#include "summary.h"

#include <stdio.h>

/* Of the rows of one role in a table of the forget experiment. */
struct forgetting {
    size_t there, planned;    /* rows; the rest is told only when all are there */
    double flat;              /* without forgetting: the largest error of an age group over the smallest */
    size_t newer, forgetting; /* rows that forget and recall the latest group better than the oldest, of how many */
    size_t rises;             /* steps to the next strength at which the latest group's error does not fall */
    size_t rise;              /* the first of them: the row that it rises to */
    size_t best;              /* the row with the least error over all ages */
};
struct forgetting forgetting_of(const struct job_list *list, const struct plan *plan, const struct table *table,
                                enum role role);

/* A line for each task and method, in Markdown. */
void forget_markdown(FILE *file, const struct job_list *list, const struct plan *plan);

#endif
