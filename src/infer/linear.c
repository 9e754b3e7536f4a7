/* The linear code of a row (compiled per precision): see linear.h. */
#include "linear.h"

#include "activation.h"
#include "alloc.h"
#include "cholesky.h"
#include "matmul.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum {
    CORRECTIONS = 1,   /* of a solution in float32 by its residual */
    INVERSE_STEPS = 6, /* of Newton's method for f^-1 */
    COLUMNS = 128,     /* of M that are gathered at a time: they stay in the first caches */
    TRIANGLE_ROWS = 32 /* of G that are computed from their diagonal on */
};
/* Of the mean square of M's rows. Larger: directions that were hardly written to are left alone. */
static const double sensory_ridge = 1e-6;
/* A layer's variance over that of the layer above: both are about 2 sigma_x^2. */
static const double upper_ridge = 1;
/* Newton's steps divide by a slope of at least this: beyond the minimum of GELU there is no inverse. */
static const real least_slope = (real)0.05;

/* One layer, factored: z minimises |target - z M|^2 + ridge |z|^2 over some entries. */
struct factored {
    double *factor; /* [above x above], or NULL */
    real *start, *prediction, *slope; /* of an upper layer: x_{l+1} top-down, what it predicts of x_l, f' there */
};

struct linear {
    const struct model *model;
    const struct particle *particle;
    struct factored layer[BPCN_MAX_LAYERS];
    real *start; /* [code_dim]: top-down */
};

/* Room for one layer or row after the other. */
struct solver {
    float *some, *part;    /* [widest x COLUMNS], [widest x widest]: columns of M, and their part of G */
    float *panels;         /* of those columns */
    double *factor, *b;    /* [widest x widest], [widest] */
    double *z;             /* [widest] */
    real *error, *value;   /* [widest of all], [widest] */
    real *slope, *product; /* [widest] each */
    size_t *column;        /* [widest of all]: those that are known */
};

static void solver_free(struct solver *s)
{
    free(s->some);
    free(s->panels);
    free(s->factor);
    free(s->error);
    free(s->column);
}

/* -1 when out of memory; solver_free in any case. */
static int solver_create(struct solver *s, const struct model *model)
{
    size_t n = model->widest_hidden, widest = model->width[0] > n ? model->width[0] : n;
    *s = (struct solver){.some = alloc_uncleared(n * COLUMNS + n * n, sizeof *s->some),
                         .panels = alloc_uncleared(matmul_packed_entries(COLUMNS, n, sizeof(float)), sizeof *s->panels),
                         .factor = alloc_uncleared(n * n + 2 * n, sizeof *s->factor),
                         .error = alloc_uncleared(widest + 3 * n, sizeof *s->error),
                         .column = alloc_uncleared(widest, sizeof *s->column)};
    if (!s->some || !s->panels || !s->factor || !s->error || !s->column)
        return -1;
    s->part = s->some + n * COLUMNS;
    s->b = s->factor + n * n;
    s->z = s->b + n;
    s->value = s->error + widest;
    s->slope = s->value + n;
    s->product = s->slope + n;
    return 0;
}

/* The upper triangle of factor = D M M' D over the columns listed, D being the slopes (NULL: 1). */
static void solver_gram(struct solver *s, const struct layer *layer, size_t count, const real *slope)
{
    size_t n = layer->above;
    memset(s->factor, 0, n * n * sizeof *s->factor);
    for (size_t first = 0; first < count; first += COLUMNS) {
        size_t columns = count - first < COLUMNS ? count - first : COLUMNS;
        const size_t *column = s->column + first;
        int together = column[columns - 1] - column[0] == columns - 1;
        for (size_t i = 0; i < n; i++) {
            const real *row = (const real *)layer->mean + i * layer->below, *from = row + column[0];
            float *to = s->some + i * columns;
            for (size_t j = 0; together && j < columns; j++)
                to[j] = (float)from[j];
            for (size_t j = 0; !together && j < columns; j++)
                to[j] = (float)row[column[j]];
        }
        struct panels panels = matmul_pack(columns, n, s->some, 1, PANEL_FULL, s->panels);
        for (size_t i = 0; i < n; i += TRIANGLE_ROWS)
            matmul_columns_f32(&panels, i, n, n - i < TRIANGLE_ROWS ? n - i : TRIANGLE_ROWS, s->some + i * columns,
                               s->part + i * n);
        for (size_t i = 0; i < n; i++)
            for (size_t j = i; j < n; j++)
                s->factor[i * n + j] += (double)s->part[i * n + j];
    }
    for (size_t i = 0; slope != NULL && i < n; i++)
        for (size_t j = i; j < n; j++)
            s->factor[i * n + j] *= (double)slope[i] * (double)slope[j];
}

/* Factors the lowest layer over the entries known. */
static int factor_sensory(struct solver *s, const struct layer *layer, const unsigned char *known)
{
    size_t n = layer->above, count = 0;
    double trace = 0;
    for (size_t j = 0; j < layer->below; j++)
        if (known == NULL || known[j])
            s->column[count++] = j;
    solver_gram(s, layer, count, NULL);
    for (size_t i = 0; i < n; i++)
        trace += s->factor[i * n + i];
    for (size_t i = 0; i < n; i++)
        s->factor[i * n + i] += sensory_ridge * trace / (double)n;
    return cholesky_factor(n, s->factor);
}

/* Factors layer l > 0 at the top-down start. */
static int factor_upper(struct linear *linear, struct solver *s, size_t l)
{
    const struct model *m = linear->model;
    const struct layer *layer = &linear->particle->layer[l];
    struct factored *f = &linear->layer[l];
    size_t n = layer->above;
    f->factor = alloc_uncleared(n * n, sizeof *f->factor);
    f->slope = alloc_uncleared(n + layer->below, sizeof *f->slope);
    if (f->factor == NULL || f->slope == NULL)
        return -1;
    f->prediction = f->slope + n;
    f->start = linear->start + m->offset[l + 1];
    activation_apply(m->options.activation, 0, n, f->start, s->value, f->slope);
    matmul_row(n, layer->below, layer->mean, s->value, f->prediction);
    for (size_t j = 0; j < layer->below; j++)
        s->column[j] = j;
    solver_gram(s, layer, layer->below, f->slope);
    for (size_t i = 0; i < n; i++)
        s->factor[i * n + i] += upper_ridge;
    memcpy(f->factor, s->factor, n * n * sizeof *f->factor);
    return cholesky_factor(n, f->factor);
}

void linear_free(struct linear *linear)
{
    if (linear == NULL)
        return;
    for (size_t l = 0; l < BPCN_MAX_LAYERS; l++) {
        free(linear->layer[l].factor);
        free(linear->layer[l].slope);
    }
    free(linear->start);
    free(linear);
}

struct linear *linear_create(const struct model *model, const struct particle *particle, const real *start,
                             struct masks masks)
{
    struct linear *linear = alloc_zeroed(1, sizeof *linear);
    struct solver s = {.some = NULL};
    size_t n = model->width[1];
    if (linear == NULL)
        return NULL;
    *linear = (struct linear){.model = model, .particle = particle};
    linear->start = alloc_uncleared(model->code_dim, sizeof *linear->start);
    int failed = solver_create(&s, model) != 0 || linear->start == NULL;
    if (!failed)
        memcpy(linear->start, start, model->code_dim * sizeof *start);
    if (!failed && masks.same) {
        linear->layer[0].factor = alloc_uncleared(n * n, sizeof *s.factor);
        failed = linear->layer[0].factor == NULL || factor_sensory(&s, &particle->layer[0], masks.mask) != 0;
        if (!failed)
            memcpy(linear->layer[0].factor, s.factor, n * n * sizeof *s.factor);
    }
    for (size_t l = 1; l < model->options.layers && !failed; l++)
        failed = factor_upper(linear, &s, l) != 0;
    solver_free(&s);
    if (!failed)
        return linear;
    linear_free(linear);
    return NULL;
}

/* ---- rows */

/* b = M error' */
static void solver_project(struct solver *s, const struct layer *layer)
{
    size_t n = layer->above, i = 0;
    const real *mean = layer->mean;
    for (; i + 4 <= n; i += 4)
        dot_four(layer->below, layer->below, mean + i * layer->below, s->error, s->product + i);
    for (; i < n; i++)
        s->product[i] = (real)dot(layer->below, mean + i * layer->below, s->error);
    for (i = 0; i < n; i++)
        s->b[i] = (double)s->product[i];
}

/* x with f(x) = z, or nearest to that where z is out of f's range. */
static void solver_invert(struct solver *s, bpcn_activation kind, size_t n, real *x)
{
    double at_zero = activation_of(kind)->slope_at_zero;
    for (size_t j = 0; j < n; j++)
        x[j] = (real)(s->z[j] / at_zero);
    for (int step = 0; step < INVERSE_STEPS; step++) {
        activation_apply(kind, 0, n, x, s->value, s->slope);
        for (size_t j = 0; j < n; j++) {
            real slope = s->slope[j] > least_slope ? s->slope[j] : least_slope;
            real move = ((real)s->z[j] - s->value[j]) / slope;
            x[j] += move > 1 ? 1 : move < -1 ? -1 : move;
        }
    }
}

/* x_1 from what is known of x. */
static int solve_sensory(struct solver *s, const struct linear *linear, const real *x, const unsigned char *known,
                         real *code)
{
    const struct layer *layer = &linear->particle->layer[0];
    const double *factor = linear->layer[0].factor;
    size_t n = layer->above;
    if (factor == NULL && factor_sensory(s, layer, known) != 0)
        return -1;
    factor = factor != NULL ? factor : s->factor;
    for (size_t j = 0; j < layer->below; j++)
        s->error[j] = known == NULL || known[j] ? x[j] : 0;
    memset(s->z, 0, n * sizeof *s->z);
    for (int round = 0; round <= CORRECTIONS; round++) {
        solver_project(s, layer);
        cholesky_solve(n, factor, s->b);
        for (size_t i = 0; i < n; i++) {
            s->z[i] += s->b[i];
            s->value[i] = (real)s->z[i];
        }
        if (round == CORRECTIONS)
            break;
        matmul_row(n, layer->below, layer->mean, s->value, s->error);
        for (size_t j = 0; j < layer->below; j++)
            s->error[j] = known == NULL || known[j] ? x[j] - s->error[j] : 0;
    }
    solver_invert(s, linear->model->options.activation, n, code);
    return 0;
}

/* x_{l+1} from x_l. */
static void solve_upper(struct solver *s, const struct linear *linear, size_t l, const real *below, real *code)
{
    const struct layer *layer = &linear->particle->layer[l];
    const struct factored *f = &linear->layer[l];
    for (size_t j = 0; j < layer->below; j++)
        s->error[j] = below[j] - f->prediction[j];
    solver_project(s, layer);
    for (size_t i = 0; i < layer->above; i++)
        s->b[i] *= (double)f->slope[i];
    cholesky_solve(layer->above, f->factor, s->b);
    for (size_t i = 0; i < layer->above; i++)
        code[i] = f->start[i] + (real)s->b[i];
}

int linear_code(const struct linear *linear, const real *x, const unsigned char *known, real *code)
{
    const struct model *m = linear->model;
    struct solver s;
    int failed = solver_create(&s, m) != 0 || solve_sensory(&s, linear, x, known, code + m->offset[1]) != 0;
    for (size_t l = 1; l < m->options.layers && !failed; l++)
        solve_upper(&s, linear, l, code + m->offset[l], code + m->offset[l + 1]);
    solver_free(&s);
    return failed ? -1 : 0;
}
