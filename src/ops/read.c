/*
 * read (compiled per precision).
 *
 * The code is sought in each particle that could win, from its own top-down start; the best one is then polished
 * under the mixture. A query without a mask is taken as noisy, and the noise variance, unless given, is estimated
 * along the way from what the code leaves unexplained.
 */
#include "search.h"

#include "alloc.h"
#include "start.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { WORTH_PRECONDITIONING = 32 }; /* rows that pay for the shared preconditioner */
enum { MOST_FLIPS = 4 };
static const double worth_a_round = 0.05;                       /* nats that a round of flips gained, to try another */
static const double sure_lead = 20, sure_lead_per_term = 0.002; /* nats of weight that decide which particle wins */
static const double odd_share = 0.1; /* of the terms of an energy: squares beyond their number that make a row odd */

/* Every row starts from the same code. */
static void start_rows(struct reader *r, const struct particle *particle, size_t rows, real *points)
{
    size_t code = r->model->code_dim;
    double leak = starts_linear(r->model->options.activation) ? 1 : 0;
    start_top_down(r->model, particle, leak, r->problem->lane[0].work, points);
    for (size_t i = 1; i < rows; i++)
        memcpy(points + i * code, points, code * sizeof *points);
}

/* Room for the search of one particle after the other. */
struct trial {
    size_t *subset;             /* [n] */
    real *points;               /* [n x code_dim] */
    struct outcome *outcome;    /* [n] */
    double *extra;              /* [n]: of the best so far */
    unsigned char *settled;     /* [n] */
    double *allowance;          /* [n]: how far behind, in nats, another particle's weight may be for it to win */
    struct fragment **fragment; /* [n]: see struct search */
};

static void trial_free(struct trial *t)
{
    free(t->subset);
    free(t->points);
    free(t->outcome);
    free(t->extra);
    free(t->allowance);
    free(t->settled);
    free(t->fragment);
}

static int trial_create(struct trial *t, size_t n, size_t code)
{
    t->subset = alloc_zeroed(n, sizeof *t->subset);
    t->points = alloc_zeroed(n, code * sizeof *t->points);
    t->outcome = alloc_zeroed(n, sizeof *t->outcome);
    t->extra = alloc_zeroed(n, sizeof *t->extra);
    t->settled = alloc_zeroed(n, 1);
    t->allowance = alloc_zeroed(n, sizeof *t->allowance);
    t->fragment = alloc_zeroed(n, sizeof *t->fragment);
    return t->subset && t->points && t->outcome && t->extra && t->settled && t->allowance && t->fragment ? 0 : -1;
}

/* Keeps what particle k found for a row if it beats the best so far. */
static void keep_better(struct reader *r, struct trial *t, size_t at, size_t k, int first)
{
    size_t i = t->subset[at], code = r->model->code_dim;
    const double *log_w = r->model->log_weights;
    double mine = log_w[k] - t->outcome[at].energy;
    size_t evaluations = r->outcome[i].evaluations + t->outcome[at].evaluations;
    if (first || mine > log_w[r->particle[i]] - r->outcome[i].energy) {
        memcpy(r->codes + i * code, t->points + at * code, code * sizeof *t->points);
        r->outcome[i] = t->outcome[at];
        r->particle[i] = k;
        t->extra[i] = r->problem->extra[i];
    }
    r->outcome[i].evaluations = evaluations;
}

/* Whether all queries know the same entries. */
static int same_mask(const struct read_request *request, size_t dim)
{
    for (size_t i = 1; request->known != NULL && i < request->n; i++)
        if (memcmp(request->known, request->known + i * dim, dim) != 0)
            return 0;
    return 1;
}

/* Whether so many known entries leave directions open that were written to; then which they are matters, not only how
   many. The matrix for that has room for observations of up to four times the width of the layer above. */
static int knows_little(const struct model *model, double known)
{
    double written = fmin((double)model->writes, (double)model->width[1]);
    return known <= written && model->width[0] <= 4 * model->width[1];
}

static struct preconditioner *make_preconditioner(const struct reader *r, const struct particle *particle)
{
    const struct problem *p = r->problem;
    size_t dim = r->model->width[0], n = r->request->n;
    int same = same_mask(r->request, dim);
    struct knowledge k = {.mask = same ? r->request->known : NULL};
    for (size_t i = 0; i < n; i++)
        k.share += p->count[i] / (double)(n * dim);
    k.apart = !same && knows_little(r->model, k.share * (double)dim);
    return preconditioner_create(r->model, particle, p->weights[particle - r->model->particles], k, p->weighing,
                                 p->team);
}

/* Layer 0 of the particle through inner products, where all rows know the same and are enough; out of
   memory for that, it goes without. */
static void make_inner(struct reader *r, const struct particle *particle)
{
    struct problem *p = r->problem;
    const struct layer *layer = &particle->layer[0];
    inner_free(p->inner);
    p->inner = NULL;
    if (r->model->options.layers == 0 || !inner_pays(layer->above, layer->below, p->rows) ||
        !same_mask(r->request, layer->below))
        return;
    p->inner = inner_create(layer, r->request->known, p->rows, p->team, BATCH);
    p->inner_particle = particle;
    if (p->inner != NULL)
        inner_aim(p->inner, p->x0);
}

/* Minimises the rows of t->subset in the particle chosen, all from its start, and keeps what is
   better. */
static bpcn_status attempt(struct reader *r, struct search *s, struct trial *t, size_t k, size_t rows, int first)
{
    if (rows == 0)
        return BPCN_OK;
    s->subset = t->subset;
    start_rows(r, &r->model->particles[k], rows, t->points);
    bpcn_status status = search_minimize(s, rows, t->points, t->outcome);
    for (size_t at = 0; status == BPCN_OK && at < rows; at++) {
        size_t i = t->subset[at];
        if (s->estimate != NULL && (r->problem->extra[i] > s->given || r->problem->leak[i] > 0))
            r->outcome[i].evaluations += t->outcome[at].evaluations; /* given up on the way */
        else
            keep_better(r, t, at, k, first);
    }
    return status;
}

/* t->points = the codes of the rows of t->subset with units flipped; leaves in t->subset the rows
   that have any and returns how many. */
static size_t flip_rows(struct reader *r, struct search *s, struct trial *t, size_t rows)
{
    struct problem *p = r->problem;
    const struct lane *lane = &p->lane[0];
    size_t code = r->model->code_dim, layers = r->model->options.layers, most = lane->work->rows, flipped = 0, n;
    double energy[BATCH];
    for (size_t at = 0; at < rows; at += n) {
        n = rows - at < most ? rows - at : most;
        for (size_t j = 0; j < n; j++)
            open_code(r->model, r->codes + t->subset[at + j] * code, lane->vectors + j * code);
        problem_evaluate(p, 0, n, t->subset + at, lane->vectors, energy, lane->slopes, NULL);
        for (size_t j = 0; j < n; j++) {
            size_t i = t->subset[at + j];
            real *point = t->points + flipped * code;
            memcpy(point, r->codes + i * code, code * sizeof *point);
            r->outcome[i].evaluations++;
            if (flip_code(r->model, p->particle, &s->norms, p->fit + i * (layers + 1), p->count[i], p->extra[i],
                          p->weighing, lane->slopes + j * code, point, lane->work->z, lane->work->error) > 0)
                t->subset[flipped++] = i;
        }
    }
    return flipped;
}

/* Flips units of the codes that particle k has found and minimises from there, for as long as that
   helps. */
static bpcn_status flip(struct reader *r, struct search *s, struct trial *t, size_t k, size_t rows)
{
    bpcn_status status = BPCN_OK;
    enum plan plan = s->plan;
    size_t left = 0;
    for (size_t at = 0; at < rows; at++)
        if (r->particle[t->subset[at]] == k)
            t->subset[left++] = t->subset[at];
    s->plan = FLIP;
    for (int round = 0; status == BPCN_OK && left > 0 && round < MOST_FLIPS; round++) {
        size_t flipped = flip_rows(r, s, t, left);
        status = search_minimize(s, flipped, t->points, t->outcome);
        left = 0;
        for (size_t at = 0; status == BPCN_OK && at < flipped; at++) {
            size_t i = t->subset[at];
            double before = r->outcome[i].energy;
            keep_better(r, t, at, k, 0);
            if (r->outcome[i].energy < before - worth_a_round)
                t->subset[left++] = i;
        }
    }
    s->plan = plan;
    return status;
}

/* Whether a row should be sought a second time: where the estimate of the noise may have stopped
   at a local optimum; or where the annealing has led to a code that the particle knows little
   about, as it does not for things that were written. */
static int wants_second(const struct search *s, size_t i)
{
    const struct problem *p = s->reader->problem;
    if (s->plan == ESTIMATE)
        return p->extra[i] > 0;
    return p->fit[i * (p->model->options.layers + 1)].variance > 4 * noise_variance(p->model, 0);
}

/* An estimate is tried against no noise at all, annealing against going straight from the start.
   The likelier code is kept. */
static bpcn_status second_attempt(struct reader *r, struct search *s, struct trial *t, size_t k, size_t rows)
{
    enum plan plan = s->plan;
    size_t again = 0;
    for (size_t at = 0; at < rows; at++)
        if (wants_second(s, t->subset[at]))
            t->subset[again++] = t->subset[at];
    s->plan = plan == ESTIMATE ? ANNEAL : POLISH;
    s->estimate = plan == ESTIMATE ? t->extra : NULL;
    bpcn_status status = attempt(r, s, t, k, again, 0);
    s->plan = plan;
    s->estimate = NULL;
    return status;
}

/* By how much the squares of a layer exceed their number of terms, in units of their variance: what the particle makes
   nothing of. */
static double excess(double squares, double variance, double count)
{
    return fmax(0, squares / variance - count);
}

/* Particles were written the same things, so what a row costs them differs by some nats at most; unless it is nothing
   like those, when it may differ by any amount. */
static void allow(const struct reader *r, struct trial *t)
{
    const struct model *m = r->model;
    const struct weighing *w = r->problem->weighing;
    for (size_t i = 0; i < r->request->n; i++) {
        const struct fit *fit = r->problem->fit + i * (m->options.layers + 1);
        double count = r->problem->count[i], terms = count + (double)m->code_dim;
        double odd = excess(fit[0].squares, w->sensory * fit[0].variance + t->extra[i], count);
        for (size_t l = 1; l <= m->options.layers; l++)
            odd += excess(fit[l].squares, fit[l].variance, (double)m->width[l]);
        t->allowance[i] = odd > odd_share * terms ? INFINITY : sure_lead + sure_lead_per_term * terms;
    }
}

/* Searches particle k for every row that it could win. */
static bpcn_status search_particle(struct reader *r, struct search *s, struct trial *t, size_t k, int first)
{
    const struct particle *particle = &r->model->particles[k];
    double behind = r->model->log_weights[model_heaviest(r->model)] - r->model->log_weights[k];
    size_t rows = 0;
    for (size_t i = 0; i < r->request->n; i++)
        if (first || behind <= t->allowance[i])
            t->subset[rows++] = i;
    bpcn_status status = rows > 0 ? problem_choose(r->problem, particle) : BPCN_OK;
    if (rows == 0 || status != BPCN_OK)
        return status;
    norms_compute(r->model, particle, NULL, &s->norms);
    make_inner(r, particle);
    preconditioner_free(s->preconditioner);
    s->preconditioner = rows >= WORTH_PRECONDITIONING ? make_preconditioner(r, particle) : NULL;
    s->preconditioned = particle;
    status = attempt(r, s, t, k, rows, first);
    if (status != BPCN_OK || s->rough)
        return status;
    int flips = s->plan == ANNEAL && flip_steps(r->model->options.activation).count > 0 && r->model->code_dim > 0;
    return flips ? flip(r, s, t, k, rows) : second_attempt(r, s, t, k, rows);
}

/* From the present codes, with the noise as found: under the mixture, or in the one particle that
   decides a row. */
static bpcn_status polish_rows(struct reader *r, struct search *s, struct trial *t, const struct particle *particle,
                               size_t rows)
{
    size_t code = r->model->code_dim;
    bpcn_status status = rows > 0 ? problem_choose(r->problem, particle) : BPCN_OK;
    if (rows == 0 || status != BPCN_OK)
        return status;
    if (particle != NULL)
        norms_compute(r->model, particle, NULL, &s->norms);
    s->subset = t->subset;
    s->plan = POLISH;
    for (size_t at = 0; at < rows; at++)
        memcpy(t->points + at * code, r->codes + t->subset[at] * code, code * sizeof *t->points);
    status = search_minimize(s, rows, t->points, t->outcome);
    for (size_t at = 0; status == BPCN_OK && at < rows; at++) {
        size_t i = t->subset[at];
        memcpy(r->codes + i * code, t->points + at * code, code * sizeof *t->points);
        t->outcome[at].evaluations += r->outcome[i].evaluations;
        r->outcome[i] = t->outcome[at];
    }
    return status;
}

static bpcn_status polish(struct reader *r, struct search *s, struct trial *t, int also_decided)
{
    size_t particles = r->model->options.particles;
    bpcn_status status = BPCN_OK;
    for (size_t k = 0; status == BPCN_OK && k <= particles; k++) {
        size_t rows = 0;
        for (size_t i = 0; i < r->request->n; i++)
            if (k == particles ? !r->decided[i] : also_decided && r->decided[i] && r->particle[i] == k)
                t->subset[rows++] = i;
        status = polish_rows(r, s, t, k == particles ? NULL : &r->model->particles[k], rows);
    }
    return status;
}

/* Energies of rows that one particle decides, as those of the mixture: with its weight. */
static void count_weights(struct reader *r)
{
    for (size_t i = 0; i < r->request->n; i++)
        if (r->decided[i])
            r->outcome[i].energy -= r->model->log_weights[r->particle[i]];
}

/* The particles but the heaviest: roughly, which tells whether one of them wins, and exactly where one does. */
static bpcn_status search_others(struct reader *r, struct search *s, struct trial *t, size_t heaviest)
{
    bpcn_status status = BPCN_OK;
    allow(r, t);
    s->rough = 1;
    for (size_t k = 0; status == BPCN_OK && k < r->model->options.particles; k++)
        if (k != heaviest)
            status = search_particle(r, s, t, k, 0);
    s->rough = 0;
    memcpy(r->problem->extra, t->extra, r->request->n * sizeof *t->extra);
    memset(r->problem->leak, 0, r->request->n * sizeof *r->problem->leak);
    for (size_t k = 0; status == BPCN_OK && k < r->model->options.particles; k++) {
        size_t rows = 0;
        for (size_t i = 0; k != heaviest && i < r->request->n; i++)
            if (r->particle[i] == k)
                t->subset[rows++] = i;
        status = polish_rows(r, s, t, &r->model->particles[k], rows);
    }
    return status;
}

/* The codes of all rows: in the heaviest particle, in the others, then under the mixture. */
static bpcn_status infer(struct reader *r, struct search *s, struct trial *t)
{
    size_t heaviest = model_heaviest(r->model);
    bpcn_status status = search_particle(r, s, t, heaviest, 1);
    if (status == BPCN_OK)
        status = search_others(r, s, t, heaviest);
    if (status != BPCN_OK)
        return status;
    size_t settled = reader_settle(r, r->problem->weighing);
    for (size_t i = 0; i < r->request->n; i++)
        r->outcome[i].evaluations += settled;
    return polish(r, s, t, 0);
}

/* The paper's rounds with our minimiser: best code, best observation, until neither moves. */
static bpcn_status iterate_modes(struct reader *r, struct search *s, struct trial *t)
{
    size_t entries = r->request->n * r->model->width[0];
    real *before = alloc_zeroed(entries, sizeof *before);
    bpcn_status status = before ? BPCN_OK : BPCN_NO_MEMORY;
    for (size_t round = 1; status == BPCN_OK && round < r->model->options.rounds; round++) {
        double moved = 0;
        memcpy(before, r->x, entries * sizeof *before);
        reader_answer(r, 1);
        for (size_t j = 0; j < entries; j++)
            moved = fmax(moved, fabs((double)(r->x[j] - before[j])));
        if (moved <= 1e-4)
            break;
        if (r->problem->inner != NULL)
            inner_aim(r->problem->inner, r->problem->x0);
        status = polish(r, s, t, 1);
    }
    free(before);
    return status;
}

static bpcn_status search(struct reader *r)
{
    struct trial t = {0};
    const bpcn_read_options *o = &r->request->options;
    int integrated = objective_of(r->model, o) != BPCN_OBJECTIVE_PAPER, masked = r->request->known != NULL;
    struct search s = {.reader = r, .given = integrated && o->noise > 0 ? o->noise * o->noise : 0};
    int homotopy = masked && r->model->options.activation == BPCN_RELU;
    s.plan = integrated && o->noise < 0 && !homotopy ? ESTIMATE : ANNEAL;
    bpcn_status status = BPCN_NO_MEMORY;
    if (norms_create(&s.norms, r->model) == 0 && trial_create(&t, r->request->n, r->model->code_dim) == 0) {
        s.settled = t.settled;
        s.fragment = t.fragment;
        status = infer(r, &s, &t);
    }
    if (status == BPCN_OK && !integrated && !masked && r->request->answers != NULL)
        status = iterate_modes(r, &s, &t);
    if (status == BPCN_OK)
        count_weights(r);
    preconditioner_free(s.preconditioner);
    inner_free(r->problem->inner);
    r->problem->inner = NULL;
    trial_free(&t);
    norms_free(&s.norms);
    return status;
}

bpcn_status core_read(const struct model *model, const struct read_request *request)
{
    struct reader r;
    int adam = model->options.minimizer == BPCN_ADAM;
    bpcn_status status = BPCN_NO_MEMORY;
    if (reader_create(&r, model, request) == 0)
        status = adam ? paper_read(&r) : search(&r);
    for (size_t i = 0; status == BPCN_OK && i < request->n; i++)
        if (!isfinite(r.outcome[i].energy))
            status = BPCN_NUMERIC;
    if (status == BPCN_OK) {
        if (!adam)
            reader_settle(&r, &the_density);
        if (request->info != NULL)
            reader_report(&r);
        if (request->codes != NULL)
            memcpy(request->codes, r.codes, request->n * model->code_dim * sizeof *r.codes);
        if (request->answers != NULL) {
            int noisy = objective_of(model, &request->options) != BPCN_OBJECTIVE_PAPER && request->options.noise > 0;
            if (!adam)
                reader_answer(&r, noisy || request->known == NULL);
            memcpy(request->answers, r.x, request->n * model->width[0] * sizeof *r.x);
        }
    }
    reader_free(&r);
    return status;
}
