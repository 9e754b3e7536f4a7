/* The door to BLAS and LAPACK: see linalg.h for shapes. */
#include "linalg.h"

#include "kernels.h"

#include <cblas.h>
#include <string.h>

double dot_f32(size_t n, const float *x, const float *y)
{
    return kernels_chosen()->dot_f32(n, x, y);
}

double dot_f64(size_t n, const double *x, const double *y)
{
    return kernels_chosen()->dot_f64(n, x, y);
}

void axpy_f32(size_t n, double a, const float *x, float *y)
{
    kernels_chosen()->axpy_f32(n, (float)a, x, y);
}

void axpy_f64(size_t n, double a, const double *x, double *y)
{
    kernels_chosen()->axpy_f64(n, a, x, y);
}

double dot_wide_f32(size_t n, const float *x, const float *y)
{
    return kernels_chosen()->dot_wide_f32(n, x, y);
}

double dot_wide_f64(size_t n, const double *x, const double *y)
{
    return dot_f64(n, x, y);
}

void dot_four_f32(size_t n, size_t stride, const float *rows, const float *z, float *f)
{
    kernels_chosen()->dot_four_f32(n, stride, rows, z, f);
}

void dot_four_f64(size_t n, size_t stride, const double *rows, const double *z, double *f)
{
    kernels_chosen()->dot_four_f64(n, stride, rows, z, f);
}

void add_four_f32(size_t n, size_t stride, const float *rows, const float *z, float *out)
{
    kernels_chosen()->add_four_f32(n, stride, rows, z, out);
}

void add_four_f64(size_t n, size_t stride, const double *rows, const double *z, double *out)
{
    kernels_chosen()->add_four_f64(n, stride, rows, z, out);
}

void both_four(size_t n, size_t stride, const double *rows, const double *own, const double *z, double *sum,
               double *out)
{
    kernels_chosen()->both_four(n, stride, rows, own, z, sum, out);
}

/* A single row goes through its weights row by row: BLAS would wake threads of its own, which then keep
   turning beside those of the team. */
void matmul_f32(size_t n, size_t above, size_t below, const float *z, const float *weights, float *out)
{
    int a = (int)above, b = (int)below;
    if (n == 1) {
        memset(out, 0, below * sizeof *out);
        for (size_t i = 0; i < above; i++)
            axpy_f32(below, (double)z[i], weights + i * below, out);
    } else
        cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, (int)n, b, a, 1, z, a, weights, b, 0, out, b);
}

void matmul_f64(size_t n, size_t above, size_t below, const double *z, const double *weights, double *out)
{
    int a = (int)above, b = (int)below;
    if (n == 1) {
        memset(out, 0, below * sizeof *out);
        for (size_t i = 0; i < above; i++)
            axpy_f64(below, z[i], weights + i * below, out);
    } else
        cblas_dgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, (int)n, b, a, 1, z, a, weights, b, 0, out, b);
}

void matmul_transposed_f64(size_t n, size_t above, size_t below, const double *e, const double *weights, double *out)
{
    int a = (int)above, b = (int)below;
    if (n == 1)
        cblas_dgemv(CblasRowMajor, CblasNoTrans, a, b, 1, weights, b, e, 1, 0, out, 1);
    else
        cblas_dgemm(CblasRowMajor, CblasNoTrans, CblasTrans, (int)n, a, b, 1, e, b, weights, b, 0, out, a);
}

void rank_update_f64(size_t n, size_t above, size_t below, const double *c, const double *e, double *weights)
{
    int a = (int)above, b = (int)below;
    if (n == 1)
        cblas_dger(CblasRowMajor, a, b, 1, c, 1, e, 1, weights, b);
    else
        cblas_dgemm(CblasRowMajor, CblasTrans, CblasNoTrans, a, b, (int)n, 1, c, a, e, b, 1, weights, b);
}

double sum_of_squares_f32(size_t n, const float *x)
{
    return dot_wide_f32(n, x, x);
}

double sum_of_squares_f64(size_t n, const double *x)
{
    return dot_f64(n, x, x);
}

void add_gram(size_t n, size_t width, const double *rows, double *out)
{
    int order = (int)n, k = (int)width;
    cblas_dsyrk(CblasRowMajor, CblasUpper, CblasNoTrans, order, k, 1, rows, k, 1, out, order);
}

void multiply_transposed(size_t n, size_t m, size_t width, const double *a, const double *b, double add, double *out)
{
    int k = (int)width;
    cblas_dgemm(CblasRowMajor, CblasNoTrans, CblasTrans, (int)n, (int)m, k, 1, a, k, b, k, add, out, (int)m);
}

void multiply_symmetric(size_t n, size_t width, const double *rows, const double *s, double *out)
{
    int w = (int)width;
    cblas_dsymm(CblasRowMajor, CblasRight, CblasUpper, (int)n, w, 1, s, w, rows, w, 0, out, w);
}

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

int cholesky(size_t n, double *a)
{
    int order = (int)n, info = 0;
    dpotrf_("L", &order, a, &order, &info, 1);
    if (info != 0)
        return -1;
    for (size_t i = 1; i < n; i++)
        memset(a + i * n, 0, i * sizeof *a);
    return 0;
}

void cholesky_solve(size_t n, size_t columns, const double *factor, double *b)
{
    int m = (int)n, k = (int)columns;
    cblas_dtrsm(CblasRowMajor, CblasLeft, CblasUpper, CblasTrans, CblasNonUnit, m, k, 1, factor, m, b, k);
    cblas_dtrsm(CblasRowMajor, CblasLeft, CblasUpper, CblasNoTrans, CblasNonUnit, m, k, 1, factor, m, b, k);
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
