/* The preconditioner of batches, and the dense float32 algebra that it is made with. */
#include "support.h"

#include "shard.h"
#include "matmul.h"
#include "preconditioner.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Sizes below, at and above those at which the algorithms cut a matrix. */
static const size_t sizes[] = {1, 2, 63, 64, 65, 130, 257};
enum { SIZES = sizeof sizes / sizeof *sizes };

/* rows rows' / n + 0.1 I, whose eigenvalues lie between 0.1 and some */
static float *definite(size_t n)
{
    struct dice dice = {n};
    float *rows = room(n * n, sizeof *rows), *a = room(n * n, sizeof *a);
    dice_normals_f32(&dice, n * n, 0.5, rows);
    for (size_t i = 0; i < n; i++)
        for (size_t j = 0; j < n; j++) {
            double sum = i == j ? 0.1 : 0;
            for (size_t k = 0; k < n; k++)
                sum += (double)rows[i * n + k] * (double)rows[j * n + k] / (double)n;
            a[i * n + j] = (float)sum;
        }
    free(rows);
    return a;
}

static void a_dense_inverse_times_its_matrix_is_the_identity(void **state)
{
    struct team *team = threads_borrow(3);
    (void)state;
    for (size_t s = 0; s < SIZES; s++) {
        size_t n = sizes[s];
        float *a = definite(n), *alone = definite(n), *together = definite(n);
        assert_int_equal(matmul_invert(NULL, n, alone), 0);
        assert_int_equal(matmul_invert(team, n, together), 0);
        assert_memory_equal(alone, together, n * n * sizeof *a);
        for (size_t i = 0; i < n; i++)
            for (size_t j = 0; j < n; j++) {
                double sum = 0;
                for (size_t k = 0; k < n; k++)
                    sum += (double)a[i * n + k] * (double)alone[k * n + j];
                assert_near(sum, i == j, 1e-4);
            }
        free(a);
        free(alone);
        free(together);
    }
    threads_return(team);
}

static void a_matrix_that_is_not_definite_has_no_inverse(void **state)
{
    (void)state;
    for (size_t s = 0; s < SIZES; s++) {
        size_t n = sizes[s];
        for (int spoilt = 0; spoilt < 4; spoilt++) {
            float *a = definite(n);
            a[spoilt % 2 ? 0 : n * n - 1] = spoilt < 2 ? -1 : NAN;
            assert_int_equal(matmul_invert(NULL, n, a), -1);
            free(a);
        }
    }
}

/* ---- the preconditioner of a small network */

enum { DIM = 40, WIDTH = 12, LAYERS = 3, CODE = LAYERS * WIDTH };

struct scene {
    bpcn_memory *memory;
    double g[WIDTH * WIDTH]; /* M M' of the lowest layer over the entries known */
    struct elimination *elimination;
    struct preconditioner *preconditioner;
    double matrix[CODE * CODE]; /* the preconditioner, by what it does to the unit vectors */
};

/* Everything but the preconditioner, of rows that know every `every`-th entry. */
static struct scene *scene_create(struct weighing weighing, size_t every)
{
    struct scene *s = room(1, sizeof *s);
    static const size_t widths[] = {WIDTH, WIDTH, WIDTH};
    struct dice dice = {11};
    float x[6 * DIM];
    dice_normals_f32(&dice, 6 * DIM, 0.5, x);
    bpcn_options o = network(DIM, LAYERS, widths);
    o.precision = BPCN_FLOAT32;
    s->memory = make_memory(o);
    assert_ok(bpcn_memory_write(s->memory, x, NULL, 6, NULL));
    const struct model *model = s->memory->contents.shard[0];
    const float *mean = model->particles[0].layer[0].mean;
    for (size_t i = 0; i < WIDTH; i++)
        for (size_t j = 0; j < WIDTH; j++)
            for (size_t k = 0; k < DIM; k += every)
                s->g[i * WIDTH + j] += (double)mean[i * DIM + k] * (double)mean[j * DIM + k];
    s->elimination = elimination_create(model, &model->particles[0], weighing, NULL);
    assert_non_null(s->elimination);
    return s;
}

static void scene_free(struct scene *s)
{
    preconditioner_free(s->preconditioner);
    elimination_free(s->elimination);
    bpcn_memory_free(s->memory);
    free(s);
}

/* Fills s->matrix; all slopes of the activation are `slope`. */
static void apply_to_unit_vectors(struct scene *s, struct team *team, double extra, float slope)
{
    int level = preconditioner_level(s->preconditioner, team, extra);
    assert_true(level >= 0);
    assert_int_equal(preconditioner_level(s->preconditioner, team, extra), level);
    static float slopes[CODE * CODE], room_for_two[CODE * 2 * WIDTH], vectors[CODE * CODE];
    for (size_t j = 0; j < CODE * CODE; j++) {
        slopes[j] = slope;
        vectors[j] = j % (CODE + 1) == 0;
    }
    preconditioner_apply(s->preconditioner, team, level, CODE, slopes, vectors, room_for_two);
    for (size_t j = 0; j < CODE * CODE; j++)
        s->matrix[j] = (double)vectors[j];
}

/* h [CODE x CODE]: the Gauss-Newton matrix of precondition.c, entry by entry in double. share: of the entries. */
static void gauss_newton(const struct scene *s, struct weighing w, double of_g, double share, double extra, double *h)
{
    const struct model *m = s->memory->contents.shard[0];
    const struct particle *p = &m->particles[0];
    const double a = 0.5; /* of GELU at zero */
    double noise = noise_variance(m, 1) / w.upper;
    double variance[LAYERS + 1] = {2 * w.sensory * noise_variance(m, 0) + extra, 1.5 * noise, noise,
                                   noise + p->top_variance / w.upper};
    memset(h, 0, CODE * CODE * sizeof *h);
    for (size_t l = 0; l < LAYERS; l++) {
        static double mean[WIDTH * DIM], u[WIDTH * WIDTH];
        size_t below = m->width[l];
        assert_ok(bpcn_memory_get_layer(s->memory, 0, 0, l, mean, u));
        for (size_t i = 0; i < WIDTH; i++)
            for (size_t j = 0; j < WIDTH; j++) {
                double g = l == 0 ? of_g * s->g[i * WIDTH + j] : 0, of_u = (double)below;
                for (size_t k = 0; l > 0 && k < below; k++)
                    g += mean[i * below + k] * mean[j * below + k];
                if (l == 0)
                    of_u *= share * w.sensory;
                h[(l * WIDTH + i) * CODE + l * WIDTH + j] += a * a * (g + of_u * u[i * WIDTH + j]) / variance[l];
                if (i == j)
                    h[(l * WIDTH + i) * CODE + l * WIDTH + j] += 1 / variance[l + 1];
                if (l > 0) { /* unit i of layer l + 1 predicts unit j of layer l */
                    size_t up = l * WIDTH + i, down = (l - 1) * WIDTH + j;
                    h[up * CODE + down] = h[down * CODE + up] = -a * mean[i * below + j] / variance[l];
                }
            }
    }
}

static void check_inverse(const struct scene *s, const double *h)
{
    for (size_t i = 0; i < CODE; i++)
        for (size_t j = 0; j < CODE; j++) {
            double sum = 0, size = 0;
            for (size_t k = 0; k < CODE; k++) {
                sum += s->matrix[i * CODE + k] * h[k * CODE + j];
                size += fabs(s->matrix[i * CODE + k] * h[k * CODE + j]);
            }
            assert_near(sum, i == j, 1e-4 * (1 + size)); /* float32, and blocks of condition 100 and more */
        }
}

static void the_preconditioner_inverts_the_gauss_newton_matrix(void **state)
{
    static const struct weighing weighings[] = {{1, 1}, {0.1, 0.3}};
    static double h[CODE * CODE];
    (void)state;
    for (size_t c = 0; c < 8; c++) {
        struct weighing w = weighings[c % 2];
        size_t every = c / 2 % 2 ? 4 : 1;
        double share = 1 / (double)every, extra = c / 4 ? 0.0512 * w.sensory : 0; /* a level: nominal times 4^4 */
        struct scene *s = scene_create(w, every);
        s->preconditioner = preconditioner_create(s->elimination, (struct knowledge){s->g, 1, share});
        assert_non_null(s->preconditioner);
        apply_to_unit_vectors(s, NULL, extra, 0.5f);
        gauss_newton(s, w, 1, share, extra, h);
        check_inverse(s, h);
        scene_free(s);
    }
}

static void rows_that_know_different_entries_share_the_average_of_what_they_know(void **state)
{
    static double h[CODE * CODE];
    (void)state;
    struct scene *s = scene_create(weighing_density, 1);
    s->preconditioner = preconditioner_create(s->elimination, (struct knowledge){s->g, 0.25, 0.25});
    apply_to_unit_vectors(s, NULL, 0, 0.5f);
    gauss_newton(s, weighing_density, 0.25, 0.25, 0, h);
    check_inverse(s, h);
    scene_free(s);
}

/* And a flat unit does not run away. */
static void a_slope_scales_the_inverse_by_its_square(void **state)
{
    (void)state;
    struct scene *s = scene_create(weighing_density, 1);
    s->preconditioner = preconditioner_create(s->elimination, (struct knowledge){s->g, 1, 1});
    static double base[CODE * CODE];
    apply_to_unit_vectors(s, NULL, 0, 0.5f);
    memcpy(base, s->matrix, sizeof base);
    for (int c = 0; c < 3; c++) {
        const float slope[] = {1.0f, -0.25f, 0};
        const double times[] = {0.25, 4, 25}; /* the least slope is 0.1 */
        apply_to_unit_vectors(s, NULL, 0, slope[c]);
        for (size_t j = 0; j < CODE * CODE; j++)
            assert_near(s->matrix[j], times[c] * base[j], 1e-5 * times[c] * fabs(base[j]) + 1e-9);
    }
    scene_free(s);
}

static void the_preconditioner_does_not_depend_on_the_team(void **state)
{
    (void)state;
    struct team *team = threads_borrow(3);
    struct scene *s = scene_create(weighing_density, 1);
    static double alone[CODE * CODE];
    s->preconditioner = preconditioner_create(s->elimination, (struct knowledge){s->g, 1, 1});
    apply_to_unit_vectors(s, NULL, 0, 0.5f);
    memcpy(alone, s->matrix, sizeof alone);
    apply_to_unit_vectors(s, team, 0, 0.5f);
    assert_memory_equal(alone, s->matrix, sizeof alone);
    scene_free(s);
    threads_return(team);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_dense_inverse_times_its_matrix_is_the_identity),
        cmocka_unit_test(a_matrix_that_is_not_definite_has_no_inverse),
        cmocka_unit_test(the_preconditioner_inverts_the_gauss_newton_matrix),
        cmocka_unit_test(rows_that_know_different_entries_share_the_average_of_what_they_know),
        cmocka_unit_test(a_slope_scales_the_inverse_by_its_square),
        cmocka_unit_test(the_preconditioner_does_not_depend_on_the_team),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
