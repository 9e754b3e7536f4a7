/* jpeg.c: JPEG in and out by libjpeg-turbo. Errors come by longjmp: all that outlives a jump is in one struct. Damage
 * that libjpeg would paper over with grey is an error here, because a memory would learn it. */
#include "internal.h"

#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>

#include <jpeglib.h>
#include <jerror.h>

enum { MOST_SCANS = 200 }; /* a sound progressive file has some ten */

typedef struct jpeg_input {
    struct jpeg_decompress_struct cinfo;
    struct jpeg_error_mgr errors;
    struct jpeg_progress_mgr progress;
    const fmti_source *source;
    fmti_picture *picture;
    uint8_t *row;
    unsigned orientation;
    bpcn_status status;
    jmp_buf jump;
} jpeg_input;

static void fail_read(jpeg_input *in)
{
    char text[JMSG_LENGTH_MAX];
    in->errors.format_message((j_common_ptr)&in->cinfo, text);
    in->status = fmti_fail(BPCN_FORMAT, in->source->name, "is a damaged JPEG (%s)", text);
    longjmp(in->jump, 1);
}

static void on_read_error(j_common_ptr cinfo)
{
    fail_read(cinfo->client_data);
}

static void on_read_message(j_common_ptr cinfo, int level)
{
    jpeg_input *in = cinfo->client_data;
    if (level >= 0)
        return; /* a trace, not a warning */
    switch (in->errors.msg_code) {
    case JWRN_JPEG_EOF:
    case JWRN_HIT_MARKER:
    case JWRN_HUFF_BAD_CODE:
    case JWRN_ARITH_BAD_CODE:
    case JWRN_MUST_RESYNC:
        fail_read(in);
        break;
    default: /* oddities that leave the pixels whole */
        break;
    }
}

static void on_progress(j_common_ptr cinfo)
{
    jpeg_input *in = cinfo->client_data;
    if (!cinfo->is_decompressor || in->cinfo.input_scan_number <= MOST_SCANS)
        return;
    in->status = fmti_fail(BPCN_REFUSED, in->source->name, "has more than %d scans", MOST_SCANS);
    longjmp(in->jump, 1);
}

static void on_message_text(j_common_ptr cinfo)
{
    (void)cinfo;
}

/* CMYK as Adobe writes it is inverted: 255 is no ink. */
static void put_pixel(const jpeg_input *in, const uint8_t *pixel, size_t i)
{
    fmti_picture *p = in->picture;
    size_t plane = p->height * p->width;
    if (in->cinfo.out_color_space != JCS_CMYK) {
        for (size_t c = 0; c < p->channels; c++)
            p->data[c * plane + i] = fmti_pixel(pixel[c], 255);
        return;
    }
    for (size_t c = 0; c < 3; c++) {
        unsigned ink = pixel[c], black = pixel[3];
        if (!in->cinfo.saw_Adobe_marker) {
            ink = 255 - ink;
            black = 255 - black;
        }
        p->data[c * plane + i] = fmti_pixel(ink * black, 255 * 255);
    }
}

/* 1 where no marker says otherwise. */
static unsigned orientation_of(const struct jpeg_decompress_struct *c)
{
    unsigned orientation = 1;
    for (jpeg_saved_marker_ptr m = c->marker_list; m != NULL && orientation == 1; m = m->next)
        orientation = fmti_exif_orientation(m->data, m->data_length);
    return orientation;
}

static void read_header(jpeg_input *in)
{
    struct jpeg_decompress_struct *c = &in->cinfo;
    jpeg_create_decompress(c);
    c->progress = &in->progress;
    jpeg_mem_src(c, in->source->data, (unsigned long)in->source->size);
    jpeg_save_markers(c, JPEG_APP0 + 1, 0xFFFF);
    jpeg_read_header(c, TRUE);
    in->orientation = orientation_of(c); /* markers do not outlive the reading */
    if (c->num_components == 1)
        c->out_color_space = JCS_GRAYSCALE;
    else if (c->num_components == 4)
        c->out_color_space = JCS_CMYK;
    else
        c->out_color_space = JCS_RGB;
    in->status =
        fmti_picture_alloc(in->source, c->image_height, c->image_width, c->num_components == 1 ? 1 : 3, in->picture);
    if (in->status != BPCN_OK)
        longjmp(in->jump, 1);
}

static void read_all(jpeg_input *in)
{
    if (setjmp(in->jump) != 0)
        return; /* whoever jumped left the status */
    read_header(in);
    jpeg_start_decompress(&in->cinfo);
    size_t components = (size_t)in->cinfo.output_components;
    in->row = malloc(in->picture->width * components);
    if (in->row == NULL) {
        in->status = fmti_no_memory(in->source->name, in->picture->width * components);
        return;
    }
    while (in->cinfo.output_scanline < in->cinfo.output_height) {
        size_t y = in->cinfo.output_scanline;
        jpeg_read_scanlines(&in->cinfo, &in->row, 1);
        for (size_t x = 0; x < in->picture->width; x++)
            put_pixel(in, in->row + x * components, y * in->picture->width + x);
    }
    jpeg_finish_decompress(&in->cinfo);
}

bpcn_status fmti_jpeg_read(const fmti_source *source, fmti_picture *picture)
{
    if (source->size < 3 || source->data[0] != 0xFF || source->data[1] != 0xD8)
        return fmti_fail(BPCN_FORMAT, source->name, "is not a JPEG picture");
    jpeg_input *in = fmti_alloc(1, sizeof *in);
    if (in == NULL)
        return fmti_no_memory(source->name, sizeof *in);
    in->source = source;
    in->picture = picture;
    in->cinfo.err = jpeg_std_error(&in->errors);
    in->cinfo.client_data = in;
    in->errors.error_exit = on_read_error;
    in->errors.emit_message = on_read_message;
    in->errors.output_message = on_message_text;
    in->progress.progress_monitor = on_progress;
    read_all(in);
    bpcn_status status = in->status;
    if (status == BPCN_OK)
        status = fmti_picture_turn(source, in->orientation, picture);
    jpeg_destroy_decompress(&in->cinfo);
    free(in->row);
    free(in);
    return status;
}

typedef struct jpeg_output {
    struct jpeg_compress_struct cinfo;
    struct jpeg_error_mgr errors;
    fmt_output *out;
    const float *data;
    size_t height, width, channels;
    uint8_t *row;
    unsigned char *bytes; /* the whole file, made in memory */
    unsigned long size;
    bpcn_status status;
    jmp_buf jump;
} jpeg_output;

static void on_write_error(j_common_ptr cinfo)
{
    jpeg_output *o = cinfo->client_data;
    char text[JMSG_LENGTH_MAX];
    o->errors.format_message(cinfo, text);
    o->status = fmti_fail(BPCN_NO_MEMORY, o->out->name, "cannot make the JPEG (%s)", text);
    longjmp(o->jump, 1);
}

static void compress_all(jpeg_output *o)
{
    struct jpeg_compress_struct *c = &o->cinfo;
    if (setjmp(o->jump) != 0)
        return;
    jpeg_create_compress(c);
    jpeg_mem_dest(c, &o->bytes, &o->size);
    c->image_width = (JDIMENSION)o->width;
    c->image_height = (JDIMENSION)o->height;
    c->input_components = (int)o->channels;
    c->in_color_space = o->channels == 3 ? JCS_RGB : JCS_GRAYSCALE;
    jpeg_set_defaults(c);
    jpeg_set_quality(c, 95, TRUE);
    jpeg_start_compress(c, TRUE);
    while (c->next_scanline < c->image_height) {
        fmti_interleave_row(o->data, o->height, o->width, o->channels, c->next_scanline, o->row);
        jpeg_write_scanlines(c, &o->row, 1);
    }
    jpeg_finish_compress(c);
}

bpcn_status fmti_jpeg_write(fmt_output *out, const float *data, size_t height, size_t width, size_t channels)
{
    jpeg_output *o = fmti_alloc(1, sizeof *o);
    if (o == NULL)
        return fmti_no_memory(out->name, sizeof *o);
    o->out = out;
    o->data = data;
    o->height = height;
    o->width = width;
    o->channels = channels;
    o->row = malloc(width * channels);
    o->cinfo.err = jpeg_std_error(&o->errors);
    o->cinfo.client_data = o;
    o->errors.error_exit = on_write_error;
    o->errors.output_message = on_message_text;
    if (o->row == NULL)
        o->status = fmti_no_memory(out->name, width * channels);
    else
        compress_all(o);
    bpcn_status status = o->status;
    if (status == BPCN_OK)
        status = fmt_output_put(out, o->bytes, o->size);
    jpeg_destroy_compress(&o->cinfo);
    free(o->bytes);
    free(o->row);
    free(o);
    return status;
}
