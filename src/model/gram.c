/*
 * G = R R' in place of R (compiled per precision).
 *
 * |e|^2 / 2s is what is left of terms of the size of |x|^2 / 2s. G, b and the sums are double: with
 * |x|^2 = 3000 and s = 1e-4 they leave an error of 1e-16 * 3000 / 2e-4, a nanonat, where float32
 * would leave none of the digits. What is not exact is that G follows the updates R += c'e in double
 * while R is rounded to float32, by 3e-8 of each entry: a change of e by 3e-8 in random directions
 * moves the energy by e . 3e-8 / s, about 2e-5 nats a write at 3072 entries of e = 0.01, and grows
 * with the root of the number of writes. Measured on CIFAR-10, width 512: 1e-4 nats after 200
 * writes, 5e-4 (rms) after 475, without bias. write.c evaluates every code it accepts directly, and
 * makes G anew when the two energies differ by more than counts.
 */
#include "gram.h"

#include "alloc.h"
#include "linalg.h"

#include <stdlib.h>
#include <string.h>

enum {
    ROWS = 16,   /* rows of G's share */
    COLUMNS = 64 /* of R turned into double at a time */
};

struct gram {
    struct team *team;
    size_t above, below, age;
    double *g;       /* [above x above]: what lies below the diagonal is not used */
    double *b;       /* [above] each from here on */
    double *z;       /* of the sweep at hand */
    double *product; /* z G */
    double *gain, *change;
    double *sums;  /* [parts x above] */
    double *chunk; /* [above x COLUMNS] */
    double squares;
    const real *mean, *x; /* of gram_aim */
};

int gram_pays(size_t above, size_t below, size_t rows)
{
    return above <= below && rows >= 8 && rows >= above / 128;
}

struct gram *gram_create(size_t above, size_t below, struct team *team)
{
    size_t parts = team_size(team);
    struct gram *g = alloc_zeroed(1, sizeof *g);
    double *matrix = alloc_zeroed(above * above, sizeof *matrix);
    double *rest = alloc_zeroed(above, (5 + parts + COLUMNS) * sizeof *rest);
    if (g == NULL || matrix == NULL || rest == NULL) {
        free(g);
        free(matrix);
        free(rest);
        return NULL;
    }
    *g = (struct gram){.team = team, .above = above, .below = below, .g = matrix, .b = rest};
    g->z = g->b + above;
    g->product = g->z + above;
    g->gain = g->product + above;
    g->change = g->gain + above;
    g->sums = g->change + above;
    g->chunk = g->sums + parts * above;
    return g;
}

void gram_free(struct gram *g)
{
    if (g == NULL)
        return;
    free(g->g);
    free(g->b);
    free(g);
}

void gram_fill(struct gram *g, const struct layer *layer)
{
    const real *mean = layer->mean;
    memset(g->g, 0, g->above * g->above * sizeof *g->g);
    for (size_t first = 0; first < g->below; first += COLUMNS) {
        size_t n = first + COLUMNS < g->below ? COLUMNS : g->below - first;
        for (size_t i = 0; i < g->above; i++)
            for (size_t j = 0; j < n; j++)
                g->chunk[i * n + j] = (double)mean[i * g->below + first + j];
        add_gram(g->above, n, g->chunk, g->g);
    }
    g->age = 0;
}

void gram_copy(struct gram *to, const struct gram *from)
{
    memcpy(to->g, from->g, from->above * from->above * sizeof *to->g);
    to->age = from->age;
}

size_t gram_age(const struct gram *g)
{
    return g->age;
}

static void aim_part(void *context, size_t part, size_t parts)
{
    struct gram *g = context;
    size_t first, last;
    team_share(g->above, 4, part, parts, &first, &last);
    for (size_t i = first; i < last; i++)
        g->b[i] = dot_wide(g->below, g->mean + i * g->below, g->x);
}

void gram_aim(struct gram *g, const struct layer *layer, const real *x)
{
    g->mean = layer->mean;
    g->x = x;
    g->squares = dot_wide(g->below, x, x);
    team_run(g->team, aim_part, g);
}

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

/* What this part's rows of the triangle give to z G: every parts-th share, because they get shorter. */
static void sweep_part(void *context, size_t part, size_t parts)
{
    struct gram *g = context;
    size_t n = g->above;
    double *out = g->sums + part * n;
    memset(out, 0, n * sizeof *out);
    for (size_t first = part * ROWS; first < n; first += parts * ROWS) {
        size_t i = first, last = first + ROWS < n ? first + ROWS : n;
        for (; i + 4 <= last; i += 4) {
            for (size_t k = 0; k < 4; k++)
                both_one(i + k, i + 4, g->g + (i + k) * n, g->z, out);
            both_four(n - i - 4, n, g->g + i * n + i + 4, g->z + i, g->z + i + 4, out + i, out + i + 4);
        }
        for (; i < last; i++)
            both_one(i, n, g->g + i * n, g->z, out);
    }
}

/* product = z G */
static void multiply(struct gram *g, const real *z)
{
    for (size_t i = 0; i < g->above; i++)
        g->z[i] = (double)z[i];
    team_run(g->team, sweep_part, g);
    memcpy(g->product, g->sums, g->above * sizeof *g->product);
    for (size_t part = 1; part < team_size(g->team); part++)
        axpy_f64(g->above, 1, g->sums + part * g->above, g->product);
}

double gram_sweep(struct gram *g, const real *z, real *pull)
{
    double explained = 0;
    multiply(g, z);
    for (size_t i = 0; i < g->above; i++) {
        double p = g->b[i] - g->product[i];
        explained += g->z[i] * (g->b[i] + p);
        pull[i] = (real)p;
    }
    return g->squares - explained;
}

double gram_square(const struct gram *g, size_t i)
{
    return g->g[i * g->above + i];
}

static void follow_part(void *context, size_t part, size_t parts)
{
    struct gram *g = context;
    size_t n = g->above;
    for (size_t first = part * ROWS; first < n; first += parts * ROWS)
        for (size_t i = first; i < n && i < first + ROWS; i++) {
            axpy_f64(n - i, g->gain[i], g->change + i, g->g + i * n + i);
            axpy_f64(n - i, g->change[i], g->gain + i, g->g + i * n + i);
        }
}

/* (R + c'e)(R + c'e)' = G + c'(e R') + (R e')c + |e|^2 c'c, the last in halves with the others */
void gram_follow(struct gram *g, const real *z, const real *gain)
{
    double squares = g->squares;
    multiply(g, z);
    for (size_t i = 0; i < g->above; i++) {
        g->gain[i] = (double)gain[i];
        g->change[i] = g->b[i] - g->product[i];
        squares -= g->z[i] * (g->b[i] + g->change[i]);
    }
    axpy_f64(g->above, 0.5 * squares, g->gain, g->change);
    team_run(g->team, follow_part, g);
    g->age++;
}
