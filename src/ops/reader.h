/* What every way of reading shares: the rows at hand, their codes, the answers and the report. */
#ifndef BPCN_READER_H
#define BPCN_READER_H

#include "core_real.h"
#include "problem.h"

struct reader {
    const struct model *model;
    const struct read_request *request;
    struct problem *problem;
    struct weighing weighing; /* of the recall objective */
    real *x;                  /* [n x dim]: the observations being explained, then the answers */
    real *codes;              /* [n x code_dim] */
    struct outcome *outcome;  /* [n]: energy and convergence of the codes; evaluations in all */
    size_t *particle;         /* [n]: which one answers */
    unsigned char *decided;   /* [n]: no other particle has a say in the answer */
    double *density;          /* [n]: -log density of the query and the code, for the report */
    double *share;            /* [lanes x BATCH x particles]: responsibilities */
    struct fit *fits;         /* [particles x (layers + 1)]: of one row */
    size_t *list;             /* [n]: rows at hand */
    real *predictions;        /* [particles x dim]: of one row */
    real *blend;              /* [dim]: their weighted mean */
};

/* Copies the queries into x; the mask and the counts follow the request. Returns -1 when out of
   memory; free in any case. */
int reader_create(struct reader *r, const struct model *model, const struct read_request *request);
void reader_free(struct reader *r);

/* Marks the rows as decided in which, at their codes and by this weighing, no other particle has a share above
   rounding; of an answer, which is nearer to the particle's prediction than the query was, that is truer still. Returns
   how many evaluations of one particle a row has cost. */
size_t reader_settle(struct reader *r, const struct weighing *weighing);

/* Replaces x by the most probable observations given the codes. Entries that the mask says are
   known stay, unless `all` is set. */
void reader_answer(struct reader *r, int all);

/* Fills the request's info from codes, outcome and the queries themselves. */
void reader_report(struct reader *r);

/* The objective a request asks for. */
bpcn_objective objective_of(const struct model *model, const bpcn_read_options *options);

/* One read by the paper's minimiser and schedule: fills codes, x and outcome. */
bpcn_status paper_read(struct reader *r);

#endif
