/* The network of a memory for a table. */
#ifndef BPCN_CLI_TABLE_OPTIONS_H
#define BPCN_CLI_TABLE_OPTIONS_H

#include "bayespcn.h"
#include "formats/schema.h"

/* What suits rows of these columns, of which about so many are to come (0: unknown), in options that hold the
   defaults. */
void table_options(const fmt_schema *columns, size_t rows, bpcn_options *options);

#endif
