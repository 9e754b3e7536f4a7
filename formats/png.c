/* png.c: PNG in and out by libpng. Errors come by longjmp: all that outlives a jump is in one struct, and no local
 * changes after setjmp. */
#include "internal.h"

#include <png.h>
#include <setjmp.h>
#include <stdlib.h>
#include <string.h>

typedef struct png_input {
    const fmti_source *source;
    png_structp png;
    png_infop info;
    size_t at;       /* bytes given to libpng so far */
    uint8_t *raster; /* [height x stride], samples as libpng gives them */
    size_t stride;
    png_uint_32 width, height;
    int samples; /* per pixel: grey 1, with alpha 2, RGB 3, with alpha 4 */
    int bits;    /* per sample: 8 or 16 (big-endian) */
    bpcn_status status;
    jmp_buf jump;
} png_input;

static void on_read_error(png_structp png, png_const_charp message)
{
    png_input *in = png_get_error_ptr(png);
    in->status = fmti_fail(BPCN_FORMAT, in->source->name, "is a damaged PNG (%s)", message);
    longjmp(in->jump, 1);
}

static void on_warning(png_structp png, png_const_charp message)
{
    (void)png;
    (void)message;
}

static void give_bytes(png_structp png, png_bytep out, size_t size)
{
    png_input *in = png_get_io_ptr(png);
    if (size > in->source->size - in->at)
        png_error(png, "cut short");
    memcpy(out, in->source->data + in->at, size);
    in->at += size;
}

/* Limits first, then whether the compressed bytes could hold the picture. */
static bpcn_status check_size(const png_input *in)
{
    const fmti_source *s = in->source;
    size_t bytes;
    if (in->width > FMT_MAX_SIDE || in->height > FMT_MAX_SIDE || (size_t)in->width * in->height > FMT_MAX_PIXELS ||
        (size_t)in->width * in->height > s->options->max_values)
        return fmti_fail(BPCN_REFUSED, s->name, "%lux%lu pixels are more than the limits allow",
                         (unsigned long)in->width, (unsigned long)in->height);
    size_t packed_row =
        ((size_t)in->width * png_get_bit_depth(in->png, in->info) * png_get_channels(in->png, in->info) + 7) / 8;
    if (!fmti_multiply(packed_row, in->height, &bytes) || bytes / FMTI_DEFLATE_RATIO > s->size)
        return fmti_fail(BPCN_FORMAT, s->name, "%lux%lu pixels cannot come from a file of %zu bytes",
                         (unsigned long)in->width, (unsigned long)in->height, s->size);
    return BPCN_OK;
}

/* The header, and what libpng is to make of the rows. */
static void read_header(png_input *in)
{
    png_set_read_fn(in->png, in, give_bytes);
    png_set_user_limits(in->png, 0x7FFFFFFF, 0x7FFFFFFF); /* ours speak clearer */
    /* Text, profiles and the like are passed over unread: libpng would allocate
     * whatever length they claim. Kept are those that make the pixels. */
    png_set_keep_unknown_chunks(in->png, PNG_HANDLE_CHUNK_NEVER, NULL, -1);
    png_read_info(in->png, in->info);
    in->width = png_get_image_width(in->png, in->info);
    in->height = png_get_image_height(in->png, in->info);
    in->status = check_size(in);
    if (in->status != BPCN_OK)
        longjmp(in->jump, 1);
    png_set_expand(in->png); /* palette to RGB, few bits to 8, tRNS to alpha */
}

static void read_raster(png_input *in)
{
    int passes = png_set_interlace_handling(in->png);
    png_read_update_info(in->png, in->info);
    in->stride = png_get_rowbytes(in->png, in->info);
    in->samples = png_get_channels(in->png, in->info);
    in->bits = png_get_bit_depth(in->png, in->info);
    in->raster = fmti_alloc(in->height, in->stride);
    if (in->raster == NULL) {
        in->status = fmti_no_memory(in->source->name, in->height * in->stride);
        longjmp(in->jump, 1);
    }
    for (int pass = 0; pass < passes; pass++)
        for (png_uint_32 y = 0; y < in->height; y++)
            png_read_row(in->png, in->raster + y * in->stride, NULL);
    png_read_end(in->png, NULL);
}

static void read_all(png_input *in)
{
    if (setjmp(in->jump) != 0)
        return; /* whoever jumped left the status */
    read_header(in);
    read_raster(in);
}

static unsigned sample(const png_input *in, const uint8_t *pixel, int index)
{
    if (in->bits == 8)
        return pixel[index];
    return (unsigned)pixel[2 * index] << 8 | pixel[2 * index + 1];
}

/* Alpha over black multiplies the colour by it. */
static float shade(unsigned value, unsigned alpha, unsigned maximum)
{
    double light = (double)value / maximum * ((double)alpha / maximum);
    return (float)(2.0 * light - 1.0);
}

static void unpack(const png_input *in, fmti_picture *picture)
{
    unsigned maximum = in->bits == 8 ? 255 : 65535;
    int colours = in->samples >= 3 ? 3 : 1;
    bool has_alpha = in->samples == 2 || in->samples == 4;
    size_t step = (size_t)in->samples * (in->bits == 8 ? 1 : 2);
    size_t plane = picture->height * picture->width;
    for (size_t i = 0; i < plane; i++) {
        const uint8_t *pixel = in->raster + i / picture->width * in->stride + i % picture->width * step;
        unsigned alpha = has_alpha ? sample(in, pixel, colours) : maximum;
        for (int c = 0; c < colours; c++) {
            unsigned value = sample(in, pixel, c);
            picture->data[(size_t)c * plane + i] =
                alpha == maximum ? fmti_pixel(value, maximum) : shade(value, alpha, maximum);
        }
    }
}

bpcn_status fmti_png_read(const fmti_source *source, fmti_picture *picture)
{
    png_input in = {.source = source, .status = BPCN_OK};
    if (source->size < 8 || png_sig_cmp(source->data, 0, 8) != 0)
        return fmti_fail(BPCN_FORMAT, source->name, "is not a PNG picture");
    in.png = png_create_read_struct(PNG_LIBPNG_VER_STRING, &in, on_read_error, on_warning);
    if (in.png != NULL)
        in.info = png_create_info_struct(in.png);
    if (in.info == NULL)
        in.status = fmti_no_memory(source->name, sizeof in);
    else
        read_all(&in);
    png_destroy_read_struct(&in.png, &in.info, NULL);
    if (in.status == BPCN_OK)
        in.status = fmti_picture_alloc(source, in.height, in.width, in.samples >= 3 ? 3 : 1, picture);
    if (in.status == BPCN_OK)
        unpack(&in, picture);
    free(in.raster);
    return in.status;
}

typedef struct png_output {
    fmt_output *out;
    const float *data;
    size_t height, width, channels;
    png_structp png;
    png_infop info;
    uint8_t *row;
    bpcn_status status;
    jmp_buf jump;
} png_output;

static void on_write_error(png_structp png, png_const_charp message)
{
    png_output *o = png_get_error_ptr(png);
    if (o->status == BPCN_OK)
        o->status = fmti_fail(BPCN_IO, o->out->name, "cannot write the PNG (%s)", message);
    longjmp(o->jump, 1);
}

static void take_bytes(png_structp png, png_bytep bytes, size_t size)
{
    png_output *o = png_get_io_ptr(png);
    o->status = fmt_output_put(o->out, bytes, size);
    if (o->status != BPCN_OK)
        png_error(png, "write failed");
}

static void flush_nothing(png_structp png)
{
    (void)png;
}

static void write_all(png_output *o)
{
    if (setjmp(o->jump) != 0)
        return;
    png_set_write_fn(o->png, o, take_bytes, flush_nothing);
    png_set_IHDR(o->png, o->info, (png_uint_32)o->width, (png_uint_32)o->height, 8,
                 o->channels == 3 ? PNG_COLOR_TYPE_RGB : PNG_COLOR_TYPE_GRAY, PNG_INTERLACE_NONE,
                 PNG_COMPRESSION_TYPE_DEFAULT, PNG_FILTER_TYPE_DEFAULT);
    png_write_info(o->png, o->info);
    for (size_t y = 0; y < o->height; y++) {
        fmti_interleave_row(o->data, o->height, o->width, o->channels, y, o->row);
        png_write_row(o->png, o->row);
    }
    png_write_end(o->png, NULL);
}

bpcn_status fmti_png_write(fmt_output *out, const float *data, size_t height, size_t width, size_t channels)
{
    png_output o = {
        .out = out, .data = data, .height = height, .width = width, .channels = channels, .status = BPCN_OK};
    o.row = malloc(width * channels);
    o.png = png_create_write_struct(PNG_LIBPNG_VER_STRING, &o, on_write_error, on_warning);
    if (o.png != NULL)
        o.info = png_create_info_struct(o.png);
    if (o.row == NULL || o.info == NULL)
        o.status = fmti_no_memory(out->name, width * channels);
    else
        write_all(&o);
    png_destroy_write_struct(&o.png, &o.info);
    free(o.row);
    return o.status;
}
