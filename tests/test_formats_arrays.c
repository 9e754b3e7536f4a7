/*
 * Arrays, .npy and .npz: what is written reads back bit for bit, every type, byte order, order of axes
 * and spelling of the header means the same numbers, and every fault has its sentence.
 */
#include "formats_support.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* ---- .npy ---- */

static void add_npy(bytes *b, int version, const char *header)
{
    uint8_t v[2] = {(uint8_t)version, 0};
    add(b, "\x93NUMPY", 6);
    add(b, v, 2);
    add_le(b, strlen(header), version == 1 ? 2 : 4);
    add_text(b, header);
}

static void npy_written_by_us_reads_back_bit_for_bit(void **state)
{
    char path[256];
    fmt_table table = odd_table(), back;
    path_in(state, "odd.npy", path);
    expect_ok(fmt_write(path, FMT_ANY, &table));
    expect_ok(fmt_read(path, NULL, &back));
    assert_int_equal(back.rows, 2);
    assert_int_equal(back.dim, 3);
    assert_int_equal(back.height, 0);
    same_bits(back.data, odd_floats, 6);
    fmt_table_free(&back);
}

static void doubles_of_any_shape_read_back_bit_for_bit(void **state)
{
    const double values[24] = {0.1, NAN, INFINITY, -5e-324, 1e300};
    const fmt_member shapes[] = {
        {NULL, FMT_F64, 0, {0}, values},
        {NULL, FMT_F64, 1, {24}, values},
        {NULL, FMT_F64, 2, {4, 6}, values},
        {NULL, FMT_F64, 3, {2, 3, 4}, values},
        {NULL, FMT_F64, 2, {0, 5}, values},
        {NULL, FMT_F64, 1, {1}, values},
        {NULL, FMT_F64, 8, {1, 2, 1, 3, 1, 4, 1, 1}, values},
    };
    char path[256];
    path_in(state, "double.npy", path);
    for (size_t i = 0; i < sizeof shapes / sizeof shapes[0]; i++) {
        fmt_array a;
        expect_ok(fmt_write_npy(path, &shapes[i]));
        expect_ok(fmt_npy_read_f64(path, &a));
        assert_int_equal(a.ndim, shapes[i].ndim);
        size_t count = 1;
        for (size_t k = 0; k < a.ndim; k++) {
            assert_int_equal(a.shape[k], shapes[i].shape[k]);
            count *= a.shape[k];
        }
        assert_int_equal(a.count, count);
        assert_memory_equal(a.data, values, count * sizeof(double));
        fmt_array_free(&a);
    }
}

typedef struct type_case {
    const char *descr;
    size_t size;
    uint64_t bits[2];
    double value[2];
} type_case;

static void npy_of_every_type_and_byte_order_reads_the_same_numbers(void **state)
{
    static const type_case cases[] = {
        {"f8", 8, {0x3FF8000000000000, 0xC000000000000000}, {1.5, -2.0}},
        {"f4", 4, {0x3FC00000, 0xC0000000}, {1.5, -2.0}},
        {"f2", 2, {0x3E00, 0x8001}, {1.5, -5.9604644775390625e-8}},
        {"u1", 1, {0, 255}, {0, 255}},
        {"i1", 1, {127, 128}, {127, -128}},
        {"b1", 1, {0, 1}, {0, 1}},
        {"u2", 2, {1, 65535}, {1, 65535}},
        {"i2", 2, {1, 0x8000}, {1, -32768}},
        {"u4", 4, {1, 0xFFFFFFFF}, {1, 4294967295.0}},
        {"i4", 4, {1, 0x80000000}, {1, -2147483648.0}},
        {"u8", 8, {1, 0xFFFFFFFFFFFFFFFF}, {1, 18446744073709551616.0}},
        {"i8", 8, {1, 0x8000000000000000}, {1, -9223372036854775808.0}},
    };
    (void)state;
    for (size_t i = 0; i < 2 * sizeof cases / sizeof cases[0]; i++) {
        const type_case *c = &cases[i / 2];
        bytes b = {.size = 0};
        char header[100];
        fmt_array a;
        fmt_table t;
        snprintf(header, sizeof header, "{'descr': '%c%s', 'fortran_order': False, 'shape': (2, 1), }\n",
                 i % 2 ? '>' : '<', c->descr);
        add_npy(&b, 1, header);
        for (size_t k = 0; k < 2; k++)
            i % 2 ? add_be(&b, c->bits[k], c->size) : add_le(&b, c->bits[k], c->size);
        expect_ok(fmt_npy_parse_f64(b.data, b.size, "x.npy", &a));
        assert_true(a.data[0] == c->value[0] && a.data[1] == c->value[1]);
        read_ok(&b, "x.npy", NULL, &t);
        assert_true(t.rows == 2 && t.dim == 1 && t.data[1] == (float)c->value[1]);
        fmt_array_free(&a);
        fmt_table_free(&t);
    }
}

static void half_floats_have_their_infinities_and_nans(void **state)
{
    bytes b = {.size = 0};
    fmt_array a;
    (void)state;
    add_npy(&b, 1, "{'descr': '<f2', 'fortran_order': False, 'shape': (3,), }\n");
    add_le(&b, 0x7C00, 2);
    add_le(&b, 0xFC00, 2);
    add_le(&b, 0x7E00, 2);
    expect_ok(fmt_npy_parse_f64(b.data, b.size, "x.npy", &a));
    assert_true(a.data[0] == INFINITY && a.data[1] == -INFINITY && isnan(a.data[2]));
    fmt_array_free(&a);
}

static void npy_in_fortran_order_reads_like_c_order(void **state)
{
    bytes b = {.size = 0};
    fmt_options o = fmt_options_default();
    fmt_table t;
    (void)state;
    /* value at (i, j, k) of shape (3, 2, 4) is 100 i + 10 j + k */
    add_npy(&b, 1, "{'descr': '|u1', 'fortran_order': True, 'shape': (3, 2, 4), }\n");
    for (uint64_t k = 0; k < 4; k++)
        for (uint64_t j = 0; j < 2; j++)
            for (uint64_t i = 0; i < 3; i++)
                add_le(&b, 100 * i / 2 + 10 * j + k, 1);
    for (size_t first = 0; first <= 3; first++) {
        o.first_row = first;
        read_ok(&b, "x.npy", &o, &t);
        assert_true(t.rows == 3 - first && t.dim == 8);
        for (size_t i = 0; i < t.rows * 8; i++)
            assert_true(t.data[i] == (float)(50 * (i / 8 + first) + 10 * (i / 4 % 2) + i % 4));
        fmt_table_free(&t);
    }
}

static void npy_headers_of_all_versions_and_spellings_read_alike(void **state)
{
    static const char *const headers[] = {
        "{'descr': '<f4', 'fortran_order': False, 'shape': (1, 2), }          \n",
        "{\"shape\":(1,2),\"fortran_order\":False,\"descr\":\"<f4\"}",
        "  { 'fortran_order' : False , 'shape' : ( 1L , 2L , ) , 'descr' : '<f4' } ",
    };
    (void)state;
    for (int version = 1; version <= 3; version++) {
        for (size_t i = 0; i < 3; i++) {
            bytes b = {.size = 0};
            fmt_table t;
            add_npy(&b, version, headers[i]);
            add_le(&b, 0x3F800000, 4);
            add_le(&b, 0x40000000, 4);
            read_ok(&b, "x.npy", NULL, &t);
            assert_true(t.rows == 1 && t.dim == 2 && t.data[1] == 2.0f);
            fmt_table_free(&t);
        }
    }
}

static void npy_of_few_axes_is_one_row(void **state)
{
    bytes one = {.size = 0}, none = {.size = 0};
    fmt_table t;
    (void)state;
    add_npy(&one, 1, "{'descr': '|u1', 'fortran_order': False, 'shape': (3,), }\n");
    add(&one, "\1\2\3", 3);
    read_ok(&one, "x.npy", NULL, &t);
    assert_true(t.rows == 1 && t.dim == 3 && t.data[2] == 3.0f);
    fmt_table_free(&t);
    add_npy(&none, 1, "{'descr': '|u1', 'fortran_order': False, 'shape': (), }\n");
    add(&none, "\7", 1);
    read_ok(&none, "x.npy", NULL, &t);
    assert_true(t.rows == 1 && t.dim == 1 && t.data[0] == 7.0f);
    fmt_table_free(&t);
}

static void bytes_are_pixels_only_when_asked(void **state)
{
    bytes b = {.size = 0};
    fmt_options o = fmt_options_default();
    fmt_table t;
    (void)state;
    add_npy(&b, 1, "{'descr': '|u1', 'fortran_order': False, 'shape': (1, 3), }\n");
    add(&b, "\0\200\377", 3);
    read_ok(&b, "x.npy", &o, &t);
    assert_true(t.data[0] == 0.0f && t.data[1] == 128.0f && t.data[2] == 255.0f);
    fmt_table_free(&t);
    o.scale_bytes = true;
    read_ok(&b, "x.npy", &o, &t);
    assert_true(t.data[0] == -1.0f && t.data[1] == pixel(128) && t.data[2] == 1.0f);
    fmt_table_free(&t);
}

static void npy_faults_have_their_sentences(void **state)
{
    static const struct {
        int version;
        const char *header;
        size_t data;
        bpcn_status status;
        const char *sentence;
    } cases[] = {
        {4, "{}", 0, BPCN_FORMAT, "x.npy: is .npy version 4; versions 1 to 3 are read"},
        {1, "", 0, BPCN_FORMAT, "x.npy: its .npy header is not a dictionary"},
        {1, "{", 0, BPCN_FORMAT, "x.npy: its .npy header is not a dictionary"},
        {1, "{}", 0, BPCN_FORMAT, "x.npy: its .npy header lacks descr, fortran_order or shape"},
        {1, "{}x", 0, BPCN_FORMAT, "x.npy: its .npy header has something after its dictionary"},
        {1, "{'descr': '<f4'", 0, BPCN_FORMAT, "x.npy: its .npy header does not end"},
        {1, "{'descr': 4}", 0, BPCN_FORMAT, "x.npy: its .npy header has no type"},
        {1, "{'descr': '|O'}", 0, BPCN_FORMAT, "x.npy: holds Python objects, which are not read"},
        {1, "{'descr': '<c8'}", 0, BPCN_FORMAT,
         "x.npy: holds values of type '<c8'; floats, integers and bool are read"},
        {1, "{'descr': [('a', '<f4')]}", 0, BPCN_FORMAT,
         "x.npy: holds records with named fields, which are not read"},
        {1, "{'colour': 1}", 0, BPCN_FORMAT, "x.npy: its .npy header has an unknown key 'colour'"},
        {1, "{'fortran_order': 0}", 0, BPCN_FORMAT,
         "x.npy: its .npy header has a fortran_order that is neither True nor False"},
        {1, "{'shape': 3}", 0, BPCN_FORMAT, "x.npy: its .npy header has no shape in brackets"},
        {1, "{'shape': (-3,)}", 0, BPCN_FORMAT, "x.npy: its .npy header has a shape that is not whole numbers"},
        {1, "{'shape': (99999999999999999999,)}", 0, BPCN_FORMAT,
         "x.npy: its .npy header has a shape that is not whole numbers"},
        {1, "{'shape': (3 4)}", 0, BPCN_FORMAT, "x.npy: its .npy header has a shape that does not end"},
        {1, "{'shape': (1,1,1,1,1,1,1,1,1)}", 0, BPCN_FORMAT, "x.npy: has more than 8 axes"},
        {1, "{'descr': '<f4', 'fortran_order': False, 'shape': (1000, 1000)}", 120, BPCN_FORMAT,
         "x.npy: header says 4000000 bytes of data but the file has 120"},
        {1, "{'descr': '<f4', 'fortran_order': False, 'shape': (1, 1)}", 5, BPCN_FORMAT,
         "x.npy: header says 4 bytes of data but the file has 5"},
        {1, "{'descr': '<f8', 'fortran_order': False, 'shape': (4294967296, 4294967296)}", 0, BPCN_FORMAT,
         "x.npy: its .npy header has a shape too large for any file"},
        {1, "{'descr': '<f4', 'fortran_order': False, 'shape': (3, 0)}", 0, BPCN_FORMAT,
         "x.npy: its rows have no values"},
        {1, "{'descr': '<f4', 'fortran_order': False, 'shape': (0, 4294967295, 4294967295, 4294967295)}", 0,
         BPCN_REFUSED, "x.npy: its rows are too long"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        bytes b = {.size = 0};
        add_npy(&b, cases[i].version, cases[i].header);
        b.size += cases[i].data;
        read_fails(&b, "x.npy", NULL, cases[i].status, cases[i].sentence);
    }
    text_fails("\x93NUMPY", "x.npy", BPCN_FORMAT, "x.npy: is not an .npy file, or is cut short");
    text_fails("\x93NUMPY\1\1zzzz", "x.npy", BPCN_FORMAT,
               "x.npy: its header should be 31354 bytes, but only 2 follow");
    text_fails("\x93NUMPY\2\1zzz", "x.npy", BPCN_FORMAT, "x.npy: its .npy header is cut short");
}

static void values_that_are_not_finite_are_refused_by_place(void **state)
{
    static const struct {
        uint64_t bits;
        const char *what;
    } cases[] = {
        {0x7FF8000000000000, "is not a number"},
        {0xFFF0000000000000, "is infinite, or too large for float32"},
        {0x7FE0000000000000, "is infinite, or too large for float32"}, /* 8.9e307 */
    };
    (void)state;
    for (size_t i = 0; i < 3; i++) {
        bytes b = {.size = 0};
        fmt_options o = fmt_options_default();
        fmt_table t;
        char sentence[100];
        add_npy(&b, 1, "{'descr': '<f8', 'fortran_order': False, 'shape': (4, 2), }\n");
        for (size_t k = 0; k < 8; k++)
            add_le(&b, k == 7 ? cases[i].bits : 0, 8);
        snprintf(sentence, sizeof sentence, "x.npy: row 3, column 1 %s", cases[i].what);
        read_fails(&b, "x.npy", &o, BPCN_INVALID, sentence);
        o.first_row = 2;
        read_fails(&b, "x.npy", &o, BPCN_INVALID, sentence);
        o.max_rows = 1; /* the bad row is not taken */
        read_ok(&b, "x.npy", &o, &t);
        fmt_table_free(&t);
        o.max_rows = 0;
        o.allow_nonfinite = true;
        read_ok(&b, "x.npy", &o, &t);
        assert_true(!isfinite(t.data[3]));
        fmt_table_free(&t);
    }
}

static void rows_beyond_the_file_are_refused(void **state)
{
    bytes b = {.size = 0};
    fmt_options o = fmt_options_default();
    fmt_table t;
    (void)state;
    add_npy(&b, 1, "{'descr': '|u1', 'fortran_order': False, 'shape': (2, 1), }\n");
    add(&b, "\1\2", 2);
    o.first_row = 2;
    read_ok(&b, "x.npy", &o, &t);
    assert_int_equal(t.rows, 0);
    fmt_table_free(&t);
    o.first_row = 3;
    read_fails(&b, "x.npy", &o, BPCN_INVALID, "x.npy: has 2 rows, none from row 3 on");
}

static void wanted_dim_and_shape_are_checked_and_claimed(void **state)
{
    bytes b = {.size = 0};
    fmt_options o = fmt_options_default();
    fmt_table t;
    (void)state;
    add_npy(&b, 1, "{'descr': '|u1', 'fortran_order': False, 'shape': (1, 12), }\n");
    add(&b, "abcdefghijkl", 12);
    o.dim = 13;
    read_fails(&b, "x.npy", &o, BPCN_INVALID, "x.npy: its rows have 12 values, but 13 are wanted");
    o.dim = 12;
    o.height = o.width = 2;
    o.channels = 3;
    read_ok(&b, "x.npy", &o, &t);
    assert_true(t.height == 2 && t.width == 2 && t.channels == 3);
    fmt_table_free(&t);
    o.width = 3;
    read_fails(&b, "x.npy", &o, BPCN_INVALID, "x.npy: its rows have 12 values, which is not 3x2 pixels of 3 channels");
    o = fmt_options_default();
    o.max_values = 11;
    read_fails(&b, "x.npy", &o, BPCN_REFUSED, "x.npy: 1 rows of 12 values are more than the limit of 11 values");
}

/* ---- .npz ---- */

static void npz_written_by_us_reads_back_by_name(void **state)
{
    for (int deflated = 0; deflated < 2; deflated++) {
        char path[256];
        fmt_names names;
        fmt_array a;
        fmt_table t;
        fmt_options o = fmt_options_default();
        write_sample_npz(state, "three.npz", deflated != 0);
        path_in(state, "three.npz", path);
        expect_ok(fmt_npz_list(path, &names));
        assert_int_equal(names.count, 3);
        assert_string_equal(names.name[0], "odd");
        assert_string_equal(names.name[2], "bytes");
        fmt_names_free(&names);
        expect_ok(fmt_npz_read_f64(path, "d", &a));
        assert_true(a.ndim == 1 && a.data[0] == 1e300 && isnan(a.data[1]));
        fmt_array_free(&a);
        o.member = "odd.npy";
        expect_ok(fmt_read(path, &o, &t));
        assert_true(t.rows == 2 && t.dim == 3);
        same_bits(t.data, odd_floats, 6);
        fmt_table_free(&t);
    }
}

static void a_table_written_as_npz_needs_no_name_to_read(void **state)
{
    char path[256];
    fmt_table table = odd_table(), t;
    uint8_t labels[2] = {7, 8};
    fmt_array a;
    path_in(state, "table.npz", path);
    expect_ok(fmt_write(path, FMT_ANY, &table));
    expect_ok(fmt_read(path, NULL, &t));
    same_bits(t.data, odd_floats, 6);
    fmt_table_free(&t);
    table.labels = labels;
    expect_ok(fmt_write(path, FMT_ANY, &table));
    expect_ok(fmt_npz_read_f64(path, "labels", &a));
    assert_true(a.count == 2 && a.data[1] == 8.0);
    fmt_array_free(&a);
}

static void npz_faults_have_their_sentences(void **state)
{
    bytes b, c;
    fmt_options o = fmt_options_default();
    write_sample_npz(state, "faults.npz", false);
    load(state, "faults.npz", &b);
    size_t end = b.size - 22, start = b.data[end + 16] | (size_t)b.data[end + 17] << 8;
    read_fails(&b, "x.npz", NULL, BPCN_INVALID, "x.npz: holds 3 arrays (odd, d, bytes); name the one to read");
    o.member = "even";
    read_fails(&b, "x.npz", &o, BPCN_INVALID, "x.npz: holds no array 'even', only odd, d, bytes");
    o.member = "odd";
    static const struct {
        size_t at;
        bool at_end;
        uint8_t value;
        bpcn_status status;
        const char *sentence;
    } cases[] = {
        {8, false, 1, BPCN_FORMAT, "x.npz[odd.npy]: is encrypted, which is not read"},
        {10, false, 12, BPCN_FORMAT,
         "x.npz[odd.npy]: is compressed by zip method 12; stored and deflate are read"},
        {16, false, 0, BPCN_FORMAT, "x.npz[odd.npy]: has a zip member whose checksum is wrong"},
        {42, false, 1, BPCN_FORMAT, "x.npz[odd.npy]: has a zip member that is not where its directory says"},
        {0, false, 0, BPCN_FORMAT, "x.npz: has a damaged zip directory"},
        {29, false, 255, BPCN_FORMAT, "x.npz: has a damaged zip directory"},
        {0, true, 0, BPCN_FORMAT, "x.npz: is not a zip archive, or is cut short"},
        {4, true, 1, BPCN_FORMAT, "x.npz: is one part of a split zip archive"},
        {12, true, 0, BPCN_FORMAT, "x.npz: has a zip directory that is not where it should be"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        c = b;
        c.data[(cases[i].at_end ? end : start) + cases[i].at] = cases[i].value;
        read_fails(&c, "x.npz", &o, cases[i].status, cases[i].sentence);
    }
    c = b;
    memset(c.data + start + 20, 0xFF, 8);
    read_fails(&c, "x.npz", &o, BPCN_FORMAT, "x.npz: is a zip64 archive (over 4 GiB), which is not read");
    c = b;
    memset(c.data + end + 16, 0xFF, 4);
    read_fails(&c, "x.npz", &o, BPCN_FORMAT, "x.npz: is a zip64 archive (over 4 GiB), which is not read");
    o.max_values = 10;
    c = b;
    memset(c.data + start + 24, 0x7F, 4);
    read_fails(&c, "x.npz", &o, BPCN_REFUSED,
               "x.npz[odd.npy]: unpacks to 2139062143 bytes, more than the limit of 10 values");
    bytes empty = {.size = 22};
    memcpy(empty.data, "PK\5\6", 4);
    read_fails(&empty, "x.npz", NULL, BPCN_FORMAT, "x.npz: holds no arrays");
}

static void npz_that_promises_too_much_is_refused(void **state)
{
    bytes b;
    fmt_options o = fmt_options_default();
    o.member = "odd";
    write_sample_npz(state, "bomb.npz", true);
    load(state, "bomb.npz", &b);
    size_t end = b.size - 22, start = b.data[end + 16] | (size_t)b.data[end + 17] << 8;
    size_t packed = b.data[start + 20];
    char sentence[200];
    b.data[start + 24]++; /* one byte more than there is */
    snprintf(sentence, sizeof sentence,
             "x.npz[odd.npy]: its compressed data is damaged, or is not the %d bytes promised", b.data[start + 24]);
    read_fails(&b, "x.npz", &o, BPCN_FORMAT, sentence);
    memset(b.data + start + 24, 0x10, 4);
    snprintf(sentence, sizeof sentence,
             "x.npz[odd.npy]: promises 269488144 bytes, more than its %zu compressed bytes can hold", packed);
    read_fails(&b, "x.npz", &o, BPCN_FORMAT, sentence);
}

int main(void)
{
    const struct CMUnitTest laws[] = {
        LAW(npy_written_by_us_reads_back_bit_for_bit),
        LAW(doubles_of_any_shape_read_back_bit_for_bit),
        LAW(npy_of_every_type_and_byte_order_reads_the_same_numbers),
        LAW(half_floats_have_their_infinities_and_nans),
        LAW(npy_in_fortran_order_reads_like_c_order),
        LAW(npy_headers_of_all_versions_and_spellings_read_alike),
        LAW(npy_of_few_axes_is_one_row),
        LAW(bytes_are_pixels_only_when_asked),
        LAW(npy_faults_have_their_sentences),
        LAW(values_that_are_not_finite_are_refused_by_place),
        LAW(rows_beyond_the_file_are_refused),
        LAW(wanted_dim_and_shape_are_checked_and_claimed),
        LAW(npz_written_by_us_reads_back_by_name),
        LAW(a_table_written_as_npz_needs_no_name_to_read),
        LAW(npz_faults_have_their_sentences),
        LAW(npz_that_promises_too_much_is_refused),
    };
    return cmocka_run_group_tests(laws, make_test_folder, remove_test_folder);
}
