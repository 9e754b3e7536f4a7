/* formats.h: rows of floats from files and to files. Pictures, arrays and tables come in as one fmt_table and leave in
 * the same shapes. This module shares the library's errors, knows no memories, never prints and never exits.
 *
 *     fmt_options o = fmt_options_default();
 *     fmt_table t;
 *     if (fmt_read("digits.npy", &o, &t) != BPCN_OK) complain(bpcn_error());
 *     ... t.rows rows of t.dim floats in t.data ...
 *     fmt_table_free(&t);
 *
 * What is read, and how it becomes rows
 *   PNG, JPEG, PNM   one row per picture. PNG: 1 to 16 bits, grey, RGB or
 *                    palette (palettes become RGB), interlaced or not; alpha is
 *                    laid over black; gamma and colour profiles are ignored.
 *                    JPEG: grey, colour, CMYK; turned as EXIF says. PNM:
 *                    P2 P3 P5 P6, maxval to 65535, one picture per file.
 *   a folder         one row per picture in it (fmt_is_picture_name), sorted by
 *                    name in byte order ("10.png" before "2.png"); other and
 *                    hidden files are passed over.
 *   IDX              MNIST's format, gzipped or not. Bytes in three dimensions
 *                    are grey pictures; bytes in one dimension are labels (also
 *                    given as rows of one value); anything else is an array.
 *   CIFAR-10 binary  3073-byte records: a label, then 32x32 red, green, blue.
 *   .npy .npz        float16/32/64, every integer width, bool; either byte
 *                    order, C or Fortran order. The first axis counts rows, the
 *                    others are flattened in C order; an array of one axis is
 *                    ONE row, an array of none is one row of one value.
 *   CSV              one row per record, separated by , or ; or tab or spaces
 *                    (records.h). A first record with no number in it is a
 *                    header and is skipped; schema.h reads tables with words.
 *   raw              float32, little-endian, nothing else; options.dim needed.
 *
 * Values. A picture's value v of v_max becomes 2 v / v_max - 1, in [-1, 1].
 * Arrays are taken as they are, unless scale_bytes says bytes are pixels.
 * A picture's row holds channel planes: all red, all green, all blue, each
 * plane row by row from the top: data[(channel * height + y) * width + x].
 *
 * Errors. A function that fails returns a status and leaves one sentence, which names the file and the fault, in
 * bpcn_error(): BPCN_IO and BPCN_NO_SPACE (the system), BPCN_FORMAT (not this kind of file, damaged, or not read here),
 * BPCN_INVALID (the arguments, or a file that the options do not allow), BPCN_NUMERIC (a value beyond options.largest),
 * BPCN_REFUSED (larger than a limit), BPCN_NO_MEMORY. Rows and columns of arrays are counted from 0, lines and columns
 * of CSV from 1, as NumPy and editors do. After an error the result holds nothing to free. Any number of threads may
 * call anything here at once on different objects. */
#ifndef BAYESPCN_FORMATS_H
#define BAYESPCN_FORMATS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "bayespcn.h"

enum {
    FMT_MAX_SIDE = 16384,      /* a picture's height or width at most */
    FMT_MAX_PIXELS = 64 << 20, /* height * width at most */
    FMT_MAX_AXES = 8           /* axes of an array at most */
};

typedef enum fmt_kind {
    FMT_ANY = 0, /* reading: by content, then suffix; writing: by suffix */
    FMT_PNG = 1,
    FMT_JPEG = 2,
    FMT_PNM = 3,
    FMT_NPY = 4,
    FMT_NPZ = 5,
    FMT_IDX = 6,
    FMT_CIFAR = 7,
    FMT_CSV = 8,
    FMT_RAW = 9,
    FMT_FOLDER = 10
} fmt_kind;

typedef struct fmt_table {
    size_t rows, dim;
    size_t height, width, channels; /* all 0 when the rows are not pictures */
    float *data;                    /* [rows x dim] row-major */
    uint8_t *labels;                /* [rows], or NULL when the file has none */
} fmt_table;

typedef struct fmt_options {
    fmt_kind kind;        /* what the file is; FMT_ANY: find out */
    size_t dim;           /* values wanted per row; 0: any (raw needs it) */
    size_t height;        /* picture shape wanted; 0: any. Given all three, an */
    size_t width;         /*   array's rows must have that many values and take */
    size_t channels;      /*   that shape. channels: 1 grey or 3 RGB */
    bool resize;          /* resample pictures to the shape wanted (area mean */
                          /*   when shrinking, bilinear when growing), and recolour */
    bool recolour;        /* only turn grey to RGB or RGB to grey (Rec. 601) */
    bool scale_bytes;     /* uint8 arrays: map to [-1, 1] like pixels */
    bool allow_nonfinite; /* let NaN and Inf through; default: an error */
    bool allow_missing;   /* let NaN through, and missing cells of a CSV as NaN */
    double largest;       /* magnitude of a value at most; 0: any */
    size_t last_height;   /* arrays whose rows have this shape, channels last, */
    size_t last_width;    /*   become channel planes; 0: none */
    size_t last_channels;
    size_t first_row;   /* rows to pass over first */
    size_t max_rows;    /* rows to take at most; 0: all */
    size_t skip_lines;  /* CSV: lines to pass over first */
    const char *member; /* .npz: the array's name; NULL: the only one */
    size_t max_values;  /* floats to hold at most; default 2^31 */
} fmt_options;

fmt_options fmt_options_default(void);
void fmt_table_free(fmt_table *table);    /* leaves it empty; NULL is fine */
const char *fmt_kind_name(fmt_kind kind); /* "PNG", "CIFAR-10 binary", ... */

/* The kind of a file by its first bytes and, failing that, its name's suffix;
 * FMT_ANY when neither tells. data holds the whole file. */
fmt_kind fmt_recognise(const char *name, const uint8_t *data, size_t size);

/* Whether a file is a picture by its suffix: png jpg jpeg pgm ppm pnm, and what
 * is refused when read, so that nobody misses it: bmp gif tif tiff webp heic
 * avif. Hidden files are none. */
bool fmt_is_picture_name(const char *name);

/* ---- Reading rows. options may be NULL for the defaults. ---- */

/* A file or a folder. */
bpcn_status fmt_read(const char *path, const fmt_options *options, fmt_table *table);

/* An open stream to its end; name is what errors call it. Raw with max_rows
 * reads no further than those rows, so that a long stream can be taken in
 * batches: the end of the stream is a table of 0 rows. */
bpcn_status fmt_read_stream(FILE *stream, const char *name, const fmt_options *options, fmt_table *table);

/* A file already in memory, which is not kept. */
bpcn_status fmt_read_memory(const uint8_t *data, size_t size, const char *name, const fmt_options *options,
                            fmt_table *table);

/* ---- Reading arrays exactly: any shape, as doubles in C order, NaN and all.
 * Integers beyond 2^53 are rounded. ---- */

typedef struct fmt_array {
    size_t ndim, shape[FMT_MAX_AXES];
    size_t count; /* product of the shape; 1 when ndim is 0 */
    double *data; /* [count], C order */
} fmt_array;

typedef struct fmt_names {
    size_t count;
    char **name; /* [count] */
} fmt_names;

bpcn_status fmt_npy_read_f64(const char *path, fmt_array *array);
bpcn_status fmt_npy_parse_f64(const uint8_t *data, size_t size, const char *name, fmt_array *array);

/* member: the array's name with or without ".npy"; NULL: the only one. */
bpcn_status fmt_npz_read_f64(const char *path, const char *member, fmt_array *array);
bpcn_status fmt_npz_parse_f64(const uint8_t *data, size_t size, const char *name, const char *member, fmt_array *array);

/* The arrays of an .npz, without ".npy", in file order. */
bpcn_status fmt_npz_list(const char *path, fmt_names *names);
bpcn_status fmt_npz_parse_list(const uint8_t *data, size_t size, const char *name, fmt_names *names);

void fmt_array_free(fmt_array *array);
void fmt_names_free(fmt_names *names);

/* ---- Writing. A path is written as a new file beside it, which takes its
 * place only when whole and on disk: a full disk or an interruption leaves what
 * was there. A path that names a pipe or device is written to directly. ---- */

/* Whether an output may have this name: a new one, that of a file, which is
 * replaced, or that of a stream, which is written to (a pipe, /dev/null, what
 * /dev/stdout and the like lead to). Not a folder, and no device. */
bpcn_status fmt_check_output(const char *path);

/* Bytes as they come: open, put, and close with BPCN_OK to keep them or anything else to leave what was there. The path
 * "-" is standard output. Closing frees, does nothing to NULL, and returns the status that it was given, or what went
 * wrong in closing. */
typedef struct fmt_output fmt_output;
bpcn_status fmt_output_open(const char *path, fmt_output **out);
bpcn_status fmt_output_put(fmt_output *out, const void *data, size_t size);
bpcn_status fmt_output_flush(fmt_output *out); /* hands on what was put so far */
bpcn_status fmt_output_close(fmt_output *out, bpcn_status status);

/* A table: .npy (float32, [rows x dim]), .npz (that as "data", and "labels" if
 * any), .csv (numbers that read back to the same floats), .f32 .raw, or, for a
 * table of one picture, .png .jpg .jpeg .ppm .pgm .pnm. */
bpcn_status fmt_write(const char *path, fmt_kind kind, const fmt_table *table);
bpcn_status fmt_write_stream(FILE *stream, const char *name, fmt_kind kind, const fmt_table *table);

/* A picture from [channels x height x width] floats: clamped to [-1, 1],
 * rounded to the nearest of 256 levels (NaN is black). channels is 1 or 3;
 * .pgm wants 1, .ppm wants 3; JPEG at quality 95. */
bpcn_status fmt_write_image(const char *path, fmt_kind kind, const float *data, size_t height, size_t width,
                            size_t channels);

typedef enum fmt_type { FMT_F32 = 0, FMT_F64 = 1, FMT_U8 = 2 } fmt_type;

typedef struct fmt_member {
    const char *name; /* within the .npz, without ".npy"; unused for .npy */
    fmt_type type;
    size_t ndim, shape[FMT_MAX_AXES];
    const void *data; /* C order */
} fmt_member;

bpcn_status fmt_write_npy(const char *path, const fmt_member *array);

/* Every member below 4 GiB, and the file too (no zip64). */
bpcn_status fmt_write_npz(const char *path, const fmt_member *members, size_t count, bool deflate);

/* ---- Grids: equal pictures side by side in one, as in truth | query | answer.
 * Write it with fmt_write_image(path, kind, g.data, g.height, g.width,
 * g.channels). ---- */

typedef struct fmt_grid {
    size_t rows, columns, margin; /* margin: pixels around every cell */
    size_t cell_height, cell_width, channels;
    size_t height, width; /* of the whole picture */
    float *data;          /* [channels x height x width] */
} fmt_grid;

/* An empty grid, every pixel at background (in [-1, 1]). */
bpcn_status fmt_grid_create(size_t rows, size_t columns, size_t cell_height, size_t cell_width, size_t channels,
                            size_t margin, float background, fmt_grid *grid);
/* Draws one cell; image: [channels x cell_height x cell_width]. */
bpcn_status fmt_grid_put(fmt_grid *grid, size_t row, size_t column, const float *image);
void fmt_grid_free(fmt_grid *grid);

#endif
