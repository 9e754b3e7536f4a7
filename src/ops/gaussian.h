/*
 * One Gaussian from sufficient statistics. Count, mean and scatter of rows add up, scale and can be taken back; the
 * posterior under another Gaussian as prior follows from them, and of it marginals and conditionals for a row known in
 * part. All in float64.
 */
#ifndef BPCN_GAUSSIAN_H
#define BPCN_GAUSSIAN_H

#include "symbols.h"

#include <stddef.h>

/* Entries of a packed lower triangle: (i, j <= i) stands at gaussian_packed(i) + j. */
static inline size_t gaussian_packed(size_t n)
{
    return n * (n + 1) / 2;
}

/* Moves statistics of weight n by a row of weight w: mean += w / (n + w) d, scatter += w n / (n + w) d d' for
   d = x - mean; the caller then sets n to n + w. A negative w takes the row back. Where nothing is left, mean and scatter
   become 0. */
void gaussian_add(size_t dim, double w, const double *x, double n, double *mean, double *scatter);

/* 1 if a row of weight w can be taken back: what is left has a scatter that is positive semidefinite up to rounding.
   work [gaussian_work(dim)]. */
int gaussian_removable(size_t dim, double w, const double *x, double n, const double *mean, const double *scatter,
                       double *work);

/* A predictive distribution. */
struct gaussian {
    double *mean;       /* [dim] */
    double *covariance; /* [dim x dim] */
    double *precision;  /* [dim x dim] its inverse */
    double log_det;     /* of the covariance */
};

/* The posterior mean under a normal-inverse-Wishart prior with this mean m0 and covariance C0, of weights kappa and nu:
       m = (n mean + kappa m0) / (n + kappa)
       C = (scatter + nu C0 + kappa n / (n + kappa) (mean - m0)(mean - m0)') / (n + nu)
   with no entry of diag(C) below floor [dim], and floor added to diag(C) where C is singular up to rounding. prior and
   out may not share memory. -1 when C is not positive definite even so.
   work [gaussian_work(dim)]. */
int gaussian_posterior(size_t dim, double n, const double *mean, const double *scatter, const struct gaussian *prior,
                       double kappa, double nu, const double *floor, struct gaussian *out, double *work);

/* A row of which the entries at[0 .. known-1] are known and at[known .. dim-1] are not. */
struct gaussian_query {
    size_t dim, known;
    const size_t *at; /* [dim] */
    const double *x;  /* [dim]; unknown entries are not looked at */
};

/* What follows from the known entries K for the h = dim - known others H, in the order of `at`. NULL: not wanted. */
struct gaussian_answer {
    double *mean;            /* [h] E[x_H | x_K] */
    double *variance;        /* [h] */
    double *covariance;      /* [h x h] */
    const double *direction; /* in: [dim]; then along is the conditional mean and variance of direction . x */
    double along[2];
    double entropy; /* log |cov[x_H | x_K]| */
};

/* log p(x_K); -INFINITY where a factorisation fails. work [gaussian_work(dim)]. */
double gaussian_condition(const struct gaussian *g, const struct gaussian_query *query, struct gaussian_answer *answer,
                          double *work);

/* Of each known entry j given the other known ones: mean[j] and variance[j], [dim]; other entries stay. Returns
   log p(x_K). work [gaussian_work(dim)]. */
double gaussian_leave_one_out(const struct gaussian *g, const struct gaussian_query *query, double *mean,
                              double *variance, double *work);

/* z [dim], standard normal numbers, becomes a row drawn from g. -1: out of memory. */
int gaussian_draw(size_t dim, const struct gaussian *g, double *z);

size_t gaussian_work(size_t dim);

#endif
