/* Octets, arrays and pictures to rows, and what all of them share. */
#include "body.h"

#include "body_json.h"

#include <math.h>
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

int body_option(struct body *b, const char *name, double value, struct refusal *why)
{
    static const struct {
        const char *name;
        double least, most;
        bool counts; /* a whole number */
    } options[] = {{"noise", 0, 1e6, false}, {"forget", 0, 1, false},  {"beta", 0, 1, false},  {"n", 1, 1e6, true},
                   {"draw", 0, 9e15, true},  {"shards", 0, 1e6, true}, {"spread", 0, 1, true}, {"resize", 0, 1, true},
                   {"trace", 0, 1, true},    {"first", 0, 1e6, true}};
    size_t k = 0;
    while (k < sizeof options / sizeof *options && strcmp(name, options[k].name) != 0)
        k++;
    if (k == sizeof options / sizeof *options)
        return refuse(why, 400, name,
                      "there is no such option; there are rows, names, noise, forget, beta, n, draw, shards, "
                      "spread, resize, trace and first");
    if (!(value >= options[k].least && value <= options[k].most) || (options[k].counts && value != floor(value)))
        return refuse(why, 400, name, "is not a %snumber from %g to %g", options[k].counts ? "whole " : "",
                      options[k].least, options[k].most);
    switch (k) {
    case 0:
        b->noise = value;
        break;
    case 1:
        b->forgotten = value;
        break;
    case 2:
        b->beta = value;
        break;
    case 3:
        b->number = (uint64_t)value;
        break;
    case 4:
        b->draw = (uint64_t)value;
        break;
    case 5:
        b->shards = (size_t)value;
        break;
    case 6:
        b->spread = value != 0;
        break;
    case 7:
        b->resize = value != 0;
        break;
    case 8:
        b->trace = value != 0;
        break;
    default:
        b->first = (size_t)value;
        break;
    }
    return 0;
}

int body_name(struct body *b, const char *text, size_t size, struct refusal *why)
{
    char name[NAME_ROOM] = "", where[64];
    snprintf(where, sizeof where, "names[%zu]", b->names);
    if (text != NULL)
        name_of_text(text, size, name); /* of one that is sound, the same */
    if (text != NULL && (size == 0 || strlen(name) != size || memcmp(name, text, size) != 0))
        return refuse(why, 400, where, "is not 1 to %d bytes of UTF-8 without control characters", BPCN_MAX_NAME);
    char *more = realloc(b->name, (b->names + 1) * NAME_ROOM);
    if (more == NULL)
        return refuse(why, 503, "", "out of memory");
    memcpy(more + b->names * NAME_ROOM, name, NAME_ROOM);
    b->name = more;
    b->names++;
    return 0;
}

int body_room(struct body *b, const struct shape *shape, size_t rows, struct refusal *why)
{
    size_t dim = shape->schema->dim;
    if (rows > shape->most_rows)
        return refuse(why, 413, "rows", "%zu rows; this server takes %zu at once", rows, shape->most_rows);
    b->x = calloc(rows * dim + 1, sizeof *b->x);
    b->known = calloc(rows * dim + 1, 1);
    b->rows = rows;
    return b->x != NULL && b->known != NULL ? 0 : refuse(why, 503, "", "out of memory");
}

int body_put(struct body *b, size_t dim, size_t row, size_t entry, double value, struct refusal *why)
{
    char where[64];
    size_t at = row * dim + entry;
    if (isnan(value))
        return 0; /* not known */
    if (!(fabs(value) <= 1e15)) {
        snprintf(where, sizeof where, "rows[%zu][%zu]", row, entry);
        return refuse(why, 400, where, "is beyond 1e15");
    }
    b->x[at] = (float)value;
    b->known[at] = 1;
    return 0;
}

/* ---- octets and arrays: floats of which NaN is not known */

static int take_floats(struct body *b, const struct shape *shape, size_t rows, const float *x, struct refusal *why)
{
    size_t dim = shape->schema->dim;
    if (body_room(b, shape, rows, why) != 0)
        return -1;
    for (size_t j = 0; j < rows * dim; j++)
        if (body_put(b, dim, j / dim, j % dim, (double)x[j], why) != 0)
            return -1;
    return 0;
}

static int take_octets(struct body *b, const struct shape *shape, const unsigned char *bytes, size_t size,
                       struct refusal *why)
{
    size_t dim = shape->schema->dim, each = dim * sizeof(float);
    if (size % each != 0)
        return refuse(why, 400, "body", "%zu bytes, which are no whole rows of %zu little-endian floats of four bytes",
                      size, dim);
    if (size / each > shape->most_rows)
        return body_room(b, shape, size / each, why);
    float *x = malloc(size + 1);
    if (x == NULL)
        return refuse(why, 503, "", "out of memory");
    for (size_t j = 0; j < size / 4; j++) {
        uint32_t bits = (uint32_t)bytes[4 * j] | (uint32_t)bytes[4 * j + 1] << 8 | (uint32_t)bytes[4 * j + 2] << 16 |
                        (uint32_t)bytes[4 * j + 3] << 24;
        memcpy(&x[j], &bits, sizeof bits);
    }
    int failed = take_floats(b, shape, size / each, x, why);
    free(x);
    return failed;
}

static int format_refusal(bpcn_status status, struct refusal *why)
{
    unsigned code = status == BPCN_NO_MEMORY ? 503 : status == BPCN_REFUSED ? 413 : 400;
    return refuse(why, code, "body", "%.390s", bpcn_error());
}

static int take_array(struct body *b, const struct shape *shape, const void *bytes, size_t size, struct refusal *why)
{
    fmt_options o = fmt_options_default();
    fmt_table table;
    o.kind = FMT_NPY;
    o.dim = shape->schema->dim;
    o.allow_nonfinite = true;
    o.max_values = (shape->most_rows + 1) * o.dim;
    bpcn_status status = fmt_read_memory(bytes, size, "the array", &o, &table);
    if (status != BPCN_OK)
        return format_refusal(status, why);
    int failed = take_floats(b, shape, table.rows, table.data, why);
    fmt_table_free(&table);
    return failed;
}

/* The first picture of the schema; other columns are not known. */
static int take_picture(struct body *b, const struct shape *shape, enum content content, const void *bytes, size_t size,
                        struct refusal *why)
{
    const fmt_column *picture = fmt_schema_picture(shape->schema);
    fmt_options o = fmt_options_default();
    fmt_table table;
    if (picture == NULL)
        return refuse(why, 415, "Content-Type", "the rows of this memory are no pictures");
    o.kind = content == CONTENT_PNG ? FMT_PNG : FMT_JPEG;
    o.width = picture->width;
    o.height = picture->height;
    o.channels = picture->channels;
    o.recolour = true;
    o.resize = b->resize;
    bpcn_status status = fmt_read_memory(bytes, size, "the picture", &o, &table);
    if (status != BPCN_OK)
        return format_refusal(status, why);
    int failed = body_room(b, shape, 1, why);
    if (!failed) {
        memcpy(b->x + picture->offset, table.data, picture->size * sizeof *b->x);
        memset(b->known + picture->offset, 1, picture->size);
    }
    fmt_table_free(&table);
    return failed;
}

/* ---- any of them */

/* Every row must know something. */
static int look_over(struct body *b, size_t dim, struct refusal *why)
{
    char where[64];
    for (size_t i = 0; i < b->rows; i++) {
        const unsigned char *known = b->known + i * dim;
        b->whole = b->whole && memchr(known, 0, dim) == NULL;
        if (memchr(known, 1, dim) != NULL)
            continue;
        snprintf(where, sizeof where, "rows[%zu]", i);
        return refuse(why, 400, where, "nothing of the row is known");
    }
    return 0;
}

int body_parse(struct body *b, const struct shape *shape, enum content content, const void *bytes, size_t size,
               struct refusal *why)
{
    int failed = 0;
    if (size == 0)
        return 0;
    switch (content) {
    case CONTENT_JSON:
        failed = body_parse_json(b, shape, bytes, size, why);
        break;
    case CONTENT_OCTETS:
        failed = take_octets(b, shape, bytes, size, why);
        break;
    case CONTENT_NPY:
        failed = take_array(b, shape, bytes, size, why);
        break;
    case CONTENT_PNG:
    case CONTENT_JPEG:
        failed = take_picture(b, shape, content, bytes, size, why);
        break;
    case CONTENT_OTHER:
        return refuse(
            why, 415, "Content-Type",
            "say what the body is: application/json, application/octet-stream, application/x-npy, image/png or "
            "image/jpeg");
    }
    return failed ? -1 : look_over(b, shape->schema->dim, why);
}
