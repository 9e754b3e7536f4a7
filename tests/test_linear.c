/* Reads from linear codes: rows that were written need few evaluations; others are searched as before. */
#include "support.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { UNITS = 32, N = UNITS };

static bpcn_options options_of(size_t i)
{
    const size_t hidden[] = {UNITS, UNITS, UNITS};
    const bpcn_activation activations[] = {BPCN_GELU, BPCN_TANH, BPCN_LINEAR, BPCN_GELU};
    bpcn_options o = network(PICTURE, 3, hidden);
    o.sigma_x = 0.01;
    o.activation = activations[i];
    o.precision = i == 3 ? BPCN_FLOAT64 : BPCN_FLOAT32;
    return o;
}

/* A search from the top down takes 20 to 40 evaluations here. */
static void written_rows_take_few_evaluations(void **state)
{
    (void)state;
    for (size_t s = 0; s < 4; s++) {
        struct gallery *g = gallery_of(options_of(s), N, 70 + s);
        unsigned char known[N * PICTURE];
        struct dice dice = {71};
        float out[N * PICTURE];
        bpcn_read_info info[N];
        for (size_t j = 0; j < N * PICTURE; j++)
            known[j] = dice_uniform(&dice) < 0.5;
        for (int masked = 0; masked < 2; masked++) {
            double worst = 0, evaluations = 0;
            assert_ok(bpcn_memory_read(g->memory, g->x, masked ? known : NULL, N, NULL, out, info));
            for (size_t i = 0; i < N; i++) {
                worst = fmax(worst, mean_square_error(PICTURE, out + i * PICTURE, g->x + i * PICTURE));
                evaluations += (double)info[i].evaluations / N;
                assert_int_equal(info[i].verdict, BPCN_KNOWN);
            }
            print_message("shape %zu%s: %.1f evaluations a row, mean square error at most %.1g\n", s,
                          masked ? ", half known" : "", evaluations, worst);
            assert_true(evaluations < 15);
            assert_true(worst < 1e-4); /* sigma_x squared */
        }
        gallery_free(g);
    }
}

/* Rows never written, noisy ones, and fragments that many codes fit are left to the search: none becomes known, and
   noise is reduced as before, to at most a third of its power, N of PICTURE entries being spanned. */
static void other_rows_are_searched(void **state)
{
    (void)state;
    struct gallery *g = gallery_of(options_of(0), N, 75);
    struct dice dice = {76};
    float out[N * PICTURE], noisy[N * PICTURE];
    unsigned char few[N * PICTURE];
    bpcn_read_info info[N];
    assert_ok(bpcn_memory_read(g->memory, g->unseen, NULL, N, NULL, out, info));
    for (size_t i = 0; i < N; i++)
        assert_int_not_equal(info[i].verdict, BPCN_KNOWN);
    dice_normals_f32(&dice, N * PICTURE, 0.1, noisy);
    for (size_t j = 0; j < N * PICTURE; j++) {
        noisy[j] += g->x[j];
        few[j] = dice_uniform(&dice) < 0.12; /* fewer than units */
    }
    assert_ok(bpcn_memory_read(g->memory, noisy, NULL, N, NULL, out, info));
    assert_true(mean_square_error(N * PICTURE, out, g->x) < 0.01 / 3);
    assert_ok(bpcn_memory_read(g->memory, g->x, few, N, NULL, out, info));
    assert_true(mean_square_error(N * PICTURE, out, g->x) < 0.05); /* half the variance of a picture: some are found */
    gallery_free(g);
}

/* The search from the linear code ends where that from the top down ends: energies agree within the tolerance of a
   recall, 1e-5 nats a term. */
static void both_searches_end_at_the_same_energy(void **state)
{
    (void)state;
    struct gallery *g = gallery_of(options_of(0), N, 77);
    bpcn_read_options noise_given;
    float out[N * PICTURE];
    bpcn_read_info linear[N], searched[N];
    bpcn_read_options_default(&noise_given, sizeof noise_given);
    noise_given.noise = 1e-7; /* is searched from the top down */
    assert_ok(bpcn_memory_read(g->memory, g->x, NULL, N, NULL, out, linear));
    assert_ok(bpcn_memory_read(g->memory, g->x, NULL, N, &noise_given, out, searched));
    for (size_t i = 0; i < N; i++) {
        assert_true(linear[i].evaluations < searched[i].evaluations);
        assert_near(linear[i].energy, searched[i].energy, 1e-5 * (PICTURE + 3 * UNITS) * 10);
    }
    gallery_free(g);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(written_rows_take_few_evaluations),
        cmocka_unit_test(other_rows_are_searched),
        cmocka_unit_test(both_searches_end_at_the_same_energy),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
