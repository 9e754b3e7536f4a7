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
#include "schedule.h"
#include "start.h"
#include "update.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_ITERATIONS = 500 };
enum { BLOCK_SLACK = 8 };    /* of a block's last tolerance: the rest is rows that trade places */
enum { WORTH_KEEPING = 16 }; /* rows for which a G must serve, to be made again */

/* Everything that a block needs, allocated before the first. */
struct writer {
    struct model *model;
    const struct particle *particle; /* being inferred in */
    const real *x;                   /* [n x dim]: the block at hand */
    const real *row;                 /* [dim]: the row of it being inferred */
    size_t n;
    struct team *team;
    struct workspace *work;  /* one row */
    struct block *block;     /* NULL for one row */
    struct weights *weights; /* of the particle, for the block */
    struct fit *conditional; /* [n x (layers + 1)]: of the block evaluated last, each row given the others */
    struct update *update;
    real *codes;                         /* [particles x n x code_dim] */
    struct outcome *outcomes;            /* [particles] */
    struct fit fit[BPCN_MAX_LAYERS + 1]; /* of the code evaluated last, one row */
    struct norms norms;                  /* of the particle */
    double unexplained;                  /* by the start, per entry */
    double extra, leak;                  /* of the present step, see schedule.h */
    size_t skipped;                      /* steps left out */
    struct gram **grams;                 /* [particles], each may be NULL, or NULL */
    size_t *sources;                     /* [particles]: see model_resample */
    double *leverage;                    /* [particles]: z U z' of the sensory layer */
    double *log_weights;                 /* [particles]: after the block */
};

static void writer_free(struct writer *w)
{
    workspace_free(w->work);
    team_free(w->team);
    block_free(w->block);
    weights_free(w->weights);
    free(w->conditional);
    update_free(w->update);
    free(w->codes);
    free(w->outcomes);
    free(w->leverage);
    norms_free(&w->norms);
    free(w->log_weights);
    free(w->sources);
    for (size_t k = 0; w->grams != NULL && k < w->model->options.particles; k++)
        gram_free(w->grams[k]);
    free(w->grams);
}

/* G for every particle, when `rows` single rows are to come and pay for it. */
static int create_grams(struct writer *w, size_t rows)
{
    const struct model *m = w->model;
    if (m->options.minimizer != BPCN_LBFGS || m->options.layers == 0 || !gram_pays(m->width[1], m->width[0], rows))
        return 0;
    w->grams = alloc_zeroed(m->options.particles, sizeof(struct gram *));
    for (size_t k = 0; w->grams != NULL && k < m->options.particles; k++) {
        w->grams[k] = gram_create(m->width[1], m->width[0], w->team);
        if (w->grams[k] == NULL)
            return -1;
        gram_fill(w->grams[k], &m->particles[k].layer[0]);
    }
    return w->grams != NULL ? 0 : -1;
}

/* Room for blocks of n rows, of which `blocks` are to come. */
static int writer_create(struct writer *w, struct model *model, size_t n, size_t blocks)
{
    size_t particles = model->options.particles;
    w->model = model;
    w->n = n;
    w->team = team_create(model->options.threads);
    w->work = workspace_create(model, 1, 0, w->team);
    w->block = n > 1 ? block_create(model, n, w->team) : NULL;
    w->conditional = alloc_zeroed(n * (model->options.layers + 1), sizeof *w->conditional);
    w->update = update_create(model);
    w->codes = alloc_zeroed(particles * n, model->code_dim * sizeof *w->codes);
    w->outcomes = alloc_zeroed(particles, sizeof *w->outcomes);
    w->leverage = alloc_zeroed(particles, sizeof *w->leverage);
    w->log_weights = alloc_zeroed(particles, sizeof *w->log_weights);
    w->sources = alloc_zeroed(particles, sizeof *w->sources);
    int complete = w->work && w->update && w->codes && w->outcomes && w->leverage && w->log_weights && w->sources &&
                   w->conditional && (n == 1 || w->block);
    if (norms_create(&w->norms, model) != 0 || !complete)
        return -1;
    w->update->team = w->team;
    return n == 1 ? create_grams(w, blocks) : 0;
}

/* The energy of one row of the block, w->row. */
static void evaluate_row(void *context, size_t n, const size_t *rows, const real *points, double *energy, real *grad)
{
    struct writer *w = context;
    double count = (double)w->model->width[0];
    struct batch batch = {.n = 1,
                          .x0 = &w->row,
                          .count = &count,
                          .extra = &w->extra,
                          .h = points,
                          .leak = &w->leak,
                          .weighing = &the_density};
    (void)n;
    (void)rows;
    particle_evaluate(w->model, w->particle, &batch, w->work, energy, grad, NULL, w->fit);
}

/* The energy of the block. */
static void evaluate_block(void *context, size_t n, const size_t *rows, const real *points, double *energy, real *grad)
{
    struct writer *w = context;
    (void)n;
    (void)rows;
    block_evaluate(w->model, w->particle, w->weights, w->x, points, w->extra, w->leak, w->block, energy, grad,
                   w->conditional);
}

static int only_stage(void *context, size_t row, size_t number, real *point, struct stage *stage)
{
    const struct writer *w = context;
    (void)row;
    (void)point;
    *stage = (struct stage){MOST_ITERATIONS, density_tolerance(w->model)};
    return number == 0;
}

/* Enters step `number` of those left; NULL after the last. */
static const struct step *take_step(struct writer *w, struct steps steps, size_t number)
{
    number += w->skipped;
    if (number == steps.count)
        return NULL;
    w->extra = steps.step[number].extra * w->unexplained;
    w->leak = steps.step[number].leak;
    return &steps.step[number];
}

static int next_step(void *context, size_t row, size_t number, real *point, struct stage *stage)
{
    struct writer *w = context;
    (void)row;
    (void)point;
    const struct step *step = take_step(w, write_steps(w->model->options.activation), number);
    if (step != NULL)
        *stage = stage_of(step, density_tolerance(w->model));
    return step != NULL;
}

static int scale(void *context, size_t row, real *inverse)
{
    struct writer *w = context;
    (void)row;
    inverse_curvature(w->model, &w->norms, w->fit, (double)w->model->width[0], w->extra, w->leak, &the_density,
                      inverse);
    return 1;
}

/* Each row of a block has the curvature that it has given the others. */
static int scale_block(void *context, size_t row, real *inverse)
{
    const struct writer *w = context;
    size_t layers = w->model->options.layers + 1, code = w->model->code_dim;
    (void)row;
    for (size_t i = 0; i < w->n; i++)
        inverse_curvature(w->model, &w->norms, w->conditional + i * layers, (double)w->model->width[0], 0, w->leak,
                          &the_density, inverse + i * code);
    return 1;
}

/* Steps of writes from number `first` on. */
static bpcn_status minimize_row(struct writer *w, size_t first, real *code, struct outcome *outcome)
{
    struct objective objective = {w, w->model->code_dim, evaluate_row, next_step, scale, NULL, w->work->jump};
    size_t before = outcome->evaluations;
    w->skipped = first;
    bpcn_status status = lbfgs_minimize(&objective, 1, 1, code, outcome);
    outcome->evaluations += before;
    return status;
}

/* Whether an energy through inner products is that of the layer itself, but for roundings. */
static int agree(const struct writer *w, double through_products, double direct)
{
    return fabs(through_products - direct) <= (double)w->n * density_tolerance(w->model) + 1e-6 * fabs(direct);
}

/* The energy of a code that was found through G, from the layer itself. Where the two differ, G has
   drifted from the layer's mean, or double cannot hold it: then the last step is repeated without. */
static bpcn_status confirm_row(struct writer *w, real *code, struct outcome *outcome)
{
    const size_t row = 0;
    double through_gram = outcome->energy;
    struct gram **gram = &w->grams[w->particle - w->model->particles];
    w->work->gram = NULL;
    evaluate_row(w, 1, &row, code, &outcome->energy, NULL);
    outcome->evaluations++;
    if (agree(w, through_gram, outcome->energy))
        return BPCN_OK;
    if (gram_age(*gram) < WORTH_KEEPING) {
        gram_free(*gram);
        *gram = NULL;
    } else {
        gram_fill(*gram, &w->particle->layer[0]);
    }
    return minimize_row(w, write_steps(w->model->options.activation).count - 1, code, outcome);
}

/* Our way: from the top-down start through the steps of writes. */
static bpcn_status infer_row(struct writer *w, const real *x, real *code, struct outcome *outcome)
{
    const size_t row = 0;
    struct gram *gram = w->grams != NULL ? w->grams[w->particle - w->model->particles] : NULL;
    if (gram != NULL)
        gram_aim(gram, &w->particle->layer[0], x);
    w->work->gram = gram;
    w->row = x;
    w->extra = 0;
    w->leak = starts_linear(w->model->options.activation) ? 1 : 0;
    start_top_down(w->model, w->particle, w->leak, w->work, code);
    evaluate_row(w, 1, &row, code, &outcome->energy, NULL);
    w->unexplained = w->fit[0].squares / (double)w->model->width[0];
    outcome->evaluations = 1;
    bpcn_status status = minimize_row(w, 0, code, outcome);
    return status == BPCN_OK && gram != NULL ? confirm_row(w, code, outcome) : status;
}

static int next_block_step(void *context, size_t row, size_t number, real *points, struct stage *stage)
{
    struct writer *w = context;
    (void)row;
    (void)points;
    const struct step *step = take_step(w, block_steps(w->model->options.activation), number);
    if (step == NULL)
        return 0;
    *stage = step->stage;
    stage->tolerance = (double)w->n * fmax(stage->tolerance, BLOCK_SLACK * density_tolerance(w->model));
    return 1;
}

static bpcn_status minimize_block(struct writer *w, size_t first, real *codes, struct outcome *outcome)
{
    struct objective together = {w,   w->n * w->model->code_dim, evaluate_block, next_block_step, scale_block, NULL,
                                 NULL};
    w->skipped = first;
    size_t before = outcome->evaluations;
    bpcn_status status = lbfgs_minimize(&together, 1, 1, codes, outcome);
    outcome->evaluations = before + w->n * outcome->evaluations;
    return status;
}

/* The energy of a block that was found by inner products, from the layer itself; see confirm_row. */
static bpcn_status confirm_block(struct writer *w, real *codes, struct outcome *outcome)
{
    const size_t row = 0;
    double by_products = outcome->energy;
    real *grad = alloc_zeroed(w->n * w->model->code_dim, sizeof *grad);
    if (grad == NULL)
        return BPCN_NO_MEMORY;
    block_aim(w->model, NULL, NULL, w->block);
    evaluate_block(w, 1, &row, codes, &outcome->energy, grad);
    outcome->evaluations += w->n;
    free(grad);
    if (agree(w, by_products, outcome->energy))
        return BPCN_OK;
    return minimize_block(w, block_steps(w->model->options.activation).count - 1, codes, outcome);
}

/* What the start leaves unexplained of the block, per entry. */
static double unexplained_by(struct writer *w, const real *code)
{
    size_t dim = w->model->width[0];
    real *prediction = w->work->error;
    double sum = 0;
    particle_predict(w->model, w->particle, 1, code, w->work, prediction);
    for (size_t j = 0; j < w->n * dim; j++) {
        double e = (double)w->x[j] - (double)prediction[j % dim];
        sum += e * e;
    }
    return sum / (double)(w->n * dim);
}

/* Together from the first step on: rows that were inferred each on its own would have taken the same
   codes, and coming apart takes longer than finding their places. */
static bpcn_status infer_block(struct writer *w, real *codes, struct outcome *outcome)
{
    const struct model *m = w->model;
    size_t code = m->code_dim;
    int products = m->options.layers > 0 && gram_pays(m->width[1], m->width[0], w->n);
    start_top_down(m, w->particle, starts_linear(m->options.activation) ? 1 : 0, w->work, codes);
    for (size_t i = 1; i < w->n; i++)
        memcpy(codes + i * code, codes, code * sizeof *codes);
    w->unexplained = unexplained_by(w, codes);
    if (block_aim(m, products ? w->particle : NULL, w->x, w->block) != 0)
        return BPCN_NO_MEMORY;
    outcome->evaluations = 0;
    bpcn_status status = minimize_block(w, 0, codes, outcome);
    return status == BPCN_OK && products ? confirm_block(w, codes, outcome) : status;
}

static bpcn_status infer_ours(struct writer *w, real *codes, struct outcome *outcome)
{
    const struct gram *gram = w->grams != NULL ? w->grams[w->particle - w->model->particles] : NULL;
    norms_compute(w->model, w->particle, gram, &w->norms);
    return w->n > 1 ? infer_block(w, codes, outcome) : infer_row(w, w->x, codes, outcome);
}

/* The paper's way: Adam from a random start, or from the one given. */
static bpcn_status infer_adam(struct writer *w, size_t k, const double *starts, real *codes, struct outcome *outcome)
{
    const bpcn_options *o = &w->model->options;
    size_t code = w->model->code_dim;
    struct objective objective = {w,    w->n * code, w->n > 1 ? evaluate_block : evaluate_row, only_stage, NULL,
                                  NULL, NULL};
    struct adam_options how = {o->adam_rate, o->adam_stop, o->adam_steps};
    w->row = w->x;
    w->extra = w->leak = 0;
    for (size_t i = 0; i < w->n; i++)
        start_random(w->model, stream_id(STREAM_START, w->model->writes + i, k), codes + i * code);
    for (size_t j = 0; starts != NULL && j < w->n * code; j++)
        codes[j] = (real)starts[j];
    return adam_minimize(&objective, 1, &how, codes, outcome, NULL);
}

/* The codes of the block in particle k. */
static bpcn_status infer(struct writer *w, size_t k, const double *starts)
{
    real *codes = w->codes + k * w->n * w->model->code_dim;
    w->particle = &w->model->particles[k];
    if (w->n > 1) {
        weights_free(w->weights);
        w->weights = weights_create(w->model, w->particle, w->team);
        if (w->weights == NULL)
            return BPCN_NO_MEMORY;
    }
    bpcn_status status = w->model->options.minimizer == BPCN_ADAM ? infer_adam(w, k, starts, codes, &w->outcomes[k])
                                                                  : infer_ours(w, codes, &w->outcomes[k]);
    w->leverage[k] = w->n == 1 ? w->fit[0].variance - noise_variance(w->model, 0) : NAN;
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
    row.leverage = w->leverage[best];
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

/* One particle. For given codes the joint update equals the updates one by one, in any order; what
   inference needs of the covariances is made once, after the last. */
static void condition_particle(struct model *model, size_t k, const struct change *change, struct update *update)
{
    const real *x = change->x, *codes = change->codes;
    size_t code = model->code_dim, dim = model->width[0], rows = change->rows;
    struct particle *particle = &model->particles[k];
    int deferred = update->deferred;
    update->deferred = deferred || rows > 1;
    for (size_t i = 0; i < rows; i++)
        particle_update(model, particle, x + i * dim, codes + (k * rows + i) * code, 1, update);
    for (size_t l = 0; update->deferred && !deferred && l < model->options.layers; l++)
        layer_refresh(&particle->layer[l]);
    update->deferred = deferred;
}

static void condition(struct model *model, const struct change *change, struct update *update, struct gram **grams,
                      size_t *sources)
{
    for (size_t k = 0; k < model->options.particles; k++) {
        update->gram = grams != NULL ? grams[k] : NULL;
        condition_particle(model, k, change, update);
        model->log_weights[k] = change->log_weights[k];
    }
    if (model->options.resample)
        model_resample(model, sources);
    model->writes += change->rows;
}

bpcn_status core_repeat_write(struct model *model, const struct change *change)
{
    struct update *update = update_create(model);
    if (update == NULL)
        return BPCN_NO_MEMORY;
    update->deferred = 1;
    condition(model, change, update, NULL, NULL);
    update_free(update);
    return BPCN_OK;
}

/* Particles that were replaced by others have theirs. */
static void resample_grams(struct writer *w)
{
    for (size_t k = 0; w->grams != NULL && k < w->model->options.particles; k++) {
        const struct gram *from = w->grams[w->sources[k]];
        if (w->sources[k] == k)
            continue;
        if (from != NULL && w->grams[k] != NULL) {
            gram_copy(w->grams[k], from);
        } else {
            gram_free(w->grams[k]);
            w->grams[k] = NULL;
        }
    }
}

bpcn_status core_write(struct model *model, const void *x, size_t n, size_t block, const struct write_request *request,
                       size_t *written, uint64_t *evaluations)
{
    struct writer w = {0};
    size_t entries = model->options.particles * model->code_dim;
    bpcn_status status = writer_create(&w, model, block, n / block) == 0 ? BPCN_OK : BPCN_NO_MEMORY;
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
        struct change change = {
            .kind = CHANGE_WRITE, .rows = block, .x = w.x, .codes = w.codes, .log_weights = w.log_weights};
        status = model_commit(model, &change);
        if (status != BPCN_OK)
            break;
        condition(model, &change, w.update, w.grams, w.sources);
        if (model->options.resample)
            resample_grams(&w);
        *written += block;
        *evaluations += row.evaluations;
    }
    writer_free(&w);
    return status;
}
