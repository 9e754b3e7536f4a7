/* Which particles a read searches, and what that costs it. */
#include "support.h"

#include "shard.h"
#include "network.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { PARTICLES = 3, ROWS = 12 };

/* Particle k leads all others by so many nats. */
static void let_lead(bpcn_memory *memory, size_t k, double nats)
{
    for (size_t j = 0; j < PARTICLES; j++)
        memory->contents.shard[0]->log_weights[j] = j == k ? 0 : -nats;
}

/* The energies of rows in particle k: of the mixture, when no other can win. */
static void read_led_by(bpcn_memory *memory, size_t k, double nats, const float *rows, bpcn_read_info *info)
{
    float codes[ROWS * SMALL_CODE];
    bpcn_read_options clean;
    bpcn_read_options_default(&clean, sizeof clean);
    clean.noise = 0;
    let_lead(memory, k, nats);
    assert_ok(bpcn_memory_infer(memory, rows, NULL, ROWS, &clean, codes, info));
}

static void particles_far_behind_cost_an_ordinary_row_nothing_but_a_look(void **state)
{
    (void)state;
    struct gallery *s = gallery_of(small_network(PARTICLES), ROWS, 4);
    bpcn_read_info far[ROWS], near[ROWS];
    read_led_by(s->memory, 1, 50, s->x, far);
    read_led_by(s->memory, 1, 5, s->x, near);
    for (size_t i = 0; i < ROWS; i++) {
        assert_int_equal(far[i].particle, 1);
        assert_true(2 * far[i].evaluations < near[i].evaluations + 2 * PARTICLES);
    }
    gallery_free(s);
}

/* Rows a hundred times as large as anything written, which particles disagree about by up to 91 nats. */
static void a_particle_behind_wins_an_odd_row_that_it_explains_best(void **state)
{
    const double lead = 25; /* too much for an ordinary row */
    (void)state;
    struct gallery *s = gallery_of(small_network(PARTICLES), ROWS, 4);
    bpcn_read_info alone[PARTICLES][ROWS], info[ROWS];
    size_t overtaken = 0;
    for (size_t j = 0; j < ROWS * PICTURE; j++)
        s->unseen[j] *= 100;
    for (size_t k = 0; k < PARTICLES; k++)
        read_led_by(s->memory, k, 1e9, s->unseen, alone[k]);
    read_led_by(s->memory, 0, lead, s->unseen, info);
    for (size_t i = 0; i < ROWS; i++) {
        double best = alone[0][i].energy;
        for (size_t k = 1; k < PARTICLES; k++)
            best = fmin(best, alone[k][i].energy + lead);
        overtaken += best < alone[0][i].energy - 5;
        assert_true(info[i].energy <= best + 5); /* only the heaviest particle is searched twice */
    }
    assert_true(overtaken > 0);
    gallery_free(s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(particles_far_behind_cost_an_ordinary_row_nothing_but_a_look),
        cmocka_unit_test(a_particle_behind_wins_an_odd_row_that_it_explains_best),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
