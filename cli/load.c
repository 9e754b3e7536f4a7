/* Loading: which field a file fits, class numbers, channels last, and the sentences for what does
   not fit. */
#include "load.h"

#include "naming.h"
#include "progress.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

enum { STREAM_ROWS = 64, TABLE_BYTES = 1 << 20 };

void piece_free(struct piece *piece)
{
    free(piece->x);
    free(piece->known);
    free(piece->labels);
    free(piece->names);
    *piece = (struct piece){0};
}

int labels_to_rows(const struct say *say, const char *name, const fmt_column *field, const float *values, size_t rows,
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
static bool are_labels(const fmt_column *field, const fmt_table *t)
{
    return t->dim == 1 && field->size > 1 && field->kind == FMT_VECTOR;
}

static bool fits(const fmt_column *field, const fmt_table *t)
{
    if (field_is_picture(field) && t->height > 0)
        return t->width == field->width && t->height == field->height && t->channels == field->channels;
    return t->dim == field->size || are_labels(field, t);
}

static int misfit(const struct say *say, const fmt_schema *fields, const fmt_column *field, const char *name,
                  const fmt_table *t)
{
    char takes[100] = "this memory takes", shape[64];
    if (fields->count > 1)
        snprintf(takes, sizeof takes, "field %.60s takes", field->name);
    fmt_column_shape(field, shape);
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
static int choose_field(const struct say *say, const fmt_schema *fields, const char *name, const fmt_table *t,
                        const fmt_column **chosen)
{
    size_t count = 0;
    *chosen = NULL;
    if (fields->count == 1 && !fmt_schema_is_table(fields)) {
        *chosen = &fields->column[0];
        return fits(*chosen, t) ? 0 : misfit(say, fields, *chosen, name, t);
    }
    if (t->dim == fields->cells)
        return 0;
    for (size_t i = 0; i < fields->count && !fmt_schema_is_table(fields); i++)
        if (fits(&fields->column[i], t)) {
            *chosen = &fields->column[i];
            count++;
        }
    if (count == 1)
        return 0;
    if (fmt_schema_is_table(fields)) {
        say_error(say, "%s: %zu values per row, but this memory takes %zu", name, t->dim, fields->cells);
        return -1;
    }
    if (count == 0 && t->height > 0 && fmt_schema_picture(fields) != NULL)
        return misfit(say, fields, fmt_schema_picture(fields), name, t);
    char text[FIELDS_TEXT_MOST];
    fmt_schema_describe(fields, text, sizeof text);
    say_error(say, "%s: %zu values per row fit %s field of %s (say which: FIELD=%s)", name, t->dim,
              count == 0 ? "no" : "more than one", text, name);
    return -1;
}

/* Height x width x channels -> channel planes, in place. */
static int unpack_channels(const fmt_column *field, float *x, size_t rows, size_t stride)
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

static int turn_channels(const fmt_schema *fields, const fmt_column *only, float *x, size_t rows)
{
    int failed = 0;
    if (only != NULL)
        return field_is_picture(only) ? unpack_channels(only, x, rows, only->size) : 0;
    for (size_t i = 0; i < fields->count && !failed; i++)
        if (field_is_picture(&fields->column[i]))
            failed = unpack_channels(&fields->column[i], x + fields->column[i].offset, rows, fields->dim);
    return failed;
}

/* NaN is what is missing: unknown, and 0. */
static int mark_gaps(struct piece *piece)
{
    size_t count = piece->rows * piece->size;
    for (size_t j = 0; j < count; j++) {
        if (!isnan(piece->x[j]))
            continue;
        if (piece->known == NULL) {
            piece->known = malloc(count);
            if (piece->known == NULL)
                return -1;
            memset(piece->known, 1, count);
        }
        piece->known[j] = 0;
        piece->x[j] = 0;
    }
    return 0;
}

/* Rows of an array in a table's units. */
static int take_cells(const struct say *say, const fmt_schema *fields, const struct input_options *options,
                      const char *name, const fmt_table *t, struct piece *piece)
{
    size_t count = t->rows * fields->dim;
    piece->rows = t->rows;
    piece->size = fields->dim;
    piece->x = malloc(count * sizeof *piece->x);
    piece->known = malloc(count);
    if (piece->x == NULL || piece->known == NULL) {
        say_error(say, "%s: out of memory", name);
        return -1;
    }
    return table_encode(say, fields, name, options->first, t->data, t->rows, options->clip, piece->x, piece->known);
}

/* The table's values, turned as the field wants them; takes what it can from the table. */
static int take_table(const struct say *say, const fmt_schema *fields, bool channels_last, const char *name,
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
    if ((channels_last && was_array && turn_channels(fields, piece->field, piece->x, piece->rows) != 0) ||
        mark_gaps(piece) != 0) {
        say_error(say, "%s: out of memory", name);
        return -1;
    }
    return 0;
}

/* Pixels lie in -1 .. 1; an array of bytes that nobody called pixels does not. */
static void warn_of_range(const struct say *say, const fmt_schema *fields, const char *name, const struct piece *piece)
{
    float most = 0;
    const fmt_column *f = piece->field;
    if (f == NULL || !field_is_picture(f) || fields == NULL)
        return;
    for (size_t j = 0; j < piece->rows * piece->size; j++)
        most = fmaxf(most, fabsf(piece->x[j]));
    if (most > 16)
        say_note(say, "%s: values up to %g in a picture, whose pixels lie in -1 .. 1 (bytes? use --pixels)", name,
                 (double)most);
}

static const char plain_advice[] = ", where values of about 1 belong (bpcn create --like makes a memory that knows the "
                                   "scale of its columns)";

/* A value given in place, label=3 or point=0.5,1,2: one row that repeats. */
static int load_literal(const struct say *say, const struct item *item, struct piece *piece)
{
    const fmt_column *f = item->field;
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

static fmt_options reader_options(const fmt_schema *fields, const struct input_options *options,
                                  const struct item *item)
{
    const fmt_column *shape = item->field ? item->field : fmt_schema_picture(fields);
    fmt_options o = fmt_options_default();
    o.kind = options->kind;
    o.scale_bytes = options->pixels;
    o.first_row = item->chosen ? 0 : options->first;
    o.max_rows = item->chosen ? 0 : options->count;
    o.member = item->member ? item->member : options->member;
    o.resize = options->resize;
    o.allow_missing = true;
    o.largest = fmt_schema_is_table(fields) ? 0 : FMT_FAR_PLAIN;
    if (!options->channels_last && shape != NULL && field_is_picture(shape)) {
        o.last_width = shape->width;
        o.last_height = shape->height;
        o.last_channels = shape->channels;
    }
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
static fmt_status load_table(const fmt_schema *fields, const struct item *item, fmt_options *o, fmt_table *t,
                             fmt_error *error)
{
    bool stream = strcmp(item->path, "-") == 0;
    if (o->kind == FMT_ANY && (stream || has_raw_suffix(item->path)))
        o->kind = FMT_RAW;
    if (o->kind == FMT_RAW)
        o->dim = item->field ? item->field->size : fields->cells;
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

/* Whether the item is a CSV table whose columns are the memory's. */
static bool is_table(const fmt_schema *fields, const struct input_options *options, const struct item *item)
{
    fmt_kind kind = options->kind != FMT_ANY ? options->kind : fmt_recognise(item->path, NULL, 0);
    bool stream = strcmp(item->path, "-") == 0 && options->kind == FMT_ANY && fmt_schema_is_table(fields);
    return item->field == NULL && (kind == FMT_CSV || stream) && table_suits(fields);
}

/* Rows of the table to pass over, at its beginning. */
static int pass_rows(struct table *table, size_t count, float *x, unsigned char *known)
{
    int got = 1;
    for (size_t i = 0; i < count && got > 0; i++)
        got = table_row(table, x, known);
    return got < 0 ? -1 : 0;
}

/* The next rows of a table, which is closed after the last. */
static int load_rows(const struct say *say, const fmt_schema *fields, const struct input_options *options,
                     const struct item *item, struct table **table, struct piece *piece)
{
    size_t most = TABLE_BYTES / (fields->dim * sizeof(float)) + 1;
    most = options->count > 0 ? options->count : most;
    *piece = (struct piece){.size = fields->dim, .part = true};
    piece->x = malloc(most * fields->dim * sizeof *piece->x);
    piece->known = malloc(most * fields->dim);
    piece->names = options->name != NULL ? malloc(most * NAME_ROOM) : NULL;
    if (piece->x == NULL || piece->known == NULL || (options->name != NULL && piece->names == NULL)) {
        say_error(say, "%s: out of memory", item->path);
        return -1;
    }
    int got = 1;
    if (*table == NULL) {
        *table = table_open(say, fields, item->path, options->clip);
        got = *table && table_name_by(*table, options->name) == 0 && pass_rows(*table, options->first, piece->x, piece->known) == 0 ? 1 : -1;
    }
    while (got > 0 && piece->rows < most) {
        got = table_row(*table, piece->x + piece->rows * fields->dim, piece->known + piece->rows * fields->dim);
        if (got > 0 && piece->names != NULL)
            table_name(*table, piece->names + piece->rows * NAME_ROOM);
        piece->rows += got > 0;
    }
    piece->ended = got == 0 || options->count > 0;
    if (got >= 0 && piece->ended) {
        table_close(*table);
        *table = NULL;
    }
    return got < 0 ? -1 : 0;
}

/* A picture that was resized has the 256 values of one in a file, so that it can be had again exactly (bpcn delete). */
static void round_pixels(fmt_table *t)
{
    for (size_t j = 0; j < t->rows * t->dim; j++)
        t->data[j] = (float)(2 * rint(255 * ((double)t->data[j] + 1) / 2) / 255 - 1);
}

int load_piece(const struct say *say, const fmt_schema *fields, const struct input_options *options,
               const struct item *item, struct table **table, struct piece *piece)
{
    const char *name = strcmp(item->path, "-") == 0 ? "standard input" : item->path;
    fmt_options o = reader_options(fields, options, item);
    fmt_table t = {0};
    fmt_error error;
    *piece = (struct piece){.field = item->field};
    if (item->field != NULL && strcmp(item->path, "-") != 0 && access(item->path, F_OK) != 0 && errno == ENOENT)
        return load_literal(say, item, piece);
    if (*table != NULL || is_table(fields, options, item))
        return load_rows(say, fields, options, item, table, piece);
    if (options->name != NULL)
        return say_error(say, "%s: --name %s is for CSV tables, whose columns have names", name, options->name), -1;
    fmt_status status = load_table(fields, item, &o, &t, &error);
    if (status != FMT_OK) {
        if (!interrupted())
            say_error(say, "%s%s", error.message, status == FMT_ERR_RANGE ? plain_advice : "");
        return -1;
    }
    if (o.resize && fmt_is_picture_name(item->path))
        round_pixels(&t);
    piece->ended = o.kind != FMT_RAW || strcmp(item->path, "-") != 0 || t.rows == 0 || options->count > 0;
    int failed = 0;
    if (t.rows == 0)
        t.dim = 0;
    else if (item->field == NULL)
        failed = choose_field(say, fields, name, &t, &piece->field);
    else if (!fits(item->field, &t))
        failed = misfit(say, fields, item->field, name, &t);
    if (!failed && t.rows > 0 && fmt_schema_is_table(fields))
        failed = take_cells(say, fields, options, name, &t, piece);
    else if (!failed && t.rows > 0)
        failed = take_table(say, fields, options->channels_last, name, &t, piece);
    if (!failed && piece->rows > 0)
        warn_of_range(say, fields, name, piece);
    fmt_table_free(&t);
    if (failed)
        piece_free(piece);
    return failed;
}
