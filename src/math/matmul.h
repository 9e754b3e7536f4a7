/*
 * Matrix products by the kernels of this CPU (kernels.h), in float32 and float64.
 *
 * A right-hand side that serves many products is packed once into panels of 64 bytes' columns, each stored row after
 * row; it may be triangular. A row's result depends neither on the rows multiplied with it nor on the team, because
 * sums run over k in one order.
 *
 * Functions without a suffix choose by the type of a pointer, as <tgmath.h> does. A team may be NULL: the caller alone.
 */
#ifndef BPCN_MATMUL_H
#define BPCN_MATMUL_H

#include "kernels.h"
#include "symbols.h"
#include "threads.h"

#include <stddef.h>

/* ---- packed right-hand sides */

enum panel_shape {
    PANEL_FULL,
    PANEL_LOWER, /* entry (k, j) is zero for k < j: out_j sums over k >= j */
    PANEL_UPPER  /* entry (k, j) is zero for k > j: out_j sums over k <= j */
};

struct panels {
    size_t rows, columns;
    enum panel_shape shape;
    void *data; /* float [ceil(columns / 16)][rows][16] or double [ceil(columns / 8)][rows][8], zero beyond the last
                   column */
};

/* How many numbers of `size` bytes matmul_pack writes. */
size_t matmul_packed_entries(size_t rows, size_t columns, size_t size);

/* Packs m [rows x columns] or, transposed, m [columns x rows] into data, which the caller owns. */
struct panels matmul_pack_f32(size_t rows, size_t columns, const float *m, int transposed, enum panel_shape shape,
                              float *data);
struct panels matmul_pack_f64(size_t rows, size_t columns, const double *m, int transposed, enum panel_shape shape,
                              double *data);
/* The same of a part of a larger matrix, whose rows are `stride` apart. */
struct panels matmul_pack_part_f32(size_t rows, size_t columns, const float *m, size_t stride, int transposed,
                                   enum panel_shape shape, float *data);
struct panels matmul_pack_part_f64(size_t rows, size_t columns, const double *m, size_t stride, int transposed,
                                   enum panel_shape shape, double *data);
#define matmul_pack(rows, columns, m, transposed, shape, data)                                                         \
    _Generic(*(data), float : matmul_pack_f32, double : matmul_pack_f64)(rows, columns, m, transposed, shape, data)

/* The same into memory of its own; the caller frees panels->data. -1 when out of memory. */
int matmul_pack_new(size_t rows, size_t columns, const float *m, int transposed, struct panels *panels);

/* ---- products of many rows */

/* out [n x columns] = a [n x rows] panels, by the team: each thread takes some rows or, where there are few, some
   columns. */
void matmul_f32(struct team *team, const struct panels *panels, size_t n, const float *a, float *out);
void matmul_f64(struct team *team, const struct panels *panels, size_t n, const double *a, double *out);
#define matmul(team, panels, n, a, out)                                                                                \
    _Generic(*(out), float : matmul_f32, double : matmul_f64)(team, panels, n, a, out)

/* The same by the caller alone. */
void matmul_serial_f32(const struct panels *p, size_t n, const float *a, float *out);
void matmul_serial_f64(const struct panels *p, size_t n, const double *a, double *out);
#define matmul_serial(p, n, a, out)                                                                                    \
    _Generic(*(out), float : matmul_serial_f32, double : matmul_serial_f64)(p, n, a, out)

/* Columns from .. to of the result only; `from` is at a panel's edge (a multiple of 16 will do). */
void matmul_columns_f32(const struct panels *p, size_t from, size_t to, size_t n, const float *a, float *out);
void matmul_columns_f64(const struct panels *p, size_t from, size_t to, size_t n, const double *a, double *out);

/* Columns from .. to of out += a panels, where the rows of a and of out are parts of larger ones. */
void matmul_add_f64(const struct panels *p, size_t from, size_t to, size_t n, const double *a, size_t a_stride,
                    double *out, size_t out_stride);

/* By the kernels given, for tests. */
void matmul_by_f32(const struct kernels *kernels, const struct panels *p, size_t n, const float *a, float *out);
void matmul_by_f64(const struct kernels *kernels, const struct panels *p, size_t n, const double *a, double *out);

/* By plain loops, which the fast products are tested against. */
void matmul_plain_f32(const struct panels *p, size_t n, const float *a, float *out);
void matmul_plain_f64(const struct panels *p, size_t n, const double *a, double *out);
#define matmul_plain(p, n, a, out) _Generic(*(out), float : matmul_plain_f32, double : matmul_plain_f64)(p, n, a, out)

/* out [n x columns] = a [n x rows] b, b [rows x columns] or, transposed, [columns x rows]. -1 when out of memory. */
int matmul_unpacked(struct team *team, size_t n, size_t rows, size_t columns, const float *a, const float *b,
                    int transposed, float *out);

/* ---- products of one row, which are as fast as memory delivers the matrix */

/* out [below] = z mean, mean [above x below], by the caller alone */
void matmul_row_f32(size_t above, size_t below, const float *mean, const float *z, float *out);
void matmul_row_f64(size_t above, size_t below, const double *mean, const double *z, double *out);
#define matmul_row(above, below, mean, z, out)                                                                         \
    _Generic(*(out), float : matmul_row_f32, double : matmul_row_f64)(above, below, mean, z, out)

/* error [below] = target - z mean (0 where not known; known may be NULL) and, unless it is NULL,
   residual_grad [above] = error mean'. Returns |error|^2. Nothing depends on the number of threads. */
double matmul_residual_f32(struct team *team, size_t above, size_t below, const float *mean, const float *z,
                           const float *target, const unsigned char *known, float *error, float *residual_grad);
double matmul_residual_f64(struct team *team, size_t above, size_t below, const double *mean, const double *z,
                           const double *target, const unsigned char *known, double *error, double *residual_grad);
#define matmul_residual(team, above, below, mean, z, target, known, error, residual_grad)                              \
    _Generic(*(error), float                                                                                           \
             : matmul_residual_f32, double                                                                             \
             : matmul_residual_f64)(team, above, below, mean, z, target, known, error, residual_grad)

/* mean [above x below] += gain [above]' error [below] */
void matmul_add_outer_f32(struct team *team, size_t above, size_t below, const float *gain, const float *error,
                          float *mean);
void matmul_add_outer_f64(struct team *team, size_t above, size_t below, const double *gain, const double *error,
                          double *mean);
#define matmul_add_outer(team, above, below, gain, error, mean)                                                        \
    _Generic(*(error), float                                                                                           \
             : matmul_add_outer_f32, double                                                                            \
             : matmul_add_outer_f64)(team, above, below, gain, error, mean)

/* spread [width] = z U for U = R'R, root [width x width] = R upper triangular. Returns z U z'.
   scratch [matmul_covariance_scratch(width, threads)]. Sums depend on the number of threads in their last bits. */
double matmul_covariance_f32(struct team *team, size_t width, const float *root, const float *z, float *spread,
                             float *scratch);
double matmul_covariance_f64(struct team *team, size_t width, const double *root, const double *z, double *spread,
                             double *scratch);
#define matmul_covariance(team, width, root, z, spread, scratch)                                                       \
    _Generic(*(spread), float                                                                                          \
             : matmul_covariance_f32, double                                                                           \
             : matmul_covariance_f64)(team, width, root, z, spread, scratch)
size_t matmul_covariance_scratch(size_t width, size_t threads);

/* ---- whole matrices */

/* out [columns x rows] = m [rows x columns]' */
void matmul_transpose(size_t rows, size_t columns, const float *m, float *out);

/* What lies below the diagonal of a [n x n] = what lies above. */
void matmul_mirror_upper(size_t n, double *a);

/* a [n x n], symmetric positive definite, becomes its inverse, by halves: nearly all of the work is products. -1 when
   float32 does not take it for positive definite, or when out of memory; a is then spoilt. */
int matmul_invert(struct team *team, size_t n, float *a);

#endif
