/* Streams of Fashion-MNIST fifty times as long as the network is wide, faded as `bpcn write --forget auto` does: the latest
   rows stay recallable, and nothing that is answered wrongly is called known. `test_faded_stream long`: wider and deeper. */
#include "formats.h"
#include "support.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum {
    IMAGE = 784,
    LINE = 28,
    PERIOD = 8,  /* writes between two discounts, as in cli/cmd_write.c */
    OTHERS = 128 /* rows read that were never written, or long ago */
};

static fmt_table images;
static int at_length;

struct outcome {
    size_t recalled, known, wrong;
    double mse;
};

/* Rows first .. first + n - 1, of which the left half is given. */
static struct outcome recall(const bpcn_memory *m, size_t first, size_t n)
{
    struct outcome o = {0};
    float *answer = room(n * IMAGE, sizeof *answer);
    const float *x = images.data + first * IMAGE;
    unsigned char *known = room(n * IMAGE, 1);
    bpcn_read_info *info = room(n, sizeof *info);
    for (size_t j = 0; j < n * IMAGE; j++)
        known[j] = j % LINE < LINE / 2;
    assert_ok(bpcn_memory_read(m, x, known, n, NULL, answer, info));
    for (size_t i = 0; i < n; i++) {
        double error = 2 * mean_square_error(IMAGE, answer + i * IMAGE, x + i * IMAGE); /* of the hidden half */
        int is_known = info[i].verdict == BPCN_KNOWN;
        o.mse += error / (double)n;
        o.recalled += error < 0.01; /* a deviation of a twentieth of the range from black to white */
        o.known += (size_t)is_known;
        o.wrong += is_known && error >= 0.01;
    }
    free(answer);
    free(known);
    free(info);
    return o;
}

static void check(const bpcn_memory *m, size_t rows, size_t width)
{
    struct outcome half = recall(m, rows - width / 2, width / 2), quarter = recall(m, rows - width / 4, width / 4),
                   old = recall(m, 0, OTHERS), aging = recall(m, rows - 2 * width, width / 2),
                   unseen = recall(m, images.rows - OTHERS, OTHERS);
    print_message("after %zu rows: of the latest %zu %zu recalled (mse %.5f), %zu known; known of %d unseen %zu, old %zu\n",
                  rows, width / 2, half.recalled, half.mse, half.known, OTHERS, unseen.known, old.known);
    assert_int_equal(half.recalled, width / 2);
    assert_int_equal(quarter.known, width / 4);
    assert_int_equal(half.wrong + quarter.wrong + aging.wrong + old.wrong + unseen.wrong, 0);
}

static void stream(size_t width, size_t layers, bpcn_activation activation, bpcn_precision precision)
{
    size_t widths[] = {width, width, width}, rows = 50 * width;
    bpcn_options o = network(IMAGE, layers, widths);
    o.activation = activation;
    o.precision = precision;
    bpcn_memory *m = make_memory(o);
    double beta = 1 - fmax(pow(o.sigma_x, 2. * PERIOD / (double)width), 1e-6);
    print_message("%zux%zu, %s, float%d: ", width, layers, bpcn_activation_name(activation),
                  precision == BPCN_FLOAT64 ? 64 : 32);
    for (size_t i = 0; i < rows; i++) {
        if (i % PERIOD == 0 && i > 0)
            assert_ok(bpcn_memory_discount(m, beta));
        assert_ok(bpcn_memory_write(m, images.data + i * IMAGE, NULL, 1, NULL));
        if (i + 1 == rows / 5 || i + 1 == rows)
            check(m, i + 1, width);
    }
    bpcn_memory_free(m);
}

static void the_latest_rows_of_a_faded_stream_are_recalled_and_nothing_wrong_is_known(void **state)
{
    static const size_t shapes[][2] = {{64, 2}, {64, 3}, {256, 3}};
    fmt_options options = fmt_options_default();
    (void)state;
    options.max_rows = 50 * 256 + OTHERS;
    if (fmt_read("/usr/share/datasets/fashion-mnist/train-images-idx3-ubyte.gz", &options, &images) != BPCN_OK) {
        print_message("skipped: %s\n", bpcn_error());
        skip();
    }
    for (size_t s = 0; s < (at_length ? 3 : 1); s++)
        for (int setting = 0; setting < 4; setting++)
            stream(shapes[s][0], shapes[s][1], setting % 2 ? BPCN_RELU : BPCN_GELU,
                   setting / 2 ? BPCN_FLOAT64 : BPCN_FLOAT32);
    fmt_table_free(&images);
}

int main(int argc, char **argv)
{
    at_length = argc > 1 && strcmp(argv[1], "long") == 0;
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_latest_rows_of_a_faded_stream_are_recalled_and_nothing_wrong_is_known),
    };
    return cmocka_run_group_tests_name("faded_stream", tests, NULL, NULL);
}
