/* A CSV table row by row as entries of a memory: its columns are found by their names, or without a header by their
   places; cells become entries of about 1; what is missing is unknown. */
#ifndef BPCN_CLI_TABLE_H
#define BPCN_CLI_TABLE_H

#include "bayespcn.h"
#include "console.h"
#include "formats/schema.h"
#include "table_schema.h"

/* A cell of the file's rows: a column of the memory (or one entry of it), or NULL: passed over. */
struct table_cell {
    const fmt_column *column;
    size_t entry; /* of the memory's row: the first of the cell's */
};

/* What is done with a row that has a bad cell, which is told with its line and column. */
enum bad_rows {
    BAD_KEEP, /* it goes through: nothing of it is known, and fill gives it back as it is */
    BAD_SKIP, /* it is left out */
    BAD_STOP  /* it ends the command */
};

enum { TABLE_BAD = 2, BAD_TOLD = 20 };

struct table {
    const struct console *console;
    const fmt_schema *schema;
    char *name; /* "standard input" */
    FILE *stream;
    fmt_records *records;
    fmt_style style;
    size_t columns; /* of the file */
    struct table_cell *cell;
    fmt_cell_state *state; /* of the row read last */
    fmt_record record;     /* likewise; of a bad one perhaps without cells, all in `before` */
    bool first;            /* the record is the first row, and not yet taken */
    char *header;          /* the file's bytes before its first row */
    size_t header_size;
    size_t named;  /* the column that has the names of the rows, counted from 1; 0: none */
    size_t lines;  /* of the header: 0 or the line it stands in */
    size_t unseen; /* cells with a word that their category does not have */
    char sample[160];
    enum bad_rows bad;
    size_t bad_rows, rows; /* read so far */
    uint64_t bytes;        /* of the file; 0: a stream */
};

/* NULL after a message. The path "-" is standard input. */
struct table *table_open(const struct console *console, const fmt_schema *schema, const char *path, bool clip,
                         enum bad_rows bad);

/* The next row's entries [dim] and which are known [dim]; 1, 0 at the end, -1 after a message; TABLE_BAD after a
 * message about the row, of which nothing is known then (but not where BAD_STOP is wanted). */
int table_row(struct table *table, float *x, unsigned char *known);

/* Whether the next row would have to be waited for: time to give out what there is. */
bool table_pauses(struct table *table);

/* Rows in all, by the bytes of those so far; 0: cannot be told. */
size_t table_expected(const struct table *table);

/* How cells are to be written into this file. */
fmt_style table_style(const struct table *table);

/* "12 rows have bad cells": EXIT_REFUSED, or EXIT_DONE if there are none. done: what became of them. */
int table_tell_bad(const struct console *console, size_t bad, const char *done);

/* Before its first row: its column of this name has the names of its rows, or with NULL none has. -1 after a message.
 */
int table_name_by(struct table *table, const char *column);

/* The name of the row read last; "" for an empty cell. */
void table_name(const struct table *table, char name[NAME_ROOM]);

/* Says what was passed over, and frees. */
void table_close(struct table *table);

/* Whether rows of a CSV file are read this way: the memory's columns are cells. */
bool table_suits(const fmt_schema *schema);

/* Rows of numbers as arrays have them, [rows x cells], to entries [rows x dim]; -1 after a message. */
int table_encode(const struct console *console, const fmt_schema *schema, const char *name, size_t first,
                 const float *values, size_t rows, bool clip, float *x, unsigned char *known);

/* And back, of one row. */
void table_decode(const fmt_schema *schema, const float *x, float *values);

/* ---- Rows of a table's memory as CSV, in the table's units, with its header. */

struct table_writer;

/* To a path ("-": standard output), or one column of it; NULL, and the error, when it cannot be opened. */
struct table_writer *table_writer_open(const fmt_schema *schema, const fmt_column *only, const char *path);

/* Rows of entries [rows x dim]; an entry that is NaN makes an empty cell. */
bpcn_status table_writer_add(struct table_writer *writer, const float *x, size_t rows);
const char *table_writer_error(const struct table_writer *writer);

/* Keeps what was written, or leaves what was there; frees. NULL is fine. */
bpcn_status table_writer_close(struct table_writer *writer, bool keep);

#endif
