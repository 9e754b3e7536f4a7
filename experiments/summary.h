/* Cells of all seeds as one figure, beside the paper's. */
#ifndef EXPERIMENTS_SUMMARY_H
#define EXPERIMENTS_SUMMARY_H

#include "job.h"

struct figure {
    size_t seeds;                  /* cells found; 0: the figure is not there */
    double mean, deviation;        /* over the seeds; deviation is NaN for one seed */
    double paper, paper_deviation; /* NaN: the paper has none */
    int worse;                     /* by more than the paper's deviation plus 10 % */
};

/* The figure in a table's place; measure: any name that records have. */
struct figure figure_of(const struct job_list *list, const struct plan *plan, const struct table *table, size_t row,
                        size_t column, const char *measure);

/* Whether any cell of the table is there. */
int table_there(const struct job_list *list, const struct plan *plan, const struct table *table);

/* Seconds spent on the cells of one experiment, each write counted once. */
double experiment_seconds(const struct job_list *list, const struct plan *plan, const char *experiment);

/* Why a row may be worse than the paper's, `missed` of its reads having ended above the code that was written: one
   sentence. */
const char *why_worse(const struct table *table, const struct row *row, double missed);

/* How the results were made. */
struct provenance {
    char command[512], date[32], machine[160];
};
void provenance_fill(struct provenance *provenance, const char *command);

#endif
