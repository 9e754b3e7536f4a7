/* parameters.c: parameters in and out. */
#include "raw.h"

#include <stdlib.h>

/* A layer's widths, or 0 and 0 for a layer that does not exist: then the library says so. */
static void widths(const bpcn_options *o, size_t layer, size_t *below, size_t *above)
{
    *below = layer >= o->layers ? 0 : layer == 0 ? o->dim : o->hidden[layer - 1];
    *above = layer >= o->layers ? 0 : o->hidden[layer];
}

static size_t top_width(const bpcn_options *o)
{
    return o->layers > 0 ? o->hidden[o->layers - 1] : o->dim;
}

static int no_layer(const bpcn_options *o, size_t layer)
{
    if (layer < o->layers)
        return 0;
    PyErr_Format(error_class(BPCN_INVALID), "there is no layer %zu: the memory has %zu", layer, o->layers);
    return 1;
}

static PyObject *layer_in_or_out(PyObject *self, PyObject *args, enum use use)
{
    PyObject *omean, *ocovariance;
    struct buffers b = {.count = 0};
    struct call call;
    Py_ssize_t shard, particle, layer;
    size_t below, above;
    const bpcn_options *o = handle_options((handle *)self);
    if (!PyArg_ParseTuple(args, "nnnOO", &shard, &particle, &layer, &omean, &ocovariance) || no_layer(o, (size_t)layer))
        return NULL;
    widths(o, (size_t)layer, &below, &above);
    int out = use == SHARED ? BUFFER_OUT : BUFFER_IN;
    double *mean = buffers_take(&b, omean, "mean", 'd', above * below, out);
    double *covariance = buffers_take(&b, ocovariance, "covariance", 'd', above * above, out);
    bpcn_memory *memory = b.failed ? NULL : call_begin(&call, self, use);
    bpcn_status status = BPCN_OK;
    if (memory != NULL) {
        status = use == SHARED
                     ? bpcn_memory_get_layer(memory, (size_t)shard, (size_t)particle, (size_t)layer, mean, covariance)
                     : bpcn_memory_set_layer(memory, (size_t)shard, (size_t)particle, (size_t)layer, mean, covariance);
        call_end(&call);
    }
    buffers_release(&b);
    return memory == NULL ? NULL : none_or_error(status);
}

PyObject *get_layer(PyObject *self, PyObject *args)
{
    return layer_in_or_out(self, args, SHARED);
}

PyObject *set_layer(PyObject *self, PyObject *args)
{
    return layer_in_or_out(self, args, ALONE);
}

PyObject *get_top(PyObject *self, PyObject *args)
{
    PyObject *omean;
    struct buffers b = {.count = 0};
    struct call call;
    Py_ssize_t shard, particle;
    double variance = 0;
    if (!PyArg_ParseTuple(args, "nnO:get_top", &shard, &particle, &omean))
        return NULL;
    double *mean = buffers_take(&b, omean, "mean", 'd', top_width(handle_options((handle *)self)), BUFFER_OUT);
    bpcn_memory *memory = b.failed ? NULL : call_begin(&call, self, SHARED);
    bpcn_status status = BPCN_OK;
    if (memory != NULL) {
        status = bpcn_memory_get_top(memory, (size_t)shard, (size_t)particle, mean, &variance);
        call_end(&call);
    }
    buffers_release(&b);
    return memory == NULL ? NULL : status != BPCN_OK ? raise_status(status) : PyFloat_FromDouble(variance);
}

PyObject *set_top(PyObject *self, PyObject *args)
{
    PyObject *omean;
    struct buffers b = {.count = 0};
    struct call call;
    Py_ssize_t shard, particle;
    double variance;
    if (!PyArg_ParseTuple(args, "nnOd:set_top", &shard, &particle, &omean, &variance))
        return NULL;
    const double *mean = buffers_take(&b, omean, "mean", 'd', top_width(handle_options((handle *)self)), BUFFER_IN);
    bpcn_memory *memory = b.failed ? NULL : call_begin(&call, self, ALONE);
    bpcn_status status = BPCN_OK;
    if (memory != NULL) {
        status = bpcn_memory_set_top(memory, (size_t)shard, (size_t)particle, mean, variance);
        call_end(&call);
    }
    buffers_release(&b);
    return memory == NULL ? NULL : none_or_error(status);
}

static PyObject *weights_in_or_out(PyObject *self, PyObject *args, enum use use)
{
    PyObject *oweights;
    struct buffers b = {.count = 0};
    struct call call;
    Py_ssize_t shard;
    size_t particles = handle_options((handle *)self)->particles;
    if (!PyArg_ParseTuple(args, "nO", &shard, &oweights))
        return NULL;
    double *weights = buffers_take(&b, oweights, "weights", 'd', particles, use == SHARED ? BUFFER_OUT : BUFFER_IN);
    bpcn_memory *memory = b.failed ? NULL : call_begin(&call, self, use);
    bpcn_status status = BPCN_OK;
    if (memory != NULL) {
        status = use == SHARED ? bpcn_memory_get_weights(memory, (size_t)shard, weights)
                               : bpcn_memory_set_weights(memory, (size_t)shard, weights);
        call_end(&call);
    }
    buffers_release(&b);
    return memory == NULL ? NULL : none_or_error(status);
}

PyObject *get_weights(PyObject *self, PyObject *args)
{
    return weights_in_or_out(self, args, SHARED);
}

PyObject *set_weights(PyObject *self, PyObject *args)
{
    return weights_in_or_out(self, args, ALONE);
}

/* Buffers of dim doubles, of which the first `pairs` count. */
PyObject *get_scale(PyObject *self, PyObject *args)
{
    PyObject *ocentre, *oscale;
    struct call call;
    struct buffers b = {.count = 0};
    size_t dim = handle_options((handle *)self)->dim, pairs = 0;
    int settled = 0;
    if (!PyArg_ParseTuple(args, "OO:get_scale", &ocentre, &oscale))
        return NULL;
    double *centre = buffers_take(&b, ocentre, "centre", 'd', dim, BUFFER_OUT);
    double *scale = buffers_take(&b, oscale, "scale", 'd', dim, BUFFER_OUT);
    bpcn_memory *memory = b.failed ? NULL : call_begin(&call, self, SHARED);
    bpcn_status status = BPCN_OK;
    if (memory != NULL) {
        status = bpcn_memory_get_scale(memory, centre, scale, dim, &pairs, &settled);
        call_end(&call);
    }
    buffers_release(&b);
    if (memory == NULL)
        return NULL;
    return status != BPCN_OK ? raise_status(status) : Py_BuildValue("(nO)", (Py_ssize_t)pairs, settled ? Py_True : Py_False);
}

PyObject *set_scale(PyObject *self, PyObject *args)
{
    PyObject *ocentre, *oscale;
    Py_ssize_t pairs;
    struct call call;
    struct buffers b = {.count = 0};
    if (!PyArg_ParseTuple(args, "OOn:set_scale", &ocentre, &oscale, &pairs))
        return NULL;
    if (pairs < 0)
        return PyErr_Format(error_class(BPCN_INVALID), "%zd pairs", pairs);
    const double *centre = buffers_take(&b, ocentre, "centre", 'd', (size_t)pairs, BUFFER_IN);
    const double *scale = buffers_take(&b, oscale, "scale", 'd', (size_t)pairs, BUFFER_IN);
    bpcn_memory *memory = b.failed ? NULL : call_begin(&call, self, ALONE);
    bpcn_status status = BPCN_OK;
    if (memory != NULL) {
        status = bpcn_memory_set_scale(memory, centre, scale, (size_t)pairs);
        call_end(&call);
    }
    buffers_release(&b);
    return memory == NULL ? NULL : none_or_error(status);
}

/* Rows of each shard as the library takes them; NULL with a Python error. Free it. */
static uint64_t *counts_of(PyObject *list, Py_ssize_t *count)
{
    *count = PySequence_Size(list);
    uint64_t *rows = *count < 0 ? NULL : calloc((size_t)*count + 1, sizeof *rows);
    if (rows == NULL && *count >= 0)
        PyErr_NoMemory();
    for (Py_ssize_t k = 0; rows != NULL && k < *count; k++) {
        PyObject *item = PySequence_GetItem(list, k), *whole = item ? PyNumber_Index(item) : NULL;
        rows[k] = whole ? PyLong_AsUnsignedLongLong(whole) : 0;
        Py_XDECREF(item);
        Py_XDECREF(whole);
    }
    if (!PyErr_Occurred())
        return rows;
    if (PyErr_ExceptionMatches(PyExc_OverflowError)) {
        PyErr_Clear();
        PyErr_Format(error_class(BPCN_INVALID), "the rows of a shard are out of range: %R", list);
    }
    free(rows);
    return NULL;
}

PyObject *set_shards(PyObject *self, PyObject *args)
{
    PyObject *list;
    struct call call;
    Py_ssize_t open, count;
    if (!PyArg_ParseTuple(args, "On:set_shards", &list, &open))
        return NULL;
    uint64_t *rows = counts_of(list, &count);
    if (rows == NULL)
        return NULL;
    bpcn_memory *memory = call_begin(&call, self, ALONE);
    bpcn_status status = BPCN_OK;
    if (memory != NULL) {
        status = bpcn_memory_set_shards(memory, rows, (size_t)count, (size_t)open);
        call_end(&call);
    }
    free(rows);
    return memory == NULL ? NULL : none_or_error(status);
}
