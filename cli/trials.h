/* Rows of a table that are about to be written put the memory to the test: how far it is off where it does not look. */
#ifndef BPCN_CLI_TRIALS_H
#define BPCN_CLI_TRIALS_H

#include "memfile.h"

/* memfile_write, after a trial with some of the rows where the memory is for tables. */
bpcn_status trials_write(struct memfile *file, const float *x, const unsigned char *known, size_t n, const char *names,
                         bpcn_write_row *info, size_t *written);

/* "hidden cells of coming rows were filled to within 0.71 of their column's scale (its centre: 1.02)" into text; ""
   when there were too few. */
void trials_describe(const bpcn_trials *trials, char *text, size_t room);

#endif
