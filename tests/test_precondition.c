/* The preconditioner of batches, and the dense float32 algebra that it is made with. */
#include "support.h"

#include "core.h"
#include "dense.h"
#include "fragment.h"
#include "linalg.h"
#include "particle.h"
#include "precondition.h"

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
    struct team *team = team_create(3);
    (void)state;
    for (size_t s = 0; s < SIZES; s++) {
        size_t n = sizes[s];
        float *a = definite(n), *alone = definite(n), *together = definite(n);
        assert_int_equal(dense_invert(NULL, n, alone), 0);
        assert_int_equal(dense_invert(team, n, together), 0);
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
    team_free(team);
}

static void a_dense_factor_times_its_transpose_is_the_matrix(void **state)
{
    (void)state;
    for (size_t s = 0; s < SIZES; s++) {
        size_t n = sizes[s];
        float *a = definite(n), *l = definite(n);
        for (size_t i = 0; i < n; i++)
            for (size_t j = i + 1; j < n; j++)
                l[i * n + j] = NAN; /* not looked at */
        assert_int_equal(dense_cholesky(n, l), 0);
        for (size_t i = 0; i < n; i++)
            for (size_t j = 0; j <= i; j++) {
                double sum = 0;
                for (size_t k = 0; k <= j; k++)
                    sum += (double)l[i * n + k] * (double)l[j * n + k];
                assert_near(sum, (double)a[i * n + j], 1e-5);
            }
        free(a);
        free(l);
    }
}

static void a_matrix_that_is_not_definite_has_no_inverse_and_no_factor(void **state)
{
    (void)state;
    for (size_t s = 0; s < SIZES; s++) {
        size_t n = sizes[s];
        for (int spoilt = 0; spoilt < 4; spoilt++) {
            float *a = definite(n);
            a[spoilt % 2 ? 0 : n * n - 1] = spoilt < 2 ? -1 : NAN;
            float *b = room(n * n, sizeof *b);
            memcpy(b, a, n * n * sizeof *b);
            assert_int_equal(dense_invert(NULL, n, a), -1);
            assert_int_equal(dense_cholesky(n, b), -1);
            free(a);
            free(b);
        }
    }
}

/* Against LAPACK in float64, for a row that knows all, some, one and none of the entries. */
static void a_fragment_solves_for_the_entries_known(void **state)
{
    enum { DIM = 150 };
    static const size_t every[] = {1, 2, DIM, 2 * DIM};
    const float ridge = 0.01f;
    (void)state;
    float *products = definite(DIM);
    for (size_t c = 0; c < 4; c++) {
        unsigned char known[DIM];
        size_t entry[DIM], n = 0;
        struct dice dice = {c + 1};
        float row[DIM];
        double *matrix = room(DIM * DIM, sizeof *matrix), want[DIM];
        dice_normals_f32(&dice, DIM, 1, row);
        for (size_t j = 0; j < DIM; j++) {
            known[j] = (j + 1) % every[c] == 0;
            if (known[j])
                entry[n++] = j;
        }
        for (size_t i = 0; i < n; i++) {
            want[i] = (double)row[entry[i]];
            for (size_t j = 0; j < n; j++)
                matrix[i * n + j] = (double)products[entry[i] * DIM + entry[j]] + (i == j ? (double)ridge : 0);
        }
        struct fragment *f = fragment_create(DIM, products, ridge, known);
        assert_non_null(f);
        fragment_solve(f, DIM, row);
        if (n > 0) {
            assert_int_equal(cholesky(n, matrix), 0);
            cholesky_solve(n, 1, matrix, want);
        }
        for (size_t j = 0, at = 0; j < DIM; j++)
            assert_near((double)row[j], known[j] ? want[at++] : 0, 1e-4);
        free(f);
        free(matrix);
    }
    products[0] = -1;
    assert_null(fragment_create(1, products, 0, (const unsigned char *)"\1"));
    free(products);
}

/* ---- the preconditioner of a small network */

enum { DIM = 40, WIDTH = 12, CODE = 3 * WIDTH };

struct scene {
    bpcn_memory *memory;
    struct weights *weights;
    struct preconditioner *preconditioner;
    float matrix[CODE * CODE]; /* the preconditioner, by what it does to the unit vectors */
};

static struct scene *scene_create(struct knowledge knowledge)
{
    struct scene *s = room(1, sizeof *s);
    static const size_t widths[] = {WIDTH, WIDTH, WIDTH};
    struct dice dice = {11};
    float x[6 * DIM];
    dice_normals_f32(&dice, 6 * DIM, 0.5, x);
    bpcn_options o = network(DIM, 3, widths);
    o.precision = BPCN_FLOAT32;
    s->memory = make_memory(o);
    assert_ok(bpcn_memory_write(s->memory, x, 6, NULL));
    const struct model *model = s->memory->model;
    s->weights = weights_create(model, &model->particles[0], NULL);
    s->preconditioner = preconditioner_create(model, &model->particles[0], s->weights, knowledge, &the_density, NULL);
    assert_non_null(s->preconditioner);
    return s;
}

static void scene_free(struct scene *s)
{
    preconditioner_free(s->preconditioner);
    weights_free(s->weights);
    bpcn_memory_free(s->memory);
    free(s);
}

/* Fills s->matrix, with `known` by each row's own block. */
static void apply_to_unit_vectors(struct scene *s, double extra, const unsigned char *known)
{
    int level = preconditioner_level(s->preconditioner, extra);
    assert_true(level >= 0);
    assert_int_equal(preconditioner_level(s->preconditioner, extra), level);
    float slopes[CODE * CODE], scratch[CODE * CODE], space[CODE * DIM];
    struct fragment *fragments[CODE];
    memset(s->matrix, 0, sizeof s->matrix);
    for (size_t i = 0; i < CODE; i++) {
        s->matrix[i * CODE + i] = 1;
        for (size_t j = 0; j < CODE; j++)
            slopes[i * CODE + j] = 0.3f + 0.01f * (float)j;
        fragments[i] = known ? preconditioner_fragment(s->preconditioner, known) : NULL;
        assert_true(known == NULL || fragments[i] != NULL);
    }
    preconditioner_apply(s->preconditioner, level, CODE, slopes, known ? fragments : NULL, s->matrix, scratch, space);
    for (size_t i = 0; i < CODE; i++)
        free(fragments[i]);
}

static void check_symmetric_and_positive(const float *matrix)
{
    for (size_t i = 0; i < CODE; i++) {
        assert_true(matrix[i * CODE + i] > 0);
        for (size_t j = 0; j < i; j++) {
            double size = sqrt((double)matrix[i * CODE + i] * (double)matrix[j * CODE + j]);
            assert_true(fabs((double)(matrix[i * CODE + j] - matrix[j * CODE + i])) <= 1e-3 * size);
            assert_true(fabs((double)matrix[i * CODE + j]) <= size * 1.0001);
        }
    }
}

/* The inverse of a positive definite matrix is symmetric, and downhill for every vector. */
static void the_preconditioner_is_symmetric_and_positive(void **state)
{
    (void)state;
    struct scene *s = scene_create((struct knowledge){.share = 0.75});
    apply_to_unit_vectors(s, 0.03, NULL);
    check_symmetric_and_positive(s->matrix);
    assert_false(preconditioner_apart(s->preconditioner, 0));
    scene_free(s);
    s = scene_create((struct knowledge){.share = 0.2, .apart = 1});
    unsigned char known[DIM];
    for (size_t j = 0; j < DIM; j++)
        known[j] = j % 5 == 2;
    assert_true(preconditioner_apart(s->preconditioner, 0));
    assert_false(preconditioner_apart(s->preconditioner, 0.03));
    apply_to_unit_vectors(s, 0, known);
    check_symmetric_and_positive(s->matrix);
    scene_free(s);
}

/* All entries known, both ways make the same matrix. */
static void a_row_that_knows_everything_has_the_block_that_all_share(void **state)
{
    (void)state;
    unsigned char known[DIM];
    memset(known, 1, sizeof known);
    struct scene *shared = scene_create((struct knowledge){.share = 1});
    struct scene *apart = scene_create((struct knowledge){.share = 1, .apart = 1});
    apply_to_unit_vectors(shared, 0, NULL);
    apply_to_unit_vectors(apart, 0, known);
    for (size_t i = 0; i < CODE; i++)
        for (size_t j = 0; j < CODE; j++) {
            double size = sqrt((double)shared->matrix[i * CODE + i]) * sqrt((double)shared->matrix[j * CODE + j]);
            assert_near((double)apart->matrix[i * CODE + j], (double)shared->matrix[i * CODE + j], 2e-3 * size);
        }
    scene_free(shared);
    scene_free(apart);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_dense_inverse_times_its_matrix_is_the_identity),
        cmocka_unit_test(a_dense_factor_times_its_transpose_is_the_matrix),
        cmocka_unit_test(a_matrix_that_is_not_definite_has_no_inverse_and_no_factor),
        cmocka_unit_test(a_fragment_solves_for_the_entries_known),
        cmocka_unit_test(the_preconditioner_is_symmetric_and_positive),
        cmocka_unit_test(a_row_that_knows_everything_has_the_block_that_all_share),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
