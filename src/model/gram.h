/*
 * The sensory layer of a write through G = R R', R [above x below] its mean. All of x is known and
 * stays, so with b = R x'
 *
 *   |e|^2 = |x|^2 - 2 z b + z G z'      e R' = b - z G
 *
 * read one triangle of G instead of R twice.
 */
#ifndef BPCN_GRAM_H
#define BPCN_GRAM_H

#include "model.h"
#include "real.h"
#include "team.h"

struct gram;

/* Whether `rows` writes in a row pay for making G of such a layer: about above / 8 evaluations do. */
int gram_pays(size_t above, size_t below, size_t rows);

/* Room for a layer's G; NULL when out of memory. The team is borrowed. */
struct gram *gram_create(size_t above, size_t below, struct team *team);
void gram_free(struct gram *gram);

/* G of the layer. */
void gram_fill(struct gram *gram, const struct layer *layer);
void gram_copy(struct gram *to, const struct gram *from);

/* Updates since gram_fill. */
size_t gram_age(const struct gram *gram);

/* Takes the observation x [below] for the calls that follow. */
void gram_aim(struct gram *gram, const struct layer *layer, const real *x);

/* pull [above] = e R' for the errors e = x - z R; returns |e|^2. */
double gram_sweep(struct gram *gram, const real *z, real *pull);

/* |row i of R|^2 */
double gram_square(const struct gram *gram, size_t i);

/* After R += gain' e, for the errors e at z. */
void gram_follow(struct gram *gram, const real *z, const real *gain);

#endif
