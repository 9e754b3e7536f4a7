/* The columns of a table's memory, for people and for programs. */
#ifndef BPCN_CLI_COLUMNS_H
#define BPCN_CLI_COLUMNS_H

#include "fields.h"
#include "say.h"

/* One line a column. reasons: why the ignored ones are, or NULL. */
void columns_tell(const struct say *say, const fmt_schema *schema, const fmt_words *reasons);

/* "columns":[...],"ignored":[...] */
void columns_json(FILE *out, const fmt_schema *schema, const fmt_words *reasons);

#endif
