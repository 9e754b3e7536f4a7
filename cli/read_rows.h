/* Rows for a memory from the files, folders, streams and values named on the command line. */
#ifndef BPCN_CLI_READ_ROWS_H
#define BPCN_CLI_READ_ROWS_H

#include "args.h"
#include "formats/formats.h"
#include "table.h"
#include "table_schema.h"

/* What the options --resize --pixels --channels-last --format --member --rows --clip --skip-bad --bad-rows say. */
struct input_options {
    bool resize;         /* bring pictures to the memory's shape and colours */
    bool pixels;         /* bytes of arrays are pixels */
    bool channels_last;  /* arrays of pictures are height x width x channels */
    fmt_kind kind;       /* FMT_ANY: find out; standard input: raw */
    const char *member;  /* of an .npz */
    size_t first, count; /* rows of every input to take, or pictures of a folder; count 0: all */
    bool skip_bad;       /* pass over an input that cannot be read, having said why */
    bool clip;           /* numbers far from their column's centre are brought nearer */
    enum bad_rows bad;   /* --bad-rows: of a table */
    const char *name;    /* of the column of a table that has the names of its rows, or NULL */
};

/* Takes the option c if it is one of them; false otherwise. */
bool input_option(struct args *a, int c, struct input_options *options);

/* Rows that arrived together. */
struct batch {
    char *name;    /* of the file, or of the files of its fields */
    size_t first;  /* number of the first row within it */
    bool numbered; /* it has, or may have, several rows */
    size_t rows;
    float *x;             /* [rows x dim]; what is not known is 0 */
    unsigned char *known; /* [rows x dim], or NULL: all of the fields that were given */
    bool *given;          /* [fields] */
    char *names;          /* [rows] of NAME_ROOM bytes each, "" for none; or NULL: no row has one */
    unsigned char *bad;   /* [rows] of a table that could not be read, of which nothing is known; or NULL: none */
};

struct input;

struct input *input_open(const struct console *console, const fmt_schema *fields, const struct input_options *options,
                         char **names, int count);

/* Rows in all, as far as can be told now; 0: cannot be told. */
size_t input_expected(const struct input *input);

/* 1 and the next rows, 0 at the end, -1 after an error, which has been said. Free the batch. */
int input_next(struct input *input, struct batch *batch);
void input_close(struct input *input);

/* Whether the next rows would have to be waited for. */
bool input_pauses(const struct input *input);

/* Rows of tables that could not be read so far. */
size_t input_bad_rows(const struct input *input);

/* After the end: names what --skip-bad passed over. EXIT_REFUSED if there is anything, EXIT_DONE otherwise. */
int input_tell_skipped(const struct input *input);
void batch_free(struct batch *batch);

/* Whether a query that knows so much, [rows x dim], leaves out something that the batch knows of a field of a row. */
bool batch_hides(const struct batch *batch, const unsigned char *known, size_t dim, size_t row,
                 const fmt_column *field);

/* "photo.png" or "digits.npy row 3". */
void batch_row_name(const struct batch *batch, size_t row, char *out, size_t capacity);

#endif
