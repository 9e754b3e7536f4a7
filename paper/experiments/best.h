/* The best of the search: which shape, activation and number of particles the search's own cells speak for. */
#ifndef EXPERIMENTS_BEST_H
#define EXPERIMENTS_BEST_H

#include "summary.h"

#include <stdint.h>
#include <stdio.h>

#define ALL SIZE_MAX
#define BEST_LEAST 0.5e-4 /* errors below it are the same: the paper's four digits show 0.0000 */

struct best {
    size_t there, planned; /* cells that it is chosen from; there is a best only when all are there */
    size_t row;            /* of the search's tables */
    double error;          /* the geometric mean of its errors */
};

/*
 * Of the search on a dataset, among the rows of one role: the row whose errors have the least mean logarithm (what is
 * below BEST_LEAST counts as that) over the tables and columns asked for; the first of equals. table: the n-th of the
 * search on the dataset, or ALL; column likewise.
 */
struct best search_best(const struct job_list *list, const struct plan *plan, const char *dataset, enum role role,
                        size_t table, size_t column);

/* The best over everything, for the paper's method and for ours, of every dataset that has all cells of it. */
struct best_rows search_best_rows(const struct job_list *list, const struct plan *plan);

/* The best of each column, of each length and of all, in Markdown, or how many cells are missing. */
void best_markdown(FILE *file, const struct job_list *list, const struct plan *plan);

#endif
