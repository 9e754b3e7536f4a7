/* Rows with gaps to whole rows. */
#ifndef BPCN_CLI_FILLING_H
#define BPCN_CLI_FILLING_H

#include "memfile.h"

/* x [n x dim]: what known [n x dim] leaves out is filled in. spread [n x dim], or NULL: the standard deviation of every
   filled entry, 0 for the others. 0, or an exit status after a message. */
int fill_rows(const struct memfile *file, float *x, const unsigned char *known, size_t n, float *spread);

/* The same with the spread that the library gives, which trials make cover what it should. */
bpcn_status fill_raw(const struct memfile *file, float *x, const unsigned char *known, size_t n, float *spread);

/* How unsure a filled cell is, from the entries and spreads of its column: of a number a standard deviation in its
   units, of a category the chance that another word is right. */
double cell_spread(const fmt_column *column, const float *x, const float *spread);

#endif
