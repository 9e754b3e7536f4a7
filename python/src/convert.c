/* convert.c: structs as dictionaries, arrays as buffers. */
#include "raw.h"

#include <stdint.h>
#include <string.h>

/* ---- fields */

#define KIND(member) _Generic((member), double : 'f', int : 'i', const char * : 's', default : 'u')
#define FIELD(type, member)                                                                                            \
    {                                                                                                                  \
#member, offsetof(type, member), sizeof(((type *)0)->member), KIND(((type *)0)->member)                        \
    }
#define END                                                                                                            \
    {                                                                                                                  \
        NULL, 0, 0, 0                                                                                                  \
    }

#define O(member) FIELD(bpcn_options, member)
const struct field options_fields[] = {O(dim),        {"hidden", 0, 0, 'h'},
                                       O(activation), O(particles),
                                       O(sigma_w),    O(sigma_x),
                                       O(sigma_data), O(seed),
                                       O(resample),   O(minimizer),
                                       O(precision),  O(threads),
                                       O(adam_rate),  O(adam_stop),
                                       O(adam_steps), O(rounds),
                                       O(shards),     O(shard_rows),
                                       O(when_full),  O(first_shard),
                                       O(shard_step), O(surprises),
                                       O(names),      O(kind),
                                       O(scale),      O(clip),
                                       O(far),        O(deletable),
                                       {"column", 0, 0, 'c'}, END};
#define R(member) FIELD(bpcn_read_options, member)
const struct field read_options_fields[] = {R(objective), R(noise), R(shards), END};
#define P(member) FIELD(bpcn_open_options, member)
const struct field open_options_fields[] = {P(read_only), P(sync), P(threads), P(checkpoint_bytes), END};
#define S(member) FIELD(bpcn_stats, member)
const struct field stats_fields[] = {
    S(dim),        S(code_dim), S(particles),           S(writes),    S(forgets),
    S(deletes),    S(bytes),    S(effective_particles), S(kernels),   S(prepared_bytes),
    S(bytes_most), S(shards),   S(open_shard),          S(surprises), S(names), S(name_bytes),
    S(ancestors), S(deletable), S(trials),
    S(trial_error), END};
#define F(member) FIELD(bpcn_file_info, member)
const struct field file_info_fields[] = {
    F(version),      F(generation),     F(writes),    F(forgets),   F(deletes),  F(note_bytes),
    F(file_bytes),   F(snapshot_bytes), F(log_bytes), F(records),   F(replayed), F(dropped_bytes),
    F(dropped_rows), F(sealed),         F(file_most), F(disk_most), F(torn_seal), END};
#define V(member) FIELD(bpcn_recovery, member)
const struct field recovery_fields[] = {V(writes), V(records),     V(rows),      V(mended), V(lost_records),
                                        V(shards), V(lost_shards), V(lost_note), END};
#define I(member) FIELD(bpcn_read_info, member)
const struct field read_info_fields[] = {I(energy),   I(log_density),   I(familiarity), I(noise), I(residual),
                                         I(variance), I(evaluations),   I(particle),    I(shard), I(converged),
                                         I(verdict),  I(shard_density), I(known),       I(name),  END};
#define M(member) FIELD(bpcn_match, member)
const struct field match_fields[] = {M(log_density), M(distance), M(noise), M(shard), M(name), END};
#define W(member) FIELD(bpcn_write_row, member)
const struct field write_row_fields[] = {W(energy),  W(leverage),    W(evaluations), W(shard), W(converged),
                                         W(verdict), W(familiarity), W(typicality),  END};

static int does_not_fit(const char *name, PyObject *value)
{
    if (PyErr_ExceptionMatches(PyExc_OverflowError) || !PyErr_Occurred()) {
        PyErr_Clear();
        PyErr_Format(error_class(BPCN_INVALID), "%s is %R, which is out of range", name, value);
    }
    return -1;
}

static int set_unsigned(const char *name, size_t size, PyObject *value, char *to)
{
    PyObject *whole = PyNumber_Index(value);
    if (whole == NULL)
        return -1;
    uint64_t wide = PyLong_AsUnsignedLongLong(whole);
    uint32_t narrow = (uint32_t)wide;
    Py_DECREF(whole);
    if (PyErr_Occurred() || (size == sizeof narrow && narrow != wide))
        return does_not_fit(name, value);
    memcpy(to, size == sizeof narrow ? (void *)&narrow : (void *)&wide, size);
    return 0;
}

static int set_integer(const char *name, PyObject *value, char *to)
{
    PyObject *whole = PyNumber_Index(value);
    if (whole == NULL)
        return -1;
    long wide = PyLong_AsLong(whole);
    int number = (int)wide;
    Py_DECREF(whole);
    if (PyErr_Occurred() || number != wide)
        return does_not_fit(name, value);
    memcpy(to, &number, sizeof number);
    return 0;
}

static int set_float(PyObject *value, char *to)
{
    double number = PyFloat_AsDouble(value);
    if (PyErr_Occurred())
        return -1;
    memcpy(to, &number, sizeof number);
    return 0;
}

static int set_hidden(PyObject *value, bpcn_options *options)
{
    Py_ssize_t layers = PySequence_Size(value);
    if (layers < 0)
        return -1;
    if (layers > BPCN_MAX_LAYERS)
        return does_not_fit("the number of hidden layers", value);
    for (Py_ssize_t l = 0; l < layers; l++) {
        PyObject *width = PySequence_GetItem(value, l);
        int failed = width == NULL || set_unsigned("hidden", sizeof(size_t), width, (char *)&options->hidden[l]) != 0;
        Py_XDECREF(width);
        if (failed)
            return -1;
    }
    options->layers = (size_t)layers;
    return 0;
}

/* bytes of size_t: the caller keeps them, as the dictionary does. */
static int set_column(PyObject *value, bpcn_options *options)
{
    char *bytes;
    Py_ssize_t size;
    if (value == Py_None)
        return 0;
    if (PyBytes_AsStringAndSize(value, &bytes, &size) != 0)
        return -1;
    options->column = (const size_t *)(const void *)bytes;
    return 0;
}

static int set_field(const struct field *field, PyObject *value, void *to)
{
    char *at = (char *)to + field->offset;
    switch (field->kind) {
    case 'h':
        return set_hidden(value, to);
    case 'c':
        return set_column(value, to);
    case 'f':
        return set_float(value, at);
    case 'i':
        return set_integer(field->name, value, at);
    default:
        return set_unsigned(field->name, field->size, value, at);
    }
}

/* As many as there are entries. */
static int check_column(PyObject *values, const bpcn_options *options)
{
    PyObject *column = PyDict_GetItemString(values, "column");
    if (options->column == NULL || (size_t)PyBytes_Size(column) == options->dim * sizeof(size_t))
        return 0;
    PyErr_Format(error_class(BPCN_INVALID), "column must have a number for each of the %zu entries", options->dim);
    return -1;
}

int fields_set(const struct field *fields, PyObject *values, void *to)
{
    PyObject *key, *value;
    Py_ssize_t place = 0;
    if (values == Py_None)
        return 0;
    if (!PyDict_Check(values)) {
        PyErr_SetString(PyExc_TypeError, "options must be a dictionary or None");
        return -1;
    }
    while (PyDict_Next(values, &place, &key, &value)) {
        const struct field *field = fields;
        while (field->name != NULL && PyUnicode_CompareWithASCIIString(key, field->name) != 0)
            field++;
        if (field->name == NULL) {
            PyErr_Format(PyExc_TypeError, "there is no option %R", key);
            return -1;
        }
        if (set_field(field, value, to) != 0)
            return -1;
    }
    return fields == options_fields ? check_column(values, to) : 0;
}

static PyObject *get_hidden(const bpcn_options *options)
{
    PyObject *widths = PyTuple_New((Py_ssize_t)options->layers);
    for (size_t l = 0; widths != NULL && l < options->layers; l++) {
        PyObject *width = PyLong_FromSize_t(options->hidden[l]);
        if (width == NULL || PyTuple_SetItem(widths, (Py_ssize_t)l, width) != 0)
            Py_CLEAR(widths);
    }
    return widths;
}

static PyObject *get_field(const struct field *field, const void *from)
{
    const char *at = (const char *)from + field->offset;
    double real;
    int integer;
    uint32_t narrow;
    uint64_t wide;
    switch (field->kind) {
    case 'h':
        return get_hidden(from);
    case 'c':
        Py_RETURN_NONE;
    case 's':
        return PyUnicode_FromString(*(const char *const *)(const void *)at);
    case 'f':
        memcpy(&real, at, sizeof real);
        return PyFloat_FromDouble(real);
    case 'i':
        memcpy(&integer, at, sizeof integer);
        return PyLong_FromLong(integer);
    }
    if (field->size == sizeof narrow) {
        memcpy(&narrow, at, sizeof narrow);
        return PyLong_FromUnsignedLong(narrow);
    }
    memcpy(&wide, at, sizeof wide);
    return PyLong_FromUnsignedLongLong(wide);
}

PyObject *fields_get(const struct field *fields, const void *from)
{
    PyObject *values = PyDict_New();
    for (const struct field *field = fields; values != NULL && field->name != NULL; field++) {
        PyObject *value = get_field(field, from);
        if (value == NULL || PyDict_SetItemString(values, field->name, value) != 0)
            Py_CLEAR(values);
        Py_XDECREF(value);
    }
    return values;
}

PyObject *fields_dtype(const struct field *fields, size_t size)
{
    PyObject *names = PyList_New(0), *formats = PyList_New(0), *offsets = PyList_New(0), *dtype = NULL;
    int failed = names == NULL || formats == NULL || offsets == NULL;
    for (const struct field *field = fields; !failed && field->name != NULL; field++) {
        PyObject *name = PyUnicode_FromString(field->name), *offset = PyLong_FromSize_t(field->offset);
        PyObject *format = PyUnicode_FromFormat("%c%zu", field->kind, field->size);
        failed = name == NULL || offset == NULL || format == NULL || PyList_Append(names, name) != 0 ||
                 PyList_Append(formats, format) != 0 || PyList_Append(offsets, offset) != 0;
        Py_XDECREF(name);
        Py_XDECREF(offset);
        Py_XDECREF(format);
    }
    if (!failed)
        dtype = Py_BuildValue("{s:O,s:O,s:O,s:n}", "names", names, "formats", formats, "offsets", offsets, "itemsize",
                              (Py_ssize_t)size);
    Py_XDECREF(names);
    Py_XDECREF(formats);
    Py_XDECREF(offsets);
    return dtype;
}

/* ---- buffers */

static size_t size_of(char type)
{
    return type == 'f' ? sizeof(float) : type == 'd' ? sizeof(double) : type == 'L' ? sizeof(size_t) : 1;
}

static int has_type(const Py_buffer *view, char type)
{
    const char *format = view->format != NULL ? view->format : "B";
    if (type == 'x')
        return 1;
    if (type == '?')
        return strcmp(format, "?") == 0 || strcmp(format, "B") == 0;
    return format[0] == type && format[1] == '\0' && (uintptr_t)view->buf % size_of(type) == 0;
}

/* The view, or NULL with `failed` set. */
static Py_buffer *take(struct buffers *b, PyObject *object, const char *name, char type, int out)
{
    Py_buffer *view = &b->view[b->count];
    int flags = PyBUF_FORMAT | PyBUF_C_CONTIGUOUS | (out ? PyBUF_WRITABLE : 0);
    if (b->failed || PyObject_GetBuffer(object, view, flags) != 0) {
        b->failed = 1;
        return NULL;
    }
    b->count++;
    if (has_type(view, type))
        return view;
    PyErr_Format(PyExc_TypeError, "%s must be an aligned array of %s, not of format '%s'", name,
                 type == 'f'   ? "float32"
                 : type == 'd' ? "float64"
                 : type == 'L' ? "uintp"
                               : "bool or uint8",
                 view->format ? view->format : "B");
    b->failed = 1;
    return NULL;
}

void *buffers_take(struct buffers *b, PyObject *object, const char *name, char type, size_t count, int out)
{
    if (object == Py_None || b->failed)
        return NULL;
    Py_buffer *view = take(b, object, name, type, out);
    if (view == NULL)
        return NULL;
    if ((size_t)view->len / size_of(type) == count && (size_t)view->len % size_of(type) == 0)
        return view->buf;
    PyErr_Format(error_class(BPCN_INVALID), "%s has %zd %s, but must have %zu", name,
                 view->len / (Py_ssize_t)size_of(type), type == 'x' ? "bytes" : "entries", count);
    b->failed = 1;
    return NULL;
}

float *buffers_take_rows(struct buffers *b, PyObject *object, const char *name, size_t row, size_t *n)
{
    Py_buffer *view = take(b, object, name, 'f', BUFFER_IN);
    *n = 0;
    if (view == NULL)
        return NULL;
    *n = (size_t)view->len / sizeof(float) / row;
    if (*n * row * sizeof(float) == (size_t)view->len)
        return view->buf;
    PyErr_Format(error_class(BPCN_INVALID), "%s has %zd entries, which is no whole number of rows of %zu", name,
                 view->len / (Py_ssize_t)sizeof(float), row);
    b->failed = 1;
    return NULL;
}

void buffers_release(struct buffers *b)
{
    while (b->count > 0)
        PyBuffer_Release(&b->view[--b->count]);
}
