/*
 * The only door to BLAS and LAPACK, and sums of products by kernels of our own. All matrices are
 * row-major and dense; widths are below 2^24 and row counts below 2^31, so they fit BLAS's int.
 */
#ifndef BPCN_LINALG_H
#define BPCN_LINALG_H

#include <stddef.h>

/* out [n x below] = z [n x above] * weights [above x below] */
void matmul_f32(size_t n, size_t above, size_t below, const float *z, const float *weights, float *out);
void matmul_f64(size_t n, size_t above, size_t below, const double *z, const double *weights, double *out);

/* out [n x above] = e [n x below] * weights [above x below]' */
void matmul_transposed_f64(size_t n, size_t above, size_t below, const double *e, const double *weights, double *out);

/* weights [above x below] += c [n x above]' * e [n x below] */
void rank_update_f64(size_t n, size_t above, size_t below, const double *c, const double *e, double *weights);

double dot_f32(size_t n, const float *x, const float *y);
double dot_f64(size_t n, const double *x, const double *y);
void axpy_f32(size_t n, double a, const float *x, float *y); /* y += a x */
void axpy_f64(size_t n, double a, const double *x, double *y);

/* |x|^2, every product and sum in double: energies of 10,000s are compared to 1e-3. */
double sum_of_squares_f32(size_t n, const float *x);
double sum_of_squares_f64(size_t n, const double *x);

/* x . y, every product and sum in double */
double dot_wide_f32(size_t n, const float *x, const float *y);
double dot_wide_f64(size_t n, const double *x, const double *y);

/* f_k = row_k . z for four rows `stride` apart */
void dot_four_f32(size_t n, size_t stride, const float *rows, const float *z, float *f);
void dot_four_f64(size_t n, size_t stride, const double *rows, const double *z, double *f);

/* out [n] += z_0 row_0 + .. + z_3 row_3, rows `stride` apart */
void add_four_f32(size_t n, size_t stride, const float *rows, const float *z, float *out);
void add_four_f64(size_t n, size_t stride, const double *rows, const double *z, double *out);

/* Both at once: sum_k += row_k . z and out [n] += own_0 row_0 + .. + own_3 row_3 */
void both_four(size_t n, size_t stride, const double *rows, const double *own, const double *z, double *sum,
               double *out);

/* Without a suffix: by the type that x, z or the rows point to, as in <tgmath.h>. */
#define matmul(n, above, below, z, weights, out)                                                                       \
    _Generic(*(z), float : matmul_f32, double : matmul_f64)(n, above, below, z, weights, out)
#define dot(n, x, y) _Generic(*(x), float : dot_f32, double : dot_f64)(n, x, y)
#define dot_wide(n, x, y) _Generic(*(x), float : dot_wide_f32, double : dot_wide_f64)(n, x, y)
#define dot_four(n, stride, rows, z, f)                                                                                \
    _Generic(*(rows), float : dot_four_f32, double : dot_four_f64)(n, stride, rows, z, f)
#define add_four(n, stride, rows, z, out)                                                                              \
    _Generic(*(rows), float : add_four_f32, double : add_four_f64)(n, stride, rows, z, out)
#define axpy(n, a, x, y) _Generic(*(x), float : axpy_f32, double : axpy_f64)(n, a, x, y)
#define sum_of_squares(n, x) _Generic(*(x), float : sum_of_squares_f32, double : sum_of_squares_f64)(n, x)

/* out [n x n] += rows [n x width] rows', the upper triangle only */
void add_gram(size_t n, size_t width, const double *rows, double *out);

/* out [n x m] = a [n x width] b [m x width]' + add out */
void multiply_transposed(size_t n, size_t m, size_t width, const double *a, const double *b, double add, double *out);

/* out [n x width] = rows [n x width] s, s [width x width] symmetric, given by its upper triangle */
void multiply_symmetric(size_t n, size_t width, const double *rows, const double *s, double *out);

/* a [n x n], symmetric positive definite, becomes its upper triangular factor R, a = R'R, with
   zeros below the diagonal. Returns -1 when a is not positive definite. */
int cholesky(size_t n, double *a);

/* Solves R'R x = b in place, b [n x columns], R from cholesky(). */
void cholesky_solve(size_t n, size_t columns, const double *factor, double *b);

/* factor [n x n] from cholesky() becomes the full symmetric inverse of the matrix; -1 on failure. */
int cholesky_inverse(size_t n, double *factor);

/* What lies below the diagonal of a [n x n] = what lies above. */
void mirror_upper(size_t n, double *a);

/* root [n x n], upper triangular, becomes the upper triangle of a root of
   keep^2 root'root + add^2 I, without forming that sum. work [triangle_diffuse_work(n)]. */
void triangle_diffuse(size_t n, double keep, double add, double *root, double *work);
size_t triangle_diffuse_work(size_t n);

#endif
