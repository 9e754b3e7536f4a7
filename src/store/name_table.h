/*
 * Names of the latest rows, in constant room: of each row its name, a sketch by which an answer is recognised
 * (docs/MODEL.md, "Names"), and what the row is had again from when it is to be deleted by its name: the code of layer 1
 * that it was written with, or the row itself where that is shorter. Kept as the bytes that a file has.
 */
#ifndef BPCN_NAME_TABLE_H
#define BPCN_NAME_TABLE_H

#include "bayespcn.h"
#include "symbols.h"

enum {
    SKETCH = 32,
    NAME_ROOM = BPCN_MAX_NAME + 1,
    NAME_AT_KEPT = 216 /* bytes before the numbers that are kept of a row (docs/FORMAT.md) */
};

struct names {
    size_t most, count, room; /* to be kept; kept; that memory was taken for */
    size_t kept, each;        /* numbers of a row's code, or of the row; bytes of all that is kept of one row */
    unsigned char *slot;      /* [room x each], in no order */
};

/* A row, in the model's precision. */
struct sketched {
    float sketch[SKETCH];
    uint32_t sum; /* of its entries, rounded to 1 / 4093 */
};
struct sketched sketch_row(const void *x, size_t size, size_t dim);

/* What is kept of one row. */
struct named {
    char name[NAME_ROOM]; /* zeros after its end */
    uint64_t number;      /* greater than those of rows named before */
    size_t shard;         /* of the first view */
    size_t particle;      /* whose code it is: the one of greatest weight after the write */
    uint32_t held;        /* 1 and the number of the row among those that can be taken back (held.h); 0: none */
    int holes;            /* the row has some: it is not recognised, and cannot be deleted */
    struct sketched row;
    const unsigned char *kept; /* f32 [kept] */
};

/* Whether the row itself is kept, and not a code. */
static inline int names_keep_rows(const bpcn_options *options)
{
    return options->layers == 0 || options->dim <= options->hidden[0];
}

/* Numbers that are kept of a row, and bytes in all. */
static inline size_t name_kept(const bpcn_options *options)
{
    return names_keep_rows(options) ? options->dim : options->hidden[0];
}

static inline size_t name_bytes(const bpcn_options *options)
{
    return NAME_AT_KEPT + (4 * name_kept(options) + 7) / 8 * 8;
}

/* None yet, and memory for one; -1 when there is none. More is taken as it is needed, in place of the old. */
int names_create(struct names *names, const bpcn_options *options);
void names_free(struct names *names);

/* Memory for `count` of them; -1 when there is none. */
int names_reserve(struct names *names, size_t count);

/* There is room for one more. The oldest makes way when there are as many as are to be kept; `row` gets its number.
   values [kept]: floats (size 4) or doubles (size 8). */
void names_keep(struct names *names, const struct named *row, const void *values, size_t size);

/* Number i < count; the latest of that name, or with that number: count if there is none. */
struct named names_at(const struct names *names, size_t i);
size_t names_find(const struct names *names, const char *name);
size_t names_number(const struct names *names, uint64_t number);

/* The number of the name of the row that is this one among those that can be taken back; 0: none. */
uint64_t names_held(const struct names *names, uint64_t held);

void names_drop(struct names *names, uint64_t number);
void names_drop_shard(struct names *names, size_t shard);

/* The number of the row of a shard that another is: within a mean square difference of `tolerance`, and clearly nearer
   than any other row that is kept; of rows that are the same, the latest. 0: none. */
uint64_t names_recognise(const struct names *names, size_t shard, const struct sketched *row, size_t dim,
                         double tolerance);

/* Whether this can be a name: 1 to BPCN_MAX_NAME bytes of UTF-8 without control characters. */
int name_sound(const char *name);

/* The same of one with zeros after its end. */
int name_padded(const char name[NAME_ROOM]);

/* What of row i cannot be as it is kept; NULL: all can. */
const char *named_wrong(const struct names *names, size_t i, size_t shards, size_t particles);

#endif
