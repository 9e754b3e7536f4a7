/*
 * Whether committed cells still come out: a random sample of them is computed again and compared, and OUT/checked.csv
 * keeps what that found.
 *
 * What may move. Cells of one program differ between CPUs by rounding alone. It moves a query that finds the same
 * minimum by a part in a thousand, and now and then it sends one to another minimum, which changes that query's error
 * by at most the cell's largest. So a cell of q queries may move by
 *     mse / 1000 + 1e-6 + the lesser of k mse_max / q and mse / 4,   k = 1 + q / 50 queries gone elsewhere,
 * and the share of images recalled by k / q. The corruptions are the same numbers everywhere: the error of the query
 * itself may move by a millionth. Measured with the kernels portable and avx2, which round differently, on 30 cells:
 * 25 differ by less than a thousandth of their error, and five of white noise 0.8 under the paper's objective, of which
 * some queries have many minima, by 1 to 17 %. A cell of a handful of such queries can move by more, and is told.
 *
 * Cells of other code may still be what today's code gives, and a sample tells: where at least RECHECKS_ENOUGH cells of
 * their kind (method, minimiser, objective, whether in shards, whether samples) have come out the same by today's code,
 * and none has moved, the others of that kind are vouched for.
 */
#ifndef EXPERIMENTS_RECHECKS_H
#define EXPERIMENTS_RECHECKS_H

#include "plan.h"
#include "results_csv.h"

#include <stdio.h>

struct job_list;
struct rechecks;

enum { RECHECKS_ENOUGH = 5 };
enum verdict { UNMOVED, ROUNDED, MOVED, OTHER_DATA };

/* Of a cell's record computed again. */
enum verdict verdict_of(const struct record *before, const struct record *again);

/* How far the mean error may move by rounding. */
double may_move(const struct record *before);

/* Computes `sample` cells of the list again, chosen by the seed among those that are recalls and there; a line for
   each, and with `record` a row of checked.csv. The number of cells that moved, and 0, or -1. */
int recheck_cells(const struct job_list *list, size_t sample, uint64_t seed, int record, FILE *out, size_t *moved,
                  struct failure *failure);

/* Those of the folder; none when it has no such file. */
int rechecks_open(const char *folder, struct rechecks **rechecks, struct failure *failure);
void rechecks_free(struct rechecks *rechecks);

/* Adds a row to the file. word: "unmoved", "rounded", or how it moved. */
int rechecks_add(struct rechecks *rechecks, const struct cell *cell, double before, double again, const char *word,
                 const struct provenance *provenance, struct failure *failure);

/* How many cells of the same kind have come out the same by today's code; 0 when one has moved and was not computed
   anew since. */
size_t rechecks_same(const struct rechecks *rechecks, const struct cell *cell, const struct results *results);

#endif
