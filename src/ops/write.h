/* The changes of a shard: write and delete (write.c), forget and discount (forget.c). */
#ifndef BPCN_WRITE_H
#define BPCN_WRITE_H

#include "cache.h"
#include "search.h"
#include "shard.h"
#include "symbols.h"
#include "update.h"

/* What finding and applying changes needs: the row at hand, its code in every particle, and buffers. */
struct writer {
    struct model *model;
    struct cache *cache; /* or NULL */
    struct team *team;
    int replaying, stale;           /* stale: root_real of the layers is behind */
    struct rows *rows;              /* the one row */
    struct update *update;          /* NULL until writer_reserve for rows */
    double *scratch;                /* of forget or discount; NULL until writer_reserve for them */
    struct norms norms;             /* of the particle at hand */
    real *codes;                    /* [particles x code_dim]: found */
    struct outcome *outcomes;       /* [particles] */
    double *leverage;               /* [particles]: z U z' of the sensory layer */
    double *squares;                /* [particles]: |e|^2 of the sensory layer */
    double *log_weights;            /* [particles]: after the change that was found */
    size_t *sources;                /* [particles]: see model_resample */
    struct projection *projections; /* [particles]: of the row, through G over what it knows; b NULL: none */
    struct gram **grams; /* [particles]: that G, of a row with holes; NULL: it is the one that the update follows */
};

/* As in struct shard_ops. */
struct writer *writer_create(const struct shard *shard, struct team *team, int replaying);
void writer_attach(struct writer *w, const struct shard *shard);
void writer_free(struct writer *w);
bpcn_status writer_reserve(struct writer *w, enum change_kind kind);

bpcn_status write_find(struct writer *w, const void *x, const unsigned char *known, const double *starts,
                       struct change *change, bpcn_write_row *row);
void write_apply(struct writer *w, const struct change *change);
bpcn_status delete_check(struct writer *w, const void *const *x, const void *const *codes, size_t n);
void delete_apply(struct writer *w, const struct change *change);

/* Both need scratch of as many doubles as _scratch says. */
size_t forget_scratch(const struct model *model);
void forget_apply(struct model *model, double beta, double *scratch);
size_t discount_scratch(const struct model *model);
void discount_apply(struct model *model, double beta, struct team *team, double *scratch);

#endif
