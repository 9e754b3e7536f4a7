/*
 * How surprising the latest rows were before they were written, and the conformal p-value of another (docs/MODEL.md,
 * "Typicality"). A network that learns is surprised less by later rows, one that is overfull more: a surprise counts by
 * how far it lies from those of the latest rows that met about as many rows before them in their shard.
 */
#ifndef BPCN_SURPRISE_H
#define BPCN_SURPRISE_H

#include <stddef.h>

#define SURPRISE_MOST 1e300 /* no number is greater: differences stay finite */

struct surprised {
    double surprise;
    double before;   /* rows in its shard */
    double standing; /* of the surprise among those of its time; -SURPRISE_MOST: they were too few */
};

enum { SURPRISE_NUMBERS = 3 }; /* of each row in a file */

struct surprises {
    size_t most, count;
    struct surprised *row; /* [most]: the oldest first */
};

/* Room for so many; -1 when out of memory. */
int surprises_create(struct surprises *s, size_t most);
void surprises_free(struct surprises *s);
size_t surprises_bytes(const struct surprises *s);

/* The share of the rows kept that were at least as surprising, counting the row itself; 1 where there are too few to
   compare with. `before`: rows in the shard that it goes to. */
double surprises_typicality(const struct surprises *s, double surprise, double before);

/* The row is being written. */
void surprises_keep(struct surprises *s, double surprise, double before);

/* Of row i, number j < SURPRISE_NUMBERS; and whether it can be. */
double *surprises_number(const struct surprises *s, size_t i, size_t j);
int surprised_sound(const struct surprised *row);

#endif
