/* Products, transposition, inversion and factors: see dense.h. */
#include "dense.h"

#include "alloc.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { SQUARE = 32, SMALL = 64, GRAIN = 12 };

int dense_panels(size_t rows, size_t columns, const float *m, int transposed, struct panels *panels)
{
    float *data = alloc_zeroed(panels_entries(rows, columns, sizeof *data), sizeof *data);
    if (data == NULL)
        return -1;
    *panels = panels_fill_f32(rows, columns, m, transposed, PANEL_FULL, data);
    return 0;
}

struct product {
    size_t n;
    const struct panels *panels;
    const float *a;
    float *out;
};

static void product_part(void *context, size_t part, size_t parts)
{
    const struct product *m = context;
    size_t first, last;
    team_share(m->n, GRAIN, part, parts, &first, &last);
    if (first < last)
        panels_multiply_f32(m->panels, last - first, m->a + first * m->panels->rows,
                            m->out + first * m->panels->columns);
}

void dense_multiply(struct team *team, const struct panels *panels, size_t n, const float *a, float *out)
{
    struct product job = {n, panels, a, out};
    team_run(team, product_part, &job);
}

/* In squares that fit into the first cache, because one side is walked across its rows. */
void dense_transpose(size_t rows, size_t columns, const float *m, float *out)
{
    for (size_t top = 0; top < rows; top += SQUARE)
        for (size_t left = 0; left < columns; left += SQUARE)
            for (size_t i = top; i < rows && i < top + SQUARE; i++)
                for (size_t j = left; j < columns && j < left + SQUARE; j++)
                    out[j * rows + i] = m[i * columns + j];
}

/* Gauss and Jordan in float64, without pivoting, which positive definite matrices do without. */
static int invert_small(size_t n, float *a)
{
    double m[SMALL * SMALL];
    for (size_t j = 0; j < n * n; j++)
        m[j] = (double)a[j];
    for (size_t k = 0; k < n; k++) {
        double *pivot = m + k * n, inverse = 1 / pivot[k];
        if (!(pivot[k] > 0))
            return -1;
        pivot[k] = 1;
        for (size_t j = 0; j < n; j++)
            pivot[j] *= inverse;
        for (size_t i = 0; i < n; i++) {
            double *row = m + i * n, factor = row[k];
            if (i == k)
                continue;
            row[k] = 0;
            for (size_t j = 0; j < n; j++)
                row[j] -= factor * pivot[j];
        }
    }
    for (size_t j = 0; j < n * n; j++)
        a[j] = (float)m[j];
    return 0;
}

/* The blocks of a matrix cut in two, each in memory of its own. */
struct halves {
    size_t first, second;
    float *upper, *lower; /* A11 and A22 */
    float *right, *left;  /* A12 and A21 = A12' */
    float *solved;        /* A11^-1 A12 */
    float *room;          /* of a product */
};

static void copy_block(size_t rows, size_t columns, const float *from, size_t from_stride, float *to, size_t to_stride)
{
    for (size_t i = 0; i < rows; i++)
        memcpy(to + i * to_stride, from + i * from_stride, columns * sizeof *to);
}

/* out [n x columns] = a [n x rows] b, or a b' */
static int product(struct team *team, size_t n, size_t rows, size_t columns, const float *a, const float *b,
                   int transposed, float *out)
{
    struct panels panels;
    if (dense_panels(rows, columns, b, transposed, &panels) != 0)
        return -1;
    dense_multiply(team, &panels, n, a, out);
    free(panels.data);
    return 0;
}

/* With Y = A11^-1 A12 and Z = (A22 - A21 Y)^-1, the inverse is [A11^-1 + Y Z Y', -Y Z; -Z Y', Z]. */
static int invert_halves(struct team *team, struct halves *h, float *a)
{
    size_t n = h->first, m = h->second, stride = n + m;
    copy_block(n, n, a, stride, h->upper, n);
    copy_block(n, m, a + n, stride, h->right, m);
    copy_block(m, m, a + n * stride + n, stride, h->lower, m);
    dense_transpose(n, m, h->right, h->left);
    if (dense_invert(team, n, h->upper) != 0 || product(team, n, n, m, h->upper, h->right, 0, h->solved) != 0 ||
        product(team, m, n, m, h->left, h->solved, 0, h->room) != 0)
        return -1;
    for (size_t j = 0; j < m * m; j++)
        h->lower[j] -= h->room[j];
    if (dense_invert(team, m, h->lower) != 0 || product(team, n, m, m, h->solved, h->lower, 0, h->right) != 0 ||
        product(team, n, m, n, h->right, h->solved, 1, h->room) != 0)
        return -1;
    for (size_t j = 0; j < n * n; j++)
        h->upper[j] += h->room[j];
    for (size_t j = 0; j < n * m; j++)
        h->right[j] = -h->right[j];
    dense_transpose(n, m, h->right, h->left);
    copy_block(n, n, h->upper, n, a, stride);
    copy_block(n, m, h->right, m, a + n, stride);
    copy_block(m, n, h->left, n, a + n * stride, stride);
    copy_block(m, m, h->lower, m, a + n * stride + n, stride);
    return 0;
}

int dense_invert(struct team *team, size_t n, float *a)
{
    if (n <= SMALL)
        return invert_small(n, a);
    size_t m = n / 2, larger = n - m;
    float *room = alloc_zeroed(6 * larger * larger, sizeof *room);
    if (room == NULL)
        return -1;
    struct halves h = {.first = m, .second = larger};
    float **blocks[] = {&h.upper, &h.lower, &h.right, &h.left, &h.solved, &h.room};
    for (size_t i = 0; i < 6; i++)
        *blocks[i] = room + i * larger * larger;
    int status = invert_halves(team, &h, a);
    free(room);
    return status;
}

/* Of the block [n x n] at a, by its lower triangle: L in its place and inverse [n x n] = L'^-1, in float64. */
static int factor_small(size_t n, size_t stride, float *a, float *inverse)
{
    double r[SMALL * SMALL], x[SMALL * SMALL] = {0}; /* R = L', and its inverse */
    for (size_t i = 0; i < n; i++)
        for (size_t j = i; j < n; j++)
            r[i * n + j] = (double)a[j * stride + i];
    for (size_t k = 0; k < n; k++) {
        double *pivot = r + k * n, scale = 1 / sqrt(pivot[k]);
        if (!(pivot[k] > 0))
            return -1;
        for (size_t j = k; j < n; j++)
            pivot[j] *= scale;
        for (size_t i = k + 1; i < n; i++)
            for (size_t j = i; j < n; j++)
                r[i * n + j] -= pivot[i] * pivot[j];
    }
    for (size_t k = n; k-- > 0;) {
        double *row = x + k * n;
        row[k] = 1;
        for (size_t i = k + 1; i < n; i++)
            for (size_t j = i; j < n; j++)
                row[j] -= r[k * n + i] * x[i * n + j];
        for (size_t j = k; j < n; j++)
            row[j] /= r[k * n + k];
    }
    for (size_t i = 0; i < n; i++)
        for (size_t j = i; j < n; j++)
            a[j * stride + i] = (float)r[i * n + j];
    for (size_t j = 0; j < n * n; j++)
        inverse[j] = (float)x[j];
    return 0;
}

/* Columns first .. first + width of L, rows first .. n, when those before are done. left [n x n], right and room
   [n x SMALL]. */
static int factor_columns(size_t n, size_t first, size_t width, float *a, float *left, float *right, float *room)
{
    float *corner = a + first * n + first;
    copy_block(n - first, first, a + first * n, n, left, first);
    if (first > 0 && product(NULL, n - first, first, width, left, left, 1, room) != 0)
        return -1;
    for (size_t i = 0; first > 0 && i < n - first; i++)
        for (size_t j = 0; j < width; j++)
            corner[i * n + j] -= room[i * width + j];
    float inverse[SMALL * SMALL];
    if (factor_small(width, n, corner, inverse) != 0)
        return -1;
    size_t below = n - first - width;
    copy_block(below, width, corner + width * n, n, right, width);
    if (below > 0 && product(NULL, below, width, width, right, inverse, 0, room) != 0)
        return -1;
    copy_block(below, width, room, width, corner + width * n, n);
    return 0;
}

int dense_cholesky(size_t n, float *a)
{
    float *left = alloc_zeroed(n * (n + 2 * SMALL), sizeof *left);
    int status = left == NULL ? -1 : 0;
    for (size_t first = 0; status == 0 && first < n; first += SMALL)
        status = factor_columns(n, first, n - first < SMALL ? n - first : SMALL, a, left, left + n * n,
                                left + n * (n + SMALL));
    free(left);
    return status;
}
