/*
 * The lock is on the memory file itself, not on a second file beside it. Since a checkpoint puts
 * a new file in its place, having the lock means nothing until one has looked that the file
 * locked is still the one at the path; and the new file is locked before it gets there. Whoever
 * makes a file where there was none holds the lock of the temporary file meanwhile.
 */
#define _XOPEN_SOURCE 700 /* realpath */
#include "place.h"

#include "error.h"
#include "snapshot.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_LOCKS = 100 }; /* each fails only because another process just replaced the file */

static const char temporary_suffix[] = ".bpcn-new";

bpcn_status place_find(const char *path, struct place *place)
{
    _Static_assert((int)PLACE_BYTES >= (int)PATH_MAX, "realpath fills so much");
    const char *found = realpath(path, place->path) != NULL ? place->path : path;
    const char *slash = strrchr(found, '/');
    size_t length = strlen(found), folder = slash == NULL ? 0 : (size_t)(slash - found);
    if (length == 0 || length + sizeof temporary_suffix > PLACE_BYTES)
        return bpcn_fail(BPCN_INVALID, "the path is empty or too long");
    memcpy(place->temporary, found, length);
    memcpy(place->temporary + length, temporary_suffix, sizeof temporary_suffix);
    memcpy(place->folder, found, folder);
    memmove(place->path, found, length + 1);
    place->folder[folder] = '\0';
    if (folder == 0)
        strcpy(place->folder, slash == NULL ? "." : "/");
    return BPCN_OK;
}

static bpcn_status place_busy(const struct place *place)
{
    return bpcn_fail(BPCN_BUSY, "%s is open for writing elsewhere", place->path);
}

/* Locks an open file; *settled is 0 when it is no longer the one at `path`. */
static bpcn_status lock_at(const struct place *place, const char *path, const struct file *file, int *settled)
{
    *settled = 0;
    if (file_lock(file) != 0)
        return errno == EWOULDBLOCK ? place_busy(place) : file_fail("lock", path);
    int here = file_is_at(file, path);
    if (here < 0)
        return file_fail("find", path);
    *settled = here;
    return BPCN_OK;
}

bpcn_status place_lock(const struct file_ops *ops, const struct place *place, int flags, struct file *file)
{
    bpcn_status status = BPCN_OK;
    int settled = 0;
    for (int attempt = 0; attempt < MOST_LOCKS; attempt++) {
        /* O_NONBLOCK: opening a pipe must not wait; files do not care */
        if (file_open(file, ops, place->path, flags | O_NONBLOCK, 0) != 0)
            return errno == ENOENT ? BPCN_OK : file_fail("open", place->path);
        status = lock_at(place, place->path, file, &settled);
        if (status == BPCN_OK && settled)
            return BPCN_OK;
        file_close(file);
        if (status != BPCN_OK)
            return status;
    }
    return place_busy(place);
}

/* Removes a temporary file that nobody is writing. */
static bpcn_status remove_stale(const struct file_ops *ops, const struct place *place)
{
    struct file stale;
    struct file_status is;
    int settled;
    if (file_open(&stale, ops, place->temporary, O_RDWR | O_NONBLOCK | O_NOFOLLOW, 0) != 0)
        return errno == ENOENT ? BPCN_OK : file_fail("open", place->temporary);
    bpcn_status status = lock_at(place, place->temporary, &stale, &settled);
    if (status == BPCN_OK && settled) {
        if (ops->status(ops->context, stale.fd, &is) != 0)
            status = file_fail("find", place->temporary);
        else if (!is.regular)
            status = bpcn_fail(BPCN_IO, "%s is in the way", place->temporary);
        else if (ops->remove(ops->context, place->temporary) != 0)
            status = file_fail("remove", place->temporary);
    }
    file_close(&stale);
    return status;
}

void place_clean(const struct file_ops *ops, const struct place *place)
{
    (void)remove_stale(ops, place); /* whatever is wrong with it, the next checkpoint will say */
}

/* A new, empty, locked temporary file. */
static bpcn_status open_temporary(const struct file_ops *ops, const struct place *place, unsigned mode,
                                  struct file *file)
{
    for (int attempt = 0; attempt < MOST_LOCKS; attempt++) {
        bpcn_status status;
        int settled = 0;
        if (file_open(file, ops, place->temporary, O_RDWR | O_CREAT | O_EXCL, mode) == 0)
            status = lock_at(place, place->temporary, file, &settled);
        else
            status = errno == EEXIST ? remove_stale(ops, place) : file_fail("make", place->temporary);
        if (settled)
            return BPCN_OK;
        file_close(file);
        if (status != BPCN_OK)
            return status;
    }
    return place_busy(place);
}

/* Gives the new file the owner and the permissions of the old, as far as that is allowed; makes
   sure that there still is no file if there was none. */
static bpcn_status follow_old(const struct place *place, const struct file *old, const struct file_status *like,
                              const struct file *file)
{
    struct file_status is;
    const struct file_ops *ops = file->ops;
    if (old->fd < 0) {
        if (ops->find(ops->context, place->path, &is) == 0)
            return place_busy(place);
        if (errno != ENOENT)
            return file_fail("find", place->path);
        if (like != NULL)
            (void)ops->permit(ops->context, file->fd, like);
        return BPCN_OK;
    }
    if (ops->status(ops->context, old->fd, &is) != 0)
        return file_fail("find", place->path);
    (void)ops->permit(ops->context, file->fd, &is);
    return BPCN_OK;
}

bpcn_status place_replace(const struct place *place, const struct file *old, const struct file_status *like,
                          const struct contents *contents, uint64_t generation, struct file *file,
                          struct header *header, int *moved)
{
    const struct file_ops *ops = old->ops;
    *moved = 0;
    bpcn_status status = open_temporary(ops, place, old->fd < 0 && like == NULL ? 0666 : 0600, file);
    if (status != BPCN_OK)
        return status;
    status = follow_old(place, old, like, file);
    if (status == BPCN_OK)
        status = snapshot_write(contents, generation, file, place->temporary, header);
    if (status == BPCN_OK && file_sync(file) != 0)
        status = file_fail("sync", place->temporary);
    if (status == BPCN_OK) {
        if (ops->rename(ops->context, place->temporary, place->path) != 0)
            status = file_fail("rename", place->temporary);
        *moved = status == BPCN_OK || file_is_at(file, place->path) != 0; /* unknown counts as moved */
    }
    if (status == BPCN_OK && file_sync_folder(ops, place->folder) != 0)
        status = file_fail("sync", place->folder);
    if (status != BPCN_OK) {
        int reason = errno;
        if (!*moved)
            ops->remove(ops->context, place->temporary);
        file_close(file);
        errno = reason;
    }
    return status;
}

bpcn_status place_explain(const struct file_ops *ops, const struct place *place, const struct contents *contents,
                          const char *what, bpcn_status status)
{
    unsigned char bytes[HEADER_BYTES];
    struct header header;
    uint64_t there;
    if (status != BPCN_NO_SPACE || (errno != ENOSPC && errno != EDQUOT) ||
        ops->room(ops->context, place->folder, &there) != 0)
        return status;
    snapshot_describe(contents, 0, &header);
    header_encode(&header, bytes);
    return bpcn_fail(BPCN_NO_SPACE,
                "cannot %s %s: the disk is full. A new file of %llu bytes must fit beside the old one, and %llu bytes "
                "are free",
                what, place->path, (unsigned long long)header.snapshot, (unsigned long long)there);
}
