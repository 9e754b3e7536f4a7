/* raw.c: bare little-endian float32, nothing else: the form for pipes. */
#include "internal.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static fmt_status wanted_dim(const fmti_source *source, size_t *dim)
{
    const fmt_options *o = source->options;
    *dim = o->dim;
    if (*dim == 0 && (!fmti_multiply(o->height, o->width, dim) ||
                      !fmti_multiply(*dim, o->channels, dim)))
        *dim = 0;
    if (*dim == 0 || *dim > SIZE_MAX / 4)
        return fmti_fail(source->error, FMT_ERR_ARGUMENT, source->name,
                         "raw floats can only be read when the number of values "
                         "per row is given");
    return FMT_OK;
}

static void unpack(const uint8_t *bytes, size_t count, float *out)
{
    for (size_t i = 0; i < count; i++)
        out[i] = (float)fmti_load(bytes + 4 * i, FMTI_F32, false);
}

static fmt_status ragged(const fmti_source *source, size_t size, size_t dim)
{
    return fmti_fail(source->error, FMT_ERR_FORMAT, source->name,
                     "has %zu bytes, which is not a whole number of rows of %zu "
                     "float32 values (%zu bytes each)", size, dim, 4 * dim);
}

fmt_status fmti_raw_read(const fmti_source *source, fmt_table *table)
{
    size_t dim, first, rows;
    fmt_status status = wanted_dim(source, &dim);
    if (status != FMT_OK)
        return status;
    if (source->size % (4 * dim) != 0)
        return ragged(source, source->size, dim);
    status = fmti_select_rows(source, source->size / (4 * dim), &first, &rows);
    if (status == FMT_OK)
        status = fmti_table_alloc(source, rows, dim, table);
    if (status == FMT_OK)
        unpack(source->data + first * dim * 4, rows * dim, table->data);
    return status;
}

/* At most max_rows rows from where the stream stands. */
static fmt_status read_batch(FILE *stream, const fmti_source *source, size_t dim,
                             fmt_table *table)
{
    size_t limit = source->options->max_rows;
    size_t bytes;
    if (limit > source->options->max_values / dim ||
        !fmti_multiply(limit, 4 * dim, &bytes))
        return fmti_fail(source->error, FMT_ERR_LIMIT, source->name,
                         "a batch of %zu rows of %zu values is more than the limit "
                         "of %zu values", limit, dim, source->options->max_values);
    uint8_t *buffer = fmti_alloc(bytes, 1);
    if (buffer == NULL)
        return fmti_no_memory(source->error, source->name, bytes);
    errno = 0;
    size_t got = fread(buffer, 1, bytes, stream);
    fmt_status status;
    if (ferror(stream))
        status = fmti_fail_errno(source->error, source->name, "read", errno);
    else if (got % (4 * dim) != 0)
        status = ragged(source, got, dim);
    else
        status = fmti_table_alloc(source, got / (4 * dim), dim, table);
    if (status == FMT_OK)
        unpack(buffer, table->rows * dim, table->data);
    free(buffer);
    return status;
}

static fmt_status skip_rows(FILE *stream, const fmti_source *source, size_t dim)
{
    for (size_t row = 0; row < source->options->first_row; row++)
        for (size_t i = 0; i < 4 * dim; i++)
            if (getc(stream) == EOF)
                return fmti_fail(source->error, FMT_ERR_VALUE, source->name,
                                 "has %zu rows, so none to take from row %zu on",
                                 row, source->options->first_row);
    return FMT_OK;
}

fmt_status fmti_raw_stream(FILE *stream, const fmti_source *source,
                           fmt_table *table)
{
    size_t dim;
    fmt_status status = wanted_dim(source, &dim);
    if (status == FMT_OK)
        status = skip_rows(stream, source, dim);
    if (status == FMT_OK)
        status = read_batch(stream, source, dim, table);
    return status;
}

fmt_status fmti_raw_write(fmti_output *out, const float *data, size_t count)
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
        fmt_status status = fmti_put(out, piece, 4 * n);
        if (status != FMT_OK)
            return status;
        done += n;
    }
    return FMT_OK;
}

fmt_status fmt_write_raw(FILE *stream, const char *name, const float *data,
                         size_t count, fmt_error *error)
{
    fmti_output out;
    fmti_output_stream(stream, name, &out, error);
    return fmti_output_close(&out, fmti_raw_write(&out, data, count));
}
