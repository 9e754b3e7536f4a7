/* Outputs of bpcn read and bpcn sample: arrays, tables, pictures, folders, streams. */
#include "output.h"

#include "picture.h"
#include "table.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <unistd.h>

bool output_option(struct args *a, int c, struct output_options *o)
{
    switch (c) {
    case OPT_OUTPUT:
        o->path = optarg;
        return true;
    case OPT_OUTPUT_FORMAT:
        o->kind = args_word(a);
        return true;
    case OPT_ONLY:
        o->only = optarg;
        return true;
    case OPT_PLAIN:
        o->plain = true;
        return true;
    default:
        return false;
    }
}

enum form { FORM_NONE, FORM_STREAM, FORM_PICTURE, FORM_ARRAY, FORM_FOLDER };

struct output {
    const struct console *console;
    const fmt_schema *fields;
    struct output_options options;
    const fmt_column *only; /* NULL: whole rows */
    enum form form;
    fmt_kind kind;
    size_t rows, capacity;
    bool truth;                        /* of every row so far */
    bool query;                        /* there are queries */
    float *answers, *queries, *truths; /* [rows x dim] */
    unsigned char *known;              /* [rows x dim] */
    float *familiarity;                /* [rows] */
    struct table_writer *text;         /* the CSV output of a table, once it has begun */
};

static int kind_of_suffix(const char *path)
{
    static const struct {
        const char *suffix;
        fmt_kind kind;
    } kinds[] = {{".png", FMT_PNG}, {".jpg", FMT_JPEG}, {".jpeg", FMT_JPEG}, {".ppm", FMT_PNM},
                 {".pgm", FMT_PNM}, {".pnm", FMT_PNM},  {".npy", FMT_NPY},   {".npz", FMT_NPZ},
                 {".csv", FMT_CSV}, {".f32", FMT_RAW},  {".raw", FMT_RAW}};
    const char *dot = strrchr(path, '.');
    for (size_t i = 0; dot != NULL && i < sizeof kinds / sizeof *kinds; i++)
        if (strcasecmp(dot, kinds[i].suffix) == 0)
            return (int)kinds[i].kind;
    return FMT_ANY;
}

static bool names_picture(fmt_kind kind)
{
    return kind == FMT_PNG || kind == FMT_JPEG || kind == FMT_PNM;
}

static int choose_form(struct output *out)
{
    const char *path = out->options.path;
    struct stat st;
    out->form = FORM_NONE;
    if (path == NULL)
        return 0;
    out->kind = (fmt_kind)(out->options.kind > 0 ? out->options.kind : kind_of_suffix(path));
    if (strcmp(path, "-") == 0) {
        out->kind = out->options.kind > 0 ? out->kind : fmt_schema_is_table(out->fields) ? FMT_CSV : FMT_RAW;
        out->form = FORM_STREAM;
        if (out->kind == FMT_RAW && isatty(STDOUT_FILENO))
            return console_usage(out->console,
                                 "raw numbers do not go to a terminal: give an output, such as -o out.npy");
        if (out->kind == FMT_RAW || out->kind == FMT_CSV)
            return 0;
        return console_usage(out->console, "-o -: standard output takes raw or csv (--output-format)");
    }
    bool folder = path[0] != '\0' && (path[strlen(path) - 1] == '/' || (stat(path, &st) == 0 && S_ISDIR(st.st_mode)));
    out->form = folder ? FORM_FOLDER : names_picture(out->kind) ? FORM_PICTURE : FORM_ARRAY;
    if (folder && mkdir(path, 0777) != 0 && errno != EEXIST)
        return console_error(out->console, "%s: cannot make the folder: %s", path, strerror(errno));
    if (!folder && (out->kind == FMT_ANY || out->kind == FMT_IDX || out->kind == FMT_CIFAR))
        return console_usage(out->console, "%s: the suffix is none of png jpg ppm pgm npy npz csv f32", path);
    if (!folder && fmt_check_output(path) != BPCN_OK)
        return console_error(out->console, "%s", bpcn_error());
    return 0;
}

static int output_field(struct output *out)
{
    const char *name = out->options.only;
    bool pictures = out->form == FORM_PICTURE || out->form == FORM_FOLDER;
    out->only = name       ? fmt_schema_find(out->fields, name, strlen(name))
                : pictures ? fmt_schema_picture(out->fields)
                           : NULL;
    if (name != NULL && out->only == NULL)
        return console_usage(out->console, "--only: this memory has no field '%s'", name);
    if (pictures && (out->only == NULL || !field_is_picture(out->only)))
        return console_usage(out->console,
                             "%s: is a picture, but %s does not have the shape of one (write .npy or .csv)",
                             out->options.path, name ? name : "this memory");
    return 0;
}

struct output *output_open(const struct console *console, const fmt_schema *fields,
                           const struct output_options *options)
{
    struct output *out = calloc(1, sizeof *out);
    if (out == NULL) {
        console_error(console, "out of memory");
        return NULL;
    }
    *out = (struct output){.console = console, .fields = fields, .options = *options, .truth = true};
    if (choose_form(out) == 0 && output_field(out) == 0)
        return out;
    output_close(out);
    return NULL;
}

void output_close(struct output *out)
{
    if (out == NULL)
        return;
    table_writer_close(out->text, false);
    free(out->answers);
    free(out->queries);
    free(out->truths);
    free(out->known);
    free(out->familiarity);
    free(out);
}

/* ---- arrays: the rows, or one field of them, channels where they are wanted */

static void pack_pixels(const fmt_column *f, const float *from, float *to)
{
    size_t plane = f->width * f->height;
    for (size_t p = 0; p < plane; p++)
        for (size_t c = 0; c < f->channels; c++)
            to[p * f->channels + c] = from[c * plane + p];
}

/* The same for a table: a value for each cell, in its units. */
static float *outgoing_cells(const struct output *out, const float *x, size_t rows, size_t *size)
{
    size_t cells = out->fields->cells, first = out->only ? out->only->cell : 0;
    *size = out->only ? out->only->cells : cells;
    float *row = malloc(cells * sizeof *row), *to = malloc(rows * *size * sizeof *to + 1);
    for (size_t i = 0; row != NULL && to != NULL && i < rows; i++) {
        table_decode(out->fields, x + i * out->fields->dim, row);
        memcpy(to + i * *size, row + first, *size * sizeof *to);
    }
    if (row == NULL) {
        free(to);
        to = NULL;
    }
    free(row);
    return to;
}

/* A new array [rows x size] of the output; NULL when out of memory. */
static float *outgoing(const struct output *out, const float *x, size_t rows, size_t *size)
{
    size_t dim = out->fields->dim, offset = out->only ? out->only->offset : 0;
    if (fmt_schema_is_table(out->fields))
        return outgoing_cells(out, x, rows, size);
    *size = out->only ? out->only->size : dim;
    float *to = malloc(rows * *size * sizeof *to + 1);
    for (size_t i = 0; to != NULL && i < rows; i++) {
        memcpy(to + i * *size, x + i * dim + offset, *size * sizeof *to);
        for (size_t f = 0; out->options.channels_last && f < out->fields->count; f++) {
            const fmt_column *field = &out->fields->column[f];
            if (field_is_picture(field) && (out->only == NULL || out->only == field))
                pack_pixels(field, x + i * dim + field->offset, to + i * *size + field->offset - offset);
        }
    }
    return to;
}

/* A table as text, begun with its header. */
static int output_table(struct output *out, size_t rows, const float *answers)
{
    if (out->text == NULL)
        out->text = table_writer_open(out->fields, out->only, out->options.path);
    if (out->text != NULL && table_writer_add(out->text, answers, rows) == BPCN_OK)
        return 0;
    return console_error(out->console, "%s", bpcn_error());
}

static int add_stream(struct output *out, size_t rows, const float *answers)
{
    size_t size;
    float *data = outgoing(out, answers, rows, &size);
    if (data == NULL)
        return console_error(out->console, "out of memory");
    fmt_table table = {.rows = rows, .dim = size, .data = data};
    bpcn_status status = fmt_write_stream(stdout, "standard output", out->kind, &table);
    free(data);
    return status == BPCN_OK ? 0 : console_error(out->console, "%s", bpcn_error());
}

/* ---- a folder: each answer under the name of its row */

static int output_pictures(struct output *out, const struct batch *batch, size_t rows, const float *answers)
{
    const char *folder = out->options.path;
    size_t dim = out->fields->dim;
    bool slash = folder[strlen(folder) - 1] == '/';
    for (size_t i = 0; i < rows; i++) {
        char path[4096], number[32] = "";
        const char *base = batch ? strrchr(batch->name, '/') : NULL;
        base = base ? base + 1 : batch ? batch->name : "sample";
        size_t stem = strcspn(base, ".");
        if (batch == NULL || batch->numbered)
            snprintf(number, sizeof number, "-%05zu", (batch ? batch->first : out->rows) + i);
        snprintf(path, sizeof path, "%s%s%.*s%s.png", folder, slash ? "" : "/", (int)stem, base, number);
        struct panel panel = {.rows = answers + i * dim};
        int failed = picture_save(out->console, path, FMT_PNG, out->only, dim, &panel, 1, 1);
        if (failed)
            return failed;
    }
    out->rows += rows;
    return 0;
}

/* ---- everything else waits until the end */

static int grow(struct output *out, size_t rows)
{
    size_t dim = out->fields->dim, capacity = out->capacity ? out->capacity : 64;
    while (capacity < out->rows + rows)
        capacity *= 2;
    if (capacity == out->capacity)
        return 0;
    float **arrays[] = {&out->answers, &out->queries, &out->truths};
    for (size_t i = 0; i < 3; i++) {
        float *more = realloc(*arrays[i], capacity * dim * sizeof *more);
        if (more == NULL)
            return -1;
        *arrays[i] = more;
    }
    unsigned char *known = realloc(out->known, capacity * dim);
    out->known = known ? known : out->known;
    float *familiarity = realloc(out->familiarity, capacity * sizeof *familiarity);
    out->familiarity = familiarity ? familiarity : out->familiarity;
    out->capacity = capacity;
    return known && familiarity ? 0 : -1;
}

/* Whether the batch gives the output field, or all fields. */
static bool holds(const struct output *out, const struct batch *batch)
{
    for (size_t f = 0; f < out->fields->count; f++)
        if (!batch->given[f] && (out->only == NULL || out->only == &out->fields->column[f]))
            return false;
    return true;
}

static int keep(struct output *out, const struct batch *batch, const struct query *query, size_t rows,
                const float *answers, const double *familiarity)
{
    size_t dim = out->fields->dim, at = out->rows * dim;
    if (grow(out, rows) != 0)
        return console_error(out->console, "out of memory");
    memcpy(out->answers + at, answers, rows * dim * sizeof *answers);
    memset(out->known + at, 1, rows * dim);
    out->query = query != NULL;
    out->truth = out->truth && query != NULL && query->truth && holds(out, batch);
    if (query != NULL) {
        memcpy(out->queries + at, query->x, rows * dim * sizeof *answers);
        memcpy(out->known + at, query->known, rows * dim);
        memcpy(out->truths + at, batch->x, rows * dim * sizeof *answers);
    }
    for (size_t i = 0; i < rows; i++)
        out->familiarity[out->rows + i] = familiarity ? (float)familiarity[i] : 0;
    out->rows += rows;
    return 0;
}

int output_add(struct output *out, const struct batch *batch, const struct query *query, size_t rows,
               const float *answers, const double *familiarity)
{
    if (out->kind == FMT_CSV && out->form != FORM_NONE && fmt_schema_is_table(out->fields))
        return output_table(out, rows, answers);
    switch (out->form) {
    case FORM_STREAM:
        return add_stream(out, rows, answers);
    case FORM_FOLDER:
        return output_pictures(out, batch, rows, answers);
    case FORM_PICTURE:
    case FORM_ARRAY:
        return keep(out, batch, query, rows, answers, familiarity);
    case FORM_NONE:
        break;
    }
    return 0;
}

bool output_waits(const struct output *out)
{
    return out->form == FORM_PICTURE || out->form == FORM_ARRAY;
}

static int save_picture(const struct output *out)
{
    struct panel panels[PANELS_MOST];
    size_t count = 0;
    bool beside = out->query && !out->options.plain && (out->truth || out->rows > 1);
    if (beside && out->truth)
        panels[count++] = (struct panel){"truth", out->truths, NULL};
    if (beside)
        panels[count++] = (struct panel){"query", out->queries, out->known};
    panels[count++] = (struct panel){beside ? "answer" : NULL, out->answers, NULL};
    return picture_save(out->console, out->options.path, out->kind, out->only, out->fields->dim, panels, count,
                        out->rows);
}

/* The answers and, for a read, the queries, their known entries and the familiarity. */
static int save_npz(const struct output *out)
{
    size_t size = 0, count = 0;
    float *x[3] = {outgoing(out, out->answers, out->rows, &size), NULL, NULL};
    fmt_member members[5];
    members[count++] = (fmt_member){"answer", FMT_F32, 2, {out->rows, size}, x[0]};
    if (out->query && out->only == NULL) {
        x[1] = outgoing(out, out->queries, out->rows, &size);
        members[count++] = (fmt_member){"query", FMT_F32, 2, {out->rows, size}, x[1]};
        members[count++] = (fmt_member){"known", FMT_U8, 2, {out->rows, size}, out->known};
    }
    if (out->query)
        members[count++] = (fmt_member){"familiarity", FMT_F32, 1, {out->rows}, out->familiarity};
    if (out->query && out->truth) {
        x[2] = outgoing(out, out->truths, out->rows, &size);
        members[count++] = (fmt_member){"truth", FMT_F32, 2, {out->rows, size}, x[2]};
    }
    bpcn_status status = bpcn_fail(BPCN_NO_MEMORY, "out of memory");
    if (x[0] && (x[1] || !out->query || out->only) && (x[2] || !out->query || !out->truth))
        status = fmt_write_npz(out->options.path, members, count, false);
    for (size_t i = 0; i < 3; i++)
        free(x[i]);
    return status == BPCN_OK ? 0 : console_error(out->console, "%s", bpcn_error());
}

static int save_array(const struct output *out)
{
    size_t size;
    if (out->kind == FMT_NPZ)
        return save_npz(out);
    float *data = outgoing(out, out->answers, out->rows, &size);
    if (data == NULL)
        return console_error(out->console, "out of memory");
    fmt_table table = {.rows = out->rows, .dim = size, .data = data};
    bpcn_status status = fmt_write(out->options.path, out->kind, &table);
    free(data);
    return status == BPCN_OK ? 0 : console_error(out->console, "%s", bpcn_error());
}

int output_finish(struct output *out)
{
    if (out->text != NULL) {
        bpcn_status status = table_writer_close(out->text, true);
        out->text = NULL;
        return status == BPCN_OK ? 0 : console_error(out->console, "%s", bpcn_error());
    }
    if (out->rows == 0 || !output_waits(out))
        return 0;
    return out->form == FORM_PICTURE ? save_picture(out) : save_array(out);
}
