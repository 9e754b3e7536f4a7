/* Sufficient statistics, their posterior, and what of a row follows from the rest of it. */
#include "gaussian.h"

#include "alloc.h"
#include "matmul.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { SHORT_LOOP = 16 }; /* entries below which a loop is faster than the call of a kernel */
static const double log_two_pi = 1.8378770664093454836;

static double gaussian_dot(size_t n, const double *x, const double *y)
{
    if (n >= SHORT_LOOP)
        return dot(n, x, y);
    double sum = 0;
    for (size_t i = 0; i < n; i++)
        sum += x[i] * y[i];
    return sum;
}

static void gaussian_axpy(size_t n, double a, const double *restrict x, double *restrict y)
{
    if (n >= SHORT_LOOP) {
        axpy(n, a, x, y);
        return;
    }
    for (size_t i = 0; i < n; i++)
        y[i] += a * x[i];
}

/* ---- factors of small matrices; R is upper triangular by rows, what lies below the diagonal is not looked at */

/* As cholesky_factor, and log |R'R|. */
static int factor_small(size_t n, double *a, double *log_det)
{
    double product = 1;
    *log_det = 0;
    for (size_t i = 0; i < n; i++) {
        double *row = a + i * n, inverse;
        if (!(row[i] > 0 && row[i] < INFINITY))
            return -1;
        product *= row[i];
        if (product < 1e-200 || product > 1e200) {
            *log_det += log(product);
            product = 1;
        }
        inverse = 1 / sqrt(row[i]);
        for (size_t j = i; j < n; j++)
            row[j] *= inverse;
        for (size_t k = i + 1; k < n; k++)
            gaussian_axpy(n - k, -row[k], row + k, a + k * n + k);
    }
    *log_det += log(product);
    return 0;
}

/* b becomes R'^-1 b. */
static void solve_half(size_t n, const double *factor, double *b)
{
    for (size_t i = 0; i < n; i++) {
        b[i] /= factor[i * n + i];
        gaussian_axpy(n - i - 1, -b[i], factor + i * n + i + 1, b + i + 1);
    }
}

/* b becomes R^-1 b. */
static void solve_rest(size_t n, const double *factor, double *b)
{
    for (size_t i = n; i-- > 0;)
        b[i] = (b[i] - gaussian_dot(n - i - 1, factor + i * n + i + 1, b + i + 1)) / factor[i * n + i];
}

/* factor becomes R^-1, upper triangular; row [n]. */
static void invert_factor(size_t n, double *factor, double *row)
{
    for (size_t i = n; i-- > 0;) {
        double *own = factor + i * n, inverse = 1 / own[i];
        memcpy(row + i, own + i, (n - i) * sizeof *row);
        memset(own + i, 0, (n - i) * sizeof *own);
        own[i] = inverse;
        for (size_t k = i + 1; k < n; k++)
            gaussian_axpy(n - k, -row[k] * inverse, factor + k * n + k, own + k);
    }
}

/* R^-1 becomes R^-1 R^-1', the whole of it. */
static void square_inverse(size_t n, double *inverse)
{
    for (size_t i = 0; i < n; i++)
        for (size_t j = i; j < n; j++)
            inverse[i * n + j] = gaussian_dot(n - j, inverse + i * n + j, inverse + j * n + j);
    matmul_mirror_upper(n, inverse);
}

/* ---- statistics */

void gaussian_add(size_t dim, double w, const double *x, double n, double *mean, double *scatter)
{
    double after = n + w;
    if (!(after > 1e-9)) {
        memset(mean, 0, dim * sizeof *mean);
        memset(scatter, 0, gaussian_packed(dim) * sizeof *scatter);
        return;
    }
    double factor = w * n / after, step = w / after;
    for (size_t i = 0; i < dim; i++) {
        double scaled = factor * (x[i] - mean[i]), *row = scatter + gaussian_packed(i);
        for (size_t j = 0; j <= i; j++)
            row[j] += scaled * (x[j] - mean[j]);
    }
    for (size_t i = 0; i < dim; i++)
        mean[i] += step * (x[i] - mean[i]);
}

/* S - f d d' >= 0 if and only if f d' S^-1 d <= 1. A ridge of 1e-9 of the mean diagonal, far above rounding and far
   below any variance that matters, makes S regular where rows are fewer than entries. */
int gaussian_removable(size_t dim, double w, const double *x, double n, const double *mean, const double *scatter,
                       double *work)
{
    double *full = work, *d = work + dim * dim, trace = 0, far = 0, log_det;
    for (size_t i = 0; i < dim; i++) {
        trace += scatter[gaussian_packed(i) + i];
        d[i] = x[i] - mean[i];
        far += d[i] * d[i];
    }
    if (n < w * (1 - 1e-9))
        return 0;
    if (n - w < 1e-6 * w) /* it is the only one */
        return far <= 1e-12 * (gaussian_dot(dim, x, x) + 1);
    for (size_t i = 0; i < dim; i++) {
        for (size_t j = 0; j <= i; j++)
            full[j * dim + i] = scatter[gaussian_packed(i) + j];
        full[i * dim + i] += 1e-9 * (trace / (double)dim + 1e-30);
    }
    if (factor_small(dim, full, &log_det) != 0)
        return 0;
    solve_half(dim, full, d);
    return w * n / (n - w) * gaussian_dot(dim, d, d) <= 1 + 1e-6;
}

int gaussian_posterior(size_t dim, double n, const double *mean, const double *scatter, const struct gaussian *prior,
                       double kappa, double nu, const double *floor, struct gaussian *out, double *work)
{
    double *c = out->covariance, between = kappa * n / (n + kappa), scale = 1 / (n + nu);
    for (size_t i = 0; i < dim; i++) {
        double apart = between * (mean[i] - prior->mean[i]);
        const double *row = scatter + gaussian_packed(i), *up = prior->covariance + i * dim;
        for (size_t j = 0; j <= i; j++)
            c[j * dim + i] = scale * (row[j] + nu * up[j] + apart * (mean[j] - prior->mean[j]));
        if (c[i * dim + i] < floor[i])
            c[i * dim + i] = floor[i];
    }
    for (size_t i = 0; i < dim; i++)
        out->mean[i] = (n * mean[i] + kappa * prior->mean[i]) / (n + kappa);
    matmul_mirror_upper(dim, c);
    memcpy(out->precision, c, dim * dim * sizeof *c);
    if (factor_small(dim, out->precision, &out->log_det) != 0) {
        /* Entries that follow from each other, as two equal columns do: each level of a tree shrinks what is left between
           them by nu / (n + nu), at last below rounding. The floor as independent noise of each entry bounds it. */
        for (size_t i = 0; i < dim; i++)
            c[i * dim + i] += floor[i];
        memcpy(out->precision, c, dim * dim * sizeof *c);
        if (factor_small(dim, out->precision, &out->log_det) != 0)
            return -1;
    }
    invert_factor(dim, out->precision, work);
    square_inverse(dim, out->precision);
    return 0;
}

/* ---- rows known in part */

size_t gaussian_work(size_t dim)
{
    return 2 * dim * dim + 4 * dim;
}

/* The conditional covariance R^-1 R^-1' and its diagonal; R^-1 takes R's place. */
static void answer_covariance(size_t h, double *factor, double *row, struct gaussian_answer *a)
{
    if (a->covariance == NULL && a->variance == NULL)
        return;
    invert_factor(h, factor, row);
    for (size_t i = 0; a->variance != NULL && i < h; i++)
        a->variance[i] = gaussian_dot(h - i, factor + i * h + i, factor + i * h + i);
    for (size_t i = 0; a->covariance != NULL && i < h; i++)
        for (size_t j = i; j < h; j++)
            a->covariance[i * h + j] = a->covariance[j * h + i] =
                gaussian_dot(h - j, factor + i * h + j, factor + j * h + j);
}

/*
 * With P the precision, K what is known, H the rest and d = x_K - mean_K:
 *     E[x_H | x_K] = mean_H - P_HH^-1 P_HK d,   cov[x_H | x_K] = P_HH^-1,
 *     d' C_KK^-1 d = d' P_KK d - (P_HK d)' P_HH^-1 (P_HK d),   log |C_KK| = log |C| + log |P_HH|.
 */
static double condition_by_precision(const struct gaussian *g, const struct gaussian_query *q,
                                     struct gaussian_answer *a, double *work)
{
    size_t dim = q->dim, k = q->known, h = dim - k;
    double *factor = work, *product = factor + h * h, *rest = product + dim, *unit = rest + dim, square = 0, log_det;
    const size_t *hidden = q->at + k;
    memset(product, 0, dim * sizeof *product); /* P (d, 0) */
    for (size_t i = 0; i < k; i++)
        gaussian_axpy(dim, q->x[q->at[i]] - g->mean[q->at[i]], g->precision + q->at[i] * dim, product);
    for (size_t i = 0; i < k; i++)
        square += (q->x[q->at[i]] - g->mean[q->at[i]]) * product[q->at[i]];
    for (size_t i = 0; i < h; i++) {
        const double *row = g->precision + hidden[i] * dim;
        rest[i] = product[hidden[i]];
        for (size_t j = i; j < h; j++)
            factor[i * h + j] = row[hidden[j]];
    }
    if (factor_small(h, factor, &log_det) != 0)
        return -INFINITY;
    solve_half(h, factor, rest);
    square -= gaussian_dot(h, rest, rest);
    solve_rest(h, factor, rest);
    a->entropy = -log_det;
    for (size_t i = 0; a->mean != NULL && i < h; i++)
        a->mean[i] = g->mean[hidden[i]] - rest[i];
    if (a->direction != NULL) {
        a->along[0] = 0;
        for (size_t i = 0; i < k; i++)
            a->along[0] += a->direction[q->at[i]] * q->x[q->at[i]];
        for (size_t i = 0; i < h; i++) {
            a->along[0] += a->direction[hidden[i]] * (g->mean[hidden[i]] - rest[i]);
            unit[i] = a->direction[hidden[i]];
        }
        solve_half(h, factor, unit);
        a->along[1] = gaussian_dot(h, unit, unit);
    }
    answer_covariance(h, factor, unit, a);
    return -.5 * (square + g->log_det + log_det + (double)k * log_two_pi);
}

/* The same through C_KK = R'R, with B = R'^-1 C_KH: cov[x_H | x_K] = C_HH - B'B. */
static double condition_by_covariance(const struct gaussian *g, const struct gaussian_query *q,
                                      struct gaussian_answer *a, double *work)
{
    size_t dim = q->dim, k = q->known, h = dim - k;
    double *factor = work, *b = factor + k * k, *d = b + h * k, log_det;
    const size_t *hidden = q->at + k;
    for (size_t i = 0; i < k; i++) {
        const double *row = g->covariance + q->at[i] * dim;
        for (size_t j = i; j < k; j++)
            factor[i * k + j] = row[q->at[j]];
        d[i] = q->x[q->at[i]] - g->mean[q->at[i]];
    }
    if (factor_small(k, factor, &log_det) != 0)
        return -INFINITY;
    solve_half(k, factor, d);
    double square = gaussian_dot(k, d, d);
    a->entropy = g->log_det - log_det;
    a->along[0] = a->along[1] = 0;
    for (size_t i = 0; a->direction != NULL && i < k; i++)
        a->along[0] += a->direction[q->at[i]] * q->x[q->at[i]];
    for (size_t i = 0; i < h; i++) {
        const double *row = g->covariance + hidden[i] * dim;
        double *own = b + i * k;
        for (size_t j = 0; j < k; j++)
            own[j] = row[q->at[j]];
        solve_half(k, factor, own);
        double mean = g->mean[hidden[i]] + gaussian_dot(k, own, d);
        if (a->mean != NULL)
            a->mean[i] = mean;
        if (a->variance != NULL)
            a->variance[i] = fmax(row[hidden[i]] - gaussian_dot(k, own, own), 1e-12 * row[hidden[i]]);
        if (a->direction != NULL)
            a->along[0] += a->direction[hidden[i]] * mean;
    }
    if (a->direction != NULL) { /* w'C_HH w - |B w|^2; d has served */
        memset(d, 0, k * sizeof *d);
        for (size_t i = 0; i < h; i++) {
            const double *row = g->covariance + hidden[i] * dim;
            gaussian_axpy(k, a->direction[hidden[i]], b + i * k, d);
            for (size_t j = 0; j < h; j++)
                a->along[1] += a->direction[hidden[i]] * a->direction[hidden[j]] * row[hidden[j]];
        }
        a->along[1] = fmax(a->along[1] - gaussian_dot(k, d, d), 0);
    }
    for (size_t i = 0; a->covariance != NULL && i < h; i++)
        for (size_t j = 0; j < h; j++)
            a->covariance[i * h + j] =
                g->covariance[hidden[i] * dim + hidden[j]] - gaussian_dot(k, b + i * k, b + j * k);
    return -.5 * (square + log_det + (double)k * log_two_pi);
}

double gaussian_condition(const struct gaussian *g, const struct gaussian_query *query, struct gaussian_answer *answer,
                          double *work)
{
    return 2 * query->known >= query->dim ? condition_by_precision(g, query, answer, work)
                                          : condition_by_covariance(g, query, answer, work);
}

/*
 * Given the other known entries, entry j has variance 1 / L_jj and mean x_j - (L d)_j / L_jj, where
 * L = C_KK^-1 = P_KK - P_KH P_HH^-1 P_HK.
 */
double gaussian_leave_one_out(const struct gaussian *g, const struct gaussian_query *q, double *mean, double *variance,
                              double *work)
{
    size_t dim = q->dim, k = q->known, h = dim - k;
    double *factor = work, *d = factor + h * h, *rest = d + dim, *column = rest + dim, square = 0, log_det;
    const size_t *hidden = q->at + k;
    memset(d, 0, dim * sizeof *d);
    for (size_t i = 0; i < k; i++)
        d[q->at[i]] = q->x[q->at[i]] - g->mean[q->at[i]];
    for (size_t i = 0; i < h; i++) {
        const double *row = g->precision + hidden[i] * dim;
        rest[i] = gaussian_dot(dim, row, d);
        for (size_t j = i; j < h; j++)
            factor[i * h + j] = row[hidden[j]];
    }
    if (factor_small(h, factor, &log_det) != 0)
        return -INFINITY;
    solve_half(h, factor, rest);
    for (size_t i = 0; i < k; i++) {
        size_t j = q->at[i];
        const double *row = g->precision + j * dim;
        double own = row[j], gain = gaussian_dot(dim, row, d);
        for (size_t e = 0; e < h; e++)
            column[e] = row[hidden[e]];
        solve_half(h, factor, column);
        own = fmax(own - gaussian_dot(h, column, column), 1e-12 * row[j]);
        gain -= gaussian_dot(h, column, rest);
        mean[j] = q->x[j] - gain / own;
        variance[j] = 1 / own;
        square += d[j] * gain;
    }
    return -.5 * (square + g->log_det + log_det + (double)k * log_two_pi);
}

/* C = R'R, and R'z has that covariance. */
int gaussian_draw(size_t dim, const struct gaussian *g, double *z)
{
    double *factor = alloc_zeroed(dim * dim, sizeof *factor), log_det;
    if (factor == NULL)
        return -1;
    memcpy(factor, g->covariance, dim * dim * sizeof *factor);
    int status = factor_small(dim, factor, &log_det);
    for (size_t j = dim; status == 0 && j-- > 0;) {
        double sum = 0;
        for (size_t i = 0; i <= j; i++)
            sum += factor[i * dim + j] * z[i];
        z[j] = g->mean[j] + sum;
    }
    free(factor);
    return status;
}
