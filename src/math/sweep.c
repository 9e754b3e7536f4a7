/*
 * Products for a single row (compiled per precision): matrices are read row after row, four rows
 * at a time, so that the sums they share are loaded and stored once for four.
 */
#include "sweep.h"

#include "linalg.h"

#include <string.h>

enum {
    COLUMNS = 64, /* shares of columns are multiples of this: a few cache lines */
    ROWS = 16     /* rows of a root's share */
};

size_t sweep_scratch(size_t width, size_t parts)
{
    return (parts + 1) * width;
}

struct mean_job {
    size_t above, below;
    const real *mean, *z, *target;
    const unsigned char *known;
    real *error, *pull;
};

/* out [n] = z times columns first .. first + n of the mean */
static void add_rows(size_t above, size_t below, size_t first, size_t n, const real *mean, const real *z, real *out)
{
    size_t i = 0;
    memset(out, 0, n * sizeof *out);
    for (; i + 4 <= above; i += 4)
        add_four(n, below, mean + i * below + first, z + i, out);
    for (; i < above; i++)
        axpy(n, (double)z[i], mean + i * below + first, out);
}

void sweep_down(size_t above, size_t below, const real *mean, const real *z, real *out)
{
    add_rows(above, below, 0, below, mean, z, out);
}

/* The errors of this part's columns. */
static void error_part(void *context, size_t part, size_t parts)
{
    struct mean_job *m = context;
    size_t first, last;
    team_share(m->below, COLUMNS, part, parts, &first, &last);
    real *error = m->error + first;
    add_rows(m->above, m->below, first, last - first, m->mean, m->z, error);
    for (size_t j = 0; j < last - first; j++)
        error[j] = m->known == NULL || m->known[first + j] ? m->target[first + j] - error[j] : 0;
}

/* What the errors pull in this part's rows. */
static void pull_part(void *context, size_t part, size_t parts)
{
    struct mean_job *m = context;
    size_t first, last, i;
    team_share(m->above, 4, part, parts, &first, &last);
    for (i = first; i + 4 <= last; i += 4)
        dot_four(m->below, m->below, m->mean + i * m->below, m->error, m->pull + i);
    for (; i < last; i++)
        m->pull[i] = (real)dot(m->below, m->mean + i * m->below, m->error);
}

double sweep_mean(struct team *team, size_t above, size_t below, const real *mean, const real *z, const real *target,
                  const unsigned char *known, real *error, real *pull)
{
    struct mean_job job = {above, below, mean, z, target, known, error, pull};
    team_run(team, error_part, &job);
    if (pull != NULL)
        team_run(team, pull_part, &job);
    return sum_of_squares(below, error);
}

struct add_job {
    size_t above, below;
    const real *gain, *error;
    real *mean;
};

static void add_part(void *context, size_t part, size_t parts)
{
    struct add_job *m = context;
    size_t first, last;
    team_share(m->above, 4, part, parts, &first, &last);
    for (size_t i = first; i < last; i++)
        axpy(m->below, (double)m->gain[i], m->error, m->mean + i * m->below);
}

void sweep_add(struct team *team, size_t above, size_t below, const real *gain, const real *error, real *mean)
{
    struct add_job job = {above, below, gain, error, mean};
    team_run(team, add_part, &job);
}

struct root_job {
    size_t width;
    const real *root, *z;
    real *spread, *f; /* spread [parts x width], f [width] */
};

/* Rows i .. i+3 of the root: f = row . z, then spread += f row. Their first columns, a triangle,
   go one by one. */
static void root_four(const struct root_job *r, size_t i, real *spread)
{
    size_t n = r->width, common = i + 3 < n ? i + 3 : n;
    const real *rows = r->root + i * n;
    real f[4] = {0};
    if (n - common > 0)
        dot_four(n - common, n, rows + common, r->z + common, f);
    for (size_t k = 0; k < 3; k++)
        for (size_t j = i + k; j < common; j++)
            f[k] += rows[k * n + j] * r->z[j];
    for (size_t k = 0; k < 3; k++)
        for (size_t j = i + k; j < common; j++)
            spread[j] += f[k] * rows[k * n + j];
    add_four(n - common, n, rows + common, f, spread + common);
    memcpy(r->f + i, f, sizeof f);
}

/* Every parts-th share of rows, because the rows get shorter. */
static void root_part(void *context, size_t part, size_t parts)
{
    struct root_job *r = context;
    size_t n = r->width;
    real *spread = r->spread + part * n;
    memset(spread, 0, n * sizeof *spread);
    for (size_t first = part * ROWS; first < n; first += parts * ROWS) {
        size_t i = first, last = first + ROWS < n ? first + ROWS : n;
        for (; i + 4 <= last; i += 4)
            root_four(r, i, spread);
        for (; i < last; i++) {
            r->f[i] = (real)dot(n - i, r->root + i * n + i, r->z + i);
            axpy(n - i, (double)r->f[i], r->root + i * n + i, spread + i);
        }
    }
}

double sweep_root(struct team *team, size_t width, const real *root, const real *z, real *spread, real *scratch)
{
    size_t parts = team_size(team);
    struct root_job job = {width, root, z, scratch, scratch + parts * width};
    team_run(team, root_part, &job);
    memcpy(spread, scratch, width * sizeof *spread);
    for (size_t part = 1; part < parts; part++)
        axpy(width, 1, scratch + part * width, spread);
    return sum_of_squares(width, job.f);
}
