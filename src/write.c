/*
 * write: infer the codes of a block of rows in every particle, weigh the particles by how well
 * they expected it, then condition each on rows and codes (compiled per precision). Writing rows
 * one after the other is a block of one row at a time.
 */
#include "core_real.h"

#include "alloc.h"
#include "block.h"
#include "minimize.h"
#include "random.h"
#include "start.h"
#include "update.h"

#include <math.h>
#include <stdlib.h>

enum { MOST_ITERATIONS = 500 };

/* Everything that a block needs, allocated before the first. */
struct writer {
    struct model *model;
    const struct particle *particle; /* being inferred in */
    const real *x;                   /* [n x dim]: the block at hand */
    size_t n;
    struct team *team;
    struct workspace *work; /* one row */
    struct block *block;    /* NULL for one row */
    struct update *update;
    real *codes;              /* [particles x n x code_dim] */
    struct outcome *outcomes; /* [particles] */
    struct fit fit, *fits;    /* of the point evaluated last; [particles], one row only */
    double *log_weights;      /* [particles]: after the block */
};

static void writer_free(struct writer *w)
{
    workspace_free(w->work);
    team_free(w->team);
    block_free(w->block);
    update_free(w->update);
    free(w->codes);
    free(w->outcomes);
    free(w->fits);
    free(w->log_weights);
}

static int writer_create(struct writer *w, struct model *model, size_t n)
{
    size_t particles = model->options.particles;
    w->model = model;
    w->n = n;
    w->team = team_create(model->options.threads);
    w->work = workspace_create(model, 1, 0, w->team);
    w->block = n > 1 ? block_create(model, n) : NULL;
    w->update = update_create(model);
    w->codes = alloc_zeroed(particles * n, model->code_dim * sizeof *w->codes);
    w->outcomes = alloc_zeroed(particles, sizeof *w->outcomes);
    w->fits = alloc_zeroed(particles, sizeof *w->fits);
    w->log_weights = alloc_zeroed(particles, sizeof *w->log_weights);
    int complete = w->work && w->update && w->codes && w->outcomes && w->fits && w->log_weights;
    return complete && (n == 1 || w->block) ? 0 : -1;
}

static void evaluate(void *context, size_t n, const size_t *rows, const real *points, double *energy, real *grad)
{
    struct writer *w = context;
    (void)n;
    (void)rows;
    if (w->block != NULL) {
        block_evaluate(w->model, w->particle, w->x, points, w->block, energy, grad);
        return;
    }
    double count = (double)w->model->width[0], nothing = 0;
    struct batch batch = {1, &w->x, NULL, &count, &nothing, points, 0};
    particle_evaluate(w->model, w->particle, &batch, w->work, energy, grad, NULL, &w->fit);
}

static size_t only_stage(void *context, size_t row, size_t stage)
{
    (void)context;
    (void)row;
    return stage == 0 ? MOST_ITERATIONS : 0;
}

static void start(struct writer *w, size_t k, const double *starts, real *codes)
{
    const struct model *model = w->model;
    size_t code = model->code_dim;
    for (size_t i = 0; i < w->n; i++)
        if (model->options.minimizer == BPCN_ADAM || model->options.activation == BPCN_RELU)
            start_random(model, stream_id(STREAM_START, model->writes + i, k), codes + i * code);
        else
            start_top_down(model, w->particle, w->work, codes + i * code);
    for (size_t j = 0; starts != NULL && j < w->n * code; j++)
        codes[j] = (real)starts[j];
}

/* The codes of the block in particle k. */
static bpcn_status infer(struct writer *w, size_t k, const double *starts)
{
    const bpcn_options *o = &w->model->options;
    size_t entries = w->n * w->model->code_dim;
    struct objective objective = {w, entries, ENERGY_TOLERANCE, evaluate, only_stage};
    real *codes = w->codes + k * entries;
    bpcn_status status;
    w->particle = &w->model->particles[k];
    start(w, k, starts, codes);
    if (o->minimizer == BPCN_ADAM) {
        struct adam_options how = {o->adam_rate, o->adam_stop, o->adam_steps};
        status = adam_minimize(&objective, 1, &how, codes, &w->outcomes[k], NULL);
    } else {
        status = lbfgs_minimize(&objective, 1, 1, codes, &w->outcomes[k]);
    }
    w->fits[k] = w->fit;
    return status;
}

/* Codes of every particle and the weights that follow; nothing of the model changes yet. */
static bpcn_status infer_all(struct writer *w, const double *starts)
{
    size_t particles = w->model->options.particles, entries = w->n * w->model->code_dim;
    for (size_t k = 0; k < particles; k++) {
        bpcn_status status = infer(w, k, starts ? starts + k * entries : NULL);
        if (status != BPCN_OK)
            return status;
        if (!isfinite(w->outcomes[k].energy))
            return BPCN_NUMERIC;
        w->log_weights[k] = w->model->log_weights[k] - w->outcomes[k].energy;
    }
    return BPCN_OK;
}

/* What became of the block, before the weights are normalised. */
static bpcn_write_row summary(const struct writer *w)
{
    size_t particles = w->model->options.particles, best = 0;
    double sum = 0;
    bpcn_write_row row = {.converged = 1};
    for (size_t k = 0; k < particles; k++) {
        best = w->log_weights[k] > w->log_weights[best] ? k : best;
        row.evaluations += w->outcomes[k].evaluations;
        row.converged &= w->outcomes[k].converged;
    }
    for (size_t k = 0; k < particles; k++)
        sum += exp(w->log_weights[k] - w->log_weights[best]);
    row.energy = -w->log_weights[best] - log(sum);
    row.leverage = w->n == 1 ? w->fits[best].variance - noise_variance(w->model, 0) : NAN;
    return row;
}

/* Codes go out row by row, [n x particles x code_dim]. */
static void report_codes(const struct writer *w, float *out)
{
    size_t particles = w->model->options.particles, code = w->model->code_dim;
    for (size_t i = 0; i < w->n; i++)
        for (size_t k = 0; k < particles; k++)
            for (size_t j = 0; j < code; j++)
                out[(i * particles + k) * code + j] = (float)w->codes[(k * w->n + i) * code + j];
}

/* For given codes the joint update equals the updates one by one, in any order. */
static void condition(struct writer *w)
{
    struct model *model = w->model;
    size_t code = model->code_dim, dim = model->width[0];
    for (size_t k = 0; k < model->options.particles; k++) {
        for (size_t i = 0; i < w->n; i++)
            particle_update(model, &model->particles[k], w->x + i * dim, w->codes + (k * w->n + i) * code, 1,
                            w->update);
        model->log_weights[k] = w->log_weights[k];
    }
    if (model->options.resample)
        model_resample(model);
    model->writes += w->n;
}

bpcn_status core_write(struct model *model, const void *x, size_t n, size_t block, const struct write_request *request,
                       size_t *written, uint64_t *evaluations)
{
    struct writer w = {0};
    size_t entries = model->options.particles * model->code_dim;
    bpcn_status status = writer_create(&w, model, block) == 0 ? BPCN_OK : BPCN_NO_MEMORY;
    for (size_t i = 0; status == BPCN_OK && i + block <= n; i += block) {
        w.x = (const real *)x + i * model->width[0];
        status = infer_all(&w, request->starts);
        if (status != BPCN_OK)
            break;
        bpcn_write_row row = summary(&w);
        if (normalize_log_weights(model->options.particles, w.log_weights) != 0) {
            status = BPCN_NUMERIC;
            break;
        }
        for (size_t j = i; request->rows != NULL && j < i + block; j++)
            request->rows[j] = row;
        if (request->codes != NULL)
            report_codes(&w, request->codes + i * entries);
        condition(&w);
        *written += block;
        *evaluations += row.evaluations;
    }
    writer_free(&w);
    return status;
}
