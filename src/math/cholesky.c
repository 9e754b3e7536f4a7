/*
 * Cholesky factors: see cholesky.h. The conjugate update of a factor is Carlson's triangular form; diffusion is a QR
 * factorisation. docs/MODEL.md says what was measured.
 */
#include "cholesky.h"

#include "alloc.h"
#include "matmul.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Columns that are worked on one by one before the rest is brought up to date by products. With fewer the products are
   slow, with more the columns take longer than they. Of 16, 32, 48, 64 and 96, 32 took the least time at widths of 64 to
   1024; an inverse, which orders the rest anew for each block, takes less with more. */
enum {
    BLOCK = 32,
    INVERSE_BLOCK = 128,
    STRIP = 48 /* rows of a triangle brought up to date at a time; a multiple of every tile and panel */
};

static size_t least(size_t a, size_t b)
{
    return a < b ? a : b;
}

/* out [n] -= x_0 rows_0 + .. + x_(count-1) rows_(count-1), the x and the rows each so far apart */
static void subtract_rows(size_t count, size_t n, const double *x, size_t x_stride, const double *rows, size_t stride,
                          double *out)
{
    size_t k = 0;
    for (; k + 4 <= count; k += 4) {
        const double four[4] = {-x[k * x_stride], -x[(k + 1) * x_stride], -x[(k + 2) * x_stride],
                                -x[(k + 3) * x_stride]};
        add_four(n, stride, rows + k * stride, four, out);
    }
    for (; k < count; k++)
        axpy(n, -x[k * x_stride], rows + k * stride, out);
}

/* The first n rows of a, whose upper triangle is that of a symmetric matrix as far as they go, become those of R:
   row_i = (a_i - sum over k < i of R_ki row_k) / R_ii, from column i to `columns`. */
static int factor_rows(size_t n, size_t columns, double *a, size_t stride)
{
    for (size_t i = 0; i < n; i++) {
        double *row = a + i * stride;
        subtract_rows(i, columns - i, a + i, stride, a + i, stride, row + i);
        double root = sqrt(row[i]);
        if (!(root > 0 && root < INFINITY))
            return -1;
        for (size_t j = i; j < columns; j++)
            row[j] /= root;
    }
    return 0;
}

/* The lower right of a [n x n], from `first` on, -= R1'R1 for the rows R1 [rows x n] above it. */
static void subtract_square(size_t n, size_t rows, size_t first, const double *r, double *a, double *room)
{
    size_t rest = n - first;
    double *turned = room + matmul_packed_entries(rows, rest, sizeof *room);
    struct panels panels = matmul_pack_part_f64(rows, rest, r + first, n, 0, PANEL_FULL, room);
    for (size_t j = 0; j < rest; j++)
        for (size_t i = 0; i < rows; i++)
            turned[j * rows + i] = -r[i * n + first + j];
    for (size_t j = 0; j < rest; j += STRIP)
        matmul_add_f64(&panels, j, rest, least(STRIP, rest - j), turned + j * rows, rows, a + (first + j) * n + first, n);
}

int cholesky_factor(size_t n, double *a)
{
    double *room = NULL;
    size_t block = n;
    if (n > BLOCK)
        room = alloc_uncleared(matmul_packed_entries(BLOCK, n, sizeof *room) + BLOCK * n, sizeof *room);
    if (room != NULL) /* without memory for it, row by row */
        block = BLOCK;
    int failed = 0;
    for (size_t k = 0; !failed && k < n; k += block) {
        size_t rows = least(block, n - k);
        failed = factor_rows(rows, n - k, a + k * n + k, n) != 0;
        if (!failed && k + rows < n)
            subtract_square(n, rows, k + rows, a + k * n, a, room);
    }
    free(room);
    for (size_t i = 1; !failed && i < n; i++)
        memset(a + i * n, 0, i * sizeof *a);
    return failed ? -1 : 0;
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

/* Row i of R X = I, given those below: X_i = (I_i - sum over k > i of R_ik X_k) / R_ii, by blocks of rows from the last
   up. x [n x n] = R becomes X; room [matmul_packed_entries(n, n)]. */
static void invert_triangle(size_t n, double *x, double *room)
{
    for (size_t end = n, first; end > 0; end = first) {
        first = (end - 1) / INVERSE_BLOCK * INVERSE_BLOCK;
        size_t rows = end - first, rest = n - end;
        double *block = x + first * n + first, sum[INVERSE_BLOCK];
        if (rest > 0) { /* block_right = -R_right X_below, then solved with the block's own triangle */
            struct panels below = matmul_pack_part_f64(rest, rest, x + end * n + end, n, 0, PANEL_UPPER, room);
            double *right = room + matmul_packed_entries(rest, rest, sizeof *room);
            memset(right, 0, rows * rest * sizeof *right);
            matmul_add_f64(&below, 0, rest, rows, block + rows, n, right, rest);
            for (size_t i = rows; i-- > 0;) {
                double *out = block + i * n + rows;
                for (size_t j = 0; j < rest; j++)
                    out[j] = -right[i * rest + j];
                subtract_rows(rows - i - 1, rest, block + i * n + i + 1, 1, block + (i + 1) * n + rows, n, out);
                for (size_t j = 0; j < rest; j++)
                    out[j] /= block[i * n + i];
            }
        }
        for (size_t i = rows; i-- > 0;) {
            double *row = block + i * n;
            memset(sum, 0, sizeof sum);
            for (size_t k = i + 1; k < rows; k++)
                axpy(rows - k, -row[k], block + k * n + k, sum + k);
            for (size_t j = i + 1; j < rows; j++)
                row[j] = sum[j] / row[i];
            row[i] = 1 / row[i];
        }
    }
}

/* (R'R)^-1 = X X' with X = R^-1 */
int cholesky_inverse(size_t n, double *factor)
{
    size_t packed = matmul_packed_entries(n, n, sizeof(double));
    double *room = alloc_uncleared(packed + n * n + INVERSE_BLOCK * n, sizeof *room), *product = room + packed;
    if (room == NULL)
        return -1;
    invert_triangle(n, factor, room);
    struct panels turned = matmul_pack_f64(n, n, factor, 1, PANEL_LOWER, room);
    memset(product, 0, n * n * sizeof *product);
    for (size_t i = 0; i < n; i += STRIP)
        matmul_add_f64(&turned, i, n, least(STRIP, n - i), factor + i * n, n, product + i * n, n);
    memcpy(factor, product, n * n * sizeof *factor);
    matmul_mirror_upper(n, factor);
    free(room);
    return 0;
}

/* ---- diffusion: keep^2 R'R + add^2 I = S'S for S from the QR factorisation of [keep R; add I], by Householder's
   reflections. That of column j reaches row j of R and rows 0 .. j of the lower half B, which is upper triangular from
   its start as a multiple of I to its end. Of a block of columns the reflections together are I - [I; V] T [I; V]'
   (the compact WY form). B and V are kept by columns, so that each is read along its memory. */

size_t cholesky_diffuse_full_work(size_t n)
{
    size_t block = least(BLOCK, n);
    return n * n + 2 * block * n + 2 * block * block + matmul_packed_entries(n, block, sizeof(double)) +
           matmul_packed_entries(block, n, sizeof(double));
}

/* Reflects the columns first .. first + count of R and B, which come to hold V; t [count x count]. */
static void reflect_columns(size_t n, size_t first, size_t count, double *root, double *b, double *t)
{
    memset(t, 0, count * count * sizeof *t);
    for (size_t j = 0; j < count; j++) {
        size_t length = first + j + 1;
        double *row = root + (first + j) * n + first, *v = b + (first + j) * n;
        double pivot = row[j], squares = dot(length, v, v), norm = sqrt(pivot * pivot + squares);
        double turned = pivot > 0 ? -norm : norm, tau = norm > 0 ? (turned - pivot) / turned : 0;
        for (size_t i = 0; tau > 0 && i < length; i++)
            v[i] /= pivot - turned;
        row[j] = turned;
        for (size_t c = j + 1; c < count; c++) {
            double *column = b + (first + c) * n, w = tau * (row[c] + dot(length, v, column));
            row[c] -= w;
            axpy(length, -w, v, column);
        }
        for (size_t i = 0; i < j; i++) { /* T_ij = -tau sum over k of T_ik v_k . v_j */
            double y = dot(first + i + 1, b + (first + i) * n, v);
            for (size_t k = 0; k <= i; k++)
                t[k * count + j] -= tau * t[k * count + i] * y;
        }
        t[j * count + j] = tau;
    }
}

/* The columns right of the block: W' = (R' + B'V) T, R -= W, B -= V W. */
static void reflect_rest(size_t n, size_t first, size_t count, double *root, double *b, const double *t, double *room)
{
    size_t last = first + count, rest = n - last;
    double *y = room, *w = y + count * n, *data = w + count * n, *v = b + first * n, *right = root + first * n + last;
    for (size_t i = 0; i < rest; i++)
        for (size_t j = 0; j < count; j++)
            y[i * count + j] = right[j * n + i];
    struct panels panels = matmul_pack_part_f64(last, count, v, n, 1, PANEL_FULL, data);
    matmul_add_f64(&panels, 0, count, rest, b + last * n, n, y, count);
    panels = matmul_pack_f64(count, count, t, 0, PANEL_UPPER, data);
    memset(w, 0, rest * count * sizeof *w);
    matmul_add_f64(&panels, 0, count, rest, y, count, w, count);
    for (size_t i = 0; i < rest; i++)
        for (size_t j = 0; j < count; j++) {
            right[j * n + i] -= w[i * count + j];
            w[i * count + j] *= -1;
        }
    panels = matmul_pack_part_f64(count, last, v, n, 0, PANEL_FULL, data);
    matmul_add_f64(&panels, 0, last, rest, w, count, b + last * n, n);
}

void cholesky_diffuse_full(size_t n, double keep, double add, double *root, double *work)
{
    size_t block = least(BLOCK, n);
    double *b = work, *t = b + n * n, *room = t + 2 * block * block;
    for (size_t j = 0; j < n * n; j++)
        root[j] *= keep;
    memset(b, 0, n * n * sizeof *b);
    for (size_t i = 0; i < n; i++)
        b[i * n + i] = add;
    for (size_t first = 0; first < n; first += block) {
        size_t count = least(block, n - first);
        reflect_columns(n, first, count, root, b, t);
        if (first + count < n)
            reflect_rest(n, first, count, root, b, t, room);
    }
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

/* most I - U is positive definite if its smallest eigenvalue, most less the largest of U, is positive. */
int cholesky_within(size_t n, const double *root, double most)
{
    double *a = alloc_zeroed(n, n * sizeof *a);
    if (a == NULL)
        return -1;
    cholesky_to_covariance(n, root, a);
    for (size_t j = 0; j < n * n; j++)
        a[j] = (j % (n + 1) == 0 ? most : 0) - a[j];
    int within = cholesky_factor(n, a) == 0;
    free(a);
    return within;
}
