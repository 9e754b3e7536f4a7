/*
 * Means in float32 are rounded at every write: how far that takes a network from the exact posterior of all of its rows.
 * Usage: test_drift [WRITES]
 */
#include "support.h"

#include "update.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The update in float32, whatever precision this file is compiled for. */
struct update *bpcn_internal_update_create_f32(const struct model *model, struct team *team);
void bpcn_internal_update_free_f32(struct update *u);
void bpcn_internal_update_particle_f32(const struct model *model, struct particle *particle, const float *x0,
                                       const unsigned char *known, const float *code, int sign, int refresh,
                                       struct gram_update following, struct update *u);

enum { DIM = 32, UNITS = 64 };

static size_t writes = 20000;

/* The posterior in information form, in long double. */
struct exact {
    long double precision[UNITS * UNITS], eta[UNITS * DIM];
};

static void exact_add(struct exact *e, const float *z, const float *x, long double noise)
{
    for (size_t i = 0; i < UNITS; i++) {
        for (size_t j = 0; j < UNITS; j++)
            e->precision[i * UNITS + j] += (long double)z[i] * (long double)z[j] / noise;
        for (size_t j = 0; j < DIM; j++)
            e->eta[i * DIM + j] += (long double)z[i] * (long double)x[j] / noise;
    }
}

/* precision becomes its Gauss-Jordan inverse applied to eta: the mean, in eta. */
static void exact_solve(struct exact *e)
{
    long double *a = e->precision, *b = e->eta;
    for (size_t k = 0; k < UNITS; k++)
        for (size_t i = 0; i < UNITS; i++) {
            long double factor = a[i * UNITS + k] / a[k * UNITS + k];
            if (i == k)
                continue;
            for (size_t j = k; j < UNITS; j++)
                a[i * UNITS + j] -= factor * a[k * UNITS + j];
            for (size_t j = 0; j < DIM; j++)
                b[i * DIM + j] -= factor * b[k * DIM + j];
        }
    for (size_t i = 0; i < UNITS; i++)
        for (size_t j = 0; j < DIM; j++)
            b[i * DIM + j] /= a[i * UNITS + i];
}

/* Rows x = z W + noise of sigma_x. The rounding of each write is independent of the others', so that what it adds up to
   grows as the root of their number: 1e-3 of sigma_x after 1e6 writes, 4e-3 after 1e7. */
static void predictions_drift_by_less_than_a_tenth_of_sigma_x(void **state)
{
    (void)state;
    static const size_t hidden[] = {UNITS};
    struct dice dice = {1};
    bpcn_options o = network(DIM, 1, hidden);
    o.activation = BPCN_LINEAR;
    bpcn_memory *m = make_memory(o);
    struct model *model = m->contents.shard[0];
    struct exact *exact = room(1, sizeof *exact);
    double *mean = room(UNITS * DIM, sizeof *mean), *w = room(UNITS * DIM, sizeof *w), off = 0;
    float z[UNITS], x[DIM];
    assert_ok(bpcn_memory_get_layer(m, 0, 0, 0, mean, NULL));
    dice_normals(&dice, UNITS * DIM, 0.125, w);
    for (size_t i = 0; i < UNITS; i++)
        exact->precision[i * UNITS + i] = 1;
    for (size_t j = 0; j < UNITS * DIM; j++)
        exact->eta[j] = (long double)mean[j];
    struct update *u = bpcn_internal_update_create_f32(model, NULL);
    assert_non_null(u);
    for (size_t n = 0; n < writes; n++) {
        for (size_t i = 0; i < UNITS; i++)
            z[i] = (float)(3.4 * (dice_uniform(&dice) - 0.5));
        for (size_t j = 0; j < DIM; j++) {
            double sum = o.sigma_x * dice_normal(&dice);
            for (size_t i = 0; i < UNITS; i++)
                sum += (double)z[i] * w[i * DIM + j];
            x[j] = (float)sum;
        }
        bpcn_internal_update_particle_f32(model, &model->particles[0], x, NULL, z, 1, 0, (struct gram_update){NULL, NULL}, u);
        exact_add(exact, z, x, (long double)o.sigma_x * (long double)o.sigma_x);
    }
    exact_solve(exact);
    assert_ok(bpcn_memory_get_layer(m, 0, 0, 0, mean, NULL));
    for (size_t j = 0; j < DIM; j++) {
        double error = 0;
        for (size_t i = 0; i < UNITS; i++)
            error += (double)z[i] * (mean[i * DIM + j] - (double)exact->eta[i * DIM + j]);
        off += error * error / DIM;
    }
    print_message("after %zu writes predictions are off by %.2g of sigma_x\n", writes, sqrt(off) / o.sigma_x);
    assert_true(sqrt(off) < 0.1 * o.sigma_x);
    bpcn_internal_update_free_f32(u);
    bpcn_memory_free(m);
    free(exact);
    free(mean);
    free(w);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(predictions_drift_by_less_than_a_tenth_of_sigma_x)};
    writes = argc > 1 ? strtoul(argv[1], NULL, 10) : writes;
    return cmocka_run_group_tests_name("drift", tests, NULL, NULL);
}
