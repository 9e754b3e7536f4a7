/* fuzz_formats_image.c: any bytes as a picture, PNG, JPEG or PNM by content, as
 * it is and resized. Pixels must lie in [-1, 1], and a picture accepted must
 * come back from a PGM or PPM. */
#include "../../formats/formats.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(int law)
{
    if (!law)
        abort();
}

static void check_pixels(const fmt_table *table)
{
    check(table->rows == 1);
    check(table->dim == table->height * table->width * table->channels);
    for (size_t i = 0; i < table->dim; i++) /* a resized pixel may be an ulp out */
        check(table->data[i] >= -1.000001f && table->data[i] <= 1.000001f);
}

static void check_round_trip(const fmt_table *table)
{
    char *bytes = NULL;
    size_t size = 0;
    fmt_table back;
    FILE *stream = open_memstream(&bytes, &size);
    check(stream != NULL);
    check(fmt_write_stream(stream, "out", FMT_PNM, table) == BPCN_OK);
    fclose(stream);
    check(fmt_read_memory((const uint8_t *)bytes, size, "back", NULL, &back) == BPCN_OK);
    check(back.height == table->height && back.channels == table->channels);
    for (size_t i = 0; i < back.dim; i++) { /* half a level, and rounding */
        float apart = back.data[i] - table->data[i];
        check(apart < 0.00393f && apart > -0.00393f);
    }
    fmt_table_free(&back);
    free(bytes);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    fmt_options options = fmt_options_default();
    fmt_table table;
    options.max_values = 1 << 14;
    fmt_kind kind = fmt_recognise(NULL, data, size);
    if (kind != FMT_PNG && kind != FMT_JPEG && kind != FMT_PNM)
        return 0;
    bpcn_fail(BPCN_OK, "%s", "");
    bpcn_status status = fmt_read_memory(data, size, "fuzz", &options, &table);
    check((status == BPCN_OK) == (bpcn_error()[0] == '\0'));
    if (status != BPCN_OK)
        return 0;
    check_pixels(&table);
    check_round_trip(&table);
    fmt_table_free(&table);
    options.resize = true;
    options.height = 1 + size % 7;
    options.width = 1 + size % 11;
    options.channels = size % 2 == 0 ? 1 : 3;
    if (fmt_read_memory(data, size, "fuzz", &options, &table) == BPCN_OK)
        check_pixels(&table);
    fmt_table_free(&table);
    return 0;
}
