/* schema.c: columns put together, found and freed; a schema as lines of text, and the short form for pictures and
 * vectors. docs/FORMAT.md has both forms. */
#include "schema.h"
#include "internal.h"

#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

void fmt_words_free(fmt_words *words)
{
    for (size_t i = 0; i < words->count; i++)
        free(words->word[i]);
    free(words->word);
    *words = (fmt_words){0};
}

/* Room for one more: lists grow when their number is a power of two, or 0. */
static bool grow(void **list, size_t count, size_t size)
{
    if ((count & (count - 1)) != 0)
        return true;
    void *more = realloc(*list, (count ? 2 * count : 1) * size);
    *list = more ? more : *list;
    return more != NULL;
}

bool fmt_words_add(fmt_words *words, const char *word, size_t size)
{
    void *list = words->word;
    bool good = grow(&list, words->count, sizeof *words->word);
    words->word = list;
    char *copy = good ? malloc(size + 1) : NULL;
    if (copy == NULL)
        return false;
    memcpy(copy, word, size);
    copy[size] = '\0';
    words->word[words->count++] = copy;
    return true;
}

static void free_column(fmt_column *column)
{
    free(column->name);
    free(column->sorted);
    fmt_words_free(&column->words);
    fmt_words_free(&column->kept);
}

void fmt_schema_free(fmt_schema *schema)
{
    if (schema == NULL)
        return;
    for (size_t i = 0; i < schema->count; i++)
        free_column(&schema->column[i]);
    for (size_t i = 0; i < schema->ignored_count; i++)
        free(schema->ignored[i].name);
    free(schema->column);
    free(schema->ignored);
    free(schema->index);
    fmt_words_free(&schema->missing);
    *schema = (fmt_schema){0};
}

bool fmt_column_in_table(const fmt_column *column)
{
    return column->kind == FMT_NUMBER || fmt_column_has_words(column);
}

bool fmt_column_has_words(const fmt_column *column)
{
    return column->kind == FMT_CATEGORY || column->kind == FMT_ORDERED;
}

bool fmt_column_is_date(const fmt_column *column)
{
    return column->kind == FMT_NUMBER && column->notation.pattern[0] != '\0';
}

bool fmt_schema_is_table(const fmt_schema *schema)
{
    for (size_t i = 0; i < schema->count; i++)
        if (fmt_column_in_table(&schema->column[i]))
            return true;
    return false;
}

/* ---- columns by name: a hash table with linear probing, less than half full */

static size_t hash_name(const char *name, size_t length)
{
    uint32_t hash = 2166136261u; /* FNV-1a */
    for (size_t i = 0; i < length; i++)
        hash = (hash ^ (unsigned char)name[i]) * 16777619u;
    return hash;
}

/* The slot of the name, or the empty one where it belongs. */
static size_t *slot_of(const fmt_schema *s, const char *name, size_t length)
{
    size_t at = hash_name(name, length) & (s->slots - 1);
    for (;; at = (at + 1) & (s->slots - 1)) {
        const char *there = s->index[at] > 0 ? s->column[s->index[at] - 1].name : NULL;
        if (there == NULL || (strlen(there) == length && memcmp(there, name, length) == 0))
            return &s->index[at];
    }
}

/* Makes room for one more column in the index. */
static bool grow_index(fmt_schema *s)
{
    if (2 * (s->count + 1) < s->slots)
        return true;
    size_t slots = s->slots > 0 ? 2 * s->slots : 16, *index = calloc(slots, sizeof *index);
    if (index == NULL)
        return false;
    free(s->index);
    s->index = index;
    s->slots = slots;
    for (size_t i = 0; i < s->count; i++)
        *slot_of(s, s->column[i].name, strlen(s->column[i].name)) = i + 1;
    return true;
}

const fmt_column *fmt_schema_find(const fmt_schema *schema, const char *name, size_t length)
{
    size_t found = schema->slots > 0 ? *slot_of(schema, name, length) : 0;
    return found > 0 ? &schema->column[found - 1] : NULL;
}

const fmt_column *fmt_schema_picture(const fmt_schema *schema)
{
    for (size_t i = 0; i < schema->count; i++)
        if (schema->column[i].kind == FMT_PICTURE)
            return &schema->column[i];
    return NULL;
}

static bool copy_words(const fmt_words *from, fmt_words *to)
{
    *to = (fmt_words){0};
    bool good = true;
    for (size_t i = 0; good && i < from->count; i++)
        good = fmt_words_add(to, from->word[i], strlen(from->word[i]));
    return good;
}

struct ranked {
    const char *word;
    size_t place;
};

static int by_word(const void *a, const void *b)
{
    return strcmp(((const struct ranked *)a)->word, ((const struct ranked *)b)->word);
}

/* The places of the words by strcmp, for the search among them. */
static bool sort_words(fmt_column *c)
{
    struct ranked *ranked = malloc((c->words.count + 1) * sizeof *ranked);
    c->sorted = malloc((c->words.count + 1) * sizeof *c->sorted);
    for (size_t k = 0; k < c->words.count && ranked != NULL; k++)
        ranked[k] = (struct ranked){c->words.word[k], k};
    if (ranked != NULL)
        qsort(ranked, c->words.count, sizeof *ranked, by_word);
    for (size_t k = 0; k < c->words.count && ranked != NULL && c->sorted != NULL; k++)
        c->sorted[k] = ranked[k].place;
    bool good = ranked != NULL && c->sorted != NULL;
    free(ranked);
    return good;
}

static bool copy_column(const fmt_column *from, fmt_column *to)
{
    *to = *from;
    to->words = to->kept = (fmt_words){0};
    to->sorted = NULL;
    to->name = strdup(from->name);
    return to->name != NULL && copy_words(&from->words, &to->words) && copy_words(&from->kept, &to->kept) &&
           (to->words.count == 0 || sort_words(to));
}

static void set_sizes(fmt_column *c)
{
    if (c->kind == FMT_NUMBER)
        c->size = c->notation.period > 0 ? c->notation.trend ? 3 : 2 : 1;
    else if (c->kind == FMT_ORDERED)
        c->size = 1;
    else if (c->kind == FMT_CATEGORY)
        c->size = c->words.count;
    else if (c->kind == FMT_PICTURE)
        c->size = c->width * c->height * c->channels;
    if (!fmt_column_in_table(c)) {
        c->centre = 0;
        c->scale = 1;
    }
    c->cells = fmt_column_in_table(c) ? 1 : c->size;
}

bpcn_status fmt_schema_add(fmt_schema *schema, const fmt_column *column)
{
    if (fmt_schema_find(schema, column->name, strlen(column->name)) != NULL)
        return fmti_fail(BPCN_INVALID, NULL, "two %s are called '%s'",
                         fmt_column_in_table(column) ? "columns" : "fields", column->name);
    void *list = schema->column;
    bool good = grow_index(schema) && grow(&list, schema->count, sizeof *column);
    schema->column = list;
    fmt_column *c = good ? &schema->column[schema->count] : NULL;
    if (!good || !copy_column(column, c)) {
        if (good)
            free_column(c);
        return fmti_no_memory(column->name, sizeof *c);
    }
    set_sizes(c);
    if (c->size == 0 || c->size > FMT_MAX_ENTRIES - schema->dim || (fmt_column_has_words(c) && c->words.count == 0)) {
        free_column(c);
        return fmti_fail(BPCN_REFUSED, column->name, "with it a row has %s entries",
                         c->size == 0 ? "no" : "more than 16777216");
    }
    c->offset = schema->dim;
    c->cell = schema->cells;
    schema->dim += c->size;
    schema->cells += c->cells;
    *slot_of(schema, c->name, strlen(c->name)) = ++schema->count;
    return BPCN_OK;
}

bpcn_status fmt_schema_ignore(fmt_schema *schema, const char *name)
{
    void *list = schema->ignored;
    bool good = grow(&list, schema->ignored_count, sizeof *schema->ignored);
    schema->ignored = list;
    char *copy = good ? strdup(name) : NULL;
    if (copy == NULL)
        return fmti_no_memory(name, strlen(name));
    schema->ignored[schema->ignored_count++] = (fmt_ignored){copy, schema->cells};
    return BPCN_OK;
}

bpcn_status fmt_schema_add_missing(fmt_schema *schema, const char *word)
{
    return fmt_words_add(&schema->missing, word, strlen(word)) ? BPCN_OK : fmti_no_memory(word, strlen(word));
}

/* ---- its text */

static const char *const kind_words[] = {"number", "category", "picture", "vector", "ignored", "ordered"};
enum { KINDS = sizeof kind_words / sizeof *kind_words };

/* ---- writing */

/* Names and words: what could end them, and %, as %XX. */
static void put_escaped(FILE *out, const char *text)
{
    for (; *text != '\0'; text++) {
        unsigned char c = (unsigned char)*text;
        if (c < 0x20 || c == 0x7F || c == '%' || c == '=')
            fprintf(out, "%%%02X", c);
        else
            fputc(c, out);
    }
}

/* Fifteen digits, or as many as it takes to have it again, at a decimal point in every locale. */
static void put_number(FILE *out, const char *before, double value)
{
    char text[40];
    snprintf(text, sizeof text, "%.15g", value);
    if (before[0] != '\t' && strtod(text, NULL) != value)
        snprintf(text, sizeof text, "%.17g", value);
    for (char *c = text; *c != '\0'; c++)
        *c = *c == ',' ? '.' : *c;
    fprintf(out, "%s%s", before, text);
}

static void put_text(FILE *out, const char *key, const char *text)
{
    if (text[0] == '\0')
        return;
    fputs(key, out);
    put_escaped(out, text);
}

static void put_notation(FILE *out, const fmt_notation *n)
{
    if (n->places > 0)
        fprintf(out, "\t%s=%d", n->fixed ? "fixed" : "decimals", n->places - 1);
    fputs(n->whole ? "\twhole=1" : "", out);
    put_text(out, "\tgroup=", n->group);
    put_text(out, "\tprefix=", n->prefix);
    put_text(out, "\tsuffix=", n->suffix);
    put_text(out, "\tdate=", n->pattern);
    if (n->bounded) {
        fputs("\tlow", out);
        put_number(out, "=", n->low);
        fputs("\thigh", out);
        put_number(out, "=", n->high);
    }
    if (n->period > 0) {
        fputs("\tperiod", out);
        put_number(out, "=", n->period);
    }
    fputs(n->trend ? "\ttrend=1" : "", out);
}

static void put_column(FILE *out, const fmt_column *c)
{
    char shape[64];
    put_escaped(out, c->name);
    fprintf(out, "\t%s", kind_words[c->kind]);
    if (fmt_column_in_table(c)) {
        put_number(out, "\t", c->centre);
        put_number(out, "\t", c->scale);
    } else {
        fmt_column_shape(c, shape);
        fprintf(out, "\t%s", shape);
    }
    if (c->kind == FMT_NUMBER)
        put_notation(out, &c->notation);
    for (size_t k = 0; k < c->words.count; k++) {
        fputc('\t', out);
        put_escaped(out, c->words.word[k]);
    }
    for (size_t k = 0; k < c->kept.count; k++)
        put_text(out, "\tkept=", c->kept.word[k]);
    fputc('\n', out);
}

/* Whether anything is said that version 1 could not say. */
static bool is_new(const fmt_schema *s)
{
    static const fmt_notation none = {0};
    for (size_t i = 0; i < s->count; i++) {
        const fmt_column *c = &s->column[i];
        const fmt_notation *n = &c->notation;
        bool plain = n->places == 0 && !n->whole && !n->bounded && n->period == none.period && n->group[0] == '\0' &&
                     n->prefix[0] == '\0' && n->suffix[0] == '\0' && n->pattern[0] == '\0';
        if (c->kind == FMT_ORDERED || c->kept.count > 0 || (c->kind == FMT_NUMBER && !plain))
            return true;
    }
    return s->decimal != 0;
}

static void put_columns(FILE *out, const fmt_schema *s)
{
    size_t ignored = 0;
    if (is_new(s))
        fprintf(out, "schema=%d\n", FMT_SCHEMA_VERSION);
    if (s->decimal != 0)
        fprintf(out, "decimal=%c\n", s->decimal);
    if (s->missing.count > 0) {
        fputs("missing=", out);
        for (size_t i = 0; i < s->missing.count; i++) {
            fputs(i ? "\t" : "", out);
            put_escaped(out, s->missing.word[i]);
        }
        fputc('\n', out);
    }
    fprintf(out, "columns=%zu\n", s->count + s->ignored_count);
    for (size_t i = 0; i <= s->count; i++) {
        size_t place = i < s->count ? s->column[i].cell : s->cells;
        for (; ignored < s->ignored_count && s->ignored[ignored].place <= place; ignored++) {
            put_escaped(out, s->ignored[ignored].name);
            fprintf(out, "\t%s\n", kind_words[FMT_IGNORED]);
        }
        if (i < s->count)
            put_column(out, &s->column[i]);
    }
}

static bool is_field_name(const char *text, size_t length)
{
    if (length == 0 || length > 31 || (text[0] >= '0' && text[0] <= '9'))
        return false;
    for (size_t i = 0; i < length; i++) {
        char c = text[i];
        if (!(c == '_' || c == '-' || (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z')))
            return false;
    }
    return true;
}

/* Whether the short form says everything. */
static bool is_short(const fmt_schema *s)
{
    for (size_t i = 0; i < s->count; i++)
        if (fmt_column_in_table(&s->column[i]) || !is_field_name(s->column[i].name, strlen(s->column[i].name)))
            return false;
    return s->ignored_count == 0 && s->missing.count == 0 && !is_new(s);
}

static void put_fields(FILE *out, const fmt_schema *s)
{
    char shape[64];
    for (size_t i = 0; i < s->count; i++) {
        fmt_column_shape(&s->column[i], shape);
        fprintf(out, "%s%s:%s", i ? "," : "", s->column[i].name, shape);
    }
}

char *fmt_schema_format(const fmt_schema *schema)
{
    char *text = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&text, &size);
    if (out == NULL)
        return NULL;
    if (is_short(schema)) {
        fputs("fields=", out);
        put_fields(out, schema);
        fputc('\n', out);
    } else {
        put_columns(out, schema);
    }
    if (fclose(out) == 0)
        return text;
    free(text);
    return NULL;
}

void fmt_column_shape(const fmt_column *c, char out[64])
{
    if (c->kind == FMT_NUMBER)
        snprintf(out, 64, "%s",
                 !fmt_column_is_date(c)                     ? "number"
                 : fmt_pattern_is_date(c->notation.pattern) ? "date"
                                                            : "time");
    else if (fmt_column_has_words(c))
        snprintf(out, 64, "%zu word%s", c->words.count, c->words.count == 1 ? "" : "s");
    else if (c->kind == FMT_VECTOR)
        snprintf(out, 64, "%zu", c->size);
    else if (c->channels == 1)
        snprintf(out, 64, "%zux%zu", c->width, c->height);
    else
        snprintf(out, 64, "%zux%zux%zu", c->width, c->height, c->channels);
}

void fmt_schema_describe(const fmt_schema *s, char *out, size_t room)
{
    size_t used = 0, numbers = 0, dates = 0, categories = 0;
    char shape[64];
    out[0] = '\0';
    for (size_t i = 0; i < s->count; i++) {
        const fmt_column *c = &s->column[i];
        numbers += c->kind == FMT_NUMBER && !fmt_column_is_date(c);
        dates += fmt_column_is_date(c);
        categories += fmt_column_has_words(c);
        if (fmt_column_in_table(c) || used >= room)
            continue;
        fmt_column_shape(c, shape);
        int n = snprintf(out + used, room - used, "%s%s:%s", used ? "," : "", c->name, shape);
        used += n > 0 ? (size_t)n : 0;
    }
    if (numbers > 0 && used < room)
        used += (size_t)snprintf(out + used, room - used, "%s%zu number%s", used ? ", " : "", numbers,
                                 numbers == 1 ? "" : "s");
    if (dates > 0 && used < room)
        used +=
            (size_t)snprintf(out + used, room - used, "%s%zu date%s", used ? ", " : "", dates, dates == 1 ? "" : "s");
    if (categories > 0 && used < room)
        snprintf(out + used, room - used, "%s%zu categor%s", used ? ", " : "", categories,
                 categories == 1 ? "y" : "ies");
}

/* ---- the short form back */

/* Reads up to three numbers separated by x; their count, or 0. */
static size_t parse_numbers(const char *text, size_t length, size_t number[3])
{
    size_t count = 0, at = 0;
    while (count < 3 && at < length) {
        size_t value = 0, digits = 0;
        while (at < length && text[at] >= '0' && text[at] <= '9' && value <= FMT_MAX_ENTRIES) {
            value = value * 10 + (size_t)(text[at++] - '0');
            digits++;
        }
        if (digits == 0 || value == 0 || value > FMT_MAX_ENTRIES)
            return 0;
        number[count++] = value;
        if (at == length)
            return count;
        if (text[at++] != 'x')
            return 0;
    }
    return 0;
}

static bool parse_shape(const char *text, size_t length, fmt_column *c)
{
    size_t number[3] = {0}, count = parse_numbers(text, length, number);
    c->kind = count == 1 ? FMT_VECTOR : FMT_PICTURE;
    c->size = number[0];
    if (count < 2)
        return count == 1;
    c->width = number[0];
    c->height = number[1];
    c->channels = count == 3 ? number[2] : 1;
    return c->width * c->height <= FMT_MAX_ENTRIES && (c->channels == 1 || c->channels == 3);
}

static bpcn_status parse_field(const char *text, size_t length, fmt_schema *schema)
{
    char name[32] = "", item[80];
    fmt_column column = {.name = name};
    snprintf(item, sizeof item, "%.*s", (int)(length < 79 ? length : 79), text);
    const char *colon = memchr(text, ':', length);
    size_t named = colon ? (size_t)(colon - text) : 0;
    if (colon == NULL || !is_field_name(text, named))
        return fmti_fail(BPCN_INVALID, NULL, "'%s' is not NAME:SHAPE, such as image:32x32x3 or label:10", item);
    if (!parse_shape(colon + 1, length - named - 1, &column))
        return fmti_fail(BPCN_INVALID, NULL, "'%s': the shape is a number, or WIDTHxHEIGHT, or WIDTHxHEIGHTx3", item);
    memcpy(name, text, named);
    return fmt_schema_add(schema, &column);
}

static bpcn_status add_fields(const char *text, fmt_schema *schema)
{
    bpcn_status status = BPCN_OK;
    do {
        size_t length = strcspn(text, ",\n");
        status = parse_field(text, length, schema);
        text += length;
    } while (status == BPCN_OK && *text++ == ',');
    return status;
}

bpcn_status fmt_schema_parse_fields(const char *text, fmt_schema *schema)
{
    *schema = (fmt_schema){0};
    bpcn_status status = add_fields(text, schema);
    if (status != BPCN_OK)
        fmt_schema_free(schema);
    return status;
}

/* ---- the long form back */

static int hex_digit(char c)
{
    return c >= '0' && c <= '9'   ? c - '0'
           : c >= 'A' && c <= 'F' ? c - 'A' + 10
           : c >= 'a' && c <= 'f' ? c - 'a' + 10
                                  : -1;
}

/* Takes the next part of a line, up to a tab, with %XX undone; NULL when there is none or memory runs out. */
static char *next_part(const char **at, const char *end)
{
    if (*at > end)
        return NULL;
    const char *stop = memchr(*at, '\t', (size_t)(end - *at));
    stop = stop ? stop : end;
    char *part = malloc((size_t)(stop - *at) + 1), *to = part;
    for (const char *c = *at; part != NULL && c < stop; c++) {
        bool escaped = *c == '%' && stop - c > 2 && hex_digit(c[1]) >= 0 && hex_digit(c[2]) >= 0;
        *to++ = escaped ? (char)(16 * hex_digit(c[1]) + hex_digit(c[2])) : *c;
        c += escaped ? 2 : 0;
    }
    if (part != NULL)
        *to = '\0';
    *at = stop + 1;
    return part;
}

static bool next_number(const char **at, const char *end, double *value)
{
    char *part = next_part(at, end);
    bool good = part != NULL && fmt_parse_number(part, strlen(part), '.', value) && isfinite(*value);
    free(part);
    return good;
}

/* The key of a part that is key=value; *at is then its value. NULL: it is none. In names and words = is escaped. */
static const char *next_key(const char **at, const char *end, const char *const *keys)
{
    const char *stop = *at <= end ? memchr(*at, '\t', (size_t)(end - *at)) : NULL;
    stop = stop ? stop : end;
    for (; *keys != NULL && *at <= end; keys++) {
        size_t size = strlen(*keys);
        if ((size_t)(stop - *at) > size && memcmp(*at, *keys, size) == 0 && (*at)[size] == '=') {
            *at += size + 1;
            return *keys;
        }
    }
    return NULL;
}

static bool is_key(const char *at, const char *end)
{
    const char *stop = memchr(at, '\t', (size_t)(end - at));
    return memchr(at, '=', (size_t)((stop ? stop : end) - at)) != NULL;
}

static bool next_text(const char **at, const char *end, char *out, size_t room)
{
    char *part = next_part(at, end);
    bool good = part != NULL && part[0] != '\0' && strlen(part) < room;
    if (good)
        memcpy(out, part, strlen(part) + 1);
    free(part);
    return good;
}

static bool next_kept(const char **at, const char *end, fmt_words *kept)
{
    char *part = next_part(at, end);
    bool good =
        part != NULL && part[0] != '\0' && kept->count < FMT_MAX_KEPT && fmt_words_add(kept, part, strlen(part));
    free(part);
    return good;
}

static bool next_words(const char **at, const char *end, fmt_words *words)
{
    while (*at <= end && !is_key(*at, end)) {
        char *part = next_part(at, end);
        bool good = part != NULL && fmt_words_add(words, part, strlen(part));
        free(part);
        if (!good)
            return false;
    }
    return true;
}

static bool is_group(const char *text)
{
    static const char *const groups[] = {",", ".", "'", " ", "\xC2\xA0", "\xE2\x80\xAF"};
    for (size_t i = 0; i < sizeof groups / sizeof *groups; i++)
        if (strcmp(groups[i], text) == 0)
            return true;
    return false;
}

/* The rest of a line of a number or of words: key=value, each known. */
static bool next_keys(const char **at, const char *end, fmt_column *c)
{
    static const char *const keys[] = {"kept", "decimals", "fixed", "whole",  "group", "prefix", "suffix",
                                       "date", "low",      "high",  "period", "trend", NULL};
    fmt_notation *n = &c->notation;
    bool low = false, high = false, good = true;
    while (*at <= end && good) {
        const char *key = next_key(at, end, keys);
        double value = 0;
        if (key == keys[0])
            good = next_kept(at, end, &c->kept);
        else if (key == NULL || c->kind != FMT_NUMBER)
            good = false;
        else if (key == keys[4])
            good = next_text(at, end, n->group, sizeof n->group) && is_group(n->group);
        else if (key == keys[5] || key == keys[6])
            good = next_text(at, end, key == keys[5] ? n->prefix : n->suffix, FMT_AFFIX);
        else if (key == keys[7])
            good = next_text(at, end, n->pattern, FMT_PATTERN) && fmt_pattern_good(n->pattern);
        else if (next_number(at, end, &value)) {
            if (key == keys[1] || key == keys[2])
                n->places =
                    value >= 0 && value <= FMT_MOST_DECIMALS && value == floor(value) ? (int)value + 1 : (good = false);
            n->fixed = n->fixed || key == keys[2];
            n->whole = n->whole || key == keys[3];
            n->trend = n->trend || key == keys[11];
            n->low = key == keys[8] ? value : n->low;
            n->high = key == keys[9] ? value : n->high;
            n->period = key == keys[10] ? value : n->period;
            low = low || key == keys[8];
            high = high || key == keys[9];
        } else {
            good = false;
        }
    }
    n->bounded = low;
    return good && low == high && n->low <= n->high && n->period <= 1e12 &&
           (n->period >= 1e-6 || (n->period == 0 && !n->trend));
}

static bool parse_column(const char **at, const char *end, fmt_column *c)
{
    char *kind = next_part(at, end);
    int place = -1;
    for (int k = 0; kind != NULL && k < KINDS; k++)
        if (strcmp(kind, kind_words[k]) == 0)
            place = k;
    free(kind);
    if (place < 0)
        return false;
    c->kind = (fmt_column_kind)place;
    if (place == FMT_IGNORED)
        return *at > end;
    if (fmt_column_in_table(c))
        return next_number(at, end, &c->centre) && next_number(at, end, &c->scale) && c->scale > 0 &&
               (place == FMT_NUMBER || (next_words(at, end, &c->words) && c->words.count > 0)) && next_keys(at, end, c);
    char *shape = next_part(at, end);
    bool good = shape != NULL && parse_shape(shape, strlen(shape), c) && c->kind == (fmt_column_kind)place;
    free(shape);
    return good && *at > end;
}

static bpcn_status parse_line(const char *line, const char *end, fmt_schema *schema)
{
    fmt_column c = {0};
    c.name = next_part(&line, end);
    bpcn_status status = BPCN_OK;
    if (c.name == NULL || !parse_column(&line, end, &c))
        status = fmti_fail(BPCN_FORMAT, "schema", "a line does not describe a column");
    else if (c.kind == FMT_IGNORED)
        status = fmt_schema_ignore(schema, c.name);
    else
        status = fmt_schema_add(schema, &c);
    free_column(&c);
    return status;
}

/* The number after columns=, and as many lines; *text is then what follows. */
static bpcn_status parse_columns(const char **text, fmt_schema *schema)
{
    char *after;
    unsigned long count = strtoul(*text, &after, 10);
    bpcn_status status = BPCN_OK;
    const char *line = *after == '\n' ? after + 1 : "";
    for (; count > 0 && status == BPCN_OK; count--) {
        const char *end = strchr(line, '\n');
        if (end == NULL)
            return fmti_fail(BPCN_FORMAT, "schema", "is cut short");
        status = parse_line(line, end, schema);
        line = end + 1;
    }
    *text = line;
    return status;
}

bpcn_status fmt_schema_parse(const char *text, fmt_schema *schema)
{
    bpcn_status status = BPCN_OK;
    *schema = (fmt_schema){0};
    while (*text != '\0' && status == BPCN_OK) {
        const char *end = text + strcspn(text, "\n"), *words = text + 8;
        bool whole = schema->count == 0; /* the first description counts */
        if (strncmp(text, "columns=", 8) == 0 && whole) {
            text += 8;
            status = parse_columns(&text, schema);
            continue;
        }
        if (strncmp(text, "schema=", 7) == 0 && whole && strtoul(text + 7, NULL, 10) > FMT_SCHEMA_VERSION)
            status = fmti_fail(BPCN_FORMAT, "schema", "is of version %.*s, of a later release; this one reads up to %d",
                               (int)strcspn(text + 7, "\n") < 20 ? (int)strcspn(text + 7, "\n") : 20, text + 7,
                               FMT_SCHEMA_VERSION);
        else if (strncmp(text, "decimal=", 8) == 0 && whole && (text[8] == '.' || text[8] == ','))
            schema->decimal = text[8];
        else if (strncmp(text, "fields=", 7) == 0 && whole)
            status = add_fields(text + 7, schema);
        else if (strncmp(text, "missing=", 8) == 0 && whole && !next_words(&words, end, &schema->missing))
            status = fmti_no_memory("schema", 1);
        text = *end == '\n' ? end + 1 : end;
    }
    if (status != BPCN_OK)
        fmt_schema_free(schema);
    return status;
}
