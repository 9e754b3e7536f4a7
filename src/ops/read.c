/*
 * read (compiled per precision).
 *
 * The code of a query is sought in each particle that could explain it best, from that particle's top-down start; the
 * best code is then refined under the mixture. A query without a mask counts as noisy, and the noise variance, unless
 * given, is estimated during the search from what the code leaves unexplained. Unknown entries are integrated out
 * unless the paper's objective is asked for: the residual and the log s_0 term then run over the known entries.
 */
#include "read.h"

#include "activation.h"
#include "alloc.h"
#include "linear.h"
#include "search.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_FLIP_ROUNDS = 4, POLISH_ITERATIONS = 400 };
/* Units of layer 1 up to which a row's linear code costs less than the search that it saves. */
enum { LINEAR_UNITS = 128 };
/* Steps from a linear code: some 7 are enough for a written row. */
enum { LINEAR_ITERATIONS = 30 };
/* Nats that a round of flips must gain for another to follow. */
static const double flip_gain = 0.05;
/* How far behind the best, in nats, a particle may be and still be searched: a constant, and per term of the energy.
   Larger: fewer wrong winners among particles, more searches. */
static const double lead_nats = 20, lead_nats_per_term = 0.002;
/* Share of an energy's terms by which its squares must exceed their expectation for a row to count as an outlier. */
static const double outlier_share = 0.1;
/* Tolerance, in nats, of a search that only tells which particle wins. */
static const double rough_tolerance = 1;

/* Weights of the sensory variance and of the layers above it in BPCN_OBJECTIVE_RECALL. They balance cost against
   error: docs/SOLVER.md has the measurements, scripts/choose-recall makes others. */
#ifndef RECALL_SENSORY
#define RECALL_SENSORY 0.1
#define RECALL_UPPER 0.1
#endif

/* ---- the objective */

static struct read_objective read_choose_objective(const struct model *model, struct cache *cache,
                                                   const bpcn_read_options *options)
{
    struct read_objective objective = {1, weighing_density, search_density_tolerance(model)};
    bpcn_objective chosen = options->objective;
    if (chosen == BPCN_OBJECTIVE_DEFAULT)
        chosen = model->options.minimizer == BPCN_ADAM ? BPCN_OBJECTIVE_PAPER : BPCN_OBJECTIVE_RECALL;
    if (chosen == BPCN_OBJECTIVE_PAPER)
        objective.integrated = 0;
    if (chosen == BPCN_OBJECTIVE_RECALL && model->options.layers > 0) /* docs/MODEL.md, Reading */
        objective = (struct read_objective){
            1, {RECALL_SENSORY, fmax(RECALL_UPPER, sqrt(cache_share_written(cache)))}, search_recall_tolerance(model)};
    return objective;
}

/* ---- set-up */

/* x = the queries, with 0 for unknown entries that are not finite. */
static void read_take_queries(struct read *r)
{
    size_t dim = r->model->width[0], n = r->request->n;
    const unsigned char *known = r->request->known;
    memcpy(r->x, r->request->query, n * dim * sizeof *r->x);
    for (size_t i = 0; known != NULL && i < n; i++) {
        r->rows->known[i] = known + i * dim;
        if (r->objective.integrated)
            r->rows->count[i] = (double)masks_count_known(dim, known + i * dim);
        for (size_t j = 0; j < dim; j++)
            if (!known[i * dim + j] && !isfinite(r->x[i * dim + j]))
                r->x[i * dim + j] = 0;
    }
    read_see_queries(r);
}

/* BPCN_NO_MEMORY or BPCN_OK; read_destroy in any case. */
static bpcn_status read_init(struct read *r, const struct shard *shard, struct team *team,
                             const struct read_request *request)
{
    const struct model *model = shard->model;
    size_t particles = model->options.particles, n = request->n, dim = model->width[0];
    *r = (struct read){.shard = shard, .model = model, .team = team, .request = request};
    r->objective = read_choose_objective(model, shard->cache, &request->options);
    r->rows = rows_create(model, n, request->known != NULL, team);
    r->weights = alloc_zeroed(particles, sizeof *r->weights);
    r->x = alloc_zeroed(n, dim * sizeof *r->x);
    r->codes = alloc_zeroed(n, model->code_dim * sizeof *r->codes);
    r->outcome = alloc_zeroed(n, sizeof *r->outcome);
    r->particle = alloc_zeroed(2 * n, sizeof *r->particle);
    r->decided = alloc_zeroed(n, 1);
    r->unprepared = alloc_zeroed(n, 1);
    r->log_density = alloc_zeroed(2 * n, sizeof *r->log_density);
    r->series = r->rows ? alloc_zeroed(r->rows->lanes, dim * sizeof *r->series) : NULL;
    r->share = r->rows ? alloc_zeroed(r->rows->lanes * BATCH * particles, sizeof *r->share) : NULL;
    r->fits = alloc_zeroed(particles * (model->options.layers + 1), sizeof *r->fits);
    r->predictions = alloc_zeroed(particles + 2, dim * sizeof *r->predictions);
    if (!r->rows || !r->weights || !r->x || !r->codes || !r->outcome || !r->particle || !r->decided || !r->unprepared ||
        !r->log_density || !r->series || !r->share || !r->fits || !r->predictions)
        return BPCN_NO_MEMORY;
    r->rows->trace = request->options.trace;
    r->rows->trace_room = request->options.trace_room;
    r->answers = request->answers;
    r->list = r->particle + n;
    r->pattern = r->log_density + n;
    r->blend = r->predictions + particles * dim;
    r->before = r->blend + dim;
    r->density = (struct energy){.model = model, .weighing = &weighing_density, .weights = r->weights};
    r->search_energy = r->density;
    r->search_energy.weighing = &r->objective.weighing;
    read_take_queries(r);
    return BPCN_OK;
}

static void read_destroy(struct read *r)
{
    rows_free(r->rows);
    free(r->weights);
    free(r->x);
    free(r->codes);
    free(r->outcome);
    free(r->particle);
    free(r->decided);
    free(r->unprepared);
    free(r->log_density);
    free(r->series);
    free(r->share);
    free(r->fits);
    free(r->predictions);
}

bpcn_status read_energy(const struct shard *shard, struct team *team, const struct energy_request *request)
{
    struct read r;
    struct read_request read = {
        .query = request->x, .known = request->known, .n = request->n, .options = request->options};
    size_t code = shard->model->code_dim, dim = shard->model->width[0];
    bpcn_status status = read_init(&r, shard, team, &read);
    struct workspace *work = workspace_create(shard->model, 1, request->grad_x != NULL, NULL);
    if (status == BPCN_OK && work == NULL)
        status = BPCN_NO_MEMORY;
    r.search_energy.weights = NULL; /* rows one by one do not pay for them */
    double noise = r.objective.integrated ? fmax(0, request->options.noise) : 0, extra = noise * noise;
    for (size_t i = 0; status == BPCN_OK && i < request->n; i++) {
        struct batch batch = {.n = 1,
                              .x0 = r.rows->x0 + i,
                              .known = request->known ? r.rows->known + i : NULL,
                              .count = r.rows->count + i,
                              .extra = &extra,
                              .h = (const real *)request->codes + i * code};
        energy_evaluate_mixture(&r.search_energy, &batch, work, &request->energy[i],
                                request->grad ? (real *)request->grad + i * code : NULL,
                                request->grad_x ? (real *)request->grad_x + i * dim : NULL, NULL);
    }
    workspace_free(work);
    read_destroy(&r);
    return status;
}

bpcn_status read_predict(const struct shard *shard, size_t n, const void *codes, void *rows)
{
    const struct model *model = shard->model;
    size_t most = n < BATCH ? n : BATCH, dim = model->width[0];
    struct energy energy = {
        .model = model, .particle = &model->particles[model_heaviest(model)], .weighing = &weighing_density};
    struct workspace *work = workspace_create(model, most > 0 ? most : 1, 0, NULL);
    if (work == NULL)
        return BPCN_NO_MEMORY;
    for (size_t first = 0; first < n; first += most) {
        size_t count = n - first < most ? n - first : most;
        energy_predict(&energy, count, (const real *)codes + first * model->code_dim, work, (real *)rows + first * dim);
    }
    workspace_free(work);
    return BPCN_OK;
}

bpcn_status read_liken(const struct shard *shard, size_t n, const void *codes, const void *row, double *like)
{
    const struct model *model = shard->model;
    const struct layer *layer = &model->particles[model_heaviest(model)].layer[0];
    size_t units = model->options.layers > 0 ? layer->above : 0, dim = model->width[0];
    real *z = alloc_zeroed(units + 1, 2 * sizeof *z);
    double *up = alloc_zeroed(units + 1, sizeof *up); /* M x' */
    bpcn_status status = z && up ? BPCN_OK : BPCN_NO_MEMORY;
    const real *mean = layer->mean;
    for (size_t u = 0; status == BPCN_OK && u < units; u++)
        up[u] = dot_wide(dim, mean + u * dim, (const real *)row);
    for (size_t i = 0; status == BPCN_OK && i < n; i++) {
        double square = 0, sum = 0;
        activation_apply(model->options.activation, 0, units, (const real *)codes + i * model->code_dim, z, z + units);
        for (size_t u = 0; u < units; u++) {
            sum += up[u] * (double)z[u];
            square += (double)(z[u] * z[u]);
        }
        like[i] = square > 0 ? sum / sqrt(square) : 0;
    }
    free(z);
    free(up);
    return status;
}

/* ---- the search of one particle after the other */

struct search {
    struct read *r;
    struct masks masks;      /* what the rows know */
    double given;            /* noise variance of the known entries */
    int estimate;            /* 1: their noise is estimated */
    size_t *subset;          /* [n]: rows being searched */
    real *points;            /* [n x code_dim]: their codes */
    struct outcome *outcome; /* [n] */
    double *extra;           /* [n]: noise variance of the best code so far */
    struct fit *fit;         /* [n x (layers + 1)]: its fit */
    size_t most;             /* iterations of every stage; 0: as many as its schedule says */
    double *allowance;       /* [n]: nats by which another particle's weight may be behind for it to win */
};

static void search_free(struct search *s)
{
    free(s->subset);
    free(s->points);
    free(s->outcome);
    free(s->extra);
    free(s->fit);
}

static int search_create(struct search *s, size_t n, size_t code, size_t layers)
{
    s->subset = alloc_zeroed(n, sizeof *s->subset);
    s->points = alloc_zeroed(n, code * sizeof *s->points);
    s->outcome = alloc_zeroed(n, sizeof *s->outcome);
    s->extra = alloc_zeroed(n, 2 * sizeof *s->extra);
    s->fit = alloc_zeroed(n * (layers + 1), sizeof *s->fit);
    s->allowance = s->extra != NULL ? s->extra + n : NULL;
    return s->subset && s->points && s->outcome && s->extra && s->fit ? 0 : -1;
}

/* The particle that is searched, with what the cache holds of it. */
struct place {
    size_t k;
    struct energy energy;
    struct curvature curvature;
    struct cached_particle cached;
    struct projection projection;
};

static bpcn_status place_enter(struct search *s, size_t k, struct place *p)
{
    struct read *r = s->r;
    *p = (struct place){.k = k, .energy = r->search_energy};
    bpcn_status status =
        cache_acquire(r->shard->cache, k, s->masks, r->request->n, &r->objective.weighing, r->team, &p->cached);
    if (status != BPCN_OK)
        return status;
    r->weights[k] = p->cached.weights;
    p->energy.particle = &r->model->particles[k];
    p->curvature = (struct curvature){p->cached.norms, p->cached.preconditioner};
    const struct layer *layer = &p->energy.particle->layer[0];
    if (p->cached.gram != NULL &&
        projection_create(&p->projection, p->cached.gram, layer, r->request->n, r->rows->x0, r->team) == 0)
        p->energy.projection = &p->projection; /* without memory for it the search is slower */
    return BPCN_OK;
}

static void place_leave(struct search *s, struct place *p)
{
    projection_free(&p->projection);
    cache_release(s->r->shard->cache, &p->cached);
}

/* ---- schedules */

static struct schedule search_polishing(const struct read *r)
{
    return (struct schedule){.last = {POLISH_ITERATIONS, r->objective.tolerance}};
}

static struct schedule search_annealing(const struct search *s)
{
    struct schedule schedule = search_polishing(s->r);
    schedule.steps = search_read_steps(s->r->model->options.activation);
    schedule.given = s->given;
    return schedule;
}

static struct schedule search_estimating(const struct search *s)
{
    struct schedule schedule = search_polishing(s->r);
    schedule.steps = search_noisy_steps();
    schedule.estimate = 1;
    return schedule;
}

/* ---- rows in one particle */

/* Keeps the code that particle k found for row number `at` of the subset if it beats the best so far. */
static void search_keep_better(struct search *s, size_t at, size_t k, int first)
{
    struct read *r = s->r;
    size_t i = s->subset[at], code = r->model->code_dim, layers = r->model->options.layers + 1;
    const double *log_w = r->model->log_weights;
    double mine = log_w[k] - s->outcome[at].energy;
    size_t evaluations = r->outcome[i].evaluations + s->outcome[at].evaluations;
    if (first || mine > log_w[r->particle[i]] - r->outcome[i].energy) {
        memcpy(r->codes + i * code, s->points + at * code, code * sizeof *s->points);
        r->outcome[i] = s->outcome[at];
        r->particle[i] = k;
        s->extra[i] = r->rows->extra[i];
        memcpy(s->fit + i * layers, fit_of(r->rows, i), layers * sizeof *s->fit);
    }
    r->outcome[i].evaluations = evaluations;
}

/* Minimises the rows of the subset in the particle, all from its top-down start, and keeps what is better. */
static bpcn_status search_attempt(struct search *s, const struct place *p, const struct schedule *schedule, size_t rows,
                                  int first)
{
    struct read *r = s->r;
    const struct model *m = r->model;
    if (rows == 0)
        return BPCN_OK;
    search_start_top_down(m, p->energy.particle, search_first_slope(m->options.activation), r->rows->lane[0].work,
                          s->points);
    for (size_t i = 1; i < rows; i++)
        memcpy(s->points + i * m->code_dim, s->points, m->code_dim * sizeof *s->points);
    bpcn_status status =
        search_codes(r->rows, &p->energy, &p->curvature, schedule, rows, s->subset, s->points, s->outcome);
    for (size_t at = 0; status == BPCN_OK && at < rows; at++) {
        size_t i = s->subset[at];
        if (schedule->rival != NULL && (r->rows->extra[i] > s->given || r->rows->negative_slope[i] > 0))
            r->outcome[i].evaluations += s->outcome[at].evaluations; /* the search gave the row up */
        else
            search_keep_better(s, at, p->k, first);
    }
    return status;
}

/* s->points = the codes of the rows of the subset with units flipped. Leaves the rows in the subset that have any, and
   returns how many. */
static size_t search_flip_rows(struct search *s, const struct place *p, size_t rows)
{
    struct read *r = s->r;
    const struct lane *lane = &r->rows->lane[0];
    size_t code = r->model->code_dim, layers = r->model->options.layers + 1, most = lane->work->rows, flipped = 0, n;
    double energy[BATCH];
    for (size_t at = 0; at < rows; at += n) {
        n = rows - at < most ? rows - at : most;
        for (size_t j = 0; j < n; j++)
            search_open_code(r->model, r->codes + s->subset[at + j] * code, lane->codes + j * code);
        rows_evaluate(r->rows, &p->energy, 0, n, s->subset + at, lane->codes, energy, lane->work->grad, NULL);
        for (size_t j = 0; j < n; j++) {
            size_t i = s->subset[at + j];
            real *point = s->points + flipped * code;
            memcpy(point, r->codes + i * code, code * sizeof *point);
            r->outcome[i].evaluations++;
            if (search_flip_code(r->model, p->energy.particle, p->curvature.norms, lane->fit + j * layers,
                                 r->rows->count[i], r->rows->extra[i], p->energy.weighing, lane->work->grad + j * code,
                                 point, lane->work->z, lane->work->error) > 0)
                s->subset[flipped++] = i;
        }
    }
    return flipped;
}

/* Flips units of the codes that the particle has found and minimises again, as long as that helps. */
static bpcn_status search_flip(struct search *s, const struct place *p, size_t rows)
{
    struct read *r = s->r;
    struct schedule schedule = search_annealing(s);
    schedule.steps = search_flip_steps(r->model->options.activation);
    bpcn_status status = BPCN_OK;
    size_t left = 0;
    for (size_t at = 0; at < rows; at++)
        if (r->particle[s->subset[at]] == p->k)
            s->subset[left++] = s->subset[at];
    for (int round = 0; status == BPCN_OK && left > 0 && round < MOST_FLIP_ROUNDS; round++) {
        size_t flipped = search_flip_rows(s, p, left);
        left = 0;
        if (flipped > 0)
            status =
                search_codes(r->rows, &p->energy, &p->curvature, &schedule, flipped, s->subset, s->points, s->outcome);
        for (size_t at = 0; status == BPCN_OK && at < flipped; at++) {
            size_t i = s->subset[at];
            double before = r->outcome[i].energy;
            search_keep_better(s, at, p->k, 0);
            if (r->outcome[i].energy < before - flip_gain)
                s->subset[left++] = i;
        }
    }
    return status;
}

/* A second search from another side, for the rows that may be at a local optimum: those whose noise estimate is above
   0 are searched without noise; those whose annealing ended where the particle knows little (s_0 is large), which
   written rows do not, are searched straight from the start. The likelier code is kept. */
static bpcn_status search_again(struct search *s, const struct place *p, size_t rows)
{
    struct schedule schedule = s->estimate ? search_annealing(s) : search_polishing(s->r);
    const struct rows *all = s->r->rows;
    size_t again = 0;
    for (size_t at = 0; at < rows; at++) {
        size_t i = s->subset[at];
        if (s->estimate ? all->extra[i] > 0 : fit_of(all, i)->variance > 4 * noise_variance(all->model, 0))
            s->subset[again++] = i;
    }
    schedule.most = s->most;
    if (s->estimate)
        schedule.rival = s->extra;
    return search_attempt(s, p, &schedule, again, 0);
}

/* The rows of the subset in one particle; `rough`: only as well as tells whether it wins. */
static bpcn_status search_particle(struct search *s, const struct place *p, size_t rows, int first, int rough)
{
    struct schedule schedule = s->estimate ? search_estimating(s) : search_annealing(s);
    schedule.tolerance = rough ? rough_tolerance : 0;
    schedule.most = s->most;
    bpcn_status status = search_attempt(s, p, &schedule, rows, first);
    if (status != BPCN_OK || rough)
        return status;
    int flips = !s->estimate && activation_of(s->r->model->options.activation)->kinked && s->r->model->code_dim > 0;
    return flips ? search_flip(s, p, rows) : search_again(s, p, rows);
}

/* ---- the particles */

/* Particles were written the same rows, so the energy of a row differs between them by some nats; but for a row that
   is unlike all of those it may differ by any amount. */
static void search_set_allowance(struct search *s)
{
    const struct read *r = s->r;
    const struct model *m = r->model;
    for (size_t i = 0; i < r->request->n; i++) {
        const struct fit *fit = s->fit + i * (m->options.layers + 1);
        double count = r->rows->count[i], terms = count + (double)m->code_dim;
        /* by how much each layer's squares, in units of their variance, exceed their number */
        double excess =
            fmax(0, fit[0].squares / (r->objective.weighing.sensory * fit[0].variance + s->extra[i]) - count);
        for (size_t l = 1; l <= m->options.layers; l++)
            excess += fmax(0, fit[l].squares / fit[l].variance - (double)m->width[l]);
        s->allowance[i] = excess > outlier_share * terms ? INFINITY : lead_nats + lead_nats_per_term * terms;
    }
}

/* Fills the subset with the rows that particle k could win: the outliers, or the others. */
static size_t search_could_win(struct search *s, size_t k, int outliers)
{
    const struct model *m = s->r->model;
    double behind = m->log_weights[model_heaviest(m)] - m->log_weights[k];
    size_t rows = 0;
    for (size_t i = 0; i < s->r->request->n; i++)
        if (behind <= s->allowance[i] && isinf(s->allowance[i]) == outliers)
            s->subset[rows++] = i;
    return rows;
}

/* Minimises the rows of the subset from their present codes, with their noise as it was found: under the mixture, or
   in one particle. */
static bpcn_status search_polish(struct search *s, const struct energy *energy, const struct curvature *curvature,
                                 size_t rows)
{
    struct read *r = s->r;
    struct schedule schedule = search_polishing(r);
    size_t code = r->model->code_dim;
    if (rows == 0)
        return BPCN_OK;
    for (size_t at = 0; at < rows; at++)
        memcpy(s->points + at * code, r->codes + s->subset[at] * code, code * sizeof *s->points);
    bpcn_status status = search_codes(r->rows, energy, curvature, &schedule, rows, s->subset, s->points, s->outcome);
    for (size_t at = 0; status == BPCN_OK && at < rows; at++) {
        size_t i = s->subset[at];
        memcpy(r->codes + i * code, s->points + at * code, code * sizeof *s->points);
        s->outcome[at].evaluations += r->outcome[i].evaluations;
        r->outcome[i] = s->outcome[at];
    }
    return status;
}

/* Whether rows are first searched from their linear codes. */
static int search_linear_serves(const struct search *s)
{
    const struct read *r = s->r;
    const struct model *m = r->model;
    return m->options.particles == 1 && m->options.layers > 0 && m->width[1] <= LINEAR_UNITS && !(s->given > 0) &&
           r->objective.integrated && !activation_of(m->options.activation)->kinked;
}

/* s_0 of a written row is at most about 2 sigma_x^2. Larger: codes of which the particle knows less are taken for those of
   written rows. */
static const double written_variance = 2.5;

/* Whether a code leaves no more of the row than the memory's own noise, `times` as much being allowed, where the
   particle knows the code well. */
static int search_fits(const struct search *s, size_t i, double times)
{
    const struct read *r = s->r;
    const struct model *m = r->model;
    const struct fit *fit = fit_of(r->rows, i);
    double free = r->rows->count[i] - (double)m->width[1];
    int fits = fit[0].squares <= times * free * r->objective.weighing.sensory * fit[0].variance &&
               fit[0].variance <= times * written_variance * noise_variance(m, 0);
    for (size_t l = 1; l <= m->options.layers; l++)
        fits = fits && fit[l].squares <= times * (double)m->width[l] * fit[l].variance;
    return fits;
}

/* Rows from their linear codes. A row that was written, exact in its known entries, is a few steps from there, which need
   nothing prepared. */
struct linear_job {
    struct search *search;
    struct energy energy;
    const struct linear *linear;
    unsigned char *near; /* [n]: whether the linear code of a row, in search->points, is near enough */
};

/* As much as the own noise, in units of it, may be left by the linear code of a written row. Larger: more rows are
   searched from there in vain. */
static const double linear_near = 3;

static void linear_part(void *context, size_t lane, size_t lanes)
{
    const struct linear_job *job = context;
    struct search *s = job->search;
    struct read *r = s->r;
    const struct model *m = r->model;
    size_t first, last;
    threads_share(r->request->n, 1, lane, lanes, &first, &last);
    for (size_t i = first; i < last; i++) {
        const unsigned char *known = r->request->known ? r->request->known + i * m->width[0] : NULL;
        real *code = s->points + i * m->code_dim;
        double value;
        if (r->rows->count[i] < 2 * (double)m->width[1] ||
            linear_code(job->linear, r->x + i * m->width[0], known, code) != 0)
            continue;
        r->rows->extra[i] = r->rows->negative_slope[i] = 0;
        rows_evaluate(r->rows, &job->energy, lane, 1, &i, code, &value, NULL, NULL);
        rows_keep(r->rows, lane, 0, i);
        job->near[i] = search_fits(s, i, linear_near) != 0;
    }
}

/* r->unprepared = the rows whose codes are found so. */
static bpcn_status search_linear(struct search *s, size_t k)
{
    struct read *r = s->r;
    const struct model *m = r->model;
    size_t n = r->request->n, code = m->code_dim, near = 0;
    const struct norms *norms = cache_norms(r->shard->cache, k);
    struct linear_job job = {.search = s, .energy = r->search_energy, .near = alloc_zeroed(n, 1)};
    struct schedule schedule = {.last = {LINEAR_ITERATIONS, r->objective.tolerance}};
    struct curvature curvature = {norms, NULL};
    job.energy.particle = &m->particles[k];
    job.energy.weights = NULL; /* row by row: nothing depends on the other rows */
    search_start_top_down(m, job.energy.particle, 0, r->rows->lane[0].work, s->points);
    struct linear *linear = linear_create(m, job.energy.particle, s->points, s->masks);
    job.linear = linear;
    if (linear != NULL && norms != NULL && job.near != NULL)
        rows_run(r->rows, linear_part, &job);
    for (size_t i = 0; linear != NULL && job.near != NULL && i < n; i++)
        if (job.near[i]) {
            memmove(s->points + near * code, s->points + i * code, code * sizeof *s->points);
            s->subset[near++] = i;
        }
    linear_free(linear);
    free(job.near);
    if (near == 0)
        return BPCN_OK;
    bpcn_status status =
        search_codes(r->rows, &job.energy, &curvature, &schedule, near, s->subset, s->points, s->outcome);
    for (size_t at = 0; status == BPCN_OK && at < near; at++) {
        size_t i = s->subset[at];
        r->unprepared[i] = s->outcome[at].converged && search_fits(s, i, 1);
        if (r->unprepared[i])
            search_keep_better(s, at, k, 1);
        r->outcome[i].evaluations = 1 + s->outcome[at].evaluations;
    }
    return status;
}

/* Rows that a search with the diagonal alone has not found after so many iterations of a stage are worth preparing for.
   Larger: more of the ill-conditioned ones, of which little is known, are searched in vain. */
enum { UNPREPARED_ITERATIONS = 100 };

/* The `left` rows of the subset in one of many small shards, which prepares nothing for them; those for which it should
   stay in the subset. */
static bpcn_status search_unprepared(struct search *s, size_t k, size_t *left)
{
    struct read *r = s->r;
    struct place p = {.k = k, .energy = r->search_energy};
    const struct norms *norms = cache_norms(r->shard->cache, k);
    size_t n = *left, *rows = alloc_uncleared(n, sizeof *rows);
    bpcn_status status = rows != NULL && norms != NULL ? BPCN_OK : BPCN_NO_MEMORY;
    p.energy.particle = &r->model->particles[k];
    p.energy.weights = NULL;
    p.curvature = (struct curvature){norms, NULL};
    if (status == BPCN_OK) {
        memcpy(rows, s->subset, n * sizeof *rows);
        s->most = UNPREPARED_ITERATIONS;
        status = search_particle(s, &p, n, 1, 0);
        s->most = 0;
    }
    *left = 0;
    for (size_t at = 0; status == BPCN_OK && at < n; at++) {
        r->unprepared[rows[at]] = r->outcome[rows[at]].converged != 0;
        if (!r->unprepared[rows[at]])
            s->subset[(*left)++] = rows[at];
    }
    free(rows);
    return status;
}

static bpcn_status search_heaviest(struct search *s, size_t k)
{
    struct place p = {0};
    size_t n = s->r->request->n, left = 0;
    /* Noise makes the search for a recall well-conditioned, unlike a fragment that many codes fit. A density is that of
       the best code. */
    int recall = s->r->objective.weighing.sensory != weighing_density.sensory;
    int frugal = cache_is_frugal(s->r->shard->cache) && s->r->request->known == NULL && recall;
    bpcn_status status = search_linear_serves(s) ? search_linear(s, k) : BPCN_OK;
    for (size_t i = 0; status == BPCN_OK && i < n; i++)
        if (!s->r->unprepared[i])
            s->subset[left++] = i;
    if (status == BPCN_OK && left > 0 && frugal)
        status = search_unprepared(s, k, &left);
    if (status == BPCN_OK && left > 0)
        status = place_enter(s, k, &p);
    if (status == BPCN_OK && left > 0)
        status = search_particle(s, &p, left, !frugal, 0);
    place_leave(s, &p);
    return status;
}

/* Any other particle. Ordinary rows are searched roughly and polished where it wins; outliers as thoroughly as in the
   heaviest particle, because a rough search tells little about them. */
static bpcn_status search_other(struct search *s, size_t k)
{
    struct place p = {0};
    struct rows *rows = s->r->rows;
    size_t ordinary = search_could_win(s, k, 0), outliers = search_could_win(s, k, 1), won = 0;
    if (ordinary + outliers == 0)
        return BPCN_OK;
    bpcn_status status = place_enter(s, k, &p);
    if (status == BPCN_OK)
        status = search_particle(s, &p, search_could_win(s, k, 1), 0, 0);
    if (status == BPCN_OK)
        status = search_particle(s, &p, search_could_win(s, k, 0), 0, 1);
    for (size_t i = 0; status == BPCN_OK && i < rows->n; i++)
        if (s->r->particle[i] == k) {
            rows->extra[i] = s->extra[i];
            rows->negative_slope[i] = 0;
            s->subset[won++] = i;
        }
    if (status == BPCN_OK)
        status = search_polish(s, &p.energy, &p.curvature, won);
    place_leave(s, &p);
    return status;
}

/* Under the mixture, the rows that no particle decides alone. */
static bpcn_status search_polish_undecided(struct search *s)
{
    size_t rows = 0;
    for (size_t i = 0; i < s->r->request->n; i++)
        if (!s->r->decided[i])
            s->subset[rows++] = i;
    return search_polish(s, &s->r->search_energy, NULL, rows);
}

/* The codes of all rows: in the heaviest particle, in the others, then under the mixture. */
static bpcn_status search_all(struct search *s)
{
    struct read *r = s->r;
    size_t first = model_heaviest(r->model);
    bpcn_status status = search_heaviest(s, first);
    if (status == BPCN_OK)
        search_set_allowance(s);
    for (size_t k = 0; status == BPCN_OK && k < r->model->options.particles; k++)
        if (k != first)
            status = search_other(s, k);
    if (status == BPCN_OK && r->model->options.particles > 1 && r->request->n > 1)
        status = read_load_weights(r); /* for a single row they do not pay */
    if (status != BPCN_OK)
        return status;
    memcpy(r->rows->extra, s->extra, r->request->n * sizeof *s->extra);
    memset(r->rows->negative_slope, 0, r->request->n * sizeof *r->rows->negative_slope);
    size_t evaluations = answer_decide(r, &r->search_energy);
    for (size_t i = 0; i < r->request->n; i++)
        r->outcome[i].evaluations += evaluations;
    return search_polish_undecided(s);
}

/* All rows again from their codes, in the particles that decide them. */
static bpcn_status search_polish_all(struct search *s)
{
    bpcn_status status = BPCN_OK;
    for (size_t k = 0; status == BPCN_OK && k < s->r->model->options.particles; k++) {
        struct place p = {0};
        size_t rows = 0;
        for (size_t i = 0; i < s->r->request->n; i++)
            if (s->r->decided[i] && s->r->particle[i] == k)
                s->subset[rows++] = i;
        if (rows == 0)
            continue;
        status = place_enter(s, k, &p);
        if (status == BPCN_OK)
            status = search_polish(s, &p.energy, &p.curvature, rows);
        place_leave(s, &p);
    }
    return status == BPCN_OK ? search_polish_undecided(s) : status;
}

/* The paper's rounds with our minimiser: best code, best observation, until no entry moves by more than 1e-4. */
static bpcn_status search_rounds(struct search *s)
{
    struct read *r = s->r;
    size_t entries = r->request->n * r->model->width[0];
    real *before = alloc_zeroed(entries, sizeof *before);
    bpcn_status status = before ? BPCN_OK : BPCN_NO_MEMORY;
    if (status == BPCN_OK)
        memcpy(before, r->x, entries * sizeof *before);
    for (size_t round = 1; status == BPCN_OK && round < r->model->options.rounds; round++) {
        double moved = 0;
        answer_fill(r, 1);
        read_see_answers(r);
        for (size_t j = 0; j < entries; j++)
            moved = fmax(moved, fabs((double)(r->answers[j] - before[j])));
        if (moved <= 1e-4)
            break;
        memcpy(before, r->answers, entries * sizeof *before);
        status = search_polish_all(s);
    }
    free(before);
    return status;
}

/* ---- the read */

static bpcn_status read_search(struct read *r)
{
    const bpcn_read_options *o = &r->request->options;
    int integrated = r->objective.integrated, masked = r->request->known != NULL;
    int kinked = activation_of(r->model->options.activation)->kinked;
    struct search s = {.r = r, .given = integrated && o->noise > 0 ? o->noise * o->noise : 0};
    s.masks = masks_of_rows(r->model->width[0], r->request->n, r->request->known);
    if (!integrated)
        s.masks.share = 1; /* the paper's objective counts unknown entries too */
    s.estimate = integrated && o->noise < 0 && !(masked && kinked);
    bpcn_status status = BPCN_NO_MEMORY;
    if (search_create(&s, r->request->n, r->model->code_dim, r->model->options.layers) == 0)
        status = search_all(&s);
    if (status == BPCN_OK && !integrated && !masked && r->answers != NULL)
        status = search_rounds(&s);
    for (size_t i = 0; status == BPCN_OK && i < r->request->n; i++)
        if (r->decided[i]) /* its energy becomes that of the mixture */
            r->outcome[i].energy -= r->model->log_weights[r->particle[i]];
    search_free(&s);
    return status;
}

bpcn_status read_rows(const struct shard *shard, struct team *team, const struct read_request *request)
{
    struct read r;
    const struct model *model = shard->model;
    int adam = model->options.minimizer == BPCN_ADAM;
    cache_enter(shard->cache);
    bpcn_status status = read_init(&r, shard, team, request);
    if (status == BPCN_OK)
        status = adam ? read_paper(&r) : read_search(&r);
    for (size_t i = 0; status == BPCN_OK && i < request->n; i++)
        if (!isfinite(r.outcome[i].energy))
            status = BPCN_NUMERIC;
    if (status == BPCN_OK && !adam)
        answer_decide(&r, &r.density);
    if (status == BPCN_OK && !adam && r.answers != NULL)
        answer_fill(&r, request->known == NULL || (r.objective.integrated && request->options.noise > 0));
    if (status == BPCN_OK && request->codes != NULL)
        memcpy(request->codes, r.codes, request->n * model->code_dim * sizeof *r.codes);
    if (status == BPCN_OK && request->info != NULL)
        answer_report(&r);
    read_destroy(&r);
    cache_leave(shard->cache);
    return status;
}
