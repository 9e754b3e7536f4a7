/*
 * delete: take one written row back (compiled per precision).
 *
 * The inverse update must be made at the code h that the row had when it was written, which the
 * memory does not keep. But h was a stationary point of the energy under the parameters without
 * the row, and the gradient of that energy, with the row taken back at h, is in terms of the
 * present parameters
 *
 *   dE'/dz_{l+1} = (d_l z U_l - e_l M_l') / sx^2,   dE'/dx_l = e_l / sx^2:
 *
 * the gradient of the expected energy sum_l (|e_l|^2 + d_l z U z') / (2 sx^2). So h is found by
 * minimising that, from where inference ends. A row that the memory holds is one that it predicts
 * there within its noise, and whose removal leaves every covariance positive definite.
 */
#include "editor.h"

#include "start.h"

#include <math.h>
#include <string.h>

enum { EXPECTED_ITERATIONS = 2000 };
static const double most_deviations = 3; /* of the noise, root mean square over the row */
static const size_t first_row = 0;

/* Whether the row, at its code, is something that the particle holds. */
static int holds(struct editor *e, size_t k, const real *code)
{
    double most = most_deviations * most_deviations * noise_variance(e->model, 0);
    return fit_of(e->rows, 0)->squares <= most * (double)e->model->width[0] &&
           particle_holds(e->model, &e->model->particles[k], code, e->update);
}

static bpcn_status find_code(struct editor *e, size_t k)
{
    struct model *m = e->model;
    struct outcome *outcome = &e->outcomes[k];
    struct energy energy = {.model = m, .particle = &m->particles[k], .weighing = &the_density};
    struct curvature curvature = {&e->norms, NULL};
    struct schedule inferred = {.steps = read_steps(m->options.activation), .last = {0, density_tolerance(m)}};
    struct schedule expected = {.last = {EXPECTED_ITERATIONS, 1e-9}};
    real *code = e->codes + k * m->code_dim;
    norms_compute(m, energy.particle, NULL, &e->norms);
    start_top_down(m, energy.particle, first_leak(m->options.activation), e->rows->lane[0].work, code);
    bpcn_status status = infer(e->rows, &energy, &curvature, &inferred, 1, &first_row, code, outcome);
    energy.expected = 1;
    if (status == BPCN_OK)
        status = infer(e->rows, &energy, &curvature, &expected, 1, &first_row, code, outcome);
    if (status != BPCN_OK)
        return status;
    if (!isfinite(outcome->energy))
        return BPCN_NUMERIC;
    return holds(e, k, code) ? BPCN_OK : BPCN_REFUSED;
}

bpcn_status find_delete(struct editor *e, const void *x, struct change *change)
{
    bpcn_status status = editor_ready(e, CHANGE_DELETE);
    if (status != BPCN_OK)
        return status;
    editor_look(e, x, NULL);
    for (size_t k = 0; status == BPCN_OK && k < e->model->options.particles; k++)
        status = find_code(e, k);
    *change = (struct change){.kind = CHANGE_DELETE, .rows = 1, .x = x, .codes = e->codes};
    return status;
}

/* Takes the row back in particle k; returns its evidence, which then leaves the weight. */
static double take_back(struct editor *e, size_t k, const real *x, const real *code)
{
    double value;
    struct energy energy = {.model = e->model, .particle = &e->model->particles[k], .weighing = &the_density};
    particle_update(e->model, &e->model->particles[k], x, NULL, code, -1, 1, (struct following){NULL, NULL}, e->update);
    rows_evaluate(e->rows, &energy, 0, 1, &first_row, code, &value, NULL, NULL);
    return value;
}

void make_delete(struct editor *e, const struct change *change)
{
    struct model *m = e->model;
    size_t particles = m->options.particles;
    const real *codes = change->codes;
    editor_look(e, change->x, NULL);
    e->rows->extra[0] = e->rows->leak[0] = 0;
    for (size_t k = 0; k < particles; k++)
        e->log_weights[k] = m->log_weights[k] + take_back(e, k, change->x, codes + k * m->code_dim);
    if (normalize_log_weights(particles, e->log_weights) == 0)
        memcpy(m->log_weights, e->log_weights, particles * sizeof *e->log_weights);
    m->deletes++;
}
