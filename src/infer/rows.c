/* Rows and their lanes (compiled per precision). */
#include "rows.h"

#include "alloc.h"

#include <stdlib.h>
#include <string.h>

static void lane_free(struct lane *lane)
{
    workspace_free(lane->work);
    free(lane->x0);
    free(lane->known);
    free(lane->codes);
    free(lane->vectors);
    free(lane->count);
    free(lane->fit);
}

static int lane_create(struct lane *lane, const struct rows *r, size_t most, struct team *team)
{
    size_t code = r->model->code_dim;
    lane->work = workspace_create(r->model, most, 0, team);
    lane->x0 = alloc_zeroed(most, sizeof *lane->x0);
    lane->known = alloc_zeroed(most, sizeof *lane->known);
    lane->codes = alloc_zeroed(most, code * sizeof *lane->codes);
    lane->vectors = alloc_zeroed(most, (2 * code + 2 * r->model->widest_hidden) * sizeof *lane->vectors);
    lane->count = alloc_zeroed(most, 3 * sizeof *lane->count);
    lane->fit = alloc_zeroed(most * (r->model->options.layers + 1), sizeof *lane->fit);
    if (!lane->work || !lane->x0 || !lane->known || !lane->codes || !lane->vectors || !lane->count || !lane->fit)
        return -1;
    lane->slopes = lane->vectors + most * code;
    lane->rough = lane->slopes + most * code;
    lane->extra = lane->count + most;
    lane->leak = lane->extra + most;
    return 0;
}

static int create_lanes(struct rows *r)
{
    r->lanes = r->n < threads_count(r->team) ? r->n : threads_count(r->team);
    size_t share = (r->n + r->lanes - 1) / r->lanes;
    r->lane = alloc_zeroed(r->lanes, sizeof *r->lane);
    for (size_t i = 0; r->lane != NULL && i < r->lanes; i++)
        if (lane_create(&r->lane[i], r, share < BATCH ? share : BATCH, r->n > 1 ? NULL : r->team) != 0)
            return -1;
    return r->lane != NULL ? 0 : -1;
}

struct rows *rows_create(const struct model *model, size_t n, int with_mask, struct team *team)
{
    struct rows *r = alloc_zeroed(1, sizeof *r);
    if (r == NULL)
        return NULL;
    r->model = model;
    r->n = n;
    r->team = team;
    r->x0 = alloc_zeroed(n, sizeof *r->x0);
    r->known = with_mask ? alloc_zeroed(n, sizeof *r->known) : NULL;
    r->count = alloc_zeroed(n, 3 * sizeof *r->count);
    r->all = alloc_zeroed(n, sizeof *r->all);
    r->settled = alloc_zeroed(n, 1);
    r->fit = alloc_zeroed(n * (model->options.layers + 1), sizeof *r->fit);
    if (!r->x0 || !r->all || !r->count || !r->settled || !r->fit || (with_mask && !r->known) || create_lanes(r) != 0) {
        rows_free(r);
        return NULL;
    }
    r->extra = r->count + n;
    r->leak = r->extra + n;
    for (size_t i = 0; i < n; i++) {
        r->count[i] = (double)model->width[0];
        r->all[i] = i;
    }
    return r;
}

void rows_free(struct rows *r)
{
    if (r == NULL)
        return;
    for (size_t i = 0; r->lane != NULL && i < r->lanes; i++)
        lane_free(&r->lane[i]);
    free(r->lane);
    free(r->all);
    free(r->x0);
    free(r->known);
    free(r->count);
    free(r->settled);
    free(r->fit);
    free(r);
}

void rows_evaluate(const struct rows *r, const struct energy *energy, size_t lane, size_t count, const size_t *list,
                   const real *codes, double *values, real *grad, double *responsibility)
{
    struct lane *mine = &r->lane[lane];
    struct batch batch = {.n = count,
                          .x0 = mine->x0,
                          .known = r->known ? mine->known : NULL,
                          .count = mine->count,
                          .extra = mine->extra,
                          .h = codes,
                          .leak = mine->leak,
                          .rows = list};
    for (size_t i = 0; i < count; i++) {
        mine->x0[i] = r->x0[list[i]];
        mine->count[i] = r->count[list[i]];
        mine->extra[i] = r->extra[list[i]];
        mine->leak[i] = r->leak[list[i]];
        if (r->known != NULL)
            mine->known[i] = r->known[list[i]];
    }
    if (energy->particle == NULL)
        mixture_evaluate(energy, &batch, mine->work, values, grad, NULL, responsibility);
    else
        particle_evaluate(energy, &batch, mine->work, values, grad, NULL, mine->fit);
}

double rows_power(const struct rows *r, size_t row)
{
    const unsigned char *known = r->known != NULL ? r->known[row] : NULL;
    const real *x = r->x0[row];
    double sum = 0;
    for (size_t j = 0; j < r->model->width[0]; j++)
        if (known == NULL || known[j])
            sum += (double)x[j] * (double)x[j];
    return sum;
}

void rows_keep(struct rows *r, size_t lane, size_t place, size_t row)
{
    size_t layers = r->model->options.layers + 1;
    memcpy(r->fit + row * layers, r->lane[lane].fit + place * layers, layers * sizeof *r->fit);
}

struct lanes_job {
    void (*job)(void *context, size_t lane, size_t lanes);
    void *context;
    size_t lanes;
};

static void run_lane(void *context, size_t part, size_t parts)
{
    const struct lanes_job *j = context;
    (void)parts;
    if (part < j->lanes)
        j->job(j->context, part, j->lanes);
}

void rows_run(struct rows *r, void (*job)(void *context, size_t lane, size_t lanes), void *context)
{
    struct lanes_job lanes = {job, context, r->lanes};
    if (r->lanes > 1)
        threads_run(r->team, run_lane, &lanes);
    else
        job(context, 0, 1);
}
