/* The one place of the library that asks for memory. It stands alone so that tests can make any request fail. */
#include "alloc.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

static const size_t alignment = 64; /* bytes of the widest vector and of a cache line */

/* Small pages: large ones made a batch of reads a fifth slower where it was measured (docs/SPEED.md). */
void *alloc_uncleared(size_t count, size_t size)
{
    if (size != 0 && count > (SIZE_MAX - alignment) / size)
        return NULL;
    return aligned_alloc(alignment, (count * size + alignment) / alignment * alignment);
}

void *alloc_zeroed(size_t count, size_t size)
{
    void *p = alloc_uncleared(count, size);
    return p != NULL ? memset(p, 0, count * size > 0 ? count * size : alignment) : NULL;
}
