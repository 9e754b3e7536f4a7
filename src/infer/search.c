/* Stages, noise estimate and preconditioning of a search (compiled per precision). */
#include "search.h"

#include "activation.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { AT_WORK = 64 }; /* rows of a lane that may have fragments, which take a megabyte or more each */
enum { ESTIMATES = 8, ESTIMATE_ITERATIONS = 10, MOST_ITERATIONS = 400 };
static const double estimate_tolerance = 1; /* nats: the estimate moves by more than that costs */
static const double rough_tolerance = 1;    /* nats: particles differ by more */

/* One thread's part of a search: rows first .. of the subset, evaluated in its own lane. */
struct part {
    struct search *search;
    size_t lane, first;
};

static void evaluate(void *context, size_t n, const size_t *rows, const real *points, double *energy, real *grad)
{
    struct part *part = context;
    size_t mapped[BATCH];
    for (size_t i = 0; i < n; i++)
        mapped[i] = part->search->subset[part->first + rows[i]];
    problem_evaluate(part->search->reader->problem, part->lane, n, mapped, points, energy, grad, NULL);
}

/* The mean square of what is known of row i. */
static double mean_square(const struct reader *r, size_t i)
{
    size_t dim = r->model->width[0];
    const unsigned char *known = r->request->known ? r->request->known + i * dim : NULL;
    double sum = 0;
    for (size_t j = 0; j < dim; j++)
        if (known == NULL || known[j])
            sum += (double)r->x[i * dim + j] * (double)r->x[i * dim + j];
    return sum / fmax(1, r->problem->count[i]);
}

static double last_tolerance(const struct problem *p)
{
    return p->weighing == &the_density ? density_tolerance(p->model) : recall_tolerance(p->model);
}

/* Step `number` of a schedule, on top of a variance that stays. */
static int follow(struct search *s, size_t i, struct steps steps, size_t number, double base, size_t lane, real *point,
                  struct stage *stage)
{
    struct problem *p = s->reader->problem;
    double unexplained = p->fit[i * (p->model->options.layers + 1)].squares / fmax(1, p->count[i]);
    if (number == steps.count ||
        (number > 0 && s->estimate != NULL && unexplained > 0.5 * fmax(s->estimate[i], steps.step[number - 1].extra)))
        return 0; /* done, or no better than with the noise that was estimated */
    const struct step *step = &steps.step[number];
    p->extra[i] = base + step->extra;
    p->leak[i] = step->leak;
    *stage = stage_of(step, last_tolerance(p));
    if (s->estimate != NULL && number == 0)
        stage->iterations = ESTIMATE_ITERATIONS; /* enough to see whether it goes anywhere */
    if (step->snap > 0)
        snap_code(p->model, p->particle, step->snap, point, p->lane[lane].work->z, p->lane[lane].work->error);
    return 1;
}

/* The noise that best explains what the code leaves over, of which its own freedom has taken a
   part; starts as if all were noise. */
static int estimate_noise(struct search *s, size_t i, size_t number, size_t lane, real *point, struct stage *stage)
{
    struct problem *p = s->reader->problem;
    const struct fit *fit = p->fit + i * (p->model->options.layers + 1);
    *stage = (struct stage){ESTIMATE_ITERATIONS, estimate_tolerance};
    if (number == 0) {
        p->extra[i] = mean_square(s->reader, i);
        p->leak[i] = starts_linear(p->model->options.activation) ? 1 : 0;
        s->settled[i] = 0;
        return 1;
    }
    if (s->settled[i] == 0) {
        double spanned = fmin((double)p->model->writes, (double)p->model->widest_hidden);
        double before = p->extra[i], free = p->count[i] - fmin(spanned, 0.5 * p->count[i]);
        double now = fmax(0, fit->squares / fmax(1, free) - p->weighing->sensory * fit->variance);
        p->extra[i] = now;
        if (number < ESTIMATES && fabs(now - before) > 0.02 * before)
            return 1;
    }
    return follow(s, i, noisy_steps(), s->settled[i]++, p->extra[i], lane, point, stage);
}

static int enter(void *context, size_t row, size_t number, real *point, struct stage *stage)
{
    struct part *part = context;
    struct search *s = part->search;
    size_t i = s->subset[part->first + row];
    bpcn_activation activation = s->reader->model->options.activation;
    int more = number == 0;
    *stage = (struct stage){MOST_ITERATIONS, last_tolerance(s->reader->problem)};
    if (s->plan == ANNEAL || s->plan == FLIP)
        more = follow(s, i, s->plan == FLIP ? flip_steps(activation) : read_steps(activation), number, s->given,
                      part->lane, point, stage);
    else if (s->plan == ESTIMATE)
        more = estimate_noise(s, i, number, part->lane, point, stage);
    if (s->rough)
        stage->tolerance = fmax(stage->tolerance, rough_tolerance);
    if (!more) {
        free(s->fragment[i]);
        s->fragment[i] = NULL;
    }
    return more;
}

/* Gives row i a lowest block of its own where that helps and can be had: not to one of few that know much. */
static void make_fragment(const struct search *s, size_t i)
{
    const struct problem *p = s->reader->problem;
    const size_t *width = p->model->width;
    if (s->fragment[i] == NULL && p->count[i] <= (double)width[1] &&
        preconditioner_apart(s->preconditioner, p->extra[i]))
        s->fragment[i] = preconditioner_fragment(s->preconditioner, s->reader->request->known + i * width[0]);
}

/* The shared preconditioner serves smooth networks, and ReLU while it is still linear; else the
   row's own diagonal. */
static int scale(void *context, size_t row, real *inverse)
{
    struct part *part = context;
    const struct search *s = part->search;
    const struct problem *p = s->reader->problem;
    size_t i = s->subset[part->first + row];
    int smooth = p->model->options.activation != BPCN_RELU || p->leak[i] == 1;
    if (s->preconditioner != NULL && s->preconditioned == p->particle && smooth &&
        preconditioner_level(s->preconditioner, p->extra[i]) >= 0) {
        make_fragment(s, i);
        return 0;
    }
    inverse_curvature(p->model, &s->norms, p->fit + i * (p->model->options.layers + 1), p->count[i], p->extra[i],
                      p->leak[i], p->weighing, inverse);
    return 1;
}

/* Rows that are preconditioned alike: at one level, by the block that all share or each by its own. */
struct likeness {
    int level, apart;
};

static struct likeness likeness_of(const struct search *s, size_t i)
{
    double extra = s->reader->problem->extra[i];
    return (struct likeness){preconditioner_level(s->preconditioner, extra),
                             s->fragment[i] != NULL && preconditioner_apart(s->preconditioner, extra)};
}

/* Gathers the vectors of up to BATCH rows that are like rows[first], applies the inverse there, puts them back and
   marks them done. */
static void precondition_alike(struct part *part, size_t n, const size_t *rows, const struct likeness *like,
                               size_t first, const real *points, real *vectors, unsigned char *done)
{
    const struct search *s = part->search;
    const struct model *m = s->reader->model;
    struct lane *lane = &s->reader->problem->lane[part->lane];
    struct fragment *fragments[BATCH];
    size_t code = m->code_dim, bytes = code * sizeof(real), taken[BATCH], count = 0;
    for (size_t i = first; i < n && count < lane->work->rows; i++) {
        if (done[i] || like[i].level != like[first].level || like[i].apart != like[first].apart)
            continue;
        size_t row = s->subset[part->first + rows[i]];
        double leak = s->reader->problem->leak[row];
        activate(m->options.activation, leak, code, points + i * code, lane->scratch, lane->slopes + count * code);
        memcpy(lane->vectors + count * code, vectors + i * code, bytes);
        done[i] = 1;
        fragments[count] = s->fragment[row];
        taken[count++] = i;
    }
    preconditioner_apply(s->preconditioner, like[first].level, count, lane->slopes,
                         like[first].apart ? fragments : NULL, lane->vectors, lane->scratch, lane->work->error);
    for (size_t i = 0; i < count; i++)
        memcpy(vectors + taken[i] * code, lane->vectors + i * code, bytes);
}

static void precondition(void *context, size_t n, const size_t *rows, const real *points, real *vectors)
{
    struct part *part = context;
    const struct search *s = part->search;
    struct likeness like[BATCH];
    unsigned char done[BATCH] = {0};
    for (size_t i = 0; i < n; i++)
        like[i] = likeness_of(s, s->subset[part->first + rows[i]]);
    for (size_t i = 0; i < n; i++)
        if (!done[i])
            precondition_alike(part, n, rows, like, i, points, vectors, done);
}

struct minimize_job {
    struct search *search;
    size_t rows;
    real *points;
    struct outcome *outcome;
    bpcn_status *status; /* [lanes] */
};

static void minimize_part(void *context, size_t lane, size_t lanes)
{
    struct minimize_job *job = context;
    size_t first, last, code = job->search->reader->model->code_dim;
    team_share(job->rows, 1, lane, lanes, &first, &last);
    struct part part = {job->search, lane, first};
    int alone = job->search->reader->problem->particle != NULL;
    const real *jump = alone ? job->search->reader->problem->lane[lane].work->jump : NULL;
    struct objective objective = {&part, code, evaluate, enter, alone ? scale : NULL, precondition, jump};
    const struct preconditioner *preconditioner = job->search->preconditioner;
    size_t batch = preconditioner != NULL && preconditioner_apart(preconditioner, 0) ? AT_WORK : BATCH;
    job->status[lane] = first == last ? BPCN_OK
                                      : lbfgs_minimize(&objective, last - first, batch, job->points + first * code,
                                                       job->outcome + first);
}

bpcn_status search_minimize(struct search *s, size_t rows, real *points, struct outcome *outcome)
{
    struct problem *p = s->reader->problem;
    bpcn_status status[64] = {BPCN_OK};
    struct minimize_job job = {s, rows, points, outcome, status};
    if (p->lanes > 1)
        team_run(p->team, minimize_part, &job);
    else
        minimize_part(&job, 0, 1);
    for (size_t lane = 0; lane < p->lanes; lane++)
        if (status[lane] != BPCN_OK)
            return status[lane];
    return BPCN_OK;
}
