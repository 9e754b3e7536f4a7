/* binary.c: flat binary files. IDX (MNIST and its kin), plain or gzipped: two zero bytes, the type, the number of axes,
 * the axes as big-endian 32-bit numbers, then the data. CIFAR-10: records of a label and 32x32 pixels as a red, a green
 * and a blue plane. Raw: little-endian float32 and nothing else, the form for pipes. */
#include "internal.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { HEADER_MAX = 4 + 4 * FMT_MAX_AXES };

typedef struct idx_header {
    fmti_number number;
    size_t ndim, shape[FMT_MAX_AXES];
    size_t size; /* of the header */
    size_t rows, dim;
    size_t whole; /* of the file the header promises */
} idx_header;

/* False when these are not the first bytes of an IDX file. */
static bool parse_header(const uint8_t *data, size_t size, idx_header *h)
{
    static const struct {
        uint8_t code;
        fmti_number number;
    } types[] = {{8, FMTI_U8}, {9, FMTI_I8}, {11, FMTI_I16}, {12, FMTI_I32}, {13, FMTI_F32}, {14, FMTI_F64}};
    size_t type = 0, count = sizeof types / sizeof *types;
    if (size < 4 || data[0] != 0 || data[1] != 0 || data[3] < 1 || data[3] > FMT_MAX_AXES)
        return false;
    while (type < count && types[type].code != data[2])
        type++;
    if (type == count || size < 4 + 4 * (size_t)data[3])
        return false;
    *h = (idx_header){.number = types[type].number, .ndim = data[3], .size = 4 + 4 * (size_t)data[3], .dim = 1};
    bool fits = true;
    for (size_t i = 0; i < h->ndim; i++) {
        h->shape[i] = fmti_be32(data + 4 + 4 * i);
        if (i > 0 && fits)
            fits = fmti_multiply(h->dim, h->shape[i], &h->dim);
    }
    h->rows = h->shape[0];
    h->whole = fmti_number_size(h->number);
    fits = fits && fmti_multiply(h->whole, h->dim, &h->whole) && fmti_multiply(h->whole, h->rows, &h->whole) &&
           h->whole <= SIZE_MAX - h->size;
    if (!fits)
        return false;
    h->whole += h->size;
    return true;
}

bool fmti_idx_fits(const uint8_t *data, size_t size)
{
    idx_header h;
    return parse_header(data, size, &h) && h.whole == size;
}

static bpcn_status read_array(const fmti_source *source, const idx_header *h, fmt_table *table)
{
    size_t first, rows, size = fmti_number_size(h->number);
    bpcn_status status = fmti_select_rows(source, h->rows, &first, &rows);
    if (status == BPCN_OK)
        status = fmti_table_alloc(source, rows, h->dim, table);
    if (status != BPCN_OK)
        return status;
    const uint8_t *p = source->data + h->size + first * h->dim * size;
    bool pixels = source->options->scale_bytes && h->number == FMTI_U8 && h->ndim > 1;
    for (size_t i = 0; i < rows * h->dim; i++) {
        double value = fmti_load(p + i * size, h->number, true);
        table->data[i] = pixels ? fmti_pixel((unsigned)value, 255) : fmti_narrow(value);
    }
    if (h->ndim != 1 || h->number != FMTI_U8)
        return BPCN_OK;
    table->labels = fmti_alloc(rows, 1);
    if (table->labels == NULL)
        return fmti_no_memory(source->name, rows);
    memcpy(table->labels, p, rows);
    return BPCN_OK;
}

static bpcn_status read_plain(const fmti_source *source, fmt_table *table)
{
    idx_header h;
    if (!parse_header(source->data, source->size, &h))
        return fmti_fail(BPCN_FORMAT, source->name, "is not an IDX file, or is cut short in its header");
    if (h.whole != source->size)
        return fmti_fail(BPCN_FORMAT, source->name, "header says %zu bytes of data but the file has %zu",
                         h.whole - h.size, source->size - h.size);
    if (h.ndim == 3 && h.number == FMTI_U8)
        return fmti_byte_pictures(source, h.size, h.dim, h.rows, h.shape[1], h.shape[2], 1, table);
    return read_array(source, &h, table);
}

static bpcn_status read_gzipped(const fmti_source *source, fmt_table *table)
{
    uint8_t start[HEADER_MAX];
    idx_header h;
    size_t made = fmti_inflate_prefix(source->data, source->size, 31, start, sizeof start);
    if (!parse_header(start, made, &h))
        return fmti_fail(BPCN_FORMAT, source->name, "is gzipped, but is not an IDX file inside");
    if (h.whole / 8 > source->options->max_values + 8)
        return fmti_fail(BPCN_REFUSED, source->name, "unpacks to %zu bytes, more than the limit of %zu values", h.whole,
                         source->options->max_values);
    uint8_t *plain;
    bpcn_status status = fmti_inflate(source, source->data, source->size, 31, h.whole, &plain);
    if (status != BPCN_OK)
        return status;
    fmti_source inner = *source;
    inner.data = plain;
    inner.size = h.whole;
    status = read_plain(&inner, table);
    free(plain);
    return status;
}

bpcn_status fmti_idx_read(const fmti_source *source, fmt_table *table)
{
    if (source->size >= 2 && source->data[0] == 0x1F && source->data[1] == 0x8B)
        return read_gzipped(source, table);
    return read_plain(source, table);
}

/* ---- CIFAR-10 */

enum { SIDE = 32, PIXELS = 3 * SIDE * SIDE, RECORD = 1 + PIXELS, CLASSES = 10 };

bpcn_status fmti_cifar_read(const fmti_source *source, fmt_table *table)
{
    size_t first = source->options->first_row;
    if (source->size % RECORD != 0)
        return fmti_fail(BPCN_FORMAT, source->name,
                         "has %zu bytes, which is not a whole number of %d-byte CIFAR-10 records", source->size,
                         RECORD);
    bpcn_status status = fmti_byte_pictures(source, 1, RECORD, source->size / RECORD, SIDE, SIDE, 3, table);
    if (status != BPCN_OK)
        return status;
    table->labels = fmti_alloc(table->rows, 1);
    if (table->labels == NULL)
        return fmti_no_memory(source->name, table->rows);
    for (size_t i = 0; i < table->rows; i++) {
        table->labels[i] = source->data[(first + i) * RECORD];
        if (table->labels[i] >= CLASSES)
            return fmti_fail(BPCN_FORMAT, source->name, "record %zu has label %u, so this is not CIFAR-10", first + i,
                             table->labels[i]);
    }
    return BPCN_OK;
}

/* ---- raw floats */

static bpcn_status wanted_dim(const fmti_source *source, size_t *dim)
{
    const fmt_options *o = source->options;
    *dim = o->dim;
    if (*dim == 0 && (!fmti_multiply(o->height, o->width, dim) || !fmti_multiply(*dim, o->channels, dim)))
        *dim = 0;
    if (*dim == 0 || *dim > SIZE_MAX / 4)
        return fmti_fail(BPCN_INVALID, source->name,
                         "raw floats can only be read when the number of values per row is given");
    return BPCN_OK;
}

static void unpack(const uint8_t *bytes, size_t count, float *out)
{
    for (size_t i = 0; i < count; i++)
        out[i] = (float)fmti_load(bytes + 4 * i, FMTI_F32, false);
}

static bpcn_status ragged(const fmti_source *source, size_t size, size_t dim)
{
    return fmti_fail(BPCN_FORMAT, source->name,
                     "has %zu bytes, which is not a whole number of rows of %zu float32 values (%zu bytes each)", size,
                     dim, 4 * dim);
}

bpcn_status fmti_raw_read(const fmti_source *source, fmt_table *table)
{
    size_t dim, first, rows;
    bpcn_status status = wanted_dim(source, &dim);
    if (status != BPCN_OK)
        return status;
    if (source->size % (4 * dim) != 0)
        return ragged(source, source->size, dim);
    status = fmti_select_rows(source, source->size / (4 * dim), &first, &rows);
    if (status == BPCN_OK)
        status = fmti_table_alloc(source, rows, dim, table);
    if (status == BPCN_OK)
        unpack(source->data + first * dim * 4, rows * dim, table->data);
    return status;
}

/* At most max_rows rows from where the stream stands. */
static bpcn_status read_batch(FILE *stream, const fmti_source *source, size_t dim, fmt_table *table)
{
    size_t limit = source->options->max_rows;
    size_t bytes;
    if (limit > source->options->max_values / dim || !fmti_multiply(limit, 4 * dim, &bytes))
        return fmti_fail(BPCN_REFUSED, source->name,
                         "a batch of %zu rows of %zu values is more than the limit of %zu values", limit, dim,
                         source->options->max_values);
    uint8_t *buffer = fmti_alloc(bytes, 1);
    if (buffer == NULL)
        return fmti_no_memory(source->name, bytes);
    errno = 0;
    size_t got = fread(buffer, 1, bytes, stream);
    bpcn_status status;
    if (ferror(stream))
        status = fmti_fail_errno(source->name, "read", errno);
    else if (got % (4 * dim) != 0)
        status = ragged(source, got, dim);
    else
        status = fmti_table_alloc(source, got / (4 * dim), dim, table);
    if (status == BPCN_OK)
        unpack(buffer, table->rows * dim, table->data);
    free(buffer);
    return status;
}

bpcn_status fmti_raw_stream(FILE *stream, const fmti_source *source, fmt_table *table)
{
    size_t dim;
    bpcn_status status = wanted_dim(source, &dim);
    if (status != BPCN_OK)
        return status;
    for (size_t row = 0; row < source->options->first_row; row++)
        for (size_t i = 0; i < 4 * dim; i++)
            if (getc(stream) == EOF)
                return fmti_fail(BPCN_INVALID, source->name, "has %zu rows, none from row %zu on", row,
                                 source->options->first_row);
    return read_batch(stream, source, dim, table);
}

bpcn_status fmti_raw_write(fmt_output *out, const float *data, size_t count)
{
    uint8_t piece[4096];
    for (size_t done = 0; done < count;) {
        size_t n = count - done < sizeof piece / 4 ? count - done : sizeof piece / 4;
        for (size_t i = 0; i < n; i++) {
            uint32_t bits;
            memcpy(&bits, &data[done + i], 4);
            for (size_t b = 0; b < 4; b++)
                piece[4 * i + b] = (uint8_t)(bits >> 8 * b & 255);
        }
        bpcn_status status = fmt_output_put(out, piece, 4 * n);
        if (status != BPCN_OK)
            return status;
        done += n;
    }
    return BPCN_OK;
}
