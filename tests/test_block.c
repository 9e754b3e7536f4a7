/*
 * Blocks: rows that are inferred and written together, against single writes, against conditioning on each code in
 * turn, and against other ways of finding the codes.
 */
#include "support.h"

#include "block.h"
#include "minimize.h"
#include "naive.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static void block_of_one_row_equals_a_write(void **state)
{
    (void)state;
    struct dice dice = {12};
    float x[PICTURE];
    bpcn_memory *one = make_memory(small_network(2)), *block = make_memory(small_network(2));
    pictures(&dice, 1, x);
    assert_ok(bpcn_memory_write(one, x, 1, NULL));
    assert_ok(bpcn_memory_write_block(block, x, 1, NULL));
    struct snapshot *s = snapshot_take(one);
    assert_true(snapshot_same(s, block));
    snapshot_free(s);
    bpcn_memory_free(one);
    bpcn_memory_free(block);
}

static void block_equals_single_writes_without_hidden_layers(void **state)
{
    (void)state;
    enum { D = 6, N = 3, ROWS = 7 };
    struct dice dice = {13};
    float x[ROWS * D];
    double a[D], b[D], va, vb, wa[N], wb[N];
    bpcn_options o = network(D, 0, NULL);
    o.particles = N;
    o.sigma_x = 0.3;
    o.precision = BPCN_FLOAT64;
    bpcn_memory *single = make_memory(o), *block = make_memory(o);
    dice_normals_f32(&dice, ROWS * D, 1, x);
    assert_ok(bpcn_memory_write(single, x, ROWS, NULL));
    assert_ok(bpcn_memory_write_block(block, x, ROWS, NULL));
    assert_ok(bpcn_memory_get_weights(single, wa));
    assert_ok(bpcn_memory_get_weights(block, wb));
    for (size_t k = 0; k < N; k++) {
        assert_near(wb[k], wa[k], 1e-11); /* the chain rule, in float64 */
        assert_ok(bpcn_memory_get_top(single, k, a, &va));
        assert_ok(bpcn_memory_get_top(block, k, b, &vb));
        assert_near(greatest_difference(D, a, b), 0, 1e-13); /* the same updates */
        assert_near(va, vb, 1e-15);
    }
    bpcn_memory_free(single);
    bpcn_memory_free(block);
}

/* Codes the block inferred, then conditioned on one by one: docs/MODEL.md's update by hand. */
static void condition_naively(struct naive *m, const float *x, const double *code)
{
    struct naive_particle *p = &m->particles[0];
    for (size_t l = 0; l < m->options.layers; l++) {
        size_t above = m->width[l + 1], below = m->width[l];
        double *c = room(above, sizeof *c), *z = room(above, sizeof *z), v = naive_noise(m, l);
        for (size_t i = 0; i < above; i++)
            z[i] = naive_activation(m->options.activation, code[naive_offset(m, l + 1) + i]);
        for (size_t i = 0; i < above; i++)
            for (size_t j = 0; j < above; j++)
                c[i] += p->covariance[l][i * above + j] * z[j];
        for (size_t i = 0; i < above; i++)
            v += z[i] * c[i];
        for (size_t j = 0; j < below; j++) {
            double e = l == 0 ? (double)x[j] : code[naive_offset(m, l) + j];
            for (size_t i = 0; i < above; i++)
                e -= z[i] * p->mean[l][i * below + j];
            for (size_t i = 0; i < above; i++)
                p->mean[l][i * below + j] += c[i] * e / v;
        }
        for (size_t i = 0; i < above; i++)
            for (size_t j = 0; j < above; j++)
                p->covariance[l][i * above + j] -= c[i] * c[j] / v;
        free(c);
        free(z);
    }
}

static void block_conditions_on_each_of_its_codes(void **state)
{
    (void)state;
    enum { ROWS = 8 };
    struct dice dice = {14};
    float x[ROWS * PICTURE], codes[ROWS * SMALL_CODE];
    double code[SMALL_CODE];
    bpcn_write_info info = bpcn_write_info_default();
    bpcn_memory *m = make_memory(small_network(1));
    struct naive *want = naive_of(m);
    pictures(&dice, ROWS, x);
    info.codes = codes;
    assert_ok(bpcn_memory_write_block(m, x, ROWS, &info));
    assert_int_equal(info.written, ROWS);
    for (size_t i = 0; i < ROWS; i++) {
        for (size_t j = 0; j < SMALL_CODE; j++)
            code[j] = (double)codes[i * SMALL_CODE + j];
        condition_naively(want, x + i * PICTURE, code);
    }
    struct naive *got = naive_of(m);
    for (size_t l = 0; l < 2; l++) {
        size_t above = want->width[l + 1], below = want->width[l];
        /* float32 means and activations: 6e-8 a rounding, times a gain of 1 / sigma_x and 8 rows */
        assert_near(greatest_difference(above * below, got->particles[0].mean[l], want->particles[0].mean[l]), 0, 1e-5);
        assert_near(
            greatest_difference(above * above, got->particles[0].covariance[l], want->particles[0].covariance[l]), 0,
            1e-5);
    }
    naive_free(want);
    naive_free(got);
    bpcn_memory_free(m);
}

/* Equal rows make V nearly singular: only the noise on its diagonal keeps it apart. */
static void block_of_equal_rows_is_written_and_recalled(void **state)
{
    (void)state;
    enum { ROWS = 16 };
    struct dice dice = {15};
    float x[ROWS * PICTURE], back[PICTURE];
    bpcn_options o = small_network(1);
    o.sigma_x = 0.01;
    bpcn_memory *m = make_memory(o);
    pictures(&dice, 1, x);
    for (size_t i = 1; i < ROWS; i++)
        memcpy(x + i * PICTURE, x, PICTURE * sizeof *x);
    assert_ok(bpcn_memory_write_block(m, x, ROWS, NULL));
    assert_ok(bpcn_memory_read(m, x, NULL, 1, NULL, back, NULL));
    assert_true(mean_square_error(PICTURE, x, back) < 1e-4); /* the noise variance of one write */
    bpcn_memory_free(m);
}

static void rows_of_a_block_are_recalled(void **state)
{
    (void)state;
    enum { ROWS = 8 };
    static const size_t wide[] = {64, 64};
    struct dice dice = {16};
    float x[ROWS * PICTURE], back[ROWS * PICTURE];
    bpcn_memory *m = make_memory(network(PICTURE, 2, wide));
    pictures(&dice, ROWS, x);
    assert_ok(bpcn_memory_write_block(m, x, ROWS, NULL));
    assert_ok(bpcn_memory_read(m, x, NULL, ROWS, NULL, back, NULL));
    assert_true(mean_square_error(ROWS * PICTURE, x, back) < 1e-4); /* sigma_x^2 */
    bpcn_memory_free(m);
}

/* The coupled energy of given codes, as a function to minimise. */
struct coupled {
    const struct model *model;
    const struct weights *weights;
    struct block *block;
    const double *x;
};

static void evaluate_coupled(void *context, size_t n, const size_t *rows, const double *points, double *energy,
                             double *grad)
{
    struct coupled *c = context;
    (void)n;
    (void)rows;
    block_evaluate(c->model, &c->model->particles[0], c->weights, c->x, points, 0, 0, c->block, energy, grad, NULL);
}

static int one_stage(void *context, size_t row, size_t number, double *point, struct stage *stage)
{
    (void)context;
    (void)row;
    (void)point;
    *stage = (struct stage){2000, 1e-4};
    return number == 0;
}

/* Codes of the rows each on its own, then minimised together. */
static double polished_energy(const bpcn_memory *m, size_t n, const float *x, const float *codes)
{
    const struct model *model = m->model;
    size_t code = model->code_dim, dim = model->width[0];
    double *points = room(n * code, sizeof *points), *wide = room(n * dim, sizeof *wide);
    struct coupled c = {model, weights_create(model, &model->particles[0], NULL), block_create(model, n, NULL), wide};
    struct objective objective = {&c, n * code, evaluate_coupled, one_stage, NULL, NULL, NULL};
    struct outcome outcome;
    for (size_t j = 0; j < n * code; j++)
        points[j] = (double)codes[j];
    for (size_t j = 0; j < n * dim; j++)
        wide[j] = (double)x[j];
    assert_ok(lbfgs_minimize(&objective, 1, 1, points, &outcome));
    weights_free((struct weights *)(uintptr_t)c.weights);
    block_free(c.block);
    free(points);
    free(wide);
    return outcome.energy;
}

/* A block against two other ways to its codes: one by one, each given the rows before (the chain
   rule makes that the same energy), and each on its own, then together. */
static void a_block_finds_codes_as_likely_as_other_ways_do(void **state)
{
    (void)state;
    enum { ROWS = 16, WIDTH = 48 };
    for (uint64_t seed = 1; seed <= 3; seed++) {
        struct dice dice = {seed};
        float x[2 * ROWS * PICTURE], codes[ROWS * 2 * WIDTH];
        bpcn_write_row block[ROWS], single[ROWS];
        bpcn_write_info info = bpcn_write_info_default();
        bpcn_options o = network(PICTURE, 2, (size_t[]){WIDTH, WIDTH});
        double chained = 0;
        o.precision = BPCN_FLOAT64;
        o.sigma_x = 0.1;
        bpcn_memory *together = make_memory(o), *apart = make_memory(o);
        pictures(&dice, 2 * ROWS, x);
        assert_ok(bpcn_memory_write(together, x, ROWS, NULL));
        assert_ok(bpcn_memory_write(apart, x, ROWS, NULL));
        const float *rest = x + ROWS * PICTURE;
        assert_ok(bpcn_memory_infer(apart, rest, NULL, ROWS, NULL, codes, NULL));
        double polished = polished_energy(apart, ROWS, rest, codes);
        info.rows = single;
        assert_ok(bpcn_memory_write(apart, rest, ROWS, &info));
        info.rows = block;
        assert_ok(bpcn_memory_write_block(together, rest, ROWS, &info));
        for (size_t i = 0; i < ROWS; i++)
            chained += single[i].energy;
        print_message("block %.2f, one by one %.2f, polished %.2f\n", block[0].energy, chained, polished);
        /* minima differ by tenths of a nat a row */
        assert_true(block[0].energy <= chained + 0.5 * ROWS);
        assert_true(block[0].energy <= polished + 0.5 * ROWS);
        bpcn_memory_free(together);
        bpcn_memory_free(apart);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(block_of_one_row_equals_a_write),
        cmocka_unit_test(block_equals_single_writes_without_hidden_layers),
        cmocka_unit_test(block_conditions_on_each_of_its_codes),
        cmocka_unit_test(block_of_equal_rows_is_written_and_recalled),
        cmocka_unit_test(rows_of_a_block_are_recalled),
        cmocka_unit_test(a_block_finds_codes_as_likely_as_other_ways_do),
    };
    return cmocka_run_group_tests_name("block", tests, NULL, NULL);
}
