/*
 * What depends on a model's parameters alone, made when first wanted and kept until they change: panels, norms, inner
 * products, preconditioners. Any number of readers share it; a writer has it alone.
 */
#ifndef BPCN_PREPARED_H
#define BPCN_PREPARED_H

#include "curvature.h"
#include "masks.h"
#include "precondition.h"
#include "weights.h"

struct prepared;

struct prepared *prepared_create(const struct model *model); /* NULL: out of memory */
void prepared_free(struct prepared *p);
size_t prepared_bytes(struct prepared *p);

/* The parameters have changed, or are another model's of the same shape: nothing holds any more. The old model may
   already be gone. */
void prepared_drop(struct prepared *p, const struct model *model);

/* The share of layer 1's directions that have been written to: 1 - tr U_0 / (h sigma_w^2), over all particles; without hidden layers 1 - S / sigma_w^2. */
double prepared_share_written(struct prepared *p);

/* ---- for readers */

/* The panels of particle k; NULL when out of memory. */
const struct weights *prepared_weights(struct prepared *p, size_t k);

/* Particle k, ready for such rows. Everything but the norms may be NULL where it does not pay or there is no memory: what
   costs more to make than the rows of this kind asked for so far would save is left for later. */
struct ground {
    const struct weights *weights;
    const struct norms *norms;
    const struct gram *gram; /* over what all rows know; cut */
    struct preconditioner *preconditioner;
    struct slot *slot;
};

/* The ground is held, so that it stays for as long as it is used, until it is left. */
bpcn_status prepared_enter(struct prepared *p, size_t k, struct masks masks, size_t rows,
                           const struct weighing *weighing, struct team *team, struct ground *ground);
void prepared_leave(struct prepared *p, struct ground *ground);

/* What a quick look at particle k needs (ops/screen.c): the means of the lowest layer, turned, and the factor of
   G + ridge, G over what all rows know, or their share of it over all entries. Held until prepared_screened. */
struct screen {
    struct panels up;
    const double *factor; /* [above x above]: see cholesky_factor() */
    struct slot *slot;
};
bpcn_status prepared_screen(struct prepared *p, size_t k, struct masks masks, double ridge, struct screen *screen);
void prepared_screened(struct prepared *p, struct screen *screen);

/* ---- for a writer */

/* G of particle k over all entries, for the writer to follow; NULL when it does not pay, does not serve, or there is no
   memory. */
struct gram *prepared_gram(struct prepared *p, size_t k, struct team *team);

/* G has drifted, or double cannot hold it: the next is made anew if it served for long enough, or never again. */
void prepared_refuse_gram(struct prepared *p, size_t k);

/* The parameters have changed, and the writer has followed them in every G. sources [particles], or NULL: which
   particle each one is now. */
void prepared_followed(struct prepared *p, const size_t *sources);

#endif
