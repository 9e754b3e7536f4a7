/* Part of kernel_set.c, which includes it for each precision: `real` is the type, `whole` the integer of
   its size, OF(name) the name with its suffix. */

typedef real OF(vector) __attribute__((vector_size(VECTOR_BYTES), aligned(sizeof(real)), may_alias));
typedef whole OF(mask) __attribute__((vector_size(VECTOR_BYTES), aligned(sizeof(real)), may_alias));

enum {
    OF(LANES) = VECTOR_BYTES / sizeof(real), /* of a vector */
    OF(LINE) = LINE_BYTES / sizeof(real)     /* entries of a line */
};

/* ---- tiles of a matrix product */

INLINED void OF(tile_of)(size_t rows, size_t lines, size_t count, const real *a, const real *b, size_t apart, int add,
                         real *out, size_t columns)
{
    const size_t vectors = lines * PARTS;
    OF(vector) sum[TILE_ROWS][TILE_LINES * PARTS];
    UNROLLED
    for (size_t r = 0; r < rows; r++)
        for (size_t p = 0; p < vectors; p++)
            sum[r][p] = add ? ((const OF(vector) *)(out + r * columns))[p] : (OF(vector)){0};
    for (size_t k = 0; k < count; k++) {
        for (size_t l = 0; rows == TILE_ROWS && l < lines; l++) /* what comes next, into the second cache */
            __builtin_prefetch((const void *)((uintptr_t)b + ((lines + l) * apart + k * OF(LINE)) * sizeof *b), 0, 1);
        for (size_t r = 0; r < rows; r++)
            for (size_t p = 0; p < vectors; p++)
                sum[r][p] += a[k * rows + r] * ((const OF(vector) *)(b + p / PARTS * apart + k * OF(LINE)))[p % PARTS];
    }
    UNROLLED
    for (size_t r = 0; r < rows; r++)
        for (size_t p = 0; p < vectors; p++)
            ((OF(vector) *)(out + r * columns))[p] = sum[r][p];
}

INLINED void OF(tile_by)(size_t rows, size_t lines, size_t count, const real *a, const real *b, size_t apart, int add,
                         real *out, size_t columns)
{
    if (lines == 1)
        OF(tile_of)(rows, 1, count, a, b, apart, add, out, columns);
    else
        OF(tile_of)(rows, TILE_LINES, count, a, b, apart, add, out, columns);
}

/* Code of its own for each number of rows and of lines: the compiler must know them to keep the sums in registers. */
static void OF(tile)(size_t rows, size_t lines, size_t count, const real *a, const real *b, size_t apart, int add,
                     real *out, size_t columns)
{
    switch (rows) {
    case 1:
        OF(tile_by)(1, lines, count, a, b, apart, add, out, columns);
        return;
    case 2:
        OF(tile_by)(2, lines, count, a, b, apart, add, out, columns);
        return;
    case 3:
        OF(tile_by)(3, lines, count, a, b, apart, add, out, columns);
        return;
#if TILE_ROWS > 3
    case 4:
        OF(tile_by)(4, lines, count, a, b, apart, add, out, columns);
        return;
    case 5:
        OF(tile_by)(5, lines, count, a, b, apart, add, out, columns);
        return;
    case 6:
        OF(tile_by)(6, lines, count, a, b, apart, add, out, columns);
        return;
#endif
#if TILE_ROWS > 6
    case 7:
        OF(tile_by)(7, lines, count, a, b, apart, add, out, columns);
        return;
    case 8:
        OF(tile_by)(8, lines, count, a, b, apart, add, out, columns);
        return;
    case 9:
        OF(tile_by)(9, lines, count, a, b, apart, add, out, columns);
        return;
    case 10:
        OF(tile_by)(10, lines, count, a, b, apart, add, out, columns);
        return;
    case 11:
        OF(tile_by)(11, lines, count, a, b, apart, add, out, columns);
        return;
    case 12:
        OF(tile_by)(12, lines, count, a, b, apart, add, out, columns);
        return;
#endif
    default:
        return;
    }
}

/* ---- sums of products: a line or two of partial sums, then a tree of those */

/* The sum of `count` vectors, a power of two: each half is added to the other until one number is left. */
INLINED real OF(total)(size_t count, OF(vector) * sum)
{
    real lane[OF(LANES)];
    for (size_t half = count / 2; half > 0; half /= 2)
        for (size_t p = 0; p < half; p++)
            sum[p] += sum[p + half];
    *(OF(vector) *)lane = sum[0];
    for (size_t half = OF(LANES) / 2; half > 0; half /= 2)
        for (size_t i = 0; i < half; i++)
            lane[i] += lane[i + half];
    return lane[0];
}

/* Adds the products of `lines` lines of `rows` rows, `stride` apart, to sums that are `count` vectors apart. */
INLINED void OF(add_products)(size_t rows, size_t lines, size_t count, size_t stride, const real *x, const real *y,
                              OF(vector) * sum)
{
    for (size_t p = 0; p < lines * PARTS; p++) {
        OF(vector) v = *(const OF(vector) *)(y + p * OF(LANES));
        for (size_t r = 0; r < rows; r++)
            sum[r * count + p] += *(const OF(vector) *)(x + r * stride + p * OF(LANES)) * v;
    }
}

/* The last `rest` of n products, fewer than a line: the last line of the rows, without what has been added. */
INLINED void OF(add_last)(size_t rows, size_t count, size_t n, size_t rest, size_t stride, const real *x, const real *y,
                          OF(vector) * sum)
{
    if (n < OF(LINE)) {
        real last[5 * OF(LINE)] = {0};
        for (size_t r = 0; r < rows; r++)
            memcpy(last + r * OF(LINE), x + r * stride, n * sizeof *x);
        memcpy(last + rows * OF(LINE), y, n * sizeof *y);
        OF(add_products)(rows, 1, count, OF(LINE), last, last + rows * OF(LINE), sum);
        return;
    }
    for (size_t p = 0; p < PARTS; p++) {
        size_t at = n - OF(LINE) + p * OF(LANES);
        OF(mask) keep = *(const OF(mask) *)((const char *)kept + rest * sizeof(real) + p * VECTOR_BYTES);
        OF(vector) v = (OF(vector))(*(const OF(mask) *)(y + at) & keep);
        for (size_t r = 0; r < rows; r++)
            sum[r * count + p] += (OF(vector))(*(const OF(mask) *)(x + r * stride + at) & keep) * v;
    }
}

INLINED void OF(dots)(size_t rows, size_t lines, size_t n, size_t stride, const real *x, const real *y, real *f)
{
    const size_t count = lines * PARTS;
    OF(vector) sum[4 * PARTS];
    size_t j = 0;
    for (size_t i = 0; i < rows * count; i++)
        sum[i] = (OF(vector)){0};
    for (; j + lines * OF(LINE) <= n; j += lines * OF(LINE))
        OF(add_products)(rows, lines, count, stride, x + j, y + j, sum);
    for (; lines > 1 && j + OF(LINE) <= n; j += OF(LINE))
        OF(add_products)(rows, 1, count, stride, x + j, y + j, sum);
    if (j < n)
        OF(add_last)(rows, count, n, n - j, stride, x, y, sum);
    for (size_t r = 0; r < rows; r++)
        f[r] = OF(total)(count, sum + r * count);
}

static double OF(dot)(size_t n, const real *x, const real *y)
{
    enum { PIECE = 128 * 2 * OF(LINE) };
    double sum = 0;
    for (size_t i = 0; i < n; i += PIECE) {
        real piece;
        OF(dots)(1, 2, n - i < PIECE ? n - i : PIECE, 0, x + i, y + i, &piece);
        sum += (double)piece;
    }
    return sum;
}

static void OF(dot_four)(size_t n, size_t stride, const real *rows, const real *z, real *f)
{
    for (size_t r = 0; r < 4; r += SWEPT)
        OF(dots)(SWEPT, 1, n, stride, rows + r * stride, z, f + r);
}

/* ---- sums of rows */

static void OF(axpy)(size_t n, double factor, const real *x, real *y)
{
    const real a = (real)factor;
    size_t i = 0;
    for (; i + OF(LINE) <= n; i += OF(LINE)) {
        const OF(vector) *from = (const OF(vector) *)(x + i);
        OF(vector) *to = (OF(vector) *)(y + i);
        for (size_t p = 0; p < PARTS; p++)
            to[p] += a * from[p];
    }
    for (; i < n; i++)
        y[i] += a * x[i];
}

INLINED void OF(add_rows)(size_t rows, size_t n, size_t stride, const real *row, const real *z, real *out)
{
    size_t j = 0;
    for (; j + OF(LINE) <= n; j += OF(LINE))
        for (size_t p = 0; p < PARTS; p++) {
            OF(vector) *to = (OF(vector) *)(out + j) + p, sum = *to;
            for (size_t r = 0; r < rows; r++)
                sum += z[r] * *((const OF(vector) *)(row + r * stride + j) + p);
            *to = sum;
        }
    for (; j < n; j++)
        for (size_t r = 0; r < rows; r++)
            out[j] += z[r] * row[r * stride + j];
}

static void OF(add_four)(size_t n, size_t stride, const real *rows, const real *z, real *out)
{
    const real own[4] = {z[0], z[1], z[2], z[3]};
    OF(add_rows)(4, n, stride, rows, own, out);
}
