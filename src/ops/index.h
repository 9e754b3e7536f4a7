/*
 * The bitmap index: for a query, which of the rows written could it be, without a look at any shard.
 *
 * Three thresholds an entry, its mean over the first rows and 0.67 deviations to either side, make one of four levels of
 * each value. An item of the index is a row as its levels, two bits an entry. Items stand in groups of 512; the bits that
 * a group holds of one entry are a line of 64 bytes, which one or two instructions compare with a query.
 *
 *   - Where a query knows entries exactly, its row has the same levels in all of them: an AND over entries, which leaves
 *     a group as soon as no item is left. No row that agrees is dismissed.
 *   - Where it knows them nearly, the same with up to three levels that differ.
 *   - Where it is noisy, the items are ranked by the sum of |level of the item - level of the query|, in bit-sliced
 *     counters, and the first of them by squared distance.
 *
 * A query costs some 20 entries of a group, or 256 where it is noisy: 1.3 or 16 KB of reading for 512 items.
 * Rows with gaps have no levels there; the index remembers their shards instead, which every query has to look at.
 */
#ifndef BPCN_INDEX_H
#define BPCN_INDEX_H

#include "bayespcn.h"

struct index;

struct index_hit {
    uint32_t item;     /* items are numbered as they were added */
    uint32_t shard;
    uint32_t distance; /* in levels, over the entries that were counted */
    float square;      /* from the query to the middles of the item's levels, over all known entries */
};

struct index *index_create(size_t dim); /* NULL when out of memory */
void index_free(struct index *index);

/* Adds a row [dim], of which known [dim] entries are known (NULL: all). */
bpcn_status index_add(struct index *index, const float *row, const unsigned char *known, uint32_t shard);

/* Drops the items of a shard, which begins anew or is forgotten. */
void index_drop_shard(struct index *index, uint32_t shard);

/* Drops the latest item of a shard that has this row's levels; 0 if there is none. */
int index_drop_row(struct index *index, const float *row, uint32_t shard);

/* Everything faded by beta: items of which less than a hundredth is left are dropped. */
void index_fade(struct index *index, double beta);

/* Whether queries can be asked: the first 64 rows decide the thresholds. */
int index_ready(const struct index *index);
size_t index_items(const struct index *index);
size_t index_bytes(const struct index *index);

/* Whether the shard has rows that are not in the index. */
int index_misses(const struct index *index, uint32_t shard);

/* The items whose known entries have the query's levels but for `mismatches` of them, 0 or 3. Of very many known entries
   the most telling are compared. Returns how many there are; the first `room` are in hits. */
size_t index_match(const struct index *index, const float *x, const unsigned char *known, int mismatches, size_t room,
                   struct index_hit *hits);

/* The `most` items that come first by distance, in the order of their squares; *found tells how many. */
bpcn_status index_nearest(const struct index *index, const float *x, const unsigned char *known, size_t most,
                          struct index_hit *hits, size_t *found);

/* The index as bytes, for a file, and back: index_save fills index_saved bytes. index_load returns NULL for bytes that are
   no index of this dim, or when out of memory. */
size_t index_saved(const struct index *index);
void index_save(const struct index *index, unsigned char *bytes);
struct index *index_load(size_t dim, const unsigned char *bytes, size_t length);

#endif
