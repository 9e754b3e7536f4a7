/*
 * Cholesky factors: see cholesky.h. The conjugate update of a factor is Carlson's triangular form; diffusion is an LQ
 * factorisation. docs/MODEL.md says what was measured.
 */
#include "cholesky.h"

#include "matmul.h"

#include <cblas.h>
#include <math.h>
#include <string.h>

enum {
    WITHOUT_LAPACK = 128
}; /* below it calling LAPACK, which may wake threads of its own, takes longer than the work */

/* LAPACK works on columns: our upper triangle by rows is its lower triangle. */
extern void dpotrf_(const char *triangle, const int *n, double *a, const int *lda, int *info, size_t length);
extern void dpotri_(const char *triangle, const int *n, double *a, const int *lda, int *info, size_t length);
extern void dtplqt_(const int *m, const int *n, const int *l, const int *mb, double *a, const int *lda, double *b,
                    const int *ldb, double *t, const int *ldt, double *work, int *info);

/* Upper triangle by rows. */
static int factor_small(size_t n, double *a)
{
    for (size_t i = 0; i < n; i++) {
        double *row = a + i * n, root = sqrt(row[i]);
        if (!(root > 0 && root < INFINITY))
            return -1;
        for (size_t j = i; j < n; j++)
            row[j] /= root;
        for (size_t k = i + 1; k < n; k++)
            axpy(n - k, -row[k], row + k, a + k * n + k);
    }
    return 0;
}

int cholesky_factor(size_t n, double *a)
{
    int order = (int)n, info = 0;
    if (n <= WITHOUT_LAPACK)
        info = factor_small(n, a);
    else
        dpotrf_("L", &order, a, &order, &info, 1);
    if (info != 0)
        return -1;
    for (size_t i = 1; i < n; i++)
        memset(a + i * n, 0, i * sizeof *a);
    return 0;
}

/* The rows of R are walked, in both directions. */
void cholesky_solve_half(size_t n, const double *factor, double *b)
{
    for (size_t i = 0; i < n; i++) {
        const double *row = factor + i * n;
        b[i] /= row[i];
        axpy(n - i - 1, -b[i], row + i + 1, b + i + 1);
    }
}

void cholesky_solve(size_t n, const double *factor, double *b)
{
    cholesky_solve_half(n, factor, b);
    for (size_t i = n; i-- > 0;) {
        const double *row = factor + i * n;
        b[i] = (b[i] - dot(n - i - 1, row + i + 1, b + i + 1)) / row[i];
    }
}

int cholesky_inverse(size_t n, double *factor)
{
    int order = (int)n, info = 0;
    dpotri_("L", &order, factor, &order, &info, 1);
    matmul_mirror_upper(n, factor);
    return info == 0 ? 0 : -1;
}

enum { LQ_BLOCK = 32 };

size_t cholesky_diffuse_full_work(size_t n)
{
    return n * n + 2 * LQ_BLOCK * n;
}

/* In columns, root is lower triangular L with U = L L', and keep^2 U + add^2 I = M M' with
   M = [keep L, add I]: the LQ factorisation of M is the root of the sum. */
void cholesky_diffuse_full(size_t n, double keep, double add, double *root, double *work)
{
    int order = (int)n, block = n < LQ_BLOCK ? (int)n : LQ_BLOCK, info = 0;
    double *identity = work, *t = work + n * n, *scratch = t + (size_t)block * n;
    for (size_t i = 0; i < n; i++)
        cblas_dscal(order, keep, root + i * n, 1);
    memset(identity, 0, n * n * sizeof *identity);
    for (size_t i = 0; i < n; i++)
        identity[i * n + i] = add;
    dtplqt_(&order, &order, &order, &block, root, &order, identity, &order, t, &block, scratch, &info);
}

/* ---- packed factors of a covariance */

size_t cholesky_entries(size_t n)
{
    return n * (n + 1) / 2;
}

size_t cholesky_row(size_t n, size_t j)
{
    return j * n - j * (j - 1) / 2;
}

void cholesky_identity(size_t n, double scale, double *root)
{
    memset(root, 0, cholesky_entries(n) * sizeof *root);
    for (size_t j = 0; j < n; j++)
        root[cholesky_row(n, j)] = scale;
}

/* f = R z */
static void times_factor(size_t n, const double *root, const double *z, double *f)
{
    for (size_t j = 0; j < n; j++)
        f[j] = dot(n - j, root + cholesky_row(n, j), z + j);
}

double cholesky_variance(size_t n, const double *root, const double *z, double *work)
{
    times_factor(n, root, z, work);
    return sum_of_squares(n, work);
}

/* One row of Carlson's update: with f = row . z, takes a to a + f^2 and folds the row into k. After
   row j, k = sum over rows >= j of f row, and the rows >= j hold the root of U - k k' / a. Row j
   meets k only right of its diagonal, which stays positive. */
static double condition_row(size_t n, double a, double f, double *restrict row, double *restrict k)
{
    double next = a + f * f, shrink = sqrt(a / next), mix = f * shrink / a;
    for (size_t i = 0; i < n; i++) {
        double old = row[i];
        row[i] = shrink * old - mix * k[i];
        k[i] += f * old;
    }
    return next;
}

double cholesky_condition(size_t n, double s, const double *z, double *root, double *k, double *work)
{
    double *f = work, a = s;
    times_factor(n, root, z, f);
    memset(k, 0, n * sizeof *k);
    for (size_t j = n; j-- > 0;)
        a = condition_row(n - j, a, f[j], root + cholesky_row(n, j), k + j);
    return a;
}

void cholesky_discount(size_t n, double keep, double add, double *root, double *k)
{
    double grow = 1 / sqrt(keep);
    for (size_t j = 0; j < cholesky_entries(n); j++)
        root[j] *= grow;
    for (size_t i = 0; i < n; i++) { /* along unit vector i, rows beyond i are not touched */
        double a = fmin(1 / add, 1e300);
        memset(k, 0, n * sizeof *k);
        for (size_t j = i + 1; j-- > 0;) {
            double *row = root + cholesky_row(n, j);
            a = condition_row(n - j, a, row[i - j], row, k + j);
        }
    }
}

static void unpack_factor(size_t n, const double *root, double *full)
{
    memset(full, 0, n * n * sizeof *full);
    for (size_t j = 0; j < n; j++)
        memcpy(full + j * n + j, root + cholesky_row(n, j), (n - j) * sizeof *full);
}

/* Packs an upper triangle, turning the signs of its rows so that the diagonal is positive. */
static void pack_factor(size_t n, const double *full, double *root)
{
    for (size_t j = 0; j < n; j++) {
        double sign = full[j * n + j] < 0 ? -1 : 1, *row = root + cholesky_row(n, j);
        for (size_t i = j; i < n; i++)
            row[i - j] = sign * full[j * n + i];
    }
}

size_t cholesky_diffuse_work(size_t n)
{
    return n * n + cholesky_diffuse_full_work(n);
}

void cholesky_diffuse(size_t n, double keep, double add, double *root, double *work)
{
    unpack_factor(n, root, work);
    cholesky_diffuse_full(n, sqrt(keep), sqrt(add), work, work + n * n);
    pack_factor(n, work, root);
}

void cholesky_to_covariance(size_t n, const double *root, double *covariance)
{
    unpack_factor(n, root, covariance);
    /* Row i of R'R is a sum over rows <= i of R: from the last up, in place. */
    for (size_t i = n; i-- > 0;) {
        double *row = covariance + i * n;
        double diagonal = row[i];
        for (size_t j = i; j < n; j++)
            row[j] *= diagonal;
        for (size_t k = 0; k < i; k++)
            axpy(n - i, covariance[k * n + i], covariance + k * n + i, row + i);
        for (size_t j = i + 1; j < n; j++)
            covariance[j * n + i] = row[j];
    }
}

int cholesky_from_covariance(size_t n, const double *covariance, double *root, double *work)
{
    memcpy(work, covariance, n * n * sizeof *work);
    if (cholesky_factor(n, work) != 0)
        return -1;
    pack_factor(n, work, root);
    return 0;
}
