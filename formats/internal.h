/* internal.h: what the files of formats/ share. A reader takes a fmti_source and fills a table; a writer puts bytes
 * into a fmt_output. */
#ifndef BAYESPCN_FORMATS_INTERNAL_H
#define BAYESPCN_FORMATS_INTERNAL_H

#include "formats.h"

/* Bytes per compressed byte at most in deflate; a header that promises more lies. */
enum { FMTI_DEFLATE_RATIO = 1032 };

typedef struct fmti_source {
    const char *name;
    const uint8_t *data;
    size_t size;
    const fmt_options *options;
} fmti_source;

/* read.c. bpcn_fail with "NAME: " before the sentence; name may be NULL. */
bpcn_status fmti_fail(bpcn_status status, const char *name, const char *format, ...) BPCN_PRINTF(3, 4);
bpcn_status fmti_no_memory(const char *name, size_t bytes);
/* "NAME: cannot VERB: " and the system's words for the number; BPCN_NO_SPACE when the disk is full. */
bpcn_status fmti_fail_errno(const char *name, const char *verb, int number);
bool fmti_multiply(size_t a, size_t b, size_t *product); /* false: overflow */
void *fmti_alloc(size_t count, size_t size);             /* zeroed, never of size 0 */
bpcn_status fmti_table_alloc(const fmti_source *source, size_t rows, size_t dim, fmt_table *table);
/* Which rows of total the options take: [*first, *first + *count). */
bpcn_status fmti_select_rows(const fmti_source *source, size_t total, size_t *first, size_t *count);
bool fmti_value_is_fine(const fmt_options *options, float value);
bool fmti_has_suffix(const char *name, const char *suffix); /* any case */
fmt_kind fmti_kind_by_suffix(const char *name, bool writing);
/* The kind of a picture that is known but not read here; NULL: none. */
const char *fmti_foreign_picture(const uint8_t *data, size_t size);
bpcn_status fmti_refuse_picture(const fmti_source *source, const char *kind);

/* cells.c. Whether the words are codes of two or three capitals, four or more of them, and the text looks like them: NA
 * is Namibia among AO, BW and ZA. */
struct fmt_words;
bool fmti_words_are_codes(const struct fmt_words *words, const char *text, size_t size);

/* picture.c */
float fmti_pixel(unsigned value, unsigned maximum); /* to [-1, 1] */
uint8_t fmti_byte(float value);                     /* from [-1, 1] */

/* bytes.c: numbers */
/* clang-format off */
typedef enum fmti_number {
    FMTI_BOOL, FMTI_U8, FMTI_I8, FMTI_U16, FMTI_I16, FMTI_U32, FMTI_I32, FMTI_U64, FMTI_I64, FMTI_F16, FMTI_F32, FMTI_F64
} fmti_number;
/* clang-format on */
size_t fmti_number_size(fmti_number number);
double fmti_load(const uint8_t *bytes, fmti_number number, bool big_endian);
float fmti_narrow(double value); /* beyond float32 is infinite, not undefined */
uint32_t fmti_le32(const uint8_t *bytes);
unsigned fmti_le16(const uint8_t *bytes);
uint32_t fmti_be32(const uint8_t *bytes);
bool fmti_host_is_big_endian(void);

/* bytes.c: whole files */
typedef struct fmti_bytes {
    uint8_t *data;
    size_t size;
} fmti_bytes;
bpcn_status fmti_slurp(const char *path, size_t limit, fmti_bytes *bytes);
bpcn_status fmti_slurp_stream(FILE *stream, const char *name, size_t limit, fmti_bytes *bytes);
size_t fmti_file_limit(const fmt_options *options);

/* write.c */
struct fmt_output {
    FILE *file;
    const char *name; /* as the caller calls it, for errors */
    char *target;     /* what is replaced at the end; NULL: written directly */
    char *temporary;
    bool owned; /* the file is ours to close */
};
bpcn_status fmti_output_stream(FILE *stream, const char *name, fmt_output **out);

/* bytes.c: deflate; window_bits as zlib has them: -15 bare deflate, 31 gzip */
size_t fmti_inflate_prefix(const uint8_t *packed, size_t packed_size, int window_bits, uint8_t *out, size_t out_size);
/* Exactly size bytes, ending where the packed bytes end, or an error. */
bpcn_status fmti_inflate(const fmti_source *source, const uint8_t *packed, size_t packed_size, int window_bits,
                         size_t size, uint8_t **out);

/* picture.c: one decoded picture */
typedef struct fmti_picture {
    size_t height, width, channels;
    float *data; /* [channels x height x width] in [-1, 1] */
} fmti_picture;
bpcn_status fmti_picture_alloc(const fmti_source *source, size_t height, size_t width, size_t channels,
                               fmti_picture *picture);
void fmti_picture_free(fmti_picture *picture);
/* "64x48 RGB" (width x height) */
void fmti_describe(size_t height, size_t width, size_t channels, char out[64]);
/* Brings a picture to the shape the options want, or says why not. */
bpcn_status fmti_picture_fit(const fmti_source *source, fmti_picture *picture);
/* Pictures of bytes, the first at source->data + start, each `stride` bytes after the one before, planes in order. */
bpcn_status fmti_byte_pictures(const fmti_source *source, size_t start, size_t stride, size_t total, size_t height,
                               size_t width, size_t channels, fmt_table *table);
bpcn_status fmti_picture_to_table(const fmti_source *source, fmti_picture *picture, fmt_table *table);
/* Decodes a PNG, JPEG or PNM and fits it. */
bpcn_status fmti_picture_read(const fmti_source *source, fmt_kind kind, fmti_picture *picture);
/* Row y, clamped, rounded, pixel by pixel (RGBRGB...), as writers want it. */
void fmti_interleave_row(const float *data, size_t height, size_t width, size_t channels, size_t y, uint8_t *row);

/* How a picture is to be turned, 1 (as it is) to 8, by the bytes of an APP1 marker; and turning it. */
unsigned fmti_exif_orientation(const uint8_t *data, size_t size);
bpcn_status fmti_picture_turn(const fmti_source *source, unsigned orientation, fmti_picture *picture);

/* one per format */
bpcn_status fmti_png_read(const fmti_source *source, fmti_picture *picture);
bpcn_status fmti_jpeg_read(const fmti_source *source, fmti_picture *picture);
bpcn_status fmti_pnm_read(const fmti_source *source, fmti_picture *picture);
bpcn_status fmti_npy_read(const fmti_source *source, fmt_table *table);
bpcn_status fmti_npy_array(const fmti_source *source, fmt_array *array);
bpcn_status fmti_npz_read(const fmti_source *source, fmt_table *table);
bool fmti_idx_fits(const uint8_t *data, size_t size);
bpcn_status fmti_idx_read(const fmti_source *source, fmt_table *table);
bpcn_status fmti_cifar_read(const fmti_source *source, fmt_table *table);
bpcn_status fmti_csv_read(const fmti_source *source, fmt_table *table);
bpcn_status fmti_raw_read(const fmti_source *source, fmt_table *table);
bpcn_status fmti_raw_stream(FILE *stream, const fmti_source *source, fmt_table *table);
bpcn_status fmti_folder_read(const fmti_source *source, fmt_table *table);

bpcn_status fmti_png_write(fmt_output *out, const float *data, size_t height, size_t width, size_t channels);
bpcn_status fmti_jpeg_write(fmt_output *out, const float *data, size_t height, size_t width, size_t channels);
bpcn_status fmti_pnm_write(fmt_output *out, const float *data, size_t height, size_t width, size_t channels);
bpcn_status fmti_npy_write(fmt_output *out, const fmt_member *array);
bpcn_status fmti_npz_write(fmt_output *out, const fmt_member *members, size_t count, bool deflate);
bpcn_status fmti_csv_write(fmt_output *out, const fmt_table *table);
bpcn_status fmti_raw_write(fmt_output *out, const float *data, size_t count);

/* npy.c: the header of an array, and the number of bytes after it */
enum { FMTI_NPY_HEADER = 512 };
bpcn_status fmti_npy_header(const char *name, const fmt_member *array, uint8_t header[FMTI_NPY_HEADER],
                            size_t *header_size, size_t *data_size);

#endif
