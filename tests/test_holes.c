/*
 * Rows with holes: what a write makes of the entries it knows, against an independent computation in double, and that
 * it looks at no others.
 */
#include "support.h"

#include "gram.h"
#include "naive.h"
#include "cache.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { DEEPEST = 2, ROWS = 8, PARTICLES = 3 };
static const size_t hidden[DEEPEST] = {SMALL_FIRST, SMALL_SECOND};

/* Each entry known with this probability, and the first one, so that something is. */
static void random_mask(struct dice *dice, size_t n, size_t dim, double share, unsigned char *known)
{
    for (size_t j = 0; j < n * dim; j++)
        known[j] = j % dim == 0 || dice_uniform(dice) < share;
}

/* One of the memories that the laws are checked with: number 0 .. MEMORIES - 1. */
enum { MEMORIES = 12 };
static bpcn_options options_of(size_t i)
{
    bpcn_options o = network(PICTURE, i % 3, hidden);
    o.particles = i < 6 ? 1 : PARTICLES;
    o.resample = i >= 6;
    o.sigma_x = 0.1;
    o.sigma_data = 0.2;
    o.precision = i / 3 % 2 == 0 ? BPCN_FLOAT32 : BPCN_FLOAT64;
    o.minimizer = i % 4 == 3 ? BPCN_ADAM : BPCN_LBFGS;
    o.adam_steps = 50;
    if (i % 5 == 4) {
        o.shards = 3;
        o.shard_rows = 3;
    }
    return o;
}

/* ---- what is looked at */

static void a_mask_of_all_ones_writes_what_no_mask_does(void **state)
{
    (void)state;
    for (size_t i = 0; i < MEMORIES; i++) {
        struct dice dice = {100 + i};
        float x[ROWS * PICTURE];
        unsigned char known[ROWS * PICTURE];
        bpcn_memory *plain = make_memory(options_of(i)), *masked = make_memory(options_of(i));
        pictures(&dice, ROWS, x);
        memset(known, 7, sizeof known); /* any number but 0 */
        assert_ok(bpcn_memory_write(plain, x, NULL, ROWS, NULL));
        assert_ok(bpcn_memory_write(masked, x, known, ROWS, NULL));
        struct snapshot *want = snapshot_take(plain);
        assert_true(snapshot_same(want, masked));
        snapshot_free(want);
        bpcn_memory_free(plain);
        bpcn_memory_free(masked);
    }
}

static void what_is_not_known_is_never_looked_at(void **state)
{
    (void)state;
    static const float others[] = {NAN, INFINITY, 1e30f, 3};
    for (size_t i = 0; i < MEMORIES; i++) {
        struct dice dice = {200 + i};
        float x[ROWS * PICTURE];
        unsigned char known[ROWS * PICTURE];
        bpcn_write_row rows[2][ROWS];
        bpcn_memory *memory[2];
        pictures(&dice, ROWS, x);
        random_mask(&dice, ROWS, PICTURE, 0.6, known);
        for (size_t m = 0; m < 2; m++) {
            bpcn_write_info info;
            bpcn_write_info_default(&info, sizeof info);
            info.rows = rows[m];
            memory[m] = make_memory(options_of(i));
            assert_ok(bpcn_memory_write(memory[m], x, known, ROWS, &info));
            assert_int_equal(info.written, ROWS);
            for (size_t j = 0; j < ROWS * PICTURE; j++)
                x[j] = known[j] ? x[j] : others[j % 4];
        }
        assert_memory_equal(rows[0], rows[1], sizeof rows[0]);
        struct snapshot *want = snapshot_take(memory[0]);
        assert_true(snapshot_same(want, memory[1]));
        snapshot_free(want);
        bpcn_memory_free(memory[0]);
        bpcn_memory_free(memory[1]);
    }
}

static void a_row_of_which_nothing_is_known_is_refused_by_its_number(void **state)
{
    (void)state;
    struct dice dice = {3};
    float x[3 * PICTURE];
    unsigned char known[3 * PICTURE];
    bpcn_write_info info;
    bpcn_memory *m = make_memory(small_network(1));
    struct snapshot *before = snapshot_take(m);
    bpcn_write_info_default(&info, sizeof info);
    pictures(&dice, 3, x);
    memset(known, 1, sizeof known);
    memset(known + PICTURE, 0, PICTURE);
    assert_status(bpcn_memory_write(m, x, known, 3, &info), BPCN_INVALID);
    assert_string_equal(bpcn_error(), "nothing of row 1 is known");
    assert_int_equal(info.written, 0);
    known[PICTURE + 5] = 1;
    x[PICTURE + 5] = NAN; /* known, and no number */
    assert_status(bpcn_memory_write(m, x, known, 3, &info), BPCN_INVALID);
    assert_string_equal(bpcn_error(), "row 1, entry 5 is NaN");
    assert_true(snapshot_same(before, m));
    snapshot_free(before);
    bpcn_memory_free(m);
}

/* ---- the update, densely */

/* In place, with explicit matrices: known columns of the mean += c e / (z c + s), U -= c c' / (z c + s / share). */
static void condition_naively(struct naive *m, size_t k, size_t l, const double *z, const double *target,
                              const unsigned char *known, double share)
{
    size_t above = m->width[l + 1], below = m->width[l];
    double *mean = m->particles[k].mean[l], *u = m->particles[k].covariance[l], s = naive_noise(m, l), zc = 0;
    double *c = room(above, sizeof *c);
    for (size_t i = 0; i < above; i++) {
        for (size_t j = 0; j < above; j++)
            c[i] += u[i * above + j] * z[j];
        zc += z[i] * c[i];
    }
    for (size_t j = 0; j < below; j++) {
        double e = target[j];
        for (size_t i = 0; i < above; i++)
            e -= z[i] * mean[i * below + j];
        for (size_t i = 0; (known == NULL || known[j]) && i < above; i++)
            mean[i * below + j] += c[i] * e / (zc + s);
    }
    for (size_t i = 0; i < above; i++)
        for (size_t j = 0; j < above; j++)
            u[i * above + j] -= c[i] * c[j] / (zc + s / share);
    free(c);
}

static void condition_top_naively(struct naive *m, size_t k, const double *target, const unsigned char *known,
                                  double share)
{
    struct naive_particle *p = &m->particles[k];
    size_t top = m->options.layers;
    double s = naive_noise(m, top), old = p->top_variance;
    for (size_t j = 0; j < m->width[top]; j++)
        if (known == NULL || known[j])
            p->top_mean[j] += old / (old + s) * (target[j] - p->top_mean[j]);
    p->top_variance = 1 / (1 / old + share / s);
}

/* All particles conditioned on a row and their codes. */
static void write_naively(struct naive *m, const double *x, const unsigned char *known, const float *codes)
{
    size_t layers = m->options.layers;
    double share = 0, *code = room(m->code_dim, sizeof *code), *z = room(m->code_dim, sizeof *z);
    for (size_t j = 0; j < PICTURE; j++)
        share += known[j] ? 1.0 / PICTURE : 0;
    for (size_t k = 0; k < m->options.particles; k++) {
        for (size_t j = 0; j < m->code_dim; j++) {
            code[j] = (double)codes[k * m->code_dim + j];
            z[j] = naive_activation(m->options.activation, code[j]);
        }
        for (size_t l = 0; l < layers; l++)
            condition_naively(m, k, l, z + naive_offset(m, l + 1), l == 0 ? x : code + naive_offset(m, l),
                              l == 0 ? known : NULL, l == 0 ? share : 1);
        if (layers == 0)
            condition_top_naively(m, k, x, known, share);
        else
            condition_top_naively(m, k, code + naive_offset(m, layers), NULL, 1);
    }
    free(code);
    free(z);
}

static void assert_parameters(const struct naive *got, const struct naive *want, double tolerance)
{
    for (size_t k = 0; k < got->options.particles; k++) {
        const struct naive_particle *p = &got->particles[k], *q = &want->particles[k];
        for (size_t l = 0; l < got->options.layers; l++) {
            size_t above = got->width[l + 1], below = got->width[l];
            assert_near(greatest_difference(above * below, p->mean[l], q->mean[l]), 0, tolerance);
            assert_near(greatest_difference(above * above, p->covariance[l], q->covariance[l]), 0, tolerance);
        }
        assert_near(greatest_difference(got->width[got->options.layers], p->top_mean, q->top_mean), 0, tolerance);
        assert_near(p->top_variance, q->top_variance, tolerance);
    }
}

/* What the mixture says of the row at these codes; log_term [particles]: each one's share of it. */
static double energy_naively(const struct naive *m, const double *x, const unsigned char *known, const float *codes,
                             double *log_term)
{
    double code[SMALL_CODE], sum = 0, most = -INFINITY;
    struct naive_row row = {.x0 = x, .known = known, .code = code};
    for (size_t j = 0; j < PICTURE; j++)
        row.count += known[j] != 0;
    for (size_t k = 0; k < m->options.particles; k++) {
        for (size_t j = 0; j < m->code_dim; j++)
            code[j] = (double)codes[k * m->code_dim + j];
        log_term[k] = m->log_weights[k] - naive_energy(m, k, &row);
        most = fmax(most, log_term[k]);
    }
    for (size_t k = 0; k < m->options.particles; k++)
        sum += exp(log_term[k] - most);
    return -most - log(sum);
}

static void check_write(bpcn_options o)
{
    struct dice dice = {7 + o.layers};
    float x[PICTURE], codes[PARTICLES * SMALL_CODE];
    double wide[PICTURE], log_term[PARTICLES], weights[PARTICLES];
    unsigned char known[PICTURE];
    o.resample = 0;
    o.shards = 1;
    bpcn_memory *m = make_memory(o);
    for (size_t i = 0; i < ROWS; i++) {
        bpcn_write_row row;
        bpcn_write_info info;
        bpcn_write_info_default(&info, sizeof info);
        info.rows = &row;
        info.codes = codes;
        pictures(&dice, 1, x);
        random_mask(&dice, 1, PICTURE, 0.2 + 0.1 * (double)i, known);
        for (size_t j = 0; j < PICTURE; j++)
            wide[j] = known[j] ? (double)x[j] : 1e6; /* would be seen */
        struct naive *want = naive_of(m);
        assert_ok(bpcn_memory_write(m, x, known, 1, &info));
        double energy = energy_naively(want, wide, known, codes, log_term);
        /* float32 energies carry roundings of 6e-8 of terms of size 1e4 */
        assert_near(row.energy, energy, 1e-6 * (1e3 + fabs(energy)));
        assert_ok(bpcn_memory_get_weights(m, 0, weights));
        for (size_t k = 0; k < o.particles; k++)
            assert_near(weights[k], exp(log_term[k] + energy), 5e-3); /* its logarithm is as exact as the energy */
        write_naively(want, wide, known, codes);
        struct naive *got = naive_of(m);
        /* codes come as floats, and rounding them moves what follows by 6e-8 times numbers up to some tens */
        assert_parameters(got, want, 2e-5);
        naive_free(want);
        naive_free(got);
    }
    bpcn_memory_free(m);
}

static void a_write_with_holes_is_the_update_of_docs_model(void **state)
{
    (void)state;
    for (size_t i = 0; i < MEMORIES; i++)
        check_write(options_of(i));
}

/* ---- what stays */

static void columns_that_no_row_knows_stay_to_the_bit(void **state)
{
    (void)state;
    enum { AT = 40, SOME = 30 }; /* never known */
    for (size_t i = 0; i < MEMORIES; i++) {
        struct dice dice = {300 + i};
        float x[ROWS * PICTURE];
        unsigned char known[ROWS * PICTURE];
        bpcn_options o = options_of(i);
        o.resample = 0; /* particles keep their places */
        bpcn_memory *m = make_memory(o);
        struct naive *before = naive_of(m);
        pictures(&dice, ROWS, x);
        random_mask(&dice, ROWS, PICTURE, 0.8, known);
        for (size_t r = 0; r < ROWS; r++)
            memset(known + r * PICTURE + AT, 0, SOME);
        assert_ok(bpcn_memory_write(m, x, known, ROWS, NULL));
        struct naive *after = naive_of(m);
        for (size_t k = 0; k < o.particles; k++) {
            double *was = o.layers ? before->particles[k].mean[0] : before->particles[k].top_mean;
            double *is = o.layers ? after->particles[k].mean[0] : after->particles[k].top_mean;
            for (size_t r = 0; r < (o.layers ? before->width[1] : 1); r++) {
                assert_memory_equal(is + r * PICTURE + AT, was + r * PICTURE + AT, SOME * sizeof *is);
                assert_true(memcmp(is + r * PICTURE, was + r * PICTURE, PICTURE * sizeof *is) != 0);
            }
        }
        naive_free(before);
        naive_free(after);
        bpcn_memory_free(m);
    }
}

/* Rows with holes and whole ones, in a network whose lowest mean is taken through G. */
static void the_gram_matrix_follows_rows_with_holes(void **state)
{
    (void)state;
    enum { WIDTH = 64, MANY = 40 };
    struct dice dice = {17};
    float x[MANY * PICTURE];
    unsigned char known[MANY * PICTURE];
    bpcn_options o = network(PICTURE, 2, (size_t[]){WIDTH, 16});
    o.precision = BPCN_FLOAT64; /* so that nothing but double's roundings is between the two */
    bpcn_memory *m = make_memory(o);
    struct layer *layer = &m->contents.shard[0]->particles[0].layer[0];
    assert_true(gram_pays(WIDTH, PICTURE));
    pictures(&dice, MANY, x);
    random_mask(&dice, MANY, PICTURE, 0.5, known);
    memset(known, 1, 5 * PICTURE);
    memset(known + 20 * PICTURE, 1, 5 * PICTURE);
    assert_ok(bpcn_memory_write(m, x, known, MANY, NULL));
    struct gram *followed = cache_gram(m->cache[0], 0, NULL), *fresh = gram_create(layer, NULL, NULL, NULL);
    assert_non_null(fresh);
    assert_int_equal(followed->age, MANY);
    double largest = greatest_size(WIDTH * WIDTH, fresh->g);
    for (size_t i = 0; i < WIDTH; i++) /* the upper triangle; 40 updates of double */
        assert_near(greatest_difference(WIDTH - i, followed->g + i * WIDTH + i, fresh->g + i * WIDTH + i), 0,
                    1e-12 * largest);
    gram_free(fresh);
    bpcn_memory_free(m);
}

/* ---- what it is for */

/* Rows of a plane of few dimensions and some noise: x [n x dim]. */
static void table_of(struct dice *dice, size_t n, size_t dim, size_t rank, float *x)
{
    double *axes = room(rank * dim, sizeof *axes), *at = room(rank, sizeof *at);
    dice_normals(dice, rank * dim, 1 / sqrt((double)rank), axes);
    for (size_t i = 0; i < n; i++) {
        dice_normals(dice, rank, 1, at);
        for (size_t j = 0; j < dim; j++) {
            double sum = 0.2 * dice_normal(dice);
            for (size_t k = 0; k < rank; k++)
                sum += at[k] * axes[k * dim + j];
            x[i * dim + j] = (float)sum;
        }
    }
    free(axes);
    free(at);
}

/* Mean square error of the holes, filled by `answer`, NULL: by the means of what is known in their columns. */
static double error_of_holes(size_t n, size_t dim, const float *x, const unsigned char *known, const float *answer)
{
    double sum = 0, holes = 0;
    for (size_t j = 0; j < dim; j++) {
        double mean = 0, count = 0;
        for (size_t i = 0; i < n; i++)
            if (known[i * dim + j]) {
                mean += (double)x[i * dim + j];
                count++;
            }
        for (size_t i = 0; i < n; i++)
            if (!known[i * dim + j]) {
                double e = (double)x[i * dim + j] - (answer ? (double)answer[i * dim + j] : mean / count);
                sum += e * e;
                holes++;
            }
    }
    return sum / holes;
}

static void a_table_learnt_from_holes_is_filled_better_than_by_its_means(void **state)
{
    (void)state;
    enum { N = 300, DIM = 12 };
    struct dice dice = {5};
    static float x[N * DIM], out[N * DIM];
    static unsigned char known[N * DIM];
    bpcn_read_options how;
    bpcn_options o = network(DIM, 2, (size_t[]){32, 32});
    bpcn_read_options_default(&how, sizeof how);
    how.objective = BPCN_OBJECTIVE_MARGINAL;
    how.noise = 0;
    o.sigma_x = 0.3;
    bpcn_memory *m = make_memory(o);
    table_of(&dice, N, DIM, 3, x);
    random_mask(&dice, N, DIM, 0.7, known);
    assert_ok(bpcn_memory_write(m, x, known, N, NULL));
    assert_ok(bpcn_memory_read(m, x, known, N, &how, out, NULL));
    double means = error_of_holes(N, DIM, x, known, NULL), ours = error_of_holes(N, DIM, x, known, out);
    print_message("error of holes: %g, of column means %g\n", ours, means);
    assert_true(ours < 0.5 * means); /* the plane is three dimensional, the noise 0.04 of a variance of about 1 */
    bpcn_memory_free(m);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_mask_of_all_ones_writes_what_no_mask_does),
        cmocka_unit_test(what_is_not_known_is_never_looked_at),
        cmocka_unit_test(a_row_of_which_nothing_is_known_is_refused_by_its_number),
        cmocka_unit_test(a_write_with_holes_is_the_update_of_docs_model),
        cmocka_unit_test(columns_that_no_row_knows_stay_to_the_bit),
        cmocka_unit_test(the_gram_matrix_follows_rows_with_holes),
        cmocka_unit_test(a_table_learnt_from_holes_is_filled_better_than_by_its_means),
    };
    return cmocka_run_group_tests_name("holes", tests, NULL, NULL);
}
