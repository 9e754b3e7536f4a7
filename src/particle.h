/*
 * The energy of one network, E(x0, h) = -log p(x0, h), for a batch of rows, and its gradient:
 * the inner loop of everything.
 */
#ifndef BPCN_PARTICLE_H
#define BPCN_PARTICLE_H

#include "model.h"
#include "real.h"

/* What is evaluated: row i has observation x0[i] and code h + i * code_dim. */
struct batch {
    size_t n;
    const real *const *x0;             /* [n] -> [dim] */
    const unsigned char *const *known; /* [n] -> [dim], or NULL: every entry is known */
    const double *count;               /* [n]: entries that log s_0 counts (known ones, or dim) */
    const double *extra;               /* [n]: variance added to s_0 (annealing, query noise) */
    const real *h;                     /* [n x code_dim] */
    int expected;                      /* 1: the expected energy sum_l (|e_l|^2 + d_l z U z\') / (2 sx^2) instead */
};

/* How the sensory layer fits, per row. */
struct fit {
    double squares;  /* |e|^2 over the known entries */
    double variance; /* s_0 without the extra variance */
};

/* Room for a batch of up to `rows`: one allocation, NULL when out of memory. */
struct workspace {
    size_t rows;
    real *z, *slope;    /* [rows x widest hidden] activations above and their derivative */
    real *error;        /* [rows x widest below] */
    real *spread;       /* [rows x widest hidden]: z R', then z U */
    real *pull;         /* [rows x widest hidden]: error * mean' */
    real *grad;         /* [rows x code_dim]: of one particle, for the mixture */
    real *grad_x0;      /* [rows x dim] or NULL: likewise */
    double *s, *weight; /* [rows]: s_l and (d_l - |e|^2/s)/s of the layer at hand */
    double *energy;     /* [rows]: of one particle, for the mixture */
};

struct workspace *workspace_create(const struct model *model, size_t rows, int with_x0);
void workspace_free(struct workspace *work);

/* energy [n]. grad [n x code_dim], grad_x0 [n x dim] (zero where not known) and fit [n] may be
   NULL. */
void particle_evaluate(const struct model *model, const struct particle *particle, const struct batch *batch,
                       struct workspace *work, double *energy, real *grad, real *grad_x0, struct fit *fit);

/* out [n x dim] = f(x_1) mean_0, the prediction of the sensory layer; the top's mean when there
   is no hidden layer. */
void particle_predict(const struct model *model, const struct particle *particle, size_t n, const real *h,
                      struct workspace *work, real *out);

#endif
