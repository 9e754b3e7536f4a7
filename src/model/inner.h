/*
 * The sensory layer of a batch of reads through inner products. Rows that know the same entries share
 * G = R R', R [above x below] the mean with only the known columns, and with b = R x', x likewise,
 *
 *   |e|^2 = |x|^2 - 2 z b + z G z'      e R' = b - z G
 *
 * replace two products with R by one with G. In double, for the reason told in gram.c.
 */
#ifndef BPCN_INNER_H
#define BPCN_INNER_H

#include "model.h"
#include "real.h"
#include "team.h"

struct inner;

/* Whether `rows` reads pay for making G of such a layer. */
int inner_pays(size_t above, size_t below, size_t rows);

/* For `rows` rows with one mask [below], or NULL: everything is known; each of the team may multiply up to `batch` rows
   at once. NULL when out of memory. */
struct inner *inner_create(const struct layer *layer, const unsigned char *mask, size_t rows, struct team *team,
                           size_t batch);
void inner_free(struct inner *inner);

/* Takes the observations x [rows] -> [below] for the calls that follow. */
void inner_aim(struct inner *inner, const real *const *x);

/* pull [n x above] = e R' for the rows named and z [n x above]; squares [n] = |e|^2. */
void inner_multiply(const struct inner *inner, size_t lane, size_t n, const size_t *rows, const real *z,
                    double *squares, real *pull);

#endif
