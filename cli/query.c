/* Masks, hidden parts and noise. */
#include "query.h"

#include "scramble.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

struct query_options query_options_default(void)
{
    return (struct query_options){.assumed = -1};
}

bool query_option(struct args *a, int c, struct query_options *o)
{
    switch (c) {
    case OPT_KNOWN:
        o->known = optarg;
        return true;
    case OPT_MASK:
        o->mask = optarg;
        return true;
    case OPT_HIDE:
        o->hide = optarg;
        return true;
    case OPT_NOISE:
        o->noise = args_number(a, optarg, 0, 1e6);
        return true;
    case OPT_ASSUME_NOISE:
        o->assumed = args_number(a, optarg, 0, 1e6);
        return true;
    case OPT_QUERY_SEED:
        o->seed = args_whole(a, optarg, 0, UINT64_MAX);
        return true;
    default:
        return false;
    }
}

enum side { SIDE_NONE, SIDE_RIGHT, SIDE_LEFT, SIDE_TOP, SIDE_BOTTOM, SIDE_CENTRE, SIDE_RANDOM };

struct query_maker {
    const struct console *console;
    const fmt_schema *fields;
    struct query_options options;
    bool *trusted;       /* [fields] that --known names */
    unsigned char *mask; /* [mask_rows x dim] or NULL */
    size_t mask_rows;
    enum side side;
    double share;
    uint64_t row; /* queries made so far: the noise depends only on this and the seed */
};

/* ---- options */

static void hide(const struct query_maker *q, unsigned char *known);

/* A side of a table's row has no cell, and a small share of a picture no pixel. */
static int check_hide(const struct query_maker *q)
{
    if (q->side == SIDE_NONE || q->side == SIDE_RANDOM || q->share <= 0)
        return 0;
    unsigned char *known = malloc(q->fields->dim);
    if (known == NULL)
        return console_error(q->console, "out of memory");
    memset(known, 1, q->fields->dim);
    hide(q, known);
    bool hidden = memchr(known, 0, q->fields->dim) != NULL;
    free(known);
    return hidden ? 0
                  : console_usage(
                        q->console,
                        "--hide: '%s' hides nothing of a row of this memory; random:0.5 hides single entries, and "
                        "--known FIELD all other fields",
                        q->options.hide);
}

static int parse_hide(struct query_maker *q)
{
    static const char *const sides[] = {"", "right", "left", "top", "bottom", "center", "random"};
    const char *text = q->options.hide, *colon;
    char *end;
    if (text == NULL)
        return 0;
    colon = strchr(text, ':');
    for (size_t i = 1; colon != NULL && i < sizeof sides / sizeof *sides; i++)
        if (strlen(sides[i]) == (size_t)(colon - text) && strncmp(text, sides[i], (size_t)(colon - text)) == 0)
            q->side = (enum side)i;
    q->share = colon ? strtod(colon + 1, &end) : -1;
    if (q->side != SIDE_NONE && end != colon + 1 && *end == '\0' && q->share >= 0 && q->share <= 1)
        return 0;
    console_usage(q->console,
                  "--hide: '%s' is not right, left, top, bottom, center or random with a share, as in right:0.25",
                  text);
    return -1;
}

static int parse_known(struct query_maker *q)
{
    const char *text = q->options.known;
    char all[FIELDS_TEXT_MOST];
    fmt_schema_describe(q->fields, all, sizeof all);
    for (size_t f = 0; f < q->fields->count; f++)
        q->trusted[f] = text == NULL;
    while (text != NULL && *text != '\0') {
        size_t length = strcspn(text, ",");
        const fmt_column *field = fmt_schema_find(q->fields, text, length);
        if (field == NULL) {
            console_usage(q->console, "--known: this memory has no field '%.*s' (it has %s)", (int)length, text, all);
            return -1;
        }
        q->trusted[field - q->fields->column] = true;
        text += length + (text[length] == ',');
    }
    return 0;
}

/* ---- masks from a file: nonzero (in a picture: brighter than half) is known */

static int spread_mask(struct query_maker *q, const fmt_table *t)
{
    const fmt_column *picture = fmt_schema_picture(q->fields);
    size_t dim = q->fields->dim, plane = picture ? picture->width * picture->height : 0;
    bool whole = t->dim == dim, all_channels = picture && t->dim == picture->size;
    if (!whole && !all_channels && !(picture && t->dim == plane)) {
        console_error(q->console, "%s: a mask of %zu values, but a row of this memory has %zu", q->options.mask, t->dim,
                      dim);
        return -1;
    }
    q->mask = malloc(t->rows * dim);
    if (q->mask == NULL) {
        console_error(q->console, "out of memory");
        return -1;
    }
    memset(q->mask, 1, t->rows * dim);
    q->mask_rows = t->rows;
    for (size_t i = 0; i < t->rows; i++)
        for (size_t j = 0; j < (whole ? dim : picture->size); j++) {
            float value = t->data[i * t->dim + (whole || all_channels ? j : j % plane)];
            size_t entry = whole ? j : picture->offset + j;
            q->mask[i * dim + entry] = t->height > 0 ? value > 0 : value != 0;
        }
    return 0;
}

static int load_mask(struct query_maker *q)
{
    fmt_table table;
    if (q->options.mask == NULL)
        return 0;
    if (fmt_read(q->options.mask, NULL, &table) != BPCN_OK) {
        console_error(q->console, "%s", bpcn_error());
        return -1;
    }
    int failed = spread_mask(q, &table);
    fmt_table_free(&table);
    return failed;
}

struct query_maker *query_open(const struct console *console, const fmt_schema *fields,
                               const struct query_options *options, int *status)
{
    struct query_maker *q = calloc(1, sizeof *q);
    if (q == NULL) {
        *status = console_error(console, "out of memory");
        return NULL;
    }
    *q = (struct query_maker){.console = console,
                              .fields = fields,
                              .options = *options,
                              .trusted = calloc(fields->count, sizeof *q->trusted)};
    if (q->trusted == NULL) {
        *status = console_error(console, "out of memory");
        query_close(q);
        return NULL;
    }
    *status = parse_hide(q) != 0 || check_hide(q) != 0 || parse_known(q) != 0 ? EXIT_USAGE
              : load_mask(q) != 0                                             ? EXIT_FAILED
                                                                              : EXIT_DONE;
    if (*status == EXIT_DONE)
        return q;
    query_close(q);
    return NULL;
}

void query_close(struct query_maker *q)
{
    if (q == NULL)
        return;
    free(q->trusted);
    free(q->mask);
    free(q);
}

/* ---- random numbers: a function of seed, row and place */

static uint64_t scramble(uint64_t x)
{
    return scrambled(x + SCRAMBLE_STEP);
}

static double uniform(const struct query_maker *q, uint64_t place, uint64_t which)
{
    uint64_t bits = scramble(scramble(scramble(q->options.seed ^ which << 56) ^ q->row) ^ place);
    return ((double)(bits >> 11) + 0.5) / 9007199254740992.0;
}

static double normal(const struct query_maker *q, uint64_t place)
{
    return sqrt(-2 * log(uniform(q, place, 1))) * cos(6.283185307179586 * uniform(q, place, 2));
}

/* ---- one query */

static bool is_hidden(const struct query_maker *q, const fmt_column *f, size_t pixel)
{
    bool picture = field_is_picture(f);
    size_t width = picture ? f->width : f->cells, height = picture ? f->height : 1;
    size_t x = pixel % width, y = pixel / width;
    size_t columns = (size_t)(q->share * (double)width), lines = (size_t)(q->share * (double)height);
    size_t wide = (size_t)(sqrt(q->share) * (double)width), high = (size_t)(sqrt(q->share) * (double)height);
    switch (q->side) {
    case SIDE_RIGHT:
        return x >= width - columns;
    case SIDE_LEFT:
        return x < columns;
    case SIDE_TOP:
        return y < lines;
    case SIDE_BOTTOM:
        return y >= height - lines;
    case SIDE_CENTRE:
        return x >= (width - wide) / 2 && x < (width - wide) / 2 + wide && y >= (height - high) / 2 &&
               y < (height - high) / 2 + (height > 1 ? high : 1);
    case SIDE_RANDOM:
        return uniform(q, f->offset + pixel, 0) < q->share;
    case SIDE_NONE:
        break;
    }
    return false;
}

/* Hides part of the pictures, all channels of a pixel alike; without pictures, part of every field, a category whole.
 */
static void hide(const struct query_maker *q, unsigned char *known)
{
    bool pictures = fmt_schema_picture(q->fields) != NULL;
    for (size_t i = 0; i < q->fields->count; i++) {
        const fmt_column *f = &q->fields->column[i];
        size_t plane = field_is_picture(f) ? f->width * f->height : f->kind == FMT_CATEGORY ? 1 : f->size;
        if (pictures && !field_is_picture(f))
            continue;
        for (size_t p = 0; p < plane; p++)
            if (is_hidden(q, f, p))
                for (size_t j = p; j < f->size; j += plane)
                    known[f->offset + j] = 0;
    }
}

/* Pixels range over -1 to 1, so S times their range is 2 S. */
static double noise_scale(const struct query_maker *q)
{
    return fmt_schema_picture(q->fields) != NULL ? 2 : 1;
}

static void make_row(const struct query_maker *q, const struct batch *batch, size_t i, const unsigned char *mask,
                     float *x, unsigned char *known)
{
    const float *row = batch->x + i * q->fields->dim;
    const unsigned char *held = batch->known ? batch->known + i * q->fields->dim : NULL;
    double noise = q->options.noise * noise_scale(q);
    for (size_t k = 0; k < q->fields->count; k++) {
        const fmt_column *f = &q->fields->column[k];
        memset(known + f->offset, batch->given[k] && q->trusted[k], f->size);
    }
    for (size_t j = 0; j < q->fields->dim; j++)
        known[j] = known[j] && (mask == NULL || mask[j]) && (held == NULL || held[j]);
    hide(q, known);
    for (size_t k = 0; k < q->fields->count; k++) {
        const fmt_column *f = &q->fields->column[k];
        for (size_t j = f->offset; j < f->offset + f->size; j++) {
            x[j] = known[j] ? row[j] : field_is_picture(f) ? -1 : 0;
            if (known[j] && noise > 0)
                x[j] += (float)(noise * normal(q, j));
        }
    }
}

/* Entries that the program hid or made noisy have a truth; those that a mask file hides may not. */
static bool knows_truth(const struct query_maker *q, const struct batch *batch, const unsigned char *known)
{
    bool hidden = false;
    for (size_t i = 0; i < q->fields->count; i++) {
        const fmt_column *f = &q->fields->column[i];
        for (size_t r = 0; batch->given[i] && !hidden && r < batch->rows; r++)
            hidden = batch_hides(batch, known, q->fields->dim, r, f);
    }
    return q->mask == NULL && (q->options.noise > 0 || hidden);
}

static int check_given(const struct query_maker *q, const struct batch *batch)
{
    bool any = false;
    for (size_t f = 0; f < q->fields->count; f++) {
        any = any || (batch->given[f] && q->trusted[f]);
        if (q->options.known == NULL || !q->trusted[f] || batch->given[f])
            continue;
        console_error(q->console, "%s: --known %s, but it does not hold field %s (give %s=FILE)", batch->name,
                      q->options.known, q->fields->column[f].name, q->fields->column[f].name);
        return -1;
    }
    if (q->mask != NULL && q->mask_rows != 1 && q->mask_rows < q->row + batch->rows) {
        console_error(q->console, "%s: %zu masks, but there are more rows", q->options.mask, q->mask_rows);
        return -1;
    }
    if (!any)
        console_error(q->console, "%s: --known leaves none of its fields known", batch->name);
    return any ? 0 : -1;
}

int query_make(struct query_maker *q, const struct batch *batch, struct query *query)
{
    size_t dim = q->fields->dim;
    *query = (struct query){.rows = batch->rows, .all_known = true};
    if (check_given(q, batch) != 0)
        return -1;
    query->x = malloc(batch->rows * dim * sizeof *query->x);
    query->known = malloc(batch->rows * dim);
    if (query->x == NULL || query->known == NULL) {
        query_free(query);
        console_error(q->console, "out of memory");
        return -1;
    }
    for (size_t i = 0; i < batch->rows; i++, q->row++) {
        const unsigned char *mask = q->mask ? q->mask + (q->mask_rows == 1 ? 0 : q->row * dim) : NULL;
        make_row(q, batch, i, mask, query->x + i * dim, query->known + i * dim);
        query->all_known = query->all_known && memchr(query->known + i * dim, 0, dim) == NULL;
    }
    query->truth = knows_truth(q, batch, query->known);
    query->noise = q->options.assumed >= 0 ? q->options.assumed * noise_scale(q)
                   : q->options.noise > 0  ? q->options.noise * noise_scale(q)
                                           : -1;
    return 0;
}

void query_free(struct query *query)
{
    free(query->x);
    free(query->known);
    *query = (struct query){0};
}
