/* npy.c: .npy files. The header of versions 1 to 3 is a Python dict with three keys, parsed as loosely as the format
 * allows (any order of keys, either quote, spaces, trailing commas); version 1 is written as numpy.save does, padded so
 * that the data starts at a multiple of 64 bytes. */
#include "internal.h"

#include <stdlib.h>
#include <string.h>

/* A file whose header is parsed and checked against the file's length. */
typedef struct npy_file {
    fmti_number number;
    bool big_endian, fortran;
    size_t ndim, shape[FMT_MAX_AXES], count;
    const uint8_t *data; /* count numbers, all within the source */
} npy_file;

typedef struct text {
    const char *p, *end;
} text;

static void skip_space(text *t)
{
    while (t->p < t->end && (*t->p == ' ' || *t->p == '\t' || *t->p == '\n' || *t->p == '\r'))
        t->p++;
}

static bool take(text *t, char wanted)
{
    skip_space(t);
    if (t->p == t->end || *t->p != wanted)
        return false;
    t->p++;
    return true;
}

static bool take_word(text *t, const char *word)
{
    size_t length = strlen(word);
    skip_space(t);
    if ((size_t)(t->end - t->p) < length || memcmp(t->p, word, length) != 0)
        return false;
    t->p += length;
    return true;
}

static bool take_string(text *t, char *out, size_t size)
{
    skip_space(t);
    if (t->p == t->end || (*t->p != '\'' && *t->p != '"'))
        return false;
    char quote = *t->p++;
    size_t used = 0;
    while (t->p < t->end && *t->p != quote && used + 1 < size)
        out[used++] = *t->p++;
    out[used] = '\0';
    return t->p < t->end && *t->p++ == quote;
}

static bool take_size(text *t, size_t *value)
{
    skip_space(t);
    if (t->p == t->end || *t->p < '0' || *t->p > '9')
        return false;
    *value = 0;
    while (t->p < t->end && *t->p >= '0' && *t->p <= '9') {
        size_t digit = (size_t)(*t->p++ - '0');
        if (*value > (SIZE_MAX - digit) / 10)
            return false;
        *value = *value * 10 + digit;
    }
    if (t->p < t->end && *t->p == 'L') /* Python 2 wrote 3L */
        t->p++;
    return true;
}

static bpcn_status bad(const fmti_source *source, const char *what)
{
    return fmti_fail(BPCN_FORMAT, source->name, "its .npy header %s", what);
}

static bpcn_status take_shape(const fmti_source *source, text *t, npy_file *npy)
{
    npy->ndim = 0;
    if (!take(t, '('))
        return bad(source, "has no shape in brackets");
    while (!take(t, ')')) {
        size_t length;
        if (!take_size(t, &length))
            return bad(source, "has a shape that is not whole numbers");
        if (npy->ndim == FMT_MAX_AXES)
            return fmti_fail(BPCN_FORMAT, source->name, "has more than %d axes", FMT_MAX_AXES);
        npy->shape[npy->ndim++] = length;
        if (!take(t, ',') && (t->p == t->end || *t->p != ')'))
            return bad(source, "has a shape that does not end");
    }
    return BPCN_OK;
}

typedef struct number_name {
    const char *name;
    fmti_number number;
} number_name;

static bpcn_status set_type(const fmti_source *source, const char *descr, npy_file *npy)
{
    static const number_name known[] = {
        {"f4", FMTI_F32}, {"f8", FMTI_F64}, {"u1", FMTI_U8},  {"f2", FMTI_F16}, {"b1", FMTI_BOOL}, {"i1", FMTI_I8},
        {"u2", FMTI_U16}, {"i2", FMTI_I16}, {"u4", FMTI_U32}, {"i4", FMTI_I32}, {"u8", FMTI_U64},  {"i8", FMTI_I64},
    };
    char order = descr[0];
    if (order == '<' || order == '>' || order == '=' || order == '|') {
        for (size_t i = 0; i < sizeof known / sizeof known[0]; i++) {
            if (strcmp(descr + 1, known[i].name) != 0)
                continue;
            npy->number = known[i].number;
            npy->big_endian = order == '>' || (order == '=' && fmti_host_is_big_endian());
            return BPCN_OK;
        }
    }
    if (strchr(descr, 'O') != NULL)
        return fmti_fail(BPCN_FORMAT, source->name, "holds Python objects, which are not read");
    return fmti_fail(BPCN_FORMAT, source->name, "holds values of type '%s'; floats, integers and bool are read", descr);
}

static bpcn_status take_descr(const fmti_source *source, text *t, npy_file *npy)
{
    char descr[32];
    skip_space(t);
    if (t->p < t->end && *t->p == '[')
        return fmti_fail(BPCN_FORMAT, source->name, "holds records with named fields, which are not read");
    if (!take_string(t, descr, sizeof descr))
        return bad(source, "has no type");
    return set_type(source, descr, npy);
}

enum { SEEN_DESCR = 1, SEEN_ORDER = 2, SEEN_SHAPE = 4, SEEN_ALL = 7 };

static bpcn_status take_pair(const fmti_source *source, text *t, npy_file *npy, unsigned *seen)
{
    char key[32];
    if (!take_string(t, key, sizeof key) || !take(t, ':'))
        return bad(source, "is not a dictionary");
    if (strcmp(key, "descr") == 0) {
        *seen |= SEEN_DESCR;
        return take_descr(source, t, npy);
    }
    if (strcmp(key, "shape") == 0) {
        *seen |= SEEN_SHAPE;
        return take_shape(source, t, npy);
    }
    if (strcmp(key, "fortran_order") != 0)
        return fmti_fail(BPCN_FORMAT, source->name, "its .npy header has an unknown key '%s'", key);
    *seen |= SEEN_ORDER;
    npy->fortran = take_word(t, "True");
    if (!npy->fortran && !take_word(t, "False"))
        return bad(source, "has a fortran_order that is neither True nor False");
    return BPCN_OK;
}

static bpcn_status parse_dict(const fmti_source *source, text *t, npy_file *npy)
{
    unsigned seen = 0;
    if (!take(t, '{'))
        return bad(source, "is not a dictionary");
    while (!take(t, '}')) {
        bpcn_status status = take_pair(source, t, npy, &seen);
        if (status != BPCN_OK)
            return status;
        if (!take(t, ',') && (t->p == t->end || *t->p != '}'))
            return bad(source, "does not end");
    }
    skip_space(t);
    if (t->p != t->end)
        return bad(source, "has something after its dictionary");
    if (seen != SEEN_ALL)
        return bad(source, "lacks descr, fortran_order or shape");
    return BPCN_OK;
}

/* The data that shape and type promise must be exactly what follows. */
static bpcn_status check_size(const fmti_source *source, npy_file *npy)
{
    size_t there = source->size - (size_t)(npy->data - source->data);
    size_t bytes;
    bool fits = true;
    npy->count = 1;
    for (size_t i = 0; i < npy->ndim && fits; i++)
        fits = fmti_multiply(npy->count, npy->shape[i], &npy->count);
    fits = fits && fmti_multiply(npy->count, fmti_number_size(npy->number), &bytes);
    if (!fits)
        return bad(source, "has a shape too large for any file");
    if (bytes != there)
        return fmti_fail(BPCN_FORMAT, source->name, "header says %zu bytes of data but the file has %zu", bytes, there);
    return BPCN_OK;
}

static bpcn_status npy_open(const fmti_source *source, npy_file *npy)
{
    const uint8_t *d = source->data;
    *npy = (npy_file){0};
    if (source->size < 10 || memcmp(d, "\x93NUMPY", 6) != 0)
        return fmti_fail(BPCN_FORMAT, source->name, "is not an .npy file, or is cut short");
    if (d[6] < 1 || d[6] > 3)
        return fmti_fail(BPCN_FORMAT, source->name, "is .npy version %u; versions 1 to 3 are read", d[6]);
    size_t start = d[6] == 1 ? 10 : 12;
    if (source->size < start)
        return bad(source, "is cut short");
    size_t length = d[6] == 1 ? fmti_le16(d + 8) : fmti_le32(d + 8);
    if (length > source->size - start)
        return fmti_fail(BPCN_FORMAT, source->name, "its header should be %zu bytes, but only %zu follow", length,
                         source->size - start);
    text t = {(const char *)d + start, (const char *)d + start + length};
    bpcn_status status = parse_dict(source, &t, npy);
    if (status != BPCN_OK)
        return status;
    npy->data = d + start + length;
    return check_size(source, npy);
}

/* ---- its numbers */

/* Walks an array in C order while following its own strides. */
typedef struct walk {
    const npy_file *npy;
    size_t index[FMT_MAX_AXES], stride[FMT_MAX_AXES];
    size_t offset; /* of the current number, in numbers */
} walk;

static void walk_start(walk *w, const npy_file *npy, size_t first_row)
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
    return fmti_load(w->npy->data + w->offset * size, w->npy->number, w->npy->big_endian);
}

static void fill_table(const fmti_source *source, const npy_file *npy, size_t first, fmt_table *table)
{
    bool pixels = source->options->scale_bytes && npy->number == FMTI_U8;
    size_t values = table->rows * table->dim;
    walk w;
    walk_start(&w, npy, first);
    for (size_t i = 0; i < values; i++) {
        double value = walk_value(&w);
        table->data[i] = pixels ? fmti_pixel((unsigned)value, 255) : fmti_narrow(value);
        walk_next(&w);
    }
}

/* Rows of height x width x channels, where the options know that shape and it is
 * not channels x height x width as well, to planes. */
static bpcn_status turn_planes(const fmti_source *source, const npy_file *npy, fmt_table *table)
{
    const fmt_options *o = source->options;
    size_t height = o->last_height, width = o->last_width, channels = o->last_channels;
    const size_t *s = npy->shape + 1;
    if (npy->ndim != 4 || channels < 2 || s[0] != height || s[1] != width || s[2] != channels ||
        (s[0] == channels && s[1] == height && s[2] == width))
        return BPCN_OK;
    float *row = fmti_alloc(table->dim, sizeof *row);
    if (row == NULL)
        return fmti_no_memory(source->name, table->dim);
    for (size_t i = 0; i < table->rows; i++) {
        float *to = table->data + i * table->dim;
        memcpy(row, to, table->dim * sizeof *row);
        for (size_t j = 0; j < table->dim; j++)
            to[j % channels * height * width + j / channels] = row[j];
    }
    free(row);
    return BPCN_OK;
}

bpcn_status fmti_npy_read(const fmti_source *source, fmt_table *table)
{
    npy_file npy;
    bpcn_status status = npy_open(source, &npy);
    if (status != BPCN_OK)
        return status;
    size_t total = npy.ndim < 2 ? 1 : npy.shape[0];
    size_t dim = npy.ndim == 0 ? 1 : npy.shape[npy.ndim - 1];
    for (size_t i = 1; i + 1 < npy.ndim; i++)
        if (!fmti_multiply(dim, npy.shape[i], &dim))
            return fmti_fail(BPCN_REFUSED, source->name, "its rows are too long");
    size_t first, rows;
    status = fmti_select_rows(source, total, &first, &rows);
    if (status == BPCN_OK)
        status = fmti_table_alloc(source, rows, dim, table);
    if (status != BPCN_OK)
        return status;
    fill_table(source, &npy, first, table);
    return turn_planes(source, &npy, table);
}

bpcn_status fmti_npy_array(const fmti_source *source, fmt_array *array)
{
    npy_file npy;
    bpcn_status status = npy_open(source, &npy);
    if (status != BPCN_OK)
        return status;
    array->data = fmti_alloc(npy.count, sizeof(double));
    if (array->data == NULL)
        return fmti_no_memory(source->name, npy.count);
    array->ndim = npy.ndim;
    array->count = npy.count;
    memcpy(array->shape, npy.shape, sizeof array->shape);
    walk w;
    walk_start(&w, &npy, 0);
    for (size_t i = 0; i < npy.count; i++) {
        array->data[i] = walk_value(&w);
        walk_next(&w);
    }
    return BPCN_OK;
}

bpcn_status fmt_npy_parse_f64(const uint8_t *data, size_t size, const char *name, fmt_array *array)
{
    fmt_options options = fmt_options_default();
    fmti_source source = {name != NULL ? name : "(memory)", data, size, &options};
    *array = (fmt_array){0};
    return fmti_npy_array(&source, array);
}

bpcn_status fmt_npy_read_f64(const char *path, fmt_array *array)
{
    fmt_options options = fmt_options_default();
    fmti_bytes bytes;
    *array = (fmt_array){0};
    bpcn_status status = fmti_slurp(path, fmti_file_limit(&options), &bytes);
    if (status != BPCN_OK)
        return status;
    status = fmt_npy_parse_f64(bytes.data, bytes.size, path, array);
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

/* ---- writing */

static const char *descr_of(fmt_type type)
{
    bool big = fmti_host_is_big_endian();
    switch (type) {
    case FMT_F32:
        return big ? ">f4" : "<f4";
    case FMT_F64:
        return big ? ">f8" : "<f8";
    case FMT_U8:
        return "|u1";
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
        used += (size_t)snprintf(out + used, size - used, "%s%zu", i == 0 ? "" : ", ", array->shape[i]);
    snprintf(out + used, size - used, array->ndim == 1 ? ",)" : ")");
}

bpcn_status fmti_npy_header(const char *name, const fmt_member *array, uint8_t header[FMTI_NPY_HEADER],
                            size_t *header_size, size_t *data_size)
{
    const char *descr = descr_of(array->type);
    bool fits = array->ndim <= FMT_MAX_AXES && descr != NULL;
    *data_size = size_of(array->type);
    for (size_t i = 0; fits && i < array->ndim; i++)
        fits = fmti_multiply(*data_size, array->shape[i], data_size);
    if (!fits)
        return fmti_fail(BPCN_INVALID, name, "the array to write has an impossible type or shape");
    char shape[24 * FMT_MAX_AXES + 4];
    put_shape(array, shape, sizeof shape);
    memset(header, ' ', FMTI_NPY_HEADER);
    int used = snprintf((char *)header + 10, FMTI_NPY_HEADER - 10,
                        "{'descr': '%s', 'fortran_order': False, 'shape': %s, }", descr, shape);
    size_t total = (10 + (size_t)used + 1 + 63) / 64 * 64;
    memcpy(header, "\x93NUMPY\x01", 8); /* version 1, 0: the literal's own NUL */
    header[8] = (uint8_t)((total - 10) & 255);
    header[9] = (uint8_t)((total - 10) >> 8);
    header[10 + used] = ' '; /* snprintf's NUL */
    header[total - 1] = '\n';
    *header_size = total;
    return BPCN_OK;
}

bpcn_status fmti_npy_write(fmt_output *out, const fmt_member *array)
{
    uint8_t header[FMTI_NPY_HEADER];
    size_t header_size, data_size;
    bpcn_status status = fmti_npy_header(out->name, array, header, &header_size, &data_size);
    if (status == BPCN_OK)
        status = fmt_output_put(out, header, header_size);
    if (status == BPCN_OK)
        status = fmt_output_put(out, array->data, data_size);
    return status;
}

bpcn_status fmt_write_npy(const char *path, const fmt_member *array)
{
    fmt_output *out;
    bpcn_status status = fmt_output_open(path, &out);
    return status == BPCN_OK ? fmt_output_close(out, fmti_npy_write(out, array)) : status;
}
