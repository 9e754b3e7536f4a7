/* The network of a memory for a table. */
#ifndef BPCN_CLI_TABLE_OPTIONS_H
#define BPCN_CLI_TABLE_OPTIONS_H

#include "bayespcn.h"
#include "formats/schema.h"
#include "say.h"

/* What suits rows of these columns, in options that hold the defaults: of a few settings the one that fills hidden
   cells of the file's first rows best after learning from the rows before them. 0, or an exit status after a message.
 */
int table_options(const struct say *say, const fmt_schema *columns, const char *path, bpcn_options *options);

#endif
