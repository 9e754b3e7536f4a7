/*
 * The paper's corruptions and its score. Pixels are scaled to [0, 1], corrupted there, and mapped
 * back to [-1, 1]: white noise of a standard deviation (not clipped), dropout of whole pixels with
 * a probability, a mask over the rightmost share of the columns; dropped and masked pixels are
 * black. The error of an answer is its mean squared error on [-1, 1], over all entries for white
 * noise and over the unknown ones otherwise.
 */
#ifndef EXPERIMENTS_TASK_H
#define EXPERIMENTS_TASK_H

#include "dataset.h"

#include <stdint.h>

enum task_kind { TASK_WHITE, TASK_DROP, TASK_MASK };

struct task {
    enum task_kind kind;
    double amount;
    char name[24]; /* "white0.2" */
};

enum { TASKS_MOST = 16 };
#define CORRECT_BELOW 0.01 /* a recall counts as correct below this error */

/* "white0.2", "drop0.25" or "mask0.25". */
int task_parse(const char *text, struct task *task, struct failure *failure);

/* A comma-separated list of at most TASKS_MOST. */
int tasks_parse(const char *text, struct task *tasks, size_t *count, struct failure *failure);

/* The corrupted image [dim], and its mask [dim] of what is left; white noise has no mask and leaves
   `known` alone. The same for the same seed, image and task, whatever else is asked. */
void task_corrupt(const struct task *task, const struct dataset *dataset, size_t image, uint64_t seed, float *query,
                  unsigned char *known);

int task_has_mask(const struct task *task);

/* The error of one answer; known is not looked at for white noise. */
double task_error(const struct task *task, size_t dim, const unsigned char *known, const float *truth,
                  const float *answer);

#endif
