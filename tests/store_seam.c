/* The listener around other operations. */
#include "store_seam.h"

#include <errno.h>

static const struct file_ops *beneath(const void *context)
{
    const struct seam *seam = context;
    return seam->beneath != NULL ? seam->beneath : &file_posix;
}

/* Whether to go on. */
static int enter(struct seam *seam, const struct event *event, size_t *most)
{
    size_t all = event->n;
    int reason = seam->before(seam->user, event, most != NULL ? most : &all);
    if (reason == 0)
        return 1;
    errno = reason;
    return 0;
}

static long leave(struct seam *seam, const struct event *event, long result)
{
    int reason = errno;
    if (seam->after != NULL)
        seam->after(seam->user, event, result);
    errno = reason;
    return result;
}

static int seam_open(void *context, const char *path, int flags, unsigned mode)
{
    struct event e = {.call = CALL_OPEN, .path = path};
    return enter(context, &e, NULL) ? (int)leave(context, &e, beneath(context)->open(NULL, path, flags, mode)) : -1;
}

static int seam_close(void *context, int fd)
{
    struct event e = {.call = CALL_CLOSE, .fd = fd};
    int fine = enter(context, &e, NULL); /* a close that fails closes all the same */
    int result = (int)leave(context, &e, beneath(context)->close(NULL, fd));
    return fine ? result : -1;
}

static ssize_t seam_read(void *context, int fd, void *bytes, size_t n, uint64_t offset)
{
    struct event e = {.call = CALL_READ, .fd = fd, .n = n, .offset = offset};
    return enter(context, &e, &n) ? (ssize_t)leave(context, &e, beneath(context)->read(NULL, fd, bytes, n, offset))
                                  : -1;
}

static ssize_t seam_write(void *context, int fd, const void *bytes, size_t n, uint64_t offset)
{
    struct event e = {.call = CALL_WRITE, .fd = fd, .bytes = bytes, .n = n, .offset = offset};
    return enter(context, &e, &n) ? (ssize_t)leave(context, &e, beneath(context)->write(NULL, fd, bytes, n, offset))
                                  : -1;
}

static int seam_truncate(void *context, int fd, uint64_t length)
{
    struct event e = {.call = CALL_TRUNCATE, .fd = fd, .offset = length};
    return enter(context, &e, NULL) ? (int)leave(context, &e, beneath(context)->truncate(NULL, fd, length)) : -1;
}

static int seam_sync(void *context, int fd)
{
    struct event e = {.call = CALL_SYNC, .fd = fd};
    return enter(context, &e, NULL) ? (int)leave(context, &e, beneath(context)->sync(NULL, fd)) : -1;
}

static int seam_status(void *context, int fd, struct file_status *status)
{
    struct event e = {.call = CALL_STATUS, .fd = fd};
    return enter(context, &e, NULL) ? (int)leave(context, &e, beneath(context)->status(NULL, fd, status)) : -1;
}

static int seam_find(void *context, const char *path, struct file_status *status)
{
    struct event e = {.call = CALL_FIND, .path = path};
    return enter(context, &e, NULL) ? (int)leave(context, &e, beneath(context)->find(NULL, path, status)) : -1;
}

static int seam_lock(void *context, int fd)
{
    struct event e = {.call = CALL_LOCK, .fd = fd};
    return enter(context, &e, NULL) ? (int)leave(context, &e, beneath(context)->lock(NULL, fd)) : -1;
}

static int seam_permit(void *context, int fd, const struct file_status *like)
{
    struct event e = {.call = CALL_PERMIT, .fd = fd};
    return enter(context, &e, NULL) ? (int)leave(context, &e, beneath(context)->permit(NULL, fd, like)) : -1;
}

static int seam_rename(void *context, const char *from, const char *to)
{
    struct event e = {.call = CALL_RENAME, .path = from, .to = to};
    return enter(context, &e, NULL) ? (int)leave(context, &e, beneath(context)->rename(NULL, from, to)) : -1;
}

static int seam_remove(void *context, const char *path)
{
    struct event e = {.call = CALL_REMOVE, .path = path};
    return enter(context, &e, NULL) ? (int)leave(context, &e, beneath(context)->remove(NULL, path)) : -1;
}

static int seam_room(void *context, const char *folder, uint64_t *bytes)
{
    struct event e = {.call = CALL_ROOM, .path = folder};
    return enter(context, &e, NULL) ? (int)leave(context, &e, beneath(context)->room(NULL, folder, bytes)) : -1;
}

static int seam_unlock(void *context, int fd)
{
    return beneath(context)->unlock(NULL, fd);
}

void seam_start(struct seam *seam)
{
    seam->ops =
        (struct file_ops){seam,        seam_open, seam_close, seam_read,   seam_write,  seam_truncate, seam_sync,
                          seam_status, seam_find, seam_lock,  seam_permit, seam_rename, seam_remove,   seam_room,
                          seam_unlock};
}

static int no_sync(void *context, int fd)
{
    (void)context;
    (void)fd;
    return 0;
}

struct file_ops file_without_sync(void)
{
    struct file_ops ops = file_posix;
    ops.sync = no_sync;
    return ops;
}
