/* From codes to answers and reports (compiled per precision). */
#include "read.h"

#include "familiarity.h"
#include "prepared.h"
#include "start.h"

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
    threads_share(job->count, 1, lane, lanes, &first, &last);
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

/* The variance of the noise that the caller says the queries carry. */
static double given_noise(const struct reading *r)
{
    double given = r->objective.integrated ? fmax(0, r->request->options.noise) : 0;
    return given * given;
}

/* How far from white noise the known entries of row i are, less their prediction. */
static double pattern_of(const struct reading *r, size_t i, size_t lane, const real *prediction)
{
    size_t dim = r->model->width[0], n = 0;
    const unsigned char *known = r->request->known == NULL ? NULL : r->request->known + i * dim;
    const real *x = r->x + i * dim;
    double *series = r->series + lane * dim;
    for (size_t j = 0; j < dim; j++)
        if (known == NULL || known[j])
            series[n++] = (double)(x[j] - prediction[j]);
    return serial_pattern(n, series);
}

/* Where noise is given, what is left of the rows is compared with it. */
static void find_patterns(struct reading *r, const struct energy *energy, size_t lane, size_t count, const size_t *rows,
                          const real *codes)
{
    struct workspace *work = r->rows->lane[lane].work;
    if (!(given_noise(r) > 0))
        return;
    particle_predict(energy, count, codes, work, work->error);
    for (size_t i = 0; i < count; i++)
        r->pattern[rows[i]] = pattern_of(r, rows[i], lane, work->error + i * r->model->width[0]);
}

static struct judgement judge_row(const struct reading *r, size_t i, size_t known)
{
    const struct fit *fit = fit_of(r->rows, i);
    struct evidence evidence = {.squares = fit->squares,
                                .power = rows_power(r->rows, i),
                                .variance = fit->variance,
                                .known = (double)known,
                                .noise = given_noise(r),
                                .pattern = r->pattern[i],
                                .sensory = r->objective.weighing.sensory,
                                .written = prepared_share_written(r->shard->prepared)};
    evidence.whole = known == r->model->width[0] && !(evidence.noise > 0);
    if (much_open(r->model, fit->variance))
        evidence.faded =
            faded_leverage(r->rows, &r->model->particles[r->particle[i]], r->codes + i * r->model->code_dim);
    return judge(r->model, &evidence);
}

static void report_row(const struct reading *r, size_t i)
{
    size_t dim = r->model->width[0];
    size_t known = r->request->known != NULL ? known_entries(dim, r->request->known + i * dim) : dim;
    const struct fit *fit = fit_of(r->rows, i);
    struct judgement judgement = judge_row(r, i, known);
    r->request->info[i] = (bpcn_read_info){
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
    r->request->info[i].shard_density = r->request->info[i].log_density;
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
    find_patterns(r, energy, lane, count, rows, r->rows->lane[lane].codes);
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
    find_patterns(r, &one, 0, 1, &i, r->codes + i * r->model->code_dim);
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
