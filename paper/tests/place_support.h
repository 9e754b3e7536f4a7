/* A plan with cells that a test makes up, and what is written of them. */
#ifndef PLACE_SUPPORT_H
#define PLACE_SUPPORT_H

#include "job.h"

#include <stdio.h>

/* A plan, a list in a folder of its own, and a place in it. */
struct place {
    char folder[32];
    struct plan plan;
    struct job_list list;
    const struct table *table;
    size_t row;
};

size_t row_called(const struct table *t, const char *label);

/* On CIFAR-10, in the paper's tier: of an experiment, in the first of its tables; of recall, in the row "bayespcn". */
void open_place_of(struct place *p, const char *experiment, size_t seeds);
void open_place(struct place *p, size_t seeds);
void close_place(struct place *p);

/* Saves a cell of the place's row at 1024 images; of another row, which becomes the place's, at any column. */
void put_mse(struct place *p, size_t seed, double mse);
void put_queries(struct place *p, size_t seed, double mse, double deviation, double queries);
void put_row(struct place *p, const char *label, size_t column, double mse);

void append_text(const char *path, const char *text);

/* What was written into the file, which is closed. */
void caught(FILE *file, char *text, size_t room);

#endif
