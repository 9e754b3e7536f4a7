/*
 * The mixture of particles for batches of rows: the sum over all particles, though those without a share are passed
 * over by the floors of their energies (mixture.c).
 */
#include "support.h"

#include "energy.h"
#include "naive.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { PARTICLES = 3, ROWS = 12 };

/* A memory that has been written to, its panels, and rows with codes: those of the writes, of one particle each, and
   others on the way to them. */
struct scene {
    bpcn_memory *memory;
    struct model *model;
    struct weights *weights[PARTICLES];
    double x[ROWS * PICTURE], codes[ROWS * SMALL_CODE], count[ROWS], extra[ROWS];
    const double *x0[ROWS];
    struct workspace *work;
};

/* Rows of different particles, at 0 to 1 of the way from nothing to the code that the particle has of them. */
static void place_rows(struct scene *s, struct dice *dice, const float *x, const bpcn_write_info *info)
{
    for (size_t i = 0; i < ROWS; i++) {
        double way = dice_uniform(dice);
        const float *code = info->codes + (i * PARTICLES + i % PARTICLES) * SMALL_CODE;
        for (size_t j = 0; j < PICTURE; j++)
            s->x[i * PICTURE + j] = (double)x[i * PICTURE + j];
        for (size_t j = 0; j < SMALL_CODE; j++)
            s->codes[i * SMALL_CODE + j] = way * (double)code[j];
        s->x0[i] = s->x + i * PICTURE;
        s->count[i] = PICTURE;
        s->extra[i] = 0;
    }
}

static struct scene *scene_create(bpcn_activation activation)
{
    struct dice dice = {77 + (size_t)activation};
    struct scene *s = room(1, sizeof *s);
    float x[ROWS * PICTURE], codes[ROWS * PARTICLES * SMALL_CODE];
    bpcn_write_info info = {.size = sizeof info, .codes = codes};
    bpcn_options o = small_network(PARTICLES);
    o.precision = BPCN_FLOAT64;
    o.activation = activation;
    s->memory = make_memory(o);
    pictures(&dice, ROWS, x);
    assert_ok(bpcn_memory_write(s->memory, x, NULL, ROWS, &info));
    s->model = s->memory->contents.shard[0];
    place_rows(s, &dice, x, &info);
    for (size_t k = 0; k < PARTICLES; k++) {
        s->model->log_weights[k] = -log(PARTICLES);
        s->weights[k] = weights_create(s->model, &s->model->particles[k]);
        assert_non_null(s->weights[k]);
    }
    s->work = workspace_create(s->model, ROWS, 1, NULL);
    assert_non_null(s->work);
    return s;
}

static void scene_free(struct scene *s)
{
    for (size_t k = 0; k < PARTICLES; k++)
        weights_free(s->weights[k]);
    workspace_free(s->work);
    bpcn_memory_free(s->memory);
    free(s);
}

static struct batch batch_of(const struct scene *s)
{
    return (struct batch){.n = ROWS, .x0 = s->x0, .count = s->count, .extra = s->extra, .h = s->codes};
}

/* By panels, or swept row by row. */
static struct energy energy_of(const struct scene *s, int by_panels)
{
    return (struct energy){.model = s->model,
                           .weighing = &weighing_density,
                           .weights = by_panels ? (const struct weights *const *)s->weights : NULL};
}

/* Energies and gradients of particle k alone. */
static void evaluate_one(const struct scene *s, struct energy energy, size_t k, double *values, double *grad,
                         double *grad_x0)
{
    struct batch batch = batch_of(s);
    energy.particle = &s->model->particles[k];
    energy_evaluate(&energy, &batch, s->work, values, grad, grad_x0, NULL);
}

static void check_floors(const struct scene *s, int by_panels)
{
    double floor[ROWS], values[ROWS];
    struct batch batch = batch_of(s);
    struct energy energy = energy_of(s, by_panels);
    for (size_t k = 0; k < PARTICLES; k++) {
        energy.particle = &s->model->particles[k];
        energy_floor(&energy, &batch, s->work, floor);
        evaluate_one(s, energy, k, values, NULL, NULL);
        for (size_t i = 0; i < ROWS; i++)
            assert_true(floor[i] <= values[i]);
    }
}

static void floors_are_never_above_the_energies(void **state)
{
    (void)state;
    for (int activation = BPCN_GELU; activation <= BPCN_LINEAR; activation++) {
        struct scene *s = scene_create((bpcn_activation)activation);
        check_floors(s, 0);
        check_floors(s, 1);
        scene_free(s);
    }
}

/* The sum as it is defined, of all particles. Returns how many rows have one that no_share would pass over. */
static size_t check_sum(const struct scene *s, int by_panels)
{
    double part[PARTICLES][ROWS], grad[PARTICLES][ROWS * SMALL_CODE], grad_x0[PARTICLES][ROWS * PICTURE];
    double values[ROWS], mixed[ROWS * SMALL_CODE], mixed_x0[ROWS * PICTURE], share[ROWS * PARTICLES];
    struct batch batch = batch_of(s);
    struct energy energy = energy_of(s, by_panels);
    size_t passed = 0;
    for (size_t k = 0; k < PARTICLES; k++)
        evaluate_one(s, energy, k, part[k], grad[k], grad_x0[k]);
    energy_evaluate_mixture(&energy, &batch, s->work, values, mixed, mixed_x0, share);
    for (size_t i = 0; i < ROWS; i++) {
        double least = fmin(part[0][i], fmin(part[1][i], part[2][i])), sum = 0, want[PARTICLES], most = 0;
        for (size_t k = 0; k < PARTICLES; k++) {
            want[k] = exp(least - part[k][i]);
            sum += want[k];
            passed += part[k][i] > least + 50;
            most = fmax(most, greatest_size(SMALL_CODE, grad[k] + i * SMALL_CODE));
        }
        /* roundings of float64 in log, exp and the sums: energies are of some hundred nats */
        assert_near(values[i], least - log(sum / PARTICLES), 1e-10);
        for (size_t k = 0; k < PARTICLES; k++)
            assert_near(share[i * PARTICLES + k], want[k] / sum, 1e-10);
        for (size_t j = 0; j < SMALL_CODE + PICTURE; j++) {
            double total = 0;
            for (size_t k = 0; k < PARTICLES; k++)
                total += want[k] / sum *
                         (j < SMALL_CODE ? grad[k][i * SMALL_CODE + j] : grad_x0[k][i * PICTURE + j - SMALL_CODE]);
            assert_near(j < SMALL_CODE ? mixed[i * SMALL_CODE + j] : mixed_x0[i * PICTURE + j - SMALL_CODE], total,
                        1e-10 * (1 + most));
        }
    }
    return passed;
}

static void a_mixture_is_the_sum_over_all_its_particles(void **state)
{
    (void)state;
    for (int activation = BPCN_GELU; activation <= BPCN_LINEAR; activation++) {
        struct scene *s = scene_create((bpcn_activation)activation);
        size_t passed = check_sum(s, 0);
        assert_true(passed > ROWS / 2); /* of 24 places; or nothing was tried */
        assert_int_equal(check_sum(s, 1), passed);
        scene_free(s);
    }
}

/* Means of nonsense come out where they are multiplied, and only there. */
static void a_particle_without_a_share_is_not_evaluated(void **state)
{
    double values[ROWS], grad[ROWS * SMALL_CODE];
    struct scene *s = scene_create(BPCN_GELU);
    struct batch batch = batch_of(s);
    (void)state;
    for (int by_panels = 0; by_panels <= 1; by_panels++) {
        struct energy energy = energy_of(s, by_panels);
        struct layer *layer = &s->model->particles[1].layer[1];
        memset(s->model->log_weights, 0, PARTICLES * sizeof *s->model->log_weights);
        ((double *)layer->mean)[0] = NAN;
        weights_free(s->weights[1]);
        s->weights[1] = weights_create(s->model, &s->model->particles[1]);
        energy_evaluate_mixture(&energy, &batch, s->work, values, grad, NULL, NULL);
        int nonsense = 0;
        for (size_t i = 0; i < ROWS; i++)
            nonsense += isnan(values[i]) != 0;
        assert_true(nonsense > 0);
        s->model->log_weights[1] = -1e6;
        energy_evaluate_mixture(&energy, &batch, s->work, values, grad, NULL, NULL);
        for (size_t i = 0; i < ROWS; i++)
            assert_true(isfinite(values[i]));
        for (size_t j = 0; j < ROWS * SMALL_CODE; j++)
            assert_true(isfinite(grad[j]));
    }
    scene_free(s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(floors_are_never_above_the_energies),
        cmocka_unit_test(a_mixture_is_the_sum_over_all_its_particles),
        cmocka_unit_test(a_particle_without_a_share_is_not_evaluated),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
