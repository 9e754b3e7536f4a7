/* idx.c: IDX files (MNIST and its kin), plain or gzipped: two zero bytes, the
 * type, the number of axes, the axes as big-endian 32-bit, then the numbers. */
#include "internal.h"

#include <stdlib.h>
#include <string.h>

enum { HEADER_MAX = 4 + 4 * FMT_MAX_AXES };

typedef struct idx_header {
    fmti_number number;
    size_t ndim, shape[FMT_MAX_AXES];
    size_t size;   /* of the header */
    size_t rows, dim;
    size_t whole;  /* of the file the header promises */
} idx_header;

static bool number_of(uint8_t code, fmti_number *number)
{
    switch (code) {
    case 0x08: *number = FMTI_U8; return true;
    case 0x09: *number = FMTI_I8; return true;
    case 0x0B: *number = FMTI_I16; return true;
    case 0x0C: *number = FMTI_I32; return true;
    case 0x0D: *number = FMTI_F32; return true;
    case 0x0E: *number = FMTI_F64; return true;
    default: return false;
    }
}

/* False when these are not the first bytes of an IDX file. */
static bool parse_header(const uint8_t *data, size_t size, idx_header *h)
{
    *h = (idx_header){0};
    if (size < 4 || data[0] != 0 || data[1] != 0 ||
        !number_of(data[2], &h->number) || data[3] < 1 || data[3] > FMT_MAX_AXES)
        return false;
    h->ndim = data[3];
    h->size = 4 + 4 * h->ndim;
    if (size < h->size)
        return false;
    h->dim = 1;
    bool fits = true;
    for (size_t i = 0; i < h->ndim; i++) {
        h->shape[i] = fmti_be32(data + 4 + 4 * i);
        if (i > 0 && fits)
            fits = fmti_multiply(h->dim, h->shape[i], &h->dim);
    }
    h->rows = h->shape[0];
    h->whole = fmti_number_size(h->number);
    fits = fits && fmti_multiply(h->whole, h->dim, &h->whole) &&
           fmti_multiply(h->whole, h->rows, &h->whole) &&
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

static fmt_status not_idx(const fmti_source *source)
{
    return fmti_fail(source->error, FMT_ERR_FORMAT, source->name,
                     "is not an IDX file, or is cut short in its header");
}

static fmt_status read_array(const fmti_source *source, const idx_header *h,
                             fmt_table *table)
{
    size_t first, rows, size = fmti_number_size(h->number);
    fmt_status status = fmti_select_rows(source, h->rows, &first, &rows);
    if (status == FMT_OK)
        status = fmti_table_alloc(source, rows, h->dim, table);
    if (status != FMT_OK)
        return status;
    const uint8_t *p = source->data + h->size + first * h->dim * size;
    bool pixels = source->options->scale_bytes && h->number == FMTI_U8 && h->ndim > 1;
    for (size_t i = 0; i < rows * h->dim; i++) {
        double value = fmti_load(p + i * size, h->number, true);
        table->data[i] = pixels ? fmti_pixel((unsigned)value, 255)
                                : fmti_narrow(value);
    }
    if (h->ndim != 1 || h->number != FMTI_U8)
        return FMT_OK;
    table->labels = fmti_alloc(rows, 1);
    if (table->labels == NULL)
        return fmti_no_memory(source->error, source->name, rows);
    memcpy(table->labels, p, rows);
    return FMT_OK;
}

static fmt_status read_plain(const fmti_source *source, fmt_table *table)
{
    idx_header h;
    if (!parse_header(source->data, source->size, &h))
        return not_idx(source);
    if (h.whole != source->size)
        return fmti_fail(source->error, FMT_ERR_FORMAT, source->name,
                         "header says %zu bytes of data but the file has %zu",
                         h.whole - h.size, source->size - h.size);
    if (h.ndim == 3 && h.number == FMTI_U8)
        return fmti_byte_pictures(source, h.size, h.dim, h.rows, h.shape[1],
                                  h.shape[2], 1, table);
    return read_array(source, &h, table);
}

static fmt_status read_gzipped(const fmti_source *source, fmt_table *table)
{
    uint8_t start[HEADER_MAX];
    idx_header h;
    size_t made = fmti_inflate_prefix(source->data, source->size, 31, start,
                                      sizeof start);
    if (!parse_header(start, made, &h))
        return fmti_fail(source->error, FMT_ERR_FORMAT, source->name,
                         "is gzipped, but is not an IDX file inside");
    if (h.whole / 8 > source->options->max_values + 8)
        return fmti_fail(source->error, FMT_ERR_LIMIT, source->name,
                         "unpacks to %zu bytes, more than the limit of %zu values",
                         h.whole, source->options->max_values);
    uint8_t *plain;
    fmt_status status = fmti_inflate(source, source->data, source->size, 31,
                                     h.whole, &plain);
    if (status != FMT_OK)
        return status;
    fmti_source inner = *source;
    inner.data = plain;
    inner.size = h.whole;
    status = read_plain(&inner, table);
    free(plain);
    return status;
}

fmt_status fmti_idx_read(const fmti_source *source, fmt_table *table)
{
    if (source->size >= 2 && source->data[0] == 0x1F && source->data[1] == 0x8B)
        return read_gzipped(source, table);
    return read_plain(source, table);
}
