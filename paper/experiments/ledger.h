/*
 * The table of results, OUT/cells.csv: one row per finished cell, its key first, a column for every name that records
 * have, empty where a record has no such number, and how it was made, which older rows lack. Rows are only ever
 * appended, each whole, so any number of processes may add to one table and be killed at any time. Of rows with the
 * same key the last one counts.
 */
#ifndef EXPERIMENTS_LEDGER_H
#define EXPERIMENTS_LEDGER_H

#include "made.h"
#include "record.h"

struct ledger;

/* Opens and reads the table of a folder, which may have none yet. */
int ledger_open(const char *folder, struct ledger **ledger, struct failure *failure);
void ledger_free(struct ledger *ledger);

/* Reads the table again, for what other processes have added. A last line without an end is no row yet. */
int ledger_read(struct ledger *ledger, struct failure *failure);

/* Whether there is a row of that key; its record may be NULL. */
int ledger_find(const struct ledger *ledger, const char *key, struct record *record);

/* How a row was made, empty where it does not say; 0 when there is no such row. */
int ledger_made(const struct ledger *ledger, const char *key, struct made *made);

/* Rows are added as made here and today by a program of that commit; before this call, as if nothing were known. */
void ledger_made_by(struct ledger *ledger, const char *commit);
const struct made *ledger_here(const struct ledger *ledger);

/* Adds a row, on the disk when this returns 0. NaN is no number. */
int ledger_add(struct ledger *ledger, const char *key, const struct record *record, struct failure *failure);

#endif
