/* Set-up of a read (compiled per precision). */
#include "read.h"

#include "alloc.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* x = the queries, with 0 where nothing is known and the query's entry is no number. */
static void take_queries(struct reading *r)
{
    size_t dim = r->model->width[0], n = r->request->n;
    const unsigned char *known = r->request->known;
    memcpy(r->x, r->request->query, n * dim * sizeof *r->x);
    for (size_t i = 0; known != NULL && i < n; i++) {
        r->rows->known[i] = known + i * dim;
        if (r->objective.integrated)
            r->rows->count[i] = (double)known_entries(dim, known + i * dim);
        for (size_t j = 0; j < dim; j++)
            if (!known[i * dim + j] && !isfinite(r->x[i * dim + j]))
                r->x[i * dim + j] = 0;
    }
    look_at_queries(r);
}

bpcn_status reading_create(struct reading *r, const struct shard *shard, struct team *team,
                           const struct read_request *request)
{
    const struct model *model = shard->model;
    size_t particles = model->options.particles, n = request->n, dim = model->width[0];
    *r = (struct reading){.shard = shard, .model = model, .team = team, .request = request};
    r->objective = read_objective(model, shard->prepared, &request->options);
    r->rows = rows_create(model, n, request->known != NULL, team);
    r->weights = alloc_zeroed(particles, sizeof *r->weights);
    r->x = alloc_zeroed(n, dim * sizeof *r->x);
    r->codes = alloc_zeroed(n, model->code_dim * sizeof *r->codes);
    r->outcome = alloc_zeroed(n, sizeof *r->outcome);
    r->particle = alloc_zeroed(2 * n, sizeof *r->particle);
    r->decided = alloc_zeroed(n, 1);
    r->log_density = alloc_zeroed(2 * n, sizeof *r->log_density);
    r->series = r->rows ? alloc_zeroed(r->rows->lanes, dim * sizeof *r->series) : NULL;
    r->share = r->rows ? alloc_zeroed(r->rows->lanes * BATCH * particles, sizeof *r->share) : NULL;
    r->fits = alloc_zeroed(particles * (model->options.layers + 1), sizeof *r->fits);
    r->predictions = alloc_zeroed(particles + 2, dim * sizeof *r->predictions);
    if (!r->rows || !r->weights || !r->x || !r->codes || !r->outcome || !r->particle || !r->decided ||
        !r->log_density || !r->series || !r->share || !r->fits || !r->predictions)
        return BPCN_NO_MEMORY;
    r->rows->trace = request->options.trace;
    r->rows->trace_room = request->options.trace_room;
    r->answers = request->answers;
    r->list = r->particle + n;
    r->pattern = r->log_density + n;
    r->blend = r->predictions + particles * dim;
    r->before = r->blend + dim;
    r->density = (struct energy){.model = model, .weighing = &the_density, .weights = r->weights};
    r->mixture = r->density;
    r->mixture.weighing = &r->objective.weighing;
    take_queries(r);
    return BPCN_OK;
}

void reading_free(struct reading *r)
{
    rows_free(r->rows);
    free(r->weights);
    free(r->x);
    free(r->codes);
    free(r->outcome);
    free(r->particle);
    free(r->decided);
    free(r->log_density);
    free(r->series);
    free(r->share);
    free(r->fits);
    free(r->predictions);
}

void look_at_queries(struct reading *r)
{
    for (size_t i = 0; i < r->request->n; i++)
        r->rows->x0[i] = r->x + i * r->model->width[0];
}

void look_at_answers(struct reading *r)
{
    for (size_t i = 0; i < r->request->n; i++)
        r->rows->x0[i] = r->answers + i * r->model->width[0];
}

bpcn_status ready_mixture(struct reading *r)
{
    for (size_t k = 0; k < r->model->options.particles; k++) {
        r->weights[k] = prepared_weights(r->shard->prepared, k);
        if (r->weights[k] == NULL)
            return BPCN_NO_MEMORY;
    }
    return BPCN_OK;
}

bpcn_status read_energy(const struct shard *shard, struct team *team, const struct energy_request *request)
{
    struct reading r;
    struct read_request read = {
        .query = request->x, .known = request->known, .n = request->n, .options = request->options};
    size_t code = shard->model->code_dim, dim = shard->model->width[0];
    bpcn_status status = reading_create(&r, shard, team, &read);
    struct workspace *work = workspace_create(shard->model, 1, request->grad_x != NULL, NULL);
    if (status == BPCN_OK && work == NULL)
        status = BPCN_NO_MEMORY;
    r.mixture.weights = NULL; /* rows one by one: as they are */
    double noise = r.objective.integrated ? fmax(0, request->options.noise) : 0, extra = noise * noise;
    for (size_t i = 0; status == BPCN_OK && i < request->n; i++) {
        struct batch batch = {.n = 1,
                              .x0 = r.rows->x0 + i,
                              .known = request->known ? r.rows->known + i : NULL,
                              .count = r.rows->count + i,
                              .extra = &extra,
                              .h = (const real *)request->codes + i * code};
        mixture_evaluate(&r.mixture, &batch, work, &request->energy[i],
                         request->grad ? (real *)request->grad + i * code : NULL,
                         request->grad_x ? (real *)request->grad_x + i * dim : NULL, NULL);
    }
    workspace_free(work);
    reading_free(&r);
    return status;
}
