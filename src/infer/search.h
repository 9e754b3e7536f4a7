/*
 * From rows to codes: the one entry that reads, writes and deletions share. Who is asked (struct energy), how the
 * search goes (struct schedule) and what is known of the curvature are arguments; what a search leaves of a row, its
 * variances and its fit, stands in struct rows.
 */
#ifndef BPCN_SEARCH_H
#define BPCN_SEARCH_H

#include "energy.h"
#include "minimize.h"
#include "preconditioner.h"
#include "symbols.h"

/* ---- rows */

enum { BATCH = 128 }; /* rows evaluated together: enough for the matrix products to be fast */

/* What one thread needs to evaluate rows: a workspace, and the rows of one batch gathered. */
struct lane {
    struct workspace *work;
    const real **x0; /* [work->rows] each from here on */
    const unsigned char **known;
    double *count, *extra, *negative_slope;
    struct fit *fit;                 /* [work->rows x (layers + 1)]: of the batch evaluated last */
    real *codes;                     /* [work->rows x code_dim]: for whoever gathers some */
    float *vectors, *slopes, *rough; /* [work->rows x code_dim], [.. 2 widest hidden]: for preconditioning */
};

struct rows {
    const struct model *model;
    size_t n, *all;                 /* [n]: 0, 1, 2, .. */
    const real **x0;                /* [n] -> [dim] */
    const unsigned char **known;    /* [n] -> [dim], or NULL: every entry */
    double *count;                  /* [n], see struct batch; all, unless the owner says otherwise */
    double *extra, *negative_slope; /* [n]: of the stage that a row is in, see struct batch */
    unsigned char *settled;         /* [n]: steps taken since the noise estimate no longer moves (search.c) */
    struct fit *fit;                /* [n x (layers + 1)]: at the code that a row has reached, in one particle */
    double *trace;                  /* [n x trace_room] or NULL: energies that were met, NaN where none was yet */
    size_t trace_room;
    struct team *team;
    size_t lanes;
    struct lane *lane; /* [lanes] */
};

/* Every entry known and nothing added; NULL when out of memory. One row is the team's common work; of several, each
   member of the team has a lane of its own. */
struct rows *rows_create(const struct model *model, size_t n, int with_mask, struct team *team);
void rows_free(struct rows *rows);

/* Evaluates codes [count x code_dim] of the rows listed, as many as the lane's workspace has room for; leaves their
   fits in the lane (one particle). grad and responsibility [count x particles] (mixture) may be NULL. */
void rows_evaluate(const struct rows *rows, const struct energy *energy, size_t lane, size_t count, const size_t *list,
                   const real *codes, double *values, real *grad, double *responsibility);

/* The sum of the squares of what is known of a row. */
double rows_power(const struct rows *rows, size_t row);

/* The row has reached the code that stood in this place of the batch evaluated last. */
void rows_keep(struct rows *rows, size_t lane, size_t place, size_t row);

/* Runs job(context, lane, lanes), in every lane at once. */
void rows_run(struct rows *rows, void (*job)(void *context, size_t lane, size_t lanes), void *context);

static inline const struct fit *fit_of(const struct rows *rows, size_t row)
{
    return rows->fit + row * (rows->model->options.layers + 1);
}

/* ---- where a search starts */

/* code [code_dim]: the paper's start, entries of layer l ~ N(0, 1 / width of l). The stream says
   which draw (random.h). */
void search_start_random(const struct model *model, uint64_t stream, real *code);

/* code [code_dim]: x_L = the top's mean, x_l = f(x_{l+1}) mean_l, with ReLU's slope below zero at
   `negative_slope`. No randomness. */
void search_start_top_down(const struct model *model, const struct particle *particle, double negative_slope,
                           struct workspace *work, real *code);

/* z U z' of the sensory layer that every code of the size of this one has at least: as much for its size as the
   top-down code, whose direction every write confirms. That is what forgetting has given back in all directions. */
double search_faded_leverage(struct rows *rows, const struct particle *particle, const real *code);

/* ---- its steps */

/* One step: the energy is minimised with `extra` added to s_0 and, for a kinked activation, with slope `negative_slope`
   below zero. */
struct step {
    double extra;
    double negative_slope;
    struct stage stage;
    double snap; /* > 0: first put units below this (a tenth of it per layer up) firmly off */
};

struct steps {
    size_t count;
    const struct step *step;
};

/* For reads the extra variance is absolute; for writes it is relative to what the start leaves unexplained, per
   entry. */
struct steps search_read_steps(bpcn_activation activation);
struct steps search_flip_steps(bpcn_activation activation); /* after search_flip_code; none where no unit is ever off */
struct steps search_write_steps(bpcn_activation activation);
struct steps search_noisy_steps(void); /* after a query's noise was estimated */

/* The last tolerance: energies, and what float32 knows of them, grow with the entries. A recall is after the
   observation, which is found well before the last thousandth of a nat. */
double search_density_tolerance(const struct model *model);
double search_recall_tolerance(const struct model *model);

/* The negative_slope that inference starts with: 1, the network made linear, where a kinked one would start dead. */
double search_first_slope(bpcn_activation activation);

/* ---- ReLU units that turn on and off */

/* opened = code with the units of layer 1 that are off raised to just above zero, where the gradient says what they
   would do if they were on. */
void search_open_code(const struct model *model, const real *code, real *opened);

/* Turns units of layer 1 on or off where that lowers the energy, to second order and for one unit at a time: what
   L-BFGS does not see, because a unit that is off has no gradient and one that goes off has to climb first. grad and
   fit [layers + 1] are those of the code opened. Returns how many. */
size_t search_flip_code(const struct model *model, const struct particle *particle, const struct norms *norms,
                        const struct fit *fit, double count, double extra, const struct weighing *weighing,
                        const real *grad, real *code, real *above, real *prediction);

/* ---- the search */

struct schedule {
    struct steps steps;  /* in this order; none: only `last`, with the row's variances as they are */
    struct stage last;   /* the tolerance of steps that leave it open */
    double given;        /* variance that stays beneath the steps' */
    const double *unit;  /* [rows]: what the steps' variance is in units of; NULL: 1 */
    int estimate;        /* first the noise of every row is estimated; it stays beneath the steps */
    const double *rival; /* [rows] or NULL: a row gives up when it leaves as much unexplained as this noise would */
    double tolerance;    /* of every stage, at least */
    size_t most;         /* iterations of every stage; 0: as many as it says */
};

/* What L-BFGS starts from. */
struct curvature {
    const struct norms *norms;
    struct preconditioner *preconditioner; /* NULL: the diagonal will do */
};

/* Minimises the energy over the codes of `count` rows listed; points [count x code_dim]: starts in, minima out.
   curvature is NULL for a mixture. The rows are shared out among the lanes. */
bpcn_status search_codes(struct rows *rows, const struct energy *energy, const struct curvature *curvature,
                         const struct schedule *schedule, size_t count, const size_t *list, real *points,
                         struct outcome *outcome);

/* The same for all rows by the paper's Adam; losses as in adam_minimize. Only a single row is left its fit. */
bpcn_status search_codes_adam(struct rows *rows, const struct energy *energy, const struct adam_options *options,
                              real *points, struct outcome *outcome, double *losses);

#endif
