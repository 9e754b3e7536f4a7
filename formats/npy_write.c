/* npy_write.c: .npy files, version 1, as numpy.save writes them: the dictionary
 * padded so that the data starts at a multiple of 64 bytes. */
#include "internal.h"

#include <string.h>

static const char *descr_of(fmt_type type)
{
    bool big = fmti_host_is_big_endian();
    switch (type) {
    case FMT_F32: return big ? ">f4" : "<f4";
    case FMT_F64: return big ? ">f8" : "<f8";
    case FMT_U8: return "|u1";
    }
    return NULL;
}

static size_t size_of(fmt_type type)
{
    return type == FMT_F64 ? 8 : type == FMT_F32 ? 4 : 1;
}

/* "(3, 4)", "(3,)" or "()" */
static void put_shape(const fmt_member *array, char *out, size_t size)
{
    size_t used = (size_t)snprintf(out, size, "(");
    for (size_t i = 0; i < array->ndim; i++)
        used += (size_t)snprintf(out + used, size - used, "%s%zu",
                                 i == 0 ? "" : ", ", array->shape[i]);
    snprintf(out + used, size - used, array->ndim == 1 ? ",)" : ")");
}

fmt_status fmti_npy_header(fmt_error *error, const char *name,
                           const fmt_member *array,
                           uint8_t header[FMTI_NPY_HEADER], size_t *header_size,
                           size_t *data_size)
{
    const char *descr = descr_of(array->type);
    bool fits = array->ndim <= FMT_MAX_AXES && descr != NULL;
    *data_size = size_of(array->type);
    for (size_t i = 0; fits && i < array->ndim; i++)
        fits = fmti_multiply(*data_size, array->shape[i], data_size);
    if (!fits)
        return fmti_fail(error, FMT_ERR_ARGUMENT, name,
                         "the array to write has an impossible type or shape");
    char shape[24 * FMT_MAX_AXES + 4];
    put_shape(array, shape, sizeof shape);
    memset(header, ' ', FMTI_NPY_HEADER);
    int used = snprintf((char *)header + 10, FMTI_NPY_HEADER - 10,
                        "{'descr': '%s', 'fortran_order': False, 'shape': %s, }",
                        descr, shape);
    size_t total = (10 + (size_t)used + 1 + 63) / 64 * 64;
    memcpy(header, "\x93NUMPY\x01", 8); /* version 1, 0: the literal's own NUL */
    header[8] = (uint8_t)((total - 10) & 255);
    header[9] = (uint8_t)((total - 10) >> 8);
    header[10 + used] = ' '; /* snprintf's NUL */
    header[total - 1] = '\n';
    *header_size = total;
    return FMT_OK;
}

fmt_status fmti_npy_write(fmti_output *out, const fmt_member *array)
{
    uint8_t header[FMTI_NPY_HEADER];
    size_t header_size, data_size;
    fmt_status status = fmti_npy_header(out->error, out->name, array, header,
                                        &header_size, &data_size);
    if (status == FMT_OK)
        status = fmti_put(out, header, header_size);
    if (status == FMT_OK)
        status = fmti_put(out, array->data, data_size);
    return status;
}

fmt_status fmt_write_npy(const char *path, const fmt_member *array,
                         fmt_error *error)
{
    fmti_output out;
    fmt_status status = fmti_output_open(path, &out, error);
    if (status != FMT_OK)
        return status;
    return fmti_output_close(&out, fmti_npy_write(&out, array));
}
