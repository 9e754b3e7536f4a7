/*
 * OUT/plan.csv: every place of every table, which is all that the report (paper/report.py) needs to know of the plans:
 * what a row is, which figure of the paper stands beside it, the keys of its cells in cells.csv, and by which code they
 * would be computed today.
 */
#ifndef EXPERIMENTS_PLAN_CSV_H
#define EXPERIMENTS_PLAN_CSV_H

#include "job.h"

/* Writes the file into the list's folder, whole or not at all. */
int plan_csv_write(const struct job_list *list, const struct plan *plan, struct failure *failure);

#endif
