/* The sensory layer through inner products (compiled per precision). */
#include "inner.h"

#include "alloc.h"
#include "gemm.h"
#include "linalg.h"

#include <stdlib.h>
#include <string.h>

struct inner {
    const struct layer *layer;
    const unsigned char *mask;
    struct team *team;
    size_t rows, batch;
    double *b, *squares; /* [rows x above], [rows]: |x|^2 */
    double *z, *zg;      /* [team x batch x above] */
    double *part;        /* [above x above]: some columns of R */
    struct panels some;  /* the same, turned: [some x above] */
    struct panels g;
};

int inner_pays(size_t above, size_t below, size_t rows)
{
    return 2 * above <= below && rows >= 32;
}

void inner_free(struct inner *in)
{
    if (in == NULL)
        return;
    free(in->g.data);
    free(in->some.data);
    free(in->part);
    free(in->b);
    free(in->z);
    free(in);
}

/* Whether there is room for everything. */
static int allocate(struct inner *in)
{
    size_t above = in->layer->above, panels = panels_entries(above, above, sizeof(double)), lanes = team_size(in->team);
    in->g.data = alloc_zeroed(panels, sizeof(double));
    in->some.data = alloc_zeroed(panels, sizeof(double));
    in->part = alloc_zeroed(above * above, sizeof *in->part);
    in->b = alloc_zeroed(in->rows, (above + 1) * sizeof *in->b);
    in->z = alloc_zeroed(2 * lanes * in->batch, above * sizeof *in->z);
    if (!in->g.data || !in->some.data || !in->part || !in->b || !in->z)
        return 0;
    in->squares = in->b + in->rows * above;
    in->zg = in->z + lanes * in->batch * above;
    return 1;
}

/* Rows times R', to be added to out [n x above], over the columns first .. first + count. */
struct product {
    const struct inner *in;
    size_t first, count, n;
    const real *const *row; /* [n] -> [below] */
    double *out;
};

/* out [count] = the entries of a row that the product is over, 0 where not known */
static void widen(const struct product *p, const real *row, double *out)
{
    const unsigned char *mask = p->in->mask ? p->in->mask + p->first : NULL;
    for (size_t j = 0; j < p->count; j++)
        out[j] = mask == NULL || mask[j] ? (double)row[p->first + j] : 0;
}

static void product_part(void *context, size_t part, size_t parts)
{
    const struct product *p = context;
    size_t above = p->in->layer->above, batch = p->in->batch, at, last, n;
    double *wide = p->in->z + part * batch * above, *some = p->in->zg + part * batch * above;
    team_share(p->n, 1, part, parts, &at, &last);
    for (; at < last; at += n) {
        n = last - at < batch ? last - at : batch;
        for (size_t i = 0; i < n; i++)
            widen(p, p->row[at + i], wide + i * p->count);
        panels_multiply_f64(&p->in->some, n, wide, some);
        for (size_t j = 0; j < n * above; j++)
            p->out[at * above + j] += some[j];
    }
}

/* out [n x above] = rows R', as many columns at a time as R has rows */
static void multiply_rows(struct inner *in, size_t n, const real *const *row, double *out)
{
    size_t above = in->layer->above, below = in->layer->below;
    memset(out, 0, n * above * sizeof *out);
    for (size_t first = 0; first < below; first += above) {
        struct product p = {in, first, below - first < above ? below - first : above, n, row, out};
        for (size_t i = 0; i < above; i++)
            widen(&p, (const real *)in->layer->mean + i * below, in->part + i * p.count);
        in->some = panels_fill_f64(p.count, above, in->part, 1, PANEL_FULL, in->some.data);
        team_run(in->team, product_part, &p);
    }
}

/* Fills in->g; -1 when out of memory. */
static int make_g(struct inner *in)
{
    size_t above = in->layer->above;
    double *g = alloc_zeroed(above * above, sizeof *g);
    const real **row = alloc_zeroed(above, sizeof *row);
    if (g != NULL && row != NULL) {
        for (size_t i = 0; i < above; i++)
            row[i] = (const real *)in->layer->mean + i * in->layer->below;
        multiply_rows(in, above, row, g);
        in->g = panels_fill_f64(above, above, g, 0, PANEL_FULL, in->g.data);
    }
    int failed = g == NULL || row == NULL;
    free(g);
    free(row);
    return failed ? -1 : 0;
}

struct inner *inner_create(const struct layer *layer, const unsigned char *mask, size_t rows, struct team *team,
                           size_t batch)
{
    struct inner *in = alloc_zeroed(1, sizeof *in);
    if (in == NULL)
        return NULL;
    *in = (struct inner){.layer = layer, .mask = mask, .team = team, .rows = rows, .batch = batch};
    if (!allocate(in) || make_g(in) != 0) {
        inner_free(in);
        return NULL;
    }
    return in;
}

void inner_aim(struct inner *in, const real *const *x)
{
    multiply_rows(in, in->rows, x, in->b);
    for (size_t i = 0; i < in->rows; i++) {
        in->squares[i] = 0;
        for (size_t j = 0; j < in->layer->below; j++)
            if (in->mask == NULL || in->mask[j])
                in->squares[i] += (double)x[i][j] * (double)x[i][j];
    }
}

void inner_multiply(const struct inner *in, size_t lane, size_t n, const size_t *rows, const real *z, double *squares,
                    real *pull)
{
    size_t above = in->layer->above;
    double *wide = in->z + lane * in->batch * above, *zg = in->zg + lane * in->batch * above;
    for (size_t j = 0; j < n * above; j++)
        wide[j] = (double)z[j];
    panels_multiply_f64(&in->g, n, wide, zg);
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
