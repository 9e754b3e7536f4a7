/* Rows of a table's memory as CSV, in the table's units, with its header. */
#ifndef BPCN_CLI_TABLE_WRITER_H
#define BPCN_CLI_TABLE_WRITER_H

#include "fields.h"

struct table_writer;

/* To a path ("-": standard output), or one column of it; NULL, and the error, when it cannot be opened. */
struct table_writer *table_writer_open(const fmt_schema *schema, const fmt_column *only, const char *path,
                                       fmt_error *error);

/* Rows of entries [rows x dim]; an entry that is NaN makes an empty cell. */
fmt_status table_writer_add(struct table_writer *writer, const float *x, size_t rows);
const char *table_writer_error(const struct table_writer *writer);

/* Keeps what was written, or leaves what was there; frees. NULL is fine. */
fmt_status table_writer_close(struct table_writer *writer, bool keep, fmt_error *error);

#endif
