/*
 * What the test programs share: random numbers of their own, comparisons that say what differed,
 * memories in any state, and pictures to remember. Nothing here calls the library's generator.
 */
#ifndef BPCN_TESTS_SUPPORT_H
#define BPCN_TESTS_SUPPORT_H

/* cmocka wants these first */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "bayespcn.h"
#include "transaction.h"

/* ---- random numbers: splitmix64, the same on every machine */

struct dice {
    uint64_t state;
};

double dice_uniform(struct dice *dice); /* [0, 1) */
double dice_normal(struct dice *dice);
void dice_normals(struct dice *dice, size_t n, double scale, double *out);
void dice_normals_f32(struct dice *dice, size_t n, double scale, float *out);

/* ---- memory of the tests: zeroed, and a failed test when there is none */

void *room(size_t count, size_t size);

/* ---- comparisons; a NaN is never near anything */

void check_near(double got, double want, double tolerance, const char *what, const char *file, int line);
void check_status(bpcn_status got, bpcn_status want, const char *what, const char *file, int line);
double greatest_difference(size_t n, const double *a, const double *b); /* NaN when one is */
double greatest_size(size_t n, const double *a);

/* |got - want| <= tolerance */
#define assert_near(got, want, tolerance) check_near((got), (want), (tolerance), #got, __FILE__, __LINE__)
/* the call fails the way it should; on a surprise its sentence is printed */
#define assert_status(call, want) check_status((call), (want), #call, __FILE__, __LINE__)
#define assert_ok(call) assert_status(call, BPCN_OK)

/* ---- memories */

/* Options of a network with `layers` hidden layers, all widths given. */
bpcn_options network(size_t dim, size_t layers, const size_t *hidden);

/* Creates it; fails the test if that fails. One BLAS thread, so that bits can be compared. */
bpcn_memory *make_memory(bpcn_options options);

/* Gives every particle means of size `scale`, full random covariances and uneven weights. */
void randomize(bpcn_memory *memory, struct dice *dice, double scale);

/* A symmetric positive definite matrix with eigenvalues of about 0.05 to 1: u [n x n]. */
void random_covariance(struct dice *dice, size_t n, double *u);

/* Everything a memory holds, to the bit: what a failed call must not change. */
struct snapshot;
struct snapshot *snapshot_take(const bpcn_memory *memory);
int snapshot_same(const struct snapshot *snapshot, const bpcn_memory *memory);
int snapshot_same_parameters(const struct snapshot *snapshot, const bpcn_memory *memory); /* counters may differ */
void snapshot_restore(const struct snapshot *snapshot, bpcn_memory *memory);
void snapshot_free(struct snapshot *snapshot);

/* ---- pictures: 8 x 8 pixels of 3 channels, smooth, within -1 .. 1 */

enum { PICTURE = 192 };
void pictures(struct dice *dice, size_t n, float *out); /* [n x PICTURE] */
double mean_square_error(size_t n, const float *a, const float *b);

/* Two narrow hidden layers for pictures, sigma_x 0.1: quick, and uncertain of everything. */
enum { SMALL_FIRST = 16, SMALL_SECOND = 12, SMALL_CODE = SMALL_FIRST + SMALL_SECOND };
bpcn_options small_network(size_t particles);

/* A memory with these options that holds n pictures, and as many that it has never seen. */
struct gallery {
    bpcn_memory *memory;
    float *x, *unseen; /* [n x PICTURE] */
};
struct gallery *gallery_of(bpcn_options options, size_t n, uint64_t seed);
void gallery_free(struct gallery *gallery);

/* Nonzero in the left half of every picture: known [n x PICTURE]. */
void left_half(size_t n, unsigned char *known);

#endif
