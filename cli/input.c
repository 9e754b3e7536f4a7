/* The arguments in order, folders opened up, and fields from different files put side by side. */
#include "input.h"

#include "load.h"
#include "naming.h"
#include "progress.h"

#include <dirent.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>

enum { OPT_RESIZE = 300, OPT_PIXELS, OPT_CHANNELS_LAST, OPT_FORMAT, OPT_MEMBER, OPT_ROWS, OPT_CLIP, OPT_SKIP_BAD };

const struct option input_option_list[] = {{"resize", no_argument, NULL, OPT_RESIZE},
                                           {"pixels", no_argument, NULL, OPT_PIXELS},
                                           {"channels-last", no_argument, NULL, OPT_CHANNELS_LAST},
                                           {"format", required_argument, NULL, OPT_FORMAT},
                                           {"member", required_argument, NULL, OPT_MEMBER},
                                           {"rows", required_argument, NULL, OPT_ROWS},
                                           {"clip", no_argument, NULL, OPT_CLIP},
                                           {"skip-bad", no_argument, NULL, OPT_SKIP_BAD},
                                           {NULL, 0, NULL, 0}};

struct input {
    const struct say *say;
    const fmt_schema *fields;
    struct input_options options;
    struct item *items;
    size_t count, room, at;
    struct piece *piece; /* [fields] waiting for the others; size 0: not given */
    char **names;        /* [fields] */
    struct piece held;   /* loaded, but of the next batch */
    struct table *table; /* that the item at hand is read from, or NULL */
    size_t held_item;
    bool holds;
    size_t streamed, returned; /* rows */
    size_t skipped;            /* items that were bad */
};

int parse_kind(struct args *a, const char *text)
{
    static const struct {
        const char *name;
        fmt_kind kind;
    } kinds[] = {{"any", FMT_ANY}, {"png", FMT_PNG}, {"jpeg", FMT_JPEG},   {"pnm", FMT_PNM}, {"npy", FMT_NPY},
                 {"npz", FMT_NPZ}, {"idx", FMT_IDX}, {"cifar", FMT_CIFAR}, {"csv", FMT_CSV}, {"raw", FMT_RAW}};
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        if (strcmp(text, kinds[i].name) == 0)
            return (int)kinds[i].kind;
    a->status = say_usage(&a->say, "--format: '%s' is none of any png jpeg pnm npy npz idx cifar csv raw", text);
    return -1;
}

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
        a->status = say_usage(&a->say, "--rows: '%s' is not FIRST:END with FIRST below END, such as 0:256", text);
        return;
    }
    o->first = (size_t)first;
    o->count = (size_t)(last - first);
}

bool input_option(struct args *a, int c, struct input_options *o)
{
    int kind = c == OPT_FORMAT ? parse_kind(a, optarg) : 0;
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
        o->kind = kind < 0 ? FMT_ANY : (fmt_kind)kind;
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
    default:
        return false;
    }
}

static int no_memory(const struct input *in)
{
    say_error(in->say, "out of memory");
    return -1;
}

/* ---- the list of things to load: 0, or -1 after a message */

static int add_item(struct input *in, const char *folder, const char *path, const fmt_column *field, const char *member)
{
    if (in->count == in->room) {
        size_t room = in->room ? 2 * in->room : 16;
        struct item *more = realloc(in->items, room * sizeof *more);
        if (more == NULL)
            return no_memory(in);
        in->items = more;
        in->room = room;
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

/* Of the pictures from `begin` on, those that --rows asks for. */
static int select_pictures(struct input *in, const char *path, size_t begin)
{
    size_t there = in->count - begin, first = in->options.first, count = in->options.count;
    if (first >= there) {
        say_error(in->say, "%s: has %zu pictures, so none from number %zu on", path, there, first);
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

/* Every picture of a folder, by name, so that each row has its own. */
static int add_folder(struct input *in, const char *path, const fmt_column *field)
{
    size_t first = in->count;
    int failed = 0;
    DIR *folder = opendir(path);
    if (folder == NULL)
        return add_item(in, NULL, path, field, NULL); /* reading it will say why not */
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
    if (length < 4 || strcasecmp(path + length - 4, ".npz") != 0 || fmt_npz_list(path, &names, NULL) != FMT_OK)
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

/* NAME=FILE with a name that is no field's, unless a file is called so. */
static int no_such_field(const struct input *in, const char *text, size_t length)
{
    char fields[FIELDS_TEXT_MOST];
    fmt_schema_describe(in->fields, fields, sizeof fields);
    say_error(in->say, "%s: there is no field '%.*s' in this memory, whose rows are %s", text, (int)length, text,
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

struct input *input_open(const struct say *say, const fmt_schema *fields, const struct input_options *options,
                         char **names, int count)
{
    struct input *in = calloc(1, sizeof *in);
    if (in == NULL) {
        say_error(say, "out of memory");
        return NULL;
    }
    *in = (struct input){.say = say,
                         .fields = fields,
                         .options = *options,
                         .piece = calloc(fields->count, sizeof *in->piece),
                         .names = calloc(fields->count, sizeof *in->names)};
    int failed = in->piece == NULL || in->names == NULL ? no_memory(in) : 0;
    if (!failed && options->skip_bad && fields->count > 1 && !fmt_schema_is_table(fields))
        failed =
            say_error(say, "--skip-bad: rows of several fields come from inputs that belong together, of which none "
                           "can be passed over");
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

size_t input_expected(const struct input *in)
{
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

void batch_row_name(const struct batch *batch, size_t row, char *out, size_t room)
{
    if (batch->numbered)
        snprintf(out, room, "%s row %zu", batch->name, batch->first + row);
    else
        snprintf(out, room, "%s", batch->name);
}

/* Loads what is next of the item at hand into held; 0, or -1 after a message. */
static int load_item(struct input *in)
{
    struct item *item = &in->items[in->at];
    if (load_piece(in->say, in->fields, &in->options, item, &in->table, &in->held) != 0)
        return -1;
    in->holds = in->held.rows > 0;
    if (in->holds || !in->held.ended || in->streamed > 0)
        return 0;
    say_error(in->say, "%s: no rows", strcmp(item->path, "-") == 0 ? "standard input" : item->path);
    return -1;
}

/* Whether the item at hand, of which nothing was taken yet, may be passed over. */
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
    say_error(in->say, "%zu input%s passed over:", in->skipped, in->skipped == 1 ? " was" : "s were");
    for (size_t i = 0; i < in->count; i++)
        if (in->items[i].bad)
            fprintf(stderr, "  %s\n", in->items[i].path);
    return EXIT_REFUSED;
}

/* A row that is a picture has the name of its file, unless a column has the names. -1 when out of memory. */
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

/* The held piece, which has all the fields there are, as a batch. */
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
                            .given = malloc(in->fields->count * sizeof *batch->given)};
    batch->first += stream ? in->streamed : 0;
    batch->numbered = stream || batch->rows > 1 || batch->first > 0;
    in->streamed = standard || (stream && !in->held.ended) ? in->streamed + batch->rows : 0;
    for (size_t f = 0; f < in->fields->count && batch->given != NULL; f++)
        batch->given[f] = true;
    in->held.x = NULL;
    in->held.known = NULL;
    in->held.names = NULL;
    piece_free(&in->held);
    in->holds = false;
    in->returned += batch->rows;
    return batch->name && batch->given && name_batch(batch) == 0 ? 1 : no_memory(in);
}

/* Rows of the waiting pieces; 0 after a message that they do not agree. */
static size_t agreed_rows(const struct input *in)
{
    size_t rows = 0, from = 0;
    for (size_t f = 0; f < in->fields->count; f++) {
        const struct piece *p = &in->piece[f];
        if (p->size == 0 || p->repeats)
            continue;
        if (rows != 0 && p->rows != rows) {
            say_error(in->say, "%s has %zu rows, but %s has %zu", in->names[from], rows, in->names[f], p->rows);
            return 0;
        }
        rows = p->rows;
        from = f;
    }
    return rows ? rows : 1;
}

/* Labels that came with a picture fill the one field that nobody gave. */
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
        failed = labels_to_rows(in->say, name, field, values, p->rows, x);
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

/* What is known of the waiting pieces, if any of them has gaps. */
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

/* The waiting pieces side by side. */
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
