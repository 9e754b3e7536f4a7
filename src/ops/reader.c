/* Set-up, answers and reports of a read (compiled per precision). */
#include "reader.h"

#include "alloc.h"
#include "linalg.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const double negligible_share = 4e-18; /* e^-40: below rounding */

bpcn_objective objective_of(const struct model *model, const bpcn_read_options *options)
{
    if (options->objective != BPCN_OBJECTIVE_DEFAULT)
        return options->objective;
    return model->options.minimizer == BPCN_ADAM ? BPCN_OBJECTIVE_PAPER : BPCN_OBJECTIVE_RECALL;
}

/* The share of layer 1's directions that have been written to: 1 - tr U_0 / (h sigma_w^2). */
static double share_written(const struct model *model)
{
    double trace = 0, sum = 0, prior = model->options.sigma_w * model->options.sigma_w;
    for (size_t k = 0; k < model->options.particles; k++) {
        const struct layer *layer = &model->particles[k].layer[0];
        trace += sum_of_squares(layer->above * layer->above, (const real *)layer->root_real);
        sum += (double)layer->above * prior;
    }
    return fmax(0, 1 - trace / sum);
}

/* A read assumes that its answer was written (docs/MODEL.md). */
static struct weighing recall_weighing(const struct model *model)
{
    return (struct weighing){0.1, fmax(0.1, sqrt(share_written(model)))};
}

static size_t known_entries(size_t dim, const unsigned char *known)
{
    size_t count = 0;
    for (size_t j = 0; j < dim; j++)
        count += known[j] != 0;
    return count;
}

/* x = the queries, with 0 where nothing is known and the query's entry is no number. */
static void take_queries(struct reader *r)
{
    size_t dim = r->model->width[0], n = r->request->n;
    const unsigned char *known = r->request->known;
    int integrated = objective_of(r->model, &r->request->options) != BPCN_OBJECTIVE_PAPER;
    memcpy(r->x, r->request->query, n * dim * sizeof *r->x);
    for (size_t i = 0; i < n; i++) {
        r->problem->x0[i] = r->x + i * dim;
        if (known == NULL)
            continue;
        r->problem->known[i] = known + i * dim;
        if (integrated)
            r->problem->count[i] = (double)known_entries(dim, known + i * dim);
        for (size_t j = 0; j < dim; j++)
            if (!known[i * dim + j] && !isfinite(r->x[i * dim + j]))
                r->x[i * dim + j] = 0;
    }
}

int reader_create(struct reader *r, const struct model *model, const struct read_request *request)
{
    size_t particles = model->options.particles, n = request->n, dim = model->width[0];
    *r = (struct reader){.model = model, .request = request};
    r->problem = problem_create(model, n, request->known != NULL);
    r->x = alloc_zeroed(n, dim * sizeof *r->x);
    r->codes = alloc_zeroed(n, model->code_dim * sizeof *r->codes);
    r->outcome = alloc_zeroed(n, sizeof *r->outcome);
    r->particle = alloc_zeroed(n, sizeof *r->particle);
    r->decided = alloc_zeroed(n, 1);
    r->density = alloc_zeroed(n, sizeof *r->density);
    r->share = r->problem ? alloc_zeroed(r->problem->lanes * BATCH * particles, sizeof *r->share) : NULL;
    r->fits = alloc_zeroed(particles * (model->options.layers + 1), sizeof *r->fits);
    r->list = alloc_zeroed(n, sizeof *r->list);
    r->predictions = alloc_zeroed(particles + 1, dim * sizeof *r->predictions);
    if (!r->problem || !r->x || !r->codes || !r->outcome || !r->particle || !r->decided || !r->density || !r->share ||
        !r->fits || !r->predictions || !r->list)
        return -1;
    r->blend = r->predictions + particles * dim;
    if (objective_of(model, &request->options) == BPCN_OBJECTIVE_RECALL && model->options.layers > 0) {
        r->weighing = recall_weighing(model);
        r->problem->weighing = &r->weighing;
    }
    take_queries(r);
    return 0;
}

void reader_free(struct reader *r)
{
    problem_free(r->problem);
    free(r->x);
    free(r->codes);
    free(r->outcome);
    free(r->particle);
    free(r->decided);
    free(r->density);
    free(r->share);
    free(r->fits);
    free(r->predictions);
    free(r->list);
}

/* x = prediction where the mask allows; returns the largest change. */
static double put(const struct reader *r, size_t i, int all, const real *prediction)
{
    size_t dim = r->model->width[0];
    const unsigned char *known = all || r->request->known == NULL ? NULL : r->request->known + i * dim;
    double moved = 0;
    for (size_t j = 0; j < dim; j++) {
        real *entry = &r->x[i * dim + j];
        if (known != NULL && known[j])
            continue;
        moved = fmax(moved, fabs((double)(prediction[j] - *entry)));
        *entry = prediction[j];
    }
    return moved;
}

/* What is done with rows that one particle decides, at most BATCH at a time, whose codes are gathered in the
   lane's vectors. */
typedef void on_batch(struct reader *r, size_t k, int all, size_t lane, size_t count, const size_t *rows);

struct rows_job {
    struct reader *reader;
    on_batch *handle;
    size_t k, count; /* the particle; rows in the reader's list */
    int all;
};

static void rows_part(void *context, size_t lane, size_t lanes)
{
    const struct rows_job *job = context;
    struct reader *r = job->reader;
    size_t first, last, code = r->model->code_dim, n;
    real *codes = r->problem->lane[lane].vectors;
    team_share(job->count, 1, lane, lanes, &first, &last);
    for (; first < last; first += n) {
        n = last - first < BATCH ? last - first : BATCH;
        for (size_t i = 0; i < n; i++)
            memcpy(codes + i * code, r->codes + r->list[first + i] * code, code * sizeof *codes);
        job->handle(r, job->k, job->all, lane, n, r->list + first);
    }
}

/* The first `count` rows of the list, shared out among the lanes. */
static void for_rows(struct reader *r, size_t count, size_t k, on_batch *handle, int all)
{
    struct rows_job job = {r, handle, k, count, all};
    if (r->problem->lanes > 1)
        team_run(r->problem->team, rows_part, &job);
    else
        rows_part(&job, 0, 1);
}

/* The rows that particle k decides. */
static void for_decided(struct reader *r, size_t k, on_batch *handle, int all)
{
    size_t count = 0;
    for (size_t i = 0; i < r->request->n; i++)
        if (r->decided[i] && r->particle[i] == k)
            r->list[count++] = i;
    for_rows(r, count, k, handle, all);
}

/* Whether each row's particle decides it. */
static void settle_rows(struct reader *r, size_t k, int all, size_t lane, size_t count, const size_t *rows)
{
    size_t particles = r->model->options.particles;
    double energy[BATCH], *share = r->share + lane * BATCH * particles;
    (void)k;
    (void)all;
    problem_evaluate(r->problem, lane, count, rows, r->problem->lane[lane].vectors, energy, NULL, share);
    for (size_t i = 0; i < count; i++, share += particles) {
        size_t others = 0;
        for (size_t j = 0; j < particles; j++)
            others += j != r->particle[rows[i]] && share[j] >= negligible_share;
        r->decided[rows[i]] = others == 0;
    }
}

size_t reader_settle(struct reader *r, const struct weighing *weighing)
{
    const struct weighing *searched = r->problem->weighing;
    size_t n = r->request->n, particles = r->model->options.particles;
    if (particles == 1) {
        memset(r->decided, 1, n);
        return 0;
    }
    for (size_t i = 0; i < n; i++)
        r->list[i] = i;
    r->problem->particle = NULL;
    r->problem->weighing = weighing;
    for_rows(r, n, 0, settle_rows, 0);
    r->problem->weighing = searched;
    return particles;
}

/* The answer is the particle's prediction. */
static void answer_rows(struct reader *r, size_t k, int all, size_t lane, size_t count, const size_t *rows)
{
    struct workspace *work = r->problem->lane[lane].work;
    particle_predict(r->model, &r->model->particles[k], count, r->problem->lane[lane].vectors, work, work->error);
    for (size_t i = 0; i < count; i++)
        put(r, rows[i], all, work->error + i * r->model->width[0]);
}

static struct fit *fit_of(const struct reader *r, size_t k)
{
    return r->fits + k * (r->model->options.layers + 1);
}

/* The precision-weighted mean of the particles' predictions: where the mixture's gradient over x0
   vanishes for these responsibilities. */
static void blend_predictions(struct reader *r)
{
    size_t particles = r->model->options.particles, dim = r->model->width[0];
    double total = 0;
    for (size_t k = 0; k < particles; k++)
        total += r->share[k] / fit_of(r, k)->variance;
    for (size_t j = 0; j < dim; j++) {
        double sum = 0;
        for (size_t k = 0; k < particles; k++)
            sum += r->share[k] / fit_of(r, k)->variance * (double)r->predictions[k * dim + j];
        r->blend[j] = (real)(sum / total);
    }
}

/* Several particles: the fixed point x0 = blend(responsibilities at x0), a mean shift. */
static void answer_mixed(struct reader *r, size_t i, int all)
{
    const struct model *model = r->model;
    size_t dim = model->width[0];
    double energy, count = (double)dim, nothing = 0;
    struct workspace *work = r->problem->lane[0].work;
    const real *row = r->x + i * dim, *code = r->codes + i * model->code_dim;
    struct batch batch = {.n = 1, .x0 = &row, .count = &count, .extra = &nothing, .h = code, .weighing = &the_density};
    for (size_t k = 0; k < model->options.particles; k++) {
        particle_predict(model, &model->particles[k], 1, code, work, r->predictions + k * dim);
        particle_evaluate(model, &model->particles[k], &batch, work, &energy, NULL, NULL, fit_of(r, k));
    }
    r->problem->particle = NULL;
    problem_evaluate(r->problem, 0, 1, &i, code, &energy, NULL, r->share);
    for (int round = 0; round < 100; round++) {
        blend_predictions(r);
        if (put(r, i, all, r->blend) <= 1e-6)
            return;
        mixture_evaluate(model, &batch, work, &energy, NULL, NULL, r->share);
    }
}

void reader_answer(struct reader *r, int all)
{
    for (size_t k = 0; k < r->model->options.particles; k++)
        for_decided(r, k, answer_rows, all);
    for (size_t i = 0; i < r->request->n; i++)
        if (!r->decided[i])
            answer_mixed(r, i, all);
}

/* The most responsible particle for the code of row i, judged on the query, and the energy there. */
static size_t responsible(struct reader *r, size_t i, double *energy)
{
    size_t best = 0;
    r->problem->particle = NULL;
    problem_evaluate(r->problem, 0, 1, &i, r->codes + i * r->model->code_dim, energy, NULL, r->share);
    for (size_t k = 1; k < r->model->options.particles; k++)
        if (r->share[k] > r->share[best])
            best = k;
    return best;
}

/* 1 for an answer of which nothing is unknown but the noise, and which explains the query as well
   as noise allows; towards 0 as the weights along its code are unexplored or the query disagrees.
   Noise that was estimated counts as disagreement: the query alone cannot tell it from novelty. */
static double familiarity(double noise, const struct fit *fit, double given, double count)
{
    double discrepancy = count > 0 ? fit->squares / (count * (fit->variance + given)) : 0;
    return noise / fit->variance / fmax(1, discrepancy);
}

static void report_row(const struct reader *r, size_t i)
{
    int integrated = objective_of(r->model, &r->request->options) != BPCN_OBJECTIVE_PAPER;
    double given = fmax(0, r->request->options.noise);
    const struct problem *p = r->problem;
    size_t dim = r->model->width[0];
    const struct fit *fit = p->fit + i * (r->model->options.layers + 1);
    size_t known = r->request->known ? known_entries(dim, r->request->known + i * dim) : dim;
    r->request->info[i] = (bpcn_read_info){
        .energy = r->outcome[i].energy,
        .log_density = integrated ? -r->density[i] : -r->outcome[i].energy,
        .familiarity = familiarity(noise_variance(r->model, 0), fit, given * given, (double)known),
        .noise = sqrt(p->extra[i]),
        .residual = known > 0 ? sqrt(fit->squares / (double)known) : 0,
        .evaluations = r->outcome[i].evaluations,
        .particle = r->particle[i],
        .converged = r->outcome[i].converged,
    };
}

/* Their fits, and their energies under the density itself. */
static void judge_rows(struct reader *r, size_t k, int all, size_t lane, size_t count, const size_t *rows)
{
    double energy[BATCH];
    (void)all;
    problem_evaluate(r->problem, lane, count, rows, r->problem->lane[lane].vectors, energy, NULL, NULL);
    for (size_t i = 0; i < count; i++)
        r->density[rows[i]] = energy[i] - r->model->log_weights[k];
}

/* Evaluates the rows that particle k answers. */
static void judge_particle(struct reader *r, size_t k)
{
    double energy;
    r->problem->particle = &r->model->particles[k];
    for (size_t i = 0; i < r->request->n; i++)
        if (!r->decided[i] && r->particle[i] == k)
            problem_evaluate(r->problem, 0, 1, &i, r->codes + i * r->model->code_dim, &energy, NULL, NULL);
    for_decided(r, k, judge_rows, 0);
}

void reader_report(struct reader *r)
{
    struct problem *p = r->problem;
    size_t dim = r->model->width[0];
    p->weighing = &the_density;
    for (size_t i = 0; i < r->request->n; i++) {
        p->x0[i] = (const real *)r->request->query + i * dim;
        if (!r->decided[i])
            r->particle[i] = responsible(r, i, &r->density[i]);
    }
    for (size_t k = 0; k < r->model->options.particles; k++)
        judge_particle(r, k);
    for (size_t i = 0; i < r->request->n; i++) {
        report_row(r, i);
        p->x0[i] = r->x + i * dim;
    }
}
