/* Loading: which field a file fits, class numbers, channels last, and the sentences for what does
   not fit. */
#include "load.h"

#include "progress.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

enum { STREAM_ROWS = 64 };

void piece_free(struct piece *piece)
{
    free(piece->x);
    free(piece->labels);
    *piece = (struct piece){0};
}

int labels_to_rows(const struct say *say, const char *name, const struct field *field, const float *values, size_t rows,
                   float *x)
{
    for (size_t i = 0; i < rows; i++) {
        float value = values[i];
        if (!(value >= 0) || value != floorf(value) || value >= (float)field->size) {
            say_error(say, "%s row %zu: label %g, but field %s has the classes 0 to %zu", name, i, (double)value,
                      field->name, field->size - 1);
            return -1;
        }
        for (size_t j = 0; j < field->size; j++)
            x[i * field->size + j] = j == (size_t)value ? 1 : -1;
    }
    return 0;
}

/* Whether rows of the table are class numbers for the field. */
static bool are_labels(const struct field *field, const fmt_table *t)
{
    return t->dim == 1 && field->size > 1 && !field_is_picture(field);
}

static bool fits(const struct field *field, const fmt_table *t)
{
    if (field_is_picture(field) && t->height > 0)
        return t->width == field->width && t->height == field->height && t->channels == field->channels;
    return t->dim == field->size || are_labels(field, t);
}

static int misfit(const struct say *say, const struct fields *fields, const struct field *field, const char *name,
                  const fmt_table *t)
{
    char takes[FIELD_NAME_MOST + 24] = "this memory takes", shape[64];
    if (fields->count > 1)
        snprintf(takes, sizeof takes, "field %s takes", field->name);
    field_shape(field, shape, sizeof shape);
    if (!field_is_picture(field))
        say_error(say, "%s: %zu values per row, but %s %zu", name, t->dim, takes, field->size);
    else if (t->height == 0)
        say_error(say, "%s: %zu values per row, but %s %zu (%s)", name, t->dim, takes, field->size, shape);
    else if (t->width == field->width && t->height == field->height)
        say_error(say, "%s: %s, but %s %s (use --resize, which converts colours too)", name,
                  t->channels == 1 ? "grey" : "colour", takes, field->channels == 1 ? "grey" : "colour");
    else
        say_error(say, "%s: %zux%zu, but %s %zux%zu (use --resize)", name, t->width, t->height, takes, field->width,
                  field->height);
    return -1;
}

/* The one field that the table fits; whole rows (NULL) fit first. 0, or -1 after a message. */
static int choose_field(const struct say *say, const struct fields *fields, const char *name, const fmt_table *t,
                        const struct field **chosen)
{
    size_t count = 0;
    *chosen = NULL;
    if (fields->count == 1) {
        *chosen = &fields->field[0];
        return fits(*chosen, t) ? 0 : misfit(say, fields, *chosen, name, t);
    }
    if (t->dim == fields->dim)
        return 0;
    for (size_t i = 0; i < fields->count; i++)
        if (fits(&fields->field[i], t)) {
            *chosen = &fields->field[i];
            count++;
        }
    if (count == 1)
        return 0;
    if (count == 0 && t->height > 0 && fields_picture(fields) != NULL)
        return misfit(say, fields, fields_picture(fields), name, t);
    char text[FIELDS_TEXT_MOST];
    fields_format(fields, text, sizeof text);
    say_error(say, "%s: %zu values per row fit %s field of %s (say which: FIELD=%s)", name, t->dim,
              count == 0 ? "no" : "more than one", text, name);
    return -1;
}

/* Height x width x channels -> channel planes, in place. */
static int unpack_channels(const struct field *field, float *x, size_t rows, size_t stride)
{
    size_t pixels = field->width * field->height, channels = field->channels;
    float *row = malloc(field->size * sizeof *row);
    if (row == NULL)
        return -1;
    for (size_t i = 0; i < rows; i++) {
        float *to = x + i * stride;
        memcpy(row, to, field->size * sizeof *row);
        for (size_t p = 0; p < pixels; p++)
            for (size_t c = 0; c < channels; c++)
                to[c * pixels + p] = row[p * channels + c];
    }
    free(row);
    return 0;
}

static int turn_channels(const struct fields *fields, const struct field *only, float *x, size_t rows)
{
    int failed = 0;
    if (only != NULL)
        return field_is_picture(only) ? unpack_channels(only, x, rows, only->size) : 0;
    for (size_t i = 0; i < fields->count && !failed; i++)
        if (field_is_picture(&fields->field[i]))
            failed = unpack_channels(&fields->field[i], x + fields->field[i].offset, rows, fields->dim);
    return failed;
}

/* The table's values, turned as the field wants them; takes what it can from the table. */
static int take_table(const struct say *say, const struct fields *fields, bool channels_last, const char *name,
                      fmt_table *t, struct piece *piece)
{
    bool was_array = t->height == 0;
    piece->rows = t->rows;
    piece->size = piece->field ? piece->field->size : fields->dim;
    if (piece->field != NULL && are_labels(piece->field, t)) {
        piece->x = malloc(t->rows * piece->size * sizeof *piece->x + 1);
        if (piece->x == NULL) {
            say_error(say, "%s: out of memory", name);
            return -1;
        }
        return labels_to_rows(say, name, piece->field, t->data, t->rows, piece->x);
    }
    piece->x = t->data;
    piece->labels = t->labels;
    t->data = NULL;
    t->labels = NULL;
    if (channels_last && was_array && turn_channels(fields, piece->field, piece->x, piece->rows) != 0) {
        say_error(say, "%s: out of memory", name);
        return -1;
    }
    return 0;
}

/* Pixels lie in -1 .. 1; an array of bytes that nobody called pixels does not. */
static void warn_of_range(const struct say *say, const struct fields *fields, const char *name,
                          const struct piece *piece)
{
    float most = 0;
    const struct field *f = piece->field;
    if (f == NULL || !field_is_picture(f) || fields == NULL)
        return;
    for (size_t j = 0; j < piece->rows * piece->size; j++)
        most = fmaxf(most, fabsf(piece->x[j]));
    if (most > 16)
        say_note(say, "%s: values up to %g in a picture, whose pixels lie in -1 .. 1 (bytes? use --pixels)", name,
                 (double)most);
}

/* A value given in place, label=3 or point=0.5,1,2: one row that repeats. */
static int load_literal(const struct say *say, const struct item *item, struct piece *piece)
{
    const struct field *f = item->field;
    const char *at = item->path;
    size_t count = 0;
    char *end;
    *piece = (struct piece){.field = f, .rows = 1, .size = f->size, .repeats = true};
    float *values = calloc(f->size, sizeof *values);
    piece->x = calloc(f->size, sizeof *piece->x);
    while (values && piece->x && *at != '\0' && count < f->size) {
        values[count++] = strtof(at, &end);
        if (end == at || !isfinite(values[count - 1]) || (*end != ',' && *end != '\0')) {
            count = 0;
            break;
        }
        at = *end == ',' ? end + 1 : end;
    }
    int failed = values == NULL || piece->x == NULL || count == 0 || *at != '\0';
    if (!failed && count == f->size)
        memcpy(piece->x, values, f->size * sizeof *values);
    else if (!failed && count == 1)
        failed = labels_to_rows(say, item->path, f, values, 1, piece->x);
    else if (values && piece->x)
        failed = say_error(say, "%s=%s: no such file, and not a value of the field", f->name, item->path);
    free(values);
    return failed ? -1 : 0;
}

static fmt_options reader_options(const struct fields *fields, const struct input_options *options,
                                  const struct item *item)
{
    const struct field *shape = item->field ? item->field : fields_picture(fields);
    fmt_options o = fmt_options_default();
    o.kind = options->kind;
    o.scale_bytes = options->pixels;
    o.first_row = options->first;
    o.max_rows = options->count;
    o.member = item->member ? item->member : options->member;
    o.resize = options->resize;
    if (options->resize && shape != NULL && field_is_picture(shape)) {
        o.width = shape->width;
        o.height = shape->height;
        o.channels = shape->channels;
    }
    return o;
}

static bool has_raw_suffix(const char *path)
{
    const char *dot = strrchr(path, '.');
    return dot != NULL && (strcasecmp(dot, ".f32") == 0 || strcasecmp(dot, ".raw") == 0);
}

/* Raw floats need a row length, and come from a pipe a few rows at a time. */
static fmt_status load_table(const struct fields *fields, const struct item *item, fmt_options *o, fmt_table *t,
                             fmt_error *error)
{
    bool stream = strcmp(item->path, "-") == 0;
    if (o->kind == FMT_ANY && (stream || has_raw_suffix(item->path)))
        o->kind = FMT_RAW;
    if (o->kind == FMT_RAW)
        o->dim = item->field ? item->field->size : fields->dim;
    else if (o->resize && o->kind == FMT_ANY && !stream && access(item->path, R_OK) == 0) {
        /* shapes are for pictures: arrays are judged here, with a better sentence */
        fmt_status status = fmt_read(item->path, o, t, error);
        if (status != FMT_ERR_VALUE)
            return status;
        o->width = o->height = o->channels = 0;
    }
    if (!stream)
        return fmt_read(item->path, o, t, error);
    if (o->kind == FMT_RAW && o->max_rows == 0 && o->first_row == 0)
        o->max_rows = STREAM_ROWS;
    return fmt_read_stream(stdin, "standard input", o, t, error);
}

int load_piece(const struct say *say, const struct fields *fields, const struct input_options *options,
               const struct item *item, struct piece *piece)
{
    const char *name = strcmp(item->path, "-") == 0 ? "standard input" : item->path;
    fmt_options o = reader_options(fields, options, item);
    fmt_table table = {0};
    fmt_error error;
    *piece = (struct piece){.field = item->field};
    if (item->field != NULL && strcmp(item->path, "-") != 0 && access(item->path, F_OK) != 0 && errno == ENOENT)
        return load_literal(say, item, piece);
    if (load_table(fields, item, &o, &table, &error) != FMT_OK) {
        if (!interrupted())
            say_error(say, "%s", error.message);
        return -1;
    }
    piece->ended = o.kind != FMT_RAW || strcmp(item->path, "-") != 0 || table.rows == 0 || options->count > 0;
    int failed = 0;
    if (table.rows == 0)
        table.dim = 0;
    else if (item->field == NULL)
        failed = choose_field(say, fields, name, &table, &piece->field);
    else if (!fits(item->field, &table))
        failed = misfit(say, fields, item->field, name, &table);
    if (!failed && table.rows > 0)
        failed = take_table(say, fields, options->channels_last, name, &table, piece);
    if (!failed && piece->rows > 0)
        warn_of_range(say, fields, name, piece);
    fmt_table_free(&table);
    if (failed)
        piece_free(piece);
    return failed;
}
