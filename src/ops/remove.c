/*
 * delete: take one written row back (compiled per precision).
 *
 * The inverse update must be made at the code h that the row had when it was written, which the
 * memory does not keep. But h was a stationary point of the energy under the parameters without
 * the row, and the gradient of that energy, with the row taken back at h, is in terms of the
 * present parameters
 *
 *   dE'/dz_{l+1} = (d_l z U_l - e_l mean_l') / sx^2,   dE'/dx_l = e_l / sx^2:
 *
 * the gradient of the expected energy sum_l (|e_l|^2 + d_l z U z') / (2 sx^2). So h is found by
 * minimising that, from where inference ends. A row that the memory holds is one that it predicts
 * there within its noise, and whose removal leaves every covariance positive definite.
 */
#include "core_real.h"

#include "alloc.h"
#include "minimize.h"
#include "particle.h"
#include "schedule.h"
#include "start.h"
#include "update.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { EXPECTED_ITERATIONS = 2000 };
static const double most_deviations = 3; /* of the noise, root mean square over the row */

struct remover {
    struct model *model;
    const struct particle *particle;     /* being inferred in */
    const real *x;                       /* [dim] */
    int expected;                        /* which energy */
    double extra;                        /* variance added to s_0 */
    struct fit fit[BPCN_MAX_LAYERS + 1]; /* of the code evaluated last */
    double leak;
    struct team *team;
    struct workspace *work;
    struct update *update;
    struct norms norms;
    real *codes;         /* [particles x code_dim] */
    double *log_weights; /* [particles]: without the row */
};

static void evaluate(void *context, size_t n, const size_t *rows, const real *points, double *energy, real *grad)
{
    struct remover *r = context;
    double count = (double)r->model->width[0];
    struct batch batch = {.n = 1,
                          .x0 = &r->x,
                          .count = &count,
                          .extra = &r->extra,
                          .h = points,
                          .expected = r->expected,
                          .leak = &r->leak,
                          .weighing = &the_density};
    (void)n;
    (void)rows;
    particle_evaluate(r->model, r->particle, &batch, r->work, energy, grad, NULL, r->fit);
}

static int annealing(void *context, size_t row, size_t number, real *point, struct stage *stage)
{
    struct remover *r = context;
    struct steps steps = read_steps(r->model->options.activation);
    (void)row;
    (void)point;
    if (number == steps.count)
        return 0;
    const struct step *step = &steps.step[number];
    r->extra = step->extra;
    r->leak = step->leak;
    *stage = stage_of(step, density_tolerance(r->model));
    return 1;
}

static int expected_stage(void *context, size_t row, size_t number, real *point, struct stage *stage)
{
    (void)context;
    (void)row;
    (void)point;
    *stage = (struct stage){EXPECTED_ITERATIONS, 1e-9};
    return number == 0;
}

static int scale(void *context, size_t row, real *inverse)
{
    struct remover *r = context;
    (void)row;
    inverse_curvature(r->model, &r->norms, r->fit, (double)r->model->width[0], r->extra, r->leak, &the_density,
                      inverse);
    return 1;
}

/* Whether the row, at its code, is something that the particle holds. */
static int holds(struct remover *r, const real *code)
{
    double noise = noise_variance(r->model, 0), most = most_deviations * most_deviations * noise;
    return r->fit[0].squares <= most * (double)r->model->width[0] &&
           particle_holds(r->model, r->particle, code, r->update);
}

static bpcn_status find_code(struct remover *r, size_t k)
{
    struct objective inferred = {r, r->model->code_dim, evaluate, annealing, scale, NULL, r->work->jump};
    struct objective expected = {r, r->model->code_dim, evaluate, expected_stage, scale, NULL, r->work->jump};
    struct outcome outcome;
    real *code = r->codes + k * r->model->code_dim;
    r->particle = &r->model->particles[k];
    r->expected = 0;
    norms_compute(r->model, r->particle, NULL, &r->norms);
    start_top_down(r->model, r->particle, starts_linear(r->model->options.activation) ? 1 : 0, r->work, code);
    bpcn_status status = lbfgs_minimize(&inferred, 1, 1, code, &outcome);
    r->expected = 1;
    if (status == BPCN_OK)
        status = lbfgs_minimize(&expected, 1, 1, code, &outcome);
    if (status != BPCN_OK)
        return status;
    if (!isfinite(outcome.energy))
        return BPCN_NUMERIC;
    return holds(r, code) ? BPCN_OK : BPCN_REFUSED;
}

static void remover_free(struct remover *r)
{
    workspace_free(r->work);
    team_free(r->team);
    update_free(r->update);
    norms_free(&r->norms);
    free(r->codes);
    free(r->log_weights);
}

static int remover_create(struct remover *r)
{
    size_t particles = r->model->options.particles;
    r->team = team_create(r->model->options.threads);
    r->work = workspace_create(r->model, 1, 0, r->team);
    r->update = update_create(r->model);
    r->codes = alloc_zeroed(particles, r->model->code_dim * sizeof *r->codes);
    r->log_weights = alloc_zeroed(particles, sizeof *r->log_weights);
    return norms_create(&r->norms, r->model) == 0 && r->work && r->update && r->codes && r->log_weights ? 0 : -1;
}

/* Takes the row back in particle k, and its evidence out of the weight. */
static void take_back(struct remover *r, size_t k)
{
    const size_t row = 0;
    double energy;
    real *code = r->codes + k * r->model->code_dim;
    particle_update(r->model, &r->model->particles[k], r->x, code, -1, r->update);
    r->particle = &r->model->particles[k];
    r->expected = 0;
    evaluate(r, 1, &row, code, &energy, NULL);
    r->log_weights[k] = r->model->log_weights[k] + energy;
}

static void take_back_all(struct remover *r)
{
    struct model *model = r->model;
    size_t particles = model->options.particles;
    r->extra = r->leak = 0; /* as the last step of inference left them */
    for (size_t k = 0; k < particles; k++)
        take_back(r, k);
    if (normalize_log_weights(particles, r->log_weights) == 0)
        memcpy(model->log_weights, r->log_weights, particles * sizeof *r->log_weights);
    model->deletes++;
}

bpcn_status core_repeat_remove(struct model *model, const struct change *change)
{
    struct remover r = {.model = model, .x = change->x};
    bpcn_status status = remover_create(&r) == 0 ? BPCN_OK : BPCN_NO_MEMORY;
    if (status == BPCN_OK) {
        memcpy(r.codes, change->codes, model->options.particles * model->code_dim * sizeof *r.codes);
        take_back_all(&r);
    }
    remover_free(&r);
    return status;
}

bpcn_status core_remove(struct model *model, const void *x)
{
    struct remover r = {.model = model, .x = x};
    size_t particles = model->options.particles;
    bpcn_status status = remover_create(&r) == 0 ? BPCN_OK : BPCN_NO_MEMORY;
    for (size_t k = 0; status == BPCN_OK && k < particles; k++)
        status = find_code(&r, k);
    if (status == BPCN_OK)
        status = model_commit(model, &(struct change){.kind = CHANGE_DELETE, .rows = 1, .x = x, .codes = r.codes});
    if (status == BPCN_OK)
        take_back_all(&r);
    remover_free(&r);
    return status;
}
