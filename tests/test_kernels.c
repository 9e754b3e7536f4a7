/* Every set of kernels that this CPU has against plain loops and against the other sets; panels, sweeps; and the
   team that runs them. */
#include "support.h"

#include "activation.h"
#include "core.h"
#include "gemm.h"
#include "gram.h"
#include "handle.h"
#include "kernels.h"
#include "linalg.h"
#include "particle.h"
#include "sweep.h"
#include "team.h"
#include "update.h"

#include <math.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static float *numbers(size_t n, uint32_t seed)
{
    float *x = aligned_alloc(64, (n * sizeof *x / 64 + 1) * 64);
    for (size_t i = 0; i < n; i++) {
        seed = seed * 1664525u + 1013904223u;
        x[i] = (float)(seed >> 8) / 8388608.0f - 1;
    }
    return x;
}

/* Sums of k products of numbers below 1: float32 rounds each by 6e-8 of the partial sum. */
static double allowed(size_t k)
{
    return 1e-7 * sqrt((double)k) * sqrt((double)k);
}

static void check_panels(size_t n, size_t rows, size_t columns, int transposed, enum panel_shape shape)
{
    float *m = numbers(rows * columns, 1), *a = numbers(n * rows, 2);
    float *data = numbers(panels_entries(rows, columns, sizeof(float)), 3), *fast = numbers(n * columns, 4),
          *plain = numbers(n * columns, 5);
    struct panels p = panels_fill(rows, columns, m, transposed, shape, data);
    panels_multiply_plain(&p, n, a, plain);
    for (size_t i = 0; kernels_set(i) != NULL; i++) {
        panels_multiply_by_f32(kernels_set(i), &p, n, a, fast);
        for (size_t j = 0; j < n * columns; j++)
            if (!(fabs((double)fast[j] - (double)plain[j]) <= allowed(rows)))
                fail_msg("%s, %zux%zux%zu: entry %zu is %g, plainly %g", kernels_set(i)->name, n, rows, columns, j,
                         (double)fast[j], (double)plain[j]);
    }
    free(m);
    free(a);
    free(data);
    free(fast);
    free(plain);
}

static double *doubles(size_t n, uint64_t seed)
{
    struct dice dice = {seed};
    double *x = room(n, sizeof *x);
    dice_normals(&dice, n, 1, x);
    return x;
}

static void check_panels_f64(size_t n, size_t rows, size_t columns, int transposed, enum panel_shape shape)
{
    double *m = doubles(rows * columns, 1), *a = doubles(n * rows, 2), *fast = doubles(n * columns, 3),
           *plain = doubles(n * columns, 4), *data = doubles(panels_entries(rows, columns, sizeof(double)), 5);
    struct panels p = panels_fill(rows, columns, m, transposed, shape, data);
    panels_multiply_plain(&p, n, a, plain);
    for (size_t i = 0; kernels_set(i) != NULL; i++) {
        panels_multiply_by_f64(kernels_set(i), &p, n, a, fast);
        assert_near(greatest_difference(n * columns, fast, plain), 0,
                    1e-15 * (double)rows * greatest_size(n * columns, plain));
    }
    free(m);
    free(a);
    free(data);
    free(fast);
    free(plain);
}

static void panels_in_double_multiply_as_plain_loops_do(void **state)
{
    static const size_t sizes[] = {1, 7, 8, 9, 100, 257};
    (void)state;
    for (size_t n = 1; n <= 31; n += 3)
        for (size_t r = 0; r < 6; r++)
            for (size_t c = 0; c < 6; c++)
                check_panels_f64(n, sizes[r], sizes[c], (int)(n % 2), PANEL_FULL);
    for (size_t i = 0; i < 6; i++)
        for (int shape = PANEL_LOWER; shape <= PANEL_UPPER; shape++)
            check_panels_f64(7, sizes[i], sizes[i], shape == PANEL_UPPER, (enum panel_shape)shape);
}

static void panels_multiply_as_plain_loops_do(void **state)
{
    static const size_t sizes[] = {1, 2, 15, 16, 17, 100, 300};
    (void)state;
    for (size_t n = 1; n <= 31; n += 3)
        for (size_t r = 0; r < 7; r++)
            for (size_t c = 0; c < 7; c++)
                check_panels(n, sizes[r], sizes[c], (int)(n % 2), PANEL_FULL);
}

static void triangular_panels_skip_only_zeros(void **state)
{
    static const size_t sizes[] = {1, 15, 16, 17, 255, 256, 257, 520};
    (void)state;
    for (size_t i = 0; i < 8; i++)
        for (int shape = PANEL_LOWER; shape <= PANEL_UPPER; shape++)
            for (int transposed = 0; transposed <= 1; transposed++)
                check_panels(7, sizes[i], sizes[i], transposed, (enum panel_shape)shape);
}

static void a_row_of_a_product_does_not_depend_on_its_neighbours(void **state)
{
    enum { N = 29, ROWS = 300, COLUMNS = 70 };
    (void)state;
    float *m = numbers(ROWS * COLUMNS, 1), *a = numbers(N * ROWS, 2),
          *data = numbers(panels_entries(ROWS, COLUMNS, sizeof(float)), 3);
    float *all = numbers(N * COLUMNS, 4), *one = numbers(COLUMNS, 5);
    struct panels p = panels_fill(ROWS, COLUMNS, m, 0, PANEL_FULL, data);
    for (size_t set = 0; kernels_set(set) != NULL; set++) {
        panels_multiply_by_f32(kernels_set(set), &p, N, a, all);
        for (size_t i = 0; i < N; i++) {
            panels_multiply_by_f32(kernels_set(set), &p, 1, a + i * ROWS, one);
            assert_memory_equal(one, all + i * COLUMNS, COLUMNS * sizeof *one);
        }
    }
    free(m);
    free(a);
    free(data);
    free(all);
    free(one);
}

static void not_a_number_goes_through_a_product(void **state)
{
    (void)state;
    float *m = numbers(40 * 20, 1), *a = numbers(40, 2), *data = numbers(panels_entries(40, 20, sizeof(float)), 3),
          out[20];
    struct panels p = panels_fill(40, 20, m, 0, PANEL_FULL, data);
    a[13] = NAN;
    for (size_t i = 0; kernels_set(i) != NULL; i++) {
        panels_multiply_by_f32(kernels_set(i), &p, 1, a, out);
        for (size_t j = 0; j < 20; j++)
            assert_true(isnan(out[j]));
    }
    free(m);
    free(a);
    free(data);
}

/* ---- one kernel after the other, by each set */

enum { LONGEST = 9000, STRIDE = 9001 }; /* rows that begin at every alignment */

/* What one set makes of n numbers. */
struct outcome {
    double dot, wide, dot_f64;
    float four[4], axpy[LONGEST], sum[LONGEST], gelu[2 * LONGEST];
    double four_f64[4], axpy_f64[LONGEST], sum_f64[LONGEST], both[4], both_out[LONGEST];
};

struct input {
    float *rows, *z;          /* [4 x STRIDE], [LONGEST] */
    double *rows_f64, *z_f64; /* the same numbers and some digits more */
};

static struct input make_input(void)
{
    struct input in = {numbers(4 * STRIDE, 11), numbers(LONGEST, 12), doubles(4 * STRIDE, 13), doubles(LONGEST, 14)};
    return in;
}

static void free_input(struct input *in)
{
    free(in->rows);
    free(in->z);
    free(in->rows_f64);
    free(in->z_f64);
}

static void run_set(const struct kernels *k, const struct input *in, size_t n, struct outcome *o)
{
    memset(o, 0, sizeof *o);
    o->dot = k->dot_f32(n, in->rows, in->z);
    o->wide = k->dot_wide_f32(n, in->rows, in->z);
    o->dot_f64 = k->dot_f64(n, in->rows_f64, in->z_f64);
    k->dot_four_f32(n, STRIDE, in->rows, in->z, o->four);
    k->dot_four_f64(n, STRIDE, in->rows_f64, in->z_f64, o->four_f64);
    memcpy(o->axpy, in->z, n * sizeof *o->axpy);
    memcpy(o->axpy_f64, in->z_f64, n * sizeof *o->axpy_f64);
    k->axpy_f32(n, (double)0.7f, in->rows, o->axpy);
    k->axpy_f64(n, 0.7, in->rows_f64, o->axpy_f64);
    k->add_four_f32(n, STRIDE, in->rows, in->z, o->sum);
    k->add_four_f64(n, STRIDE, in->rows_f64, in->z_f64, o->sum_f64);
    k->both_four(n, STRIDE, in->rows_f64, in->z_f64 + 1, in->z_f64, o->both, o->both_out);
    k->gelu(n, in->rows, o->gelu, o->gelu + LONGEST);
}

static const size_t lengths[] = {0,  1,  2,  3,  7,  8,   9,   15,   16,   17,   31,     32,
                                 33, 47, 48, 49, 63, 100, 511, 4095, 4096, 4097, LONGEST};
enum { LENGTHS = sizeof lengths / sizeof *lengths };

/* Loops over long double would be as good; double is exact enough for float32, and for float64 the bound counts
   its roundings too: of n terms of size `size` at most n, by 1.1e-16 each (6e-8 in float32), in both orders. */
static void assert_sum(const char *what, const struct kernels *k, size_t n, double got, double want, double size,
                       double rounding)
{
    if (!(fabs(got - want) <= 2 * rounding * (double)n * size))
        fail_msg("%s by %s, n = %zu: %.17g, plainly %.17g", what, k->name, n, got, want);
}

static void compare_sums(const struct kernels *k, const struct input *in, size_t n, const struct outcome *o)
{
    for (size_t r = 0; r < 4; r++) {
        double sum = 0, size = 0, wide = 0, wide_size = 0;
        for (size_t j = 0; j < n; j++) {
            double product = (double)in->rows[r * STRIDE + j] * (double)in->z[j];
            double product_f64 = in->rows_f64[r * STRIDE + j] * in->z_f64[j];
            sum += product;
            wide += product_f64;
            size = fmax(size, fabs(sum));
            wide_size = fmax(wide_size, fabs(wide));
        }
        size += 1;
        wide_size += 10;
        assert_sum("dot_four_f32", k, n, (double)o->four[r], sum, size, 6e-8);
        assert_sum("dot_four_f64", k, n, o->four_f64[r], wide, wide_size, 1.2e-16);
        assert_sum("both_four", k, n, o->both[r], wide, wide_size, 1.2e-16);
        if (r > 0)
            continue;
        assert_sum("dot_f32", k, n, o->dot, sum, size, 6e-8);
        assert_sum("dot_wide_f32", k, n, o->wide, sum, size, 1.2e-16);
        assert_sum("dot_f64", k, n, o->dot_f64, wide, wide_size, 1.2e-16);
    }
}

static void compare_rows(const struct kernels *k, const struct input *in, size_t n, const struct outcome *o)
{
    for (size_t j = 0; j < n; j++) {
        double sum = 0, wide = 0, both = 0;
        for (size_t r = 0; r < 4; r++) {
            sum += (double)in->z[r] * (double)in->rows[r * STRIDE + j];
            wide += in->z_f64[r] * in->rows_f64[r * STRIDE + j];
            both += in->z_f64[r + 1] * in->rows_f64[r * STRIDE + j];
        }
        /* four products of numbers below 1 in float32, below 6 in float64 */
        assert_sum("add_four_f32", k, 4, (double)o->sum[j], sum, 4, 6e-8);
        assert_sum("add_four_f64", k, 4, o->sum_f64[j], wide, 150, 1.2e-16);
        assert_sum("both_four's rows", k, 4, o->both_out[j], both, 150, 1.2e-16);
        assert_sum("axpy_f32", k, 2, (double)o->axpy[j], (double)in->z[j] + (double)0.7f * (double)in->rows[j], 2,
                   6e-8);
        assert_sum("axpy_f64", k, 2, o->axpy_f64[j], in->z_f64[j] + 0.7 * in->rows_f64[j], 12, 1.2e-16);
    }
}

/* Four roundings of numbers near 1 to float32, as in test_energy.c: so no two sets are 5e-7 apart. */
static void compare_gelu(const struct kernels *k, const struct input *in, size_t n, const struct outcome *o)
{
    float *plain = room(2 * LONGEST, sizeof *plain);
    activate_plain(BPCN_GELU, n, in->rows, plain, plain + LONGEST);
    for (size_t j = 0; j < n; j++) {
        assert_sum("gelu", k, 1, (double)o->gelu[j], (double)plain[j], 1, 1.25e-7);
        assert_sum("its slope", k, 1, (double)o->gelu[LONGEST + j], (double)plain[LONGEST + j], 1, 1.25e-7);
    }
    free(plain);
}

static void every_set_computes_as_plain_loops_do(void **state)
{
    (void)state;
    struct input in = make_input();
    struct outcome *o = room(1, sizeof *o);
    for (size_t i = 0; kernels_set(i) != NULL; i++)
        for (size_t l = 0; l < LENGTHS; l++) {
            run_set(kernels_set(i), &in, lengths[l], o);
            compare_sums(kernels_set(i), &in, lengths[l], o);
            compare_rows(kernels_set(i), &in, lengths[l], o);
            compare_gelu(kernels_set(i), &in, lengths[l], o);
        }
    free(o);
    free_input(&in);
}

/* Nothing beyond the n numbers is read into a sum or written, and what is not a number shows. */
static void no_set_looks_beyond_its_numbers(void **state)
{
    (void)state;
    struct input in = make_input();
    struct outcome *o = room(2, sizeof *o);
    for (size_t i = 0; kernels_set(i) != NULL; i++)
        for (size_t n = 1; n < 70; n++) {
            run_set(kernels_set(i), &in, n, &o[0]);
            float after = in.rows[n];
            double after_f64 = in.z_f64[n + 4];
            in.rows[n] = NAN;
            in.z_f64[n + 4] = NAN;
            run_set(kernels_set(i), &in, n, &o[1]);
            in.rows[n] = after;
            in.z_f64[n + 4] = after_f64;
            assert_memory_equal(&o[0], &o[1], sizeof *o);
            after = in.rows[n - 1];
            in.rows[n - 1] = NAN;
            run_set(kernels_set(i), &in, n, &o[1]);
            in.rows[n - 1] = after;
            assert_true(isnan(o[1].dot) && isnan(o[1].wide) && isnan(o[1].four[0]) && isnan(o[1].axpy[n - 1]));
            assert_true(isnan(o[1].sum[n - 1]) && isnan(o[1].gelu[n - 1]) && !isnan(o[1].four[1]));
        }
    free(o);
    free_input(&in);
}

/* The order of every sum is that of all sets; they differ only in whether products are rounded. So sets
   that fuse, whatever the width of their vectors, give the same bits: `wide` and `narrow` are avx512's and
   portable's vectors in avx2's instructions, and avx512 itself is compared where there is one. */
static void compare_bits(const struct kernels *one, const struct kernels *other)
{
    struct input in = make_input();
    struct outcome *o = room(2, sizeof *o);
    for (size_t l = 0; l < LENGTHS; l++) {
        run_set(one, &in, lengths[l], &o[0]);
        run_set(other, &in, lengths[l], &o[1]);
        if (memcmp(&o[0], &o[1], sizeof *o) != 0)
            fail_msg("%s and %s differ at n = %zu", one->name, other->name, lengths[l]);
    }
    float *out = numbers(2 * 29 * 70, 4), *data = numbers(panels_entries(300, 70, sizeof(float)), 3);
    struct panels p = panels_fill(300, 70, in.rows, 0, PANEL_FULL, data);
    panels_multiply_by_f32(one, &p, 29, in.rows, out);
    panels_multiply_by_f32(other, &p, 29, in.rows, out + 29 * 70);
    assert_memory_equal(out, out + 29 * 70, 29 * 70 * sizeof *out);
    free(out);
    free(data);
    free(o);
    free_input(&in);
}

/* Under clang's sanitizers a check may stand between a product and its sum, and keep them apart. */
#if defined(__has_feature)
#if __has_feature(address_sanitizer)
#define CHECKED_BY_CLANG
#endif
#endif

#if defined(__x86_64__) && !defined(CHECKED_BY_CLANG)
extern const struct kernels kernels_wide, kernels_narrow;
static const struct kernels *const fusing[] = {&kernels_wide, &kernels_narrow};
#else
static const struct kernels *const fusing[] = {NULL, NULL};
#endif

static void sets_that_fuse_give_the_same_bits(void **state)
{
    (void)state;
    if (fusing[0] == NULL || kernels_set(1) == NULL)
        skip();
    compare_bits(kernels_set(1), fusing[0]);
    compare_bits(kernels_set(1), fusing[1]);
    if (kernels_set(2) != NULL)
        compare_bits(kernels_set(1), kernels_set(2));
}

static void sums_in_double_of_floats_are_the_same_in_every_set(void **state)
{
    (void)state;
    struct input in = make_input();
    for (size_t i = 1; kernels_set(i) != NULL; i++)
        for (size_t l = 0; l < LENGTHS; l++)
            assert_true(kernels_set(i)->dot_wide_f32(lengths[l], in.rows, in.z) ==
                        kernels_set(0)->dot_wide_f32(lengths[l], in.rows, in.z));
    free_input(&in);
}

/* ---- the choice */

/* What create says in a process of its own whose environment has name = value: the status. */
static int status_with(const char *name, const char *value, const char *sentence)
{
    int status = 0;
    pid_t child = fork();
    if (child == 0) {
        bpcn_memory *m = NULL;
        bpcn_options o = network(4, 1, (size_t[]){3});
        setenv(name, value, 1);
        bpcn_status got = bpcn_memory_create(&o, &m);
        if (got != BPCN_OK && strcmp(bpcn_error(), sentence) != 0)
            _exit(100);
        if (got == BPCN_OK && sentence != NULL && strcmp(kernels_chosen()->name, sentence) != 0)
            _exit(101);
        bpcn_memory_free(m);
        _exit((int)got);
    }
    waitpid(child, &status, 0);
    assert_true(WIFEXITED(status));
    return WEXITSTATUS(status);
}

/* This test comes first: nothing has been chosen in this process. */
static void the_kernels_are_those_that_the_environment_names(void **state)
{
    (void)state;
    char sentence[200], sets[100];
    size_t best = 0;
    while (kernels_set(best + 1) != NULL)
        best++;
    snprintf(sets, sizeof sets, "%s",
             best == 0   ? "portable"
             : best == 1 ? "portable and avx2"
                         : "portable, avx2 and avx512");
    for (size_t i = 0; i <= best; i++)
        assert_int_equal(status_with("BPCN_KERNELS", kernels_set(i)->name, kernels_set(i)->name), BPCN_OK);
    assert_int_equal(status_with("BPCN_KERNELS", "", kernels_set(best)->name), BPCN_OK);
    snprintf(sentence, sizeof sentence, "BPCN_KERNELS is sse9, but this CPU has only %s", sets);
    assert_int_equal(status_with("BPCN_KERNELS", "sse9", sentence), BPCN_INVALID);
    snprintf(sentence, sizeof sentence, "BPCN_KERNELS is avx512, but this CPU has only %s", sets);
    if (best < 2)
        assert_int_equal(status_with("BPCN_KERNELS", "avx512", sentence), BPCN_INVALID);
}

static void the_threads_are_those_that_the_environment_names(void **state)
{
    (void)state;
    const char *given = getenv("BPCN_THREADS");
    char *before = given != NULL ? strdup(given) : NULL;
    for (int threads = 2; threads <= 4; threads++) {
        char text[16];
        snprintf(text, sizeof text, "%d", threads);
        setenv("BPCN_THREADS", text, 1);
        struct team *asked = team_create(0), *told = team_create(5);
        assert_int_equal(team_size(asked), threads);
        assert_int_equal(team_size(told), 5);
        team_free(asked);
        team_free(told);
    }
    setenv("BPCN_THREADS", "1", 1);
    assert_null(team_create(0));
    if (before != NULL)
        setenv("BPCN_THREADS", before, 1);
    else
        unsetenv("BPCN_THREADS");
    free(before);
    static const char *const wrong[] = {"0", "-1", "1025", "two", "2x"};
    for (size_t i = 0; i < 5; i++) {
        char sentence[100];
        snprintf(sentence, sizeof sentence, "BPCN_THREADS is %s, but must be 1 to 1024", wrong[i]);
        assert_int_equal(status_with("BPCN_THREADS", wrong[i], sentence), BPCN_INVALID);
    }
}

/* Sweeps by teams of one to three against loops in double. */
static void check_sweep(struct team *team, size_t above, size_t below, int masked)
{
    float *mean = numbers(above * below, 6), *z = numbers(above, 7), *target = numbers(below, 8);
    float *root = numbers(above * above, 9), *error = numbers(below, 1), *pull = numbers(above, 2),
          *spread = numbers(above, 3);
    float *scratch = numbers(sweep_scratch(above, team_size(team)), 4);
    unsigned char *known = malloc(below);
    double squares = 0, leverage = 0;
    for (size_t j = 0; j < below; j++)
        known[j] = j % 3 != 0;
    double got = sweep_mean(team, above, below, mean, z, target, masked ? known : NULL, error, pull);
    for (size_t j = 0; j < below; j++) {
        double e = (double)target[j];
        for (size_t i = 0; i < above; i++)
            e -= (double)z[i] * (double)mean[i * below + j];
        e = masked && !known[j] ? 0 : e;
        squares += e * e;
        assert_true(fabs(e - (double)error[j]) <= allowed(above));
    }
    assert_true(fabs(got - squares) <= 1e-5 * (1 + squares));
    for (size_t i = 0; i < above; i++) {
        double sum = 0;
        for (size_t j = 0; j < below; j++)
            sum += (double)error[j] * (double)mean[i * below + j];
        assert_true(fabs(sum - (double)pull[i]) <= 1e-5 * (1 + sqrt(squares * (double)below)));
    }
    float *alone = numbers(below, 5), *added = numbers(above * below, 6);
    if (!masked) {
        assert_true(sweep_mean(team, above, below, mean, z, target, NULL, alone, NULL) == got);
        assert_memory_equal(alone, error, below * sizeof *error);
    }
    sweep_add(team, above, below, z, target, added);
    for (size_t j = 0; j < above * below; j++)
        assert_near((double)added[j], (double)mean[j] + (double)z[j / below] * (double)target[j % below], 2e-7);
    free(alone);
    free(added);
    got = sweep_root(team, above, root, z, spread, scratch);
    double *f = calloc(above, sizeof *f);
    for (size_t i = 0; i < above; i++) {
        for (size_t j = i; j < above; j++)
            f[i] += (double)root[i * above + j] * (double)z[j];
        leverage += f[i] * f[i];
    }
    assert_true(fabs(got - leverage) <= 1e-5 * (1 + leverage));
    for (size_t j = 0; j < above; j++) {
        double sum = 0;
        for (size_t i = 0; i <= j; i++)
            sum += f[i] * (double)root[i * above + j];
        assert_true(fabs(sum - (double)spread[j]) <= 1e-5 * (1 + sqrt(leverage * (double)above)));
    }
    void *all[] = {mean, z, target, root, error, pull, spread, scratch, known, f};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        free(all[i]);
}

static void sweeps_equal_loops_in_double(void **state)
{
    static const size_t sizes[] = {1, 3, 4, 5, 16, 63, 65, 130};
    (void)state;
    for (int threads = 1; threads <= 3; threads++) {
        struct team *team = team_create(threads);
        for (size_t a = 0; a < 8; a++)
            for (size_t b = 0; b < 8; b++)
                check_sweep(team, sizes[a], sizes[b], (int)((a + b) % 2));
        team_free(team);
    }
}

/* ---- G */

/* |e|^2 and e M' of one row, over the known entries, against loops in double over a mean in float32. */
static void check_errors(const struct layer *layer, const unsigned char *mask, const float *x, const float *z,
                         double squares, const float *pull)
{
    const float *mean = layer->mean;
    size_t above = layer->above, below = layer->below;
    double want = 0, *e = room(below, sizeof *e), size = (double)(above * above * below);
    for (size_t j = 0; j < below; j++) {
        e[j] = (double)x[j];
        for (size_t i = 0; i < above; i++)
            e[j] -= (double)z[i] * (double)mean[i * below + j];
        e[j] = mask == NULL || mask[j] ? e[j] : 0;
        want += e[j] * e[j];
    }
    assert_near(squares, want, 1e-15 * size); /* sums in double of terms up to above^2 below */
    for (size_t i = 0; i < above; i++) {
        double sum = 0;
        for (size_t j = 0; j < below; j++)
            sum += e[j] * (double)mean[i * below + j];
        assert_near((double)pull[i], sum, 1e-15 * size + 1e-7 * fabs(sum)); /* rounded to float32 */
    }
    free(e);
}

/* `rows` observations, all aimed at at once, the first by a sweep and all by panels. */
static void check_gram(struct team *team, size_t above, size_t below, size_t rows, const unsigned char *mask)
{
    float *mean = numbers(above * below, 6), *z = numbers(rows * above, 7), *x = numbers(rows * below, 8);
    float *pull = room(rows * above, sizeof *pull);
    const float **row = room(rows, sizeof *row);
    size_t *names = room(rows, sizeof *names);
    double *squares = room(rows, sizeof *squares),
           *space = room(gram_room(above, team) + 2 * rows * above, sizeof *space);
    struct layer layer = {.above = above, .below = below, .mean = mean};
    struct gram *all = gram_create(&layer, NULL, NULL, NULL),
                *gram = gram_create(&layer, mask, below % 2 ? all : NULL, team);
    struct aim aim;
    for (size_t i = 0; i < rows; i++) {
        row[i] = x + i * below;
        names[i] = rows - 1 - i;
    }
    assert_non_null(gram);
    assert_int_equal(aim_create(&aim, gram, &layer, rows, row, team), 0);
    squares[0] = gram_sweep(&aim, team, z, space, pull);
    check_errors(&layer, mask, x, z, squares[0], pull);
    assert_int_equal(gram_cut(gram), 0);
    gram_multiply(&aim, team, rows, names, z, space, squares, pull);
    for (size_t i = 0; i < rows; i++)
        check_errors(&layer, mask, row[names[i]], z + i * above, squares[i], pull + i * above);
    aim_free(&aim);
    gram_free(gram);
    gram_free(all);
    free(mean);
    free(z);
    free(x);
    free(pull);
    free(row);
    free(names);
    free(squares);
    free(space);
}

static void the_gram_matrix_gives_the_errors_of_its_mean(void **state)
{
    static const size_t sizes[] = {1, 3, 4, 5, 16, 17, 63, 130};
    unsigned char some[130];
    (void)state;
    for (size_t j = 0; j < sizeof some; j++)
        some[j] = j % 3 != 0;
    for (int threads = 1; threads <= 3; threads++) {
        struct team *team = team_create(threads);
        for (size_t a = 0; a < 8; a++)
            for (size_t b = 0; b < 8; b++)
                check_gram(team, sizes[a], sizes[b], a + b == 7 ? 20 : 3, (a + b) % 2 ? some : NULL); /* few and many */
        team_free(team);
    }
}

/* |e|^2 at z by a G that has followed many updates, and by one made anew. */
static void the_gram_matrix_follows_the_updates_of_its_mean(void **state)
{
    enum { DIM = 300, WIDTH = 40, UPDATES = 1000 };
    (void)state;
    bpcn_options o = network(DIM, 1, (size_t[]){WIDTH});
    o.sigma_x = 0.05;
    bpcn_memory *m = make_memory(o);
    struct layer *layer = &m->contents.shard[0]->particles[0].layer[0];
    struct update *update = update_create(m->contents.shard[0], NULL);
    struct gram *followed = gram_create(layer, NULL, NULL, NULL);
    struct aim aim, other;
    float pull[WIDTH], again[WIDTH];
    for (uint32_t i = 0; i < UPDATES; i++) {
        float *x = numbers(DIM, 3 * i + 1), *code = numbers(WIDTH, 3 * i + 2);
        const float *row = x;
        assert_int_equal(aim_create(&aim, followed, layer, 1, &row, NULL), 0);
        particle_update(m->contents.shard[0], &m->contents.shard[0]->particles[0], x, NULL, code, 1, 1,
                        (struct following){followed, &aim}, update);
        aim_free(&aim);
        free(x);
        free(code);
    }
    assert_int_equal(followed->age, UPDATES);
    struct gram *fresh = gram_create(layer, NULL, NULL, NULL);
    float *x = numbers(DIM, 1), *z = numbers(WIDTH, 2);
    const float *row = x;
    assert_int_equal(aim_create(&aim, followed, layer, 1, &row, NULL), 0);
    assert_int_equal(aim_create(&other, fresh, layer, 1, &row, NULL), 0);
    double space[4 * WIDTH];
    double got = gram_sweep(&aim, NULL, z, space, pull), want = gram_sweep(&other, NULL, z, space, again);
    /* roundings of the mean to float32, 6e-8 of each entry, that do not add up */
    assert_near(got, want, 1e-6 * want);
    for (size_t i = 0; i < WIDTH; i++)
        assert_near((double)pull[i], (double)again[i], 1e-5 * (1 + fabs((double)again[i])));
    gram_copy(fresh, followed);
    assert_int_equal(fresh->age, UPDATES);
    assert_true(gram_sweep(&other, NULL, z, space, again) == got);
    aim_free(&aim);
    aim_free(&other);
    gram_free(followed);
    gram_free(fresh);
    update_free(update);
    bpcn_memory_free(m);
    free(x);
    free(z);
}

struct tally {
    atomic_int seen[8];
};

static void count_part(void *context, size_t part, size_t parts)
{
    struct tally *tally = context;
    (void)parts;
    atomic_fetch_add(&tally->seen[part], 1);
}

static void a_team_does_every_part_once_and_waits_for_all(void **state)
{
    (void)state;
    for (int threads = 1; threads <= 8; threads++) {
        struct team *team = team_create(threads);
        struct tally tally = {0};
        for (int round = 1; round <= 500; round++) {
            team_run(team, count_part, &tally);
            for (size_t part = 0; part < team_size(team); part++)
                assert_int_equal(atomic_load(&tally.seen[part]), round);
        }
        team_free(team);
    }
}

static void shares_cover_everything_once(void **state)
{
    (void)state;
    for (size_t n = 0; n < 70; n++)
        for (size_t grain = 1; grain < 20; grain += 6)
            for (size_t parts = 1; parts < 6; parts++) {
                size_t reached = 0;
                for (size_t part = 0; part < parts; part++) {
                    size_t first, last;
                    team_share(n, grain, part, parts, &first, &last);
                    assert_int_equal(first, reached);
                    assert_true(last >= first && (last == n || last % grain == 0));
                    reached = last;
                }
                assert_int_equal(reached, n);
            }
}

/* On both sides of the size from which LAPACK does it; a matrix like those of inner products. Of n products each, and
   the sum as large as their condition (below n) lets it be. */
static void a_cholesky_factor_gives_its_matrix_back(void **state)
{
    (void)state;
    const size_t sizes[] = {1, 2, 7, 64, 128, 129, 200};
    for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++) {
        size_t n = sizes[s];
        double *a = room(n * n, sizeof *a), *r = room(n * n, sizeof *r);
        for (size_t i = 0; i < n; i++)
            for (size_t j = 0; j < n; j++)
                a[i * n + j] = r[i * n + j] = (i == j ? 1 : 0) + 1 / (1 + fabs((double)i - (double)j));
        assert_int_equal(cholesky(n, r), 0);
        for (size_t i = 0; i < n; i++)
            for (size_t j = 0; j < n; j++) {
                double sum = 0;
                for (size_t k = 0; k <= i && k <= j; k++)
                    sum += r[k * n + i] * r[k * n + j];
                assert_near(sum, a[i * n + j], 1e-13 * (double)(n + 1));
                assert_true(i <= j || r[i * n + j] == 0);
            }
        a[n * n - 1] = -1;
        assert_int_equal(cholesky(n, a), -1);
        free(a);
        free(r);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_kernels_are_those_that_the_environment_names),
        cmocka_unit_test(the_threads_are_those_that_the_environment_names),
        cmocka_unit_test(every_set_computes_as_plain_loops_do),
        cmocka_unit_test(no_set_looks_beyond_its_numbers),
        cmocka_unit_test(sets_that_fuse_give_the_same_bits),
        cmocka_unit_test(sums_in_double_of_floats_are_the_same_in_every_set),
        cmocka_unit_test(panels_multiply_as_plain_loops_do),
        cmocka_unit_test(panels_in_double_multiply_as_plain_loops_do),
        cmocka_unit_test(triangular_panels_skip_only_zeros),
        cmocka_unit_test(a_row_of_a_product_does_not_depend_on_its_neighbours),
        cmocka_unit_test(not_a_number_goes_through_a_product),
        cmocka_unit_test(sweeps_equal_loops_in_double),
        cmocka_unit_test(the_gram_matrix_gives_the_errors_of_its_mean),
        cmocka_unit_test(the_gram_matrix_follows_the_updates_of_its_mean),
        cmocka_unit_test(a_team_does_every_part_once_and_waits_for_all),
        cmocka_unit_test(shares_cover_everything_once),
        cmocka_unit_test(a_cholesky_factor_gives_its_matrix_back),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
