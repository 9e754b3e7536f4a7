/* Stages, noise estimate and preconditioning of a search (compiled per precision). */
#include "infer.h"

#include "activation.h"
#include "flip.h"

#include <math.h>
#include <string.h>

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
    r->leak[i] = step->leak;
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
        r->leak[i] = first_leak(m->options.activation);
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
    int smooth = !activation_of(r->model->options.activation)->kinked || r->leak[i] == 1;
    if (preconditioner != NULL && smooth &&
        preconditioner_level(preconditioner, r->lane[p->lane].work->team, beyond_noise(p, i)) >= 0)
        return 0;
    inverse_curvature(r->model, p->curvature->norms, fit_of(r, i), r->count[i], r->extra[i], r->leak[i],
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
        activation_apply(m->options.activation, r->leak[p->list[numbers[i]]], code, points + i * code, z, slope);
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

bpcn_status infer(struct rows *rows, const struct energy *energy, const struct curvature *curvature,
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

bpcn_status infer_adam(struct rows *rows, const struct energy *energy, const struct adam_options *options, real *points,
                       struct outcome *outcome, double *losses)
{
    struct together together = {.rows = rows, .energy = energy};
    struct objective objective = {
        .context = &together, .dim = rows->model->code_dim, .evaluate = evaluate_all, .enter = first_stage};
    bpcn_status status = adam_minimize(&objective, rows->n, options, points, outcome, losses);
    if (status == BPCN_OK && rows->n == 1 && energy->particle != NULL)
        rows_keep(rows, 0, 0, 0);
    return status;
}
