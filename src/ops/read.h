/* A read in progress: read.c decides what is minimised and searches, read_paper.c reads as the paper does, answer.c
   turns codes into answers and reports. */
#ifndef BPCN_READ_H
#define BPCN_READ_H

#include "cache.h"
#include "search.h"
#include "shard.h"
#include "symbols.h"

/* What a read minimises; see bpcn_objective. */
struct read_objective {
    int integrated;           /* 1: unknown entries are integrated out, and the known ones may be noisy. 0: unknown
                                 entries are maximised over, and an auto-associative read goes in rounds */
    struct weighing weighing; /* of the energy that is searched; reports give the density in any case */
    double tolerance;         /* of the search, in nats */
};

struct read {
    const struct shard *shard;
    const struct model *model;
    struct team *team;
    const struct read_request *request;
    struct read_objective objective;
    struct rows *rows;
    const struct weights **weights;       /* [particles]: NULL until a search needs them */
    struct energy search_energy, density; /* of the mixture: with the objective's weighing, and the density itself */
    real *x;                              /* [n x dim]: the queries, with 0 for unknown entries that are not finite */
    real *answers;                        /* [n x dim] or NULL: the request's */
    real *codes;                          /* [n x code_dim] */
    struct outcome *outcome;              /* [n]: energy and convergence of the codes; evaluations in all */
    size_t *particle;                     /* [n]: which one answers */
    unsigned char *decided;               /* [n]: no other particle has a share in the answer */
    unsigned char *unprepared;            /* [n]: the code was found without panels, row by row */
    double *log_density;                  /* [n]: of the query and the code */
    double *pattern;                      /* [n]: see struct evidence */
    double *series;                       /* [lanes x dim]: residuals of one row */
    double *share;                        /* [lanes x BATCH x particles]: responsibilities */
    struct fit *fits;                     /* [particles x (layers + 1)]: of one row */
    size_t *list;                         /* [n]: rows of one batch of work */
    real *predictions;                    /* [particles x dim]: of one row */
    real *blend, *before;                 /* [dim]: their weighted mean, and the answer of the round before */
};

/* As in struct shard_ops. */
bpcn_status read_rows(const struct shard *shard, struct team *team, const struct read_request *request);
bpcn_status read_energy(const struct shard *shard, struct team *team, const struct energy_request *request);
bpcn_status read_predict(const struct shard *shard, size_t n, const void *codes, void *rows);
bpcn_status read_liken(const struct shard *shard, size_t n, const void *codes, const void *row, double *like);

/* ---- what all three files share */

/* The search sees the queries, or the answers so far. */
static inline void read_see_queries(struct read *r)
{
    for (size_t i = 0; i < r->request->n; i++)
        r->rows->x0[i] = r->x + i * r->model->width[0];
}

static inline void read_see_answers(struct read *r)
{
    for (size_t i = 0; i < r->request->n; i++)
        r->rows->x0[i] = r->answers + i * r->model->width[0];
}

/* Fills r->weights for all particles. */
static inline bpcn_status read_load_weights(struct read *r)
{
    for (size_t k = 0; k < r->model->options.particles; k++) {
        r->weights[k] = cache_weights(r->shard->cache, k);
        if (r->weights[k] == NULL)
            return BPCN_NO_MEMORY;
    }
    return BPCN_OK;
}

/* ---- read_paper.c: fills codes, answers and outcome */
bpcn_status read_paper(struct read *r);

/* ---- answer.c */

/* Marks the rows in which, at their codes and under this energy, every particle but one has a share below rounding.
   (The answer is nearer to that particle's prediction than the query, so it holds for the answer too.) Returns how
   many evaluations of one particle each row has cost. */
size_t answer_decide(struct read *r, const struct energy *energy);

/* The answers become the most probable observations given the codes. Known entries stay those of the query unless
   `all` is set. */
void answer_fill(struct read *r, int all);

/* Fills the request's info from codes, outcome and queries. */
void answer_report(struct read *r);

#endif
