/* Memory, aligned for vector loads, zeroed, with the size's product checked. Free with free(). */
#ifndef BPCN_ALLOC_H
#define BPCN_ALLOC_H

#include <stddef.h>

/* NULL when count * size overflows or there is none left; a zero count gives a valid pointer. */
void *alloc_zeroed(size_t count, size_t size);

#endif
