/* Kinks at 0: the jumps of a ReLU network's gradient, and L-BFGS on functions that have some. */
#include "support.h"

#include "minimize.h"
#include "energy.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- the network */

/* The slope of the energy at a code whose entry j is 0, just above (side 1) or just below (-1). */
static double slope_beside(const struct energy *energy, const struct batch *batch, struct workspace *work,
                           double *entry, double side)
{
    const double step = 1e-6;
    double at[2];
    for (int i = 0; i < 2; i++) {
        *entry = side * step * (1 + i);
        energy_evaluate(energy, batch, work, &at[i], NULL, NULL, NULL);
    }
    *entry = 0;
    return (at[1] - at[0]) / (side * step);
}

static void a_relu_gradient_has_a_side_below_zero_and_jumps_to_the_other(void **state)
{
    (void)state;
    const size_t hidden[] = {12, 9};
    enum { DIM = 20, CODE = 21 };
    for (double negative_slope = 0; negative_slope <= 1; negative_slope += 0.5) {
        struct dice dice = {5};
        bpcn_options o = network(DIM, 2, hidden);
        o.activation = BPCN_RELU;
        o.sigma_x = 0.5;
        o.precision = BPCN_FLOAT64;
        bpcn_memory *m = make_memory(o);
        randomize(m, &dice, 1);
        double x[DIM], code[CODE], grad[CODE], count = DIM, extra = 0, energy;
        const double *row = x;
        struct batch batch = {
            .n = 1, .x0 = &row, .count = &count, .extra = &extra, .h = code, .negative_slope = &negative_slope};
        struct energy density = {.model = m->contents.shard[0],
                                 .particle = &m->contents.shard[0]->particles[0],
                                 .weighing = &weighing_density};
        struct workspace *work = workspace_create(m->contents.shard[0], 1, 0, NULL);
        dice_normals(&dice, DIM, 1, x);
        dice_normals(&dice, CODE, 1, code);
        for (size_t j = 0; j < CODE; j += 3)
            code[j] = 0;
        energy_evaluate(&density, &batch, work, &energy, grad, NULL, NULL);
        for (size_t j = 0; j < CODE; j += 3) {
            double below = slope_beside(&density, &batch, work, &code[j], -1),
                   above = slope_beside(&density, &batch, work, &code[j], 1);
            assert_near(grad[j], below, 1e-3); /* differences of energies of a few hundred, 1e-6 apart */
            assert_near(grad[j] + work->jump[j], above, 1e-3);
        }
        workspace_free(work);
        bpcn_memory_free(m);
    }
}

static void networks_without_kinks_keep_no_jumps(void **state)
{
    (void)state;
    bpcn_memory *m = make_memory(network(4, 1, (size_t[]){3}));
    struct workspace *work = workspace_create(m->contents.shard[0], 1, 0, NULL);
    assert_null(work->jump);
    workspace_free(work);
    bpcn_memory_free(m);
}

/* ---- a step */

static void at_a_kink_the_steeper_fall_is_taken(void **state)
{
    (void)state;
    /* not at 0; falls above only; below only; on neither side; on both, faster above; faster below */
    const double point[] = {1, 0, 0, 0, 0, 0}, jump[] = {3, -2, 1, 4, -5, -3};
    double grad[] = {7, -1, 2, -1, 2, 2};
    const double want[] = {7, -3, 2, 0, -3, 2};
    kink_descend(6, point, jump, grad);
    assert_memory_equal(grad, want, sizeof want);
}

static void a_step_stays_on_its_side(void **state)
{
    (void)state;
    /* passes from above; from below; does not pass; no kink; at 0 and falling above: goes there, and not below */
    const double from[] = {1, -1, 1, 1, 0, 0}, grad[] = {1, 1, 1, 1, -1, -1}, jump[] = {1, 1, 1, 0, 1, 1};
    double to[] = {-1, 1, 0.5, -1, 1, -1};
    const double want[] = {0, 0, 0.5, -1, 1, 0};
    kink_stop(6, from, grad, jump, to);
    assert_memory_equal(to, want, sizeof want);
    /* at 0, a direction against the gradient is kept, and no other; elsewhere any */
    double direction[] = {1, 1, 1, 1, 1, -1};
    const double held[] = {1, 1, 1, 1, 1, 0};
    kink_hold(6, from, grad, jump, direction);
    assert_memory_equal(direction, held, sizeof held);
}

static void the_curvature_of_a_step_does_not_see_the_jump(void **state)
{
    (void)state;
    /* arrives at 0 from above, from below, leaves 0 for above, rests at 0 */
    const double from[] = {1, -1, 0, 0}, grad[] = {5, -5, -5, 0}, to[] = {0, 0, 1, 0}, jump[] = {2, 2, 2, 2};
    double change[] = {-3, 1, 4, 9};
    const double want[] = {-1, 1, 4, 0};
    kink_change(4, from, grad, to, jump, change);
    assert_memory_equal(change, want, sizeof want);
}

/* ---- L-BFGS */

enum { DIM = 60 };

/* x A x / 2 - b x + w max(x, 0), A positive definite, w >= 0: convex, with its minimum in an edge. */
struct edged {
    double a[DIM * DIM], b[DIM], w[DIM], jump[DIM];
    size_t evaluations;
};

static void edged_create(struct edged *e, uint64_t seed)
{
    struct dice dice = {seed};
    random_covariance(&dice, DIM, e->a);
    dice_normals(&dice, DIM, 1, e->b);
    for (size_t j = 0; j < DIM; j++)
        e->w[j] = 2 * dice_uniform(&dice);
    e->evaluations = 0;
}

static void evaluate_edged(void *context, size_t n, const size_t *rows, const double *x, double *energy, double *grad)
{
    struct edged *e = context;
    (void)n;
    (void)rows;
    *energy = 0;
    for (size_t i = 0; i < DIM; i++) {
        double pull = 0;
        for (size_t j = 0; j < DIM; j++)
            pull += e->a[i * DIM + j] * x[j];
        *energy += x[i] * (pull / 2 - e->b[i]) + e->w[i] * fmax(x[i], 0);
        grad[i] = pull - e->b[i] + (x[i] > 0 ? e->w[i] : 0);
        e->jump[i] = e->w[i];
    }
    e->evaluations++;
}

static int only_stage(void *context, size_t row, size_t number, double *point, struct stage *stage)
{
    (void)context;
    (void)row;
    (void)point;
    *stage = (struct stage){500, 1e-12};
    return number == 0;
}

/* One entry after the other, each to its own minimum, until all stay. */
static void descend_by_entries(const struct edged *e, double *x)
{
    for (int round = 0; round < 5000; round++)
        for (size_t i = 0; i < DIM; i++) {
            double rest = e->b[i];
            for (size_t j = 0; j < DIM; j++)
                rest -= j == i ? 0 : e->a[i * DIM + j] * x[j];
            double above = (rest - e->w[i]) / e->a[i * DIM + i], below = rest / e->a[i * DIM + i];
            x[i] = above > 0 ? above : below < 0 ? below : 0;
        }
}

static void a_minimum_with_entries_at_kinks_is_found_exactly(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= 10; seed++) {
        struct edged e;
        edged_create(&e, seed);
        double x[DIM] = {0}, want[DIM] = {0}, energy, grad[DIM];
        size_t resting = 0;
        struct outcome outcome;
        struct objective objective = {
            .context = &e, .dim = DIM, .evaluate = evaluate_edged, .enter = only_stage, .jump = e.jump};
        assert_ok(lbfgs_minimize(&objective, 1, 1, x, &outcome));
        size_t evaluations = e.evaluations;
        descend_by_entries(&e, want);
        evaluate_edged(&e, 1, NULL, want, &energy, grad);
        assert_true(outcome.converged);
        assert_near(outcome.energy, energy, 1e-9);
        for (size_t j = 0; j < DIM; j++) {
            assert_near(x[j], want[j], 1e-4); /* the energy is flat to second order */
            assert_int_equal(x[j] == 0, want[j] == 0);
            resting += want[j] == 0;
        }
        assert_true(resting > DIM / 10);
        /* without knowing of the kinks it takes longer, or does not arrive */
        memset(x, 0, sizeof x);
        e.evaluations = 0;
        objective.jump = NULL;
        assert_ok(lbfgs_minimize(&objective, 1, 1, x, &outcome));
        assert_true(e.evaluations > 2 * evaluations || outcome.energy > energy + 1e-6);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_relu_gradient_has_a_side_below_zero_and_jumps_to_the_other),
        cmocka_unit_test(networks_without_kinks_keep_no_jumps),
        cmocka_unit_test(at_a_kink_the_steeper_fall_is_taken),
        cmocka_unit_test(a_step_stays_on_its_side),
        cmocka_unit_test(the_curvature_of_a_step_does_not_see_the_jump),
        cmocka_unit_test(a_minimum_with_entries_at_kinks_is_found_exactly),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
