/* infer.c: a schema from the rows of a table. docs/TABLES.md, "How columns are read and written", has the rules. */
#include "schema.h"

#include "internal.h"

#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

enum {
    VALUES_MOST = 4 << 20, /* numbers held while looking; of more, a random sample */
    VALUES_LEAST = 1000,   /* of a column, however many there are */
    FEW_WORDS = 10,        /* these are a category, however few rows there are, unless no two are the same */
    SOME_WORDS = 100,      /* so are these, if every word comes twice on average */
    WORD_MOST = 1000,      /* bytes; longer text is no word */
    SLOTS = 4096,          /* of the hash table of words, a power of two above 2 FMT_MAX_WORDS */
    SUSPECTS = 6,          /* values that often mean missing, counted apart */
    MARKERS = 16,          /* spellings of words that mean missing */
    ROWS_OF_IDS = 20,      /* fewer rows do not show that a column counts them */
    TEXT_KEPT = 40
};

/* Of cells that are not empty, above which a word such as None is a word of its column: wrong there costs gaps that are
   not filled, below it visible words that are overwritten. Signs such as ? are no words unless they are most of a
   column. */
static const double word_share = 0.1, sign_share = 0.5;
/* Of the known cells of a column of numbers, up to which other words are left out instead of refused. */
static const double odd_share = 0.05;
/* Of the rows, up to which those with another number of cells are left out. */
static const double ragged_share = 0.05;

/* Two ways to read numbers, and two to read dates. */
enum reading_kind { POINT, COMMA, DAY_FIRST, MONTH_FIRST, READINGS };

typedef struct suspect {
    double value;
    size_t count;
} suspect;

/* Numbers as one reading has them. */
typedef struct reading {
    size_t count;   /* cells that are numbers by it */
    double *values; /* [held], a sample */
    size_t held, room;
    double low, high; /* without the suspects */
    size_t suspects;
    suspect suspect[SUSPECTS];
    int decimals, least_decimals;                /* most and fewest */
    size_t fractions, exponents, groups, unsure; /* cells that are no integers; 1e5; 1,000; could be 1.000 or 1 */
    char group[4];
} reading;

typedef struct counted {
    char *word;
    size_t count, line;
} counted;

/* What a column held so far. */
typedef struct sample {
    char *name;
    const fmt_wish *wish;
    size_t known, empty, marked; /* cells by what they hold: markers are counted apart */
    reading reading[READINGS];
    fmt_date_guess dates;
    size_t dated;          /* cells that are dates */
    fmt_words words;       /* up to one more than a category may have */
    size_t *counts;        /* [words.count] */
    unsigned short *slots; /* [SLOTS]: places of words, counted from 1 */
    counted marker[MARKERS];
    size_t markers;
    counted odd[FMT_MAX_KEPT + 1]; /* words that are no numbers by any reading */
    size_t odds, odd_cells;
    size_t odd_line[READINGS]; /* of the first cell that is no number by it; 0: none */
    char odd_text[READINGS][TEXT_KEPT + 1];
    char prefix[FMT_AFFIX], suffix[FMT_AFFIX];
    size_t prefixed, suffixed, leading_zeros,
        times_apart; /* cells; times_apart: dates with a time other than midnight */
    char first_unsure[TEXT_KEPT + 1];
    double last;      /* number */
    bool counts_rows; /* every value is one more than the last, from 0 or 1 */
    bool repeats;     /* some word came twice */
    bool long_text;
} sample;

typedef struct look {
    const char *name; /* of the file */
    fmt_records *records;
    const fmt_infer_options *options;
    char separator, decimal; /* decimal: found in the end, */
    bool sure;               /* by some column that can be read in one way only */
    bool marked;             /* there are numbers in which it matters */
    sample *column;
    size_t columns, rows;
    size_t header_line, values_most;
    uint64_t random;
    fmt_inference *to;
    char sentence[600]; /* about the first row that was left out */
} look;

/* ---- centre and scale */

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* Mean and standard deviation with the extreme hundredth on either side brought to the rest. */
static double tamed_deviation(const double *sorted, size_t count, double *centre)
{
    size_t cut = count < 10 ? 0 : count < 100 ? 1 : count / 100;
    double low = sorted[cut], high = sorted[count - 1 - cut], mean = 0, sum = 0;
    for (size_t i = 0; i < count; i++)
        mean += fmin(fmax(sorted[i], low), high) / (double)count;
    for (size_t i = 0; i < count; i++)
        sum += pow(fmin(fmax(sorted[i], low), high) - mean, 2) / (double)count;
    *centre = mean;
    return sqrt(sum);
}

/* Where nearly all are the same: how far the others are off, in the middle; 0: there are none. The furthest are at
   either end. */
static double typical_exception(const double *sorted, size_t count, double centre)
{
    size_t others = 0, low = 0, high = count - 1;
    double off = 0;
    for (size_t i = 0; i < count; i++)
        others += sorted[i] != centre;
    for (size_t i = 0; i < (others + 1) / 2; i++) {
        bool above = sorted[high] - centre > centre - sorted[low];
        off = above ? sorted[high] - centre : centre - sorted[low];
        high -= above;
        low += !above;
    }
    return off;
}

void fmt_centre_and_scale(double *values, size_t count, double *centre, double *scale)
{
    qsort(values, count, sizeof *values, by_value);
    *scale = tamed_deviation(values, count, centre);
    if (!(*scale > 1e-9 * fabs(*centre))) {
        *centre = values[count / 2];
        *scale = typical_exception(values, count, *centre);
    }
    if (!(*scale > 0 && isfinite(*scale)))
        *scale = *centre != 0 ? fabs(*centre) / 10 : 1;
    double digits = floor(log10(*scale)), step = pow(10, digits - 2);
    if (!(step > 1e-290 && step < 1e290))
        return;
    double up = pow(10, 2 - digits); /* dividing by a power of ten is exact where multiplying is not */
    *scale = digits < 2 ? round(*scale * up) / up : round(*scale / step) * step;
    double rounded = digits < 2 ? round(*centre * up) / up : round(*centre / step) * step;
    *centre = isfinite(rounded) ? rounded : *centre;
}

/* ---- looking at cells */

static bool is_in(const fmt_words *words, const char *text, size_t size)
{
    for (size_t i = 0; words != NULL && i < words->count; i++)
        if (strlen(words->word[i]) == size && strncasecmp(words->word[i], text, size) == 0)
            return true;
    return false;
}

/* A sequence that looks random enough to choose values by, and is the same every time (splitmix64). */
static uint64_t next_random(look *l)
{
    uint64_t x = l->random += 0x9E3779B97F4A7C15U;
    x = (x ^ x >> 30) * 0xBF58476D1CE4E5B9U;
    x = (x ^ x >> 27) * 0x94D049BB133111EBU;
    return x ^ x >> 31;
}

/* 99, -999, 9999, ..., and the dates that programs write where there is none. */
static bool is_suspect(enum reading_kind kind, double value)
{
    static const double dates[] = {-719162, -25567,  -25568, -25569,
                                   0,       2932896, 47481}; /* of 1 1900 1899 1970 9999 2099 */
    for (size_t i = 0; kind >= DAY_FIRST && i < sizeof dates / sizeof *dates; i++)
        if (value == dates[i])
            return true;
    if (kind >= DAY_FIRST)
        return false;
    value = fabs(value);
    for (double nines = 99; nines < 1e10; nines = 10 * nines + 9)
        if (value == nines)
            return true;
    return value == 32768 || value == 2147483648.;
}

static bpcn_status hold(look *l, reading *r, double value)
{
    if (r->held == r->room && r->room < l->values_most) {
        size_t room = 2 * r->room + 64;
        room = room < l->values_most ? room : l->values_most;
        double *more = realloc(r->values, room * sizeof *more);
        if (more == NULL)
            return fmti_no_memory(l->name, room * sizeof *more);
        r->values = more;
        r->room = room;
    }
    if (r->held < r->room) {
        r->values[r->held++] = value;
        return BPCN_OK;
    }
    size_t place = (size_t)(next_random(l) % r->count); /* each value stays with the same chance */
    if (place < r->held)
        r->values[place] = value;
    return BPCN_OK;
}

static bpcn_status keep_number(look *l, sample *c, enum reading_kind kind, double value)
{
    reading *r = &c->reading[kind];
    r->count++;
    if (is_suspect(kind, value)) {
        size_t k = 0;
        while (k < r->suspects && r->suspect[k].value != value)
            k++;
        if (k < SUSPECTS) {
            r->suspects += k == r->suspects;
            r->suspect[k].value = value;
            r->suspect[k].count++;
            return BPCN_OK;
        }
    }
    r->low = r->held == 0 ? value : fmin(r->low, value);
    r->high = r->held == 0 ? value : fmax(r->high, value);
    return hold(l, r, value);
}

static bpcn_status count_word(const look *l, sample *c, const fmt_cell *cell)
{
    if (c->words.count > FMT_MAX_WORDS || c->long_text)
        return BPCN_OK;
    c->long_text = cell->size > WORD_MOST;
    uint32_t hash = 2166136261U; /* FNV-1a */
    for (size_t i = 0; i < cell->size; i++)
        hash = (hash ^ (unsigned char)cell->text[i]) * 16777619U;
    if (c->slots == NULL) {
        c->slots = calloc(SLOTS, sizeof *c->slots);
        c->counts = calloc(FMT_MAX_WORDS + 1, sizeof *c->counts);
        if (c->slots == NULL || c->counts == NULL)
            return fmti_no_memory(l->name, SLOTS);
    }
    for (uint32_t at = hash % SLOTS;; at = (at + 1) % SLOTS) {
        size_t k = c->slots[at];
        if (k == 0) {
            if (!fmt_words_add(&c->words, cell->text, cell->size))
                return fmti_no_memory(l->name, cell->size);
            c->slots[at] = (unsigned short)c->words.count;
            c->counts[c->words.count - 1] = 1;
            return BPCN_OK;
        }
        if (strlen(c->words.word[k - 1]) == cell->size && memcmp(c->words.word[k - 1], cell->text, cell->size) == 0) {
            c->counts[k - 1]++;
            c->repeats = true;
            return BPCN_OK;
        }
    }
}

/* One of at most `most` words with their counts; false: out of memory, or there are more. */
static bool count_in(counted *list, size_t *count, size_t most, const fmt_cell *cell, size_t line)
{
    for (size_t k = 0; k < *count; k++)
        if (strlen(list[k].word) == cell->size && memcmp(list[k].word, cell->text, cell->size) == 0) {
            list[k].count++;
            return true;
        }
    if (*count == most)
        return false;
    char *word = strndup(cell->text, cell->size < WORD_MOST ? cell->size : WORD_MOST);
    if (word == NULL)
        return false;
    list[(*count)++] = (counted){word, 1, line};
    return true;
}

/* The first affix of a column is its own; another one is none. */
static bool affix_fits(const char own[FMT_AFFIX], const char *text, size_t size)
{
    return size == 0 || own[0] == '\0' || (strlen(own) == size && memcmp(own, text, size) == 0);
}

static void note_affix(char own[FMT_AFFIX], size_t *count, const char *text, size_t size)
{
    if (size == 0)
        return;
    memcpy(own, text, size);
    own[size] = '\0';
    ++*count;
}

static bool one_mark(const fmt_cell *cell, char mark)
{
    const char *first = memchr(cell->text, mark, cell->size), *end = cell->text + cell->size;
    return first != NULL && memchr(first + 1, mark, (size_t)(end - first - 1)) == NULL;
}

/* Whether a single mark with three digits behind it could separate decimals as well as thousands. */
static bool is_unsure(const fmt_number_text *t, const fmt_cell *cell)
{
    if (t->group[0] != '\0')
        return (t->group[0] == '.' || t->group[0] == ',') && t->decimals == 0 && one_mark(cell, t->group[0]);
    const char *end = cell->text + cell->size - t->suffix_size;
    const char *mark = t->decimals == 3 && !t->exponent ? end - 4 : NULL;
    size_t before = 0;
    while (mark != NULL && mark - before > cell->text && mark[-1 - (ptrdiff_t)before] >= '0' &&
           mark[-1 - (ptrdiff_t)before] <= '9')
        before++;
    return mark != NULL && before >= 1 && before <= 3 && mark[-(ptrdiff_t)before] != '0';
}

/* The cell as a number by one reading. */
static bool read_number(const look *l, sample *c, enum reading_kind kind, const fmt_cell *cell, fmt_number_text *text)
{
    fmt_number_text t;
    reading *r = &c->reading[kind];
    if (!fmt_number_take(cell->text, cell->size, kind == COMMA ? ',' : '.', true, &t) || t.infinite ||
        !isfinite(t.value) || !affix_fits(c->prefix, t.prefix, t.prefix_size) ||
        !affix_fits(c->suffix, t.suffix, t.suffix_size))
        return false;
    *text = t;
    r->least_decimals = r->count == 0 || t.decimals < r->least_decimals ? t.decimals : r->least_decimals;
    r->decimals = t.decimals > r->decimals ? t.decimals : r->decimals;
    r->fractions += t.value != floor(t.value);
    r->exponents += t.exponent;
    bool unsure = l->separator != ',' && is_unsure(&t, cell);
    r->unsure += unsure;
    if (unsure && c->first_unsure[0] == '\0')
        snprintf(c->first_unsure, sizeof c->first_unsure, "%.*s",
                 (int)(cell->size < TEXT_KEPT ? cell->size : TEXT_KEPT), cell->text);
    if (t.group[0] != '\0') {
        if (r->groups++ == 0)
            memcpy(r->group, t.group, sizeof r->group);
    }
    c->leading_zeros += kind == POINT && t.leading_zero && t.prefix_size + t.suffix_size == 0;
    return true;
}

static void note_odd(sample *c, enum reading_kind kind, size_t line, const fmt_cell *cell)
{
    if (c->odd_line[kind] > 0)
        return;
    c->odd_line[kind] = line;
    snprintf(c->odd_text[kind], sizeof c->odd_text[kind], "%.*s",
             (int)(cell->size < TEXT_KEPT ? cell->size : TEXT_KEPT), cell->text);
}

static bpcn_status look_at(look *l, size_t line, size_t column, const fmt_cell *cell)
{
    sample *c = &l->column[column];
    fmt_number_text t;
    double by_day, by_month;
    bool number = false;
    bpcn_status status = BPCN_OK;
    if (cell->size == 0) {
        c->empty++;
        return BPCN_OK;
    }
    if (is_in(l->options->missing, cell->text, cell->size) ||
        (fmt_means_missing(NULL, cell->text, cell->size) && !is_in(l->options->not_missing, cell->text, cell->size))) {
        c->marked++;
        count_in(c->marker, &c->markers, MARKERS, cell, line);
        return BPCN_OK;
    }
    c->known++;
    for (int kind = POINT; kind <= (l->separator == ',' ? POINT : COMMA) && status == BPCN_OK; kind++) {
        if (read_number(l, c, (enum reading_kind)kind, cell, &t)) {
            if (!number) {
                c->counts_rows =
                    c->known == 1 ? t.value == 0 || t.value == 1 : c->counts_rows && t.value == c->last + 1;
                c->last = t.value;
                note_affix(c->prefix, &c->prefixed, t.prefix, t.prefix_size);
                note_affix(c->suffix, &c->suffixed, t.suffix, t.suffix_size);
            }
            number = true;
            status = keep_number(l, c, (enum reading_kind)kind, t.value);
        } else {
            note_odd(c, (enum reading_kind)kind, line, cell);
        }
    }
    if (status == BPCN_OK && c->dated + 1 == c->known &&
        fmt_date_guess_add(&c->dates, cell->text, cell->size, &by_day, &by_month)) {
        c->dated++;
        if (!isnan(by_day))
            status = keep_number(l, c, DAY_FIRST, by_day);
        if (!isnan(by_month) && status == BPCN_OK)
            status = keep_number(l, c, MONTH_FIRST, by_month);
        double date = isnan(by_day) ? by_month : by_day;
        c->times_apart += date != floor(date);
    }
    if (!number) {
        c->odd_cells++;
        if (c->odds <= FMT_MAX_KEPT)
            count_in(c->odd, &c->odds, FMT_MAX_KEPT + 1, cell, line);
    }
    return status == BPCN_OK ? count_word(l, c, cell) : status;
}

/* ---- the table */

static bool is_number(const look *l, const fmt_cell *cell)
{
    fmt_number_text t;
    bool number = fmt_number_take(cell->text, cell->size, '.', true, &t) ||
                  (l->separator != ',' && fmt_number_take(cell->text, cell->size, ',', true, &t));
    return number && (t.suffix_size == 0 || t.suffix[0] == '%'); /* "2 weeks" is a name */
}

static bool is_header(const look *l, const fmt_record *record)
{
    for (size_t i = 0; i < record->count; i++)
        if (is_number(l, &record->cell[i]))
            return false;
    return true;
}

/* Columns by name, of the same name by place. */
static int compare_columns(const void *a, const void *b)
{
    const sample *left = *(sample *const *)a, *right = *(sample *const *)b;
    int order = strcmp(left->name, right->name);
    return order != 0 ? order : left < right ? -1 : left > right;
}

static bpcn_status refuse_twins(const look *l, size_t line)
{
    const sample **sorted = fmti_alloc(l->columns, sizeof *sorted), *first = NULL, *second = NULL;
    if (sorted == NULL)
        return fmti_no_memory(l->name, l->columns * sizeof *sorted);
    for (size_t i = 0; i < l->columns; i++)
        sorted[i] = &l->column[i];
    qsort(sorted, l->columns, sizeof *sorted, compare_columns);
    for (size_t i = 1; i < l->columns; i++)
        if (sorted[i]->name[0] != '\0' && strcmp(sorted[i - 1]->name, sorted[i]->name) == 0 &&
            (second == NULL || sorted[i] < second)) {
            first = sorted[i - 1];
            second = sorted[i];
        }
    free(sorted);
    if (second == NULL)
        return BPCN_OK;
    return fmti_fail(BPCN_FORMAT, l->name, "line %zu: columns %zu and %zu are both called '%s'", line,
                     (size_t)(first - l->column) + 1, (size_t)(second - l->column) + 1, second->name);
}

static bpcn_status name_columns(look *l, const fmt_record *record, bool header)
{
    l->column = fmti_alloc(record->count, sizeof *l->column);
    if (l->column == NULL)
        return fmti_no_memory(l->name, record->count * sizeof *l->column);
    for (l->columns = 0; l->columns < record->count; l->columns++) {
        const fmt_cell *cell = &record->cell[l->columns];
        char number[32];
        snprintf(number, sizeof number, "c%zu", l->columns + 1);
        char *name = header ? strndup(cell->text, cell->size) : strdup(number);
        if (name == NULL)
            return fmti_no_memory(l->name, cell->size);
        l->column[l->columns].name = name;
    }
    return refuse_twins(l, record->line);
}

static bpcn_status match_wishes(look *l)
{
    for (size_t w = 0; w < l->options->wish_count; w++) {
        const fmt_wish *wish = &l->options->wishes[w];
        size_t i = 0;
        while (i < l->columns && strcmp(l->column[i].name, wish->name) != 0)
            i++;
        if (i == l->columns)
            return fmti_fail(BPCN_INVALID, l->name, "there is no column '%s'", wish->name);
        l->column[i].wish = wish;
    }
    return BPCN_OK;
}

/* A row that has another number of cells, or none that can be told apart, is left out; the first one's sentence stays.
 */
static void leave_out(look *l, size_t line, const char *sentence)
{
    if (l->to->ragged++ > 0)
        return;
    l->to->ragged_line = line;
    snprintf(l->sentence, sizeof l->sentence, "%s", sentence);
}

static bpcn_status look_at_rows(look *l, fmt_record *record, bool header)
{
    bpcn_status status = BPCN_OK;
    char sentence[160];
    size_t most = l->options->rows > 0 ? l->options->rows : SIZE_MAX;
    l->values_most = VALUES_MOST / l->columns > VALUES_LEAST ? VALUES_MOST / l->columns : VALUES_LEAST;
    if (header)
        status = fmt_records_next(l->records, record);
    for (; (status == BPCN_OK ? record->count : record->line) > 0 && l->rows < most; l->rows++) {
        snprintf(sentence, sizeof sentence, "line %zu has %zu values, but line %zu has %zu", record->line,
                 record->count, l->header_line, l->columns);
        if (status != BPCN_OK)
            leave_out(l, record->line, bpcn_error());
        else if (record->count != l->columns) {
            fmti_fail(BPCN_FORMAT, l->name, "%s", sentence);
            leave_out(l, record->line, bpcn_error());
        }
        bool good = status == BPCN_OK && record->count == l->columns;
        status = BPCN_OK;
        for (size_t i = 0; i < l->columns && status == BPCN_OK && good; i++)
            status = look_at(l, record->line, i, &record->cell[i]);
        if (status != BPCN_OK)
            return status;
        status = fmt_records_next(l->records, record);
    }
    l->to->whole = status == BPCN_OK && record->count == 0;
    if (status != BPCN_OK && record->line == 0)
        return status;
    if (l->rows == 0)
        return fmti_fail(BPCN_FORMAT, l->name, "has a header, but no rows");
    if ((double)l->to->ragged > ragged_share * (double)l->rows)
        return bpcn_fail(BPCN_FORMAT, "%s", l->sentence);
    bpcn_fail(BPCN_OK, "%s", "");
    return BPCN_OK;
}

/* ---- how numbers are written in this file */

/* Columns whose numbers are more by one decimal mark than by the other; at a draw the separator decides. */
static void find_decimal(look *l)
{
    size_t point = 0, comma = 0, unsure = 0;
    for (size_t i = 0; i < l->columns; i++) {
        const sample *c = &l->column[i];
        const reading *a = &c->reading[POINT], *b = &c->reading[COMMA];
        if (2 * (a->count > b->count ? a->count : b->count) <= c->known)
            continue;
        point += a->count > b->count;
        comma += b->count > a->count;
        unsure += a->unsure + b->unsure;
    }
    l->sure = point != comma || l->options->decimal != 0;
    if (l->separator == ',')
        l->decimal = '.';
    else if (l->options->decimal != 0)
        l->decimal = l->options->decimal;
    else if (point == comma)
        l->decimal = l->separator == ';' ? ',' : '.';
    else
        l->decimal = comma > point ? ',' : '.';
    l->marked = l->sure || unsure > 0;
}

static enum reading_kind numbers_of(const look *l, const sample *c)
{
    const reading *a = &c->reading[POINT], *b = &c->reading[COMMA];
    if (l->separator == ',' || a->count > b->count)
        return POINT;
    return b->count > a->count || l->decimal == ',' ? COMMA : POINT;
}

/* ---- what was found */

static bpcn_status add_finding(look *l, fmt_finding_kind kind, const char *column, const char *word, const char *other,
                               size_t cells)
{
    fmt_inference *to = l->to;
    fmt_finding *more = realloc(to->finding, (to->finding_count + 1) * sizeof *more);
    if (more == NULL)
        return fmti_no_memory(l->name, sizeof *more);
    to->finding = more;
    more += to->finding_count;
    *more = (fmt_finding){kind, strdup(column), strdup(word), strdup(other), cells};
    to->finding_count++;
    return more->column && more->word && more->other ? BPCN_OK : fmti_no_memory(l->name, 1);
}

static bpcn_status tell_markers(look *l, const sample *c)
{
    bpcn_status status = c->empty > 0 ? add_finding(l, FMT_FOUND_MISSING, c->name, "", "", c->empty) : BPCN_OK;
    for (size_t k = 0; k < c->markers && status == BPCN_OK; k++)
        if (c->marker[k].count > 0)
            status = add_finding(l, FMT_FOUND_MISSING, c->name, c->marker[k].word, "", c->marker[k].count);
    return status;
}

/* ---- what the columns are */

static bool is_numeric(const look *l, const sample *c)
{
    size_t numbers = c->reading[numbers_of(l, c)].count, odd = c->known - numbers;
    bool kept =
        odd == 0 || (c->odds <= FMT_MAX_KEPT && c->odd_cells == odd && (double)odd <= odd_share * (double)c->known);
    bool either = c->odd_cells == 0; /* each is a number, be it not by one decimal mark: that will be an error */
    return c->known > 0 && (kept || either) && c->leading_zeros == 0;
}

static bool is_date(const look *l, const sample *c)
{
    bool digits = c->reading[numbers_of(l, c)].count == c->known; /* 20240131 */
    return c->known > 0 && c->dated == c->known && (!digits || c->known >= 3);
}

static bool names_ids(const char *name)
{
    static const char *const ends[] = {"id", "uuid", "guid"};
    size_t size = strlen(name);
    for (size_t i = 0; i < sizeof ends / sizeof *ends; i++) {
        size_t end = strlen(ends[i]);
        if (size < end || strcasecmp(name + size - end, ends[i]) != 0)
            continue;
        unsigned char before = size > end ? (unsigned char)name[size - end - 1] : '_';
        if (!isalpha(before) || (islower(before) && isupper((unsigned char)name[size - end])))
            return true;
    }
    return false;
}

/* Numbers that say which row it is, and no more. */
static bool is_id(const look *l, const sample *c)
{
    const reading *r = &c->reading[numbers_of(l, c)];
    bool integers = r->fractions == 0 && r->exponents == 0 && r->decimals == 0 && c->prefixed + c->suffixed == 0;
    return integers && c->known >= ROWS_OF_IDS && (c->counts_rows || (names_ids(c->name) && !c->repeats));
}

/* Why a column is not learnt, or NULL: then *kind is what it is. */
static const char *judge(const look *l, const sample *c, fmt_column_kind *kind, char *why, size_t room)
{
    bool few = c->words.count <= FEW_WORDS && (c->words.count < c->known || c->known == 1),
         some = c->words.count <= SOME_WORDS && 2 * c->words.count <= c->known, number = is_numeric(l, c);
    size_t numbers = c->reading[numbers_of(l, c)].count;
    *kind = c->wish ? c->wish->kind : number || is_date(l, c) ? FMT_NUMBER : FMT_CATEGORY;
    if (c->wish != NULL)
        return *kind == FMT_IGNORED ? "as asked for" : NULL;
    if (c->name[0] == '\0')
        return "it has no name";
    if (c->known == 0)
        return "there is nothing in it";
    if (c->long_text)
        return "there are long texts in it";
    if (number && !is_date(l, c) && is_id(l, c)) {
        snprintf(why, room, "%s", c->counts_rows ? "it counts the rows" : "every number is another: like an id");
        return why;
    }
    if (*kind == FMT_NUMBER || few || some || (2 * numbers > c->known && c->leading_zeros == 0))
        return NULL;
    snprintf(why, room, "%s%zu different words%s", c->words.count > FMT_MAX_WORDS ? "more than " : "",
             c->words.count > FMT_MAX_WORDS ? (size_t)FMT_MAX_WORDS : c->words.count,
             !c->repeats            ? ": like an id"
             : c->leading_zeros > 0 ? ": numbers that begin with 0"
                                    : "");
    return why;
}

/* Suspects further from all other values than those are from each other are kept; the others are values. */
static bpcn_status settle_suspects(look *l, sample *c, enum reading_kind kind, fmt_column *column)
{
    reading *r = &c->reading[kind];
    bpcn_status status = BPCN_OK;
    double low = r->low, high = r->high, range = r->held > 0 ? high - low : 0;
    size_t all = r->count;
    for (size_t k = 0; k < r->suspects && status == BPCN_OK; k++) {
        const suspect *s = &r->suspect[k];
        bool far = range > 0 && (s->value < low - range || s->value > high + range);
        char text[40];
        if (column->notation.pattern[0] != '\0')
            fmt_date_print(column->notation.pattern, s->value, text, sizeof text);
        else
            snprintf(text, sizeof text, "%.15g", s->value);
        if (far && !is_in(l->options->not_missing, text, strlen(text)) && column->kept.count < FMT_MAX_KEPT) {
            all -= s->count;
            if (!fmt_words_add(&column->kept, text, strlen(text)))
                return fmti_no_memory(l->name, 1);
            status = add_finding(l, FMT_FOUND_SENTINEL, c->name, text, "", s->count);
            continue;
        }
        r->low = r->held == 0 ? s->value : fmin(r->low, s->value);
        r->high = r->held == 0 ? s->value : fmax(r->high, s->value);
        /* as many as there were, or where a sample is held, their share of it */
        size_t copies = s->count < l->values_most / 4 ? s->count : l->values_most / 4;
        for (size_t n = 0; n < copies && status == BPCN_OK; n++)
            status = hold(l, r, s->value);
    }
    r->count = all;
    return status;
}

static bpcn_status keep_odd(look *l, sample *c, fmt_column *column)
{
    bpcn_status status = BPCN_OK;
    for (size_t k = 0; k < c->odds && status == BPCN_OK && column->kept.count < FMT_MAX_KEPT; k++) {
        if (!fmt_words_add(&column->kept, c->odd[k].word, strlen(c->odd[k].word)))
            return fmti_no_memory(l->name, 1);
        status = add_finding(l, FMT_FOUND_ODD, c->name, c->odd[k].word, "", c->odd[k].count);
    }
    return status;
}

/* A word for missing that is most of a column of numbers is not to be overwritten either. */
static bpcn_status keep_markers(look *l, sample *c, fmt_column *column)
{
    bpcn_status status = BPCN_OK;
    for (size_t k = 0; k < c->markers && status == BPCN_OK; k++) {
        counted *m = &c->marker[k];
        if ((double)m->count <= sign_share * (double)(c->known + c->marked) || column->kept.count == FMT_MAX_KEPT ||
            is_in(l->options->missing, m->word, strlen(m->word)))
            continue;
        if (!fmt_words_add(&column->kept, m->word, strlen(m->word)))
            return fmti_no_memory(l->name, 1);
        status = add_finding(l, FMT_FOUND_WORD, c->name, m->word, "", m->count);
        m->count = 0;
    }
    return status;
}

static void note_writing(const look *l, const sample *c, const reading *r, fmt_notation *n)
{
    bool fixed = r->decimals == r->least_decimals;
    (void)l;
    if (r->exponents == 0 && r->decimals <= FMT_MOST_DECIMALS) {
        n->places = r->decimals + 1;
        n->fixed = fixed && r->decimals > 0;
        n->whole = r->fractions == 0;
    }
    if (r->groups > 0)
        memcpy(n->group, r->group, sizeof n->group);
    if (2 * c->prefixed > c->known)
        memcpy(n->prefix, c->prefix, FMT_AFFIX);
    if (2 * c->suffixed > c->known)
        memcpy(n->suffix, c->suffix, FMT_AFFIX);
}

static bpcn_status fail_odd(const look *l, size_t i, enum reading_kind kind)
{
    const sample *c = &l->column[i];
    enum reading_kind other = kind == POINT ? COMMA : POINT;
    fmt_number_text t;
    bool swapped = l->separator != ',' &&
                   fmt_number_take(c->odd_text[kind], strlen(c->odd_text[kind]), other == COMMA ? ',' : '.', true, &t);
    if (swapped)
        return fmti_fail(BPCN_INVALID, l->name,
                         "line %zu, column %zu (%s) is '%s', but other numbers have a decimal %s", c->odd_line[kind],
                         i + 1, c->name, c->odd_text[kind], kind == COMMA ? "comma" : "point");
    return fmti_fail(BPCN_INVALID, l->name,
                     "line %zu, column %zu (%s) is '%s', no number as the others are (--missing '%s' if it means "
                     "missing; --column '%s:category' or --ignore '%s' otherwise)",
                     c->odd_line[kind], i + 1, c->name, c->odd_text[kind], c->odd_text[kind], c->name, c->name);
}

/* Centre, scale and bounds from the values held. */
static void measure(const fmt_wish *wish, reading *r, fmt_column *column)
{
    column->scale = 1;
    if (wish != NULL && wish->scale > 0) {
        column->centre = wish->centre;
        column->scale = wish->scale;
    } else if (r->held > 0) {
        fmt_centre_and_scale(r->values, r->held, &column->centre, &column->scale);
    }
    column->notation.bounded = r->held > 0;
    column->notation.low = r->held > 0 ? r->low : 0;
    column->notation.high = r->held > 0 ? r->high : 0;
}

static bpcn_status make_number(look *l, size_t i, fmt_column *column)
{
    sample *c = &l->column[i];
    enum reading_kind kind = numbers_of(l, c);
    reading *r = &c->reading[kind];
    column->kind = FMT_NUMBER;
    bool odd = r->count < c->known, kept = is_numeric(l, c) || c->odds <= FMT_MAX_KEPT;
    kept = kept && (double)(c->known - r->count) <= odd_share * (double)c->known && c->odd_cells == c->known - r->count;
    if (odd && !kept)
        return fail_odd(l, i, kind);
    note_writing(l, c, r, &column->notation);
    bpcn_status status = settle_suspects(l, c, kind, column);
    if (status == BPCN_OK && odd)
        status = keep_odd(l, c, column);
    if (status == BPCN_OK && r->unsure > 0 && !l->sure && c->reading[POINT].count == c->reading[COMMA].count)
        status = add_finding(l, FMT_FOUND_MARK, c->name, c->first_unsure, l->decimal == ',' ? "," : ".", r->unsure);
    measure(c->wish, r, column);
    if (c->wish != NULL && c->wish->period > 0)
        column->notation.period = c->wish->period;
    return status;
}

/* The greatest stretch of a circle without a value, as a share of it. values are sorted. */
static double widest_gap(const double *values, size_t count, double period)
{
    double gap = count > 0 ? values[0] + period - values[count - 1] : period;
    for (size_t i = 1; i < count; i++)
        gap = fmax(gap, values[i] - values[i - 1]);
    return gap / period;
}

static bpcn_status make_date(look *l, size_t i, bool month_first, fmt_column *column)
{
    sample *c = &l->column[i];
    fmt_notation *n = &column->notation;
    const char *wished = c->wish != NULL ? c->wish->pattern : NULL;
    char other[FMT_PATTERN];
    bool first = wished != NULL ? strncmp(wished, "M", 1) == 0 : month_first;
    bool good = fmt_date_guess_pattern(&c->dates, first, n->pattern);
    if (!good && wished == NULL)
        good = fmt_date_guess_pattern(&c->dates, first = !first, n->pattern);
    column->kind = FMT_NUMBER;
    if (!good)
        return fmti_fail(BPCN_INVALID, l->name, "column %zu (%s) has no dates that are written alike", i + 1, c->name);
    bpcn_status status = BPCN_OK;
    if (wished == NULL && fmt_date_guess_pattern(&c->dates, !first, other))
        status = add_finding(l, FMT_FOUND_DAY_OR_MONTH, c->name, n->pattern, other, c->dated);
    if (wished != NULL)
        snprintf(n->pattern, sizeof n->pattern, "%s", wished);
    enum reading_kind kind = first ? MONTH_FIRST : DAY_FIRST;
    reading *r = &c->reading[kind];
    if (status == BPCN_OK)
        status = settle_suspects(l, c, kind, column);
    measure(c->wish, r, column);
    /* hours of the whole day go round; those of an office do not */
    bool date = fmt_pattern_is_date(n->pattern);
    if (!date && widest_gap(r->values, r->held, 24) < 0.5)
        n->period = 24;
    if (date && fmt_pattern_has_time(n->pattern) && c->times_apart > 0 && r->high - r->low > 2) {
        n->period = 1;
        n->trend = true;
    }
    return status;
}

/* The only way in which a pattern that was asked for says more than was found: read the column by it. */
static bool wish_fits(const sample *c)
{
    char day[FMT_PATTERN] = "", month[FMT_PATTERN] = "";
    if (c->wish == NULL || c->wish->pattern == NULL)
        return true;
    fmt_date_guess_pattern(&c->dates, false, day);
    fmt_date_guess_pattern(&c->dates, true, month);
    return strcmp(c->wish->pattern, day) == 0 || strcmp(c->wish->pattern, month) == 0;
}

static int by_word(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

/* Of a column of words: whether a word that often means missing is one of its words, by how often it comes, by what the
   file's numbers have, and by its looks. */
static bool is_word(const look *l, const sample *c, const counted *m, const fmt_words *in_numbers)
{
    double share = (double)m->count / (double)(c->known + c->marked);
    bool letters = isalpha((unsigned char)m->word[0]) && strcasecmp(m->word, "nan") != 0;
    if (is_in(l->options->missing, m->word, strlen(m->word)))
        return false;
    for (size_t k = 0; c->wish != NULL && k < c->wish->words.count; k++)
        if (strcmp(c->wish->words.word[k], m->word) == 0)
            return true;
    if (fmti_words_are_codes(&c->words, m->word, strlen(m->word)))
        return true;
    return share > (letters && !is_in(in_numbers, m->word, strlen(m->word)) ? word_share : sign_share);
}

static bpcn_status add_marker_words(look *l, sample *c, const fmt_words *in_numbers)
{
    bpcn_status status = BPCN_OK;
    for (size_t k = 0; k < c->markers && status == BPCN_OK; k++) {
        counted *m = &c->marker[k];
        if (!is_word(l, c, m, in_numbers) || c->words.count >= FMT_MAX_WORDS)
            continue;
        if (c->counts == NULL)
            c->counts = calloc(FMT_MAX_WORDS + 1, sizeof *c->counts);
        if (c->counts == NULL || !fmt_words_add(&c->words, m->word, strlen(m->word)))
            return fmti_no_memory(l->name, 1);
        c->counts[c->words.count - 1] = m->count;
        c->known += m->count;
        c->marked -= m->count;
        status = add_finding(l, FMT_FOUND_WORD, c->name, m->word, "", m->count);
        m->count = 0;
    }
    return status;
}

static bpcn_status fail_words(const look *l, size_t i)
{
    const sample *c = &l->column[i];
    return fmti_fail(BPCN_INVALID, l->name, "column %zu (%s) has %s for a category", i + 1, c->name,
                     c->words.count == 0 ? "no words"
                     : c->long_text      ? "too long texts"
                                         : "too many different words");
}

/* Words in the order that was asked for; each that comes must be among them. */
static bpcn_status make_ordered(look *l, size_t i, fmt_column *column)
{
    sample *c = &l->column[i];
    const fmt_words *order = &c->wish->words;
    double sum = 0, square = 0, count = 0;
    column->kind = FMT_ORDERED;
    for (size_t k = 0; k < c->words.count && order->count > 0; k++) {
        size_t place = 0;
        while (place < order->count && strcmp(order->word[place], c->words.word[k]) != 0)
            place++;
        if (place == order->count)
            return fmti_fail(BPCN_INVALID, l->name,
                             "column %zu (%s) has the word '%.40s', which is not in the order given", i + 1, c->name,
                             c->words.word[k]);
        sum += (double)c->counts[k] * (double)place;
        square += (double)c->counts[k] * pow((double)place, 2);
        count += (double)c->counts[k];
    }
    column->words = *order;
    double mean = count > 0 ? sum / count : 0, variance = count > 0 ? square / count - mean * mean : 0;
    column->centre = round(1e3 * mean) / 1e3;
    column->scale = round(1e3 * fmax(sqrt(fmax(variance, 0)), 0.25)) / 1e3;
    return BPCN_OK;
}

/* The entries of a category vary together as much as a number, 1: sum of p (1 - p) over its words, over scale^2. */
static bpcn_status make_category(look *l, size_t i, const fmt_words *in_numbers, fmt_column *column)
{
    sample *c = &l->column[i];
    double mixed = 1;
    column->kind = FMT_CATEGORY;
    bpcn_status status = add_marker_words(l, c, in_numbers);
    if (status != BPCN_OK)
        return status;
    if (c->words.count == 0 || c->words.count > FMT_MAX_WORDS || c->long_text)
        return fail_words(l, i);
    if (c->wish != NULL && c->wish->kind == FMT_ORDERED && c->wish->words.count > 0)
        return make_ordered(l, i, column);
    for (size_t k = 0; k < c->words.count; k++)
        mixed -= pow((double)c->counts[k] / (double)c->known, 2);
    qsort(c->words.word, c->words.count, sizeof *c->words.word, by_word);
    column->words = c->words;
    column->centre = round(1e3 / (double)c->words.count) / 1e3;
    column->scale = round(1e3 * fmax(sqrt(fmax(mixed, 0)), 0.25)) / 1e3;
    return BPCN_OK;
}

static void count_far(const fmt_column *column, const reading *r, fmt_inference *inference)
{
    for (size_t i = 0; i < r->held && column->notation.period == 0; i++) {
        double off = fabs(r->values[i] - column->centre) / column->scale;
        inference->far += off > FMT_FAR;
        inference->wide += off > FMT_CLIP;
    }
}

static bpcn_status settle_column(look *l, size_t i, const fmt_words *in_numbers, bool month_first)
{
    sample *c = &l->column[i];
    fmt_inference *to = l->to;
    fmt_column column = {.name = c->name};
    char why[80];
    const char *reason = judge(l, c, &column.kind, why, sizeof why);
    if (reason != NULL) {
        if (!fmt_words_add(&to->reason, reason, strlen(reason)))
            return fmti_no_memory(l->name, strlen(reason));
        return fmt_schema_ignore(&to->schema, c->name);
    }
    bool wished_date = c->wish != NULL && c->wish->kind == FMT_NUMBER && c->wish->pattern != NULL;
    bool date = wished_date ||
                (column.kind == FMT_NUMBER && is_date(l, c) && (c->wish == NULL || c->reading[POINT].count < c->known));
    size_t numbers = c->reading[numbers_of(l, c)].count;
    bool mixed =
        c->wish == NULL && !date && c->words.count > FEW_WORDS && 2 * numbers > c->known && c->leading_zeros == 0;
    bool number = column.kind == FMT_NUMBER || mixed;
    bpcn_status status = BPCN_OK;
    if (wished_date && !wish_fits(c))
        status = fmti_fail(BPCN_INVALID, l->name, "column %zu (%s) has no dates written %s", i + 1, c->name,
                           c->wish->pattern);
    if (status == BPCN_OK && number)
        status = keep_markers(l, c, &column);
    if (status == BPCN_OK)
        status = date     ? make_date(l, i, month_first, &column)
                 : number ? make_number(l, i, &column)
                          : make_category(l, i, in_numbers, &column);
    if (status == BPCN_OK)
        status = fmt_schema_add(&to->schema, &column);
    if (status == BPCN_OK && number)
        count_far(&column,
                  &c->reading[date ? (column.notation.pattern[0] == 'M' ? MONTH_FIRST : DAY_FIRST) : numbers_of(l, c)],
                  to);
    fmt_words_free(&column.kept);
    return status == BPCN_OK ? tell_markers(l, c) : status;
}

/* What stands for missing among numbers, and whether some dates put the month first for sure. */
static bpcn_status look_around(const look *l, fmt_words *in_numbers, bool *month_first)
{
    char pattern[FMT_PATTERN];
    for (size_t i = 0; i < l->columns; i++) {
        const sample *c = &l->column[i];
        bool dates = is_date(l, c);
        if (dates && fmt_date_guess_pattern(&c->dates, true, pattern) &&
            !fmt_date_guess_pattern(&c->dates, false, pattern))
            *month_first = true;
        for (size_t k = 0; k < c->markers && (dates || is_numeric(l, c)); k++)
            if (!fmt_words_add(in_numbers, c->marker[k].word, strlen(c->marker[k].word)))
                return fmti_no_memory(l->name, 1);
    }
    return BPCN_OK;
}

static bpcn_status settle(look *l)
{
    fmt_inference *to = l->to;
    fmt_words in_numbers = {0};
    bool month_first = false;
    find_decimal(l);
    bpcn_status status = look_around(l, &in_numbers, &month_first);
    for (size_t i = 0; i < l->columns && status == BPCN_OK; i++)
        status = settle_column(l, i, &in_numbers, month_first);
    for (size_t i = 0; l->options->missing != NULL && i < l->options->missing->count && status == BPCN_OK; i++)
        status = fmt_schema_add_missing(&to->schema, l->options->missing->word[i]);
    if (status == BPCN_OK && to->schema.count == 0)
        status = fmti_fail(BPCN_INVALID, l->name, "there is no column to learn");
    to->rows = l->rows;
    to->latin1 = fmt_records_latin1(l->records);
    to->schema.decimal = l->decimal == ',' && l->marked ? ',' : 0;
    fmt_words_free(&in_numbers);
    return status;
}

/* ---- all of it */

static bpcn_status look_through(look *l)
{
    fmt_record record;
    fmt_inference *to = l->to;
    l->separator = fmt_records_separator(l->records);
    bpcn_status status = fmt_records_next(l->records, &record);
    if (status == BPCN_OK && record.count == 0)
        return fmti_fail(BPCN_FORMAT, l->name, "is empty");
    l->header_line = record.line;
    to->header = status == BPCN_OK && is_header(l, &record);
    if (status == BPCN_OK)
        status = name_columns(l, &record, to->header);
    if (status == BPCN_OK)
        status = match_wishes(l);
    if (status == BPCN_OK)
        status = look_at_rows(l, &record, to->header);
    return status == BPCN_OK ? settle(l) : status;
}

static void free_look(look *l)
{
    for (size_t i = 0; i < l->columns; i++) {
        sample *c = &l->column[i];
        free(c->name);
        for (int kind = 0; kind < READINGS; kind++)
            free(c->reading[kind].values);
        for (size_t k = 0; k < c->markers; k++)
            free(c->marker[k].word);
        for (size_t k = 0; k < c->odds; k++)
            free(c->odd[k].word);
        free(c->counts);
        free(c->slots);
        fmt_words_free(&c->words);
    }
    free(l->column);
    fmt_records_close(l->records);
}

bpcn_status fmt_infer(FILE *stream, const char *name, const fmt_infer_options *options, fmt_inference *inference)
{
    look l = {.name = name, .options = options, .to = inference};
    *inference = (fmt_inference){0};
    bpcn_status status = fmt_records_open(stream, name, 0, &l.records);
    if (status == BPCN_OK)
        status = look_through(&l);
    free_look(&l);
    if (status != BPCN_OK)
        fmt_inference_free(inference);
    return status;
}

void fmt_inference_free(fmt_inference *inference)
{
    fmt_schema_free(&inference->schema);
    fmt_words_free(&inference->reason);
    for (size_t i = 0; i < inference->finding_count; i++) {
        free(inference->finding[i].column);
        free(inference->finding[i].word);
        free(inference->finding[i].other);
    }
    free(inference->finding);
    *inference = (fmt_inference){0};
}
