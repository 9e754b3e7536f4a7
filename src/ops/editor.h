/* What finds and makes the changes of a shard: the room that write, delete, forget and discount share. */
#ifndef BPCN_EDITOR_H
#define BPCN_EDITOR_H

#include "core.h"
#include "infer.h"
#include "prepared.h"
#include "update.h"

struct editor {
    struct model *model;
    struct prepared *prepared; /* NULL: none */
    struct team *team;
    int replaying, stale;     /* stale: root_real of the layers is behind */
    struct rows *rows;        /* one row */
    struct update *update;    /* see editor_ready; NULL: no room yet */
    double *room;             /* of forget or discount; NULL: no room yet */
    struct norms norms;       /* of the particle at hand */
    real *codes;              /* [particles x code_dim]: found */
    struct outcome *outcomes; /* [particles] */
    double *leverage;         /* [particles]: z U z' of the sensory layer */
    double *squares;          /* [particles]: its |e|^2 */
    double *log_weights;      /* [particles]: found */
    size_t *sources;          /* [particles]: see model_resample */
    struct aim *aims;         /* [particles]: of the row found, through G over what it knows; b NULL: none */
    struct gram **grams; /* [particles]: that G, of a row with holes; NULL: it is the one that the update follows */
};

/* As in struct core. */
struct editor *editor_create(const struct shard *shard, struct team *team, int replaying);
void editor_turn(struct editor *editor, const struct shard *shard);
void editor_free(struct editor *editor);
bpcn_status editor_ready(struct editor *editor, enum change_kind kind);

/* The row that is being looked at; known [dim] or NULL: all of it. */
void editor_look(struct editor *editor, const real *x, const unsigned char *known);

/* Forgets the aim of particle k, and the G that is its own. */
void editor_unaim(struct editor *editor, size_t k);

/* ---- one file each */

bpcn_status find_write(struct editor *editor, const void *x, const unsigned char *known, const double *starts,
                       struct change *change, bpcn_write_row *row);
void make_write(struct editor *editor, const struct change *change);

bpcn_status find_delete(struct editor *editor, const void *x, struct change *change);
void make_delete(struct editor *editor, const struct change *change);

size_t forget_room(const struct model *model);
void forget(struct model *model, double beta, double *room);

size_t discount_room(const struct model *model);
void discount(struct model *model, double beta, double *room);

#endif
