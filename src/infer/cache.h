/*
 * What depends on a model's parameters alone, made when first wanted and kept until they change: panels, norms, inner
 * products, preconditioners. Any number of readers share it; a writer has it alone.
 */
#ifndef BPCN_CACHE_H
#define BPCN_CACHE_H

#include "energy.h"
#include "preconditioner.h"
#include "symbols.h"

struct cache;

struct cache *cache_create(const struct model *model); /* NULL: out of memory */
void cache_free(struct cache *p);
size_t cache_bytes(struct cache *p);

/* The parameters have changed, or are another model's of the same shape: nothing holds any more. The old model may
   already be gone. */
void cache_reset(struct cache *p, const struct model *model);

/* The share of layer 1's directions that have been written to: 1 - tr U_0 / (h sigma_w^2), over all particles; without
 * hidden layers 1 - S / sigma_w^2. */
double cache_share_written(struct cache *p);

/* ---- for readers */

/* Whether this is one of so many small shards that what each prepares for readers would outgrow the memory: it keeps only
   norms, and one factor for the shortlist, and gives the rest back when the last reader leaves. */
int cache_is_frugal(const struct cache *p);

/* A read begins and ends: what it got from the cache stays at least until then. */
void cache_enter(struct cache *p);
void cache_leave(struct cache *p);

/* The panels of particle k; NULL when out of memory. */
const struct weights *cache_weights(struct cache *p, size_t k);

/* Particle k, ready for such rows. Everything but the norms may be NULL where it does not pay or there is no memory:
   what costs more to make than the rows of this kind asked for so far would save is left for later. */
struct cached_particle {
    const struct weights *weights;
    const struct norms *norms;
    const struct gram *gram; /* over what all rows know; cut */
    struct preconditioner *preconditioner;
    struct slot *slot;
};

/* The norms of particle k; NULL when out of memory. */
const struct norms *cache_norms(struct cache *p, size_t k);

/* The cached is held, so that it stays for as long as it is used, until it is left. */
bpcn_status cache_acquire(struct cache *p, size_t k, struct masks masks, size_t rows, const struct weighing *weighing,
                          struct team *team, struct cached_particle *cached);
void cache_release(struct cache *p, struct cached_particle *cached);

/* What the shortlist needs of particle k: the means of the lowest layer, turned, and the factor of G + ridge, G over what
   all rows know, or where they know different entries over all. Held until cache_release_ridge. */
struct cached_ridge {
    struct panels up; /* no data: of one of many small shards, whose means serve as they are */
    const double *factor; /* [above x above]: see cholesky_factor() */
    struct slot *slot;
};
bpcn_status cache_acquire_ridge(struct cache *p, size_t k, struct masks masks, double ridge,
                                struct cached_ridge *screen);
void cache_release_ridge(struct cache *p, struct cached_ridge *screen);

/* ---- for a writer */

/* G of particle k over all entries, for the writer to follow; NULL when it does not pay, does not serve, or there is no
   memory. */
struct gram *cache_gram(struct cache *p, size_t k, struct team *team);

/* G has drifted, or double cannot hold it: the next is made anew if it served for long enough, or never again. */
void cache_discard_gram(struct cache *p, size_t k);

/* The parameters have changed, and the writer has followed them in every G. sources [particles], or NULL: which
   particle each one is now. */
void cache_keep_grams(struct cache *p, const size_t *sources);

#endif
