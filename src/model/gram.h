/*
 * The sensory layer through inner products, where its mean M [above x below] would be read twice: over the entries
 * that a mask knows, with G = M M' and, for an observation x, b = M x',
 *
 *   |e|^2 = |x|^2 - 2 z b + z G z'      e M' = b - z G
 *
 * All in double. |e|^2 / 2s is what is left of terms of the size of |x|^2 / 2s: with |x|^2 = 3000 and s = 1e-4 double
 * leaves an error of 1e-16 * 3000 / 2e-4, a nanonat, where float32 would leave none of the digits.
 */
#ifndef BPCN_GRAM_H
#define BPCN_GRAM_H

#include "matmul.h"
#include "network.h"
#include "real.h"
#include "symbols.h"
#include "threads.h"

struct gram {
    size_t above, below;
    unsigned char *mask;  /* [below], a copy, or NULL: every entry is known */
    double *g;            /* [above x above]: its upper triangle is right; all of it once there are panels */
    struct panels panels; /* of G, for gram_multiply; no data: not cut yet */
    size_t age;           /* updates followed since it was made */
};

/* Observations in terms of one G, and the entries that G's mask does not know where those move with the code. */
struct projection {
    const struct gram *gram;
    double *b;              /* [n x above] */
    double *squares;        /* [n]: |x|^2 */
    size_t open;            /* entries that move; 0: what is not known does not count */
    struct panels down, up; /* M over these, [above x open], and turned */
};

/* Whether G is less to read than M over so many entries: for one row, and for batches, whose products in double take
   twice the time. */
int gram_pays(size_t above, size_t below);
int gram_pays_batch(size_t above, size_t below);

/* NULL when out of memory; made by the team. `all`, over every entry, may be NULL: with it, the fewer of the known and
   the unknown entries are summed over. */
struct gram *gram_create(const struct layer *layer, const unsigned char *mask, const struct gram *all,
                         struct team *team);
void gram_free(struct gram *gram);
size_t gram_bytes(const struct gram *gram);

/* Cuts the panels; -1 when out of memory. */
int gram_pack(struct gram *gram);

/* x [n] -> [below]; -1 when out of memory. projection_free frees in any case. */
int projection_create(struct projection *projection, const struct gram *gram, const struct layer *layer, size_t n,
                      const real *const *x, struct team *team);
void projection_free(struct projection *projection);

/* The entries that the mask does not know are open from here on: observations are of these alone. -1 when out of
   memory. */
int projection_open(struct projection *projection, const struct layer *layer);

/* residual_grad [n x above] = e M' and squares [n] = |e|^2 of rows [n] of the projection, at z [n x above], through the
   panels. room [n x 2 above]. */
void gram_multiply(const struct projection *projection, struct team *team, size_t n, const size_t *rows, const real *z,
                   double *room, double *squares, real *residual_grad);

/* The same for row 0 alone, through one triangle of G, by all of the team. room [gram_room(above, team)]. Returns
   |e|^2. */
double gram_sweep(const struct projection *projection, struct team *team, const real *z, double *room,
                  real *residual_grad);
size_t gram_room(size_t above, const struct team *team);

/* After M += gain' e, for the errors e of the projection's row 0 at z, 0 where the projection's own G does not know: G,
   which is over all entries, as it is now. Panels go. What is not exact is that G follows in double while M is rounded
   to float32, by 3e-8 of each entry: a change of e by 3e-8 in random directions moves the energy by e . 3e-8 / s, about
   2e-5 nats a write at 3072 entries of e = 0.01, and grows with the root of the number of writes. Measured on CIFAR-10,
   width 512: 1e-4 nats after 200 writes, 5e-4 (rms) after 475, without bias. write.c evaluates every code it accepts
   directly, and has G made anew when the two energies differ by more than counts. */
void gram_update(struct gram *gram, const struct projection *projection, struct team *team, const real *z,
                 const real *gain, double *room);

/* G of another particle. */
void gram_copy(struct gram *to, const struct gram *from);

#endif
