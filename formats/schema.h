/* schema.h: what a row of floats means: columns, each with a name and a kind, and for a table's columns how a cell
 * becomes entries of about 1 and how entries become a cell again. It knows nothing of memories; whoever keeps rows
 * keeps the schema's text beside them (docs/FORMAT.md has its form).
 *
 *   number    one entry, (value - centre) / scale; with a period p two, sqrt 2 cos and sin of 2 pi value / p; with
 *             both (a date with a time of day) three. Dates and times are numbers, see notation.h
 *   category  an entry for each of its words, (1 for the cell's word, 0 for the others; - centre) / scale
 *   ordered   one entry, (place of the word in their order, from 0, - centre) / scale
 *   picture   width x height x channels entries as they are, channel planes
 *   vector    entries as they are
 *
 * A table's row has one cell for a number or words and one for each entry of a picture or vector. Empty, NA, N/A, #N/A,
 * NaN, null, nil, none, nothing, ? and - and . alone, in any case of letters, and words that the schema adds mean
 * "missing", unless they are words of the column, or words that it keeps. What a column keeps (-999 among
 * temperatures, ERR) is unknown like a gap, but nothing to be filled. */
#ifndef BAYESPCN_FORMATS_SCHEMA_H
#define BAYESPCN_FORMATS_SCHEMA_H

#include "formats.h"
#include "csv.h"
#include "notation.h"

typedef enum fmt_column_kind {
    FMT_NUMBER = 0,
    FMT_CATEGORY = 1,
    FMT_PICTURE = 2,
    FMT_VECTOR = 3,
    FMT_IGNORED = 4, /* only while a schema is made: the schema lists these apart */
    FMT_ORDERED = 5
} fmt_column_kind;

enum {
    FMT_MAX_ENTRIES = 1 << 24, /* of a row */
    FMT_MAX_WORDS = 1000,      /* of a category */
    FMT_MAX_KEPT = 8           /* of a column */
};

/* Scales from its centre beyond which a number is no plausible value of its column, and would drown what was learnt
 * from others; how far at most it may be after clipping; and what entries of pictures and vectors may be at most, of
 * which the memory itself knows the scale. docs/FORMAT.md has the measurements. */
#define FMT_FAR 100.0
#define FMT_CLIP 8.0
#define FMT_FAR_PLAIN 1e15

typedef struct fmt_words {
    size_t count;
    char **word;
} fmt_words;

typedef struct fmt_column {
    char *name;
    fmt_column_kind kind;
    double centre, scale;           /* numbers and words; otherwise 0 and 1 */
    fmt_notation notation;          /* of a number */
    fmt_words words;                /* of a category, or in their order */
    fmt_words kept;                 /* at most FMT_MAX_KEPT: unknown, but not to be filled */
    size_t *sorted;                 /* [words.count] of a schema's column: places of the words by strcmp */
    size_t width, height, channels; /* of a picture */
    size_t offset, size;            /* entries of the row */
    size_t cell, cells;             /* cells of a table's row */
} fmt_column;

/* A column of tables that is not learnt. */
typedef struct fmt_ignored {
    char *name;
    size_t place; /* cells of learnt columns before it */
} fmt_ignored;

typedef struct fmt_schema {
    size_t count, dim, cells;
    fmt_column *column;
    size_t ignored_count;
    fmt_ignored *ignored;
    fmt_words missing; /* words that mean "missing", besides the usual ones */
    size_t
        *index; /* [slots], of fmt_schema_find: a column's number + 1, 0 where none is; slots is 0 or a power of two */
    size_t slots;
    char decimal; /* '.' or ',': of the table that the schema was made from; 0: not known */
} fmt_schema;

void fmt_schema_free(fmt_schema *schema); /* leaves it empty; NULL is fine */

/* Appends a copy of the column; its place, sizes (of a vector: not) and defaults are set here. */
bpcn_status fmt_schema_add(fmt_schema *schema, const fmt_column *column);
bpcn_status fmt_schema_ignore(fmt_schema *schema, const char *name);
bpcn_status fmt_schema_add_missing(fmt_schema *schema, const char *word);
bool fmt_words_add(fmt_words *words, const char *word, size_t size); /* false: out of memory */
void fmt_words_free(fmt_words *words);

const fmt_column *fmt_schema_find(const fmt_schema *schema, const char *name, size_t length);
const fmt_column *fmt_schema_picture(const fmt_schema *schema); /* the first, or NULL */
bool fmt_schema_is_table(const fmt_schema *schema);             /* it has numbers or words */
bool fmt_column_in_table(const fmt_column *column);             /* a number or words */
bool fmt_column_has_words(const fmt_column *column);            /* a category, or ordered words */
bool fmt_column_is_date(const fmt_column *column);              /* a number that is a date or a time */
size_t fmt_cell_size(const fmt_column *column);                 /* entries of one cell */

/* ---- its text */

enum { FMT_SCHEMA_VERSION = 2 }; /* 1 had no notations, no ordered words and kept nothing */

/* All of it, with a line end after every line; NULL: out of memory. Free it. */
char *fmt_schema_format(const fmt_schema *schema);

/* Lines that say something else are passed over; a text without any column leaves an empty schema. */
bpcn_status fmt_schema_parse(const char *text, fmt_schema *schema);

/* "image:28x28,label:10" to pictures and vectors, and what of a schema fits into `room` that way for people to read. */
bpcn_status fmt_schema_parse_fields(const char *text, fmt_schema *schema);
void fmt_schema_describe(const fmt_schema *schema, char *out, size_t room);
void fmt_column_shape(const fmt_column *column, char out[64]); /* "32x32x3", "10", "number", "3 words" */

/* ---- cells */

typedef enum fmt_cell_state {
    FMT_CELL_KNOWN,
    FMT_CELL_MISSING,
    FMT_CELL_UNSEEN, /* a word that the category does not have */
    FMT_CELL_WORD,   /* no number, where one belongs */
    FMT_CELL_COMMA,  /* a number with a decimal comma, where the table has points, or the other way round */
    FMT_CELL_FAR,    /* further from the centre than FMT_FAR, or FMT_FAR_PLAIN */
    FMT_CELL_KEPT    /* one of what the column keeps */
} fmt_cell_state;

/* How cells are written. */
typedef struct fmt_style {
    char separator;
    char decimal; /* '.' or ','; 0: not known yet, set by the first number that has either */
    bool clip;    /* numbers further than FMT_CLIP are brought there */
    bool beyond;  /* cells may be written beyond the bounds that were seen */
    bool latin1;  /* text is to be written in Windows-1252 (fmt_records_latin1) */
} fmt_style;

/* schema may be NULL: one of the usual words, also in numbers. */
bool fmt_means_missing(const fmt_schema *schema, const char *text, size_t size);

/* A decimal number; false when it is none. decimal is '.' or ','. */
bool fmt_parse_number(const char *text, size_t size, char decimal, double *value);

/* The cell's entries go to x, the row's place of the column, or for a cell of a vector of that entry; 0 unless known.
 */
fmt_cell_state fmt_encode_text(const fmt_schema *schema, const fmt_column *column, const char *text, size_t size,
                               fmt_style *style, float *x);
/* The same of a number as arrays have it: NaN is missing, a category's words are counted from 0. */
fmt_cell_state fmt_encode_value(const fmt_column *column, double value, bool clip, float *x);

/* Back from the entries at x: a number in the table's units, as the column could have it; of words the place of the
 * likeliest. */
double fmt_decode_value(const fmt_column *column, const float *x);
double fmt_decode_beyond(const fmt_column *column,
                         const float *x); /* the same, of a number, neither rounded nor bound */
/* The cell as text in its column's writing, quoted where the style needs it. */
void fmt_decode_text(const fmt_column *column, const float *x, const fmt_style *style, char *out, size_t room);
/* A value of the column's units to a thousandth of its scale. */
void fmt_format_number(const fmt_column *column, double value, char decimal, char *out, size_t room);
enum { FMT_CELL_ROOM = 4096 };

/* A word as a cell, quoted where it could be taken for something else. */
void fmt_quote(const char *word, char separator, char *out, size_t room);

/* ---- a schema from the first rows of a table */

/* What somebody said of a column before anyone looked. */
typedef struct fmt_wish {
    const char *name;
    fmt_column_kind kind; /* FMT_NUMBER, FMT_CATEGORY, FMT_ORDERED or FMT_IGNORED */
    double centre, scale; /* scale 0: find out */
    fmt_words words;      /* ordered words in their order; none: by the alphabet */
    const char *pattern;  /* of a date; NULL: find out */
    double period;        /* 0: none, unless it is a time of day */
} fmt_wish;

/* What was noticed of a column that is learnt. */
typedef enum fmt_finding_kind {
    FMT_FOUND_MISSING,      /* cells that are taken as missing; word "": empty ones */
    FMT_FOUND_WORD,         /* cells with a word that could mean missing, taken as a word */
    FMT_FOUND_SENTINEL,     /* cells with a number or date far from all others that often means missing: kept */
    FMT_FOUND_ODD,          /* cells that are no numbers where nearly all are: kept */
    FMT_FOUND_DAY_OR_MONTH, /* dates that could be read two ways; word: the pattern taken, other: the other */
    FMT_FOUND_MARK          /* numbers such as 1.234 that could be read two ways; word: the first, other: "." or "," */
} fmt_finding_kind;

typedef struct fmt_finding {
    fmt_finding_kind kind;
    char *column, *word, *other;
    size_t cells;
} fmt_finding;

typedef struct fmt_inference {
    fmt_schema schema;
    size_t rows;      /* looked at */
    bool whole;       /* these are all there are */
    bool header;      /* the first record was one */
    bool latin1;      /* the text is no UTF-8, and was read as Windows-1252 */
    fmt_words reason; /* of every ignored column, in a few words */
    size_t finding_count;
    fmt_finding *finding;
    size_t ragged, ragged_line; /* rows that have more or fewer cells, and the first one's line */
    size_t far, wide;           /* values beyond FMT_FAR and beyond FMT_CLIP */
} fmt_inference;

typedef struct fmt_infer_options {
    const fmt_wish *wishes;
    size_t wish_count;
    const fmt_words *missing;     /* words that mean missing; NULL: the usual ones alone */
    const fmt_words *not_missing; /* words that do not; NULL: none */
    char decimal;                 /* '.' or ','; 0: find out */
    size_t rows;                  /* looked at, at most; 0: all */
} fmt_infer_options;

/* Looks at the rows. Names that were wished for and are not there are an error. docs/TABLES.md has the rules. */
bpcn_status fmt_infer(FILE *stream, const char *name, const fmt_infer_options *options, fmt_inference *inference);
void fmt_inference_free(fmt_inference *inference);

/* Centre and scale of numbers [count >= 1], which are sorted: mean and deviation with the extreme hundredth on either
 * side brought to the rest, rounded to three digits of the scale. Where that leaves nothing (nearly all are the same):
 * the median, and how far the others typically are from it; of a constant, a tenth of it. */
void fmt_centre_and_scale(double *values, size_t count, double *centre, double *scale);

#endif
