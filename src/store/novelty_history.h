/*
 * How surprising the latest rows were before they were written, and the conformal p-value of another (docs/MODEL.md,
 * "Typicality"). A network that learns is surprised less by later rows, one that is overfull more: a surprise counts by
 * how far it lies from those of the latest rows that met about as many rows before them in their shard.
 */
#ifndef BPCN_NOVELTY_HISTORY_H
#define BPCN_NOVELTY_HISTORY_H

#include "symbols.h"

#include <stddef.h>

#define NOVELTY_MOST 1e300 /* no number is greater: differences stay finite */

struct novelty {
    double surprise;
    double before;   /* rows in its shard */
    double standing; /* of the surprise among those of its time; -NOVELTY_MOST: they were too few */
};

enum { NOVELTY_NUMBERS = 3 }; /* of each row in a file */

struct novelty_history {
    size_t most, count;
    struct novelty *row; /* [most]: the oldest first */
};

/* Room for so many; -1 when out of memory. */
int novelty_history_create(struct novelty_history *s, size_t most);
void novelty_history_free(struct novelty_history *s);
size_t novelty_history_bytes(const struct novelty_history *s);

/* The share of the rows kept that were at least as surprising, counting the row itself; 1 where there are too few to
   compare with. `before`: rows in the shard that it goes to. */
double novelty_history_typicality(const struct novelty_history *s, double surprise, double before);

/* The row is being written. */
void novelty_history_keep(struct novelty_history *s, double surprise, double before);

/* Of row i, number j < NOVELTY_NUMBERS; and whether it can be. */
double *novelty_history_number(const struct novelty_history *s, size_t i, size_t j);
int novelty_sound(const struct novelty *row);

#endif
