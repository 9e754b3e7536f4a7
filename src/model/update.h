/* The conjugate update of one particle by one observation with its code, and its inverse. */
#ifndef BPCN_UPDATE_H
#define BPCN_UPDATE_H

#include "gram.h"
#include "network.h"
#include "real.h"
#include "symbols.h"

/* Room for one row. */
struct update {
    struct team *team;                    /* borrowed, or NULL: the caller alone */
    double *z, *gain, *work;              /* [widest] */
    real *activation, *slope, *gain_real; /* [widest] */
    real *error;                          /* [widest] */
    double *room;                         /* of gram.h */
};

struct update *update_create(const struct model *model, struct team *team);
void update_free(struct update *u);

/* G of the particle's sensory layer over all entries, to be kept true, and the observation in terms of the G of what it
   knows. */
struct gram_update {
    struct gram *gram; /* NULL: none */
    const struct projection *projection;
};

/* sign = 1 conditions on (x0 [dim], of which known [dim] is known, NULL: all; code [code_dim]); sign = -1 takes that
   back, after update_can_revert said that it can, where all is known. root_real is left as it was unless `refresh`. */
void update_particle(const struct model *model, struct particle *particle, const real *x0, const unsigned char *known,
                     const real *code, int sign, int refresh, struct gram_update following, struct update *u);

/* Whether taking back n rows with these codes, one after the other, leaves every covariance positive definite and within
   the prior's. BPCN_REFUSED if not. */
bpcn_status update_can_revert(const struct model *model, const struct particle *particle, const real *const *codes,
                              size_t n, struct update *u);

/* root_real from root. */
void update_refresh_root(struct layer *layer);

#endif
