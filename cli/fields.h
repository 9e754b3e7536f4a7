/* What a row of a memory is, as the command line says it: pictures and vectors by their shapes, and what the commands
   ask of columns (formats/schema.h). */
#ifndef BPCN_CLI_FIELDS_H
#define BPCN_CLI_FIELDS_H

#include "formats/schema.h"

enum { FIELDS_TEXT_MOST = 1024 };

/* One unnamed picture ("image") or vector ("row"), as --image and --dim give it; -1 with a sentence in error. */
int fields_parse_shape(const char *name, const char *shape, fmt_schema *fields, fmt_error *error);

bool field_is_picture(const fmt_column *field);

/* A vector of several values is taken for one-of-n. */
bool field_is_label(const fmt_column *field);

/* The index of the greatest entry: which label a one-of-n field shows. */
size_t field_label(const fmt_column *field, const float *row);

/* column [dim]: of which column every entry is. */
void fields_columns(const fmt_schema *fields, size_t *column);

#endif
