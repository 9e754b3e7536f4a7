/* The door to BLAS and LAPACK: see linalg.h for shapes. */
#include "linalg.h"

#include "kernels.h"

#include <cblas.h>
#include <math.h>
#include <string.h>

enum { SMALL = 128 }; /* below it calling LAPACK, which may wake threads of its own, takes longer than the work */

/* LAPACK works on columns: our upper triangle by rows is its lower triangle. */
extern void dpotrf_(const char *triangle, const int *n, double *a, const int *lda, int *info, size_t length);
extern void dpotri_(const char *triangle, const int *n, double *a, const int *lda, int *info, size_t length);
extern void dtplqt_(const int *m, const int *n, const int *l, const int *mb, double *a, const int *lda, double *b,
                    const int *ldb, double *t, const int *ldt, double *work, int *info);

/* In squares that fit into the first cache, because one side of the diagonal is walked across its rows. */
void mirror_upper(size_t n, double *a)
{
    const size_t side = 32;
    for (size_t first = 0; first < n; first += side)
        for (size_t left = 0; left <= first; left += side)
            for (size_t i = first; i < n && i < first + side; i++)
                for (size_t j = left; j < i && j < left + side; j++)
                    a[i * n + j] = a[j * n + i];
}

/* Upper triangle by rows. */
static int cholesky_small(size_t n, double *a)
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

int cholesky(size_t n, double *a)
{
    int order = (int)n, info = 0;
    if (n <= SMALL)
        info = cholesky_small(n, a);
    else
        dpotrf_("L", &order, a, &order, &info, 1);
    if (info != 0)
        return -1;
    for (size_t i = 1; i < n; i++)
        memset(a + i * n, 0, i * sizeof *a);
    return 0;
}

/* The rows of R are walked, in both directions. */
void cholesky_halve(size_t n, const double *factor, double *b)
{
    for (size_t i = 0; i < n; i++) {
        const double *row = factor + i * n;
        b[i] /= row[i];
        axpy(n - i - 1, -b[i], row + i + 1, b + i + 1);
    }
}

void cholesky_solve(size_t n, const double *factor, double *b)
{
    cholesky_halve(n, factor, b);
    for (size_t i = n; i-- > 0;) {
        const double *row = factor + i * n;
        b[i] = (b[i] - dot(n - i - 1, row + i + 1, b + i + 1)) / row[i];
    }
}

int cholesky_inverse(size_t n, double *factor)
{
    int order = (int)n, info = 0;
    dpotri_("L", &order, factor, &order, &info, 1);
    mirror_upper(n, factor);
    return info == 0 ? 0 : -1;
}

enum { LQ_BLOCK = 32 };

size_t triangle_diffuse_work(size_t n)
{
    return n * n + 2 * LQ_BLOCK * n;
}

/* In columns, root is lower triangular L with U = L L', and keep^2 U + add^2 I = M M' with
   M = [keep L, add I]: the LQ factorisation of M is the root of the sum. */
void triangle_diffuse(size_t n, double keep, double add, double *root, double *work)
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
