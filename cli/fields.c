/* Shapes of the command line, and one-of-n fields. */
#include "fields.h"

#include <string.h>

int fields_parse_shape(const char *name, const char *shape, fmt_schema *fields, fmt_error *error)
{
    char text[80];
    bool picture = strcmp(name, "image") == 0;
    snprintf(text, sizeof text, "%s:%.60s", name, shape);
    if (strchr(text, ',') == NULL && fmt_schema_parse_fields(text, fields, error) == FMT_OK) {
        if (field_is_picture(&fields->column[0]) == picture)
            return 0;
        fmt_schema_free(fields);
    }
    snprintf(error->message, sizeof error->message,
             picture ? "'%.200s' is not WIDTHxHEIGHT or WIDTHxHEIGHTx3, such as 32x32x3"
                     : "'%.200s' is not a number of entries from 1 to 16777216",
             shape);
    return -1;
}

bool field_is_picture(const fmt_column *field)
{
    return field->kind == FMT_PICTURE;
}

bool field_is_label(const fmt_column *field)
{
    return field->kind == FMT_VECTOR && field->size > 1 && field->size <= 1000;
}

size_t field_label(const fmt_column *field, const float *row)
{
    size_t best = 0;
    for (size_t j = 1; j < field->size; j++)
        if (row[field->offset + j] > row[field->offset + best])
            best = j;
    return best;
}

void fields_columns(const fmt_schema *fields, size_t *column)
{
    for (size_t c = 0; c < fields->count; c++)
        for (size_t j = 0; j < fields->column[c].size; j++)
            column[fields->column[c].offset + j] = c;
}
