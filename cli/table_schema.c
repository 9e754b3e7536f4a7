/* Shapes of the command line, and one-of-n fields. */
#include "table_schema.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

int fields_parse_shape(const char *name, const char *shape, fmt_schema *fields)
{
    char text[80];
    bool picture = strcmp(name, "image") == 0;
    snprintf(text, sizeof text, "%s:%.60s", name, shape);
    if (strchr(text, ',') == NULL && fmt_schema_parse_fields(text, fields) == BPCN_OK) {
        if (field_is_picture(&fields->column[0]) == picture)
            return 0;
        fmt_schema_free(fields);
    }
    bpcn_fail(BPCN_INVALID,
              picture ? "'%.200s' is not WIDTHxHEIGHT or WIDTHxHEIGHTx3, such as 32x32x3"
                      : "'%.200s' is not a number of entries from 1 to 16777216",
              shape);
    return -1;
}

bool field_is_picture(const fmt_column *field)
{
    return field->kind == FMT_PICTURE;
}

bool field_is_label(const fmt_column *field)
{
    return field->kind == FMT_VECTOR && field->size > 1 && field->size <= 1000;
}

size_t field_label(const fmt_column *field, const float *row)
{
    size_t best = 0;
    for (size_t j = 1; j < field->size; j++)
        if (row[field->offset + j] > row[field->offset + best])
            best = j;
    return best;
}

void fields_columns(const fmt_schema *fields, size_t *column)
{
    for (size_t c = 0; c < fields->count; c++)
        for (size_t j = 0; j < fields->column[c].size; j++)
            column[fields->column[c].offset + j] = c;
}

/* ---- A table as the model of a memory's rows. */

enum { ROWS_LOOKED_AT = 10000 };

static void add_wish(struct args *a, struct table_schema *like, const char *name, size_t length, fmt_wish wish)
{
    fmt_wish *wishes = realloc(like->wishes, (like->wish_count + 1) * sizeof *wishes);
    like->wishes = wishes ? wishes : like->wishes;
    char **names = realloc(like->names, (like->wish_count + 1) * sizeof *names);
    like->names = names ? names : like->names;
    char *copy = strndup(name, length);
    if (wishes == NULL || names == NULL || copy == NULL) {
        free(copy);
        a->status = console_error(&a->console, "out of memory");
        return;
    }
    wish.name = names[like->wish_count] = copy;
    wishes[like->wish_count++] = wish;
}

/* The last : before `end` of text, or NULL. */
static const char *colon_before(const char *text, const char *end)
{
    while (end > text && end[-1] != ':')
        end--;
    return end > text ? end - 1 : NULL;
}

/* Two numbers that end the text after a colon each, as in NAME:number:37:12; *kind_end is then what is left. */
static bool parse_scaling(const char *text, const char **kind_end, fmt_wish *wish)
{
    const char *end = text + strlen(text), *second = colon_before(text, end);
    const char *first = second ? colon_before(text, second) : NULL;
    if (first == NULL || !fmt_parse_number(second + 1, (size_t)(end - second - 1), '.', &wish->scale) ||
        !fmt_parse_number(first + 1, (size_t)(second - first - 1), '.', &wish->centre))
        return false;
    *kind_end = first;
    return true;
}

/* NAME:KIND[:CENTRE:SCALE]; a name may have colons. */
static void parse_column(struct args *a, struct table_schema *like)
{
    static const fmt_column_kind meant[] = {FMT_NUMBER, FMT_CATEGORY, FMT_IGNORED};
    fmt_wish wish = {0};
    const char *end = optarg + strlen(optarg);
    bool scaled = parse_scaling(optarg, &end, &wish);
    const char *colon = colon_before(optarg, end);
    size_t length = colon ? (size_t)(end - colon - 1) : 0;
    int place = colon ? word_place(colon + 1, length, "number category ignored") : -1;
    if (colon == NULL || place < 0 || (scaled && (place != 0 || !(wish.scale > 0)))) {
        a->status = console_usage(
            &a->console, "--column: '%s' is not NAME:number, NAME:number:CENTRE:SCALE, NAME:category or NAME:ignored",
            optarg);
        return;
    }
    wish.kind = meant[place];
    add_wish(a, like, optarg, (size_t)(colon - optarg), wish);
}

bool table_schema_option(struct args *a, int c, struct table_schema *like)
{
    switch (c) {
    case OPT_LIKE:
        like->path = optarg;
        return true;
    case OPT_COLUMN:
        parse_column(a, like);
        return true;
    case OPT_IGNORE:
        add_wish(a, like, optarg, strlen(optarg), (fmt_wish){.kind = FMT_IGNORED});
        return true;
    case OPT_MISSING:
        if (!fmt_words_add(&like->missing, optarg, strlen(optarg)))
            a->status = console_error(&a->console, "out of memory");
        return true;
    default:
        return false;
    }
}

int table_schema_infer(const struct console *console, struct table_schema *like)
{
    bool standard = strcmp(like->path, "-") == 0;
    FILE *stream = standard ? stdin : fopen(like->path, "rb");
    if (stream == NULL)
        return console_error(console, "%s: cannot open: %s", like->path, strerror(errno));
    bpcn_status status = fmt_infer(stream, standard ? "standard input" : like->path, like->wishes, like->wish_count,
                                   &like->missing, ROWS_LOOKED_AT, &like->found);
    if (!standard)
        fclose(stream);
    return status == BPCN_OK ? 0 : console_error(console, "%s", bpcn_error());
}

void table_schema_print(const struct console *console, const struct table_schema *like)
{
    const fmt_inference *f = &like->found;
    if (console->json) {
        printf(",\"rows_seen\":%zu,\"header\":%s,", f->rows, f->header ? "true" : "false");
        columns_json(stdout, &f->schema, &f->reason);
        return;
    }
    console_print(console, "columns of %s, by its first %zu row%s%s:\n", like->path, f->rows, f->rows == 1 ? "" : "s",
                  f->header ? "" : " (it has no header)");
    columns_print(console, &f->schema, &f->reason);
    if (f->far > 0)
        console_note(
            console,
            "%zu of these values lie more than %g scales from their column's centre: rows with them are refused "
            "unless written "
            "with --clip",
            f->far, FMT_FAR);
    else if (f->wide > 0)
        console_note(console,
                     "%zu of these values lie more than %g scales from their column's centre; --clip brings such to %g",
                     f->wide, FMT_CLIP, FMT_CLIP);
}

void table_schema_free(struct table_schema *like)
{
    for (size_t i = 0; i < like->wish_count; i++)
        free(like->names[i]);
    free(like->names);
    free(like->wishes);
    fmt_words_free(&like->missing);
    fmt_inference_free(&like->found);
    *like = (struct table_schema){0};
}

/* ---- Lists of columns. */

enum { NAME_LEAST = 6, NAME_MOST = 32, WORDS_TOLD = 8 };

/* Characters, not bytes, of UTF-8. */
static int letters(const char *text)
{
    int count = 0;
    for (; *text != '\0'; text++)
        count += ((unsigned char)*text & 0xC0) != 0x80;
    return count;
}

static int widest(const fmt_schema *s)
{
    int width = NAME_LEAST;
    for (size_t i = 0; i < s->count; i++)
        width = letters(s->column[i].name) > width ? letters(s->column[i].name) : width;
    for (size_t i = 0; i < s->ignored_count; i++)
        width = letters(s->ignored[i].name) > width ? letters(s->ignored[i].name) : width;
    return width < NAME_MOST ? width : NAME_MOST;
}

/* A name or word on one line. */
static const char *one_line(const char *text, char out[200])
{
    snprintf(out, 200, "%.199s", text);
    for (char *c = out; *c != '\0'; c++)
        *c = (unsigned char)*c < 0x20 || *c == 0x7F ? ' ' : *c;
    return out;
}

static void tell_name(const struct console *console, const char *name, int width)
{
    char line[200];
    int pad = width - letters(name[0] ? name : "(none)");
    console_print(console, "  %s%*s", name[0] ? one_line(name, line) : "(none)", pad > 0 ? pad : 0, "");
}

static void tell_column(const struct console *console, const fmt_column *c, int width)
{
    char shape[64], line[200];
    tell_name(console, c->name, width);
    fmt_column_shape(c, shape);
    if (c->kind == FMT_NUMBER)
        console_print(console, "  number    centre %g, scale %g", c->centre, c->scale);
    else if (c->kind == FMT_CATEGORY)
        console_print(console, "  category ");
    else
        console_print(console, "  %s  %s", c->kind == FMT_PICTURE ? "picture " : "vector  ", shape);
    for (size_t k = 0; k < c->words.count && k < WORDS_TOLD; k++)
        console_print(console, "%s %s", k ? "," : "", one_line(c->words.word[k], line));
    if (c->words.count > WORDS_TOLD)
        console_print(console, " and %zu more", c->words.count - WORDS_TOLD);
    console_print(console, "\n");
}

void columns_print(const struct console *console, const fmt_schema *s, const fmt_words *reasons)
{
    int width = widest(s);
    for (size_t i = 0, ignored = 0; i <= s->count; i++) {
        size_t place = i < s->count ? s->column[i].cell : s->cells;
        for (; ignored < s->ignored_count && s->ignored[ignored].place <= place; ignored++) {
            tell_name(console, s->ignored[ignored].name, width);
            console_print(console, "  ignored  %s%s\n", reasons ? " " : "", reasons ? reasons->word[ignored] : "");
        }
        if (i < s->count)
            tell_column(console, &s->column[i], width);
    }
}

static void json_column(FILE *out, const fmt_column *c)
{
    static const char *const kinds[] = {"number", "category", "picture", "vector"};
    fputs("{\"name\":", out);
    json_write_string(out, c->name);
    fprintf(out, ",\"kind\":\"%s\",\"entries\":%zu", kinds[c->kind], c->size);
    if (fmt_column_in_table(c))
        fprintf(out, ",\"centre\":%.15g,\"scale\":%.15g", c->centre, c->scale);
    if (c->kind == FMT_PICTURE)
        fprintf(out, ",\"width\":%zu,\"height\":%zu,\"channels\":%zu", c->width, c->height, c->channels);
    for (size_t k = 0; k < c->words.count; k++) {
        fputs(k ? "," : ",\"words\":[", out);
        json_write_string(out, c->words.word[k]);
    }
    fputs(c->words.count ? "]}" : "}", out);
}

void columns_json(FILE *out, const fmt_schema *s, const fmt_words *reasons)
{
    fputs("\"columns\":[", out);
    for (size_t i = 0; i < s->count; i++) {
        fputs(i ? "," : "", out);
        json_column(out, &s->column[i]);
    }
    fputs("],\"ignored\":[", out);
    for (size_t i = 0; i < s->ignored_count; i++) {
        fputs(i ? ",{\"name\":" : "{\"name\":", out);
        json_write_string(out, s->ignored[i].name);
        if (reasons != NULL) {
            fputs(",\"reason\":", out);
            json_write_string(out, reasons->word[i]);
        }
        putc('}', out);
    }
    putc(']', out);
}
