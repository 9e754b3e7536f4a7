/*
 * Random options and random operations on a memory in a file, against an oracle that keeps every row. Usage:
 * test_random_operations [SESSIONS [FIRST]]: a failure names its session, which is repeated by giving it as FIRST.
 *
 * The oracle has, for every shard and layer, the posterior in information form, in long double: that of the memory after
 * it last faded, or the prior, and of each row since then (x, h) the terms z'z / s and z'x_l / s. A delete leaves terms
 * out. After every operation it must agree with the memory, whose covariances must stay within the prior's; what was
 * refused must have changed nothing; and after a crash all that was acknowledged must be there.
 */
#include "support.h"

#include "activation.h"
#include "cholesky.h"
#include "held.h"
#include "shards.h"
#include "update.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { ROWS = 400, DIM_MOST = 10, WIDTH_MOST = 8, LAYERS_MOST = 2, SHARDS_MOST = 3, OPERATIONS = 60 };

static size_t sessions = 40, first_session = 1;
static char path[] = "/tmp/bpcn_random_XXXXXX", copy_path[sizeof path + 5];

/* ---- small dense algebra in long double */

/* a [n x n] becomes its inverse, by Gauss-Jordan: symmetric positive definite, so that no pivots are needed. */
static void invert(size_t n, long double *a)
{
    for (size_t k = 0; k < n; k++) {
        long double pivot = 1 / a[k * n + k];
        for (size_t j = 0; j < n; j++)
            a[k * n + j] = j == k ? pivot : a[k * n + j] * pivot;
        for (size_t i = 0; i < n; i++) {
            long double factor = a[i * n + k];
            if (i == k)
                continue;
            for (size_t j = 0; j < n; j++)
                a[i * n + j] = j == k ? -factor * pivot : a[i * n + j] - factor * a[k * n + j];
        }
    }
}

struct layer_posterior {
    long double mean[WIDTH_MOST * DIM_MOST], covariance[WIDTH_MOST * WIDTH_MOST];
};

/* ---- the oracle */

struct kept {
    float x[DIM_MOST];
    uint64_t number; /* among those that can be deleted */
    size_t shard;
};

struct session {
    uint64_t number;
    struct dice dice;
    bpcn_options options;
    size_t width[LAYERS_MOST + 1];
    double unit, centre; /* of the data */
    bpcn_memory *memory;
    struct layer_posterior base[SHARDS_MOST][LAYERS_MOST];
    uint64_t begun[SHARDS_MOST]; /* as the memory's when the base was taken */
    int has_base[SHARDS_MOST];
    struct kept *kept; /* [count] rows since the memory last faded */
    size_t count, drawn;
    uint64_t writes, deletes, forgets;
    double mean_error, covariance_error; /* the largest so far, in units of their tolerances */
};

static size_t pick(struct session *s, size_t n)
{
    return (size_t)(dice_uniform(&s->dice) * (double)n);
}

static void base_of_prior(struct session *s, size_t k)
{
    bpcn_options own = contents_shard_options(&s->options, k);
    struct model *model = shard_prior(&own);
    assert_non_null(model);
    for (size_t l = 0; l < s->options.layers; l++) {
        size_t above = s->width[l + 1], below = s->width[l];
        double *mean = room(above * below, sizeof *mean);
        shard_ops_for(model)->get_mean(&model->particles[0].layer[l], mean);
        for (size_t j = 0; j < above * below; j++)
            s->base[k][l].mean[j] = (long double)mean[j];
        for (size_t j = 0; j < above * above; j++)
            s->base[k][l].covariance[j] = j % (above + 1) == 0 ? (long double)(s->options.sigma_w * s->options.sigma_w) : 0;
        free(mean);
    }
    model_free(model);
    s->has_base[k] = 1;
}

/* Rows whose shard began anew are gone, and its base is the prior's. A memory whose scale changed was written again, and
   has numbered its rows anew. */
static void follow_shards(struct session *s)
{
    const struct contents *c = &s->memory->contents;
    int anew = 0;
    for (size_t k = 0; k < c->count; k++) {
        if (s->has_base[k] && s->begun[k] == c->begun[k])
            continue;
        base_of_prior(s, k);
        s->begun[k] = c->begun[k];
        anew = 1;
    }
    for (size_t i = s->count; i-- > 0;) {
        struct fingerprint print = fingerprint_of(s->kept[i].x, s->options.dim);
        size_t slot = held_find(&c->held, &print, UINT64_MAX);
        if (slot == c->held.count) {
            assert_true(anew); /* no row is lost otherwise */
            s->kept[i] = s->kept[--s->count];
            continue;
        }
        s->kept[i].number = held_at(&c->held, slot).number;
        s->kept[i].shard = held_at(&c->held, slot).shard;
    }
}

static double code_at(const struct session *s, const void *codes, size_t j)
{
    return s->options.precision == BPCN_FLOAT64 ? ((const double *)codes)[j] : (double)((const float *)codes)[j];
}

/* The posterior of layer l of shard k: that of the base and of the rows since. */
static void posterior_of(const struct session *s, size_t k, size_t l, struct layer_posterior *out)
{
    const struct contents *c = &s->memory->contents;
    size_t above = s->width[l + 1], below = s->width[l];
    long double precision[WIDTH_MOST * WIDTH_MOST], eta[WIDTH_MOST * DIM_MOST] = {0};
    long double noise = (long double)(l == 0 ? s->options.sigma_data : s->options.sigma_x);
    noise *= noise;
    memcpy(precision, s->base[k][l].covariance, above * above * sizeof *precision);
    invert(above, precision);
    for (size_t i = 0; i < above; i++)
        for (size_t j = 0; j < below; j++)
            for (size_t m = 0; m < above; m++)
                eta[i * below + j] += precision[i * above + m] * s->base[k][l].mean[m * below + j];
    for (size_t r = 0; r < s->count; r++) {
        double codes[2 * LAYERS_MOST * WIDTH_MOST], z[WIDTH_MOST], slope[WIDTH_MOST], h[WIDTH_MOST], target[DIM_MOST];
        if (s->kept[r].shard != k)
            continue;
        held_codes(&c->held, (size_t)(s->kept[r].number % c->held.most), codes);
        size_t start = l == 0 ? 0 : s->width[1];
        for (size_t j = 0; j < above; j++)
            h[j] = code_at(s, codes, start + j);
        if (s->options.precision == BPCN_FLOAT64) {
            activation_apply_f64(s->options.activation, 0, above, h, z, slope);
        } else { /* f itself is part of the memory's arithmetic */
            float h32[WIDTH_MOST], z32[WIDTH_MOST], slope32[WIDTH_MOST];
            for (size_t j = 0; j < above; j++)
                h32[j] = (float)h[j];
            activation_apply_f32(s->options.activation, 0, above, h32, z32, slope32);
            for (size_t j = 0; j < above; j++)
                z[j] = (double)z32[j];
        }
        for (size_t j = 0; j < below; j++) {
            target[j] = l > 0 ? code_at(s, codes, j) : scale_in(&c->scale, j, (double)s->kept[r].x[j]);
            if (s->options.precision == BPCN_FLOAT32)
                target[j] = (double)(float)target[j];
        }
        for (size_t i = 0; i < above; i++) {
            for (size_t j = 0; j < above; j++)
                precision[i * above + j] += (long double)z[i] * (long double)z[j] / noise;
            for (size_t j = 0; j < below; j++)
                eta[i * below + j] += (long double)z[i] * (long double)target[j] / noise;
        }
    }
    memcpy(out->covariance, precision, above * above * sizeof *precision);
    invert(above, out->covariance);
    memset(out->mean, 0, sizeof out->mean);
    for (size_t i = 0; i < above; i++)
        for (size_t j = 0; j < below; j++)
            for (size_t m = 0; m < above; m++)
                out->mean[i * below + j] += out->covariance[i * above + m] * eta[m * below + j];
}

/* forget: the paper's; discount: of precisions and of what they weigh. The rows are part of the base then. */
static void oracle_fades(struct session *s, int discount, double beta)
{
    long double keep = 1 - (long double)beta, prior = (long double)(s->options.sigma_w * s->options.sigma_w);
    static struct layer_posterior now[SHARDS_MOST][LAYERS_MOST];
    size_t shards = s->memory->contents.count;
    for (size_t k = 0; k < shards; k++)
        for (size_t l = 0; l < s->options.layers; l++)
            posterior_of(s, k, l, &now[k][l]);
    for (size_t k = 0; k < shards; k++) {
        base_of_prior(s, k);
        for (size_t l = 0; l < s->options.layers; l++) {
            size_t above = s->width[l + 1], below = s->width[l];
            struct layer_posterior *b = &s->base[k][l], *n = &now[k][l];
            long double before[WIDTH_MOST * DIM_MOST];
            memcpy(before, b->mean, sizeof before);
            for (size_t j = 0; !discount && j < above * below; j++)
                b->mean[j] = sqrtl(keep) * n->mean[j] + (1 - sqrtl(keep)) * before[j];
            for (size_t j = 0; !discount && j < above * above; j++)
                b->covariance[j] = keep * n->covariance[j] + (j % (above + 1) == 0 ? (long double)beta * prior : 0);
            if (!discount)
                continue;
            invert(above, n->covariance);
            for (size_t j = 0; j < above * above; j++)
                b->covariance[j] = keep * n->covariance[j] + (j % (above + 1) == 0 ? (long double)beta / prior : 0);
            invert(above, b->covariance);
            for (size_t i = 0; i < above; i++)
                for (size_t j = 0; j < below; j++) {
                    b->mean[i * below + j] = n->mean[i * below + j];
                    for (size_t m = 0; m < above; m++)
                        b->mean[i * below + j] += (long double)beta / prior * b->covariance[i * above + m] *
                                                  (before[m * below + j] - n->mean[m * below + j]);
                }
        }
    }
    s->count = 0;
}

/* ---- invariants */

/* Means in float32 are off by 6e-8 of the largest for every change, at random. A delete that frees a direction, whose
   variance then grows from sigma_x^2 to sigma_w^2, makes what rounding left there larger by the same factor, in float64
   too. */
static void check_posterior(struct session *s)
{
    const bpcn_options *o = &s->options;
    double ratio = o->sigma_w / o->sigma_x, wide = 1e-11 * ratio * ratio;
    for (size_t k = 0; k < s->memory->contents.count; k++)
        for (size_t l = 0; l < o->layers; l++) {
            size_t above = s->width[l + 1], below = s->width[l];
            struct layer_posterior want;
            double mean[WIDTH_MOST * DIM_MOST], covariance[WIDTH_MOST * WIDTH_MOST], largest = 1, off = 0, spread = 0;
            posterior_of(s, k, l, &want);
            assert_ok(bpcn_memory_get_layer(s->memory, k, 0, l, mean, covariance));
            for (size_t j = 0; j < above * below; j++) {
                largest = fmax(largest, fabs(mean[j]));
                off = fmax(off, fabs(mean[j] - (double)want.mean[j]));
            }
            for (size_t j = 0; j < above * above; j++)
                spread = fmax(spread, fabs(covariance[j] - (double)want.covariance[j]));
            double narrow = o->precision == BPCN_FLOAT32 ? (1e-4 + 1e-6 * ratio * ratio) * largest : 1e-8 * largest;
            s->mean_error = fmax(s->mean_error, off / (narrow + wide * largest));
            s->covariance_error = fmax(s->covariance_error, spread / (1e-9 + wide));
            if (!(off <= narrow + wide * largest && spread <= 1e-9 + wide)) {
                print_error("%zu shards of %zu, when full %d, %zu rows, pairs %zu, unit %g, float%d, sigma_x %g\n", s->memory->contents.count,
                            o->shards, (int)o->when_full, s->count, s->memory->contents.scale.pairs, s->unit, o->precision == BPCN_FLOAT64 ? 64 : 32, o->sigma_x);
                for (size_t r = 0; r < s->count; r++)
                    for (size_t j = 0; j < o->dim; j++)
                        if (fabs(scale_in(&s->memory->contents.scale, j, (double)s->kept[r].x[j])) > 20)
                            print_error("row %zu entry %zu: %g\n", r, j, scale_in(&s->memory->contents.scale, j, (double)s->kept[r].x[j]));
                print_error("session %llu: shard %zu, layer %zu is off by %g in its mean, %g in its covariance\n",
                            (unsigned long long)s->number, k, l, off, spread);
                fail();
            }
            assert_int_equal(cholesky_within(above, s->memory->contents.shard[k]->particles[0].layer[l].root,
                                             model_prior_bound(s->memory->contents.shard[k])),
                             1);
        }
}

static void check_counts(const struct session *s)
{
    bpcn_stats stats = {.size = sizeof stats};
    assert_ok(bpcn_memory_get_stats(s->memory, &stats));
    assert_int_equal(stats.writes, s->writes);
    assert_int_equal(stats.deletes, s->deletes);
    assert_int_equal(stats.forgets, s->forgets);
    assert_true(stats.deletable >= s->count);
}

/* ---- operations */

static void draw_row(struct session *s, float *x)
{
    for (size_t j = 0; j < s->options.dim; j++)
        x[j] = (float)(s->centre + s->unit * dice_normal(&s->dice));
    s->drawn++;
}

/* The rows that a write of n rows added, as the memory now keeps them. */
static void oracle_writes(struct session *s, const float *x, size_t n)
{
    const struct contents *c = &s->memory->contents;
    follow_shards(s);
    for (size_t i = 0; i < n; i++) {
        uint64_t number = c->held.next - n + i;
        struct held_row row = held_at(&c->held, (size_t)(number % c->held.most));
        if (row.gone) /* its shard began anew within the call */
            continue;
        struct kept *kept = &s->kept[s->count++];
        memcpy(kept->x, x + i * s->options.dim, s->options.dim * sizeof *x);
        kept->number = number;
        kept->shard = row.shard;
    }
    s->writes += n;
}

static size_t draw_rows(struct session *s, float *x)
{
    size_t n = 1 + pick(s, dice_uniform(&s->dice) < 0.1 ? 20 : 4);
    for (size_t i = 0; i < n; i++)
        draw_row(s, x + i * s->options.dim);
    return n;
}

static void do_write(struct session *s)
{
    float x[20 * DIM_MOST];
    size_t n = draw_rows(s, x);
    assert_ok(bpcn_memory_write(s->memory, x, NULL, n, NULL));
    oracle_writes(s, x, n);
}

static void do_delete(struct session *s)
{
    float x[4 * DIM_MOST];
    size_t chosen[4], n = 0, wanted = 1 + pick(s, 4);
    for (size_t i = 0; n < wanted && i < s->count; i++)
        if (pick(s, 3) == 0) {
            memcpy(x + n * s->options.dim, s->kept[i].x, s->options.dim * sizeof *x);
            chosen[n++] = i;
        }
    if (n == 0)
        return;
    assert_ok(bpcn_memory_delete_rows(s->memory, x, n));
    for (size_t i = n; i-- > 0;)
        s->kept[chosen[i]] = s->kept[--s->count];
    s->deletes += n;
}

static void do_fade(struct session *s)
{
    int discount = pick(s, 2) == 0;
    if (!s->memory->contents.scale.settled && s->writes > 0)
        return; /* that would settle the scale by what few rows there are */
    double beta = dice_uniform(&s->dice) * 0.5;
    follow_shards(s);
    oracle_fades(s, discount, beta);
    assert_ok(discount ? bpcn_memory_discount(s->memory, beta) : bpcn_memory_forget(s->memory, beta));
    s->forgets += beta > 0;
}

static void do_read(struct session *s)
{
    float x[DIM_MOST], out[DIM_MOST];
    unsigned char known[DIM_MOST];
    double density;
    struct snapshot *before = snapshot_take(s->memory);
    draw_row(s, x);
    for (size_t j = 0; j < s->options.dim; j++)
        known[j] = j == 0 || pick(s, 2) == 0;
    assert_ok(bpcn_memory_read(s->memory, x, known, 1, NULL, out, NULL));
    for (size_t j = 0; j < s->options.dim; j++)
        assert_true(isfinite(out[j]) && (!known[j] || out[j] == x[j]));
    assert_ok(bpcn_memory_score(s->memory, x, known, 1, &density));
    assert_true(isfinite(density));
    assert_true(snapshot_same(before, s->memory));
    snapshot_free(before);
}

/* Calls that must be refused, and change nothing. */
static void do_refused(struct session *s)
{
    float x[2 * DIM_MOST];
    struct snapshot *before = snapshot_take(s->memory);
    draw_row(s, x);
    draw_row(s, x + s->options.dim);
    assert_status(bpcn_memory_delete(s->memory, x), BPCN_NOT_HELD);
    if (s->count > 0) {
        memcpy(x + s->options.dim, s->kept[0].x, s->options.dim * sizeof *x);
        assert_status(bpcn_memory_delete_rows(s->memory, x, 2), BPCN_NOT_HELD);
    }
    x[pick(s, 2 * s->options.dim)] = pick(s, 2) == 0 ? NAN : INFINITY;
    assert_status(bpcn_memory_write(s->memory, x, NULL, 2, NULL), BPCN_INVALID);
    assert_status(bpcn_memory_forget(s->memory, 2), BPCN_INVALID);
    assert_status(bpcn_memory_discount(s->memory, 1), BPCN_INVALID);
    if (s->memory->contents.scale.settled && s->options.scale != BPCN_SCALE_AS_GIVEN) {
        draw_row(s, x);
        x[0] = (float)(s->centre + 1e4 * s->unit);
        assert_status(bpcn_memory_write(s->memory, x, NULL, 1, NULL), BPCN_INVALID);
    }
    assert_true(snapshot_same(before, s->memory));
    snapshot_free(before);
}

static void do_reopen(struct session *s)
{
    assert_ok(bpcn_memory_close(s->memory));
    assert_ok(bpcn_file_check(path, NULL, NULL));
    assert_ok(bpcn_memory_open(path, NULL, &s->memory));
}

static void do_save(struct session *s)
{
    bpcn_memory *copy;
    struct snapshot *before = snapshot_take(s->memory);
    assert_ok(bpcn_memory_save(s->memory, copy_path));
    assert_ok(bpcn_memory_load(copy_path, &copy));
    assert_true(snapshot_same(before, copy));
    bpcn_memory_free(copy);
    snapshot_free(before);
}

/* A child writes rows one by one, tells how many were acknowledged, and ends without closing the file. */
static void do_crash(struct session *s)
{
    enum { MOST = 5 };
    float x[MOST * DIM_MOST];
    size_t n = 1 + pick(s, MOST), told = 0;
    int pipe_ends[2];
    for (size_t i = 0; i < n; i++)
        draw_row(s, x + i * s->options.dim);
    assert_ok(bpcn_memory_close(s->memory));
    assert_int_equal(pipe(pipe_ends), 0);
    pid_t child = fork();
    if (child == 0) {
        bpcn_memory *m;
        size_t done = 0;
        if (bpcn_memory_open(path, NULL, &m) == BPCN_OK)
            while (done < n && bpcn_memory_write(m, x + done * s->options.dim, NULL, 1, NULL) == BPCN_OK)
                done++;
        _exit(write(pipe_ends[1], &done, sizeof done) == sizeof done ? 0 : 1);
    }
    assert_true(child > 0);
    close(pipe_ends[1]);
    assert_true(read(pipe_ends[0], &told, sizeof told) == sizeof told);
    close(pipe_ends[0]);
    waitpid(child, NULL, 0);
    assert_int_equal(told, n);
    assert_ok(bpcn_memory_open(path, NULL, &s->memory));
    oracle_writes(s, x, n);
}

static void do_compact(struct session *s)
{
    assert_ok(bpcn_memory_checkpoint(s->memory));
}

static void do_note(struct session *s)
{
    char note[16] = "";
    size_t bytes;
    snprintf(note, sizeof note, "%zu", s->drawn);
    assert_ok(bpcn_memory_set_note(s->memory, note, sizeof note));
    assert_ok(bpcn_memory_get_note(s->memory, NULL, 0, &bytes));
    assert_int_equal(bytes, sizeof note);
}

static bpcn_options random_options(struct session *s)
{
    static const double noises[] = {0.02, 0.1, 0.3};
    size_t hidden[LAYERS_MOST];
    size_t layers = 1 + pick(s, LAYERS_MOST);
    for (size_t l = 0; l < layers; l++)
        hidden[l] = 2 + pick(s, WIDTH_MOST - 1);
    bpcn_options o = network(2 + pick(s, DIM_MOST - 1), layers, hidden);
    o.seed = s->number;
    o.activation = (bpcn_activation)pick(s, 4);
    o.precision = (bpcn_precision)pick(s, 2);
    o.sigma_x = o.sigma_data = noises[pick(s, 3)];
    o.scale = (bpcn_scale)pick(s, 3);
    o.surprises = pick(s, 2) * 16;
    o.deletable = ROWS;
    if (pick(s, 3) == 0) {
        o.shards = 2 + pick(s, SHARDS_MOST - 1);
        o.shard_rows = 3 + pick(s, 6);
        o.when_full = pick(s, 2) == 0 ? BPCN_BLUR : BPCN_RECYCLE;
    }
    return o;
}

static void run_session(uint64_t number, double *mean_error, double *covariance_error)
{
    static void (*const operations[])(struct session *) = {do_write,   do_write,  do_write, do_write, do_delete, do_delete,
                                                           do_refused, do_reopen, do_save,  do_crash, do_read,   do_compact,
                                                           do_note,    do_fade};
    struct session *s = room(1, sizeof *s);
    *s = (struct session){.number = number, .dice = {number * 7919}};
    s->options = random_options(s);
    s->kept = room(ROWS, sizeof *s->kept);
    s->unit = s->options.scale == BPCN_SCALE_AS_GIVEN ? 1 : pow(10, -2 + 5 * dice_uniform(&s->dice));
    s->centre = s->unit * 2 * dice_normal(&s->dice);
    s->centre = s->options.scale == BPCN_SCALE_AS_GIVEN ? 0 : s->centre;
    s->width[0] = s->options.dim;
    for (size_t l = 0; l < s->options.layers; l++)
        s->width[l + 1] = s->options.hidden[l];
    bpcn_open_options open;
    bpcn_open_options_default(&open, sizeof open);
    open.create = &s->options;
    open.sync = (bpcn_sync)pick(s, 2);
    unlink(path);
    assert_ok(bpcn_memory_open(path, &open, &s->memory));
    assert_ok(bpcn_memory_get_options(s->memory, &s->options));
    follow_shards(s);
    for (size_t i = 0; i < OPERATIONS && s->drawn + 40 < ROWS; i++) {
        size_t which = pick(s, sizeof operations / sizeof *operations - (i % 4 != 0)); /* it seldom fades */
        if (getenv("BPCN_TEST_VERBOSE") != NULL)
            print_message("session %llu, %zu: operation %zu, %zu rows, scale %d%s\n", (unsigned long long)number, i, which,
                          s->count, (int)s->options.scale, s->memory->contents.scale.settled ? " settled" : "");
        operations[which](s);
        follow_shards(s);
        check_counts(s);
        check_posterior(s);
    }
    assert_ok(bpcn_memory_close(s->memory));
    assert_ok(bpcn_file_check(path, NULL, NULL));
    *mean_error = fmax(*mean_error, s->mean_error);
    *covariance_error = fmax(*covariance_error, s->covariance_error);
    free(s->kept);
    free(s);
}

static void random_operations_agree_with_the_oracle(void **state)
{
    (void)state;
    double mean_error = 0, covariance_error = 0;
    int fd = mkstemp(path);
    assert_true(fd >= 0);
    close(fd);
    snprintf(copy_path, sizeof copy_path, "%s.copy", path);
    for (uint64_t i = 0; i < sessions; i++) {
        if (getenv("BPCN_TEST_VERBOSE") != NULL)
            print_message("session %llu\n", (unsigned long long)(first_session + i));
        run_session(first_session + i, &mean_error, &covariance_error);
    }
    unlink(path);
    unlink(copy_path);
    print_message("%zu sessions of %d operations: means off by %.2g, covariances by %.2g of their tolerances\n", sessions,
                  OPERATIONS, mean_error, covariance_error);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(random_operations_agree_with_the_oracle)};
    sessions = argc > 1 ? strtoul(argv[1], NULL, 10) : sessions;
    first_session = argc > 2 ? strtoul(argv[2], NULL, 10) : first_session;
    return cmocka_run_group_tests_name("random operations", tests, NULL, NULL);
}
