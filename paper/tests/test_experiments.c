/*
 * The experiments' machinery: corruptions and scores, datasets, streams of writes and reads.
 * Tests of real data say so and are skipped where there is none.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "stream.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SIDE = 8, CHANNELS = 3, SMALL = SIDE * SIDE * CHANNELS, COUNT = 24 };

/* Smooth random pictures within [-1, 1]. */
static struct dataset pictures(void)
{
    struct dataset d = {
        .name = "pictures", .count = COUNT, .dim = SMALL, .height = SIDE, .width = SIDE, .channels = CHANNELS};
    d.pixels = calloc(COUNT, SMALL * sizeof *d.pixels);
    assert_non_null(d.pixels);
    uint64_t bits = 7;
    for (size_t i = 0; i < COUNT; i++)
        for (size_t c = 0; c < CHANNELS; c++) {
            double phase[3];
            for (size_t k = 0; k < 3; k++) {
                bits = bits * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
                phase[k] = (double)(bits >> 11) * 0x1p-53 * 6.28;
            }
            for (size_t p = 0; p < SIDE * SIDE; p++)
                d.pixels[i * SMALL + c * SIDE * SIDE + p] =
                    (float)(0.5 * sin(phase[0] + 0.7 * (double)(p % SIDE)) +
                            0.45 * sin(phase[1] + phase[2] * (double)(p / SIDE)));
        }
    return d;
}

static struct task task_of(const char *text)
{
    struct task task;
    struct failure failure;
    assert_int_equal(task_parse(text, &task, &failure), 0);
    return task;
}

/* ---- tasks */

static void what_is_no_task_is_refused_with_a_sentence(void **state)
{
    static const char *const wrong[] = {"", "white", "drop1.5", "mask-0.1", "blur0.2", "white0.2x", "maskNaN"};
    struct task task;
    struct failure failure;
    (void)state;
    for (size_t k = 0; k < sizeof wrong / sizeof wrong[0]; k++) {
        failure.text[0] = '\0';
        assert_int_equal(task_parse(wrong[k], &task, &failure), -1);
        assert_true(strlen(failure.text) > 10);
    }
}

static void a_mask_hides_the_rightmost_columns_and_nothing_else(void **state)
{
    struct dataset d = pictures();
    struct task task = task_of("mask0.3"); /* int(0.3 * 8) = 2 columns */
    float query[SMALL];
    unsigned char known[SMALL];
    (void)state;
    task_corrupt(&task, &d, 3, 0, query, known);
    for (size_t j = 0; j < SMALL; j++) {
        assert_int_equal(known[j], j % SIDE < 6);
        assert_true(query[j] == (known[j] ? d.pixels[3 * SMALL + j] : -1));
    }
    dataset_free(&d);
}

static void dropout_takes_all_channels_of_a_pixel(void **state)
{
    struct dataset d = pictures();
    struct task task = task_of("drop0.5");
    float query[SMALL];
    unsigned char known[SMALL];
    size_t hidden = 0;
    (void)state;
    for (size_t image = 0; image < COUNT; image++) {
        task_corrupt(&task, &d, image, 1, query, known);
        for (size_t p = 0; p < SIDE * SIDE; p++) {
            hidden += !known[p];
            for (size_t c = 1; c < CHANNELS; c++)
                assert_int_equal(known[c * SIDE * SIDE + p], known[p]);
        }
    }
    /* 1536 coins: within five standard deviations of half */
    assert_true(fabs((double)hidden - 768) < 5 * sqrt(1536 * 0.25));
    dataset_free(&d);
}

static void white_noise_has_the_deviation_asked_for_on_the_unit_scale(void **state)
{
    struct dataset d = pictures();
    struct task task = task_of("white0.2");
    double squares = 0;
    (void)state;
    for (size_t image = 0; image < COUNT; image++) {
        float query[SMALL];
        task_corrupt(&task, &d, image, 2, query, NULL);
        squares += task_error(&task, SMALL, NULL, d.pixels + image * SMALL, query) / COUNT;
    }
    /* (2 * 0.2)^2 = 0.16 on [-1, 1]; 4608 numbers: relative deviation sqrt(2/4608) = 2 %, allow five */
    assert_true(fabs(squares - 0.16) < 0.16 * 0.1);
    dataset_free(&d);
}

static void corruption_depends_on_seed_image_and_task_alone(void **state)
{
    struct dataset d = pictures();
    struct task task = task_of("white0.2"), other = task_of("white0.8");
    float a[SMALL], b[SMALL];
    (void)state;
    task_corrupt(&task, &d, 5, 3, a, NULL);
    task_corrupt(&task, &d, 6, 3, b, NULL);
    task_corrupt(&task, &d, 5, 3, b, NULL);
    assert_memory_equal(a, b, sizeof a);
    task_corrupt(&task, &d, 5, 4, b, NULL);
    assert_memory_not_equal(a, b, sizeof a);
    task_corrupt(&other, &d, 5, 3, b, NULL);
    double first = (double)(a[0] - d.pixels[5 * SMALL]), second = (double)(b[0] - d.pixels[5 * SMALL]);
    assert_true(fabs(second - 4 * first) > 1e-3); /* not the same noise four times as large */
    dataset_free(&d);
}

static void an_error_counts_unknown_entries_only_when_there_is_a_mask(void **state)
{
    struct task mask = task_of("mask0.5"), white = task_of("white0.2");
    float truth[4] = {0, 0, 0, 0}, answer[4] = {9, 9, 1, 3};
    unsigned char known[4] = {1, 1, 0, 0};
    (void)state;
    assert_true(task_error(&mask, 4, known, truth, answer) == 5);
    assert_true(task_error(&white, 4, known, truth, answer) == 43);
}

/* ---- datasets */

/* The first images of a dataset, where it is looked for by default. */
static void load_or_skip(const char *name, size_t count, struct dataset *d)
{
    struct failure failure;
    if (dataset_load(name, NULL, count, d, &failure) == 0)
        return;
    print_message("skipped: %s\n", failure.text);
    skip();
}

static void check_identity_rows(const char *dataset, const char *task_name, const size_t *lengths, const double *want)
{
    struct dataset d;
    struct task task = task_of(task_name);
    load_or_skip(dataset, lengths[3], &d);
    float *query = calloc(d.dim, sizeof *query);
    unsigned char *known = calloc(d.dim, 1);
    double sum = 0;
    size_t image = 0;
    for (size_t c = 0; c < 4; c++) {
        for (; image < lengths[c]; image++) {
            task_corrupt(&task, &d, image, 0, query, known);
            sum += task_error(&task, d.dim, known, d.pixels + image * d.dim, query);
        }
        /* printed to four digits; one cell is known to be off by 0.0001 */
        assert_true(fabs(sum / (double)image - want[c]) < 0.00016);
    }
    free(query);
    free(known);
    dataset_free(&d);
}

static void identity_rows_are_the_papers_for_cifar10(void **state)
{
    static const size_t moderate[] = {128, 256, 512, 1024}, severe[] = {16, 32, 64, 128};
    static const double first[] = {1.1272, 1.1373, 1.1619, 1.1653}, second[] = {0.9686, 0.9941, 1.0563, 1.0987};
    (void)state;
    check_identity_rows("cifar10", "mask0.25", moderate, first);
    check_identity_rows("cifar10", "mask0.75", severe, second);
}

static void identity_rows_are_the_papers_for_tiny_imagenet(void **state)
{
    static const size_t moderate[] = {128, 256, 512, 1024}, severe[] = {16, 32, 64, 128};
    static const double first[] = {1.0876, 1.0884, 1.0982, 1.1132}, second[] = {1.0019, 1.0606, 1.1370, 1.0597};
    (void)state;
    check_identity_rows("tiny-imagenet", "mask0.25", moderate, first);
    check_identity_rows("tiny-imagenet", "mask0.75", severe, second);
}

static void mhn_rows_are_the_papers_for_cifar10_mask(void **state)
{
    static const size_t lengths[] = {16, 32, 64}; /* 128 takes longer than it teaches */
    static const double papers[] = {0.3361, 0.3315, 0.3650};
    struct method_spec spec = method_spec_default();
    struct task task = task_of("mask0.75");
    struct dataset d;
    struct stream s;
    struct failure failure;
    struct record record;
    (void)state;
    load_or_skip("cifar10", 128, &d);
    spec.kind = METHOD_MHN;
    spec.rate = 0.005;
    assert_int_equal(stream_create(&s, &d, &spec, &failure), 0);
    for (size_t c = 0; c < 3; c++) {
        assert_int_equal(stream_advance(&s, lengths[c], &failure), 0);
        assert_int_equal(stream_measure(&s, &task, BPCN_OBJECTIVE_DEFAULT, 0, &record, &failure), 0);
        assert_true(fabs(record_get(&record, "mse") - papers[c]) < 0.0001);
    }
    stream_free(&s);
    dataset_free(&d);
}

static void a_missing_dataset_says_what_to_get_and_where_it_goes(void **state)
{
    static const char *const names[] = {"cifar10", "tiny-imagenet", "mnist"};
    struct dataset d;
    struct failure failure;
    (void)state;
    for (size_t k = 0; k < 3; k++) {
        assert_int_equal(dataset_load(names[k], "/nonexistent", 4, &d, &failure), -1);
        assert_non_null(strstr(failure.text, "/nonexistent"));
        assert_non_null(strstr(failure.text, "missing"));
    }
    assert_int_equal(dataset_load("no-such-data", NULL, 4, &d, &failure), -1);
    assert_non_null(strstr(failure.text, "no-such-data"));
}

static void the_list_of_tiny_imagenet_has_1280_names(void **state)
{
    char name[32];
    (void)state;
    assert_int_equal(tiny_order(0, name), 0);
    assert_string_equal(name, "n02190166_336.JPEG");
    assert_int_equal(tiny_order(1279, name), 0);
    assert_int_equal(tiny_order(1280, name), -1);
}

/* ---- streams */

static void a_stream_measures_what_it_wrote(void **state)
{
    struct dataset d = pictures();
    struct method_spec spec = method_spec_default();
    struct task task = task_of("mask0.25");
    struct stream s;
    struct failure failure = {""};
    struct record record;
    (void)state;
    for (size_t l = 0; l < 3; l++)
        spec.hidden[l] = 48;
    spec.threads = 1;
    assert_int_equal(stream_create(&s, &d, &spec, &failure), 0);
    assert_int_equal(stream_advance(&s, 16, &failure), 0);
    assert_int_equal(stream_measure(&s, &task, BPCN_OBJECTIVE_DEFAULT, 0, &record, &failure), 0);
    assert_true(record_get(&record, "mse") < 0.01); /* a good memory: 16 of 48 places are used */
    assert_true(record_get(&record, "accuracy") > 0.8);
    assert_true(record_get(&record, "identity_mse") > 0.5);
    assert_true(record_get(&record, "queries") == 16);
    assert_true(record_get(&record, "evaluations") > 1);
    assert_true(record_get(&record, "above_stored") <= 0.2);
    assert_int_equal(stream_measure(&s, &task, BPCN_OBJECTIVE_PAPER, 4, &record, &failure), 0);
    assert_true(record_get(&record, "queries") == 4);
    assert_int_equal(stream_advance(&s, COUNT + 1, &failure), -1);
    stream_free(&s);
    dataset_free(&d);
}

/* Writing on after a measurement is the same as writing all at once; to the bit, because no call writes as many as
   eight rows. */
static void a_measurement_leaves_no_trace(void **state)
{
    struct dataset d = pictures();
    struct method_spec spec = method_spec_default();
    struct task task = task_of("drop0.25");
    struct failure failure = {""};
    double mse[2];
    (void)state;
    for (size_t l = 0; l < 3; l++)
        spec.hidden[l] = 16;
    spec.threads = 1;
    spec.forget_every = 5;
    spec.beta = 0.01;
    for (size_t k = 0; k < 2; k++) {
        struct stream s;
        struct record record;
        assert_int_equal(stream_create(&s, &d, &spec, &failure), 0);
        if (k == 0) {
            assert_int_equal(stream_advance(&s, 7, &failure), 0);
            assert_int_equal(stream_measure(&s, &task, BPCN_OBJECTIVE_DEFAULT, 0, &record, &failure), 0);
        }
        assert_int_equal(stream_advance(&s, 12, &failure), 0);
        assert_int_equal(stream_measure(&s, &task, BPCN_OBJECTIVE_DEFAULT, 0, &record, &failure), 0);
        mse[k] = record_get(&record, "mse");
        stream_free(&s);
    }
    assert_true(mse[0] == mse[1]);
    dataset_free(&d);
}

static void every_method_goes_through_the_same_stream(void **state)
{
    struct dataset d = pictures();
    struct task task = task_of("drop0.25");
    struct failure failure = {""};
    (void)state;
    for (int kind = 0; kind < METHOD_KINDS; kind++) {
        struct method_spec spec = method_spec_default();
        struct stream s;
        struct record record;
        spec.kind = (enum method_kind)kind;
        spec.iterations = 20;
        for (size_t l = 0; l < 3; l++)
            spec.hidden[l] = 16;
        assert_int_equal(stream_create(&s, &d, &spec, &failure), 0);
        assert_int_equal(stream_advance(&s, 8, &failure), 0);
        assert_int_equal(stream_measure(&s, &task, BPCN_OBJECTIVE_DEFAULT, 0, &record, &failure), 0);
        assert_true(isfinite(record_get(&record, "mse")));
        assert_int_equal(isnan(record_get(&record, "above_stored")), kind != METHOD_BAYESPCN);
        stream_free(&s);
    }
    dataset_free(&d);
}

/* A row a unit each, the oldest emptied: what the window holds comes back exactly from its left half, what it has lost
   does not, and its shards know their own. */
static void a_stream_through_shards_has_a_sharp_edge(void **state)
{
    enum { SHARDS = 3, WIDTH = 4, LENGTH = 22, HELD = (SHARDS - 1) * WIDTH + LENGTH % WIDTH };
    struct dataset d = pictures();
    struct method_spec spec = method_spec_default();
    struct stream s;
    struct record record;
    struct task task = task_of("mask0.5");
    struct failure failure;
    (void)state;
    spec.hidden[0] = spec.hidden[1] = spec.hidden[2] = WIDTH;
    spec.shards = SHARDS;
    spec.when_full = BPCN_RECYCLE;
    assert_int_equal(stream_create(&s, &d, &spec, &failure), 0);
    assert_int_equal(stream_advance(&s, LENGTH, &failure), 0);
    assert_int_equal(stream_measure_latest(&s, &task, BPCN_OBJECTIVE_DEFAULT, HELD, 0, &record, &failure), 0);
    assert_true(record_get(&record, "accuracy") == 1);
    assert_true(record_get(&record, "right") == 1);
    assert_true(record_get(&record, "exact_0") == 1 && record_get(&record, "exact_14") == 1);
    assert_true(isnan(record_get(&record, "above_stored")));
    s.twice = 1;
    assert_int_equal(stream_measure_latest(&s, &task, BPCN_OBJECTIVE_DEFAULT, 2 * HELD, 0, &record, &failure), 0);
    assert_true(record_get(&record, "queries") == 2 * HELD);
    assert_true(record_get(&record, "exact_0") == 0 && record_get(&record, "exact_7") == 0);
    assert_true(record_get(&record, "exact_8") == 1 && record_get(&record, "exact_15") == 1);
    assert_true(record_get(&record, "again_seconds") > 0 && record_get(&record, "prepared_bytes") > 0);
    stream_free(&s);
    dataset_free(&d);
}

/* What it learns is timed apart from its reads, once for what is written; the answers are those of a network that
   learns when it is first read. */
static void an_offline_network_says_how_long_it_learnt(void **state)
{
    struct dataset d = pictures();
    struct method_spec spec = method_spec_default();
    struct task task = task_of("mask0.25");
    struct stream told, plain;
    struct record record, before;
    struct failure failure;
    (void)state;
    spec.kind = METHOD_GPCN_OFFLINE;
    spec.hidden[0] = spec.hidden[1] = spec.hidden[2] = 16;
    spec.iterations = 20;
    spec.checkpoint = 10;
    spec.threads = 1;
    assert_int_equal(stream_create(&told, &d, &spec, &failure), 0);
    assert_int_equal(stream_create(&plain, &d, &spec, &failure), 0);
    assert_int_equal(stream_advance(&told, 8, &failure), 0);
    assert_int_equal(stream_advance(&plain, 8, &failure), 0);
    assert_int_equal(stream_learn(&told, &failure), 0);
    double once = told.learn_seconds;
    assert_true(once > 0);
    assert_int_equal(stream_learn(&told, &failure), 0);
    assert_true(told.learn_seconds == once); /* there was nothing left to learn */
    assert_int_equal(stream_measure(&told, &task, BPCN_OBJECTIVE_DEFAULT, 0, &record, &failure), 0);
    assert_int_equal(stream_measure(&plain, &task, BPCN_OBJECTIVE_DEFAULT, 0, &before, &failure), 0);
    note_learning(&told, &record);
    note_learning(&plain, &before);
    assert_true(record_get(&record, "learn_seconds") == once);
    assert_true(isnan(record_get(&before, "learn_seconds")));
    assert_true(record_get(&record, "mse") == record_get(&before, "mse"));
    assert_int_equal(stream_advance(&told, 9, &failure), 0);
    note_learning(&told, &before);
    assert_true(isnan(record_get(&before, "learn_seconds"))); /* of nine images it has not learnt yet */
    stream_free(&told);
    stream_free(&plain);
    dataset_free(&d);
}

/* Eight images, forgetting before the fifth: nothing is forgotten after the last write. */
static void forgetting_comes_before_the_writes_that_follow(void **state)
{
    enum { WIDE = 12, ROWS = 8 };
    struct method_spec spec = method_spec_default();
    struct method method;
    struct failure failure;
    bpcn_options o;
    bpcn_memory *memory;
    float x[ROWS * WIDE];
    double mean[2][8 * WIDE];
    (void)state;
    for (size_t j = 0; j < ROWS * WIDE; j++)
        x[j] = (float)sin(0.7 * (double)j);
    spec.layers = 1;
    spec.hidden[0] = 8;
    spec.forget_every = 4;
    spec.beta = 0.1;
    spec.threads = 1;
    assert_int_equal(method_create(&spec, WIDE, &method, &failure), 0);
    assert_int_equal(method_write(&method, x, ROWS, &failure), 0);
    bpcn_options_default(&o, sizeof o);
    o.scale = BPCN_SCALE_AS_GIVEN;
    o.dim = WIDE;
    o.layers = 1;
    o.hidden[0] = 8;
    o.surprises = 0;
    o.threads = 1;
    assert_int_equal(bpcn_memory_create(&o, &memory), BPCN_OK);
    assert_int_equal(bpcn_memory_write(memory, x, NULL, 4, NULL), BPCN_OK);
    assert_int_equal(bpcn_memory_forget(memory, 0.1), BPCN_OK);
    assert_int_equal(bpcn_memory_write(memory, x + 4 * WIDE, NULL, 4, NULL), BPCN_OK);
    assert_int_equal(bpcn_memory_get_layer(method.memory, 0, 0, 0, mean[0], NULL), BPCN_OK);
    assert_int_equal(bpcn_memory_get_layer(memory, 0, 0, 0, mean[1], NULL), BPCN_OK);
    assert_memory_equal(mean[0], mean[1], sizeof mean[0]);
    bpcn_memory_free(memory);
    method_free(&method);
}

/* Rounds move the answers to noisy queries by no more than the noise could be, and leave masked reads alone. */
static void rounds_stay_within_the_noise(void **state)
{
    enum { WIDE = 96, ROWS = 8 };
    float x[ROWS * WIDE], query[ROWS * WIDE], out[2][ROWS * WIDE], masked[2][ROWS * WIDE];
    unsigned char known[ROWS * WIDE];
    struct failure failure;
    (void)state;
    for (size_t j = 0; j < ROWS * WIDE; j++) {
        x[j] = (float)sin(0.7 * (double)j + (double)(j / WIDE));
        query[j] = x[j] + 0.2f * (float)cos(31.0 * (double)j * (double)j);
        known[j] = j % 2 == 0;
    }
    for (size_t k = 0; k < 2; k++) {
        struct method_spec spec = method_spec_default();
        struct method method;
        struct read_report report = {0};
        spec.layers = 1;
        spec.hidden[0] = 24;
        spec.activation = BPCN_RELU;
        spec.rounds = 4 * k;
        spec.threads = 1;
        assert_int_equal(method_create(&spec, WIDE, &method, &failure), 0);
        assert_int_equal(method_write(&method, x, ROWS, &failure), 0);
        assert_int_equal(
            method_read(&method, BPCN_OBJECTIVE_DEFAULT, query, NULL, ROWS, NULL, x, out[k], &report, &failure), 0);
        assert_int_equal(
            method_read(&method, BPCN_OBJECTIVE_DEFAULT, x, known, ROWS, NULL, x, masked[k], &report, &failure), 0);
        method_free(&method);
    }
    assert_memory_equal(masked[0], masked[1], sizeof masked[0]);
    assert_memory_not_equal(out[0], out[1], sizeof out[0]);
    for (size_t i = 0; i < ROWS; i++) {
        double moved = 0;
        for (size_t j = i * WIDE; j < (i + 1) * WIDE; j++)
            moved += pow((double)(out[1][j] - out[0][j]), 2);
        assert_true(moved <= 0.3 * 0.3 * ROWS); /* the noise is 0.14 */
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_offline_network_says_how_long_it_learnt),
        cmocka_unit_test(forgetting_comes_before_the_writes_that_follow),
        cmocka_unit_test(rounds_stay_within_the_noise),
        cmocka_unit_test(what_is_no_task_is_refused_with_a_sentence),
        cmocka_unit_test(a_mask_hides_the_rightmost_columns_and_nothing_else),
        cmocka_unit_test(dropout_takes_all_channels_of_a_pixel),
        cmocka_unit_test(white_noise_has_the_deviation_asked_for_on_the_unit_scale),
        cmocka_unit_test(corruption_depends_on_seed_image_and_task_alone),
        cmocka_unit_test(an_error_counts_unknown_entries_only_when_there_is_a_mask),
        cmocka_unit_test(identity_rows_are_the_papers_for_cifar10),
        cmocka_unit_test(identity_rows_are_the_papers_for_tiny_imagenet),
        cmocka_unit_test(mhn_rows_are_the_papers_for_cifar10_mask),
        cmocka_unit_test(a_missing_dataset_says_what_to_get_and_where_it_goes),
        cmocka_unit_test(the_list_of_tiny_imagenet_has_1280_names),
        cmocka_unit_test(a_stream_measures_what_it_wrote),
        cmocka_unit_test(a_measurement_leaves_no_trace),
        cmocka_unit_test(every_method_goes_through_the_same_stream),
        cmocka_unit_test(a_stream_through_shards_has_a_sharp_edge),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
