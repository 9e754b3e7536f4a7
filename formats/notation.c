/* notation.c: numbers with what people write around and within them: currency, percent, units, thousands. */
#include "notation.h"
#include "schema.h"

#include <locale.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

enum { LONGEST_NUMBER = 500, EXACT_DIGITS = 15, UNIT_MOST = 8 };

/* ---- plain numbers, whatever the program's locale */

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

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

/* Up to 15 digits are an exact integer, and its quotient by an exact power of ten is rounded once: the nearest double,
   as strtod has it. False: not so simple. */
static bool parse_short(const char *text, size_t size, char decimal, double *value)
{
    static const double power[] = {1, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15};
    const char *p = text, *end = text + size;
    bool negative = p < end && *p == '-';
    uint64_t whole = 0;
    int digits = 0, after = 0;
    p += p < end && (*p == '-' || *p == '+');
    for (; p < end && is_digit(*p) && digits <= EXACT_DIGITS; p++, digits++)
        whole = 10 * whole + (uint64_t)(*p - '0');
    if (p < end && *p == decimal)
        for (p++; p < end && is_digit(*p) && digits <= EXACT_DIGITS; p++, digits++, after++)
            whole = 10 * whole + (uint64_t)(*p - '0');
    if (p != end || digits == 0 || digits > EXACT_DIGITS)
        return false;
    *value = (double)whole / power[after];
    *value = negative ? -*value : *value;
    return true;
}

bool fmt_parse_number(const char *text, size_t size, char decimal, double *value)
{
    char copy[LONGEST_NUMBER + 1], *end;
    bool digit = false;
    if (size == 0 || size > LONGEST_NUMBER)
        return false;
    if (parse_short(text, size, decimal, value))
        return true;
    memcpy(copy, text, size);
    copy[size] = '\0';
    bool infinite = is_infinity(copy);
    for (size_t i = 0; i < size && !infinite; i++) {
        bool in_exponent = copy[i] == 'e' || copy[i] == 'E' || copy[i] == '+' || copy[i] == '-';
        digit = digit || is_digit(copy[i]);
        if (!is_digit(copy[i]) && !in_exponent && copy[i] != decimal)
            return false;
        if (copy[i] == decimal)
            copy[i] = '.';
    }
    if (!digit && !infinite)
        return false;
    *value = to_double(copy, &end);
    return end == copy + size;
}

/* ---- what stands around a number */

static const char *const currencies[] = {
    "US$",          "R$",           "C$",           "A$",           "$",   "\xE2\x82\xAC", "\xC2\xA3", "\xC2\xA5",
    "\xE2\x82\xB9", "\xE2\x82\xBD", "\xE2\x82\xA9", "\xE2\x82\xBA", "EUR", "USD",          "GBP",      "CHF",
    "JPY",          "CNY",          "INR",          "CAD",          "AUD", "NZD",          "SEK",      "NOK",
    "DKK",          "PLN",          "CZK",          "HUF",          "BRL", "MXN",          "ZAR",      "kr",
    "Rs.",          "Rs",           "z\xC5\x82",    "Fr."};

/* The size of a blank: space, or one that does not break a line (U+00A0, U+202F); 0: none. */
static size_t blank_size(const char *p, const char *end)
{
    if (p < end && *p == ' ')
        return 1;
    if (end - p >= 2 && memcmp(p, "\xC2\xA0", 2) == 0)
        return 2;
    return end - p >= 3 && memcmp(p, "\xE2\x80\xAF", 3) == 0 ? 3 : 0;
}

static size_t currency_size(const char *p, const char *end)
{
    for (size_t i = 0; i < sizeof currencies / sizeof *currencies; i++) {
        size_t size = strlen(currencies[i]);
        if ((size_t)(end - p) >= size && memcmp(p, currencies[i], size) == 0)
            return size;
    }
    return 0;
}

/* A currency with blanks behind it; 0: none. */
static size_t prefix_size(const char *p, const char *end)
{
    size_t size = currency_size(p, end), blank;
    while (size > 0 && (blank = blank_size(p + size, end)) > 0)
        size += blank;
    return size;
}

/* Percent, degrees, a currency, or after a blank a unit of letters: all of what is left. */
static bool is_suffix(const char *p, const char *end)
{
    static const char *const signs[] = {"%", "\xE2\x80\xB0", "\xC2\xB0",
                                        "\xC2\xB0"
                                        "C",
                                        "\xC2\xB0"
                                        "F"};
    const char *from = p;
    size_t blank;
    while ((blank = blank_size(p, end)) > 0)
        p += blank;
    size_t left = (size_t)(end - p);
    for (size_t i = 0; i < sizeof signs / sizeof *signs; i++)
        if (strlen(signs[i]) == left && memcmp(p, signs[i], left) == 0)
            return true;
    if (left == 0 || currency_size(p, end) == left)
        return left > 0;
    bool unit = p > from && left <= UNIT_MOST;
    for (; p < end && unit; p++)
        unit = (*p >= 'a' && *p <= 'z') || (*p >= 'A' && *p <= 'Z') || *p == '/' || (unsigned char)*p >= 0x80;
    return unit;
}

/* ---- numbers */

/* What separates thousands at p: 0, or its size. Three digits follow, and no fourth. */
static size_t group_size(const char *p, const char *end, char decimal)
{
    size_t size = blank_size(p, end);
    if (size == 0 && p < end && (*p == '\'' || ((*p == '.' || *p == ',') && *p != decimal)))
        size = 1;
    const char *d = p + size;
    bool three = size > 0 && end - d >= 3 && is_digit(d[0]) && is_digit(d[1]) && is_digit(d[2]);
    return three && !(end - d > 3 && is_digit(d[3])) ? size : 0;
}

bool fmt_number_take(const char *text, size_t size, char decimal, bool affixes, fmt_number_text *out)
{
    const char *p = text, *end = text + size, *digits;
    char plain[LONGEST_NUMBER + 2];
    size_t used = 0, before = 0, group;
    *out = (fmt_number_text){0};
    if (size == 0 || size > LONGEST_NUMBER)
        return false;
    bool negative = *p == '-';
    if (*p == '-' || *p == '+')
        p++;
    if (affixes && p < end && !is_digit(*p) && *p != decimal) {
        out->prefix = p;
        out->prefix_size = prefix_size(p, end);
        p += out->prefix_size;
        if (out->prefix_size > 0 && p < end && !negative && p == out->prefix + out->prefix_size && *p == '-') {
            negative = true;
            p++;
        }
    }
    digits = p;
    plain[used++] = negative ? '-' : '+';
    for (; p < end && is_digit(*p); p++, before++)
        plain[used++] = *p;
    out->leading_zero = before > 1 && digits[0] == '0';
    while (before >= 1 && before <= 3 && digits[0] != '0' && (group = group_size(p, end, decimal)) > 0) {
        if (out->group[0] != '\0' && (strlen(out->group) != group || memcmp(out->group, p, group) != 0))
            return false;
        memcpy(out->group, p, group);
        memcpy(plain + used, p + group, 3);
        used += 3;
        p += group + 3;
    }
    if (p < end && *p == decimal) {
        plain[used++] = '.';
        for (p++; p < end && is_digit(*p); p++, out->decimals++)
            plain[used++] = *p;
        out->leading_zero = false;
    }
    if (before + (size_t)out->decimals == 0) {
        plain[used] = '\0';
        bool infinite = !out->prefix_size && fmt_parse_number(text, size, decimal, &out->value);
        out->infinite = infinite;
        return infinite;
    }
    if (end - p > 1 && (*p == 'e' || *p == 'E') && (is_digit(p[1]) || p[1] == '-' || p[1] == '+')) {
        out->exponent = true;
        plain[used++] = *p++;
        for (; p < end && (is_digit(*p) || *p == '-' || *p == '+'); p++)
            plain[used++] = *p;
    }
    out->suffix = p;
    out->suffix_size = (size_t)(end - p);
    if (out->suffix_size > 0 && (!affixes || !is_suffix(p, end)))
        return false;
    if (out->suffix_size >= FMT_AFFIX || out->prefix_size >= FMT_AFFIX)
        return false;
    return fmt_parse_number(plain, used, '.', &out->value);
}

/* ---- writing */

double fmt_notation_round(const fmt_notation *n, double value)
{
    double unit = n->places > 0 ? pow(10, n->places - 1) : 0;
    if (n->pattern[0] == '\0' && n->whole)
        value = round(value);
    else if (n->pattern[0] == '\0' && unit > 0 && isfinite(value * unit) && fabs(value * unit) < 1e15)
        value = round(value * unit) / unit;
    if (n->bounded && n->period > 0 && !n->trend) { /* a circle has no ends, but a place where it is cut */
        if (value < n->low && value + n->period <= n->high)
            value += n->period;
        if (value > n->high && value - n->period >= n->low)
            value -= n->period;
    }
    return n->bounded ? fmin(fmax(value, n->low), n->high) : value;
}

/* To a thousandth of the scale, without zeros at the end; at most so many places, unless negative. */
static void print_scaled(double scale, int most, double value, char *out, size_t room)
{
    double step = fmax(scale, 1e-300) / 1000;
    int decimals = (int)ceil(-log10(step));
    bool plain = decimals <= 15 && fabs(value) < 1e15;
    int digits = (int)ceil(log10(fmax(fabs(value) / step, 10)));
    decimals = most >= 0 && decimals > most ? most : decimals;
    print_fixed(out, room, plain ? (decimals > 0 ? decimals : 0) : -(digits < 17 ? digits : 17), value);
    char *point = plain ? strchr(out, '.') : NULL;
    if (point != NULL) {
        char *last = out + strlen(out) - 1;
        while (*last == '0')
            *last-- = '\0';
        if (last == point)
            *last = '\0';
    }
}

/* Separates the thousands of digits, in which a point may follow. */
static void put_groups(const char *digits, const char *group, char decimal, char *out, size_t room)
{
    size_t whole = strcspn(digits, "."), used = 0;
    for (size_t i = 0; digits[i] != '\0' && used + 5 < room; i++) {
        if (i > 0 && i < whole && (whole - i) % 3 == 0)
            used += (size_t)snprintf(out + used, room - used, "%s", group);
        out[used++] = digits[i] == '.' ? decimal : digits[i];
    }
    out[used] = '\0';
}

void fmt_notation_print(const fmt_notation *n, double scale, double value, char decimal, char *out, size_t room)
{
    char digits[400], body[600];
    if (!isfinite(value)) {
        snprintf(out, room, "NaN");
        return;
    }
    if (n->pattern[0] != '\0') {
        fmt_date_print(n->pattern, value, out, room);
        return;
    }
    bool fixed = n->places > 0 && n->fixed && fabs(value) < 1e15;
    if (fixed)
        print_fixed(digits, sizeof digits, n->places - 1, value);
    else if (n->whole && fabs(value) < 1e15)
        print_fixed(digits, sizeof digits, 0, value);
    else
        print_scaled(scale, n->places - 1, value, digits, sizeof digits);
    bool negative = digits[0] == '-' && strpbrk(digits, "123456789") != NULL;
    const char *bare = digits + (digits[0] == '-');
    bool plain = strpbrk(bare, "en") == NULL;
    char mark = decimal == ',' ? ',' : '.', group[4];
    memcpy(group, n->group, sizeof group);
    if (group[0] == mark) /* in a file that writes decimals as the column's own writes thousands */
        group[0] = mark == ',' ? '.' : ',';
    put_groups(bare, plain ? group : "", mark, body, sizeof body);
    snprintf(out, room, "%s%s%s%s", negative ? "-" : "", n->prefix, body, n->suffix);
}
