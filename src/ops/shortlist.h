/* How well a shard explains rows, without a search: which shards are worth reading (shards.c). */
#ifndef BPCN_SHORTLIST_H
#define BPCN_SHORTLIST_H

#include "cache.h"
#include "shard.h"
#include "symbols.h"

bpcn_status shortlist_residuals(const struct shard *shard, const struct shortlist_request *request);

#endif
