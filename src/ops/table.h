/* A shard that is a table's forest. Its operations are table_ops (shard.h). */
#ifndef BPCN_TABLE_SHARD_H
#define BPCN_TABLE_SHARD_H

#include "forest.h"
#include "network.h"
#include "symbols.h"

/* Gives a model of kind BPCN_TABLE its forest, empty. -1: out of memory. */
int table_allocate(struct model *model);

/* 8-byte words of the forest's state. */
size_t table_words(const bpcn_options *options);

#endif
