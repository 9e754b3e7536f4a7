/* The paper's own figures, to show beside ours. */
#ifndef EXPERIMENTS_PAPER_FIGURES_H
#define EXPERIMENTS_PAPER_FIGURES_H

#include <stddef.h>

/* The error that the paper reports in a table ("recall", "high-noise", "depth", "sigma") for a dataset, a task
   ("white", "drop", "mask"), a row ("BayesPCN", ...) and a sequence length; the deviation is NaN when it gives
   none. -1 and NaN when the paper has no such figure. */
int paper_figure(const char *table, const char *dataset, const char *task, const char *row, size_t length,
                 double *value, double *deviation);

/* What is wrong with a row of the paper, in a sentence; NULL: nothing that is known. */
const char *paper_slip(const char *table, const char *dataset, const char *task, const char *row);

/* What the paper says of its hours: the n-th, or NULL. "All tasks" is its word for what was read. */
struct paper_cost {
    const char *model, *machine;
    size_t images;
    double write_hours, read_hours;
};
const struct paper_cost *paper_cost(size_t n);

#endif
