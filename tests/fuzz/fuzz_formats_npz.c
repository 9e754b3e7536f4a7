/* fuzz_formats_npz.c: any bytes as an .npz file: listing it, reading the only
 * member, and reading each member listed. */
#include "../../formats/formats.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(int law)
{
    if (!law)
        abort();
}

static void read_member(const uint8_t *data, size_t size, const char *member)
{
    fmt_options options = fmt_options_default();
    fmt_table table;
    options.kind = FMT_NPZ;
    options.max_values = 1 << 16;
    options.member = member;
    bpcn_fail(BPCN_OK, "%s", "");
    bpcn_status status = fmt_read_memory(data, size, "fuzz", &options, &table);
    check((status == BPCN_OK) == (bpcn_error()[0] == '\0'));
    if (status == BPCN_OK)
        check(table.rows * table.dim <= options.max_values);
    fmt_table_free(&table);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    fmt_names names;
    fmt_array array;
    read_member(data, size, NULL);
    if (fmt_npz_parse_list(data, size, "fuzz", &names) != BPCN_OK)
        return 0;
    for (size_t i = 0; i < names.count && i < 4; i++) {
        read_member(data, size, names.name[i]);
        if (fmt_npz_parse_f64(data, size, "fuzz", names.name[i], &array) == BPCN_OK)
            fmt_array_free(&array);
    }
    fmt_names_free(&names);
    return 0;
}
