/* fuzz_formats_idx.c: any bytes as an IDX file, gzipped or not, as it is and
 * brought to another shape; and as CIFAR-10 and raw floats, which have no
 * magic to get past. */
#include "../../formats/formats.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(int law)
{
    if (!law)
        abort();
}

static void read_as(const uint8_t *data, size_t size, fmt_kind kind, bool resize)
{
    fmt_options options = fmt_options_default();
    fmt_table table;
    options.kind = kind;
    options.max_values = 1 << 16;
    options.resize = resize;
    options.height = options.width = resize ? 3 : 0;
    options.dim = kind == FMT_RAW ? 5 : 0;
    options.first_row = size % 3 == 1 ? 1 : 0;
    bpcn_fail(BPCN_OK, "%s", "");
    bpcn_status status = fmt_read_memory(data, size, "fuzz", &options, &table);
    check((status == BPCN_OK) == (bpcn_error()[0] == '\0'));
    if (status == BPCN_OK && resize && table.height != 0)
        check(table.dim == 9 * table.channels);
    fmt_table_free(&table);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    read_as(data, size, FMT_IDX, false);
    read_as(data, size, FMT_IDX, true);
    read_as(data, size, FMT_CIFAR, false);
    read_as(data, size, FMT_RAW, false);
    return 0;
}
