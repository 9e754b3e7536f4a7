/*
 * Jobs: the cells of a plan, each once, grouped by the stream of writes they share. Jobs are
 * independent of each other and add every cell to the table of results as soon as it is finished,
 * so they can be killed, repeated, and run in any order by any number of processes.
 */
#ifndef EXPERIMENTS_JOB_H
#define EXPERIMENTS_JOB_H

#include "rechecks.h"

struct job {
    size_t first, count; /* its cells */
    int done;            /* all were there already, when the list was made */
};

struct job_list {
    size_t jobs, cells;
    struct job *job;
    struct cell *cell; /* [cells], those of a job together, by rising length */
    char out[1024];    /* the folder of results */
    struct results *results;
    struct rechecks *rechecks;
    const char *data_dir;
    int threads;  /* of the matrix products */
    int pictures; /* figures leave their pictures too */
    int verbose;  /* a line on stderr for every cell */
    int again;    /* cells that are not fresh are computed once more */
};

int job_list_create(const struct plan *plan, const char *out, const char *data_dir, struct job_list *list,
                    struct failure *failure);
void job_list_free(struct job_list *list);

/* Whether a cell is there; its record may be NULL. */
int cell_load(const struct job_list *list, const struct cell *cell, struct record *record);
int cell_save(const struct job_list *list, const struct cell *cell, const struct record *record,
              struct failure *failure);

/* Whether a cell is what today's code gives; VOUCHED or STALE when it is not there. */
enum freshness cell_freshness(const struct job_list *list, const struct cell *cell);

/* Computes what is missing of a job. */
int job_run(const struct job_list *list, size_t job, struct failure *failure);

/* Computes one cell that is a recall, whether it is there or not, and leaves the table alone. */
int cell_compute(const struct job_list *list, const struct cell *cell, struct record *record, struct failure *failure);

/* Runs all jobs in `processes` processes, in order of decreasing length. */
int jobs_run(const struct job_list *list, size_t processes, struct failure *failure);

/* Makes a folder and those above it. */
int make_folder(const char *path, struct failure *failure);

#endif
