/*
 * The bitmap index: for a query, which of the rows written could it be, without a look at any shard.
 *
 * Three thresholds an entry, decided by the first rows, make one of four levels of each value. An item of the index is a
 * row as its levels, two bits an entry; the rows of shard k are the items k x shard_rows to before (k + 1) x shard_rows,
 * so the index never grows beyond the rows that all shards have room for. Items stand in groups of 512; the bits that a
 * group holds of one entry are a line of 64 bytes, which one or two instructions compare with a query.
 *
 *   - Where a query knows entries exactly, its row has the same levels in all of them: an AND over entries, which leaves
 *     a group as soon as no item is left. No row that agrees is dismissed.
 *   - Where it knows them nearly, the same with up to three levels that differ.
 *   - Where it is noisy, the items are ranked by the sum of |level of the item - level of the query|, in bit-sliced
 *     counters, and the first of them by squared distance.
 *
 * A query costs some 20 entries of a group, or 256 to 512 where it is noisy: 2.5 or 32 to 64 KB of reading for 512 items.
 *
 * Some shards have rows that are no items: rows with gaps, rows of a file without an index, rows whose place a later row
 * took. The index remembers those shards, at which every query has to look.
 */
#ifndef BPCN_INDEX_H
#define BPCN_INDEX_H

#include "bayespcn.h"
#include "symbols.h"

struct index;

/* Of rows [dim] in `shards` shards with room for shard_rows rows each. NULL when out of memory. */
struct index *index_create(size_t dim, size_t shards, size_t shard_rows);
void index_free(struct index *index);

/* Whether a memory of these options has an index: one of several shards whose rows have entries
   enough to tell them apart. */
int index_serves(const bpcn_options *options);

/* ---- changes */

/* Room for n more rows of a shard, from its row number `place` on; after that, index_put of them cannot fail. */
bpcn_status index_reserve(struct index *index, size_t shard, uint64_t place, size_t n);

/* Puts row number `place` of a shard, floats (size 4) or doubles (size 8), of which known [dim] entries are known (NULL:
   all). Of an overfull shard it takes the place of an older row. */
void index_put(struct index *index, size_t shard, uint64_t place, const void *row, size_t size,
               const unsigned char *known);

/* Drops the items of a shard, which begins anew. */
void index_drop_shard(struct index *index, size_t shard);

/* Drops the latest item of a shard that has this row's levels; 0 if there is none. */
int index_drop_row(struct index *index, size_t shard, const void *row, size_t size);

/* All items age by so much; an item of age 1 is gone. */
void index_age(struct index *index, double by);

/* The shard has rows, or its rows have parameters, that the index knows nothing of. */
void index_note_missing(struct index *index, size_t shard);

/* ---- queries */

/* Whether queries can be asked: the first 64 rows decide the thresholds. */
int index_ready(const struct index *index);
size_t index_items(const struct index *index);
size_t index_bytes(const struct index *index);

/* Shards with rows that are no items: how many, and whether this is one. */
size_t index_missing(const struct index *index);
int index_misses(const struct index *index, size_t shard);

struct index_hit {
    size_t shard, place; /* its row number `place` since the shard began */
    uint32_t distance;   /* in levels, over the entries that were counted */
    float square;        /* from the query to the mean values of the item's levels, over all known entries */
};

enum index_how {
    INDEX_EQUAL,  /* the hits are all items that have the query's levels in every known entry */
    INDEX_NEARLY, /* in all but three at most; in the order of their squares */
    INDEX_NEAREST /* the nearest, in the order of their squares */
};

struct index_query {
    const float *row;           /* [dim] */
    const unsigned char *known; /* [dim] or NULL */
    int noisy;                  /* the known entries may carry noise */
    int ranked;                 /* the nearest items are wanted, as many as are kept, though some be equal */
    enum index_how how;         /* from here on: the answer */
    struct index_hit *hits;     /* [found], best first; the caller frees them, also after a failure */
    size_t found;
};

/* Finds the candidates of n queries: those that are equal, or where there are none those nearly equal, or the nearest. */
bpcn_status index_find(const struct index *index, size_t n, struct index_query *query);

/* row [dim] becomes the mean values of an item's levels: the item itself, but for what a level leaves open. 0 if there is
   no such item. */
int index_get_row(const struct index *index, size_t shard, uint64_t place, float *row);

/* ---- in a file, as 8-byte words */

/* What the file's header says: whether there is an index with anything in it (NULL: no), and how many first rows wait,
   or groups of items there are. */
enum index_form { INDEX_NONE, INDEX_UNDECIDED, INDEX_DECIDED };
enum index_form index_form(const struct index *index);
size_t index_count(const struct index *index);
size_t index_most_count(enum index_form form, size_t shards, size_t shard_rows);
uint64_t index_file_bytes(enum index_form form, size_t count, size_t dim, size_t shards);

/* Room for what the header announces. -1 when out of memory. */
int index_announce(struct index *index, enum index_form form, size_t count);

/* Bytes first .. first + n, multiples of 8. */
void index_encode(const struct index *index, uint64_t first, size_t n, unsigned char *out);
void index_decode(struct index *index, uint64_t first, size_t n, const unsigned char *in);

/* What is wrong with an index that was decoded; NULL: nothing. Sets what follows from the rest. */
const char *index_check(struct index *index);

#endif
