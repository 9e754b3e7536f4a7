/* core.c: what every format needs: error sentences, tables and their limits,
 * the choice of rows, and the last check of a table against the options. */
#include "internal.h"

#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

fmt_options fmt_options_default(void)
{
    fmt_options options = {0};
    options.max_values = (size_t)1 << 31;
    return options;
}

void fmt_table_free(fmt_table *table)
{
    if (table == NULL)
        return;
    free(table->data);
    free(table->labels);
    *table = (fmt_table){0};
}

/* A long path keeps its end, so that the reason still fits behind it. */
static size_t put_name(char *message, size_t size, const char *name)
{
    enum { KEPT = 200 };
    if (name == NULL)
        return 0;
    size_t length = strlen(name);
    const char *dots = "";
    if (length > KEPT) {
        name += length - KEPT;
        dots = "...";
        while (((unsigned char)*name & 0xC0) == 0x80) /* not inside a character */
            name++;
    }
    int used = snprintf(message, size, "%s%s: ", dots, name);
    return used < 0 ? 0 : (size_t)used;
}

fmt_status fmti_fail(fmt_error *error, fmt_status status, const char *name,
                     const char *format, ...)
{
    if (error == NULL)
        return status;
    char *message = error->message;
    size_t used = put_name(message, sizeof error->message, name);
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(message + used, sizeof error->message - used, format, arguments);
    va_end(arguments);
    for (char *c = message; *c != '\0'; c++) { /* one line, whatever the file says */
        unsigned char byte = (unsigned char)*c;
        if (byte < 0x20 || byte == 0x7F)
            *c = '?';
    }
    return status;
}

fmt_status fmti_no_memory(fmt_error *error, const char *name, size_t bytes)
{
    return fmti_fail(error, FMT_ERR_MEMORY, name,
                     "out of memory (%zu bytes were wanted)", bytes);
}

fmt_status fmti_fail_errno(fmt_error *error, const char *name, const char *verb,
                           int number)
{
    char words[128];
    if (strerror_r(number, words, sizeof words) != 0)
        snprintf(words, sizeof words, "error %d", number);
    return fmti_fail(error, FMT_ERR_IO, name, "cannot %s: %s", verb, words);
}

bool fmti_multiply(size_t a, size_t b, size_t *product)
{
    if (b != 0 && a > SIZE_MAX / b)
        return false;
    *product = a * b;
    return true;
}

void *fmti_alloc(size_t count, size_t size)
{
    if (count == 0 || size == 0)
        return calloc(1, 1);
    return calloc(count, size);
}

fmt_status fmti_table_alloc(const fmti_source *source, size_t rows, size_t dim,
                            fmt_table *table)
{
    size_t values;
    if (dim == 0)
        return fmti_fail(source->error, FMT_ERR_FORMAT, source->name,
                         "its rows have no values");
    if (!fmti_multiply(rows, dim, &values) || values > source->options->max_values)
        return fmti_fail(source->error, FMT_ERR_LIMIT, source->name,
                         "%zu rows of %zu values are more than the limit of %zu values",
                         rows, dim, source->options->max_values);
    table->data = fmti_alloc(values, sizeof(float));
    if (table->data == NULL)
        return fmti_no_memory(source->error, source->name, values * sizeof(float));
    table->rows = rows;
    table->dim = dim;
    return FMT_OK;
}

fmt_status fmti_select_rows(const fmti_source *source, size_t total,
                            size_t *first, size_t *count)
{
    const fmt_options *options = source->options;
    if (options->first_row > total)
        return fmti_fail(source->error, FMT_ERR_VALUE, source->name,
                         "has %zu rows, so none to take from row %zu on",
                         total, options->first_row);
    *first = options->first_row;
    *count = total - *first;
    if (options->max_rows != 0 && *count > options->max_rows)
        *count = options->max_rows;
    return FMT_OK;
}

static fmt_status check_values(const fmti_source *source, const fmt_table *table)
{
    const fmt_options *o = source->options;
    size_t values = table->rows * table->dim;
    for (size_t i = 0; i < values; i++) {
        float value = table->data[i];
        if (fmti_value_is_fine(o, value))
            continue;
        size_t row = i / table->dim + o->first_row, column = i % table->dim;
        if (isfinite(value))
            return fmti_fail(source->error, FMT_ERR_RANGE, source->name, "row %zu, column %zu is %g, beyond %g", row,
                             column, (double)value, o->largest);
        return fmti_fail(source->error, FMT_ERR_VALUE, source->name,
                         isnan(value)
                             ? "row %zu, column %zu is not a number"
                             : "row %zu, column %zu is infinite, or too large for float32",
                         row, column);
    }
    return FMT_OK;
}

bool fmti_value_is_fine(const fmt_options *o, float value)
{
    if (isnan(value))
        return o->allow_missing || o->allow_nonfinite;
    if (isinf(value))
        return o->allow_nonfinite;
    return o->largest == 0 || fabs((double)value) <= o->largest;
}

/* An array whose rows have as many values as the picture wanted becomes
 * pictures of that shape. */
static fmt_status claim_shape(const fmti_source *source, fmt_table *table)
{
    const fmt_options *o = source->options;
    if (table->height != 0 || o->height == 0 || o->width == 0 || o->channels == 0)
        return FMT_OK;
    size_t dim;
    if (!fmti_multiply(o->height, o->width, &dim) ||
        !fmti_multiply(dim, o->channels, &dim) || dim != table->dim)
        return fmti_fail(source->error, FMT_ERR_VALUE, source->name,
                         "its rows have %zu values, which is not %zux%zu pixels "
                         "of %zu channels", table->dim, o->width, o->height,
                         o->channels);
    table->height = o->height;
    table->width = o->width;
    table->channels = o->channels;
    return FMT_OK;
}

fmt_status fmti_check_table(const fmti_source *source, fmt_table *table)
{
    const fmt_options *options = source->options;
    fmt_status status = claim_shape(source, table);
    if (status != FMT_OK)
        return status;
    if (options->dim != 0 && table->dim != options->dim)
        return fmti_fail(source->error, FMT_ERR_VALUE, source->name,
                         "its rows have %zu values, but %zu are wanted",
                         table->dim, options->dim);
    return check_values(source, table);
}

static char lower(char c)
{
    return c >= 'A' && c <= 'Z' ? (char)(c - 'A' + 'a') : c;
}

bool fmti_has_suffix(const char *name, const char *suffix)
{
    size_t length = strlen(name), wanted = strlen(suffix);
    if (length < wanted)
        return false;
    name += length - wanted;
    for (size_t i = 0; i < wanted; i++)
        if (lower(name[i]) != suffix[i])
            return false;
    return true;
}

float fmti_pixel(unsigned value, unsigned maximum)
{
    return (float)(2.0 * (double)value / (double)maximum - 1.0);
}

uint8_t fmti_byte(float value)
{
    if (!(value > -1.0f)) /* also NaN */
        return 0;
    if (value >= 1.0f)
        return 255;
    return (uint8_t)floor(((double)value + 1.0) * 127.5 + 0.5);
}
