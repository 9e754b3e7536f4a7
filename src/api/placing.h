/* Where rows go: the change by which a row is written or taken back. */
#ifndef BPCN_PLACING_H
#define BPCN_PLACING_H

#include "handle.h"

struct placed {
    struct change change; /* what it points to is the edit's, until the next row is placed, or here */
    double surprise;      /* of the row, where it is asked for */
    void *codes;          /* of all views together, or NULL */
    double *log_weights;
    char name[NAME_ROOM]; /* of the row */
};

/* How to write one row, in the model's precision, and what will have become of it. */
bpcn_status place_write(struct edit *edit, const void *x, const unsigned char *known, struct placed *placed,
                        bpcn_write_row *row);

/* The row is to have this name, where names are kept. */
void placed_name(const struct edit *edit, const char *name, struct placed *placed);

/* How to take a row back: from the shard that explains it best of those that hold it, or, if it is the one of that
   name, from that one's (NULL: it may be any); or from its shard in every view. */
bpcn_status place_delete(struct edit *edit, const void *x, const struct named *named, struct placed *placed);

void placed_free(struct placed *placed); /* in any case */

#endif
