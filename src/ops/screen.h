/* Which shards could have a row. */
#ifndef BPCN_SCREEN_H
#define BPCN_SCREEN_H

#include "core.h"
#include "prepared.h"

/* As in struct core. */
bpcn_status screen(const struct shard *shard, const struct screen_request *request);

#endif
