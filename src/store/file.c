/* The POSIX file operations and the loops around them. */
#define _DEFAULT_SOURCE /* flock */
#include "file.h"

#include "error.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

enum { MOST_INTERRUPTIONS = 1000 }; /* in a row: a system that only ever interrupts is a failure */

static int system_open(void *context, const char *path, int flags, unsigned mode)
{
    (void)context;
    return open(path, flags, (mode_t)mode);
}

static int system_close(void *context, int fd)
{
    (void)context;
    return close(fd);
}

static ssize_t system_read(void *context, int fd, void *bytes, size_t n, uint64_t offset)
{
    (void)context;
    return pread(fd, bytes, n, (off_t)offset);
}

static ssize_t system_write(void *context, int fd, const void *bytes, size_t n, uint64_t offset)
{
    (void)context;
    return pwrite(fd, bytes, n, (off_t)offset);
}

static int system_truncate(void *context, int fd, uint64_t length)
{
    (void)context;
    return ftruncate(fd, (off_t)length);
}

static int system_sync(void *context, int fd)
{
    (void)context;
    return fsync(fd);
}

static void fill_status(const struct stat *from, struct file_status *status)
{
    *status = (struct file_status){.length = (uint64_t)from->st_size,
                                   .device = (uint64_t)from->st_dev,
                                   .inode = (uint64_t)from->st_ino,
                                   .mode = (unsigned)from->st_mode & 07777,
                                   .owner = (unsigned)from->st_uid,
                                   .group = (unsigned)from->st_gid,
                                   .links = (uint64_t)from->st_nlink,
                                   .regular = S_ISREG(from->st_mode)};
}

static int system_status(void *context, int fd, struct file_status *status)
{
    struct stat from;
    (void)context;
    if (fstat(fd, &from) != 0)
        return -1;
    fill_status(&from, status);
    return 0;
}

static int system_find(void *context, const char *path, struct file_status *status)
{
    struct stat from;
    (void)context;
    if (stat(path, &from) != 0)
        return -1;
    fill_status(&from, status);
    return 0;
}

/* flock belongs to the open descriptor: unlike a POSIX record lock it also keeps out a second
   opening by the same process, and is not lost when that one closes the file. */
static int system_lock(void *context, int fd)
{
    (void)context;
    return flock(fd, LOCK_EX | LOCK_NB);
}

static int system_unlock(void *context, int fd)
{
    (void)context;
    return flock(fd, LOCK_UN);
}

static int system_permit(void *context, int fd, const struct file_status *like)
{
    (void)context;
    int failed = fchown(fd, (uid_t)like->owner, (gid_t)like->group); /* may not be ours to give away */
    return fchmod(fd, (mode_t)like->mode) | failed;
}

static int system_rename(void *context, const char *from, const char *to)
{
    (void)context;
    return rename(from, to);
}

static int system_remove(void *context, const char *path)
{
    (void)context;
    return unlink(path);
}

static int system_room(void *context, const char *folder, uint64_t *bytes)
{
    struct statvfs disk;
    (void)context;
    if (statvfs(folder, &disk) != 0)
        return -1;
    *bytes = (uint64_t)disk.f_bavail * disk.f_frsize;
    return 0;
}

const struct file_ops file_posix = {
    .open = system_open,
    .close = system_close,
    .read = system_read,
    .write = system_write,
    .truncate = system_truncate,
    .sync = system_sync,
    .status = system_status,
    .find = system_find,
    .lock = system_lock,
    .permit = system_permit,
    .rename = system_rename,
    .remove = system_remove,
    .room = system_room,
    .unlock = system_unlock,
};

/* Whether to try again: counts the interruptions in a row. */
static int interrupted(int *count)
{
    return errno == EINTR && ++*count < MOST_INTERRUPTIONS;
}

int file_read(const struct file *file, void *bytes, size_t n, uint64_t offset, size_t *got)
{
    int count = 0;
    *got = 0;
    while (*got < n) {
        ssize_t step = file->ops->read(file->ops->context, file->fd, (char *)bytes + *got, n - *got, offset + *got);
        if (step == 0)
            break;
        if (step > 0) {
            *got += (size_t)step;
            count = 0;
        } else if (!interrupted(&count)) {
            return -1;
        }
    }
    return 0;
}

int file_write(const struct file *file, const void *bytes, size_t n, uint64_t offset)
{
    int count = 0;
    size_t done = 0;
    while (done < n) {
        ssize_t step =
            file->ops->write(file->ops->context, file->fd, (const char *)bytes + done, n - done, offset + done);
        if (step > 0) {
            done += (size_t)step;
            count = 0;
            continue;
        }
        if (step == 0)
            errno = ENOSPC; /* nothing written and no reason given */
        if (!interrupted(&count))
            return -1;
    }
    return 0;
}

int file_open(struct file *file, const struct file_ops *ops, const char *path, int flags, unsigned mode)
{
    int count = 0;
    file->ops = ops;
    do
        file->fd = ops->open(ops->context, path, flags | O_CLOEXEC, mode);
    while (file->fd < 0 && interrupted(&count));
    return file->fd < 0 ? -1 : 0;
}

int file_sync(const struct file *file)
{
    int failed, count = 0;
    do
        failed = file->ops->sync(file->ops->context, file->fd);
    while (failed != 0 && interrupted(&count));
    return failed;
}

int file_truncate(const struct file *file, uint64_t length)
{
    int failed, count = 0;
    do
        failed = file->ops->truncate(file->ops->context, file->fd, length);
    while (failed != 0 && interrupted(&count));
    return failed;
}

int file_lock(const struct file *file)
{
    int failed, count = 0;
    do
        failed = file->ops->lock(file->ops->context, file->fd);
    while (failed != 0 && interrupted(&count));
    return failed;
}

/* What had to be durable has been synced: an error here says nothing more. */
void file_close(struct file *file)
{
    int before = errno;
    if (file->fd >= 0)
        file->ops->close(file->ops->context, file->fd);
    file->fd = -1;
    errno = before;
}

int file_sync_folder(const struct file_ops *ops, const char *folder)
{
    struct file opened;
    if (file_open(&opened, ops, folder, O_RDONLY | O_DIRECTORY, 0) != 0)
        return -1;
    int failed = file_sync(&opened);
    if (failed != 0 && errno == EINVAL)
        failed = 0; /* file systems without such a thing as an unsynced folder */
    file_close(&opened);
    return failed;
}

int file_is_at(const struct file *file, const char *path)
{
    struct file_status here, there;
    if (file->ops->status(file->ops->context, file->fd, &here) != 0)
        return -1;
    if (file->ops->find(file->ops->context, path, &there) != 0)
        return errno == ENOENT || errno == ENOTDIR ? 0 : -1;
    return here.device == there.device && here.inode == there.inode;
}

/* ---- failures in words */

/* The disk, the quota or the limit on the size of files. */
static int is_no_space(int reason)
{
    return reason == ENOSPC || reason == EDQUOT || reason == EFBIG;
}

bpcn_status file_fail(const char *what, const char *path)
{
    char reason[128] = "";
    strerror_r(errno, reason, sizeof reason);
    return bpcn_fail(is_no_space(errno) ? BPCN_NO_SPACE : BPCN_IO, "cannot %s %s: %s", what, path, reason);
}

/* The path that leads to the file now, where the system tells: Linux does. Otherwise its inode. */
static void name_file(const struct file *file, const struct file_status *is, char *out, size_t room)
{
    char link[64];
    snprintf(link, sizeof link, "/proc/self/fd/%d", file->fd);
    ssize_t length = readlink(link, out, room - 1);
    if (length > 0) {
        out[length] = '\0';
        if (file_is_at(file, out) == 1)
            return;
    }
    snprintf(out, room, "the file with inode %llu", (unsigned long long)is->inode);
}

bpcn_status file_fail_gone(const struct file *file, const char *path)
{
    char where[512] = "";
    struct file_status is, other;
    int replaced = file->ops->find(file->ops->context, path, &other) == 0;
    if (file->ops->status(file->ops->context, file->fd, &is) != 0 || is.links == 0)
        return bpcn_fail(BPCN_GONE,
                         "%s was %s while the memory was open: its rows are in this process alone, and lost when it "
                         "ends unless they are saved elsewhere",
                         path, replaced ? "replaced by another file" : "removed");
    name_file(file, &is, where, sizeof where);
    return bpcn_fail(BPCN_GONE, "%s was %s while the memory was open: its rows are in %s", path,
                     replaced ? "moved and another file put in its place" : "moved", where);
}

bpcn_status file_fail_early_end(const char *path, uint64_t at)
{
    return bpcn_fail(BPCN_IO, "cannot read %s: it ended at byte %llu, before its end", path, (unsigned long long)at);
}
