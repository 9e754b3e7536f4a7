/* dates.c: dates and times by patterns, and the pattern of a column from its texts. */
#include "notation.h"

#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

static const char *const months[] = {"January", "February", "March",     "April",   "May",      "June",
                                     "July",    "August",   "September", "October", "November", "December"};

enum token {
    TEXT,
    YEAR4,
    YEAR2,
    MONTH2,
    MONTH1,
    DAY2,
    DAY1,
    MON,
    MONTH_NAME,
    HOUR2,
    HOUR1,
    MINUTE,
    SECOND,
    FRACTION,
    HALF
};

/* The token at *p, which is moved behind it; *size: its bytes. Longer ones come first. */
static enum token next_token(const char **p, size_t *size)
{
    static const struct {
        const char *text;
        enum token token;
    } tokens[] = {{"YYYY", YEAR4}, {"YY", YEAR2},  {"Month", MONTH_NAME}, {"Mon", MON},  {"MM", MONTH2},
                  {"M", MONTH1},   {"DD", DAY2},   {"D", DAY1},           {"hh", HOUR2}, {"h", HOUR1},
                  {"mm", MINUTE},  {"ss", SECOND}, {"AM", HALF}};
    for (size_t i = 0; i < sizeof tokens / sizeof *tokens; i++) {
        *size = strlen(tokens[i].text);
        if (strncmp(*p, tokens[i].text, *size) == 0) {
            *p += *size;
            return tokens[i].token;
        }
    }
    *size = strspn(*p, "f");
    if (*size > 0) {
        *p += *size;
        return FRACTION;
    }
    *size = 1;
    ++*p;
    return TEXT;
}

struct parts {
    int year, month, day, hour, minute, second, half; /* half: 0 none, 1 AM, 2 PM */
    double fraction;
};

/* ---- the calendar */

static bool is_leap(int year)
{
    return year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
}

static int days_in(int year, int month)
{
    static const int days[] = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
    return days[month - 1] + (month == 2 && is_leap(year));
}

/* Days from 1970-01-01; years count from March, so that the leap day comes last. */
static long days_from(int year, int month, int day)
{
    long y = month <= 2 ? year - 1 : year, era = (y >= 0 ? y : y - 399) / 400, of_era = y - era * 400;
    long of_year = (153L * (month + (month > 2 ? -3 : 9)) + 2) / 5 + day - 1;
    return era * 146097 + of_era * 365 + of_era / 4 - of_era / 100 + of_year - 719468;
}

static void date_of(long days, struct parts *p)
{
    days += 719468;
    long era = (days >= 0 ? days : days - 146096) / 146097, of_era = days - era * 146097;
    long year = (of_era - of_era / 1460 + of_era / 36524 - of_era / 146096) / 365;
    long of_year = of_era - (365 * year + year / 4 - year / 100), m = (5 * of_year + 2) / 153;
    p->day = (int)(of_year - (153 * m + 2) / 5 + 1);
    p->month = (int)(m < 10 ? m + 3 : m - 9);
    p->year = (int)(year + era * 400 + (p->month <= 2));
}

/* ---- text to value */

static bool take_digits(const char **p, const char *end, int least, int most, int *value)
{
    int count = 0;
    *value = 0;
    for (; *p < end && count < most && **p >= '0' && **p <= '9'; count++)
        *value = 10 * *value + (*(*p)++ - '0');
    return count >= least;
}

/* A month's name, or its first three letters. */
static bool take_month(const char **p, const char *end, bool whole, int *month)
{
    for (int m = 0; m < 12; m++) {
        size_t size = whole ? strlen(months[m]) : 3;
        if ((size_t)(end - *p) >= size && strncasecmp(*p, months[m], size) == 0) {
            *p += size;
            *month = m + 1;
            return true;
        }
    }
    return false;
}

static bool take_fraction(const char **p, const char *end, size_t digits, double *fraction)
{
    double unit = 0.1;
    size_t count = 0;
    for (*fraction = 0; *p < end && **p >= '0' && **p <= '9' && count < digits; count++, unit /= 10)
        *fraction += unit * (*(*p)++ - '0');
    return count == digits;
}

static bool take_token(enum token token, size_t size, char literal, const char **p, const char *end, struct parts *a)
{
    bool good;
    switch (token) {
    case YEAR4:
        return take_digits(p, end, 4, 4, &a->year);
    case YEAR2:
        good = take_digits(p, end, 2, 2, &a->year);
        a->year += a->year < 69 ? 2000 : 1900; /* as POSIX has it */
        return good;
    case MONTH2:
        return take_digits(p, end, 2, 2, &a->month);
    case MONTH1:
        return take_digits(p, end, 1, 2, &a->month);
    case DAY2:
        return take_digits(p, end, 2, 2, &a->day);
    case DAY1:
        return take_digits(p, end, 1, 2, &a->day);
    case MON:
    case MONTH_NAME:
        return take_month(p, end, token == MONTH_NAME, &a->month);
    case HOUR2:
        return take_digits(p, end, 2, 2, &a->hour);
    case HOUR1:
        return take_digits(p, end, 1, 2, &a->hour);
    case MINUTE:
        return take_digits(p, end, 2, 2, &a->minute);
    case SECOND:
        return take_digits(p, end, 2, 2, &a->second);
    case FRACTION:
        return take_fraction(p, end, size, &a->fraction);
    case HALF:
        good = end - *p >= 2 && (strncasecmp(*p, "AM", 2) == 0 || strncasecmp(*p, "PM", 2) == 0);
        a->half = good ? 1 + (toupper((unsigned char)**p) == 'P') : 0;
        *p += good ? 2 : 0;
        return good;
    case TEXT:
        good = *p < end && **p == literal;
        *p += good;
        return good;
    }
    return false;
}

static bool parts_good(const struct parts *a)
{
    bool hour = a->half ? a->hour >= 1 && a->hour <= 12 : a->hour <= 23;
    return a->month >= 1 && a->month <= 12 && a->day >= 1 && a->day <= days_in(a->year, a->month) && hour &&
           a->minute <= 59 && a->second <= 60;
}

static double hours_of(const struct parts *a)
{
    int hour = a->half ? a->hour % 12 + 12 * (a->half == 2) : a->hour;
    return hour + a->minute / 60. + (a->second + a->fraction) / 3600;
}

/* The value of the text's beginning; NULL or what follows. */
static const char *parse_prefix(const char *pattern, const char *text, const char *end, struct parts *a)
{
    size_t size;
    while (*pattern != '\0') {
        const char *at = pattern;
        enum token token = next_token(&pattern, &size);
        if (!take_token(token, size, *at, &text, end, a))
            return NULL;
    }
    return parts_good(a) ? text : NULL;
}

static const struct parts nothing = {.year = 1970, .month = 1, .day = 1};

bool fmt_date_parse(const char *pattern, const char *text, size_t size, double *value)
{
    struct parts a = nothing;
    if (parse_prefix(pattern, text, text + size, &a) != text + size)
        return false;
    *value = hours_of(&a);
    if (fmt_pattern_is_date(pattern))
        *value = (double)days_from(a.year, a.month, a.day) + *value / 24;
    return true;
}

/* ---- value to text */

/* The finest part of a pattern, in seconds. */
static double finest(const char *pattern)
{
    double step = 86400;
    size_t size;
    while (*pattern != '\0') {
        enum token token = next_token(&pattern, &size);
        double part = token == HOUR1 || token == HOUR2 ? 3600
                      : token == MINUTE                ? 60
                      : token == SECOND                ? 1
                      : token == FRACTION              ? pow(10, -(double)size)
                                                       : 86400;
        step = fmin(step, part);
    }
    return step;
}

void fmt_date_print(const char *pattern, double value, char *out, size_t room)
{
    static const double earliest = -719162, latest = 2932896; /* 0001-01-01, 9999-12-31 */
    bool date = fmt_pattern_is_date(pattern);
    double step = finest(pattern), seconds = value * (date ? 86400 : 3600), days;
    char *at = out, *end = out + room;
    size_t size;
    if (!isfinite(value)) {
        snprintf(out, room, "NaN");
        return;
    }
    seconds = date && step == 86400 ? floor(value) * 86400 + 86400 * (value - floor(value) >= 0.5)
                                    : floor(seconds / step + 0.5) * step;
    days = date ? fmin(fmax(floor(seconds / 86400), earliest), latest) : 0;
    double of_day =
        date ? fmin(fmax(seconds - 86400 * days, 0), 86400 - step) : fmod(fmod(seconds, 86400) + 86400, 86400);
    struct parts a = nothing;
    date_of((long)days, &a);
    long whole = (long)floor(of_day + (step < 1 ? step / 2 : 1e-6));
    a.hour = (int)(whole / 3600);
    a.minute = (int)(whole / 60 % 60);
    a.second = (int)(whole % 60);
    a.fraction = fmax(of_day - (double)whole, 0);
    bool halves = strstr(pattern, "AM") != NULL;
    int hour = halves ? (a.hour + 11) % 12 + 1 : a.hour;
    out[0] = '\0';
    while (*pattern != '\0' && at < end) {
        const char *from = pattern;
        enum token token = next_token(&pattern, &size);
        size_t left = (size_t)(end - at);
        double power = token == FRACTION ? pow(10, (double)size) : 1;
        int n = token == YEAR4        ? snprintf(at, left, "%04d", a.year)
                : token == YEAR2      ? snprintf(at, left, "%02d", ((a.year % 100) + 100) % 100)
                : token == MONTH2     ? snprintf(at, left, "%02d", a.month)
                : token == MONTH1     ? snprintf(at, left, "%d", a.month)
                : token == DAY2       ? snprintf(at, left, "%02d", a.day)
                : token == DAY1       ? snprintf(at, left, "%d", a.day)
                : token == MON        ? snprintf(at, left, "%.3s", months[a.month - 1])
                : token == MONTH_NAME ? snprintf(at, left, "%s", months[a.month - 1])
                : token == HOUR2      ? snprintf(at, left, "%02d", hour)
                : token == HOUR1      ? snprintf(at, left, "%d", hour)
                : token == MINUTE     ? snprintf(at, left, "%02d", a.minute)
                : token == SECOND     ? snprintf(at, left, "%02d", a.second)
                : token == FRACTION
                    ? snprintf(at, left, "%0*.0f", (int)size, fmin(floor(a.fraction * power + 0.5), power - 1))
                : token == HALF ? snprintf(at, left, "%s", a.hour < 12 ? "AM" : "PM")
                                : snprintf(at, left, "%c", *from);
        at += n > 0 ? n : 0;
    }
}

/* ---- patterns */

/* How often each part of a date and a time comes; all of a date or none of it, and with minutes its hours. */
bool fmt_pattern_good(const char *pattern)
{
    int year = 0, month = 0, day = 0, hour = 0, minute = 0, second = 0, fraction = 0, half = 0;
    size_t size;
    if (strlen(pattern) >= FMT_PATTERN)
        return false;
    while (*pattern != '\0') {
        if ((unsigned char)*pattern < 0x20 || *pattern == '"')
            return false;
        enum token token = next_token(&pattern, &size);
        year += token == YEAR4 || token == YEAR2;
        month += token == MONTH2 || token == MONTH1 || token == MON || token == MONTH_NAME;
        day += token == DAY2 || token == DAY1;
        hour += token == HOUR2 || token == HOUR1;
        minute += token == MINUTE;
        second += token == SECOND;
        fraction += token == FRACTION;
        half += token == HALF;
        if (token == FRACTION && size > 9)
            return false;
    }
    bool date = year == 1 && month == 1 && day == 1, none = year + month + day == 0;
    bool time = hour == 1 && minute == 1 && second <= 1 && fraction <= second && half <= 1;
    return (date || none) && (time || (date && hour + minute + second + fraction + half == 0));
}

bool fmt_pattern_is_date(const char *pattern)
{
    return strchr(pattern, 'Y') != NULL;
}

bool fmt_pattern_has_time(const char *pattern)
{
    return strstr(pattern, "mm") != NULL;
}

/* The usual ones. Of two that read the same text alike the stricter comes first. Month first: those of the bits below.
 */
static const char *const date_patterns[] = {
    "YYYY-MM-DD", "YYYY/MM/DD", "YYYY.MM.DD",  "YYYY-M-D",      "YYYY/M/D",     "YYYYMMDD",     "DD/MM/YYYY",
    "MM/DD/YYYY", "D/M/YYYY",   "M/D/YYYY",    "DD/MM/YY",      "MM/DD/YY",     "D/M/YY",       "M/D/YY",
    "DD.MM.YYYY", "D.M.YYYY",   "DD.MM.YY",    "D.M.YY",        "DD-MM-YYYY",   "MM-DD-YYYY",   "D-M-YYYY",
    "M-D-YYYY",   "DD-MM-YY",   "MM-DD-YY",    "DD Mon YYYY",   "D Mon YYYY",   "DD-Mon-YYYY",  "D-Mon-YYYY",
    "DD-Mon-YY",  "D-Mon-YY",   "Mon D, YYYY", "Month D, YYYY", "D Month YYYY", "D. Month YYYY"};
static const char *const time_patterns[] = {"hh:mm",           "h:mm",        "hh:mm:ss", "h:mm:ss",     "hh:mm:ss.fff",
                                            "hh:mm:ss.ffffff", "hh:mm AM",    "h:mm AM",  "hh:mm:ss AM", "h:mm:ss AM",
                                            "h:mmAM",          "hh:mm:ss,fff"};
static const char *const joints[] = {" ", "T", ", "};
enum {
    DATES = sizeof date_patterns / sizeof *date_patterns,
    TIMES = sizeof time_patterns / sizeof *time_patterns,
    JOINTS = sizeof joints / sizeof *joints,
    NO_TIME = 1 << TIMES, /* a bit of times: the text ends after the date */
    NO_DATE = 63          /* a bit of dates: the text begins with the time */
};

static bool is_month_first(size_t date)
{
    const char *p = date_patterns[date];
    return p[0] == 'M' && p[1] != 'o';
}

/* "Z", "+01", "-05:30", "+0100" at the end of a time of day. */
static size_t zone_size(const char *text, size_t size)
{
    static const size_t sizes[] = {6, 5, 3};
    if (size > 9 && text[size - 1] == 'Z')
        return 1;
    for (size_t i = 0; i < 3; i++) {
        const char *z = text + size - sizes[i];
        bool good = size > sizes[i] + 8 && (*z == '+' || *z == '-') && memchr(text, ':', size - sizes[i]) != NULL;
        for (size_t k = 1; k < sizes[i] && good; k++)
            good = (z[k] >= '0' && z[k] <= '9') || (sizes[i] == 6 && k == 3 && z[k] == ':');
        if (good)
            return sizes[i];
    }
    return 0;
}

/* Of the times that are left those that fit from p to end. */
static unsigned times_that_fit(unsigned left, const char *p, const char *end, double *hours)
{
    unsigned fit = 0;
    for (unsigned t = 0; t < TIMES; t++) {
        struct parts a = nothing;
        if ((left >> t & 1) && parse_prefix(time_patterns[t], p, end, &a) == end) {
            fit |= 1U << t;
            *hours = hours_of(&a);
        }
    }
    return fit;
}

bool fmt_date_guess_add(fmt_date_guess *g, const char *text, size_t size, double *day_first, double *month_first)
{
    *day_first = *month_first = NAN;
    size_t zone = zone_size(text, size);
    if (!g->begun) {
        *g = (fmt_date_guess){true, (1ULL << DATES) - 1, NO_TIME | (NO_TIME - 1), (1U << JOINTS) - 1, ""};
        g->dates |= 1ULL << NO_DATE;
        memcpy(g->zone, text + size - zone, zone);
    }
    if (g->dates == 0 || size < 4 || size >= FMT_PATTERN || strlen(g->zone) != zone ||
        memcmp(g->zone, text + size - zone, zone) != 0 || !memchr("0123456789JFMASONDjfmasond", text[0], 26)) {
        g->dates = 0;
        return false;
    }
    const char *end = text + size - zone;
    unsigned long long dates = 0;
    unsigned times = 0, joined = 0;
    double hours = 0;
    if (g->dates >> NO_DATE & 1) {
        unsigned fit = times_that_fit(g->times, text, end, &hours);
        dates |= fit ? 1ULL << NO_DATE : 0;
        times |= fit;
        *day_first = *month_first = fit ? hours : NAN;
    }
    for (size_t d = 0; d < DATES; d++) {
        struct parts a = nothing;
        const char *rest = (g->dates >> d & 1) ? parse_prefix(date_patterns[d], text, end, &a) : NULL;
        unsigned fit = rest == end && (g->times & NO_TIME) ? NO_TIME : 0;
        hours = 0;
        for (unsigned j = 0; j < JOINTS && rest != NULL && rest != end && !fit; j++) {
            size_t joint = strlen(joints[j]);
            if ((g->joints >> j & 1) && (size_t)(end - rest) > joint && memcmp(rest, joints[j], joint) == 0) {
                fit = times_that_fit(g->times, rest + joint, end, &hours);
                joined |= fit ? 1U << j : 0;
            }
        }
        if (fit == 0 || (strcmp(date_patterns[d], "YYYYMMDD") == 0 && (a.year < 1900 || a.year > 2099)))
            continue;
        dates |= 1ULL << d;
        times |= fit;
        double value = (double)days_from(a.year, a.month, a.day) + hours / 24;
        *(is_month_first(d) ? month_first : day_first) = value;
    }
    g->dates = dates;
    g->times = times;
    g->joints = joined ? joined : g->joints;
    return dates != 0;
}

bool fmt_date_guess_pattern(const fmt_date_guess *g, bool month_first, char pattern[FMT_PATTERN])
{
    char joint[4] = "";
    const char *date = NULL, *time = NULL;
    if (!g->begun || g->dates == 0)
        return false;
    for (size_t d = 0; d < DATES && date == NULL; d++)
        if ((g->dates >> d & 1) && is_month_first(d) == month_first)
            date = date_patterns[d];
    bool alone = date == NULL && !month_first && (g->dates >> NO_DATE & 1);
    for (size_t t = 0; t < TIMES && time == NULL; t++)
        if (g->times >> t & 1)
            time = time_patterns[t];
    for (size_t j = 0; j < JOINTS && time != NULL && !alone && joint[0] == '\0'; j++)
        if (g->joints >> j & 1)
            snprintf(joint, sizeof joint, "%s", joints[j]);
    if (date == NULL && !alone)
        return false;
    snprintf(pattern, FMT_PATTERN, "%s%s%s%s", date ? date : "", joint, time ? time : "", g->zone);
    return fmt_pattern_good(pattern);
}
