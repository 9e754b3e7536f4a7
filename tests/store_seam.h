/* File operations with a listener before and after each: to fail, to count, to record. */
#ifndef STORE_SEAM_H
#define STORE_SEAM_H

#include "file.h"

enum call {
    CALL_OPEN,
    CALL_CLOSE,
    CALL_READ,
    CALL_WRITE,
    CALL_TRUNCATE,
    CALL_SYNC,
    CALL_STATUS,
    CALL_FIND,
    CALL_LOCK,
    CALL_PERMIT,
    CALL_RENAME,
    CALL_REMOVE,
    CALL_ROOM
};

struct event {
    enum call call;
    int fd;
    const char *path, *to; /* open, find, remove; rename to */
    const void *bytes;     /* write */
    size_t n;              /* read, write */
    uint64_t offset;       /* read, write; length of a truncate */
};

struct seam {
    struct file_ops ops;            /* pass &seam.ops */
    const struct file_ops *beneath; /* NULL: file_posix */
    void *user;
    /* 0, or the errno to fail with; may lower *most, the bytes to read or write, which are then
       all that is done */
    int (*before)(void *user, const struct event *event, size_t *most);
    void (*after)(void *user, const struct event *event, long result); /* may be NULL */
};

/* Fills in ops; set the other fields first. */
void seam_start(struct seam *seam);

/* file_posix without waiting for the disk: for tests of what the program does, not of what the
   disk keeps. */
struct file_ops file_without_sync(void);

#endif
