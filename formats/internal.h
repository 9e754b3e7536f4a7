/* internal.h: what the files of formats/ share among themselves. A reader gets
 * a fmti_source (the bytes, their name, the options, where to complain) and
 * fills a table; a writer gets a fmti_output and puts bytes into it. */
#ifndef BAYESPCN_FORMATS_INTERNAL_H
#define BAYESPCN_FORMATS_INTERNAL_H

#include "formats.h"

/* Deflate cannot expand by more than this, so a header that promises more than
 * FMTI_DEFLATE_RATIO bytes per compressed byte lies. */
enum { FMTI_DEFLATE_RATIO = 1032 };

typedef struct fmti_source {
    const char *name;
    const uint8_t *data;
    size_t size;
    const fmt_options *options;
    fmt_error *error;
} fmti_source;

/* core.c: name may be NULL, where the sentence says what it is about */
#if defined(__GNUC__)
__attribute__((format(printf, 4, 5)))
#endif
fmt_status fmti_fail(fmt_error *error, fmt_status status, const char *name,
                     const char *format, ...);
fmt_status fmti_no_memory(fmt_error *error, const char *name, size_t bytes);
/* Adds ": " and the system's words for errno to what is said of name. */
fmt_status fmti_fail_errno(fmt_error *error, const char *name, const char *verb,
                           int number);
bool fmti_multiply(size_t a, size_t b, size_t *product); /* false: overflow */
void *fmti_alloc(size_t count, size_t size);  /* zeroed, never of size 0 */
fmt_status fmti_table_alloc(const fmti_source *source, size_t rows, size_t dim,
                            fmt_table *table);
/* Which rows of total the options take: [*first, *first + *count). */
fmt_status fmti_select_rows(const fmti_source *source, size_t total,
                            size_t *first, size_t *count);
bool fmti_value_is_fine(const fmt_options *options, float value);
/* The options against a table just read: dim, picture shape, NaN and Inf. */
fmt_status fmti_check_table(const fmti_source *source, fmt_table *table);
bool fmti_has_suffix(const char *name, const char *suffix); /* any case */
float fmti_pixel(unsigned value, unsigned maximum);  /* to [-1, 1] */
uint8_t fmti_byte(float value);                      /* from [-1, 1] */

/* number.c: one number from bytes */
typedef enum fmti_number {
    FMTI_BOOL, FMTI_U8, FMTI_I8, FMTI_U16, FMTI_I16, FMTI_U32, FMTI_I32,
    FMTI_U64, FMTI_I64, FMTI_F16, FMTI_F32, FMTI_F64
} fmti_number;
size_t fmti_number_size(fmti_number number);
double fmti_load(const uint8_t *bytes, fmti_number number, bool big_endian);
float fmti_narrow(double value); /* beyond float32 is infinite, not undefined */
uint32_t fmti_le32(const uint8_t *bytes);
unsigned fmti_le16(const uint8_t *bytes);
uint32_t fmti_be32(const uint8_t *bytes);
bool fmti_host_is_big_endian(void);

/* file.c */
typedef struct fmti_bytes {
    uint8_t *data;
    size_t size;
} fmti_bytes;
fmt_status fmti_slurp(const char *path, size_t limit, fmti_bytes *bytes,
                      fmt_error *error);
fmt_status fmti_slurp_stream(FILE *stream, const char *name, size_t limit,
                             fmti_bytes *bytes, fmt_error *error);
size_t fmti_file_limit(const fmt_options *options);

typedef struct fmti_output {
    FILE *file;
    const char *name;   /* as the caller calls it, for errors */
    char *target;       /* what is replaced at the end; NULL: written directly */
    char *temporary;
    bool owned;         /* file is ours to close */
    fmt_error *error;
} fmti_output;
fmt_status fmti_output_open(const char *path, fmti_output *out, fmt_error *error);
void fmti_output_stream(FILE *stream, const char *name, fmti_output *out,
                        fmt_error *error);
fmt_status fmti_put(fmti_output *out, const void *data, size_t size);
/* Finishes when status is FMT_OK, else undoes; answers with what happened. */
fmt_status fmti_output_close(fmti_output *out, fmt_status status);

/* read.c: what a picture is that is known, but not read here; NULL: it is none. */
const char *fmti_foreign_picture(const uint8_t *data, size_t size);
fmt_status fmti_refuse_picture(const fmti_source *source, const char *kind);

/* inflate.c. window_bits as zlib has them: -15 bare deflate, 31 gzip. */
size_t fmti_inflate_prefix(const uint8_t *packed, size_t packed_size,
                           int window_bits, uint8_t *out, size_t out_size);
/* Exactly size bytes, ending where the packed bytes end, or an error. */
fmt_status fmti_inflate(const fmti_source *source, const uint8_t *packed,
                        size_t packed_size, int window_bits, size_t size,
                        uint8_t **out);

/* picture.c: one decoded picture */
typedef struct fmti_picture {
    size_t height, width, channels;
    float *data; /* [channels x height x width] in [-1, 1] */
} fmti_picture;
fmt_status fmti_picture_alloc(const fmti_source *source, size_t height,
                              size_t width, size_t channels,
                              fmti_picture *picture);
void fmti_picture_free(fmti_picture *picture);
/* "64x48 RGB" (width x height) */
void fmti_describe(size_t height, size_t width, size_t channels, char out[64]);
/* Brings a picture to the shape the options want, or says why not. */
fmt_status fmti_picture_fit(const fmti_source *source, fmti_picture *picture);
/* rows pictures of bytes, the first at source->data + start, each stride bytes
 * after the one before, planes in order. */
fmt_status fmti_byte_pictures(const fmti_source *source, size_t start,
                              size_t stride, size_t total, size_t height,
                              size_t width, size_t channels, fmt_table *table);
fmt_status fmti_picture_to_table(const fmti_source *source, fmti_picture *picture,
                                 fmt_table *table);
/* Decodes a PNG, JPEG or PNM and fits it. */
fmt_status fmti_picture_read(const fmti_source *source, fmt_kind kind,
                             fmti_picture *picture);
/* Clamped, rounded, pixel by pixel (RGBRGB...): what writers want. */
void fmti_interleave_row(const float *data, size_t height, size_t width,
                         size_t channels, size_t y, uint8_t *row);

/* exif.c: how a picture is to be turned, 1 (as it is) to 8, by the bytes of an
 * APP1 marker; and turning it. */
unsigned fmti_exif_orientation(const uint8_t *data, size_t size);
fmt_status fmti_picture_turn(const fmti_source *source, unsigned orientation,
                             fmti_picture *picture);

/* one per format */
fmt_status fmti_png_read(const fmti_source *source, fmti_picture *picture);
fmt_status fmti_jpeg_read(const fmti_source *source, fmti_picture *picture);
fmt_status fmti_pnm_read(const fmti_source *source, fmti_picture *picture);
fmt_status fmti_npy_read(const fmti_source *source, fmt_table *table);
fmt_status fmti_npy_array(const fmti_source *source, fmt_array *array);
fmt_status fmti_npz_read(const fmti_source *source, fmt_table *table);
bool fmti_idx_fits(const uint8_t *data, size_t size);
fmt_status fmti_idx_read(const fmti_source *source, fmt_table *table);
fmt_status fmti_cifar_read(const fmti_source *source, fmt_table *table);
fmt_status fmti_csv_read(const fmti_source *source, fmt_table *table);
fmt_status fmti_raw_read(const fmti_source *source, fmt_table *table);
fmt_status fmti_raw_stream(FILE *stream, const fmti_source *source,
                           fmt_table *table);
fmt_status fmti_folder_read(const fmti_source *source, fmt_table *table);

fmt_status fmti_png_write(fmti_output *out, const float *data, size_t height,
                          size_t width, size_t channels);
fmt_status fmti_jpeg_write(fmti_output *out, const float *data, size_t height,
                           size_t width, size_t channels);
fmt_status fmti_pnm_write(fmti_output *out, const float *data, size_t height,
                          size_t width, size_t channels);
fmt_status fmti_npy_write(fmti_output *out, const fmt_member *array);
fmt_status fmti_npz_write(fmti_output *out, const fmt_member *members,
                          size_t count, bool deflate);
fmt_status fmti_csv_write(fmti_output *out, const fmt_table *table);
fmt_status fmti_raw_write(fmti_output *out, const float *data, size_t count);

/* npy_write.c: the header of an array, and the bytes of its data after it. */
enum { FMTI_NPY_HEADER = 512 };
fmt_status fmti_npy_header(fmt_error *error, const char *name,
                           const fmt_member *array,
                           uint8_t header[FMTI_NPY_HEADER], size_t *header_size,
                           size_t *data_size);

/* zip.c: reading the directory of a zip file */
typedef struct fmti_zip {
    size_t count, start, end, cursor; /* entries; the directory's place; next */
} fmti_zip;
typedef struct fmti_zip_entry {
    const char *name;   /* not NUL-terminated */
    size_t name_size;
    unsigned method, flags;
    uint32_t crc;
    size_t packed, size, offset;
} fmti_zip_entry;
fmt_status fmti_zip_open(const fmti_source *source, fmti_zip *zip);
fmt_status fmti_zip_next(const fmti_source *source, fmti_zip *zip,
                         fmti_zip_entry *entry);
/* *bytes is the member whole; *owned is NULL or what to free afterwards. */
fmt_status fmti_zip_extract(const fmti_source *source,
                            const fmti_zip_entry *entry, const uint8_t **bytes,
                            uint8_t **owned);

#endif
