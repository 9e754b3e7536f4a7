/* The first rows of a table's file, for the library's look at them. */
#include "table_options.h"

#include "fields.h"
#include "table.h"

#include <stdlib.h>
#include <string.h>

struct look {
    size_t rows;
    float *x;             /* [BPCN_MAX_LOOK x dim] */
    unsigned char *known; /* likewise */
    size_t *column;       /* [dim] */
};

/* Up to BPCN_MAX_LOOK rows of which something is known. What is odd in the table is said when it is written. */
static void read_rows(const struct say *say, const fmt_schema *columns, const char *path, struct look *l)
{
    struct say quiet = *say;
    quiet.quiet = true;
    struct table *table = table_open(&quiet, columns, path, true);
    for (int got = 1; table != NULL && l->rows < BPCN_MAX_LOOK && got > 0;) {
        unsigned char *known = l->known + l->rows * columns->dim;
        got = table_row(table, l->x + l->rows * columns->dim, known);
        l->rows += got > 0 && memchr(known, 1, columns->dim) != NULL;
    }
    if (table != NULL)
        table_close(table);
}

int table_options(const struct say *say, const fmt_schema *columns, const char *path, bpcn_options *options)
{
    struct look l = {.x = calloc(BPCN_MAX_LOOK * columns->dim, sizeof *l.x),
                     .known = calloc(BPCN_MAX_LOOK, columns->dim),
                     .column = calloc(columns->dim, sizeof *l.column)};
    bpcn_status status = BPCN_NO_MEMORY;
    options->dim = columns->dim;
    if (l.x != NULL && l.known != NULL && l.column != NULL) {
        fields_columns(columns, l.column);
        if (strcmp(path, "-") != 0) /* a stream has no first rows twice */
            read_rows(say, columns, path, &l);
        status = bpcn_options_for_table(options, l.column, l.x, l.known, l.rows);
    }
    free(l.x);
    free(l.known);
    free(l.column);
    return status == BPCN_OK          ? 0
           : status == BPCN_NO_MEMORY ? say_error(say, "out of memory")
                                      : say_error(say, "%s: %s", path, bpcn_error());
}
