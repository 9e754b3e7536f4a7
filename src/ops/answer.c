/* From codes to answers and reports (compiled per precision). */
#include "read.h"

#include <math.h>
#include <string.h>

static const double negligible_share = 4e-18; /* e^-40: below rounding */

/* What is done with rows under one energy, at most a workspace full at a time, whose codes are gathered in the lane. */
typedef void on_batch(struct reading *r, const struct energy *energy, int all, size_t lane, size_t count,
                      const size_t *rows);

struct rows_job {
    struct reading *reading;
    const struct energy *energy;
    on_batch *handle;
    size_t count; /* rows in the list */
    int all;
};

static void rows_part(void *context, size_t lane, size_t lanes)
{
    const struct rows_job *job = context;
    struct reading *r = job->reading;
    size_t first, last, code = r->model->code_dim, most = r->rows->lane[lane].work->rows, n;
    real *codes = r->rows->lane[lane].codes;
    team_share(job->count, 1, lane, lanes, &first, &last);
    for (; first < last; first += n) {
        n = last - first < most ? last - first : most;
        for (size_t i = 0; i < n; i++)
            memcpy(codes + i * code, r->codes + r->list[first + i] * code, code * sizeof *codes);
        job->handle(r, job->energy, job->all, lane, n, r->list + first);
    }
}

static void for_rows(struct reading *r, size_t count, const struct energy *energy, on_batch *handle, int all)
{
    struct rows_job job = {r, energy, handle, count, all};
    if (count > 0)
        rows_run(r->rows, rows_part, &job);
}

/* The rows that particle k decides, under the density in it. */
static void for_decided(struct reading *r, size_t k, on_batch *handle, int all)
{
    size_t count = 0;
    struct energy energy = r->density;
    energy.particle = &r->model->particles[k];
    for (size_t i = 0; i < r->request->n; i++)
        if (r->decided[i] && r->particle[i] == k)
            r->list[count++] = i;
    for_rows(r, count, &energy, handle, all);
}

/* ---- who decides */

static void settle_rows(struct reading *r, const struct energy *energy, int all, size_t lane, size_t count,
                        const size_t *rows)
{
    size_t particles = r->model->options.particles;
    double value[BATCH], *share = r->share + lane * BATCH * particles;
    (void)all;
    rows_evaluate(r->rows, energy, lane, count, rows, r->rows->lane[lane].codes, value, NULL, share);
    for (size_t i = 0; i < count; i++, share += particles) {
        size_t others = 0;
        for (size_t j = 0; j < particles; j++)
            others += j != r->particle[rows[i]] && share[j] >= negligible_share;
        r->decided[rows[i]] = others == 0;
    }
}

size_t settle(struct reading *r, const struct energy *energy)
{
    size_t n = r->request->n, particles = r->model->options.particles;
    if (particles == 1) {
        memset(r->decided, 1, n);
        return 0;
    }
    memcpy(r->list, r->rows->all, n * sizeof *r->list);
    for_rows(r, n, energy, settle_rows, 0);
    return particles;
}

/* ---- answers */

/* answer = prediction where the mask allows, else the query. */
static void put(const struct reading *r, size_t i, int all, const real *prediction)
{
    size_t dim = r->model->width[0];
    const unsigned char *known = all || r->request->known == NULL ? NULL : r->request->known + i * dim;
    for (size_t j = 0; j < dim; j++)
        r->answers[i * dim + j] = known != NULL && known[j] ? r->x[i * dim + j] : prediction[j];
}

/* The answer is the particle's prediction. */
static void answer_rows(struct reading *r, const struct energy *energy, int all, size_t lane, size_t count,
                        const size_t *rows)
{
    struct workspace *work = r->rows->lane[lane].work;
    particle_predict(energy, count, r->rows->lane[lane].codes, work, work->error);
    for (size_t i = 0; i < count; i++)
        put(r, rows[i], all, work->error + i * r->model->width[0]);
}

/* The precision-weighted mean of the particles' predictions: where the mixture's gradient over x0
   vanishes for these responsibilities. */
static void blend_predictions(struct reading *r)
{
    size_t particles = r->model->options.particles, dim = r->model->width[0], layers = r->model->options.layers + 1;
    double total = 0;
    for (size_t k = 0; k < particles; k++)
        total += r->share[k] / r->fits[k * layers].variance;
    for (size_t j = 0; j < dim; j++) {
        double sum = 0;
        for (size_t k = 0; k < particles; k++)
            sum += r->share[k] / r->fits[k * layers].variance * (double)r->predictions[k * dim + j];
        r->blend[j] = (real)(sum / total);
    }
}

/* Several particles: the fixed point x0 = blend(responsibilities at x0), a mean shift. It starts from what the row is
   looked at as. */
static void answer_mixed(struct reading *r, size_t i, int all)
{
    const struct model *model = r->model;
    size_t dim = model->width[0], layers = model->options.layers + 1;
    double value, count = (double)dim, nothing = 0;
    struct workspace *work = r->rows->lane[0].work;
    const real *row = r->answers + i * dim, *code = r->codes + i * model->code_dim;
    struct batch batch = {.n = 1, .x0 = &row, .count = &count, .extra = &nothing, .h = code};
    rows_evaluate(r->rows, &r->density, 0, 1, &i, code, &value, NULL, r->share);
    memmove(r->answers + i * dim, r->rows->x0[i], dim * sizeof *row);
    for (size_t k = 0; k < model->options.particles; k++) {
        struct energy one = r->density;
        one.particle = &model->particles[k];
        particle_predict(&one, 1, code, work, r->predictions + k * dim);
        particle_evaluate(&one, &batch, work, &value, NULL, NULL, r->fits + k * layers);
    }
    for (int round = 0; round < 100; round++) {
        double moved = 0;
        memcpy(r->before, row, dim * sizeof *row);
        blend_predictions(r);
        put(r, i, all, r->blend);
        for (size_t j = 0; j < dim; j++)
            moved = fmax(moved, fabs((double)(row[j] - r->before[j])));
        if (moved <= 1e-6)
            return;
        mixture_evaluate(&r->density, &batch, work, &value, NULL, NULL, r->share);
    }
}

void answer(struct reading *r, int all)
{
    for (size_t k = 0; k < r->model->options.particles; k++)
        for_decided(r, k, answer_rows, all);
    for (size_t i = 0; i < r->request->n; i++)
        if (!r->decided[i])
            answer_mixed(r, i, all);
}

/* ---- reports */

/* The most responsible particle for the code of row i, and the log density there. */
static size_t responsible(struct reading *r, size_t i)
{
    size_t best = 0;
    double value;
    rows_evaluate(r->rows, &r->density, 0, 1, &i, r->codes + i * r->model->code_dim, &value, NULL, r->share);
    for (size_t k = 1; k < r->model->options.particles; k++)
        if (r->share[k] > r->share[best])
            best = k;
    r->log_density[i] = -value;
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

static void report_row(const struct reading *r, size_t i)
{
    double given = fmax(0, r->request->options.noise);
    size_t dim = r->model->width[0], known = dim;
    const struct fit *fit = fit_of(r->rows, i);
    for (size_t j = 0; r->request->known != NULL && j < dim; j++)
        known -= r->request->known[i * dim + j] == 0;
    r->request->info[i] = (bpcn_read_info){
        .energy = r->outcome[i].energy,
        .log_density = r->objective.integrated ? r->log_density[i] : -r->outcome[i].energy,
        .familiarity = familiarity(noise_variance(r->model, 0), fit, given * given, (double)known),
        .noise = sqrt(r->rows->extra[i]),
        .residual = known > 0 ? sqrt(fit->squares / (double)known) : 0,
        .variance = fit->variance,
        .evaluations = r->outcome[i].evaluations,
        .particle = r->particle[i],
        .converged = r->outcome[i].converged,
    };
}

/* Their fits, and their log densities. */
static void judge_rows(struct reading *r, const struct energy *energy, int all, size_t lane, size_t count,
                       const size_t *rows)
{
    double value[BATCH], log_weight = r->model->log_weights[energy->particle - r->model->particles];
    (void)all;
    rows_evaluate(r->rows, energy, lane, count, rows, r->rows->lane[lane].codes, value, NULL, NULL);
    for (size_t i = 0; i < count; i++) {
        rows_keep(r->rows, lane, i, rows[i]);
        r->log_density[rows[i]] = log_weight - value[i];
    }
}

/* The fit of a row that several particles answer, in the most responsible one. */
static void judge_mixed(struct reading *r, size_t i)
{
    double value;
    struct energy one = r->density;
    r->particle[i] = responsible(r, i);
    one.particle = &r->model->particles[r->particle[i]];
    rows_evaluate(r->rows, &one, 0, 1, &i, r->codes + i * r->model->code_dim, &value, NULL, NULL);
    rows_keep(r->rows, 0, 0, i);
}

void report(struct reading *r)
{
    look_at_queries(r);
    for (size_t k = 0; k < r->model->options.particles; k++)
        for_decided(r, k, judge_rows, 0);
    for (size_t i = 0; i < r->request->n; i++) {
        if (!r->decided[i])
            judge_mixed(r, i);
        report_row(r, i);
    }
}
