/* Scores, energies and samples of a memory of several shards are those of a mixture, by rows: see test_shards.c. */
#include "shards_support.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MIXED = 3 }; /* shards, all of which are looked at; the last has fewer rows */

struct mixture {
    struct gallery *g;
    bpcn_memory *own[MIXED];
    double share[MIXED];
};

static struct mixture mixture_of(bpcn_options o)
{
    enum { ALL = MIXED * ROWS - 2 };
    struct mixture m = {.g = gallery_of(o, ALL, 48)};
    for (size_t k = 0; k < MIXED; k++) {
        size_t rows = k + 1 < MIXED ? ROWS : ROWS - 2;
        bpcn_options own = contents_shard_options(&o, k);
        own.shards = 1;
        m.own[k] = make_memory(own);
        assert_ok(bpcn_memory_write(m.own[k], m.g->x + k * ROWS * PICTURE, NULL, rows, NULL));
        m.share[k] = (double)rows / ALL;
    }
    return m;
}

static void mixture_free(struct mixture m)
{
    for (size_t k = 0; k < MIXED; k++)
        bpcn_memory_free(m.own[k]);
    gallery_free(m.g);
}

/* log sum of share exp(value) */
static double mixed(const struct mixture *m, const double *value)
{
    double high = -INFINITY, sum = 0;
    for (size_t k = 0; k < MIXED; k++)
        high = fmax(high, value[k]);
    for (size_t k = 0; k < MIXED; k++)
        sum += m->share[k] * exp(value[k] - high);
    return high + log(sum);
}

/* The same densities, of rows that are read beside others here: their searches end within a hundredth of a tolerance of
   1e-5 nats an entry. A shard that was not read has tens of nats less. */
static void a_score_is_the_density_of_the_mixture_by_rows(void **state)
{
    (void)state;
    for (size_t s = 0; s < SHAPES; s++) {
        struct mixture m = mixture_of(shape(s));
        unsigned char left[8 * PICTURE];
        left_half(8, left);
        for (int masked = 0; masked < 2; masked++) {
            double score[8], own[MIXED][8];
            float x[8 * PICTURE];
            memcpy(x, m.g->x + 3 * PICTURE, 4 * PICTURE * sizeof *x);
            memcpy(x + 4 * PICTURE, m.g->unseen, 4 * PICTURE * sizeof *x);
            for (size_t j = 0; j < PICTURE; j++)
                x[7 * PICTURE + j] = 0; /* which every shard explains about as well */
            assert_ok(bpcn_memory_score(m.g->memory, x, masked ? left : NULL, 8, score));
            for (size_t k = 0; k < MIXED; k++)
                assert_ok(bpcn_memory_score(m.own[k], x, masked ? left : NULL, 8, own[k]));
            for (size_t i = 0; i < 8; i++) {
                double value[MIXED];
                for (size_t k = 0; k < MIXED; k++)
                    value[k] = own[k][i];
                assert_near(score[i], mixed(&m, value), 2e-5);
            }
        }
        mixture_free(m);
    }
}

/* Codes of the first rows, and some that are far from any. */
static void codes_of(const struct mixture *m, size_t n, float *codes)
{
    struct dice dice = {49};
    assert_ok(bpcn_memory_infer(m->g->memory, m->g->x, NULL, n, NULL, codes, NULL));
    dice_normals_f32(&dice, n / 2 * CODE, 0.3, codes);
}

static void an_energy_is_that_of_the_mixture_by_rows(void **state)
{
    (void)state;
    for (size_t s = 0; s < SHAPES; s++) {
        enum { N = 4 };
        struct mixture m = mixture_of(shape(s));
        float codes[N * CODE], grad[N * CODE], own_grad[MIXED][N * CODE];
        double energy[N], own[MIXED][N];
        codes_of(&m, N, codes);
        for (size_t j = 0; j < N * CODE; j++)
            grad[j] = NAN; /* whatever was there is not seen in what comes */
        assert_ok(bpcn_memory_energy(m.g->memory, m.g->x, NULL, codes, N, NULL, energy, grad));
        for (size_t k = 0; k < MIXED; k++)
            assert_ok(bpcn_memory_energy(m.own[k], m.g->x, NULL, codes, N, NULL, own[k], own_grad[k]));
        for (size_t i = 0; i < N; i++) {
            double value[MIXED];
            for (size_t k = 0; k < MIXED; k++)
                value[k] = -own[k][i];
            double all = mixed(&m, value);
            assert_near(energy[i], -all, 1e-9 * (1 + fabs(all)));
            for (size_t j = i * CODE; j < (i + 1) * CODE; j++) {
                double want = 0, most = 1;
                for (size_t k = 0; k < MIXED; k++) {
                    want += m.share[k] * exp(value[k] - all) * (double)own_grad[k][j];
                    most = fmax(most, fabs((double)own_grad[k][j]));
                }
                assert_near((double)grad[j], want, 1e-6 * most); /* floats */
            }
        }
        mixture_free(m);
    }
}

/* A mixture whose parts weigh about the same, so that the weights' own slopes count: three shards that each know
   little. Central differences of step h err by h^2 times the third derivative, some tens (with h = 2^-9 by 1e-4 in
   all), and by the roundings of energies of some hundreds over h, 1e-9. The gradient leaves as a float. */
static void the_gradient_of_the_energy_is_its_slope(void **state)
{
    (void)state;
    enum { N = 2 };
    bpcn_options o = shape(3);
    o.sigma_x = 1;
    struct mixture m = mixture_of(o);
    float codes[N * CODE], grad[N * CODE], moved[N * CODE];
    double low[N], high[N], energy[N];
    codes_of(&m, N, codes);
    assert_ok(bpcn_memory_energy(m.g->memory, m.g->x, NULL, codes, N, NULL, energy, grad));
    for (size_t j = 0; j < CODE; j++) {
        const float h = 0x1p-14f;
        for (int up = 0; up < 2; up++) {
            memcpy(moved, codes, sizeof moved);
            for (size_t i = 0; i < N; i++)
                moved[i * CODE + j] += up ? h : -h;
            assert_ok(bpcn_memory_energy(m.g->memory, m.g->x, NULL, moved, N, NULL, up ? high : low, NULL));
        }
        for (size_t i = 0; i < N; i++) {
            double step = (double)(codes[i * CODE + j] + h) - (double)(codes[i * CODE + j] - h);
            double slope = (high[i] - low[i]) / step, got = (double)grad[i * CODE + j];
            assert_near(got, slope, 1e-6 * (1 + fabs(slope)));
        }
    }
    mixture_free(m);
}

static void samples_come_from_every_shard_and_a_draw_gives_the_same(void **state)
{
    (void)state;
    enum { N = 200 };
    bpcn_options o = narrow(MIXED, BPCN_BLUR);
    o.sigma_x = 1e-3; /* a sample is what a shard's top predicts, with little noise */
    struct mixture m = mixture_of(o);
    float *x = room(2 * N * PICTURE, sizeof *x), mean[MIXED * PICTURE];
    size_t count[MIXED] = {0};
    assert_ok(bpcn_memory_sample(m.g->memory, N, 7, x));
    assert_ok(bpcn_memory_sample(m.g->memory, N, 7, x + N * PICTURE));
    assert_memory_equal(x, x + N * PICTURE, N * PICTURE * sizeof *x);
    assert_ok(bpcn_memory_sample(m.g->memory, N, 8, x + N * PICTURE));
    assert_memory_not_equal(x, x + N * PICTURE, N * PICTURE * sizeof *x);
    for (size_t k = 0; k < MIXED; k++)
        assert_ok(bpcn_memory_sample(m.own[k], 1, 1, mean + k * PICTURE));
    for (size_t i = 0; i < N; i++) {
        size_t nearest = 0;
        for (size_t k = 1; k < MIXED; k++)
            if (mean_square_error(PICTURE, x + i * PICTURE, mean + k * PICTURE) <
                mean_square_error(PICTURE, x + i * PICTURE, mean + nearest * PICTURE))
                nearest = k;
        count[nearest]++;
    }
    for (size_t k = 0; k < MIXED; k++) /* four standard deviations of a binomial */
        assert_near((double)count[k], N * m.share[k], 4 * sqrt(N * m.share[k] * (1 - m.share[k])));
    free(x);
    mixture_free(m);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_score_is_the_density_of_the_mixture_by_rows),
        cmocka_unit_test(an_energy_is_that_of_the_mixture_by_rows),
        cmocka_unit_test(the_gradient_of_the_energy_is_its_slope),
        cmocka_unit_test(samples_come_from_every_shard_and_a_draw_gives_the_same),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
