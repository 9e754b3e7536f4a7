/* What the files of the forest share. */
#ifndef BPCN_FOREST_INNER_H
#define BPCN_FOREST_INNER_H

#include "forest.h"
#include "gaussian.h"
#include "symbols.h"

#include <pthread.h>
#include <stdatomic.h>

enum {
    FOREST_SPLIT = 32,  /* rows at which a leaf splits. 24 to 48 are within 1 % on 23 tables */
    FOREST_BLOCK = 128, /* columns of one Gaussian; wider tables have a block-diagonal covariance in blocks of half that */
    FOREST_RATIOS = 1024,
    FOREST_PAIRS = FOREST_CANDIDATES * (FOREST_CANDIDATES + 1) / 2,
    FOREST_OWN_COLUMNS = 256 /* up to so many columns each has sums of its own */
};

/* All members have 8 bytes: the state is an array of words. */
struct forest_node {
    int64_t parent, left, right; /* left < 0: a leaf */
    int64_t depth;
    int64_t list;   /* number of its list of rows; -1: it keeps none, and will not split */
    int64_t listed; /* rows in the list */
    double n;       /* sum of the rows' weights */
    double threshold;
};

struct forest_head {
    uint64_t writes, fades, free_slots, sampled, ratios;
    double trials; /* cells that were hidden */
    double trial_weight, trial_square; /* sums over them: of their weights, and of weight times squared error */
};

struct forest_tree {
    int64_t *count, *leaves;
    struct forest_node *node;      /* [2 leaves - 1] */
    double *mean, *scatter, *plane; /* by node; columns in the tree's order */
    uint64_t *list;                /* [leaves x FOREST_SPLIT] slots of rows */
    /* not part of the state */
    size_t *column; /* [dim] the table's column at each place of the tree's order */
    struct forest_cache *cache; /* [nodes x FOREST_NUS] */
};

/* A node as a distribution, one Gaussian a block; made when first wanted. */
struct forest_cache {
    _Atomic uint64_t made; /* the forest's version then, 0: never */
    struct gaussian *block;
    double across; /* plane' C plane */
};

struct forest {
    struct forest_options options;
    size_t words, nodes, blocks, block, packed; /* columns of a block (the last may have fewer); numbers of a scatter */
    uint64_t *state;
    struct forest_head *head;
    struct forest_tree *tree;
    /* rows by slot: those in a list or in the sample */
    size_t slots, known_words;
    double *row, *row_weight;
    uint64_t *row_known, *row_uses, *free_slot;
    uint64_t *sample;
    /* trials */
    double *products; /* [1 + own columns][FOREST_PAIRS] sums of products of errors: of all columns, of each */
    double *ratio;    /* [FOREST_RATIOS] |error| / spread of the latest cells */
    uint64_t *ratio_column; /* [FOREST_RATIOS] of which column they are; any number */
    uint64_t *group;  /* [dim] the first entry of each entry's column */
    /* not part of the state */
    double *scratch; /* [3 dim + packed] */
    pthread_mutex_t lock;
    uint64_t version; /* counts changes */
    size_t cached;    /* bytes */
    _Atomic uint64_t weighed; /* the version that what follows was made of */
    double *weight;           /* [dim x FOREST_CANDIDATES] */
    unsigned char used[FOREST_CANDIDATES];
    _Atomic uint64_t widened; /* likewise */
    double *widen;            /* [dim] spreads are multiplied by this */
};

extern const int64_t forest_depth[FOREST_DEPTHS];

static inline size_t forest_block_size(const struct forest *f, size_t b)
{
    return b + 1 < f->blocks ? f->block : f->options.dim - b * f->block;
}

static inline int forest_row_knows(const struct forest *f, size_t slot, size_t j)
{
    return (int)(f->row_known[slot * f->known_words + j / 64] >> j % 64 & 1);
}

/* Variance of a column over all rows, with one row of variance 1 about 0. */
double forest_variance(const struct forest *f, size_t column);

/* A row in the order of a tree's columns; and on which side of a node's plane such a row lies. */
void forest_order(const struct forest *f, const struct forest_tree *tree, const double *x, double *out);
int forest_right(const struct forest *f, const struct forest_tree *tree, size_t node, const double *ordered);

/* The node as a distribution, at most `slack` changes old. NULL: out of memory, or not positive definite. */
const struct forest_cache *forest_node_cache(struct forest *f, struct forest_tree *tree, size_t node, size_t nu,
                                             uint64_t slack);

/* weight and used of the present state. */
void forest_weigh(struct forest *f);

#endif
