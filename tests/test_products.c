/* What is made of the kernels, against plain loops: panels, sweeps, G = M M' and Cholesky factors. */
#include "kernels_support.h"

#include "shard.h"
#include "matmul.h"
#include "gram.h"
#include "kernels.h"
#include "cholesky.h"
#include "energy.h"
#include "threads.h"
#include "update.h"

#include <math.h>
#include <stdlib.h>

/* Sums of k products of numbers below 1: float32 rounds each by 6e-8 of the partial sum. */
static double allowed(size_t k)
{
    return 1e-7 * sqrt((double)k) * sqrt((double)k);
}

/* ---- panels */

static void check_panels(size_t n, size_t rows, size_t columns, int transposed, enum panel_shape shape)
{
    float *m = numbers(rows * columns, 1), *a = numbers(n * rows, 2);
    float *data = numbers(matmul_packed_entries(rows, columns, sizeof(float)), 3), *fast = numbers(n * columns, 4),
          *plain = numbers(n * columns, 5);
    struct panels p = matmul_pack(rows, columns, m, transposed, shape, data);
    matmul_plain(&p, n, a, plain);
    for (size_t i = 0; kernels_set(i) != NULL; i++) {
        matmul_by_f32(kernels_set(i), &p, n, a, fast);
        for (size_t j = 0; j < n * columns; j++)
            if (!(fabs((double)fast[j] - (double)plain[j]) <= allowed(rows)))
                fail_msg("%s, %zux%zux%zu: entry %zu is %g, plainly %g", kernels_set(i)->name, n, rows, columns, j,
                         (double)fast[j], (double)plain[j]);
    }
    free(m);
    free(a);
    free(data);
    free(fast);
    free(plain);
}

static void check_panels_f64(size_t n, size_t rows, size_t columns, int transposed, enum panel_shape shape)
{
    double *m = doubles(rows * columns, 1), *a = doubles(n * rows, 2), *fast = doubles(n * columns, 3),
           *plain = doubles(n * columns, 4), *data = doubles(matmul_packed_entries(rows, columns, sizeof(double)), 5);
    struct panels p = matmul_pack(rows, columns, m, transposed, shape, data);
    matmul_plain(&p, n, a, plain);
    for (size_t i = 0; kernels_set(i) != NULL; i++) {
        matmul_by_f64(kernels_set(i), &p, n, a, fast);
        assert_near(greatest_difference(n * columns, fast, plain), 0,
                    1e-15 * (double)rows * greatest_size(n * columns, plain));
    }
    free(m);
    free(a);
    free(data);
    free(fast);
    free(plain);
}

static void panels_in_double_multiply_as_plain_loops_do(void **state)
{
    static const size_t sizes[] = {1, 7, 8, 9, 100, 257};
    (void)state;
    for (size_t n = 1; n <= 31; n += 3)
        for (size_t r = 0; r < 6; r++)
            for (size_t c = 0; c < 6; c++)
                check_panels_f64(n, sizes[r], sizes[c], (int)(n % 2), PANEL_FULL);
    for (size_t i = 0; i < 6; i++)
        for (int shape = PANEL_LOWER; shape <= PANEL_UPPER; shape++)
            check_panels_f64(7, sizes[i], sizes[i], shape == PANEL_UPPER, (enum panel_shape)shape);
}

static void panels_multiply_as_plain_loops_do(void **state)
{
    static const size_t sizes[] = {1, 2, 15, 16, 17, 100, 300};
    (void)state;
    for (size_t n = 1; n <= 31; n += 3)
        for (size_t r = 0; r < 7; r++)
            for (size_t c = 0; c < 7; c++)
                check_panels(n, sizes[r], sizes[c], (int)(n % 2), PANEL_FULL);
}

static void triangular_panels_skip_only_zeros(void **state)
{
    static const size_t sizes[] = {1, 15, 16, 17, 255, 256, 257, 520};
    (void)state;
    for (size_t i = 0; i < 8; i++)
        for (int shape = PANEL_LOWER; shape <= PANEL_UPPER; shape++)
            for (int transposed = 0; transposed <= 1; transposed++)
                check_panels(7, sizes[i], sizes[i], transposed, (enum panel_shape)shape);
}

static void a_row_of_a_product_does_not_depend_on_its_neighbours(void **state)
{
    enum { N = 29, ROWS = 300, COLUMNS = 70 };
    (void)state;
    float *m = numbers(ROWS * COLUMNS, 1), *a = numbers(N * ROWS, 2),
          *data = numbers(matmul_packed_entries(ROWS, COLUMNS, sizeof(float)), 3);
    float *all = numbers(N * COLUMNS, 4), *one = numbers(COLUMNS, 5);
    struct panels p = matmul_pack(ROWS, COLUMNS, m, 0, PANEL_FULL, data);
    for (size_t set = 0; kernels_set(set) != NULL; set++) {
        matmul_by_f32(kernels_set(set), &p, N, a, all);
        for (size_t i = 0; i < N; i++) {
            matmul_by_f32(kernels_set(set), &p, 1, a + i * ROWS, one);
            assert_memory_equal(one, all + i * COLUMNS, COLUMNS * sizeof *one);
        }
    }
    free(m);
    free(a);
    free(data);
    free(all);
    free(one);
}

static void not_a_number_goes_through_a_product(void **state)
{
    (void)state;
    float *m = numbers(40 * 20, 1), *a = numbers(40, 2),
          *data = numbers(matmul_packed_entries(40, 20, sizeof(float)), 3), out[20];
    struct panels p = matmul_pack(40, 20, m, 0, PANEL_FULL, data);
    a[13] = NAN;
    for (size_t i = 0; kernels_set(i) != NULL; i++) {
        matmul_by_f32(kernels_set(i), &p, 1, a, out);
        for (size_t j = 0; j < 20; j++)
            assert_true(isnan(out[j]));
    }
    free(m);
    free(a);
    free(data);
}

/* ---- sweeps */

/* Sweeps by teams of one to three against loops in double. */
static void check_sweep(struct team *team, size_t above, size_t below, int masked)
{
    float *mean = numbers(above * below, 6), *z = numbers(above, 7), *target = numbers(below, 8);
    float *root = numbers(above * above, 9), *error = numbers(below, 1), *residual_grad = numbers(above, 2),
          *spread = numbers(above, 3);
    float *scratch = numbers(matmul_covariance_scratch(above, threads_count(team)), 4);
    unsigned char *known = malloc(below);
    double squares = 0, leverage = 0;
    for (size_t j = 0; j < below; j++)
        known[j] = j % 3 != 0;
    double got = matmul_residual(team, above, below, mean, z, target, masked ? known : NULL, error, residual_grad);
    for (size_t j = 0; j < below; j++) {
        double e = (double)target[j];
        for (size_t i = 0; i < above; i++)
            e -= (double)z[i] * (double)mean[i * below + j];
        e = masked && !known[j] ? 0 : e;
        squares += e * e;
        assert_true(fabs(e - (double)error[j]) <= allowed(above));
    }
    assert_true(fabs(got - squares) <= 1e-5 * (1 + squares));
    for (size_t i = 0; i < above; i++) {
        double sum = 0;
        for (size_t j = 0; j < below; j++)
            sum += (double)error[j] * (double)mean[i * below + j];
        assert_true(fabs(sum - (double)residual_grad[i]) <= 1e-5 * (1 + sqrt(squares * (double)below)));
    }
    float *alone = numbers(below, 5), *added = numbers(above * below, 6);
    if (!masked) {
        assert_true(matmul_residual(team, above, below, mean, z, target, NULL, alone, NULL) == got);
        assert_memory_equal(alone, error, below * sizeof *error);
    }
    matmul_add_outer(team, above, below, z, target, added);
    for (size_t j = 0; j < above * below; j++)
        assert_near((double)added[j], (double)mean[j] + (double)z[j / below] * (double)target[j % below], 2e-7);
    free(alone);
    free(added);
    got = matmul_covariance(team, above, root, z, spread, scratch);
    double *f = calloc(above, sizeof *f);
    for (size_t i = 0; i < above; i++) {
        for (size_t j = i; j < above; j++)
            f[i] += (double)root[i * above + j] * (double)z[j];
        leverage += f[i] * f[i];
    }
    assert_true(fabs(got - leverage) <= 1e-5 * (1 + leverage));
    for (size_t j = 0; j < above; j++) {
        double sum = 0;
        for (size_t i = 0; i <= j; i++)
            sum += f[i] * (double)root[i * above + j];
        assert_true(fabs(sum - (double)spread[j]) <= 1e-5 * (1 + sqrt(leverage * (double)above)));
    }
    void *all[] = {mean, z, target, root, error, residual_grad, spread, scratch, known, f};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        free(all[i]);
}

static void sweeps_equal_loops_in_double(void **state)
{
    static const size_t sizes[] = {1, 3, 4, 5, 16, 63, 65, 130};
    (void)state;
    for (int threads = 1; threads <= 3; threads++) {
        struct team *team = threads_borrow(threads);
        for (size_t a = 0; a < 8; a++)
            for (size_t b = 0; b < 8; b++)
                check_sweep(team, sizes[a], sizes[b], (int)((a + b) % 2));
        threads_return(team);
    }
}

/* ---- G */

/* |e|^2 and e M' of one row, over the known entries, against loops in double over a mean in float32. */
static void check_errors(const struct layer *layer, const unsigned char *mask, const float *x, const float *z,
                         double squares, const float *residual_grad)
{
    const float *mean = layer->mean;
    size_t above = layer->above, below = layer->below;
    double want = 0, *e = room(below, sizeof *e), size = (double)(above * above * below);
    for (size_t j = 0; j < below; j++) {
        e[j] = (double)x[j];
        for (size_t i = 0; i < above; i++)
            e[j] -= (double)z[i] * (double)mean[i * below + j];
        e[j] = mask == NULL || mask[j] ? e[j] : 0;
        want += e[j] * e[j];
    }
    assert_near(squares, want, 1e-15 * size); /* sums in double of terms up to above^2 below */
    for (size_t i = 0; i < above; i++) {
        double sum = 0;
        for (size_t j = 0; j < below; j++)
            sum += e[j] * (double)mean[i * below + j];
        assert_near((double)residual_grad[i], sum, 1e-15 * size + 1e-7 * fabs(sum)); /* rounded to float32 */
    }
    free(e);
}

/* `rows` observations, all aimed at at once, the first by a sweep and all by panels. */
static void check_gram(struct team *team, size_t above, size_t below, size_t rows, const unsigned char *mask)
{
    float *mean = numbers(above * below, 6), *z = numbers(rows * above, 7), *x = numbers(rows * below, 8);
    float *residual_grad = room(rows * above, sizeof *residual_grad);
    const float **row = room(rows, sizeof *row);
    size_t *names = room(rows, sizeof *names);
    double *squares = room(rows, sizeof *squares),
           *space = room(gram_room(above, team) + 2 * rows * above, sizeof *space);
    struct layer layer = {.above = above, .below = below, .mean = mean};
    struct gram *all = gram_create(&layer, NULL, NULL, NULL),
                *gram = gram_create(&layer, mask, below % 2 ? all : NULL, team);
    struct projection projection;
    for (size_t i = 0; i < rows; i++) {
        row[i] = x + i * below;
        names[i] = rows - 1 - i;
    }
    assert_non_null(gram);
    assert_int_equal(projection_create(&projection, gram, &layer, rows, row, team), 0);
    squares[0] = gram_sweep(&projection, team, z, space, residual_grad);
    check_errors(&layer, mask, x, z, squares[0], residual_grad);
    assert_int_equal(gram_pack(gram), 0);
    gram_multiply(&projection, team, rows, names, z, space, squares, residual_grad);
    for (size_t i = 0; i < rows; i++)
        check_errors(&layer, mask, row[names[i]], z + i * above, squares[i], residual_grad + i * above);
    projection_free(&projection);
    gram_free(gram);
    gram_free(all);
    free(mean);
    free(z);
    free(x);
    free(residual_grad);
    free(row);
    free(names);
    free(squares);
    free(space);
}

static void the_gram_matrix_gives_the_errors_of_its_mean(void **state)
{
    static const size_t sizes[] = {1, 3, 4, 5, 16, 17, 63, 130};
    unsigned char some[130];
    (void)state;
    for (size_t j = 0; j < sizeof some; j++)
        some[j] = j % 3 != 0;
    for (int threads = 1; threads <= 3; threads++) {
        struct team *team = threads_borrow(threads);
        for (size_t a = 0; a < 8; a++)
            for (size_t b = 0; b < 8; b++)
                check_gram(team, sizes[a], sizes[b], a + b == 7 ? 20 : 3, (a + b) % 2 ? some : NULL); /* few and many */
        threads_return(team);
    }
}

/* |e|^2 at z by a G that has followed many updates, and by one made anew. */
static void the_gram_matrix_follows_the_updates_of_its_mean(void **state)
{
    enum { DIM = 300, WIDTH = 40, UPDATES = 1000 };
    (void)state;
    bpcn_options o = network(DIM, 1, (size_t[]){WIDTH});
    o.sigma_x = 0.05;
    bpcn_memory *m = make_memory(o);
    struct layer *layer = &m->contents.shard[0]->particles[0].layer[0];
    struct update *update = update_create(m->contents.shard[0], NULL);
    struct gram *followed = gram_create(layer, NULL, NULL, NULL);
    struct projection projection, other;
    float residual_grad[WIDTH], again[WIDTH];
    for (uint32_t i = 0; i < UPDATES; i++) {
        float *x = numbers(DIM, 3 * i + 1), *code = numbers(WIDTH, 3 * i + 2);
        const float *row = x;
        assert_int_equal(projection_create(&projection, followed, layer, 1, &row, NULL), 0);
        update_particle(m->contents.shard[0], &m->contents.shard[0]->particles[0], x, NULL, code, 1, 1,
                        (struct gram_update){followed, &projection}, update);
        projection_free(&projection);
        free(x);
        free(code);
    }
    assert_int_equal(followed->age, UPDATES);
    struct gram *fresh = gram_create(layer, NULL, NULL, NULL);
    float *x = numbers(DIM, 1), *z = numbers(WIDTH, 2);
    const float *row = x;
    assert_int_equal(projection_create(&projection, followed, layer, 1, &row, NULL), 0);
    assert_int_equal(projection_create(&other, fresh, layer, 1, &row, NULL), 0);
    double space[4 * WIDTH];
    double got = gram_sweep(&projection, NULL, z, space, residual_grad),
           want = gram_sweep(&other, NULL, z, space, again);
    /* roundings of the mean to float32, 6e-8 of each entry, that do not add up */
    assert_near(got, want, 1e-6 * want);
    for (size_t i = 0; i < WIDTH; i++)
        assert_near((double)residual_grad[i], (double)again[i], 1e-5 * (1 + fabs((double)again[i])));
    gram_copy(fresh, followed);
    assert_int_equal(fresh->age, UPDATES);
    assert_true(gram_sweep(&other, NULL, z, space, again) == got);
    projection_free(&projection);
    projection_free(&other);
    gram_free(followed);
    gram_free(fresh);
    update_free(update);
    bpcn_memory_free(m);
    free(x);
    free(z);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(panels_multiply_as_plain_loops_do),
        cmocka_unit_test(panels_in_double_multiply_as_plain_loops_do),
        cmocka_unit_test(triangular_panels_skip_only_zeros),
        cmocka_unit_test(a_row_of_a_product_does_not_depend_on_its_neighbours),
        cmocka_unit_test(not_a_number_goes_through_a_product),
        cmocka_unit_test(sweeps_equal_loops_in_double),
        cmocka_unit_test(the_gram_matrix_gives_the_errors_of_its_mean),
        cmocka_unit_test(the_gram_matrix_follows_the_updates_of_its_mean),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
