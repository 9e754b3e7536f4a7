/* Queries from rows: what is known of them, what is hidden, what noise is added. */
#ifndef BPCN_CLI_QUERY_H
#define BPCN_CLI_QUERY_H

#include "read_rows.h"

struct query_options {
    const char *known; /* --known FIELD,...; NULL: every field that is given */
    const char *mask;  /* --mask FILE */
    const char *hide;  /* --hide SIDE:SHARE */
    double noise;      /* --noise: added to the query; a share of the pixels' range */
    double assumed;    /* --assume-noise: what the query already carries; negative: unsaid */
    uint64_t seed;     /* --seed of noise and of random hiding */
};

struct query_options query_options_default(void);
bool query_option(struct args *a, int c, struct query_options *options);

struct query {
    size_t rows;
    float *x;             /* [rows x dim] what the memory is asked */
    unsigned char *known; /* [rows x dim] */
    bool all_known;       /* nothing is hidden: x is a whole row, perhaps a noisy one */
    bool truth;           /* of the fields given, what was hidden or spoilt stands in the batch */
    double noise;         /* standard deviation to tell the memory; negative: let it estimate */
};

struct query_maker;

/* Reads the mask and checks the options against the fields; NULL, and the exit status, after a
   message. */
struct query_maker *query_open(const struct console *console, const fmt_schema *fields,
                               const struct query_options *options, int *status);

/* 0, or -1 after a message. Free the query. */
int query_make(struct query_maker *maker, const struct batch *batch, struct query *query);
void query_free(struct query *query);
void query_close(struct query_maker *maker);

#endif
