/* The shared parts of the tests: see support.h. */
#include "support.h"

#include "cholesky.h"
#include "splitmix.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- random numbers */

double dice_uniform(struct dice *dice)
{
    return (double)(next_random(&dice->state) >> 11) * 0x1p-53;
}

double dice_normal(struct dice *dice)
{
    double radius = sqrt(-2 * log(1 - dice_uniform(dice)));
    return radius * cos(6.283185307179586477 * dice_uniform(dice));
}

void dice_normals(struct dice *dice, size_t n, double scale, double *out)
{
    for (size_t j = 0; j < n; j++)
        out[j] = scale * dice_normal(dice);
}

void dice_normals_f32(struct dice *dice, size_t n, double scale, float *out)
{
    for (size_t j = 0; j < n; j++)
        out[j] = (float)(scale * dice_normal(dice));
}

void *room(size_t count, size_t size)
{
    void *p = calloc(count > 0 ? count : 1, size);
    assert_non_null(p);
    return p;
}

/* ---- comparisons */

void check_near(double got, double want, double tolerance, const char *what, const char *file, int line)
{
    if (fabs(got - want) <= tolerance)
        return;
    print_error("%s is %.17g, expected %.17g within %g\n", what, got, want, tolerance);
    _fail(file, line);
}

void check_status(bpcn_status got, bpcn_status want, const char *what, const char *file, int line)
{
    if (got == want)
        return;
    print_error("%s gave %s (\"%s\"), expected %s\n", what, bpcn_status_name(got), bpcn_error(),
                bpcn_status_name(want));
    _fail(file, line);
}

double greatest_difference(size_t n, const double *a, const double *b)
{
    double most = 0;
    for (size_t j = 0; j < n; j++) {
        double d = fabs(a[j] - b[j]);
        if (!(d <= most))
            most = d; /* a NaN stays */
        if (isnan(most))
            return most;
    }
    return most;
}

double greatest_size(size_t n, const double *a)
{
    double most = 0;
    for (size_t j = 0; j < n; j++)
        most = fmax(most, fabs(a[j]));
    return most;
}

/* ---- memories */

bpcn_options network(size_t dim, size_t layers, const size_t *hidden)
{
    bpcn_options o;
    bpcn_options_default(&o, sizeof o);
    o.dim = dim;
    o.layers = layers;
    for (size_t l = 0; l < layers; l++)
        o.hidden[l] = hidden[l];
    o.threads = 1;
    o.scale = BPCN_SCALE_AS_GIVEN;
    return o;
}

bpcn_memory *make_memory(bpcn_options options)
{
    bpcn_memory *memory = NULL;
    assert_ok(bpcn_memory_create(&options, &memory));
    return memory;
}

void random_covariance(struct dice *dice, size_t n, double *u)
{
    double *a = room(n * n, sizeof *a);
    dice_normals(dice, n * n, sqrt(0.5 / (double)n), a);
    for (size_t i = 0; i < n; i++)
        for (size_t j = 0; j < n; j++) {
            double sum = i == j ? 0.05 : 0;
            for (size_t k = 0; k < n; k++)
                sum += a[i * n + k] * a[j * n + k];
            u[i * n + j] = sum;
        }
    free(a);
}

static void randomize_particle(bpcn_memory *memory, size_t k, struct dice *dice, double scale)
{
    const struct model *model = memory->contents.shard[0];
    for (size_t l = 0; l < model->options.layers; l++) {
        size_t above = model->width[l + 1], below = model->width[l];
        double *mean = room(above * below, sizeof *mean), *u = room(above * above, sizeof *u);
        dice_normals(dice, above * below, scale, mean);
        random_covariance(dice, above, u);
        assert_ok(bpcn_memory_set_layer(memory, 0, k, l, mean, u));
        free(mean);
        free(u);
    }
    size_t width = model->width[model->options.layers];
    double *top = room(width, sizeof *top);
    dice_normals(dice, width, scale, top);
    assert_ok(bpcn_memory_set_top(memory, 0, k, top, 0.1 + dice_uniform(dice)));
    free(top);
}

void randomize(bpcn_memory *memory, struct dice *dice, double scale)
{
    size_t particles = memory->contents.shard[0]->options.particles;
    double *weights = room(particles, sizeof *weights);
    for (size_t k = 0; k < particles; k++) {
        randomize_particle(memory, k, dice, scale);
        weights[k] = 0.5 + dice_uniform(dice);
    }
    assert_ok(bpcn_memory_set_weights(memory, 0, weights));
    free(weights);
}

/* ---- snapshots: one run of bytes, counters last */

struct snapshot {
    size_t parameters, bytes; /* bytes of the parameters, and of all */
    unsigned char *data;
};

enum direction { MEASURE, SAVE, LOAD };

static void piece(enum direction how, struct snapshot *s, void *at, size_t bytes)
{
    if (how == SAVE)
        memcpy(s->data + s->bytes, at, bytes);
    if (how == LOAD)
        memcpy(at, s->data + s->bytes, bytes);
    s->bytes += bytes;
}

/* Walks over the parameters of a model; what lies below root_real's diagonal is unused. */
static void walk_model(enum direction how, struct snapshot *s, struct model *model)
{
    size_t real = real_size(model);
    for (size_t k = 0; k < model->options.particles; k++) {
        struct particle *p = &model->particles[k];
        for (size_t l = 0; l < model->options.layers; l++) {
            struct layer *layer = &p->layer[l];
            piece(how, s, layer->mean, layer->above * layer->below * real);
            piece(how, s, layer->root, cholesky_entries(layer->above) * sizeof(double));
            piece(how, s, layer->root_real, layer->above * layer->above * real);
        }
        piece(how, s, p->top_mean, model->width[model->options.layers] * sizeof(double));
        piece(how, s, &p->top_variance, sizeof p->top_variance);
        piece(how, s, &p->origin, sizeof p->origin);
    }
    piece(how, s, model->log_weights, model->options.particles * sizeof(double));
}

/* Walks over everything that a memory holds, of as many shards as have begun. */
static void walk(enum direction how, struct snapshot *s, struct contents *c)
{
    s->bytes = 0;
    for (size_t k = 0; k < c->count; k++)
        walk_model(how, s, c->shard[k]);
    s->parameters = s->bytes;
    for (size_t k = 0; k < c->count; k++) {
        piece(how, s, &c->shard[k]->writes, sizeof c->shard[k]->writes);
        piece(how, s, &c->shard[k]->forgets, sizeof c->shard[k]->forgets);
        piece(how, s, &c->shard[k]->deletes, sizeof c->shard[k]->deletes);
        piece(how, s, &c->rows[k], sizeof c->rows[k]);
        piece(how, s, &c->begun[k], sizeof c->begun[k]);
    }
    piece(how, s, &c->writes, sizeof c->writes);
    piece(how, s, &c->forgets, sizeof c->forgets);
    piece(how, s, &c->deletes, sizeof c->deletes);
}

struct snapshot *snapshot_take(const bpcn_memory *memory)
{
    struct snapshot *s = room(1, sizeof *s);
    struct contents contents = memory->contents; /* which points to what is walked over */
    walk(MEASURE, s, &contents);
    s->data = room(s->bytes, 1);
    walk(SAVE, s, &contents);
    return s;
}

static int same(const struct snapshot *s, const bpcn_memory *memory, int counters)
{
    struct snapshot *now = snapshot_take(memory);
    size_t bytes = counters ? s->bytes : s->parameters;
    int equal = now->bytes == s->bytes && memcmp(now->data, s->data, bytes) == 0;
    snapshot_free(now);
    return equal;
}

int snapshot_same(const struct snapshot *s, const bpcn_memory *memory)
{
    return same(s, memory, 1);
}

int snapshot_same_parameters(const struct snapshot *s, const bpcn_memory *memory)
{
    return same(s, memory, 0);
}

void snapshot_restore(const struct snapshot *s, bpcn_memory *memory)
{
    struct snapshot copy = *s;
    walk(LOAD, &copy, &memory->contents);
}

void snapshot_free(struct snapshot *s)
{
    free(s->data);
    free(s);
}

/* ---- pictures */

static void picture(struct dice *dice, float *out)
{
    enum { SIDE = 8, WAVES = 6 };
    double sum[PICTURE] = {0}, most = 0;
    for (int wave = 0; wave < WAVES; wave++) {
        double across = 3 * dice_uniform(dice), down = 3 * dice_uniform(dice), phase = 6.28 * dice_uniform(dice);
        for (size_t channel = 0; channel < 3; channel++) {
            double strength = dice_normal(dice);
            for (size_t at = 0; at < SIDE * SIDE; at++) {
                double y = (double)(at / SIDE) / SIDE, x = (double)(at % SIDE) / SIDE;
                sum[at * 3 + channel] += strength * cos(3.14 * (across * x + down * y) + phase);
            }
        }
    }
    for (size_t j = 0; j < PICTURE; j++)
        most = fmax(most, fabs(sum[j]));
    for (size_t j = 0; j < PICTURE; j++)
        out[j] = (float)(sum[j] / most);
}

void pictures(struct dice *dice, size_t n, float *out)
{
    for (size_t i = 0; i < n; i++)
        picture(dice, out + i * PICTURE);
}

double mean_square_error(size_t n, const float *a, const float *b)
{
    double sum = 0;
    for (size_t j = 0; j < n; j++)
        sum += ((double)a[j] - (double)b[j]) * ((double)a[j] - (double)b[j]);
    return sum / (double)n;
}

void left_half(size_t n, unsigned char *known)
{
    for (size_t j = 0; j < n * PICTURE; j++)
        known[j] = j % PICTURE / 3 % 8 < 4;
}

bpcn_options small_network(size_t particles)
{
    static const size_t hidden[] = {SMALL_FIRST, SMALL_SECOND};
    bpcn_options o = network(PICTURE, 2, hidden);
    o.particles = particles;
    o.sigma_x = 0.1;
    o.seed = 3;
    return o;
}

struct gallery *gallery_of(bpcn_options options, size_t n, uint64_t seed)
{
    struct dice dice = {seed};
    struct gallery *s = room(1, sizeof *s);
    s->x = room(2 * n, PICTURE * sizeof *s->x);
    s->unseen = s->x + n * PICTURE;
    pictures(&dice, n, s->x);
    pictures(&dice, n, s->unseen);
    s->memory = make_memory(options);
    assert_ok(bpcn_memory_write(s->memory, s->x, NULL, n, NULL));
    return s;
}

void gallery_free(struct gallery *s)
{
    bpcn_memory_free(s->memory);
    free(s->x);
    free(s);
}
