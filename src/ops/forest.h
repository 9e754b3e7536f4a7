/*
 * A table's memory in closed form: trees of Gaussians. docs/TABLES.md has the equations.
 *
 * Each tree splits the rows by planes. A node keeps count, mean and scatter of its rows, and its covariance is shrunk
 * towards its parent's with weight nu. The nodes at one depth are a mixture: a row with gaps has responsibilities by the
 * marginal density of what it knows, and its gaps are conditional means. No depth and no nu is chosen: every pair is a
 * candidate, the nearest of a sample of rows are two more, and an answer adds up what the candidates say, with the
 * weights that did best on cells hidden from rows before they were learnt.
 *
 * The state is one array of 8-byte words whose length follows from the options. It never grows.
 */
#ifndef BPCN_FOREST_H
#define BPCN_FOREST_H

#include "symbols.h"

#include <stddef.h>
#include <stdint.h>

struct team;
struct forest;

enum {
    FOREST_DEPTHS = 4,  /* at which a tree is cut */
    FOREST_NUS = 2,     /* weights of a parent's covariance */
    FOREST_NEAREST = 2, /* numbers of nearest rows */
    FOREST_CANDIDATES = FOREST_DEPTHS * FOREST_NUS + FOREST_NEAREST,
    FOREST_CELL = 3 + FOREST_CANDIDATES /* numbers of a hidden cell: column, |error| / spread, error, and that of each
                                           candidate, in the column's deviations */
};

struct forest_options {
    size_t dim;
    size_t trees;
    size_t leaves; /* of a tree, at most */
    size_t kept;   /* rows in the sample, at most */
    uint64_t seed;
    const size_t *column; /* when it is made: [dim] the number of each entry's column, or NULL: every entry is one */
};

/* As many trees, leaves and rows as suit this many columns: below about 10 MB in all. */
struct forest_options forest_options_for(size_t dim, uint64_t seed);

/* ---- the state */

struct forest *forest_create(const struct forest_options *options); /* empty; NULL: out of memory */
void forest_free(struct forest *forest);
size_t forest_words(const struct forest_options *options);
size_t forest_bytes(const struct forest *forest);       /* of the state */
size_t forest_cache_bytes(const struct forest *forest); /* of what is made of it for reading */
void forest_drop_cache(struct forest *forest);

/* The state itself [forest_words]. It may be filled as long as the forest is new; whoever fills it calls forest_check
   before anything else, which says what is wrong with it, NULL when nothing is. */
uint64_t *forest_state(const struct forest *forest);
const char *forest_check(const struct forest *forest);

double forest_rows(const struct forest *forest);     /* sum of the rows' weights */
uint64_t forest_writes(const struct forest *forest); /* rows ever learnt */

/* Cells that were hidden from rows about to be learnt, and the root mean square of what the answers were off by, in the
   columns' deviations; later cells weigh more. NAN: none. */
double forest_trials(const struct forest *forest, double *error);

/* ---- learning: a row is looked at first, which leaves the state alone, and learnt then */

/* Numbers that stand for a row beside itself: how its gaps are filled, and what a trial of it found. */
size_t forest_entry_most(size_t dim);

/* known [dim] or NULL: all. entry [forest_entry_most(dim)]; *numbers of it are used. x is not looked at where it is not
   known. -1: out of memory, or numbers overflow. */
int forest_find(struct forest *forest, const double *x, const unsigned char *known, double *entry, size_t *numbers);

/* Whether these can be the numbers of such a row. */
int forest_entry_sound(size_t dim, const unsigned char *known, const double *entry, size_t numbers);

void forest_learn(struct forest *forest, const double *x, const unsigned char *known, const double *entry);

/* Whether a whole row can be taken back, and taking it back. Where the row's leaves still keep their rows, this is
   exact; else any row is held that leaves their scatter positive semidefinite. -1: out of memory. */
int forest_holds(const struct forest *forest, const double *x);
void forest_remove(struct forest *forest, const double *x);

/* All rows weigh `keep` times what they did; 0: an empty forest. */
void forest_fade(struct forest *forest, double keep);

/* ---- asking. A NULL pointer is not wanted */

struct forest_query {
    size_t n;
    const double *x;            /* [n x dim] */
    const unsigned char *known; /* [n x dim] or NULL: all */
    double *answer;             /* [n x dim] known entries as they are; may be x */
    double *spread;             /* [n x dim] 90 % of hidden cells lie within 1.645 spreads; 0 where known */
    double *log_density;        /* [n] log p(known) + E[log p(rest | known)]: comparable between rows with other gaps */
    /* of every known entry given the known ones of other columns: mean, deviation, and log density, which is 0 where the
       column has several entries; 0 where not known */
    double *expected, *deviation, *log_given; /* [n x dim], all or none */
};

/* -1: out of memory. A row's answer depends neither on the other rows nor on the team. */
int forest_ask(struct forest *forest, struct team *team, const struct forest_query *query);

/* Rows drawn from the forest, out [n x dim]. -1: out of memory. */
int forest_sample(struct forest *forest, size_t n, uint64_t draw, double *out);

#endif
