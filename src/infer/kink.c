/* Steps of a function with kinks at 0 (compiled per precision). */
#include "kink.h"

void kink_descend(size_t dim, const real *point, const real *jump, real *grad)
{
    for (size_t j = 0; j < dim; j++) {
        real below = grad[j], above = below + jump[j];
        if (point[j] == 0)
            grad[j] = below > 0 && below > -above ? below : above < 0 ? above : 0;
    }
}

void kink_hold(size_t dim, const real *point, const real *grad, const real *jump, real *direction)
{
    for (size_t j = 0; j < dim; j++)
        if (point[j] == 0 && jump[j] != 0 && direction[j] * grad[j] >= 0)
            direction[j] = 0;
}

void kink_stop(size_t dim, const real *from, const real *grad, const real *jump, real *to)
{
    for (size_t j = 0; j < dim; j++) {
        real side = from[j] != 0 ? from[j] : -grad[j];
        if (jump[j] != 0 && (side > 0) != (to[j] > 0))
            to[j] = 0;
    }
}

void kink_change(size_t dim, const real *from, const real *grad, const real *to, const real *to_jump, real *change)
{
    for (size_t j = 0; j < dim; j++) {
        if (from[j] == 0 && grad[j] == 0)
            change[j] = 0; /* it did not move, so its gradient says nothing of the curvature along the step */
        else if (to[j] == 0 && (from[j] > 0 || (from[j] == 0 && grad[j] < 0)))
            change[j] += to_jump[j];
    }
}
