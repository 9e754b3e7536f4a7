/*
 * Reading: what was written comes back from itself, from noise and from a fragment; known entries
 * are held, unknown ones never looked at; the same question has the same answer, in any company.
 */
#include "support.h"

#include <math.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

static const size_t hidden[] = {64, 64};
enum { CODE = 128, STORED = 12 };

static struct gallery *gallery_create(size_t particles, bpcn_activation activation)
{
    bpcn_options o = network(PICTURE, 2, hidden);
    o.particles = particles;
    o.activation = activation;
    o.seed = 1;
    return gallery_of(o, STORED, 42);
}

static double error_where_unknown(size_t n, const unsigned char *known, const float *a, const float *b)
{
    double sum = 0;
    size_t count = 0;
    for (size_t j = 0; j < n * PICTURE; j++)
        if (!known[j]) {
            sum += ((double)a[j] - (double)b[j]) * ((double)a[j] - (double)b[j]);
            count++;
        }
    return sum / (double)count;
}

/* ---- recall */

static void check_recall_of_itself(size_t particles, bpcn_activation activation, double allowed)
{
    struct gallery *s = gallery_create(particles, activation);
    float out[STORED * PICTURE];
    assert_ok(bpcn_memory_read(s->memory, s->x, NULL, STORED, NULL, out, NULL));
    assert_true(mean_square_error(STORED * PICTURE, s->x, out) < allowed);
    gallery_free(s);
}

static void written_pictures_are_recalled_from_themselves(void **state)
{
    (void)state;
    const double noise = 1e-4, correct = 0.01; /* sigma_x^2, and the paper's bar */
    check_recall_of_itself(1, BPCN_GELU, noise);
    check_recall_of_itself(3, BPCN_GELU, noise);
    check_recall_of_itself(1, BPCN_TANH, noise);
    check_recall_of_itself(1, BPCN_LINEAR, noise);
    check_recall_of_itself(1, BPCN_RELU, correct); /* its minima are many: some rows end in others */
}

/* Twelve pictures span 12 of 192 dimensions: a projection onto them leaves 12/192 of the noise's
   0.16, which is 0.01; the read also shrinks towards what it expects. Measured: 0.019. Without the
   memory nothing would get below 0.16. */
static void check_recall_from_noise(size_t particles)
{
    struct gallery *s = gallery_create(particles, BPCN_GELU);
    struct dice dice = {7};
    float noisy[STORED * PICTURE], out[STORED * PICTURE];
    for (size_t j = 0; j < STORED * PICTURE; j++)
        noisy[j] = s->x[j] + (float)(0.4 * dice_normal(&dice));
    assert_ok(bpcn_memory_read(s->memory, noisy, NULL, STORED, NULL, out, NULL));
    assert_true(mean_square_error(STORED * PICTURE, s->x, noisy) > 0.14);
    assert_true(mean_square_error(STORED * PICTURE, s->x, out) < 0.027); /* a sixth */
    gallery_free(s);
}

static void written_pictures_are_recalled_from_noise(void **state)
{
    (void)state;
    check_recall_from_noise(1);
    check_recall_from_noise(3);
}

static void check_recall_from_half(size_t particles, bpcn_activation activation)
{
    struct gallery *s = gallery_create(particles, activation);
    float query[STORED * PICTURE], out[STORED * PICTURE];
    unsigned char known[STORED * PICTURE];
    left_half(STORED, known);
    for (size_t j = 0; j < STORED * PICTURE; j++)
        query[j] = known[j] ? s->x[j] : -1.0f;
    assert_ok(bpcn_memory_read(s->memory, query, known, STORED, NULL, out, NULL));
    assert_true(error_where_unknown(STORED, known, s->x, query) > 0.5);
    assert_true(error_where_unknown(STORED, known, s->x, out) < 0.01); /* the paper's bar of a correct recall */
    gallery_free(s);
}

static void written_pictures_are_recalled_from_their_left_half(void **state)
{
    (void)state;
    check_recall_from_half(1, BPCN_GELU);
    check_recall_from_half(3, BPCN_GELU);
    check_recall_from_half(1, BPCN_TANH);
}

/* A read assumes that its answer was written, so it trusts what is known more than the density of
   what is still to come would. */
static void written_pictures_are_recalled_better_than_by_the_density(void **state)
{
    (void)state;
    struct gallery *s = gallery_create(1, BPCN_GELU);
    unsigned char known[STORED * PICTURE];
    float out[STORED * PICTURE];
    bpcn_read_options density;
    bpcn_read_options_default(&density, sizeof density);
    density.objective = BPCN_OBJECTIVE_MARGINAL;
    left_half(STORED, known);
    assert_ok(bpcn_memory_read(s->memory, s->x, known, STORED, NULL, out, NULL));
    double recall = error_where_unknown(STORED, known, s->x, out);
    assert_ok(bpcn_memory_read(s->memory, s->x, known, STORED, &density, out, NULL));
    assert_true(recall < 0.2 * error_where_unknown(STORED, known, s->x, out)); /* a hundredth */
    gallery_free(s);
}

static void recall_works_with_the_papers_minimiser(void **state)
{
    (void)state;
    struct gallery *s = gallery_create(1, BPCN_GELU);
    float out[STORED * PICTURE];
    bpcn_read_info info[STORED];
    assert_ok(bpcn_memory_set_minimizer(s->memory, BPCN_ADAM));
    assert_ok(bpcn_memory_read(s->memory, s->x, NULL, 3, NULL, out, info));
    assert_true(mean_square_error(3 * PICTURE, s->x, out) < 0.01); /* the paper's bar */
    gallery_free(s);
}

/* ---- what is known, and what is not */

static void entries_said_to_be_known_come_back_as_they_are(void **state)
{
    (void)state;
    for (int minimizer = BPCN_LBFGS; minimizer <= BPCN_ADAM; minimizer++)
        for (size_t particles = 1; particles <= 3; particles += 2) {
            struct gallery *s = gallery_create(particles, BPCN_GELU);
            float out[4 * PICTURE];
            unsigned char half[4 * PICTURE], all[4 * PICTURE];
            left_half(4, half);
            memset(all, 255, sizeof all); /* any nonzero value means known */
            assert_ok(bpcn_memory_set_minimizer(s->memory, (bpcn_minimizer)minimizer));
            s->memory->contents.shard[0]->options.rounds = 1; /* one round is enough to disturb them */
            assert_ok(bpcn_memory_read(s->memory, s->unseen, all, 4, NULL, out, NULL));
            assert_memory_equal(out, s->unseen, sizeof out);
            assert_ok(bpcn_memory_read(s->memory, s->unseen, half, 4, NULL, out, NULL));
            for (size_t j = 0; j < 4 * PICTURE; j++)
                if (half[j])
                    assert_memory_equal(&out[j], &s->unseen[j], sizeof *out);
            gallery_free(s);
        }
}

static void check_unknown_unseen(size_t particles, bpcn_objective objective)
{
    static const float junk[] = {NAN, INFINITY, -INFINITY, 3e38f, 0.5f};
    struct gallery *s = gallery_create(particles, BPCN_GELU);
    float query[4 * PICTURE], out[4 * PICTURE], want[4 * PICTURE];
    unsigned char known[4 * PICTURE];
    bpcn_read_info info[4], want_info[4];
    bpcn_read_options o;
    bpcn_read_options_default(&o, sizeof o);
    o.objective = objective;
    left_half(4, known);
    for (size_t k = 0; k < 5; k++) {
        for (size_t j = 0; j < 4 * PICTURE; j++)
            query[j] = known[j] ? s->x[j] : k == 0 ? 0.0f : junk[(j + k) % 5];
        assert_ok(bpcn_memory_read(s->memory, query, known, 4, &o, k == 0 ? want : out, k == 0 ? want_info : info));
        if (k == 0)
            continue;
        assert_memory_equal(out, want, sizeof out);
        for (size_t i = 0; i < 4; i++) {
            assert_true(info[i].energy == want_info[i].energy && info[i].residual == want_info[i].residual);
            assert_true(info[i].familiarity == want_info[i].familiarity);
        }
    }
    gallery_free(s);
}

static void unknown_entries_are_never_looked_at(void **state)
{
    (void)state;
    check_unknown_unseen(1, BPCN_OBJECTIVE_MARGINAL);
    check_unknown_unseen(1, BPCN_OBJECTIVE_PAPER);
    check_unknown_unseen(3, BPCN_OBJECTIVE_MARGINAL);
    check_unknown_unseen(3, BPCN_OBJECTIVE_PAPER);
}

static void a_query_of_which_nothing_is_known_gets_an_answer(void **state)
{
    (void)state;
    for (size_t particles = 1; particles <= 2; particles++) {
        struct gallery *s = gallery_create(particles, BPCN_GELU);
        float query[PICTURE], out[PICTURE];
        unsigned char known[PICTURE] = {0};
        bpcn_read_info info;
        for (size_t j = 0; j < PICTURE; j++)
            query[j] = NAN;
        assert_ok(bpcn_memory_read(s->memory, query, known, 1, NULL, out, &info));
        for (size_t j = 0; j < PICTURE; j++)
            assert_true(fabs((double)out[j]) < 3); /* a mixture of pictures within -1 .. 1 */
        assert_true(isfinite(info.energy) && info.residual == 0);
        gallery_free(s);
    }
}

static void the_answer_may_replace_the_query(void **state)
{
    (void)state;
    struct gallery *s = gallery_create(2, BPCN_GELU);
    float apart[STORED * PICTURE], same[STORED * PICTURE];
    unsigned char known[STORED * PICTURE];
    left_half(STORED, known);
    memcpy(same, s->x, sizeof same);
    assert_ok(bpcn_memory_read(s->memory, s->x, known, STORED, NULL, apart, NULL));
    assert_ok(bpcn_memory_read(s->memory, same, known, STORED, NULL, same, NULL));
    assert_memory_equal(apart, same, sizeof same);
    gallery_free(s);
}

/* ---- noise */

static void noise_is_estimated_when_nothing_is_masked(void **state)
{
    (void)state;
    struct gallery *s = gallery_create(1, BPCN_GELU);
    struct dice dice = {3};
    float noisy[STORED * PICTURE], out[STORED * PICTURE];
    bpcn_read_info info[STORED];
    for (size_t j = 0; j < STORED * PICTURE; j++)
        noisy[j] = s->x[j] + (float)(0.3 * dice_normal(&dice));
    assert_ok(bpcn_memory_read(s->memory, noisy, NULL, STORED, NULL, out, info));
    for (size_t i = 0; i < STORED; i++) /* 192 entries tell it to 5 %; the fit takes up to 12 of them */
        assert_near(info[i].noise, 0.3, 0.06);
    assert_ok(bpcn_memory_read(s->memory, s->x, NULL, STORED, NULL, out, info));
    for (size_t i = 0; i < STORED; i++)
        assert_true(info[i].noise < 0.02); /* a clean query has none */
    gallery_free(s);
}

static void noise_given_is_noise_used(void **state)
{
    (void)state;
    struct gallery *s = gallery_create(1, BPCN_GELU);
    struct dice dice = {3};
    float noisy[STORED * PICTURE], out[STORED * PICTURE];
    unsigned char known[STORED * PICTURE];
    bpcn_read_info info[STORED];
    bpcn_read_options o;
    bpcn_read_options_default(&o, sizeof o);
    o.noise = 0.3;
    left_half(STORED, known);
    for (size_t j = 0; j < STORED * PICTURE; j++)
        noisy[j] = s->x[j] + (float)(0.3 * dice_normal(&dice));
    assert_ok(bpcn_memory_read(s->memory, noisy, NULL, STORED, &o, out, info));
    for (size_t i = 0; i < STORED; i++)
        assert_near(info[i].noise, 0.3, 1e-12);                          /* sqrt of its square */
    assert_true(mean_square_error(STORED * PICTURE, s->x, out) < 0.015); /* a sixth of 0.3^2 */
    /* with a mask and noise the known entries are cleaned as well */
    assert_ok(bpcn_memory_read(s->memory, noisy, known, STORED, &o, out, info));
    assert_true(mean_square_error(STORED * PICTURE, s->x, out) < 0.045); /* half of it */
    gallery_free(s);
}

/* ---- the same question, the same answer */

static void reading_twice_gives_the_same_bits_and_changes_nothing(void **state)
{
    (void)state;
    for (size_t particles = 1; particles <= 3; particles += 2) {
        struct gallery *s = gallery_create(particles, BPCN_GELU), *again = gallery_create(particles, BPCN_GELU);
        float a[STORED * PICTURE], b[STORED * PICTURE];
        bpcn_read_info first[STORED], second[STORED];
        struct snapshot *before = snapshot_take(s->memory);
        assert_true(snapshot_same(before, again->memory));
        assert_ok(bpcn_memory_read(s->memory, s->unseen, NULL, STORED, NULL, a, first));
        assert_ok(bpcn_memory_read(again->memory, s->unseen, NULL, STORED, NULL, b, second));
        assert_memory_equal(a, b, sizeof a);
        for (size_t i = 0; i < STORED; i++)
            assert_true(first[i].energy == second[i].energy && first[i].evaluations == second[i].evaluations);
        assert_true(snapshot_same(before, s->memory));
        snapshot_free(before);
        gallery_free(s);
        gallery_free(again);
    }
}

static void another_seed_is_another_memory(void **state)
{
    (void)state;
    bpcn_options o = network(PICTURE, 2, hidden);
    bpcn_memory *one = make_memory(o);
    o.seed = 1;
    bpcn_memory *other = make_memory(o);
    struct snapshot *s = snapshot_take(one);
    assert_false(snapshot_same(s, other));
    snapshot_free(s);
    bpcn_memory_free(one);
    bpcn_memory_free(other);
}

/* Alone a row goes through matrix-vector products, in company through matrix products of several
   shapes: the roundings differ, so the bits may, but both descend to the same minimum. The
   minimiser stops once two steps gain no more than 1e-3, so energies agree to a few of those and
   the answers to what such a step moves. */
static void the_answer_does_not_depend_on_the_company(void **state)
{
    (void)state;
    enum { MANY = 200, PROBE = 163 };
    struct gallery *s = gallery_create(1, BPCN_GELU);
    struct dice dice = {8};
    float *batch = room(MANY * PICTURE, sizeof *batch), *out = room(MANY * PICTURE, sizeof *out), alone[PICTURE];
    unsigned char *known = room(MANY * PICTURE, 1);
    bpcn_read_info *info = room(MANY, sizeof *info), single;
    bpcn_read_options exact;
    bpcn_read_options_default(&exact, sizeof exact);
    exact.noise = 0; /* else each estimate stops somewhere within a nat */
    left_half(MANY, known);
    for (size_t i = 0; i < MANY; i++)
        for (size_t j = 0; j < PICTURE; j++)
            batch[i * PICTURE + j] = s->x[i % STORED * PICTURE + j] + (float)(0.01 * dice_normal(&dice));
    assert_ok(bpcn_memory_read(s->memory, batch, known, MANY, &exact, out, info));
    for (size_t i = PROBE; i < MANY; i += 12) {
        assert_ok(bpcn_memory_read(s->memory, batch + i * PICTURE, known, 1, &exact, alone, &single));
        assert_near(single.energy, info[i].energy, 0.01);
        assert_true(mean_square_error(PICTURE, alone, out + i * PICTURE) < 1e-5); /* a tenth of sigma_x^2 */
    }
    free(batch);
    free(out);
    free(known);
    free(info);
    gallery_free(s);
}

struct visitor {
    const struct gallery *scene;
    float out[STORED * PICTURE];
    double score[STORED];
    bpcn_status status;
};

static void *visit(void *argument)
{
    struct visitor *v = argument;
    v->status = bpcn_memory_read(v->scene->memory, v->scene->unseen, NULL, STORED, NULL, v->out, NULL);
    if (v->status == BPCN_OK)
        v->status = bpcn_memory_score(v->scene->memory, v->scene->x, NULL, STORED, v->score);
    return NULL;
}

static void four_threads_read_the_same_bits_as_one(void **state)
{
    (void)state;
    enum { THREADS = 4 };
    struct gallery *s = gallery_create(2, BPCN_GELU);
    struct visitor *v = room(THREADS + 1, sizeof *v);
    pthread_t thread[THREADS];
    for (size_t i = 0; i <= THREADS; i++)
        v[i].scene = s;
    visit(&v[THREADS]);
    for (size_t i = 0; i < THREADS; i++)
        assert_int_equal(pthread_create(&thread[i], NULL, visit, &v[i]), 0);
    for (size_t i = 0; i < THREADS; i++)
        pthread_join(thread[i], NULL);
    for (size_t i = 0; i < THREADS; i++) {
        assert_ok(v[i].status);
        assert_memory_equal(v[i].out, v[THREADS].out, sizeof v[i].out);
        assert_memory_equal(v[i].score, v[THREADS].score, sizeof v[i].score);
    }
    free(v);
    gallery_free(s);
}

/* Wide enough that the library's own threads share the work of one row. */
static void two_threads_in_the_library_give_the_same_bits_every_time(void **state)
{
    (void)state;
    enum { D = 2048, N = 3, TIMES = 3 };
    struct dice dice = {12};
    bpcn_options o = network(D, 2, (size_t[]){128, 96});
    float *x = room(N * D, sizeof *x), *out = room(TIMES * N * D, sizeof *out);
    struct snapshot *first = NULL;
    o.threads = 2;
    dice_normals_f32(&dice, N * D, 0.5, x);
    for (size_t t = 0; t < TIMES; t++) {
        bpcn_memory *m = make_memory(o);
        assert_ok(bpcn_memory_write(m, x, NULL, N, NULL));
        assert_ok(bpcn_memory_read(m, x, NULL, N, NULL, out + t * N * D, NULL));
        if (t == 0)
            first = snapshot_take(m);
        assert_true(snapshot_same(first, m));
        assert_memory_equal(out, out + t * N * D, N * D * sizeof *out);
        bpcn_memory_free(m);
    }
    assert_true(mean_square_error(N * D, x, out) < 1e-4); /* sigma_x^2 */
    snapshot_free(first);
    free(x);
    free(out);
}

/* Rows that know the same are read through G over that and the open entries apart, others by the layer itself; double
   leaves 1e-10 of either, which forty steps of Adam may enlarge a thousandfold. Float32 leaves 1e-3 nats of 1e4. */
static void check_company(bpcn_precision precision, double tolerance)
{
    static const size_t narrow[] = {48, 24};
    bpcn_options o = network(PICTURE, 2, narrow);
    float together[STORED * PICTURE], apart[STORED * PICTURE];
    unsigned char known[STORED * PICTURE];
    bpcn_read_info a[STORED], b[STORED];
    o.particles = 2;
    o.minimizer = BPCN_ADAM;
    o.rounds = 2;
    o.adam_steps = 40;
    o.adam_stop = 1e-12;
    o.precision = precision;
    struct gallery *s = gallery_of(o, STORED, 42);
    left_half(STORED, known);
    assert_ok(bpcn_memory_read(s->memory, s->x, known, STORED, NULL, together, a));
    known[STORED * PICTURE - 1] ^= 1;
    assert_ok(bpcn_memory_read(s->memory, s->x, known, STORED, NULL, apart, b));
    for (size_t i = 0; i + 1 < STORED; i++) {
        assert_near(a[i].energy, b[i].energy, tolerance * (1 + fabs(b[i].energy)));
        for (size_t j = i * PICTURE; j < (i + 1) * PICTURE; j++)
            assert_near((double)together[j], (double)apart[j], tolerance);
    }
    gallery_free(s);
}

static void the_papers_masked_read_is_the_same_through_inner_products(void **state)
{
    (void)state;
    check_company(BPCN_FLOAT64, 1e-7);
    check_company(BPCN_FLOAT32, 1e-3);
}

/* Alone a row goes through one triangle of G, in company through its panels; the energy told is that of the layer. */
static void the_papers_read_finds_the_same_code_alone_and_in_company(void **state)
{
    static const size_t narrow[] = {48, 24};
    bpcn_options o = network(PICTURE, 2, narrow);
    float codes[STORED * 72], alone[72];
    bpcn_read_info info[STORED], one;
    double energy;
    (void)state;
    o.particles = 2;
    o.minimizer = BPCN_ADAM;
    o.adam_steps = 60;
    o.adam_stop = 1e-12;
    o.precision = BPCN_FLOAT64;
    struct gallery *s = gallery_of(o, STORED, 42);
    assert_ok(bpcn_memory_infer(s->memory, s->unseen, NULL, STORED, NULL, codes, info));
    assert_ok(bpcn_memory_infer(s->memory, s->unseen, NULL, 1, NULL, alone, &one));
    for (size_t j = 0; j < 72; j++)
        assert_near((double)codes[j], (double)alone[j], 1e-6); /* of float */
    for (size_t i = 0; i < STORED; i++) { /* codes come back as float, off by 1e-8 where the slope is 1e4 */
        assert_ok(bpcn_memory_energy(s->memory, s->unseen + i * PICTURE, NULL, codes + i * 72, 1, NULL, &energy, NULL));
        assert_near(info[i].energy, energy, 1e-5 * fabs(energy));
    }
    gallery_free(s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(written_pictures_are_recalled_from_themselves),
        cmocka_unit_test(written_pictures_are_recalled_from_noise),
        cmocka_unit_test(written_pictures_are_recalled_from_their_left_half),
        cmocka_unit_test(written_pictures_are_recalled_better_than_by_the_density),
        cmocka_unit_test(recall_works_with_the_papers_minimiser),
        cmocka_unit_test(the_papers_masked_read_is_the_same_through_inner_products),
        cmocka_unit_test(the_papers_read_finds_the_same_code_alone_and_in_company),
        cmocka_unit_test(entries_said_to_be_known_come_back_as_they_are),
        cmocka_unit_test(unknown_entries_are_never_looked_at),
        cmocka_unit_test(a_query_of_which_nothing_is_known_gets_an_answer),
        cmocka_unit_test(the_answer_may_replace_the_query),
        cmocka_unit_test(noise_is_estimated_when_nothing_is_masked),
        cmocka_unit_test(noise_given_is_noise_used),
        cmocka_unit_test(reading_twice_gives_the_same_bits_and_changes_nothing),
        cmocka_unit_test(another_seed_is_another_memory),
        cmocka_unit_test(the_answer_does_not_depend_on_the_company),
        cmocka_unit_test(four_threads_read_the_same_bits_as_one),
        cmocka_unit_test(two_threads_in_the_library_give_the_same_bits_every_time),
    };
    return cmocka_run_group_tests_name("read", tests, NULL, NULL);
}
