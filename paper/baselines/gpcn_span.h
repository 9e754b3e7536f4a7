/*
 * The lowest weights R [above x dim] while they are trained on the same items X [n x dim] again and again. They begin
 * as P, and a step adds c Z'(X - Z R). So with Y, the rows of P and then those of X, they stay R = W'Y, and a step is
 *
 *   W <- W - c W Z'Z, and + c Z in the rows of X
 *
 * V, the last step of R, is such a sum too.
 *
 * All that inference asks of them follows from Y Y', which is made once: Y R' = Y Y' W, in which X R' is, and
 * R R' = W' Y R'. No step touches an entry of the items. Float64, and nothing is divided: rounding is as in plain
 * steps.
 */
#ifndef BASELINES_GPCN_SPAN_H
#define BASELINES_GPCN_SPAN_H

#include <stddef.h>

struct span;

/* Of the weights and items as they are. NULL: out of memory. */
struct span *span_create(size_t above, size_t dim, const double *weights, size_t n, const double *items);
void span_free(struct span *s);

/* gram [above x above] = R R', cross [count x above] = X R' of the items from `first` on */
void span_products(struct span *s, size_t first, size_t count, double *gram, double *cross);

/* R += V, V = momentum V + c Z'(X - Z R) for z [n x above]; V begins as 0 */
void span_step(struct span *s, double c, double momentum, const double *z);

/* weights [above x dim] = R */
void span_weights(const struct span *s, double *weights);

#endif
