/* names.c: names of rows, given with them and asked for. */
#include "raw.h"

#include <stdlib.h>
#include <string.h>

int names_take(struct given_names *given, PyObject *object, size_t n)
{
    *given = (struct given_names){NULL, NULL};
    if (object == NULL || object == Py_None)
        return 0;
    given->held = PySequence_Tuple(object);
    if (given->held == NULL)
        return -1;
    if ((size_t)PyTuple_Size(given->held) != n) {
        PyErr_Format(error_class(BPCN_INVALID), "there are %zd names, but %zu rows", PyTuple_Size(given->held), n);
        return -1;
    }
    given->names = calloc(n + 1, sizeof *given->names);
    if (given->names == NULL) {
        PyErr_NoMemory();
        return -1;
    }
    for (size_t i = 0; i < n; i++) {
        PyObject *name = PyTuple_GetItem(given->held, (Py_ssize_t)i);
        Py_ssize_t length = 0;
        if (name == Py_None)
            continue;
        given->names[i] = PyUnicode_AsUTF8AndSize(name, &length);
        if (given->names[i] == NULL)
            return -1;
        if ((size_t)length != strlen(given->names[i])) {
            PyErr_Format(error_class(BPCN_INVALID), "name %zu, %R, has a zero character", i + 1, name);
            return -1;
        }
    }
    return 0;
}

void names_release(struct given_names *given)
{
    free(given->names);
    Py_XDECREF(given->held);
}

PyObject *get_names(PyObject *self, PyObject *unused)
{
    (void)unused;
    struct call call;
    size_t count = 0;
    bpcn_name *names = NULL;
    bpcn_memory *memory = call_begin(&call, self, SHARED);
    if (memory == NULL)
        return NULL;
    bpcn_status status = bpcn_memory_get_names(memory, NULL, 0, &count);
    if (status == BPCN_OK) {
        names = calloc(count + 1, sizeof *names);
        status = names ? bpcn_memory_get_names(memory, names, count, &count) : BPCN_NO_MEMORY;
    }
    call_end(&call);
    PyObject *list = status == BPCN_OK ? PyList_New((Py_ssize_t)count) : NULL;
    for (size_t i = 0; list != NULL && i < count; i++) {
        PyObject *name = Py_BuildValue("(sKK)", names[i].name, (unsigned long long)names[i].number,
                                       (unsigned long long)names[i].shard);
        if (name == NULL || PyList_SetItem(list, (Py_ssize_t)i, name) != 0)
            Py_CLEAR(list);
    }
    int none = names == NULL;
    free(names);
    if (status == BPCN_NO_MEMORY && none)
        return PyErr_NoMemory();
    return status != BPCN_OK ? raise_status(status) : list;
}

PyObject *get_name(PyObject *self, PyObject *args)
{
    struct call call;
    unsigned long long number;
    bpcn_name name;
    if (!PyArg_ParseTuple(args, "K:get_name", &number))
        return NULL;
    bpcn_memory *memory = call_begin(&call, self, SHARED);
    if (memory == NULL)
        return NULL;
    bpcn_status status = bpcn_memory_get_name(memory, number, &name);
    call_end(&call);
    return status == BPCN_OK ? PyUnicode_FromString(name.name) : raise_status(status);
}

PyObject *delete_name(PyObject *self, PyObject *args)
{
    struct call call;
    const char *name;
    if (!PyArg_ParseTuple(args, "s:delete_name", &name))
        return NULL;
    bpcn_memory *memory = call_begin(&call, self, ALONE);
    if (memory == NULL)
        return NULL;
    bpcn_status status = bpcn_memory_delete_name(memory, name);
    call_end(&call);
    return none_or_error(status);
}
