/* read.c: recognises the kind of a file and reads rows from it; errors, limits and last checks for every format. */
#include "internal.h"

#include <errno.h>
#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>

/* ---- errors */

bpcn_status fmti_fail(bpcn_status status, const char *name, const char *format, ...)
{
    enum { KEPT = 200 }; /* bytes of a path: it keeps its end, and leaves room for the reason */
    char message[512];
    size_t used = 0, length = name != NULL ? strlen(name) : 0, cut = length > KEPT ? length - KEPT : 0;
    while (cut > 0 && ((unsigned char)name[cut] & 0xC0) == 0x80) /* not inside a character */
        cut++;
    if (name != NULL)
        used = (size_t)snprintf(message, sizeof message, "%s%s: ", cut > 0 ? "..." : "", name + cut);
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(message + used, sizeof message - used, format, arguments);
    va_end(arguments);
    for (char *c = message; *c != '\0'; c++) /* one line, whatever the file holds */
        if ((unsigned char)*c < 0x20 || *c == 0x7F)
            *c = '?';
    return bpcn_fail(status, "%s", message);
}

bpcn_status fmti_no_memory(const char *name, size_t bytes)
{
    return fmti_fail(BPCN_NO_MEMORY, name, "out of memory (%zu bytes were needed)", bytes);
}

bpcn_status fmti_fail_errno(const char *name, const char *verb, int number)
{
    char words[128];
    if (strerror_r(number, words, sizeof words) != 0)
        snprintf(words, sizeof words, "error %d", number);
    bool full = number == ENOSPC || number == EDQUOT || number == EFBIG;
    return fmti_fail(full ? BPCN_NO_SPACE : BPCN_IO, name, "cannot %s: %s", verb, words);
}

/* ---- limits and checks */

fmt_options fmt_options_default(void)
{
    return (fmt_options){.max_values = (size_t)1 << 31};
}

void fmt_table_free(fmt_table *table)
{
    if (table == NULL)
        return;
    free(table->data);
    free(table->labels);
    *table = (fmt_table){0};
}

bool fmti_multiply(size_t a, size_t b, size_t *product)
{
    if (b != 0 && a > SIZE_MAX / b)
        return false;
    *product = a * b;
    return true;
}

void *fmti_alloc(size_t count, size_t size)
{
    return count == 0 || size == 0 ? calloc(1, 1) : calloc(count, size);
}

bpcn_status fmti_table_alloc(const fmti_source *source, size_t rows, size_t dim, fmt_table *table)
{
    size_t values;
    if (dim == 0)
        return fmti_fail(BPCN_FORMAT, source->name, "its rows have no values");
    if (!fmti_multiply(rows, dim, &values) || values > source->options->max_values)
        return fmti_fail(BPCN_REFUSED, source->name, "%zu rows of %zu values are more than the limit of %zu values",
                         rows, dim, source->options->max_values);
    table->data = fmti_alloc(values, sizeof(float));
    if (table->data == NULL)
        return fmti_no_memory(source->name, values * sizeof(float));
    table->rows = rows;
    table->dim = dim;
    return BPCN_OK;
}

bpcn_status fmti_select_rows(const fmti_source *source, size_t total, size_t *first, size_t *count)
{
    const fmt_options *o = source->options;
    if (o->first_row > total)
        return fmti_fail(BPCN_INVALID, source->name, "has %zu rows, none from row %zu on", total, o->first_row);
    *first = o->first_row;
    *count = total - *first;
    if (o->max_rows != 0 && *count > o->max_rows)
        *count = o->max_rows;
    return BPCN_OK;
}

bool fmti_value_is_fine(const fmt_options *o, float value)
{
    if (isnan(value))
        return o->allow_missing || o->allow_nonfinite;
    if (isinf(value))
        return o->allow_nonfinite;
    return o->largest == 0 || fabs((double)value) <= o->largest;
}

/* The last step of every read: the table against the options. Frees it on failure. */
static bpcn_status check_table(const fmti_source *source, bpcn_status status, fmt_table *t)
{
    const fmt_options *o = source->options;
    size_t dim;
    if (status == BPCN_OK && t->height == 0 && o->height != 0 && o->width != 0 && o->channels != 0) {
        if (!fmti_multiply(o->height, o->width, &dim) || !fmti_multiply(dim, o->channels, &dim) || dim != t->dim)
            status = fmti_fail(BPCN_INVALID, source->name,
                               "its rows have %zu values, which is not %zux%zu pixels of %zu channels", t->dim,
                               o->width, o->height, o->channels);
        t->height = o->height;
        t->width = o->width;
        t->channels = o->channels;
    }
    if (status == BPCN_OK && o->dim != 0 && t->dim != o->dim)
        status = fmti_fail(BPCN_INVALID, source->name, "its rows have %zu values, but %zu are wanted", t->dim, o->dim);
    for (size_t i = 0; status == BPCN_OK && i < t->rows * t->dim; i++) {
        float value = t->data[i];
        size_t row = i / t->dim + o->first_row, column = i % t->dim;
        if (fmti_value_is_fine(o, value))
            continue;
        if (isfinite(value))
            status = fmti_fail(BPCN_NUMERIC, source->name, "row %zu, column %zu is %g, beyond %g", row, column,
                               (double)value, o->largest);
        else
            status = fmti_fail(BPCN_INVALID, source->name, "row %zu, column %zu is %s", row, column,
                               isnan(value) ? "not a number" : "infinite, or too large for float32");
    }
    if (status != BPCN_OK)
        fmt_table_free(t);
    return status;
}

/* ---- kinds of file */

const char *fmt_kind_name(fmt_kind kind)
{
    static const char *const names[] = {"any", "PNG",         "JPEG",  "PNM", ".npy", ".npz", "IDX", "CIFAR-10 binary",
                                        "CSV", "raw float32", "folder"};
    return (size_t)kind < sizeof names / sizeof *names ? names[kind] : "unknown";
}

bool fmti_has_suffix(const char *name, const char *suffix)
{
    size_t length = strlen(name), wanted = strlen(suffix);
    return length >= wanted && strcasecmp(name + length - wanted, suffix) == 0;
}

fmt_kind fmti_kind_by_suffix(const char *name, bool writing)
{
    static const struct {
        const char *suffix;
        fmt_kind kind;
        bool written;
    } known[] = {
        {".png", FMT_PNG, true},    {".jpg", FMT_JPEG, true}, {".jpeg", FMT_JPEG, true}, {".pgm", FMT_PNM, true},
        {".ppm", FMT_PNM, true},    {".pnm", FMT_PNM, true},  {".npy", FMT_NPY, true},   {".npz", FMT_NPZ, true},
        {"-ubyte", FMT_IDX, false}, {".idx", FMT_IDX, false}, {".gz", FMT_IDX, false},   {".csv", FMT_CSV, true},
        {".tsv", FMT_CSV, false},   {".txt", FMT_CSV, false}, {".raw", FMT_RAW, true},   {".f32", FMT_RAW, true},
        {".bin", FMT_CIFAR, false},
    };
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (fmti_has_suffix(name, known[i].suffix) && (known[i].written || !writing))
            return known[i].kind;
    return FMT_ANY;
}

static bool starts(const uint8_t *data, size_t size, const char *magic, size_t length)
{
    return size >= length && memcmp(data, magic, length) == 0;
}

fmt_kind fmt_recognise(const char *name, const uint8_t *data, size_t size)
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
    return name == NULL ? FMT_ANY : fmti_kind_by_suffix(name, false);
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
        return "BMP"; /* its reserved bytes are 0, which they never are in a text */
    if (size >= 12 && memcmp(data + 4, "ftyp", 4) == 0)
        return memcmp(data + 8, "avif", 4) == 0 ? "AVIF" : "HEIF";
    return NULL;
}

bpcn_status fmti_refuse_picture(const fmti_source *source, const char *kind)
{
    return fmti_fail(BPCN_FORMAT, source->name,
                     "is a %s picture, which is not read here (convert it to PNG; JPEG and PNM are read too)", kind);
}

/* ---- every way in */

static bpcn_status read_bytes(const fmti_source *source, fmt_table *table)
{
    fmt_kind kind = source->options->kind;
    fmti_picture picture = {0};
    if (source->size == 0 && kind != FMT_RAW)
        return fmti_fail(BPCN_FORMAT, source->name, "is empty");
    const char *foreign = kind == FMT_ANY ? fmti_foreign_picture(source->data, source->size) : NULL;
    if (foreign != NULL)
        return fmti_refuse_picture(source, foreign);
    if (kind == FMT_ANY)
        kind = fmt_recognise(source->name, source->data, source->size);
    switch (kind) {
    case FMT_NPY:
        return check_table(source, fmti_npy_read(source, table), table);
    case FMT_NPZ:
        return check_table(source, fmti_npz_read(source, table), table);
    case FMT_IDX:
        return check_table(source, fmti_idx_read(source, table), table);
    case FMT_CIFAR:
        return check_table(source, fmti_cifar_read(source, table), table);
    case FMT_CSV:
        return check_table(source, fmti_csv_read(source, table), table);
    case FMT_RAW:
        return check_table(source, fmti_raw_read(source, table), table);
    case FMT_FOLDER:
        return fmti_fail(BPCN_INVALID, source->name, "is not a folder");
    case FMT_ANY:
        return fmti_fail(BPCN_FORMAT, source->name,
                         "is not of a known kind (PNG, JPEG, PNM, .npy, .npz, IDX, CIFAR-10 .bin, .csv, .raw)");
    default:;
    }
    bpcn_status status = fmti_picture_read(source, kind, &picture);
    if (status == BPCN_OK)
        status = fmti_picture_to_table(source, &picture, table);
    fmti_picture_free(&picture);
    return check_table(source, status, table);
}

/* Reads what slurping left in `bytes`, and frees it. */
static bpcn_status read_slurped(fmti_source *source, bpcn_status status, fmti_bytes *bytes, fmt_table *table)
{
    source->data = bytes->data;
    source->size = bytes->size;
    if (status == BPCN_OK)
        status = read_bytes(source, table);
    free(bytes->data);
    return status;
}

bpcn_status fmt_read_memory(const uint8_t *data, size_t size, const char *name, const fmt_options *options,
                            fmt_table *table)
{
    fmt_options usual = fmt_options_default();
    fmti_source source = {name != NULL ? name : "(memory)", data, size, options != NULL ? options : &usual};
    *table = (fmt_table){0};
    return read_bytes(&source, table);
}

bpcn_status fmt_read_stream(FILE *stream, const char *name, const fmt_options *options, fmt_table *table)
{
    fmt_options usual = fmt_options_default();
    fmti_source source = {name != NULL ? name : "(stream)", NULL, 0, options != NULL ? options : &usual};
    fmti_bytes bytes;
    *table = (fmt_table){0};
    if (source.options->kind == FMT_RAW && source.options->max_rows != 0)
        return check_table(&source, fmti_raw_stream(stream, &source, table), table);
    bpcn_status status = fmti_slurp_stream(stream, source.name, fmti_file_limit(source.options), &bytes);
    return read_slurped(&source, status, &bytes, table);
}

bpcn_status fmt_read(const char *path, const fmt_options *options, fmt_table *table)
{
    fmt_options usual = fmt_options_default();
    fmti_source source = {path, NULL, 0, options != NULL ? options : &usual};
    fmti_bytes bytes;
    struct stat info;
    *table = (fmt_table){0};
    if (stat(path, &info) != 0)
        return fmti_fail_errno(path, "open", errno);
    fmt_kind kind = source.options->kind;
    if (S_ISDIR(info.st_mode) && kind != FMT_ANY && kind != FMT_FOLDER)
        return fmti_fail(BPCN_INVALID, path, "is a folder, not a %s file", fmt_kind_name(kind));
    if (S_ISDIR(info.st_mode))
        return check_table(&source, fmti_folder_read(&source, table), table);
    return read_slurped(&source, fmti_slurp(path, fmti_file_limit(source.options), &bytes), &bytes, table);
}
