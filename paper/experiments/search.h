/* The best of the search: which shape, activation and number of particles the search's own cells speak for. */
#ifndef EXPERIMENTS_SEARCH_H
#define EXPERIMENTS_SEARCH_H

#include "job.h"

#define SEARCH_LEAST 0.5e-4 /* errors below it count as equal: the paper's four digits show 0.0000 */

/* For the paper's method and for ours, on every dataset that has all cells of it: the row of the search whose errors
   have the least mean logarithm over all tables and columns; the first of equals. */
struct best_rows search_best_rows(const struct job_list *list, const struct plan *plan);

#endif
