/* Cells of all seeds as one figure, beside the paper's. */
#ifndef EXPERIMENTS_SUMMARY_H
#define EXPERIMENTS_SUMMARY_H

#include "job.h"

/* Where a figure is, seen from the paper's: the same when they differ by no more than our spread, the paper's deviation
   and what its four digits hide, together. Sums of two deviations over three seeds are some two standard errors of the
   difference of the means. */
enum relation { NOT_COMPARED, SAME, BELOW, ABOVE };

struct figure {
    size_t planned;         /* cells; 0: no figure is wanted there */
    size_t seeds;           /* of them found; 0: the figure is not there */
    size_t stale;           /* of them neither fresh nor vouched for */
    double mean, deviation; /* over the seeds; deviation, of n - 1, is NaN for one seed */
    double spread;          /* the deviation; the standard error over the queries instead where there is one seed,
                               and where it is larger and not every image was read; NaN: neither is known */
    double paper, paper_deviation; /* NaN: the paper has none */
    enum relation relation;
};

/* The figure in a table's place; measure: any name that records have. */
struct figure figure_of(const struct job_list *list, const struct plan *plan, const struct table *table, size_t row,
                        size_t column, const char *measure);

enum relation relation_of(double ours, double spread, double paper, double paper_deviation);

/* "white", "drop" or "mask", as the paper's figures have it. */
const char *task_word(const struct task *task);

/* Whose row it is. */
enum role {
    ROLE_OURS,      /* the memory as this library has it */
    ROLE_OBJECTIVE, /* the memory, the paper's objective, our minimiser */
    ROLE_PAPER,     /* the memory as the paper has it, its minimiser too */
    ROLE_OPPONENT,
};
enum role role_of(const struct row *row);

/* Whether any cell of the table is there. */
int table_there(const struct job_list *list, const struct plan *plan, const struct table *table);

/* Seconds spent on the cells of one experiment, each write counted once. */
double experiment_seconds(const struct job_list *list, const struct plan *plan, const char *experiment);

/* How the results were made. */
struct provenance {
    char command[512], date[32], machine[160];
};
void provenance_fill(struct provenance *provenance, const char *command);

#endif
