/*
 * The energy of one network and its gradient (compiled per precision).
 *
 *   s_l = sx^2 + z_{l+1} U_l z_{l+1}'        e_l = x_l - z_{l+1} mean_l
 *   E   = sum_l [ d_l/2 log(2 pi s_l) + |e_l|^2 / (2 s_l) ] + the same at the top
 *   dE/dz_{l+1} = [ (d_l - |e|^2/s) z U - e mean' ] / s,   dE/dx_l += e_l / s_l
 *
 * or, when the batch asks for it, the expectation over the weights of the energy that they would
 * have if they were known, sum_l (|e_l|^2 + d_l z U z') / (2 sx^2): see delete.c.
 *
 * Vectors are `real`; s, |e|^2 and E are double, because energies of 10,000s are compared to 1e-3.
 * For one row, a layer costs two passes over its mean and one over its triangular root.
 */
#include "energy.h"

#include "activation.h"
#include "alloc.h"
#include "cholesky.h"
#include "matmul.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const double log_two_pi = 1.83787706640934548356;

/* ---- a particle's matrices as panels */

struct weights {
    struct {
        struct panels down, up, spread, back;
    } layer[BPCN_MAX_LAYERS];
    real *data;
    size_t entries;
};

struct weights *weights_create(const struct model *model, const struct particle *particle)
{
    struct weights *w = alloc_zeroed(1, sizeof *w);
    size_t size = sizeof(real);
    for (size_t l = 0; w != NULL && l < model->options.layers; l++) {
        size_t above = model->width[l + 1], below = model->width[l];
        w->entries += matmul_packed_entries(above, below, size) + matmul_packed_entries(below, above, size) +
                      2 * matmul_packed_entries(above, above, size);
    }
    real *data = w != NULL ? alloc_zeroed(w->entries, size) : NULL;
    if (data == NULL) {
        free(w);
        return NULL;
    }
    w->data = data;
    for (size_t l = 0; l < model->options.layers; l++) {
        const struct layer *layer = &particle->layer[l];
        size_t above = layer->above, below = layer->below;
        const real *mean = layer->mean, *root = layer->root_real;
        w->layer[l].down = matmul_pack(above, below, mean, 0, PANEL_FULL, data);
        data += matmul_packed_entries(above, below, size);
        w->layer[l].up = matmul_pack(below, above, mean, 1, PANEL_FULL, data);
        data += matmul_packed_entries(below, above, size);
        w->layer[l].spread = matmul_pack(above, above, root, 1, PANEL_LOWER, data);
        data += matmul_packed_entries(above, above, size);
        w->layer[l].back = matmul_pack(above, above, root, 0, PANEL_UPPER, data);
        data += matmul_packed_entries(above, above, size);
    }
    return w;
}

void weights_free(struct weights *w)
{
    if (w == NULL)
        return;
    free(w->data);
    free(w);
}

size_t weights_bytes(const struct weights *w)
{
    return w == NULL ? 0 : sizeof *w + w->entries * sizeof *w->data;
}

void weights_down(const struct weights *w, struct team *team, size_t l, size_t n, const real *z, real *out)
{
    matmul(team, &w->layer[l].down, n, z, out);
}

void weights_up(const struct weights *w, struct team *team, size_t l, size_t n, const real *e, real *out)
{
    matmul(team, &w->layer[l].up, n, e, out);
}

void weights_spread(const struct weights *w, struct team *team, size_t l, size_t n, const real *z, real *out)
{
    matmul(team, &w->layer[l].spread, n, z, out);
}

void weights_back(const struct weights *w, struct team *team, size_t l, size_t n, const real *f, real *out)
{
    matmul(team, &w->layer[l].back, n, f, out);
}

/* ---- workspace */

/* Room for picking rows of a batch; 0, or -1 when out of memory. */
static int mixture_room(struct workspace *work, const struct model *model)
{
    struct some_rows *some = &work->some;
    size_t rows = work->rows;
    work->floor = alloc_zeroed(rows, (model->options.particles + 3) * sizeof *work->floor);
    some->h = alloc_zeroed(rows, model->code_dim * sizeof *some->h);
    some->rows = alloc_zeroed(rows, 2 * sizeof *some->rows);
    some->x0 = alloc_zeroed(rows, sizeof *some->x0);
    some->known = alloc_zeroed(rows, sizeof *some->known);
    if (work->floor == NULL || some->h == NULL || some->rows == NULL || some->x0 == NULL || some->known == NULL)
        return -1;
    some->count = work->floor + rows * model->options.particles;
    some->extra = some->count + rows;
    some->negative_slope = some->extra + rows;
    some->from = some->rows + rows;
    return 0;
}

struct workspace *workspace_create(const struct model *model, size_t rows, int with_x0, struct team *team)
{
    size_t hidden = 1, below = model->width[0], code = model->code_dim;
    for (size_t l = 1; l <= model->options.layers; l++)
        hidden = model->width[l] > hidden ? model->width[l] : hidden;
    below = hidden > below ? hidden : below;
    size_t scratch = matmul_covariance_scratch(hidden, threads_count(team)), x0 = with_x0 ? model->width[0] : 0;
    size_t jump = activation_of(model->options.activation)->kinked ? code : 0;
    struct workspace *work = alloc_zeroed(1, sizeof *work);
    real *block = alloc_zeroed(rows * (5 * hidden + below + code + jump + x0) + scratch, sizeof *block);
    size_t wide = 2 * rows * hidden > gram_room(hidden, team) ? 2 * rows * hidden : gram_room(hidden, team);
    double *doubles = alloc_zeroed(5 * rows + wide, sizeof *doubles);
    if (work == NULL || block == NULL || doubles == NULL) {
        free(work);
        free(block);
        free(doubles);
        return NULL;
    }
    work->rows = rows;
    work->team = team;
    work->z = block;
    work->slope = work->z + rows * hidden;
    work->factor = work->slope + rows * hidden;
    work->spread = work->factor + rows * hidden;
    work->residual_grad = work->spread + rows * hidden;
    work->error = work->residual_grad + rows * hidden;
    work->grad = work->error + rows * below;
    work->jump = jump > 0 ? work->grad + rows * code : NULL;
    work->scratch = work->grad + rows * (code + jump);
    work->grad_x0 = with_x0 ? work->scratch + scratch : NULL;
    work->energy = doubles;
    work->s = doubles + rows;
    work->weight = doubles + 2 * rows;
    work->squares = doubles + 3 * rows;
    work->leverage = doubles + 4 * rows;
    work->wide = doubles + 5 * rows;
    if (model->options.particles > 1 && mixture_room(work, model) != 0) {
        workspace_free(work);
        return NULL;
    }
    return work;
}

void workspace_free(struct workspace *work)
{
    if (work == NULL)
        return;
    free(work->z);
    free(work->energy);
    free(work->floor);
    free(work->some.h);
    free(work->some.rows);
    free(work->some.x0);
    free(work->some.known);
    free(work);
}

/* ---- one particle */

/* z and slope of layer l for the whole batch, gathered from the codes. */
static void activate_layer(const struct model *model, size_t l, size_t n, const double *negative_slope, const real *h,
                           struct workspace *work)
{
    size_t width = model->width[l];
    for (size_t i = 0; i < n; i++)
        activation_apply(model->options.activation, negative_slope ? negative_slope[i] : 0, width,
                         h + i * model->code_dim + model->offset[l], work->z + i * width, work->slope + i * width);
}

/* error = target - error where known, else 0 */
static void subtract_from(size_t n, const real *restrict target, const unsigned char *known, real *restrict error)
{
    if (known == NULL)
        for (size_t j = 0; j < n; j++)
            error[j] = target[j] - error[j];
    else
        for (size_t j = 0; j < n; j++)
            error[j] = known[j] ? target[j] - error[j] : 0;
}

/* The target of layer l for row i: the observation, or the code's own activations. */
static const real *row_of(const struct model *model, const struct batch *batch, size_t l, size_t i)
{
    return l == 0 ? batch->x0[i] : batch->h + i * model->code_dim + model->offset[l];
}

/* out += e / s */
static void add_scaled(size_t n, double s, const real *restrict e, real *restrict out)
{
    real factor = (real)(1 / s);
    for (size_t j = 0; j < n; j++)
        out[j] += factor * e[j];
}

/* out = weight * spread - residual_grad / s: the gradient over z */
static void upward_gradient(size_t n, double weight, double s, const real *restrict spread,
                            const real *restrict residual_grad, real *restrict out)
{
    real w = (real)weight, factor = (real)(1 / s);
    for (size_t j = 0; j < n; j++)
        out[j] = w * spread[j] - factor * residual_grad[j];
}

/* out = factor * x */
static void scale(size_t n, double factor, const real *restrict x, real *restrict out)
{
    for (size_t j = 0; j < n; j++)
        out[j] = (real)factor * x[j];
}

/* out *= x */
static void multiply(size_t n, const real *restrict x, real *restrict out)
{
    for (size_t j = 0; j < n; j++)
        out[j] *= x[j];
}

/* The mask of row i for the errors of layer l. */
static const unsigned char *mask_of(const struct batch *batch, size_t l, size_t i)
{
    return l == 0 && batch->known ? batch->known[i] : NULL;
}

/* Errors, |e|^2 and z U z' of layer l, and, for a gradient, z U and error * mean': row by row over the matrices
   themselves. */
static void sweep_layer(const struct energy *e, size_t l, const struct batch *batch, struct workspace *work,
                        int with_gradient)
{
    const struct layer *layer = &e->particle->layer[l];
    size_t above = layer->above, below = layer->below;
    for (size_t i = 0; i < batch->n; i++) {
        const real *z = work->z + i * above;
        real *residual_grad = work->residual_grad + i * above;
        work->squares[i] =
            l == 0 && e->projection != NULL
                ? gram_sweep(e->projection, work->team, z, work->wide, residual_grad)
                : matmul_residual(work->team, above, below, layer->mean, z, row_of(e->model, batch, l, i),
                                  mask_of(batch, l, i), work->error + i * below, with_gradient ? residual_grad : NULL);
        work->leverage[i] =
            matmul_covariance(work->team, above, layer->root_real, z, work->spread + i * above, work->scratch);
    }
}

/* What open entries add to the sensory layer's |e|^2 and e M'; their errors are left. */
static void multiply_open(const struct projection *projection, const struct batch *batch, struct workspace *work)
{
    size_t n = batch->n, above = projection->gram->above, open = projection->open;
    matmul(work->team, &projection->down, n, work->z, work->error);
    for (size_t i = 0; i < n; i++) {
        subtract_from(open, batch->x0[i], NULL, work->error + i * open);
        work->squares[i] += sum_of_squares(open, work->error + i * open);
    }
    matmul(work->team, &projection->up, n, work->error, work->factor);
    axpy(n * above, 1, work->factor, work->residual_grad);
}

/* z R' and z U z' of layer l. */
static void multiply_root(const struct weights *weights, size_t l, size_t n, size_t above, struct workspace *work)
{
    weights_spread(weights, work->team, l, n, work->z, work->factor);
    for (size_t i = 0; i < n; i++)
        work->leverage[i] = sum_of_squares(above, work->factor + i * above);
}

/* The same as sweep_layer with matrix products. */
static void multiply_layer(const struct energy *e, const struct weights *weights, size_t l, const struct batch *batch,
                           struct workspace *work, int with_gradient)
{
    size_t n = batch->n, above = e->model->width[l + 1], below = e->model->width[l];
    int direct = l > 0 || e->projection == NULL;
    if (!direct)
        gram_multiply(e->projection, work->team, n, batch->rows, work->z, work->wide, work->squares,
                      work->residual_grad);
    if (!direct && e->projection->open > 0)
        multiply_open(e->projection, batch, work);
    if (direct)
        weights_down(weights, work->team, l, n, work->z, work->error);
    multiply_root(weights, l, n, above, work);
    for (size_t i = 0; direct && i < n; i++) {
        subtract_from(below, row_of(e->model, batch, l, i), mask_of(batch, l, i), work->error + i * below);
        work->squares[i] = sum_of_squares(below, work->error + i * below);
    }
    if (!with_gradient)
        return;
    weights_back(weights, work->team, l, n, work->factor, work->spread);
    if (direct)
        weights_up(weights, work->team, l, n, work->error, work->residual_grad);
}

/* -log density of `count` normal numbers with variance s whose squares add up to `squares`. */
static double gaussian(double count, double squares, double s)
{
    return 0.5 * (count * (log_two_pi + log(s)) + squares / s);
}

/* Layer l's variance is taken times the first, its energy times the second. */
static struct weighing weighing_of(const struct energy *e, size_t l)
{
    return l == 0 ? (struct weighing){e->weighing->sensory, 1} : (struct weighing){1, e->weighing->upper};
}

/* Adds layer l's terms to the energies and leaves each row's s and weight. */
static void layer_energy(const struct energy *e, const struct batch *batch, size_t l, struct workspace *work,
                         double *values, struct fit *fit)
{
    const struct model *model = e->model;
    double noise = noise_variance(model, l);
    struct weighing w = weighing_of(e, l);
    for (size_t i = 0; i < batch->n; i++) {
        double count = l == 0 ? batch->count[i] : (double)model->width[l];
        double squares = work->squares[i], leverage = work->leverage[i];
        double s = w.sensory * (noise + leverage) + (l == 0 ? batch->extra[i] : 0);
        values[i] += w.upper * gaussian(count, squares, s);
        work->s[i] = s / w.upper;
        work->weight[i] = w.upper * w.sensory * (count - squares / s) / s;
        if (fit != NULL)
            fit[i * (model->options.layers + 1) + l] = (struct fit){squares, noise + leverage};
    }
}

/* Turns layer l's errors into the gradient over x_{l+1} (set) and over x_l (added). */
static void layer_gradient(const struct energy *e, const struct batch *batch, size_t l, struct workspace *work,
                           real *grad, real *grad_x0)
{
    const struct model *model = e->model;
    size_t above = model->width[l + 1], below = l == 0 ? sensory_entries(e) : model->width[l], code = model->code_dim;
    for (size_t i = 0; i < batch->n; i++) {
        const real *error = work->error + i * below;
        size_t at = i * code + model->offset[l + 1];
        upward_gradient(above, work->weight[i], work->s[i], work->spread + i * above, work->residual_grad + i * above,
                        grad + at);
        if (work->jump != NULL)
            scale(above, batch->negative_slope ? 1 - batch->negative_slope[i] : 1, grad + at, work->jump + at);
        multiply(above, work->slope + i * above, grad + at);
        if (l > 0)
            add_scaled(below, work->s[i], error, grad + i * code + model->offset[l]);
        else if (grad_x0 != NULL)
            add_scaled(below, work->s[i], error, grad_x0 + i * below);
    }
}

/* The top layer: x_L ~ N(mean, (sx^2 + variance) I). Without hidden layers it is the sensory one. */
static void top_energy(const struct energy *e, const struct batch *batch, struct workspace *work, double *values,
                       real *grad, real *grad_x0, struct fit *fit)
{
    const struct model *model = e->model;
    const struct particle *particle = e->particle;
    size_t top = model->options.layers, width = top_width(model);
    struct weighing w = weighing_of(e, top);
    for (size_t i = 0; i < batch->n; i++) {
        const unsigned char *known = top == 0 && batch->known ? batch->known[i] : NULL;
        real *error = work->error;
        for (size_t j = 0; j < width; j++)
            error[j] = (real)particle->top_mean[j];
        subtract_from(width, row_of(model, batch, top, i), known, error);
        double squares = sum_of_squares(width, error);
        double variance = noise_variance(model, top) + particle->top_variance;
        double count = top == 0 ? batch->count[i] : (double)width;
        double s = w.sensory * variance + (top == 0 ? batch->extra[i] : 0);
        values[i] += w.upper * gaussian(count, squares, s);
        if (top > 0 && grad != NULL)
            add_scaled(width, s / w.upper, error, grad + i * model->code_dim + model->offset[top]);
        if (top == 0 && grad_x0 != NULL)
            add_scaled(width, s, error, grad_x0 + i * width);
        if (fit != NULL)
            fit[i * (top + 1) + top] = (struct fit){squares, variance};
    }
}

static const struct weights *weights_of(const struct energy *e)
{
    return e->weights ? e->weights[e->particle - e->model->particles] : NULL;
}

void energy_evaluate(const struct energy *e, const struct batch *batch, struct workspace *work, double *values,
                     real *grad, real *grad_x0, struct fit *fit)
{
    const struct model *model = e->model;
    size_t n = batch->n;
    memset(values, 0, n * sizeof *values);
    if (grad_x0 != NULL)
        memset(grad_x0, 0, n * sensory_entries(e) * sizeof *grad_x0);
    const struct weights *weights = weights_of(e);
    for (size_t l = 0; l < model->options.layers; l++) {
        activate_layer(model, l + 1, n, batch->negative_slope, batch->h, work);
        if (weights != NULL)
            multiply_layer(e, weights, l, batch, work, grad != NULL);
        else
            sweep_layer(e, l, batch, work, grad != NULL);
        layer_energy(e, batch, l, work, values, fit);
        if (grad != NULL)
            layer_gradient(e, batch, l, work, grad, grad_x0);
    }
    top_energy(e, batch, work, values, grad, grad_x0, fit);
}

void energy_floor(const struct energy *e, const struct batch *batch, struct workspace *work, double *values)
{
    const struct model *model = e->model;
    const struct weights *weights = weights_of(e);
    size_t n = batch->n, layers = model->options.layers, above = layers > 0 ? model->width[1] : 0;
    memset(values, 0, n * sizeof *values);
    memset(work->squares, 0, n * sizeof *work->squares);
    memset(work->leverage, 0, n * sizeof *work->leverage);
    for (size_t l = 1; l < layers; l++)
        layer_energy(e, batch, l, work, values, NULL);
    if (layers > 0) {
        activate_layer(model, 1, n, batch->negative_slope, batch->h, work);
        if (weights != NULL)
            multiply_root(weights, 0, n, above, work);
        for (size_t i = 0; weights == NULL && i < n; i++)
            work->leverage[i] = matmul_covariance(work->team, above, e->particle->layer[0].root_real,
                                                  work->z + i * above, work->spread + i * above, work->scratch);
        layer_energy(e, batch, 0, work, values, NULL);
    }
    top_energy(e, batch, work, values, NULL, NULL, NULL);
}

void energy_predict(const struct energy *e, size_t n, const real *h, struct workspace *work, real *out)
{
    const struct model *model = e->model;
    if (model->options.layers == 0) {
        for (size_t i = 0; i < n; i++)
            for (size_t j = 0; j < model->width[0]; j++)
                out[i * model->width[0] + j] = (real)e->particle->top_mean[j];
        return;
    }
    activate_layer(model, 1, n, NULL, h, work);
    const struct weights *weights = weights_of(e);
    if (weights != NULL)
        weights_down(weights, work->team, 0, n, work->z, out);
    for (size_t i = 0; weights == NULL && i < n; i++)
        matmul_row(model->width[1], model->width[0], e->particle->layer[0].mean, work->z + i * model->width[1],
                   out + i * model->width[0]);
}

/* ---- the mixture */

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
                        .negative_slope = batch->negative_slope ? some->negative_slope : NULL,
                        .rows = batch->rows ? some->rows : NULL};
    for (size_t c = 0; c < count; c++) {
        size_t i = some->from[c];
        some->x0[c] = batch->x0[i];
        some->count[c] = batch->count[i];
        some->extra[c] = batch->extra[i];
        memcpy(some->h + c * code, batch->h + i * code, code * sizeof *some->h);
        if (batch->known != NULL)
            some->known[c] = batch->known[i];
        if (batch->negative_slope != NULL)
            some->negative_slope[c] = batch->negative_slope[i];
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
    one.projection = e->projection != NULL ? e->projection + k : NULL;
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
    energy_evaluate(&one, rows, work, work->energy, to->grad ? work->grad : NULL, to->grad_x0 ? work->grad_x0 : NULL,
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
        energy_floor(&one, batch, work, work->floor + k * n);
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

void energy_evaluate_mixture(const struct energy *e, const struct batch *batch, struct workspace *work, double *values,
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
