/*
 * forget, sample and delete: diffusion towards the prior, draws with the laws they should have,
 * and taking a row back.
 */
#include "support.h"

#include "naive.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const size_t hidden[] = {16, 12};
enum { STORED = 5 };

static bpcn_memory *filled(size_t particles, bpcn_precision precision, float *x)
{
    struct dice dice = {17};
    bpcn_options o = network(PICTURE, 2, hidden);
    o.particles = particles;
    o.precision = precision;
    o.sigma_x = 0.05;
    o.sigma_w = 0.7;
    o.seed = 5;
    bpcn_memory *m = make_memory(o);
    pictures(&dice, STORED, x);
    assert_ok(bpcn_memory_write(m, x, NULL, STORED, NULL));
    return m;
}

static bpcn_memory *empty_like(const bpcn_memory *m)
{
    bpcn_options o = {.size = sizeof o};
    assert_ok(bpcn_memory_get_options(m, &o));
    return make_memory(o);
}

/* ---- forget */

static void forget_with_beta_zero_changes_nothing(void **state)
{
    (void)state;
    float x[STORED * PICTURE];
    for (int precision = BPCN_FLOAT32; precision <= BPCN_FLOAT64; precision++) {
        bpcn_memory *m = filled(2, (bpcn_precision)precision, x);
        struct snapshot *before = snapshot_take(m);
        assert_ok(bpcn_memory_forget(m, 0));
        assert_true(snapshot_same(before, m)); /* counters too: it is not counted */
        snapshot_free(before);
        bpcn_memory_free(m);
    }
}

static void forget_with_beta_one_restores_the_prior(void **state)
{
    (void)state;
    float x[STORED * PICTURE];
    for (int precision = BPCN_FLOAT32; precision <= BPCN_FLOAT64; precision++) {
        bpcn_memory *m = filled(2, (bpcn_precision)precision, x), *fresh = empty_like(m);
        double weights[2], after[2];
        assert_ok(bpcn_memory_get_weights(m, 0, weights));
        assert_ok(bpcn_memory_forget(m, 1));
        assert_ok(bpcn_memory_get_weights(m, 0, after));
        assert_memory_equal(weights, after, sizeof weights); /* the weights stay */
        assert_ok(bpcn_memory_set_weights(m, 0, (double[]){1, 1}));
        assert_ok(bpcn_memory_set_weights(fresh, 0, (double[]){1, 1}));
        struct snapshot *prior = snapshot_take(fresh);
        assert_true(snapshot_same_parameters(prior, m));
        snapshot_free(prior);
        bpcn_memory_free(m);
        bpcn_memory_free(fresh);
    }
}

/* Forgetting cures even what arithmetic alone could not. */
static void forget_with_beta_one_clears_infinities(void **state)
{
    (void)state;
    float x[STORED * PICTURE];
    bpcn_memory *m = filled(1, BPCN_FLOAT32, x), *fresh = empty_like(m);
    float *mean = m->contents.shard[0]->particles[0].layer[0].mean;
    mean[3] = INFINITY;
    mean[4] = NAN;
    m->contents.shard[0]->particles[0].top_mean[1] = NAN;
    assert_ok(bpcn_memory_forget(m, 1));
    m->contents.shard[0]->log_weights[0] = fresh->contents.shard[0]->log_weights[0]; /* 0 and -0 */
    struct snapshot *prior = snapshot_take(fresh);
    assert_true(snapshot_same_parameters(prior, m));
    snapshot_free(prior);
    bpcn_memory_free(m);
    bpcn_memory_free(fresh);
}

static void compare_forgotten(const struct naive *got, const struct naive *old, const struct naive *prior, double beta,
                              double tolerance)
{
    double r = sqrt(1 - beta), sw2 = pow(old->options.sigma_w, 2);
    for (size_t k = 0; k < old->options.particles; k++) {
        const struct naive_particle *p = &old->particles[k], *q = &prior->particles[k], *g = &got->particles[k];
        for (size_t l = 0; l < old->options.layers; l++) {
            size_t above = old->width[l + 1], below = old->width[l];
            for (size_t j = 0; j < above * below; j++)
                assert_near(g->mean[l][j], r * p->mean[l][j] + (1 - r) * q->mean[l][j],
                            tolerance * fmax(1, fabs(p->mean[l][j]))); /* rounding is relative */
            for (size_t j = 0; j < above * above; j++) {
                double u = (1 - beta) * p->covariance[l][j] + (j % (above + 1) == 0 ? beta * sw2 : 0);
                assert_near(g->covariance[l][j], u, 1e-14); /* float64 in either precision */
            }
        }
        for (size_t j = 0; j < old->width[old->options.layers]; j++)
            assert_near(g->top_mean[j], r * p->top_mean[j] + (1 - r) * q->top_mean[j], 1e-14);
        assert_near(g->top_variance, (1 - beta) * p->top_variance + beta * sw2, 1e-15);
        assert_near(got->log_weights[k], old->log_weights[k], 0);
    }
}

static void forget_follows_its_formula(void **state)
{
    (void)state;
    static const double betas[] = {1e-12, 0.001, 0.1, 0.5, 0.999, 1 - 1e-15};
    float x[STORED * PICTURE];
    for (int precision = BPCN_FLOAT32; precision <= BPCN_FLOAT64; precision++)
        for (size_t i = 0; i < sizeof betas / sizeof *betas; i++) {
            bpcn_memory *m = filled(2, (bpcn_precision)precision, x), *fresh = empty_like(m);
            struct naive *old = naive_of(m), *prior = naive_of(fresh);
            assert_ok(bpcn_memory_forget(m, betas[i]));
            struct naive *got = naive_of(m);
            /* means of size 1, rounded to the memory's precision */
            compare_forgotten(got, old, prior, betas[i], precision == BPCN_FLOAT32 ? 1.2e-7 : 1e-15);
            naive_free(old);
            naive_free(prior);
            naive_free(got);
            bpcn_memory_free(m);
            bpcn_memory_free(fresh);
        }
}

static double distance(const bpcn_memory *a, const bpcn_memory *b)
{
    struct naive *x = naive_of(a), *y = naive_of(b);
    double most = 0;
    for (size_t k = 0; k < x->options.particles; k++) {
        const struct naive_particle *p = &x->particles[k], *q = &y->particles[k];
        for (size_t l = 0; l < x->options.layers; l++) {
            size_t above = x->width[l + 1], below = x->width[l];
            most = fmax(most, greatest_difference(above * below, p->mean[l], q->mean[l]));
            most = fmax(most, greatest_difference(above * above, p->covariance[l], q->covariance[l]));
        }
        most = fmax(most, greatest_difference(x->width[x->options.layers], p->top_mean, q->top_mean));
        most = fmax(most, fabs(p->top_variance - q->top_variance));
    }
    naive_free(x);
    naive_free(y);
    return most;
}

static void repeated_forgetting_converges_to_the_prior(void **state)
{
    (void)state;
    float x[STORED * PICTURE];
    bpcn_memory *m = filled(1, BPCN_FLOAT64, x), *fresh = empty_like(m);
    double before = distance(m, fresh);
    assert_true(before > 0.1);
    for (int round = 0; round < 16; round++) {
        for (int i = 0; i < 10; i++)
            assert_ok(bpcn_memory_forget(m, 0.2));
        double now = distance(m, fresh);
        assert_true(now < 0.33 * before); /* means fade by sqrt(0.8) a step, 0.328 in ten */
        before = now;
    }
    assert_near(before, 0, 1e-7); /* 0.8^80 = 2e-8 of differences of size 1 */
    bpcn_memory_free(m);
    bpcn_memory_free(fresh);
}

static void forgetting_twice_is_forgetting_once_as_much(void **state)
{
    (void)state;
    float x[STORED * PICTURE];
    bpcn_memory *twice = filled(1, BPCN_FLOAT64, x), *once = filled(1, BPCN_FLOAT64, x);
    assert_ok(bpcn_memory_forget(twice, 0.1));
    assert_ok(bpcn_memory_forget(twice, 0.2));
    assert_ok(bpcn_memory_forget(once, 1 - 0.9 * 0.8));
    assert_near(distance(twice, once), 0, 1e-13); /* two roundings of entries of size 1 */
    bpcn_memory_free(twice);
    bpcn_memory_free(once);
}

/* U'^-1 [n x n] and U'^-1 M' [n x m] of one layer as the information form has them, solved for M'. */
static void discounted_mean(size_t n, size_t m, double beta, double sigma_w, const double *covariance,
                            const double *mean, const double *prior, double *information, double *out)
{
    double *u = room(n * n, sizeof *u), *inverse = room(n * n, sizeof *inverse);
    double precision = 1 / (sigma_w * sigma_w);
    memcpy(u, covariance, n * n * sizeof *u);
    for (size_t i = 0; i < n; i++)
        inverse[i * n + i] = 1;
    naive_solve(n, n, u, inverse);
    for (size_t i = 0; i < n; i++)
        for (size_t j = 0; j < m; j++) {
            double sum = beta * precision * prior[i * m + j];
            for (size_t k = 0; k < n; k++)
                sum += (1 - beta) * inverse[i * n + k] * mean[k * m + j];
            out[i * m + j] = sum;
        }
    for (size_t i = 0; i < n * n; i++)
        information[i] = (1 - beta) * inverse[i] + (i % (n + 1) == 0 ? beta * precision : 0);
    memcpy(u, information, n * n * sizeof *u);
    naive_solve(n, m, u, out);
    free(u);
    free(inverse);
}

/* Lambda' = (1 - beta) Lambda + beta Lambda_0 and eta' likewise, by dense algebra. */
static void discount_fades_precision_and_mean_together(void **state)
{
    (void)state;
    const double beta = 0.2;
    float x[STORED * PICTURE];
    for (int precision = BPCN_FLOAT32; precision <= BPCN_FLOAT64; precision++) {
        double tolerance = precision == BPCN_FLOAT32 ? 1e-6 : 1e-10; /* means of size 1, U of condition 10^4 */
        bpcn_memory *m = filled(2, (bpcn_precision)precision, x), *fresh = empty_like(m);
        struct naive *old = naive_of(m), *prior = naive_of(fresh);
        double sw = old->options.sigma_w;
        assert_ok(bpcn_memory_discount(m, beta));
        struct naive *got = naive_of(m);
        for (size_t k = 0; k < 2; k++) {
            const struct naive_particle *p = &old->particles[k], *q = &prior->particles[k], *g = &got->particles[k];
            for (size_t l = 0; l < old->options.layers; l++) {
                size_t n = old->width[l + 1], w = old->width[l];
                double *information = room(n * n, sizeof *information), *mean = room(n * w, sizeof *mean);
                discounted_mean(n, w, beta, sw, p->covariance[l], p->mean[l], q->mean[l], information, mean);
                assert_near(greatest_difference(n * w, g->mean[l], mean), 0, tolerance);
                for (size_t i = 0; i < n; i++) /* U' U'^-1 = I */
                    for (size_t j = 0; j < n; j++) {
                        double sum = 0;
                        for (size_t c = 0; c < n; c++)
                            sum += g->covariance[l][i * n + c] * information[c * n + j];
                        assert_near(sum, i == j, 1e-10);
                    }
                free(information);
                free(mean);
            }
            double evidence = (1 - beta) / p->top_variance, weak = beta / (sw * sw);
            assert_near(g->top_variance, 1 / (evidence + weak), 1e-12);
            for (size_t j = 0; j < old->width[old->options.layers]; j++)
                assert_near(g->top_mean[j], (evidence * p->top_mean[j] + weak * q->top_mean[j]) / (evidence + weak),
                            1e-12);
        }
        assert_ok(bpcn_memory_discount(m, 0));
        struct naive *same = naive_of(m);
        assert_memory_equal(same->particles[0].mean[0], got->particles[0].mean[0],
                            got->width[1] * PICTURE * sizeof(double));
        naive_free(old);
        naive_free(prior);
        naive_free(got);
        naive_free(same);
        bpcn_memory_free(m);
        bpcn_memory_free(fresh);
    }
}

static int at_length; /* the program was called as `test_forget long` */

/* Streams fifty times as long as the network is wide, with the discount of `bpcn write --forget auto`: the latest rows
   are recalled from their left halves. At length: three layers of 64 units. */
static void a_discounted_stream_of_any_length_recalls_its_latest_rows(void **state)
{
    (void)state;
    size_t width = at_length ? 64 : 16, latest = width / 4;
    for (int setting = 0; setting < 4; setting++) {
        struct dice dice = {91};
        size_t widths[] = {width, width, width};
        bpcn_options o = network(PICTURE, width > 16 ? 3 : 2, widths);
        o.activation = setting % 2 ? BPCN_RELU : BPCN_GELU;
        o.precision = setting / 2 ? BPCN_FLOAT64 : BPCN_FLOAT32;
        bpcn_memory *m = make_memory(o);
        float *x = room(latest * PICTURE, sizeof *x), *answer = room(latest * PICTURE, sizeof *answer);
        unsigned char *known = room(latest * PICTURE, 1);
        left_half(latest, known);
        for (size_t i = 0; i < 50 * width; i++) {
            if (i % 4 == 0 && i > 0)
                assert_ok(bpcn_memory_discount(m, 1 - pow(o.sigma_x, 2. * 4 / (double)width)));
            pictures(&dice, 1, x + i % latest * PICTURE);
            assert_ok(bpcn_memory_write(m, x + i % latest * PICTURE, NULL, 1, NULL));
        }
        assert_ok(bpcn_memory_read(m, x, known, latest, NULL, answer, NULL));
        size_t recalled = 0;
        for (size_t i = 0; i < latest; i++)
            recalled += mean_square_error(PICTURE, answer + i * PICTURE, x + i * PICTURE) < 0.005; /* half of 0.01 */
        print_message("width %zu, activation %d, float%d: %zu of the latest %zu recalled\n", width, (int)o.activation,
                      o.precision == BPCN_FLOAT64 ? 64 : 32, recalled, latest);
        assert_true(recalled == latest);
        free(x);
        free(answer);
        free(known);
        bpcn_memory_free(m);
    }
}

static void discount_wants_a_beta_below_one(void **state)
{
    (void)state;
    const double bad[] = {-0.1, 1, 2, NAN, INFINITY};
    bpcn_memory *m = make_memory(network(PICTURE, 0, NULL));
    for (size_t i = 0; i < 5; i++)
        assert_int_equal(bpcn_memory_discount(m, bad[i]), BPCN_INVALID);
    assert_int_equal(bpcn_memory_discount(NULL, 0.1), BPCN_INVALID);
    bpcn_memory_free(m);
}

static void a_faded_memory_knows_its_pictures_less(void **state)
{
    (void)state;
    float x[STORED * PICTURE];
    double before[STORED], after[STORED], later[STORED];
    bpcn_memory *m = filled(1, BPCN_FLOAT32, x);
    assert_ok(bpcn_memory_score(m, x, NULL, STORED, before));
    assert_ok(bpcn_memory_forget(m, 0.01));
    assert_ok(bpcn_memory_score(m, x, NULL, STORED, after));
    assert_ok(bpcn_memory_forget(m, 0.5));
    assert_ok(bpcn_memory_score(m, x, NULL, STORED, later));
    for (size_t i = 0; i < STORED; i++)
        if (!(before[i] > after[i] && after[i] > later[i])) {
            print_error("row %zu: %g, then %g, then %g\n", i, before[i], after[i], later[i]);
            fail();
        }
    bpcn_memory_free(m);
}

/* ---- sample */

static void the_same_draw_gives_the_same_bits(void **state)
{
    (void)state;
    enum { N = 7 };
    float x[STORED * PICTURE], a[N * PICTURE], b[N * PICTURE], more[2 * N * PICTURE];
    bpcn_memory *m = filled(3, BPCN_FLOAT32, x);
    struct snapshot *before = snapshot_take(m);
    assert_ok(bpcn_memory_sample(m, N, 1, a));
    assert_ok(bpcn_memory_sample(m, N, 1, b));
    assert_memory_equal(a, b, sizeof a);
    assert_ok(bpcn_memory_sample(m, 2 * N, 1, more)); /* a longer draw starts the same */
    assert_memory_equal(a, more, sizeof a);
    assert_ok(bpcn_memory_sample(m, N, 2, b));
    assert_memory_not_equal(a, b, sizeof a);
    assert_memory_not_equal(a, a + PICTURE, PICTURE * sizeof *a);
    assert_true(snapshot_same(before, m));
    snapshot_free(before);
    bpcn_memory_free(m);
}

/* Without hidden layers samples are a mixture of Gaussians: entry j has mean sum w mu and variance
   sigma^2 + sum w mu^2 - mean^2. Weights are taken at their means, so S does not enter. */
static void samples_have_the_mean_and_variance_of_the_mixture(void **state)
{
    (void)state;
    enum { D = 3, N = 3, DRAWS = 40000 };
    struct dice dice = {6};
    bpcn_options o = network(D, 0, NULL);
    o.particles = N;
    o.sigma_x = 0.5;
    bpcn_memory *m = make_memory(o);
    float *out = room(DRAWS * D, sizeof *out);
    double weights[N], mu[D];
    randomize(m, &dice, 1);
    assert_ok(bpcn_memory_get_weights(m, 0, weights));
    assert_ok(bpcn_memory_sample(m, DRAWS, 3, out));
    for (size_t j = 0; j < D; j++) {
        double mean = 0, square = 0, got = 0, got_square = 0;
        for (size_t k = 0; k < N; k++) {
            assert_ok(bpcn_memory_get_top(m, 0, k, mu, NULL));
            mean += weights[k] * mu[j];
            square += weights[k] * (mu[j] * mu[j] + 0.25);
        }
        for (size_t i = 0; i < DRAWS; i++) {
            got += (double)out[i * D + j] / DRAWS;
            got_square += pow((double)out[i * D + j], 2) / DRAWS;
        }
        double variance = square - mean * mean;
        /* four standard errors: sd / sqrt(n) of the mean; a square's own sd is below 2 variances
           plus 4 mean^2 for these shapes */
        assert_near(got, mean, 4 * sqrt(variance / DRAWS));
        assert_near(got_square - got * got, variance, 4 * 2 * variance / sqrt(DRAWS));
    }
    free(out);
    bpcn_memory_free(m);
}

/* With linear units x_0 = (mu + e_1) R + e_0: mean mu R, covariance s R'R + s_data I. */
static void samples_of_a_linear_network_have_its_covariance(void **state)
{
    (void)state;
    enum { D = 3, H = 2, DRAWS = 40000 };
    struct dice dice = {8};
    bpcn_options o = network(D, 1, (size_t[]){H});
    o.activation = BPCN_LINEAR;
    o.sigma_x = 0.5;
    o.sigma_data = 0.3;
    bpcn_memory *m = make_memory(o);
    float *out = room(DRAWS * D, sizeof *out);
    double mean[H * D], mu[H], want[D] = {0}, got[D] = {0};
    randomize(m, &dice, 1);
    assert_ok(bpcn_memory_get_layer(m, 0, 0, 0, mean, NULL));
    assert_ok(bpcn_memory_get_top(m, 0, 0, mu, NULL));
    assert_ok(bpcn_memory_sample(m, DRAWS, 0, out));
    for (size_t j = 0; j < D; j++) {
        for (size_t h = 0; h < H; h++)
            want[j] += mu[h] * mean[h * D + j];
        for (size_t i = 0; i < DRAWS; i++)
            got[j] += (double)out[i * D + j] / DRAWS;
    }
    for (size_t a = 0; a < D; a++)
        for (size_t b = 0; b < D; b++) {
            double covariance = a == b ? 0.09 : 0, found = 0, va = 0.09, vb = 0.09;
            for (size_t h = 0; h < H; h++) {
                covariance += 0.25 * mean[h * D + a] * mean[h * D + b];
                va += 0.25 * mean[h * D + a] * mean[h * D + a];
                vb += 0.25 * mean[h * D + b] * mean[h * D + b];
            }
            for (size_t i = 0; i < DRAWS; i++)
                found += ((double)out[i * D + a] - got[a]) * ((double)out[i * D + b] - got[b]) / DRAWS;
            /* four standard errors: sd of a product of Gaussians is at most sqrt(2 va vb) */
            assert_near(found, covariance, 4 * sqrt(2 * va * vb / DRAWS));
            if (a == b)
                assert_near(got[a], want[a], 4 * sqrt(va / DRAWS));
        }
    free(out);
    bpcn_memory_free(m);
}

static void a_particle_without_weight_is_never_sampled(void **state)
{
    (void)state;
    enum { D = 2, DRAWS = 2000 };
    bpcn_options o = network(D, 0, NULL);
    o.particles = 3;
    o.sigma_x = 0.01;
    bpcn_memory *m = make_memory(o);
    float out[DRAWS * D];
    size_t first = 0;
    for (size_t k = 0; k < 3; k++)
        assert_ok(bpcn_memory_set_top(m, 0, k, (double[]){(double)k, 0}, 1));
    assert_ok(bpcn_memory_set_weights(m, 0, (double[]){1, 0, 3}));
    assert_ok(bpcn_memory_sample(m, DRAWS, 0, out));
    for (size_t i = 0; i < DRAWS; i++) {
        assert_true(fabs((double)out[i * D] - 1) > 0.5);
        first += out[i * D] < 0.5f;
    }
    /* a quarter, within four standard errors of a binomial */
    assert_near((double)first / DRAWS, 0.25, 4 * sqrt(0.25 * 0.75 / DRAWS));
    bpcn_memory_free(m);
}

int main(int argc, char **argv)
{
    at_length = argc > 1 && strcmp(argv[1], "long") == 0;
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(forget_with_beta_zero_changes_nothing),
        cmocka_unit_test(forget_with_beta_one_restores_the_prior),
        cmocka_unit_test(forget_with_beta_one_clears_infinities),
        cmocka_unit_test(forget_follows_its_formula),
        cmocka_unit_test(repeated_forgetting_converges_to_the_prior),
        cmocka_unit_test(forgetting_twice_is_forgetting_once_as_much),
        cmocka_unit_test(discount_fades_precision_and_mean_together),
        cmocka_unit_test(a_discounted_stream_of_any_length_recalls_its_latest_rows),
        cmocka_unit_test(discount_wants_a_beta_below_one),
        cmocka_unit_test(a_faded_memory_knows_its_pictures_less),
        cmocka_unit_test(the_same_draw_gives_the_same_bits),
        cmocka_unit_test(samples_have_the_mean_and_variance_of_the_mixture),
        cmocka_unit_test(samples_of_a_linear_network_have_its_covariance),
        cmocka_unit_test(a_particle_without_weight_is_never_sampled),
    };
    return cmocka_run_group_tests_name("forget", tests, NULL, NULL);
}
