/* What the plans of tables are made from: sizes, rows, tables. plan_recall.c, plan_paper.c and plan_shards.c have the
   experiments. */
#ifndef EXPERIMENTS_PLAN_TABLES_H
#define EXPERIMENTS_PLAN_TABLES_H

#include "plan.h"

/* The quick tier keeps the shape of every experiment and shrinks it. */
struct sizes {
    size_t wide, middle, narrow; /* the paper's 1024, 512, 256 */
    size_t lengths[4];           /* 128 .. 1024 */
    size_t short_lengths[4];     /* 16 .. 128 */
    size_t columns;              /* of them in use */
    size_t sequence;             /* 1024: of the forget and equal-memory figures */
    size_t forget_every;
    size_t offline_most, offline_iterations;
    size_t few_steps, many_steps; /* of GPCN offline with momentum */
    size_t best_every;            /* of them: it is scored on its way */
    size_t seeds;
};
extern const struct sizes sizes_of[];

/* Of the Hopfield network where little of an image is left; see baselines.h. */
#define HIGH_NOISE_RATE 0.005
#define HIGH_NOISE_PAPER_RATE 0.01

extern const char *const moderate_tasks[3], *const severe_tasks[3];

struct method_spec network_of(enum method_kind kind, size_t width, size_t layers);
struct method_spec forgetting(struct method_spec spec, const struct sizes *sizes, double beta);

/* A table without rows, the latest of the plan; NULL when out of memory. */
struct table *add_table(struct plan *plan, const char *experiment, const char *dataset, const char *task,
                        size_t columns, const size_t *lengths);

/* paper_table, paper_row: whose figures stand beside it; "": nobody's. */
struct row *add_row(struct table *table, const char *label, struct method_spec spec, const char *paper_table,
                    const char *paper_row);

/* The paper's own method: its minimiser, its schedule, its objective. */
void add_as_paper(struct table *table, const char *label, struct method_spec spec, const char *paper_table,
                  const char *paper_row);

/* The memory twice: as the paper does it, and as we do. */
void add_both(struct table *table, const char *label, struct method_spec spec, const char *paper_table,
              const char *paper_row);

/* And between the two by our minimiser with the paper's objective: which of them makes the difference. */
void add_all_three(struct table *table, const char *label, struct method_spec spec, const char *paper_table,
                   const char *paper_row);

/* The experiments: each adds its tables for one dataset, -1 when out of memory. */
int plan_recall(struct plan *plan, const char *dataset);
int plan_high_noise(struct plan *plan, const char *dataset);
int plan_search(struct plan *plan, const char *dataset);
int plan_depth(struct plan *plan, const char *dataset);
int plan_sigma(struct plan *plan, const char *dataset);
int plan_forget(struct plan *plan, const char *dataset);
int plan_scaling(struct plan *plan, const char *dataset);
int plan_oneshot(struct plan *plan, const char *dataset);
int plan_recalled(struct plan *plan, const char *dataset);
int plan_metric(struct plan *plan, const char *dataset);
int plan_samples(struct plan *plan, const char *dataset);
int plan_generalization(struct plan *plan, const char *dataset);
int plan_equal_memory(struct plan *plan, const char *dataset);
int plan_shards(struct plan *plan, const char *dataset);

#endif
