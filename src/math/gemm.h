/*
 * Matrix products with a right-hand side that stays the same for hundreds of calls: it is
 * cut once into panels of 64 bytes' columns, each stored as its rows in order, and may be triangular.
 * Sums run over k in the same order whatever the number of rows, so a row's result does not
 * depend on its neighbours. In float32, and the same in float64.
 */
#ifndef BPCN_GEMM_H
#define BPCN_GEMM_H

#include <stddef.h>

struct kernels;

enum panel_shape {
    PANEL_FULL,
    PANEL_LOWER, /* entry (k, j) is zero for k < j: out_j sums over k >= j */
    PANEL_UPPER  /* entry (k, j) is zero for k > j: out_j sums over k <= j */
};

struct panels {
    size_t rows, columns;
    enum panel_shape shape;
    void *data; /* float [ceil(columns / 16)][rows][16] or double [ceil(columns / 8)][rows][8], zero beyond the
                   last column */
};

/* Numbers of `size` bytes that panels_fill needs. */
size_t panels_entries(size_t rows, size_t columns, size_t size);

/* Cuts m [rows x columns] (or, transposed, m [columns x rows]) into panels at data. */
struct panels panels_fill_f32(size_t rows, size_t columns, const float *m, int transposed, enum panel_shape shape,
                              float *data);
struct panels panels_fill_f64(size_t rows, size_t columns, const double *m, int transposed, enum panel_shape shape,
                              double *data);

/* out [n x columns] = a [n x rows] * panels */
void panels_multiply_f32(const struct panels *p, size_t n, const float *a, float *out);
void panels_multiply_f64(const struct panels *p, size_t n, const double *a, double *out);

/* Only columns from .. to of the result; `from` is at a panel's edge (a multiple of 16 will do). */
void panels_multiply_columns_f32(const struct panels *p, size_t from, size_t to, size_t n, const float *a, float *out);
void panels_multiply_columns_f64(const struct panels *p, size_t from, size_t to, size_t n, const double *a,
                                 double *out);

/* The same by kernels other than those chosen. */
void panels_multiply_by_f32(const struct kernels *kernels, const struct panels *p, size_t n, const float *a,
                            float *out);
void panels_multiply_by_f64(const struct kernels *kernels, const struct panels *p, size_t n, const double *a,
                            double *out);

/* The same by plain loops, which the fast one is tested against. */
void panels_multiply_plain_f32(const struct panels *p, size_t n, const float *a, float *out);
void panels_multiply_plain_f64(const struct panels *p, size_t n, const double *a, double *out);

/* Without a suffix: by the type that the last argument points to, as in <tgmath.h>. */
#define panels_fill(rows, columns, m, transposed, shape, data)                                                         \
    _Generic(*(data), float : panels_fill_f32, double : panels_fill_f64)(rows, columns, m, transposed, shape, data)
#define panels_multiply(p, n, a, out)                                                                                  \
    _Generic(*(out), float : panels_multiply_f32, double : panels_multiply_f64)(p, n, a, out)
#define panels_multiply_plain(p, n, a, out)                                                                            \
    _Generic(*(out), float : panels_multiply_plain_f32, double : panels_multiply_plain_f64)(p, n, a, out)

#endif
