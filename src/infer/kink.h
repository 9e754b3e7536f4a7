/*
 * Functions that are smooth but for a kink where an entry of the point passes 0, as those of ReLU codes are. There
 * grad is the gradient just below 0 and grad + jump the one just above; an entry whose jump is 0 has no kink.
 *
 * A step stays in one orthant, in which the function is smooth: an entry that would pass 0 stops there, and the next
 * step takes it to the side where the function falls, or leaves it where it is.
 */
#ifndef BPCN_KINK_H
#define BPCN_KINK_H

#include "real.h"

#include <stddef.h>

/* grad, where the point is 0, becomes that of the side that falls more steeply, or 0 where neither does. */
void kink_descend(size_t dim, const real *point, const real *jump, real *grad);

/* Entries of the direction at 0 that would go where the function does not fall stay. */
void kink_hold(size_t dim, const real *point, const real *grad, const real *jump, real *direction);

/* Entries of `to` that passed 0 on the way from `from` stop there. */
void kink_stop(size_t dim, const real *from, const real *grad, const real *jump, real *to);

/* change = gradient at `to` - gradient at `from`, both on the side of 0 that the step was on. */
void kink_change(size_t dim, const real *from, const real *grad, const real *to, const real *to_jump, real *change);

#endif
