/* names.c: names of rows, in and out. */
#include "raw.h"

#include <stdlib.h>
#include <string.h>

/* The text of one name; NULL for None and with a Python error. */
static const char *text_of(PyObject *item, PyObject *kept)
{
    PyObject *bytes = item == Py_None ? NULL : PyUnicode_AsUTF8String(item);
    int failed = bytes == NULL || PyList_Append(kept, bytes) != 0;
    const char *text = failed ? NULL : PyBytes_AsString(bytes);
    if (text != NULL && strlen(text) != (size_t)PyBytes_Size(bytes)) {
        PyErr_Format(error_class(BPCN_INVALID), "the name %R has a zero byte", item);
        text = NULL;
    }
    Py_XDECREF(bytes);
    return text;
}

int names_take(struct names *names, PyObject *object, size_t n)
{
    *names = (struct names){.kept = NULL};
    if (object == NULL || object == Py_None)
        return 0;
    Py_ssize_t given = PyUnicode_Check(object) ? -1 : PySequence_Size(object);
    if (given < 0 && !PyErr_Occurred())
        PyErr_SetString(PyExc_TypeError, "names must be a sequence of names");
    else if (given >= 0 && (size_t)given != n)
        PyErr_Format(error_class(BPCN_INVALID), "there are %zd names for %zu rows", given, n);
    else if (given >= 0 &&
             ((names->kept = PyList_New(0)) == NULL || (names->text = calloc(n + 1, sizeof *names->text)) == NULL))
        PyErr_NoMemory();
    for (size_t i = 0; names->text != NULL && !PyErr_Occurred() && i < n; i++) {
        PyObject *item = PySequence_GetItem(object, (Py_ssize_t)i);
        names->text[i] = item != NULL ? text_of(item, names->kept) : NULL;
        Py_XDECREF(item);
    }
    if (!PyErr_Occurred())
        return 0;
    names_release(names);
    return -1;
}

void names_release(struct names *names)
{
    free(names->text);
    Py_XDECREF(names->kept);
    *names = (struct names){.kept = NULL};
}

static PyObject *name_out(const bpcn_name *name)
{
    return Py_BuildValue("(sKK)", name->name, (unsigned long long)name->number, (unsigned long long)name->shard);
}

PyObject *get_names(PyObject *self, PyObject *unused)
{
    struct call call;
    size_t count = 0, most = handle_options((handle *)self)->names;
    (void)unused;
    bpcn_name *names = calloc(most + 1, sizeof *names);
    if (names == NULL)
        return PyErr_NoMemory();
    bpcn_memory *memory = call_begin(&call, self, SHARED);
    bpcn_status status = BPCN_OK;
    if (memory != NULL) {
        status = bpcn_memory_get_names(memory, names, most, &count);
        call_end(&call);
    }
    PyObject *list = memory == NULL || status != BPCN_OK ? NULL : PyList_New((Py_ssize_t)count);
    for (size_t k = 0; list != NULL && k < count; k++) {
        PyObject *name = name_out(&names[k]);
        if (name == NULL || PyList_SetItem(list, (Py_ssize_t)k, name) != 0)
            Py_CLEAR(list);
    }
    free(names);
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
    return status != BPCN_OK ? raise_status(status) : name_out(&name);
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
