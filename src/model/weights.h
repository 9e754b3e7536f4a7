/*
 * A particle's matrices made ready for many products with batches of rows: cut into panels.
 */
#ifndef BPCN_WEIGHTS_H
#define BPCN_WEIGHTS_H

#include "model.h"
#include "real.h"
#include "threads.h"

struct weights;

/* NULL when out of memory. Must not outdate the particle. */
struct weights *weights_create(const struct model *model, const struct particle *particle);
void weights_free(struct weights *w);

size_t weights_bytes(const struct weights *w);

/* out [n x below] = z [n x above] mean; out [n x above] = e [n x below] mean';
   out [n x above] = z R' and f R, for the root R of layer l. By the team (NULL: the caller). */
void weights_down(const struct weights *w, struct team *team, size_t l, size_t n, const real *z, real *out);
void weights_up(const struct weights *w, struct team *team, size_t l, size_t n, const real *e, real *out);
void weights_spread(const struct weights *w, struct team *team, size_t l, size_t n, const real *z, real *out);
void weights_back(const struct weights *w, struct team *team, size_t l, size_t n, const real *f, real *out);

#endif
