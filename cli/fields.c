/* Parsing and printing of field descriptions. */
#include "fields.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A picture's side is at most this, so that no product overflows. */
enum { SIDE_MOST = 1 << 24 };

static int fail(char *why, size_t room, const char *format, const char *text)
{
    snprintf(why, room, format, text);
    return -1;
}

/* Reads up to three numbers separated by x; their count, or 0. */
static size_t parse_numbers(const char *text, size_t length, size_t number[3])
{
    size_t count = 0, at = 0;
    while (count < 3 && at < length) {
        size_t value = 0, digits = 0;
        while (at < length && text[at] >= '0' && text[at] <= '9' && value <= SIDE_MOST) {
            value = value * 10 + (size_t)(text[at++] - '0');
            digits++;
        }
        if (digits == 0 || value == 0 || value > SIDE_MOST)
            return 0;
        number[count++] = value;
        if (at == length)
            return count;
        if (text[at++] != 'x')
            return 0;
    }
    return 0;
}

static int parse_shape(const char *text, size_t length, struct field *field)
{
    size_t number[3] = {0}, count = parse_numbers(text, length, number);
    if (count == 0)
        return -1;
    if (count == 1) {
        field->size = number[0];
        return 0;
    }
    field->width = number[0];
    field->height = number[1];
    field->channels = count == 3 ? number[2] : 1;
    field->size = field->width * field->height;
    if (field->size > SIDE_MOST || (field->channels != 1 && field->channels != 3))
        return -1;
    field->size *= field->channels;
    return 0;
}

static bool is_name(const char *text, size_t length)
{
    if (length == 0 || length > FIELD_NAME_MOST || (text[0] >= '0' && text[0] <= '9'))
        return false;
    for (size_t i = 0; i < length; i++) {
        char c = text[i];
        if (!(c == '_' || c == '-' || (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z')))
            return false;
    }
    return true;
}

static int add_field(struct fields *fields, const struct field *field, char *why, size_t room)
{
    if (fields_find(fields, field->name, strlen(field->name)) != NULL)
        return fail(why, room, "two fields are called '%s'", field->name);
    fields->field[fields->count] = *field;
    fields->field[fields->count].offset = fields->dim;
    fields->count++;
    fields->dim += field->size;
    if (fields->dim > SIDE_MOST)
        return fail(why, room, "with '%s' a row has more than 16777216 entries", field->name);
    return 0;
}

int fields_parse(const char *text, struct fields *fields, char *why, size_t room)
{
    *fields = (struct fields){0};
    do {
        size_t length = strcspn(text, ",");
        char item[80];
        struct field field = {0};
        snprintf(item, sizeof item, "%.*s", (int)(length < 79 ? length : 79), text);
        const char *colon = memchr(text, ':', length);
        if (colon == NULL || !is_name(text, (size_t)(colon - text)))
            return fail(why, room, "'%s' is not NAME:SHAPE, such as image:32x32x3 or label:10", item);
        if (parse_shape(colon + 1, length - (size_t)(colon + 1 - text), &field) != 0)
            return fail(why, room, "'%s': the shape is a number, or WIDTHxHEIGHT, or WIDTHxHEIGHTx3", item);
        memcpy(field.name, text, (size_t)(colon - text));
        if (fields->count == FIELDS_MOST)
            return fail(why, room, "'%s' is one field too many", item);
        if (add_field(fields, &field, why, room) != 0)
            return -1;
        text += length;
    } while (*text++ == ',');
    return 0;
}

int fields_parse_shape(const char *name, const char *shape, struct fields *fields, char *why, size_t room)
{
    struct field field = {0};
    *fields = (struct fields){0};
    snprintf(field.name, sizeof field.name, "%s", name);
    if (parse_shape(shape, strlen(shape), &field) != 0 || (field.width == 0) != (strcmp(name, "image") != 0))
        return fail(why, room,
                    strcmp(name, "image") == 0 ? "'%s' is not WIDTHxHEIGHT or WIDTHxHEIGHTx3, such as 32x32x3"
                                               : "'%s' is not a number of entries from 1 to 16777216",
                    shape);
    return add_field(fields, &field, why, room);
}

void field_shape(const struct field *field, char *out, size_t room)
{
    if (!field_is_picture(field))
        snprintf(out, room, "%zu", field->size);
    else if (field->channels == 1)
        snprintf(out, room, "%zux%zu", field->width, field->height);
    else
        snprintf(out, room, "%zux%zux%zu", field->width, field->height, field->channels);
}

void fields_format(const struct fields *fields, char *out, size_t room)
{
    size_t used = 0;
    out[0] = '\0';
    for (size_t i = 0; i < fields->count && used < room; i++) {
        char shape[64];
        field_shape(&fields->field[i], shape, sizeof shape);
        int n = snprintf(out + used, room - used, "%s%s:%s", i ? "," : "", fields->field[i].name, shape);
        used += n > 0 ? (size_t)n : 0;
    }
}

const struct field *fields_find(const struct fields *fields, const char *name, size_t length)
{
    for (size_t i = 0; i < fields->count; i++)
        if (strlen(fields->field[i].name) == length && memcmp(fields->field[i].name, name, length) == 0)
            return &fields->field[i];
    return NULL;
}

const struct field *fields_picture(const struct fields *fields)
{
    for (size_t i = 0; i < fields->count; i++)
        if (field_is_picture(&fields->field[i]))
            return &fields->field[i];
    return NULL;
}

bool field_is_picture(const struct field *field)
{
    return field->width > 0;
}

size_t field_label(const struct field *field, const float *row)
{
    size_t best = 0;
    for (size_t j = 1; j < field->size; j++)
        if (row[field->offset + j] > row[field->offset + best])
            best = j;
    return best;
}
