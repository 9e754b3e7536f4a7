/*
 * Matrix products with a right-hand side that stays the same for hundreds of calls: it is
 * cut once into panels of 64 bytes' columns, each stored as its rows in order, and may be triangular.
 * Sums run over k in the same order whatever the number of rows, so a row's result does not
 * depend on its neighbours. In float32, and the same in float64.
 */
#ifndef BPCN_GEMM_H
#define BPCN_GEMM_H

#include <stddef.h>

enum panel_shape {
    PANEL_FULL,
    PANEL_LOWER, /* entry (k, j) is zero for k < j: out_j sums over k >= j */
    PANEL_UPPER  /* entry (k, j) is zero for k > j: out_j sums over k <= j */
};

struct panels {
    size_t rows, columns;
    enum panel_shape shape;
    float *data; /* [ceil(columns / 16)][rows][16], zero beyond the last column */
};

struct panels_f64 {
    size_t rows, columns;
    enum panel_shape shape;
    double *data; /* [ceil(columns / 8)][rows][8] */
};

/* Numbers that panels_fill needs. */
size_t panels_entries(size_t rows, size_t columns);
size_t panels_entries_f64(size_t rows, size_t columns);

/* Cuts m [rows x columns] (or, transposed, m [columns x rows]) into panels at data. */
struct panels panels_fill(size_t rows, size_t columns, const float *m, int transposed, enum panel_shape shape,
                          float *data);
struct panels_f64 panels_fill_f64(size_t rows, size_t columns, const double *m, int transposed, enum panel_shape shape,
                                  double *data);

/* out [n x columns] = a [n x rows] * panels */
void panels_multiply(const struct panels *p, size_t n, const float *a, float *out);
void panels_multiply_f64(const struct panels_f64 *p, size_t n, const double *a, double *out);

/* The same by plain loops, which the fast one is tested against. */
void panels_multiply_plain(const struct panels *p, size_t n, const float *a, float *out);
void panels_multiply_plain_f64(const struct panels_f64 *p, size_t n, const double *a, double *out);

/* Which kernel runs on this CPU: "avx512", "avx2" or "portable". */
const char *panels_kernel(void);

/* In files compiled per precision (real.h) the names without a suffix are those of `real`. */
#if BPCN_REAL_BITS == 64
#define panels panels_f64
#define panels_entries panels_entries_f64
#define panels_fill panels_fill_f64
#define panels_multiply panels_multiply_f64
#define panels_multiply_plain panels_multiply_plain_f64
#endif

#endif
