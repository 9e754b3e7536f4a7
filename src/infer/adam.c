/* Adam as the paper uses it (compiled per precision): evaluate, step, then look whether to stop. */
#include "minimize.h"

#include "alloc.h"

#include <math.h>
#include <stdlib.h>

#define real_sqrt(x) _Generic(x, float : sqrtf, double : sqrt)(x)

struct adam {
    real *mean, *square, *grad; /* [rows x dim] */
    double *energy, *before;    /* [rows] */
    size_t *rows;               /* 0, 1, 2, ... */
};

static void adam_free(struct adam *a)
{
    free(a->mean);
    free(a->energy);
    free(a->rows);
}

static int adam_allocate(struct adam *a, size_t rows, size_t dim)
{
    a->mean = alloc_zeroed(rows, 3 * dim * sizeof *a->mean);
    a->energy = alloc_zeroed(rows, 2 * sizeof *a->energy);
    a->rows = alloc_zeroed(rows, sizeof *a->rows);
    if (a->mean == NULL || a->energy == NULL || a->rows == NULL)
        return -1;
    a->square = a->mean + rows * dim;
    a->grad = a->square + rows * dim;
    a->before = a->energy + rows;
    for (size_t i = 0; i < rows; i++)
        a->rows[i] = i;
    return 0;
}

/* One step of every entry, in the precision of the entries: a step is at most a hundredth or so, and rounded by no more
   than the point that it is added to. In vector registers, which takes a square root that sets no errno (Makefile). */
static void step(size_t entries, double rate, size_t t, const real *restrict grad, real *restrict mean,
                 real *restrict square, real *restrict points)
{
    const double first = 0.9, second = 0.999;
    const real keep_mean = (real)first, add_mean = (real)(1 - first), epsilon = (real)1e-8;
    const real keep_square = (real)second, add_square = (real)(1 - second);
    const real by = (real)(rate / (1 - pow(first, (double)t))), correct = (real)(1 / (1 - pow(second, (double)t)));
    for (size_t j = 0; j < entries; j++) {
        mean[j] = keep_mean * mean[j] + add_mean * grad[j];
        square[j] = keep_square * square[j] + add_square * grad[j] * grad[j];
        points[j] -= by * mean[j] / (real_sqrt(square[j] * correct) + epsilon);
    }
}

/* Whether no row's energy moved by more than `stop` since the step before. */
static int at_rest(const struct adam *a, size_t rows, double stop)
{
    for (size_t i = 0; i < rows; i++)
        if (!(fabs(a->energy[i] - a->before[i]) <= stop))
            return 0;
    return 1;
}

static double mean_of(size_t n, const double *x)
{
    double sum = 0;
    for (size_t i = 0; i < n; i++)
        sum += x[i];
    return sum / (double)n;
}

int adam_first_stage(void *context, size_t row, size_t number, real *point, struct stage *stage)
{
    (void)context;
    (void)row;
    (void)point;
    (void)stage;
    return number == 0;
}

bpcn_status adam_minimize(const struct objective *objective, size_t rows, const struct adam_options *options,
                          real *points, struct outcome *outcome, double *losses)
{
    struct adam a = {0};
    if (adam_allocate(&a, rows, objective->dim) != 0) {
        adam_free(&a);
        return BPCN_NO_MEMORY;
    }
    int resting = 0;
    size_t t = 0;
    struct stage unused;
    for (size_t i = 0; i < rows; i++)
        objective->enter(objective->context, i, 0, points + i * objective->dim, &unused);
    while (t < options->steps && !resting) {
        objective->evaluate(objective->context, rows, a.rows, points, a.energy, a.grad);
        if (losses != NULL)
            losses[t] = mean_of(rows, a.energy);
        resting = t > 0 && at_rest(&a, rows, options->stop);
        step(rows * objective->dim, options->rate, ++t, a.grad, a.mean, a.square, points);
        for (size_t i = 0; i < rows; i++)
            a.before[i] = a.energy[i];
    }
    objective->evaluate(objective->context, rows, a.rows, points, a.energy, a.grad);
    for (size_t i = 0; i < rows; i++)
        outcome[i] = (struct outcome){a.energy[i], t + 1, resting};
    adam_free(&a);
    return BPCN_OK;
}
