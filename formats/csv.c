/* csv.c: CSV files: lines joined to records where a quote is open, records cut into cells, and tables of numbers. */
#include "csv.h"
#include "internal.h"
#include "schema.h"

#include <errno.h>
#include <locale.h>
#include <math.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

/* A longer record is a quote that was never closed. */
enum { RECORD_MOST = 64 << 20, PEEKED = 2, READ_AT_ONCE = 1 << 16 };

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
    int descriptor;        /* of the stream; -1: it has none */
    char *buffer;          /* what was read and not taken yet: [begin, end) */
    size_t begin, end, room;
    bool ended;
    uint64_t bytes;    /* taken */
    bool utf8, latin1; /* what its bytes above 0x7F turned out to be */
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
    if (!s->quoted && separator != 0 && memchr(bytes, '"', size) == NULL && s->column > 0) {
        for (const char *p = bytes; (p = memchr(p, separator, size - (size_t)(p - bytes))) != NULL; p++)
            s->column++;
        s->fresh = false; /* a line has ended, and with it the cell */
        return;
    }
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

/* Reads more into the buffer; waits unless something is there. */
static bpcn_status read_more(fmt_records *r)
{
    if (r->begin > 0) {
        memmove(r->buffer, r->buffer + r->begin, r->end - r->begin);
        r->end -= r->begin;
        r->begin = 0;
    }
    if (r->room - r->end < READ_AT_ONCE) {
        size_t room = 2 * r->room + READ_AT_ONCE;
        char *more = realloc(r->buffer, room);
        if (more == NULL)
            return fmti_no_memory(r->name, room);
        r->buffer = more;
        r->room = room;
    }
    errno = 0;
    ssize_t got = r->descriptor >= 0 ? read(r->descriptor, r->buffer + r->end, READ_AT_ONCE)
                                     : (ssize_t)fread(r->buffer + r->end, 1, READ_AT_ONCE, r->stream);
    if (got < 0 || (r->descriptor < 0 && got == 0 && ferror(r->stream)))
        return fmti_fail_errno(r->name, "read", errno);
    r->ended = got == 0;
    r->end += (size_t)got;
    return BPCN_OK;
}

/* The bytes of a character of UTF-8 at p; 0: there is none. */
static size_t utf8_size(const unsigned char *p, size_t left)
{
    size_t size = p[0] < 0x80                   ? 1
                  : p[0] >= 0xC2 && p[0] < 0xE0 ? 2
                  : p[0] >= 0xE0 && p[0] < 0xF0 ? 3
                  : p[0] >= 0xF0 && p[0] < 0xF5 ? 4
                                                : 0;
    for (size_t i = 1; i < size; i++)
        if (i >= left || (p[i] & 0xC0) != 0x80)
            return 0;
    bool good = size < 3 || !((p[0] == 0xE0 && p[1] < 0xA0) || (p[0] == 0xED && p[1] > 0x9F) ||
                              (p[0] == 0xF0 && p[1] < 0x90) || (p[0] == 0xF4 && p[1] > 0x8F));
    return good ? size : 0;
}

/* Where text is no UTF-8; size: nowhere. */
static size_t find_other(const char *bytes, size_t size, bool *wide)
{
    size_t i = 0;
    for (uint64_t eight; i + 8 <= size; i += 8) {
        memcpy(&eight, bytes + i, 8);
        if (eight & 0x8080808080808080U)
            break;
    }
    while (i < size) {
        size_t one = utf8_size((const unsigned char *)bytes + i, size - i);
        if (one == 0)
            return i;
        *wide = *wide || one > 1;
        i += one;
    }
    return size;
}

static bpcn_status check_text(fmt_records *r, const char *line, size_t size)
{
    if (r->line == 1 && size >= 2 && (memcmp(line, "\xFF\xFE", 2) == 0 || memcmp(line, "\xFE\xFF", 2) == 0))
        return fmti_fail(BPCN_FORMAT, r->name, "is text in UTF-16 (iconv -f UTF-16 -t UTF-8 makes it UTF-8)");
    if (memchr(line, '\0', size) != NULL)
        return fmti_fail(BPCN_FORMAT, r->name, "line %zu has a zero byte: this is no text in UTF-8 (UTF-16?)", r->line);
    bool wide = false;
    size_t other = r->latin1 ? size : find_other(line, size, &wide);
    if (other < size && r->utf8) {
        scan s = {.fresh = true, .column = 1};
        scan_line(&s, r->separator, line, other);
        return fmti_fail(BPCN_FORMAT, r->name,
                         "line %zu, column %zu: the byte 0x%02X is no UTF-8, as the text before it is", r->line,
                         s.column, (unsigned)(unsigned char)line[other]);
    }
    r->latin1 = r->latin1 || other < size;
    r->utf8 = r->utf8 || wide;
    return BPCN_OK;
}

/* The next line with its end, valid until the next call; of size 0 at the end of the file. */
static bpcn_status next_line(fmt_records *r, const char **line, size_t *size)
{
    size_t seen = r->begin;
    const char *stop = NULL;
    bpcn_status status = BPCN_OK;
    while (status == BPCN_OK && !r->ended &&
           (stop = r->end > seen ? memchr(r->buffer + seen, '\n', r->end - seen) : NULL) == NULL) {
        size_t known = r->end - r->begin;
        status =
            known > RECORD_MOST ? fmti_fail(BPCN_FORMAT, r->name, "line %zu is too long", r->line + 1) : read_more(r);
        seen = r->begin + known;
    }
    if (status != BPCN_OK)
        return status;
    *line = r->buffer != NULL ? r->buffer + r->begin : "";
    *size = stop ? (size_t)(stop + 1 - *line) : r->end - r->begin;
    if (r->ended && stop == NULL && r->end > r->begin && (stop = memchr(*line, '\n', *size)) != NULL)
        *size = (size_t)(stop + 1 - *line);
    r->begin += *size;
    r->bytes += *size;
    r->line += *size > 0;
    return check_text(r, *line, *size);
}

bool fmt_records_pause(fmt_records *r)
{
    if (r->descriptor < 0 || r->taken < r->waiting)
        return false;
    while (!r->ended && (r->end == r->begin || memchr(r->buffer + r->begin, '\n', r->end - r->begin) == NULL)) {
        struct pollfd wait = {.fd = r->descriptor, .events = POLLIN};
        if (poll(&wait, 1, 0) == 0)
            return true;
        if (read_more(r) != BPCN_OK)
            return false; /* the next record will say it */
    }
    return false;
}

/* Excel's way to name the separator: a first line of `sep=;`. */
static bool is_hint(const char *bytes, size_t size)
{
    return size >= 5 && strncmp(bytes, "sep=", 4) == 0 && strchr(",;\t", bytes[4]) != NULL &&
           is_blank(bytes + 5, size - 5);
}

/* Passes over blank lines; they, a byte order mark and a hint go to `before`. */
static bpcn_status first_line(fmt_records *r, raw *to, const char **line, size_t *size)
{
    bool first = r->line == 0;
    for (;; first = false) {
        bpcn_status status = next_line(r, line, size);
        if (status != BPCN_OK || *size == 0)
            return status;
        size_t mark = first && *size >= 3 && memcmp(*line, "\xEF\xBB\xBF", 3) == 0 ? 3 : 0;
        bool blank = is_blank(*line + mark, *size - mark);
        if (r->separator == '\t' && memchr(*line, '\t', *size) != NULL)
            blank = false; /* empty cells */
        if (first && is_hint(*line + mark, *size - mark)) {
            r->separator = (*line)[mark + 4];
            blank = true;
        }
        if (!append(&to->before, *line, blank ? *size : mark))
            return fmti_no_memory(r->name, *size);
        *size -= mark;
        *line += mark;
        if (!blank)
            return BPCN_OK;
    }
}

/* One record from the stream; an empty body at the end. */
static bpcn_status read_raw(fmt_records *r, raw *to)
{
    size_t size;
    const char *line = NULL;
    scan s = {.fresh = true, .column = 1};
    to->before.size = to->body.size = 0;
    bpcn_status status = first_line(r, to, &line, &size);
    to->line = r->line;
    while (status == BPCN_OK && size > 0) {
        scan_line(&s, r->separator, line, size);
        if (!append(&to->body, line, size))
            return fmti_no_memory(r->name, size);
        if (!s.quoted)
            return BPCN_OK;
        if (to->body.size > RECORD_MOST)
            break;
        status = next_line(r, &line, &size);
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

/* The separator if the first record has but one kind: then nobody has to wait for the second. */
static char only_separator(const raw *record)
{
    static const char candidates[] = "\t;,";
    char only = 0;
    int kinds = 0;
    for (const char *c = candidates; *c != '\0'; c++)
        if (count_separators(record, *c) > 0) {
            only = *c;
            kinds++;
        }
    return kinds == 1 ? only : 0;
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
    r->descriptor = fileno(stream);
    bpcn_status status = BPCN_OK;
    const char *line;
    for (size_t i = 0; i < skip_lines && status == BPCN_OK && size > 0; i++)
        status = next_line(r, &line, &size);
    while (status == BPCN_OK && r->waiting < PEEKED) {
        status = read_raw(r, &r->peeked[r->waiting]);
        if (status != BPCN_OK || r->peeked[r->waiting++].body.size == 0)
            break;
        if (r->waiting == 1 && r->separator == 0)
            r->separator = only_separator(&r->peeked[0]);
        if (r->separator != 0)
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
    free(r->buffer);
    free(r->unquoted.bytes);
    free(r->cell);
    free(r);
}

char fmt_records_separator(const fmt_records *r)
{
    return r->separator;
}

bool fmt_records_latin1(const fmt_records *r)
{
    return r->latin1;
}

uint64_t fmt_records_bytes(const fmt_records *r)
{
    return r->bytes;
}

const char *fmt_records_name(const fmt_records *r)
{
    return r->name;
}

/* ---- Windows-1252 */

/* What 0x80 to 0x9F mean; 0: nothing, and the byte stands for itself. */
static const uint16_t windows[32] = {0x20AC, 0,      0x201A, 0x0192, 0x201E, 0x2026, 0x2020, 0x2021,
                                     0x02C6, 0x2030, 0x0160, 0x2039, 0x0152, 0,      0x017D, 0,
                                     0,      0x2018, 0x2019, 0x201C, 0x201D, 0x2022, 0x2013, 0x2014,
                                     0x02DC, 0x2122, 0x0161, 0x203A, 0x0153, 0,      0x017E, 0x0178};

/* A byte as UTF-8: 1 to 3 bytes. */
static char *put_utf8(char *to, unsigned char byte)
{
    unsigned code = byte >= 0x80 && byte < 0xA0 && windows[byte - 0x80] != 0 ? windows[byte - 0x80] : byte;
    if (code < 0x80) {
        *to++ = (char)code;
    } else if (code < 0x800) {
        *to++ = (char)(0xC0 | code >> 6);
        *to++ = (char)(0x80 | (code & 0x3F));
    } else {
        *to++ = (char)(0xE0 | code >> 12);
        *to++ = (char)(0x80 | (code >> 6 & 0x3F));
        *to++ = (char)(0x80 | (code & 0x3F));
    }
    return to;
}

bool fmt_to_latin1(const char *utf8, char *out, size_t room)
{
    size_t used = 0, left = strlen(utf8);
    while (left > 0 && used + 1 < room) {
        const unsigned char *p = (const unsigned char *)utf8;
        size_t size = utf8_size(p, left);
        unsigned code = size == 1   ? p[0]
                        : size == 2 ? (p[0] & 0x1FU) << 6 | (p[1] & 0x3FU)
                        : size == 3 ? (p[0] & 0xFU) << 12 | (p[1] & 0x3FU) << 6 | (p[2] & 0x3FU)
                                    : 0x110000;
        unsigned byte = code;
        for (unsigned i = 0; i < 32; i++)
            byte = windows[i] == code && code != 0 ? 0x80 + i : byte;
        if (byte > 0xFF)
            return false;
        out[used++] = (char)byte;
        utf8 += size;
        left -= size;
    }
    out[used] = '\0';
    return left == 0;
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
        if (r->latin1)
            to = put_utf8(to, (unsigned char)*at++);
        else
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
static void take_plain(fmt_records *r, const char **p, const char *end, fmt_cell *cell)
{
    const char *at = *p, *stop = at;
    while (stop < end && !(r->separator == ' ' ? is_space(r, *stop) : *stop == r->separator))
        stop++;
    cell->text = at;
    *p = stop;
    while (stop > at && is_space(r, stop[-1]))
        stop--;
    cell->size = (size_t)(stop - at);
    if (!r->latin1)
        return;
    char *from = r->unquoted.bytes + r->unquoted.size, *to = from;
    while (at < stop)
        to = put_utf8(to, (unsigned char)*at++);
    cell->text = from;
    cell->size = (size_t)(to - from);
    r->unquoted.size += cell->size;
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
    size_t wide = r->latin1 ? 3 : 1; /* bytes of UTF-8 that a byte may become */
    if (r->unquoted.room < wide * from->body.size) {
        free(r->unquoted.bytes);
        r->unquoted.room = 2 * wide * from->body.size;
        r->unquoted.bytes = malloc(r->unquoted.room);
        if (r->unquoted.bytes == NULL) {
            r->unquoted.room = 0;
            return fmti_no_memory(r->name, wide * from->body.size);
        }
    }
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
    if (status == BPCN_OK)
        return BPCN_OK;
    *record = (fmt_record){0};
    if (status == BPCN_FORMAT && !append(&from->before, from->body.bytes, from->body.size))
        return fmti_no_memory(r->name, from->body.size);
    if (status == BPCN_FORMAT)
        *record = (fmt_record){.before = from->before.bytes, .before_size = from->before.size, .line = from->line};
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
