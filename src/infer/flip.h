/* Codes of a kinked activation (ReLU): units that are off have no gradient to come on by, and one that goes off has to
   climb first, so they are turned over where that pays. */
#ifndef BPCN_FLIP_H
#define BPCN_FLIP_H

#include "curvature.h"

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
