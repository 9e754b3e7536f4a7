/*
 * The operating system's files, as far as a memory file needs them: a table of operations, so
 * that tests can let each of them fail or keep a record of it, and the calls that finish what a
 * short or interrupted operation began.
 */
#ifndef BPCN_FILE_H
#define BPCN_FILE_H

#include "bayespcn.h"
#include "symbols.h"

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct file_status {
    uint64_t length;
    uint64_t device, inode; /* the same for two paths or descriptors of one file */
    unsigned mode;          /* permissions */
    unsigned owner, group;
    uint64_t links; /* names that lead to it; 0: it was removed */
    int regular; /* a file, not a folder or a device */
};

/* Each returns -1 and sets errno when it fails. */
struct file_ops {
    void *context;
    int (*open)(void *context, const char *path, int flags, unsigned mode);
    int (*close)(void *context, int fd);
    ssize_t (*read)(void *context, int fd, void *bytes, size_t n, uint64_t offset);
    ssize_t (*write)(void *context, int fd, const void *bytes, size_t n, uint64_t offset);
    int (*truncate)(void *context, int fd, uint64_t length);
    int (*sync)(void *context, int fd); /* contents and length */
    int (*status)(void *context, int fd, struct file_status *status);
    int (*find)(void *context, const char *path, struct file_status *status);
    int (*lock)(void *context, int fd); /* for this descriptor alone; EWOULDBLOCK when taken */
    int (*permit)(void *context, int fd, const struct file_status *like); /* owner, group, mode */
    int (*rename)(void *context, const char *from, const char *to);
    int (*remove)(void *context, const char *path);
    int (*room)(void *context, const char *folder, uint64_t *bytes); /* free on its disk, for this user */
    int (*unlock)(void *context, int fd); /* for every copy of the descriptor that a fork made, too */
};

extern const struct file_ops file_posix;

/* An open file. */
struct file {
    const struct file_ops *ops;
    int fd; /* -1: none */
};

/* Reads up to n bytes at `offset`, fewer only where the file ends. */
int file_read(const struct file *file, void *bytes, size_t n, uint64_t offset, size_t *got);
/* Writes all n bytes. */
int file_write(const struct file *file, const void *bytes, size_t n, uint64_t offset);

/* The operations, begun again when a signal interrupts them. */
int file_open(struct file *file, const struct file_ops *ops, const char *path, int flags, unsigned mode);
int file_sync(const struct file *file);
int file_truncate(const struct file *file, uint64_t length);
int file_lock(const struct file *file);
void file_close(struct file *file);

/* Makes the folder's entries durable. */
int file_sync_folder(const struct file_ops *ops, const char *folder);

/* Whether `path` leads to this very file: 1, 0, or -1 when that cannot be told. */
int file_is_at(const struct file *file, const char *path);

/* BPCN_GONE: another file or none is at the `path` where this one was opened. The sentence says what happened and where
   the rows are. */
bpcn_status file_fail_gone(const struct file *file, const char *path);

/* BPCN_IO, or BPCN_NO_SPACE, with "cannot <what> <path>: <errno in words>". */
bpcn_status file_fail(const char *what, const char *path);

/* BPCN_IO for a file that gave less than it has: no reason to believe that there is no more. */
bpcn_status file_fail_early_end(const char *path, uint64_t at);

#endif
