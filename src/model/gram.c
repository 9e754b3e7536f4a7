/* G = M M' in place of M (compiled per precision). */
#include "gram.h"

#include "alloc.h"
#include "matmul.h"
#include "cholesky.h"

#include <stdlib.h>
#include <string.h>

enum {
    ROWS = 16,    /* rows of G's share */
    BATCH = 64,   /* rows multiplied at once */
    FEW = 8,      /* observations that do not pay for cutting M */
    CACHED = 8192 /* entries of a mean that the first cache holds: it is read as fast as G */
};

int gram_pays(size_t above, size_t below)
{
    return above <= below && above * below >= CACHED;
}

int gram_pays_batch(size_t above, size_t below)
{
    return 2 * above <= below;
}

void gram_free(struct gram *g)
{
    if (g == NULL)
        return;
    free(g->mask);
    free(g->g);
    free(g->panels.data);
    free(g);
}

size_t gram_bytes(const struct gram *g)
{
    if (g == NULL)
        return 0;
    size_t entries =
        g->above * g->above + (g->panels.data ? matmul_packed_entries(g->above, g->above, sizeof(double)) : 0);
    return sizeof *g + entries * sizeof(double) + (g->mask ? g->below : 0);
}

/* ---- rows times M' */

/* out [n x above] += rows M', over some columns, which are cut into panels. */
struct product {
    size_t above, count, n;
    const size_t *column;      /* [count] */
    const real *const *row;    /* [n] -> [below] */
    int symmetric;             /* the rows are those of M: only columns of the result from a row's own on are wanted */
    const struct panels *some; /* [count x above] */
    double *room;              /* [parts x BATCH x 2 above] */
    double *out;
};

/* out [count] = the row's entries there */
static void gather(const struct product *p, const real *row, double *out)
{
    for (size_t j = 0; j < p->count; j++)
        out[j] = (double)row[p->column[j]];
}

/* Shares of a triangle get shorter: every parts-th batch. */
static void product_part(void *context, size_t part, size_t parts)
{
    const struct product *p = context;
    size_t above = p->above, share = (p->n + parts - 1) / parts, batch = !p->symmetric && share < BATCH ? share : BATCH;
    double *wide = p->room + part * BATCH * 2 * above, *some = wide + BATCH * above;
    for (size_t at = part * batch; at < p->n; at += parts * batch) {
        size_t n = p->n - at < batch ? p->n - at : batch, from = p->symmetric ? at : 0;
        for (size_t i = 0; i < n; i++)
            gather(p, p->row[at + i], wide + i * p->count);
        matmul_columns_f64(p->some, from, above, n, wide, some);
        for (size_t i = 0; i < n; i++)
            for (size_t j = from; j < above; j++)
                p->out[(at + i) * above + j] += some[i * above + j];
    }
}

/* out [n x above] = rows M' over `count` columns, as many at a time as M has rows; -1 when out of memory. */
static int multiply_rows(const struct layer *layer, size_t count, const size_t *column, size_t n,
                         const real *const *row, int symmetric, struct team *team, double *out)
{
    size_t above = layer->above, below = layer->below, cut = matmul_packed_entries(above, above, sizeof(double));
    double *room = alloc_zeroed(above * above + cut + threads_count(team) * BATCH * 2 * above, sizeof *room);
    if (room == NULL)
        return -1;
    memset(out, 0, n * above * sizeof *out);
    for (size_t first = 0; first < count; first += above) {
        struct product p = {.above = above, .column = column + first, .n = n, .row = row, .symmetric = symmetric};
        p.count = count - first < above ? count - first : above;
        for (size_t i = 0; i < above; i++)
            gather(&p, (const real *)layer->mean + i * below, room + i * p.count);
        struct panels some = matmul_pack_f64(p.count, above, room, 1, PANEL_FULL, room + above * above);
        p.some = &some;
        p.room = room + above * above + cut;
        p.out = out;
        threads_run(team, product_part, &p);
    }
    free(room);
    return 0;
}

/* The columns that the mask knows, or those that it does not; NULL when out of memory. */
static size_t *columns_of(size_t below, const unsigned char *mask, int known, size_t *count)
{
    size_t *column = alloc_zeroed(below, sizeof *column);
    *count = 0;
    for (size_t j = 0; column != NULL && j < below; j++)
        if ((mask == NULL || mask[j]) == known)
            column[(*count)++] = j;
    return column;
}

/* g->g over the entries known, or less those unknown from the G of all. */
static int fill(struct gram *g, const struct layer *layer, const struct gram *all, struct team *team)
{
    size_t above = g->above, below = g->below, count;
    const real **row = alloc_zeroed(above, sizeof *row);
    size_t *column = columns_of(below, g->mask, 1, &count);
    int subtract = all != NULL && g->mask != NULL && 2 * count > below;
    if (subtract) {
        free(column);
        column = columns_of(below, g->mask, 0, &count);
    }
    for (size_t i = 0; row != NULL && i < above; i++)
        row[i] = (const real *)layer->mean + i * below;
    int failed = row == NULL || column == NULL || multiply_rows(layer, count, column, above, row, 1, team, g->g) != 0;
    for (size_t j = 0; !failed && subtract && j < above * above; j++)
        g->g[j] = all->g[j] - g->g[j];
    free(row);
    free(column);
    return failed ? -1 : 0;
}

struct gram *gram_create(const struct layer *layer, const unsigned char *mask, const struct gram *all,
                         struct team *team)
{
    size_t above = layer->above, below = layer->below;
    struct gram *g = alloc_zeroed(1, sizeof *g);
    if (g == NULL)
        return NULL;
    *g = (struct gram){.above = above, .below = below, .g = alloc_zeroed(above * above, sizeof(double))};
    g->mask = mask != NULL ? alloc_zeroed(below, 1) : NULL;
    if (g->mask != NULL)
        memcpy(g->mask, mask, below);
    if (g->g == NULL || (mask != NULL && g->mask == NULL) || fill(g, layer, all, team) != 0) {
        gram_free(g);
        return NULL;
    }
    return g;
}

void gram_copy(struct gram *to, const struct gram *from)
{
    memcpy(to->g, from->g, from->above * from->above * sizeof *to->g);
    to->age = from->age;
    free(to->panels.data);
    to->panels.data = NULL;
}

int gram_pack(struct gram *g)
{
    if (g->panels.data != NULL)
        return 0; /* others may be reading them */
    double *data = alloc_zeroed(matmul_packed_entries(g->above, g->above, sizeof *data), sizeof *data);
    if (data == NULL)
        return -1;
    matmul_mirror_upper(g->above, g->g);
    g->panels = matmul_pack_f64(g->above, g->above, g->g, 0, PANEL_FULL, data);
    return 0;
}

/* ---- observations */

/* A few observations: M is read once, as it is. */
struct few {
    const struct layer *layer;
    size_t n;
    const real *x; /* [n x below], 0 where not known */
    double *b;
};

static void few_part(void *context, size_t part, size_t parts)
{
    const struct few *f = context;
    size_t first, last, above = f->layer->above, below = f->layer->below;
    threads_share(above, 4, part, parts, &first, &last);
    for (size_t i = first; i < last; i++)
        for (size_t r = 0; r < f->n; r++)
            f->b[r * above + i] = dot_wide(below, (const real *)f->layer->mean + i * below, f->x + r * below);
}

static int multiply_few(const struct gram *g, const struct layer *layer, size_t n, const real *const *x,
                        struct team *team, double *out)
{
    real *known = alloc_zeroed(n * g->below, sizeof *known);
    if (known == NULL)
        return -1;
    for (size_t r = 0; r < n; r++)
        for (size_t j = 0; j < g->below; j++)
            known[r * g->below + j] = g->mask == NULL || g->mask[j] ? x[r][j] : 0;
    threads_run(team, few_part, &(struct few){layer, n, known, out});
    free(known);
    return 0;
}

static int multiply_many(const struct gram *g, const struct layer *layer, size_t n, const real *const *x,
                         struct team *team, double *out)
{
    size_t count, *column = columns_of(g->below, g->mask, 1, &count);
    int failed = column == NULL || multiply_rows(layer, count, column, n, x, 0, team, out) != 0;
    free(column);
    return failed ? -1 : 0;
}

int projection_create(struct projection *projection, const struct gram *gram, const struct layer *layer, size_t n,
                      const real *const *x, struct team *team)
{
    *projection = (struct projection){.gram = gram, .b = alloc_zeroed(n, (gram->above + 1) * sizeof *projection->b)};
    if (projection->b == NULL || (n < FEW ? multiply_few : multiply_many)(gram, layer, n, x, team, projection->b) != 0)
        return -1;
    projection->squares = projection->b + n * gram->above;
    for (size_t i = 0; i < n; i++)
        for (size_t j = 0; j < gram->below; j++)
            if (gram->mask == NULL || gram->mask[j])
                projection->squares[i] += (double)x[i][j] * (double)x[i][j];
    return 0;
}

int projection_open(struct projection *projection, const struct layer *layer)
{
    size_t above = layer->above, count, *column = columns_of(layer->below, projection->gram->mask, 0, &count);
    real *some = alloc_zeroed(above * count, sizeof *some);
    real *down = alloc_zeroed(matmul_packed_entries(above, count, sizeof *down), sizeof *down);
    real *up = alloc_zeroed(matmul_packed_entries(count, above, sizeof *up), sizeof *up);
    int failed = column == NULL || some == NULL || down == NULL || up == NULL;
    for (size_t i = 0; !failed && i < above; i++)
        for (size_t j = 0; j < count; j++)
            some[i * count + j] = ((const real *)layer->mean)[i * layer->below + column[j]];
    if (!failed) {
        projection->open = count;
        projection->down = matmul_pack(above, count, some, 0, PANEL_FULL, down);
        projection->up = matmul_pack(count, above, some, 1, PANEL_FULL, up);
    } else {
        free(down);
        free(up);
    }
    free(some);
    free(column);
    return failed ? -1 : 0;
}

void projection_free(struct projection *projection)
{
    free(projection->b);
    free(projection->down.data);
    free(projection->up.data);
    *projection = (struct projection){0};
}

void gram_multiply(const struct projection *projection, struct team *team, size_t n, const size_t *rows, const real *z,
                   double *room, double *squares, real *residual_grad)
{
    size_t above = projection->gram->above;
    double *wide = room, *zg = room + n * above;
    for (size_t j = 0; j < n * above; j++)
        wide[j] = (double)z[j];
    matmul_f64(team, &projection->gram->panels, n, wide, zg);
    for (size_t i = 0; i < n; i++) {
        const double *b = projection->b + rows[i] * above, *zi = wide + i * above, *gi = zg + i * above;
        double sum = projection->squares[rows[i]];
        for (size_t j = 0; j < above; j++) {
            sum -= zi[j] * (2 * b[j] - gi[j]);
            residual_grad[i * above + j] = (real)(b[j] - gi[j]);
        }
        squares[i] = sum > 0 ? sum : 0;
    }
}

/* ---- one observation through one triangle */

/* One row from its diagonal on, up to `last`. */
static void both_one(size_t i, size_t last, const double *row, const double *z, double *out)
{
    double sum = row[i] * z[i];
    for (size_t j = i + 1; j < last; j++) {
        sum += row[j] * z[j];
        out[j] += z[i] * row[j];
    }
    out[i] += sum;
}

struct sweep {
    size_t n;
    const double *g, *z;
    double *sums; /* [parts x n] */
};

/* What this part's rows of the triangle give to z G: every parts-th share, because they get shorter. */
static void sweep_part(void *context, size_t part, size_t parts)
{
    const struct sweep *s = context;
    size_t n = s->n;
    double *out = s->sums + part * n;
    memset(out, 0, n * sizeof *out);
    for (size_t first = part * ROWS; first < n; first += parts * ROWS) {
        size_t i = first, last = first + ROWS < n ? first + ROWS : n;
        for (; i + 4 <= last; i += 4) {
            for (size_t k = 0; k < 4; k++)
                both_one(i + k, i + 4, s->g + (i + k) * n, s->z, out);
            kernels_chosen()->both_four(n - i - 4, n, s->g + i * n + i + 4, s->z + i, s->z + i + 4, out + i,
                                        out + i + 4);
        }
        for (; i < last; i++)
            both_one(i, n, s->g + i * n, s->z, out);
    }
}

size_t gram_room(size_t above, const struct team *team)
{
    return (3 + threads_count(team)) * above;
}

/* z in double, then z G: room [.. 2 above] */
static void multiply(const struct gram *g, struct team *team, const real *z, double *room)
{
    size_t above = g->above;
    double *product = room + above, *sums = room + 2 * above;
    for (size_t i = 0; i < above; i++)
        room[i] = (double)z[i];
    threads_run(team, sweep_part, &(struct sweep){above, g->g, room, sums});
    memcpy(product, sums, above * sizeof *product);
    for (size_t part = 1; part < threads_count(team); part++)
        axpy(above, 1, sums + part * above, product);
}

double gram_sweep(const struct projection *projection, struct team *team, const real *z, double *room,
                  real *residual_grad)
{
    size_t above = projection->gram->above;
    const double *wide = room, *product = room + above;
    double explained = 0;
    multiply(projection->gram, team, z, room);
    for (size_t i = 0; i < above; i++) {
        double p = projection->b[i] - product[i];
        explained += wide[i] * (projection->b[i] + p);
        residual_grad[i] = (real)p;
    }
    return projection->squares[0] - explained;
}

struct follow {
    size_t n;
    const double *gain, *change;
    double *g;
};

static void follow_part(void *context, size_t part, size_t parts)
{
    const struct follow *f = context;
    size_t n = f->n;
    for (size_t first = part * ROWS; first < n; first += parts * ROWS)
        for (size_t i = first; i < n && i < first + ROWS; i++) {
            axpy(n - i, f->gain[i], f->change + i, f->g + i * n + i);
            axpy(n - i, f->change[i], f->gain + i, f->g + i * n + i);
        }
}

/* (M + c'e)(M + c'e)' = G + c'(e M') + (M e')c + |e|^2 c'c, the last in halves with the others */
void gram_update(struct gram *g, const struct projection *projection, struct team *team, const real *z,
                 const real *gain, double *room)
{
    size_t above = g->above;
    double squares = projection->squares[0], *wide = room, *change = room + above, *c = room + 2 * above;
    multiply(projection->gram, team, z, room);
    for (size_t i = 0; i < above; i++) {
        c[i] = (double)gain[i];
        change[i] = projection->b[i] - change[i];
        squares -= wide[i] * (projection->b[i] + change[i]);
    }
    axpy(above, 0.5 * squares, c, change);
    threads_run(team, follow_part, &(struct follow){above, c, change, g->g});
    free(g->panels.data);
    g->panels.data = NULL;
    g->age++;
}
