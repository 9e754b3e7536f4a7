/*
 * The modern Hopfield network. With key K_j for every observation,
 *
 *   score_j(q) = beta (bias_j - |q - K_j|^2 / 2),   bias_j = 0 (Euclidean), |K_j|^2 / 2 (dot) or |K_j|^2 / 100 (the
 *                                                paper's dot)
 *   log p(q)   = log sum_j exp score_j(q),          d log p / dq = beta sum_j softmax_j (K_j - q)
 *
 * One-step recall answers with sum_j softmax_j K_j; gradient recall climbs log p by Adam from the
 * query. In both, unknown entries count with the query's values and known ones are held. At
 * beta = 10,000 one key almost always has all the weight: a row then follows that key alone until
 * the triangle inequality no longer rules the others out.
 */
#include "baselines.h"

#include "error.h"
#include "kept.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

struct mhn {
    struct kept keys; /* first, so that the interface's self is both */
    struct mhn_options options;
    double *bias; /* [keys.count] */
    float *ones;  /* [dim] */
    size_t steps; /* of the last read; the one thing a read changes */
};

enum { LONG_REST = 10 };          /* steps */
static const double certain = 30; /* nats between the first and the second key: e^-30 is nothing */

struct mhn_options mhn_options_default(size_t dim)
{
    return (struct mhn_options){.dim = dim,
                                .metric = MHN_EUCLIDEAN,
                                .recall = MHN_GRADIENT,
                                .beta = 10000,
                                .rate = 1,
                                .stop = 1e-3,
                                .steps = 500};
}

static bpcn_status write_rows(void *self, const float *x, size_t n)
{
    struct mhn *m = self;
    static const double share[] = {[MHN_DOT] = 0.5, [MHN_EUCLIDEAN] = 0, [MHN_PAPER_DOT] = 0.01};
    size_t dim = m->options.dim, before = m->keys.count;
    bpcn_status status = kept_append(&m->keys, x, n);
    if (status != BPCN_OK)
        return status;
    double *bias = realloc(m->bias, m->keys.count * sizeof *bias);
    if (bias == NULL)
        return bpcn_fail(BPCN_NO_MEMORY, "out of memory");
    m->bias = bias;
    for (size_t i = before; i < m->keys.count; i++) {
        double squares = 0;
        for (size_t j = 0; j < dim; j++)
            squares += (double)m->keys.values[i * dim + j] * (double)m->keys.values[i * dim + j];
        bias[i] = share[m->options.metric] * squares;
    }
    return BPCN_OK;
}

/* One query on its way up. */
struct climber {
    float *at, *mean, *square; /* [dim]: the point, Adam's moments */
    float *free;               /* [dim]: 1 where the entry may move, 0 where it is known */
    float *reference;          /* [dim]: where the distances below were taken */
    double *distance;          /* [keys]: |reference - K_j| */
    double *weight;            /* [keys]: softmax there, valid while `shared` */
    size_t winner;             /* the heaviest key */
    int shared;                /* no key has all the weight */
    double energy, before;     /* -log p now and one step ago */
    size_t rest;               /* steps in a row that moved the energy by nothing that counts */
};

static double score(const struct mhn *m, size_t j, double distance)
{
    return m->options.beta * (m->bias[j] - 0.5 * distance * distance);
}

static const float *key(const struct mhn *m, size_t j)
{
    return m->keys.values + j * m->options.dim;
}

/* Takes all distances at the climber's point, and the softmax. */
static void look_around(const struct mhn *m, struct climber *c)
{
    size_t dim = m->options.dim, count = m->keys.count;
    double most = -INFINITY, sum = 0, heaviest = 0;
    memcpy(c->reference, c->at, dim * sizeof *c->at);
    for (size_t j = 0; j < count; j++) {
        c->distance[j] = sqrt(weighted_distance(dim, m->ones, c->at, key(m, j), INFINITY));
        double s = score(m, j, c->distance[j]);
        if (s > most) {
            most = s;
            c->winner = j;
        }
    }
    for (size_t j = 0; j < count; j++)
        sum += c->weight[j] = exp(score(m, j, c->distance[j]) - most);
    for (size_t j = 0; j < count; j++) {
        c->weight[j] /= sum;
        heaviest = fmax(heaviest, j == c->winner ? 0 : c->weight[j]);
    }
    c->shared = heaviest > exp(-certain);
    c->energy = -most - log(sum);
}

/* Whether the winner of the last look still has all the weight, for sure; sets the energy. */
static int still_certain(const struct mhn *m, struct climber *c)
{
    size_t dim = m->options.dim;
    if (c->shared)
        return 0;
    double moved = sqrt(weighted_distance(dim, m->ones, c->at, c->reference, INFINITY));
    double mine = score(m, c->winner, sqrt(weighted_distance(dim, m->ones, c->at, key(m, c->winner), INFINITY)));
    for (size_t j = 0; j < m->keys.count; j++)
        if (j != c->winner && mine - score(m, j, fmax(0, c->distance[j] - moved)) < certain)
            return 0;
    c->energy = -mine;
    return 1;
}

/* target = sum_j softmax_j K_j */
static const float *pull(const struct mhn *m, const struct climber *c, float *target)
{
    size_t dim = m->options.dim;
    if (!c->shared)
        return key(m, c->winner);
    memset(target, 0, dim * sizeof *target);
    for (size_t j = 0; j < m->keys.count; j++)
        for (size_t k = 0; c->weight[j] > 1e-12 && k < dim; k++)
            target[k] += (float)c->weight[j] * key(m, j)[k];
    return target;
}

/* One step of every entry; without branches, so that it is done in vector registers. */
static void move(size_t dim, float beta, float rate, float correct, const float *restrict target,
                 const float *restrict mobile, float *restrict mean, float *restrict square, float *restrict at)
{
    const float first = 0.9f, second = 0.999f, epsilon = 1e-8f;
    for (size_t k = 0; k < dim; k++) {
        float g = beta * (at[k] - target[k]);
        mean[k] = first * mean[k] + (1 - first) * g;
        square[k] = second * square[k] + (1 - second) * g * g;
        at[k] -= mobile[k] * rate * mean[k] / (sqrtf(square[k] * correct) + epsilon);
    }
}

static void adam_step(const struct mhn *m, struct climber *c, size_t t, float *buffer)
{
    float rate = (float)(m->options.rate / (1 - pow(0.9, (double)t)));
    float correct = (float)(1 / (1 - pow(0.999, (double)t)));
    move(m->options.dim, (float)m->options.beta, rate, correct, pull(m, c, buffer), c->free, c->mean, c->square, c->at);
}

/* One step of one climber; whether its energy still moves. */
static int advance(const struct mhn *m, struct climber *c, size_t t, float *buffer)
{
    if (t == 1 || !still_certain(m, c))
        look_around(m, c);
    int moves = t == 1 || !(fabs(c->energy - c->before) <= m->options.stop);
    c->rest = moves ? 0 : c->rest + 1;
    c->before = c->energy;
    adam_step(m, c, t, buffer);
    return moves;
}

/* All climbers stop together, as the paper's batches do; those that have long been at rest are spared the
   steps until then. */
static size_t climb(const struct mhn *m, struct climber *climbers, size_t n, float *buffer)
{
    for (size_t t = 1; t <= m->options.steps; t++) {
        size_t moving = 0;
        for (size_t i = 0; i < n; i++)
            if (climbers[i].rest < LONG_REST)
                moving += (size_t)advance(m, &climbers[i], t, buffer);
        if (moving == 0)
            return t;
    }
    return m->options.steps;
}

static void one_step(const struct mhn *m, struct climber *c, float *buffer)
{
    look_around(m, c);
    c->shared = 1;
    const float *target = pull(m, c, buffer);
    for (size_t k = 0; k < m->options.dim; k++)
        if (c->free[k] != 0)
            c->at[k] = target[k];
}

/* Room for n climbers and one row more; NULL when out of memory. */
static struct climber *climbers_create(const struct mhn *m, size_t n, float **floats, double **doubles)
{
    size_t dim = m->options.dim, count = m->keys.count;
    struct climber *c = calloc(n, sizeof *c);
    *floats = calloc(5 * n + 1, dim * sizeof **floats);
    *doubles = calloc(2 * n, count * sizeof **doubles);
    if (c == NULL || *floats == NULL || *doubles == NULL) {
        free(c);
        free(*floats);
        free(*doubles);
        return NULL;
    }
    for (size_t i = 0; i < n; i++) {
        float *f = *floats + 5 * i * dim;
        double *d = *doubles + 2 * i * count;
        c[i] = (struct climber){.at = f,
                                .mean = f + dim,
                                .square = f + 2 * dim,
                                .reference = f + 3 * dim,
                                .free = f + 4 * dim,
                                .distance = d,
                                .weight = d + count};
    }
    return c;
}

static bpcn_status read_rows(const void *self, const float *query, const unsigned char *known, size_t n, float *out)
{
    const struct mhn *m = self;
    size_t dim = m->options.dim;
    float *floats;
    double *doubles;
    if (m->keys.count == 0)
        return bpcn_fail(BPCN_INVALID, "nothing was stored yet, so nothing can be recalled");
    struct climber *c = climbers_create(m, n, &floats, &doubles);
    if (c == NULL)
        return bpcn_fail(BPCN_NO_MEMORY, "out of memory for %zu queries", n);
    for (size_t i = 0; i < n; i++) {
        memcpy(c[i].at, query + i * dim, dim * sizeof *query);
        for (size_t k = 0; k < dim; k++)
            c[i].free[k] = known != NULL && known[i * dim + k] ? 0 : 1;
    }
    size_t steps = 1;
    for (size_t i = 0; m->options.recall == MHN_ONE_STEP && i < n; i++)
        one_step(m, &c[i], floats + 5 * n * dim);
    if (m->options.recall == MHN_GRADIENT)
        steps = climb(m, c, n, floats + 5 * n * dim);
    ((struct mhn *)(uintptr_t)self)->steps = steps;
    for (size_t i = 0; i < n; i++)
        memcpy(out + i * dim, c[i].at, dim * sizeof *out);
    free(c);
    free(floats);
    free(doubles);
    return BPCN_OK;
}

size_t mhn_last_steps(const bpcn_model *model)
{
    return ((const struct mhn *)model->self)->steps;
}

static size_t bytes(const void *self)
{
    return kept_bytes(&((const struct mhn *)self)->keys);
}

static void free_self(void *self)
{
    struct mhn *m = self;
    kept_free(&m->keys);
    free(m->bias);
    free(m->ones);
    free(m);
}

bpcn_status mhn_create(const struct mhn_options *options, bpcn_model *model)
{
    if (options->dim == 0 || !(options->beta > 0) || !(options->rate > 0) || options->steps == 0)
        return bpcn_fail(BPCN_INVALID, "a Hopfield network wants entries, steps, and a positive beta and rate");
    struct mhn *self = calloc(1, sizeof *self);
    float *ones = calloc(options->dim, sizeof *ones);
    if (self == NULL || ones == NULL) {
        free(self);
        free(ones);
        return bpcn_fail(BPCN_NO_MEMORY, "out of memory");
    }
    for (size_t j = 0; j < options->dim; j++)
        ones[j] = 1;
    self->options = *options;
    self->keys.dim = options->dim;
    self->ones = ones;
    *model = (bpcn_model){self, "mhn", write_rows, read_rows, bytes, free_self};
    return BPCN_OK;
}
