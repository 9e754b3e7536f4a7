/* Part of matmul.c, which includes it for float and for double: `real` is the type, OF(name) the name with its suffix.
 */

/* ---- packing */

enum { OF(LINE) = LINE_BYTES / sizeof(real) };

/* Zeroes what a triangular panel at column j does not have: k < j + i, or k > j + i. */
static void OF(clear_triangle)(enum panel_shape shape, size_t rows, size_t j, real *panel)
{
    for (size_t i = 0; i < OF(LINE); i++) {
        for (size_t k = 0; shape == PANEL_LOWER && k < j + i && k < rows; k++)
            panel[k * OF(LINE) + i] = 0;
        for (size_t k = j + i + 1; shape == PANEL_UPPER && k < rows; k++)
            panel[k * OF(LINE) + i] = 0;
    }
}

struct panels OF(matmul_pack_part)(size_t rows, size_t columns, const real *m, size_t stride, int transposed,
                                   enum panel_shape shape, real *data)
{
    for (size_t j = 0; j < columns; j += OF(LINE)) {
        real *panel = data + j * rows;
        size_t width = least(columns - j, OF(LINE));
        if (width < OF(LINE))
            memset(panel, 0, rows * OF(LINE) * sizeof *panel);
        for (size_t k = 0; !transposed && k < rows; k++)
            memcpy(panel + k * OF(LINE), m + k * stride + j, width * sizeof *m);
        for (size_t i = 0; transposed && i < width; i++)
            for (size_t k = 0; k < rows; k++)
                panel[k * OF(LINE) + i] = m[(j + i) * stride + k];
        OF(clear_triangle)(shape, rows, j, panel);
    }
    return (struct panels){rows, columns, shape, data};
}

struct panels OF(matmul_pack)(size_t rows, size_t columns, const real *m, int transposed, enum panel_shape shape,
                              real *data)
{
    return OF(matmul_pack_part)(rows, columns, m, transposed ? rows : columns, transposed, shape, data);
}

/* ---- products of many rows */

/* The `lines` panels at column j, rows first .. last, times `rows` ordered rows. The last panel may be narrower than a
   line; its result goes through a tile on the stack. */
static void OF(multiply_tile)(const struct kernels *kernels, size_t rows, const struct panels *p, size_t j,
                              size_t lines, size_t first, size_t last, int add, const real *a, real *out,
                              size_t out_stride)
{
    size_t width = p->columns - j, apart = p->rows * OF(LINE);
    const real *panel = (const real *)p->data + j * p->rows + first * OF(LINE);
    out += j;
    if (width >= OF(LINE)) {
        kernels->OF(tile)(rows, lines, last - first, a, panel, apart, add, out, out_stride);
        return;
    }
    real tile[MOST_TILE_ROWS * OF(LINE)] = {0};
    for (size_t r = 0; r < rows; r++)
        memcpy(tile + r * OF(LINE), out + r * out_stride, width * sizeof *out);
    kernels->OF(tile)(rows, 1, last - first, a, panel, apart, add, tile, OF(LINE));
    for (size_t r = 0; r < rows; r++)
        memcpy(out + r * out_stride, tile + r * OF(LINE), width * sizeof *out);
}

/* Orders the first `count` columns of n rows as the tiles read them: tile by tile, each column by column. */
static void OF(order_rows)(size_t most, size_t n, size_t count, const real *a, size_t stride, real *out)
{
    for (size_t i = 0; i < n; i += most) {
        size_t rows = least(most, n - i);
        for (size_t r = 0; r < rows; r++)
            for (size_t k = 0; k < count; k++)
                out[i * count + k * rows + r] = a[(i + r) * stride + k];
    }
}

/* One stretch of k for some rows and the panels of columns from .. to; ordered [n x STRETCH]. Added to what is there if
   `add`. */
static void OF(multiply_stretch)(const struct kernels *kernels, const struct panels *p, size_t from, size_t to,
                                 size_t n, size_t start, const real *a, size_t a_stride, int add, real *out,
                                 size_t out_stride, real *ordered)
{
    size_t count = least(STRETCH, p->rows - start), most = kernels->tile_rows;
    OF(order_rows)(most, n, count, a + start, a_stride, ordered);
    for (size_t j = from, lines; j < to; j += lines * OF(LINE)) {
        size_t first, last;
        lines = least(to, p->columns) - j >= kernels->tile_lines * OF(LINE) ? kernels->tile_lines : 1;
        panel_range(p, lines * OF(LINE), j, &first, &last);
        int later = start > first / STRETCH * STRETCH; /* not the panel's first stretch */
        first = first > start ? first : start;
        last = least(last, start + count);
        for (size_t i = 0; first < last && i < n; i += most) {
            size_t rows = least(most, n - i);
            OF(multiply_tile)
            (kernels, rows, p, j, lines, first, last, add || later, ordered + i * count + (first - start) * rows,
             out + i * out_stride, out_stride);
        }
    }
}

/* The stack holds what a few rows need; more rows want memory, and go a few at a time where there is none. */
static void OF(multiply_rows)(const struct kernels *kernels, const struct panels *p, size_t from, size_t to, size_t n,
                              const real *a, size_t a_stride, int add, real *out, size_t out_stride)
{
    enum { FEW_ROWS = 8192 / (STRETCH * sizeof(real)) };
    real few[FEW_ROWS * STRETCH], *many = NULL;
    size_t chunk = least(n, CHUNK), length = p->rows < STRETCH ? p->rows + 1 : STRETCH;
    if (chunk * length > FEW_ROWS * STRETCH)
        many = alloc_uncleared(chunk * length, sizeof *many);
    if (many == NULL)
        chunk = least(CHUNK, FEW_ROWS * STRETCH / length);
    for (size_t i = 0; i < n; i += chunk)
        for (size_t start = 0; start < p->rows; start += STRETCH)
            OF(multiply_stretch)
            (kernels, p, from, to, least(chunk, n - i), start, a + i * a_stride, a_stride, add, out + i * out_stride,
             out_stride, many != NULL ? many : few);
    free(many);
}

void OF(matmul_by)(const struct kernels *kernels, const struct panels *p, size_t n, const real *a, real *out)
{
    OF(multiply_rows)(kernels, p, 0, p->columns, n, a, p->rows, 0, out, p->columns);
}

void OF(matmul_columns)(const struct panels *p, size_t from, size_t to, size_t n, const real *a, real *out)
{
    OF(multiply_rows)(kernels_chosen(), p, from, to, n, a, p->rows, 0, out, p->columns);
}

void OF(matmul_serial)(const struct panels *p, size_t n, const real *a, real *out)
{
    OF(matmul_by)(kernels_chosen(), p, n, a, out);
}

void OF(matmul_plain)(const struct panels *p, size_t n, const real *a, real *out)
{
    const real *data = p->data;
    for (size_t i = 0; i < n; i++)
        for (size_t c = 0; c < p->columns; c++) {
            real sum = 0;
            for (size_t k = 0; k < p->rows; k++)
                sum += a[i * p->rows + k] * data[c / OF(LINE) * OF(LINE) * p->rows + k * OF(LINE) + c % OF(LINE)];
            out[i * p->columns + c] = sum;
        }
}

/* ---- products of one row: four rows of the matrix at a time, so that their common sums are loaded and stored once */

struct OF(residual_job) {
    size_t above, below;
    const real *mean, *z, *target;
    const unsigned char *known;
    real *error, *residual_grad;
};

/* out [n] = z times columns first .. first + n of the mean */
static void OF(row_times)(size_t above, size_t below, size_t first, size_t n, const real *mean, const real *z,
                          real *out)
{
    size_t i = 0;
    memset(out, 0, n * sizeof *out);
    for (; i + 4 <= above; i += 4)
        add_four(n, below, mean + i * below + first, z + i, out);
    for (; i < above; i++)
        axpy(n, (double)z[i], mean + i * below + first, out);
}

void OF(matmul_row)(size_t above, size_t below, const real *mean, const real *z, real *out)
{
    OF(row_times)(above, below, 0, below, mean, z, out);
}

/* The errors of this part's columns. */
static void OF(residual_part)(void *context, size_t part, size_t parts)
{
    struct OF(residual_job) *m = context;
    size_t first, last;
    threads_share(m->below, ROW_COLUMNS, part, parts, &first, &last);
    real *error = m->error + first;
    OF(row_times)(m->above, m->below, first, last - first, m->mean, m->z, error);
    for (size_t j = 0; j < last - first; j++)
        error[j] = m->known == NULL || m->known[first + j] ? m->target[first + j] - error[j] : 0;
}

/* The entries of error mean' of this part's rows. */
static void OF(residual_grad_part)(void *context, size_t part, size_t parts)
{
    struct OF(residual_job) *m = context;
    size_t first, last, i;
    threads_share(m->above, 4, part, parts, &first, &last);
    for (i = first; i + 4 <= last; i += 4)
        dot_four(m->below, m->below, m->mean + i * m->below, m->error, m->residual_grad + i);
    for (; i < last; i++)
        m->residual_grad[i] = (real)dot(m->below, m->mean + i * m->below, m->error);
}

double OF(matmul_residual)(struct team *team, size_t above, size_t below, const real *mean, const real *z,
                           const real *target, const unsigned char *known, real *error, real *residual_grad)
{
    struct OF(residual_job) job = {above, below, mean, z, target, known, error, residual_grad};
    threads_run(team, OF(residual_part), &job);
    if (residual_grad != NULL)
        threads_run(team, OF(residual_grad_part), &job);
    return sum_of_squares(below, error);
}

struct OF(outer_job) {
    size_t above, below;
    const real *gain, *error;
    real *mean;
};

static void OF(outer_part)(void *context, size_t part, size_t parts)
{
    struct OF(outer_job) *m = context;
    size_t first, last;
    threads_share(m->above, 4, part, parts, &first, &last);
    for (size_t i = first; i < last; i++)
        axpy(m->below, (double)m->gain[i], m->error, m->mean + i * m->below);
}

void OF(matmul_add_outer)(struct team *team, size_t above, size_t below, const real *gain, const real *error,
                          real *mean)
{
    struct OF(outer_job) job = {above, below, gain, error, mean};
    threads_run(team, OF(outer_part), &job);
}

struct OF(covariance_job) {
    size_t width;
    const real *root, *z;
    real *spread, *f; /* spread [parts x width], f [width] */
};

/* Rows i .. i+3 of the root: f = row . z, then spread += f row. Their first columns are a triangle and go one by
   one. */
static void OF(covariance_four)(const struct OF(covariance_job) * r, size_t i, real *spread)
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

/* Every parts-th share of rows, because later rows are shorter. */
static void OF(covariance_part)(void *context, size_t part, size_t parts)
{
    struct OF(covariance_job) *r = context;
    size_t n = r->width;
    real *spread = r->spread + part * n;
    memset(spread, 0, n * sizeof *spread);
    for (size_t first = part * COVARIANCE_ROWS; first < n; first += parts * COVARIANCE_ROWS) {
        size_t i = first, last = first + COVARIANCE_ROWS < n ? first + COVARIANCE_ROWS : n;
        for (; i + 4 <= last; i += 4)
            OF(covariance_four)(r, i, spread);
        for (; i < last; i++) {
            r->f[i] = (real)dot(n - i, r->root + i * n + i, r->z + i);
            axpy(n - i, (double)r->f[i], r->root + i * n + i, spread + i);
        }
    }
}

double OF(matmul_covariance)(struct team *team, size_t width, const real *root, const real *z, real *spread,
                             real *scratch)
{
    size_t parts = threads_count(team);
    struct OF(covariance_job) job = {width, root, z, scratch, scratch + parts * width};
    threads_run(team, OF(covariance_part), &job);
    memcpy(spread, scratch, width * sizeof *spread);
    for (size_t part = 1; part < parts; part++)
        axpy(width, 1, scratch + part * width, spread);
    return sum_of_squares(width, job.f);
}
