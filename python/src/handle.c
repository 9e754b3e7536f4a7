/* handle.c: the Python object that owns a memory, and who may use it when.
 *
 * Any number of threads may read a memory at once; who changes it has it alone, and the others wait, without the GIL.
 * In the child of a fork a memory can be read, and changed if it has no file: the file is the parent's. One that
 * another thread was using at the moment of the fork is in the middle of something that will never end, and is refused.
 */
#include "raw.h"

#include <pthread.h>
#include <unistd.h>

struct handle {
    PyObject_HEAD bpcn_memory *memory; /* NULL: closed */
    bpcn_options options;
    size_t code_dim;
    int in_file;   /* it lives in a file and may change it */
    pid_t owner;   /* the process that may change the file */
    pid_t process; /* the one that the lock is of */
    int users;     /* calls under way; counted under the GIL */
    int torn;      /* there were some when the process forked */
    pthread_rwlock_t lock;
};

static PyTypeObject *handle_type;

static int make_lock(pthread_rwlock_t *lock)
{
    pthread_rwlockattr_t attributes;
    if (pthread_rwlockattr_init(&attributes) != 0)
        return -1;
#ifdef __GLIBC__
    /* readers that come one after the other would keep a writer waiting for ever */
    pthread_rwlockattr_setkind_np(&attributes, PTHREAD_RWLOCK_PREFER_WRITER_NONRECURSIVE_NP);
#endif
    int failed = pthread_rwlock_init(lock, &attributes) != 0;
    pthread_rwlockattr_destroy(&attributes);
    return failed ? -1 : 0;
}

PyObject *handle_new(bpcn_memory *memory, int in_file)
{
    bpcn_stats stats = {.size = sizeof stats};
    allocfunc make = (allocfunc)PyType_GetSlot(handle_type, Py_tp_alloc);
    handle *self = (handle *)make(handle_type, 0);
    if (self == NULL || make_lock(&self->lock) != 0) {
        bpcn_memory_free(memory);
        Py_XDECREF((PyObject *)self);
        return self == NULL ? NULL : PyErr_NoMemory();
    }
    self->memory = memory;
    self->in_file = in_file;
    self->owner = self->process = getpid();
    self->options.size = sizeof self->options;
    bpcn_memory_get_options(memory, &self->options);
    bpcn_memory_get_stats(memory, &stats);
    self->code_dim = stats.code_dim;
    return (PyObject *)self;
}

const bpcn_options *handle_options(const handle *self)
{
    return &self->options;
}

size_t handle_code_dim(const handle *self)
{
    return self->code_dim;
}

/* In the child of a fork: a lock of its own. */
static void notice_fork(handle *self)
{
    if (self->process == getpid())
        return;
    self->process = getpid();
    self->torn |= self->users > 0;
    self->users = 0;
    make_lock(&self->lock);
}

static bpcn_memory *refuse(bpcn_status status, const char *sentence)
{
    PyErr_SetString(error_class(status), sentence);
    return NULL;
}

static int is_foreign(const handle *self)
{
    return self->in_file && self->owner != self->process;
}

bpcn_memory *call_begin(struct call *call, PyObject *object, enum use use)
{
    handle *self = (handle *)object;
    notice_fork(self);
    if (self->torn)
        return refuse(BPCN_BUSY, "the memory was in use by another thread when this process was forked");
    if (use == ALONE && is_foreign(self))
        return refuse(BPCN_BUSY,
                      "the memory's file belongs to the process that opened it; this one was forked from it");
    call->self = self;
    self->users++;
    call->thread = PyEval_SaveThread();
    (use == ALONE ? pthread_rwlock_wrlock : pthread_rwlock_rdlock)(&self->lock);
    if (self->memory != NULL)
        return self->memory;
    call_end(call);
    return refuse(BPCN_INVALID, "the memory is closed");
}

void call_end(struct call *call)
{
    pthread_rwlock_unlock(&call->self->lock);
    PyEval_RestoreThread(call->thread);
    call->self->users--;
}

PyObject *handle_close(PyObject *object, PyObject *unused)
{
    handle *self = (handle *)object;
    struct call call;
    (void)unused;
    notice_fork(self);
    if (self->torn || is_foreign(self))
        self->memory = NULL; /* the file is closed by whom it belongs to */
    if (self->memory == NULL)
        Py_RETURN_NONE;
    bpcn_memory *memory = call_begin(&call, object, ALONE);
    if (memory == NULL) { /* somebody else closed it just now */
        PyErr_Clear();
        Py_RETURN_NONE;
    }
    self->memory = NULL;
    bpcn_status status = bpcn_memory_close(memory);
    call_end(&call);
    return none_or_error(status);
}

static void dealloc(PyObject *object)
{
    handle *self = (handle *)object;
    PyTypeObject *type = Py_TYPE(object);
    PyObject *kind, *value, *trace;
    PyErr_Fetch(&kind, &value, &trace);
    PyObject *closed = self->memory != NULL ? handle_close(object, NULL) : Py_None;
    if (closed == NULL)
        PyErr_WriteUnraisable((PyObject *)type);
    PyErr_Restore(kind, value, trace);
    pthread_rwlock_destroy(&self->lock);
    ((freefunc)PyType_GetSlot(type, Py_tp_free))(object);
    Py_DECREF(type);
}

static PyObject *get_closed(PyObject *object, void *unused)
{
    (void)unused;
    return PyBool_FromLong(((handle *)object)->memory == NULL);
}

int handle_add(PyObject *module)
{
    static PyGetSetDef values[] = {{"closed", get_closed, NULL, "Whether it was closed.", NULL},
                                   {NULL, NULL, NULL, NULL, NULL}};
    PyType_Slot slots[] = {{Py_tp_dealloc, (void *)dealloc},
                           {Py_tp_methods, handle_methods},
                           {Py_tp_getset, values},
                           {Py_tp_doc, (void *)"A bpcn_memory."},
                           {0, NULL}};
    PyType_Spec spec = {"bayespcn._bayespcn.Handle", sizeof(handle), 0,
                        Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION, slots};
    PyObject *type = PyType_FromModuleAndSpec(module, &spec, NULL);
    if (type == NULL || PyModule_AddObjectRef(module, "Handle", type) != 0)
        return -1;
    handle_type = (PyTypeObject *)type;
    return 0;
}
