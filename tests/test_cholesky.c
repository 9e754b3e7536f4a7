/* Cholesky factors, inverses and diffused roots against plain sums in long double, at widths on both sides of every
   block. */
#include "support.h"

#include "cholesky.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static const size_t widths[] = {1, 2, 7, 31, 32, 33, 64, 65, 127, 128, 129, 200, 257};
enum { WIDTHS = sizeof widths / sizeof *widths };

/* B B' / n + ridge I for random B: its condition is about 4 / ridge. */
static double *positive_definite(size_t n, double ridge, struct dice *dice)
{
    double *b = room(n * n, sizeof *b), *a = room(n * n, sizeof *a);
    for (size_t j = 0; j < n * n; j++)
        b[j] = dice_normal(dice);
    for (size_t i = 0; i < n; i++)
        for (size_t j = 0; j < n; j++) {
            for (size_t k = 0; k < n; k++)
                a[i * n + j] += b[i * n + k] * b[j * n + k] / (double)n;
            a[i * n + j] += i == j ? ridge : 0;
        }
    free(b);
    return a;
}

/* (R'R)_ij of an upper triangle */
static long double square_at(size_t n, const double *r, size_t i, size_t j)
{
    long double sum = 0;
    for (size_t k = 0; k <= i && k <= j; k++)
        sum += (long double)r[k * n + i] * (long double)r[k * n + j];
    return sum;
}

/* |R'R - A|_ij <= (n + 1) u |R_i| |R_j| in whatever order the sums are taken (Higham, Accuracy and Stability, theorem
   10.3), with |R_i|^2 = A_ii and u = DBL_EPSILON / 2. Twice that is allowed. */
static void a_factor_gives_its_matrix_back(void **state)
{
    struct dice dice = {1};
    (void)state;
    for (size_t w = 0; w < WIDTHS; w++)
        for (double ridge = 1; ridge > 1e-9; ridge /= 1e4) {
            size_t n = widths[w];
            double *a = positive_definite(n, ridge, &dice), *r = room(n * n, sizeof *r);
            memcpy(r, a, n * n * sizeof *r);
            assert_int_equal(cholesky_factor(n, r), 0);
            for (size_t i = 0; i < n; i++)
                for (size_t j = 0; j < n; j++) {
                    double most = (double)(n + 1) * DBL_EPSILON * sqrt(a[i * n + i] * a[j * n + j]);
                    assert_near((double)(square_at(n, r, i, j) - (long double)a[i * n + j]), 0, most);
                    assert_true(i <= j || r[i * n + j] == 0);
                }
            free(a);
            free(r);
        }
}

static void what_is_not_positive_definite_has_no_factor(void **state)
{
    const double wrong[] = {-1, 0, NAN, INFINITY};
    const size_t places[] = {0, 31, 32, 63, 128, 199};
    struct dice dice = {2};
    (void)state;
    enum { N = 200 };
    double *a = positive_definite(N, 1, &dice), *r = room(N * N, sizeof *r);
    for (size_t p = 0; p < sizeof places / sizeof *places; p++)
        for (size_t w = 0; w < 4; w++) {
            memcpy(r, a, N * N * sizeof *r);
            r[places[p] * (N + 1)] = wrong[w];
            assert_int_equal(cholesky_factor(N, r), -1);
        }
    free(a);
    free(r);
}

/* The inverse X of A by Gauss and Jordan in long double, and |A| |X| in the greatest row sum. */
static double invert_plainly(size_t n, const double *a, long double *x)
{
    long double *m = room(n * n, sizeof *m), of_a = 0, of_x = 0;
    for (size_t j = 0; j < n * n; j++) {
        m[j] = (long double)a[j];
        x[j] = j % (n + 1) == 0;
    }
    for (size_t k = 0; k < n; k++) {
        long double pivot = m[k * n + k];
        for (size_t j = 0; j < n; j++) {
            m[k * n + j] /= pivot;
            x[k * n + j] /= pivot;
        }
        for (size_t i = 0; i < n; i++) {
            long double factor = m[i * n + k];
            for (size_t j = 0; i != k && j < n; j++) {
                m[i * n + j] -= factor * m[k * n + j];
                x[i * n + j] -= factor * x[k * n + j];
            }
        }
    }
    for (size_t i = 0; i < n; i++) {
        long double row_a = 0, row_x = 0;
        for (size_t j = 0; j < n; j++) {
            row_a += fabsl((long double)a[i * n + j]);
            row_x += fabsl(x[i * n + j]);
        }
        of_a = row_a > of_a ? row_a : of_a;
        of_x = row_x > of_x ? row_x : of_x;
    }
    free(m);
    return (double)(of_a * of_x);
}

/* An inverse loses as many digits as the condition has, times the length of its sums; of the greatest entry. */
static void an_inverse_is_that_of_its_matrix(void **state)
{
    struct dice dice = {3};
    (void)state;
    for (size_t w = 0; w < WIDTHS; w++)
        for (double ridge = 1; ridge > 1e-5; ridge /= 1e2) {
            size_t n = widths[w];
            double *a = positive_definite(n, ridge, &dice), *r = room(n * n, sizeof *r), greatest = 0;
            long double *x = room(n * n, sizeof *x);
            double condition = invert_plainly(n, a, x);
            memcpy(r, a, n * n * sizeof *r);
            assert_int_equal(cholesky_factor(n, r), 0);
            assert_int_equal(cholesky_inverse(n, r), 0);
            for (size_t j = 0; j < n * n; j++)
                greatest = fmax(greatest, (double)fabsl(x[j]));
            for (size_t i = 0; i < n; i++)
                for (size_t j = 0; j < n; j++) {
                    assert_near((double)((long double)r[i * n + j] - x[i * n + j]), 0,
                                (double)n * DBL_EPSILON * condition * greatest);
                    assert_true(r[i * n + j] == r[j * n + i]);
                }
            free(a);
            free(r);
            free(x);
        }
}

/* Householder's QR is that of a matrix whose columns differ by c n u of their lengths (Higham, theorem 19.4, c a small
   number: 2 here); S'S then differs by twice that of the lengths of both columns, which are sqrt(C_ii). */
static void a_diffused_root_is_that_of_the_sum(void **state)
{
    const double keep[] = {0.9, 0.5, 1}, add[] = {0.3, 1e-6, 0};
    struct dice dice = {4};
    (void)state;
    for (size_t w = 0; w < WIDTHS; w++)
        for (size_t k = 0; k < 3; k++) {
            size_t n = widths[w];
            double *r = positive_definite(n, 1e-2, &dice), *s = room(n * n, sizeof *s);
            double *work = room(cholesky_diffuse_full_work(n), sizeof *work);
            assert_int_equal(cholesky_factor(n, r), 0);
            memcpy(s, r, n * n * sizeof *s);
            cholesky_diffuse_full(n, keep[k], add[k], s, work);
            for (size_t i = 0; i < n; i++)
                for (size_t j = i; j < n; j++) {
                    long double kept = (long double)keep[k] * (long double)keep[k];
                    long double added = (long double)add[k] * (long double)add[k];
                    long double sum = kept * square_at(n, r, i, j) + (i == j ? added : 0);
                    double ii = (double)(kept * square_at(n, r, i, i) + added);
                    double jj = (double)(kept * square_at(n, r, j, j) + added);
                    assert_near((double)(square_at(n, s, i, j) - sum), 0,
                                2 * (double)(n + 1) * DBL_EPSILON * sqrt(ii * jj));
                }
            free(r);
            free(s);
            free(work);
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_factor_gives_its_matrix_back),
        cmocka_unit_test(what_is_not_positive_definite_has_no_factor),
        cmocka_unit_test(an_inverse_is_that_of_its_matrix),
        cmocka_unit_test(a_diffused_root_is_that_of_the_sum),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
