/*
 * Dense algebra shared out among a team (NULL: the caller alone). Of our own, because BLAS would
 * wake threads that then keep turning beside those of the team.
 */
#ifndef BPCN_DENSE_H
#define BPCN_DENSE_H

#include "gemm.h"
#include "team.h"

/* Panels of m [rows x columns], or, transposed, of m [columns x rows]. To be freed: panels->data. -1 when
   out of memory. */
int dense_panels(size_t rows, size_t columns, const float *m, int transposed, struct panels *panels);

/* out [n x columns] = a [n x rows] panels: shared out by rows, or by columns where there are few rows. A row's result
   does not depend on the team. */
void dense_multiply_f32(struct team *team, const struct panels *panels, size_t n, const float *a, float *out);
void dense_multiply_f64(struct team *team, const struct panels *panels, size_t n, const double *a, double *out);
#define dense_multiply(team, panels, n, a, out)                                                                        \
    _Generic(*(out), float : dense_multiply_f32, double : dense_multiply_f64)(team, panels, n, a, out)

/* out [n x columns] = a [n x rows] b, b [rows x columns] or, transposed, [columns x rows]. -1 when out of memory. */
int dense_product(struct team *team, size_t n, size_t rows, size_t columns, const float *a, const float *b,
                  int transposed, float *out);

/* out [columns x rows] = m [rows x columns]' */
void dense_transpose(size_t rows, size_t columns, const float *m, float *out);

/* a [n x n], symmetric positive definite, becomes its inverse. -1 when float32 does not take it for one, or
   when out of memory; a is then spoilt. */
int dense_invert(struct team *team, size_t n, float *a);

#endif
