/* Part of gemm.c, which includes it for each precision: `real` is the type, OF(name) the name with its
   suffix. */

enum { OF(LINE) = LINE_BYTES / sizeof(real) };

/* Zeroes what a triangular panel at column j does not have: k < j + i, or k > j + i. */
static void OF(clear_beyond_diagonal)(enum panel_shape shape, size_t rows, size_t j, real *panel)
{
    for (size_t i = 0; i < OF(LINE); i++) {
        for (size_t k = 0; shape == PANEL_LOWER && k < j + i && k < rows; k++)
            panel[k * OF(LINE) + i] = 0;
        for (size_t k = j + i + 1; shape == PANEL_UPPER && k < rows; k++)
            panel[k * OF(LINE) + i] = 0;
    }
}

struct panels OF(panels_fill)(size_t rows, size_t columns, const real *m, int transposed, enum panel_shape shape,
                              real *data)
{
    for (size_t j = 0; j < columns; j += OF(LINE)) {
        real *panel = data + j * rows;
        size_t width = least(columns - j, OF(LINE));
        if (width < OF(LINE))
            memset(panel, 0, rows * OF(LINE) * sizeof *panel);
        for (size_t k = 0; !transposed && k < rows; k++)
            memcpy(panel + k * OF(LINE), m + k * columns + j, width * sizeof *m);
        for (size_t i = 0; transposed && i < width; i++)
            for (size_t k = 0; k < rows; k++)
                panel[k * OF(LINE) + i] = m[(j + i) * rows + k];
        OF(clear_beyond_diagonal)(shape, rows, j, panel);
    }
    return (struct panels){rows, columns, shape, data};
}

/* The `lines` panels at column j, rows first .. last, times `rows` rows that were put in order, out at their first.
   The last panel may be narrower than a line: that one goes through a tile of its own. */
static void OF(cell)(const struct kernels *kernels, size_t rows, const struct panels *p, size_t j, size_t lines,
                     size_t first, size_t last, int add, const real *a, real *out)
{
    size_t width = p->columns - j, apart = p->rows * OF(LINE);
    const real *panel = (const real *)p->data + j * p->rows + first * OF(LINE);
    out += j;
    if (width >= OF(LINE)) {
        kernels->OF(tile)(rows, lines, last - first, a, panel, apart, add, out, p->columns);
        return;
    }
    real tile[MOST_TILE_ROWS * OF(LINE)] = {0};
    for (size_t r = 0; r < rows; r++)
        memcpy(tile + r * OF(LINE), out + r * p->columns, width * sizeof *out);
    kernels->OF(tile)(rows, 1, last - first, a, panel, apart, add, tile, OF(LINE));
    for (size_t r = 0; r < rows; r++)
        memcpy(out + r * p->columns, tile + r * OF(LINE), width * sizeof *out);
}

/* The first `count` columns of n rows, tile by tile, each tile column by column. */
static void OF(put_in_order)(size_t most, size_t n, size_t count, const real *a, size_t stride, real *out)
{
    for (size_t i = 0; i < n; i += most) {
        size_t rows = least(most, n - i);
        for (size_t r = 0; r < rows; r++)
            for (size_t k = 0; k < count; k++)
                out[i * count + k * rows + r] = a[(i + r) * stride + k];
    }
}

/* One stretch of k for up to CHUNK rows and the panels of columns from .. to. */
static void OF(stretch)(const struct kernels *kernels, const struct panels *p, size_t from, size_t to, size_t n,
                        size_t start, const real *a, real *out)
{
    real ordered[CHUNK * STRETCH];
    size_t count = least(STRETCH, p->rows - start), most = kernels->tile_rows;
    OF(put_in_order)(most, n, count, a + start, p->rows, ordered);
    for (size_t j = from, lines; j < to; j += lines * OF(LINE)) {
        size_t first, last;
        lines = least(to, p->columns) - j >= kernels->tile_lines * OF(LINE) ? kernels->tile_lines : 1;
        panel_range(p, lines * OF(LINE), j, &first, &last);
        int add = start > first / STRETCH * STRETCH; /* not the panel's first stretch */
        first = first > start ? first : start;
        last = least(last, start + count);
        for (size_t i = 0; first < last && i < n; i += most) {
            size_t rows = least(most, n - i);
            OF(cell)
            (kernels, rows, p, j, lines, first, last, add, ordered + i * count + (first - start) * rows,
             out + i * p->columns);
        }
    }
}

static void OF(multiply)(const struct kernels *kernels, const struct panels *p, size_t from, size_t to, size_t n,
                         const real *a, real *out)
{
    for (size_t i = 0; i < n; i += CHUNK)
        for (size_t start = 0; start < p->rows; start += STRETCH)
            OF(stretch)(kernels, p, from, to, least(CHUNK, n - i), start, a + i * p->rows, out + i * p->columns);
}

void OF(panels_multiply_by)(const struct kernels *kernels, const struct panels *p, size_t n, const real *a, real *out)
{
    OF(multiply)(kernels, p, 0, p->columns, n, a, out);
}

void OF(panels_multiply_columns)(const struct panels *p, size_t from, size_t to, size_t n, const real *a, real *out)
{
    OF(multiply)(kernels_chosen(), p, from, to, n, a, out);
}

void OF(panels_multiply)(const struct panels *p, size_t n, const real *a, real *out)
{
    OF(panels_multiply_by)(kernels_chosen(), p, n, a, out);
}

void OF(panels_multiply_plain)(const struct panels *p, size_t n, const real *a, real *out)
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
