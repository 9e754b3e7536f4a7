/* {"rows": [[0.5, null, ...], {"age": 31, "job": "clerk"}], "names": ["a", null], "noise": 0.1}: rows by place or by
   columns' names, names of rows, and options. */
#include "body_json.h"

#include <jansson.h>
#include <math.h>
#include <string.h>

/* A number, or NaN for null; false when it is neither. */
static bool number_of(const json_t *value, double *number)
{
    *number = json_is_null(value) ? NAN : json_number_value(value);
    return json_is_null(value) || json_is_number(value);
}

static int take_list(struct body *b, size_t dim, size_t row, const json_t *list, size_t first, size_t count,
                     const char *name, struct refusal *why)
{
    char where[160];
    double value;
    snprintf(where, sizeof where, "rows[%zu]%s%.100s", row, name[0] ? "." : "", name);
    if (json_array_size(list) != count)
        return refuse(why, 400, where, "has %zu entries instead of %zu", json_array_size(list), count);
    for (size_t j = 0; j < count; j++) {
        if (!number_of(json_array_get(list, j), &value)) {
            snprintf(where + strlen(where), sizeof where - strlen(where), "[%zu]", j);
            return refuse(why, 400, where, "is neither a number nor null");
        }
        if (body_put(b, dim, row, first + j, value, why) != 0)
            return -1;
    }
    return 0;
}

/* ---- columns by name */

static int cell_refusal(fmt_cell_state state, const fmt_column *c, const char *where, struct refusal *why)
{
    switch (state) {
    case FMT_CELL_UNSEEN:
        return refuse(why, 422, where, "is none of the %zu words of its column", c->words.count);
    case FMT_CELL_FAR:
        return refuse(why, 422, where, "is no plausible value: its column is %g give or take %g", c->centre, c->scale);
    default:
        return refuse(why, 400, where, "is not %s", c->kind == FMT_CATEGORY ? "a word of its column" : "a number");
    }
}

/* A cell of a number or a category: a number, a word or null. */
static int take_cell(struct body *b, const struct shape *shape, size_t row, const fmt_column *c, const json_t *value,
                     struct refusal *why)
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
    if (state != FMT_CELL_KNOWN && state != FMT_CELL_MISSING)
        return cell_refusal(state, c, where, why);
    if (state == FMT_CELL_KNOWN)
        memset(b->known + row * shape->schema->dim + c->offset, 1, c->size);
    return 0;
}

static int take_named(struct body *b, const struct shape *shape, size_t row, json_t *object, struct refusal *why)
{
    const char *name;
    json_t *value;
    char where[160];
    json_object_foreach(object, name, value)
    {
        const fmt_column *c = fmt_schema_find(shape->schema, name, strlen(name));
        snprintf(where, sizeof where, "rows[%zu].%.100s", row, name);
        if (c == NULL)
            return refuse(why, 400, where, "this memory has no such column");
        int failed = 0;
        if (fmt_column_in_table(c))
            failed = take_cell(b, shape, row, c, value, why);
        else if (json_is_array(value))
            failed = take_list(b, shape->schema->dim, row, value, c->offset, c->size, c->name, why);
        else if (!json_is_null(value))
            failed = refuse(why, 400, where, "is neither a list of %zu numbers nor null", c->size);
        if (failed)
            return -1;
    }
    return 0;
}

/* ---- the whole */

static int take_rows(struct body *b, const struct shape *shape, json_t *rows, struct refusal *why)
{
    char where[64];
    if (!json_is_array(rows))
        return refuse(why, 400, "rows", "is not a list of rows");
    if (body_room(b, shape, json_array_size(rows), why) != 0)
        return -1;
    b->named = json_is_object(json_array_get(rows, 0));
    for (size_t i = 0; i < b->rows; i++) {
        json_t *row = json_array_get(rows, i);
        snprintf(where, sizeof where, "rows[%zu]", i);
        if (b->named ? !json_is_object(row) : !json_is_array(row))
            return refuse(why, 400, where,
                          b->named ? "is not an object of columns, as the first row is" : "is not a list of numbers");
        int failed = b->named ? take_named(b, shape, i, row, why)
                              : take_list(b, shape->schema->dim, i, row, 0, shape->schema->dim, "", why);
        if (failed)
            return -1;
    }
    return 0;
}

static int take_names(struct body *b, const struct shape *shape, const json_t *names, struct refusal *why)
{
    char where[64];
    if (!json_is_array(names))
        return refuse(why, 400, "names", "is not a list of names");
    if (json_array_size(names) > shape->most_rows)
        return refuse(why, 413, "names", "%zu names; this server takes %zu at once", json_array_size(names),
                      shape->most_rows);
    for (size_t i = 0; i < json_array_size(names); i++) {
        const json_t *name = json_array_get(names, i);
        snprintf(where, sizeof where, "names[%zu]", i);
        if (!json_is_string(name) && !json_is_null(name))
            return refuse(why, 400, where, "is neither a name nor null");
        if (body_name(b, json_string_value(name), json_string_length(name), why) != 0)
            return -1;
    }
    return 0;
}

static int take_members(struct body *b, const struct shape *shape, json_t *root, struct refusal *why)
{
    const char *name;
    json_t *value;
    json_object_foreach(root, name, value)
    {
        int failed = 0;
        if (strcmp(name, "rows") == 0)
            failed = take_rows(b, shape, value, why);
        else if (strcmp(name, "names") == 0)
            failed = take_names(b, shape, value, why);
        else if (json_is_number(value) || json_is_boolean(value))
            failed = body_option(b, name, json_is_boolean(value) ? json_is_true(value) : json_number_value(value), why);
        else
            failed = refuse(why, 400, name, "is not a number");
        if (failed)
            return -1;
    }
    return 0;
}

int body_parse_json(struct body *b, const struct shape *shape, const char *text, size_t size, struct refusal *why)
{
    json_error_t error;
    char where[64];
    json_t *root = json_loadb(text, size, JSON_REJECT_DUPLICATES | JSON_DECODE_INT_AS_REAL, &error);
    if (root == NULL) {
        snprintf(where, sizeof where, "line %d, column %d", error.line, error.column);
        return refuse(why, 400, where, "the body is not JSON: %.*s", (int)sizeof error.text, error.text);
    }
    int failed = json_is_object(root) ? take_members(b, shape, root, why)
                                      : refuse(why, 400, "body", "is not an object with a member rows");
    json_decref(root);
    return failed;
}
