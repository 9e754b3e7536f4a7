/* module.c: the module itself: exceptions, names, making and opening memories, looking at files. */
#include "raw.h"

#include <string.h>

/* ---- errors */

static const struct {
    const char *name; /* "bayespcn." and what it is called */
    PyObject **base;  /* what it is besides an Error */
    const char *doc;
} error_list[] = {
    [BPCN_INVALID] = {"bayespcn.InvalidError", &PyExc_ValueError,
                      "An argument is out of range, NaN or of the wrong shape."},
    [BPCN_NO_MEMORY] = {"bayespcn.NoMemoryError", &PyExc_MemoryError, "An allocation failed."},
    [BPCN_NUMERIC] = {"bayespcn.NumericError", &PyExc_ArithmeticError, "The arithmetic overflowed."},
    [BPCN_REFUSED] = {"bayespcn.RefusedError", &PyExc_ValueError, "The memory does not hold the row to delete."},
    [BPCN_IO] = {"bayespcn.FileError", &PyExc_OSError,
                 "The operating system failed to open, read, write or sync a file."},
    [BPCN_FORMAT] = {"bayespcn.FormatError", &PyExc_ValueError, "The file is not a bayespcn memory."},
    [BPCN_NEWER] = {"bayespcn.NewerError", &PyExc_ValueError, "The file's format is newer than this library."},
    [BPCN_CORRUPT] = {"bayespcn.CorruptError", &PyExc_OSError, "The file is damaged."},
    [BPCN_BUSY] = {"bayespcn.BusyError", &PyExc_OSError, "Another handle or process has the file open for writing."},
    [BPCN_READ_ONLY] = {"bayespcn.ReadOnlyError", &PyExc_OSError, "The memory was opened read-only."},
    [BPCN_FULL] = {"bayespcn.FullError", &PyExc_RuntimeError, "Every shard has its rows, and no more are taken."},
    [BPCN_NO_SPACE] = {"bayespcn.NoSpaceError", &PyExc_OSError, "The disk or the user's quota is full."},
    [BPCN_GONE] = {"bayespcn.GoneError", &PyExc_OSError, "The file was moved, removed or replaced under an open memory."},
    [BPCN_NOT_HELD] = {"bayespcn.NotHeldError", &PyExc_ValueError, "The memory does not hold the row to delete."},
};
enum { ERRORS = sizeof error_list / sizeof error_list[0] };
static PyObject *errors[ERRORS]; /* 0: the base of all */

/* A class with its status, in the module under its last name. */
static PyObject *add_error(PyObject *module, const char *name, const char *doc, PyObject *bases, int status)
{
    PyObject *members = Py_BuildValue("{s:i,s:s,s:s,s:i}", "status", status, "status_name",
                                      status > 0 ? bpcn_status_name((bpcn_status)status) : "", "place", "", "written", 0);
    PyObject *class = members == NULL ? NULL : PyErr_NewExceptionWithDoc(name, doc, bases, members);
    Py_XDECREF(members);
    if (class != NULL && PyModule_AddObjectRef(module, strchr(name, '.') + 1, class) != 0)
        Py_CLEAR(class);
    return class;
}

int errors_add(PyObject *module)
{
    errors[0] = add_error(module, "bayespcn.Error", "What every failure of the library is.", NULL, 0);
    for (int s = 1; errors[0] != NULL && s < ERRORS; s++) {
        PyObject *bases = PyTuple_Pack(2, errors[0], *error_list[s].base);
        errors[s] = bases == NULL ? NULL : add_error(module, error_list[s].name, error_list[s].doc, bases, s);
        Py_XDECREF(bases);
        if (errors[s] == NULL)
            return -1;
    }
    return errors[0] == NULL ? -1 : 0;
}

PyObject *error_class(bpcn_status status)
{
    return (unsigned)status < ERRORS ? errors[status] : errors[0];
}

PyObject *raise_status(bpcn_status status)
{
    PyObject *class = error_class(status), *error = PyObject_CallFunction(class, "s", bpcn_error());
    PyObject *place = error == NULL ? NULL : PyUnicode_DecodeUTF8(bpcn_error_place(), (Py_ssize_t)strlen(bpcn_error_place()), "replace");
    if (place != NULL && PyObject_SetAttrString(error, "place", place) == 0)
        PyErr_SetObject(class, error);
    Py_XDECREF(place);
    Py_XDECREF(error);
    return NULL;
}

PyObject *none_or_error(bpcn_status status)
{
    if (status != BPCN_OK)
        return raise_status(status);
    Py_RETURN_NONE;
}

/* ---- making and opening */

static PyObject *create(PyObject *module, PyObject *args)
{
    PyObject *values;
    bpcn_options options;
    bpcn_memory *memory;
    bpcn_status status;
    (void)module;
    bpcn_options_default(&options, sizeof options);
    if (!PyArg_ParseTuple(args, "O:create", &values) || fields_set(options_fields, values, &options) != 0)
        return NULL;
    Py_BEGIN_ALLOW_THREADS status = bpcn_memory_create(&options, &memory);
    Py_END_ALLOW_THREADS return status != BPCN_OK ? raise_status(status) : handle_new(memory, 0);
}

static PyObject *open_file(PyObject *module, PyObject *args)
{
    PyObject *path, *values, *create_values;
    bpcn_open_options options;
    bpcn_options made;
    bpcn_memory *memory;
    bpcn_status status;
    (void)module;
    bpcn_open_options_default(&options, sizeof options);
    bpcn_options_default(&made, sizeof made);
    if (!PyArg_ParseTuple(args, "O&OO:open", PyUnicode_FSConverter, &path, &values, &create_values))
        return NULL;
    if (fields_set(open_options_fields, values, &options) != 0 ||
        fields_set(options_fields, create_values, &made) != 0) {
        Py_DECREF(path);
        return NULL;
    }
    options.create = create_values == Py_None ? NULL : &made;
    const char *name = PyBytes_AsString(path);
    Py_BEGIN_ALLOW_THREADS status = bpcn_memory_open(name, &options, &memory);
    Py_END_ALLOW_THREADS Py_DECREF(path);
    return status != BPCN_OK ? raise_status(status) : handle_new(memory, !options.read_only);
}

static PyObject *load(PyObject *module, PyObject *args)
{
    PyObject *path;
    bpcn_memory *memory;
    bpcn_status status;
    (void)module;
    if (!PyArg_ParseTuple(args, "O&:load", PyUnicode_FSConverter, &path))
        return NULL;
    const char *name = PyBytes_AsString(path);
    Py_BEGIN_ALLOW_THREADS status = bpcn_memory_load(name, &memory);
    Py_END_ALLOW_THREADS Py_DECREF(path);
    return status != BPCN_OK ? raise_status(status) : handle_new(memory, 0);
}

/* ---- files */

typedef bpcn_status look(const char *, bpcn_file_info *, bpcn_options *);

static PyObject *look_at(PyObject *args, look *call_library)
{
    PyObject *path;
    bpcn_file_info info = {.size = sizeof info};
    bpcn_options options = {.size = sizeof options};
    bpcn_status status;
    if (!PyArg_ParseTuple(args, "O&", PyUnicode_FSConverter, &path))
        return NULL;
    const char *name = PyBytes_AsString(path);
    Py_BEGIN_ALLOW_THREADS status = call_library(name, &info, &options);
    Py_END_ALLOW_THREADS Py_DECREF(path);
    if (status != BPCN_OK)
        return raise_status(status);
    return Py_BuildValue("NN", fields_get(file_info_fields, &info), fields_get(options_fields, &options));
}

static PyObject *file_inspect(PyObject *module, PyObject *args)
{
    (void)module;
    return look_at(args, bpcn_file_inspect);
}

static PyObject *file_check(PyObject *module, PyObject *args)
{
    (void)module;
    return look_at(args, bpcn_file_check);
}

/* Called without the GIL; a sentence that cannot be kept is dropped. */
static void keep_sentence(void *list, const char *sentence)
{
    PyGILState_STATE state = PyGILState_Ensure();
    PyObject *text = PyUnicode_DecodeUTF8(sentence, (Py_ssize_t)strlen(sentence), "replace");
    if (text == NULL || PyList_Append(list, text) != 0)
        PyErr_Clear();
    Py_XDECREF(text);
    PyGILState_Release(state);
}

static PyObject *file_recover(PyObject *module, PyObject *args)
{
    PyObject *from, *to;
    bpcn_status status;
    (void)module;
    if (!PyArg_ParseTuple(args, "O&O&:file_recover", PyUnicode_FSConverter, &from, PyUnicode_FSConverter, &to))
        return NULL;
    PyObject *told = PyList_New(0);
    bpcn_recovery report = {.size = sizeof report, .tell = keep_sentence, .user = told};
    const char *old = PyBytes_AsString(from), *new = PyBytes_AsString(to);
    if (told != NULL) {
        Py_BEGIN_ALLOW_THREADS status = bpcn_file_recover(old, new, &report);
        Py_END_ALLOW_THREADS
    }
    Py_DECREF(from);
    Py_DECREF(to);
    if (told == NULL)
        return NULL;
    if (status == BPCN_OK)
        return Py_BuildValue("NN", fields_get(recovery_fields, &report), told);
    Py_DECREF(told);
    return raise_status(status);
}

/* ---- the module */

static const struct {
    const char *name;
    int value;
} constants[] = {
    {"LBFGS", BPCN_LBFGS},
    {"ADAM", BPCN_ADAM},
    {"FLOAT32", BPCN_FLOAT32},
    {"FLOAT64", BPCN_FLOAT64},
    {"BLUR", BPCN_BLUR},
    {"RECYCLE", BPCN_RECYCLE},
    {"REFUSE", BPCN_REFUSE},
    {"SCALE_AUTO", BPCN_SCALE_AUTO},
    {"SCALE_AUTO_EACH", BPCN_SCALE_AUTO_EACH},
    {"SCALE_AS_GIVEN", BPCN_SCALE_AS_GIVEN},
    {"OBJECTIVE_DEFAULT", BPCN_OBJECTIVE_DEFAULT},
    {"OBJECTIVE_MARGINAL", BPCN_OBJECTIVE_MARGINAL},
    {"OBJECTIVE_PAPER", BPCN_OBJECTIVE_PAPER},
    {"OBJECTIVE_RECALL", BPCN_OBJECTIVE_RECALL},
    {"SYNC_EACH", BPCN_SYNC_EACH},
    {"SYNC_CALL", BPCN_SYNC_CALL},
    {"SYNC_MANUAL", BPCN_SYNC_MANUAL},
    {"MAX_NOTE", BPCN_MAX_NOTE},
    {"NETWORKS", BPCN_NETWORKS},
    {"TABLE", BPCN_TABLE},
};

static const char *activation_name(int value)
{
    return bpcn_activation_name((bpcn_activation)value);
}

static const char *verdict_name(int value)
{
    return bpcn_verdict_name((bpcn_verdict)value);
}

/* All names of an enumeration, in their order. */
static int add_names(PyObject *module, const char *as, const char *(*name_of)(int))
{
    PyObject *list = PyList_New(0), *tuple = NULL;
    for (int value = 0; list != NULL && name_of(value) != NULL; value++) {
        PyObject *name = PyUnicode_FromString(name_of(value));
        if (name == NULL || PyList_Append(list, name) != 0)
            Py_CLEAR(list);
        Py_XDECREF(name);
    }
    if (list != NULL)
        tuple = PyList_AsTuple(list);
    int failed = tuple == NULL || PyModule_AddObjectRef(module, as, tuple) != 0;
    Py_XDECREF(list);
    Py_XDECREF(tuple);
    return failed ? -1 : 0;
}

static int add_dtype(PyObject *module, const char *as, const struct field *fields, size_t size)
{
    PyObject *dtype = fields_dtype(fields, size);
    int failed = dtype == NULL || PyModule_AddObjectRef(module, as, dtype) != 0;
    Py_XDECREF(dtype);
    return failed ? -1 : 0;
}

static int add_constants(PyObject *module)
{
    for (size_t i = 0; i < sizeof constants / sizeof constants[0]; i++)
        if (PyModule_AddIntConstant(module, constants[i].name, constants[i].value) != 0)
            return -1;
    return add_names(module, "ACTIVATIONS", activation_name) || add_names(module, "VERDICTS", verdict_name) ||
                   add_dtype(module, "READ_INFO", read_info_fields, sizeof(bpcn_read_info)) ||
                   add_dtype(module, "MATCH", match_fields, sizeof(bpcn_match)) ||
                   add_dtype(module, "WRITE_ROW", write_row_fields, sizeof(bpcn_write_row)) ||
                   PyModule_AddStringConstant(module, "VERSION", bpcn_version())
               ? -1
               : 0;
}

static PyObject *options_bytes(PyObject *module, PyObject *args)
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

static PyMethodDef functions[] = {
    {"create", create, METH_VARARGS, "create(options) -> Handle"},
    {"open", open_file, METH_VARARGS, "open(path, open_options, create_options) -> Handle"},
    {"load", load, METH_VARARGS, "load(path) -> Handle"},
    {"file_inspect", file_inspect, METH_VARARGS, "file_inspect(path) -> file info, options"},
    {"file_check", file_check, METH_VARARGS, "file_check(path) -> file info, options"},
    {"file_recover", file_recover, METH_VARARGS, "file_recover(from, to) -> report, sentences"},
    {"options_bytes", options_bytes, METH_VARARGS, "options_bytes(options) -> (bytes, most bytes)"},
    {NULL, NULL, 0, NULL}};

static struct PyModuleDef definition = {.m_base = PyModuleDef_HEAD_INIT,
                                        .m_name = "_bayespcn",
                                        .m_doc = "include/bayespcn.h, call by call. Use bayespcn.Memory.",
                                        .m_size = -1,
                                        .m_methods = functions};

PyMODINIT_FUNC PyInit__bayespcn(void)
{
    PyObject *module = PyModule_Create(&definition);
    if (module != NULL && (errors_add(module) != 0 || handle_add(module) != 0 || add_constants(module) != 0))
        Py_CLEAR(module);
    return module;
}
