/* Products, transposition, inversion and factors: see dense.h. */
#include "dense.h"

#include "alloc.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum {
    SQUARE = 32,
    SMALL = 64,
    GRAIN = 12,             /* rows of a share */
    COLUMNS = 64,           /* of a share: some panels */
    WORTH_SHARING = 1 << 15 /* products below which calling the team takes longer than it saves */
};

int dense_panels(size_t rows, size_t columns, const float *m, int transposed, struct panels *panels)
{
    float *data = alloc_zeroed(panels_entries(rows, columns, sizeof *data), sizeof *data);
    if (data == NULL)
        return -1;
    *panels = panels_fill_f32(rows, columns, m, transposed, PANEL_FULL, data);
    return 0;
}

/* A product shared out: float or double by the size of its entries. */
struct product {
    const struct panels *panels;
    size_t n, size;
    const void *a;
    void *out;
};

static void multiply(const struct product *m, size_t first, size_t last, size_t from, size_t to)
{
    size_t rows = m->panels->rows, columns = m->panels->columns;
    if (m->size == sizeof(float))
        panels_multiply_columns_f32(m->panels, from, to, last - first, (const float *)m->a + first * rows,
                                    (float *)m->out + first * columns);
    else
        panels_multiply_columns_f64(m->panels, from, to, last - first, (const double *)m->a + first * rows,
                                    (double *)m->out + first * columns);
}

static void rows_part(void *context, size_t part, size_t parts)
{
    const struct product *m = context;
    size_t first, last;
    team_share(m->n, GRAIN, part, parts, &first, &last);
    if (first < last)
        multiply(m, first, last, 0, m->panels->columns);
}

/* Triangular panels are short at one end: every parts-th share. */
static void columns_part(void *context, size_t part, size_t parts)
{
    const struct product *m = context;
    size_t columns = m->panels->columns;
    for (size_t from = part * COLUMNS; from < columns; from += parts * COLUMNS)
        multiply(m, 0, m->n, from, from + COLUMNS < columns ? from + COLUMNS : columns);
}

static void share_out(struct team *team, struct product *m)
{
    size_t work = m->n * m->panels->rows * m->panels->columns;
    if (team == NULL || work < WORTH_SHARING)
        multiply(m, 0, m->n, 0, m->panels->columns);
    else
        team_run(team, m->n >= GRAIN * team_size(team) ? rows_part : columns_part, m);
}

void dense_multiply_f32(struct team *team, const struct panels *panels, size_t n, const float *a, float *out)
{
    share_out(team, &(struct product){panels, n, sizeof *a, a, out});
}

void dense_multiply_f64(struct team *team, const struct panels *panels, size_t n, const double *a, double *out)
{
    share_out(team, &(struct product){panels, n, sizeof *a, a, out});
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

int dense_product(struct team *team, size_t n, size_t rows, size_t columns, const float *a, const float *b,
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
    if (dense_invert(team, n, h->upper) != 0 || dense_product(team, n, n, m, h->upper, h->right, 0, h->solved) != 0 ||
        dense_product(team, m, n, m, h->left, h->solved, 0, h->room) != 0)
        return -1;
    for (size_t j = 0; j < m * m; j++)
        h->lower[j] -= h->room[j];
    if (dense_invert(team, m, h->lower) != 0 || dense_product(team, n, m, m, h->solved, h->lower, 0, h->right) != 0 ||
        dense_product(team, n, m, n, h->right, h->solved, 1, h->room) != 0)
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
