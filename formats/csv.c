/* csv.c: numbers in lines of text. Numbers are read and written in the C locale
 * whatever the program's locale, so that a decimal point is a point. */
#include "internal.h"

#include <errno.h>
#include <locale.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { LONGEST_NUMBER = 500 };

typedef struct csv {
    const fmti_source *source;
    const char *p, *end;   /* what is left of the file */
    size_t line;           /* of the line last taken, from 1 */
    char separator;        /* ' ' stands for any run of spaces */
    size_t dim, dim_line;  /* values per row, and the line that set it */
} csv;

typedef struct span {
    const char *p, *end;
} span;

static span trim(span s)
{
    while (s.p < s.end && (*s.p == ' ' || *s.p == '\t'))
        s.p++;
    while (s.p < s.end && (s.end[-1] == ' ' || s.end[-1] == '\t' ||
                           s.end[-1] == '\r'))
        s.end--;
    return s;
}

/* The next line that is not blank, without its end. */
static bool next_line(csv *c, span *line)
{
    while (c->p < c->end) {
        const char *stop = memchr(c->p, '\n', (size_t)(c->end - c->p));
        line->p = c->p;
        line->end = stop != NULL ? stop : c->end;
        c->p = stop != NULL ? stop + 1 : c->end;
        c->line++;
        span text = trim(*line);
        if (text.p < text.end)
            return true;
    }
    return false;
}

/* Takes the next field off the line; false when there is none. *more tells
 * whether a separator follows it, so that "1," has an empty second field. */
static bool next_field(const csv *c, span *line, span *field, bool *more)
{
    if (!*more)
        return false;
    if (c->separator == ' ')
        *line = trim(*line);
    const char *stop = memchr(line->p, c->separator, (size_t)(line->end - line->p));
    *more = stop != NULL;
    field->p = line->p;
    field->end = stop != NULL ? stop : line->end;
    line->p = stop != NULL ? stop + 1 : line->end;
    *field = trim(*field);
    return true;
}

/* Plain decimal, or nan, inf, infinity; not hex, not quoted. */
static bool looks_like_number(span s)
{
    size_t length = (size_t)(s.end - s.p);
    if (length == 0 || length > LONGEST_NUMBER)
        return false;
    bool has_digit = false;
    for (size_t i = 0; i < length; i++) {
        if (s.p[i] == '\0' || strchr("0123456789+-.eEnNaAiIfFtTyY", s.p[i]) == NULL)
            return false;
        has_digit = has_digit || (s.p[i] >= '0' && s.p[i] <= '9');
    }
    return has_digit || length <= sizeof "-infinity" - 1;
}

static bool parse_number(span s, float *value)
{
    char text[LONGEST_NUMBER + 1];
    if (!looks_like_number(s))
        return false;
    size_t length = (size_t)(s.end - s.p);
    memcpy(text, s.p, length);
    text[length] = '\0';
    char *stop;
    *value = strtof(text, &stop);
    return *stop == '\0' && stop != text;
}

static char find_separator(span line)
{
    for (const char *p = line.p; p < line.end; p++)
        if (*p == ',' || *p == ';' || *p == '\t')
            return *p;
    return ' ';
}

static bool is_header(const csv *c, span line)
{
    span field;
    float value;
    bool more = true;
    while (next_field(c, &line, &field, &more))
        if (parse_number(field, &value))
            return false;
    return true;
}

static fmt_status bad_field(const csv *c, size_t column, span field)
{
    const fmti_source *s = c->source;
    if (field.p == field.end)
        return fmti_fail(s->error, FMT_ERR_FORMAT, s->name,
                         "line %zu, column %zu is empty", c->line, column);
    int kept = field.end - field.p > 40 ? 40 : (int)(field.end - field.p);
    return fmti_fail(s->error, FMT_ERR_FORMAT, s->name,
                     "line %zu, column %zu is '%.*s', not a plain number",
                     c->line, column, kept, field.p);
}

static fmt_status check_value(const csv *c, size_t column, float value)
{
    const fmti_source *s = c->source;
    if (isfinite(value) || s->options->allow_nonfinite)
        return FMT_OK;
    return fmti_fail(s->error, FMT_ERR_VALUE, s->name,
                     isnan(value)
                         ? "line %zu, column %zu is not a number (nan)"
                         : "line %zu, column %zu is infinite, or too large for float32",
                     c->line, column);
}

/* One line's values into row, which has room for the rest of the line. */
static fmt_status read_row(csv *c, span line, float *row)
{
    const fmti_source *s = c->source;
    span field;
    size_t column = 0;
    bool more = true;
    while (next_field(c, &line, &field, &more)) {
        float value;
        if (!parse_number(field, &value))
            return bad_field(c, column + 1, field);
        fmt_status status = check_value(c, column + 1, value);
        if (status != FMT_OK)
            return status;
        row[column++] = value;
    }
    if (c->dim == 0) {
        c->dim = column;
        c->dim_line = c->line;
    }
    if (column == c->dim)
        return FMT_OK;
    return fmti_fail(s->error, FMT_ERR_FORMAT, s->name,
                     "line %zu has %zu values, but line %zu has %zu", c->line,
                     column, c->dim_line, c->dim);
}

/* Passes over the byte order mark, the lines to skip and the header, and finds
 * the separator; *line is the first line of numbers. */
static bool find_first_row(csv *c, span *line)
{
    if (c->end - c->p >= 3 && memcmp(c->p, "\xEF\xBB\xBF", 3) == 0)
        c->p += 3;
    for (size_t i = 0; i < c->source->options->skip_lines && c->p < c->end; i++) {
        const char *stop = memchr(c->p, '\n', (size_t)(c->end - c->p));
        c->p = stop != NULL ? stop + 1 : c->end;
        c->line++;
    }
    if (!next_line(c, line))
        return false;
    c->separator = find_separator(*line);
    if (!is_header(c, *line))
        return true;
    if (!next_line(c, line))
        return false;
    c->separator = find_separator(*line); /* a title says nothing about it */
    return true;
}

static fmt_status read_rows(csv *c, span line, float *values, size_t *rows)
{
    const fmt_options *o = c->source->options;
    size_t seen = 0;
    *rows = 0;
    do {
        fmt_status status = read_row(c, line, values + *rows * c->dim);
        if (status != FMT_OK)
            return status;
        if (seen++ >= o->first_row)
            (*rows)++;
    } while ((o->max_rows == 0 || *rows < o->max_rows) && next_line(c, &line));
    if (seen >= o->first_row)
        return FMT_OK;
    return fmti_fail(c->source->error, FMT_ERR_VALUE, c->source->name,
                     "has %zu rows, so none to take from row %zu on", seen,
                     o->first_row);
}

/* A value takes two bytes at least, with what separates it from the next: the
 * file's length bounds how many there can be. */
static fmt_status read_values(csv *c, fmt_table *table)
{
    const fmti_source *s = c->source;
    span line;
    size_t room = s->size / 2 + 1, rows;
    if (!find_first_row(c, &line))
        return fmti_fail(s->error, FMT_ERR_FORMAT, s->name, "has no rows of numbers");
    float *values = fmti_alloc(room, sizeof(float));
    if (values == NULL)
        return fmti_no_memory(s->error, s->name, room * sizeof(float));
    fmt_status status = read_rows(c, line, values, &rows);
    if (status == FMT_OK)
        status = fmti_table_alloc(s, rows, c->dim, table);
    if (status == FMT_OK)
        memcpy(table->data, values, rows * c->dim * sizeof(float));
    free(values);
    return status;
}

fmt_status fmti_csv_read(const fmti_source *source, fmt_table *table)
{
    const char *text = (const char *)source->data;
    csv c = {.source = source, .p = text, .end = text + source->size};
    locale_t plain = newlocale(LC_ALL_MASK, "C", (locale_t)0);
    if (plain == (locale_t)0)
        return fmti_no_memory(source->error, source->name, 1);
    locale_t before = uselocale(plain);
    fmt_status status = read_values(&c, table);
    uselocale(before);
    freelocale(plain);
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
