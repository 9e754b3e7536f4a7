/* What whole schedules took: the paper's hours beside ours, from the cells' own seconds. */
#ifndef EXPERIMENTS_TIMES_H
#define EXPERIMENTS_TIMES_H

#include "summary.h"

#include <stdio.h>

/* A row of a table at the longest length of which all tasks are there. */
struct times {
    size_t images, tasks; /* 0: there are no such cells */
    double write, read;   /* seconds: of writing all images and learning from them, of reading the queries of all tasks;
                             write is no number where learning was not timed */
    double queries;       /* of all tasks together */
    char cpu[MADE_TEXT];  /* "not told", or "several" */
};
struct times times_of(const struct job_list *list, const struct plan *plan, const char *experiment, const char *dataset,
                      const char *label);

/* The table, in Markdown: the rows of recall, and those of the search that are as large as the paper's. experiment: one
   of those two, or NULL for both. */
void times_markdown(FILE *file, const struct job_list *list, const struct plan *plan, const char *experiment);

#endif
