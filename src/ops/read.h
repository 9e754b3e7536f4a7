/* A read on its way: read.c is on top, and decides what is searched; paper.c reads as the paper does; answer.c makes
   answers and reports of codes. */
#ifndef BPCN_READ_H
#define BPCN_READ_H

#include "core.h"
#include "objective.h"

struct reading {
    const struct shard *shard;
    const struct model *model;
    struct team *team;
    const struct read_request *request;
    struct read_objective objective;
    struct rows *rows;
    const struct weights **weights; /* [particles]: NULL until wanted */
    struct energy mixture, density; /* of all particles: as searched, and the density itself */
    real *x;                        /* [n x dim]: the queries, with 0 where an unknown entry is no number */
    real *answers;                  /* [n x dim] or NULL: the request's */
    real *codes;                    /* [n x code_dim] */
    struct outcome *outcome;        /* [n]: energy and convergence of the codes; evaluations in all */
    size_t *particle;               /* [n]: which one answers */
    unsigned char *decided;         /* [n]: no other particle has a say in the answer */
    double *log_density;            /* [n]: of the query and the code, for the report */
    double *pattern;                /* [n]: likewise, of what the code leaves of a query said to be noisy */
    double *series;                 /* [lanes x dim]: what is left of one row */
    double *share;                  /* [lanes x BATCH x particles]: responsibilities */
    struct fit *fits;               /* [particles x (layers + 1)]: of one row */
    size_t *list;                   /* [n]: rows at hand */
    real *predictions;              /* [particles x dim]: of one row */
    real *blend, *before;           /* [dim]: their weighted mean, and the answer before it */
};

/* As in struct core. */
bpcn_status read_rows(const struct shard *shard, struct team *team, const struct read_request *request);
bpcn_status read_energy(const struct shard *shard, struct team *team, const struct energy_request *request);
bpcn_status sample(const struct model *model, size_t n, uint64_t draw, void *out);

/* ---- reading.c: what every way of reading shares */

/* BPCN_NO_MEMORY, or OK; reading_free in any case. */
bpcn_status reading_create(struct reading *r, const struct shard *shard, struct team *team,
                           const struct read_request *request);
void reading_free(struct reading *r);

/* The rows are the queries, or what was answered so far. */
void look_at_queries(struct reading *r);
void look_at_answers(struct reading *r);

/* Makes every particle's panels ready. */
bpcn_status ready_mixture(struct reading *r);

/* ---- answer.c */

/* Marks the rows as decided in which, at their codes and under this energy of the mixture, no other particle has a
   share above rounding; of an answer, which is nearer to the particle's prediction than the query was, that is truer
   still. Returns how many evaluations of one particle a row has cost. */
size_t settle(struct reading *r, const struct energy *energy);

/* The answers become the most probable observations given the codes. Entries that the mask says are known stay those
   of the query, unless `all` is set. */
void answer(struct reading *r, int all);

/* Fills the request's info from codes, outcome and the queries. */
void report(struct reading *r);

/* ---- paper.c: fills codes, answers and outcome */
bpcn_status paper_read(struct reading *r);

#endif
