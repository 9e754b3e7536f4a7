/*
 * The energy of one network, E(x0, h) = -log p(x0, h), for a batch of rows, and its gradient:
 * the inner loop of everything.
 */
#ifndef BPCN_ENERGY_H
#define BPCN_ENERGY_H

#include "gram.h"
#include "network.h"
#include "real.h"
#include "symbols.h"
#include "threads.h"

/* A particle's matrices cut into panels for many products with batches of rows. */
struct weights;

/* NULL when out of memory. Must not outdate the particle. */
struct weights *weights_create(const struct model *model, const struct particle *particle);
void weights_free(struct weights *w);

size_t weights_bytes(const struct weights *w);

/* out [n x below] = z [n x above] mean; out [n x above] = e [n x below] mean';
   out [n x above] = z R' and f R, for the root R of layer l. By the team (NULL: the caller). */
void weights_down(const struct weights *w, struct team *team, size_t l, size_t n, const real *z, real *out);
void weights_up(const struct weights *w, struct team *team, size_t l, size_t n, const real *e, real *out);
void weights_spread(const struct weights *w, struct team *team, size_t l, size_t n, const real *z, real *out);
void weights_back(const struct weights *w, struct team *team, size_t l, size_t n, const real *f, real *out);

/* Which energy: of whom, weighed how, and what is prepared for it. */
struct energy {
    const struct model *model;
    const struct particle *particle; /* NULL: the mixture (mixture.h) */
    const struct weighing *weighing;
    const struct weights *const
        *weights; /* [particles], or NULL: every row is swept over the particle's own matrices */
    const struct projection
        *projection; /* the rows through G of the particle's sensory layer ([particles] of the mixture), or NULL */
};

/* What is evaluated: row i has observation x0[i] and code h + i * code_dim. */
struct batch {
    size_t n;
    const real *const *x0;             /* [n] -> [sensory_entries] */
    const unsigned char *const *known; /* [n] -> [dim], or NULL: every entry is known */
    const double *count;               /* [n]: entries that log s_0 counts (known ones, or dim) */
    const double *extra;               /* [n]: variance added to s_0 (annealing, query noise) */
    const real *h;                     /* [n x code_dim] */
    const double *negative_slope;      /* [n]: slope of a kinked activation below zero, or NULL: none */
    const size_t *rows;                /* [n]: the projection's names of the rows */
};

/* How one layer fits, for one row. */
struct fit {
    double squares;  /* |e|^2, over the known entries in the sensory layer */
    double variance; /* s_l, without the extra variance */
};

/* Some rows of a batch, copied out. */
struct some_rows {
    const real **x0;
    const unsigned char **known;
    double *count, *extra, *negative_slope;
    size_t *rows, *from; /* from: places in the batch */
    real *h;
};

/* Room for a batch of up to `rows`, NULL when out of memory. The team shares the products of a batch of few. */
struct workspace {
    size_t rows;
    struct team *team;          /* borrowed; NULL: the caller alone */
    real *z, *slope;            /* [rows x widest hidden] activations above and their derivative */
    real *error;                /* [rows x widest below] */
    real *factor;               /* [rows x widest hidden]: z R' */
    real *spread;               /* [rows x widest hidden]: z U */
    real *residual_grad;        /* [rows x widest hidden]: error * mean' */
    real *scratch;              /* of the sweeps */
    double *wide;               /* of gram.h */
    real *grad;                 /* [rows x code_dim]: of one particle, for the mixture */
    real *jump;                 /* [rows x code_dim], of the gradient of one particle computed last: its jumps (kink.h);
                                   NULL where f has no kink */
    real *grad_x0;              /* [rows x dim] or NULL: likewise */
    double *squares, *leverage; /* [rows]: |e|^2 and z U z' of the layer at hand */
    double *s, *weight;         /* [rows]: s_l and (d_l - |e|^2/s)/s */
    double *energy;             /* [rows]: of one particle, for the mixture */
    double *floor;              /* [particles x rows], and some rows, of a mixture; else NULL */
    struct some_rows some;
};

struct workspace *workspace_create(const struct model *model, size_t rows, int with_x0, struct team *team);
void workspace_free(struct workspace *work);

/* Entries of an observation whose errors stand one by one: all, or those that the projection leaves open. */
static inline size_t sensory_entries(const struct energy *energy)
{
    return energy->projection != NULL ? energy->projection->open : energy->model->width[0];
}

/* values [n]. grad [n x code_dim], grad_x0 [n x sensory_entries] (zero where not known) and
   fit [n x (layers + 1)], sensory layer first, may be NULL. */
void energy_evaluate(const struct energy *energy, const struct batch *batch, struct workspace *work, double *values,
                     real *grad, real *grad_x0, struct fit *fit);

/* values [n]: what the energies are not below. Errors are taken as none, and z U z' as none but in the sensory layer.
   One product with a triangular matrix. */
void energy_floor(const struct energy *energy, const struct batch *batch, struct workspace *work, double *values);

/* out [n x dim] = f(x_1) mean_0, the prediction of the sensory layer; the top's mean when there
   is no hidden layer. */
void energy_predict(const struct energy *energy, size_t n, const real *h, struct workspace *work, real *out);

/* -log p of a batch, its gradients as in energy_evaluate, and the responsibilities [n x particles]; each but the
   values may be NULL. The particle of `energy` is not looked at. Particles that cannot have a share in a row, by the
   floors of their energies, are not evaluated for it. */
void energy_evaluate_mixture(const struct energy *energy, const struct batch *batch, struct workspace *work,
                             double *values, real *grad, real *grad_x0, double *responsibility);

#endif
