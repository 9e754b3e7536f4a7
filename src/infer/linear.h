/*
 * The linear code of a row, near the code of a row that was written, and found without a search:
 *
 *   x_1 = f^-1(z_1),  z_1 = argmin over z of |x_0 - z M_0|^2, over the known entries;
 *   x_{l+1} = t + d,  d = argmin over d of |x_l - (f(t) + f'(t) d) M_l|^2 + |d|^2,  from a start t, from the bottom up.
 *
 * A row that was written to a particle with no more rows than units is predicted by its code almost exactly, so z_1 is
 * found by least squares; the layers above differ from the top-down start by little, as much in each layer.
 */
#ifndef BPCN_LINEAR_H
#define BPCN_LINEAR_H

#include "network.h"
#include "real.h"

struct linear;

/* What the rows of a call share: the layers above at the top-down start [code_dim], and, where all know the same, the
   lowest. NULL when out of memory, or when the means of some layer are not independent. */
struct linear *linear_create(const struct model *model, const struct particle *particle, const real *start,
                             struct masks masks);
void linear_free(struct linear *linear);

/* code [code_dim] of a row x [dim], of which known [dim] entries are known (NULL: all). Nothing depends on the other rows
   of the call. -1 as above. */
int linear_code(const struct linear *linear, const real *x, const unsigned char *known, real *code);

#endif
