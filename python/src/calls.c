/* calls.c: the operations on a memory. Each takes its arguments, gives the GIL back, calls the library, and takes it
 * again. */
#include "raw.h"

#include <stdlib.h>

static size_t dim_of(PyObject *self)
{
    return handle_options((handle *)self)->dim;
}

/* ---- write */

/* The error being raised also says how many rows are in the memory all the same. */
static PyObject *with_written(size_t written)
{
    PyObject *kind, *value, *trace, *count = PyLong_FromSize_t(written);
    PyErr_Fetch(&kind, &value, &trace);
    PyErr_NormalizeException(&kind, &value, &trace);
    if (count == NULL || PyObject_SetAttrString(value, "written", count) != 0)
        PyErr_Clear();
    Py_XDECREF(count);
    PyErr_Restore(kind, value, trace);
    return NULL;
}

static PyObject *write_rows(PyObject *self, PyObject *args)
{
    PyObject *ox, *oknown, *orows, *ocodes, *onames = NULL;
    if (!PyArg_ParseTuple(args, "OOOO|O:write", &ox, &oknown, &orows, &ocodes, &onames))
        return NULL;
    struct names names = {.kept = NULL};
    struct buffers b = {.count = 0};
    struct call call;
    size_t n, dim = dim_of(self), code = handle_code_dim((handle *)self);
    bpcn_write_info info;
    bpcn_write_info_default(&info, sizeof info);
    const float *x = buffers_take_rows(&b, ox, "x", dim, &n);
    const unsigned char *known = buffers_take(&b, oknown, "known", '?', n * dim, BUFFER_IN);
    info.rows = buffers_take(&b, orows, "rows", 'x', n * sizeof *info.rows, BUFFER_OUT);
    info.codes =
        buffers_take(&b, ocodes, "codes", 'f', n * handle_options((handle *)self)->particles * code, BUFFER_OUT);
    bpcn_memory *memory = b.failed || names_take(&names, onames, n) != 0 ? NULL : call_begin(&call, self, ALONE);
    bpcn_status status = BPCN_OK;
    info.names = names.text;
    if (memory != NULL) {
        status = bpcn_memory_write(memory, x, known, n, &info);
        call_end(&call);
    }
    names_release(&names);
    buffers_release(&b);
    if (memory == NULL)
        return NULL;
    if (status != BPCN_OK) {
        raise_status(status);
        return with_written(info.written);
    }
    return PyLong_FromSize_t(info.written);
}

static PyObject *delete_rows(PyObject *self, PyObject *args)
{
    PyObject *ox;
    struct buffers b = {.count = 0};
    struct call call;
    size_t n;
    if (!PyArg_ParseTuple(args, "O:delete", &ox))
        return NULL;
    const float *x = buffers_take_rows(&b, ox, "x", dim_of(self), &n);
    bpcn_memory *memory = b.failed ? NULL : call_begin(&call, self, ALONE);
    bpcn_status status = BPCN_OK;
    if (memory != NULL) {
        status = bpcn_memory_delete_rows(memory, x, n); /* bpcn_memory_delete is that of one row */
        call_end(&call);
    }
    buffers_release(&b);
    return memory == NULL ? NULL : none_or_error(status);
}

/* ---- read */

typedef bpcn_status answer(const bpcn_memory *, const float *, const unsigned char *, size_t, const bpcn_read_options *,
                           float *, bpcn_read_info *);

/* read and infer differ in what comes out: rows, or codes. */
static PyObject *ask(PyObject *self, PyObject *args, answer *call_library, size_t width)
{
    PyObject *ox, *oknown, *ooptions, *oout, *oinfo, *ospread;
    struct buffers b = {.count = 0};
    struct call call;
    bpcn_read_options options;
    size_t n, dim = dim_of(self);
    bpcn_read_options_default(&options, sizeof options);
    if (!PyArg_ParseTuple(args, "OOOOOO", &ox, &oknown, &ooptions, &oout, &oinfo, &ospread) ||
        fields_set(read_options_fields, ooptions, &options) != 0)
        return NULL;
    const float *x = buffers_take_rows(&b, ox, "x", dim, &n);
    const unsigned char *known = buffers_take(&b, oknown, "known", '?', n * dim, BUFFER_IN);
    float *out = buffers_take(&b, oout, "out", 'f', n * width, BUFFER_OUT);
    bpcn_read_info *info = buffers_take(&b, oinfo, "info", 'x', n * sizeof *info, BUFFER_OUT);
    options.spread = buffers_take(&b, ospread, "spread", 'f', n * dim, BUFFER_OUT);
    bpcn_memory *memory = b.failed ? NULL : call_begin(&call, self, SHARED);
    bpcn_status status = BPCN_OK;
    if (memory != NULL) {
        status = call_library(memory, x, known, n, &options, out, info);
        call_end(&call);
    }
    buffers_release(&b);
    return memory == NULL ? NULL : none_or_error(status);
}

static PyObject *read_rows(PyObject *self, PyObject *args)
{
    return ask(self, args, bpcn_memory_read, dim_of(self));
}

static PyObject *infer_codes(PyObject *self, PyObject *args)
{
    return ask(self, args, bpcn_memory_infer, handle_code_dim((handle *)self));
}

/* k: answers to each query. */
static PyObject *search_rows(PyObject *self, PyObject *args)
{
    PyObject *ox, *oknown, *ooptions, *omatches, *orows, *ofound;
    Py_ssize_t k;
    struct buffers b = {.count = 0};
    struct call call;
    bpcn_read_options options;
    size_t n, dim = dim_of(self);
    bpcn_read_options_default(&options, sizeof options);
    if (!PyArg_ParseTuple(args, "OOnOOOO:search", &ox, &oknown, &k, &ooptions, &omatches, &orows, &ofound) ||
        fields_set(read_options_fields, ooptions, &options) != 0)
        return NULL;
    size_t most = k < 0 || k > BPCN_MAX_MATCHES ? 0 : (size_t)k; /* the library refuses 0 */
    const float *x = buffers_take_rows(&b, ox, "x", dim, &n);
    const unsigned char *known = buffers_take(&b, oknown, "known", '?', n * dim, BUFFER_IN);
    bpcn_match *matches = buffers_take(&b, omatches, "matches", 'x', n * most * sizeof *matches, BUFFER_OUT);
    float *rows = buffers_take(&b, orows, "rows", 'f', n * most * dim, BUFFER_OUT);
    size_t *found = buffers_take(&b, ofound, "found", 'L', n, BUFFER_OUT);
    bpcn_memory *memory = b.failed ? NULL : call_begin(&call, self, SHARED);
    bpcn_status status = BPCN_OK;
    if (memory != NULL) {
        status = bpcn_memory_search(memory, x, known, n, most, &options, matches, rows, found);
        call_end(&call);
    }
    buffers_release(&b);
    return memory == NULL ? NULL : none_or_error(status);
}

static PyObject *score_rows(PyObject *self, PyObject *args)
{
    PyObject *ox, *oknown, *odensity;
    struct buffers b = {.count = 0};
    struct call call;
    size_t n, dim = dim_of(self);
    if (!PyArg_ParseTuple(args, "OOO:score", &ox, &oknown, &odensity))
        return NULL;
    const float *x = buffers_take_rows(&b, ox, "x", dim, &n);
    const unsigned char *known = buffers_take(&b, oknown, "known", '?', n * dim, BUFFER_IN);
    double *density = buffers_take(&b, odensity, "log_density", 'd', n, BUFFER_OUT);
    bpcn_memory *memory = b.failed ? NULL : call_begin(&call, self, SHARED);
    bpcn_status status = BPCN_OK;
    if (memory != NULL) {
        status = bpcn_memory_score(memory, x, known, n, density);
        call_end(&call);
    }
    buffers_release(&b);
    return memory == NULL ? NULL : none_or_error(status);
}

static PyObject *explain_rows(PyObject *self, PyObject *args)
{
    PyObject *ox, *oknown, *out[3];
    static const char *const names[3] = {"expected", "deviation", "blame"};
    double *numbers[3];
    struct buffers b = {.count = 0};
    struct call call;
    size_t n, dim = dim_of(self);
    if (!PyArg_ParseTuple(args, "OOOOO:explain", &ox, &oknown, &out[0], &out[1], &out[2]))
        return NULL;
    const float *x = buffers_take_rows(&b, ox, "x", dim, &n);
    const unsigned char *known = buffers_take(&b, oknown, "known", '?', n * dim, BUFFER_IN);
    for (int i = 0; i < 3; i++)
        numbers[i] = buffers_take(&b, out[i], names[i], 'd', n * dim, BUFFER_OUT);
    bpcn_memory *memory = b.failed ? NULL : call_begin(&call, self, SHARED);
    bpcn_status status = BPCN_OK;
    if (memory != NULL) {
        status = bpcn_memory_explain(memory, x, known, n, numbers[0], numbers[1], numbers[2]);
        call_end(&call);
    }
    buffers_release(&b);
    return memory == NULL ? NULL : none_or_error(status);
}

static PyObject *typicality(PyObject *self, PyObject *args)
{
    PyObject *odensity, *otypicality;
    Py_ssize_t n;
    struct buffers b = {.count = 0};
    struct call call;
    if (!PyArg_ParseTuple(args, "OO:typicality", &odensity, &otypicality) || (n = PyObject_Size(odensity)) < 0)
        return NULL;
    const double *density = buffers_take(&b, odensity, "log_density", 'd', (size_t)n, BUFFER_IN);
    double *out = buffers_take(&b, otypicality, "typicality", 'd', (size_t)n, BUFFER_OUT);
    bpcn_memory *memory = b.failed ? NULL : call_begin(&call, self, SHARED);
    bpcn_status status = BPCN_OK;
    if (memory != NULL) {
        status = bpcn_memory_typicality(memory, density, (size_t)n, out);
        call_end(&call);
    }
    buffers_release(&b);
    return memory == NULL ? NULL : none_or_error(status);
}

static PyObject *energy(PyObject *self, PyObject *args)
{
    PyObject *ox, *oknown, *ocodes, *ooptions, *oenergy, *ograd;
    struct buffers b = {.count = 0};
    struct call call;
    bpcn_read_options options;
    size_t n, dim = dim_of(self), code = handle_code_dim((handle *)self);
    bpcn_read_options_default(&options, sizeof options);
    if (!PyArg_ParseTuple(args, "OOOOOO:energy", &ox, &oknown, &ocodes, &ooptions, &oenergy, &ograd) ||
        fields_set(read_options_fields, ooptions, &options) != 0)
        return NULL;
    const float *x = buffers_take_rows(&b, ox, "x", dim, &n);
    const unsigned char *known = buffers_take(&b, oknown, "known", '?', n * dim, BUFFER_IN);
    const float *codes = buffers_take(&b, ocodes, "codes", 'f', n * code, BUFFER_IN);
    double *out = buffers_take(&b, oenergy, "energy", 'd', n, BUFFER_OUT);
    float *grad = buffers_take(&b, ograd, "grad", 'f', n * code, BUFFER_OUT);
    bpcn_memory *memory = b.failed ? NULL : call_begin(&call, self, SHARED);
    bpcn_status status = BPCN_OK;
    if (memory != NULL) {
        status = bpcn_memory_energy(memory, x, known, codes, n, &options, out, grad);
        call_end(&call);
    }
    buffers_release(&b);
    return memory == NULL ? NULL : none_or_error(status);
}

static PyObject *sample(PyObject *self, PyObject *args)
{
    PyObject *oout;
    Py_ssize_t n;
    unsigned long long draw;
    struct buffers b = {.count = 0};
    struct call call;
    if (!PyArg_ParseTuple(args, "nKO:sample", &n, &draw, &oout))
        return NULL;
    float *out = buffers_take(&b, oout, "out", 'f', (size_t)n * dim_of(self), BUFFER_OUT);
    bpcn_memory *memory = b.failed ? NULL : call_begin(&call, self, SHARED);
    bpcn_status status = BPCN_OK;
    if (memory != NULL) {
        status = bpcn_memory_sample(memory, (size_t)n, draw, out);
        call_end(&call);
    }
    buffers_release(&b);
    return memory == NULL ? NULL : none_or_error(status);
}

/* ---- fading, and the file */

static PyObject *fade(PyObject *self, PyObject *args, bpcn_status (*change)(bpcn_memory *, double))
{
    double beta;
    struct call call;
    if (!PyArg_ParseTuple(args, "d", &beta))
        return NULL;
    bpcn_memory *memory = call_begin(&call, self, ALONE);
    if (memory == NULL)
        return NULL;
    bpcn_status status = change(memory, beta);
    call_end(&call);
    return none_or_error(status);
}

static PyObject *forget(PyObject *self, PyObject *args)
{
    return fade(self, args, bpcn_memory_forget);
}

static PyObject *discount(PyObject *self, PyObject *args)
{
    return fade(self, args, bpcn_memory_discount);
}

static PyObject *keep(PyObject *self, bpcn_status (*change)(bpcn_memory *))
{
    struct call call;
    bpcn_memory *memory = call_begin(&call, self, ALONE);
    if (memory == NULL)
        return NULL;
    bpcn_status status = change(memory);
    call_end(&call);
    return none_or_error(status);
}

static PyObject *sync_file(PyObject *self, PyObject *unused)
{
    (void)unused;
    return keep(self, bpcn_memory_sync);
}

static PyObject *checkpoint(PyObject *self, PyObject *unused)
{
    (void)unused;
    return keep(self, bpcn_memory_checkpoint);
}

static PyObject *save(PyObject *self, PyObject *args)
{
    PyObject *path;
    struct call call;
    if (!PyArg_ParseTuple(args, "O&:save", PyUnicode_FSConverter, &path))
        return NULL;
    bpcn_memory *memory = call_begin(&call, self, SHARED);
    bpcn_status status = BPCN_OK;
    if (memory != NULL) {
        status = bpcn_memory_save(memory, PyBytes_AsString(path));
        call_end(&call);
    }
    Py_DECREF(path);
    return memory == NULL ? NULL : none_or_error(status);
}

static PyObject *set_minimizer(PyObject *self, PyObject *args)
{
    int minimizer;
    struct call call;
    if (!PyArg_ParseTuple(args, "i:set_minimizer", &minimizer))
        return NULL;
    bpcn_memory *memory = call_begin(&call, self, ALONE);
    if (memory == NULL)
        return NULL;
    bpcn_status status = bpcn_memory_set_minimizer(memory, (bpcn_minimizer)minimizer);
    call_end(&call);
    return none_or_error(status);
}

/* ---- the note, and what a memory says of itself */

static PyObject *set_note(PyObject *self, PyObject *args)
{
    const char *note;
    Py_ssize_t bytes;
    struct call call;
    if (!PyArg_ParseTuple(args, "y#:set_note", &note, &bytes))
        return NULL;
    bpcn_memory *memory = call_begin(&call, self, ALONE);
    if (memory == NULL)
        return NULL;
    bpcn_status status = bpcn_memory_set_note(memory, note, (size_t)bytes);
    call_end(&call);
    return none_or_error(status);
}

static PyObject *get_note(PyObject *self, PyObject *unused)
{
    struct call call;
    size_t bytes = 0;
    (void)unused;
    char *room = malloc(BPCN_MAX_NOTE);
    if (room == NULL)
        return PyErr_NoMemory();
    bpcn_memory *memory = call_begin(&call, self, SHARED);
    bpcn_status status = BPCN_OK;
    if (memory != NULL) {
        status = bpcn_memory_get_note(memory, room, BPCN_MAX_NOTE, &bytes);
        call_end(&call);
    }
    PyObject *note = memory == NULL      ? NULL
                     : status != BPCN_OK ? raise_status(status)
                                         : PyBytes_FromStringAndSize(room, (Py_ssize_t)bytes);
    free(room);
    return note;
}

static PyObject *get_options(PyObject *self, PyObject *unused)
{
    struct call call;
    bpcn_options options = {.size = sizeof options};
    (void)unused;
    bpcn_memory *memory = call_begin(&call, self, SHARED);
    if (memory == NULL)
        return NULL;
    bpcn_status status = bpcn_memory_get_options(memory, &options);
    call_end(&call);
    return status != BPCN_OK ? raise_status(status) : fields_get(options_fields, &options);
}

static PyObject *get_stats(PyObject *self, PyObject *unused)
{
    struct call call;
    bpcn_stats stats = {.size = sizeof stats};
    (void)unused;
    bpcn_memory *memory = call_begin(&call, self, SHARED);
    if (memory == NULL)
        return NULL;
    bpcn_status status = bpcn_memory_get_stats(memory, &stats);
    call_end(&call);
    return status != BPCN_OK ? raise_status(status) : fields_get(stats_fields, &stats);
}

static PyObject *get_file(PyObject *self, PyObject *unused)
{
    struct call call;
    bpcn_file_info info = {.size = sizeof info};
    (void)unused;
    bpcn_memory *memory = call_begin(&call, self, SHARED);
    if (memory == NULL)
        return NULL;
    bpcn_status status = bpcn_memory_get_file(memory, &info);
    call_end(&call);
    return status != BPCN_OK ? raise_status(status) : fields_get(file_info_fields, &info);
}

static PyObject *get_shards(PyObject *self, PyObject *unused)
{
    struct call call;
    size_t count = 0, most = handle_options((handle *)self)->shards;
    (void)unused;
    uint64_t *rows = calloc(most, sizeof *rows);
    if (rows == NULL)
        return PyErr_NoMemory();
    bpcn_memory *memory = call_begin(&call, self, SHARED);
    bpcn_status status = BPCN_OK;
    if (memory != NULL) {
        status = bpcn_memory_get_shards(memory, rows, most, &count);
        call_end(&call);
    }
    PyObject *list = memory == NULL || status != BPCN_OK ? NULL : PyList_New((Py_ssize_t)count);
    for (size_t k = 0; list != NULL && k < count; k++) {
        PyObject *number = PyLong_FromUnsignedLongLong(rows[k]);
        if (number == NULL || PyList_SetItem(list, (Py_ssize_t)k, number) != 0)
            Py_CLEAR(list);
    }
    free(rows);
    return status != BPCN_OK ? raise_status(status) : list;
}

PyMethodDef handle_methods[] = {
    {"write", write_rows, METH_VARARGS, "write(x, known, rows, codes, names=None) -> rows written"},
    {"delete", delete_rows, METH_VARARGS, "delete(x): all rows or none"},
    {"delete_name", delete_name, METH_VARARGS, "delete_name(name)"},
    {"get_names", get_names, METH_NOARGS, "get_names() -> (name, number, shard) of each, the oldest first"},
    {"get_name", get_name, METH_VARARGS, "get_name(number) -> (name, number, shard)"},
    {"read", read_rows, METH_VARARGS, "read(x, known, options, out, info, spread)"},
    {"infer", infer_codes, METH_VARARGS, "infer(x, known, options, codes, info, spread)"},
    {"search", search_rows, METH_VARARGS, "search(x, known, k, options, matches, rows, found)"},
    {"score", score_rows, METH_VARARGS, "score(x, known, log_density)"},
    {"explain", explain_rows, METH_VARARGS, "explain(x, known, expected, deviation, blame)"},
    {"typicality", typicality, METH_VARARGS, "typicality(log_density, typicality)"},
    {"energy", energy, METH_VARARGS, "energy(x, known, codes, options, energy, grad)"},
    {"sample", sample, METH_VARARGS, "sample(n, draw, out)"},
    {"forget", forget, METH_VARARGS, "forget(beta)"},
    {"discount", discount, METH_VARARGS, "discount(beta)"},
    {"sync", sync_file, METH_NOARGS, "sync()"},
    {"checkpoint", checkpoint, METH_NOARGS, "checkpoint()"},
    {"save", save, METH_VARARGS, "save(path)"},
    {"close", handle_close, METH_NOARGS, "close()"},
    {"set_minimizer", set_minimizer, METH_VARARGS, "set_minimizer(minimizer)"},
    {"set_note", set_note, METH_VARARGS, "set_note(bytes)"},
    {"get_note", get_note, METH_NOARGS, "get_note() -> bytes"},
    {"get_options", get_options, METH_NOARGS, "get_options() -> dict"},
    {"get_stats", get_stats, METH_NOARGS, "get_stats() -> dict"},
    {"get_file", get_file, METH_NOARGS, "get_file() -> dict"},
    {"get_shards", get_shards, METH_NOARGS, "get_shards() -> rows of each shard"},
    {"get_scale", get_scale, METH_VARARGS, "get_scale(centre, scale) -> (pairs, settled)"},
    {"set_scale", set_scale, METH_VARARGS, "set_scale(centre, scale, pairs)"},
    {"get_layer", get_layer, METH_VARARGS, "get_layer(shard, particle, layer, mean, covariance)"},
    {"set_layer", set_layer, METH_VARARGS, "set_layer(shard, particle, layer, mean, covariance)"},
    {"get_top", get_top, METH_VARARGS, "get_top(shard, particle, mean) -> variance"},
    {"set_top", set_top, METH_VARARGS, "set_top(shard, particle, mean, variance)"},
    {"get_weights", get_weights, METH_VARARGS, "get_weights(shard, weights)"},
    {"set_shards", set_shards, METH_VARARGS, "set_shards(rows of each shard, the one begun last)"},
    {"set_weights", set_weights, METH_VARARGS, "set_weights(shard, weights)"},
    {NULL, NULL, 0, NULL}};
