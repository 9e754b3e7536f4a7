/*
 * write: infer the code of a row in every particle, weigh the particles by how well they expected it, then condition
 * each on row and code (compiled per precision).
 */
#include "editor.h"

#include "familiarity.h"
#include "random.h"
#include "start.h"

#include <math.h>
#include <string.h>

static const size_t first_row = 0;

static struct energy density_of(const struct editor *e, size_t k)
{
    return (struct energy){.model = e->model, .particle = &e->model->particles[k], .weighing = &the_density};
}

/* What is left unexplained per entry, at the code: the scale of the steps. Counts as an evaluation. */
static double unexplained(struct editor *e, const struct energy *energy, const real *code, struct outcome *outcome)
{
    rows_evaluate(e->rows, energy, 0, 1, &first_row, code, &outcome->energy, NULL, NULL);
    outcome->evaluations++;
    return e->rows->lane[0].fit[0].squares / e->rows->count[0];
}

/* Steps of writes from number `first` on. */
static bpcn_status descend(struct editor *e, const struct energy *energy, double unit, size_t first, real *code,
                           struct outcome *outcome)
{
    struct steps steps = write_steps(e->model->options.activation);
    struct schedule schedule = {
        .steps = {steps.count - first, steps.step + first}, .last = {0, density_tolerance(e->model)}, .unit = &unit};
    size_t before = outcome->evaluations;
    bpcn_status status =
        infer(e->rows, energy, &(struct curvature){&e->norms, NULL}, &schedule, 1, &first_row, code, outcome);
    outcome->evaluations += before;
    return status;
}

/* Whether an energy through inner products is that of the layer itself, but for roundings. */
static int agree(const struct editor *e, double through_products, double direct)
{
    return fabs(through_products - direct) <= density_tolerance(e->model) + 1e-6 * fabs(direct);
}

/* Takes the energy of a code that was found through G from the layer itself. Where the two differ, G has drifted from
   the layer's mean, or double cannot hold it: then it is given up, and 0 returned. */
static int confirmed(struct editor *e, size_t k, const real *code, struct outcome *outcome)
{
    struct energy direct = density_of(e, k);
    double through_gram = outcome->energy;
    unexplained(e, &direct, code, outcome);
    rows_keep(e->rows, 0, 0, 0);
    if (agree(e, through_gram, outcome->energy))
        return 1;
    editor_unaim(e, k);
    prepared_refuse_gram(e->prepared, k);
    return 0;
}

/* The row through the particle's G, or through that of the entries it knows, which costs less to make than the search
   saves. -1 when out of memory. */
static int aim_at_row(struct editor *e, size_t k, const struct gram *all)
{
    const struct layer *layer = &e->model->particles[k].layer[0];
    const unsigned char *known = e->rows->known[0];
    if (known != NULL)
        e->grams[k] = gram_create(layer, known, all, e->team);
    const struct gram *mine = known != NULL ? e->grams[k] : all;
    return mine != NULL ? aim_create(&e->aims[k], mine, layer, 1, e->rows->x0, e->team) : -1;
}

/* Our way: from the top-down start through the steps of writes. */
static bpcn_status infer_ours(struct editor *e, size_t k, const struct gram *gram, real *code, struct outcome *outcome)
{
    struct energy energy = density_of(e, k);
    energy.aim = gram != NULL ? &e->aims[k] : NULL;
    norms_compute(e->model, energy.particle, gram, &e->norms);
    e->rows->extra[0] = 0;
    e->rows->leak[0] = first_leak(e->model->options.activation);
    start_top_down(e->model, energy.particle, e->rows->leak[0], e->rows->lane[0].work, code);
    outcome->evaluations = 0;
    double unit = unexplained(e, &energy, code, outcome);
    bpcn_status status = descend(e, &energy, unit, 0, code, outcome);
    if (status != BPCN_OK || gram == NULL || confirmed(e, k, code, outcome))
        return status;
    energy.aim = NULL;
    return descend(e, &energy, unit, write_steps(e->model->options.activation).count - 1, code, outcome);
}

/* Adam from a random start, or from the one given. */
static bpcn_status adam(struct editor *e, const struct energy *energy, size_t k, const double *starts, real *code,
                        struct outcome *outcome)
{
    const bpcn_options *o = &e->model->options;
    e->rows->extra[0] = e->rows->leak[0] = 0;
    start_random(e->model, random_stream(STREAM_START, e->model->writes, k), code);
    for (size_t j = 0; starts != NULL && j < e->model->code_dim; j++)
        code[j] = (real)starts[j];
    struct adam_options how = {o->adam_rate, o->adam_stop, o->adam_steps};
    return infer_adam(e->rows, energy, &how, code, outcome, NULL);
}

/* The paper's way. */
static bpcn_status infer_paper(struct editor *e, size_t k, const struct gram *gram, const double *starts, real *code,
                               struct outcome *outcome)
{
    struct energy energy = density_of(e, k);
    energy.aim = gram != NULL ? &e->aims[k] : NULL;
    bpcn_status status = adam(e, &energy, k, starts, code, outcome);
    if (status != BPCN_OK || gram == NULL || confirmed(e, k, code, outcome))
        return status;
    energy.aim = NULL;
    return adam(e, &energy, k, starts, code, outcome);
}

/* The code of the row in every particle, and the weights that follow. */
static bpcn_status infer_all(struct editor *e, const double *starts)
{
    size_t code = e->model->code_dim;
    for (size_t k = 0; k < e->model->options.particles; k++) {
        real *mine = e->codes + k * code;
        const double *from = starts ? starts + k * code : NULL;
        editor_unaim(e, k);
        const struct gram *gram = e->prepared != NULL ? prepared_gram(e->prepared, k, e->team) : NULL;
        if (gram != NULL && aim_at_row(e, k, gram) != 0)
            return BPCN_NO_MEMORY;
        bpcn_status status = e->model->options.minimizer == BPCN_ADAM
                                 ? infer_paper(e, k, gram, from, mine, &e->outcomes[k])
                                 : infer_ours(e, k, gram, mine, &e->outcomes[k]);
        if (status != BPCN_OK)
            return status;
        if (!isfinite(e->outcomes[k].energy))
            return BPCN_NUMERIC;
        e->log_weights[k] = e->model->log_weights[k] - e->outcomes[k].energy;
        e->leverage[k] = fit_of(e->rows, 0)->variance - noise_variance(e->model, 0);
        e->squares[k] = fit_of(e->rows, 0)->squares;
    }
    return BPCN_OK;
}

/* How familiar the row was to particle k, as it stands. */
static struct judgement judge_before(const struct editor *e, size_t k)
{
    struct evidence evidence = {.squares = e->squares[k],
                                .power = rows_power(e->rows, 0),
                                .variance = noise_variance(e->model, 0) + e->leverage[k],
                                .known = e->rows->count[0],
                                .sensory = the_density.sensory,
                                .written = e->prepared != NULL ? prepared_share_written(e->prepared) : 0};
    evidence.whole = e->rows->count[0] == (double)e->model->width[0];
    if (much_open(e->model, evidence.variance))
        evidence.faded = faded_leverage(e->rows, &e->model->particles[k], e->codes + k * e->model->code_dim);
    if (e->model->writes == 0)
        return (struct judgement){0, BPCN_NEW}; /* it is the first */
    return judge(e->model, &evidence);
}

/* What became of the row, before the weights are normalised. */
static bpcn_write_row summary(const struct editor *e)
{
    size_t particles = e->model->options.particles, best = 0;
    double sum = 0;
    bpcn_write_row row = {.converged = 1};
    for (size_t k = 0; k < particles; k++) {
        best = e->log_weights[k] > e->log_weights[best] ? k : best;
        row.evaluations += e->outcomes[k].evaluations;
        row.converged &= e->outcomes[k].converged;
    }
    for (size_t k = 0; k < particles; k++)
        sum += exp(e->log_weights[k] - e->log_weights[best]);
    row.energy = -e->log_weights[best] - log(sum);
    row.leverage = e->leverage[best];
    struct judgement before = judge_before(e, best);
    row.familiarity = before.familiarity;
    row.verdict = before.verdict;
    return row;
}

bpcn_status find_write(struct editor *e, const void *x, const unsigned char *known, const double *starts,
                       struct change *change, bpcn_write_row *row)
{
    bpcn_status status = editor_ready(e, CHANGE_WRITE);
    if (status != BPCN_OK)
        return status;
    editor_look(e, x, known);
    status = infer_all(e, starts);
    if (status != BPCN_OK)
        return status;
    *row = summary(e);
    *change = (struct change){
        .kind = CHANGE_WRITE, .rows = 1, .x = x, .known = known, .codes = e->codes, .log_weights = e->log_weights};
    return normalize_log_weights(e->model->options.particles, e->log_weights) == 0 ? BPCN_OK : BPCN_NUMERIC;
}

/* One particle. Of several rows the joint update equals the updates one by one, in any order. */
static void condition(struct editor *e, size_t k, const struct change *change)
{
    const real *x = change->x, *codes = change->codes;
    size_t code = e->model->code_dim, dim = e->model->width[0], rows = change->rows;
    struct following following = {NULL, NULL};
    if (e->prepared != NULL && e->aims[k].b != NULL)
        following = (struct following){prepared_gram(e->prepared, k, e->team), &e->aims[k]};
    for (size_t i = 0; i < rows; i++)
        particle_update(e->model, &e->model->particles[k], x + i * dim, change->known, codes + (k * rows + i) * code, 1,
                        !e->replaying, following, e->update);
}

void make_write(struct editor *e, const struct change *change)
{
    struct model *m = e->model;
    for (size_t k = 0; k < m->options.particles; k++) {
        condition(e, k, change);
        m->log_weights[k] = change->log_weights[k];
    }
    if (m->options.resample)
        model_resample(m, e->sources);
    m->writes += change->rows;
    e->stale |= e->replaying;
    if (e->prepared != NULL)
        prepared_followed(e->prepared, m->options.resample ? e->sources : NULL);
}
