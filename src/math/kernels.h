/*
 * The inner loops of the library: one source (kernel_set.c) in plain C with vector types, compiled once for each kind
 * of CPU. The best set that the CPU has is chosen at run time.
 *
 * All sets add the same numbers in the same order, whatever the width of their vectors. They differ in one thing:
 * avx2, avx512 and portable on aarch64 add a product without rounding it first, and give the same bits; portable on
 * x86-64 rounds it.
 */
#ifndef BPCN_KERNELS_H
#define BPCN_KERNELS_H

#include "bayespcn.h"
#include "symbols.h"

#include <float.h>

/* The order of roundings is part of the results. */
#if FLT_EVAL_METHOD != 0
#error "floats must be rounded after every operation: on x86 -msse2 -mfpmath=sse, on s390x -fexcess-precision=fast"
#endif

enum {
    LINE_BYTES = 64,    /* of a panel's row (matmul.h), and of the partial sums of a product */
    MOST_TILE_ROWS = 12 /* of any set */
};

struct kernels {
    const char *name;
    size_t tile_rows, tile_lines; /* of the largest tile */

    /* out [rows x lines] = a [count x rows]' b [count x lines], added to what is there if `add`; out's
       rows are `columns` apart. lines: one, or tile_lines, which lie `apart` in b. */
    void (*tile_f32)(size_t rows, size_t lines, size_t count, const float *a, const float *b, size_t apart, int add,
                     float *out, size_t columns);
    void (*tile_f64)(size_t rows, size_t lines, size_t count, const double *a, const double *b, size_t apart, int add,
                     double *out, size_t columns);

    /* x . y. float32: sums of up to 128 products in float32, their sum in double. */
    double (*dot_f32)(size_t n, const float *x, const float *y);
    double (*dot_f64)(size_t n, const double *x, const double *y);
    double (*dot_wide_f32)(size_t n, const float *x, const float *y);   /* products and sums in double */
    double (*dot_wide_f64)(size_t n, const double *x, const double *y); /* the same as dot_f64 */

    /* f_k = row_k . z for four rows `stride` apart */
    void (*dot_four_f32)(size_t n, size_t stride, const float *rows, const float *z, float *f);
    void (*dot_four_f64)(size_t n, size_t stride, const double *rows, const double *z, double *f);

    /* y += a x */
    void (*axpy_f32)(size_t n, double a, const float *x, float *y);
    void (*axpy_f64)(size_t n, double a, const double *x, double *y);

    /* out [n] += z_0 row_0 + .. + z_3 row_3, rows `stride` apart */
    void (*add_four_f32)(size_t n, size_t stride, const float *rows, const float *z, float *out);
    void (*add_four_f64)(size_t n, size_t stride, const double *rows, const double *z, double *out);

    /* Both from one pass over four rows of a symmetric matrix: sum_k += row_k . z and
       out [n] += own_0 row_0 + .. + own_3 row_3 */
    void (*both_four)(size_t n, size_t stride, const double *rows, const double *own, const double *z, double *sum,
                      double *out);

    /* The bitmap index, over 512 items; bits_body.h says how lines lie. Items that are alive stay so if their levels are
       those of the query in all n entries (match), or in all but three at most (near). */
    void (*bits_match)(size_t n, const uint32_t *line, const unsigned char *level, const uint64_t *plane, size_t apart,
                       uint64_t *alive);
    void (*bits_near)(size_t n, const uint32_t *line, const unsigned char *level, const uint64_t *plane, size_t apart,
                      uint64_t *alive);
    /* count [planes >= 6 lines], the bits of each item's sum of |its level - the query's|. The entries are sorted by the
       query's level: of[0] of level 0 come first, then of[1] of level 1, and so on. */
    void (*bits_distance)(const size_t of[4], const uint32_t *line, const uint64_t *plane, size_t apart, size_t planes,
                          uint64_t *count);

    /* z = x Phi(x) and its slope, within 3e-7 */
    void (*gelu)(size_t n, const float *x, float *z, float *slope);
};

/* The table of a set. */
#define KERNELS(set) KERNELS_OF(set)
#define KERNELS_OF(set) bpcn_internal_kernels_##set

/* The set that BPCN_KERNELS names, otherwise the best that this CPU has; chosen at the first call. */
const struct kernels *kernels_chosen(void);

/* BPCN_INVALID when BPCN_KERNELS names a set that does not exist or that this CPU lacks. */
bpcn_status kernels_check(void);

/* The sets that this CPU has: set 0 is portable, the last is the best; NULL beyond. */
const struct kernels *kernels_set(size_t i);

/* ---- sums by the kernels chosen, of floats or doubles by the type of a pointer, as in <tgmath.h> */

#define KERNEL_BY_TYPE(pointer, name)                                                                                  \
    _Generic(*(pointer), float : kernels_chosen()->name##_f32, double : kernels_chosen()->name##_f64)

/* x . y */
#define dot(n, x, y) KERNEL_BY_TYPE(x, dot)(n, x, y)
/* The same with every product and sum in double: energies of 10,000s are compared to 1e-3. */
#define dot_wide(n, x, y) KERNEL_BY_TYPE(x, dot_wide)(n, x, y)
#define sum_of_squares(n, x) dot_wide(n, x, x)
/* y += a x */
#define axpy(n, a, x, y) KERNEL_BY_TYPE(x, axpy)(n, a, x, y)
/* f_k = row_k . z for four rows `stride` apart */
#define dot_four(n, stride, rows, z, f) KERNEL_BY_TYPE(rows, dot_four)(n, stride, rows, z, f)
/* out [n] += z_0 row_0 + .. + z_3 row_3, rows `stride` apart */
#define add_four(n, stride, rows, z, out) KERNEL_BY_TYPE(rows, add_four)(n, stride, rows, z, out)

#endif
