/* raw.h: what the files of the extension share. It mirrors include/bayespcn.h call by call, on Python's limited API:
 * one build runs on 3.11 and everything after it. Arrays are buffers of the right type and size; bayespcn/memory.py
 * makes them so. */
#ifndef BAYESPCN_PYTHON_RAW_H
#define BAYESPCN_PYTHON_RAW_H

#define PY_SSIZE_T_CLEAN
#define Py_LIMITED_API 0x030B0000
#include <Python.h>

#include "bayespcn.h"

#include <stddef.h>

/* ---- errors: a class for each status, with the library's sentence */

int errors_add(PyObject *module); /* 0, or -1 with a Python error set */
PyObject *error_class(bpcn_status status);

/* Raises what this thread's last failed call was about; always NULL. */
PyObject *raise_status(bpcn_status status);

/* None, or what the status raises. */
PyObject *none_or_error(bpcn_status status);

/* ---- structs as dictionaries, by tables of fields that the compiler fills */

struct field {
    const char *name;
    size_t offset, size;
    char kind; /* f(loat), i(nteger), u(nsigned), s(tring, only out), h(idden widths), c(olumns, only in) */
};

extern const struct field options_fields[], read_options_fields[], open_options_fields[], stats_fields[],
    file_info_fields[], recovery_fields[], read_info_fields[], write_row_fields[], match_fields[];

int fields_set(const struct field *fields, PyObject *values, void *to); /* values: a dictionary or None */
PyObject *fields_get(const struct field *fields, const void *from);
PyObject *fields_dtype(const struct field *fields, size_t size); /* what numpy.dtype takes */

/* ---- buffers: taken one after the other, given back together */

enum { MOST_BUFFERS = 6 };

struct buffers {
    Py_buffer view[MOST_BUFFERS];
    int count;
    int failed; /* a Python error is set */
};

enum { BUFFER_IN = 0, BUFFER_OUT = 1 };

/* Contiguous numbers of the type 'f', 'd', 'L' (size_t) or '?' (a byte, zero or not), or with 'x' bytes of anything, of which there
   must be `count`. NULL: None was given, or it failed. */
void *buffers_take(struct buffers *buffers, PyObject *object, const char *name, char type, size_t count, int out);
/* The same of rows of `row` floats each, however many there are. */
float *buffers_take_rows(struct buffers *buffers, PyObject *object, const char *name, size_t row, size_t *n);
void buffers_release(struct buffers *buffers);

/* ---- a memory and its lock */

typedef struct handle handle;

int handle_add(PyObject *module);
PyObject *handle_new(bpcn_memory *memory, int in_file); /* owns the memory */

const bpcn_options *handle_options(const handle *self);
size_t handle_code_dim(const handle *self);

/* How a call uses the memory: beside others that read it, or alone. */
enum use { SHARED, ALONE };

/* Gives the GIL back and waits for the memory: NULL with a Python error when it is closed or of another process. */
struct call {
    PyThreadState *thread;
    handle *self;
};
bpcn_memory *call_begin(struct call *call, PyObject *self, enum use use);
/* Lets the memory go and takes the GIL. The caller then looks at the status of what it called. */
void call_end(struct call *call);

/* ---- the methods, in calls.c and parameters.c */

extern PyMethodDef handle_methods[];
PyObject *handle_close(PyObject *self, PyObject *unused);

PyObject *get_layer(PyObject *self, PyObject *args);
PyObject *set_layer(PyObject *self, PyObject *args);
PyObject *get_top(PyObject *self, PyObject *args);
PyObject *set_top(PyObject *self, PyObject *args);
PyObject *get_weights(PyObject *self, PyObject *args);
PyObject *set_weights(PyObject *self, PyObject *args);
PyObject *set_shards(PyObject *self, PyObject *args);
PyObject *get_scale(PyObject *self, PyObject *args);
PyObject *set_scale(PyObject *self, PyObject *args);

/* ---- names of rows, and the methods about them, in names.c */

struct names {
    PyObject *kept;    /* what the texts belong to */
    const char **text; /* [n]; NULL: none were given */
};

/* n names, of which each may be None; NULL or None: none at all. 0, or -1 with a Python error. */
int names_take(struct names *names, PyObject *object, size_t n);
void names_release(struct names *names);

PyObject *get_names(PyObject *self, PyObject *unused);
PyObject *get_name(PyObject *self, PyObject *args);
PyObject *delete_name(PyObject *self, PyObject *args);

#endif
