/*
 * The energy: against the model written down plainly (naive.c), its gradient against finite
 * differences, float32 against float64, and the activations against the C library.
 */
#include "support.h"

#include "activation.h"
#include "shard.h"
#include "naive.h"

#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const size_t hidden[] = {5, 4, 6, 3, 5}; /* every layer its own width */
enum { DIM = 7, ROWS = 3, DEEPEST = 5, MOST_PARTICLES = 4 };

static const struct {
    bpcn_objective objective;
    int masked;
    double noise;
} settings[] = {
    {BPCN_OBJECTIVE_MARGINAL, 0, 0},   {BPCN_OBJECTIVE_MARGINAL, 0, 0.7}, {BPCN_OBJECTIVE_MARGINAL, 1, 0},
    {BPCN_OBJECTIVE_MARGINAL, 1, 0.7}, {BPCN_OBJECTIVE_PAPER, 0, 0},      {BPCN_OBJECTIVE_PAPER, 1, 0},
    {BPCN_OBJECTIVE_RECALL, 0, 0.7},   {BPCN_OBJECTIVE_RECALL, 1, 0},
};
enum { SETTINGS = sizeof settings / sizeof *settings };

/* A memory in an arbitrary state, and rows to evaluate. */
struct scene {
    bpcn_memory *memory;
    struct naive *naive;
    double *x, *codes; /* [ROWS x DIM], [ROWS x code_dim] */
    unsigned char known[ROWS * DIM];
    size_t code_dim;
};

/* Codes keep clear of 0, where ReLU has a kink that finite differences would straddle. */
static double off_zero(double v)
{
    return v + (v < 0 ? -0.05 : 0.05);
}

static struct scene scene_create(bpcn_activation activation, size_t layers, size_t particles, bpcn_precision precision)
{
    struct dice dice = {1000 * layers + 10 * particles + (size_t)activation};
    struct scene s = {0};
    bpcn_options o = network(DIM, layers, hidden);
    o.activation = activation;
    o.particles = particles;
    o.sigma_x = 0.4;
    o.sigma_data = 0.3;
    o.precision = precision;
    s.memory = make_memory(o);
    randomize(s.memory, &dice, 0.5);
    s.naive = naive_of(s.memory);
    s.code_dim = s.memory->contents.shard[0]->code_dim;
    s.x = room(ROWS * DIM, sizeof *s.x);
    s.codes = room(ROWS * s.code_dim, sizeof *s.codes);
    dice_normals(&dice, ROWS * DIM, 1, s.x);
    dice_normals(&dice, ROWS * s.code_dim, 1, s.codes);
    for (size_t j = 0; j < ROWS * s.code_dim; j++)
        s.codes[j] = off_zero(s.codes[j]);
    for (size_t j = 0; j < ROWS * DIM; j++)
        s.known[j] = dice_uniform(&dice) < 0.6;
    return s;
}

static void scene_free(struct scene *s)
{
    bpcn_memory_free(s->memory);
    naive_free(s->naive);
    free(s->x);
    free(s->codes);
}

static void evaluate(const struct scene *s, size_t setting, const double *x, const double *codes, double *energy,
                     double *grad, double *grad_x)
{
    struct energy_request request = {.x = x,
                                     .known = settings[setting].masked ? s->known : NULL,
                                     .codes = codes,
                                     .n = ROWS,
                                     .energy = energy,
                                     .grad = grad,
                                     .grad_x = grad_x};
    bpcn_read_options_default(&request.options, sizeof request.options);
    request.options.objective = settings[setting].objective;
    request.options.noise = settings[setting].noise;
    struct shard shard = shard_of(s->memory, 0);
    assert_ok(shard_ops_for(shard.model)->energy(&shard, NULL, &request));
}

/* Row i as naive.c wants it, under the setting. */
static struct naive_row row_of(const struct scene *s, size_t setting, size_t i)
{
    struct naive_row row = {.x0 = s->x + i * DIM, .count = DIM, .code = s->codes + i * s->code_dim};
    int integrated = settings[setting].objective != BPCN_OBJECTIVE_PAPER;
    row.recall = settings[setting].objective == BPCN_OBJECTIVE_RECALL;
    row.extra = settings[setting].noise * settings[setting].noise;
    if (!settings[setting].masked)
        return row;
    row.known = s->known + i * DIM;
    for (size_t j = 0; integrated && j < DIM; j++)
        row.count -= !row.known[j];
    return row;
}

typedef void scene_check(const struct scene *scene, size_t setting);

/* Every activation x depth 0..5 x 1..4 particles x setting. */
static void everywhere(scene_check *check)
{
    for (int activation = BPCN_GELU; activation <= BPCN_LINEAR; activation++)
        for (size_t layers = 0; layers <= DEEPEST; layers++)
            for (size_t particles = 1; particles <= MOST_PARTICLES; particles++) {
                struct scene s = scene_create((bpcn_activation)activation, layers, particles, BPCN_FLOAT64);
                for (size_t setting = 0; setting < SETTINGS; setting++)
                    check(&s, setting);
                scene_free(&s);
            }
}

static void compare_with_naive(const struct scene *s, size_t setting)
{
    double energy[ROWS];
    evaluate(s, setting, s->x, s->codes, energy, NULL, NULL);
    for (size_t i = 0; i < ROWS; i++) {
        struct naive_row row = row_of(s, setting, i);
        double want = naive_mixture(s->naive, &row, NULL);
        /* float64 on both sides; sums of fewer than 50 terms of either sign */
        assert_near(energy[i], want, 1e-12 * (1 + fabs(want)));
    }
}

static void energy_equals_the_model_written_down_plainly(void **state)
{
    (void)state;
    everywhere(compare_with_naive);
}

/* The five-point derivative of row i's energy over v[at]: exact up to the step's fourth power. */
static double derivative(const struct scene *s, size_t setting, double *v, size_t at, size_t i, const double *x,
                         const double *codes)
{
    static const double step = 2e-4, offset[] = {-2, -1, 1, 2}, weight[] = {1, -8, 8, -1};
    double energy[ROWS], old = v[at], sum = 0;
    for (int k = 0; k < 4; k++) {
        v[at] = old + offset[k] * step;
        evaluate(s, setting, x, codes, energy, NULL, NULL);
        sum += weight[k] * energy[i];
    }
    v[at] = old;
    return sum / (12 * step);
}

/* The truncation error is 1.6e-15 / 30 times a fifth derivative that reaches 3e7 where the mixture
   switches particles, the rounding error 1e-16 * 1e3 / 2e-4: 1e-8 covers both. */
static const double difference_tolerance = 1e-8;

static void compare_with_differences(const struct scene *s, size_t setting)
{
    double energy[ROWS], *x = s->x, *codes = s->codes;
    double *grad = room(ROWS * s->code_dim, sizeof *grad), *grad_x = room(ROWS * DIM, sizeof *grad_x);
    evaluate(s, setting, x, codes, energy, grad, grad_x);
    for (size_t j = 0; j < ROWS * s->code_dim; j++) {
        double want = derivative(s, setting, codes, j, j / s->code_dim, x, codes);
        assert_near(grad[j], want, difference_tolerance * (1 + fabs(want)));
    }
    for (size_t j = 0; j < ROWS * DIM; j++) {
        double want = derivative(s, setting, x, j, j / DIM, x, codes);
        assert_near(grad_x[j], want, difference_tolerance * (1 + fabs(want)));
        if (settings[setting].masked && !s->known[j])
            assert_true(grad_x[j] == 0);
    }
    free(grad);
    free(grad_x);
}

static void gradient_equals_finite_differences(void **state)
{
    (void)state;
    everywhere(compare_with_differences);
}

static void energy_is_the_same_with_and_without_its_gradient(void **state)
{
    (void)state;
    struct scene s = scene_create(BPCN_GELU, 3, 3, BPCN_FLOAT64);
    double with[ROWS], without[ROWS];
    double *grad = room(ROWS * s.code_dim, sizeof *grad);
    evaluate(&s, 3, s.x, s.codes, with, grad, NULL);
    evaluate(&s, 3, s.x, s.codes, without, NULL, NULL);
    assert_memory_equal(with, without, sizeof with);
    free(grad);
    scene_free(&s);
}

static void noise_is_not_used_by_the_papers_objective(void **state)
{
    (void)state;
    struct scene s = scene_create(BPCN_GELU, 2, 2, BPCN_FLOAT32);
    float x[ROWS * DIM], codes[ROWS * 9];
    double quiet[ROWS], noisy[ROWS];
    bpcn_read_options o;
    bpcn_read_options_default(&o, sizeof o);
    for (size_t j = 0; j < ROWS * DIM; j++)
        x[j] = (float)s.x[j];
    for (size_t j = 0; j < ROWS * s.code_dim; j++)
        codes[j] = (float)s.codes[j];
    o.objective = BPCN_OBJECTIVE_PAPER;
    o.noise = 0;
    assert_ok(bpcn_memory_energy(s.memory, x, NULL, codes, ROWS, &o, quiet, NULL));
    o.noise = 5;
    assert_ok(bpcn_memory_energy(s.memory, x, NULL, codes, ROWS, &o, noisy, NULL));
    assert_memory_equal(quiet, noisy, sizeof quiet);
    scene_free(&s);
}

static void mixture_of_equal_particles_is_one_particle(void **state)
{
    (void)state;
    struct scene one = scene_create(BPCN_TANH, 2, 1, BPCN_FLOAT64), four = scene_create(BPCN_TANH, 2, 4, BPCN_FLOAT64);
    double energy[ROWS], mixed[ROWS];
    const struct naive_particle *p = &one.naive->particles[0];
    for (size_t k = 0; k < 4; k++) {
        for (size_t l = 0; l < 2; l++)
            assert_ok(bpcn_memory_set_layer(four.memory, 0, k, l, p->mean[l], p->covariance[l]));
        assert_ok(bpcn_memory_set_top(four.memory, 0, k, p->top_mean, p->top_variance));
    }
    evaluate(&one, 0, one.x, one.codes, energy, NULL, NULL);
    evaluate(&four, 0, one.x, one.codes, mixed, NULL, NULL);
    for (size_t i = 0; i < ROWS; i++)
        assert_near(mixed[i], energy[i], 1e-13 * fabs(energy[i])); /* a few roundings of log and exp */
    scene_free(&one);
    scene_free(&four);
}

static void particle_without_weight_does_not_count(void **state)
{
    (void)state;
    struct scene s = scene_create(BPCN_GELU, 2, 2, BPCN_FLOAT64);
    double energy[ROWS], weights[] = {0, 1};
    double *grad = room(ROWS * s.code_dim, sizeof *grad);
    assert_ok(bpcn_memory_set_weights(s.memory, 0, weights));
    evaluate(&s, 0, s.x, s.codes, energy, grad, NULL);
    for (size_t i = 0; i < ROWS; i++) {
        struct naive_row row = row_of(&s, 0, i);
        double want = naive_energy(s.naive, 1, &row);
        assert_near(energy[i], want, 1e-13 * fabs(want)); /* rounding only */
    }
    for (size_t j = 0; j < ROWS * s.code_dim; j++)
        assert_true(isfinite(grad[j]));
    free(grad);
    scene_free(&s);
}

/* ---- float32 against float64 */

/* The same parameters in the other precision. */
static bpcn_memory *widened(const struct naive *from)
{
    bpcn_options o = from->options;
    o.precision = BPCN_FLOAT64;
    bpcn_memory *m = make_memory(o);
    for (size_t k = 0; k < o.particles; k++) {
        const struct naive_particle *p = &from->particles[k];
        for (size_t l = 0; l < o.layers; l++)
            assert_ok(bpcn_memory_set_layer(m, 0, k, l, p->mean[l], p->covariance[l]));
        assert_ok(bpcn_memory_set_top(m, 0, k, p->top_mean, p->top_variance));
    }
    double *weights = room(o.particles, sizeof *weights);
    for (size_t k = 0; k < o.particles; k++)
        weights[k] = exp(from->log_weights[k]);
    assert_ok(bpcn_memory_set_weights(m, 0, weights));
    free(weights);
    return m;
}

static void compare_precisions(bpcn_activation activation, size_t layers, size_t particles)
{
    struct scene s = scene_create(activation, layers, particles, BPCN_FLOAT32);
    bpcn_memory *wide = widened(s.naive);
    float x[ROWS * DIM], *codes = room(ROWS * s.code_dim, sizeof *codes);
    float *grad = room(ROWS * s.code_dim, sizeof *grad), *wide_grad = room(ROWS * s.code_dim, sizeof *grad);
    double energy[ROWS], wide_energy[ROWS];
    for (size_t j = 0; j < ROWS * DIM; j++)
        x[j] = (float)s.x[j];
    for (size_t j = 0; j < ROWS * s.code_dim; j++)
        codes[j] = (float)s.codes[j];
    assert_ok(bpcn_memory_energy(s.memory, x, s.known, codes, ROWS, NULL, energy, grad));
    assert_ok(bpcn_memory_energy(wide, x, s.known, codes, ROWS, NULL, wide_energy, wide_grad));
    for (size_t i = 0; i < ROWS; i++) /* a few float32 roundings (6e-8) of each term */
        assert_near(energy[i], wide_energy[i], 1e-6 * (1 + fabs(wide_energy[i])));
    for (size_t j = 0; j < ROWS * s.code_dim; j++) /* e R' / s: terms of up to 100 cancel */
        assert_near((double)grad[j], (double)wide_grad[j], 2e-5 * (1 + fabs((double)wide_grad[j])));
    free(codes);
    free(grad);
    free(wide_grad);
    bpcn_memory_free(wide);
    scene_free(&s);
}

static void float32_agrees_with_float64(void **state)
{
    (void)state;
    for (int activation = BPCN_GELU; activation <= BPCN_LINEAR; activation++)
        for (size_t layers = 0; layers <= DEEPEST; layers++)
            for (size_t particles = 1; particles <= MOST_PARTICLES; particles++)
                compare_precisions((bpcn_activation)activation, layers, particles);
}

/* At the scale of the paper's networks: the minimisers compare energies to 1e-3, so that is what
   float32 has to resolve near a minimum, where the residuals are of the noise's size. */
static void float32_resolves_a_thousandth_at_the_papers_scale(void **state)
{
    (void)state;
    enum { N = 12, CODE = 2 * 64 };
    static const size_t wide_hidden[] = {64, 64};
    struct dice dice = {77};
    float x[N * PICTURE], codes[N * CODE];
    double energy[N], exact[N];
    bpcn_memory *m = make_memory(network(PICTURE, 2, wide_hidden));
    pictures(&dice, N, x);
    assert_ok(bpcn_memory_write(m, x, NULL, N, NULL));
    assert_ok(bpcn_memory_infer(m, x, NULL, N, NULL, codes, NULL));
    struct naive *naive = naive_of(m);
    bpcn_memory *wide = widened(naive);
    assert_ok(bpcn_memory_energy(m, x, NULL, codes, N, NULL, energy, NULL));
    assert_ok(bpcn_memory_energy(wide, x, NULL, codes, N, NULL, exact, NULL));
    for (size_t i = 0; i < N; i++)
        assert_near(energy[i], exact[i], 1e-3);
    naive_free(naive);
    bpcn_memory_free(wide);
    bpcn_memory_free(m);
}

/* ---- activations */

enum { GRID = 200001, EXTREMES = 6000 };

/* Out to the largest float and in to the smallest. */
static size_t fill_extremes(float *x)
{
    size_t n = 0;
    for (float v = 1e-45f; v < FLT_MAX / 1.1f; v = fmaxf(v * 1.07f, nextafterf(v, 1.0f))) {
        x[n++] = v;
        x[n++] = -v;
    }
    x[n++] = FLT_MAX;
    x[n++] = -FLT_MAX;
    x[n++] = 0.0f;
    x[n++] = -0.0f;
    return n;
}

/* Four roundings to float32 of numbers near 1: 2.5e-7, relative above 1. In GELU's left tail the
   value is exp(-x^2/2) times the tail ratio: a few roundings again, and the exponent's own
   rounding, which grows as x^2. Measured: 2.2e-7; 6e-7 at -3, 4e-6 at -12. */
static void compare_activation(bpcn_activation kind, size_t n, const float *x)
{
    float *fast = room(2 * n, sizeof *fast), *plain = room(2 * n, sizeof *plain);
    activation_apply_f32(kind, 0, n, x, fast, fast + n);
    activation_apply_plain(kind, n, x, plain, plain + n);
    for (size_t i = 0; i < 2 * n; i++) {
        double at = (double)x[i % n], want = (double)plain[i], off = fabs((double)fast[i] - want);
        int tail = kind == BPCN_GELU && i < n && at < 0 && at > -12;
        double allowed = tail ? (6e-7 + 4e-8 * at * at) * fabs(want) + (double)FLT_MIN : INFINITY;
        if (!(off <= fmin(allowed, 2.5e-7 * fmax(1, fabs(want))))) {
            print_error("activation %d at %g: %s %g, exactly %g\n", (int)kind, at, i < n ? "value" : "slope",
                        (double)fast[i], want);
            fail();
        }
    }
    free(fast);
    free(plain);
}

static void fast_activations_equal_the_plain_ones_on_a_dense_grid(void **state)
{
    (void)state;
    float *x = room(GRID, sizeof *x);
    for (size_t i = 0; i < GRID; i++)
        x[i] = -100.0f + 1e-3f * (float)i;
    for (int kind = BPCN_GELU; kind <= BPCN_LINEAR; kind++)
        compare_activation((bpcn_activation)kind, GRID, x);
    free(x);
}

static void fast_activations_equal_the_plain_ones_at_the_extremes(void **state)
{
    (void)state;
    float *x = room(EXTREMES, sizeof *x);
    size_t n = fill_extremes(x);
    assert_in_range(n, 2000, EXTREMES);
    for (int kind = BPCN_GELU; kind <= BPCN_LINEAR; kind++)
        compare_activation((bpcn_activation)kind, n, x);
    free(x);
}

static void nan_stays_nan(void **state)
{
    (void)state;
    const float bad = NAN;
    const double bad_wide = NAN;
    for (int kind = BPCN_GELU; kind <= BPCN_LINEAR; kind++) {
        float z = 0, slope = 0;
        double wide = 0, wide_slope = 0;
        activation_apply_f32((bpcn_activation)kind, 0, 1, &bad, &z, &slope);
        assert_true(isnan(z));
        activation_apply_plain((bpcn_activation)kind, 1, &bad, &z, &slope);
        assert_true(isnan(z));
        activation_apply_f64((bpcn_activation)kind, 0, 1, &bad_wide, &wide, &wide_slope);
        assert_true(isnan(wide));
    }
}

static void infinity_is_never_taken_for_an_ordinary_value(void **state)
{
    (void)state;
    const float ends[] = {INFINITY, -INFINITY};
    for (int kind = BPCN_GELU; kind <= BPCN_LINEAR; kind++) {
        float z[2], slope[2];
        activation_apply_f32((bpcn_activation)kind, 0, 2, ends, z, slope);
        if (kind == BPCN_TANH) {
            assert_true(z[0] == 1.0f && z[1] == -1.0f);
            continue;
        }
        assert_true(z[0] == INFINITY);
        /* f(-inf) is 0 for ReLU and GELU; what is not 0 has to be visible as broken */
        assert_true(z[1] == 0.0f || !isfinite(z[1]));
    }
}

/* Vector code treats the last few entries differently: no entry may depend on its position. */
static void activation_of_an_entry_does_not_depend_on_its_neighbours(void **state)
{
    (void)state;
    enum { MOST = 67 };
    struct dice dice = {5};
    float x[MOST], z[MOST], slope[MOST], alone, alone_slope;
    dice_normals_f32(&dice, MOST, 2, x);
    for (int kind = BPCN_GELU; kind <= BPCN_LINEAR; kind++)
        for (size_t n = 1; n <= MOST; n++) {
            activation_apply_f32((bpcn_activation)kind, 0, n, x, z, slope);
            for (size_t i = 0; i < n; i++) {
                activation_apply_f32((bpcn_activation)kind, 0, 1, x + i, &alone, &alone_slope);
                assert_memory_equal(&alone, &z[i], sizeof alone);
                assert_memory_equal(&alone_slope, &slope[i], sizeof alone);
            }
        }
}

static void float64_activations_equal_their_definitions(void **state)
{
    (void)state;
    for (int kind = BPCN_GELU; kind <= BPCN_LINEAR; kind++)
        for (double x = -6; x <= 6; x += 0.0137) {
            double z, slope, step = 1e-6, here = x;
            activation_apply_f64((bpcn_activation)kind, 0, 1, &here, &z, &slope);
            /* erf near -1 cancels in the definition: absolute, not relative */
            assert_near(z, naive_activation((bpcn_activation)kind, x), 1e-15 * (1 + fabs(x)));
            double want = (naive_activation((bpcn_activation)kind, x + step) -
                           naive_activation((bpcn_activation)kind, x - step)) /
                          (2 * step);
            if (fabs(x) > 2 * step)             /* not across ReLU's kink */
                assert_near(slope, want, 1e-9); /* rounding 1e-16 * 6 / 1e-6 of the difference */
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(energy_equals_the_model_written_down_plainly),
        cmocka_unit_test(gradient_equals_finite_differences),
        cmocka_unit_test(energy_is_the_same_with_and_without_its_gradient),
        cmocka_unit_test(noise_is_not_used_by_the_papers_objective),
        cmocka_unit_test(mixture_of_equal_particles_is_one_particle),
        cmocka_unit_test(particle_without_weight_does_not_count),
        cmocka_unit_test(float32_agrees_with_float64),
        cmocka_unit_test(float32_resolves_a_thousandth_at_the_papers_scale),
        cmocka_unit_test(fast_activations_equal_the_plain_ones_on_a_dense_grid),
        cmocka_unit_test(fast_activations_equal_the_plain_ones_at_the_extremes),
        cmocka_unit_test(nan_stays_nan),
        cmocka_unit_test(infinity_is_never_taken_for_an_ordinary_value),
        cmocka_unit_test(activation_of_an_entry_does_not_depend_on_its_neighbours),
        cmocka_unit_test(float64_activations_equal_their_definitions),
    };
    return cmocka_run_group_tests_name("energy", tests, NULL, NULL);
}
