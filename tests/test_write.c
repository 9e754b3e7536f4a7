/*
 * Writing through the public functions: what a write reports, how the mixture's weights follow
 * the evidence, resampling, and that a write which fails leaves nothing behind.
 */
#include "support.h"

#include "naive.h"
#include "energy.h"
#include "update.h"

#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- what a write reports */

/* The code of particle k in double, from info's floats. */
static void widen(const float *codes, size_t k, double *out)
{
    for (size_t j = 0; j < SMALL_CODE; j++)
        out[j] = (double)codes[k * SMALL_CODE + j];
}

/* Energies of every particle at the codes the write reports; returns that of the mixture. */
static double energies_at(const struct naive *before, const float *x, const float *codes, double *log_term)
{
    double wide[PICTURE], code[SMALL_CODE], most = -INFINITY, sum = 0;
    struct naive_row row = {.x0 = wide, .count = PICTURE, .code = code};
    for (size_t j = 0; j < PICTURE; j++)
        wide[j] = (double)x[j];
    for (size_t k = 0; k < before->options.particles; k++) {
        widen(codes, k, code);
        log_term[k] = before->log_weights[k] - naive_energy(before, k, &row);
        most = fmax(most, log_term[k]);
    }
    for (size_t k = 0; k < before->options.particles; k++)
        sum += exp(log_term[k] - most);
    return -most - log(sum);
}

static void check_report(bpcn_precision precision, bpcn_minimizer minimizer)
{
    enum { N = 3, ROWS = 6 };
    struct dice dice = {11};
    float x[ROWS * PICTURE], codes[N * SMALL_CODE];
    double log_term[N], weights[N], code[SMALL_CODE];
    bpcn_options o = small_network(N);
    o.precision = precision;
    o.minimizer = minimizer;
    bpcn_memory *m = make_memory(o);
    pictures(&dice, ROWS, x);
    for (size_t i = 0; i < ROWS; i++) {
        bpcn_write_row row;
        bpcn_write_info info;
        struct naive *before = naive_of(m);
        bpcn_write_info_default(&info, sizeof info);
        info.rows = &row;
        info.codes = codes;
        assert_ok(bpcn_memory_write(m, x + i * PICTURE, NULL, 1, &info));
        double energy = energies_at(before, x + i * PICTURE, codes, log_term), sum = 0;
        size_t best = 0;
        /* float32 energies carry roundings of 6e-8 of terms of size 1e4 */
        assert_near(row.energy, energy, 1e-6 * (1e3 + fabs(energy)));
        assert_ok(bpcn_memory_get_weights(m, 0, weights));
        for (size_t k = 0; k < N; k++) {
            sum += weights[k];
            best = log_term[k] > log_term[best] ? k : best;
            /* the weight follows the evidence; its logarithm is as exact as the energy */
            assert_near(weights[k], exp(log_term[k] + energy), 5e-3);
        }
        assert_near(sum, 1, 1e-12); /* roundings of exp and log */
        widen(codes, best, code);
        double leverage = naive_leverage(before, best, code);
        assert_near(row.leverage, leverage, 1e-5 * leverage); /* float32 z and root */
        assert_true(row.evaluations >= N && row.evaluations == info.evaluations);
        assert_int_equal(info.written, 1);
        naive_free(before);
    }
    bpcn_memory_free(m);
}

static void write_reports_energy_leverage_and_weights_of_its_codes(void **state)
{
    (void)state;
    check_report(BPCN_FLOAT32, BPCN_LBFGS);
    check_report(BPCN_FLOAT64, BPCN_LBFGS);
    check_report(BPCN_FLOAT32, BPCN_ADAM);
    check_report(BPCN_FLOAT64, BPCN_ADAM);
}

/* Evidence by hand: without hidden layers log p is a Gaussian's. */
static void weights_follow_the_evidence_exactly_without_hidden_layers(void **state)
{
    (void)state;
    enum { D = 5, N = 4 };
    struct dice dice = {2};
    bpcn_options o = network(D, 0, NULL);
    o.particles = N;
    o.sigma_x = 0.5;
    o.precision = BPCN_FLOAT64;
    bpcn_memory *m = make_memory(o);
    float x[D];
    double want[N], got[N], mean[D], variance, sum = 0;
    randomize(m, &dice, 1);
    dice_normals_f32(&dice, D, 1, x);
    assert_ok(bpcn_memory_get_weights(m, 0, want));
    for (size_t k = 0; k < N; k++) {
        assert_ok(bpcn_memory_get_top(m, 0, k, mean, &variance));
        for (size_t j = 0; j < D; j++) {
            double s = variance + 0.25, e = (double)x[j] - mean[j];
            want[k] *= exp(-e * e / (2 * s)) / sqrt(s);
        }
        sum += want[k];
    }
    assert_ok(bpcn_memory_write(m, x, NULL, 1, NULL));
    assert_ok(bpcn_memory_get_weights(m, 0, got));
    for (size_t k = 0; k < N; k++)
        assert_near(got[k], want[k] / sum, 1e-12); /* roundings of exp and log */
    bpcn_memory_free(m);
}

static void known_things_have_less_energy_than_new_ones(void **state)
{
    (void)state;
    struct dice dice = {4};
    float x[PICTURE];
    bpcn_write_row rows[3];
    bpcn_write_info info;
    bpcn_memory *m = make_memory(small_network(1));
    bpcn_write_info_default(&info, sizeof info);
    pictures(&dice, 1, x);
    for (size_t i = 0; i < 3; i++) {
        info.rows = &rows[i];
        assert_ok(bpcn_memory_write(m, x, NULL, 1, &info));
    }
    assert_true(rows[1].energy < rows[0].energy - 100); /* 192 entries, each a few nats cheaper */
    assert_true(rows[2].energy < rows[1].energy);
    assert_true(rows[1].leverage < 0.1 * rows[0].leverage && rows[1].leverage > 0);
    bpcn_memory_free(m);
}

static void rows_written_together_equal_rows_written_one_by_one(void **state)
{
    (void)state;
    enum { ROWS = 5 }; /* below eight: more rows of one call are computed another way */
    struct dice dice = {9};
    float x[ROWS * PICTURE];
    bpcn_memory *together = make_memory(small_network(2)), *apart = make_memory(small_network(2));
    bpcn_write_info info;
    bpcn_write_info_default(&info, sizeof info);
    pictures(&dice, ROWS, x);
    assert_ok(bpcn_memory_write(together, x, NULL, ROWS, &info));
    assert_int_equal(info.written, ROWS);
    for (size_t i = 0; i < ROWS; i++)
        assert_ok(bpcn_memory_write(apart, x + i * PICTURE, NULL, 1, NULL));
    struct snapshot *s = snapshot_take(together);
    assert_true(snapshot_same(s, apart));
    snapshot_free(s);
    bpcn_memory_free(together);
    bpcn_memory_free(apart);
}

/* Many rows of one call take another way through the sensory layer (gram.h), to the same minima. */
static void check_many(bpcn_precision precision, int resample)
{
    enum { ROWS = 20, N = 3 };
    struct dice dice = {31};
    float x[ROWS * PICTURE];
    bpcn_write_row together[ROWS], apart[ROWS];
    bpcn_write_info info;
    bpcn_options o = small_network(N);
    bpcn_write_info_default(&info, sizeof info);
    o.hidden[0] = o.hidden[1] = 64; /* room for all: minima far apart would not be comparable */
    o.precision = precision;
    o.resample = resample;
    bpcn_memory *a = make_memory(o), *b = make_memory(o);
    pictures(&dice, ROWS, x);
    info.rows = together;
    assert_ok(bpcn_memory_write(a, x, NULL, ROWS, &info));
    for (size_t i = 0; i < ROWS; i++) {
        info.rows = &apart[i];
        assert_ok(bpcn_memory_write(b, x + i * PICTURE, NULL, 1, &info));
        assert_true(together[i].converged && apart[i].converged);
        /* each stops within some 1e-4 nats of its minimum, and later rows inherit that */
        assert_near(together[i].energy, apart[i].energy, 0.05);
    }
    bpcn_memory_free(a);
    bpcn_memory_free(b);
}

static void many_rows_of_one_call_find_the_codes_of_single_rows(void **state)
{
    (void)state;
    for (int resample = 0; resample <= 1; resample++) {
        check_many(BPCN_FLOAT32, resample);
        check_many(BPCN_FLOAT64, resample);
    }
}

/* Energies and gradients by way of G and directly, in a memory that has been written to. */
static void the_gram_matrix_gives_the_same_energy_and_gradient(void **state)
{
    (void)state;
    enum { ROWS = 60 };
    struct dice dice = {32};
    float x[ROWS * PICTURE];
    double target[PICTURE], code[SMALL_CODE], grad[SMALL_CODE], want_grad[SMALL_CODE], count = PICTURE, extra = 0,
                                                                                       energy, want;
    const double *row = target;
    bpcn_options o = small_network(1);
    o.precision = BPCN_FLOAT64;
    bpcn_memory *m = make_memory(o);
    struct particle *particle = &m->contents.shard[0]->particles[0];
    struct layer *layer = &particle->layer[0];
    struct gram *gram = gram_create(layer, NULL, NULL, NULL);
    struct update *update = update_create(m->contents.shard[0], NULL);
    struct workspace *work = workspace_create(m->contents.shard[0], 1, 0, NULL);
    struct batch batch = {.n = 1, .x0 = &row, .count = &count, .extra = &extra, .h = code};
    pictures(&dice, ROWS, x);
    for (size_t i = 0; i < ROWS; i++) {
        for (size_t j = 0; j < PICTURE; j++)
            target[j] = (double)x[i * PICTURE + j];
        dice_normals(&dice, SMALL_CODE, 1, code);
        struct projection projection;
        assert_int_equal(projection_create(&projection, gram, layer, 1, &row, NULL), 0);
        struct energy direct = {.model = m->contents.shard[0], .particle = particle, .weighing = &weighing_density},
                      by = direct;
        by.projection = &projection;
        energy_evaluate(&by, &batch, work, &energy, grad, NULL, NULL);
        energy_evaluate(&direct, &batch, work, &want, want_grad, NULL, NULL);
        /* roundings of double, of terms of the size of |x|^2 / sigma_x^2, and of up to 60 updates */
        assert_near(energy, want, 1e-9 * fabs(want));
        assert_near(greatest_difference(SMALL_CODE, grad, want_grad), 0, 1e-9 * greatest_size(SMALL_CODE, want_grad));
        update_particle(m->contents.shard[0], particle, target, NULL, code, 1, 1,
                        (struct gram_update){gram, &projection}, update);
        projection_free(&projection);
    }
    workspace_free(work);
    update_free(update);
    gram_free(gram);
    bpcn_memory_free(m);
}

static void stats_count_and_the_memory_never_grows(void **state)
{
    (void)state;
    struct dice dice = {10};
    float x[4 * PICTURE];
    bpcn_stats empty = {.size = sizeof empty}, full = {.size = sizeof full};
    bpcn_memory *m = make_memory(small_network(3));
    pictures(&dice, 4, x);
    assert_ok(bpcn_memory_get_stats(m, &empty));
    assert_ok(bpcn_memory_write(m, x, NULL, 4, NULL));
    assert_ok(bpcn_memory_forget(m, 0));
    assert_ok(bpcn_memory_forget(m, 0.01));
    assert_ok(bpcn_memory_get_stats(m, &full));
    assert_true(empty.writes == 0 && full.writes == 4);
    assert_true(empty.forgets == 0 && full.forgets == 1); /* beta = 0 is none */
    assert_int_equal(full.deletes, 0);
    assert_int_equal(full.bytes, empty.bytes);
    assert_int_equal(full.dim, PICTURE);
    assert_int_equal(full.code_dim, SMALL_CODE);
    assert_near(empty.effective_particles, 3, 1e-12); /* rounding */
    assert_true(full.effective_particles >= 1 - 1e-12 && full.effective_particles <= 3);
    assert_true(full.kernels != NULL && full.kernels[0] != '\0');
    bpcn_memory_free(m);
}

/* ---- resampling */

/* Twins that differ only in resampling are equal up to the first resampling. */
static void check_resampling(uint64_t seed, size_t *resampled)
{
    enum { N = 8 };
    struct dice dice = {seed};
    float x[PICTURE];
    double weights[N], after[N];
    bpcn_options o = small_network(N);
    o.seed = seed;
    bpcn_memory *plain = make_memory(o);
    o.resample = 1;
    bpcn_memory *m = make_memory(o);
    pictures(&dice, 1, x);
    assert_ok(bpcn_memory_write(plain, x, NULL, 1, NULL));
    assert_ok(bpcn_memory_write(m, x, NULL, 1, NULL));
    assert_ok(bpcn_memory_get_weights(plain, 0, weights));
    assert_ok(bpcn_memory_get_weights(m, 0, after));
    size_t copies[N] = {0};
    double squares = 0;
    for (size_t k = 0; k < N; k++) {
        const struct particle *mine = &m->contents.shard[0]->particles[k],
                              *origin = &plain->contents.shard[0]->particles[mine->origin];
        squares += weights[k] * weights[k];
        copies[mine->origin]++;
        /* a copy is the particle it descends from, to the bit */
        assert_memory_equal(mine->layer[0].mean, origin->layer[0].mean, SMALL_FIRST * PICTURE * sizeof(float));
        assert_memory_equal(mine->layer[1].root, origin->layer[1].root, 78 * sizeof(double));
        assert_memory_equal(mine->top_mean, origin->top_mean, SMALL_SECOND * sizeof(double));
    }
    int drawn = 1 / squares < 0.5 * N;
    *resampled += (size_t)drawn;
    for (size_t k = 0; k < N; k++) {
        assert_near(after[k], drawn ? 1.0 / N : weights[k], 1e-15);
        if (drawn) /* systematic: N w rounded down or up, so the mixture's mean stays */
            assert_true(fabs((double)copies[k] - N * weights[k]) < 1);
        else
            assert_int_equal(m->contents.shard[0]->particles[k].origin, k);
    }
    bpcn_memory_free(plain);
    bpcn_memory_free(m);
}

static void resampling_copies_particles_as_often_as_they_weigh(void **state)
{
    (void)state;
    size_t resampled = 0;
    for (uint64_t seed = 1; seed <= 12; seed++)
        check_resampling(seed, &resampled);
    assert_in_range(resampled, 1, 12); /* pictures differ by many nats: it does happen */
}

static void even_weights_are_not_resampled(void **state)
{
    (void)state;
    enum { D = 4, N = 4 };
    bpcn_options o = network(D, 0, NULL);
    float x[D] = {0.5f, 0.5f, 0.5f, 0.5f};
    double weights[N], mean[D] = {0}, sum = 0;
    o.particles = N;
    o.resample = 1;
    o.sigma_x = 1;
    bpcn_memory *m = make_memory(o);
    for (size_t k = 0; k < N; k++) {
        mean[0] = 0.1 * (double)k; /* nearly equal evidence */
        assert_ok(bpcn_memory_set_top(m, 0, k, mean, 1));
    }
    assert_ok(bpcn_memory_write(m, x, NULL, 1, NULL));
    assert_ok(bpcn_memory_get_weights(m, 0, weights));
    for (size_t k = 0; k < N; k++) {
        assert_int_equal(m->contents.shard[0]->particles[k].origin, k);
        sum += weights[k];
    }
    assert_true(weights[3] > weights[0]); /* not flattened */
    assert_near(sum, 1, 1e-14);           /* rounding */
    bpcn_memory_free(m);
}

/* A descendant fades towards the prior of its ancestor, not of its place. */
static void forgetting_after_resampling_returns_to_the_ancestors_prior(void **state)
{
    (void)state;
    enum { N = 4 };
    static const double weights[N] = {0, 0, 1, 0}; /* only particle 2 can have children */
    struct dice dice = {21};
    float x[PICTURE];
    bpcn_options o = small_network(N);
    o.resample = 1;
    bpcn_memory *m = make_memory(o), *fresh = make_memory(o);
    const struct particle *ancestor = &fresh->contents.shard[0]->particles[2];
    pictures(&dice, 1, x);
    assert_ok(bpcn_memory_set_weights(m, 0, weights));
    assert_ok(bpcn_memory_write(m, x, NULL, 1, NULL));
    assert_ok(bpcn_memory_forget(m, 1));
    for (size_t k = 0; k < N; k++) {
        const struct particle *p = &m->contents.shard[0]->particles[k];
        assert_int_equal(p->origin, 2);
        assert_memory_equal(p->layer[0].mean, ancestor->layer[0].mean, SMALL_FIRST * PICTURE * sizeof(float));
        assert_memory_equal(p->top_mean, ancestor->top_mean, SMALL_SECOND * sizeof(double));
    }
    bpcn_memory_free(m);
    bpcn_memory_free(fresh);
}

/* ---- failures */

static void a_bad_row_stops_the_write_before_it_begins(void **state)
{
    (void)state;
    struct dice dice = {22};
    float x[3 * PICTURE];
    bpcn_write_info info;
    bpcn_memory *m = make_memory(small_network(2));
    bpcn_write_info_default(&info, sizeof info);
    pictures(&dice, 3, x);
    assert_ok(bpcn_memory_write(m, x, NULL, 1, NULL));
    struct snapshot *before = snapshot_take(m);
    x[2 * PICTURE + 17] = NAN;
    info.written = 99;
    assert_status(bpcn_memory_write(m, x, NULL, 3, &info), BPCN_INVALID);
    assert_int_equal(info.written, 0);
    assert_string_equal(bpcn_error(), "row 2, entry 17 is NaN");
    assert_true(snapshot_same(before, m));
    snapshot_free(before);
    bpcn_memory_free(m);
}

static int parameters_are_finite(const bpcn_memory *m)
{
    struct naive *n = naive_of(m);
    double sum = 0;
    for (size_t k = 0; k < n->options.particles; k++) {
        for (size_t l = 0; l < n->options.layers; l++) {
            for (size_t j = 0; j < n->width[l] * n->width[l + 1]; j++)
                sum += n->particles[k].mean[l][j] * 0;
            for (size_t j = 0; j < n->width[l + 1] * n->width[l + 1]; j++)
                sum += n->particles[k].covariance[l][j] * 0;
        }
        for (size_t j = 0; j < n->width[n->options.layers]; j++)
            sum += n->particles[k].top_mean[j] * 0;
        sum += exp(n->log_weights[k]) * 0;
    }
    naive_free(n);
    return sum == 0; /* 0 * NaN and 0 * infinity are NaN */
}

/* Inputs far outside the model's scale: refused with nothing changed, or digested. */
static int huge_breaks(bpcn_activation activation, bpcn_precision precision, float size)
{
    struct dice dice = {23};
    float x[2 * PICTURE];
    bpcn_options o = small_network(2);
    o.activation = activation;
    o.precision = precision;
    bpcn_memory *m = make_memory(o);
    pictures(&dice, 2, x);
    assert_ok(bpcn_memory_write(m, x, NULL, 1, NULL));
    struct snapshot *before = snapshot_take(m);
    for (size_t j = PICTURE; j < 2 * PICTURE; j++)
        x[j] = size * x[j];
    bpcn_status status = bpcn_memory_write(m, x + PICTURE, NULL, 1, NULL);
    int finite = parameters_are_finite(m), unchanged = snapshot_same(before, m);
    int refused = status == BPCN_NUMERIC || status == BPCN_INVALID;
    int broken = !(status == BPCN_OK ? finite : refused && unchanged);
    if (broken)
        print_error("activation %d, precision %d, rows of %g: %s, parameters %s\n", (int)activation, (int)precision,
                    (double)size, bpcn_status_name(status),
                    unchanged ? "unchanged"
                    : finite  ? "finite"
                              : "not finite");
    snapshot_free(before);
    bpcn_memory_free(m);
    return broken;
}

static void huge_rows_never_leave_the_memory_broken(void **state)
{
    (void)state;
    static const float sizes[] = {1e3f, 1e6f, 1e10f, 1e15f, 1e18f, 1e20f, 1e25f, 1e30f, 1e35f, 1e37f, FLT_MAX};
    int broken = 0;
    for (int activation = BPCN_GELU; activation <= BPCN_LINEAR; activation++)
        for (int precision = BPCN_FLOAT32; precision <= BPCN_FLOAT64; precision++)
            for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
                broken += huge_breaks((bpcn_activation)activation, (bpcn_precision)precision, sizes[i]);
    assert_int_equal(broken, 0);
}

/* All rows are looked at before the first is written. */
static void a_row_that_is_too_large_stops_the_write_before_it_starts(void **state)
{
    (void)state;
    enum { ROWS = 6 };
    struct dice dice = {24};
    float x[ROWS * PICTURE];
    bpcn_write_info info;
    bpcn_memory *m = make_memory(small_network(1));
    bpcn_write_info_default(&info, sizeof info);
    pictures(&dice, ROWS, x);
    x[3 * PICTURE + 7] = 2e15f;
    struct snapshot *s = snapshot_take(m);
    assert_status(bpcn_memory_write(m, x, NULL, ROWS, &info), BPCN_INVALID);
    assert_non_null(strstr(bpcn_error(), "row 3, entry 7 is too large"));
    assert_int_equal(info.written, 0);
    assert_true(snapshot_same(s, m));
    snapshot_free(s);
    bpcn_memory_free(m);
}

/* ---- the paper's minimiser */

static void adam_takes_no_more_steps_than_it_is_allowed(void **state)
{
    (void)state;
    struct dice dice = {25};
    float x[PICTURE];
    bpcn_write_row row;
    bpcn_write_info info;
    bpcn_options o = small_network(1);
    bpcn_write_info_default(&info, sizeof info);
    o.minimizer = BPCN_ADAM;
    o.adam_steps = 7;
    bpcn_memory *m = make_memory(o);
    pictures(&dice, 1, x);
    info.rows = &row;
    assert_ok(bpcn_memory_write(m, x, NULL, 1, &info));
    assert_int_equal(row.evaluations, 8); /* and one more to know the energy it ended at */
    assert_int_equal(row.converged, 0);   /* 7 steps of 0.01 do not come to rest */
    bpcn_memory_free(m);
    o.adam_steps = 500;
    o.adam_stop = 1e6; /* anything is rest: stops at the second step */
    m = make_memory(o);
    assert_ok(bpcn_memory_write(m, x, NULL, 1, &info));
    assert_int_equal(row.converged, 1);
    assert_int_equal(row.evaluations, 3);
    bpcn_memory_free(m);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(write_reports_energy_leverage_and_weights_of_its_codes),
        cmocka_unit_test(weights_follow_the_evidence_exactly_without_hidden_layers),
        cmocka_unit_test(known_things_have_less_energy_than_new_ones),
        cmocka_unit_test(rows_written_together_equal_rows_written_one_by_one),
        cmocka_unit_test(many_rows_of_one_call_find_the_codes_of_single_rows),
        cmocka_unit_test(the_gram_matrix_gives_the_same_energy_and_gradient),
        cmocka_unit_test(stats_count_and_the_memory_never_grows),
        cmocka_unit_test(resampling_copies_particles_as_often_as_they_weigh),
        cmocka_unit_test(even_weights_are_not_resampled),
        cmocka_unit_test(forgetting_after_resampling_returns_to_the_ancestors_prior),
        cmocka_unit_test(a_bad_row_stops_the_write_before_it_begins),
        cmocka_unit_test(huge_rows_never_leave_the_memory_broken),
        cmocka_unit_test(a_row_that_is_too_large_stops_the_write_before_it_starts),
        cmocka_unit_test(adam_takes_no_more_steps_than_it_is_allowed),
    };
    return cmocka_run_group_tests_name("write", tests, NULL, NULL);
}
