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

/* A particle whose term is this many nats below the sum has no share in it: e^-50 is 2e-22, and float64 keeps 1e-16. */
static const double no_share = 50;

/* Which rows of the batch particle k is evaluated for: first those of which its floor is the lowest, then others that
   it may have a share in. Leaves their places; returns how many. */
static size_t choose(const struct workspace *work, size_t n, size_t particles, size_t k, int first,
                     const double *values)
{
    size_t count = 0;
    for (size_t i = 0; i < n; i++) {
        size_t lowest = 0;
        for (size_t other = 1; other < particles; other++)
            if (work->floor[other * n + i] < work->floor[lowest * n + i])
                lowest = other;
        if (first ? lowest == k : lowest != k && !(work->floor[k * n + i] > values[i] + no_share))
            work->some.from[count++] = i;
    }
    return count;
}

/* The chosen rows as a batch of their own. */
static struct batch copy_out(const struct batch *batch, size_t count, size_t code, const struct some_rows *some)
{
    struct batch out = {.n = count,
                        .x0 = some->x0,
                        .known = batch->known ? some->known : NULL,
                        .count = some->count,
                        .extra = some->extra,
                        .h = some->h,
                        .leak = batch->leak ? some->leak : NULL,
                        .rows = batch->rows ? some->rows : NULL};
    for (size_t c = 0; c < count; c++) {
        size_t i = some->from[c];
        some->x0[c] = batch->x0[i];
        some->count[c] = batch->count[i];
        some->extra[c] = batch->extra[i];
        memcpy(some->h + c * code, batch->h + i * code, code * sizeof *some->h);
        if (batch->known != NULL)
            some->known[c] = batch->known[i];
        if (batch->leak != NULL)
            some->leak[c] = batch->leak[i];
        if (batch->rows != NULL)
            some->rows[c] = batch->rows[i];
    }
    return out;
}

/* The energy of particle k alone. */
static struct energy alone(const struct energy *e, size_t k)
{
    struct energy one = *e;
    one.particle = &e->model->particles[k];
    one.aim = e->aim != NULL ? e->aim + k : NULL;
    return one;
}

/* What a mixture is asked for. */
struct wanted {
    double *values;
    real *grad, *grad_x0;   /* or NULL */
    double *responsibility; /* or NULL; log w - E for now */
};

/* Adds particle k, just evaluated into place c of the workspace, to row i of the totals. */
static void add_particle(const struct energy *e, size_t i, size_t c, size_t k, struct workspace *work,
                         const struct wanted *to)
{
    const struct model *model = e->model;
    size_t code = model->code_dim, dim = sensory_entries(e);
    double share, log_term = model->log_weights[k] - work->energy[c];
    to->values[i] = -fold(-to->values[i], log_term, &share);
    if (to->grad != NULL)
        blend(code, share, work->grad + c * code, to->grad + i * code);
    if (to->grad_x0 != NULL)
        blend(dim, share, work->grad_x0 + c * dim, to->grad_x0 + i * dim);
    if (to->responsibility != NULL)
        to->responsibility[i * model->options.particles + k] = log_term;
}

/* Adds particle k to the totals of these rows; from: their places there, or NULL: as they come. */
static void evaluate_alone(const struct energy *e, const struct batch *rows, const size_t *from, size_t k,
                           struct workspace *work, const struct wanted *to)
{
    struct energy one = alone(e, k);
    particle_evaluate(&one, rows, work, work->energy, to->grad ? work->grad : NULL, to->grad_x0 ? work->grad_x0 : NULL,
                      NULL);
    for (size_t c = 0; c < rows->n; c++)
        add_particle(e, from != NULL ? from[c] : c, c, k, work, to);
}

/* Floors of -log w + E, then the particle that may have the most of each row, then those that may have a share. */
static void evaluate_particles(const struct energy *e, const struct batch *batch, struct workspace *work,
                               const struct wanted *to)
{
    size_t particles = e->model->options.particles, n = batch->n;
    for (size_t k = 0; k < particles; k++) {
        struct energy one = alone(e, k);
        particle_floor(&one, batch, work, work->floor + k * n);
        for (size_t i = 0; i < n; i++)
            work->floor[k * n + i] -= e->model->log_weights[k];
    }
    for (int first = 1; first >= 0; first--)
        for (size_t k = 0; k < particles; k++) {
            size_t count = choose(work, n, particles, k, first, to->values);
            struct batch some = copy_out(batch, count, e->model->code_dim, &work->some);
            if (count > 0)
                evaluate_alone(e, &some, work->some.from, k, work, to);
        }
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
    struct wanted to = {values, grad, grad_x0, responsibility};
    for (size_t i = 0; i < n; i++)
        values[i] = INFINITY;
    for (size_t i = 0; responsibility != NULL && i < n * particles; i++)
        responsibility[i] = -INFINITY;
    if (grad != NULL)
        memset(grad, 0, n * model->code_dim * sizeof *grad);
    if (grad_x0 != NULL)
        memset(grad_x0, 0, n * sensory_entries(e) * sizeof *grad_x0);
    if (particles > 1)
        evaluate_particles(e, batch, work, &to);
    else
        evaluate_alone(e, batch, NULL, 0, work, &to);
    if (responsibility != NULL)
        to_probabilities(n, particles, values, responsibility);
}
