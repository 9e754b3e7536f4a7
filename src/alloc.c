/* The one place of the library that asks for memory. */
#include "alloc.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

void *alloc_zeroed(size_t count, size_t size)
{
    const size_t align = 64;
    if (size != 0 && count > (SIZE_MAX - align) / size)
        return NULL;
    size_t bytes = (count * size + align) / align * align; /* at least one line, never zero */
    void *p = aligned_alloc(align, bytes);
    if (p != NULL)
        memset(p, 0, bytes);
    return p;
}
