/* Reads and writes of one configuration, timed, with our minimiser and with the paper's. */
#ifndef BENCH_WORKLOAD_H
#define BENCH_WORKLOAD_H

#include "bayespcn.h"

struct workload {
    size_t dim, hidden, particles;
    size_t writes;  /* rows written, the last few timed */
    size_t queries; /* of the batch */
    int with_paper; /* also the paper's schedule */
};

struct timings {
    double write_ms, write_evals;
    double batch_ms, batch_evals;                          /* hetero read, per query of the batch */
    double auto_ms, auto_evals;                            /* auto read, per query of the batch */
    double single_ms, single_evals;                        /* hetero read of one query */
    double paper_write_ms, paper_hetero_ms, paper_auto_ms; /* per row or query, scaled up to the full schedule */
    double write_bytes;                                    /* that a write must touch, its evaluations and its update */
    double read_flops;       /* of one query of the batch, as done: through inner products where that is less */
    double read_flops_plain; /* the same with every product of the sensory layer */
    size_t bytes;
};

/* rows [count x dim] to write and ask for, or NULL: random smooth pictures. Returns NULL or what
   went wrong. */
const char *workload_run(const struct workload *w, const float *rows, size_t count, struct timings *t);

#endif
