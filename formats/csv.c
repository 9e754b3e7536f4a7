/* csv.c: CSV files: lines joined to records where a quote is open, records cut into cells, and tables of numbers. */
#include "csv.h"
#include "internal.h"
#include "schema.h"

#include <errno.h>
#include <locale.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

/* A longer record is a quote that was never closed. */
enum { RECORD_MOST = 64 << 20, PEEKED = 2 };

/* Bytes that grow. */
typedef struct text {
    char *bytes;
    size_t size, room;
} text;

/* A record as it stands in the file, its line ends too. */
typedef struct raw {
    text before, body;
    size_t line;
} raw;

struct fmt_records {
    FILE *stream;
    const char *name;
    char separator; /* 0: not known yet */
    size_t line;    /* lines taken */
    raw peeked[PEEKED], now;
    size_t waiting, taken; /* of those peeked */
    char *line_bytes;      /* of getline */
    size_t line_room;
    text unquoted;
    fmt_cell *cell;
    size_t cells_room;
};

static bool append(text *t, const char *bytes, size_t size)
{
    if (t->room - t->size <= size) {
        size_t room = 2 * (t->size + size) + 64;
        char *more = realloc(t->bytes, room);
        if (more == NULL)
            return false;
        t->bytes = more;
        t->room = room;
    }
    memcpy(t->bytes + t->size, bytes, size);
    t->size += size;
    t->bytes[t->size] = '\0';
    return true;
}

static bool is_blank(const char *bytes, size_t size)
{
    for (size_t i = 0; i < size; i++)
        if (strchr(" \t\r\n", bytes[i]) == NULL || bytes[i] == '\0')
            return false;
    return true;
}

/* ---- lines and records */

/* Where in a record a scan is. */
typedef struct scan {
    bool quoted, fresh; /* inside quotes; nothing but spaces in this cell so far */
    size_t column;
} scan;

static bool separates(char separator, char c)
{
    return separator == 0 ? c == ',' || c == ';' || c == '\t' : c == separator;
}

static void scan_line(scan *s, char separator, const char *bytes, size_t size)
{
    for (size_t i = 0; i < size; i++) {
        if (s->quoted) {
            bool doubled = bytes[i] == '"' && i + 1 < size && bytes[i + 1] == '"';
            i += doubled;
            s->quoted = doubled || bytes[i] != '"';
        } else if (bytes[i] == '"' && s->fresh) {
            s->quoted = true;
            s->fresh = false;
        } else if (separates(separator, bytes[i])) {
            s->fresh = true;
            s->column++;
        } else if (bytes[i] != ' ') {
            s->fresh = false;
        }
    }
}

/* The next line with its end; of size 0 at the end of the file. */
static bpcn_status next_line(fmt_records *r, size_t *size)
{
    errno = 0;
    ssize_t got = getline(&r->line_bytes, &r->line_room, r->stream);
    *size = got > 0 ? (size_t)got : 0;
    if (got < 0 && ferror(r->stream))
        return fmti_fail_errno(r->name, "read", errno);
    if (got < 0 && !feof(r->stream))
        return fmti_no_memory(r->name, r->line_room);
    r->line += *size > 0;
    if (memchr(r->line_bytes != NULL ? r->line_bytes : "", '\0', *size) != NULL)
        return fmti_fail(BPCN_FORMAT, r->name, "line %zu has a zero byte: this is no text in UTF-8 (UTF-16?)", r->line);
    return BPCN_OK;
}

/* Excel's way to name the separator: a first line of `sep=;`. */
static bool is_hint(const char *bytes, size_t size)
{
    return size >= 5 && strncmp(bytes, "sep=", 4) == 0 && strchr(",;\t", bytes[4]) != NULL &&
           is_blank(bytes + 5, size - 5);
}

/* Passes over blank lines; they, a byte order mark and a hint go to `before`. */
static bpcn_status first_line(fmt_records *r, raw *to, size_t *size)
{
    bool first = r->line == 0;
    for (;; first = false) {
        bpcn_status status = next_line(r, size);
        if (status != BPCN_OK || *size == 0)
            return status;
        size_t mark = first && *size >= 3 && memcmp(r->line_bytes, "\xEF\xBB\xBF", 3) == 0 ? 3 : 0;
        bool blank = is_blank(r->line_bytes + mark, *size - mark);
        if (r->separator == '\t' && memchr(r->line_bytes, '\t', *size) != NULL)
            blank = false; /* empty cells */
        if (first && is_hint(r->line_bytes + mark, *size - mark)) {
            r->separator = r->line_bytes[mark + 4];
            blank = true;
        }
        if (!append(&to->before, r->line_bytes, blank ? *size : mark))
            return fmti_no_memory(r->name, *size);
        *size -= mark;
        memmove(r->line_bytes, r->line_bytes + mark, *size);
        if (!blank)
            return BPCN_OK;
    }
}

/* One record from the stream; an empty body at the end. */
static bpcn_status read_raw(fmt_records *r, raw *to)
{
    size_t size;
    scan s = {.fresh = true, .column = 1};
    to->before.size = to->body.size = 0;
    bpcn_status status = first_line(r, to, &size);
    to->line = r->line;
    while (status == BPCN_OK && size > 0) {
        scan_line(&s, r->separator, r->line_bytes, size);
        if (!append(&to->body, r->line_bytes, size))
            return fmti_no_memory(r->name, size);
        if (!s.quoted)
            return BPCN_OK;
        if (to->body.size > RECORD_MOST)
            break;
        status = next_line(r, &size);
    }
    if (status == BPCN_OK && s.quoted)
        return fmti_fail(BPCN_FORMAT, r->name, "line %zu, column %zu: a quote is opened and never closed", to->line,
                         s.column);
    return status;
}

/* ---- the separator */

static size_t count_separators(const raw *record, char separator)
{
    scan s = {.fresh = true};
    scan_line(&s, separator, record->body.bytes, record->body.size);
    return s.column;
}

/* The one of tab, semicolon and comma that is as often in both records, or else the first that is in either. */
static char find_separator(const raw *records, size_t count)
{
    static const char candidates[] = "\t;,";
    for (const char *c = candidates; *c != '\0' && count == 2; c++) {
        size_t first = count_separators(&records[0], *c);
        if (first > 0 && first == count_separators(&records[1], *c))
            return *c;
    }
    for (size_t i = 0; i < count; i++)
        for (const char *c = candidates; *c != '\0'; c++)
            if (count_separators(&records[i], *c) > 0)
                return *c;
    return ' ';
}

bpcn_status fmt_records_open(FILE *stream, const char *name, size_t skip_lines, fmt_records **records)
{
    fmt_records *r = *records = calloc(1, sizeof *r);
    size_t size = 1;
    if (r == NULL)
        return fmti_no_memory(name, sizeof *r);
    r->stream = stream;
    r->name = name;
    bpcn_status status = BPCN_OK;
    for (size_t i = 0; i < skip_lines && status == BPCN_OK && size > 0; i++)
        status = next_line(r, &size);
    while (status == BPCN_OK && r->waiting < PEEKED) {
        status = read_raw(r, &r->peeked[r->waiting]);
        if (status != BPCN_OK || r->peeked[r->waiting++].body.size == 0)
            break;
    }
    size_t full = 0;
    while (full < r->waiting && r->peeked[full].body.size > 0)
        full++;
    if (status == BPCN_OK && r->separator == 0)
        r->separator = find_separator(r->peeked, full);
    if (status == BPCN_OK)
        return BPCN_OK;
    fmt_records_close(r);
    *records = NULL;
    return status;
}

void fmt_records_close(fmt_records *r)
{
    if (r == NULL)
        return;
    raw *all[] = {&r->peeked[0], &r->peeked[1], &r->now};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        free(all[i]->before.bytes);
        free(all[i]->body.bytes);
    }
    free(r->line_bytes);
    free(r->unquoted.bytes);
    free(r->cell);
    free(r);
}

char fmt_records_separator(const fmt_records *r)
{
    return r->separator;
}

const char *fmt_records_name(const fmt_records *r)
{
    return r->name;
}

/* ---- cells */

static bool is_space(const fmt_records *r, char c)
{
    return c == ' ' || (c == '\t' && r->separator != '\t');
}

static fmt_cell *new_cell(fmt_records *r, size_t at)
{
    if (at == r->cells_room) {
        size_t room = 2 * r->cells_room + 16;
        fmt_cell *more = realloc(r->cell, room * sizeof *more);
        if (more == NULL)
            return NULL;
        r->cell = more;
        r->cells_room = room;
    }
    r->cell[at] = (fmt_cell){0};
    return &r->cell[at];
}

/* A quoted cell that begins at p; *p is then what follows it, blanks passed over. */
static bool take_quoted(fmt_records *r, const char **p, const char *end, fmt_cell *cell)
{
    char *to = r->unquoted.bytes + r->unquoted.size;
    const char *at = *p + 1;
    cell->quoted = true;
    cell->text = to;
    while (at < end && (*at != '"' || (at + 1 < end && at[1] == '"'))) {
        at += *at == '"';
        *to++ = *at++;
    }
    cell->size = (size_t)(to - cell->text);
    r->unquoted.size += cell->size;
    at += at < end;
    while (r->separator != ' ' && at < end && is_space(r, *at))
        at++;
    *p = at;
    return at == end || (r->separator == ' ' ? is_space(r, *at) : *at == r->separator);
}

/* A plain cell: up to the separator, without the spaces around it. */
static void take_plain(const fmt_records *r, const char **p, const char *end, fmt_cell *cell)
{
    const char *at = *p, *stop = at;
    while (stop < end && !(r->separator == ' ' ? is_space(r, *stop) : *stop == r->separator))
        stop++;
    cell->text = at;
    *p = stop;
    while (stop > at && is_space(r, stop[-1]))
        stop--;
    cell->size = (size_t)(stop - at);
}

static bpcn_status split(fmt_records *r, fmt_record *record, const char *p, const char *end)
{
    for (;;) {
        fmt_cell *cell = new_cell(r, record->count);
        if (cell == NULL)
            return fmti_no_memory(r->name, record->count);
        cell->raw = p;
        while (p < end && is_space(r, *p))
            p++;
        record->count++;
        if (p == end || *p != '"')
            take_plain(r, &p, end, cell);
        else if (!take_quoted(r, &p, end, cell))
            return fmti_fail(BPCN_FORMAT, r->name, "line %zu, column %zu: something follows the closing quote",
                             record->line, record->count);
        if (memchr(cell->text, '\r', cell->size) != NULL && !cell->quoted)
            return fmti_fail(BPCN_FORMAT, r->name,
                             "line %zu, column %zu has a carriage return in it (lines end with LF or CRLF)",
                             record->line, record->count);
        if (r->separator == ' ' && is_blank(p, (size_t)(end - p)))
            p = end; /* trailing blanks belong to the last cell */
        cell->raw_size = (size_t)(p - cell->raw);
        if (p++ == end)
            return BPCN_OK;
    }
}

bpcn_status fmt_records_next(fmt_records *r, fmt_record *record)
{
    bpcn_status status = BPCN_OK;
    *record = (fmt_record){0};
    raw *from = &r->now;
    if (r->taken < r->waiting)
        from = &r->peeked[r->taken++];
    else
        status = read_raw(r, from);
    if (status != BPCN_OK)
        return status;
    *record = (fmt_record){.before = from->before.bytes, .before_size = from->before.size, .line = from->line};
    if (from->body.size == 0)
        return BPCN_OK;
    r->unquoted.size = 0;
    if (!append(&r->unquoted, from->body.bytes, from->body.size)) /* room for all that could be unquoted */
        return fmti_no_memory(r->name, from->body.size);
    r->unquoted.size = 0;
    const char *p = from->body.bytes, *end = p + from->body.size;
    record->ending = end;
    if (end[-1] == '\n') {
        end--;
        end -= end > p && end[-1] == '\r';
    }
    record->ending_size = (size_t)(record->ending - end);
    record->ending = end;
    status = split(r, record, p, end);
    record->cell = r->cell;
    return status;
}

/* ---- tables of numbers and nothing else; numbers are written with a decimal point in every locale */

typedef struct csv {
    const fmti_source *source;
    fmt_records *records;
    fmt_style style;
    size_t dim, dim_line; /* values per row, and the line that set it */
} csv;

static bool says_nan(const fmt_cell *cell)
{
    return cell->size >= 3 && strncasecmp(cell->text + cell->size - 3, "nan", 3) == 0;
}

/* A number, NaN for what means missing; false: neither. */
static bool parse_cell(fmt_style *style, const fmt_cell *cell, double *value)
{
    static const fmt_column plain = {.kind = FMT_VECTOR, .scale = 1, .size = 1};
    float x;
    switch (fmt_encode_text(NULL, &plain, cell->text, cell->size, style, &x)) {
    case FMT_CELL_MISSING:
        *value = NAN;
        return true;
    case FMT_CELL_KNOWN:
    case FMT_CELL_FAR:
        return fmt_parse_number(cell->text, cell->size, style->decimal ? style->decimal : '.', value);
    default:
        return false;
    }
}

static bool is_header(const csv *c, const fmt_record *record)
{
    for (size_t i = 0; i < record->count; i++) {
        fmt_style fresh = {.separator = c->style.separator};
        double value;
        if (parse_cell(&fresh, &record->cell[i], &value) && (!isnan(value) || says_nan(&record->cell[i])))
            return false;
    }
    return true;
}

static bpcn_status bad_cell(const csv *c, size_t line, size_t column, const fmt_cell *cell)
{
    const fmti_source *s = c->source;
    if (cell->size == 0)
        return fmti_fail(BPCN_FORMAT, s->name, "line %zu, column %zu is empty", line, column);
    int kept = cell->size > 40 ? 40 : (int)cell->size;
    return fmti_fail(BPCN_FORMAT, s->name, "line %zu, column %zu is '%.*s', not a plain number", line, column, kept,
                     cell->text);
}

static bpcn_status bad_value(const csv *c, size_t line, size_t column, float value)
{
    const fmti_source *s = c->source;
    if (isfinite(value))
        return fmti_fail(BPCN_NUMERIC, s->name, "line %zu, column %zu is %g, beyond %g", line, column, (double)value,
                         s->options->largest);
    return fmti_fail(BPCN_INVALID, s->name,
                     isnan(value) ? "line %zu, column %zu is not a number (nan)"
                                  : "line %zu, column %zu is infinite, or too large for float32",
                     line, column);
}

/* One record's values into row, which has room for them. */
static bpcn_status read_row(csv *c, const fmt_record *record, float *row)
{
    const fmti_source *s = c->source;
    if (c->dim == 0) {
        c->dim = record->count;
        c->dim_line = record->line;
    }
    for (size_t i = 0; i < record->count; i++) {
        double value;
        if (!parse_cell(&c->style, &record->cell[i], &value) ||
            (isnan(value) && !s->options->allow_missing && !says_nan(&record->cell[i])))
            return bad_cell(c, record->line, i + 1, &record->cell[i]);
        if (!fmti_value_is_fine(s->options, fmti_narrow(value)))
            return bad_value(c, record->line, i + 1, fmti_narrow(value));
        if (i < c->dim)
            row[i] = fmti_narrow(value);
    }
    if (record->count == c->dim)
        return BPCN_OK;
    return fmti_fail(BPCN_FORMAT, s->name, "line %zu has %zu values, but line %zu has %zu", record->line, record->count,
                     c->dim_line, c->dim);
}

static bpcn_status read_rows(csv *c, fmt_record *record, float *values, size_t *rows)
{
    const fmti_source *s = c->source;
    const fmt_options *o = s->options;
    size_t seen = 0;
    *rows = 0;
    while (record->count > 0 && (o->max_rows == 0 || *rows < o->max_rows)) {
        bpcn_status status = read_row(c, record, values + *rows * c->dim);
        if (status != BPCN_OK)
            return status;
        if (seen++ >= o->first_row)
            (*rows)++;
        status = fmt_records_next(c->records, record);
        if (status != BPCN_OK)
            return status;
    }
    if (seen >= o->first_row)
        return BPCN_OK;
    return fmti_fail(BPCN_INVALID, s->name, "has %zu rows, none from row %zu on", seen, o->first_row);
}

/* A value takes two bytes at least, with what separates it from the next: the
 * file's length bounds how many there can be. */
static bpcn_status read_values(csv *c, fmt_record *record, fmt_table *table)
{
    const fmti_source *s = c->source;
    size_t room = s->size / 2 + 1, rows;
    float *values = fmti_alloc(room, sizeof(float));
    if (values == NULL)
        return fmti_no_memory(s->name, room * sizeof(float));
    bpcn_status status = read_rows(c, record, values, &rows);
    if (status == BPCN_OK)
        status = fmti_table_alloc(s, rows, c->dim, table);
    if (status == BPCN_OK)
        memcpy(table->data, values, rows * c->dim * sizeof(float));
    free(values);
    return status;
}

static bpcn_status read_table(csv *c, fmt_table *table)
{
    const fmti_source *s = c->source;
    fmt_record record;
    c->style.separator = fmt_records_separator(c->records);
    char first[41] = "";
    size_t line = 0;
    bpcn_status status = fmt_records_next(c->records, &record);
    if (status == BPCN_OK && record.count > 0 && is_header(c, &record)) {
        line = record.line;
        snprintf(first, sizeof first, "%.*s", (int)(record.cell[0].size < 40 ? record.cell[0].size : 40),
                 record.cell[0].text);
        status = fmt_records_next(c->records, &record);
    }
    if (status == BPCN_OK && record.count == 0 && line > 0)
        return fmti_fail(BPCN_FORMAT, s->name,
                         "line %zu begins with '%s', not a number, so that it is a header, and no row follows", line,
                         first);
    if (status == BPCN_OK && record.count == 0)
        return fmti_fail(BPCN_FORMAT, s->name, "has no rows of numbers");
    return status == BPCN_OK ? read_values(c, &record, table) : status;
}

bpcn_status fmti_csv_read(const fmti_source *source, fmt_table *table)
{
    csv c = {.source = source};
    FILE *stream = fmemopen((void *)(uintptr_t)source->data, source->size, "rb");
    if (stream == NULL)
        return fmti_no_memory(source->name, source->size);
    bpcn_status status = fmt_records_open(stream, source->name, source->options->skip_lines, &c.records);
    if (status == BPCN_OK)
        status = read_table(&c, table);
    fmt_records_close(c.records);
    fclose(stream);
    return status;
}

bpcn_status fmti_csv_write(fmt_output *out, const fmt_table *table)
{
    char number[40]; /* nine digits bring every float32 back */
    bpcn_status status = BPCN_OK;
    locale_t plain = newlocale(LC_ALL_MASK, "C", (locale_t)0);
    if (plain == (locale_t)0)
        return fmti_no_memory(out->name, 1);
    locale_t before = uselocale(plain);
    for (size_t i = 0; i < table->rows * table->dim && status == BPCN_OK; i++) {
        int used =
            snprintf(number, sizeof number, "%.9g%c", (double)table->data[i], (i + 1) % table->dim == 0 ? '\n' : ',');
        status = fmt_output_put(out, number, (size_t)used);
    }
    uselocale(before);
    freelocale(plain);
    return status;
}
