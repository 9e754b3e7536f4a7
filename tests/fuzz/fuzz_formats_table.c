/* fuzz_formats_table.c: any bytes as a table. The records, put together again, are the file to the byte; what is
 * inferred of the columns survives its text, and every row of the file can be read by it. */
#include "../../formats/schema.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(int law)
{
    if (!law)
        abort();
}

static void put(FILE *out, const char *bytes, size_t size)
{
    if (size > 0)
        check(fwrite(bytes, 1, size, out) == size);
}

static void check_bytes(const uint8_t *data, size_t size)
{
    char *bytes = NULL;
    size_t total = 0;
    fmt_records *records = NULL;
    fmt_record r;
    FILE *in = fmemopen((void *)(uintptr_t)data, size, "rb"), *out = open_memstream(&bytes, &total);
    check(in != NULL && out != NULL);
    bpcn_status status = fmt_records_open(in, "fuzz", 0, &records);
    do {
        if (status == BPCN_OK)
            status = fmt_records_next(records, &r);
        if (status != BPCN_OK)
            break;
        char separator = fmt_records_separator(records);
        put(out, r.before, r.before_size);
        for (size_t i = 0; i < r.count; i++) {
            put(out, &separator, i > 0);
            put(out, r.cell[i].raw, r.cell[i].raw_size);
            check(r.cell[i].size <= 3 * size); /* a byte of Windows-1252 becomes up to three */
        }
        put(out, r.ending, r.ending_size);
    } while (r.count > 0);
    /* a tab in a run of spaces comes back as a space */
    bool exact = status == BPCN_OK && fmt_records_separator(records) != ' ';
    fclose(out);
    if (exact)
        check(total == size && memcmp(bytes, data, size) == 0);
    fmt_records_close(records);
    fclose(in);
    free(bytes);
}

/* What a column writes it can read. */
static void check_writing(const fmt_schema *schema)
{
    fmt_style style = {.separator = ';', .decimal = schema->decimal == ',' ? ',' : '.'};
    char text[FMT_CELL_ROOM];
    for (size_t k = 0; k < schema->count; k++) {
        const fmt_column *c = &schema->column[k];
        float *x = calloc(c->size, sizeof *x);
        check(x != NULL);
        fmt_decode_text(c, x, &style, text, sizeof text);
        fmt_style same = style;
        if (strchr(text, '"') == NULL && strlen(text) < 400 && strlen(text) > 0) {
            fmt_cell_state state = fmt_encode_text(schema, c, text, strlen(text), &same, x);
            check(state != FMT_CELL_WORD && state != FMT_CELL_COMMA && state != FMT_CELL_UNSEEN);
        }
        free(x);
    }
}

static void check_inference(const uint8_t *data, size_t size)
{
    fmt_inference found;
    fmt_schema again;
    FILE *in = fmemopen((void *)(uintptr_t)data, size, "rb");
    check(in != NULL);
    bpcn_fail(BPCN_OK, "%s", "");
    bpcn_status status = fmt_infer(in, "fuzz", &(fmt_infer_options){.rows = 100}, &found);
    fclose(in);
    check((status == BPCN_OK) == (bpcn_error()[0] == '\0'));
    if (status != BPCN_OK)
        return;
    check_writing(&found.schema);
    char *text = fmt_schema_format(&found.schema);
    check(text != NULL && fmt_schema_parse(text, &again) == BPCN_OK);
    check(again.dim == found.schema.dim && again.ignored_count == found.schema.ignored_count);
    for (size_t k = 0; k < again.count; k++)
        check(again.column[k].scale > 0 && again.column[k].kind == found.schema.column[k].kind);
    free(text);
    fmt_schema_free(&again);
    fmt_inference_free(&found);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size == 0)
        return 0;
    check_bytes(data, size);
    check_inference(data, size);
    return 0;
}
