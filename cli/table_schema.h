/* What a row of a memory is, as the command line says it: pictures and vectors by their shapes, and what the commands
   ask of columns (formats/schema.h). */
#ifndef BPCN_CLI_TABLE_SCHEMA_H
#define BPCN_CLI_TABLE_SCHEMA_H

#include "args.h"
#include "console.h"
#include "formats/schema.h"

enum { FIELDS_TEXT_MOST = 1024 };

/* One unnamed picture ("image") or vector ("row"), as --image and --dim give it; -1 with a sentence in error. */
int fields_parse_shape(const char *name, const char *shape, fmt_schema *fields);

bool field_is_picture(const fmt_column *field);

/* A vector of several values is taken for one-of-n. */
bool field_is_label(const fmt_column *field);

/* The index of the greatest entry: which label a one-of-n field shows. */
size_t field_label(const fmt_column *field, const float *row);

/* column [dim]: of which column every entry is. */
void fields_columns(const fmt_schema *fields, size_t *column);

/* ---- bpcn create --like TABLE.csv: what a row is, from a table, and what the command line says of its columns. */

struct table_schema {
    const char *path; /* --like; NULL: not given */
    fmt_wish *wishes; /* --column and --ignore */
    char **names;     /* [wish_count] that they point to */
    size_t wish_count;
    fmt_words missing, not_missing; /* --missing, --not-missing */
    char decimal;                   /* --decimal: '.' or ','; 0: not given */
    fmt_inference found;
};

/* Takes the option c if it is one of them; false otherwise. */
bool table_schema_option(struct args *a, int c, struct table_schema *like);

/* Looks at the table; 0, or an exit status after a message. */
int table_schema_infer(const struct console *console, struct table_schema *like);

/* What was found, as lines or (json) as members of an object. */
void table_schema_print(const struct console *console, const struct table_schema *like);
void table_schema_free(struct table_schema *like);

/* ---- The columns of a table's memory, for people and for programs. */

/* One line a column. reasons: why the ignored ones are, or NULL. */
void columns_print(const struct console *console, const fmt_schema *schema, const fmt_words *reasons);

/* "columns":[...],"ignored":[...] */
void columns_json(FILE *out, const fmt_schema *schema, const fmt_words *reasons);

#endif
