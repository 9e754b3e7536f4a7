/* Memory, aligned for vector loads, with the product of its sizes checked. NULL when there is none. */
#ifndef BPCN_ALLOC_H
#define BPCN_ALLOC_H

#include "symbols.h"

#include <stddef.h>

/* A zero count gives a valid pointer. */
void *alloc_zeroed(size_t count, size_t size);

/* The same with contents undefined: for scratch that is written before it is read. */
void *alloc_uncleared(size_t count, size_t size);

#endif
