/* What bpcn fill does with a table, and with an array. */
#ifndef BPCN_CLI_FILL_H
#define BPCN_CLI_FILL_H

#include "input.h"
#include "memfile.h"
#include "progress.h"

#include <string.h>

struct fill {
    struct memfile file;
    struct input_options input;
    struct progress progress;
    const char *output; /* -o; "-": standard output */
    const char *spread; /* --spread, or NULL */
    bool write;         /* learn every row after it was filled */
    size_t rows, filled_rows, filled_cells, written;
};

/* Whether the input is read as text, cell by cell. */
bool fill_is_table(const struct fill *fill, const char *path);

/* 0, or an exit status after a message; then nothing of the output is left. */
int fill_table(struct fill *fill, const char *path);
int fill_array(struct fill *fill, const char *path);

/* Learns a row as it was before it was filled. 0, or an exit status after a message about `name`, row `row`. */
int fill_write(struct fill *fill, const char *name, size_t row, const float *x, const unsigned char *known);

#endif
