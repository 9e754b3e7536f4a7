/* Reads of a memory of several shards, see test_shards.c; scores, energies and samples are in test_shards_mixture.c. */
#include "shards_support.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- reading */

/* Half of the entries, others for every row. */
static void half_of_each(struct dice *dice, size_t n, unsigned char *known)
{
    for (size_t j = 0; j < n * PICTURE; j++)
        known[j] = dice_uniform(dice) < 0.5;
}

/* Row i was written to shard i / ROWS, which answers, and its answer is the row. Pictures vary by about 0.3 a pixel
   (0.1 squared), and a sixteenth of that is what another picture would never have by chance. */
static void check_answers(const struct gallery *g, struct answered r, const char *how, double tolerance)
{
    double worst = 0;
    for (size_t i = 0; i < MOST * ROWS; i++) {
        assert_int_equal(r.info[i].shard, i / ROWS);
        worst = fmax(worst, mean_square_error(PICTURE, r.out + i * PICTURE, g->x + i * PICTURE));
    }
    print_message("%s: mean square error at most %.2g\n", how, worst);
    assert_true(worst < tolerance);
}

static void a_query_is_answered_by_the_shard_that_has_it(void **state)
{
    (void)state;
    for (size_t s = 0; s < SHAPES; s++) {
        enum { N = MOST * ROWS };
        struct gallery *g = gallery_of(shape(s), N, 40);
        struct dice dice = {41};
        bpcn_read_options exact;
        unsigned char left[N * PICTURE], own[N * PICTURE];
        float noisy[N * PICTURE];
        struct answered r;
        bpcn_read_options_default(&exact, sizeof exact);
        left_half(N, left);
        half_of_each(&dice, N, own);
        dice_normals_f32(&dice, N * PICTURE, 0.1, noisy);
        for (size_t j = 0; j < N * PICTURE; j++)
            noisy[j] += g->x[j];
        answered_free((check_answers(g, r = answers_of(g->memory, g->x, NULL, N, NULL), "whole rows", 0.005), r));
        answered_free((check_answers(g, r = answers_of(g->memory, g->x, left, N, NULL), "one mask", 0.005), r));
        answered_free((check_answers(g, r = answers_of(g->memory, g->x, own, N, NULL), "a mask each", 0.005), r));
        answered_free((check_answers(g, r = answers_of(g->memory, noisy, NULL, N, NULL), "noise", 0.005), r));
        exact.noise = 0.1;
        answered_free(
            (check_answers(g, r = answers_of(g->memory, noisy, left, N, &exact), "noise and a mask", 0.02), r));
        gallery_free(g);
    }
}

/* Two steps of the quick look with a stand-in for a row's own G put others before the right shard by chance when there
   are many and little is known; looked at closely, it comes first. */
static void among_many_shards_a_few_entries_of_its_own_find_a_row(void **state)
{
    (void)state;
    enum { SHARDS = 96, UNITS = 12, N = SHARDS * UNITS };
    const size_t equal[] = {UNITS, UNITS};
    bpcn_options o = network(PICTURE, 2, equal);
    bpcn_read_options one;
    o.shards = SHARDS;
    struct gallery *g = gallery_of(o, N, 47);
    struct dice dice = {48};
    unsigned char *known = room(N, PICTURE);
    size_t right = 0;
    for (size_t j = 0; j < N * PICTURE; j++)
        known[j] = dice_uniform(&dice) < 0.12;
    bpcn_read_options_default(&one, sizeof one);
    one.shards = 1; /* the quick look alone chooses */
    struct answered r = answers_of(g->memory, g->x, known, N, &one);
    for (size_t i = 0; i < N; i++)
        right += r.info[i].shard == i / UNITS;
    print_message("%zu of %d right\n", right, N);
    /* 23 entries against 12 units: others explain some as well. Without it 92 % */
    assert_true((double)right > 0.98 * N);
    answered_free(r);
    free(known);
    gallery_free(g);
}

/* Reading a row in a shard gives the same bits whichever rows are read there beside it, where all know the same. */
static void the_default_answers_as_all_shards_would(void **state)
{
    (void)state;
    for (size_t s = 0; s < SHAPES; s++) {
        enum { N = MOST * ROWS };
        struct gallery *g = gallery_of(shape(s), N, 42);
        bpcn_read_options all;
        unsigned char left[N * PICTURE];
        left_half(N, left);
        bpcn_read_options_default(&all, sizeof all);
        all.shards = 1000;
        for (int masked = 0; masked < 2; masked++) {
            struct answered few = answers_of(g->memory, g->x, masked ? left : NULL, N, NULL),
                            every = answers_of(g->memory, g->x, masked ? left : NULL, N, &all);
            assert_memory_equal(few.out, every.out, N * PICTURE * sizeof *few.out);
            for (size_t i = 0; i < N; i++) {
                assert_int_equal(few.info[i].shard, every.info[i].shard);
                assert_true(few.info[i].evaluations <= every.info[i].evaluations);
            }
            answered_free(few);
            answered_free(every);
        }
        gallery_free(g);
    }
}

/* A row as it was written is left unexplained by the other shard, so the quick look spares reading it there. */
static void of_two_shards_only_one_that_could_have_a_row_is_read(void **state)
{
    (void)state;
    enum { N = 2 * ROWS };
    struct gallery *g = gallery_of(narrow(2, BPCN_BLUR), N, 49);
    bpcn_read_options both;
    uint64_t in_one = 0, in_both = 0;
    bpcn_read_options_default(&both, sizeof both);
    both.shards = 2;
    struct answered few = answers_of(g->memory, g->x, NULL, N, NULL),
                    every = answers_of(g->memory, g->x, NULL, N, &both);
    assert_memory_equal(few.out, every.out, N * PICTURE * sizeof *few.out);
    for (size_t i = 0; i < N; i++) {
        assert_int_equal(few.info[i].shard, i / ROWS);
        in_one += few.info[i].evaluations;
        in_both += every.info[i].evaluations;
    }
    print_message("%llu evaluations of %llu\n", (unsigned long long)in_one, (unsigned long long)in_both);
    assert_true(4 * in_one < 3 * in_both);
    answered_free(few);
    answered_free(every);
    gallery_free(g);
}

/* own [MOST x n]: of each shard alone. Which answers row i, and whether some order of comparing two at a time, by
   density beyond a nat and by familiarity within it, could have come out elsewhere: three shards in a circle. */
static size_t highest_claim(const struct answered *own, size_t i, int *circle)
{
    size_t best = 0;
    double most = -INFINITY;
    for (size_t a = 0; a < MOST; a++) {
        const bpcn_read_info *x = &own[a].info[i];
        best =
            x->log_density + x->familiarity > own[best].info[i].log_density + own[best].info[i].familiarity ? a : best;
        most = fmax(most, x->log_density);
        for (size_t b = 0; b < MOST; b++)
            for (size_t c = 0; c < MOST; c++) {
                const bpcn_read_info *y = &own[b].info[i], *z = &own[c].info[i];
                *circle |= y->familiarity > x->familiarity && fabs(y->log_density - x->log_density) <= 1 &&
                           z->familiarity > y->familiarity && fabs(z->log_density - y->log_density) <= 1 &&
                           x->log_density > z->log_density + 1;
            }
    }
    assert_true(own[best].info[i].log_density >= most - 1);
    return best;
}

/* Rows of three entries in noise of half their size: densities of shards are within a nat or two of each other. */
static void the_likeliest_shard_answers_and_familiarity_counts_for_up_to_a_nat(void **state)
{
    (void)state;
    enum { DIM = 3, N = 1024 };
    const size_t one[] = {2};
    struct dice dice = {50};
    struct answered own[MOST];
    bpcn_read_options all;
    bpcn_options o = network(DIM, 1, one);
    float x[MOST * ROWS * DIM], query[N * DIM];
    int circles = 0;
    o.sigma_x = 0.5;
    o.shards = MOST;
    o.shard_rows = ROWS;
    bpcn_read_options_default(&all, sizeof all);
    all.shards = MOST;
    dice_normals_f32(&dice, MOST * ROWS * DIM, 1, x);
    dice_normals_f32(&dice, N * DIM, 1, query);
    bpcn_memory *whole = make_memory(o);
    assert_ok(bpcn_memory_write(whole, x, NULL, MOST * ROWS, NULL));
    struct answered r = answers_of(whole, query, NULL, N, &all);
    for (size_t k = 0; k < MOST; k++) {
        bpcn_memory *m = alone(&o, k, x + k * ROWS * DIM);
        own[k] = answers_of(m, query, NULL, N, NULL);
        bpcn_memory_free(m);
    }
    for (size_t i = 0; i < N; i++) {
        int circle = 0;
        assert_int_equal(r.info[i].shard, highest_claim(own, i, &circle));
        circles += circle;
    }
    print_message("%d of %d rows where three shards beat each other in a circle within a nat\n", circles, N);
    assert_true(circles > 0);
    for (size_t k = 0; k < MOST; k++)
        answered_free(own[k]);
    answered_free(r);
    bpcn_memory_free(whole);
}

static void an_answer_is_that_of_a_memory_of_the_shard_alone(void **state)
{
    (void)state;
    for (size_t s = 0; s < SHAPES; s++) {
        enum { N = MOST * ROWS };
        bpcn_options o = shape(s);
        struct gallery *g = gallery_of(o, N, 43);
        unsigned char left[N * PICTURE];
        float codes[N * CODE], own_codes[ROWS * CODE];
        left_half(N, left);
        struct answered r = answers_of(g->memory, g->x, left, N, NULL);
        assert_ok(bpcn_memory_infer(g->memory, g->x, left, N, NULL, codes, NULL));
        for (size_t k = 0; k < MOST; k++) {
            const float *x = g->x + k * ROWS * PICTURE;
            bpcn_memory *m = alone(&o, k, x);
            struct answered own = answers_of(m, x, left, ROWS, NULL);
            assert_memory_equal(own.out, r.out + k * ROWS * PICTURE, ROWS * PICTURE * sizeof *own.out);
            assert_ok(bpcn_memory_infer(m, x, left, ROWS, NULL, own_codes, NULL));
            assert_memory_equal(own_codes, codes + k * ROWS * CODE, sizeof own_codes);
            for (size_t i = 0; i < ROWS; i++) {
                const bpcn_read_info *a = &r.info[k * ROWS + i], *b = &own.info[i];
                assert_true(a->energy == b->energy && a->familiarity == b->familiarity && a->noise == b->noise &&
                            a->residual == b->residual && a->variance == b->variance && a->particle == b->particle &&
                            a->converged == b->converged);
            }
            answered_free(own);
            bpcn_memory_free(m);
        }
        answered_free(r);
        gallery_free(g);
    }
}

static void an_answer_may_take_the_place_of_its_query(void **state)
{
    (void)state;
    enum { N = MOST * ROWS };
    struct gallery *g = gallery_of(shape(0), N, 44);
    float *x = room(N * PICTURE, sizeof *x);
    memcpy(x, g->unseen, N * PICTURE * sizeof *x);
    struct answered r = answers_of(g->memory, x, NULL, N, NULL);
    assert_ok(bpcn_memory_read(g->memory, x, NULL, N, NULL, x, NULL));
    assert_memory_equal(x, r.out, N * PICTURE * sizeof *x);
    answered_free(r);
    free(x);
    gallery_free(g);
}

/* An energy of a batch is summed in another order than that of a single row. */
static void same_but_for_roundings(const bpcn_read_info *a, const bpcn_read_info *b)
{
    assert_true(a->shard == b->shard && a->particle == b->particle && a->evaluations == b->evaluations);
    assert_near(a->energy, b->energy, 1e-9 * (1 + fabs(b->energy)));
    assert_near(a->log_density, b->log_density, 1e-9 * (1 + fabs(b->log_density)));
    assert_near(a->familiarity, b->familiarity, 1e-9);
}

static void answers_depend_neither_on_the_calls_nor_on_the_threads(void **state)
{
    (void)state;
    enum { N = MOST * ROWS };
    for (int masked = 0; masked < 2; masked++) {
        bpcn_options o = shape(0);
        struct gallery *g = gallery_of(o, N, 45);
        unsigned char left[N * PICTURE], *known = masked ? left : NULL;
        left_half(N, left);
        for (size_t i = 0; i < N; i += 2) /* half of them rows that no shard has */
            memcpy(g->x + i * PICTURE, g->unseen + i * PICTURE, PICTURE * sizeof *g->x);
        struct answered r = answers_of(g->memory, g->x, known, N, NULL);
        for (size_t i = 0, n = 1; i < N; i += n, n = n % 5 + 1) {
            size_t some = n < N - i ? n : N - i;
            struct answered part = answers_of(g->memory, g->x + i * PICTURE, known, some, NULL);
            assert_memory_equal(part.out, r.out + i * PICTURE, some * PICTURE * sizeof *r.out);
            for (size_t k = 0; k < some; k++)
                same_but_for_roundings(&part.info[k], &r.info[i + k]);
            answered_free(part);
        }
        for (int threads = 2; threads <= 5; threads++) { /* shards side by side, and threads in one shard */
            int before = g->memory->threads;
            g->memory->threads = threads;
            struct answered again = answers_of(g->memory, g->x, known, N, NULL);
            assert_memory_equal(again.out, r.out, N * PICTURE * sizeof *r.out);
            assert_memory_equal(again.info, r.info, N * sizeof *r.info);
            answered_free(again);
            g->memory->threads = before;
        }
        answered_free(r);
        gallery_free(g);
    }
}

static void no_more_shards_are_read_than_asked_for(void **state)
{
    (void)state;
    enum { N = MOST * ROWS };
    bpcn_options o = shape(0);
    struct gallery *g = gallery_of(o, N, 46);
    bpcn_read_options one;
    unsigned char nothing[PICTURE] = {0};
    bpcn_read_options_default(&one, sizeof one);
    one.shards = 1;
    for (size_t i = 0; i < N; i += 5) { /* a row that is known in full, and one of which nothing is: all are alike */
        struct answered whole = answers_of(g->memory, g->x + i * PICTURE, NULL, 1, &one),
                        blank = answers_of(g->memory, g->x + i * PICTURE, nothing, 1, &one);
        for (int b = 0; b < 2; b++) {
            size_t k = (size_t)(b ? blank : whole).info->shard;
            bpcn_memory *own = alone(&o, k, g->x + k * ROWS * PICTURE);
            struct answered r = answers_of(own, g->x + i * PICTURE, b ? nothing : NULL, 1, NULL);
            assert_int_equal(r.info->evaluations, (b ? blank : whole).info->evaluations);
            assert_memory_equal(r.out, (b ? blank : whole).out, PICTURE * sizeof *r.out);
            answered_free(r);
            bpcn_memory_free(own);
        }
        answered_free(whole);
        answered_free(blank);
    }
    gallery_free(g);
}

static void what_a_quick_look_keeps_is_counted(void **state)
{
    (void)state;
    bpcn_options o = shape(0);
    struct gallery *g = gallery_of(o, MOST * ROWS, 46);
    bpcn_read_options one;
    bpcn_read_options_default(&one, sizeof one);
    one.shards = 1;
    assert_ok(bpcn_memory_forget(g->memory, 0.001)); /* what the writes had is gone */
    size_t before = stats_of(g->memory).prepared_bytes;
    answered_free(answers_of(g->memory, g->x, NULL, 1, &one));
    size_t looked = hidden[0] * hidden[0] * sizeof(double) + PICTURE * hidden[0] * sizeof(float); /* factor and means */
    assert_true(stats_of(g->memory).prepared_bytes >= before + MOST * looked);
    gallery_free(g);
}

static void without_layers_the_nearest_top_answers(void **state)
{
    (void)state;
    bpcn_options o = narrow(MOST, BPCN_BLUR);
    o.layers = 0;
    o.shard_rows = 1;
    struct gallery *g = gallery_of(o, MOST, 47);
    bpcn_read_options one;
    double energy[MOST];
    float samples[2 * PICTURE], no_code[1];
    bpcn_read_options_default(&one, sizeof one);
    for (one.shards = 0; one.shards < 3; one.shards++) {
        struct answered r = answers_of(g->memory, g->x, NULL, MOST, &one);
        for (size_t i = 0; i < MOST; i++)
            assert_int_equal(r.info[i].shard, i);
        answered_free(r);
    }
    assert_ok(bpcn_memory_energy(g->memory, g->x, NULL, NULL, MOST, NULL, energy, no_code));
    assert_ok(bpcn_memory_infer(g->memory, g->x, NULL, MOST, NULL, no_code, NULL));
    assert_ok(bpcn_memory_sample(g->memory, 2, 1, samples));
    assert_ok(bpcn_memory_delete(g->memory, g->x + 3 * PICTURE));
    assert_ok(bpcn_memory_forget(g->memory, 0.5));
    assert_ok(bpcn_memory_discount(g->memory, 0.5));
    gallery_free(g);
}

/* Of every row a search from above down to its energy, in one shard or in many; what does not fit is left out. The
   energy is summed in float along the search, and in double at its end. */
static void a_trace_falls_to_the_energy_of_the_answer(void **state)
{
    (void)state;
    enum { N = 2 * ROWS, MET = 300, FEW = 3 };
    struct gallery *g = gallery_of(shape(0), N, 48);
    unsigned char *known = room(N * PICTURE, 1);
    double *trace = room(N * MET, sizeof *trace), few[2 * FEW + 1];
    float *out = room(N * PICTURE, sizeof *out);
    bpcn_read_info info[N];
    bpcn_read_options o;
    bpcn_read_options_default(&o, sizeof o);
    o.trace = trace;
    o.trace_room = MET;
    left_half(N, known);
    for (o.shards = 1; o.shards <= 2; o.shards++) {
        assert_ok(bpcn_memory_read(g->memory, g->x, known, N, &o, out, info));
        for (size_t i = 0; i < N; i++) {
            const double *met = trace + i * MET;
            size_t count = 0, there = 0;
            for (; count < MET && !isnan(met[count]); count++)
                there += fabs(met[count] - info[i].energy) <= 1e-5 * fabs(info[i].energy);
            assert_true(count > 2 && count <= info[i].evaluations && there > 0 && met[0] > info[i].energy);
            for (; count < MET; count++)
                assert_true(isnan(met[count]));
        }
    }
    few[2 * FEW] = 42;
    o.shards = 2;
    o.trace = few;
    o.trace_room = FEW;
    assert_ok(bpcn_memory_read(g->memory, g->x, known, 2, &o, out, NULL));
    for (size_t k = 0; k < 2 * FEW; k++) /* as rows alone, but for roundings */
        assert_near(few[k], trace[k / FEW * MET + k % FEW], 1e-3 * fabs(few[k]));
    assert_true(few[2 * FEW] == 42);
    free(known);
    free(trace);
    free(out);
    gallery_free(g);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_query_is_answered_by_the_shard_that_has_it),
        cmocka_unit_test(among_many_shards_a_few_entries_of_its_own_find_a_row),
        cmocka_unit_test(the_default_answers_as_all_shards_would),
        cmocka_unit_test(of_two_shards_only_one_that_could_have_a_row_is_read),
        cmocka_unit_test(the_likeliest_shard_answers_and_familiarity_counts_for_up_to_a_nat),
        cmocka_unit_test(an_answer_is_that_of_a_memory_of_the_shard_alone),
        cmocka_unit_test(an_answer_may_take_the_place_of_its_query),
        cmocka_unit_test(answers_depend_neither_on_the_calls_nor_on_the_threads),
        cmocka_unit_test(no_more_shards_are_read_than_asked_for),
        cmocka_unit_test(what_a_quick_look_keeps_is_counted),
        cmocka_unit_test(a_trace_falls_to_the_energy_of_the_answer),
        cmocka_unit_test(without_layers_the_nearest_top_answers),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
