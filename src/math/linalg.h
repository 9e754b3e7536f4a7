/*
 * The only door to LAPACK, and sums of products by kernels of our own. All matrices are
 * row-major and dense; widths are below 2^24 and row counts below 2^31, so they fit BLAS's int.
 */
#ifndef BPCN_LINALG_H
#define BPCN_LINALG_H

#include "kernels.h"

#include <stddef.h>

/* ---- sums of products by the kernels chosen (kernels.h), of floats or doubles by the type of the pointers, as in
   <tgmath.h> */

#define BY_TYPE(pointer, name)                                                                                         \
    _Generic(*(pointer), float : kernels_chosen()->name##_f32, double : kernels_chosen()->name##_f64)

#define dot(n, x, y) BY_TYPE(x, dot)(n, x, y)
/* The same with every product and sum in double: energies of 10,000s are compared to 1e-3. */
#define dot_wide(n, x, y) BY_TYPE(x, dot_wide)(n, x, y)
#define sum_of_squares(n, x) dot_wide(n, x, x)
/* y += a x */
#define axpy(n, a, x, y) BY_TYPE(x, axpy)(n, a, x, y)
/* f_k = row_k . z for four rows `stride` apart */
#define dot_four(n, stride, rows, z, f) BY_TYPE(rows, dot_four)(n, stride, rows, z, f)
/* out [n] += z_0 row_0 + .. + z_3 row_3, rows `stride` apart */
#define add_four(n, stride, rows, z, out) BY_TYPE(rows, add_four)(n, stride, rows, z, out)

/* ---- factorisations */

/* a [n x n], symmetric positive definite, becomes its upper triangular factor R, a = R'R, with
   zeros below the diagonal. Returns -1 when a is not positive definite. */
int cholesky(size_t n, double *a);

/* Solves x R'R = b in place, b [n], R from cholesky(); and x R = b, half of that: |x|^2 is then b (R'R)^-1 b'. */
void cholesky_halve(size_t n, const double *factor, double *b);
void cholesky_solve(size_t n, const double *factor, double *b);

/* factor [n x n] from cholesky() becomes the full symmetric inverse of the matrix; -1 on failure. */
int cholesky_inverse(size_t n, double *factor);

/* What lies below the diagonal of a [n x n] = what lies above. */
void mirror_upper(size_t n, double *a);

/* root [n x n], upper triangular, becomes the upper triangle of a root of
   keep^2 root'root + add^2 I, without forming that sum. work [triangle_diffuse_work(n)]. */
void triangle_diffuse(size_t n, double keep, double add, double *root, double *work);
size_t triangle_diffuse_work(size_t n);

#endif
