/*
 * The table of results, OUT/cells.csv: one row per finished cell, its key first, a column for every name that records
 * have, empty where a record has no such number, and how it was computed, which older rows lack in part. Rows are only
 * ever appended, each whole, so any number of processes may add to one table and be killed at any time. Of rows with
 * the same key the last one counts.
 */
#ifndef EXPERIMENTS_RESULTS_CSV_H
#define EXPERIMENTS_RESULTS_CSV_H

#include "provenance.h"
#include "record.h"

struct results;

/* Opens and reads the table of a folder, which may have none yet. */
int results_open(const char *folder, struct results **results, struct failure *failure);
void results_free(struct results *results);

/* Reads the table again, for what other processes have added. A last line without an end is no row yet. */
int results_read(struct results *results, struct failure *failure);

/* Whether there is a row of that key; its record may be NULL. */
int results_find(const struct results *results, const char *key, struct record *record);

/* How a row was computed, empty where it does not say; 0 when there is no such row. */
int results_provenance(const struct results *results, const char *key, struct provenance *provenance);

/* Adds a row, on the disk when this returns 0. NaN is no number. */
int results_add(struct results *results, const char *key, const struct record *record,
                const struct provenance *provenance, struct failure *failure);

/* Adds a line to a table of text under a lock, whole or not at all; what a killed process left of one goes first.
   heading: the first line of a table that does not exist yet. Neither has its newline. */
int csv_append(const char *path, const char *heading, const char *line, struct failure *failure);

#endif
