/* notation.h: how a column writes its numbers, dates and times: "1,124.10", "$12", "45 %", "31.12.2024", "08:05". Text
 * to a number and back in the same writing.
 *
 * A pattern of a date or a time is made of YYYY YY, MM M, DD D, Mon (Jan), Month (January), hh h, mm, ss, fff (any
 * number of f: parts of a second), AM (or PM), and of any other characters as they are. MM, DD and hh have two digits,
 * M, D and h as many as needed. A date is a number of days since 1970-01-01, with a time a fraction of one; a time
 * alone is a number of hours, 0 to 24. */
#ifndef BAYESPCN_FORMATS_NOTATION_H
#define BAYESPCN_FORMATS_NOTATION_H

#include <stdbool.h>
#include <stddef.h>

enum {
    FMT_AFFIX = 16,   /* bytes of a prefix or suffix, with its end */
    FMT_PATTERN = 40, /* of a pattern */
    FMT_MOST_DECIMALS = 17
};

typedef struct fmt_notation {
    int places;                /* decimal places at most, plus 1; 0: not known, to a thousandth of the scale */
    bool fixed;                /* every number has exactly so many */
    bool whole;                /* every number is an integer, whatever its decimal places */
    char group[4];             /* between thousands; "": nothing */
    char prefix[FMT_AFFIX];    /* "$" */
    char suffix[FMT_AFFIX];    /* " EUR", "%" */
    char pattern[FMT_PATTERN]; /* of dates and times; "": these are numbers */
    bool bounded;              /* low and high are the least and the greatest value seen */
    double low, high;
    double period; /* 0: none. Values this far apart are the same, as 23:59 and 00:00 nearly are */
    bool trend;    /* beside its period the value itself counts: a date with a time of day */
} fmt_notation;

/* A number as text, taken apart. */
typedef struct fmt_number_text {
    double value;
    int decimals;
    bool exponent, infinite;
    bool leading_zero; /* 02139 */
    char group[4];     /* "" where thousands are not separated */
    const char *prefix, *suffix;
    size_t prefix_size, suffix_size; /* with the spaces between them and the number */
} fmt_number_text;

/* Takes apart a number with this decimal mark ('.' or ','), which may have currency, percent or unit around it, if
 * `affixes`, and separated thousands. False: it is none. */
bool fmt_number_take(const char *text, size_t size, char decimal, bool affixes, fmt_number_text *out);

/* The value in the column's writing. scale: of the column; unless the places are known it is written to a thousandth of
 * that. */
void fmt_notation_print(const fmt_notation *notation, double scale, double value, char decimal, char *out, size_t room);

/* The nearest value that the column could have: whole, rounded, and with bounds within those. */
double fmt_notation_round(const fmt_notation *notation, double value);

/* ---- dates and times */

bool fmt_pattern_good(const char *pattern); /* all of a date, or a time, or both, each once */
bool fmt_pattern_is_date(const char *pattern);
bool fmt_pattern_has_time(const char *pattern);
bool fmt_date_parse(const char *pattern, const char *text, size_t size, double *value);
void fmt_date_print(const char *pattern, double value, char *out, size_t room);

/* Which of the usual patterns all texts so far have: begin with zeros, add every text. */
typedef struct fmt_date_guess {
    bool begun;
    unsigned long long dates; /* of the usual patterns, those that are left */
    unsigned times, joints;
    char zone[8]; /* "Z", "+01:00" at the end of each */
} fmt_date_guess;

/* False when none is left. day_first and month_first: the value by the two ways to read 3/4/2024; NaN: not so. */
bool fmt_date_guess_add(fmt_date_guess *guess, const char *text, size_t size, double *day_first, double *month_first);

/* The pattern; of those that put the month first if month_first. False: there is none. */
bool fmt_date_guess_pattern(const fmt_date_guess *guess, bool month_first, char pattern[FMT_PATTERN]);

#endif
