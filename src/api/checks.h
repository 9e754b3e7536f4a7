/* Checks of arguments that the files of the API share. */
#ifndef BPCN_CHECKS_H
#define BPCN_CHECKS_H

#include "error.h"
#include "symbols.h"
#include "transaction.h"

static inline bpcn_status check_pointer(const void *pointer, const char *what)
{
    return pointer == NULL ? bpcn_fail(BPCN_INVALID, "%s is NULL", what) : BPCN_OK;
}

static inline bpcn_status check_memory(const bpcn_memory *memory)
{
    return check_pointer(memory, "the memory");
}

/* Whether the memory is of networks, which alone have `what`. */
static inline bpcn_status check_networks(const bpcn_memory *memory, const char *what)
{
    return memory->contents.options.kind == BPCN_TABLE ? bpcn_fail(BPCN_INVALID, "a table's memory has no %s", what)
                                                       : BPCN_OK;
}

#define LARGEST 1e15f /* entry: its products with weights of its size fit float32 */

/* n rows of dim floats, perhaps none: numbers of a sensible size wherever they are known. */
bpcn_status check_input(const bpcn_memory *memory, const float *x, const unsigned char *known, size_t n);

/* Whether a new memory of these options, checked, fits into this machine: BPCN_NO_MEMORY with both numbers if not. */
bpcn_status check_fits(const bpcn_options *checked);

/* No known entry lies more than `most` scales from its centre. */
bpcn_status check_far(const struct scale *scale, double most, const float *x, const unsigned char *known, size_t n);

#endif
