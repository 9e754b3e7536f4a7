/* The mixture's energy, gradient and best observation (compiled per precision). */
#include "mixture.h"

#include <math.h>
#include <string.h>

/* Folds one particle's term into the running log-sum-exp and gives its share of the sum so far.
   Gradients follow as a running weighted mean: total += share (part - total). */
static double fold(double log_sum, double log_term, double *share)
{
    *share = 0;
    if (log_term == -INFINITY)
        return log_sum;
    double high = log_sum > log_term ? log_sum : log_term;
    double both = high + log(exp(log_sum - high) + exp(log_term - high));
    *share = exp(log_term - both);
    return both;
}

static void blend(size_t n, double share, const real *restrict part, real *restrict total)
{
    real r = (real)share;
    for (size_t j = 0; j < n; j++)
        total[j] += r * (part[j] - total[j]);
}

/* Adds particle k, just evaluated into the workspace, to row i of the totals. */
static void add_particle(const struct energy *e, size_t i, size_t k, struct workspace *work, double *energy, real *grad,
                         real *grad_x0)
{
    const struct model *model = e->model;
    size_t code = model->code_dim, dim = sensory_entries(e);
    double share, log_term = model->log_weights[k] - work->energy[i];
    energy[i] = -fold(-energy[i], log_term, &share);
    if (grad != NULL)
        blend(code, share, work->grad + i * code, grad + i * code);
    if (grad_x0 != NULL)
        blend(dim, share, work->grad_x0 + i * dim, grad_x0 + i * dim);
}

/* responsibility holds log w - E; turn each row into probabilities. */
static void to_probabilities(size_t n, size_t particles, const double *energy, double *responsibility)
{
    for (size_t i = 0; i < n; i++)
        for (size_t k = 0; k < particles; k++)
            responsibility[i * particles + k] = exp(responsibility[i * particles + k] + energy[i]);
}

void mixture_evaluate(const struct energy *e, const struct batch *batch, struct workspace *work, double *values,
                      real *grad, real *grad_x0, double *responsibility)
{
    const struct model *model = e->model;
    size_t particles = model->options.particles, n = batch->n;
    struct energy one = *e;
    for (size_t i = 0; i < n; i++)
        values[i] = INFINITY;
    if (grad != NULL)
        memset(grad, 0, n * model->code_dim * sizeof *grad);
    if (grad_x0 != NULL)
        memset(grad_x0, 0, n * sensory_entries(e) * sizeof *grad_x0);
    for (size_t k = 0; k < particles; k++) {
        one.particle = &model->particles[k];
        one.aim = e->aim != NULL ? e->aim + k : NULL;
        particle_evaluate(&one, batch, work, work->energy, grad ? work->grad : NULL, grad_x0 ? work->grad_x0 : NULL,
                          NULL);
        for (size_t i = 0; i < n; i++) {
            if (responsibility != NULL)
                responsibility[i * particles + k] = model->log_weights[k] - work->energy[i];
            add_particle(e, i, k, work, values, grad, grad_x0);
        }
    }
    if (responsibility != NULL)
        to_probabilities(n, particles, values, responsibility);
}
