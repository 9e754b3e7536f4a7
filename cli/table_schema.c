/* Shapes of the command line, and one-of-n fields. */
#include "table_schema.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

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

enum { NAME_LEAST = 6, NAME_MOST = 32, WORDS_TOLD = 8 };

/* ---- A table as the model of a memory's rows. */

/* Rows of a stream that are looked at; of a file all. Bytes of a note for what else stands there. */
enum { ROWS_OF_STREAM = 10000, NOTE_LEFT = 1024 };

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

/* The last ":WORD" of the text that a : or its end follows, or NULL. */
static const char *find_kind(const char *text, const char *word)
{
    const char *found = NULL;
    for (const char *c = strchr(text, ':'); c != NULL; c = strchr(c + 1, ':'))
        if (strncmp(c + 1, word, strlen(word)) == 0 && (c[1 + strlen(word)] == ':' || c[1 + strlen(word)] == '\0'))
            found = c;
    return found;
}

/* a,b,c */
static bool split_words(const char *text, fmt_words *words)
{
    for (size_t length = strcspn(text, ",");; length = strcspn(text, ",")) {
        if (length == 0 || words->count == FMT_MAX_WORDS || !fmt_words_add(words, text, length))
            return false;
        if (text[length] == '\0')
            return words->count > 1;
        text += length + 1;
    }
}

/* NAME:date[:PATTERN], NAME:ordered:A,B,..., NAME:periodic:PERIOD. 1: taken, 0: it is none of them, -1: it is wrong. */
static int parse_special(struct args *a, struct table_schema *like)
{
    fmt_wish wish = {.kind = FMT_NUMBER};
    const char *at;
    bool good = true;
    if ((at = find_kind(optarg, "ordered")) != NULL) {
        wish.kind = FMT_ORDERED;
        good = at[8] == ':' && split_words(at + 9, &wish.words);
    } else if ((at = find_kind(optarg, "date")) != NULL) {
        wish.pattern = at[5] == ':' ? at + 6 : NULL;
        good = wish.pattern == NULL || fmt_pattern_good(wish.pattern);
    } else if ((at = find_kind(optarg, "periodic")) != NULL) {
        good = at[9] == ':' && fmt_parse_number(at + 10, strlen(at + 10), '.', &wish.period) && wish.period >= 1e-6 &&
               wish.period <= 1e12;
    }
    if (at == NULL || at == optarg)
        return 0;
    if (good)
        add_wish(a, like, optarg, (size_t)(at - optarg), wish);
    else
        fmt_words_free(&wish.words);
    return good ? 1 : -1;
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
    int special = place < 0 ? parse_special(a, like) : 0;
    if (special > 0)
        return;
    if (special < 0 || colon == NULL || place < 0 || (scaled && (place != 0 || !(wish.scale > 0)))) {
        a->status = console_usage(
            &a->console,
            "--column: '%s' is not NAME:number, NAME:number:CENTRE:SCALE, NAME:category, NAME:ignored, "
            "NAME:ordered:WORD,WORD,..., NAME:date, NAME:date:PATTERN (such as DD/MM/YYYY) or NAME:periodic:PERIOD",
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
    case OPT_NOT_MISSING:
        if (!fmt_words_add(&like->not_missing, optarg, strlen(optarg)))
            a->status = console_error(&a->console, "out of memory");
        return true;
    case OPT_DECIMAL:
        like->decimal = args_word(a) == 0 ? '.' : ',';
        return true;
    default:
        return false;
    }
}

/* The bounds of very many columns would not fit into the memory's note: then it goes without. */
static int fit_note(const struct console *console, struct table_schema *like)
{
    char *text = fmt_schema_format(&like->found.schema);
    if (text == NULL)
        return console_error(console, "out of memory");
    bool fits = strlen(text) + NOTE_LEFT < BPCN_MAX_NOTE;
    free(text);
    for (size_t i = 0; i < like->found.schema.count && !fits; i++)
        like->found.schema.column[i].notation.bounded = false;
    if (!fits)
        console_note(console, "there are too many columns to keep the least and greatest value of each");
    return 0;
}

int table_schema_infer(const struct console *console, struct table_schema *like)
{
    bool standard = strcmp(like->path, "-") == 0;
    FILE *stream = standard ? stdin : fopen(like->path, "rb");
    if (stream == NULL)
        return console_error(console, "%s: cannot open: %s", like->path, strerror(errno));
    struct stat st;
    bool again = fstat(fileno(stream), &st) == 0 && S_ISREG(st.st_mode); /* the rows are read once more by write */
    fmt_infer_options options = {.wishes = like->wishes,
                                 .wish_count = like->wish_count,
                                 .missing = &like->missing,
                                 .not_missing = &like->not_missing,
                                 .decimal = like->decimal,
                                 .rows = again ? 0 : ROWS_OF_STREAM};
    bpcn_status status = fmt_infer(stream, standard ? "standard input" : like->path, &options, &like->found);
    if (!standard)
        fclose(stream);
    return status == BPCN_OK ? fit_note(console, like) : console_error(console, "%s", bpcn_error());
}

/* "empty cells are missing: age 12, city 3" */
static void tell_empty(const struct console *console, const fmt_inference *f)
{
    size_t columns = 0;
    for (size_t i = 0; i < f->finding_count; i++) {
        const fmt_finding *g = &f->finding[i];
        if (g->kind != FMT_FOUND_MISSING || g->word[0] != '\0')
            continue;
        if (columns++ < WORDS_TOLD)
            console_print(console, "%s %s %zu", columns == 1 ? "empty cells, taken as missing:" : ",", g->column,
                          g->cells);
    }
    if (columns > WORDS_TOLD)
        console_print(console, " and in %zu more columns", columns - WORDS_TOLD);
    if (columns > 0)
        console_print(console, "\n");
}

static void tell_finding(const struct console *console, const fmt_finding *f)
{
    const char *one = f->cells == 1 ? "" : "s", *is = f->cells == 1 ? "is" : "are";
    switch (f->kind) {
    case FMT_FOUND_MISSING:
        if (f->word[0] != '\0')
            console_print(console, "%s: %zu cell%s '%s' %s taken as missing (--not-missing '%s' keeps them)\n",
                          f->column, f->cells, one, f->word, is, f->word);
        break;
    case FMT_FOUND_WORD:
        console_print(console, "%s: %zu cell%s '%s' %s not taken as missing (--missing '%s' has them filled)\n",
                      f->column, f->cells, one, f->word, is, f->word);
        break;
    case FMT_FOUND_SENTINEL:
        console_print(
            console,
            "%s: %zu cell%s %s %s far from all others: taken as unknown and left as they are (--missing '%s' has "
            "them filled, --not-missing '%s' learns them)\n",
            f->column, f->cells, one, f->word, is, f->word, f->word);
        break;
    case FMT_FOUND_ODD:
        console_print(
            console,
            "%s: %zu cell%s '%s' %s no number: taken as unknown and left as they are (--missing '%s' has them "
            "filled)\n",
            f->column, f->cells, one, f->word, is, f->word);
        break;
    case FMT_FOUND_DAY_OR_MONTH:
        console_print(console,
                      "%s: dates could be %s or %s: read as %s (--column '%s:date:%s' reads them the other way)\n",
                      f->column, f->word, f->other, f->word, f->column, f->other);
        break;
    case FMT_FOUND_MARK:
        console_print(
            console,
            "%s: %s could have a decimal %s or separated thousands: read with a decimal %s (--decimal %s reads it "
            "the other way)\n",
            f->column, f->word, f->other[0] == ',' ? "point" : "comma", f->other[0] == ',' ? "comma" : "point",
            f->other[0] == ',' ? "point" : "comma");
        break;
    }
}

static void json_findings(const fmt_inference *f)
{
    static const char *const kinds[] = {"missing", "word", "sentinel", "no_number", "day_or_month", "decimal_mark"};
    printf(",\"found\":[");
    for (size_t i = 0; i < f->finding_count; i++) {
        const fmt_finding *g = &f->finding[i];
        printf("%s{\"column\":", i ? "," : "");
        json_write_string(stdout, g->column);
        printf(",\"as\":\"%s\",\"cell\":", kinds[g->kind]);
        json_write_string(stdout, g->word);
        printf(",\"cells\":%zu}", g->cells);
    }
    printf("]");
}

void table_schema_print(const struct console *console, const struct table_schema *like)
{
    const fmt_inference *f = &like->found;
    if (console->json) {
        printf(",\"rows_seen\":%zu,\"header\":%s,", f->rows, f->header ? "true" : "false");
        columns_json(stdout, &f->schema, &f->reason);
        json_findings(f);
        return;
    }
    console_print(console, "columns of %s, from its %s%zu row%s%s:\n", like->path, f->whole ? "" : "first ", f->rows,
                  f->rows == 1 ? "" : "s", f->header ? "" : " (it has no header)");
    columns_print(console, &f->schema, &f->reason);
    tell_empty(console, f);
    for (size_t i = 0; i < f->finding_count; i++)
        tell_finding(console, &f->finding[i]);
    if (f->latin1)
        console_note(console, "%s: is no UTF-8, and was read as Windows-1252 (Latin-1)", like->path);
    if (f->ragged > 0)
        console_note(
            console, "%zu row%s another number of cells than the first, the first of them in line %zu: %s left out",
            f->ragged, f->ragged == 1 ? " has" : "s have", f->ragged_line, f->ragged == 1 ? "it was" : "they were");
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
    for (size_t i = 0; i < like->wish_count; i++)
        fmt_words_free(&like->wishes[i].words);
    free(like->wishes);
    fmt_words_free(&like->missing);
    fmt_words_free(&like->not_missing);
    fmt_inference_free(&like->found);
    *like = (struct table_schema){0};
}

/* ---- Lists of columns. */

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

/* The bounds in the column's own writing, and what it is scaled by. */
static void tell_number(const struct console *console, const fmt_column *c, char decimal)
{
    const fmt_notation *n = &c->notation;
    char low[200], high[200];
    bool date = fmt_column_is_date(c);
    fmt_notation_print(n, c->scale, n->low, decimal, low, sizeof low);
    fmt_notation_print(n, c->scale, n->high, decimal, high, sizeof high);
    console_print(console, "  %s",
                  !date                             ? "number    "
                  : fmt_pattern_is_date(n->pattern) ? "date      "
                                                    : "time      ");
    if (n->bounded)
        console_print(console, "%s to %s", low, high);
    if (date)
        console_print(console, "%swritten %s", n->bounded ? ", " : "", n->pattern);
    else
        console_print(console, "%scentre %g, scale %g", n->bounded ? ", " : "", c->centre, c->scale);
    if (n->period > 0 && !date)
        console_print(console, ", period %g", n->period);
}

static void tell_column(const struct console *console, const fmt_column *c, char decimal, int width)
{
    char shape[64], line[200];
    tell_name(console, c->name, width);
    fmt_column_shape(c, shape);
    if (c->kind == FMT_NUMBER)
        tell_number(console, c, decimal);
    else if (c->kind == FMT_CATEGORY)
        console_print(console, "  category ");
    else if (c->kind == FMT_ORDERED)
        console_print(console, "  ordered  ");
    else
        console_print(console, "  %s  %s", c->kind == FMT_PICTURE ? "picture " : "vector  ", shape);
    for (size_t k = 0; k < c->words.count && k < WORDS_TOLD; k++)
        console_print(console, "%s %s",
                      !k                       ? ""
                      : c->kind == FMT_ORDERED ? " <"
                                               : ",",
                      one_line(c->words.word[k], line));
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
            tell_column(console, &s->column[i], s->decimal == ',' ? ',' : '.', width);
    }
}

static void json_column(FILE *out, const fmt_column *c)
{
    static const char *const kinds[] = {"number", "category", "picture", "vector", "ignored", "ordered"};
    const fmt_notation *n = &c->notation;
    fputs("{\"name\":", out);
    json_write_string(out, c->name);
    fprintf(out, ",\"kind\":\"%s\",\"entries\":%zu", kinds[c->kind], c->size);
    if (fmt_column_in_table(c))
        fprintf(out, ",\"centre\":%.15g,\"scale\":%.15g", c->centre, c->scale);
    if (n->bounded)
        fprintf(out, ",\"low\":%.15g,\"high\":%.15g", n->low, n->high);
    if (n->places > 0)
        fprintf(out, ",\"decimals\":%d,\"whole\":%s", n->places - 1, n->whole ? "true" : "false");
    if (n->pattern[0] != '\0') {
        fputs(",\"date\":", out);
        json_write_string(out, n->pattern);
    }
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
