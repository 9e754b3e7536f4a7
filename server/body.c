/* Bodies to rows: JSON, octets, arrays and pictures.

   {"rows": [[0.5, null, ...], {"age": 31, "job": "clerk"}], "names": ["a", null], "noise": 0.1} has rows by place or by
   the names of columns, names of rows, and options. */
#include "body.h"

#include "http_parse.h"

#include <jansson.h>
#include <math.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

enum content content_of(const char *type)
{
    static const char *const names[] = {"application/json", "application/octet-stream", "application/x-npy",
                                        "image/png", "image/jpeg"};
    size_t length = type != NULL ? strcspn(type, "; \t") : 0;
    for (int k = 0; k < CONTENT_OTHER; k++)
        if (strlen(names[k]) == length && strncasecmp(type, names[k], length) == 0)
            return (enum content)k;
    return CONTENT_OTHER;
}

enum content content_wanted(const char *accept)
{
    static const char *const names[] = {"application/octet-stream", "application/x-npy", "image/png", "text/csv"};
    static const enum content contents[] = {CONTENT_OCTETS, CONTENT_NPY, CONTENT_PNG, CONTENT_CSV};
    for (size_t k = 0; accept != NULL && k < sizeof names / sizeof *names; k++)
        if (http_list_has(accept, names[k]))
            return contents[k];
    return CONTENT_JSON;
}

bpcn_status body_unknown_type(void)
{
    return http_fail(
        415, "Content-Type",
        "say what the body is: application/json, application/octet-stream, application/x-npy, image/png or "
        "image/jpeg");
}

void body_begin(struct body *b)
{
    *b = (struct body){.whole = true, .noise = -1, .beta = -1};
}

void body_free(struct body *b)
{
    free(b->x);
    free(b->known);
    free(b->name);
    b->x = NULL;
    b->known = NULL;
    b->name = NULL;
}

bpcn_status body_option(struct body *b, const char *name, double value)
{
    enum option_kind { REAL, COUNT, FLAG }; /* double, uint64_t, bool */
    static const struct {
        const char *name;
        double least, most;
        enum option_kind kind;
        size_t at;
    } options[] = {{"noise", 0, 1e6, REAL, offsetof(struct body, noise)},
                   {"forget", 0, 1, REAL, offsetof(struct body, forgotten)},
                   {"beta", 0, 1, REAL, offsetof(struct body, beta)},
                   {"n", 1, 1e6, COUNT, offsetof(struct body, number)},
                   {"draw", 0, 9e15, COUNT, offsetof(struct body, draw)},
                   {"shards", 0, 1e6, COUNT, offsetof(struct body, shards)},
                   {"first", 0, 1e6, COUNT, offsetof(struct body, first)},
                   {"after", 0, 9e15, COUNT, offsetof(struct body, after)},
                   {"step", 0, 9e15, COUNT, offsetof(struct body, step)},
                   {"spread", 0, 1, FLAG, offsetof(struct body, spread)},
                   {"resize", 0, 1, FLAG, offsetof(struct body, resize)},
                   {"trace", 0, 1, FLAG, offsetof(struct body, trace)},
                   {"seen", 0, 1, FLAG, offsetof(struct body, seen)}};
    size_t k = 0;
    while (k < sizeof options / sizeof *options && strcmp(name, options[k].name) != 0)
        k++;
    if (k == sizeof options / sizeof *options)
        return http_fail(400, name,
                         "is not an option; the options are rows, names, noise, forget, beta, n, draw, shards, first, "
                         "after, step, spread, resize, trace and seen");
    bool counts = options[k].kind != REAL;
    if (!(value >= options[k].least && value <= options[k].most) || (counts && value != floor(value)))
        return http_fail(400, name, "is not a %snumber from %g to %g", counts ? "whole " : "", options[k].least,
                         options[k].most);
    char *field = (char *)b + options[k].at;
    uint64_t count = (uint64_t)value;
    bool flag = value != 0;
    if (options[k].kind == REAL)
        memcpy(field, &value, sizeof value);
    else if (options[k].kind == COUNT)
        memcpy(field, &count, sizeof count);
    else
        memcpy(field, &flag, sizeof flag);
    return BPCN_OK;
}

bpcn_status body_take_text(struct body *b, const char *name, const char *value)
{
    char *end;
    if (strcmp(name, "name") == 0)
        return body_name(b, value, strlen(value));
    double number = strtod(value, &end);
    return end == value || *end != '\0' ? http_fail(400, "URL", "the option '%.40s' is not NAME=NUMBER", name)
                                        : body_option(b, name, number);
}

bpcn_status body_name(struct body *b, const char *text, size_t size)
{
    char name[NAME_ROOM] = "", where[64];
    snprintf(where, sizeof where, "names[%zu]", b->names);
    if (text != NULL)
        name_of_text(text, size, name); /* of one that is sound, the same */
    if (text != NULL && (size == 0 || strlen(name) != size || memcmp(name, text, size) != 0))
        return http_fail(400, where, "is not 1 to %d bytes of UTF-8 without control characters", BPCN_MAX_NAME);
    char *more = realloc(b->name, (b->names + 1) * NAME_ROOM);
    if (more == NULL)
        return http_fail(503, "", "out of memory");
    memcpy(more + b->names * NAME_ROOM, name, NAME_ROOM);
    b->name = more;
    b->names++;
    return BPCN_OK;
}

static bpcn_status body_room(struct body *b, const struct shape *shape, size_t rows)
{
    size_t dim = shape->schema->dim;
    if (rows > shape->most_rows)
        return http_fail(413, "rows", "%zu rows; this server takes %zu at once", rows, shape->most_rows);
    b->x = calloc(rows * dim + 1, sizeof *b->x);
    b->known = calloc(rows * dim + 1, 1);
    b->rows = rows;
    return b->x != NULL && b->known != NULL ? BPCN_OK : http_fail(503, "", "out of memory");
}

static bpcn_status body_put(struct body *b, const fmt_schema *schema, size_t row, size_t entry, double value)
{
    char where[64];
    size_t at = row * schema->dim + entry;
    if (isnan(value))
        return BPCN_OK; /* unknown */
    size_t k = 0;
    while (entry >= schema->column[k].offset + schema->column[k].size)
        k++;
    double most = fmt_column_in_table(&schema->column[k]) ? FMT_FAR : FMT_FAR_PLAIN;
    if (!(fabs(value) <= most)) {
        snprintf(where, sizeof where, "rows[%zu][%zu]", row, entry);
        return http_fail(422, where, "is no plausible value: it is beyond %g", most);
    }
    b->x[at] = (float)value;
    b->known[at] = 1;
    return BPCN_OK;
}

/* ---- octets and arrays: floats of which NaN is not known */

static bpcn_status store_floats(struct body *b, const struct shape *shape, size_t rows, const float *x)
{
    size_t dim = shape->schema->dim;
    bpcn_status status = body_room(b, shape, rows);
    if (status != BPCN_OK)
        return status;
    for (size_t j = 0; j < rows * dim; j++)
        if ((status = body_put(b, shape->schema, j / dim, j % dim, (double)x[j])) != BPCN_OK)
            return status;
    return BPCN_OK;
}

static bpcn_status parse_octets(struct body *b, const struct shape *shape, const unsigned char *bytes, size_t size)
{
    size_t dim = shape->schema->dim, each = dim * sizeof(float);
    if (size % each != 0)
        return http_fail(400, "body", "%zu bytes, which are no whole rows of %zu little-endian floats of four bytes",
                         size, dim);
    if (size / each > shape->most_rows)
        return body_room(b, shape, size / each);
    float *x = malloc(size + 1);
    if (x == NULL)
        return http_fail(503, "", "out of memory");
    for (size_t j = 0; j < size / 4; j++) {
        uint32_t bits = (uint32_t)bytes[4 * j] | (uint32_t)bytes[4 * j + 1] << 8 | (uint32_t)bytes[4 * j + 2] << 16 |
                        (uint32_t)bytes[4 * j + 3] << 24;
        memcpy(&x[j], &bits, sizeof bits);
    }
    bpcn_status status = store_floats(b, shape, size / each, x);
    free(x);
    return status;
}

static bpcn_status format_failure(bpcn_status status)
{
    unsigned code = status == BPCN_NO_MEMORY ? 503 : status == BPCN_REFUSED ? 413 : 400;
    return http_fail(code, "body", "%.390s", bpcn_error());
}

static bpcn_status parse_array(struct body *b, const struct shape *shape, const void *bytes, size_t size)
{
    fmt_options o = fmt_options_default();
    fmt_table table;
    o.kind = FMT_NPY;
    o.dim = shape->schema->dim;
    o.allow_nonfinite = true;
    o.max_values = (shape->most_rows + 1) * o.dim;
    bpcn_status read = fmt_read_memory(bytes, size, "the array", &o, &table);
    if (read != BPCN_OK)
        return format_failure(read);
    bpcn_status status = store_floats(b, shape, table.rows, table.data);
    fmt_table_free(&table);
    return status;
}

/* The first picture of the schema; other columns are not known. */
static bpcn_status parse_picture(struct body *b, const struct shape *shape, enum content content, const void *bytes,
                                 size_t size)
{
    const fmt_column *picture = fmt_schema_picture(shape->schema);
    fmt_options o = fmt_options_default();
    fmt_table table;
    if (picture == NULL)
        return http_fail(415, "Content-Type", "the rows of this memory are no pictures");
    o.kind = content == CONTENT_PNG ? FMT_PNG : FMT_JPEG;
    o.width = picture->width;
    o.height = picture->height;
    o.channels = picture->channels;
    o.recolour = true;
    o.resize = b->resize;
    bpcn_status read = fmt_read_memory(bytes, size, "the picture", &o, &table);
    if (read != BPCN_OK)
        return format_failure(read);
    bpcn_status status = body_room(b, shape, 1);
    if (status == BPCN_OK) {
        memcpy(b->x + picture->offset, table.data, picture->size * sizeof *b->x);
        memset(b->known + picture->offset, 1, picture->size);
    }
    fmt_table_free(&table);
    return status;
}

/* ---- JSON */

/* A number, or NaN for null; false when it is neither. */
static bool number_of(const json_t *value, double *number)
{
    *number = json_is_null(value) ? NAN : json_number_value(value);
    return json_is_null(value) || json_is_number(value);
}

static bpcn_status parse_list(struct body *b, const struct shape *shape, size_t row, const json_t *list, size_t first,
                              size_t count, const char *name)
{
    char where[160];
    double value;
    bpcn_status status = BPCN_OK;
    snprintf(where, sizeof where, "rows[%zu]%s%.100s", row, name[0] ? "." : "", name);
    if (json_array_size(list) != count)
        return http_fail(400, where, "has %zu entries instead of %zu", json_array_size(list), count);
    for (size_t j = 0; j < count; j++) {
        if (!number_of(json_array_get(list, j), &value)) {
            snprintf(where + strlen(where), sizeof where - strlen(where), "[%zu]", j);
            return http_fail(400, where, "is neither a number nor null");
        }
        if ((status = body_put(b, shape->schema, row, first + j, value)) != BPCN_OK)
            return status;
    }
    return BPCN_OK;
}

static bpcn_status cell_failure(fmt_cell_state state, const fmt_column *c, const char *where)
{
    switch (state) {
    case FMT_CELL_UNSEEN:
        return http_fail(422, where, "is none of the %zu words of its column", c->words.count);
    case FMT_CELL_FAR:
        return http_fail(422, where, "is no plausible value: its column is %g give or take %g", c->centre, c->scale);
    default:
        return http_fail(400, where, "is not %s",
                         fmt_column_has_words(c) ? "a word of its column"
                         : fmt_column_is_date(c) ? "a date or time in its column's writing"
                                                 : "a number");
    }
}

/* A cell of a number or a category: a number, a word or null. */
static bpcn_status body_cell(struct body *b, const struct shape *shape, size_t row, const fmt_column *c,
                             const json_t *value)
{
    char where[160];
    fmt_style style = {.separator = ',', .decimal = '.'};
    float *x = b->x + row * shape->schema->dim + c->offset;
    fmt_cell_state state = FMT_CELL_WORD;
    snprintf(where, sizeof where, "rows[%zu].%.100s", row, c->name);
    if (json_is_string(value))
        state = fmt_encode_text(shape->schema, c, json_string_value(value), json_string_length(value), &style, x);
    else if (json_is_null(value))
        state = FMT_CELL_MISSING;
    else if (json_is_number(value) && c->kind == FMT_NUMBER)
        state = fmt_encode_value(c, json_number_value(value), false, x);
    if (state != FMT_CELL_KNOWN && state != FMT_CELL_MISSING && state != FMT_CELL_KEPT)
        return cell_failure(state, c, where);
    if (state == FMT_CELL_KNOWN)
        memset(b->known + row * shape->schema->dim + c->offset, 1, c->size);
    return BPCN_OK;
}

static bpcn_status parse_named(struct body *b, const struct shape *shape, size_t row, json_t *object)
{
    const char *name;
    json_t *value;
    char where[160];
    json_object_foreach(object, name, value)
    {
        const fmt_column *c = fmt_schema_find(shape->schema, name, strlen(name));
        snprintf(where, sizeof where, "rows[%zu].%.100s", row, name);
        if (c == NULL)
            return http_fail(400, where, "this memory has no such column");
        bpcn_status status = BPCN_OK;
        if (fmt_column_in_table(c))
            status = body_cell(b, shape, row, c, value);
        else if (json_is_array(value))
            status = parse_list(b, shape, row, value, c->offset, c->size, c->name);
        else if (!json_is_null(value))
            status = http_fail(400, where, "is neither a list of %zu numbers nor null", c->size);
        if (status != BPCN_OK)
            return status;
    }
    return BPCN_OK;
}

static bpcn_status parse_rows(struct body *b, const struct shape *shape, json_t *rows)
{
    char where[64];
    bpcn_status status = BPCN_OK;
    if (!json_is_array(rows))
        return http_fail(400, "rows", "is not a list of rows");
    if ((status = body_room(b, shape, json_array_size(rows))) != BPCN_OK)
        return status;
    b->named = json_is_object(json_array_get(rows, 0));
    for (size_t i = 0; i < b->rows; i++) {
        json_t *row = json_array_get(rows, i);
        snprintf(where, sizeof where, "rows[%zu]", i);
        if (b->named ? !json_is_object(row) : !json_is_array(row))
            return http_fail(
                400, where, b->named ? "is not an object of columns, as the first row is" : "is not a list of numbers");
        status = b->named ? parse_named(b, shape, i, row) : parse_list(b, shape, i, row, 0, shape->schema->dim, "");
        if (status != BPCN_OK)
            return status;
    }
    return BPCN_OK;
}

static bpcn_status parse_names(struct body *b, const struct shape *shape, const json_t *names)
{
    char where[64];
    bpcn_status status = BPCN_OK;
    if (!json_is_array(names))
        return http_fail(400, "names", "is not a list of names");
    if (json_array_size(names) > shape->most_rows)
        return http_fail(413, "names", "%zu names; this server takes %zu at once", json_array_size(names),
                         shape->most_rows);
    for (size_t i = 0; i < json_array_size(names); i++) {
        const json_t *name = json_array_get(names, i);
        snprintf(where, sizeof where, "names[%zu]", i);
        if (!json_is_string(name) && !json_is_null(name))
            return http_fail(400, where, "is neither a name nor null");
        if ((status = body_name(b, json_string_value(name), json_string_length(name))) != BPCN_OK)
            return status;
    }
    return BPCN_OK;
}

static bpcn_status parse_members(struct body *b, const struct shape *shape, json_t *root)
{
    const char *name;
    json_t *value;
    json_object_foreach(root, name, value)
    {
        bpcn_status status = BPCN_OK;
        if (strcmp(name, "rows") == 0)
            status = parse_rows(b, shape, value);
        else if (strcmp(name, "names") == 0)
            status = parse_names(b, shape, value);
        else if (json_is_number(value) || json_is_boolean(value))
            status = body_option(b, name, json_is_boolean(value) ? json_is_true(value) : json_number_value(value));
        else
            status = http_fail(400, name, "is not a number");
        if (status != BPCN_OK)
            return status;
    }
    return BPCN_OK;
}

static bpcn_status parse_json(struct body *b, const struct shape *shape, const char *text, size_t size)
{
    json_error_t error;
    char where[64];
    json_t *root = json_loadb(text, size, JSON_REJECT_DUPLICATES | JSON_DECODE_INT_AS_REAL, &error);
    if (root == NULL) {
        snprintf(where, sizeof where, "line %d, column %d", error.line, error.column);
        return http_fail(400, where, "the body is not JSON: %.*s", (int)sizeof error.text, error.text);
    }
    bpcn_status status = json_is_object(root) ? parse_members(b, shape, root)
                                              : http_fail(400, "body", "is not an object with a member rows");
    json_decref(root);
    return status;
}

/* ---- any of them */

/* Every row must know something. */
static bpcn_status check_rows(struct body *b, size_t dim)
{
    char where[64];
    for (size_t i = 0; i < b->rows; i++) {
        const unsigned char *known = b->known + i * dim;
        b->whole = b->whole && memchr(known, 0, dim) == NULL;
        if (memchr(known, 1, dim) != NULL)
            continue;
        snprintf(where, sizeof where, "rows[%zu]", i);
        return http_fail(400, where, "nothing of the row is known");
    }
    return BPCN_OK;
}

bpcn_status body_parse(struct body *b, const struct shape *shape, enum content content, const void *bytes, size_t size)
{
    bpcn_status status = BPCN_OK;
    if (size == 0)
        return BPCN_OK;
    switch (content) {
    case CONTENT_JSON:
        status = parse_json(b, shape, bytes, size);
        break;
    case CONTENT_OCTETS:
        status = parse_octets(b, shape, bytes, size);
        break;
    case CONTENT_NPY:
        status = parse_array(b, shape, bytes, size);
        break;
    case CONTENT_PNG:
    case CONTENT_JPEG:
        status = parse_picture(b, shape, content, bytes, size);
        break;
    default:
        return body_unknown_type();
    }
    return status != BPCN_OK ? status : check_rows(b, shape->schema->dim);
}
