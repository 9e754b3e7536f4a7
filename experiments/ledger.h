/*
 * The table of results, OUT/cells.csv: one row per finished cell, its key first, a column for every name that records
 * have, empty where a record has no such number. Rows are only ever appended, each whole, so any number of processes
 * may add to one table and be killed at any time. Of rows with the same key the last one counts.
 */
#ifndef EXPERIMENTS_LEDGER_H
#define EXPERIMENTS_LEDGER_H

#include "record.h"

struct ledger;

/* Opens and reads the table of a folder, which may have none yet. */
int ledger_open(const char *folder, struct ledger **ledger, struct failure *failure);
void ledger_free(struct ledger *ledger);

/* Reads the table again, for what other processes have added. A last line without an end is no row yet. */
int ledger_read(struct ledger *ledger, struct failure *failure);

/* Whether there is a row of that key; its record may be NULL. */
int ledger_find(const struct ledger *ledger, const char *key, struct record *record);

/* Adds a row, on the disk when this returns 0. NaN is no number. */
int ledger_add(struct ledger *ledger, const char *key, const struct record *record, struct failure *failure);

#endif
