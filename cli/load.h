/* One argument of the command line as values of one field, or as whole rows. */
#ifndef BPCN_CLI_LOAD_H
#define BPCN_CLI_LOAD_H

#include "input.h"
#include "table.h"

/* What to load. */
struct item {
    char *path;              /* "-": standard input */
    const fmt_column *field; /* NULL: whichever its shape fits */
    char *member;            /* of an .npz, or NULL */
    bool chosen;             /* by --rows, among the pictures of its folder: all of it is wanted */
    bool bad;                /* could not be read, and was passed over */
};

struct piece {
    const fmt_column *field; /* NULL: whole rows */
    size_t rows, size;
    float *x;             /* [rows x size] */
    unsigned char *known; /* [rows x size], or NULL: everything */
    uint8_t *labels;      /* [rows] that came along, or NULL */
    char *names;          /* [rows] of NAME_ROOM bytes each, of a table's column; or NULL */
    bool repeats;         /* a value given in place: stands for any number of rows */
    bool ended;           /* a stream that has no more rows */
    bool part;            /* rows of a table, perhaps not all of them */
};

/* 0, or -1 after a message. *table is opened here for a table, which comes in pieces, and closed after the last. */
int load_piece(const struct say *say, const fmt_schema *fields, const struct input_options *options,
               const struct item *item, struct table **table, struct piece *piece);
void piece_free(struct piece *piece);

/* values [rows x 1] that are class numbers become rows of -1 with one +1; 0, or -1 after a message. */
int labels_to_rows(const struct say *say, const char *name, const fmt_column *field, const float *values, size_t rows,
                   float *x);

#endif
