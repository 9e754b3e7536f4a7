/*
 * Rows whose codes are sought: what is known of each, and how far it is. Different lanes may evaluate different rows
 * at once.
 */
#ifndef BPCN_ROWS_H
#define BPCN_ROWS_H

#include "mixture.h"

enum { BATCH = 128 }; /* rows evaluated together: enough for the matrix products to be fast */

/* What one thread needs to evaluate rows: a workspace, and the rows of one batch gathered. */
struct lane {
    struct workspace *work;
    const real **x0; /* [work->rows] each from here on */
    const unsigned char **known;
    double *count, *extra, *leak;
    struct fit *fit;                 /* [work->rows x (layers + 1)]: of the batch evaluated last */
    real *codes;                     /* [work->rows x code_dim]: for whoever gathers some */
    float *vectors, *slopes, *rough; /* [work->rows x code_dim], [.. 2 widest hidden]: for preconditioning */
};

struct rows {
    const struct model *model;
    size_t n, *all;              /* [n]: 0, 1, 2, .. */
    const real **x0;             /* [n] -> [dim] */
    const unsigned char **known; /* [n] -> [dim], or NULL: every entry */
    double *count;               /* [n], see struct batch; all, unless the owner says otherwise */
    double *extra, *leak;        /* [n]: of the stage that a row is in, see struct batch */
    unsigned char *settled;      /* [n]: steps taken since the noise estimate no longer moves (infer.c) */
    struct fit *fit;             /* [n x (layers + 1)]: at the code that a row has reached, in one particle */
    double *trace;               /* [n x trace_room] or NULL: energies that were met, NaN where none was yet */
    size_t trace_room;
    struct team *team;
    size_t lanes;
    struct lane *lane; /* [lanes] */
};

/* Every entry known and nothing added; NULL when out of memory. One row is the team's common work; of several, each
   member of the team has a lane of its own. */
struct rows *rows_create(const struct model *model, size_t n, int with_mask, struct team *team);
void rows_free(struct rows *rows);

/* Evaluates codes [count x code_dim] of the rows listed, as many as the lane's workspace has room for; leaves their
   fits in the lane (one particle). grad and responsibility [count x particles] (mixture) may be NULL. */
void rows_evaluate(const struct rows *rows, const struct energy *energy, size_t lane, size_t count, const size_t *list,
                   const real *codes, double *values, real *grad, double *responsibility);

/* The sum of the squares of what is known of a row. */
double rows_power(const struct rows *rows, size_t row);

/* The row has reached the code that stood in this place of the batch evaluated last. */
void rows_keep(struct rows *rows, size_t lane, size_t place, size_t row);

/* Runs job(context, lane, lanes), in every lane at once. */
void rows_run(struct rows *rows, void (*job)(void *context, size_t lane, size_t lanes), void *context);

static inline const struct fit *fit_of(const struct rows *rows, size_t row)
{
    return rows->fit + row * (rows->model->options.layers + 1);
}

#endif
