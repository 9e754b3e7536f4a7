/* The energies of a memory as objectives of the minimisers: of one particle or of the mixture. */
#ifndef BPCN_PROBLEM_H
#define BPCN_PROBLEM_H

#include "minimize.h"
#include "mixture.h"

enum { BATCH = 128 }; /* rows evaluated together: enough for the matrix products to be fast */

/* Rows to find codes for. */
struct problem {
    const struct model *model;
    const struct particle *particle; /* NULL: the mixture */
    size_t rows;
    const real **x0;             /* [rows] -> [dim] */
    const unsigned char **known; /* [rows] -> [dim], or NULL: every entry */
    double *count;               /* [rows], see struct batch */
    double *extra;               /* [rows]: variance added to s_0, set by the stages */
    struct fit *fit;             /* [rows]: of the point evaluated last (one particle only) */
    struct workspace *work;      /* for BATCH rows */
    struct {                     /* the rows of one evaluation, [BATCH] each */
        const real **x0;
        const unsigned char **known;
        double *count, *extra;
        struct fit *fit;
    } part;
};

/* Room for `rows` rows, with every entry known and nothing added; NULL when out of memory. */
struct problem *problem_create(const struct model *model, size_t rows, int with_mask, int with_x0_gradient);
void problem_free(struct problem *problem);

/* Evaluates codes [n x code_dim] of the rows given, n <= BATCH. grad and responsibility
   [n x particles] (mixture only) may be NULL. The shape that struct objective wants, and more. */
void problem_evaluate(struct problem *problem, size_t n, const size_t *rows, const real *codes, double *energy,
                      real *grad, double *responsibility);

#endif
