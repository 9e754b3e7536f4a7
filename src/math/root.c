/* The covariance square root: Carlson's triangular form of the conjugate update, diffusion by an
   LQ factorisation. docs/MODEL.md says what was measured. */
#include "root.h"

#include "linalg.h"

#include <math.h>
#include <string.h>

size_t root_entries(size_t n)
{
    return n * (n + 1) / 2;
}

size_t root_row(size_t n, size_t j)
{
    return j * n - j * (j - 1) / 2;
}

void root_identity(size_t n, double scale, double *root)
{
    memset(root, 0, root_entries(n) * sizeof *root);
    for (size_t j = 0; j < n; j++)
        root[root_row(n, j)] = scale;
}

/* f = R z */
static void root_times(size_t n, const double *root, const double *z, double *f)
{
    for (size_t j = 0; j < n; j++)
        f[j] = dot(n - j, root + root_row(n, j), z + j);
}

double root_variance(size_t n, const double *root, const double *z, double *work)
{
    root_times(n, root, z, work);
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

double root_condition(size_t n, double s, const double *z, double *root, double *k, double *work)
{
    double *f = work, a = s;
    root_times(n, root, z, f);
    memset(k, 0, n * sizeof *k);
    for (size_t j = n; j-- > 0;)
        a = condition_row(n - j, a, f[j], root + root_row(n, j), k + j);
    return a;
}

void root_discount(size_t n, double keep, double add, double *root, double *k)
{
    double grow = 1 / sqrt(keep);
    for (size_t j = 0; j < root_entries(n); j++)
        root[j] *= grow;
    for (size_t i = 0; i < n; i++) { /* along unit vector i, rows beyond i are not touched */
        double a = fmin(1 / add, 1e300);
        memset(k, 0, n * sizeof *k);
        for (size_t j = i + 1; j-- > 0;) {
            double *row = root + root_row(n, j);
            a = condition_row(n - j, a, row[i - j], row, k + j);
        }
    }
}

static void unpack(size_t n, const double *root, double *full)
{
    memset(full, 0, n * n * sizeof *full);
    for (size_t j = 0; j < n; j++)
        memcpy(full + j * n + j, root + root_row(n, j), (n - j) * sizeof *full);
}

/* Packs an upper triangle, turning the signs of its rows so that the diagonal is positive. */
static void pack(size_t n, const double *full, double *root)
{
    for (size_t j = 0; j < n; j++) {
        double sign = full[j * n + j] < 0 ? -1 : 1, *row = root + root_row(n, j);
        for (size_t i = j; i < n; i++)
            row[i - j] = sign * full[j * n + i];
    }
}

size_t root_diffuse_work(size_t n)
{
    return n * n + triangle_diffuse_work(n);
}

void root_diffuse(size_t n, double keep, double add, double *root, double *work)
{
    unpack(n, root, work);
    triangle_diffuse(n, sqrt(keep), sqrt(add), work, work + n * n);
    pack(n, work, root);
}

void root_to_covariance(size_t n, const double *root, double *covariance)
{
    unpack(n, root, covariance);
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

int root_from_covariance(size_t n, const double *covariance, double *root, double *work)
{
    memcpy(work, covariance, n * n * sizeof *work);
    if (cholesky(n, work) != 0)
        return -1;
    pack(n, work, root);
    return 0;
}
