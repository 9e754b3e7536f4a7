/*
 * read (compiled per precision).
 *
 * The code is sought in each particle that could win, from its own top-down start; the best one is then polished
 * under the mixture. A query without a mask is taken as noisy, and the noise variance, unless given, is estimated
 * along the way from what the code leaves unexplained. What is not known is integrated out unless the paper's
 * objective is asked for: the residual and the log s_0 term run over the known entries.
 */
#include "read.h"

#include "activation.h"
#include "alloc.h"
#include "flip.h"
#include "start.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_FLIPS = 4, MOST_ITERATIONS = 400 };
static const double worth_a_round = 0.05;                       /* nats that a round of flips gained, to try another */
static const double sure_lead = 20, sure_lead_per_term = 0.002; /* nats of weight that decide which particle wins */
static const double odd_share = 0.1; /* of the terms of an energy: squares beyond their number that make a row odd */
static const double rough_tolerance = 1; /* nats: particles differ by more */

/* The search of one particle after the other. */
struct search {
    struct reading *r;
    struct masks masks;      /* what the rows know */
    double given;            /* noise variance of the known entries */
    int estimate;            /* their noise is to be estimated */
    size_t *subset;          /* [n]: rows at hand */
    real *points;            /* [n x code_dim] */
    struct outcome *outcome; /* [n] */
    double *extra;           /* [n]: of the best so far */
    struct fit *fit;         /* [n x (layers + 1)]: likewise */
    double *allowance;       /* [n]: how far behind, in nats, another particle's weight may be for it to win */
};

/* One particle, as it is searched. */
struct place {
    size_t k;
    struct energy energy;
    struct curvature curvature;
    struct ground ground;
    struct aim aim;
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

/* ---- a particle made ready */

/* Where unknown entries count too (the paper's objective), all of them do. */
static struct masks masks_of(const struct reading *r)
{
    struct masks m = masks_of_rows(r->model->width[0], r->request->n, r->request->known);
    m.share = r->objective.integrated ? m.share : 1;
    return m;
}

/* The observations in terms of the particle's inner products; out of memory for that, it goes without. */
static void take_aim(struct reading *r, struct place *p)
{
    const struct layer *layer = &p->energy.particle->layer[0];
    aim_free(&p->aim);
    p->energy.aim = NULL;
    if (p->ground.gram != NULL && aim_create(&p->aim, p->ground.gram, layer, r->request->n, r->rows->x0, r->team) == 0)
        p->energy.aim = &p->aim;
}

static bpcn_status place_enter(struct search *s, size_t k, struct place *p)
{
    struct reading *r = s->r;
    *p = (struct place){.k = k, .energy = r->mixture};
    bpcn_status status =
        prepared_enter(r->shard->prepared, k, s->masks, r->request->n, &r->objective.weighing, r->team, &p->ground);
    if (status != BPCN_OK)
        return status;
    r->weights[k] = p->ground.weights;
    p->energy.particle = &r->model->particles[k];
    p->curvature = (struct curvature){p->ground.norms, p->ground.preconditioner};
    take_aim(r, p);
    return BPCN_OK;
}

static void place_leave(struct search *s, struct place *p)
{
    aim_free(&p->aim);
    prepared_leave(s->r->shard->prepared, &p->ground);
}

/* ---- schedules */

static struct schedule polishing(const struct reading *r)
{
    return (struct schedule){.last = {MOST_ITERATIONS, r->objective.tolerance}};
}

static struct schedule annealing(const struct search *s)
{
    struct schedule schedule = polishing(s->r);
    schedule.steps = read_steps(s->r->model->options.activation);
    schedule.given = s->given;
    return schedule;
}

static struct schedule estimating(const struct search *s)
{
    struct schedule schedule = polishing(s->r);
    schedule.steps = noisy_steps();
    schedule.estimate = 1;
    return schedule;
}

static struct schedule flipping(const struct search *s)
{
    struct schedule schedule = annealing(s);
    schedule.steps = flip_steps(s->r->model->options.activation);
    return schedule;
}

/* ---- one particle */

/* Every row starts from the same code. */
static void start_rows(struct search *s, const struct particle *particle, size_t rows)
{
    const struct model *m = s->r->model;
    size_t code = m->code_dim;
    start_top_down(m, particle, first_leak(m->options.activation), s->r->rows->lane[0].work, s->points);
    for (size_t i = 1; i < rows; i++)
        memcpy(s->points + i * code, s->points, code * sizeof *s->points);
}

/* Keeps what particle k found for row number `at` of the subset if it beats the best so far. */
static void keep_better(struct search *s, size_t at, size_t k, int first)
{
    struct reading *r = s->r;
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

/* Minimises the rows of the subset in the particle, all from its start, and keeps what is better. */
static bpcn_status attempt(struct search *s, const struct place *p, const struct schedule *schedule, size_t rows,
                           int first)
{
    struct reading *r = s->r;
    if (rows == 0)
        return BPCN_OK;
    start_rows(s, p->energy.particle, rows);
    bpcn_status status = infer(r->rows, &p->energy, &p->curvature, schedule, rows, s->subset, s->points, s->outcome);
    for (size_t at = 0; status == BPCN_OK && at < rows; at++) {
        size_t i = s->subset[at];
        if (schedule->rival != NULL && (r->rows->extra[i] > s->given || r->rows->leak[i] > 0))
            r->outcome[i].evaluations += s->outcome[at].evaluations; /* given up on the way */
        else
            keep_better(s, at, p->k, first);
    }
    return status;
}

/* s->points = the codes of the rows of the subset with units flipped; leaves in the subset the rows
   that have any and returns how many. */
static size_t flip_rows(struct search *s, const struct place *p, size_t rows)
{
    struct reading *r = s->r;
    const struct lane *lane = &r->rows->lane[0];
    size_t code = r->model->code_dim, layers = r->model->options.layers + 1, most = lane->work->rows, flipped = 0, n;
    double energy[BATCH];
    for (size_t at = 0; at < rows; at += n) {
        n = rows - at < most ? rows - at : most;
        for (size_t j = 0; j < n; j++)
            open_code(r->model, r->codes + s->subset[at + j] * code, lane->codes + j * code);
        rows_evaluate(r->rows, &p->energy, 0, n, s->subset + at, lane->codes, energy, lane->work->grad, NULL);
        for (size_t j = 0; j < n; j++) {
            size_t i = s->subset[at + j];
            real *point = s->points + flipped * code;
            memcpy(point, r->codes + i * code, code * sizeof *point);
            r->outcome[i].evaluations++;
            if (flip_code(r->model, p->energy.particle, p->curvature.norms, lane->fit + j * layers, r->rows->count[i],
                          r->rows->extra[i], p->energy.weighing, lane->work->grad + j * code, point, lane->work->z,
                          lane->work->error) > 0)
                s->subset[flipped++] = i;
        }
    }
    return flipped;
}

/* Flips units of the codes that the particle has found and minimises from there, for as long as that
   helps. */
static bpcn_status flip(struct search *s, const struct place *p, size_t rows)
{
    struct reading *r = s->r;
    struct schedule schedule = flipping(s);
    bpcn_status status = BPCN_OK;
    size_t left = 0;
    for (size_t at = 0; at < rows; at++)
        if (r->particle[s->subset[at]] == p->k)
            s->subset[left++] = s->subset[at];
    for (int round = 0; status == BPCN_OK && left > 0 && round < MOST_FLIPS; round++) {
        size_t flipped = flip_rows(s, p, left);
        left = 0;
        if (flipped > 0)
            status = infer(r->rows, &p->energy, &p->curvature, &schedule, flipped, s->subset, s->points, s->outcome);
        for (size_t at = 0; status == BPCN_OK && at < flipped; at++) {
            size_t i = s->subset[at];
            double before = r->outcome[i].energy;
            keep_better(s, at, p->k, 0);
            if (r->outcome[i].energy < before - worth_a_round)
                s->subset[left++] = i;
        }
    }
    return status;
}

/* Whether a row should be sought a second time: where the estimate of the noise may have stopped
   at a local optimum; or where the annealing has led to a code that the particle knows little
   about, as it does not for things that were written. */
static int wants_second(const struct search *s, size_t i)
{
    const struct rows *rows = s->r->rows;
    return s->estimate ? rows->extra[i] > 0 : fit_of(rows, i)->variance > 4 * noise_variance(rows->model, 0);
}

/* An estimate is tried against no noise at all, annealing against going straight from the start.
   The likelier code is kept. */
static bpcn_status second_attempt(struct search *s, const struct place *p, size_t rows)
{
    struct schedule schedule = s->estimate ? annealing(s) : polishing(s->r);
    size_t again = 0;
    for (size_t at = 0; at < rows; at++)
        if (wants_second(s, s->subset[at]))
            s->subset[again++] = s->subset[at];
    if (s->estimate)
        schedule.rival = s->extra;
    return attempt(s, p, &schedule, again, 0);
}

/* The rows of the subset in one particle: all that is done to find the best code there; or only roughly, which tells
   whether it wins. */
static bpcn_status search_place(struct search *s, const struct place *p, size_t rows, int first, int rough)
{
    struct schedule schedule = s->estimate ? estimating(s) : annealing(s);
    schedule.tolerance = rough ? rough_tolerance : 0;
    bpcn_status status = attempt(s, p, &schedule, rows, first);
    if (status != BPCN_OK || rough)
        return status;
    int flips = !s->estimate && activation_of(s->r->model->options.activation)->kinked && s->r->model->code_dim > 0;
    return flips ? flip(s, p, rows) : second_attempt(s, p, rows);
}

/* ---- the particles */

/* By how much the squares of a layer exceed their number of terms, in units of their variance: what the particle makes
   nothing of. */
static double excess(double squares, double variance, double count)
{
    return fmax(0, squares / variance - count);
}

/* Particles were written the same things, so what a row costs them differs by some nats at most; unless it is nothing
   like those, when it may differ by any amount. */
static void allow(struct search *s)
{
    const struct reading *r = s->r;
    const struct model *m = r->model;
    for (size_t i = 0; i < r->request->n; i++) {
        const struct fit *fit = s->fit + i * (m->options.layers + 1);
        double count = r->rows->count[i], terms = count + (double)m->code_dim;
        double odd = excess(fit[0].squares, r->objective.weighing.sensory * fit[0].variance + s->extra[i], count);
        for (size_t l = 1; l <= m->options.layers; l++)
            odd += excess(fit[l].squares, fit[l].variance, (double)m->width[l]);
        s->allowance[i] = odd > odd_share * terms ? INFINITY : sure_lead + sure_lead_per_term * terms;
    }
}

/* The rows that particle k could win: the odd ones, or the others. */
static size_t could_win(struct search *s, size_t k, int odd)
{
    const struct model *m = s->r->model;
    double behind = m->log_weights[model_heaviest(m)] - m->log_weights[k];
    size_t rows = 0;
    for (size_t i = 0; i < s->r->request->n; i++)
        if (behind <= s->allowance[i] && isinf(s->allowance[i]) == odd)
            s->subset[rows++] = i;
    return rows;
}

/* From the present codes, with the noise as found: under the mixture, or in one particle. */
static bpcn_status polish_rows(struct search *s, const struct energy *energy, const struct curvature *curvature,
                               size_t rows)
{
    struct reading *r = s->r;
    struct schedule schedule = polishing(r);
    size_t code = r->model->code_dim;
    if (rows == 0)
        return BPCN_OK;
    for (size_t at = 0; at < rows; at++)
        memcpy(s->points + at * code, r->codes + s->subset[at] * code, code * sizeof *s->points);
    bpcn_status status = infer(r->rows, energy, curvature, &schedule, rows, s->subset, s->points, s->outcome);
    for (size_t at = 0; status == BPCN_OK && at < rows; at++) {
        size_t i = s->subset[at];
        memcpy(r->codes + i * code, s->points + at * code, code * sizeof *s->points);
        s->outcome[at].evaluations += r->outcome[i].evaluations;
        r->outcome[i] = s->outcome[at];
    }
    return status;
}

/* Rows that particle k has won, roughly so far. */
static bpcn_status polish_won(struct search *s, const struct place *p)
{
    struct rows *rows = s->r->rows;
    size_t won = 0;
    for (size_t i = 0; i < rows->n; i++)
        if (s->r->particle[i] == p->k) {
            rows->extra[i] = s->extra[i];
            rows->leak[i] = 0;
            s->subset[won++] = i;
        }
    return polish_rows(s, &p->energy, &p->curvature, won);
}

/* Another particle than the heaviest. Ordinary rows are searched roughly, which tells whether it wins, and exactly
   where it does; odd ones as thoroughly as in the heaviest, because there a rough end tells little. */
static bpcn_status search_other(struct search *s, size_t k)
{
    struct place p = {0};
    size_t ordinary = could_win(s, k, 0), odd = could_win(s, k, 1);
    if (ordinary + odd == 0)
        return BPCN_OK;
    bpcn_status status = place_enter(s, k, &p);
    if (status == BPCN_OK)
        status = search_place(s, &p, could_win(s, k, 1), 0, 0);
    if (status == BPCN_OK)
        status = search_place(s, &p, could_win(s, k, 0), 0, 1);
    if (status == BPCN_OK)
        status = polish_won(s, &p);
    place_leave(s, &p);
    return status;
}

static bpcn_status search_heaviest(struct search *s, size_t k)
{
    struct place p = {0};
    size_t n = s->r->request->n;
    bpcn_status status = place_enter(s, k, &p);
    memcpy(s->subset, s->r->rows->all, n * sizeof *s->subset);
    if (status == BPCN_OK)
        status = search_place(s, &p, n, 1, 0);
    place_leave(s, &p);
    return status;
}

/* Under the mixture, the rows that no particle decides alone. */
static bpcn_status polish_undecided(struct search *s)
{
    size_t rows = 0;
    for (size_t i = 0; i < s->r->request->n; i++)
        if (!s->r->decided[i])
            s->subset[rows++] = i;
    return polish_rows(s, &s->r->mixture, NULL, rows);
}

/* The codes of all rows: in the heaviest particle, in the others, then under the mixture. */
static bpcn_status search_all(struct search *s)
{
    struct reading *r = s->r;
    size_t first = model_heaviest(r->model);
    bpcn_status status = search_heaviest(s, first);
    if (status == BPCN_OK)
        allow(s);
    for (size_t k = 0; status == BPCN_OK && k < r->model->options.particles; k++)
        if (k != first)
            status = search_other(s, k);
    if (status == BPCN_OK && r->model->options.particles > 1 && r->request->n > 1)
        status = ready_mixture(r); /* a lone row is swept over what is not ready */
    if (status != BPCN_OK)
        return status;
    memcpy(r->rows->extra, s->extra, r->request->n * sizeof *s->extra);
    memset(r->rows->leak, 0, r->request->n * sizeof *r->rows->leak);
    size_t settled = settle(r, &r->mixture);
    for (size_t i = 0; i < r->request->n; i++)
        r->outcome[i].evaluations += settled;
    return polish_undecided(s);
}

/* ---- the paper's rounds with our minimiser */

/* All rows again, in the particles that decide them. */
static bpcn_status polish_all(struct search *s)
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
            status = polish_rows(s, &p.energy, &p.curvature, rows);
        place_leave(s, &p);
    }
    return status == BPCN_OK ? polish_undecided(s) : status;
}

/* Best code, best observation, until neither moves. */
static bpcn_status iterate_modes(struct search *s)
{
    struct reading *r = s->r;
    size_t entries = r->request->n * r->model->width[0];
    real *before = alloc_zeroed(entries, sizeof *before);
    bpcn_status status = before ? BPCN_OK : BPCN_NO_MEMORY;
    if (status == BPCN_OK)
        memcpy(before, r->x, entries * sizeof *before);
    for (size_t round = 1; status == BPCN_OK && round < r->model->options.rounds; round++) {
        double moved = 0;
        answer(r, 1);
        look_at_answers(r);
        for (size_t j = 0; j < entries; j++)
            moved = fmax(moved, fabs((double)(r->answers[j] - before[j])));
        if (moved <= 1e-4)
            break;
        memcpy(before, r->answers, entries * sizeof *before);
        status = polish_all(s);
    }
    free(before);
    return status;
}

/* ---- the read */

/* Energies of rows that one particle decides, as those of the mixture: with its weight. */
static void count_weights(struct reading *r)
{
    for (size_t i = 0; i < r->request->n; i++)
        if (r->decided[i])
            r->outcome[i].energy -= r->model->log_weights[r->particle[i]];
}

static bpcn_status our_read(struct reading *r)
{
    const bpcn_read_options *o = &r->request->options;
    int integrated = r->objective.integrated, masked = r->request->known != NULL;
    int kinked = activation_of(r->model->options.activation)->kinked;
    struct search s = {.r = r, .masks = masks_of(r), .given = integrated && o->noise > 0 ? o->noise * o->noise : 0};
    s.estimate = integrated && o->noise < 0 && !(masked && kinked);
    bpcn_status status = BPCN_NO_MEMORY;
    if (search_create(&s, r->request->n, r->model->code_dim, r->model->options.layers) == 0)
        status = search_all(&s);
    if (status == BPCN_OK && !integrated && !masked && r->answers != NULL)
        status = iterate_modes(&s);
    if (status == BPCN_OK)
        count_weights(r);
    search_free(&s);
    return status;
}

bpcn_status read_rows(const struct shard *shard, struct team *team, const struct read_request *request)
{
    struct reading r;
    const struct model *model = shard->model;
    int adam = model->options.minimizer == BPCN_ADAM;
    bpcn_status status = reading_create(&r, shard, team, request);
    if (status == BPCN_OK)
        status = adam ? paper_read(&r) : our_read(&r);
    for (size_t i = 0; status == BPCN_OK && i < request->n; i++)
        if (!isfinite(r.outcome[i].energy))
            status = BPCN_NUMERIC;
    if (status == BPCN_OK && !adam)
        settle(&r, &r.density);
    if (status == BPCN_OK && !adam && r.answers != NULL)
        answer(&r, request->known == NULL || (r.objective.integrated && request->options.noise > 0));
    if (status == BPCN_OK && request->codes != NULL)
        memcpy(request->codes, r.codes, request->n * model->code_dim * sizeof *r.codes);
    if (status == BPCN_OK && request->info != NULL)
        report(&r);
    reading_free(&r);
    return status;
}
