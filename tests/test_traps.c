/*
 * A host that makes its processor trap on division by zero, overflow and invalid operations meets none of ours: no log(0),
 * no comparison with the NaN of an entry that is not known.
 */
#define _GNU_SOURCE /* feenableexcept */
#include "support.h"

#include <fenv.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { N = 20 };
static const size_t hidden[] = {24, 16};

static void use_everything(bpcn_options o, int faded)
{
    struct dice dice = {3};
    size_t dim = o.dim;
    float *x = room(N * dim, sizeof *x), *out = room(N * dim, sizeof *out), *spread = room(N * dim, sizeof *spread);
    unsigned char *known = room(N * dim, 1);
    double density[N], typicality[N];
    bpcn_read_info info[N];
    bpcn_read_options how;
    bpcn_memory *m = make_memory(o);
    for (size_t j = 0; j < N * dim; j++)
        x[j] = (float)dice_normal(&dice);
    for (size_t j = 0; j < N * dim; j++)
        known[j] = j % dim == 0 || dice_uniform(&dice) < 0.6;
    bpcn_read_options_default(&how, sizeof how);
    how.spread = spread;
    int tabular = o.kind == BPCN_TABLE;
    how.noise = tabular ? 0 : how.noise;
    for (int round = 0; round < 2; round++) { /* empty, then written */
        assert_ok(bpcn_memory_read(m, x, known, N, &how, out, info));
        if (!tabular)
            assert_ok(bpcn_memory_read(m, x, NULL, N, NULL, out, info));
        assert_ok(bpcn_memory_score(m, x, NULL, N, density));
        assert_ok(bpcn_memory_typicality(m, density, N, typicality));
        assert_ok(bpcn_memory_sample(m, 3, 1, out));
        if (round == 0)
            assert_ok(bpcn_memory_write(m, x, NULL, N, NULL));
    }
    for (size_t j = 0; j < N * dim; j++)
        if (!known[j])
            x[j] = NAN; /* never looked at */
    assert_ok(bpcn_memory_write(m, x, known, N, NULL));
    assert_ok(bpcn_memory_read(m, x, known, N, &how, out, info));
    assert_ok(bpcn_memory_score(m, x, known, N, density));
    x[0] = NAN;
    assert_status(bpcn_memory_write(m, x, known, N, NULL), BPCN_INVALID);
    if (faded) {
        assert_ok(bpcn_memory_forget(m, 0.5));
        assert_ok(bpcn_memory_discount(m, 0.5));
        assert_ok(bpcn_memory_forget(m, 1));
    }
    if (o.particles > 1) {
        double *weights = room(o.particles, sizeof *weights);
        weights[0] = 1; /* the others have none: log(0) */
        assert_ok(bpcn_memory_set_weights(m, 0, weights));
        free(weights);
        x[0] = 0;
        assert_ok(bpcn_memory_read(m, x, known, N, &how, out, info));
        assert_ok(bpcn_memory_write(m, x, known, 1, NULL));
    }
    bpcn_memory_free(m);
    free(x);
    free(out);
    free(spread);
    free(known);
}

static void floating_point_traps_of_the_host_meet_nothing_of_ours(void **state)
{
    (void)state;
#ifdef __GLIBC__
    if (feenableexcept(FE_DIVBYZERO | FE_INVALID | FE_OVERFLOW) < 0 || fegetexcept() == 0)
        skip();
    for (int activation = BPCN_GELU; activation <= BPCN_LINEAR; activation++)
        for (int precision = BPCN_FLOAT32; precision <= BPCN_FLOAT64; precision++) {
            bpcn_options o = network(12, 2, hidden);
            o.activation = (bpcn_activation)activation;
            o.precision = (bpcn_precision)precision;
            o.scale = BPCN_SCALE_AUTO;
            use_everything(o, 1);
            o.particles = 3;
            use_everything(o, 1);
            o.resample = 1;
            use_everything(o, 1);
            o.resample = 0;
            o.particles = 1;
            o.shards = 3;
            o.shard_rows = 8;
            use_everything(o, 1);
            o.shards = 1;
            o.shard_rows = 0;
            o.minimizer = BPCN_ADAM;
            o.adam_steps = 50;
            o.rounds = 2;
            use_everything(o, 1);
        }
    bpcn_options o = network(12, 0, NULL);
    use_everything(o, 1);
    o.kind = BPCN_TABLE;
    o.scale = BPCN_SCALE_AUTO;
    use_everything(o, 1);
    fedisableexcept(FE_ALL_EXCEPT);
#else
    skip();
#endif
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(floating_point_traps_of_the_host_meet_nothing_of_ours)};
    return cmocka_run_group_tests_name("traps", tests, NULL, NULL);
}
