/* Names of rows, between callers and what a memory keeps. */
#ifndef BPCN_NAMES_H
#define BPCN_NAMES_H

#include "symbols.h"
#include "transaction.h"

/* Whether the n names, where there are any, can be names. */
bpcn_status check_names(const char *const *names, size_t n);

/* info [n] of a read gets the names that its answers, real [n x dim], have. */
void name_answers(const bpcn_memory *memory, const struct read_request *request, bpcn_read_info *info);

/* The number of the name of a row, real [dim], that a shard recalled; 0: none, or it cannot be told which. */
uint64_t name_of_answer(const bpcn_memory *memory, size_t shard, const void *row);

/* Takes back the row with this number among those that can be (named.held), x real [dim]. */
bpcn_status delete_named(bpcn_memory *memory, const void *x, uint64_t number);

#endif
