/*
 * The inverse of 1/alpha + M' B^-1 M over the entries that one row knows (float32): what a Gauss-Newton block
 * B + alpha M M' over those entries needs for its own inverse, B^-1 - B^-1 M (1/alpha + M' B^-1 M)^-1 M' B^-1. Where a
 * row knows fewer entries than the block is wide, that is the smaller matrix, and it is cut out of one that all rows
 * share.
 */
#ifndef BPCN_FRAGMENT_H
#define BPCN_FRAGMENT_H

#include <stddef.h>

struct fragment;

/* products [dim x dim] = M' B^-1 M, ridge = 1/alpha. NULL when out of memory, or when float32 does not take the matrix
   for a positive definite one. Free with free(). */
struct fragment *fragment_create(size_t dim, const float *products, float ridge, const unsigned char *known);

/* row [dim] = the inverse times the known entries of row; 0 at the others. */
void fragment_solve(const struct fragment *f, size_t dim, float *row);

#endif
