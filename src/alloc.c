/* The one place of the library that asks for memory. */
#define _DEFAULT_SOURCE /* madvise */
#include "alloc.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

/* Large pieces ask for large pages: a fault for every 4 KB would cost a batch of reads a tenth of its
   time, and matrices are walked with fewer misses of the address cache. */
static const size_t line = 64, large_page = (size_t)2 << 20;

void *alloc_zeroed(size_t count, size_t size)
{
    if (size != 0 && count > (SIZE_MAX - large_page) / size)
        return NULL;
    size_t bytes = count * size, align = bytes >= 2 * large_page ? large_page : line;
    size_t whole = (bytes + line) / line * line; /* at least one line, never zero */
    void *p = aligned_alloc(align, whole);
    if (p == NULL)
        return NULL;
#ifdef MADV_HUGEPAGE
    if (align == large_page)
        (void)madvise(p, whole, MADV_HUGEPAGE); /* a wish: what is left without it works as well */
#endif
    return memset(p, 0, bytes > 0 ? bytes : line);
}
