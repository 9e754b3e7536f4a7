/*
 * Cholesky factors in float64: of full matrices, and of a covariance that is kept as its factor and updated in place.
 * All matrices are row-major and dense.
 */
#ifndef BPCN_CHOLESKY_H
#define BPCN_CHOLESKY_H

#include "kernels.h"
#include "symbols.h"

#include <stddef.h>

/* ---- full matrices */

/* a [n x n], symmetric positive definite, becomes its upper triangular factor R, a = R'R, with
   zeros below the diagonal. Returns -1 when a is not positive definite. */
int cholesky_factor(size_t n, double *a);

/* Solves x R'R = b in place, b [n], R from cholesky_factor(); and x R = b, half of that: |x|^2 is then b (R'R)^-1 b'.
 */
void cholesky_solve_half(size_t n, const double *factor, double *b);
void cholesky_solve(size_t n, const double *factor, double *b);

/* factor [n x n] from cholesky_factor() becomes the full symmetric inverse of the matrix; -1 on failure. */
int cholesky_inverse(size_t n, double *factor);

/* root [n x n], upper triangular, becomes the upper triangle of a root of
   keep^2 root'root + add^2 I, without forming that sum. work [cholesky_diffuse_full_work(n)]. */
void cholesky_diffuse_full(size_t n, double keep, double add, double *root, double *work);
size_t cholesky_diffuse_full_work(size_t n);

/* ---- a covariance U kept as U = R'R

   R is upper triangular and positive on its diagonal, packed by rows. Every operation keeps that form, so U is positive
   definite by construction, and the variance z U z' = |R z|^2 of a direction seen a million times keeps its digits. */

/* Entries of a packed root, and where row j (columns j .. n-1) starts. */
size_t cholesky_entries(size_t n);
size_t cholesky_row(size_t n, size_t j);

/* R = scale * I */
void cholesky_identity(size_t n, double scale, double *root);

/* Conditions U on an observation along z with noise variance s > 0: U -= k k' / a, where k = U z'
   and a = s + z U z'. With s < 0 it takes such an observation back; the caller makes sure that
   z U z' < -s. Returns a and leaves k [n]; work [n]. */
double cholesky_condition(size_t n, double s, const double *z, double *root, double *k, double *work);

/* z U z'; work [n]. */
double cholesky_variance(size_t n, const double *root, const double *z, double *work);

/* U becomes keep U + add I. work [cholesky_diffuse_work(n)]. */
void cholesky_diffuse(size_t n, double keep, double add, double *root, double *work);
size_t cholesky_diffuse_work(size_t n);

/* U^-1 becomes keep U^-1 + add I, as if one had seen every axis once more; k [n]. O(n^3). */
void cholesky_discount(size_t n, double keep, double add, double *root, double *k);

/* Whether no direction has a variance above `most`: 1, 0, or -1 when out of memory. O(n^3). */
int cholesky_within(size_t n, const double *root, double most);

/* covariance [n x n] = U, and back; -1 when the matrix is not positive definite. work [n x n]. */
void cholesky_to_covariance(size_t n, const double *root, double *covariance);
int cholesky_from_covariance(size_t n, const double *covariance, double *root, double *work);

#endif
