/* fuzz_formats_schema.c: any bytes as the text of a schema. What is accepted says the same after being written and
 * read again, and every column of it turns entries into cells. */
#include "../../formats/schema.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(int law)
{
    if (!law)
        abort();
}

static void check_cells(const fmt_schema *schema)
{
    fmt_style style = {.separator = ';', .decimal = ','};
    char text[FMT_CELL_ROOM];
    for (size_t k = 0; k < schema->count; k++) {
        const fmt_column *c = &schema->column[k];
        if (!fmt_column_in_table(c))
            continue;
        float *x = calloc(c->size, sizeof *x);
        check(x != NULL);
        fmt_decode_text(c, x, &style, text, sizeof text);
        fmt_encode_text(schema, c, text, strlen(text), &style, x);
        fmt_encode_value(c, fmt_decode_value(c, x), true, x);
        free(x);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    fmt_schema schema, again;
    char *text = malloc(size + 1), shown[100];
    check(text != NULL);
    memcpy(text, data, size);
    text[size] = '\0';
    bpcn_fail(BPCN_OK, "%s", "");
    bpcn_status status = fmt_schema_parse(text, &schema);
    check((status == BPCN_OK) == (bpcn_error()[0] == '\0'));
    free(text);
    if (status != BPCN_OK)
        return 0;
    char *first = fmt_schema_format(&schema);
    check(first != NULL);
    fmt_schema_describe(&schema, shown, sizeof shown);
    if (schema.count > 0) {
        check(fmt_schema_parse(first, &again) == BPCN_OK);
        char *second = fmt_schema_format(&again);
        check(second != NULL && strcmp(first, second) == 0 && again.dim == schema.dim && again.cells == schema.cells);
        free(second);
        fmt_schema_free(&again);
    }
    check_cells(&schema);
    free(first);
    fmt_schema_free(&schema);
    return 0;
}
