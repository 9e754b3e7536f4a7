/* Operations on a file in memory. */
#include "store_image.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static const char temporary[] = ".bpcn-new";

/* Only the file itself exists. */
static int exists(const char *path)
{
    size_t length = strlen(path), ending = sizeof temporary - 1;
    return length < ending || strcmp(path + length - ending, temporary) != 0;
}

static int image_open(void *context, const char *path, int flags, unsigned mode)
{
    (void)context;
    (void)flags;
    (void)mode;
    errno = ENOENT;
    return exists(path) ? 0 : -1;
}

static int do_nothing(void *context, int fd)
{
    (void)context;
    (void)fd;
    return 0;
}

static ssize_t image_read(void *context, int fd, void *bytes, size_t n, uint64_t offset)
{
    const struct image *image = context;
    (void)fd;
    if (offset >= image->length)
        return 0;
    size_t left = image->length - (size_t)offset, some = n < left ? n : left;
    memcpy(bytes, image->bytes + offset, some);
    return (ssize_t)some;
}

void image_grow(struct image *image, size_t length)
{
    while (length > image->room) {
        image->room = image->room > 0 ? 2 * image->room : 4096;
        image->bytes = realloc(image->bytes, image->room);
        if (image->bytes == NULL)
            abort();
    }
}

static int image_truncate(void *context, int fd, uint64_t length)
{
    struct image *image = context;
    (void)fd;
    image_grow(image, (size_t)length);
    if (length > image->length)
        memset(image->bytes + image->length, 0, (size_t)length - image->length);
    image->length = (size_t)length;
    return 0;
}

static ssize_t image_write(void *context, int fd, const void *bytes, size_t n, uint64_t offset)
{
    struct image *image = context;
    if (offset + n > image->length)
        image_truncate(context, fd, offset + n);
    memcpy(image->bytes + offset, bytes, n);
    return (ssize_t)n;
}

static int image_status(void *context, int fd, struct file_status *status)
{
    const struct image *image = context;
    (void)fd;
    *status = (struct file_status){.length = image->length, .inode = 1, .regular = 1};
    return 0;
}

static int image_find(void *context, const char *path, struct file_status *status)
{
    errno = ENOENT;
    return exists(path) ? image_status(context, 0, status) : -1;
}

static int image_permit(void *context, int fd, const struct file_status *like)
{
    (void)context;
    (void)fd;
    (void)like;
    return 0;
}

static int image_rename(void *context, const char *from, const char *to)
{
    (void)context;
    (void)from;
    (void)to;
    errno = EIO;
    return -1;
}

static int image_remove(void *context, const char *path)
{
    (void)context;
    (void)path;
    return 0;
}

static int image_room(void *context, const char *folder, uint64_t *bytes)
{
    (void)context;
    (void)folder;
    *bytes = UINT64_MAX;
    return 0;
}

struct file_ops image_ops(struct image *image)
{
    return (struct file_ops){image,          image_open,   do_nothing,   image_read, image_write,
                             image_truncate, do_nothing,   image_status, image_find, do_nothing,
                             image_permit,   image_rename, image_remove, image_room, do_nothing};
}
