/* The opponents that keep their rows: what identity, nearest and MHN promise. GPCN is in test_gpcn.c. */
#include "baselines_support.h"

#include "baselines.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static bpcn_model made_nearest(size_t capacity, int store_bytes)
{
    struct nearest_options options = {.dim = DIM, .capacity = capacity, .store_bytes = store_bytes};
    bpcn_model m;
    assert_int_equal(nearest_create(&options, &m), BPCN_OK);
    return m;
}

static bpcn_model made_mhn(enum mhn_metric metric, enum mhn_recall recall)
{
    struct mhn_options options = mhn_options_default(DIM);
    bpcn_model m;
    options.metric = metric;
    options.recall = recall;
    options.rate = 0.005;
    options.steps = 5000;
    assert_int_equal(mhn_create(&options, &m), BPCN_OK);
    return m;
}

/* ---- identity, nearest */

static void identity_answers_with_the_query(void **state)
{
    float x[DIM], out[DIM];
    bpcn_model m;
    (void)state;
    fill(x, DIM, 1);
    assert_int_equal(identity_create(DIM, &m), BPCN_OK);
    assert_int_equal(m.write(m.self, x, 1), BPCN_OK);
    assert_int_equal(m.read(m.self, x, NULL, 1, out), BPCN_OK);
    assert_memory_equal(x, out, sizeof x);
    assert_int_equal(m.bytes(m.self), 0);
    m.free(m.self);
}

static void nearest_finds_each_item_from_a_fragment(void **state)
{
    float x[ITEMS * DIM], query[ITEMS * DIM], out[ITEMS * DIM];
    unsigned char known[ITEMS * DIM];
    bpcn_model m = made_nearest(0, 0);
    (void)state;
    fill(x, ITEMS * DIM, 2);
    for (size_t j = 0; j < ITEMS * DIM; j++) {
        known[j] = j % DIM < 6;
        query[j] = known[j] ? x[j] : 100; /* what is not known must not be looked at */
    }
    assert_int_equal(m.write(m.self, x, ITEMS), BPCN_OK);
    assert_int_equal(m.read(m.self, query, known, ITEMS, out), BPCN_OK);
    assert_memory_equal(x, out, sizeof x);
    assert_int_equal(m.bytes(m.self), sizeof x);
    m.free(m.self);
}

/* More rows than one block, and as random as they come, so that no two distances are within rounding: with no mask, one
   for all, and one for each. */
static void matrix_products_find_the_same_nearest(void **state)
{
    enum { ROWS = 2500 };
    struct nearest_options options = {.dim = DIM, .products = 1};
    float *x = calloc(ROWS, DIM * sizeof *x), query[ITEMS * DIM], plain[ITEMS * DIM], together[ITEMS * DIM];
    unsigned char known[ITEMS * DIM];
    bpcn_model a = made_nearest(0, 0), b;
    (void)state;
    assert_non_null(x);
    fill(x, ROWS * DIM, 12);
    fill(query, ITEMS * DIM, 13);
    assert_int_equal(nearest_create(&options, &b), BPCN_OK);
    assert_int_equal(a.write(a.self, x, ROWS), BPCN_OK);
    assert_int_equal(b.write(b.self, x, ROWS), BPCN_OK);
    for (int masks = 0; masks < 3; masks++) {
        for (size_t j = 0; j < ITEMS * DIM; j++)
            known[j] = (masks == 1 ? j % DIM : j) % 5 < 3;
        assert_int_equal(a.read(a.self, query, masks ? known : NULL, ITEMS, plain), BPCN_OK);
        assert_int_equal(b.read(b.self, query, masks ? known : NULL, ITEMS, together), BPCN_OK);
        assert_memory_equal(plain, together, sizeof plain);
    }
    a.free(a.self);
    b.free(b.self);
    free(x);
    options.store_bytes = 1;
    assert_int_equal(nearest_create(&options, &b), BPCN_INVALID);
}

static void nearest_keeps_known_entries_as_they_are(void **state)
{
    float x[DIM], query[DIM], out[DIM];
    unsigned char known[DIM] = {1};
    bpcn_model m = made_nearest(0, 0);
    (void)state;
    fill(x, DIM, 3);
    memcpy(query, x, sizeof x);
    query[0] = 0.123f;
    m.write(m.self, x, 1);
    assert_int_equal(m.read(m.self, query, known, 1, out), BPCN_OK);
    assert_true(out[0] == 0.123f);
    assert_true(out[1] == x[1]);
    m.free(m.self);
}

static void a_bounded_store_holds_only_the_latest(void **state)
{
    float x[ITEMS * DIM], out[ITEMS * DIM];
    bpcn_model m = made_nearest(2, 0);
    (void)state;
    fill(x, ITEMS * DIM, 4);
    m.write(m.self, x, ITEMS);
    assert_int_equal(m.bytes(m.self), 2 * DIM * sizeof *x);
    assert_int_equal(m.read(m.self, x, NULL, ITEMS, out), BPCN_OK);
    for (size_t i = 0; i < ITEMS; i++) {
        int same = memcmp(x + i * DIM, out + i * DIM, DIM * sizeof *x) == 0;
        assert_int_equal(same, i >= ITEMS - 2);
    }
    m.free(m.self);
}

static void a_store_of_bytes_is_a_quarter_and_within_half_a_level(void **state)
{
    float x[ITEMS * DIM], out[ITEMS * DIM];
    bpcn_model m = made_nearest(0, 1);
    (void)state;
    fill(x, ITEMS * DIM, 5);
    m.write(m.self, x, ITEMS);
    assert_int_equal(m.bytes(m.self), ITEMS * DIM);
    assert_int_equal(m.read(m.self, x, NULL, ITEMS, out), BPCN_OK);
    for (size_t j = 0; j < ITEMS * DIM; j++)
        assert_true(fabsf(x[j] - out[j]) <= 0.5f / 127.5f + 1e-6f); /* half of 2/255, and rounding */
    m.free(m.self);
}

static void an_empty_store_says_so(void **state)
{
    float x[DIM] = {0};
    bpcn_model m = made_nearest(0, 0), h = made_mhn(MHN_DOT, MHN_ONE_STEP);
    (void)state;
    assert_int_equal(m.read(m.self, x, NULL, 1, x), BPCN_INVALID);
    assert_true(strlen(bpcn_error()) > 0);
    assert_int_equal(h.read(h.self, x, NULL, 1, x), BPCN_INVALID);
    m.free(m.self);
    h.free(h.self);
}

/* ---- MHN */

static void mhn_recalls_noisy_items_by_every_way(void **state)
{
    float x[ITEMS * DIM], query[ITEMS * DIM], noise[ITEMS * DIM], out[ITEMS * DIM];
    (void)state;
    fill(x, ITEMS * DIM, 6);
    fill(noise, ITEMS * DIM, 7);
    for (size_t j = 0; j < ITEMS * DIM; j++)
        query[j] = x[j] + 0.05f * noise[j];
    for (int metric = MHN_DOT; metric <= MHN_EUCLIDEAN; metric++)
        for (int recall = MHN_ONE_STEP; recall <= MHN_GRADIENT; recall++) {
            bpcn_model m = made_mhn((enum mhn_metric)metric, (enum mhn_recall)recall);
            m.write(m.self, x, ITEMS);
            assert_int_equal(m.read(m.self, query, NULL, ITEMS, out), BPCN_OK);
            /* the gradient stops when beta/2 |q - K|^2 moves less than 1e-3: within 1e-3 or so */
            for (size_t j = 0; j < ITEMS * DIM; j++)
                assert_true(fabsf(out[j] - x[j]) < 2e-3f);
            m.free(m.self);
        }
}

/* Two keys and a query at which they weigh 3 : 1, so the softmax can be worked out by hand. */
static void one_step_is_the_softmax_mean(void **state)
{
    struct mhn_options options = mhn_options_default(1);
    float keys[2] = {1, -1}, query, out;
    bpcn_model m;
    (void)state;
    options.beta = 2;
    options.recall = MHN_ONE_STEP;
    query = (float)(log(3) / 4); /* beta (q K_1 - q K_2) = 4 q = log 3, under either metric */
    for (int metric = MHN_DOT; metric <= MHN_EUCLIDEAN; metric++) {
        options.metric = (enum mhn_metric)metric;
        assert_int_equal(mhn_create(&options, &m), BPCN_OK);
        m.write(m.self, keys, 2);
        assert_int_equal(m.read(m.self, &query, NULL, 1, &out), BPCN_OK);
        assert_true(fabsf(out - 0.5f) < 1e-6f); /* (3 - 1) / 4 */
        m.free(m.self);
    }
}

static void metrics_differ_where_lengths_do(void **state)
{
    struct mhn_options options = mhn_options_default(1);
    float keys[2] = {0.1f, 1}, query = 0.2f, out;
    bpcn_model m;
    (void)state;
    options.recall = MHN_ONE_STEP;
    for (int metric = MHN_DOT; metric <= MHN_EUCLIDEAN; metric++) {
        options.metric = (enum mhn_metric)metric;
        assert_int_equal(mhn_create(&options, &m), BPCN_OK);
        m.write(m.self, keys, 2);
        m.read(m.self, &query, NULL, 1, &out);
        assert_true(out == (metric == MHN_DOT ? keys[1] : keys[0]));
        m.free(m.self);
    }
}

/* Halfway between a short key and a long one, a little nearer to the short: (0.455^2 - 0.445^2) / 2 = 0.0045 of
   distance against 0.01 (1 - 0.1^2) of bias. */
static void the_papers_dot_product_prefers_long_keys_by_a_hundredth(void **state)
{
    struct mhn_options options = mhn_options_default(1);
    float keys[2] = {0.1f, 1}, near = 0.545f, nearer = 0.5f, out;
    bpcn_model m;
    (void)state;
    options.recall = MHN_ONE_STEP;
    for (int metric = MHN_EUCLIDEAN; metric <= MHN_PAPER_DOT; metric++) {
        options.metric = (enum mhn_metric)metric;
        assert_int_equal(mhn_create(&options, &m), BPCN_OK);
        m.write(m.self, keys, 2);
        m.read(m.self, &near, NULL, 1, &out);
        assert_true(out == (metric == MHN_PAPER_DOT ? keys[1] : keys[0]));
        m.read(m.self, &nearer, NULL, 1, &out);
        assert_true(out == keys[0]);
        m.free(m.self);
    }
}

static void mhn_holds_known_entries(void **state)
{
    float x[ITEMS * DIM], query[ITEMS * DIM], out[ITEMS * DIM];
    unsigned char known[ITEMS * DIM];
    bpcn_model m = made_mhn(MHN_EUCLIDEAN, MHN_GRADIENT);
    (void)state;
    fill(x, ITEMS * DIM, 8);
    for (size_t j = 0; j < ITEMS * DIM; j++) {
        known[j] = j % DIM < 20;
        query[j] = known[j] ? x[j] : x[j] + 0.2f; /* near enough to its own item, unlike black */
    }
    m.write(m.self, x, ITEMS);
    assert_int_equal(m.read(m.self, query, known, ITEMS, out), BPCN_OK);
    for (size_t j = 0; j < ITEMS * DIM; j++)
        assert_true(known[j] ? out[j] == x[j] : fabsf(out[j] - x[j]) < 2e-3f);
    assert_true(mhn_last_steps(&m) > 1);
    m.free(m.self);
}

static void a_memory_behind_the_interface_passes_failures_on(void **state)
{
    bpcn_options o;
    bpcn_memory *memory;
    bpcn_stats stats = {.size = sizeof stats};
    float x[ITEMS * DIM], out[DIM];
    (void)state;
    fill(x, ITEMS * DIM, 11);
    bpcn_options_default(&o, sizeof o);
    o.scale = BPCN_SCALE_AS_GIVEN;
    o.dim = DIM;
    o.layers = 1;
    o.hidden[0] = 16;
    assert_int_equal(bpcn_memory_create(&o, &memory), BPCN_OK);
    bpcn_model m = memory_model(memory);
    assert_int_equal(m.write(m.self, x, ITEMS), BPCN_OK);
    assert_int_equal(m.read(m.self, x, NULL, 1, out), BPCN_OK);
    assert_int_equal(bpcn_memory_get_stats(memory, &stats), BPCN_OK);
    assert_int_equal(m.bytes(m.self), stats.bytes);
    x[2] = NAN;
    assert_int_equal(m.write(m.self, x, 1), BPCN_INVALID);
    assert_non_null(strstr(bpcn_error(), "entry 2 is NaN"));
    assert_int_equal(m.read(m.self, x, NULL, 1, out), BPCN_INVALID);
    m.free(m.self);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(identity_answers_with_the_query),
        cmocka_unit_test(nearest_finds_each_item_from_a_fragment),
        cmocka_unit_test(matrix_products_find_the_same_nearest),
        cmocka_unit_test(nearest_keeps_known_entries_as_they_are),
        cmocka_unit_test(a_bounded_store_holds_only_the_latest),
        cmocka_unit_test(a_store_of_bytes_is_a_quarter_and_within_half_a_level),
        cmocka_unit_test(an_empty_store_says_so),
        cmocka_unit_test(mhn_recalls_noisy_items_by_every_way),
        cmocka_unit_test(one_step_is_the_softmax_mean),
        cmocka_unit_test(metrics_differ_where_lengths_do),
        cmocka_unit_test(mhn_holds_known_entries),
        cmocka_unit_test(a_memory_behind_the_interface_passes_failures_on),
        cmocka_unit_test(the_papers_dot_product_prefers_long_keys_by_a_hundredth),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
