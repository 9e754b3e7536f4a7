/* cells.c: cells of a table to entries of about 1, and back. */
#include "schema.h"

#include "internal.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

static const double tau = 6.283185307179586, root_two = 1.4142135623730951;

/* ---- numbers as text */

/* Numbers as they stand; in columns of a table also with what the column has around and within them. A comma that could
   separate cells is no decimal one. */
static bool take_number(const fmt_notation *n, const char *text, size_t size, char decimal, double *value)
{
    fmt_number_text t;
    if (fmt_parse_number(text, size, decimal, value))
        return true;
    if (n == NULL || !fmt_number_take(text, size, decimal, true, &t))
        return false;
    bool prefix =
        t.prefix_size == 0 || (strlen(n->prefix) == t.prefix_size && memcmp(n->prefix, t.prefix, t.prefix_size) == 0);
    bool suffix =
        t.suffix_size == 0 || (strlen(n->suffix) == t.suffix_size && memcmp(n->suffix, t.suffix, t.suffix_size) == 0);
    /* 1,234 could be a decimal comma, unless there is a point, or the column is known to separate thousands */
    const char *mark = t.group[0] != '\0' ? memchr(text, t.group[0], size) : NULL;
    bool sure = mark == NULL || t.decimals > 0 || (t.group[0] != '.' && t.group[0] != ',') ||
                memchr(mark + 1, t.group[0], size - (size_t)(mark + 1 - text)) != NULL;
    *value = t.value;
    return prefix && suffix && (sure || n->group[0] != '\0');
}

/* The decimal mark that a text has for sure; 0: none, or it could be one between thousands. */
static char sure_mark(const fmt_notation *n, const char *text, size_t size, char separator)
{
    const char *comma = separator == ',' ? NULL : memchr(text, ',', size), *point = memchr(text, '.', size);
    if (comma == NULL || point == NULL) {
        const char *mark = comma ? comma : point;
        if (mark == NULL || memchr(mark + 1, *mark, size - (size_t)(mark + 1 - text)) != NULL)
            return 0;
        size_t after = strspn(mark + 1, "0123456789");
        bool open = n != NULL && (n->group[0] == '.' || n->group[0] == ',') && after == 3 && mark - text >= 1;
        return open ? 0 : *mark;
    }
    return comma > point ? ',' : '.';
}

/* A number in the table's way to write them, which the first one with a sure point or comma tells. */
static fmt_cell_state parse_cell(const fmt_schema *schema, const fmt_notation *n, const char *text, size_t size,
                                 fmt_style *style, double *value)
{
    char copy[64];
    bool mark = memchr(text, '.', size) != NULL || (style->separator != ',' && memchr(text, ',', size) != NULL);
    char usual = schema != NULL && schema->decimal == ',' && style->separator != ',' ? ',' : '.';
    if (n != NULL && n->pattern[0] != '\0')
        return fmt_date_parse(n->pattern, text, size, value) ? FMT_CELL_KNOWN : FMT_CELL_WORD;
    if (mark && style->decimal == 0 && size < sizeof copy) {
        memcpy(copy, text, size);
        copy[size] = '\0';
        char sure = sure_mark(n, copy, size, style->separator);
        if (sure != 0 && take_number(n, text, size, sure, value)) {
            style->decimal = sure;
            return FMT_CELL_KNOWN;
        }
    }
    char decimal = style->decimal ? style->decimal : usual, other = decimal == ',' ? '.' : ',';
    if (take_number(n, text, size, decimal, value))
        return FMT_CELL_KNOWN;
    bool swapped = mark && style->decimal != 0 && (other == '.' || style->separator != ',') &&
                   take_number(n, text, size, other, value);
    return swapped ? FMT_CELL_COMMA : FMT_CELL_WORD;
}

/* ---- what is missing */

static bool is_usual(const char *text, size_t size)
{
    static const char *const usual[] = {"",     "na",  "n/a",  "#n/a", "nan", "-nan", "null",
                                        "none", "nil", "<na>", "?",    "-",   ".",    "nothing"};
    if (size > 7)
        return false;
    if (size > 1 && (text[0] == '-' ? text[1] != 'n' && text[1] != 'N' : (text[0] >= '0' && text[0] <= '9')))
        return false; /* a number, in haste */
    for (size_t i = 0; i < sizeof usual / sizeof *usual; i++)
        if (strlen(usual[i]) == size && strncasecmp(usual[i], text, size) == 0)
            return true;
    return false;
}

static bool is_added(const fmt_schema *schema, const char *text, size_t size)
{
    for (size_t i = 0; schema != NULL && i < schema->missing.count; i++)
        if (strlen(schema->missing.word[i]) == size && strncasecmp(schema->missing.word[i], text, size) == 0)
            return true;
    return false;
}

static void trim(const char **text, size_t *size)
{
    while (*size > 0 && (**text == ' ' || **text == '\t')) {
        ++*text;
        --*size;
    }
    while (*size > 0 && ((*text)[*size - 1] == ' ' || (*text)[*size - 1] == '\t'))
        --*size;
}

bool fmt_means_missing(const fmt_schema *schema, const char *text, size_t size)
{
    trim(&text, &size);
    return is_usual(text, size) || is_added(schema, text, size);
}

/* ---- words */

/* The place of a word; words.count: it is none. */
static size_t find_word(const fmt_column *c, const char *text, size_t size)
{
    size_t low = 0, high = c->sorted != NULL ? c->words.count : 0;
    while (low < high) {
        size_t middle = (low + high) / 2, k = c->sorted[middle];
        int order = strncmp(c->words.word[k], text, size);
        order = order == 0 ? c->words.word[k][size] != '\0' : order;
        if (order == 0)
            return k;
        if (order < 0)
            low = middle + 1;
        else
            high = middle;
    }
    for (size_t k = 0; c->sorted == NULL && k < c->words.count; k++)
        if (strlen(c->words.word[k]) == size && memcmp(c->words.word[k], text, size) == 0)
            return k;
    return c->words.count;
}

static bool is_code(const char *text, size_t size, size_t like)
{
    for (size_t i = 0; i < size; i++)
        if (text[i] < 'A' || text[i] > 'Z')
            return false;
    return size == like && size >= 2 && size <= 3;
}

bool fmti_words_are_codes(const fmt_words *words, const char *text, size_t size)
{
    bool codes = words->count >= 4 && is_code(text, size, size);
    for (size_t k = 0; k < words->count && codes; k++)
        codes = is_code(words->word[k], strlen(words->word[k]), size);
    return codes;
}

/* Whether a column keeps the text, or as a number the value. */
static bool keeps(const fmt_column *c, const char *text, size_t size, const double *value)
{
    for (size_t k = 0; k < c->kept.count; k++) {
        double kept;
        const char *word = c->kept.word[k];
        if (strlen(word) == size && memcmp(word, text, size) == 0)
            return true;
        if (value != NULL && c->notation.pattern[0] == '\0' && fmt_parse_number(word, strlen(word), '.', &kept) &&
            kept == *value)
            return true;
    }
    return false;
}

/* ---- into entries */

size_t fmt_cell_size(const fmt_column *column)
{
    return fmt_column_in_table(column) ? column->size : 1;
}

static fmt_cell_state put_number(const fmt_column *column, double value, bool clip, float *x)
{
    bool number = column->kind == FMT_NUMBER, circle = number && column->notation.period > 0;
    double entry = (value - column->centre) / column->scale;
    if (isnan(value))
        return FMT_CELL_MISSING;
    if (clip && number)
        entry = fmin(fmax(entry, -FMT_CLIP), FMT_CLIP);
    if (isinf(value) || fabs(entry) > (number ? FMT_FAR : FMT_FAR_PLAIN)) {
        if (!circle || column->notation.trend || isinf(value))
            return FMT_CELL_FAR;
    }
    if (circle) {
        double angle = tau * (value / column->notation.period);
        float *at = x + column->notation.trend;
        if (!isfinite(angle))
            return FMT_CELL_FAR;
        at[0] = (float)(root_two * cos(angle));
        at[1] = (float)(root_two * sin(angle));
    }
    if (!circle || column->notation.trend)
        *x = (float)entry;
    return FMT_CELL_KNOWN;
}

static void put_word(const fmt_column *column, size_t word, float *x)
{
    if (column->kind == FMT_ORDERED)
        *x = (float)(((double)word - column->centre) / column->scale);
    for (size_t k = 0; k < column->size && column->kind == FMT_CATEGORY; k++)
        x[k] = (float)(((k == word) - column->centre) / column->scale);
}

fmt_cell_state fmt_encode_text(const fmt_schema *schema, const fmt_column *column, const char *text, size_t size,
                               fmt_style *style, float *x)
{
    double value;
    const fmt_notation *n = column->kind == FMT_NUMBER ? &column->notation : NULL;
    const char *whole = text; /* blanks in quotes belong to a word */
    size_t whole_size = size;
    memset(x, 0, fmt_cell_size(column) * sizeof *x);
    trim(&text, &size);
    if (size == 0 || is_added(schema, text, size))
        return FMT_CELL_MISSING;
    if (column->kept.count > 0 && keeps(column, whole, whole_size, NULL))
        return FMT_CELL_KEPT;
    if (!fmt_column_has_words(column)) {
        if (is_usual(text, size))
            return FMT_CELL_MISSING;
        fmt_cell_state state = parse_cell(schema, n, text, size, style, &value);
        if (state == FMT_CELL_KNOWN && column->kept.count > 0 && keeps(column, text, size, &value))
            return FMT_CELL_KEPT;
        return state == FMT_CELL_KNOWN ? put_number(column, value, style->clip, x) : state;
    }
    size_t word = find_word(column, whole, whole_size);
    if (word == column->words.count)
        return is_usual(text, size) && !fmti_words_are_codes(&column->words, text, size) ? FMT_CELL_MISSING
                                                                                         : FMT_CELL_UNSEEN;
    put_word(column, word, x);
    return FMT_CELL_KNOWN;
}

fmt_cell_state fmt_encode_value(const fmt_column *column, double value, bool clip, float *x)
{
    memset(x, 0, fmt_cell_size(column) * sizeof *x);
    if (column->kept.count > 0 && keeps(column, "\n", 1, &value))
        return FMT_CELL_KEPT;
    if (!fmt_column_has_words(column) || isnan(value))
        return put_number(column, value, clip, x);
    if (value < 0 || value != floor(value) || value >= (double)column->words.count)
        return FMT_CELL_UNSEEN;
    put_word(column, (size_t)value, x);
    return FMT_CELL_KNOWN;
}

/* ---- and back */

/* The least value of a circle at or above 0 with this cosine and sine. */
static double of_circle(const fmt_notation *n, const float *x)
{
    double turns = atan2((double)x[1], (double)x[0]) / tau;
    return n->period * (turns < 0 ? turns + 1 : turns);
}

double fmt_decode_beyond(const fmt_column *column, const float *x)
{
    bool circle = column->kind == FMT_NUMBER && column->notation.period > 0 && !column->notation.trend;
    return circle ? of_circle(&column->notation, x) : column->centre + (double)x[0] * column->scale;
}

double fmt_decode_value(const fmt_column *column, const float *x)
{
    size_t best = 0;
    double value = fmt_decode_beyond(column, x);
    if (column->kind == FMT_ORDERED)
        return fmin(fmax(round(value), 0), (double)column->words.count - 1);
    if (column->kind == FMT_NUMBER)
        return fmt_notation_round(&column->notation, value);
    for (size_t k = 1; k < column->size && column->kind == FMT_CATEGORY; k++)
        if (x[k] > x[best])
            best = k;
    return column->kind == FMT_CATEGORY ? (double)best : value;
}

void fmt_format_number(const fmt_column *column, double value, char decimal, char *out, size_t room)
{
    static const fmt_notation plain = {0};
    fmt_notation_print(&plain, column->scale, value, decimal, out, room);
}

void fmt_quote(const char *word, char separator, char *out, size_t room)
{
    size_t used = 0, size = strlen(word);
    bool special = size == 0 || word[0] == ' ' || word[size - 1] == ' ' || strpbrk(word, "\"\r\n") != NULL ||
                   (separator != '\0' && strchr(word, separator) != NULL);
    if (special)
        out[used++] = '"';
    for (; *word != '\0' && used + 4 < room; word++) {
        if (*word == '"')
            out[used++] = '"';
        out[used++] = *word;
    }
    if (special)
        out[used++] = '"';
    out[used] = '\0';
}

void fmt_decode_text(const fmt_column *column, const float *x, const fmt_style *style, char *out, size_t room)
{
    char text[FMT_CELL_ROOM], narrow[FMT_CELL_ROOM];
    double value = fmt_decode_value(column, x);
    if (style->beyond && column->kind == FMT_NUMBER) {
        fmt_notation free_of_bounds = column->notation;
        free_of_bounds.bounded = false;
        value = fmt_notation_round(&free_of_bounds, fmt_decode_beyond(column, x));
    }
    const char *said = text;
    if (fmt_column_has_words(column))
        said = isnan(value) ? "" : column->words.word[(size_t)value];
    else
        fmt_notation_print(&column->notation, column->scale, value, style->decimal ? style->decimal : '.', text,
                           sizeof text);
    if (style->latin1 && fmt_to_latin1(said, narrow, sizeof narrow))
        said = narrow;
    fmt_quote(said, style->separator, out, room);
}
