/*
 * The kernels of one set (kernels.h). This file is compiled once for each, with KERNEL_SET: 0 portable, 1 avx2,
 * 2 avx512; the tests compile it also as 3 and 4, vectors of avx512's and portable's width in instructions of avx2,
 * which most CPUs can run.
 *
 * Products go straight into the sum they are added to, never two of them into one expression: so there
 * is only one way for the compiler to fuse them.
 */
#include "kernels.h"

#include <string.h>

/* VECTOR_BYTES: of a vector. TILE_ROWS (3, 6 or 12) and TILE_LINES (1 or 2): the rows and lines of sums that the
   registers hold beside the factors. TARGET: the instructions that the CPU has. */
#if KERNEL_SET == 0
#define SET_NAME portable
#define VECTOR_BYTES 16
#if defined(__aarch64__)
#define TILE_ROWS 6
#else
#define TILE_ROWS 3
#endif
#define TILE_LINES 1
#elif KERNEL_SET == 1
#define SET_NAME avx2
#define TARGET "avx2,fma"
#define VECTOR_BYTES 32
#define TILE_ROWS 6
#define TILE_LINES 1
#elif KERNEL_SET == 2
#define SET_NAME avx512
#define TARGET "avx512f,fma"
#define VECTOR_BYTES 64
#define TILE_ROWS 12
#define TILE_LINES 2
#elif KERNEL_SET == 3
#define SET_NAME wide
#define TARGET "avx2,fma"
#define VECTOR_BYTES 64
#define TILE_ROWS 12
#define TILE_LINES 2
#else
#define SET_NAME narrow
#define TARGET "avx2,fma"
#define VECTOR_BYTES 16
#define TILE_ROWS 3
#define TILE_LINES 1
#endif

/* Here, unlike in the rest of the library, a product may be fused with the sum it is added to. Vectors cross no file,
   so how they would be passed does not matter. */
#define PRAGMA(text) _Pragma(#text)
#pragma GCC diagnostic ignored "-Wpsabi"
#if defined(__clang__)
#pragma clang fp contract(fast)
#ifdef TARGET
#pragma clang attribute push(__attribute__((target(TARGET))), apply_to = function)
#endif
#else
#pragma GCC optimize("fp-contract=fast")
#ifdef TARGET
#define SET_TARGET(names) PRAGMA(GCC target(names))
SET_TARGET(TARGET)
#endif
#endif

#define NAME_OF(set) TEXT_OF(set)
#define TEXT_OF(set) #set
#define INLINED static inline __attribute__((always_inline))

/* For the loops that gcc would otherwise leave as they are, and their vectors in memory. Clang unrolls all
   that it needs to, and less when told; so does gcc with vectors of 16 bytes. */
#if defined(__clang__) || VECTOR_BYTES == 16
#define UNROLLED
#else
#define UNROLLED _Pragma("GCC unroll 12")
#endif

enum {
    WIDE = 16,                         /* sums of dot_wide_f32 */
    PARTS = LINE_BYTES / VECTOR_BYTES, /* vectors of a line */
    SWEPT = TILE_ROWS < 4 ? 2 : 4      /* rows of a sweep at a time: their sums must fit the registers too */
};

/* A line of nothing and a line of everything: masks of the last entries of a line. */
static const _Alignas(LINE_BYTES) int32_t kept[2 * LINE_BYTES / sizeof(int32_t)] = {
    0,  0,  0,  0,  0,  0,  0,  0,  0,  0,  0,  0,  0,  0,  0,  0, //
    -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1};

#define real float
#define whole int32_t
#define OF(name) name##_f32
#include "kernel_body.h"
#undef real
#undef whole
#undef OF

#define real double
#define whole int64_t
#define OF(name) name##_f64
#include "kernel_body.h"
#undef real
#undef whole
#undef OF

/* A product of two floats is exact in double: here all sets give the same bits. */
static double dot_wide_f32(size_t n, const float *x, const float *y)
{
    double lane[WIDE] = {0}, last[WIDE];
    size_t i = 0;
    for (; i + WIDE <= n; i += WIDE)
        for (size_t j = 0; j < WIDE; j++)
            lane[j] += (double)x[i + j] * (double)y[i + j];
    memcpy(last, lane, sizeof last);
    for (size_t j = 0; i < n; i++, j++)
        last[j] += (double)x[i] * (double)y[i];
    for (size_t half = WIDE / 2; half > 0; half /= 2)
        for (size_t j = 0; j < half; j++)
            last[j] += last[j + half];
    return last[0];
}

INLINED void both(size_t rows, size_t n, size_t stride, const double *row, const double *own, const double *z,
                  double *sum, double *out)
{
    vector_f64 partial[SWEPT * PARTS];
    size_t j = 0;
    for (size_t i = 0; i < rows * PARTS; i++)
        partial[i] = (vector_f64){0};
    for (; j + LINE_f64 <= n; j += LINE_f64)
        for (size_t p = 0; p < PARTS; p++) {
            vector_f64 *to = (vector_f64 *)(out + j) + p, add = *to, v = *((const vector_f64 *)(z + j) + p);
            for (size_t r = 0; r < rows; r++) {
                vector_f64 part = *((const vector_f64 *)(row + r * stride + j) + p);
                partial[r * PARTS + p] += part * v;
                add += own[r] * part;
            }
            *to = add;
        }
    add_rows_f64(rows, n - j, stride, row + j, own, out + j);
    if (j < n)
        add_last_f64(rows, PARTS, n, n - j, stride, row, z, partial);
    for (size_t r = 0; r < rows; r++)
        sum[r] += total_f64(PARTS, partial + r * PARTS);
}

static void both_four(size_t n, size_t stride, const double *rows, const double *own, const double *z, double *sum,
                      double *out)
{
    const double first[4] = {own[0], own[1], own[2], own[3]};
    for (size_t r = 0; r < 4; r += SWEPT)
        both(SWEPT, n, stride, rows + r * stride, first + r, z, sum + r, out);
}

/* ---- GELU */

typedef vector_f32 floats;
typedef mask_f32 integers;

/* a where the mask is set, b elsewhere */
INLINED floats select(integers mask, floats a, floats b)
{
    return (floats)((mask & (integers)a) | (~mask & (integers)b));
}

/* exp(x) for x <= 0: 2^k e^r with |r| <= log(2)/2, e^r by a polynomial with relative error 4e-9;
   0 below -87. */
INLINED floats exp_negative(floats x)
{
    const floats zero = {0};
    integers outside = x < -87.0f;
    x = select(outside, zero - 87.0f, x);
    floats k = (x * 1.44269504f + 12582912.0f) - 12582912.0f; /* to the nearest integer */
    floats r = (x - k * 0.693359375f) + k * 2.12194440e-4f;
    floats p = r * 1.375140790e-03f + 8.368916341e-03f;
    p = p * r + 4.166953311e-02f;
    p = p * r + 1.666651846e-01f;
    p = p * r + 4.999998860e-01f;
    p = 1.0f + r + r * r * p;
    integers bits = (__builtin_convertvector(select(k > -127.0f, k, zero - 127.0f), integers) + 127) << 23;
    return select(outside, zero, p * (floats)bits);
}

/* Phi(-a) exp(a^2/2) for a >= 0, the Mills ratio over sqrt(2 pi), as a polynomial in
   t = 1 / (1 + 0.32 a): relative error 1.4e-8 before rounding. */
INLINED floats normal_tail_ratio(floats a)
{
    floats t = 1.0f / (1.0f + 0.32f * a);
    floats p = t * -1.596064674e-02f + 6.866492999e-02f;
    p = p * t + -8.658241865e-02f;
    p = p * t + -1.075816775e-02f;
    p = p * t + 5.013560137e-02f;
    p = p * t + 2.892596915e-02f;
    p = p * t + 9.727784586e-02f;
    p = p * t + 1.127857200e-01f;
    p = p * t + 1.278585966e-01f;
    p = p * t + 1.276525633e-01f;
    return p * t;
}

INLINED void gelu_of(const float *x, float *z, float *slope)
{
    const floats v = *(const floats *)x, zero = {0};
    integers left = v < 0.0f;
    floats bell = exp_negative(-0.5f * v * v);
    floats tail = bell * normal_tail_ratio(select(left, -v, v));
    floats cdf = select(left, zero, zero + 1.0f) + select(left, tail, -tail);
    *(floats *)z = v * cdf;
    *(floats *)slope = cdf + v * bell * 0.398942280f;
}

static void gelu(size_t n, const float *x, float *z, float *slope)
{
    size_t i = 0;
    for (; i + LANES_f32 <= n; i += LANES_f32)
        gelu_of(x + i, z + i, slope + i);
    if (i < n) {
        float last_x[LANES_f32] = {0}, last_z[LANES_f32], last_slope[LANES_f32];
        memcpy(last_x, x + i, (n - i) * sizeof *x);
        gelu_of(last_x, last_z, last_slope);
        memcpy(z + i, last_z, (n - i) * sizeof *z);
        memcpy(slope + i, last_slope, (n - i) * sizeof *slope);
    }
}

#include "bits_body.h"

const struct kernels KERNELS(SET_NAME) = {
    .name = NAME_OF(SET_NAME),
    .tile_rows = TILE_ROWS,
    .tile_lines = TILE_LINES,
    .tile_f32 = tile_f32,
    .tile_f64 = tile_f64,
    .dot_f32 = dot_f32,
    .dot_f64 = dot_f64,
    .dot_wide_f32 = dot_wide_f32,
    .dot_wide_f64 = dot_f64,
    .dot_four_f32 = dot_four_f32,
    .dot_four_f64 = dot_four_f64,
    .axpy_f32 = axpy_f32,
    .axpy_f64 = axpy_f64,
    .add_four_f32 = add_four_f32,
    .add_four_f64 = add_four_f64,
    .both_four = both_four,
    .gelu = gelu,
    .bits_match = bits_match,
    .bits_near = bits_near,
    .bits_distance = bits_distance,
};

#if defined(__clang__) && defined(TARGET)
#pragma clang attribute pop
#endif
