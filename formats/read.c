/* read.c: telling the kinds of file apart, and reading rows from any of them. */
#include "internal.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

const char *fmt_kind_name(fmt_kind kind)
{
    switch (kind) {
    case FMT_ANY: return "any";
    case FMT_PNG: return "PNG";
    case FMT_JPEG: return "JPEG";
    case FMT_PNM: return "PNM";
    case FMT_NPY: return ".npy";
    case FMT_NPZ: return ".npz";
    case FMT_IDX: return "IDX";
    case FMT_CIFAR: return "CIFAR-10 binary";
    case FMT_CSV: return "CSV";
    case FMT_RAW: return "raw float32";
    case FMT_FOLDER: return "folder";
    }
    return "unknown";
}

typedef struct suffix_kind {
    const char *suffix;
    fmt_kind kind;
} suffix_kind;

static fmt_kind kind_by_suffix(const char *name)
{
    static const suffix_kind known[] = {
        {".png", FMT_PNG},  {".jpg", FMT_JPEG}, {".jpeg", FMT_JPEG},
        {".pgm", FMT_PNM},  {".ppm", FMT_PNM},  {".pnm", FMT_PNM},
        {".npy", FMT_NPY},  {".npz", FMT_NPZ},  {"-ubyte", FMT_IDX},
        {".idx", FMT_IDX},  {".gz", FMT_IDX},   {".csv", FMT_CSV},
        {".tsv", FMT_CSV},  {".txt", FMT_CSV},  {".raw", FMT_RAW},
        {".f32", FMT_RAW},  {".bin", FMT_CIFAR},
    };
    for (size_t i = 0; i < sizeof known / sizeof known[0]; i++)
        if (fmti_has_suffix(name, known[i].suffix))
            return known[i].kind;
    return FMT_ANY;
}

static bool starts(const uint8_t *data, size_t size, const char *magic,
                   size_t length)
{
    return size >= length && memcmp(data, magic, length) == 0;
}

static fmt_kind kind_by_content(const uint8_t *data, size_t size)
{
    if (starts(data, size, "\x89PNG\r\n\x1a\n", 8))
        return FMT_PNG;
    if (starts(data, size, "\xFF\xD8\xFF", 3))
        return FMT_JPEG;
    if (starts(data, size, "\x93NUMPY", 6))
        return FMT_NPY;
    if (starts(data, size, "PK\3\4", 4) || starts(data, size, "PK\5\6", 4))
        return FMT_NPZ;
    if (starts(data, size, "\x1F\x8B", 2) || fmti_idx_fits(data, size))
        return FMT_IDX;
    if (size >= 3 && data[0] == 'P' && data[1] >= '1' && data[1] <= '7' &&
        (data[2] == ' ' || data[2] == '#' || (data[2] >= '\t' && data[2] <= '\r')))
        return FMT_PNM;
    return FMT_ANY;
}

const char *fmti_foreign_picture(const uint8_t *data, size_t size)
{
    if (size >= 12 && starts(data, size, "RIFF", 4) && memcmp(data + 8, "WEBP", 4) == 0)
        return "WebP";
    if (starts(data, size, "GIF87a", 6) || starts(data, size, "GIF89a", 6))
        return "GIF";
    if (starts(data, size, "II*\0", 4) || starts(data, size, "MM\0*", 4))
        return "TIFF";
    if (size >= 26 && starts(data, size, "BM", 2) && fmti_le32(data + 6) == 0)
        return "BMP"; /* what is reserved in it is 0, and never so in a text */
    if (size >= 12 && memcmp(data + 4, "ftyp", 4) == 0)
        return memcmp(data + 8, "avif", 4) == 0 ? "AVIF" : "HEIF";
    return NULL;
}

fmt_status fmti_refuse_picture(const fmti_source *source, const char *kind)
{
    return fmti_fail(source->error, FMT_ERR_UNSUPPORTED, source->name,
                     "is a %s picture, which is not read here (convert it to PNG; "
                     "JPEG and PNM are read too)", kind);
}

fmt_kind fmt_recognise(const char *name, const uint8_t *data, size_t size)
{
    fmt_kind kind = kind_by_content(data, size);
    return kind != FMT_ANY || name == NULL ? kind : kind_by_suffix(name);
}

static fmt_status parse(const fmti_source *source, fmt_kind kind,
                        fmt_table *table)
{
    fmti_picture picture = {0};
    fmt_status status;
    switch (kind) {
    case FMT_NPY: return fmti_npy_read(source, table);
    case FMT_NPZ: return fmti_npz_read(source, table);
    case FMT_IDX: return fmti_idx_read(source, table);
    case FMT_CIFAR: return fmti_cifar_read(source, table);
    case FMT_CSV: return fmti_csv_read(source, table);
    case FMT_RAW: return fmti_raw_read(source, table);
    case FMT_PNG: case FMT_JPEG: case FMT_PNM:
        status = fmti_picture_read(source, kind, &picture);
        if (status == FMT_OK)
            status = fmti_picture_to_table(source, &picture, table);
        fmti_picture_free(&picture);
        return status;
    case FMT_FOLDER:
        return fmti_fail(source->error, FMT_ERR_ARGUMENT, source->name,
                         "is not a folder");
    case FMT_ANY:
        break;
    }
    return fmti_fail(source->error, FMT_ERR_UNSUPPORTED, source->name,
                     "is no kind of file known here (PNG, JPEG, PNM, .npy, .npz, IDX, "
                     "CIFAR-10 .bin, .csv, .raw)");
}

/* The end of every way in: the options' checks, and nothing left on failure. */
static fmt_status settle(const fmti_source *source, fmt_status status,
                         fmt_table *table)
{
    if (status == FMT_OK)
        status = fmti_check_table(source, table);
    if (status != FMT_OK)
        fmt_table_free(table);
    return status;
}

static fmt_status read_bytes(const fmti_source *source, fmt_table *table)
{
    fmt_kind kind = source->options->kind;
    if (source->size == 0 && kind != FMT_RAW)
        return fmti_fail(source->error, FMT_ERR_FORMAT, source->name, "is empty");
    if (kind == FMT_ANY) {
        const char *foreign = fmti_foreign_picture(source->data, source->size);
        if (foreign != NULL)
            return fmti_refuse_picture(source, foreign);
        kind = fmt_recognise(source->name, source->data, source->size);
    }
    return settle(source, parse(source, kind, table), table);
}

fmt_status fmt_read_memory(const uint8_t *data, size_t size, const char *name,
                           const fmt_options *options, fmt_table *table,
                           fmt_error *error)
{
    fmt_options usual = fmt_options_default();
    fmti_source source = {name != NULL ? name : "(memory)", data, size,
                          options != NULL ? options : &usual, error};
    *table = (fmt_table){0};
    return read_bytes(&source, table);
}

fmt_status fmt_read_stream(FILE *stream, const char *name,
                           const fmt_options *options, fmt_table *table,
                           fmt_error *error)
{
    fmt_options usual = fmt_options_default();
    fmti_source source = {name != NULL ? name : "(stream)", NULL, 0,
                          options != NULL ? options : &usual, error};
    fmti_bytes bytes;
    *table = (fmt_table){0};
    if (source.options->kind == FMT_RAW && source.options->max_rows != 0)
        return settle(&source, fmti_raw_stream(stream, &source, table), table);
    fmt_status status = fmti_slurp_stream(
        stream, source.name, fmti_file_limit(source.options), &bytes, error);
    if (status != FMT_OK)
        return status;
    source.data = bytes.data;
    source.size = bytes.size;
    status = read_bytes(&source, table);
    free(bytes.data);
    return status;
}

fmt_status fmt_read(const char *path, const fmt_options *options,
                    fmt_table *table, fmt_error *error)
{
    fmt_options usual = fmt_options_default();
    fmti_source source = {path, NULL, 0, options != NULL ? options : &usual, error};
    fmti_bytes bytes;
    struct stat info;
    *table = (fmt_table){0};
    if (stat(path, &info) != 0)
        return fmti_fail_errno(error, path, "open", errno);
    if (S_ISDIR(info.st_mode)) {
        fmt_kind kind = source.options->kind;
        if (kind != FMT_ANY && kind != FMT_FOLDER)
            return fmti_fail(error, FMT_ERR_ARGUMENT, path,
                             "is a folder, not a %s file", fmt_kind_name(kind));
        return settle(&source, fmti_folder_read(&source, table), table);
    }
    fmt_status status = fmti_slurp(path, fmti_file_limit(source.options), &bytes,
                                   error);
    if (status != FMT_OK)
        return status;
    source.data = bytes.data;
    source.size = bytes.size;
    status = read_bytes(&source, table);
    free(bytes.data);
    return status;
}
