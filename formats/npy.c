/* npy.c: the numbers of an .npy file, as rows of floats or as an exact array of
 * doubles, from C or Fortran order. */
#include "npy.h"

#include <stdlib.h>
#include <string.h>

/* Walks an array in C order while following its own strides. */
typedef struct walk {
    const fmti_npy *npy;
    size_t index[FMT_MAX_AXES], stride[FMT_MAX_AXES];
    size_t offset; /* of the current number, in numbers */
} walk;

static void walk_start(walk *w, const fmti_npy *npy, size_t first_row)
{
    *w = (walk){.npy = npy};
    size_t step = 1;
    for (size_t i = 0; i < npy->ndim; i++) {
        size_t axis = npy->fortran ? i : npy->ndim - 1 - i;
        w->stride[axis] = step;
        step *= npy->shape[axis];
    }
    if (npy->ndim > 1) {
        w->index[0] = first_row;
        w->offset = first_row * w->stride[0];
    }
}

static void walk_next(walk *w)
{
    for (size_t axis = w->npy->ndim; axis-- > 0;) {
        w->offset += w->stride[axis];
        if (++w->index[axis] < w->npy->shape[axis])
            return;
        w->offset -= w->index[axis] * w->stride[axis];
        w->index[axis] = 0;
    }
}

static double walk_value(const walk *w)
{
    size_t size = fmti_number_size(w->npy->number);
    return fmti_load(w->npy->data + w->offset * size, w->npy->number,
                     w->npy->big_endian);
}

static void fill_table(const fmti_source *source, const fmti_npy *npy,
                       size_t first, fmt_table *table)
{
    bool pixels = source->options->scale_bytes && npy->number == FMTI_U8;
    size_t values = table->rows * table->dim;
    walk w;
    walk_start(&w, npy, first);
    for (size_t i = 0; i < values; i++) {
        double value = walk_value(&w);
        table->data[i] = pixels ? fmti_pixel((unsigned)value, 255)
                                : fmti_narrow(value);
        walk_next(&w);
    }
}

/* Rows of height x width x channels, where the options know that shape and it is
 * not channels x height x width as well, to planes. */
static fmt_status turn_planes(const fmti_source *source, const fmti_npy *npy,
                              fmt_table *table)
{
    const fmt_options *o = source->options;
    size_t height = o->last_height, width = o->last_width, channels = o->last_channels;
    const size_t *s = npy->shape + 1;
    if (npy->ndim != 4 || channels < 2 || s[0] != height || s[1] != width ||
        s[2] != channels || (s[0] == channels && s[1] == height && s[2] == width))
        return FMT_OK;
    float *row = fmti_alloc(table->dim, sizeof *row);
    if (row == NULL)
        return fmti_no_memory(source->error, source->name, table->dim);
    for (size_t i = 0; i < table->rows; i++) {
        float *to = table->data + i * table->dim;
        memcpy(row, to, table->dim * sizeof *row);
        for (size_t j = 0; j < table->dim; j++)
            to[j % channels * height * width + j / channels] = row[j];
    }
    free(row);
    return FMT_OK;
}

fmt_status fmti_npy_read(const fmti_source *source, fmt_table *table)
{
    fmti_npy npy;
    fmt_status status = fmti_npy_open(source, &npy);
    if (status != FMT_OK)
        return status;
    size_t total = npy.ndim < 2 ? 1 : npy.shape[0];
    size_t dim = npy.ndim == 0 ? 1 : npy.shape[npy.ndim - 1];
    for (size_t i = 1; i + 1 < npy.ndim; i++)
        if (!fmti_multiply(dim, npy.shape[i], &dim))
            return fmti_fail(source->error, FMT_ERR_LIMIT, source->name,
                             "its rows are too long");
    size_t first, rows;
    status = fmti_select_rows(source, total, &first, &rows);
    if (status == FMT_OK)
        status = fmti_table_alloc(source, rows, dim, table);
    if (status != FMT_OK)
        return status;
    fill_table(source, &npy, first, table);
    return turn_planes(source, &npy, table);
}

fmt_status fmti_npy_array(const fmti_source *source, fmt_array *array)
{
    fmti_npy npy;
    fmt_status status = fmti_npy_open(source, &npy);
    if (status != FMT_OK)
        return status;
    array->data = fmti_alloc(npy.count, sizeof(double));
    if (array->data == NULL)
        return fmti_no_memory(source->error, source->name, npy.count);
    array->ndim = npy.ndim;
    array->count = npy.count;
    memcpy(array->shape, npy.shape, sizeof array->shape);
    walk w;
    walk_start(&w, &npy, 0);
    for (size_t i = 0; i < npy.count; i++) {
        array->data[i] = walk_value(&w);
        walk_next(&w);
    }
    return FMT_OK;
}

fmt_status fmt_npy_parse_f64(const uint8_t *data, size_t size, const char *name,
                             fmt_array *array, fmt_error *error)
{
    fmt_options options = fmt_options_default();
    fmti_source source = {name != NULL ? name : "(memory)", data, size, &options,
                          error};
    *array = (fmt_array){0};
    return fmti_npy_array(&source, array);
}

fmt_status fmt_npy_read_f64(const char *path, fmt_array *array, fmt_error *error)
{
    fmt_options options = fmt_options_default();
    fmti_bytes bytes;
    *array = (fmt_array){0};
    fmt_status status = fmti_slurp(path, fmti_file_limit(&options), &bytes, error);
    if (status != FMT_OK)
        return status;
    status = fmt_npy_parse_f64(bytes.data, bytes.size, path, array, error);
    free(bytes.data);
    return status;
}

void fmt_array_free(fmt_array *array)
{
    if (array == NULL)
        return;
    free(array->data);
    *array = (fmt_array){0};
}
