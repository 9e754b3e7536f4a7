/* csv.c: records of numbers and nothing else. Numbers are written in the C locale
 * whatever the program's locale, so that a decimal point is a point. */
#include "internal.h"
#include "schema.h"

#include <locale.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

typedef struct csv {
    const fmti_source *source;
    fmt_records *records;
    fmt_style style;
    size_t dim, dim_line;  /* values per row, and the line that set it */
} csv;

static bool says_nan(const fmt_cell *cell)
{
    return cell->size >= 3 && strncasecmp(cell->text + cell->size - 3, "nan", 3) == 0;
}

/* A number, NaN for what means missing; false: neither. */
static bool parse_cell(fmt_style *style, const fmt_cell *cell, double *value)
{
    static const fmt_column plain = {.kind = FMT_VECTOR, .scale = 1, .size = 1};
    float x;
    switch (fmt_encode_text(NULL, &plain, cell->text, cell->size, style, &x)) {
    case FMT_CELL_MISSING:
        *value = NAN;
        return true;
    case FMT_CELL_KNOWN:
    case FMT_CELL_FAR:
        return fmt_parse_number(cell->text, cell->size,
                                style->decimal ? style->decimal : '.', value);
    default:
        return false;
    }
}

static bool is_header(const csv *c, const fmt_record *record)
{
    for (size_t i = 0; i < record->count; i++) {
        fmt_style fresh = {.separator = c->style.separator};
        double value;
        if (parse_cell(&fresh, &record->cell[i], &value) &&
            (!isnan(value) || says_nan(&record->cell[i])))
            return false;
    }
    return true;
}

static fmt_status bad_cell(const csv *c, size_t line, size_t column,
                           const fmt_cell *cell)
{
    const fmti_source *s = c->source;
    if (cell->size == 0)
        return fmti_fail(s->error, FMT_ERR_FORMAT, s->name,
                         "line %zu, column %zu is empty", line, column);
    int kept = cell->size > 40 ? 40 : (int)cell->size;
    return fmti_fail(s->error, FMT_ERR_FORMAT, s->name,
                     "line %zu, column %zu is '%.*s', not a plain number",
                     line, column, kept, cell->text);
}

static fmt_status bad_value(const csv *c, size_t line, size_t column, float value)
{
    const fmti_source *s = c->source;
    if (isfinite(value))
        return fmti_fail(s->error, FMT_ERR_RANGE, s->name,
                         "line %zu, column %zu is %g, beyond %g", line, column,
                         (double)value, s->options->largest);
    return fmti_fail(s->error, FMT_ERR_VALUE, s->name,
                     isnan(value)
                         ? "line %zu, column %zu is not a number (nan)"
                         : "line %zu, column %zu is infinite, or too large for float32",
                     line, column);
}

/* One record's values into row, which has room for them. */
static fmt_status read_row(csv *c, const fmt_record *record, float *row)
{
    const fmti_source *s = c->source;
    if (c->dim == 0) {
        c->dim = record->count;
        c->dim_line = record->line;
    }
    for (size_t i = 0; i < record->count; i++) {
        double value;
        if (!parse_cell(&c->style, &record->cell[i], &value) ||
            (isnan(value) && !s->options->allow_missing && !says_nan(&record->cell[i])))
            return bad_cell(c, record->line, i + 1, &record->cell[i]);
        if (!fmti_value_is_fine(s->options, fmti_narrow(value)))
            return bad_value(c, record->line, i + 1, fmti_narrow(value));
        if (i < c->dim)
            row[i] = fmti_narrow(value);
    }
    if (record->count == c->dim)
        return FMT_OK;
    return fmti_fail(s->error, FMT_ERR_FORMAT, s->name,
                     "line %zu has %zu values, but line %zu has %zu", record->line,
                     record->count, c->dim_line, c->dim);
}

static fmt_status read_rows(csv *c, fmt_record *record, float *values, size_t *rows)
{
    const fmti_source *s = c->source;
    const fmt_options *o = s->options;
    size_t seen = 0;
    *rows = 0;
    while (record->count > 0 && (o->max_rows == 0 || *rows < o->max_rows)) {
        fmt_status status = read_row(c, record, values + *rows * c->dim);
        if (status != FMT_OK)
            return status;
        if (seen++ >= o->first_row)
            (*rows)++;
        status = fmt_records_next(c->records, record, s->error);
        if (status != FMT_OK)
            return status;
    }
    if (seen >= o->first_row)
        return FMT_OK;
    return fmti_fail(s->error, FMT_ERR_VALUE, s->name,
                     "has %zu rows, so none to take from row %zu on", seen,
                     o->first_row);
}

/* A value takes two bytes at least, with what separates it from the next: the
 * file's length bounds how many there can be. */
static fmt_status read_values(csv *c, fmt_record *record, fmt_table *table)
{
    const fmti_source *s = c->source;
    size_t room = s->size / 2 + 1, rows;
    float *values = fmti_alloc(room, sizeof(float));
    if (values == NULL)
        return fmti_no_memory(s->error, s->name, room * sizeof(float));
    fmt_status status = read_rows(c, record, values, &rows);
    if (status == FMT_OK)
        status = fmti_table_alloc(s, rows, c->dim, table);
    if (status == FMT_OK)
        memcpy(table->data, values, rows * c->dim * sizeof(float));
    free(values);
    return status;
}

static fmt_status read_table(csv *c, fmt_table *table)
{
    const fmti_source *s = c->source;
    fmt_record record;
    c->style.separator = fmt_records_separator(c->records);
    char first[41] = "";
    size_t line = 0;
    fmt_status status = fmt_records_next(c->records, &record, s->error);
    if (status == FMT_OK && record.count > 0 && is_header(c, &record)) {
        line = record.line;
        snprintf(first, sizeof first, "%.*s", (int)(record.cell[0].size < 40 ? record.cell[0].size : 40),
                 record.cell[0].text);
        status = fmt_records_next(c->records, &record, s->error);
    }
    if (status == FMT_OK && record.count == 0 && line > 0)
        return fmti_fail(s->error, FMT_ERR_FORMAT, s->name,
                         "line %zu begins with '%s', not a number, so that it is a header, and no row follows",
                         line, first);
    if (status == FMT_OK && record.count == 0)
        return fmti_fail(s->error, FMT_ERR_FORMAT, s->name, "has no rows of numbers");
    return status == FMT_OK ? read_values(c, &record, table) : status;
}

fmt_status fmti_csv_read(const fmti_source *source, fmt_table *table)
{
    csv c = {.source = source};
    FILE *stream = fmemopen((void *)(uintptr_t)source->data, source->size, "rb");
    if (stream == NULL)
        return fmti_no_memory(source->error, source->name, source->size);
    fmt_status status = fmt_records_open(stream, source->name, source->options->skip_lines,
                                         &c.records, source->error);
    if (status == FMT_OK)
        status = read_table(&c, table);
    fmt_records_close(c.records);
    fclose(stream);
    return status;
}

static fmt_status put_rows(fmti_output *out, const fmt_table *table)
{
    for (size_t row = 0; row < table->rows; row++) {
        for (size_t column = 0; column < table->dim; column++) {
            char text[40]; /* nine digits bring every float32 back */
            int used = snprintf(text, sizeof text, "%s%.9g",
                                column == 0 ? "" : ",",
                                (double)table->data[row * table->dim + column]);
            fmt_status status = fmti_put(out, text, (size_t)used);
            if (status != FMT_OK)
                return status;
        }
        fmt_status status = fmti_put(out, "\n", 1);
        if (status != FMT_OK)
            return status;
    }
    return FMT_OK;
}

fmt_status fmti_csv_write(fmti_output *out, const fmt_table *table)
{
    locale_t plain = newlocale(LC_ALL_MASK, "C", (locale_t)0);
    if (plain == (locale_t)0)
        return fmti_no_memory(out->error, out->name, 1);
    locale_t before = uselocale(plain);
    fmt_status status = put_rows(out, table);
    uselocale(before);
    freelocale(plain);
    return status;
}
