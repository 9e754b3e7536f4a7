/*
 * numerics [WRITES]: the covariance root after very many updates along few keys, which squeeze U
 * to almost nothing in those directions and leave it alone in all others, with and without
 * forgetting in between. Default 100,000 writes; `make check-long` asks for 3,000,000.
 *
 * The reference lives in the space of the keys, in 113-bit arithmetic: with A = Z U Z' [K x K] and
 * the predictions M = Z mean, c_i observations of key i with mean y_i condition at once to
 *   A' = A - A (s C^-1 + A)^-1 A          M' = M + A (s C^-1 + A)^-1 (Y - M)
 * and forgetting to (1 - b) A + b sw^2 Z Z' and r M + (1 - r) M_prior: nothing accumulates.
 */
#include "support.h"

#include "cholesky.h"
#include "update.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#ifdef __SIZEOF_FLOAT128__
__extension__ typedef __float128 wide;
#else
typedef long double wide;
#endif

/* the float32 copies, which this program is not compiled for */
struct update *update_create_f32(const struct model *model);
void update_free_f32(struct update *u);
void particle_update_f32(const struct model *model, struct particle *particle, const float *x0, const float *code,
                         int sign, struct update *u);

enum { WIDTH = 64, KEYS = 16, PROBES = 8, ALL = KEYS + PROBES, BELOW = 3, PERIOD = 1000 };
static const double forget_beta = 0.001;
static size_t writes = 100000;

/* ---- the reference */

struct reference {
    double s;
    double z[ALL * WIDTH]; /* keys, then probes that are never written */
    wide gram[ALL * ALL];  /* z z' */
    wide a[ALL * ALL];     /* z U z' */
    wide m[ALL * BELOW];   /* z mean */
    wide prior[ALL * BELOW];
    double y[KEYS * BELOW]; /* what is written under each key */
};

static void reference_create(struct reference *r, double s, double scale, const double *mean)
{
    struct dice dice = {99};
    r->s = s;
    dice_normals(&dice, ALL * WIDTH, scale, r->z);
    for (size_t j = 0; j < ALL * WIDTH; j++)
        r->z[j] = (double)(float)r->z[j]; /* so that float32 has the very same keys */
    for (size_t i = 0; i < WIDTH; i++)    /* two keys that nearly coincide */
        r->z[WIDTH + i] = (double)(float)(r->z[i] + 1e-3 * r->z[WIDTH + i]);
    for (size_t j = 0; j < KEYS * BELOW; j++)
        r->y[j] = (double)(float)dice_normal(&dice);
    for (size_t i = 0; i < ALL; i++) {
        for (size_t j = 0; j < ALL; j++) {
            wide sum = 0;
            for (size_t k = 0; k < WIDTH; k++)
                sum += (wide)r->z[i * WIDTH + k] * (wide)r->z[j * WIDTH + k];
            r->gram[i * ALL + j] = r->a[i * ALL + j] = sum; /* sw = 1 */
        }
        for (size_t b = 0; b < BELOW; b++) {
            wide sum = 0;
            for (size_t k = 0; mean != NULL && k < WIDTH; k++)
                sum += (wide)r->z[i * WIDTH + k] * (wide)mean[k * BELOW + b];
            r->m[i * BELOW + b] = r->prior[i * BELOW + b] = sum;
        }
    }
}

/* system [KEYS x KEYS] x = right [KEYS x columns], by elimination: it is positive definite. */
static void wide_solve(wide *system, size_t columns, wide *right)
{
    for (size_t k = 0; k < KEYS; k++)
        for (size_t i = 0; i < KEYS; i++) {
            if (i == k)
                continue;
            wide factor = system[i * KEYS + k] / system[k * KEYS + k];
            for (size_t j = k; j < KEYS; j++)
                system[i * KEYS + j] -= factor * system[k * KEYS + j];
            for (size_t j = 0; j < columns; j++)
                right[i * columns + j] -= factor * right[k * columns + j];
        }
    for (size_t i = 0; i < KEYS; i++)
        for (size_t j = 0; j < columns; j++)
            right[i * columns + j] /= system[i * KEYS + i];
}

/* `count` observations of every key. */
static void reference_observe(struct reference *r, size_t count)
{
    enum { COLUMNS = ALL + BELOW };
    static wide system[KEYS * KEYS], right[KEYS * COLUMNS];
    for (size_t i = 0; i < KEYS; i++) {
        for (size_t j = 0; j < KEYS; j++)
            system[i * KEYS + j] = r->a[i * ALL + j] + (i == j ? (wide)r->s / (wide)(double)count : 0);
        for (size_t j = 0; j < ALL; j++)
            right[i * COLUMNS + j] = r->a[i * ALL + j];
        for (size_t b = 0; b < BELOW; b++)
            right[i * COLUMNS + ALL + b] = (wide)r->y[i * BELOW + b] - r->m[i * BELOW + b];
    }
    wide_solve(system, COLUMNS, right);
    for (size_t i = 0; i < ALL; i++) {
        wide row[KEYS];
        for (size_t k = 0; k < KEYS; k++)
            row[k] = r->a[i * ALL + k];
        for (size_t k = 0; k < KEYS; k++) {
            for (size_t j = 0; j < ALL; j++)
                r->a[i * ALL + j] -= row[k] * right[k * COLUMNS + j];
            for (size_t b = 0; b < BELOW; b++)
                r->m[i * BELOW + b] += row[k] * right[k * COLUMNS + ALL + b];
        }
    }
}

static void reference_forget(struct reference *r, double beta)
{
    double keep = sqrt(1 - beta);
    for (size_t j = 0; j < ALL * ALL; j++)
        r->a[j] = (wide)(1 - beta) * r->a[j] + (wide)beta * r->gram[j];
    for (size_t j = 0; j < ALL * BELOW; j++)
        r->m[j] = (wide)keep * r->m[j] + (wide)(1 - keep) * r->prior[j];
}

/* ---- the covariance root */

/* z U z' of every key and probe, relative to the reference. */
static double worst_variance(const struct reference *r, const double *root)
{
    double work[WIDTH], worst = 0;
    for (size_t i = 0; i < ALL; i++) {
        double want = (double)r->a[i * ALL + i], got = cholesky_variance(WIDTH, root, r->z + i * WIDTH, work);
        double off = fabs(got / want - 1);
        worst = off <= worst ? worst : off;
    }
    return worst;
}

/* Symmetric to the bit, and positive definite by a factorisation L D L' in wide arithmetic. */
static void assert_definite(const double *root)
{
    static double u[WIDTH * WIDTH];
    static wide l[WIDTH * WIDTH];
    cholesky_to_covariance(WIDTH, root, u);
    for (size_t i = 0; i < WIDTH; i++) {
        assert_true(root[cholesky_row(WIDTH, i)] > 0);
        for (size_t j = 0; j < WIDTH; j++) {
            assert_true(u[i * WIDTH + j] == u[j * WIDTH + i]);
            l[i * WIDTH + j] = (wide)u[i * WIDTH + j];
        }
    }
    for (size_t k = 0; k < WIDTH; k++) {
        assert_true(l[k * WIDTH + k] > 0);
        for (size_t i = k + 1; i < WIDTH; i++) {
            wide factor = l[i * WIDTH + k] / l[k * WIDTH + k];
            for (size_t j = k; j < WIDTH; j++)
                l[i * WIDTH + j] -= factor * l[k * WIDTH + j];
        }
    }
}

static void check_root(double s, int forgetting)
{
    static struct reference r;
    double *root = room(cholesky_entries(WIDTH), sizeof *root), *work = room(cholesky_diffuse_work(WIDTH), sizeof *work);
    double gain[WIDTH];
    size_t period = PERIOD / KEYS * KEYS, done = 0;
    reference_create(&r, s, 1, NULL);
    cholesky_identity(WIDTH, 1, root);
    while (done < writes) {
        size_t now = !forgetting || writes - done < period ? (writes - done + KEYS - 1) / KEYS * KEYS : period;
        for (size_t t = 0; t < now; t++)
            cholesky_condition(WIDTH, s, r.z + t % KEYS * WIDTH, root, gain, work);
        reference_observe(&r, now / KEYS);
        done += now;
        if (!forgetting)
            break;
        cholesky_diffuse(WIDTH, 1 - forget_beta, forget_beta, root, work);
        reference_forget(&r, forget_beta);
    }
    double worst = worst_variance(&r, root);
    print_message("sigma_x^2 = %g, %zu writes%s: z U z' within %.2g\n", s, done, forgetting ? ", forgetting" : "",
                  worst);
    /* The law asks for 1e-3. Measured: 6e-10 after 100,000, growing with the number of writes. */
    assert_true(worst < 1e-6);
    assert_definite(root);
    free(root);
    free(work);
}

static void the_root_survives_very_many_writes(void **state)
{
    (void)state;
    check_root(1e-4, 0);
    check_root(1e-6, 0);
}

static void the_root_survives_very_many_writes_and_forgets(void **state)
{
    (void)state;
    check_root(1e-4, 1);
    check_root(1e-6, 1);
}

/* Taking an observation back is the inverse of making it, over and over. */
static void conditioning_and_taking_back_do_not_drift(void **state)
{
    (void)state;
    static struct reference r;
    double *root = room(cholesky_entries(WIDTH), sizeof *root), gain[WIDTH], work[WIDTH];
    const double s = 0.01;
    reference_create(&r, s, 0.1, NULL);
    cholesky_identity(WIDTH, 1, root);
    for (size_t t = 0; t < KEYS; t++)
        cholesky_condition(WIDTH, s, r.z + t * WIDTH, root, gain, work);
    reference_observe(&r, 1);
    for (size_t t = 0; t < 1000; t++) {
        const double *z = r.z + (KEYS + t % PROBES) * WIDTH;
        cholesky_condition(WIDTH, s, z, root, gain, work);
        cholesky_condition(WIDTH, -s, z, root, gain, work);
    }
    assert_true(worst_variance(&r, root) < 1e-9); /* 1000 round trips that each lose two digits of 16 */
    assert_definite(root);
    free(root);
}

/* ---- the means */

/* A network of linear units, so that a code is its own key; hidden width WIDTH, dim BELOW. */
static bpcn_memory *linear_network(double s, bpcn_precision precision)
{
    bpcn_options o = network(BELOW, 1, (size_t[]){WIDTH});
    o.activation = BPCN_LINEAR;
    o.sigma_x = sqrt(s);
    o.precision = precision;
    return make_memory(o);
}

static void write_keys(bpcn_memory *memory, const struct reference *r, size_t count)
{
    struct model *model = memory->contents.shard[0];
    float x[BELOW], code[WIDTH];
    int narrow = model->options.precision == BPCN_FLOAT32;
    const struct shard_ops *core = shard_ops_for(model);
    struct shard shard = {.model = model};
    struct writer *editor = core->create_writer(&shard, NULL, 0);
    const double weight = 0;
    assert_non_null(editor);
    assert_ok(core->reserve_writer(editor, CHANGE_WRITE));
    for (size_t t = 0; t < count; t++) {
        const double *key = r->z + t % KEYS * WIDTH, *target = r->y + t % KEYS * BELOW;
        for (size_t j = 0; j < BELOW; j++)
            x[j] = (float)target[j];
        for (size_t j = 0; j < WIDTH; j++)
            code[j] = (float)key[j];
        struct change change = {.kind = CHANGE_WRITE, .rows = 1, .x = target, .codes = key, .log_weights = &weight};
        if (narrow) {
            change.x = x;
            change.codes = code;
        }
        core->apply(editor, &change);
    }
    core->free_writer(editor);
}

/* Predictions z mean of keys and probes, which are of size 1 and more. */
static double worst_prediction(const struct reference *r, const bpcn_memory *memory)
{
    double mean[WIDTH * BELOW], worst = 0;
    assert_ok(bpcn_memory_get_layer(memory, 0, 0, 0, mean, NULL));
    for (size_t i = 0; i < ALL; i++)
        for (size_t b = 0; b < BELOW; b++) {
            double got = 0, want = (double)r->m[i * BELOW + b];
            for (size_t k = 0; k < WIDTH; k++)
                got += r->z[i * WIDTH + k] * mean[k * BELOW + b];
            double off = fabs(got - want) / (1 + fabs(want));
            worst = off <= worst ? worst : off;
        }
    return worst;
}

static void check_means(double s, bpcn_precision precision, double tolerance)
{
    static struct reference r;
    size_t period = PERIOD / KEYS * KEYS, done = 0;
    bpcn_memory *m = linear_network(s, precision);
    double mean[WIDTH * BELOW];
    assert_ok(bpcn_memory_get_layer(m, 0, 0, 0, mean, NULL));
    reference_create(&r, s, 0.5, mean);
    while (done < writes) {
        write_keys(m, &r, period);
        reference_observe(&r, period / KEYS);
        done += period;
        if (done % (10 * period) == 0) {
            assert_ok(bpcn_memory_forget(m, forget_beta));
            reference_forget(&r, forget_beta);
        }
    }
    double worst = worst_prediction(&r, m);
    print_message("sigma_x^2 = %g, %zu writes, float%d: predictions within %.2g\n", s, done,
                  precision == BPCN_FLOAT64 ? 64 : 32, worst);
    assert_true(worst < tolerance);
    bpcn_memory_free(m);
}

static void the_means_stay_those_of_the_regression(void **state)
{
    (void)state;
    check_means(1e-4, BPCN_FLOAT64, 1e-9);
    check_means(1e-6, BPCN_FLOAT64, 1e-9);
    /* Two keys that differ by 1e-3 hold values that differ by 1, so entries of the mean reach 100,
       and every write rounds them to float32, half a unit being 3.8e-6. In directions that are
       never written nothing corrects that: a random walk, seen along vectors of length 4.
       Measured: 3e-4 after 100,000 writes, 6e-3 after 3,000,000. */
    double walk = 3.8e-6 * 4 * sqrt((double)writes);
    check_means(1e-4, BPCN_FLOAT32, walk);
    check_means(1e-6, BPCN_FLOAT32, walk);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_root_survives_very_many_writes),
        cmocka_unit_test(the_root_survives_very_many_writes_and_forgets),
        cmocka_unit_test(conditioning_and_taking_back_do_not_drift),
        cmocka_unit_test(the_means_stay_those_of_the_regression),
    };
    if (argc > 1) {
        char *end = NULL;
        writes = (size_t)strtoull(argv[1], &end, 10);
        if (*end != '\0' || writes < PERIOD) {
            fprintf(stderr, "usage: numerics [WRITES], at least %d\n", PERIOD);
            return 2;
        }
    }
    return cmocka_run_group_tests_name("numerics", tests, NULL, NULL);
}
