/*
 * What a memory holds, and its file too: shards, of which each is a model that saw its own rows, what is kept of the
 * latest rows, and a note. Writers change it, now or again from a log.
 */
#ifndef BPCN_CONTENTS_H
#define BPCN_CONTENTS_H

#include "change.h"
#include "held.h"
#include "index.h"
#include "name_table.h"
#include "novelty_history.h"
#include "scale.h"
#include "shard.h"
#include "symbols.h"

/* ---- contents */

struct contents {
    bpcn_options options;              /* of the memory; those of shard k are contents_shard_options */
    size_t count;                      /* shards that have begun, 1 .. options.shards */
    struct model **shard;              /* [options.shards]: NULL from count on */
    uint64_t *rows;                    /* [options.shards]: written to each since it was begun */
    uint64_t *begun;                   /* [options.shards]: rows written to the memory before that: its age */
    uint64_t writes, forgets, deletes; /* of the memory */
    struct novelty_history surprises;  /* of the latest rows */
    struct names names;                /* of the latest rows that have one */
    struct held held;                  /* the latest rows, which can be taken back */
    struct scale scale;                /* of the data */
    struct index *index;               /* of rows, by which reads find shards; or NULL */
    void *note;                        /* [note_bytes] the caller's own words; NULL when there are none */
    size_t note_bytes;
};

/* Room for shards of these options, none begun. -1 when out of memory; contents_free in any case. */
int contents_create(struct contents *contents, const bpcn_options *options);
void contents_free(struct contents *contents);

/* An empty memory: shard 0, and nothing in them. */
int contents_create_empty(struct contents *contents, const bpcn_options *options);

/* The options of shard k: its seed depends on the memory's and on its number in the whole alone, and is the memory's
   own for number 0. */
bpcn_options contents_shard_options(const bpcn_options *options, size_t k);

/* The shard that the next row goes to; *begin: it is to be begun, or begun anew, for it. -1 when there is none; and the
   same with BPCN_FULL and a sentence. */
int contents_find_next(const struct contents *contents, size_t *k, int *begin);
bpcn_status contents_next(const struct contents *contents, size_t *k, int *begin);

/* The shard begun last. */
size_t contents_open(const struct contents *contents);

/* Shard k is this empty model from now on. */
void contents_begin(struct contents *contents, size_t k, struct model *model);

/* The index knows nothing of the rows that are there: its file had none, or it was damaged. -1 when out of memory. */
int contents_lose_index(struct contents *contents);

/* How many rows its shard had when a write was found. */
double contents_met(const struct contents *contents, const struct change *write);

/* Counts a change that has been made. */
void contents_count(struct contents *contents, const struct change *change);

size_t contents_bytes(const struct contents *contents);

/* The same of a memory that is yet to be made, with so many shards begun; UINT64_MAX when it is more than any machine
   has, or when there is no memory to find out. */
uint64_t contents_options_bytes(const bpcn_options *options, size_t shards);

/* The note becomes a copy of this one. -1 when out of memory. */
int contents_keep_note(struct contents *contents, const void *note, size_t bytes);

/* ---- writers: one for each shard that changes */

struct writers {
    struct contents *contents;
    struct cache **cache; /* [options.shards], kept in step with the shards; NULL: nothing is prepared */
    struct team *team;
    int replaying; /* see struct shard_ops */
    const struct shard_ops *core;
    struct writer **editor; /* [options.shards], for rows: NULL until wanted */
    struct writer *all;     /* for changes of all shards, turned from one to the next: NULL until wanted */
    struct shard fresh;     /* empty, to be shard number `next`; no model: none */
    struct writer *first;   /* its editor */
    size_t next;
};

/* -1 when out of memory; writers_free in any case. */
int writers_create(struct writers *e, struct contents *contents, struct cache **cache, struct team *team,
                   int replaying);
void writers_free(struct writers *e);

/* The editor of shard k, of an empty one to take its place if that is to begin; NULL when out of memory. */
struct writer *writers_of(struct writers *e, size_t k, int begin);

/* Room for all that a change needs; once there is, making it cannot fail. */
bpcn_status writers_reserve(struct writers *e, const struct change *change);
void writers_apply(struct writers *e, const struct change *change);

#endif
