/*
 * What checks of committed cells found: a row of OUT/checked.csv for each cell that was computed again. Cells that are
 * older than the code they depend on may still be what that code gives, and a sample tells: where at least
 * ENOUGH_CHECKED cells of their kind have come out the same by code that is still today's, and none has moved, the
 * others of that kind are vouched for.
 */
#ifndef EXPERIMENTS_CHECKED_H
#define EXPERIMENTS_CHECKED_H

#include "ledger.h"
#include "plan.h"

enum { ENOUGH_CHECKED = 5 };

struct checked;

/* Those of the folder; none when it has no such file. */
int checked_open(const char *folder, struct checked **checked, struct failure *failure);
void checked_free(struct checked *checked);

/* Adds a row to the file. word: "unmoved", "rounded", or how it moved. */
int checked_add(struct checked *checked, const struct cell *cell, double before, double again, const char *word,
                const struct made *made, struct failure *failure);

/* How many cells of the same kind (method, minimiser, objective, whether in shards, whether samples) have come out the
   same by code that is still today's; 0 when one has moved and was not computed anew since. folder: any of the tree. */
size_t checked_same(const struct checked *checked, const struct cell *cell, const struct ledger *ledger,
                    const char *folder, struct freshness_cache *cache);

#endif
