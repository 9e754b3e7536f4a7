/* fuzz_formats_npy.c: any bytes as an .npy file. What is accepted must be as
 * large as it says, and must survive being written and read again. */
#include "../../formats/formats.h"

#include <stdlib.h>
#include <string.h>

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
    fmt_options whole = *options;
    whole.first_row = whole.max_rows = 0;
    FILE *stream = open_memstream(&bytes, &size);
    check(stream != NULL);
    check(fmt_write_stream(stream, "out", FMT_NPY, table) == BPCN_OK);
    fclose(stream);
    check(fmt_read_memory((const uint8_t *)bytes, size, "back", &whole, &back) == BPCN_OK);
    check(back.rows == table->rows && back.dim == table->dim);
    check(memcmp(back.data, table->data, back.rows * back.dim * sizeof(float)) == 0);
    fmt_table_free(&back);
    free(bytes);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    fmt_options options = fmt_options_default();
    fmt_table table;
    fmt_array array;
    options.kind = FMT_NPY;
    options.max_values = 1 << 16;
    options.scale_bytes = size % 2 == 1;
    options.first_row = size % 3 == 1 ? 1 : 0;
    options.max_rows = size % 5 == 1 ? 2 : 0;
    bpcn_fail(BPCN_OK, "%s", "");
    bpcn_status status = fmt_read_memory(data, size, "fuzz", &options, &table);
    check((status == BPCN_OK) == (bpcn_error()[0] == '\0'));
    if (status == BPCN_OK)
        check_round_trip(&table, &options);
    fmt_table_free(&table);
    if (fmt_npy_parse_f64(data, size, "fuzz", &array) == BPCN_OK)
        check(array.count <= size);
    fmt_array_free(&array);
    return 0;
}
