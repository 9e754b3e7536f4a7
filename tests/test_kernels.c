/* The fast kernels against their plain twins, in float32: panels, sweeps; and the team that runs them. */
#include "support.h"

#include "core.h"
#include "gemm.h"
#include "gram.h"
#include "handle.h"
#include "particle.h"
#include "sweep.h"
#include "team.h"
#include "update.h"

#include <math.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

static float *numbers(size_t n, uint32_t seed)
{
    float *x = aligned_alloc(64, (n * sizeof *x / 64 + 1) * 64);
    for (size_t i = 0; i < n; i++) {
        seed = seed * 1664525u + 1013904223u;
        x[i] = (float)(seed >> 8) / 8388608.0f - 1;
    }
    return x;
}

/* Sums of k products of numbers below 1: float32 rounds each by 6e-8 of the partial sum. */
static double allowed(size_t k)
{
    return 1e-7 * sqrt((double)k) * sqrt((double)k);
}

static void check_panels(size_t n, size_t rows, size_t columns, int transposed, enum panel_shape shape)
{
    float *m = numbers(rows * columns, 1), *a = numbers(n * rows, 2);
    float *data = numbers(panels_entries(rows, columns), 3), *fast = numbers(n * columns, 4),
          *plain = numbers(n * columns, 5);
    struct panels p = panels_fill(rows, columns, m, transposed, shape, data);
    panels_multiply(&p, n, a, fast);
    panels_multiply_plain(&p, n, a, plain);
    for (size_t j = 0; j < n * columns; j++)
        if (!(fabs((double)fast[j] - (double)plain[j]) <= allowed(rows)))
            fail_msg("%zux%zux%zu: entry %zu is %g, plainly %g", n, rows, columns, j, (double)fast[j],
                     (double)plain[j]);
    free(m);
    free(a);
    free(data);
    free(fast);
    free(plain);
}

static double *doubles(size_t n, uint64_t seed)
{
    struct dice dice = {seed};
    double *x = room(n, sizeof *x);
    dice_normals(&dice, n, 1, x);
    return x;
}

static void check_panels_f64(size_t n, size_t rows, size_t columns, int transposed, enum panel_shape shape)
{
    double *m = doubles(rows * columns, 1), *a = doubles(n * rows, 2), *fast = doubles(n * columns, 3),
           *plain = doubles(n * columns, 4), *data = doubles(panels_entries_f64(rows, columns), 5);
    struct panels_f64 p = panels_fill_f64(rows, columns, m, transposed, shape, data);
    panels_multiply_f64(&p, n, a, fast);
    panels_multiply_plain_f64(&p, n, a, plain);
    assert_near(greatest_difference(n * columns, fast, plain), 0,
                1e-15 * (double)rows * greatest_size(n * columns, plain));
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
    float *m = numbers(ROWS * COLUMNS, 1), *a = numbers(N * ROWS, 2), *data = numbers(panels_entries(ROWS, COLUMNS), 3);
    float *all = numbers(N * COLUMNS, 4), *one = numbers(COLUMNS, 5);
    struct panels p = panels_fill(ROWS, COLUMNS, m, 0, PANEL_FULL, data);
    panels_multiply(&p, N, a, all);
    for (size_t i = 0; i < N; i++) {
        panels_multiply(&p, 1, a + i * ROWS, one);
        assert_memory_equal(one, all + i * COLUMNS, COLUMNS * sizeof *one);
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
    float *m = numbers(40 * 20, 1), *a = numbers(40, 2), *data = numbers(panels_entries(40, 20), 3), out[20];
    struct panels p = panels_fill(40, 20, m, 0, PANEL_FULL, data);
    a[13] = NAN;
    panels_multiply(&p, 1, a, out);
    for (size_t j = 0; j < 20; j++)
        assert_true(isnan(out[j]));
    free(m);
    free(a);
    free(data);
}

/* Sweeps by teams of one to three against loops in double. */
static void check_sweep(struct team *team, size_t above, size_t below, int masked)
{
    float *mean = numbers(above * below, 6), *z = numbers(above, 7), *target = numbers(below, 8);
    float *root = numbers(above * above, 9), *error = numbers(below, 1), *pull = numbers(above, 2),
          *spread = numbers(above, 3);
    float *scratch = numbers(sweep_scratch(above, team_size(team)), 4);
    unsigned char *known = malloc(below);
    double squares = 0, leverage = 0;
    for (size_t j = 0; j < below; j++)
        known[j] = j % 3 != 0;
    double got = sweep_mean(team, above, below, mean, z, target, masked ? known : NULL, error, pull);
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
        assert_true(fabs(sum - (double)pull[i]) <= 1e-5 * (1 + sqrt(squares * (double)below)));
    }
    float *alone = numbers(below, 5), *added = numbers(above * below, 6);
    if (!masked) {
        assert_true(sweep_mean(team, above, below, mean, z, target, NULL, alone, NULL) == got);
        assert_memory_equal(alone, error, below * sizeof *error);
    }
    sweep_add(team, above, below, z, target, added);
    for (size_t j = 0; j < above * below; j++)
        assert_near((double)added[j], (double)mean[j] + (double)z[j / below] * (double)target[j % below], 2e-7);
    free(alone);
    free(added);
    got = sweep_root(team, above, root, z, spread, scratch);
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
    void *all[] = {mean, z, target, root, error, pull, spread, scratch, known, f};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        free(all[i]);
}

static void sweeps_equal_loops_in_double(void **state)
{
    static const size_t sizes[] = {1, 3, 4, 5, 16, 63, 65, 130};
    (void)state;
    for (int threads = 1; threads <= 3; threads++) {
        struct team *team = team_create(threads);
        for (size_t a = 0; a < 8; a++)
            for (size_t b = 0; b < 8; b++)
                check_sweep(team, sizes[a], sizes[b], (int)((a + b) % 2));
        team_free(team);
    }
}

/* What G says of the errors at z and of the mean's rows against loops in double over a mean in float32. */
static void check_gram(struct gram *gram, size_t above, size_t below, const float *mean, const float *z, const float *x)
{
    float *pull = numbers(above, 2);
    double *e = room(below, sizeof *e), squares = 0;
    struct layer layer = {.above = above, .below = below, .mean = (float *)(uintptr_t)mean};
    gram_aim(gram, &layer, x);
    double got = gram_sweep(gram, z, pull);
    for (size_t j = 0; j < below; j++) {
        e[j] = (double)x[j];
        for (size_t i = 0; i < above; i++)
            e[j] -= (double)z[i] * (double)mean[i * below + j];
        squares += e[j] * e[j];
    }
    /* sums in double of terms up to above^2 below */
    double size = (double)(above * above * below);
    assert_near(got, squares, 1e-15 * size);
    for (size_t i = 0; i < above; i++) {
        double want = 0, square = 0;
        for (size_t j = 0; j < below; j++) {
            want += e[j] * (double)mean[i * below + j];
            square += pow((double)mean[i * below + j], 2);
        }
        assert_near((double)pull[i], want, 1e-15 * size + 1e-7 * fabs(want)); /* rounded to float32 */
        assert_near(gram_square(gram, i), square, 1e-15 * size);
    }
    free(pull);
    free(e);
}

static void the_gram_matrix_gives_the_errors_of_its_mean(void **state)
{
    static const size_t sizes[] = {1, 3, 4, 5, 16, 17, 63, 130};
    (void)state;
    for (int threads = 1; threads <= 3; threads++) {
        struct team *team = team_create(threads);
        for (size_t a = 0; a < 8; a++)
            for (size_t b = 0; b < 8; b++) {
                size_t above = sizes[a], below = sizes[b];
                float *mean = numbers(above * below, 6), *z = numbers(above, 7), *x = numbers(below, 8);
                struct layer layer = {.above = above, .below = below, .mean = mean};
                struct gram *gram = gram_create(above, below, team);
                gram_fill(gram, &layer);
                check_gram(gram, above, below, mean, z, x);
                gram_free(gram);
                free(mean);
                free(z);
                free(x);
            }
        team_free(team);
    }
}

/* |e|^2 and e R' of one row of a batch, over the known entries, against loops in double. */
static void check_inner_row(const struct layer *layer, const unsigned char *mask, const float *x, const float *z,
                            double squares, const float *pull)
{
    const float *mean = layer->mean;
    double want = 0, *e = room(layer->below, sizeof *e);
    for (size_t j = 0; j < layer->below; j++) {
        e[j] = (double)x[j];
        for (size_t i = 0; i < layer->above; i++)
            e[j] -= (double)z[i] * (double)mean[i * layer->below + j];
        e[j] = mask == NULL || mask[j] ? e[j] : 0;
        want += e[j] * e[j];
    }
    assert_near(squares, want, 1e-11 * (1 + want));
    for (size_t i = 0; i < layer->above; i++) {
        double sum = 0;
        for (size_t j = 0; j < layer->below; j++)
            sum += e[j] * (double)mean[i * layer->below + j];
        assert_near((double)pull[i], sum, 1e-12 + 1e-7 * fabs(sum)); /* rounded to float32 */
    }
    free(e);
}

static void inner_products_give_the_errors_of_a_batch(void **state)
{
    enum { ABOVE = 17, BELOW = 150, ROWS = 7, LANES = 2 };
    (void)state;
    float *mean = numbers(ABOVE * BELOW, 6), *z = numbers(ROWS * ABOVE, 7), *x = numbers(ROWS * BELOW, 8);
    struct layer layer = {.above = ABOVE, .below = BELOW, .mean = mean};
    struct team *team = team_create(LANES);
    unsigned char half[BELOW];
    const float *rows[ROWS];
    for (size_t j = 0; j < BELOW; j++)
        half[j] = j % 3 != 0;
    for (size_t i = 0; i < ROWS; i++)
        rows[i] = x + i * BELOW;
    for (int masked = 0; masked <= 1; masked++) {
        const unsigned char *mask = masked ? half : NULL;
        static const size_t named[] = {5, 0, 6};
        struct inner *inner = inner_create(&layer, mask, ROWS, team, 3);
        float pull[3 * ABOVE];
        double squares[3];
        inner_aim(inner, rows);
        inner_multiply(inner, LANES - 1, 3, named, z, squares, pull);
        for (size_t i = 0; i < 3; i++)
            check_inner_row(&layer, mask, rows[named[i]], z + i * ABOVE, squares[i], pull + i * ABOVE);
        inner_free(inner);
    }
    team_free(team);
    free(mean);
    free(z);
    free(x);
}

/* |e|^2 at z by a G that has followed many updates, and by one made anew. */
static void the_gram_matrix_follows_the_updates_of_its_mean(void **state)
{
    enum { DIM = 300, WIDTH = 40, UPDATES = 1000 };
    (void)state;
    bpcn_options o = network(DIM, 1, (size_t[]){WIDTH});
    o.sigma_x = 0.05;
    bpcn_memory *m = make_memory(o);
    struct layer *layer = &m->contents.model->particles[0].layer[0];
    struct update *update = update_create(m->contents.model);
    struct gram *followed = gram_create(WIDTH, DIM, NULL), *fresh = gram_create(WIDTH, DIM, NULL);
    float pull[WIDTH], again[WIDTH];
    gram_fill(followed, layer);
    update->gram = followed;
    for (uint32_t i = 0; i < UPDATES; i++) {
        float *x = numbers(DIM, 3 * i + 1), *code = numbers(WIDTH, 3 * i + 2);
        gram_aim(followed, layer, x);
        particle_update(m->contents.model, &m->contents.model->particles[0], x, code, 1, update);
        free(x);
        free(code);
    }
    assert_int_equal(gram_age(followed), UPDATES);
    gram_fill(fresh, layer);
    float *x = numbers(DIM, 1), *z = numbers(WIDTH, 2);
    gram_aim(followed, layer, x);
    gram_aim(fresh, layer, x);
    double got = gram_sweep(followed, z, pull), want = gram_sweep(fresh, z, again);
    /* roundings of the mean to float32, 6e-8 of each entry, that do not add up */
    assert_near(got, want, 1e-6 * want);
    for (size_t i = 0; i < WIDTH; i++)
        assert_near((double)pull[i], (double)again[i], 1e-5 * (1 + fabs((double)again[i])));
    gram_copy(fresh, followed);
    assert_int_equal(gram_age(fresh), UPDATES);
    assert_true(gram_sweep(fresh, z, again) == got);
    gram_free(followed);
    gram_free(fresh);
    update_free(update);
    bpcn_memory_free(m);
    free(x);
    free(z);
}

struct tally {
    atomic_int seen[8];
};

static void count_part(void *context, size_t part, size_t parts)
{
    struct tally *tally = context;
    (void)parts;
    atomic_fetch_add(&tally->seen[part], 1);
}

static void a_team_does_every_part_once_and_waits_for_all(void **state)
{
    (void)state;
    for (int threads = 1; threads <= 8; threads++) {
        struct team *team = team_create(threads);
        struct tally tally = {0};
        for (int round = 1; round <= 500; round++) {
            team_run(team, count_part, &tally);
            for (size_t part = 0; part < team_size(team); part++)
                assert_int_equal(atomic_load(&tally.seen[part]), round);
        }
        team_free(team);
    }
}

static void shares_cover_everything_once(void **state)
{
    (void)state;
    for (size_t n = 0; n < 70; n++)
        for (size_t grain = 1; grain < 20; grain += 6)
            for (size_t parts = 1; parts < 6; parts++) {
                size_t reached = 0;
                for (size_t part = 0; part < parts; part++) {
                    size_t first, last;
                    team_share(n, grain, part, parts, &first, &last);
                    assert_int_equal(first, reached);
                    assert_true(last >= first && (last == n || last % grain == 0));
                    reached = last;
                }
                assert_int_equal(reached, n);
            }
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
        cmocka_unit_test(inner_products_give_the_errors_of_a_batch),
        cmocka_unit_test(a_team_does_every_part_once_and_waits_for_all),
        cmocka_unit_test(shares_cover_everything_once),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
