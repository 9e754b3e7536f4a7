/* A file that is only in memory: one, whatever its path, with nothing beside it. */
#ifndef STORE_IMAGE_H
#define STORE_IMAGE_H

#include "file.h"

struct image {
    unsigned char *bytes; /* malloc'ed when it is written to */
    size_t length, room;
};

/* Operations on the image; renaming fails, locks are always free. */
struct file_ops image_ops(struct image *image);

/* Room for `length` bytes, of which those new are not set. */
void image_grow(struct image *image, size_t length);

#endif
