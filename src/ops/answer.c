/* From codes to answers and reports (compiled per precision). */
#include "familiarity.h"
#include "cache.h"
#include "read.h"
#include "search.h"

#include <math.h>
#include <string.h>

/* Share of a particle in a row below which it cannot change the answer: e^-40, below rounding. */
static const double negligible_share = 4e-18;
/* Rounds of the mean shift, and the largest step of any entry at which it has converged. */
enum { MEAN_SHIFT_ROUNDS = 100 };
static const double mean_shift_step = 1e-6;

/* ---- rows shared out among the lanes */

/* Handles rows under one energy, as many as a workspace holds; their codes are gathered in the lane. */
typedef void answer_batch(struct read *r, const struct energy *energy, int all, size_t lane, size_t count,
                          const size_t *rows);

struct answer_job {
    struct read *read;
    const struct energy *energy;
    answer_batch *handle;
    size_t count; /* rows in the list */
    int all;
};

static void answer_run_lane(void *context, size_t lane, size_t lanes)
{
    const struct answer_job *job = context;
    struct read *r = job->read;
    size_t first, last, code = r->model->code_dim, most = r->rows->lane[lane].work->rows, n;
    real *codes = r->rows->lane[lane].codes;
    threads_share(job->count, 1, lane, lanes, &first, &last);
    for (; first < last; first += n) {
        n = last - first < most ? last - first : most;
        for (size_t i = 0; i < n; i++)
            memcpy(codes + i * code, r->codes + r->list[first + i] * code, code * sizeof *codes);
        job->handle(r, job->energy, job->all, lane, n, r->list + first);
    }
}

/* The first `count` rows of the list. */
static void answer_run(struct read *r, size_t count, const struct energy *energy, answer_batch *handle, int all)
{
    struct answer_job job = {r, energy, handle, count, all};
    if (count > 0)
        rows_run(r->rows, answer_run_lane, &job);
}

/* The rows that particle k decides, under its density: those found without panels also without them here, so that
   nothing depends on the other rows. */
static void answer_run_decided(struct read *r, size_t k, answer_batch *handle, int all)
{
    struct energy energy = r->density;
    energy.particle = &r->model->particles[k];
    for (int unprepared = 0; unprepared < 2; unprepared++) {
        size_t count = 0;
        energy.weights = unprepared ? NULL : r->density.weights;
        for (size_t i = 0; i < r->request->n; i++)
            if (r->decided[i] && r->particle[i] == k && r->unprepared[i] == unprepared)
                r->list[count++] = i;
        answer_run(r, count, &energy, handle, all);
    }
}

/* ---- which particle decides */

static void answer_decide_batch(struct read *r, const struct energy *energy, int all, size_t lane, size_t count,
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

size_t answer_decide(struct read *r, const struct energy *energy)
{
    size_t n = r->request->n, particles = r->model->options.particles;
    if (particles == 1) {
        memset(r->decided, 1, n);
        return 0;
    }
    memcpy(r->list, r->rows->all, n * sizeof *r->list);
    answer_run(r, n, energy, answer_decide_batch, 0);
    return particles;
}

/* ---- answers */

/* answer = prediction where the mask allows, else the query. */
static void answer_put(const struct read *r, size_t i, int all, const real *prediction)
{
    size_t dim = r->model->width[0];
    const unsigned char *known = all || r->request->known == NULL ? NULL : r->request->known + i * dim;
    for (size_t j = 0; j < dim; j++)
        r->answers[i * dim + j] = known != NULL && known[j] ? r->x[i * dim + j] : prediction[j];
}

/* One particle decides: the answer is its prediction. */
static void answer_predict(struct read *r, const struct energy *energy, int all, size_t lane, size_t count,
                           const size_t *rows)
{
    struct workspace *work = r->rows->lane[lane].work;
    energy_predict(energy, count, r->rows->lane[lane].codes, work, work->error);
    for (size_t i = 0; i < count; i++)
        answer_put(r, rows[i], all, work->error + i * r->model->width[0]);
}

/* blend = sum_n (w_n / s_n) m_n / sum_n (w_n / s_n), with responsibility w_n, prediction m_n and variance s_n: where
   the mixture's gradient over x0 vanishes for these responsibilities. */
static void answer_blend(struct read *r)
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

/* Several particles share the row: the fixed point x0 = blend(responsibilities at x0), by mean shift from the row that
   the search saw. */
static void answer_mixed(struct read *r, size_t i, int all)
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
        energy_predict(&one, 1, code, work, r->predictions + k * dim);
        energy_evaluate(&one, &batch, work, &value, NULL, NULL, r->fits + k * layers);
    }
    for (int round = 0; round < MEAN_SHIFT_ROUNDS; round++) {
        double moved = 0;
        memcpy(r->before, row, dim * sizeof *row);
        answer_blend(r);
        answer_put(r, i, all, r->blend);
        for (size_t j = 0; j < dim; j++)
            moved = fmax(moved, fabs((double)(row[j] - r->before[j])));
        if (moved <= mean_shift_step)
            return;
        energy_evaluate_mixture(&r->density, &batch, work, &value, NULL, NULL, r->share);
    }
}

void answer_fill(struct read *r, int all)
{
    for (size_t k = 0; k < r->model->options.particles; k++)
        answer_run_decided(r, k, answer_predict, all);
    for (size_t i = 0; i < r->request->n; i++)
        if (!r->decided[i])
            answer_mixed(r, i, all);
}

/* ---- reports */

/* The variance of the noise that the caller says the queries carry. */
static double answer_given_noise(const struct read *r)
{
    double given = r->objective.integrated ? fmax(0, r->request->options.noise) : 0;
    return given * given;
}

/* r->pattern of the rows: how far from white noise their known entries less the prediction are. Only where noise is
   given, which that is compared with. */
static void answer_find_patterns(struct read *r, const struct energy *energy, size_t lane, size_t count,
                                 const size_t *rows, const real *codes)
{
    size_t dim = r->model->width[0];
    struct workspace *work = r->rows->lane[lane].work;
    double *series = r->series + lane * dim;
    if (!(answer_given_noise(r) > 0))
        return;
    energy_predict(energy, count, codes, work, work->error);
    for (size_t i = 0; i < count; i++) {
        const unsigned char *known = r->request->known == NULL ? NULL : r->request->known + rows[i] * dim;
        const real *x = r->x + rows[i] * dim, *prediction = work->error + i * dim;
        size_t n = 0;
        for (size_t j = 0; j < dim; j++)
            if (known == NULL || known[j])
                series[n++] = (double)(x[j] - prediction[j]);
        r->pattern[rows[i]] = familiarity_pattern(n, series);
    }
}

/* The fits and log densities of rows that particle `energy` decides. */
static void answer_fit(struct read *r, const struct energy *energy, int all, size_t lane, size_t count,
                       const size_t *rows)
{
    double value[BATCH], log_weight = r->model->log_weights[energy->particle - r->model->particles];
    (void)all;
    rows_evaluate(r->rows, energy, lane, count, rows, r->rows->lane[lane].codes, value, NULL, NULL);
    for (size_t i = 0; i < count; i++) {
        rows_keep(r->rows, lane, i, rows[i]);
        r->log_density[rows[i]] = log_weight - value[i];
    }
    answer_find_patterns(r, energy, lane, count, rows, r->rows->lane[lane].codes);
}

/* The log density of a row that several particles share, and its fit in the most responsible one. */
static void answer_fit_mixed(struct read *r, size_t i)
{
    const real *code = r->codes + i * r->model->code_dim;
    size_t best = 0;
    double value;
    rows_evaluate(r->rows, &r->density, 0, 1, &i, code, &value, NULL, r->share);
    r->log_density[i] = -value;
    for (size_t k = 1; k < r->model->options.particles; k++)
        if (r->share[k] > r->share[best])
            best = k;
    r->particle[i] = best;
    struct energy one = r->density;
    one.particle = &r->model->particles[best];
    rows_evaluate(r->rows, &one, 0, 1, &i, code, &value, NULL, NULL);
    rows_keep(r->rows, 0, 0, i);
    answer_find_patterns(r, &one, 0, 1, &i, code);
}

static void answer_report_row(const struct read *r, size_t i)
{
    size_t dim = r->model->width[0];
    size_t known = r->request->known != NULL ? masks_count_known(dim, r->request->known + i * dim) : dim;
    const struct fit *fit = fit_of(r->rows, i);
    struct evidence evidence = {.squares = fit->squares,
                                .power = rows_power(r->rows, i),
                                .variance = fit->variance,
                                .known = (double)known,
                                .noise = answer_given_noise(r),
                                .pattern = r->pattern[i],
                                .sensory = r->objective.weighing.sensory,
                                .written = cache_share_written(r->shard->cache)};
    evidence.whole = known == dim && !(evidence.noise > 0);
    if (familiarity_needs_faded(r->model, fit->variance))
        evidence.faded =
            search_faded_leverage(r->rows, &r->model->particles[r->particle[i]], r->codes + i * r->model->code_dim);
    struct judgement judgement = familiarity_judge(r->model, &evidence);
    bpcn_read_info *info = &r->request->info[i];
    *info = (bpcn_read_info){
        .energy = r->outcome[i].energy,
        .log_density = r->objective.integrated ? r->log_density[i] : -r->outcome[i].energy,
        .familiarity = judgement.familiarity,
        .noise = sqrt(r->rows->extra[i]),
        .residual = known > 0 ? sqrt(fit->squares / (double)known) : 0,
        .variance = fit->variance,
        .evaluations = r->outcome[i].evaluations,
        .particle = r->particle[i],
        .converged = r->outcome[i].converged,
        .verdict = judgement.verdict,
        .known = known,
    };
    info->shard_density = info->log_density;
}

void answer_report(struct read *r)
{
    read_see_queries(r);
    for (size_t k = 0; k < r->model->options.particles; k++)
        answer_run_decided(r, k, answer_fit, 0);
    for (size_t i = 0; i < r->request->n; i++) {
        if (!r->decided[i])
            answer_fit_mixed(r, i);
        answer_report_row(r, i);
    }
}
