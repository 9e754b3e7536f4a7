/*
 * A row covariance U kept as U = R'R with R upper triangular and positive on its diagonal, packed
 * by rows in float64. Every operation keeps that form, so U is positive definite by construction
 * and the variance z U z' = |R z|^2 of a direction seen a million times keeps its digits.
 */
#ifndef BPCN_ROOT_H
#define BPCN_ROOT_H

#include <stddef.h>

/* Entries of a packed root, and where row j (columns j .. n-1) starts. */
size_t root_entries(size_t n);
size_t root_row(size_t n, size_t j);

/* R = scale * I */
void root_identity(size_t n, double scale, double *root);

/* Conditions U on an observation along z with noise variance s > 0: U -= k k' / a, where k = U z'
   and a = s + z U z'. With s < 0 it takes such an observation back; the caller makes sure that
   z U z' < -s. Returns a and leaves k [n]; work [n]. */
double root_condition(size_t n, double s, const double *z, double *root, double *k, double *work);

/* z U z'; work [n]. */
double root_variance(size_t n, const double *root, const double *z, double *work);

/* U becomes keep U + add I. work [root_diffuse_work(n)]. */
void root_diffuse(size_t n, double keep, double add, double *root, double *work);
size_t root_diffuse_work(size_t n);

/* U^-1 becomes keep U^-1 + add I, as if one had seen every axis once more; k [n]. O(n^3). */
void root_discount(size_t n, double keep, double add, double *root, double *k);

/* covariance [n x n] = U, and back; -1 when the matrix is not positive definite. work [n x n]. */
void root_to_covariance(size_t n, const double *root, double *covariance);
int root_from_covariance(size_t n, const double *covariance, double *root, double *work);

#endif
