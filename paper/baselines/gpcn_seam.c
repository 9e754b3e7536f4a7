/* GPCN's use of the library's activations, and of BLAS. */
#include "gpcn_seam.h"

#include "activation.h"

#include <cblas.h>

void gpcn_activate(bpcn_activation kind, size_t n, const double *x, double *z, double *slope)
{
    activation_apply_f64(kind, 0, n, x, z, slope);
}

void gpcn_matmul(size_t n, size_t above, size_t below, const double *z, const double *weights, double *out)
{
    int a = (int)above, b = (int)below;
    cblas_dgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, (int)n, b, a, 1, z, a, weights, b, 0, out, b);
}

void gpcn_matmul_transposed(size_t n, size_t above, size_t below, const double *e, const double *weights, double *out)
{
    int a = (int)above, b = (int)below;
    cblas_dgemm(CblasRowMajor, CblasNoTrans, CblasTrans, (int)n, a, b, 1, e, b, weights, b, 0, out, a);
}

void gpcn_rank_update(size_t n, size_t above, size_t below, const double *c, const double *e, double *weights)
{
    int a = (int)above, b = (int)below;
    cblas_dgemm(CblasRowMajor, CblasTrans, CblasNoTrans, a, b, (int)n, 1, c, a, e, b, 1, weights, b);
}

void gpcn_solve_upper(size_t n, size_t width, const double *upper, double *b)
{
    int w = (int)width;
    cblas_dtrsm(CblasRowMajor, CblasRight, CblasUpper, CblasNoTrans, CblasNonUnit, (int)n, w, 1, upper, w, b, w);
}
