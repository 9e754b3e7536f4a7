/* What the rows of a call know. */
#ifndef BPCN_MASKS_H
#define BPCN_MASKS_H

#include <stddef.h>

struct masks {
    const unsigned char *mask; /* [dim]: what all of them know; NULL: everything, or not all the same */
    double share;              /* of the entries that count for a row, on average */
    int same;                  /* all know the same entries */
};

/* How many of a row's entries are known. */
size_t known_entries(size_t dim, const unsigned char *known);

/* Of n rows with their masks [n x dim], or NULL: all is known. Every entry that is known counts. */
struct masks masks_of_rows(size_t dim, size_t n, const unsigned char *known);

#endif
