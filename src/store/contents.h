/* What a memory holds, and its file too: shards, of which each is a model that saw its own rows, and a note. */
#ifndef BPCN_CONTENTS_H
#define BPCN_CONTENTS_H

#include "change.h"
#include "table_views.h"
#include "names.h"
#include "surprise.h"

struct contents {
    bpcn_options options;              /* of the memory; those of shard k are shard_options */
    size_t count;                      /* shards that have begun, 1 .. options.shards */
    struct model **shard;              /* [options.shards]: NULL from count on */
    uint64_t *rows;                    /* [options.shards]: written to each since it was begun */
    uint64_t *begun;                   /* [options.shards]: rows written to the memory before that: its age */
    uint64_t writes, forgets, deletes; /* of the memory */
    struct surprises surprises;        /* of the latest rows */
    struct names names;                /* of the latest rows that have one */
    struct table_views views;                /* or none */
    void *note;                        /* [note_bytes] the caller's own words; NULL when there are none */
    size_t note_bytes;
};

/* Room for shards of these options, none begun. -1 when out of memory; contents_free in any case. */
int contents_create(struct contents *contents, const bpcn_options *options);
void contents_free(struct contents *contents);

/* An empty memory: shard 0, of views all shards, and nothing in them. */
int empty_contents(struct contents *contents, const bpcn_options *options);

/* The options of shard k: its seed depends on the memory's and on its number in the whole alone, and is the memory's
   own for number 0. */
bpcn_options shard_options(const bpcn_options *options, size_t k);

/* The shard that the next row goes to; *begin: it is to be begun, or begun anew, for it. -1 when there is none; and the
   same with BPCN_FULL and a sentence. */
int contents_find_next(const struct contents *contents, size_t *k, int *begin);
bpcn_status contents_next(const struct contents *contents, size_t *k, int *begin);

/* The shard begun last. */
size_t contents_open(const struct contents *contents);

/* Shard k is this empty model from now on. */
void contents_begin(struct contents *contents, size_t k, struct model *model);

/* A write or delete in parts: one for each view, each of one shard. Without views it is one part. */
size_t contents_parts(const struct contents *contents);
struct change contents_part(const struct contents *contents, const struct change *change, size_t part);

/* How many rows its shard, or with views the memory, had when a write was found. */
double contents_met(const struct contents *contents, const struct change *write);

/* Counts a change that has been made. */
void contents_count(struct contents *contents, const struct change *change);

size_t contents_bytes(const struct contents *contents);

/* The note becomes a copy of this one. -1 when out of memory. */
int contents_keep_note(struct contents *contents, const void *note, size_t bytes);

#endif
