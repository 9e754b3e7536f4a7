/*
 * The algebra of a write, with the codes given: one-by-one conjugate updates against the Bayesian
 * regression on all rows at once.
 */
#include "support.h"

#include "naive.h"
#include "update.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { DIM = 9, ROWS = 12, DEEPEST = 3 };
static const size_t hidden[] = {6, 5, 4};

struct scene {
    bpcn_memory *memory;
    size_t code_dim;
    double *x, *codes; /* [ROWS x DIM], [ROWS x code_dim] */
};

static struct scene scene_create(size_t layers, bpcn_activation activation)
{
    struct dice dice = {31 * layers + (size_t)activation};
    bpcn_options o = network(DIM, layers, hidden);
    struct scene s = {0};
    o.activation = activation;
    o.precision = BPCN_FLOAT64;
    o.sigma_x = 0.2;
    o.sigma_data = 0.1;
    s.memory = make_memory(o);
    randomize(s.memory, &dice, 0.5);
    s.code_dim = s.memory->contents.shard[0]->code_dim;
    s.x = room(ROWS * DIM, sizeof *s.x);
    s.codes = room(ROWS * s.code_dim, sizeof *s.codes);
    dice_normals(&dice, ROWS * DIM, 1, s.x);
    dice_normals(&dice, ROWS * s.code_dim, 1, s.codes);
    return s;
}

static void scene_free(struct scene *s)
{
    bpcn_memory_free(s->memory);
    free(s->x);
    free(s->codes);
}

static void update_with(struct scene *s, size_t row, int sign)
{
    struct model *model = s->memory->contents.shard[0];
    struct update *u = update_create(model, NULL);
    assert_non_null(u);
    update_particle(model, &model->particles[0], s->x + row * DIM, NULL, s->codes + row * s->code_dim, sign, 1,
                    (struct gram_update){NULL, NULL}, u);
    update_free(u);
}

/* ---- the regression, solved densely */

/* Rows [ROWS x width] of layer l, activated or as they are. */
static double *layer_rows(const struct scene *s, const struct naive *m, size_t l, int activated)
{
    size_t width = m->width[l];
    double *out = room(ROWS * width, sizeof *out);
    for (size_t i = 0; i < ROWS; i++)
        for (size_t j = 0; j < width; j++) {
            double v = l == 0 ? s->x[i * DIM + j] : s->codes[i * s->code_dim + naive_offset(m, l) + j];
            out[i * width + j] = activated ? naive_activation(m->options.activation, v) : v;
        }
    return out;
}

static double *inverse_of(size_t n, const double *a)
{
    double *copy = room(n * n, sizeof *copy), *inverse = room(n * n, sizeof *inverse);
    memcpy(copy, a, n * n * sizeof *copy);
    for (size_t i = 0; i < n; i++)
        inverse[i * n + i] = 1;
    naive_solve(n, n, copy, inverse);
    free(copy);
    return inverse;
}

/* In place: covariance = (U^-1 + Z'Z/s)^-1, mean = covariance (U^-1 mean + Z'X/s). */
static void regress(const struct scene *s, struct naive *m, size_t l)
{
    struct naive_particle *p = &m->particles[0];
    size_t above = m->width[l + 1], below = m->width[l];
    double *z = layer_rows(s, m, l + 1, 1), *x = layer_rows(s, m, l, 0), noise = naive_noise(m, l);
    double *precision = inverse_of(above, p->covariance[l]), *right = room(above * below, sizeof *right);
    for (size_t i = 0; i < above; i++)
        for (size_t j = 0; j < below; j++)
            for (size_t k = 0; k < above; k++)
                right[i * below + j] += precision[i * above + k] * p->mean[l][k * below + j];
    for (size_t r = 0; r < ROWS; r++)
        for (size_t i = 0; i < above; i++) {
            for (size_t j = 0; j < below; j++)
                right[i * below + j] += z[r * above + i] * x[r * below + j] / noise;
            for (size_t j = 0; j < above; j++)
                precision[i * above + j] += z[r * above + i] * z[r * above + j] / noise;
        }
    free(p->covariance[l]);
    p->covariance[l] = inverse_of(above, precision);
    naive_solve(above, below, precision, right);
    memcpy(p->mean[l], right, above * below * sizeof *right);
    free(z);
    free(x);
    free(precision);
    free(right);
}

static void regress_top(const struct scene *s, struct naive *m)
{
    struct naive_particle *p = &m->particles[0];
    size_t top = m->options.layers, width = m->width[top];
    double *x = layer_rows(s, m, top, 0), noise = naive_noise(m, top);
    double variance = 1 / (1 / p->top_variance + ROWS / noise);
    for (size_t j = 0; j < width; j++) {
        double sum = p->top_mean[j] / p->top_variance;
        for (size_t i = 0; i < ROWS; i++)
            sum += x[i * width + j] / noise;
        p->top_mean[j] = variance * sum;
    }
    p->top_variance = variance;
    free(x);
}

static void assert_same_parameters(const struct naive *a, const struct naive *b, double tolerance)
{
    const struct naive_particle *p = &a->particles[0], *q = &b->particles[0];
    for (size_t l = 0; l < a->options.layers; l++) {
        size_t above = a->width[l + 1], below = a->width[l];
        assert_near(greatest_difference(above * below, p->mean[l], q->mean[l]), 0, tolerance);
        assert_near(greatest_difference(above * above, p->covariance[l], q->covariance[l]), 0, tolerance);
    }
    assert_near(greatest_difference(a->width[a->options.layers], p->top_mean, q->top_mean), 0, tolerance);
    assert_near(p->top_variance, q->top_variance, tolerance);
}

/* The dense reference inverts matrices of condition 1e3 twice: 1e-16 * 1e6 at worst. */
static const double dense_tolerance = 1e-10;

static void check_regression(size_t layers, bpcn_activation activation)
{
    struct scene s = scene_create(layers, activation);
    struct naive *want = naive_of(s.memory);
    for (size_t l = 0; l < layers; l++)
        regress(&s, want, l);
    regress_top(&s, want);
    for (size_t i = 0; i < ROWS; i++)
        update_with(&s, i, 1);
    struct naive *got = naive_of(s.memory);
    assert_same_parameters(got, want, dense_tolerance);
    naive_free(want);
    naive_free(got);
    scene_free(&s);
}

static void updates_one_by_one_equal_the_regression_on_all_rows(void **state)
{
    (void)state;
    for (size_t layers = 0; layers <= DEEPEST; layers++)
        for (int activation = BPCN_GELU; activation <= BPCN_LINEAR; activation++)
            check_regression(layers, (bpcn_activation)activation);
}

static void order_of_updates_does_not_matter(void **state)
{
    (void)state;
    struct scene s = scene_create(3, BPCN_GELU);
    struct snapshot *prior = snapshot_take(s.memory);
    for (size_t i = 0; i < ROWS; i++)
        update_with(&s, i, 1);
    struct naive *forward = naive_of(s.memory);
    snapshot_restore(prior, s.memory);
    for (size_t i = 0; i < ROWS; i++)
        update_with(&s, 5 * (i + 1) % ROWS, 1); /* 5 and 12 share no factor: each row once */
    struct naive *shuffled = naive_of(s.memory);
    assert_same_parameters(forward, shuffled, 1e-12); /* 12 stable updates of float64 */
    naive_free(forward);
    naive_free(shuffled);
    snapshot_free(prior);
    scene_free(&s);
}

static void an_update_and_its_inverse_cancel(void **state)
{
    (void)state;
    struct scene s = scene_create(2, BPCN_GELU);
    struct model *model = s.memory->contents.shard[0];
    for (size_t i = 0; i + 1 < ROWS; i++)
        update_with(&s, i, 1);
    struct naive *before = naive_of(s.memory);
    update_with(&s, ROWS - 1, 1);
    struct update *u = update_create(model, NULL);
    const real *code = s.codes + (ROWS - 1) * s.code_dim;
    assert_ok(update_can_revert(model, &model->particles[0], &code, 1, u));
    update_free(u);
    update_with(&s, ROWS - 1, -1);
    struct naive *after = naive_of(s.memory);
    /* s - zUz' after the write is about s^2 / zUz', 1e-2 of s here: two digits are lost */
    assert_same_parameters(before, after, 1e-11);
    naive_free(before);
    naive_free(after);
    scene_free(&s);
}

static void a_row_never_written_is_not_held(void **state)
{
    (void)state;
    struct scene s = scene_create(2, BPCN_GELU);
    struct model *model = s.memory->contents.shard[0];
    struct update *u = update_create(model, NULL);
    for (size_t i = 0; i < 2; i++)
        update_with(&s, i, 1);
    const real *code = s.codes + 7 * s.code_dim, *twice[] = {s.codes, s.codes};
    assert_status(update_can_revert(model, &model->particles[0], &code, 1, u), BPCN_REFUSED);
    assert_status(update_can_revert(model, &model->particles[0], twice, 2, u), BPCN_REFUSED);
    update_free(u);
    scene_free(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(updates_one_by_one_equal_the_regression_on_all_rows),
        cmocka_unit_test(order_of_updates_does_not_matter),
        cmocka_unit_test(an_update_and_its_inverse_cancel),
        cmocka_unit_test(a_row_never_written_is_not_held),
    };
    return cmocka_run_group_tests_name("update", tests, NULL, NULL);
}
