/*
 * Matrix products: see matmul.h. A tile of the kernels runs down k; k is cut into stretches, so that a panel's stretch
 * stays in the first cache while all rows pass over it. The rows' stretch is first put into the order in which the
 * tiles read it, once for all panels; it stays in the second cache.
 */
#include "matmul.h"

#include "alloc.h"

#include <stdlib.h>
#include <string.h>

enum {
    STRETCH = 256,           /* steps of k between two additions to the result; another number rounds differently */
    CHUNK = 132,             /* rows at a time: a multiple of the tile of every kernel set */
    SHARE_ROWS = 12,         /* a thread's share of rows is a multiple of this, */
    SHARE_COLUMNS = 64,      /* of columns, of this: some panels */
    ROW_COLUMNS = 64,        /* and of one row's columns, of this: a few cache lines */
    COVARIANCE_ROWS = 16,    /* rows of a root that a thread takes at a time */
    WORTH_SHARING = 1 << 15, /* multiplications below which waking the team takes longer than it saves */
    SQUARE = 32,             /* side of the squares of a transposition: two fit into the first cache */
    INVERT_DIRECTLY = 64     /* widest matrix that is inverted without halving it */
};

static size_t least(size_t a, size_t b)
{
    return a < b ? a : b;
}

size_t matmul_packed_entries(size_t rows, size_t columns, size_t size)
{
    size_t line = LINE_BYTES / size;
    return (columns + line - 1) / line * line * rows;
}

size_t matmul_covariance_scratch(size_t width, size_t threads)
{
    return (threads + 1) * width;
}

/* The rows of the panels at columns j .. j + width that are not all zero by shape: [*first, *last). */
static void panel_range(const struct panels *p, size_t width, size_t j, size_t *first, size_t *last)
{
    *first = p->shape == PANEL_LOWER && j < p->rows ? j : 0;
    *last = p->shape == PANEL_UPPER && j + width < p->rows ? j + width : p->rows;
}

#define real float
#define OF(name) name##_f32
#include "matmul_body.h"
#undef real
#undef OF

#define real double
#define OF(name) name##_f64
#include "matmul_body.h"
#undef real
#undef OF

void matmul_add_f64(const struct panels *p, size_t from, size_t to, size_t n, const double *a, size_t a_stride,
                    double *out, size_t out_stride)
{
    multiply_rows_f64(kernels_chosen(), p, from, to, n, a, a_stride, 1, out, out_stride);
}

int matmul_pack_new(size_t rows, size_t columns, const float *m, int transposed, struct panels *panels)
{
    float *data = alloc_zeroed(matmul_packed_entries(rows, columns, sizeof *data), sizeof *data);
    if (data == NULL)
        return -1;
    *panels = matmul_pack_f32(rows, columns, m, transposed, PANEL_FULL, data);
    return 0;
}

/* A product that the team shares: float or double by the size of its entries. */
struct shared_product {
    const struct panels *panels;
    size_t n, size;
    const void *a;
    void *out;
};

static void multiply_share(const struct shared_product *m, size_t first, size_t last, size_t from, size_t to)
{
    size_t rows = m->panels->rows, columns = m->panels->columns;
    if (m->size == sizeof(float))
        matmul_columns_f32(m->panels, from, to, last - first, (const float *)m->a + first * rows,
                           (float *)m->out + first * columns);
    else
        matmul_columns_f64(m->panels, from, to, last - first, (const double *)m->a + first * rows,
                           (double *)m->out + first * columns);
}

static void share_rows(void *context, size_t part, size_t parts)
{
    const struct shared_product *m = context;
    size_t first, last;
    threads_share(m->n, SHARE_ROWS, part, parts, &first, &last);
    if (first < last)
        multiply_share(m, first, last, 0, m->panels->columns);
}

/* Every parts-th share, because triangular panels are short at one end. */
static void share_columns(void *context, size_t part, size_t parts)
{
    const struct shared_product *m = context;
    size_t columns = m->panels->columns;
    for (size_t from = part * SHARE_COLUMNS; from < columns; from += parts * SHARE_COLUMNS)
        multiply_share(m, 0, m->n, from, from + SHARE_COLUMNS < columns ? from + SHARE_COLUMNS : columns);
}

static void share_product(struct team *team, struct shared_product *m)
{
    size_t work = m->n * m->panels->rows * m->panels->columns;
    if (team == NULL || work < WORTH_SHARING)
        multiply_share(m, 0, m->n, 0, m->panels->columns);
    else
        threads_run(team, m->n >= SHARE_ROWS * threads_count(team) ? share_rows : share_columns, m);
}

void matmul_f32(struct team *team, const struct panels *panels, size_t n, const float *a, float *out)
{
    share_product(team, &(struct shared_product){panels, n, sizeof *a, a, out});
}

void matmul_f64(struct team *team, const struct panels *panels, size_t n, const double *a, double *out)
{
    share_product(team, &(struct shared_product){panels, n, sizeof *a, a, out});
}

/* In squares, because one side is walked across its rows. */
void matmul_transpose(size_t rows, size_t columns, const float *m, float *out)
{
    for (size_t top = 0; top < rows; top += SQUARE)
        for (size_t left = 0; left < columns; left += SQUARE)
            for (size_t i = top; i < rows && i < top + SQUARE; i++)
                for (size_t j = left; j < columns && j < left + SQUARE; j++)
                    out[j * rows + i] = m[i * columns + j];
}

void matmul_mirror_upper(size_t n, double *a)
{
    for (size_t first = 0; first < n; first += SQUARE)
        for (size_t left = 0; left <= first; left += SQUARE)
            for (size_t i = first; i < n && i < first + SQUARE; i++)
                for (size_t j = left; j < i && j < left + SQUARE; j++)
                    a[i * n + j] = a[j * n + i];
}

/* Gauss and Jordan in float64, without pivoting, which positive definite matrices do without. */
static int invert_directly(size_t n, float *a)
{
    double *m = alloc_uncleared(n * n, sizeof *m);
    if (m == NULL)
        return -1;
    for (size_t j = 0; j < n * n; j++)
        m[j] = (double)a[j];
    for (size_t k = 0; k < n; k++) {
        double *pivot = m + k * n;
        if (!(pivot[k] > 0)) {
            free(m);
            return -1;
        }
        double inverse = 1 / pivot[k];
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
    free(m);
    return 0;
}

/* The blocks of a matrix cut in two, each in memory of its own. */
struct halves {
    size_t first, second;
    float *upper, *lower; /* A11 and A22 */
    float *right, *left;  /* A12 and A21 = A12' */
    float *solved;        /* A11^-1 A12 */
    float *product;
};

static void copy_block(size_t rows, size_t columns, const float *from, size_t from_stride, float *to, size_t to_stride)
{
    for (size_t i = 0; i < rows; i++)
        memcpy(to + i * to_stride, from + i * from_stride, columns * sizeof *to);
}

int matmul_unpacked(struct team *team, size_t n, size_t rows, size_t columns, const float *a, const float *b,
                    int transposed, float *out)
{
    struct panels panels;
    if (matmul_pack_new(rows, columns, b, transposed, &panels) != 0)
        return -1;
    matmul(team, &panels, n, a, out);
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
    matmul_transpose(n, m, h->right, h->left);
    if (matmul_invert(team, n, h->upper) != 0 ||
        matmul_unpacked(team, n, n, m, h->upper, h->right, 0, h->solved) != 0 ||
        matmul_unpacked(team, m, n, m, h->left, h->solved, 0, h->product) != 0)
        return -1;
    for (size_t j = 0; j < m * m; j++)
        h->lower[j] -= h->product[j];
    if (matmul_invert(team, m, h->lower) != 0 ||
        matmul_unpacked(team, n, m, m, h->solved, h->lower, 0, h->right) != 0 ||
        matmul_unpacked(team, n, m, n, h->right, h->solved, 1, h->product) != 0)
        return -1;
    for (size_t j = 0; j < n * n; j++)
        h->upper[j] += h->product[j];
    for (size_t j = 0; j < n * m; j++)
        h->right[j] = -h->right[j];
    matmul_transpose(n, m, h->right, h->left);
    copy_block(n, n, h->upper, n, a, stride);
    copy_block(n, m, h->right, m, a + n, stride);
    copy_block(m, n, h->left, n, a + n * stride, stride);
    copy_block(m, m, h->lower, m, a + n * stride + n, stride);
    return 0;
}

int matmul_invert(struct team *team, size_t n, float *a)
{
    if (n <= INVERT_DIRECTLY)
        return invert_directly(n, a);
    size_t m = n / 2, larger = n - m;
    float *block = alloc_zeroed(6 * larger * larger, sizeof *block);
    if (block == NULL)
        return -1;
    struct halves h = {.first = m, .second = larger};
    float **blocks[] = {&h.upper, &h.lower, &h.right, &h.left, &h.solved, &h.product};
    for (size_t i = 0; i < 6; i++)
        *blocks[i] = block + i * larger * larger;
    int status = invert_halves(team, &h, a);
    free(block);
    return status;
}
