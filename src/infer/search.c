/* The search for the codes of rows (compiled per precision). */
#include "search.h"

#include "activation.h"
#include "alloc.h"
#include "cholesky.h"
#include "matmul.h"
#include "random.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- rows and their lanes */

static void lane_free(struct lane *lane)
{
    workspace_free(lane->work);
    free(lane->x0);
    free(lane->known);
    free(lane->codes);
    free(lane->vectors);
    free(lane->count);
    free(lane->fit);
}

static int lane_create(struct lane *lane, const struct rows *r, size_t most, struct team *team)
{
    size_t code = r->model->code_dim;
    lane->work = workspace_create(r->model, most, 0, team);
    lane->x0 = alloc_zeroed(most, sizeof *lane->x0);
    lane->known = alloc_zeroed(most, sizeof *lane->known);
    lane->codes = alloc_zeroed(most, code * sizeof *lane->codes);
    lane->vectors = alloc_zeroed(most, (2 * code + 2 * r->model->widest_hidden) * sizeof *lane->vectors);
    lane->count = alloc_zeroed(most, 3 * sizeof *lane->count);
    lane->fit = alloc_zeroed(most * (r->model->options.layers + 1), sizeof *lane->fit);
    if (!lane->work || !lane->x0 || !lane->known || !lane->codes || !lane->vectors || !lane->count || !lane->fit)
        return -1;
    lane->slopes = lane->vectors + most * code;
    lane->rough = lane->slopes + most * code;
    lane->extra = lane->count + most;
    lane->negative_slope = lane->extra + most;
    return 0;
}

static int create_lanes(struct rows *r)
{
    r->lanes = r->n < threads_count(r->team) ? r->n : threads_count(r->team);
    size_t share = (r->n + r->lanes - 1) / r->lanes;
    r->lane = alloc_zeroed(r->lanes, sizeof *r->lane);
    for (size_t i = 0; r->lane != NULL && i < r->lanes; i++)
        if (lane_create(&r->lane[i], r, share < BATCH ? share : BATCH, r->n > 1 ? NULL : r->team) != 0)
            return -1;
    return r->lane != NULL ? 0 : -1;
}

struct rows *rows_create(const struct model *model, size_t n, int with_mask, struct team *team)
{
    struct rows *r = alloc_zeroed(1, sizeof *r);
    if (r == NULL)
        return NULL;
    r->model = model;
    r->n = n;
    r->team = team;
    r->x0 = alloc_zeroed(n, sizeof *r->x0);
    r->known = with_mask ? alloc_zeroed(n, sizeof *r->known) : NULL;
    r->count = alloc_zeroed(n, 3 * sizeof *r->count);
    r->all = alloc_zeroed(n, sizeof *r->all);
    r->settled = alloc_zeroed(n, 1);
    r->fit = alloc_zeroed(n * (model->options.layers + 1), sizeof *r->fit);
    if (!r->x0 || !r->all || !r->count || !r->settled || !r->fit || (with_mask && !r->known) || create_lanes(r) != 0) {
        rows_free(r);
        return NULL;
    }
    r->extra = r->count + n;
    r->negative_slope = r->extra + n;
    for (size_t i = 0; i < n; i++) {
        r->count[i] = (double)model->width[0];
        r->all[i] = i;
    }
    return r;
}

void rows_free(struct rows *r)
{
    if (r == NULL)
        return;
    for (size_t i = 0; r->lane != NULL && i < r->lanes; i++)
        lane_free(&r->lane[i]);
    free(r->lane);
    free(r->all);
    free(r->x0);
    free(r->known);
    free(r->count);
    free(r->settled);
    free(r->fit);
    free(r);
}

void rows_evaluate(const struct rows *r, const struct energy *energy, size_t lane, size_t count, const size_t *list,
                   const real *codes, double *values, real *grad, double *responsibility)
{
    struct lane *mine = &r->lane[lane];
    struct batch batch = {.n = count,
                          .x0 = mine->x0,
                          .known = r->known ? mine->known : NULL,
                          .count = mine->count,
                          .extra = mine->extra,
                          .h = codes,
                          .negative_slope = mine->negative_slope,
                          .rows = list};
    for (size_t i = 0; i < count; i++) {
        mine->x0[i] = r->x0[list[i]];
        mine->count[i] = r->count[list[i]];
        mine->extra[i] = r->extra[list[i]];
        mine->negative_slope[i] = r->negative_slope[list[i]];
        if (r->known != NULL)
            mine->known[i] = r->known[list[i]];
    }
    if (energy->particle == NULL)
        energy_evaluate_mixture(energy, &batch, mine->work, values, grad, NULL, responsibility);
    else
        energy_evaluate(energy, &batch, mine->work, values, grad, NULL, mine->fit);
}

double rows_power(const struct rows *r, size_t row)
{
    const unsigned char *known = r->known != NULL ? r->known[row] : NULL;
    const real *x = r->x0[row];
    double sum = 0;
    for (size_t j = 0; j < r->model->width[0]; j++)
        if (known == NULL || known[j])
            sum += (double)x[j] * (double)x[j];
    return sum;
}

void rows_keep(struct rows *r, size_t lane, size_t place, size_t row)
{
    size_t layers = r->model->options.layers + 1;
    memcpy(r->fit + row * layers, r->lane[lane].fit + place * layers, layers * sizeof *r->fit);
}

struct lanes_job {
    void (*job)(void *context, size_t lane, size_t lanes);
    void *context;
    size_t lanes;
};

static void run_lane(void *context, size_t part, size_t parts)
{
    const struct lanes_job *j = context;
    (void)parts;
    if (part < j->lanes)
        j->job(j->context, part, j->lanes);
}

void rows_run(struct rows *r, void (*job)(void *context, size_t lane, size_t lanes), void *context)
{
    struct lanes_job lanes = {job, context, r->lanes};
    if (r->lanes > 1)
        threads_run(r->team, run_lane, &lanes);
    else
        job(context, 0, 1);
}

/* ---- where a search starts */

void search_start_random(const struct model *model, uint64_t stream, real *code)
{
    for (size_t l = 1; l <= model->options.layers; l++) {
        double scale = 1 / sqrt((double)model->width[l]);
        for (size_t j = 0; j < model->width[l]; j++) {
            size_t k = model->offset[l] + j;
            double normal;
            random_normals(model->options.seed, stream, k, 1, &normal);
            code[k] = (real)(scale * normal);
        }
    }
}

void search_start_top_down(const struct model *model, const struct particle *particle, double negative_slope,
                           struct workspace *work, real *code)
{
    size_t top = model->options.layers;
    for (size_t j = 0; top > 0 && j < model->width[top]; j++)
        code[model->offset[top] + j] = (real)particle->top_mean[j];
    for (size_t l = top; l-- > 1;) {
        const struct layer *layer = &particle->layer[l];
        activation_apply(model->options.activation, negative_slope, layer->above, code + model->offset[l + 1], work->z,
                         work->slope);
        matmul_row(layer->above, layer->below, layer->mean, work->z, code + model->offset[l]);
    }
}

/* |z_1|^2, left in the workspace with z_1. */
static double size_of_code(const struct model *model, const real *code, struct workspace *work)
{
    activation_apply(model->options.activation, 0, model->width[1], code + model->offset[1], work->z, work->slope);
    return sum_of_squares(model->width[1], work->z);
}

double search_faded_leverage(struct rows *rows, const struct particle *particle, const real *code)
{
    const struct model *model = rows->model;
    struct workspace *work = rows->lane[0].work;
    real *start = rows->lane[0].codes;
    if (model->options.layers == 0)
        return 0;
    double size = size_of_code(model, code, work);
    search_start_top_down(model, particle, 0, work, start);
    double least = size_of_code(model, start, work);
    const struct layer *layer = &particle->layer[0];
    double leverage = matmul_covariance(NULL, layer->above, layer->root_real, work->z, work->spread, work->scratch);
    return least > 0 ? leverage * size / least : 0;
}

/* ---- the steps of a search */

#define STEPS(array) ((struct steps){sizeof(array) / sizeof *(array), (array)})

/* clang-format off */
static const struct step smooth_read[] = {
    {0.03, 0, {40, 1}, 0}, {0.001, 0, {40, 0.1}, 0}, {0, 0, {400, 0}, 0}};

/* Linear first, where the sensory layer is a ridge regression whose minimum is near the code
   sought; then bent while much variance is left. */
static const struct step kinked_read[] = {
    {0.03, 1, {40, 1}, 0},    {0.03, 0.3, {40, 0.1}, 0}, {0.03, 0, {40, 0.1}, 0},
    {0.001, 0, {400, 0.1}, 0}, {0, 0, {400, 0}, 0}};

static const struct step kinked_flip[] = {{0, 0, {60, 0}, 0}, {0, 0, {400, 0}, 1e-4}};

static const struct step smooth_write[] = {
    {0.3, 0, {10, 1}, 0}, {0.1, 0, {10, 1}, 0}, {0.03, 0, {10, 1}, 0}, {0.01, 0, {10, 1}, 0},
    {0, 0, {500, 0}, 0}};

static const struct step kinked_write[] = {
    {0.3, 1, {10, 1}, 0}, {0.1, 0.5, {10, 1}, 0}, {0.03, 0.2, {10, 1}, 0}, {0, 0.1, {10, 1}, 0},
    {0, 0, {500, 1e-2}, 0}};

/* With the noise of a query known. */
static const struct step noisy[] = {{0, 0, {400, 0}, 0}};
/* clang-format on */

struct steps search_read_steps(bpcn_activation activation)
{
    return activation_of(activation)->kinked ? STEPS(kinked_read) : STEPS(smooth_read);
}

struct steps search_flip_steps(bpcn_activation activation)
{
    return activation_of(activation)->kinked ? STEPS(kinked_flip) : (struct steps){0, NULL};
}

struct steps search_write_steps(bpcn_activation activation)
{
    return activation_of(activation)->kinked ? STEPS(kinked_write) : STEPS(smooth_write);
}

struct steps search_noisy_steps(void)
{
    return STEPS(noisy);
}

double search_density_tolerance(const struct model *model)
{
    return 5e-7 * (double)(model->width[0] + model->code_dim);
}

double search_recall_tolerance(const struct model *model)
{
    return 1e-5 * (double)(model->width[0] + model->code_dim);
}

/* A step's stage, with the last tolerance where the step leaves it open (0). */
static struct stage stage_of(const struct step *step, double last)
{
    struct stage stage = step->stage;
    if (stage.tolerance == 0)
        stage.tolerance = last;
    return stage;
}

double search_first_slope(bpcn_activation activation)
{
    return activation_of(activation)->kinked ? 1 : 0;
}

/* ---- ReLU units that turn on and off */

/* Of a unit's curvature, what is left when the other units make up for its move: of one that goes on and one that
   goes off. */
static const double stiff_on = 0.5, stiff_off = 0.003;
static const double worth_flipping = 0.1; /* nats */

/* prediction = what the layers above a ReLU code want of layer l. */
static void predict(const struct model *model, const struct particle *particle, size_t l, const real *code, real *above,
                    real *prediction)
{
    if (l == model->options.layers) {
        for (size_t j = 0; j < model->width[l]; j++)
            prediction[j] = (real)particle->top_mean[j];
        return;
    }
    const struct layer *layer = &particle->layer[l];
    const real *x = code + model->offset[l + 1];
    for (size_t j = 0; j < layer->above; j++)
        above[j] = x[j] > 0 ? x[j] : 0;
    matmul_row(layer->above, layer->below, layer->mean, above, prediction);
}

/* Where a unit that is off is best, given what it is wanted to be. */
static real off_value(double prediction)
{
    return (real)fmin(prediction, 0) - (real)1e-6;
}

/* Puts the units of a code that are below `threshold` in layer 1, a tenth of it in layer 2, ..., but for the top layer,
   where their prediction from above wants them, or just below zero. For ReLU, after flips. */
static void snap_code(const struct model *model, const struct particle *particle, double threshold, real *code,
                      real *above, real *prediction)
{
    size_t top = model->options.layers;
    for (size_t l = top > 1 ? top - 1 : top; l > 0;
         l--) { /* the mean of a top would keep the prior's negative entries */
        real *x = code + model->offset[l];
        real limit = (real)(threshold * pow(0.1, (double)(l - 1)));
        predict(model, particle, l, code, above, prediction);
        for (size_t j = 0; j < model->width[l]; j++)
            if (x[j] < limit)
                x[j] = off_value((double)prediction[j]);
    }
}

void search_open_code(const struct model *model, const real *code, real *opened)
{
    memcpy(opened, code, model->code_dim * sizeof *code);
    real *x = opened + model->offset[1];
    for (size_t j = 0; j < model->width[1]; j++)
        x[j] = x[j] > 0 ? x[j] : (real)1e-12;
}

/* Flips one unit, wanted to be p with variance s, if that pays; the energy of the layers below is
   slope z + curvature z^2 / 2 around z = f(x). */
static int flip_unit(double p, double s, double slope, double curvature, real *x)
{
    double was = (double)*x, held = fmax(p, 0) * fmax(p, 0) / (2 * s); /* the energy of being off */
    if (was > 0) {
        double on = (was - p) * (was - p) / (2 * s);
        if (on - held + slope * was - stiff_off * curvature * was * was / 2 < worth_flipping)
            return 0;
        *x = off_value(p);
        return 1;
    }
    double at = (p / s - slope) / (1 / s + stiff_on * curvature);
    double on = (at - p) * (at - p) / (2 * s) + slope * at + stiff_on * curvature * at * at / 2;
    if (at <= 0 || held - on < worth_flipping)
        return 0;
    *x = (real)at;
    return 1;
}

size_t search_flip_code(const struct model *model, const struct particle *particle, const struct norms *norms,
                        const struct fit *fit, double count, double extra, const struct weighing *weighing,
                        const real *grad, real *code, real *above, real *prediction)
{
    size_t first = model->offset[1], flipped = 0;
    double s0 = weighing->sensory * fit[0].variance + extra, s1 = fit[1].variance / weighing->upper,
           share = count / (double)model->width[0];
    double excess = weighing->sensory * fmax(0, count - fit[0].squares / s0);
    predict(model, particle, 1, code, above, prediction);
    for (size_t j = 0; j < model->width[1]; j++) {
        real *x = code + first + j;
        double p = (double)prediction[j], on = fmax((double)*x, 0);
        double slope = (double)grad[first + j] - (on - p) / s1; /* less the unit's own part */
        double curvature =
            (share * (double)norms->mean[first + j] + excess * (double)norms->covariance[first + j]) / s0;
        flipped += (size_t)flip_unit(p, s1, slope, curvature, x);
    }
    return flipped;
}

/* ---- stages and the noise estimate */

enum { ESTIMATES = 8, ESTIMATE_ITERATIONS = 10, MOST_LANES = 64 };
static const double estimate_tolerance = 1; /* nats: the estimate moves by more than that costs */

/* One lane's part of a search. */
struct part {
    struct rows *rows;
    const struct energy *energy;
    const struct curvature *curvature;
    const struct schedule *schedule;
    const size_t *list; /* number of the minimiser -> row */
    size_t lane;
};

/* Energies that rows have met. */
static void remember(const struct part *p, size_t n, const size_t *numbers, const double *energy)
{
    size_t room = p->rows->trace_room;
    for (size_t i = 0; i < n; i++) {
        double *trace = p->rows->trace + p->list[numbers[i]] * room;
        size_t at = 0;
        while (at < room && !isnan(trace[at]))
            at++;
        if (at < room)
            trace[at] = energy[i];
    }
}

static void evaluate(void *context, size_t n, const size_t *numbers, const real *points, double *energy, real *grad)
{
    const struct part *p = context;
    size_t list[BATCH] = {0};
    for (size_t i = 0; i < n; i++)
        list[i] = p->list[numbers[i]];
    rows_evaluate(p->rows, p->energy, p->lane, n, list, points, energy, grad, NULL);
    if (p->rows->trace != NULL)
        remember(p, n, numbers, energy);
}

static void arrive(void *context, size_t number, size_t place)
{
    const struct part *p = context;
    if (p->energy->particle != NULL)
        rows_keep(p->rows, p->lane, place, p->list[number]);
}

/* ---- stages */

/* The mean square of what is known of row i. */
static double mean_square(const struct rows *r, size_t i)
{
    const unsigned char *known = r->known ? r->known[i] : NULL;
    double sum = 0;
    for (size_t j = 0; j < r->model->width[0]; j++)
        if (known == NULL || known[j])
            sum += (double)r->x0[i][j] * (double)r->x0[i][j];
    return sum / fmax(1, r->count[i]);
}

/* Step `number` of the schedule, on top of a variance that stays. */
static int follow(const struct part *p, size_t i, size_t number, double base, real *point, struct stage *stage)
{
    struct rows *r = p->rows;
    const struct schedule *s = p->schedule;
    double unexplained = fit_of(r, i)->squares / fmax(1, r->count[i]);
    if (number == s->steps.count)
        return 0;
    const struct step *step = &s->steps.step[number];
    if (number > 0 && s->rival != NULL && unexplained > 0.5 * fmax(s->rival[i], step[-1].extra))
        return 0; /* no better than with the noise that was estimated */
    r->extra[i] = base + step->extra * (s->unit ? s->unit[i] : 1);
    r->negative_slope[i] = step->negative_slope;
    *stage = stage_of(step, s->last.tolerance);
    if (s->rival != NULL && number == 0)
        stage->iterations = ESTIMATE_ITERATIONS; /* enough to see whether it goes anywhere */
    if (step->snap > 0) {
        struct workspace *work = r->lane[p->lane].work;
        snap_code(r->model, p->energy->particle, step->snap, point, work->z, work->error);
    }
    return 1;
}

/* The noise that best explains what the code leaves over, of which its own freedom has taken a
   part; starts as if all were noise. */
static int estimate_noise(const struct part *p, size_t i, size_t number, real *point, struct stage *stage)
{
    struct rows *r = p->rows;
    const struct model *m = r->model;
    const struct fit *fit = fit_of(r, i);
    *stage = (struct stage){ESTIMATE_ITERATIONS, estimate_tolerance};
    if (number == 0) {
        r->extra[i] = mean_square(r, i);
        r->negative_slope[i] = search_first_slope(m->options.activation);
        r->settled[i] = 0;
        return 1;
    }
    if (r->settled[i] == 0) {
        double spanned = fmin((double)m->writes, (double)m->widest_hidden);
        double before = r->extra[i], free = r->count[i] - fmin(spanned, 0.5 * r->count[i]);
        double now = fmax(0, fit->squares / fmax(1, free) - p->energy->weighing->sensory * fit->variance);
        r->extra[i] = now;
        if (number < ESTIMATES && fabs(now - before) > 0.02 * before)
            return 1;
    }
    return follow(p, i, r->settled[i]++, r->extra[i], point, stage);
}

static int enter(void *context, size_t number, size_t stage_number, real *point, struct stage *stage)
{
    const struct part *p = context;
    const struct schedule *s = p->schedule;
    size_t i = p->list[number];
    int more = stage_number == 0;
    *stage = s->last;
    if (s->estimate)
        more = estimate_noise(p, i, stage_number, point, stage);
    else if (s->steps.count > 0)
        more = follow(p, i, stage_number, s->given, point, stage);
    stage->tolerance = fmax(stage->tolerance, s->tolerance);
    if (s->most > 0 && stage->iterations > s->most)
        stage->iterations = s->most;
    return more;
}

/* ---- curvature */

/* What the row's s_0 has beyond its noise: the variance added, and the ignorance of the weights along its code. */
static double beyond_noise(const struct part *p, size_t i)
{
    const struct rows *r = p->rows;
    double sensory = p->energy->weighing->sensory;
    return r->extra[i] + sensory * fmax(0, fit_of(r, i)->variance - 2 * noise_variance(r->model, 0));
}

/* The shared preconditioner serves smooth networks, and kinked ones while they are still linear; else
   the row's own diagonal. */
static int scale(void *context, size_t number, real *inverse)
{
    const struct part *p = context;
    const struct rows *r = p->rows;
    size_t i = p->list[number];
    struct preconditioner *preconditioner = p->curvature->preconditioner;
    int smooth = !activation_of(r->model->options.activation)->kinked || r->negative_slope[i] == 1;
    if (preconditioner != NULL && smooth &&
        preconditioner_level(preconditioner, r->lane[p->lane].work->team, beyond_noise(p, i)) >= 0)
        return 0;
    norms_inverse_diagonal(r->model, p->curvature->norms, fit_of(r, i), r->count[i], r->extra[i], r->negative_slope[i],
                           p->energy->weighing, inverse);
    return 1;
}

/* Gathers the vectors of rows at the level of the first, as many as there is room for, applies the inverse there,
   puts them back and marks them done. */
static void precondition_alike(const struct part *p, size_t n, const size_t *numbers, const int *level, size_t first,
                               const real *points, real *vectors, unsigned char *done)
{
    const struct rows *r = p->rows;
    const struct model *m = r->model;
    struct lane *lane = &r->lane[p->lane];
    size_t code = m->code_dim, taken[BATCH], count = 0;
    real *z = lane->codes, *slope = lane->work->grad;
    for (size_t i = first; i < n && count < lane->work->rows; i++) {
        if (done[i] || level[i] != level[first])
            continue;
        activation_apply(m->options.activation, r->negative_slope[p->list[numbers[i]]], code, points + i * code, z,
                         slope);
        for (size_t j = 0; j < code; j++) {
            lane->slopes[count * code + j] = (float)slope[j];
            lane->vectors[count * code + j] = (float)vectors[i * code + j];
        }
        done[i] = 1;
        taken[count++] = i;
    }
    preconditioner_apply(p->curvature->preconditioner, lane->work->team, level[first], count, lane->slopes,
                         lane->vectors, lane->rough);
    for (size_t i = 0; i < count; i++)
        for (size_t j = 0; j < code; j++)
            vectors[taken[i] * code + j] = (real)lane->vectors[i * code + j];
}

static void precondition(void *context, size_t n, const size_t *numbers, const real *points, real *vectors)
{
    const struct part *p = context;
    struct team *team = p->rows->lane[p->lane].work->team;
    int level[BATCH];
    unsigned char done[BATCH] = {0};
    for (size_t i = 0; i < n; i++)
        level[i] = preconditioner_level(p->curvature->preconditioner, team, beyond_noise(p, p->list[numbers[i]]));
    for (size_t i = 0; i < n; i++)
        if (!done[i])
            precondition_alike(p, n, numbers, level, i, points, vectors, done);
}

/* ---- the search */

struct job {
    struct part part; /* but for the list and the lane */
    size_t count;
    const size_t *list;
    real *points;
    struct outcome *outcome;
    bpcn_status status[MOST_LANES];
};

static void minimize_part(void *context, size_t lane, size_t lanes)
{
    struct job *job = context;
    struct part part = job->part;
    size_t first, last, code = part.rows->model->code_dim;
    threads_share(job->count, 1, lane, lanes, &first, &last);
    part.lane = lane;
    part.list = job->list + first;
    int alone = part.curvature != NULL;
    struct objective objective = {.context = &part,
                                  .dim = code,
                                  .evaluate = evaluate,
                                  .enter = enter,
                                  .scale = alone ? scale : NULL,
                                  .precondition = alone && part.curvature->preconditioner ? precondition : NULL,
                                  .arrive = arrive,
                                  .jump = alone ? part.rows->lane[lane].work->jump : NULL};
    if (first < last)
        job->status[lane] = lbfgs_minimize(&objective, last - first, part.rows->lane[lane].work->rows,
                                           job->points + first * code, job->outcome + first);
}

bpcn_status search_codes(struct rows *rows, const struct energy *energy, const struct curvature *curvature,
                         const struct schedule *schedule, size_t count, const size_t *list, real *points,
                         struct outcome *outcome)
{
    struct job job = {{rows, energy, curvature, schedule, NULL, 0}, count, list, points, outcome, {BPCN_OK}};
    rows_run(rows, minimize_part, &job);
    for (size_t lane = 0; lane < rows->lanes; lane++)
        if (job.status[lane] != BPCN_OK)
            return job.status[lane];
    return BPCN_OK;
}

/* ---- Adam, which moves all rows together */

struct together {
    struct rows *rows;
    const struct energy *energy;
    const real *points;
    double *values;
    real *grad;
};

static void evaluate_part(void *context, size_t lane, size_t lanes)
{
    const struct together *t = context;
    size_t code = t->rows->model->code_dim, most = t->rows->lane[lane].work->rows, at, last, n;
    threads_share(t->rows->n, 1, lane, lanes, &at, &last);
    for (; at < last; at += n) {
        n = last - at < most ? last - at : most;
        rows_evaluate(t->rows, t->energy, lane, n, t->rows->all + at, t->points + at * code, t->values + at,
                      t->grad + at * code, NULL);
    }
}

static void evaluate_all(void *context, size_t n, const size_t *rows, const real *points, double *energy, real *grad)
{
    struct together *t = context;
    (void)n;
    (void)rows;
    t->points = points;
    t->values = energy;
    t->grad = grad;
    rows_run(t->rows, evaluate_part, t);
}

bpcn_status search_codes_adam(struct rows *rows, const struct energy *energy, const struct adam_options *options,
                              real *points, struct outcome *outcome, double *losses)
{
    struct together together = {.rows = rows, .energy = energy};
    struct objective objective = {
        .context = &together, .dim = rows->model->code_dim, .evaluate = evaluate_all, .enter = adam_first_stage};
    bpcn_status status = adam_minimize(&objective, rows->n, options, points, outcome, losses);
    if (status == BPCN_OK && rows->n == 1 && energy->particle != NULL)
        rows_keep(rows, 0, 0, 0);
    return status;
}
