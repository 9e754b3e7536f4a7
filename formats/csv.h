/* csv.h: a CSV file record by record, as text, in constant memory: what the cells say, and the bytes they are
 * written in, so that a file can be given back unchanged but for some cells.
 *
 * Separated by tab, ; or , (what the first two records agree on; a first line `sep=;` says it) or by runs of spaces.
 * A cell that begins with a double quote ends with the next one; within, two stand for one, and line ends are text.
 * Lines end with LF or CRLF; a byte order mark is passed over, as are blank lines. Lines count from 1, columns too.
 *
 * Text is UTF-8, or from the first byte that is not, and if there was no other sign of UTF-8 before it, Windows-1252
 * (Latin-1 and what Excel writes); cells say it in UTF-8. UTF-16 is refused. */
#ifndef BAYESPCN_FORMATS_RECORDS_H
#define BAYESPCN_FORMATS_RECORDS_H

#include "formats.h"

typedef struct fmt_cell {
    const char *raw; /* as it stands between two separators */
    size_t raw_size;
    const char *text; /* what it says: without quotes, and without spaces around it */
    size_t size;
    bool quoted;
} fmt_cell;

typedef struct fmt_record {
    const char *before; /* what stands before it: a byte order mark, blank lines */
    size_t before_size;
    size_t line; /* where it begins */
    size_t count;
    const fmt_cell *cell; /* [count] */
    const char *ending;   /* of its line; empty at the end of some files */
    size_t ending_size;
} fmt_record;

typedef struct fmt_records fmt_records;

/* The stream stays the caller's, and open; name is what errors call it, and must outlive the reader. The first
 * skip_lines lines are passed over. */
bpcn_status fmt_records_open(FILE *stream, const char *name, size_t skip_lines, fmt_records **records);

/* The next record, valid until the next call; of 0 cells at the end, where `before` has what is left. After a
 * failure with record->line above 0 the next one can be read: the cells of that line's record, which is all in
 * record->before, could not be told apart. */
bpcn_status fmt_records_next(fmt_records *records, fmt_record *record);

char fmt_records_separator(const fmt_records *records); /* ' ': any run of spaces */
bool fmt_records_latin1(const fmt_records *records);    /* so far the text turned out to be Windows-1252 */
uint64_t fmt_records_bytes(const fmt_records *records); /* of the stream, taken so far */

/* Whether the next record would have to be waited for: the stream is a pipe, terminal or socket that has no whole line
 * at the moment. */
bool fmt_records_pause(fmt_records *records);

/* UTF-8 to Windows-1252; false: it has a character that Windows-1252 has not. */
bool fmt_to_latin1(const char *text, char *out, size_t room);
const char *fmt_records_name(const fmt_records *records);
void fmt_records_close(fmt_records *records); /* NULL is fine */

#endif
