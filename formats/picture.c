/* picture.c: decoded pictures on their way to rows: the limits on their size, turning as EXIF says, recolouring and
 * resampling to the shape that the options want; and grids of pictures. */
#include "internal.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

float fmti_pixel(unsigned value, unsigned maximum)
{
    return (float)(2.0 * (double)value / (double)maximum - 1.0);
}

uint8_t fmti_byte(float value)
{
    if (!(value > -1.0f)) /* also NaN */
        return 0;
    return value >= 1.0f ? 255 : (uint8_t)floor(((double)value + 1.0) * 127.5 + 0.5);
}

bpcn_status fmti_picture_alloc(const fmti_source *source, size_t height, size_t width, size_t channels,
                               fmti_picture *picture)
{
    if (height == 0 || width == 0)
        return fmti_fail(BPCN_FORMAT, source->name, "is a picture of no pixels");
    if (height > FMT_MAX_SIDE || width > FMT_MAX_SIDE || height * width > FMT_MAX_PIXELS)
        return fmti_fail(BPCN_REFUSED, source->name, "%zux%zu pixels are more than the limit of %d a side, %d in all",
                         width, height, FMT_MAX_SIDE, FMT_MAX_PIXELS);
    size_t values = height * width * channels;
    if (values > source->options->max_values)
        return fmti_fail(BPCN_REFUSED, source->name, "%zux%zu pixels are more than the limit of %zu values", width,
                         height, source->options->max_values);
    picture->data = fmti_alloc(values, sizeof(float));
    if (picture->data == NULL)
        return fmti_no_memory(source->name, values * sizeof(float));
    picture->height = height;
    picture->width = width;
    picture->channels = channels;
    return BPCN_OK;
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

/* The weights of input pixels first, first + 1, ... in one output pixel along one axis; they sum to 1. */
typedef struct taps {
    size_t first, count;
    double *weight;
} taps;

/* Shrinking: the mean over the area, in units of 1/out of a pixel, in which both grids have whole-number edges. */
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
static void resample_axis(const float *in, float *out, size_t outer, size_t n_in, size_t n_out, size_t inner,
                          double *weight)
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

static bpcn_status resample(const fmti_source *source, fmti_picture *p, size_t height, size_t width)
{
    fmti_picture wide = {0}, done = {0};
    size_t longest = p->height > p->width ? p->height : p->width;
    double *weight = fmti_alloc(longest + 2, sizeof(double));
    bpcn_status status = BPCN_OK;
    if (weight == NULL)
        status = fmti_no_memory(source->name, longest * sizeof(double));
    if (status == BPCN_OK)
        status = fmti_picture_alloc(source, p->height, width, p->channels, &wide);
    if (status == BPCN_OK)
        status = fmti_picture_alloc(source, height, width, p->channels, &done);
    if (status == BPCN_OK) {
        resample_axis(p->data, wide.data, p->channels * p->height, p->width, width, 1, weight);
        resample_axis(wide.data, done.data, p->channels, p->height, height, width, weight);
        fmti_picture_free(p);
        *p = done;
    }
    fmti_picture_free(&wide);
    free(weight);
    return status;
}

/* Grey to RGB copies the plane; RGB to grey is the luma of Rec. 601. */
static bpcn_status recolour(const fmti_source *source, fmti_picture *p, size_t channels)
{
    fmti_picture done = {0};
    size_t plane = p->height * p->width;
    bpcn_status status = fmti_picture_alloc(source, p->height, p->width, channels, &done);
    if (status != BPCN_OK)
        return status;
    for (size_t i = 0; i < plane; i++) {
        if (channels == 1)
            done.data[i] = (float)(0.299 * (double)p->data[i] + 0.587 * (double)p->data[plane + i] +
                                   0.114 * (double)p->data[2 * plane + i]);
        else
            done.data[i] = done.data[plane + i] = done.data[2 * plane + i] = p->data[i];
    }
    fmti_picture_free(p);
    *p = done;
    return BPCN_OK;
}

static bpcn_status misfit(const fmti_source *source, const fmti_picture *p, size_t height, size_t width,
                          size_t channels)
{
    char is[64], wanted[64];
    fmti_describe(p->height, p->width, p->channels, is);
    fmti_describe(height, width, channels, wanted);
    return fmti_fail(BPCN_INVALID, source->name, "is %s, but %s is wanted, and resizing is off", is, wanted);
}

bpcn_status fmti_picture_fit(const fmti_source *source, fmti_picture *p)
{
    const fmt_options *o = source->options;
    size_t height = o->height != 0 ? o->height : p->height;
    size_t width = o->width != 0 ? o->width : p->width;
    size_t channels = o->channels != 0 ? o->channels : p->channels;
    bool same_size = height == p->height && width == p->width;
    bool same_colour = channels == p->channels;
    if ((!same_size && !o->resize) || (!same_colour && !o->resize && !o->recolour))
        return misfit(source, p, height, width, channels);
    if (!same_colour && channels != 1 && channels != 3)
        return fmti_fail(BPCN_INVALID, source->name, "a picture has 1 or 3 channels, not %zu", channels);
    bpcn_status status = BPCN_OK;
    if (!same_colour)
        status = recolour(source, p, channels);
    if (status == BPCN_OK && !same_size)
        status = resample(source, p, height, width);
    return status;
}

bpcn_status fmti_picture_to_table(const fmti_source *source, fmti_picture *picture, fmt_table *table)
{
    size_t first, rows;
    bpcn_status status = fmti_select_rows(source, 1, &first, &rows);
    if (status != BPCN_OK)
        return status;
    *table = (fmt_table){rows,
                         picture->height * picture->width * picture->channels,
                         picture->height,
                         picture->width,
                         picture->channels,
                         picture->data,
                         NULL};
    picture->data = NULL;
    return BPCN_OK;
}

bpcn_status fmti_picture_read(const fmti_source *source, fmt_kind kind, fmti_picture *picture)
{
    *picture = (fmti_picture){0};
    bpcn_status status = kind == FMT_PNG    ? fmti_png_read(source, picture)
                         : kind == FMT_JPEG ? fmti_jpeg_read(source, picture)
                                            : fmti_pnm_read(source, picture);
    if (status == BPCN_OK)
        status = fmti_picture_fit(source, picture);
    if (status != BPCN_OK)
        fmti_picture_free(picture);
    return status;
}

/* One picture of bytes, fitted, into row i of the table. The first one sets the table's shape; with no rows (bytes is
 * NULL) it does only that. */
static bpcn_status byte_picture(const fmti_source *source, const uint8_t *bytes, const fmti_picture *shape, size_t i,
                                size_t rows, fmt_table *table)
{
    fmti_picture p = {0};
    bpcn_status status = fmti_picture_alloc(source, shape->height, shape->width, shape->channels, &p);
    size_t values = shape->height * shape->width * shape->channels;
    for (size_t k = 0; status == BPCN_OK && bytes != NULL && k < values; k++)
        p.data[k] = fmti_pixel(bytes[k], 255);
    if (status == BPCN_OK)
        status = fmti_picture_fit(source, &p);
    if (status == BPCN_OK && i == 0) {
        status = fmti_table_alloc(source, rows, p.height * p.width * p.channels, table);
        table->height = p.height;
        table->width = p.width;
        table->channels = p.channels;
    }
    if (status == BPCN_OK && bytes != NULL)
        memcpy(table->data + i * table->dim, p.data, table->dim * sizeof(float));
    fmti_picture_free(&p);
    return status;
}

bpcn_status fmti_byte_pictures(const fmti_source *source, size_t start, size_t stride, size_t total, size_t height,
                               size_t width, size_t channels, fmt_table *table)
{
    const fmti_picture shape = {height, width, channels, NULL};
    size_t first, rows, i = 0;
    bpcn_status status = fmti_select_rows(source, total, &first, &rows);
    if (status != BPCN_OK)
        return status;
    do { /* once even for no rows: the shape is known and checked all the same */
        const uint8_t *bytes = NULL;
        if (rows > 0)
            bytes = source->data + start + (first + i) * stride;
        status = byte_picture(source, bytes, &shape, i, rows, table);
    } while (status == BPCN_OK && ++i < rows);
    return status;
}

void fmti_interleave_row(const float *data, size_t height, size_t width, size_t channels, size_t y, uint8_t *row)
{
    for (size_t c = 0; c < channels; c++)
        for (size_t x = 0; x < width; x++)
            row[x * channels + c] = fmti_byte(data[(c * height + y) * width + x]);
}

/* ---- which way up: the orientation in EXIF */

enum { TAG_ORIENTATION = 0x0112, TYPE_SHORT = 3, HEADER = 6, ENTRY = 12 };

static unsigned load16(const uint8_t *at, bool big)
{
    return big ? (unsigned)at[0] << 8 | at[1] : fmti_le16(at);
}

static uint32_t load32(const uint8_t *at, bool big)
{
    return big ? fmti_be32(at) : fmti_le32(at);
}

/* The bytes of an APP1 marker: "Exif", two zeros, then a TIFF file: byte order, 42, the place of the first directory,
 * and in it the orientation. Anything else means that the picture stays as it is. */
unsigned fmti_exif_orientation(const uint8_t *data, size_t size)
{
    if (size < HEADER + 8 || memcmp(data, "Exif\0\0", HEADER) != 0)
        return 1;
    data += HEADER;
    size -= HEADER;
    bool big = data[0] == 'M';
    if (data[0] != data[1] || (data[0] != 'M' && data[0] != 'I') || load16(data + 2, big) != 42)
        return 1;
    size_t at = load32(data + 4, big);
    if (at > size || size - at < 2)
        return 1;
    size_t count = load16(data + at, big), room = (size - at - 2) / ENTRY;
    for (size_t i = 0; i < count && i < room; i++) {
        const uint8_t *entry = data + at + 2 + i * ENTRY;
        unsigned value = load16(entry + 8, big);
        if (load16(entry, big) == TAG_ORIENTATION && load16(entry + 2, big) == TYPE_SHORT)
            return value >= 1 && value <= 8 ? value : 1;
    }
    return 1;
}

/* 2 to 4 mirror or turn by half; 5 to 8 do so to the picture with its axes swapped. */
bpcn_status fmti_picture_turn(const fmti_source *source, unsigned orientation, fmti_picture *picture)
{
    bool swapped = orientation >= 5;
    bool right_left = orientation == 2 || orientation == 3 || orientation == 6 || orientation == 7;
    bool bottom_up = orientation == 3 || orientation == 4 || orientation == 7 || orientation == 8;
    fmti_picture turned = {0};
    if (orientation == 1)
        return BPCN_OK;
    bpcn_status status = fmti_picture_alloc(source, swapped ? picture->width : picture->height,
                                            swapped ? picture->height : picture->width, picture->channels, &turned);
    if (status != BPCN_OK)
        return status;
    size_t plane = picture->height * picture->width;
    for (size_t y = 0; y < turned.height; y++)
        for (size_t x = 0; x < turned.width; x++) {
            size_t v = bottom_up ? turned.height - 1 - y : y, u = right_left ? turned.width - 1 - x : x;
            size_t from = swapped ? u * picture->width + v : v * picture->width + u;
            for (size_t c = 0; c < picture->channels; c++)
                turned.data[c * plane + y * turned.width + x] = picture->data[c * plane + from];
        }
    fmti_picture_free(picture);
    *picture = turned;
    return BPCN_OK;
}

/* ---- grids */

static const char *const NAME = "grid";

/* cells * cell + (cells + 1) * margin, or 0 when beyond the limit of a side. */
static size_t side(size_t cells, size_t cell, size_t margin)
{
    if (cells == 0 || cell == 0 || cells > FMT_MAX_SIDE || cell > FMT_MAX_SIDE || margin > FMT_MAX_SIDE)
        return 0;
    size_t length = cells * cell + (cells + 1) * margin;
    return length > FMT_MAX_SIDE ? 0 : length;
}

bpcn_status fmt_grid_create(size_t rows, size_t columns, size_t cell_height, size_t cell_width, size_t channels,
                            size_t margin, float background, fmt_grid *grid)
{
    fmt_grid g = {.rows = rows, .columns = columns, .margin = margin, .channels = channels};
    g.cell_height = cell_height;
    g.cell_width = cell_width;
    g.height = side(rows, cell_height, margin);
    g.width = side(columns, cell_width, margin);
    *grid = (fmt_grid){0};
    if (channels != 1 && channels != 3)
        return fmti_fail(BPCN_INVALID, NAME, "a picture has 1 or 3 channels, not %zu", channels);
    if (g.height == 0 || g.width == 0 || g.height * g.width > FMT_MAX_PIXELS)
        return fmti_fail(BPCN_REFUSED, NAME,
                         "%zu by %zu pictures of %zux%zu pixels are none or too many for one picture", rows, columns,
                         cell_width, cell_height);
    size_t values = channels * g.height * g.width;
    g.data = malloc(values * sizeof(float));
    if (g.data == NULL)
        return fmti_no_memory(NAME, values * sizeof(float));
    for (size_t i = 0; i < values; i++)
        g.data[i] = background;
    *grid = g;
    return BPCN_OK;
}

bpcn_status fmt_grid_put(fmt_grid *g, size_t row, size_t column, const float *image)
{
    if (row >= g->rows || column >= g->columns)
        return fmti_fail(BPCN_INVALID, NAME, "there is no cell %zu, %zu in %zu rows of %zu", row, column, g->rows,
                         g->columns);
    size_t top = g->margin + row * (g->cell_height + g->margin);
    size_t left = g->margin + column * (g->cell_width + g->margin);
    for (size_t c = 0; c < g->channels; c++) {
        for (size_t y = 0; y < g->cell_height; y++) {
            float *to = g->data + (c * g->height + top + y) * g->width + left;
            const float *from = image + (c * g->cell_height + y) * g->cell_width;
            memcpy(to, from, g->cell_width * sizeof(float));
        }
    }
    return BPCN_OK;
}

void fmt_grid_free(fmt_grid *grid)
{
    if (grid == NULL)
        return;
    free(grid->data);
    *grid = (fmt_grid){0};
}
