/* Every set of kernels that this CPU has against plain loops and against the other sets, which is chosen, and the team
   that runs them. What is made of them is in test_products.c. */
#include "kernels_support.h"

#include "activation.h"
#include "shard.h"
#include "matmul.h"
#include "kernels.h"
#include "threads.h"

#include <math.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

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
    activation_apply_plain(BPCN_GELU, n, in->rows, plain, plain + LONGEST);
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
    float *out = numbers(2 * 29 * 70, 4), *data = numbers(matmul_packed_entries(300, 70, sizeof(float)), 3);
    struct panels p = matmul_pack(300, 70, in.rows, 0, PANEL_FULL, data);
    matmul_by_f32(one, &p, 29, in.rows, out);
    matmul_by_f32(other, &p, 29, in.rows, out + 29 * 70);
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
extern const struct kernels KERNELS(wide), KERNELS(narrow);
static const struct kernels *const fusing[] = {&KERNELS(wide), &KERNELS(narrow)};
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
        struct team *asked = threads_borrow(0), *told = threads_borrow(5);
        assert_int_equal(threads_count(asked), threads);
        assert_int_equal(threads_count(told), 5);
        threads_return(asked);
        threads_return(told);
    }
    setenv("BPCN_THREADS", "1", 1);
    assert_null(threads_borrow(0));
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

/* ---- the team */

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
        struct team *team = threads_borrow(threads);
        struct tally tally = {0};
        for (int round = 1; round <= 500; round++) {
            threads_run(team, count_part, &tally);
            for (size_t part = 0; part < threads_count(team); part++)
                assert_int_equal(atomic_load(&tally.seen[part]), round);
        }
        threads_return(team);
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
                    threads_share(n, grain, part, parts, &first, &last);
                    assert_int_equal(first, reached);
                    assert_true(last >= first && (last == n || last % grain == 0));
                    reached = last;
                }
                assert_int_equal(reached, n);
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
        cmocka_unit_test(a_team_does_every_part_once_and_waits_for_all),
        cmocka_unit_test(shares_cover_everything_once),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
