/*
 * How the contents of a memory change, now or again from its log: the shards that a change is for, an editor for each,
 * and the shard that begins with it.
 */
#ifndef BPCN_EDITING_H
#define BPCN_EDITING_H

#include "contents.h"
#include "shard.h"

struct editing {
    struct contents *contents;
    struct prepared **prepared; /* [options.shards], kept in step with the shards; NULL: nothing is prepared */
    struct team *team;
    int replaying; /* see struct shard_ops */
    const struct shard_ops *core;
    struct writer **editor; /* [options.shards], for rows: NULL until wanted */
    struct writer *all;     /* for changes of all shards, turned from one to the next: NULL until wanted */
    struct shard fresh;     /* empty, to be shard number `next`; no model: none */
    struct writer *first;   /* its editor */
    size_t next;
};

/* -1 when out of memory; editing_free in any case. */
int editing_create(struct editing *e, struct contents *contents, struct prepared **prepared, struct team *team,
                   int replaying);
void editing_free(struct editing *e);

/* The editor of shard k, of an empty one to take its place if that is to begin; NULL when out of memory. */
struct writer *editing_of(struct editing *e, size_t k, int begin);

/* Room for all that a change needs; once there is, making it cannot fail. */
bpcn_status editing_ready(struct editing *e, const struct change *change);
void editing_make(struct editing *e, const struct change *change);

#endif
