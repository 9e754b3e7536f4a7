/* The sensory layer through inner products (compiled per precision). */
#include "inner.h"

#include "alloc.h"
#include "linalg.h"

#include <stdlib.h>
#include <string.h>

enum { COLUMNS = 64 }; /* turned into double at a time */

struct inner {
    const struct layer *layer;
    const unsigned char *mask;
    size_t rows, batch;
    double *g;         /* [above x above] */
    double *b;         /* [rows x above] */
    double *squares;   /* [rows]: |x|^2 */
    double *z, *zg;    /* [lanes x batch x above] */
    double *mean_part; /* [above x COLUMNS] */
    double *x_part;    /* [rows x COLUMNS] */
};

int inner_pays(size_t above, size_t below, size_t rows)
{
    return 2 * above <= below && rows >= 32;
}

/* out [count] = entries first .. first + count of a row, 0 where not known */
static void widen(const struct inner *in, size_t first, size_t count, const real *row, double *out)
{
    for (size_t j = 0; j < count; j++)
        out[j] = in->mask == NULL || in->mask[first + j] ? (double)row[first + j] : 0;
}

/* The columns first .. first + count of the mean, in double. */
static void widen_mean(struct inner *in, size_t first, size_t count)
{
    const real *mean = in->layer->mean;
    for (size_t i = 0; i < in->layer->above; i++)
        widen(in, first, count, mean + i * in->layer->below, in->mean_part + i * count);
}

static size_t columns_from(const struct inner *in, size_t first)
{
    return first + COLUMNS < in->layer->below ? COLUMNS : in->layer->below - first;
}

static void fill(struct inner *in)
{
    size_t above = in->layer->above;
    for (size_t first = 0; first < in->layer->below; first += COLUMNS) {
        size_t count = columns_from(in, first);
        widen_mean(in, first, count);
        add_gram(above, count, in->mean_part, in->g);
    }
    mirror_upper(above, in->g);
}

struct inner *inner_create(const struct layer *layer, const unsigned char *mask, size_t rows, size_t lanes,
                           size_t batch)
{
    size_t above = layer->above;
    struct inner *in = alloc_zeroed(1, sizeof *in);
    double *g = alloc_zeroed(above * above, sizeof *g);
    double *of_rows = alloc_zeroed(rows, (above + 1 + COLUMNS) * sizeof *of_rows);
    double *of_lanes = alloc_zeroed(2 * lanes * batch + COLUMNS, above * sizeof *of_lanes);
    if (in == NULL || g == NULL || of_rows == NULL || of_lanes == NULL) {
        free(in);
        free(g);
        free(of_rows);
        free(of_lanes);
        return NULL;
    }
    *in = (struct inner){layer, mask, rows, batch, .g = g, .b = of_rows, .z = of_lanes};
    in->squares = in->b + rows * above;
    in->x_part = in->squares + rows;
    in->zg = in->z + lanes * batch * above;
    in->mean_part = in->zg + lanes * batch * above;
    fill(in);
    return in;
}

void inner_free(struct inner *in)
{
    if (in == NULL)
        return;
    free(in->g);
    free(in->b);
    free(in->z);
    free(in);
}

void inner_aim(struct inner *in, const real *const *x)
{
    size_t above = in->layer->above;
    memset(in->b, 0, in->rows * above * sizeof *in->b);
    memset(in->squares, 0, in->rows * sizeof *in->squares);
    for (size_t first = 0; first < in->layer->below; first += COLUMNS) {
        size_t count = columns_from(in, first);
        widen_mean(in, first, count);
        for (size_t i = 0; i < in->rows; i++) {
            double *part = in->x_part + i * count;
            widen(in, first, count, x[i], part);
            in->squares[i] += sum_of_squares_f64(count, part);
        }
        multiply_transposed(in->rows, above, count, in->x_part, in->mean_part, 1, in->b);
    }
}

void inner_multiply(const struct inner *in, size_t lane, size_t n, const size_t *rows, const real *z, double *squares,
                    real *pull)
{
    size_t above = in->layer->above;
    double *wide = in->z + lane * in->batch * above, *zg = in->zg + lane * in->batch * above;
    for (size_t j = 0; j < n * above; j++)
        wide[j] = (double)z[j];
    matmul_f64(n, above, above, wide, in->g, zg);
    for (size_t i = 0; i < n; i++) {
        const double *b = in->b + rows[i] * above, *zi = wide + i * above, *gi = zg + i * above;
        double sum = in->squares[rows[i]];
        for (size_t j = 0; j < above; j++) {
            sum -= zi[j] * (2 * b[j] - gi[j]);
            pull[i * above + j] = (real)(b[j] - gi[j]);
        }
        squares[i] = sum > 0 ? sum : 0;
    }
}
