/*
 * write and delete (compiled per precision).
 *
 * A write infers the code of the row in every particle, reweights the particles by how well they predicted the row,
 * and conditions each on the row and its code.
 *
 * A delete inverts the update, with the codes that the row was written with, which the memory keeps (held.h). In
 * information form the update adds z'z / sx^2 to U^-1 and z'x / sx^2 to U^-1 M, so that its inverse is exact whatever was
 * written since, and every covariance stays within the prior's.
 */
#include "write.h"

#include "alloc.h"
#include "familiarity.h"
#include "random.h"
#include "search.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const size_t only_row = 0;

/* ---- the writer */

/* root_real of every layer, where it is behind. */
static void writer_refresh(struct writer *w)
{
    for (size_t k = 0; w->stale && k < w->model->options.particles; k++)
        for (size_t l = 0; l < w->model->options.layers; l++)
            update_refresh_root(&w->model->particles[k].layer[l]);
    w->stale = 0;
}

/* Frees the projection of particle k, and its own G. */
static void writer_clear_aim(struct writer *w, size_t k)
{
    projection_free(&w->projections[k]);
    gram_free(w->grams[k]);
    w->grams[k] = NULL;
}

void writer_free(struct writer *w)
{
    if (w == NULL)
        return;
    writer_refresh(w);
    for (size_t k = 0; w->projections != NULL && w->grams != NULL && k < w->model->options.particles; k++)
        writer_clear_aim(w, k);
    rows_free(w->rows);
    update_free(w->update);
    norms_free(&w->norms);
    free(w->scratch);
    free(w->codes);
    free(w->outcomes);
    free(w->leverage);
    free(w->sources);
    free(w->projections);
    free(w->grams);
    free(w);
}

struct writer *writer_create(const struct shard *shard, struct team *team, int replaying)
{
    struct writer *w = alloc_zeroed(1, sizeof *w);
    if (w == NULL)
        return NULL;
    writer_attach(w, shard);
    w->team = team;
    w->replaying = replaying;
    return w;
}

void writer_attach(struct writer *w, const struct shard *shard)
{
    w->model = shard->model;
    w->cache = shard->cache;
}

static bpcn_status writer_reserve_row(struct writer *w)
{
    size_t particles = w->model->options.particles;
    if (w->update != NULL)
        return BPCN_OK;
    w->rows = rows_create(w->model, 1, 1, w->team);
    w->codes = alloc_zeroed(particles, w->model->code_dim * sizeof *w->codes);
    w->outcomes = alloc_zeroed(particles, sizeof *w->outcomes);
    w->leverage = alloc_zeroed(particles, 3 * sizeof *w->leverage);
    w->sources = alloc_zeroed(particles, sizeof *w->sources);
    w->projections = alloc_zeroed(particles, sizeof *w->projections);
    w->grams = alloc_zeroed(particles, sizeof *w->grams);
    if (!w->rows || !w->codes || !w->outcomes || !w->leverage || !w->sources || !w->projections || !w->grams ||
        (w->norms.mean == NULL && norms_create(&w->norms, w->model) != 0))
        return BPCN_NO_MEMORY;
    w->log_weights = w->leverage + particles;
    w->squares = w->log_weights + particles;
    w->update = update_create(w->model, w->team);
    return w->update != NULL ? BPCN_OK : BPCN_NO_MEMORY;
}

bpcn_status writer_reserve(struct writer *w, enum change_kind kind)
{
    switch (kind) {
    case CHANGE_WRITE:
    case CHANGE_DELETE:
        return writer_reserve_row(w);
    case CHANGE_FORGET:
    case CHANGE_DISCOUNT:
        free(w->scratch);
        w->scratch = alloc_zeroed(kind == CHANGE_FORGET ? forget_scratch(w->model) : discount_scratch(w->model),
                                  sizeof *w->scratch);
        return w->scratch != NULL ? BPCN_OK : BPCN_NO_MEMORY;
    case CHANGE_NOTE:
    case CHANGE_MINIMIZER:
        break;
    }
    return BPCN_OK;
}

/* Takes up a row; known [dim] or NULL: all of it. */
static void writer_set_row(struct writer *w, const real *x, const unsigned char *known)
{
    size_t dim = w->model->width[0];
    w->rows->x0[0] = x;
    w->rows->known[0] = known;
    w->rows->count[0] = (double)(known != NULL ? masks_count_known(dim, known) : dim);
}

static struct energy writer_density(const struct writer *w, size_t k)
{
    return (struct energy){.model = w->model, .particle = &w->model->particles[k], .weighing = &weighing_density};
}

/* ---- write: the code of the row in one particle */

/* The energy at the code, into the outcome; returns the squared residual per known entry. Counts as an evaluation. */
static double write_residual(struct writer *w, const struct energy *energy, const real *code, struct outcome *outcome)
{
    rows_evaluate(w->rows, energy, 0, 1, &only_row, code, &outcome->energy, NULL, NULL);
    outcome->evaluations++;
    return w->rows->lane[0].fit[0].squares / w->rows->count[0];
}

/* Steps of the write schedule from number `first` on; their variance is in units of `unit`. */
static bpcn_status write_descend(struct writer *w, const struct energy *energy, double unit, size_t first, real *code,
                                 struct outcome *outcome)
{
    struct steps steps = search_write_steps(w->model->options.activation);
    struct schedule schedule = {.steps = {steps.count - first, steps.step + first},
                                .last = {0, search_density_tolerance(w->model)},
                                .unit = &unit};
    size_t before = outcome->evaluations;
    bpcn_status status =
        search_codes(w->rows, energy, &(struct curvature){&w->norms, NULL}, &schedule, 1, &only_row, code, outcome);
    outcome->evaluations += before;
    return status;
}

/* Adam from a random start, or from the one given. */
static bpcn_status write_adam(struct writer *w, const struct energy *energy, size_t k, const double *starts, real *code,
                              struct outcome *outcome)
{
    const bpcn_options *o = &w->model->options;
    w->rows->extra[0] = w->rows->negative_slope[0] = 0;
    search_start_random(w->model, random_stream(STREAM_START, w->model->writes, k), code);
    for (size_t j = 0; starts != NULL && j < w->model->code_dim; j++)
        code[j] = (real)starts[j];
    struct adam_options how = {o->adam_rate, o->adam_stop, o->adam_steps};
    return search_codes_adam(w->rows, energy, &how, code, outcome, NULL);
}

/* Makes the projection of the row through the particle's G, or through a G of its own over the entries that it knows,
   which costs less than the search then saves. -1 when out of memory. */
static int write_take_aim(struct writer *w, size_t k, const struct gram *all)
{
    const struct layer *layer = &w->model->particles[k].layer[0];
    const unsigned char *known = w->rows->known[0];
    if (known != NULL)
        w->grams[k] = gram_create(layer, known, all, w->team);
    const struct gram *own = known != NULL ? w->grams[k] : all;
    return own != NULL ? projection_create(&w->projections[k], own, layer, 1, w->rows->x0, w->team) : -1;
}

/* Evaluates the code that was found through G once more without it. If the energies differ by more than rounding, G
   has drifted from M M', or double precision cannot hold it: G is dropped, and 0 returned. */
static int write_confirm_gram(struct writer *w, size_t k, const real *code, struct outcome *outcome)
{
    struct energy direct = writer_density(w, k);
    double through_gram = outcome->energy;
    write_residual(w, &direct, code, outcome);
    rows_keep(w->rows, 0, 0, 0);
    if (fabs(through_gram - outcome->energy) <= search_density_tolerance(w->model) + 1e-6 * fabs(outcome->energy))
        return 1;
    writer_clear_aim(w, k);
    cache_discard_gram(w->cache, k);
    return 0;
}

/* The code of the row in particle k: by annealed L-BFGS from the top-down start, or by the paper's Adam. Through G
   where there is one (gram); if G proves wrong, the search continues, or Adam starts again, without it. */
static bpcn_status write_infer(struct writer *w, size_t k, const struct gram *gram, const double *starts, real *code,
                               struct outcome *outcome)
{
    int adam = w->model->options.minimizer == BPCN_ADAM;
    struct energy energy = writer_density(w, k);
    double unit = 1;
    bpcn_status status;
    energy.projection = gram != NULL ? &w->projections[k] : NULL;
    if (adam) {
        status = write_adam(w, &energy, k, starts, code, outcome);
    } else {
        norms_compute(w->model, energy.particle, gram, &w->norms);
        w->rows->extra[0] = 0;
        w->rows->negative_slope[0] = search_first_slope(w->model->options.activation);
        search_start_top_down(w->model, energy.particle, w->rows->negative_slope[0], w->rows->lane[0].work, code);
        outcome->evaluations = 0;
        unit = write_residual(w, &energy, code, outcome);
        status = write_descend(w, &energy, unit, 0, code, outcome);
    }
    if (status != BPCN_OK || gram == NULL || write_confirm_gram(w, k, code, outcome))
        return status;
    energy.projection = NULL;
    if (adam)
        return write_adam(w, &energy, k, starts, code, outcome);
    return write_descend(w, &energy, unit, search_write_steps(w->model->options.activation).count - 1, code, outcome);
}

/* ---- write: all particles */

/* Codes, energies and the weights that follow from them, not yet normalised. */
static bpcn_status write_infer_all(struct writer *w, const double *starts)
{
    size_t code = w->model->code_dim;
    for (size_t k = 0; k < w->model->options.particles; k++) {
        writer_clear_aim(w, k);
        const struct gram *gram = w->cache != NULL ? cache_gram(w->cache, k, w->team) : NULL;
        if (gram != NULL && write_take_aim(w, k, gram) != 0)
            return BPCN_NO_MEMORY;
        bpcn_status status =
            write_infer(w, k, gram, starts ? starts + k * code : NULL, w->codes + k * code, &w->outcomes[k]);
        if (status != BPCN_OK)
            return status;
        if (!isfinite(w->outcomes[k].energy))
            return BPCN_NUMERIC;
        w->log_weights[k] = w->model->log_weights[k] - w->outcomes[k].energy;
        w->leverage[k] = fit_of(w->rows, 0)->variance - noise_variance(w->model, 0);
        w->squares[k] = fit_of(w->rows, 0)->squares;
    }
    return BPCN_OK;
}

/* How familiar the row is to particle k, before it is written. */
static struct judgement write_judge(const struct writer *w, size_t k)
{
    struct evidence evidence = {.squares = w->squares[k],
                                .power = rows_power(w->rows, 0),
                                .variance = noise_variance(w->model, 0) + w->leverage[k],
                                .known = w->rows->count[0],
                                .sensory = weighing_density.sensory,
                                .written = w->cache != NULL ? cache_share_written(w->cache) : 0};
    evidence.whole = w->rows->count[0] == (double)w->model->width[0];
    if (familiarity_needs_faded(w->model, evidence.variance))
        evidence.faded = search_faded_leverage(w->rows, &w->model->particles[k], w->codes + k * w->model->code_dim);
    if (w->model->writes == 0)
        return (struct judgement){0, BPCN_NEW};
    return familiarity_judge(w->model, &evidence);
}

/* The report on the row; needs the weights before they are normalised. */
static bpcn_write_row write_report(const struct writer *w)
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
    struct judgement judgement = write_judge(w, best);
    row.familiarity = judgement.familiarity;
    row.verdict = judgement.verdict;
    return row;
}

bpcn_status write_find(struct writer *w, const void *x, const unsigned char *known, const double *starts,
                       struct change *change, bpcn_write_row *row)
{
    bpcn_status status = writer_reserve(w, CHANGE_WRITE);
    if (status != BPCN_OK)
        return status;
    writer_set_row(w, x, known);
    status = write_infer_all(w, starts);
    if (status != BPCN_OK)
        return status;
    *row = write_report(w);
    *change = (struct change){
        .kind = CHANGE_WRITE, .rows = 1, .x = x, .known = known, .codes = w->codes, .log_weights = w->log_weights};
    return model_normalize_weights(w->model->options.particles, w->log_weights) == 0 ? BPCN_OK : BPCN_NUMERIC;
}

void write_apply(struct writer *w, const struct change *change)
{
    struct model *m = w->model;
    const real *x = change->x, *codes = change->codes;
    for (size_t k = 0; k < m->options.particles; k++) {
        struct gram_update following = {NULL, NULL};
        if (w->cache != NULL && w->projections[k].b != NULL)
            following = (struct gram_update){cache_gram(w->cache, k, w->team), &w->projections[k]};
        for (size_t i = 0; i < change->rows; i++)
            update_particle(m, &m->particles[k], x + i * m->width[0], change->known,
                            codes + (k * change->rows + i) * m->code_dim, 1, !w->replaying, following, w->update);
        m->log_weights[k] = change->log_weights[k];
    }
    if (m->options.resample)
        model_resample(m, w->sources);
    m->writes += change->rows;
    w->stale |= w->replaying;
    if (w->cache != NULL)
        cache_keep_grams(w->cache, m->options.resample ? w->sources : NULL);
}

/* ---- delete */

bpcn_status delete_check(struct writer *w, const void *const *x, const void *const *codes, size_t n)
{
    const struct model *m = w->model;
    (void)x;
    const real **code = alloc_zeroed(n, sizeof *code);
    bpcn_status status = code != NULL ? writer_reserve(w, CHANGE_DELETE) : BPCN_NO_MEMORY;
    for (size_t k = 0; status == BPCN_OK && k < m->options.particles; k++) {
        for (size_t i = 0; i < n; i++)
            code[i] = (const real *)codes[i] + k * m->code_dim;
        status = update_can_revert(m, &m->particles[k], code, n, w->update);
    }
    free(code);
    return status;
}

void delete_apply(struct writer *w, const struct change *change)
{
    struct model *m = w->model;
    size_t particles = m->options.particles;
    writer_set_row(w, change->x, NULL);
    w->rows->extra[0] = w->rows->negative_slope[0] = 0;
    for (size_t k = 0; k < particles; k++) {
        const real *code = (const real *)change->codes + k * m->code_dim;
        struct energy energy = writer_density(w, k);
        double evidence; /* that the row gave the particle's weight, which it now loses */
        update_particle(m, &m->particles[k], change->x, NULL, code, -1, 1, (struct gram_update){NULL, NULL}, w->update);
        rows_evaluate(w->rows, &energy, 0, 1, &only_row, code, &evidence, NULL, NULL);
        w->log_weights[k] = m->log_weights[k] + evidence;
    }
    if (model_normalize_weights(particles, w->log_weights) == 0)
        memcpy(m->log_weights, w->log_weights, particles * sizeof *w->log_weights);
    m->deletes++;
}
