/* cells.c: cells of a table to entries of about 1, and back. */
#include "schema.h"

#include "internal.h"

#include <locale.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

enum { LONGEST_NUMBER = 500 };

/* ---- numbers as text, whatever the program's locale */

static double to_double(const char *text, char **end)
{
    locale_t plain = newlocale(LC_ALL_MASK, "C", (locale_t)0), before = uselocale(plain);
    double value = strtod(text, end);
    uselocale(before);
    freelocale(plain);
    return value;
}

static void print_fixed(char *out, size_t room, int decimals, double value)
{
    locale_t plain = newlocale(LC_ALL_MASK, "C", (locale_t)0), before = uselocale(plain);
    if (decimals >= 0)
        snprintf(out, room, "%.*f", decimals, value);
    else
        snprintf(out, room, "%.*g", -decimals, value);
    uselocale(before);
    freelocale(plain);
}

static bool is_infinity(const char *text)
{
    text += *text == '-' || *text == '+';
    return strcasecmp(text, "inf") == 0 || strcasecmp(text, "infinity") == 0;
}

bool fmt_parse_number(const char *text, size_t size, char decimal, double *value)
{
    char copy[LONGEST_NUMBER + 1], *end;
    bool digit = false;
    if (size == 0 || size > LONGEST_NUMBER)
        return false;
    memcpy(copy, text, size);
    copy[size] = '\0';
    bool infinite = is_infinity(copy);
    for (size_t i = 0; i < size && !infinite; i++) {
        bool in_exponent = copy[i] == 'e' || copy[i] == 'E' || copy[i] == '+' || copy[i] == '-';
        digit = digit || (copy[i] >= '0' && copy[i] <= '9');
        if (!(copy[i] >= '0' && copy[i] <= '9') && !in_exponent && copy[i] != decimal)
            return false;
        if (copy[i] == decimal)
            copy[i] = '.';
    }
    if (!digit && !infinite)
        return false;
    *value = to_double(copy, &end);
    return end == copy + size;
}

/* A number in the table's way to write them, which the first one with a point or a comma tells. A comma that could
   separate cells is no decimal one. */
static fmt_cell_state parse_cell(const char *text, size_t size, fmt_style *style, double *value)
{
    char point = '.', comma = ',';
    bool has_comma = style->separator != ',' && memchr(text, comma, size) != NULL;
    char seen = has_comma ? comma : memchr(text, point, size) != NULL ? point : 0;
    if (!fmt_parse_number(text, size, seen ? seen : point, value))
        return FMT_CELL_WORD;
    if (seen != 0 && style->decimal == 0)
        style->decimal = seen;
    return seen == 0 || seen == style->decimal ? FMT_CELL_KNOWN : FMT_CELL_COMMA;
}

/* ---- what is missing */

bool fmt_means_missing(const fmt_schema *schema, const char *text, size_t size)
{
    static const char *const usual[] = {"",     "na",  "n/a",  "#n/a", "nan", "-nan", "null",
                                        "none", "nil", "<na>", "?",    "-",   ".",    "nothing"};
    while (size > 0 && (*text == ' ' || *text == '\t')) {
        text++;
        size--;
    }
    while (size > 0 && (text[size - 1] == ' ' || text[size - 1] == '\t'))
        size--;
    for (size_t i = 0; i < sizeof usual / sizeof *usual; i++)
        if (strlen(usual[i]) == size && strncasecmp(usual[i], text, size) == 0)
            return true;
    for (size_t i = 0; schema != NULL && i < schema->missing.count; i++)
        if (strlen(schema->missing.word[i]) == size && strncasecmp(schema->missing.word[i], text, size) == 0)
            return true;
    return false;
}

/* ---- into entries */

static fmt_cell_state put_number(const fmt_column *column, double value, bool clip, float *x)
{
    double far = column->kind == FMT_NUMBER ? FMT_FAR : FMT_FAR_PLAIN;
    double entry = (value - column->centre) / column->scale;
    if (isnan(value))
        return FMT_CELL_MISSING;
    if (clip && column->kind == FMT_NUMBER)
        entry = fmin(fmax(entry, -FMT_CLIP), FMT_CLIP);
    if (fabs(entry) > far)
        return FMT_CELL_FAR;
    *x = (float)entry;
    return FMT_CELL_KNOWN;
}

static void put_word(const fmt_column *column, size_t word, float *x)
{
    for (size_t k = 0; k < column->size; k++)
        x[k] = (float)(((k == word) - column->centre) / column->scale);
}

static void put_nothing(const fmt_column *column, float *x)
{
    memset(x, 0, (column->kind == FMT_CATEGORY ? column->size : 1) * sizeof *x);
}

fmt_cell_state fmt_encode_text(const fmt_schema *schema, const fmt_column *column, const char *text, size_t size,
                               fmt_style *style, float *x)
{
    double value;
    put_nothing(column, x);
    if (fmt_means_missing(schema, text, size))
        return FMT_CELL_MISSING;
    if (column->kind != FMT_CATEGORY) {
        fmt_cell_state state = parse_cell(text, size, style, &value);
        return state == FMT_CELL_KNOWN ? put_number(column, value, style->clip, x) : state;
    }
    for (size_t k = 0; k < column->words.count; k++)
        if (strlen(column->words.word[k]) == size && memcmp(column->words.word[k], text, size) == 0) {
            put_word(column, k, x);
            return FMT_CELL_KNOWN;
        }
    return FMT_CELL_UNSEEN;
}

fmt_cell_state fmt_encode_value(const fmt_column *column, double value, bool clip, float *x)
{
    put_nothing(column, x);
    if (column->kind != FMT_CATEGORY || isnan(value))
        return put_number(column, value, clip, x);
    if (value < 0 || value != floor(value) || value >= (double)column->words.count)
        return FMT_CELL_UNSEEN;
    put_word(column, (size_t)value, x);
    return FMT_CELL_KNOWN;
}

/* ---- and back */

double fmt_decode_value(const fmt_column *column, const float *x)
{
    size_t best = 0;
    if (column->kind != FMT_CATEGORY)
        return column->centre + (double)x[0] * column->scale;
    for (size_t k = 1; k < column->size; k++)
        if (x[k] > x[best])
            best = k;
    return (double)best;
}

void fmt_format_number(const fmt_column *column, double value, char decimal, char *out, size_t room)
{
    double step = fmax(column->scale, 1e-300) / 1000;
    int decimals = (int)ceil(-log10(step));
    if (!isfinite(value)) {
        snprintf(out, room, "NaN");
        return;
    }
    bool plain = decimals <= 15 && fabs(value) < 1e15;
    int digits = (int)ceil(log10(fmax(fabs(value) / step, 10)));
    print_fixed(out, room, plain ? (decimals > 0 ? decimals : 0) : -(digits < 17 ? digits : 17), value);
    char *point = plain ? strchr(out, '.') : NULL;
    if (point != NULL) {
        char *last = out + strlen(out) - 1;
        while (*last == '0')
            *last-- = '\0';
        if (last == point)
            *last = '\0';
    }
    if (strcmp(out, "-0") == 0)
        memmove(out, out + 1, 2);
    if (decimal == ',' && (point = strchr(out, '.')) != NULL)
        *point = ',';
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
    double value = fmt_decode_value(column, x);
    if (column->kind == FMT_CATEGORY)
        fmt_quote(column->words.word[(size_t)value], style->separator, out, room);
    else
        fmt_format_number(column, value, style->decimal, out, room);
}
