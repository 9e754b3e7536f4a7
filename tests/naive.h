/*
 * The model of docs/MODEL.md written down a second time, as plainly as possible: explicit
 * covariances, one row at a time, in double. What the library is compared with.
 */
#ifndef BPCN_TESTS_NAIVE_H
#define BPCN_TESTS_NAIVE_H

#include "bayespcn.h"

struct naive_particle {
    double *mean[BPCN_MAX_LAYERS];       /* [above x below] */
    double *covariance[BPCN_MAX_LAYERS]; /* [above x above] */
    double *top_mean;
    double top_variance;
};

struct naive {
    bpcn_options options;
    size_t width[BPCN_MAX_LAYERS + 1];
    size_t code_dim;
    struct naive_particle *particles;
    double *log_weights;
};

/* A copy of a memory's parameters, by the public API. */
struct naive *naive_of(const bpcn_memory *memory);
void naive_free(struct naive *naive);

double naive_activation(bpcn_activation kind, double x);
double naive_noise(const struct naive *naive, size_t layer); /* variance */

/* Where layer l >= 1 starts in a code. */
size_t naive_offset(const struct naive *naive, size_t layer);

/* A row as the objective sees it: known may be NULL; count is what log s_0 counts, extra the
   variance added to s_0; recall: under the weights of the recall objective. */
struct naive_row {
    const double *x0;
    const unsigned char *known;
    double count, extra;
    const double *code;
    int recall;
};

/* -log p(x0, code) of one particle, and of the mixture; share [particles] or NULL. */
double naive_energy(const struct naive *naive, size_t particle, const struct naive_row *row);
double naive_mixture(const struct naive *naive, const struct naive_row *row, double *share);

/* z U z' of layer 0 (0 without hidden layers). */
double naive_leverage(const struct naive *naive, size_t particle, const double *code);

/* out [dim] = f(x_1) mean_0, or the top's mean. */
void naive_predict(const struct naive *naive, size_t particle, const double *code, double *out);

/* a [n x n] x = b [n x m] by elimination with pivots; a and b are destroyed, b becomes x. */
void naive_solve(size_t n, size_t m, double *a, double *b);

#endif
