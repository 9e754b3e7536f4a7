/* Reads the inputs in order: opens folders and joins fields from different files into rows. */
#include "read_rows.h"

#include "console.h"
#include "progress.h"

#include <dirent.h>
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <unistd.h>

/* ---- Loading: which field a file fits, class numbers, channels last, and the sentences for what does
   not fit. */

/* One file to load. */
struct item {
    char *path;              /* "-": standard input */
    const fmt_column *field; /* NULL: the one that its shape fits */
    char *member;            /* of an .npz, or NULL */
    bool chosen;             /* --rows selected it from its folder: all its rows are read */
    bool bad;                /* could not be read and was skipped */
};

struct piece {
    const fmt_column *field; /* NULL: whole rows */
    size_t rows, size;
    float *x;             /* [rows x size] */
    unsigned char *known; /* [rows x size], or NULL: everything */
    uint8_t *labels;      /* [rows] from the same file, or NULL */
    char *names;          /* [rows] of NAME_ROOM bytes each, of a table's column; or NULL */
    unsigned char *bad;   /* [rows] of a table that could not be read; or NULL */
    size_t bad_rows;
    bool repeats; /* a value from the command line, for any number of rows */
    bool ended;   /* the stream has no more rows */
    bool part;    /* some rows of a table; more may follow */
};

/* 0, or -1 after a message. *table is opened here for a table, which comes in pieces, and closed after the last. */
static int load_piece(const struct console *console, const fmt_schema *fields, const struct input_options *options,
                      const struct item *item, struct table **table, struct piece *piece);
static void piece_free(struct piece *piece);

/* Turns class numbers [rows x 1] into rows of -1 with one +1; 0, or -1 after a message. */
static int labels_to_rows(const struct console *console, const char *name, const fmt_column *field, const float *values,
                          size_t rows, float *x);

enum { STREAM_ROWS = 64, TABLE_BYTES = 1 << 20 };

static void piece_free(struct piece *piece)
{
    free(piece->x);
    free(piece->known);
    free(piece->labels);
    free(piece->names);
    free(piece->bad);
    *piece = (struct piece){0};
}

static int labels_to_rows(const struct console *console, const char *name, const fmt_column *field, const float *values,
                          size_t rows, float *x)
{
    for (size_t i = 0; i < rows; i++) {
        float value = values[i];
        if (!(value >= 0) || value != floorf(value) || value >= (float)field->size) {
            console_error(console, "%s row %zu: label %g, but field %s has the classes 0 to %zu", name, i,
                          (double)value, field->name, field->size - 1);
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

static int misfit(const struct console *console, const fmt_schema *fields, const fmt_column *field, const char *name,
                  const fmt_table *t)
{
    char takes[100] = "this memory takes", shape[64];
    if (fields->count > 1)
        snprintf(takes, sizeof takes, "field %.60s takes", field->name);
    fmt_column_shape(field, shape);
    if (!field_is_picture(field))
        console_error(console, "%s: %zu values per row, but %s %zu", name, t->dim, takes, field->size);
    else if (t->height == 0)
        console_error(console, "%s: %zu values per row, but %s %zu (%s)", name, t->dim, takes, field->size, shape);
    else if (t->width == field->width && t->height == field->height)
        console_error(console, "%s: %s, but %s %s (use --resize, which converts colours too)", name,
                      t->channels == 1 ? "grey" : "colour", takes, field->channels == 1 ? "grey" : "colour");
    else
        console_error(console, "%s: %zux%zu, but %s %zux%zu (use --resize)", name, t->width, t->height, takes,
                      field->width, field->height);
    return -1;
}

/* The one field that the table fits; whole rows (NULL) fit first. 0, or -1 after a message. */
static int choose_field(const struct console *console, const fmt_schema *fields, const char *name, const fmt_table *t,
                        const fmt_column **chosen)
{
    size_t count = 0;
    *chosen = NULL;
    if (fields->count == 1 && !fmt_schema_is_table(fields)) {
        *chosen = &fields->column[0];
        return fits(*chosen, t) ? 0 : misfit(console, fields, *chosen, name, t);
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
        console_error(console, "%s: %zu values per row, but this memory takes %zu", name, t->dim, fields->cells);
        return -1;
    }
    if (count == 0 && t->height > 0 && fmt_schema_picture(fields) != NULL)
        return misfit(console, fields, fmt_schema_picture(fields), name, t);
    char text[FIELDS_TEXT_MOST];
    fmt_schema_describe(fields, text, sizeof text);
    console_error(console, "%s: %zu values per row fit %s field of %s (say which: FIELD=%s)", name, t->dim,
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

/* Marks NaN as unknown and sets it to 0. */
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
static int take_cells(const struct console *console, const fmt_schema *fields, const struct input_options *options,
                      const char *name, const fmt_table *t, struct piece *piece)
{
    size_t count = t->rows * fields->dim;
    piece->rows = t->rows;
    piece->size = fields->dim;
    piece->x = malloc(count * sizeof *piece->x);
    piece->known = malloc(count);
    if (piece->x == NULL || piece->known == NULL) {
        console_error(console, "%s: out of memory", name);
        return -1;
    }
    return table_encode(console, fields, name, options->first, t->data, t->rows, options->clip, piece->x, piece->known);
}

/* Converts the table's values to the field's form; takes over the table's buffers where it can. */
static int take_table(const struct console *console, const fmt_schema *fields, bool channels_last, const char *name,
                      fmt_table *t, struct piece *piece)
{
    bool was_array = t->height == 0;
    piece->rows = t->rows;
    piece->size = piece->field ? piece->field->size : fields->dim;
    if (piece->field != NULL && are_labels(piece->field, t)) {
        piece->x = malloc(t->rows * piece->size * sizeof *piece->x + 1);
        if (piece->x == NULL) {
            console_error(console, "%s: out of memory", name);
            return -1;
        }
        return labels_to_rows(console, name, piece->field, t->data, t->rows, piece->x);
    }
    piece->x = t->data;
    piece->labels = t->labels;
    t->data = NULL;
    t->labels = NULL;
    if ((channels_last && was_array && turn_channels(fields, piece->field, piece->x, piece->rows) != 0) ||
        mark_gaps(piece) != 0) {
        console_error(console, "%s: out of memory", name);
        return -1;
    }
    return 0;
}

/* Notes values far outside -1 .. 1 in a picture: most likely bytes without --pixels. */
static void warn_of_range(const struct console *console, const fmt_schema *fields, const char *name,
                          const struct piece *piece)
{
    float most = 0;
    const fmt_column *f = piece->field;
    if (f == NULL || !field_is_picture(f) || fields == NULL)
        return;
    for (size_t j = 0; j < piece->rows * piece->size; j++)
        most = fmaxf(most, fabsf(piece->x[j]));
    if (most > 16)
        console_note(console, "%s: has values up to %g, but pixels lie in -1 .. 1 (for bytes use --pixels)", name,
                     (double)most);
}

/* A value on the command line, such as label=3 or point=0.5,1,2: one row that repeats. */
static int load_literal(const struct console *console, const struct item *item, struct piece *piece)
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
        failed = labels_to_rows(console, item->path, f, values, 1, piece->x);
    else if (values && piece->x)
        failed = console_error(console, "%s=%s: is neither a file nor a value of the field", f->name, item->path);
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

/* Raw floats need a row length; from a pipe a few rows are read at a time. */
static bpcn_status load_table(const fmt_schema *fields, const struct item *item, fmt_options *o, fmt_table *t)
{
    bool stream = strcmp(item->path, "-") == 0;
    if (o->kind == FMT_ANY && (stream || has_raw_suffix(item->path)))
        o->kind = FMT_RAW;
    if (o->kind == FMT_RAW)
        o->dim = item->field ? item->field->size : fields->cells;
    else if (o->resize && o->kind == FMT_ANY && !stream && access(item->path, R_OK) == 0) {
        /* only pictures are checked by the reader; arrays are checked here, with a better message */
        bpcn_status status = fmt_read(item->path, o, t);
        if (status != BPCN_INVALID)
            return status;
        o->width = o->height = o->channels = 0;
    }
    if (!stream)
        return fmt_read(item->path, o, t);
    if (o->kind == FMT_RAW && o->max_rows == 0 && o->first_row == 0)
        o->max_rows = STREAM_ROWS;
    return fmt_read_stream(stdin, "standard input", o, t);
}

/* Whether the item is a CSV table whose columns are the memory's. */
static bool is_table(const fmt_schema *fields, const struct input_options *options, const struct item *item)
{
    fmt_kind kind = options->kind != FMT_ANY ? options->kind : fmt_recognise(item->path, NULL, 0);
    bool stream = strcmp(item->path, "-") == 0 && options->kind == FMT_ANY && fmt_schema_is_table(fields);
    return item->field == NULL && (kind == FMT_CSV || stream) && table_suits(fields);
}

/* How many rows to skip at the beginning of the table. */
static int pass_rows(struct table *table, size_t count, float *x, unsigned char *known)
{
    int got = 1;
    for (size_t i = 0; i < count && got > 0; i++)
        got = table_row(table, x, known);
    return got < 0 ? -1 : 0;
}

/* The next rows of a table, which is closed after the last. */
static int load_rows(const struct console *console, const fmt_schema *fields, const struct input_options *options,
                     const struct item *item, struct table **table, struct piece *piece)
{
    size_t most = TABLE_BYTES / (fields->dim * sizeof(float)) + 1;
    most = options->count > 0 ? options->count : most;
    *piece = (struct piece){.size = fields->dim, .part = true};
    piece->x = malloc(most * fields->dim * sizeof *piece->x);
    piece->known = malloc(most * fields->dim);
    piece->bad = calloc(most, 1);
    piece->names = options->name != NULL ? malloc(most * NAME_ROOM) : NULL;
    if (piece->x == NULL || piece->known == NULL || piece->bad == NULL ||
        (options->name != NULL && piece->names == NULL)) {
        console_error(console, "%s: out of memory", item->path);
        return -1;
    }
    int got = 1;
    if (*table == NULL) {
        *table = table_open(console, fields, item->path, options->clip, options->bad);
        got = *table && table_name_by(*table, options->name) == 0 &&
                      pass_rows(*table, options->first, piece->x, piece->known) == 0
                  ? 1
                  : -1;
    }
    while (got > 0 && piece->rows < most && !(piece->rows > 0 && table_pauses(*table))) {
        got = table_row(*table, piece->x + piece->rows * fields->dim, piece->known + piece->rows * fields->dim);
        piece->bad_rows += got == TABLE_BAD;
        if (got == TABLE_BAD && options->bad == BAD_SKIP)
            continue;
        if (got > 0 && piece->names != NULL && got != TABLE_BAD)
            table_name(*table, piece->names + piece->rows * NAME_ROOM);
        else if (got > 0 && piece->names != NULL)
            piece->names[piece->rows * NAME_ROOM] = '\0';
        if (got > 0)
            piece->bad[piece->rows++] = got == TABLE_BAD;
    }
    piece->ended = got == 0 || options->count > 0;
    if (got >= 0 && piece->ended) {
        table_close(*table);
        *table = NULL;
    }
    return got < 0 ? -1 : 0;
}

/* Rounds a resized picture to the 256 values of a file's pixels, so that bpcn delete can rebuild it exactly by name. */
static void round_pixels(fmt_table *t)
{
    for (size_t j = 0; j < t->rows * t->dim; j++)
        t->data[j] = (float)(2 * rint(255 * ((double)t->data[j] + 1) / 2) / 255 - 1);
}

static int load_piece(const struct console *console, const fmt_schema *fields, const struct input_options *options,
                      const struct item *item, struct table **table, struct piece *piece)
{
    const char *name = strcmp(item->path, "-") == 0 ? "standard input" : item->path;
    fmt_options o = reader_options(fields, options, item);
    fmt_table t = {0};
    *piece = (struct piece){.field = item->field};
    if (item->field != NULL && strcmp(item->path, "-") != 0 && access(item->path, F_OK) != 0 && errno == ENOENT)
        return load_literal(console, item, piece);
    if (*table != NULL || is_table(fields, options, item))
        return load_rows(console, fields, options, item, table, piece);
    if (options->name != NULL)
        return console_error(console, "%s: --name %s needs a CSV table", name, options->name), -1;
    bpcn_status status = load_table(fields, item, &o, &t);
    if (status != BPCN_OK) {
        if (!interrupted())
            console_error(console, "%s", bpcn_error());
        return -1;
    }
    if (o.resize && fmt_is_picture_name(item->path))
        round_pixels(&t);
    piece->ended = o.kind != FMT_RAW || strcmp(item->path, "-") != 0 || t.rows == 0 || options->count > 0;
    int failed = 0;
    if (t.rows == 0)
        t.dim = 0;
    else if (item->field == NULL)
        failed = choose_field(console, fields, name, &t, &piece->field);
    else if (!fits(item->field, &t))
        failed = misfit(console, fields, item->field, name, &t);
    if (!failed && t.rows > 0 && fmt_schema_is_table(fields))
        failed = take_cells(console, fields, options, name, &t, piece);
    else if (!failed && t.rows > 0)
        failed = take_table(console, fields, options->channels_last, name, &t, piece);
    if (!failed && piece->rows > 0)
        warn_of_range(console, fields, name, piece);
    fmt_table_free(&t);
    if (failed)
        piece_free(piece);
    return failed;
}

struct input {
    const struct console *console;
    const fmt_schema *fields;
    struct input_options options;
    struct item *items;
    size_t count, capacity, at;
    struct piece *piece; /* [fields] read so far of the next rows; size 0: not given */
    char **names;        /* [fields] */
    struct piece held;   /* loaded for the next batch */
    struct table *table; /* of the current item, or NULL */
    size_t held_item;
    bool holds;
    size_t streamed, returned; /* rows */
    size_t skipped;            /* bad items */
    size_t bad_rows;           /* of tables */
};

/* FIRST:END as in Python, or one row. */
static void parse_rows(struct args *a, const char *text, struct input_options *o)
{
    char *end;
    unsigned long long first = strtoull(text, &end, 10), last = first + 1;
    bool good = text[0] == ':' || (text[0] >= '0' && text[0] <= '9');
    if (good && *end == ':') {
        const char *after = end + 1;
        last = strtoull(after, &end, 10);
        good = *after == '\0' || (after[0] >= '0' && after[0] <= '9' && last > first);
        last = *after == '\0' ? first : last;
    }
    if (!good || *end != '\0' || first > SIZE_MAX / 4 || last > SIZE_MAX / 4) {
        a->status =
            console_usage(&a->console, "--rows: '%s' is not FIRST:END with FIRST below END, such as 0:256", text);
        return;
    }
    o->first = (size_t)first;
    o->count = (size_t)(last - first);
}

bool input_option(struct args *a, int c, struct input_options *o)
{
    switch (c) {
    case OPT_RESIZE:
        o->resize = true;
        return true;
    case OPT_PIXELS:
        o->pixels = true;
        return true;
    case OPT_CHANNELS_LAST:
        o->channels_last = true;
        return true;
    case OPT_FORMAT:
        o->kind = (fmt_kind)args_word(a);
        return true;
    case OPT_MEMBER:
        o->member = optarg;
        return true;
    case OPT_ROWS:
        parse_rows(a, optarg, o);
        return true;
    case OPT_CLIP:
        o->clip = true;
        return true;
    case OPT_SKIP_BAD:
        o->skip_bad = true;
        return true;
    case OPT_BAD_ROWS:
        o->bad = (enum bad_rows)args_word(a);
        return true;
    default:
        return false;
    }
}

static int no_memory(const struct input *in)
{
    console_error(in->console, "out of memory");
    return -1;
}

/* ---- the list of things to load: 0, or -1 after a message */

static int add_item(struct input *in, const char *folder, const char *path, const fmt_column *field, const char *member)
{
    if (in->count == in->capacity) {
        size_t capacity = in->capacity ? 2 * in->capacity : 16;
        struct item *more = realloc(in->items, capacity * sizeof *more);
        if (more == NULL)
            return no_memory(in);
        in->items = more;
        in->capacity = capacity;
    }
    struct item *item = &in->items[in->count];
    size_t length = strlen(path) + (folder ? strlen(folder) + 1 : 0) + 1;
    bool slash = folder != NULL && folder[0] != '\0' && folder[strlen(folder) - 1] != '/';
    *item = (struct item){.path = malloc(length), .field = field, .member = member ? strdup(member) : NULL};
    in->count++;
    if (item->path == NULL || (member && item->member == NULL))
        return no_memory(in);
    snprintf(item->path, length, "%s%s%s", folder ? folder : "", slash ? "/" : "", path);
    return 0;
}

static int by_path(const void *a, const void *b)
{
    return strcmp(((const struct item *)a)->path, ((const struct item *)b)->path);
}

static void item_free(struct item *item)
{
    free(item->path);
    free(item->member);
}

/* Keeps the pictures from `begin` on that --rows selects. */
static int select_pictures(struct input *in, const char *path, size_t begin)
{
    size_t there = in->count - begin, first = in->options.first, count = in->options.count;
    if (first >= there) {
        console_error(in->console, "%s: has %zu pictures, none from number %zu on", path, there, first);
        return -1;
    }
    count = count == 0 || count > there - first ? there - first : count;
    for (size_t i = 0; i < there; i++)
        if (i < first || i >= first + count)
            item_free(&in->items[begin + i]);
        else
            in->items[begin + i].chosen = true;
    memmove(in->items + begin, in->items + begin + first, count * sizeof *in->items);
    in->count = begin + count;
    return 0;
}

/* Adds every picture of a folder in order of name. */
static int add_folder(struct input *in, const char *path, const fmt_column *field)
{
    size_t first = in->count;
    int failed = 0;
    DIR *folder = opendir(path);
    if (folder == NULL)
        return add_item(in, NULL, path, field, NULL); /* reading it gives the error */
    for (struct dirent *e; !failed && (e = readdir(folder)) != NULL;)
        if (fmt_is_picture_name(e->d_name))
            failed = add_item(in, path, e->d_name, field, NULL);
    closedir(folder);
    if (!failed && in->count == first)
        return add_item(in, NULL, path, field, NULL);
    qsort(in->items + first, in->count - first, sizeof *in->items, by_path);
    return failed ? failed : select_pictures(in, path, first);
}

/* An .npz whose arrays are named like fields: one item each; 0 of them otherwise. */
static int add_members(struct input *in, const char *path, size_t *added)
{
    fmt_names names = {0};
    int failed = 0;
    size_t length = strlen(path);
    *added = 0;
    if (length < 4 || strcasecmp(path + length - 4, ".npz") != 0 || fmt_npz_list(path, &names) != BPCN_OK)
        return 0;
    for (size_t i = 0; i < names.count && !failed; i++) {
        const fmt_column *field = fmt_schema_find(in->fields, names.name[i], strlen(names.name[i]));
        if (field == NULL)
            continue;
        failed = add_item(in, NULL, path, field, names.name[i]);
        ++*added;
    }
    fmt_names_free(&names);
    return failed;
}

/* Whether the argument is NAME=FILE with an unknown field's name, and no file has that name. */
static int no_such_field(const struct input *in, const char *text, size_t length)
{
    char fields[FIELDS_TEXT_MOST];
    fmt_schema_describe(in->fields, fields, sizeof fields);
    console_error(in->console, "%s: this memory has no field '%.*s' (its rows are %s)", text, (int)length, text,
                  fields);
    return -1;
}

static int add_argument(struct input *in, const char *text)
{
    const char *equals = strchr(text, '=');
    size_t length = equals ? (size_t)(equals - text) : 0, added = 0;
    const fmt_column *field = equals ? fmt_schema_find(in->fields, text, length) : NULL;
    const char *path = field ? equals + 1 : text;
    struct stat st;
    if (field == NULL && equals != NULL && memchr(text, '/', length) == NULL && stat(text, &st) != 0)
        return no_such_field(in, text, length);
    bool folder = strcmp(path, "-") != 0 && stat(path, &st) == 0 && S_ISDIR(st.st_mode);
    if (folder && in->fields->count == 1)
        return add_folder(in, path, field);
    if (!folder && field == NULL && in->options.member == NULL && in->options.kind == FMT_ANY)
        if (add_members(in, path, &added) != 0)
            return -1;
    return added > 0 ? 0 : add_item(in, NULL, path, field, NULL);
}

struct input *input_open(const struct console *console, const fmt_schema *fields, const struct input_options *options,
                         char **names, int count)
{
    struct input *in = calloc(1, sizeof *in);
    if (in == NULL) {
        console_error(console, "out of memory");
        return NULL;
    }
    *in = (struct input){.console = console,
                         .fields = fields,
                         .options = *options,
                         .piece = calloc(fields->count, sizeof *in->piece),
                         .names = calloc(fields->count, sizeof *in->names)};
    int failed = in->piece == NULL || in->names == NULL ? no_memory(in) : 0;
    if (!failed && options->skip_bad && fields->count > 1 && !fmt_schema_is_table(fields))
        failed = console_error(
            console, "--skip-bad: rows of several fields come from inputs that belong together, of which none "
                     "can be skipped");
    for (int i = 0; i < count && !failed; i++)
        failed = add_argument(in, names[i]);
    if (!failed)
        return in;
    input_close(in);
    return NULL;
}

void input_close(struct input *in)
{
    if (in == NULL)
        return;
    for (size_t i = 0; i < in->count; i++)
        item_free(&in->items[i]);
    for (size_t f = 0; f < in->fields->count && in->piece != NULL && in->names != NULL; f++) {
        piece_free(&in->piece[f]);
        free(in->names[f]);
    }
    free(in->piece);
    free(in->names);
    piece_free(&in->held);
    table_close(in->table);
    free(in->items);
    free(in);
}

bool input_pauses(const struct input *in)
{
    return in->table != NULL && table_pauses(in->table);
}

size_t input_bad_rows(const struct input *in)
{
    return in->bad_rows;
}

size_t input_expected(const struct input *in)
{
    if (in->table != NULL && in->at + 1 == in->count)
        return in->returned - in->streamed + table_expected(in->table);
    if (in->table != NULL)
        return 0;
    for (size_t i = in->at; i < in->count; i++)
        if (strcmp(in->items[i].path, "-") == 0)
            return 0;
    return in->returned + (in->fields->count == 1 ? in->count - in->at : 0);
}

/* ---- batches */

void batch_free(struct batch *batch)
{
    free(batch->name);
    free(batch->x);
    free(batch->known);
    free(batch->given);
    free(batch->names);
    free(batch->bad);
    *batch = (struct batch){0};
}

bool batch_hides(const struct batch *batch, const unsigned char *known, size_t dim, size_t row, const fmt_column *field)
{
    size_t at = row * dim + field->offset;
    for (size_t j = at; j < at + field->size; j++)
        if (!known[j] && (batch->known == NULL || batch->known[j]))
            return true;
    return false;
}

void batch_row_name(const struct batch *batch, size_t row, char *out, size_t capacity)
{
    if (batch->numbered)
        snprintf(out, capacity, "%s row %zu", batch->name, batch->first + row);
    else
        snprintf(out, capacity, "%s", batch->name);
}

/* Loads the next rows of the current item into held; 0, or -1 after a message. */
static int load_item(struct input *in)
{
    struct item *item = &in->items[in->at];
    if (load_piece(in->console, in->fields, &in->options, item, &in->table, &in->held) != 0)
        return -1;
    in->holds = in->held.rows > 0;
    if (in->holds || !in->held.ended || in->streamed > 0)
        return 0;
    console_error(in->console, "%s: no rows", strcmp(item->path, "-") == 0 ? "standard input" : item->path);
    return -1;
}

/* Whether the current item may be skipped: none of its rows was used yet. */
static bool skips(const struct input *in)
{
    return in->options.skip_bad && in->table == NULL && in->streamed == 0 && !interrupted();
}

/* Loads the next item into held. 1, 0 at the end, -1. */
static int load_next(struct input *in)
{
    while (!in->holds && in->at < in->count) {
        int failed = load_item(in);
        if (failed && !skips(in))
            return -1;
        in->held_item = in->at;
        in->items[in->at].bad = failed != 0;
        in->skipped += failed != 0;
        if (failed || in->held.ended || in->held.repeats)
            in->at++;
        if (!in->holds) {
            in->bad_rows += in->held.bad_rows;
            piece_free(&in->held);
            in->streamed = 0;
        }
    }
    return in->holds;
}

int input_tell_skipped(const struct input *in)
{
    if (in->skipped == 0)
        return EXIT_DONE;
    console_error(in->console, "%zu input%s skipped:", in->skipped, in->skipped == 1 ? " was" : "s were");
    for (size_t i = 0; i < in->count; i++)
        if (in->items[i].bad)
            fprintf(stderr, "  %s\n", in->items[i].path);
    return EXIT_REFUSED;
}

/* Names pictures by their files, unless a column has the names. -1 when out of memory. */
static int name_batch(struct batch *batch)
{
    if (batch->names != NULL || batch->rows != 1 || batch->name == NULL || !fmt_is_picture_name(batch->name))
        return 0;
    batch->names = malloc(NAME_ROOM);
    if (batch->names == NULL)
        return -1;
    name_of_path(batch->name, batch->names);
    return 0;
}

/* Turns the held piece, which has all fields, into a batch. */
static int take_whole(struct input *in, struct batch *batch)
{
    const char *path = in->items[in->held_item].path;
    bool standard = strcmp(path, "-") == 0, stream = standard || in->held.part;
    *batch = (struct batch){.name = strdup(standard ? "standard input" : path),
                            .first = in->items[in->held_item].chosen ? 0 : in->options.first,
                            .rows = in->held.rows,
                            .x = in->held.x,
                            .known = in->held.known,
                            .names = in->held.names,
                            .bad = in->held.bad,
                            .given = malloc(in->fields->count * sizeof *batch->given)};
    batch->first += stream ? in->streamed : 0;
    batch->numbered = stream || batch->rows > 1 || batch->first > 0;
    in->streamed = standard || (stream && !in->held.ended) ? in->streamed + batch->rows : 0;
    for (size_t f = 0; f < in->fields->count && batch->given != NULL; f++)
        batch->given[f] = true;
    in->held.x = NULL;
    in->held.known = NULL;
    in->held.names = NULL;
    in->held.bad = NULL;
    in->bad_rows += in->held.bad_rows;
    piece_free(&in->held);
    in->holds = false;
    in->returned += batch->rows;
    return batch->name && batch->given && name_batch(batch) == 0 ? 1 : no_memory(in);
}

/* The number of rows of the waiting pieces; 0 after a message if they differ. */
static size_t agreed_rows(const struct input *in)
{
    size_t rows = 0, from = 0;
    for (size_t f = 0; f < in->fields->count; f++) {
        const struct piece *p = &in->piece[f];
        if (p->size == 0 || p->repeats)
            continue;
        if (rows != 0 && p->rows != rows) {
            console_error(in->console, "%s has %zu rows, but %s has %zu", in->names[from], rows, in->names[f], p->rows);
            return 0;
        }
        rows = p->rows;
        from = f;
    }
    return rows ? rows : 1;
}

/* Labels from the file of a picture fill the single field that no input gave. */
static int use_labels(struct input *in, const struct piece *p, const char *name)
{
    size_t none = in->fields->count, missing = none;
    for (size_t f = 0; f < in->fields->count; f++) {
        if (in->piece[f].size > 0)
            continue;
        if (missing != none)
            return 0;
        missing = f;
    }
    if (missing == none || p->labels == NULL || field_is_picture(&in->fields->column[missing]))
        return 0;
    const fmt_column *field = &in->fields->column[missing];
    float *values = malloc(p->rows * sizeof *values), *x = malloc(p->rows * field->size * sizeof *x);
    int failed = values == NULL || x == NULL ? no_memory(in) : 0;
    for (size_t i = 0; !failed && i < p->rows; i++)
        values[i] = (float)p->labels[i];
    if (!failed)
        failed = labels_to_rows(in->console, name, field, values, p->rows, x);
    free(values);
    if (failed)
        free(x);
    else
        in->piece[missing] = (struct piece){.field = field, .rows = p->rows, .size = field->size, .x = x};
    return failed;
}

static void fill_field(const struct piece *p, struct batch *batch, size_t dim)
{
    for (size_t i = 0; i < batch->rows; i++)
        memcpy(batch->x + i * dim + p->field->offset, p->x + (p->repeats ? 0 : i * p->size), p->size * sizeof *p->x);
}

/* The known entries of the waiting pieces, if any has gaps. */
static int join_known(const struct input *in, struct batch *batch)
{
    size_t dim = in->fields->dim;
    for (size_t f = 0; f < in->fields->count; f++) {
        const struct piece *p = &in->piece[f];
        if (p->size == 0 || p->known == NULL)
            continue;
        if (batch->known == NULL) {
            batch->known = malloc(batch->rows * dim);
            if (batch->known == NULL)
                return -1;
            memset(batch->known, 1, batch->rows * dim);
        }
        for (size_t i = 0; i < batch->rows; i++)
            memcpy(batch->known + i * dim + p->field->offset, p->known + (p->repeats ? 0 : i * p->size), p->size);
    }
    return 0;
}

/* Joins the waiting pieces into rows. */
static int join(struct input *in, struct batch *batch)
{
    size_t dim = in->fields->dim, rows = agreed_rows(in), none = in->fields->count, named = none;
    *batch = (struct batch){.rows = rows, .first = in->options.first};
    if (rows == 0)
        return -1;
    for (size_t f = 0; f < in->fields->count; f++)
        if (in->piece[f].labels != NULL && use_labels(in, &in->piece[f], in->names[f]) != 0)
            return -1;
    batch->x = calloc(rows, dim * sizeof *batch->x);
    batch->given = calloc(none, sizeof *batch->given);
    if (batch->x == NULL || batch->given == NULL || join_known(in, batch) != 0)
        return no_memory(in);
    for (size_t f = 0; f < none; f++) {
        batch->given[f] = in->piece[f].size > 0;
        if (!batch->given[f])
            continue;
        fill_field(&in->piece[f], batch, dim);
        bool better = named == none || (in->piece[named].repeats && !in->piece[f].repeats);
        if (in->names[f] != NULL && better)
            named = f;
    }
    if (named != none)
        batch->name = strdup(in->names[named]);
    batch->numbered = rows > 1 || in->options.first > 0;
    for (size_t f = 0; f < none; f++) {
        piece_free(&in->piece[f]);
        free(in->names[f]);
        in->names[f] = NULL;
    }
    in->returned += rows;
    return batch->name && name_batch(batch) == 0 ? 1 : no_memory(in);
}

/* Moves the held piece to its field. */
static int set_aside(struct input *in)
{
    size_t f = (size_t)(in->held.field - in->fields->column);
    const char *path = in->items[in->held_item].path;
    char value[160];
    snprintf(value, sizeof value, "%.60s=%.60s", in->held.field->name, path);
    in->names[f] = strdup(in->held.repeats ? value : strcmp(path, "-") == 0 ? "standard input" : path);
    in->piece[f] = in->held;
    in->held = (struct piece){0};
    in->holds = false;
    return in->names[f] ? 0 : no_memory(in);
}

int input_next(struct input *in, struct batch *batch)
{
    bool waiting = false;
    *batch = (struct batch){0};
    for (;;) {
        int got = load_next(in);
        if (got < 0)
            return -1;
        if (got == 0)
            return waiting ? join(in, batch) : 0;
        if (in->held.field == NULL || in->fields->count == 1)
            return waiting ? join(in, batch) : take_whole(in, batch);
        if (in->piece[in->held.field - in->fields->column].size > 0)
            return join(in, batch);
        if (set_aside(in) != 0)
            return -1;
        waiting = true;
    }
}
