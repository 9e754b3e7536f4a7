/* A growing or bounded list of observations: what the baselines that store everything share. */
#ifndef BASELINES_KEPT_H
#define BASELINES_KEPT_H

#include "bayespcn.h"

struct kept {
    size_t dim;
    size_t capacity;       /* rows kept at most, 0: no limit */
    int bytes;             /* 1: one byte per entry */
    size_t count;          /* rows held */
    size_t room;           /* rows allocated */
    size_t next;           /* where the next row goes once the store is full */
    float *values;         /* [room x dim], or NULL */
    unsigned char *levels; /* [room x dim], or NULL */
    int products;          /* of nearest: 1: distances by matrix products */
};

/* Appends n rows; the oldest make way when the store is bounded. */
bpcn_status kept_append(struct kept *kept, const float *x, size_t n);
void kept_free(struct kept *kept);
size_t kept_bytes(const struct kept *kept);

/* Row i as floats: itself, or decoded into buffer [dim]. */
const float *kept_row(const struct kept *kept, size_t i, float *buffer);

/* sum over j of weight_j (a_j - b_j)^2, given up once it exceeds `enough`. */
double weighted_distance(size_t dim, const float *weight, const float *a, const float *b, double enough);

#endif
