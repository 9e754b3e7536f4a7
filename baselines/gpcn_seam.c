/* GPCN's use of the library's activations and minimisers, and of BLAS. */
#include "gpcn_seam.h"

#include "activation.h"
#include "alloc.h"
#include "gpcn_state.h"
#include "minimize.h"

#include <cblas.h>
#include <stdlib.h>

void gpcn_activate(bpcn_activation kind, size_t n, const double *x, double *z, double *slope)
{
    activate_f64(kind, 0, n, x, z, slope);
}

void gpcn_matmul(size_t n, size_t above, size_t below, const double *z, const double *weights, double *out)
{
    int a = (int)above, b = (int)below;
    cblas_dgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, (int)n, b, a, 1, z, a, weights, b, 0, out, b);
}

void gpcn_matmul_transposed(size_t n, size_t above, size_t below, const double *e, const double *weights, double *out)
{
    int a = (int)above, b = (int)below;
    cblas_dgemm(CblasRowMajor, CblasNoTrans, CblasTrans, (int)n, a, b, 1, e, b, weights, b, 0, out, a);
}

void gpcn_rank_update(size_t n, size_t above, size_t below, const double *c, const double *e, double *weights)
{
    int a = (int)above, b = (int)below;
    cblas_dgemm(CblasRowMajor, CblasTrans, CblasNoTrans, a, b, (int)n, 1, c, a, e, b, 1, weights, b);
}

/* What the minimiser calls back with. */
struct call {
    gpcn_evaluate_fn *evaluate;
    void *context;
    size_t iterations;
};

static void evaluate_rows(void *context, size_t n, const size_t *rows, const double *points, double *energy,
                          double *grad)
{
    struct call *call = context;
    call->evaluate(call->context, n, rows, points, energy, grad);
}

static int only_stage(void *context, size_t row, size_t number, double *point, struct stage *stage)
{
    const struct call *call = context;
    (void)row;
    (void)point;
    *stage = (struct stage){.iterations = call->iterations, .tolerance = 1e-4};
    return number == 0;
}

bpcn_status gpcn_minimize(const struct gpcn_options *o, size_t dim, size_t rows, size_t iterations,
                          gpcn_evaluate_fn *evaluate, void *context, double *points, double *energy,
                          size_t *evaluations)
{
    struct call call = {evaluate, context, iterations};
    struct objective objective = {.context = &call, .dim = dim, .evaluate = evaluate_rows, .enter = only_stage};
    struct adam_options how = {.rate = o->adam_rate, .stop = o->adam_stop, .steps = o->adam_steps};
    struct outcome *outcome = alloc_zeroed(rows, sizeof *outcome);
    bpcn_status status = BPCN_NO_MEMORY;
    if (outcome != NULL)
        status = o->minimizer == BPCN_ADAM ? adam_minimize(&objective, rows, &how, points, outcome, NULL)
                                           : lbfgs_minimize(&objective, rows, GPCN_BATCH, points, outcome);
    for (size_t i = 0; status == BPCN_OK && i < rows; i++) {
        energy[i] = outcome[i].energy;
        *evaluations += outcome[i].evaluations;
    }
    free(outcome);
    return status;
}
