/*
 * Minimisers of many independent functions at once, one per row. They know nothing of networks:
 * an objective evaluates whichever rows still move, so that converged rows leave the batch.
 */
#ifndef BPCN_MINIMIZE_H
#define BPCN_MINIMIZE_H

#include "bayespcn.h"
#include "real.h"
#include "symbols.h"

#include <stddef.h>

/* How a row is to be minimised before its function changes. */
struct stage {
    size_t iterations; /* at most */
    double tolerance;  /* progress in the energy that counts as none */
};

struct objective {
    void *context;
    size_t dim; /* entries of one point */
    /* energy[i] and grad + i * dim of row rows[i] at points + i * dim, i < n */
    void (*evaluate)(void *context, size_t n, const size_t *rows, const real *points, double *energy, real *grad);
    /* Prepares stage number `number` (0 first) of a row; may move its point. 0 when the row is
       done. Energies are not compared across stages. */
    int (*enter)(void *context, size_t row, size_t number, real *point, struct stage *stage);
    /* Called once a stage, after its first evaluation: inverse [dim] = an estimate of the inverse
       of the Hessian's diagonal there; or returns 0, and `precondition` is used. NULL: nothing is
       known. */
    int (*scale)(void *context, size_t row, real *inverse);
    /* vectors [n x dim] = an estimate of the inverse Hessian of each row at points, times vectors.
       NULL when scale never returns 0. */
    void (*precondition)(void *context, size_t n, const size_t *rows, const real *points, real *vectors);
    /* The row has arrived at the point that was number `place` of those evaluated last. NULL: nobody wants to know.
     * L-BFGS only. */
    void (*arrive)(void *context, size_t row, size_t place);
    /* [n x dim], left there by evaluate: the jumps of the gradients (kink.h). NULL: there are none. L-BFGS only. */
    const real *jump;
};

struct outcome {
    double energy; /* at the point returned, under the last stage's function */
    size_t evaluations;
    int converged; /* the last stage met its tolerance */
};

/* points [rows x dim]: starts in, minima out. batch: most rows evaluated together. */
bpcn_status lbfgs_minimize(const struct objective *objective, size_t rows, size_t batch, real *points,
                           struct outcome *outcome);

/* The paper's Adam (0.9, 0.999, 1e-8, bias-corrected): all rows take the same steps, and all stop
   after the step at which no energy moved by more than `stop`. One stage. losses [steps] or
   NULL: the mean energy before each step. */
struct adam_options {
    double rate, stop;
    size_t steps;
};
/* `enter` of an objective that Adam minimises. */
int adam_first_stage(void *context, size_t row, size_t number, real *point, struct stage *stage);
bpcn_status adam_minimize(const struct objective *objective, size_t rows, const struct adam_options *options,
                          real *points, struct outcome *outcome, double *losses);

/*
 * Functions that are smooth but for a kink where an entry of the point passes 0, as those of ReLU codes are. There
 * grad is the gradient just below 0 and grad + jump the one just above; an entry whose jump is 0 has no kink.
 *
 * A step stays in one orthant, in which the function is smooth: an entry that would pass 0 stops there, and the next
 * step takes it to the side where the function falls, or leaves it where it is.
 */
/* grad, where the point is 0, becomes that of the side that falls more steeply, or 0 where neither does. */
void kink_descend(size_t dim, const real *point, const real *jump, real *grad);

/* Entries of the direction at 0 that would go where the function does not fall stay. */
void kink_hold(size_t dim, const real *point, const real *grad, const real *jump, real *direction);

/* Entries of `to` that passed 0 on the way from `from` stop there. */
void kink_stop(size_t dim, const real *from, const real *grad, const real *jump, real *to);

/* change = gradient at `to` - gradient at `from`, both on the side of 0 that the step was on. */
void kink_change(size_t dim, const real *from, const real *grad, const real *to, const real *to_jump, real *change);

#endif
