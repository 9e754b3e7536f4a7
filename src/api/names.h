/* Names of rows, between callers and what a memory keeps. */
#ifndef BPCN_NAMES_H
#define BPCN_NAMES_H

#include "symbols.h"
#include "transaction.h"

/* Whether the n names, where there are any, can be names. */
bpcn_status check_names(const char *const *names, size_t n);

/* info [n] of a read gets the names that its answers, real [n x dim], have. */
void name_answers(const bpcn_memory *memory, const struct read_request *request, bpcn_read_info *info);

/* Takes a row back: by its value, or of those that are named this one. */
bpcn_status delete_row(bpcn_memory *memory, const float *x, const struct named *named);

#endif
