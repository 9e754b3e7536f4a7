/* write.c: tables and pictures to files and streams, the kind chosen by the
 * caller or by the suffix. */
#include "internal.h"

#include <stdlib.h>
#include <string.h>

typedef struct suffix_kind {
    const char *suffix;
    fmt_kind kind;
} suffix_kind;

static fmt_status choose_kind(const char *name, fmt_kind *kind, fmt_error *error)
{
    static const suffix_kind known[] = {
        {".npy", FMT_NPY},  {".npz", FMT_NPZ},  {".csv", FMT_CSV},
        {".raw", FMT_RAW},  {".f32", FMT_RAW},  {".png", FMT_PNG},
        {".jpg", FMT_JPEG}, {".jpeg", FMT_JPEG}, {".pnm", FMT_PNM},
        {".ppm", FMT_PNM},  {".pgm", FMT_PNM},
    };
    for (size_t i = 0; *kind == FMT_ANY && i < sizeof known / sizeof known[0]; i++)
        if (fmti_has_suffix(name, known[i].suffix))
            *kind = known[i].kind;
    switch (*kind) {
    case FMT_NPY: case FMT_NPZ: case FMT_CSV: case FMT_RAW:
    case FMT_PNG: case FMT_JPEG: case FMT_PNM:
        return FMT_OK;
    case FMT_ANY: case FMT_IDX: case FMT_CIFAR: case FMT_FOLDER:
        break;
    }
    if (*kind != FMT_ANY)
        return fmti_fail(error, FMT_ERR_UNSUPPORTED, name,
                         "%s is not written here", fmt_kind_name(*kind));
    return fmti_fail(error, FMT_ERR_UNSUPPORTED, name,
                     "its suffix does not say what to write (.npy .npz .csv .raw "
                     ".png .jpg .ppm .pgm)");
}

static fmt_status check_picture(const char *name, fmt_kind kind, size_t height,
                                size_t width, size_t channels, fmt_error *error)
{
    if (kind != FMT_PNG && kind != FMT_JPEG && kind != FMT_PNM)
        return fmti_fail(error, FMT_ERR_ARGUMENT, name,
                         "a picture is not written as %s", fmt_kind_name(kind));
    if (height == 0 || width == 0 || height > FMT_MAX_SIDE || width > FMT_MAX_SIDE ||
        height * width > FMT_MAX_PIXELS)
        return fmti_fail(error, FMT_ERR_LIMIT, name,
                         "cannot write a picture of %zux%zu pixels", width, height);
    if (channels != 1 && channels != 3)
        return fmti_fail(error, FMT_ERR_ARGUMENT, name,
                         "a picture has 1 or 3 channels, not %zu", channels);
    if ((fmti_has_suffix(name, ".pgm") && channels != 1) ||
        (fmti_has_suffix(name, ".ppm") && channels != 3))
        return fmti_fail(error, FMT_ERR_ARGUMENT, name,
                         "%s is for %s pictures", channels == 3 ? ".pgm" : ".ppm",
                         channels == 3 ? "grey" : "RGB");
    return FMT_OK;
}

static fmt_status put_picture(fmti_output *out, fmt_kind kind, const float *data,
                              size_t height, size_t width, size_t channels)
{
    if (kind == FMT_PNG)
        return fmti_png_write(out, data, height, width, channels);
    if (kind == FMT_JPEG)
        return fmti_jpeg_write(out, data, height, width, channels);
    return fmti_pnm_write(out, data, height, width, channels);
}

static fmt_status put_table(fmti_output *out, fmt_kind kind,
                            const fmt_table *table)
{
    const fmt_member members[2] = {
        {"data", FMT_F32, 2, {table->rows, table->dim}, table->data},
        {"labels", FMT_U8, 1, {table->rows}, table->labels},
    };
    if (kind == FMT_NPY)
        return fmti_npy_write(out, &members[0]);
    if (kind == FMT_NPZ)
        return fmti_npz_write(out, members, table->labels != NULL ? 2 : 1, true);
    if (kind == FMT_CSV)
        return fmti_csv_write(out, table);
    if (kind == FMT_RAW)
        return fmti_raw_write(out, table->data, table->rows * table->dim);
    return put_picture(out, kind, table->data, table->height, table->width,
                       table->channels);
}

static fmt_status check_table(const char *name, fmt_kind kind,
                              const fmt_table *table, fmt_error *error)
{
    if (kind == FMT_NPY || kind == FMT_NPZ || kind == FMT_CSV || kind == FMT_RAW)
        return FMT_OK;
    if (table->rows != 1)
        return fmti_fail(error, FMT_ERR_ARGUMENT, name,
                         "one picture can be written as %s, not %zu; use a grid or "
                         "an array", fmt_kind_name(kind), table->rows);
    if (table->height * table->width * table->channels != table->dim)
        return fmti_fail(error, FMT_ERR_ARGUMENT, name,
                         "a row of %zu values is not a picture", table->dim);
    return check_picture(name, kind, table->height, table->width, table->channels,
                         error);
}

fmt_status fmt_write(const char *path, fmt_kind kind, const fmt_table *table,
                     fmt_error *error)
{
    fmti_output out;
    fmt_status status = choose_kind(path, &kind, error);
    if (status == FMT_OK)
        status = check_table(path, kind, table, error);
    if (status == FMT_OK)
        status = fmti_output_open(path, &out, error);
    if (status != FMT_OK)
        return status;
    return fmti_output_close(&out, put_table(&out, kind, table));
}

fmt_status fmt_write_stream(FILE *stream, const char *name, fmt_kind kind,
                            const fmt_table *table, fmt_error *error)
{
    fmti_output out;
    fmti_output_stream(stream, name, &out, error);
    fmt_status status = choose_kind(out.name, &kind, error);
    if (status == FMT_OK)
        status = check_table(out.name, kind, table, error);
    if (status != FMT_OK)
        return status;
    return fmti_output_close(&out, put_table(&out, kind, table));
}

fmt_status fmt_write_image(const char *path, fmt_kind kind, const float *data,
                           size_t height, size_t width, size_t channels,
                           fmt_error *error)
{
    fmti_output out;
    fmt_status status = choose_kind(path, &kind, error);
    if (status == FMT_OK)
        status = check_picture(path, kind, height, width, channels, error);
    if (status == FMT_OK)
        status = fmti_output_open(path, &out, error);
    if (status != FMT_OK)
        return status;
    return fmti_output_close(&out,
                             put_picture(&out, kind, data, height, width, channels));
}

struct fmt_output {
    fmti_output inside;
};

fmt_output *fmt_output_open(const char *path, fmt_error *error)
{
    fmt_output *out = fmti_alloc(1, sizeof *out);
    fmt_status status = FMT_OK;
    if (out == NULL)
        fmti_no_memory(error, path, sizeof *out);
    else if (strcmp(path, "-") == 0)
        fmti_output_stream(stdout, "standard output", &out->inside, error);
    else
        status = fmti_output_open(path, &out->inside, error);
    if (status == FMT_OK)
        return out;
    free(out);
    return NULL;
}

fmt_status fmt_output_put(fmt_output *out, const void *data, size_t size)
{
    return fmti_put(&out->inside, data, size);
}

fmt_status fmt_output_close(fmt_output *out, fmt_status status)
{
    if (out == NULL)
        return status;
    status = fmti_output_close(&out->inside, status);
    free(out);
    return status;
}
