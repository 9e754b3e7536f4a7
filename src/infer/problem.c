/* The energies of a memory as objectives (compiled per precision). */
#include "problem.h"

#include "alloc.h"

#include <stdlib.h>
#include <string.h>

static void lane_free(struct lane *lane)
{
    workspace_free(lane->work);
    free(lane->x0);
    free(lane->known);
    free(lane->vectors);
    free(lane->count);
    free(lane->fit);
}

static int lane_create(struct lane *lane, const struct problem *p, size_t most, struct team *team)
{
    lane->work = workspace_create(p->model, most, 0, team);
    lane->x0 = alloc_zeroed(most, sizeof *lane->x0);
    lane->known = p->known ? alloc_zeroed(most, sizeof *lane->known) : NULL;
    size_t code = p->model->code_dim, wide = 2 * p->model->widest_hidden;
    size_t scratch = code > wide ? code : wide;
    lane->vectors = alloc_zeroed(most, (2 * code + scratch) * sizeof *lane->vectors);
    lane->count = alloc_zeroed(most, 3 * sizeof *lane->count);
    lane->fit = alloc_zeroed(most * (p->model->options.layers + 1), sizeof *lane->fit);
    if (!lane->work || !lane->x0 || !lane->vectors || !lane->count || !lane->fit || (p->known && !lane->known))
        return -1;
    lane->work->weights = (const struct weights *const *)p->weights;
    lane->slopes = lane->vectors + most * code;
    lane->scratch = lane->slopes + most * code;
    lane->extra = lane->count + most;
    lane->leak = lane->extra + most;
    return 0;
}

static int create_lanes(struct problem *p)
{
    p->lanes = p->rows > 1 ? team_size(p->team) : 1;
    p->lane = alloc_zeroed(p->lanes, sizeof *p->lane);
    for (size_t i = 0; p->lane != NULL && i < p->lanes; i++)
        if (lane_create(&p->lane[i], p, p->rows < BATCH ? p->rows : BATCH, p->rows > 1 ? NULL : p->team) != 0)
            return -1;
    return p->lane != NULL ? 0 : -1;
}

struct problem *problem_create(const struct model *model, size_t rows, int with_mask)
{
    struct problem *p = alloc_zeroed(1, sizeof *p);
    if (p == NULL)
        return NULL;
    p->model = model;
    p->rows = rows;
    p->weighing = &the_density;
    p->team = team_create(model->options.threads);
    p->x0 = alloc_zeroed(rows, sizeof *p->x0);
    p->known = with_mask ? alloc_zeroed(rows, sizeof *p->known) : NULL;
    p->count = alloc_zeroed(rows, 3 * sizeof *p->count);
    p->fit = alloc_zeroed(rows * (model->options.layers + 1), sizeof *p->fit);
    p->weights = alloc_zeroed(model->options.particles, sizeof(struct weights *));
    if (!p->x0 || !p->count || !p->fit || !p->weights || (with_mask && !p->known) || create_lanes(p) != 0) {
        problem_free(p);
        return NULL;
    }
    p->extra = p->count + rows;
    p->leak = p->extra + rows;
    for (size_t i = 0; i < rows; i++)
        p->count[i] = (double)model->width[0];
    return p;
}

void problem_free(struct problem *p)
{
    if (p == NULL)
        return;
    for (size_t i = 0; p->lane != NULL && i < p->lanes; i++)
        lane_free(&p->lane[i]);
    for (size_t k = 0; p->weights != NULL && k < p->model->options.particles; k++)
        weights_free(p->weights[k]);
    free(p->lane);
    free(p->weights);
    free(p->x0);
    free(p->known);
    free(p->count);
    free(p->fit);
    team_free(p->team);
    free(p);
}

bpcn_status problem_choose(struct problem *p, const struct particle *particle)
{
    p->particle = particle;
    if (p->rows == 1)
        return BPCN_OK;
    for (size_t k = 0; k < p->model->options.particles; k++) {
        if ((particle != NULL && particle != &p->model->particles[k]) || p->weights[k] != NULL)
            continue;
        p->weights[k] = weights_create(p->model, &p->model->particles[k], p->team);
        if (p->weights[k] == NULL)
            return BPCN_NO_MEMORY;
    }
    return BPCN_OK;
}

void problem_evaluate(struct problem *p, size_t lane, size_t n, const size_t *rows, const real *codes, double *energy,
                      real *grad, double *responsibility)
{
    struct lane *mine = &p->lane[lane];
    struct batch batch = {.n = n,
                          .x0 = mine->x0,
                          .known = p->known ? mine->known : NULL,
                          .count = mine->count,
                          .extra = mine->extra,
                          .h = codes,
                          .leak = mine->leak,
                          .weighing = p->weighing,
                          .inner = p->particle == p->inner_particle ? p->inner : NULL,
                          .inner_rows = rows,
                          .lane = lane};
    for (size_t i = 0; i < n; i++) {
        mine->x0[i] = p->x0[rows[i]];
        mine->count[i] = p->count[rows[i]];
        mine->extra[i] = p->extra[rows[i]];
        mine->leak[i] = p->leak[rows[i]];
        if (p->known != NULL)
            mine->known[i] = p->known[rows[i]];
    }
    if (p->particle == NULL) {
        mixture_evaluate(p->model, &batch, mine->work, energy, grad, NULL, responsibility);
        return;
    }
    particle_evaluate(p->model, p->particle, &batch, mine->work, energy, grad, NULL, mine->fit);
    size_t layers = p->model->options.layers + 1;
    for (size_t i = 0; i < n; i++)
        memcpy(p->fit + rows[i] * layers, mine->fit + i * layers, layers * sizeof *p->fit);
}
