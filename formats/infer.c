/* infer.c: a schema from the first rows of a table. */
#include "schema.h"

#include "internal.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum {
    VALUES_MOST = 4 << 20, /* numbers held while looking */
    ROWS_LEAST = 100,
    FEW_WORDS = 10,   /* these are a category, however few rows there are, unless no two are the same */
    SOME_WORDS = 100, /* so are these, if every word comes twice on average */
    WORD_MOST = 1000, /* bytes; longer text is no word */
    TEXT_KEPT = 40
};

/* What a column held so far. */
typedef struct sample {
    char *name;
    const fmt_wish *wish;
    double *values; /* [numbers] */
    size_t known, numbers, room;
    fmt_words words; /* up to one more than a category may have */
    size_t *counts;  /* [words.count] */
    size_t odd_line; /* of the first cell that is no number; 0: none */
    char odd[TEXT_KEPT + 1];
    bool long_text;
} sample;

typedef struct look {
    const char *name; /* of the file */
    fmt_records *records;
    fmt_schema usual; /* empty but for what means missing */
    fmt_style style;
    sample *column;
    size_t columns, rows;
    size_t header_line;
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

static fmt_cell_state state_of(const look *l, const fmt_cell *cell, fmt_style *style)
{
    static const fmt_column plain = {.kind = FMT_VECTOR, .scale = 1, .size = 1};
    float x;
    return fmt_encode_text(&l->usual, &plain, cell->text, cell->size, style, &x);
}

static bool is_number(const look *l, const fmt_cell *cell, fmt_style *style)
{
    fmt_cell_state state = state_of(l, cell, style);
    return state == FMT_CELL_KNOWN || state == FMT_CELL_FAR;
}

static bpcn_status count_word(const look *l, sample *c, const fmt_cell *cell)
{
    size_t k = 0;
    if (c->words.count > FMT_MAX_WORDS || c->long_text)
        return BPCN_OK;
    c->long_text = cell->size > WORD_MOST;
    while (k < c->words.count &&
           (strlen(c->words.word[k]) != cell->size || memcmp(c->words.word[k], cell->text, cell->size) != 0))
        k++;
    if (k == c->words.count) {
        if (c->counts == NULL)
            c->counts = calloc(FMT_MAX_WORDS + 1, sizeof *c->counts);
        if (c->counts == NULL || !fmt_words_add(&c->words, cell->text, cell->size))
            return fmti_no_memory(l->name, cell->size);
    }
    c->counts[k]++;
    return BPCN_OK;
}

static bpcn_status keep_number(const look *l, sample *c, double value)
{
    if (c->numbers == c->room) {
        size_t room = 2 * c->room + 64;
        double *more = realloc(c->values, room * sizeof *more);
        if (more == NULL)
            return fmti_no_memory(l->name, room * sizeof *more);
        c->values = more;
        c->room = room;
    }
    c->values[c->numbers++] = value;
    return BPCN_OK;
}

static bpcn_status look_at(look *l, size_t line, size_t column, const fmt_cell *cell)
{
    sample *c = &l->column[column];
    double value;
    if (fmt_means_missing(&l->usual, cell->text, cell->size))
        return BPCN_OK;
    c->known++;
    fmt_style style = l->style, same = l->style;
    if (c->numbers > 0 && state_of(l, cell, &same) == FMT_CELL_COMMA)
        return fmti_fail(BPCN_INVALID, l->name,
                         "line %zu, column %zu (%s) is '%.*s', but other numbers have a decimal %s", line, column + 1,
                         c->name, (int)(cell->size < TEXT_KEPT ? cell->size : TEXT_KEPT), cell->text,
                         same.decimal == ',' ? "comma" : "point");
    bool number = is_number(l, cell, &l->style) &&
                  fmt_parse_number(cell->text, cell->size, l->style.decimal ? l->style.decimal : '.', &value) &&
                  isfinite(value);
    if (!number && c->odd_line == 0) {
        c->odd_line = line;
        snprintf(c->odd, sizeof c->odd, "%.*s", (int)(cell->size < TEXT_KEPT ? cell->size : TEXT_KEPT), cell->text);
    }
    if (!number)
        l->style = style;
    bpcn_status status = number ? keep_number(l, c, value) : BPCN_OK;
    return status == BPCN_OK ? count_word(l, c, cell) : status;
}

/* ---- the table */

static bool is_header(const look *l, const fmt_record *record)
{
    for (size_t i = 0; i < record->count; i++) {
        fmt_style style = {.separator = l->style.separator};
        if (is_number(l, &record->cell[i], &style))
            return false;
    }
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

static bpcn_status match_wishes(look *l, const fmt_wish *wishes, size_t count)
{
    for (size_t w = 0; w < count; w++) {
        size_t i = 0;
        while (i < l->columns && strcmp(l->column[i].name, wishes[w].name) != 0)
            i++;
        if (i == l->columns)
            return fmti_fail(BPCN_INVALID, l->name, "there is no column '%s'", wishes[w].name);
        l->column[i].wish = &wishes[w];
    }
    return BPCN_OK;
}

static bpcn_status look_at_rows(look *l, fmt_record *record, bool header, size_t most)
{
    bpcn_status status = BPCN_OK;
    size_t fit = VALUES_MOST / l->columns;
    most = most < fit ? most : fit > ROWS_LEAST ? fit : ROWS_LEAST;
    if (header)
        status = fmt_records_next(l->records, record);
    for (; status == BPCN_OK && record->count > 0 && l->rows < most; l->rows++) {
        if (record->count != l->columns)
            return fmti_fail(BPCN_FORMAT, l->name, "line %zu has %zu values, but line %zu has %zu", record->line,
                             record->count, l->header_line, l->columns);
        for (size_t i = 0; i < l->columns && status == BPCN_OK; i++)
            status = look_at(l, record->line, i, &record->cell[i]);
        if (status == BPCN_OK)
            status = fmt_records_next(l->records, record);
    }
    if (status == BPCN_OK && l->rows == 0)
        return fmti_fail(BPCN_FORMAT, l->name, "has a header, but no rows");
    return status;
}

/* ---- what the columns are */

/* Why a column is not learnt, or NULL: then *kind is what it is. */
static const char *judge(const sample *c, fmt_column_kind *kind, char *why, size_t room)
{
    bool few = c->words.count <= FEW_WORDS && (c->words.count < c->known || c->known == 1),
         some = c->words.count <= SOME_WORDS && 2 * c->words.count <= c->known;
    *kind = c->wish ? c->wish->kind : c->numbers == c->known ? FMT_NUMBER : FMT_CATEGORY;
    if (c->wish != NULL)
        return *kind == FMT_IGNORED ? "as asked for" : NULL;
    if (c->name[0] == '\0')
        return "it has no name";
    if (c->known == 0)
        return "there is nothing in it";
    if (c->long_text)
        return "there are long texts in it";
    if (*kind == FMT_NUMBER || few || some || 2 * c->numbers > c->known)
        return NULL;
    snprintf(why, room, "%s%zu different words", c->words.count > FMT_MAX_WORDS ? "more than " : "",
             c->words.count > FMT_MAX_WORDS ? (size_t)FMT_MAX_WORDS : c->words.count);
    return why;
}

static bpcn_status make_number(const look *l, size_t i, fmt_column *column)
{
    sample *c = &l->column[i];
    column->kind = FMT_NUMBER;
    column->scale = 1;
    if (c->odd_line > 0)
        return fmti_fail(BPCN_INVALID, l->name,
                         "line %zu, column %zu (%s) is '%s', no number as the others are (--missing '%s' if it means "
                         "missing; --column '%s:category' or --ignore '%s' otherwise)",
                         c->odd_line, i + 1, c->name, c->odd, c->odd, c->name, c->name);
    if (c->wish != NULL && c->wish->scale > 0) {
        column->centre = c->wish->centre;
        column->scale = c->wish->scale;
    } else if (c->numbers > 0) {
        fmt_centre_and_scale(c->values, c->numbers, &column->centre, &column->scale);
    }
    return BPCN_OK;
}

static int by_word(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

/* The entries of a category vary together as much as a number, 1: sum of p (1 - p) over its words, over scale^2. */
static bpcn_status make_category(const look *l, size_t i, fmt_column *column)
{
    sample *c = &l->column[i];
    double mixed = 1;
    column->kind = FMT_CATEGORY;
    if (c->words.count == 0 || c->words.count > FMT_MAX_WORDS || c->long_text)
        return fmti_fail(BPCN_INVALID, l->name, "column %zu (%s) has %s for a category", i + 1, c->name,
                         c->words.count == 0 ? "no words"
                         : c->long_text      ? "too long texts"
                                             : "too many different words");
    for (size_t k = 0; k < c->words.count; k++)
        mixed -= pow((double)c->counts[k] / (double)c->known, 2);
    qsort(c->words.word, c->words.count, sizeof *c->words.word, by_word);
    column->words = c->words;
    column->centre = round(1e3 / (double)c->words.count) / 1e3;
    column->scale = round(1e3 * fmax(sqrt(fmax(mixed, 0)), 0.25)) / 1e3;
    return BPCN_OK;
}

static void count_far(const fmt_column *column, const sample *c, fmt_inference *inference)
{
    for (size_t i = 0; column->kind == FMT_NUMBER && i < c->numbers; i++) {
        double off = fabs(c->values[i] - column->centre) / column->scale;
        inference->far += off > FMT_FAR;
        inference->wide += off > FMT_CLIP;
    }
}

static bpcn_status settle_column(const look *l, size_t i, fmt_inference *to)
{
    sample *c = &l->column[i];
    fmt_column column = {.name = c->name};
    char why[64];
    const char *reason = judge(c, &column.kind, why, sizeof why);
    if (reason != NULL) {
        if (!fmt_words_add(&to->reason, reason, strlen(reason)))
            return fmti_no_memory(l->name, strlen(reason));
        return fmt_schema_ignore(&to->schema, c->name);
    }
    bool mixed = c->wish == NULL && c->words.count > FEW_WORDS && 2 * c->numbers > c->known;
    bpcn_status status = column.kind == FMT_NUMBER || mixed ? make_number(l, i, &column) : make_category(l, i, &column);
    if (status == BPCN_OK)
        status = fmt_schema_add(&to->schema, &column);
    return status;
}

static bpcn_status settle(const look *l, fmt_inference *to)
{
    bpcn_status status = BPCN_OK;
    for (size_t i = 0; i < l->columns && status == BPCN_OK; i++)
        status = settle_column(l, i, to);
    for (size_t i = 0; i < l->usual.missing.count && status == BPCN_OK; i++)
        status = fmt_schema_add_missing(&to->schema, l->usual.missing.word[i]);
    if (status == BPCN_OK && to->schema.count == 0)
        status = fmti_fail(BPCN_INVALID, l->name, "there is no column to learn");
    for (size_t i = 0; i < l->columns && status == BPCN_OK; i++) {
        const fmt_column *column = fmt_schema_find(&to->schema, l->column[i].name, strlen(l->column[i].name));
        if (column != NULL)
            count_far(column, &l->column[i], to);
    }
    to->rows = l->rows;
    return status;
}

/* ---- all of it */

static bpcn_status look_through(look *l, const fmt_wish *wishes, size_t wish_count, size_t most, fmt_inference *to)
{
    fmt_record record;
    l->style.separator = fmt_records_separator(l->records);
    bpcn_status status = fmt_records_next(l->records, &record);
    if (status == BPCN_OK && record.count == 0)
        return fmti_fail(BPCN_FORMAT, l->name, "is empty");
    l->header_line = record.line;
    to->header = status == BPCN_OK && is_header(l, &record);
    if (status == BPCN_OK)
        status = name_columns(l, &record, to->header);
    if (status == BPCN_OK)
        status = match_wishes(l, wishes, wish_count);
    if (status == BPCN_OK)
        status = look_at_rows(l, &record, to->header, most);
    return status == BPCN_OK ? settle(l, to) : status;
}

static void free_look(look *l)
{
    for (size_t i = 0; i < l->columns; i++) {
        free(l->column[i].name);
        free(l->column[i].values);
        free(l->column[i].counts);
        fmt_words_free(&l->column[i].words);
    }
    free(l->column);
    fmt_schema_free(&l->usual);
    fmt_records_close(l->records);
}

bpcn_status fmt_infer(FILE *stream, const char *name, const fmt_wish *wishes, size_t wish_count,
                      const fmt_words *missing, size_t most, fmt_inference *inference)
{
    look l = {.name = name};
    *inference = (fmt_inference){0};
    bpcn_status status = fmt_records_open(stream, name, 0, &l.records);
    for (size_t i = 0; missing != NULL && i < missing->count && status == BPCN_OK; i++)
        status = fmt_schema_add_missing(&l.usual, missing->word[i]);
    if (status == BPCN_OK)
        status = look_through(&l, wishes, wish_count, most, inference);
    free_look(&l);
    if (status != BPCN_OK)
        fmt_inference_free(inference);
    return status;
}

void fmt_inference_free(fmt_inference *inference)
{
    fmt_schema_free(&inference->schema);
    fmt_words_free(&inference->reason);
    inference->rows = 0;
}
