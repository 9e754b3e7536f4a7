/*
 * What `reproduce` computes: tables of cells. A cell is one method, dataset, seed, length, task and
 * objective, and its key says all of that and nothing else, so experiments that share a cell share
 * its result. To add a table, write a function like those in plan_paper.c and name it in `experiments` of plan.c.
 */
#ifndef EXPERIMENTS_PLAN_H
#define EXPERIMENTS_PLAN_H

#include "method.h"
#include "task.h"

enum { PLAN_ROWS = 32, PLAN_COLUMNS = 8, KEY_ROOM = 512 };
enum {
    COMPARED_QUERIES = 128,
    ADAM_QUERIES = 32
}; /* read back by slow rows, and by the slowest, spread evenly (paper
       tier) */

enum tier { TIER_QUICK, TIER_PAPER };

/* What fills a cell. */
enum cell_kind {
    CELL_RECALL,
    CELL_ONESHOT,
    CELL_SAMPLES,
    CELL_GENERALIZATION,
    CELL_STREAM,
    CELL_RECALLED, /* the first image, read from its corrupted copies after so many writes */
    CELL_METRIC    /* some images, read from little of them */
};

/* Whether a cell's numbers are those of recalls. */
int is_recall(enum cell_kind kind);

struct row {
    char label[64];
    struct method_spec spec; /* the seed is set per cell */
    bpcn_objective objective;
    size_t least, most;                  /* the lengths this row is run at; most 0: all from least on */
    char paper_table[16], paper_row[32]; /* what to show beside it; empty: nothing */
};

struct table {
    char experiment[16];
    char title[96];
    char dataset[16];
    enum cell_kind kind;
    struct task task;
    const char *measure; /* "mse" or "accuracy" */
    size_t queries;      /* of each cell, spread evenly; 0: as the tier has it */
    size_t seeds;        /* at most so many of the plan's; 0: all */
    size_t latest;       /* CELL_STREAM: images that are read back */
    int twice;           /* reads are timed twice, the second time with everything prepared */
    size_t columns, lengths[PLAN_COLUMNS];
    size_t rows;
    struct row row[PLAN_ROWS];
};

/* Whose row it is. */
enum role {
    ROLE_OURS,      /* the memory as this library has it */
    ROLE_OBJECTIVE, /* the memory, the paper's objective, our minimiser */
    ROLE_PAPER,     /* the memory as the paper has it, its minimiser too */
    ROLE_OPPONENT,
};
enum role row_role(const struct row *row);

/* Rows of the search that are computed in full in recall (search.h finds them). */
struct best_rows {
    size_t count;
    struct {
        char dataset[16];
        struct row row;
    } item[6];
};

struct plan {
    enum tier tier;
    size_t seeds, limit; /* limit: queries per cell, 0: all */
    const char *rows;    /* a pattern of the rows to be computed, NULL: all */
    const char *tasks;   /* and of the tasks */
    const struct best_rows *best;
    size_t tables, room;
    struct table *table;
};

struct plan_request {
    const char *experiment; /* one of plan_experiments, or "all" */
    enum tier tier;
    const char *datasets;         /* comma-separated, NULL: those of the experiment */
    const char *rows;             /* as fnmatch has it, such as "bayespcn*"; NULL: all */
    const char *tasks;            /* likewise, such as "white*" */
    size_t seeds;                 /* 0: the tier's */
    size_t limit;                 /* queries per cell, 0: all */
    size_t shortest, longest;     /* leave out shorter and longer columns, 0: none */
    const struct best_rows *best; /* of the search; NULL: not known */
};

/* The names, NULL-terminated. */
const char *const *plan_experiments(void);

/* The datasets that experiments are run on, in the order of the report. */
enum { PLAN_DATASETS = 3 };
extern const char *const plan_datasets[PLAN_DATASETS];

/* Seeds of a tier, unless others are asked for. */
size_t plan_seeds(enum tier tier);

int plan_create(const struct plan_request *request, struct plan *plan, struct failure *failure);
void plan_free(struct plan *plan);

/* One number to be computed. */
struct cell {
    enum cell_kind kind;
    char dataset[16];
    struct method_spec spec;
    size_t length, limit, latest;
    int twice; /* not part of the key */
    struct task task;
    bpcn_objective objective;
};

/* Whether the table has a cell there, and which. */
int plan_cell(const struct plan *plan, const struct table *table, size_t row, size_t column, size_t seed,
              struct cell *cell);

/* A file name, unique for the cell. */
void cell_key(const struct cell *cell, char *key, size_t room);

#endif
