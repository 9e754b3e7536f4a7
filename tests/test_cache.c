/*
 * What a memory keeps prepared between calls is never seen: an answer does not depend on how its rows were cut into
 * calls, on what was read before, on who reads beside, or on how the memory came to its parameters. Nor is more kept
 * than pays.
 */
#include "cache_common.h"

#include "store_common.h"

#include <math.h>
#include <pthread.h>
#include <stdlib.h>

/* ---- rows cut into calls */

enum { ROWS = 9 };

static void noisy_rows(const struct gallery *s, double noise, float *x)
{
    struct dice dice = {21};
    for (size_t j = 0; j < ROWS * PICTURE; j++)
        x[j] = s->x[j % (STORED * PICTURE)] + (float)(noise * dice_normal(&dice));
}

/* A call with all rows and calls with one each end in the same minima. Under the density, and without an estimate of
   the noise, which stops somewhere within a nat: there the minimiser stops once two steps gain no more than 5e-7 for
   each entry, 1e-4 here, which is also what they are found to differ by. */
static void check_same_minima(const bpcn_memory *m, const float *x, const unsigned char *known)
{
    bpcn_read_options exact;
    bpcn_read_options_default(&exact, sizeof exact);
    exact.objective = BPCN_OBJECTIVE_MARGINAL;
    exact.noise = 0;
    struct says together = say(m, x, known, ROWS, ROWS, &exact), apart = say(m, x, known, ROWS, 1, &exact);
    for (size_t i = 0; i < ROWS; i++)
        assert_near(together.info[i].energy, apart.info[i].energy, 0.01);
    assert_true(mean_square_error(ROWS * PICTURE, together.out, apart.out) < 1e-6); /* a hundredth of sigma_x^2 */
    says_free(&together);
    says_free(&apart);
}

/* Every row follows its own path, so the bits are the same wherever each number comes from the same sums. Only M x',
   which enters a read through inner products, is summed up otherwise in calls of 8 rows and more: then paths differ
   from the last digit on, and only their ends are the same. */
static void check_cuts(const bpcn_memory *m, const float *x, const unsigned char *known, int through_g)
{
    static const size_t calls[] = {ROWS, 7, 3, 1};
    struct says many = say(m, x, known, ROWS, ROWS, NULL), few = say(m, x, known, ROWS, 1, NULL);
    for (size_t c = 0; c < sizeof calls / sizeof *calls; c++) {
        bpcn_memory *copy = fresh_copy(m, 2 + (int)c % 2);
        struct says got = say(copy, x, known, ROWS, calls[c], NULL);
        assert_true(same_words(&got, calls[c] < 8 ? &few : &many));
        says_free(&got);
        bpcn_memory_free(copy);
    }
    if (through_g)
        check_same_minima(m, x, known);
    else
        assert_true(same_words(&many, &few));
    says_free(&many);
    says_free(&few);
}

static void check_cuts_of(int shape, bpcn_activation activation, bpcn_precision precision, size_t particles)
{
    struct gallery *s = gallery_of(options_of(shape, activation, precision, particles), STORED, 4);
    float *x = room(ROWS * PICTURE, sizeof *x);
    unsigned char *known = room(ROWS * PICTURE, 1);
    noisy_rows(s, 0.1, x);
    check_cuts(s->memory, x, NULL, shape == THROUGH_G);
    left_half(ROWS, known);
    check_cuts(s->memory, x, known, shape == THROUGH_G);
    free(x);
    free(known);
    gallery_free(s);
}

static void rows_get_the_same_bits_however_they_are_cut_into_calls_and_threads(void **state)
{
    static const bpcn_activation activations[] = {BPCN_GELU, BPCN_TANH, BPCN_RELU};
    (void)state;
    for (size_t shape = 0; shape < SHAPES; shape++)
        for (size_t a = 0; a < 3; a++) /* every pair of shape, activation and precision */
            check_cuts_of((int)shape, activations[a], (shape + a) % 2 == 0 ? BPCN_FLOAT32 : BPCN_FLOAT64, 1);
    check_cuts_of(THROUGH_G, BPCN_GELU, BPCN_FLOAT32, 3);
    check_cuts_of(WIDE, BPCN_GELU, BPCN_FLOAT32, 3);
}

/* Rows that know different entries share a preconditioner for the average of what they know, so that their paths
   differ. */
static void rows_that_know_different_entries_end_in_the_same_minima_in_any_call(void **state)
{
    (void)state;
    for (int shape = 0; shape < SHAPES; shape++) {
        struct gallery *s = gallery_of(options_of(shape, BPCN_GELU, BPCN_FLOAT32, 1), STORED, 4);
        float *x = room(ROWS * PICTURE, sizeof *x);
        unsigned char *known = room(ROWS * PICTURE, 1);
        noisy_rows(s, 0.01, x); /* as sigma_x: with more, and none assumed, there are minima to choose from */
        for (size_t i = 0; i < ROWS; i++)
            mask_number(i, 1, known + i * PICTURE);
        check_same_minima(s->memory, x, known);
        free(x);
        free(known);
        gallery_free(s);
    }
}

/* ---- changes */

static void do_write(struct gallery *s)
{
    assert_ok(bpcn_memory_write(s->memory, s->unseen, NULL, 2, NULL));
}

static void do_delete(struct gallery *s)
{
    assert_ok(bpcn_memory_delete(s->memory, s->x + PICTURE));
}

static void do_forget(struct gallery *s)
{
    assert_ok(bpcn_memory_forget(s->memory, 0.01));
}

static void do_discount(struct gallery *s)
{
    assert_ok(bpcn_memory_discount(s->memory, 0.1));
}

/* The means of a layer of both particles, a tenth larger. */
static void enlarge(bpcn_memory *m, size_t layer)
{
    size_t above = m->contents.shard[0]->width[layer + 1], below = m->contents.shard[0]->width[layer];
    double *mean = room(above * below, sizeof *mean), *u = room(above * above, sizeof *u);
    for (size_t k = 0; k < 2; k++) {
        assert_ok(bpcn_memory_get_layer(m, 0, k, layer, mean, u));
        for (size_t j = 0; j < above * below; j++)
            mean[j] *= 1.1;
        assert_ok(bpcn_memory_set_layer(m, 0, k, layer, mean, u));
    }
    free(mean);
    free(u);
}

static void do_set_layer(struct gallery *s)
{
    enlarge(s->memory, 0);
}

static void do_set_upper_layer(struct gallery *s)
{
    enlarge(s->memory, 1);
}

static void do_set_top(struct gallery *s)
{
    double mean[SECOND] = {0.5, -0.5};
    for (size_t k = 0; k < 2; k++)
        assert_ok(bpcn_memory_set_top(s->memory, 0, k, mean, 0.3));
}

static void do_set_weights(struct gallery *s)
{
    assert_ok(bpcn_memory_set_weights(s->memory, 0, (double[]){0.3, 0.7}));
}

static void do_set_minimizer(struct gallery *s)
{
    bpcn_options *of_memory = &s->memory->contents.options, *of_shard = &s->memory->contents.shard[0]->options;
    of_memory->adam_steps = of_shard->adam_steps = 5; /* of few steps, to be quick */
    of_memory->rounds = of_shard->rounds = 2;
    assert_ok(bpcn_memory_set_minimizer(s->memory, BPCN_ADAM));
}

static const struct change_kind_of {
    const char *name;
    void (*make)(struct gallery *s);
} changes[] = {
    {"write", do_write},       {"delete", do_delete},           {"forget", do_forget},
    {"discount", do_discount}, {"set_layer", do_set_layer},     {"set_layer above", do_set_upper_layer},
    {"set_top", do_set_top},   {"set_weights", do_set_weights}, {"set_minimizer", do_set_minimizer},
};

/* Reads, and reads of a copy that was never read before, give the same. */
static struct view check_fresh(const bpcn_memory *m, const float *x, const char *after)
{
    struct view got = view_of(m, x); /* first: else the copy could take the place of a model that is gone */
    bpcn_memory *copy = fresh_copy(m, 0);
    struct view want = view_of(copy, x);
    if (!same_view(&got, &want))
        fail_msg("after %s a read differs from that of a fresh copy", after);
    view_free(&want);
    bpcn_memory_free(copy);
    return got;
}

static void check_changes(int shape, bpcn_precision precision)
{
    for (size_t c = 0; c < sizeof changes / sizeof *changes; c++) {
        struct gallery *s = gallery_of(options_of(shape, BPCN_GELU, precision, 2), STORED, 8);
        struct view before = view_of(s->memory, s->x);
        changes[c].make(s);
        struct view after = check_fresh(s->memory, s->x, changes[c].name);
        assert_false(same_view(&before, &after)); /* what was prepared before would show */
        view_free(&before);
        view_free(&after);
        gallery_free(s);
    }
}

static void after_every_change_a_read_is_that_of_a_fresh_copy(void **state)
{
    (void)state;
    check_changes(THROUGH_G, BPCN_FLOAT32);
    check_changes(WIDE, BPCN_FLOAT64);
}

/* Parameters that are in the memory but not in its file, as a change leaves them that overflows. */
static void spoil(bpcn_memory *m)
{
    struct layer *layer = &m->contents.shard[0]->particles[0].layer[0];
    for (size_t j = 0; j < layer->above * layer->below; j++)
        ((float *)layer->mean)[j] *= 1.1f;
    m->contents.shard[0]->particles[0].top_mean[0] = NAN;
}

static void after_a_change_that_was_taken_back_a_read_is_that_of_a_fresh_copy(void **state)
{
    (void)state;
    bpcn_options o = options_of(THROUGH_G, BPCN_GELU, BPCN_FLOAT32, 2);
    struct gallery *s = gallery_of(o, STORED, 8);
    bpcn_memory *m = create_file(scratch("spoilt"), &o, BPCN_SYNC_MANUAL);
    assert_ok(bpcn_memory_write(m, s->x, NULL, STORED, NULL));
    struct view before = view_of(m, s->x);
    spoil(m);
    assert_status(bpcn_memory_discount(m, 0.1), BPCN_NUMERIC);
    struct view after = check_fresh(m, s->x, "a change that was taken back");
    assert_true(same_view(&before, &after));
    view_free(&before);
    view_free(&after);
    assert_ok(bpcn_memory_write(m, s->unseen, NULL, 2, NULL)); /* and it goes on */
    after = check_fresh(m, s->x, "a write after that");
    view_free(&after);
    bpcn_memory_free(m);
    gallery_free(s);
}

/* ---- many masks, many threads */

/* Whoever comes first has the library's own threads, the others have none; and all make and drop each other's
   preparations. */
static void threads_with_many_masks_read_the_same_bits_as_one_alone(void **state)
{
    enum { THREADS = 4, TIMES = 3 };
    (void)state;
    struct gallery *s = gallery_of(options_of(THROUGH_G, BPCN_GELU, BPCN_FLOAT32, 2), STORED, 9);
    bpcn_memory *alone = fresh_copy(s->memory, 1);
    struct reader *r = room(THREADS + 1, sizeof *r);
    r[THREADS] = (struct reader){.scene = s, .memory = alone};
    read_masks(&r[THREADS]);
    assert_ok(r[THREADS].status);
    for (int time = 0; time < TIMES; time++) {
        bpcn_memory *shared = fresh_copy(s->memory, 2);
        pthread_t thread[THREADS];
        for (size_t i = 0; i < THREADS; i++) {
            r[i] = (struct reader){.scene = s, .memory = shared, .first = i * (size_t)time};
            assert_int_equal(pthread_create(&thread[i], NULL, read_masks, &r[i]), 0);
        }
        for (size_t i = 0; i < THREADS; i++)
            pthread_join(thread[i], NULL);
        for (size_t i = 0; i < THREADS; i++)
            check_same_reading(&r[i], &r[THREADS]);
        bpcn_memory_free(shared);
    }
    free(r);
    bpcn_memory_free(alone);
    gallery_free(s);
}

static size_t prepared_of(const bpcn_memory *m)
{
    return shard_ops_for(m->contents.shard[0])->count_cache_bytes(m->cache[0]);
}

/* A hundred masks, one after the other, hold no more than the first four, but for what masks differ by: the levels of
   noise that their rows went through. And those used before still give what they gave. */
static void many_masks_take_no_more_memory_than_a_few(void **state)
{
    (void)state;
    struct gallery *s = gallery_of(options_of(THROUGH_G, BPCN_GELU, BPCN_FLOAT32, 1), STORED, 9);
    struct reader *first = room(2, sizeof *first), *again = first + 1;
    size_t empty = prepared_of(s->memory), most = 0, few = 0;
    unsigned char known[PICTURE];
    float out[PICTURE];
    for (size_t k = 0; k < 100; k++) {
        mask_number(k % 44, 1, known);
        known[k % PICTURE] ^= 1;
        assert_ok(bpcn_memory_read(s->memory, s->x, known, 1, NULL, out, NULL));
        size_t held = prepared_of(s->memory) - empty;
        few = k < 4 ? held : few;
        most = held > most ? held : most;
    }
    assert_true(few > 0 && 2 * most < 3 * few);
    bpcn_memory *copy = fresh_copy(s->memory, 0);
    *first = (struct reader){.scene = s, .memory = copy};
    *again = (struct reader){.scene = s, .memory = s->memory, .first = 5};
    read_masks(first);
    read_masks(again);
    check_same_reading(first, again);
    bpcn_memory_free(copy);
    assert_ok(bpcn_memory_forget(s->memory, 0.001));
    assert_true(prepared_of(s->memory) <= empty); /* what no longer holds is not kept */
    free(first);
    gallery_free(s);
}

/* ---- what pays */

/* What preparing costs grows with the width, what a row saves by it does not: the first rows of a kind go without, and
   come to the same minimum. */
static void a_lone_row_of_a_wide_network_does_not_wait_for_what_only_many_pay_for(void **state)
{
    (void)state;
    enum { ENTRIES = 600, UNITS = 512, ROWS_READ = 4 };
    bpcn_options o = network(ENTRIES, 1, (size_t[]){UNITS});
    o.precision = BPCN_FLOAT32;
    struct dice dice = {17};
    float *x = room(ROWS_READ * ENTRIES, sizeof *x), *out = room(ROWS_READ * ENTRIES, sizeof *out);
    unsigned char *known = room(ENTRIES, 1);
    double energy[ROWS_READ];
    size_t held[ROWS_READ + 1];
    bpcn_memory *m = make_memory(o);
    bpcn_stats stats = {.size = sizeof stats};
    dice_normals_f32(&dice, ROWS_READ * ENTRIES, 0.5, x);
    for (size_t j = 0; j < ENTRIES; j++)
        known[j] = j % 3 != 0;
    assert_ok(bpcn_memory_write(m, x, NULL, ROWS_READ, NULL));
    assert_ok(bpcn_memory_get_stats(m, &stats));
    held[0] = stats.prepared_bytes;
    for (size_t i = 0; i < ROWS_READ; i++) { /* the same row, again and again */
        bpcn_read_info info;
        assert_ok(bpcn_memory_read(m, x, known, 1, NULL, out, &info));
        assert_ok(bpcn_memory_get_stats(m, &stats));
        held[i + 1] = stats.prepared_bytes;
        energy[i] = info.energy;
        assert_near(energy[i], energy[0], 0.05); /* twice the tolerance of a recall, 1e-5 for each of 1112 entries */
    }
    assert_true(held[1] - held[0] < stats.bytes / 100); /* norms alone */
    assert_true(held[ROWS_READ] - held[0] > stats.bytes / 2);
    free(x);
    free(out);
    free(known);
    bpcn_memory_free(m);
}

/* A third is no binary fraction: summed row by row its last bits would depend on how many rows there are. */
static void rows_that_know_the_same_are_of_one_kind_however_many_are_read(void **state)
{
    (void)state;
    enum { HELD = 12 };
    struct gallery *s = gallery_of(options_of(THROUGH_G, BPCN_GELU, BPCN_FLOAT32, 1), HELD, 9);
    unsigned char known[HELD * PICTURE];
    float out[HELD * PICTURE];
    size_t first = 0;
    for (size_t j = 0; j < HELD * PICTURE; j++)
        known[j] = j % PICTURE % 3 == 0;
    for (size_t n = HELD; n > 1; n--) {
        assert_ok(bpcn_memory_read(s->memory, s->x, known, n, NULL, out, NULL));
        first = first == 0 ? prepared_of(s->memory) : first;
        assert_int_equal(prepared_of(s->memory), first);
    }
    gallery_free(s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rows_that_know_the_same_are_of_one_kind_however_many_are_read),
        cmocka_unit_test(a_lone_row_of_a_wide_network_does_not_wait_for_what_only_many_pay_for),
        cmocka_unit_test(rows_get_the_same_bits_however_they_are_cut_into_calls_and_threads),
        cmocka_unit_test(rows_that_know_different_entries_end_in_the_same_minima_in_any_call),
        cmocka_unit_test(after_every_change_a_read_is_that_of_a_fresh_copy),
        cmocka_unit_test(after_a_change_that_was_taken_back_a_read_is_that_of_a_fresh_copy),
        cmocka_unit_test(threads_with_many_masks_read_the_same_bits_as_one_alone),
        cmocka_unit_test(many_masks_take_no_more_memory_than_a_few),
    };
    return cmocka_run_group_tests_name("prepared", tests, NULL, NULL);
}
