/* picture.c: decoded pictures on their way to rows: limits on their size, and
 * bringing them to the shape the options want by resampling and recolouring. */
#include "internal.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

fmt_status fmti_picture_alloc(const fmti_source *source, size_t height,
                              size_t width, size_t channels,
                              fmti_picture *picture)
{
    if (height == 0 || width == 0)
        return fmti_fail(source->error, FMT_ERR_FORMAT, source->name,
                         "is a picture of no pixels");
    if (height > FMT_MAX_SIDE || width > FMT_MAX_SIDE ||
        height * width > FMT_MAX_PIXELS)
        return fmti_fail(source->error, FMT_ERR_LIMIT, source->name,
                         "%zux%zu pixels are more than the limit of %d a side, %d in all",
                         width, height, FMT_MAX_SIDE, FMT_MAX_PIXELS);
    size_t values = height * width * channels;
    if (values > source->options->max_values)
        return fmti_fail(source->error, FMT_ERR_LIMIT, source->name,
                         "%zux%zu pixels are more than the limit of %zu values",
                         width, height, source->options->max_values);
    picture->data = fmti_alloc(values, sizeof(float));
    if (picture->data == NULL)
        return fmti_no_memory(source->error, source->name, values * sizeof(float));
    picture->height = height;
    picture->width = width;
    picture->channels = channels;
    return FMT_OK;
}

void fmti_picture_free(fmti_picture *picture)
{
    free(picture->data);
    *picture = (fmti_picture){0};
}

void fmti_describe(size_t height, size_t width, size_t channels, char out[64])
{
    snprintf(out, 64, "%zux%zu %s", width, height, channels == 3 ? "RGB" : "grey");
}

/* How one output pixel is made along one axis: weights for pixels first,
 * first+1, ... The weights sum to 1. */
typedef struct taps {
    size_t first, count;
    double *weight;
} taps;

/* Shrinking: the mean over the area covered, in units of 1/out of a pixel, in
 * which both grids have whole-number edges. */
static void area_taps(size_t in, size_t out, size_t i, taps *t)
{
    size_t low = i * in, high = low + in;
    t->first = low / out;
    t->count = 0;
    for (size_t j = t->first; j < in && j * out < high; j++) {
        size_t left = j * out > low ? j * out : low;
        size_t right = (j + 1) * out < high ? (j + 1) * out : high;
        t->weight[t->count++] = (double)(right - left) / (double)in;
    }
}

/* Growing: between the two nearest centres, held at the borders. */
static void linear_taps(size_t in, size_t out, size_t i, taps *t)
{
    double centre = ((double)i + 0.5) * (double)in / (double)out - 0.5;
    if (centre < 0.0)
        centre = 0.0;
    if (centre > (double)(in - 1))
        centre = (double)(in - 1);
    t->first = (size_t)centre;
    t->weight[1] = centre - floor(centre);
    t->weight[0] = 1.0 - t->weight[1];
    t->count = t->first + 1 < in ? 2 : 1;
}

/* Resamples the middle axis of in [outer x n_in x inner] to n_out. */
static void resample_axis(const float *in, float *out, size_t outer, size_t n_in,
                          size_t n_out, size_t inner, double *weight)
{
    for (size_t i = 0; i < n_out; i++) {
        taps t = {.weight = weight};
        if (n_out < n_in)
            area_taps(n_in, n_out, i, &t);
        else
            linear_taps(n_in, n_out, i, &t);
        for (size_t o = 0; o < outer; o++) {
            const float *from = in + (o * n_in + t.first) * inner;
            float *to = out + (o * n_out + i) * inner;
            for (size_t k = 0; k < inner; k++) {
                double sum = 0.0;
                for (size_t j = 0; j < t.count; j++)
                    sum += t.weight[j] * (double)from[j * inner + k];
                to[k] = (float)sum;
            }
        }
    }
}

static fmt_status resample(const fmti_source *source, fmti_picture *p,
                           size_t height, size_t width)
{
    fmti_picture wide = {0}, done = {0};
    size_t longest = p->height > p->width ? p->height : p->width;
    double *weight = fmti_alloc(longest + 2, sizeof(double));
    fmt_status status = FMT_OK;
    if (weight == NULL)
        status = fmti_no_memory(source->error, source->name, longest * sizeof(double));
    if (status == FMT_OK)
        status = fmti_picture_alloc(source, p->height, width, p->channels, &wide);
    if (status == FMT_OK)
        status = fmti_picture_alloc(source, height, width, p->channels, &done);
    if (status == FMT_OK) {
        resample_axis(p->data, wide.data, p->channels * p->height, p->width, width,
                      1, weight);
        resample_axis(wide.data, done.data, p->channels, p->height, height, width,
                      weight);
        fmti_picture_free(p);
        *p = done;
    }
    fmti_picture_free(&wide);
    free(weight);
    return status;
}

/* Grey to RGB copies the plane; RGB to grey is the luma of Rec. 601. */
static fmt_status recolour(const fmti_source *source, fmti_picture *p,
                           size_t channels)
{
    fmti_picture done = {0};
    size_t plane = p->height * p->width;
    fmt_status status = fmti_picture_alloc(source, p->height, p->width, channels,
                                           &done);
    if (status != FMT_OK)
        return status;
    for (size_t i = 0; i < plane; i++) {
        if (channels == 1)
            done.data[i] = (float)(0.299 * (double)p->data[i] +
                                   0.587 * (double)p->data[plane + i] +
                                   0.114 * (double)p->data[2 * plane + i]);
        else
            done.data[i] = done.data[plane + i] = done.data[2 * plane + i] =
                p->data[i];
    }
    fmti_picture_free(p);
    *p = done;
    return FMT_OK;
}

static fmt_status misfit(const fmti_source *source, const fmti_picture *p,
                         size_t height, size_t width, size_t channels)
{
    char is[64], wanted[64];
    fmti_describe(p->height, p->width, p->channels, is);
    fmti_describe(height, width, channels, wanted);
    return fmti_fail(source->error, FMT_ERR_VALUE, source->name,
                     "%s, but %s is wanted (resizing was not asked for)", is, wanted);
}

fmt_status fmti_picture_fit(const fmti_source *source, fmti_picture *p)
{
    const fmt_options *o = source->options;
    size_t height = o->height != 0 ? o->height : p->height;
    size_t width = o->width != 0 ? o->width : p->width;
    size_t channels = o->channels != 0 ? o->channels : p->channels;
    bool same_size = height == p->height && width == p->width;
    bool same_colour = channels == p->channels;
    if ((!same_size && !o->resize) ||
        (!same_colour && !o->resize && !o->recolour))
        return misfit(source, p, height, width, channels);
    if (!same_colour && channels != 1 && channels != 3)
        return fmti_fail(source->error, FMT_ERR_ARGUMENT, source->name,
                         "a picture has 1 or 3 channels, not %zu", channels);
    fmt_status status = FMT_OK;
    if (!same_colour)
        status = recolour(source, p, channels);
    if (status == FMT_OK && !same_size)
        status = resample(source, p, height, width);
    return status;
}

fmt_status fmti_picture_to_table(const fmti_source *source, fmti_picture *picture,
                                 fmt_table *table)
{
    size_t first, rows;
    fmt_status status = fmti_select_rows(source, 1, &first, &rows);
    if (status != FMT_OK)
        return status;
    *table = (fmt_table){.rows = rows, .height = picture->height,
                         .width = picture->width, .channels = picture->channels,
                         .data = picture->data};
    table->dim = table->height * table->width * table->channels;
    picture->data = NULL;
    return FMT_OK;
}

fmt_status fmti_picture_read(const fmti_source *source, fmt_kind kind,
                             fmti_picture *picture)
{
    fmt_status status;
    *picture = (fmti_picture){0};
    if (kind == FMT_PNG)
        status = fmti_png_read(source, picture);
    else if (kind == FMT_JPEG)
        status = fmti_jpeg_read(source, picture);
    else
        status = fmti_pnm_read(source, picture);
    if (status == FMT_OK)
        status = fmti_picture_fit(source, picture);
    if (status != FMT_OK)
        fmti_picture_free(picture);
    return status;
}

/* One picture of bytes, fitted, into row i of the table; the first one fixes
 * the table's shape. With no rows (bytes is NULL) it does only that. */
static fmt_status byte_picture(const fmti_source *source, const uint8_t *bytes,
                               const fmti_picture *shape, size_t i, size_t rows,
                               fmt_table *table)
{
    fmti_picture p = {0};
    fmt_status status = fmti_picture_alloc(source, shape->height, shape->width,
                                           shape->channels, &p);
    size_t values = shape->height * shape->width * shape->channels;
    for (size_t k = 0; status == FMT_OK && bytes != NULL && k < values; k++)
        p.data[k] = fmti_pixel(bytes[k], 255);
    if (status == FMT_OK)
        status = fmti_picture_fit(source, &p);
    if (status == FMT_OK && i == 0) {
        status = fmti_table_alloc(source, rows, p.height * p.width * p.channels,
                                  table);
        table->height = p.height;
        table->width = p.width;
        table->channels = p.channels;
    }
    if (status == FMT_OK && bytes != NULL)
        memcpy(table->data + i * table->dim, p.data, table->dim * sizeof(float));
    fmti_picture_free(&p);
    return status;
}

fmt_status fmti_byte_pictures(const fmti_source *source, size_t start,
                              size_t stride, size_t total, size_t height,
                              size_t width, size_t channels, fmt_table *table)
{
    const fmti_picture shape = {height, width, channels, NULL};
    size_t first, rows, i = 0;
    fmt_status status = fmti_select_rows(source, total, &first, &rows);
    if (status != FMT_OK)
        return status;
    do { /* once even for no rows: the shape is known and checked all the same */
        const uint8_t *bytes = NULL;
        if (rows > 0)
            bytes = source->data + start + (first + i) * stride;
        status = byte_picture(source, bytes, &shape, i, rows, table);
    } while (status == FMT_OK && ++i < rows);
    return status;
}

void fmti_interleave_row(const float *data, size_t height, size_t width,
                         size_t channels, size_t y, uint8_t *row)
{
    for (size_t c = 0; c < channels; c++)
        for (size_t x = 0; x < width; x++)
            row[x * channels + c] = fmti_byte(data[(c * height + y) * width + x]);
}
