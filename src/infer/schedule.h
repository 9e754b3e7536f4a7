/*
 * How inference goes from a start to a minimum: the steps of writes and reads, and the estimate of
 * the curvature that L-BFGS starts from. docs/SOLVER.md has the measurements behind each number.
 */
#ifndef BPCN_SCHEDULE_H
#define BPCN_SCHEDULE_H

#include "minimize.h"
#include "particle.h"

/* One step: the energy is minimised with `extra` added to s_0 and, for ReLU, with slope `leak`
   below zero. */
struct step {
    double extra;
    double leak;
    struct stage stage;
    double snap; /* > 0: first put units below this (a tenth of it per layer up) firmly off */
};

struct steps {
    size_t count;
    const struct step *step;
};

/* For reads the extra variance is absolute; for writes it is relative to what the start leaves unexplained, per
   entry. */
struct steps read_steps(bpcn_activation activation);
struct steps flip_steps(bpcn_activation activation); /* after flip_code; none where no unit is ever off */
struct steps write_steps(bpcn_activation activation);
struct steps block_steps(bpcn_activation activation); /* of several rows at once, tolerances per row */
struct steps noisy_steps(void);                       /* after a query's noise was estimated */

/* The last tolerance: energies, and what float32 knows of them, grow with the entries. A recall is after the
   observation, which is found well before the last thousandth of a nat. */
double density_tolerance(const struct model *model);
double recall_tolerance(const struct model *model);

/* A step's stage, with the last tolerance where it leaves it open (0). */
struct stage stage_of(const struct step *step, double last);

/* Whether inference starts in the network made linear, where the start is not dead. */
int starts_linear(bpcn_activation activation);

/* Norms of a particle that its curvature is made of, per hidden unit. */
struct norms {
    real *mean;       /* [code_dim]: |row of the mean that the unit predicts with|^2 */
    real *covariance; /* [code_dim]: U_ii */
};
int norms_create(struct norms *norms, const struct model *model); /* -1: out of memory */
void norms_free(struct norms *norms);
/* gram: of the sensory layer, which is then not read, or NULL */
void norms_compute(const struct model *model, const struct particle *particle, const struct gram *gram,
                   struct norms *norms);

/* inverse [code_dim]: one over the diagonal of the Gauss-Newton Hessian at a code whose fit
   [layers + 1] is given. `count` entries of the observation are known, `extra` is added to s_0. */
void inverse_curvature(const struct model *model, const struct norms *norms, const struct fit *fit, double count,
                       double extra, double leak, const struct weighing *weighing, real *inverse);

/* Puts the units of a code that are below `threshold` in layer 1, a tenth of it in layer 2, ...,
   but for the top layer, where their prediction from above wants them, or just below zero. For ReLU, after flips. */
void snap_code(const struct model *model, const struct particle *particle, double threshold, real *code, real *above,
               real *prediction);

/* opened = code with the units of layer 1 that are off raised to just above zero, where the gradient says what they
   would do if they were on. */
void open_code(const struct model *model, const real *code, real *opened);

/* Turns units of layer 1 on or off where that lowers the energy, to second order and for one unit at a time: what
   L-BFGS does not see, because a unit that is off has no gradient and one that goes off has to climb first. grad and
   fit [layers + 1] are those of the code opened. Returns how many. */
size_t flip_code(const struct model *model, const struct particle *particle, const struct norms *norms,
                 const struct fit *fit, double count, double extra, const struct weighing *weighing, const real *grad,
                 real *code, real *above, real *prediction);

#endif
