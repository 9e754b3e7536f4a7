/*
 * Tables and records, IDX, CIFAR-10, CSV and raw floats: what is written reads back, every dialect
 * means the same numbers, every fault has its sentence; and NumPy agrees with what we read and write.
 */
#include "formats_support.h"

#include <locale.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- IDX and CIFAR ---- */

static void idx_images_are_pixels_gzipped_or_not(void **state)
{
    bytes b = {.size = 0}, z = {.size = 0};
    fmt_table t;
    fmt_options o = fmt_options_default();
    (void)state;
    add_idx_images(&b);
    gzip(&b, &z);
    for (int zipped = 0; zipped < 2; zipped++) {
        o.first_row = 1;
        o.max_rows = 1;
        read_ok(zipped ? &z : &b, "digits", &o, &t);
        assert_true(t.rows == 1 && t.dim == 8 && t.height == 2 && t.width == 4);
        assert_true(t.channels == 1 && t.labels == NULL);
        for (unsigned i = 0; i < 8; i++)
            assert_true(t.data[i] == pixel(80 + 10 * i));
        fmt_table_free(&t);
    }
}

static void idx_labels_are_labels_and_rows_of_one_value(void **state)
{
    const uint32_t shape[1] = {4};
    bytes b = {.size = 0};
    fmt_options o = fmt_options_default();
    fmt_table t;
    (void)state;
    add_idx(&b, 8, 1, shape);
    add(&b, "\3\1\4\1", 4);
    o.first_row = 2;
    o.scale_bytes = true; /* labels are no pixels */
    read_ok(&b, "labels", &o, &t);
    assert_true(t.rows == 2 && t.dim == 1 && t.data[0] == 4.0f && t.labels[0] == 4);
    fmt_table_free(&t);
}

static void idx_of_other_types_are_arrays(void **state)
{
    static const struct {
        unsigned type;
        size_t size;
        uint64_t bits;
        float value;
    } cases[] = {
        {9, 1, 0xFF, -1.0f},
        {0xB, 2, 0xFFFE, -2.0f},
        {0xC, 4, 0xFFFFFFFD, -3.0f},
        {0xD, 4, 0x40490FDB, 3.14159274f},
        {0xE, 8, 0x4000000000000000, 2.0f},
        {8, 1, 0xFF, 255.0f},
    };
    const uint32_t shape[2] = {1, 1};
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        bytes b = {.size = 0};
        fmt_table t;
        add_idx(&b, cases[i].type, 2, shape);
        add_be(&b, cases[i].bits, cases[i].size);
        read_ok(&b, "array", NULL, &t);
        assert_true(t.rows == 1 && t.dim == 1 && t.height == 0);
        assert_true(t.data[0] == cases[i].value);
        fmt_table_free(&t);
    }
}

static void idx_faults_have_their_sentences(void **state)
{
    const uint32_t huge[3] = {60000, 28, 28}, vast[4] = {~0u, ~0u, ~0u, ~0u};
    bytes b = {.size = 0}, z = {.size = 0}, c = {.size = 0}, n = {.size = 0};
    fmt_options o = fmt_options_default();
    (void)state;
    add_idx(&b, 8, 3, huge);
    read_fails(&b, "x.idx", NULL, BPCN_FORMAT, "x.idx: header says 47040000 bytes of data but the file has 0");
    gzip(&b, &z);
    char sentence[200];
    snprintf(sentence, sizeof sentence, "x.gz: promises 47040016 bytes, more than its %zu compressed bytes can hold",
             z.size);
    read_fails(&z, "x.gz", NULL, BPCN_FORMAT, sentence);
    o.max_values = 100;
    read_fails(&z, "x.gz", &o, BPCN_REFUSED, "x.gz: unpacks to 47040016 bytes, more than the limit of 100 values");
    b.data[7] = 1; /* one picture of 28 rows of 2: within the ratio, not there */
    memcpy(b.data + 4, "\0\0\0\1\0\0\0\34\0\0\0\2", 12);
    gzip(&b, &z);
    read_fails(&z, "x.gz", NULL, BPCN_FORMAT,
               "x.gz: its compressed data is damaged, or is not the 72 bytes promised");
    add_idx(&c, 8, 4, vast);
    read_fails(&c, "x.idx", NULL, BPCN_FORMAT, "x.idx: is not an IDX file, or is cut short in its header");
    add_text(&n, "hello");
    gzip(&n, &z);
    read_fails(&z, "x.gz", NULL, BPCN_FORMAT, "x.gz: is gzipped, but is not an IDX file inside");
}

static void cifar_records_are_labels_and_planes(void **state)
{
    bytes b = {.size = 0};
    fmt_options o = fmt_options_default();
    fmt_table t;
    (void)state;
    add_cifar(&b, 6);
    add_cifar(&b, 9);
    o.first_row = 1;
    read_ok(&b, "data_batch_1.bin", &o, &t);
    assert_true(t.rows == 1 && t.dim == 3072 && t.channels == 3 && t.height == 32);
    assert_int_equal(t.labels[0], 9);
    for (unsigned i = 0; i < 3072; i++)
        assert_true(t.data[i] == pixel((i * 7 + 9) % 256));
    fmt_table_free(&t);
}

static void cifar_faults_have_their_sentences(void **state)
{
    bytes b = {.size = 0};
    (void)state;
    add_cifar(&b, 10);
    read_fails(&b, "x.bin", NULL, BPCN_FORMAT, "x.bin: record 0 has label 10, so this is not CIFAR-10");
    b.size--;
    read_fails(&b, "x.bin", NULL, BPCN_FORMAT,
               "x.bin: has 3072 bytes, which is not a whole number of 3073-byte CIFAR-10 records");
}

/* ---- CSV and raw ---- */

static void csv_written_by_us_reads_back_bit_for_bit(void **state)
{
    char path[256];
    fmt_table table = odd_table(), back;
    path_in(state, "odd.csv", path);
    expect_ok(fmt_write(path, FMT_ANY, &table));
    expect_ok(fmt_read(path, NULL, &back));
    assert_true(back.rows == 2 && back.dim == 3);
    same_bits(back.data, odd_floats, 6);
    fmt_table_free(&back);
}

static void csv_of_every_dialect_reads_alike(void **state)
{
    static const char *const texts[] = {
        "1,2.5\n-3,4e1\n",
        "1;2.5\n-3;4e1",
        "1\t2.5\r\n-3\t4e1\r\n",
        "  1   2.5 \n\n -3 40  \n",
        "a,b\n1,2.5\n-3,4e1\n",
        "\xEF\xBB\xBFx y\n1, 2.5\n\n-3 , 4e1\n\n",
        "# made by hand\n1 2.5\n-3 40\n",
        "+1,2.50\n-3.,40\n",
    };
    (void)state;
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        bytes b = {.size = 0};
        fmt_table t;
        add_text(&b, texts[i]);
        read_ok(&b, "x.csv", NULL, &t);
        assert_true(t.rows == 2 && t.dim == 2);
        assert_true(t.data[0] == 1.0f && t.data[1] == 2.5f);
        assert_true(t.data[2] == -3.0f && t.data[3] == 40.0f);
        fmt_table_free(&t);
    }
}

static void csv_rows_and_lines_can_be_passed_over(void **state)
{
    bytes b = {.size = 0};
    fmt_options o = fmt_options_default();
    fmt_table t;
    (void)state;
    add_text(&b, "0,1\n5,6\n7,8\n9,10\n");
    o.skip_lines = 1; /* numbered columns, as pandas writes them */
    o.first_row = 1;
    o.max_rows = 1;
    read_ok(&b, "x.csv", &o, &t);
    assert_true(t.rows == 1 && t.data[0] == 7.0f && t.data[1] == 8.0f);
    fmt_table_free(&t);
    o.first_row = 4;
    read_fails(&b, "x.csv", &o, BPCN_INVALID, "x.csv: has 3 rows, none from row 4 on");
}

/* A locale with a decimal comma, made in our own folder. */
static bool use_decimal_comma(void **state)
{
    char command[400];
    snprintf(command, sizeof command, "localedef -i de_DE -f UTF-8 %s/de_DE.UTF-8 >/dev/null 2>&1", folder_of(state));
    if (system(command) != 0)
        return false;
    setenv("LOCPATH", folder_of(state), 1);
    return setlocale(LC_ALL, "de_DE.UTF-8") != NULL;
}

static void csv_does_not_heed_the_locale(void **state)
{
    char text[16];
    if (!use_decimal_comma(state)) {
        print_message("skipped: localedef cannot make a locale with a decimal comma\n");
        skip();
    }
    snprintf(text, sizeof text, "%.1f", 0.5);
    assert_string_equal(text, "0,5");
    csv_written_by_us_reads_back_bit_for_bit(state);
    setlocale(LC_ALL, "C");
    unsetenv("LOCPATH");
}

static void csv_faults_have_their_sentences(void **state)
{
    static const struct {
        const char *text;
        bpcn_status status;
        const char *sentence;
    } cases[] = {
        {"\n \n", BPCN_FORMAT, "x.csv: has no rows of numbers"},
        {"a,b\n", BPCN_FORMAT,
         "x.csv: line 1 begins with 'a', not a number, so that it is a header, and no row follows"},
        {"\"1,2,3\"\n", BPCN_FORMAT,
         "x.csv: line 1 begins with '1,2,3', not a number, so that it is a header, and no row follows"},
        {"1,b\n", BPCN_FORMAT, "x.csv: line 1, column 2 is 'b', not a plain number"},
        {"a,b\n1,2\n\n3,0x10\n", BPCN_FORMAT, "x.csv: line 4, column 2 is '0x10', not a plain number"},
        {"1,2\n3,\"4\"5\n", BPCN_FORMAT, "x.csv: line 2, column 2: something follows the closing quote"},
        {"1,2\n3,\a\n", BPCN_FORMAT, "x.csv: line 2, column 2 is '?', not a plain number"},
        {"1,2\n3,,4\n", BPCN_FORMAT, "x.csv: line 2, column 2 is empty"},
        {"1,2\n3,\n", BPCN_FORMAT, "x.csv: line 2, column 2 is empty"},
        {"1,2\n\n3\n", BPCN_FORMAT, "x.csv: line 3 has 1 values, but line 1 has 2"},
        {"1,2\n3,4,5\n", BPCN_FORMAT, "x.csv: line 2 has 3 values, but line 1 has 2"},
        {"1,nan\n", BPCN_INVALID, "x.csv: line 1, column 2 is not a number (nan)"},
        {"1,-inf\n", BPCN_INVALID, "x.csv: line 1, column 2 is infinite, or too large for float32"},
        {"1,1e99\n", BPCN_INVALID, "x.csv: line 1, column 2 is infinite, or too large for float32"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
        text_fails(cases[i].text, "x.csv", cases[i].status, cases[i].sentence);
}

static void raw_floats_pass_through_a_stream_in_batches(void **state)
{
    fmt_options o = fmt_options_default();
    fmt_table t;
    FILE *pipe = tmpfile();
    (void)state;
    assert_non_null(pipe);
    expect_ok(fmt_write_stream(pipe, "pipe", FMT_RAW, &(fmt_table){.rows = 3, .dim = 2, .data = (float *)odd_floats}));
    rewind(pipe);
    o.kind = FMT_RAW;
    o.dim = 2;
    o.max_rows = 2;
    expect_ok(fmt_read_stream(pipe, "pipe", &o, &t));
    assert_true(t.rows == 2 && t.dim == 2);
    same_bits(t.data, odd_floats, 4);
    fmt_table_free(&t);
    expect_ok(fmt_read_stream(pipe, "pipe", &o, &t));
    assert_int_equal(t.rows, 1);
    same_bits(t.data, odd_floats + 4, 2);
    fmt_table_free(&t);
    expect_ok(fmt_read_stream(pipe, "pipe", &o, &t));
    assert_int_equal(t.rows, 0);
    fmt_table_free(&t);
    rewind(pipe);
    o.max_rows = 0;
    o.first_row = 1;
    expect_ok(fmt_read_stream(pipe, "pipe", &o, &t));
    assert_int_equal(t.rows, 2);
    same_bits(t.data, odd_floats + 2, 4);
    fmt_table_free(&t);
    fclose(pipe);
}

static void raw_faults_have_their_sentences(void **state)
{
    bytes b = {.size = 20};
    fmt_options o = fmt_options_default();
    fmt_table t;
    (void)state;
    read_fails(&b, "x.raw", &o, BPCN_INVALID,
               "x.raw: raw floats can only be read when the number of values per row is given");
    o.dim = 2;
    read_fails(&b, "x.raw", &o, BPCN_FORMAT,
               "x.raw: has 20 bytes, which is not a whole number of rows of 2 float32 values (8 bytes each)");
    FILE *pipe = tmpfile();
    assert_non_null(pipe);
    assert_int_equal(fwrite(b.data, 1, b.size, pipe), b.size);
    o.kind = FMT_RAW;
    o.max_rows = 9;
    rewind(pipe);
    assert_int_equal(fmt_read_stream(pipe, "pipe", &o, &t), BPCN_FORMAT);
    assert_string_equal(bpcn_error(),
                        "pipe: has 20 bytes, which is not a whole number of rows of 2 float32 values (8 bytes each)");
    rewind(pipe);
    o.first_row = 3;
    assert_int_equal(fmt_read_stream(pipe, "pipe", &o, &t), BPCN_INVALID);
    assert_string_equal(bpcn_error(), "pipe: has 2 rows, none from row 3 on");
    o.first_row = 0;
    o.max_values = 17;
    assert_int_equal(fmt_read_stream(pipe, "pipe", &o, &t), BPCN_REFUSED);
    assert_string_equal(bpcn_error(), "pipe: a batch of 9 rows of 2 values is more than the limit of 17 values");
    fclose(pipe);
}

/* ---- NumPy's word against ours ---- */

static const char *const numpy_script =
    "import sys, os, numpy as np\n"
    "d = sys.argv[1] + '/'\n"
    "a = np.arange(24).reshape(2, 3, 4) / 7 - 1\n"
    "kinds = ['<f4', '>f4', '<f8', '>f8', '<f2', '>f2']\n"
    "for k in kinds:\n"
    "    for order in 'CF':\n"
    "        np.save(d + 'np' + k.replace('<', 'l').replace('>', 'b') + order + '.npy',\n"
    "                np.array(a.astype(k), order=order))\n"
    "np.savez(d + 'np_stored.npz', a=a, b=a.T)\n"
    "np.savez_compressed(d + 'np_packed.npz', a=a, b=a.T)\n"
    "np.savetxt(d + 'np.csv', a.reshape(2, 12), delimiter=',')\n"
    "np.savetxt(d + 'np.txt', a.reshape(2, 12))\n"
    "odd = np.array([0.1, -1/3, 3.4e38, 1.4e-45, -0.0, 16777217], 'f4').reshape(2, 3)\n"
    "same = lambda x: x.dtype == np.float32 and x.shape == (2, 3) and x.tobytes() == odd.tobytes()\n"
    "assert same(np.load(d + 'ours.npy'))\n"
    "for name in ['ours_stored.npz', 'ours_packed.npz']:\n"
    "    z = np.load(d + name)\n"
    "    assert z.files == ['odd', 'd', 'bytes'], z.files\n"
    "    assert same(z['odd']) and z['d'][0] == 1e300 and np.isnan(z['d'][1])\n"
    "    assert z['bytes'].dtype == np.uint8 and z['bytes'].tolist() == [[1, 2], [3, 4]]\n"
    "assert same(np.loadtxt(d + 'ours.csv', delimiter=',', dtype='f4'))\n"
    "assert same(np.fromfile(d + 'ours.raw', '<f4').reshape(2, 3))\n";

static void check_numpy_file(void **state, const char *name, const char *member, double tolerance)
{
    char path[256];
    fmt_options o = fmt_options_default();
    fmt_table t;
    path_in(state, name, path);
    o.member = member;
    expect_ok(fmt_read(path, &o, &t));
    assert_true(t.rows == 2 && t.dim == 12);
    for (size_t i = 0; i < 24; i++)
        assert_true(fabs((double)t.data[i] - ((double)i / 7 - 1)) < tolerance);
    fmt_table_free(&t);
}

static void numpy_reads_ours_and_we_read_numpys(void **state)
{
    static const char *const outs[] = {"ours.npy", "ours.csv", "ours.raw"};
    fmt_table odd = odd_table();
    fmt_array b;
    char path[256], command[600];
    if (system("/usr/bin/python3 -c 'import numpy' 2>/dev/null") != 0) {
        print_message("skipped: /usr/bin/python3 has no numpy here\n");
        skip();
    }
    for (size_t i = 0; i < 3; i++) {
        path_in(state, outs[i], path);
        expect_ok(fmt_write(path, FMT_ANY, &odd));
    }
    write_sample_npz(state, "ours_stored.npz", false);
    write_sample_npz(state, "ours_packed.npz", true);
    store(state, "check.py", numpy_script, strlen(numpy_script));
    snprintf(command, sizeof command, "/usr/bin/python3 %s/check.py %s", folder_of(state), folder_of(state));
    assert_int_equal(system(command), 0);
    for (int i = 0; i < 12; i++) {
        char name[32];
        snprintf(name, sizeof name, "np%cf%d%c.npy", i % 2 ? 'l' : 'b', 2 << i / 4, i % 4 < 2 ? 'C' : 'F');
        check_numpy_file(state, name, NULL, i < 4 ? 2e-3 : 2e-7); /* half or float32 rounding of 2.3 */
    }
    check_numpy_file(state, "np.csv", NULL, 2e-7);
    check_numpy_file(state, "np.txt", NULL, 2e-7);
    check_numpy_file(state, "np_stored.npz", "a", 2e-7);
    check_numpy_file(state, "np_packed.npz", "a", 2e-7);
    path_in(state, "np_packed.npz", path);
    expect_ok(fmt_npz_read_f64(path, "b", &b)); /* a.T: saved in Fortran order */
    assert_true(b.ndim == 3 && b.shape[0] == 4 && b.shape[2] == 2);
    assert_true(b.data[1] == 12 / 7.0 - 1 && b.data[23] == 23 / 7.0 - 1);
    fmt_array_free(&b);
}

int main(void)
{
    const struct CMUnitTest laws[] = {
        LAW(idx_images_are_pixels_gzipped_or_not),
        LAW(idx_labels_are_labels_and_rows_of_one_value),
        LAW(idx_of_other_types_are_arrays),
        LAW(idx_faults_have_their_sentences),
        LAW(cifar_records_are_labels_and_planes),
        LAW(cifar_faults_have_their_sentences),
        LAW(csv_written_by_us_reads_back_bit_for_bit),
        LAW(csv_of_every_dialect_reads_alike),
        LAW(csv_rows_and_lines_can_be_passed_over),
        LAW(csv_does_not_heed_the_locale),
        LAW(csv_faults_have_their_sentences),
        LAW(raw_floats_pass_through_a_stream_in_batches),
        LAW(raw_faults_have_their_sentences),
        LAW(numpy_reads_ours_and_we_read_numpys),
    };
    return cmocka_run_group_tests(laws, make_test_folder, remove_test_folder);
}
