/* fuzz_formats_csv.c: any bytes as CSV. What is accepted must come back the same
 * after being written and read again. */
#include "../../formats/formats.h"

#include <math.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(int law)
{
    if (!law)
        abort();
}

static void check_round_trip(const fmt_table *table, const fmt_options *options)
{
    char *bytes = NULL;
    size_t size = 0;
    fmt_table back;
    FILE *stream = open_memstream(&bytes, &size);
    check(stream != NULL);
    check(fmt_write_stream(stream, "out", FMT_CSV, table) == BPCN_OK);
    fclose(stream);
    check(fmt_read_memory((const uint8_t *)bytes, size, "back", options, &back) == BPCN_OK);
    check(back.rows == table->rows && back.dim == table->dim);
    for (size_t i = 0; i < back.rows * back.dim; i++)
        check(back.data[i] == table->data[i] || (isnan(back.data[i]) && isnan(table->data[i])));
    fmt_table_free(&back);
    free(bytes);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    fmt_options options = fmt_options_default();
    fmt_table table;
    options.kind = FMT_CSV;
    options.max_values = 1 << 16;
    options.allow_nonfinite = size % 2 == 1;
    bpcn_fail(BPCN_OK, "%s", "");
    bpcn_status status = fmt_read_memory(data, size, "fuzz", &options, &table);
    check((status == BPCN_OK) == (bpcn_error()[0] == '\0'));
    if (status == BPCN_OK)
        check_round_trip(&table, &options);
    fmt_table_free(&table);
    options.skip_lines = options.first_row = options.max_rows = 1;
    if (fmt_read_memory(data, size, "fuzz", &options, &table) == BPCN_OK)
        check(table.rows <= 1);
    fmt_table_free(&table);
    return 0;
}
