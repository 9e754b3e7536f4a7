/*
 * Products with panels (see gemm.h; compiled per precision). The kernel keeps a tile of `mr` rows by 64 bytes of
 * columns in vector registers and runs down k; k is cut into stretches so that a panel's stretch stays in the first
 * cache while all rows pass over it. A stretch of the rows is first put into the order in which the
 * kernels read it, once for all panels; it stays in the second cache.
 */
#include "gemm.h"

#include "real.h"

#include <string.h>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

enum { LANES = 64 / sizeof(real), HALF = LANES / 2, STRETCH = 256, MOST_ROWS = 12, CHUNK = 132 };

size_t panels_entries(size_t rows, size_t columns)
{
    return (columns + LANES - 1) / LANES * LANES * rows;
}

/* Zeroes what a triangular panel at column j does not have: k < j + i, or k > j + i. */
static void clear_beyond_diagonal(enum panel_shape shape, size_t rows, size_t j, real *panel)
{
    for (size_t i = 0; i < LANES; i++) {
        for (size_t k = 0; shape == PANEL_LOWER && k < j + i && k < rows; k++)
            panel[k * LANES + i] = 0;
        for (size_t k = j + i + 1; shape == PANEL_UPPER && k < rows; k++)
            panel[k * LANES + i] = 0;
    }
}

struct panels panels_fill(size_t rows, size_t columns, const real *m, int transposed, enum panel_shape shape,
                          real *data)
{
    for (size_t j = 0; j < columns; j += LANES) {
        real *panel = data + j * rows;
        size_t width = columns - j < LANES ? columns - j : LANES;
        if (width < LANES)
            memset(panel, 0, rows * LANES * sizeof *panel);
        for (size_t k = 0; !transposed && k < rows; k++)
            memcpy(panel + k * LANES, m + k * columns + j, width * sizeof *m);
        for (size_t i = 0; transposed && i < width; i++)
            for (size_t k = 0; k < rows; k++)
                panel[k * LANES + i] = m[(j + i) * rows + k];
        clear_beyond_diagonal(shape, rows, j, panel);
    }
    return (struct panels){rows, columns, shape, data};
}

/* The rows of the panel at column j that are not zero by shape: [*first, *last). */
static void panel_range(const struct panels *p, size_t j, size_t *first, size_t *last)
{
    *first = p->shape == PANEL_LOWER && j < p->rows ? j : 0;
    *last = p->shape == PANEL_UPPER && j + LANES < p->rows ? j + LANES : p->rows;
}

/* A kernel: out [mr x LANES] (+)= a [count x mr]' * b [count x LANES]; out's rows are `columns` apart. */
typedef void kernel(size_t count, const real *a, const real *b, int add, real *out, size_t columns);

/* The kernels of one kind of CPU: tiles of 1 .. `most` rows. A few rows cost as much as four, so
   what is left over goes through one tile. */
struct kernels {
    const char *name;
    size_t most;
    kernel *tile[MOST_ROWS];
};

#define UNROLLED _Pragma("GCC unroll 12")

static inline __attribute__((always_inline)) void tile_portable(size_t mr, size_t count, const real *a, const real *b,
                                                                int add, real *out, size_t columns)
{
    real sum[4][LANES];
    for (size_t r = 0; r < mr; r++)
        for (size_t j = 0; j < LANES; j++)
            sum[r][j] = add ? out[r * columns + j] : 0;
    for (size_t k = 0; k < count; k++)
        for (size_t r = 0; r < mr; r++)
            for (size_t j = 0; j < LANES; j++)
                sum[r][j] += a[k * mr + r] * b[k * LANES + j];
    for (size_t r = 0; r < mr; r++)
        memcpy(out + r * columns, sum[r], sizeof sum[r]);
}

/* A kernel for each number of rows: the compiler must know it to keep the sums in registers. */
#define TILE(isa, target, mr)                                                                                          \
    target static void isa##_##mr(size_t count, const real *a, const real *b, int add, real *out, size_t columns)      \
    {                                                                                                                  \
        tile_##isa(mr, count, a, b, add, out, columns);                                                                \
    }
#define TILES_4(isa, target) TILE(isa, target, 1) TILE(isa, target, 2) TILE(isa, target, 3) TILE(isa, target, 4)
#define TILES_6(isa, target) TILES_4(isa, target) TILE(isa, target, 5) TILE(isa, target, 6)
#define TILES_12(isa, target)                                                                                          \
    TILES_6(isa, target)                                                                                               \
    TILE(isa, target, 7)                                                                                               \
    TILE(isa, target, 8) TILE(isa, target, 9) TILE(isa, target, 10) TILE(isa, target, 11) TILE(isa, target, 12)

TILES_4(portable, )
static const struct kernels portable = {"portable", 4, {portable_1, portable_2, portable_3, portable_4}};

#if defined(__x86_64__)
#define AVX2 __attribute__((target("avx2,fma")))
#define AVX512 __attribute__((target("avx512f")))
#if BPCN_REAL_BITS == 32
#define VECTOR(name) name##_ps
typedef __m256 half_line; /* of the cache */
typedef __m512 line;
#else
#define VECTOR(name) name##_pd
typedef __m256d half_line;
typedef __m512d line;
#endif

AVX2 static inline __attribute__((always_inline)) void tile_avx2(size_t mr, size_t count, const real *a, const real *b,
                                                                 int add, real *out, size_t columns)
{
    half_line left[6], right[6];
    UNROLLED for (size_t r = 0; r < mr; r++)
    {
        left[r] = add ? VECTOR(_mm256_loadu)(out + r * columns) : VECTOR(_mm256_setzero)();
        right[r] = add ? VECTOR(_mm256_loadu)(out + r * columns + HALF) : VECTOR(_mm256_setzero)();
    }
    for (size_t k = 0; k < count; k++) {
        half_line b0 = VECTOR(_mm256_loadu)(b + k * LANES), b1 = VECTOR(_mm256_loadu)(b + k * LANES + HALF);
        UNROLLED for (size_t r = 0; r < mr; r++)
        {
            half_line x = VECTOR(_mm256_set1)(a[k * mr + r]);
            left[r] = VECTOR(_mm256_fmadd)(x, b0, left[r]);
            right[r] = VECTOR(_mm256_fmadd)(x, b1, right[r]);
        }
    }
    UNROLLED for (size_t r = 0; r < mr; r++)
    {
        VECTOR(_mm256_storeu)(out + r * columns, left[r]);
        VECTOR(_mm256_storeu)(out + r * columns + HALF, right[r]);
    }
}

AVX512 static inline __attribute__((always_inline)) void tile_avx512(size_t mr, size_t count, const real *a,
                                                                     const real *b, int add, real *out, size_t columns)
{
    line sum[MOST_ROWS];
    UNROLLED for (size_t r = 0; r < mr; r++)
    {
        sum[r] = add ? VECTOR(_mm512_loadu)(out + r * columns) : VECTOR(_mm512_setzero)();
    }
    for (size_t k = 0; k < count; k++) {
        line row = VECTOR(_mm512_loadu)(b + k * LANES);
        UNROLLED for (size_t r = 0; r < mr; r++)
        {
            sum[r] = VECTOR(_mm512_fmadd)(VECTOR(_mm512_set1)(a[k * mr + r]), row, sum[r]);
        }
    }
    UNROLLED for (size_t r = 0; r < mr; r++)
    {
        VECTOR(_mm512_storeu)(out + r * columns, sum[r]);
    }
}

TILES_6(avx2, AVX2)
TILES_12(avx512, AVX512)
static const struct kernels avx2 = {"avx2", 6, {avx2_1, avx2_2, avx2_3, avx2_4, avx2_5, avx2_6}};
static const struct kernels avx512 = {"avx512",
                                      12,
                                      {avx512_1, avx512_2, avx512_3, avx512_4, avx512_5, avx512_6, avx512_7, avx512_8,
                                       avx512_9, avx512_10, avx512_11, avx512_12}};
#endif

static const struct kernels *choose(void)
{
#if defined(__x86_64__)
    if (__builtin_cpu_supports("avx512f"))
        return &avx512;
    if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma"))
        return &avx2;
#endif
    return &portable;
}

#if BPCN_REAL_BITS == 32
const char *panels_kernel(void)
{
    return choose()->name;
}
#endif

/* The panel at column j times mr rows that were put in order, out at their first. The last panel may
   be narrower than its kernel: that one goes through a tile of its own. */
static void cell(kernel *run, size_t mr, const struct panels *p, size_t j, size_t first, size_t last, int add,
                 const real *a, real *out)
{
    const real *panel = p->data + j * p->rows + first * LANES;
    size_t width = p->columns - j;
    out += j;
    if (width >= LANES) {
        run(last - first, a, panel, add, out, p->columns);
        return;
    }
    real tile[MOST_ROWS * LANES] = {0};
    for (size_t r = 0; r < mr; r++)
        memcpy(tile + r * LANES, out + r * p->columns, width * sizeof *out);
    run(last - first, a, panel, add, tile, LANES);
    for (size_t r = 0; r < mr; r++)
        memcpy(out + r * p->columns, tile + r * LANES, width * sizeof *out);
}

static size_t least(size_t a, size_t b)
{
    return a < b ? a : b;
}

/* Columns start .. start + count of n rows, tile by tile, each tile column by column. */
static void put_in_order(size_t most, size_t n, size_t count, const real *a, size_t stride, real *out)
{
    for (size_t i = 0; i < n; i += most) {
        size_t mr = least(most, n - i);
        for (size_t r = 0; r < mr; r++)
            for (size_t k = 0; k < count; k++)
                out[i * count + k * mr + r] = a[(i + r) * stride + k];
    }
}

/* One stretch of k for up to CHUNK rows and all panels. */
static void stretch(const struct kernels *kernels, const struct panels *p, size_t n, size_t start, const real *a,
                    real *out)
{
    real ordered[CHUNK * STRETCH];
    size_t count = least(STRETCH, p->rows - start);
    put_in_order(kernels->most, n, count, a + start, p->rows, ordered);
    for (size_t j = 0; j < p->columns; j += LANES) {
        size_t first, last;
        panel_range(p, j, &first, &last);
        int add = start > first / STRETCH * STRETCH; /* not the panel's first stretch */
        first = first > start ? first : start;
        last = least(last, start + count);
        for (size_t i = 0; first < last && i < n; i += kernels->most) {
            size_t mr = least(kernels->most, n - i);
            cell(kernels->tile[mr - 1], mr, p, j, first, last, add, ordered + i * count + (first - start) * mr,
                 out + i * p->columns);
        }
    }
}

void panels_multiply(const struct panels *p, size_t n, const real *a, real *out)
{
    const struct kernels *kernels = choose();
    for (size_t i = 0; i < n; i += CHUNK)
        for (size_t start = 0; start < p->rows; start += STRETCH)
            stretch(kernels, p, least(CHUNK, n - i), start, a + i * p->rows, out + i * p->columns);
}

void panels_multiply_plain(const struct panels *p, size_t n, const real *a, real *out)
{
    for (size_t i = 0; i < n; i++)
        for (size_t c = 0; c < p->columns; c++) {
            real sum = 0;
            for (size_t k = 0; k < p->rows; k++)
                sum += a[i * p->rows + k] * p->data[c / LANES * LANES * p->rows + k * LANES + c % LANES];
            out[i * p->columns + c] = sum;
        }
}
