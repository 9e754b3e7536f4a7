/* One setting for tables. */
#include "table_options.h"

void table_options(const fmt_schema *columns, size_t rows, bpcn_options *options)
{
    (void)rows;
    options->dim = columns->dim;
    options->layers = 2;
    options->hidden[0] = options->hidden[1] = 128;
    options->activation = BPCN_GELU;
    options->sigma_x = 0.1; /* rows of a table are never twice the same: as much is noise */
}
