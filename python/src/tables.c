/* tables.c: settings for a table, and the sums of trials. */
#include "raw.h"

#include <string.h>

PyObject *options_bytes(PyObject *module, PyObject *args)
{
    PyObject *values;
    bpcn_options options;
    uint64_t bytes, most;
    (void)module;
    bpcn_options_default(&options, sizeof options);
    if (!PyArg_ParseTuple(args, "O:options_bytes", &values) || fields_set(options_fields, values, &options) != 0)
        return NULL;
    bpcn_status status = bpcn_options_bytes(&options, &bytes, &most);
    return status != BPCN_OK ? raise_status(status)
                             : Py_BuildValue("(KK)", (unsigned long long)bytes, (unsigned long long)most);
}

PyObject *options_for_table(PyObject *module, PyObject *args)
{
    PyObject *values, *ocolumn, *ox, *oknown;
    struct buffers b = {.count = 0};
    bpcn_options options;
    bpcn_status status = BPCN_OK;
    size_t n;
    (void)module;
    bpcn_options_default(&options, sizeof options);
    if (!PyArg_ParseTuple(args, "OOOO:options_for_table", &values, &ocolumn, &ox, &oknown) ||
        fields_set(options_fields, values, &options) != 0)
        return NULL;
    if (options.dim == 0)
        return PyErr_Format(error_class(BPCN_INVALID), "dim is 0");
    const float *x = buffers_take_rows(&b, ox, "x", options.dim, &n);
    const size_t *column = buffers_take(&b, ocolumn, "column", 'L', options.dim, BUFFER_IN);
    const unsigned char *known = buffers_take(&b, oknown, "known", '?', n * options.dim, BUFFER_IN);
    if (!b.failed) {
        Py_BEGIN_ALLOW_THREADS status = bpcn_options_for_table(&options, column, x, known, n);
        Py_END_ALLOW_THREADS
    }
    buffers_release(&b);
    if (b.failed)
        return NULL;
    return status == BPCN_OK ? fields_get(options_fields, &options) : raise_status(status);
}

PyObject *trials_hide(PyObject *module, PyObject *args)
{
    PyObject *ocolumn, *oknown, *oshown;
    unsigned long long row;
    struct buffers b = {.count = 0};
    (void)module;
    if (!PyArg_ParseTuple(args, "KOOO:trials_hide", &row, &ocolumn, &oknown, &oshown))
        return NULL;
    Py_ssize_t dim = PyObject_Size(oshown);
    if (dim < 0)
        return NULL;
    const size_t *column = buffers_take(&b, ocolumn, "column", 'L', (size_t)dim, BUFFER_IN);
    const unsigned char *known = buffers_take(&b, oknown, "known", '?', (size_t)dim, BUFFER_IN);
    unsigned char *shown = buffers_take(&b, oshown, "shown", '?', (size_t)dim, BUFFER_OUT);
    size_t left = shown != NULL && !b.failed ? bpcn_trials_hide(row, column, known, (size_t)dim, shown) : 0;
    buffers_release(&b);
    return b.failed ? NULL : PyLong_FromSize_t(left);
}

PyObject *trials_count(PyObject *module, PyObject *args)
{
    PyObject *otrials, *ox, *oknown, *oanswer, *ospread, *oshown;
    struct buffers b = {.count = 0};
    bpcn_trials sums;
    (void)module;
    if (!PyArg_ParseTuple(args, "OOOOOO:trials_count", &otrials, &ox, &oknown, &oanswer, &ospread, &oshown))
        return NULL;
    Py_ssize_t size = PyObject_Size(oshown);
    if (size < 0)
        return NULL;
    size_t dim = (size_t)size;
    void *trials = buffers_take(&b, otrials, "trials", 'x', sizeof sums, BUFFER_OUT);
    const float *x = buffers_take(&b, ox, "x", 'f', dim, BUFFER_IN);
    const unsigned char *known = buffers_take(&b, oknown, "known", '?', dim, BUFFER_IN);
    const float *answer = buffers_take(&b, oanswer, "answer", 'f', dim, BUFFER_IN);
    const float *spread = buffers_take(&b, ospread, "spread", 'f', dim, BUFFER_IN);
    const unsigned char *shown = buffers_take(&b, oshown, "shown", '?', dim, BUFFER_IN);
    int whole = trials && x && answer && spread && shown;
    if (!b.failed && whole) {
        memcpy(&sums, trials, sizeof sums);
        bpcn_trials_count(&sums, x, known, dim, answer, spread, shown);
        memcpy(trials, &sums, sizeof sums);
    }
    buffers_release(&b);
    if (!b.failed && !whole)
        PyErr_SetString(PyExc_TypeError, "only known may be None");
    return b.failed || !whole ? NULL : Py_NewRef(Py_None);
}

PyObject *trials_factor(PyObject *module, PyObject *args)
{
    PyObject *otrials;
    struct buffers b = {.count = 0};
    bpcn_trials sums = {0};
    (void)module;
    if (!PyArg_ParseTuple(args, "O:trials_factor", &otrials))
        return NULL;
    const void *trials = buffers_take(&b, otrials, "trials", 'x', sizeof sums, BUFFER_IN);
    if (trials != NULL)
        memcpy(&sums, trials, sizeof sums);
    buffers_release(&b);
    return b.failed ? NULL : PyFloat_FromDouble(bpcn_trials_factor(&sums));
}
