/* test_formats.c: the laws of formats/: what is written reads back, every
 * variant of a format means the same numbers, every fault has its sentence, and
 * no file, however cut or corrupted, does more than be refused. Run it under
 * ASan and UBSan too: half of its worth is there. */
#define _XOPEN_SOURCE 700
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <dirent.h>
#include <locale.h>
#include <math.h>
#include <png.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#include <stdio.h>
#include <jpeglib.h>

#include "../formats/formats.h"

/* ---- A folder of our own, and bytes built by hand ---- */

static char *folder_of(void **state) { return *state; }

static void path_in(void **state, const char *name, char out[256])
{
    snprintf(out, 256, "%s/%s", folder_of(state), name);
}

static int make_folder(void **state)
{
    char *name = strdup("/tmp/test_formats.XXXXXX");
    if (name == NULL || mkdtemp(name) == NULL)
        return -1;
    *state = name;
    return 0;
}

static void remove_all(const char *path)
{
    DIR *folder = opendir(path);
    struct dirent *entry;
    while (folder != NULL && (entry = readdir(folder)) != NULL) {
        char inside[600];
        struct stat info;
        if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0)
            continue;
        snprintf(inside, sizeof inside, "%s/%s", path, entry->d_name);
        if (lstat(inside, &info) == 0 && S_ISDIR(info.st_mode))
            remove_all(inside);
        unlink(inside);
    }
    if (folder != NULL)
        closedir(folder);
    rmdir(path);
}

static int remove_folder(void **state)
{
    remove_all(*state);
    free(*state);
    return 0;
}

static size_t files_in(const char *path)
{
    DIR *folder = opendir(path);
    size_t count = 0;
    assert_non_null(folder);
    while (readdir(folder) != NULL)
        count++;
    closedir(folder);
    return count - 2; /* . and .. */
}

typedef struct bytes {
    uint8_t data[8192];
    size_t size;
} bytes;

static void add(bytes *b, const void *data, size_t size)
{
    assert_true(b->size + size <= sizeof b->data);
    memcpy(b->data + b->size, data, size);
    b->size += size;
}

static void add_text(bytes *b, const char *text) { add(b, text, strlen(text)); }

static void add_le(bytes *b, uint64_t value, size_t size)
{
    for (size_t i = 0; i < size; i++) {
        uint8_t byte = (uint8_t)(value >> 8 * i & 255);
        add(b, &byte, 1);
    }
}

static void add_be(bytes *b, uint64_t value, size_t size)
{
    for (size_t i = size; i-- > 0;) {
        uint8_t byte = (uint8_t)(value >> 8 * i & 255);
        add(b, &byte, 1);
    }
}

static void add_npy(bytes *b, int version, const char *header)
{
    uint8_t v[2] = {(uint8_t)version, 0};
    add(b, "\x93NUMPY", 6);
    add(b, v, 2);
    add_le(b, strlen(header), version == 1 ? 2 : 4);
    add_text(b, header);
}

static void load(void **state, const char *name, bytes *b)
{
    char path[256];
    path_in(state, name, path);
    FILE *file = fopen(path, "rb");
    assert_non_null(file);
    b->size = fread(b->data, 1, sizeof b->data, file);
    fclose(file);
}

static void store(void **state, const char *name, const void *data, size_t size)
{
    char path[256];
    path_in(state, name, path);
    FILE *file = fopen(path, "wb");
    assert_non_null(file);
    assert_int_equal(fwrite(data, 1, size, file), size);
    fclose(file);
}

static void expect_ok(fmt_status status, const fmt_error *error)
{
    if (status != FMT_OK)
        fail_msg("%s", error->message);
}

static void read_ok(const bytes *b, const char *name, const fmt_options *o,
                    fmt_table *t)
{
    fmt_error e = {""};
    expect_ok(fmt_read_memory(b->data, b->size, name, o, t, &e), &e);
}

/* The status and the whole sentence; and nothing left in the table. */
static void read_fails(const bytes *b, const char *name, const fmt_options *o,
                       fmt_status status, const char *sentence)
{
    fmt_table t;
    fmt_error e = {""};
    fmt_status got = fmt_read_memory(b->data, b->size, name, o, &t, &e);
    assert_string_equal(e.message, sentence);
    assert_int_equal(got, status);
    assert_null(t.data);
    assert_null(t.labels);
    assert_int_equal(fmt_read_memory(b->data, b->size, name, o, &t, NULL), status);
}

static void text_fails(const char *text, const char *name, fmt_status status,
                       const char *sentence)
{
    bytes b = {.size = 0};
    add_text(&b, text);
    read_fails(&b, name, NULL, status, sentence);
}

static float pixel(unsigned v) { return (float)(2.0 * v / 255.0 - 1.0); }

/* Floats that are hard to print, and hard to copy wrong. */
static const float odd_floats[6] = {0.1f, -1.0f / 3.0f, 3.4e38f, 1.4e-45f, -0.0f,
                                    16777217.0f};

static fmt_table odd_table(void)
{
    return (fmt_table){.rows = 2, .dim = 3, .data = (float *)odd_floats};
}

static void same_bits(const float *a, const float *b, size_t count)
{
    assert_memory_equal(a, b, count * sizeof(float));
}

/* ---- .npy ---- */

static void npy_written_by_us_reads_back_bit_for_bit(void **state)
{
    char path[256];
    fmt_table table = odd_table(), back;
    fmt_error e;
    path_in(state, "odd.npy", path);
    expect_ok(fmt_write(path, FMT_ANY, &table, &e), &e);
    expect_ok(fmt_read(path, NULL, &back, &e), &e);
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
        {NULL, FMT_F64, 0, {0}, values},       {NULL, FMT_F64, 1, {24}, values},
        {NULL, FMT_F64, 2, {4, 6}, values},    {NULL, FMT_F64, 3, {2, 3, 4}, values},
        {NULL, FMT_F64, 2, {0, 5}, values},    {NULL, FMT_F64, 1, {1}, values},
        {NULL, FMT_F64, 8, {1, 2, 1, 3, 1, 4, 1, 1}, values},
    };
    char path[256];
    fmt_error e;
    path_in(state, "double.npy", path);
    for (size_t i = 0; i < sizeof shapes / sizeof shapes[0]; i++) {
        fmt_array a;
        expect_ok(fmt_write_npy(path, &shapes[i], &e), &e);
        expect_ok(fmt_npy_read_f64(path, &a, &e), &e);
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
        fmt_error e;
        snprintf(header, sizeof header,
                 "{'descr': '%c%s', 'fortran_order': False, 'shape': (2, 1), }\n",
                 i % 2 ? '>' : '<', c->descr);
        add_npy(&b, 1, header);
        for (size_t k = 0; k < 2; k++)
            i % 2 ? add_be(&b, c->bits[k], c->size) : add_le(&b, c->bits[k], c->size);
        expect_ok(fmt_npy_parse_f64(b.data, b.size, "x.npy", &a, &e), &e);
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
    fmt_error e;
    (void)state;
    add_npy(&b, 1, "{'descr': '<f2', 'fortran_order': False, 'shape': (3,), }\n");
    add_le(&b, 0x7C00, 2);
    add_le(&b, 0xFC00, 2);
    add_le(&b, 0x7E00, 2);
    expect_ok(fmt_npy_parse_f64(b.data, b.size, "x.npy", &a, &e), &e);
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
            assert_true(t.data[i] ==
                        (float)(50 * (i / 8 + first) + 10 * (i / 4 % 2) + i % 4));
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
    static const struct { int version; const char *header; size_t data;
                          fmt_status status; const char *sentence; } cases[] = {
        {4, "{}", 0, FMT_ERR_UNSUPPORTED, "x.npy: is .npy version 4; versions 1 to 3 are read"},
        {1, "", 0, FMT_ERR_FORMAT, "x.npy: its .npy header is not a dictionary"},
        {1, "{", 0, FMT_ERR_FORMAT, "x.npy: its .npy header is not a dictionary"},
        {1, "{}", 0, FMT_ERR_FORMAT, "x.npy: its .npy header lacks descr, fortran_order or shape"},
        {1, "{}x", 0, FMT_ERR_FORMAT, "x.npy: its .npy header has something after its dictionary"},
        {1, "{'descr': '<f4'", 0, FMT_ERR_FORMAT, "x.npy: its .npy header does not end"},
        {1, "{'descr': 4}", 0, FMT_ERR_FORMAT, "x.npy: its .npy header has no type"},
        {1, "{'descr': '|O'}", 0, FMT_ERR_UNSUPPORTED, "x.npy: holds Python objects, which are not read"},
        {1, "{'descr': '<c8'}", 0, FMT_ERR_UNSUPPORTED, "x.npy: holds values of type '<c8'; floats, integers and bool are read"},
        {1, "{'descr': [('a', '<f4')]}", 0, FMT_ERR_UNSUPPORTED, "x.npy: holds records with named fields, which are not read"},
        {1, "{'colour': 1}", 0, FMT_ERR_FORMAT, "x.npy: its .npy header has an unknown key 'colour'"},
        {1, "{'fortran_order': 0}", 0, FMT_ERR_FORMAT, "x.npy: its .npy header has a fortran_order that is neither True nor False"},
        {1, "{'shape': 3}", 0, FMT_ERR_FORMAT, "x.npy: its .npy header has no shape in brackets"},
        {1, "{'shape': (-3,)}", 0, FMT_ERR_FORMAT, "x.npy: its .npy header has a shape that is not whole numbers"},
        {1, "{'shape': (99999999999999999999,)}", 0, FMT_ERR_FORMAT, "x.npy: its .npy header has a shape that is not whole numbers"},
        {1, "{'shape': (3 4)}", 0, FMT_ERR_FORMAT, "x.npy: its .npy header has a shape that does not end"},
        {1, "{'shape': (1,1,1,1,1,1,1,1,1)}", 0, FMT_ERR_UNSUPPORTED, "x.npy: has more than 8 axes"},
        {1, "{'descr': '<f4', 'fortran_order': False, 'shape': (1000, 1000)}", 120, FMT_ERR_FORMAT, "x.npy: header says 4000000 bytes of data but the file has 120"},
        {1, "{'descr': '<f4', 'fortran_order': False, 'shape': (1, 1)}", 5, FMT_ERR_FORMAT, "x.npy: header says 4 bytes of data but the file has 5"},
        {1, "{'descr': '<f8', 'fortran_order': False, 'shape': (4294967296, 4294967296)}", 0, FMT_ERR_FORMAT, "x.npy: its .npy header has a shape too large for any file"},
        {1, "{'descr': '<f4', 'fortran_order': False, 'shape': (3, 0)}", 0, FMT_ERR_FORMAT, "x.npy: its rows have no values"},
        {1, "{'descr': '<f4', 'fortran_order': False, 'shape': (0, 4294967295, 4294967295, 4294967295)}", 0, FMT_ERR_LIMIT, "x.npy: its rows are too long"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        bytes b = {.size = 0};
        add_npy(&b, cases[i].version, cases[i].header);
        b.size += cases[i].data;
        read_fails(&b, "x.npy", NULL, cases[i].status, cases[i].sentence);
    }
    text_fails("\x93NUMPY", "x.npy", FMT_ERR_FORMAT, "x.npy: is not an .npy file, or is cut short");
    text_fails("\x93NUMPY\1\1zzzz", "x.npy", FMT_ERR_FORMAT, "x.npy: its header should be 31354 bytes, but only 2 follow");
    text_fails("\x93NUMPY\2\1zzz", "x.npy", FMT_ERR_FORMAT, "x.npy: its .npy header is cut short");
}

static void values_that_are_not_finite_are_refused_by_place(void **state)
{
    static const struct { uint64_t bits; const char *what; } cases[] = {
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
        read_fails(&b, "x.npy", &o, FMT_ERR_VALUE, sentence);
        o.first_row = 2;
        read_fails(&b, "x.npy", &o, FMT_ERR_VALUE, sentence);
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
    read_fails(&b, "x.npy", &o, FMT_ERR_VALUE, "x.npy: has 2 rows, so none to take from row 3 on");
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
    read_fails(&b, "x.npy", &o, FMT_ERR_VALUE, "x.npy: its rows have 12 values, but 13 are wanted");
    o.dim = 12;
    o.height = o.width = 2;
    o.channels = 3;
    read_ok(&b, "x.npy", &o, &t);
    assert_true(t.height == 2 && t.width == 2 && t.channels == 3);
    fmt_table_free(&t);
    o.width = 3;
    read_fails(&b, "x.npy", &o, FMT_ERR_VALUE, "x.npy: its rows have 12 values, which is not 3x2 pixels of 3 channels");
    o = fmt_options_default();
    o.max_values = 11;
    read_fails(&b, "x.npy", &o, FMT_ERR_LIMIT, "x.npy: 1 rows of 12 values are more than the limit of 11 values");
}

/* ---- .npz ---- */

static void write_sample_npz(void **state, const char *name, bool deflated)
{
    static const double d[3] = {1e300, NAN, -0.5};
    static const uint8_t u[4] = {1, 2, 3, 4};
    const fmt_member members[3] = {{"odd", FMT_F32, 2, {2, 3}, odd_floats},
                                   {"d", FMT_F64, 1, {3}, d},
                                   {"bytes", FMT_U8, 2, {2, 2}, u}};
    char path[256];
    fmt_error e;
    path_in(state, name, path);
    expect_ok(fmt_write_npz(path, members, 3, deflated, &e), &e);
}

static void npz_written_by_us_reads_back_by_name(void **state)
{
    for (int deflated = 0; deflated < 2; deflated++) {
        char path[256];
        fmt_error e;
        fmt_names names;
        fmt_array a;
        fmt_table t;
        fmt_options o = fmt_options_default();
        write_sample_npz(state, "three.npz", deflated != 0);
        path_in(state, "three.npz", path);
        expect_ok(fmt_npz_list(path, &names, &e), &e);
        assert_int_equal(names.count, 3);
        assert_string_equal(names.name[0], "odd");
        assert_string_equal(names.name[2], "bytes");
        fmt_names_free(&names);
        expect_ok(fmt_npz_read_f64(path, "d", &a, &e), &e);
        assert_true(a.ndim == 1 && a.data[0] == 1e300 && isnan(a.data[1]));
        fmt_array_free(&a);
        o.member = "odd.npy";
        expect_ok(fmt_read(path, &o, &t, &e), &e);
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
    fmt_error e;
    path_in(state, "table.npz", path);
    expect_ok(fmt_write(path, FMT_ANY, &table, &e), &e);
    expect_ok(fmt_read(path, NULL, &t, &e), &e);
    same_bits(t.data, odd_floats, 6);
    fmt_table_free(&t);
    table.labels = labels;
    expect_ok(fmt_write(path, FMT_ANY, &table, &e), &e);
    expect_ok(fmt_npz_read_f64(path, "labels", &a, &e), &e);
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
    read_fails(&b, "x.npz", NULL, FMT_ERR_VALUE, "x.npz: holds 3 arrays (odd, d, bytes); name the one to read");
    o.member = "even";
    read_fails(&b, "x.npz", &o, FMT_ERR_VALUE, "x.npz: holds no array 'even', only odd, d, bytes");
    o.member = "odd";
    static const struct { size_t at; bool at_end; uint8_t value; fmt_status status;
                          const char *sentence; } cases[] = {
        {8, false, 1, FMT_ERR_UNSUPPORTED, "x.npz[odd.npy]: is encrypted, which is not read"},
        {10, false, 12, FMT_ERR_UNSUPPORTED, "x.npz[odd.npy]: is compressed by zip method 12; stored and deflate are read"},
        {16, false, 0, FMT_ERR_FORMAT, "x.npz[odd.npy]: has a zip member whose checksum is wrong"},
        {42, false, 1, FMT_ERR_FORMAT, "x.npz[odd.npy]: has a zip member that is not where its directory says"},
        {0, false, 0, FMT_ERR_FORMAT, "x.npz: has a damaged zip directory"},
        {29, false, 255, FMT_ERR_FORMAT, "x.npz: has a damaged zip directory"},
        {0, true, 0, FMT_ERR_FORMAT, "x.npz: is not a zip archive, or is cut short"},
        {4, true, 1, FMT_ERR_FORMAT, "x.npz: is one part of a split zip archive"},
        {12, true, 0, FMT_ERR_FORMAT, "x.npz: has a zip directory that is not where it should be"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        c = b;
        c.data[(cases[i].at_end ? end : start) + cases[i].at] = cases[i].value;
        read_fails(&c, "x.npz", &o, cases[i].status, cases[i].sentence);
    }
    c = b;
    memset(c.data + start + 20, 0xFF, 8);
    read_fails(&c, "x.npz", &o, FMT_ERR_UNSUPPORTED, "x.npz: is a zip64 archive (over 4 GiB), which is not read");
    c = b;
    memset(c.data + end + 16, 0xFF, 4);
    read_fails(&c, "x.npz", &o, FMT_ERR_UNSUPPORTED, "x.npz: is a zip64 archive (over 4 GiB), which is not read");
    o.max_values = 10;
    c = b;
    memset(c.data + start + 24, 0x7F, 4);
    read_fails(&c, "x.npz", &o, FMT_ERR_LIMIT, "x.npz[odd.npy]: unpacks to 2139062143 bytes, more than the limit of 10 values");
    bytes empty = {.size = 22};
    memcpy(empty.data, "PK\5\6", 4);
    read_fails(&empty, "x.npz", NULL, FMT_ERR_FORMAT, "x.npz: holds no arrays");
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
    snprintf(sentence, sizeof sentence, "x.npz[odd.npy]: its compressed data is damaged, or is not the %d bytes promised", b.data[start + 24]);
    read_fails(&b, "x.npz", &o, FMT_ERR_FORMAT, sentence);
    memset(b.data + start + 24, 0x10, 4);
    snprintf(sentence, sizeof sentence, "x.npz[odd.npy]: promises 269488144 bytes, more than its %zu compressed bytes can hold", packed);
    read_fails(&b, "x.npz", &o, FMT_ERR_FORMAT, sentence);
}

/* ---- IDX and CIFAR ---- */

static void add_idx(bytes *b, unsigned type, size_t ndim, const uint32_t *shape)
{
    add_be(b, type << 8 | (unsigned)ndim, 4);
    for (size_t i = 0; i < ndim; i++)
        add_be(b, shape[i], 4);
}

static void add_idx_images(bytes *b)
{
    const uint32_t shape[3] = {3, 2, 4};
    add_idx(b, 8, 3, shape);
    for (unsigned i = 0; i < 24; i++)
        add_be(b, i * 10, 1);
}

static void gzip(const bytes *plain, bytes *packed)
{
    z_stream z = {0};
    assert_int_equal(deflateInit2(&z, 9, Z_DEFLATED, 31, 8, Z_DEFAULT_STRATEGY), Z_OK);
    z.next_in = (Bytef *)plain->data;
    z.avail_in = (uInt)plain->size;
    z.next_out = packed->data;
    z.avail_out = sizeof packed->data;
    assert_int_equal(deflate(&z, Z_FINISH), Z_STREAM_END);
    packed->size = sizeof packed->data - z.avail_out;
    deflateEnd(&z);
}

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
    static const struct { unsigned type; size_t size; uint64_t bits; float value; } cases[] = {
        {9, 1, 0xFF, -1.0f}, {0xB, 2, 0xFFFE, -2.0f}, {0xC, 4, 0xFFFFFFFD, -3.0f},
        {0xD, 4, 0x40490FDB, 3.14159274f}, {0xE, 8, 0x4000000000000000, 2.0f},
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
    read_fails(&b, "x.idx", NULL, FMT_ERR_FORMAT, "x.idx: header says 47040000 bytes of data but the file has 0");
    gzip(&b, &z);
    char sentence[200];
    snprintf(sentence, sizeof sentence, "x.gz: promises 47040016 bytes, more than its %zu compressed bytes can hold", z.size);
    read_fails(&z, "x.gz", NULL, FMT_ERR_FORMAT, sentence);
    o.max_values = 100;
    read_fails(&z, "x.gz", &o, FMT_ERR_LIMIT, "x.gz: unpacks to 47040016 bytes, more than the limit of 100 values");
    b.data[7] = 1; /* one picture of 28 rows of 2: within the ratio, not there */
    memcpy(b.data + 4, "\0\0\0\1\0\0\0\34\0\0\0\2", 12);
    gzip(&b, &z);
    read_fails(&z, "x.gz", NULL, FMT_ERR_FORMAT, "x.gz: its compressed data is damaged, or is not the 72 bytes promised");
    add_idx(&c, 8, 4, vast);
    read_fails(&c, "x.idx", NULL, FMT_ERR_FORMAT, "x.idx: is not an IDX file, or is cut short in its header");
    add_text(&n, "hello");
    gzip(&n, &z);
    read_fails(&z, "x.gz", NULL, FMT_ERR_FORMAT, "x.gz: is gzipped, but is not an IDX file inside");
}

static void add_cifar(bytes *b, uint8_t label)
{
    add(b, &label, 1);
    for (unsigned i = 0; i < 3072; i++)
        add_be(b, (i * 7 + label) % 256, 1);
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
    read_fails(&b, "x.bin", NULL, FMT_ERR_FORMAT, "x.bin: record 0 has label 10, so this is not CIFAR-10");
    b.size--;
    read_fails(&b, "x.bin", NULL, FMT_ERR_FORMAT, "x.bin: has 3072 bytes, which is not a whole number of 3073-byte CIFAR-10 records");
}

/* ---- CSV and raw ---- */

static void csv_written_by_us_reads_back_bit_for_bit(void **state)
{
    char path[256];
    fmt_table table = odd_table(), back;
    fmt_error e;
    path_in(state, "odd.csv", path);
    expect_ok(fmt_write(path, FMT_ANY, &table, &e), &e);
    expect_ok(fmt_read(path, NULL, &back, &e), &e);
    assert_true(back.rows == 2 && back.dim == 3);
    same_bits(back.data, odd_floats, 6);
    fmt_table_free(&back);
}

static void csv_of_every_dialect_reads_alike(void **state)
{
    static const char *const texts[] = {
        "1,2.5\n-3,4e1\n", "1;2.5\n-3;4e1", "1\t2.5\r\n-3\t4e1\r\n",
        "  1   2.5 \n\n -3 40  \n", "a,b\n1,2.5\n-3,4e1\n",
        "\xEF\xBB\xBFx y\n1, 2.5\n\n-3 , 4e1\n\n", "# made by hand\n1 2.5\n-3 40\n",
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
    read_fails(&b, "x.csv", &o, FMT_ERR_VALUE, "x.csv: has 3 rows, so none to take from row 4 on");
}

/* A locale with a decimal comma, made in our own folder. */
static bool use_decimal_comma(void **state)
{
    char command[400];
    snprintf(command, sizeof command,
             "localedef -i de_DE -f UTF-8 %s/de_DE.UTF-8 >/dev/null 2>&1",
             folder_of(state));
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
    static const struct { const char *text; fmt_status status; const char *sentence; } cases[] = {
        {"\n \n", FMT_ERR_FORMAT, "x.csv: has no rows of numbers"},
        {"a,b\n", FMT_ERR_FORMAT, "x.csv: has no rows of numbers"},
        {"1,b\n", FMT_ERR_FORMAT, "x.csv: line 1, column 2 is 'b', not a plain number"},
        {"a,b\n1,2\n\n3,0x10\n", FMT_ERR_FORMAT, "x.csv: line 4, column 2 is '0x10', not a plain number"},
        {"1,2\n3,\"4\"\n", FMT_ERR_FORMAT, "x.csv: line 2, column 2 is '\"4\"', not a plain number"},
        {"1,2\n3,\a\n", FMT_ERR_FORMAT, "x.csv: line 2, column 2 is '?', not a plain number"},
        {"1,2\n3,,4\n", FMT_ERR_FORMAT, "x.csv: line 2, column 2 is empty"},
        {"1,2\n3,\n", FMT_ERR_FORMAT, "x.csv: line 2, column 2 is empty"},
        {"1,2\n\n3\n", FMT_ERR_FORMAT, "x.csv: line 3 has 1 values, but line 1 has 2"},
        {"1,2\n3,4,5\n", FMT_ERR_FORMAT, "x.csv: line 2 has 3 values, but line 1 has 2"},
        {"1,nan\n", FMT_ERR_VALUE, "x.csv: line 1, column 2 is not a number (nan)"},
        {"1,-inf\n", FMT_ERR_VALUE, "x.csv: line 1, column 2 is infinite, or too large for float32"},
        {"1,1e99\n", FMT_ERR_VALUE, "x.csv: line 1, column 2 is infinite, or too large for float32"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
        text_fails(cases[i].text, "x.csv", cases[i].status, cases[i].sentence);
}

static void raw_floats_pass_through_a_stream_in_batches(void **state)
{
    fmt_options o = fmt_options_default();
    fmt_error e;
    fmt_table t;
    FILE *pipe = tmpfile();
    (void)state;
    assert_non_null(pipe);
    expect_ok(fmt_write_raw(pipe, "pipe", odd_floats, 6, &e), &e);
    rewind(pipe);
    o.kind = FMT_RAW;
    o.dim = 2;
    o.max_rows = 2;
    expect_ok(fmt_read_stream(pipe, "pipe", &o, &t, &e), &e);
    assert_true(t.rows == 2 && t.dim == 2);
    same_bits(t.data, odd_floats, 4);
    fmt_table_free(&t);
    expect_ok(fmt_read_stream(pipe, "pipe", &o, &t, &e), &e);
    assert_int_equal(t.rows, 1);
    same_bits(t.data, odd_floats + 4, 2);
    fmt_table_free(&t);
    expect_ok(fmt_read_stream(pipe, "pipe", &o, &t, &e), &e);
    assert_int_equal(t.rows, 0);
    fmt_table_free(&t);
    rewind(pipe);
    o.max_rows = 0;
    o.first_row = 1;
    expect_ok(fmt_read_stream(pipe, "pipe", &o, &t, &e), &e);
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
    fmt_error e;
    (void)state;
    read_fails(&b, "x.raw", &o, FMT_ERR_ARGUMENT, "x.raw: raw floats can only be read when the number of values per row is given");
    o.dim = 2;
    read_fails(&b, "x.raw", &o, FMT_ERR_FORMAT, "x.raw: has 20 bytes, which is not a whole number of rows of 2 float32 values (8 bytes each)");
    FILE *pipe = tmpfile();
    assert_non_null(pipe);
    assert_int_equal(fwrite(b.data, 1, b.size, pipe), b.size);
    o.kind = FMT_RAW;
    o.max_rows = 9;
    rewind(pipe);
    assert_int_equal(fmt_read_stream(pipe, "pipe", &o, &t, &e), FMT_ERR_FORMAT);
    assert_string_equal(e.message, "pipe: has 20 bytes, which is not a whole number of rows of 2 float32 values (8 bytes each)");
    rewind(pipe);
    o.first_row = 3;
    assert_int_equal(fmt_read_stream(pipe, "pipe", &o, &t, &e), FMT_ERR_VALUE);
    assert_string_equal(e.message, "pipe: has 2 rows, so none to take from row 3 on");
    o.first_row = 0;
    o.max_values = 17;
    assert_int_equal(fmt_read_stream(pipe, "pipe", &o, &t, &e), FMT_ERR_LIMIT);
    assert_string_equal(e.message, "pipe: a batch of 9 rows of 2 values is more than the limit of 17 values");
    fclose(pipe);
}

/* ---- Pictures ---- */

static void append_png(png_structp png, png_bytep data, size_t size)
{
    add(png_get_io_ptr(png), data, size);
}

/* A PNG of any make, straight from libpng: samples as they stand in rows. */
static void make_png(bytes *b, unsigned width, unsigned height, int bits, int colour,
                     bool interlaced, const uint8_t *rows, size_t stride)
{
    static const png_color palette[4] = {{0, 0, 0}, {255, 0, 0}, {0, 255, 128}, {9, 9, 9}};
    png_structp png = png_create_write_struct(PNG_LIBPNG_VER_STRING, NULL, NULL, NULL);
    png_infop info = png_create_info_struct(png);
    assert_non_null(info);
    png_set_write_fn(png, b, append_png, NULL);
    png_set_IHDR(png, info, width, height, bits, colour,
                 interlaced ? PNG_INTERLACE_ADAM7 : PNG_INTERLACE_NONE,
                 PNG_COMPRESSION_TYPE_DEFAULT, PNG_FILTER_TYPE_DEFAULT);
    if (colour == PNG_COLOR_TYPE_PALETTE)
        png_set_PLTE(png, info, palette, 4);
    png_write_info(png, info);
    int passes = png_set_interlace_handling(png);
    for (int pass = 0; pass < passes; pass++)
        for (unsigned y = 0; y < height; y++)
            png_write_row(png, rows + y * stride);
    png_write_end(png, NULL);
    png_destroy_write_struct(&png, &info);
}

static void png_of_every_make_means_its_samples(void **state)
{
    static const struct { int bits, colour; unsigned width; uint8_t row[8];
                          size_t channels; double light[6]; } cases[] = {
        {8, PNG_COLOR_TYPE_GRAY, 2, {0, 51}, 1, {0, 0.2}},
        {1, PNG_COLOR_TYPE_GRAY, 2, {0x40}, 1, {0, 1}},
        {4, PNG_COLOR_TYPE_GRAY, 2, {0x3F}, 1, {0.2, 1}},
        {16, PNG_COLOR_TYPE_GRAY, 2, {0x33, 0x33, 0, 1}, 1, {0.2, 1 / 65535.0}},
        {8, PNG_COLOR_TYPE_RGB, 2, {0, 51, 255, 102, 0, 51}, 3, {0, 0.4, 0.2, 0, 1, 0.2}},
        {8, PNG_COLOR_TYPE_PALETTE, 2, {1, 2}, 3, {1, 0, 0, 1, 0, 128 / 255.0}},
        {2, PNG_COLOR_TYPE_PALETTE, 2, {0x60}, 3, {1, 0, 0, 1, 0, 128 / 255.0}},
        {8, PNG_COLOR_TYPE_GRAY_ALPHA, 2, {255, 51, 102, 255}, 1, {0.2, 0.4}},
        {8, PNG_COLOR_TYPE_RGB_ALPHA, 2, {255, 51, 0, 0, 255, 51, 102, 51}, 3, {0, 0.2, 0, 0.04, 0, 0.08}},
        {16, PNG_COLOR_TYPE_RGB, 1, {0x33, 0x33, 0xFF, 0xFF, 0, 0}, 3, {0.2, 1, 0}},
    };
    (void)state;
    for (size_t i = 0; i < 2 * sizeof cases / sizeof cases[0]; i++) {
        size_t k = i / 2, w = cases[k].width;
        uint8_t rows[24];
        bytes b = {.size = 0};
        fmt_table t;
        for (size_t y = 0; y < 3; y++) /* three equal rows, so that interlacing bites */
            memcpy(rows + 8 * y, cases[k].row, 8);
        make_png(&b, (unsigned)w, 3, cases[k].bits, cases[k].colour, i % 2 == 1, rows, 8);
        read_ok(&b, "x.png", NULL, &t);
        assert_true(t.rows == 1 && t.height == 3 && t.width == w);
        assert_int_equal(t.channels, cases[k].channels);
        for (size_t c = 0; c < t.channels; c++)
            for (size_t p = 0; p < 3 * w; p++) /* half an ulp of a number below 2 */
                assert_true(fabs((double)t.data[c * 3 * w + p] -
                                 (2 * cases[k].light[c * w + p % w] - 1)) < 6e-8);
        fmt_table_free(&t);
    }
}

/* Every byte value in every channel. */
static fmt_table all_values(size_t channels, float data[768])
{
    for (unsigned i = 0; i < 256 * channels; i++)
        data[i] = pixel((i * 5 + i / 256) % 256);
    return (fmt_table){1, 256 * channels, 16, 16, channels, data, NULL};
}

static void pictures_of_whole_levels_read_back_bit_for_bit(void **state)
{
    static const char *const names[] = {"p.png", "p.pnm"};
    for (size_t i = 0; i < 4; i++) {
        float data[768];
        char path[256];
        fmt_table table = all_values(i % 2 ? 3 : 1, data), back;
        fmt_error e;
        path_in(state, names[i / 2], path);
        expect_ok(fmt_write(path, FMT_ANY, &table, &e), &e);
        expect_ok(fmt_read(path, NULL, &back, &e), &e);
        assert_true(back.rows == 1 && back.height == 16 && back.channels == table.channels);
        same_bits(back.data, data, back.dim);
        fmt_table_free(&back);
    }
}

static void pixels_are_clamped_and_rounded_to_nearest(void **state)
{
    const float data[8] = {-7.0f, 7.0f, NAN, INFINITY, -INFINITY,
                           pixel(100) + 0.0039f, pixel(100) - 0.0039f, 0.0f};
    const unsigned wanted[8] = {0, 255, 0, 255, 0, 100, 100, 128};
    char path[256];
    fmt_table back;
    fmt_error e;
    path_in(state, "clamp.pgm", path);
    expect_ok(fmt_write_image(path, FMT_ANY, data, 2, 4, 1, &e), &e);
    expect_ok(fmt_read(path, NULL, &back, &e), &e);
    for (size_t i = 0; i < 8; i++)
        assert_true(back.data[i] == pixel(wanted[i]));
    fmt_table_free(&back);
}

static void jpeg_of_a_smooth_picture_comes_back_close(void **state)
{
    for (size_t channels = 1; channels <= 3; channels += 2) {
        float data[768];
        char path[256];
        fmt_table table = {1, 256 * channels, 16, 16, channels, data, NULL}, back;
        fmt_error e;
        for (size_t i = 0; i < 256 * channels; i++)
            data[i] = (float)(i % 256) / 256.0f - 0.5f;
        path_in(state, "smooth.jpg", path);
        expect_ok(fmt_write(path, FMT_ANY, &table, &e), &e);
        expect_ok(fmt_read(path, NULL, &back, &e), &e);
        assert_true(back.channels == channels && back.width == 16);
        for (size_t i = 0; i < back.dim; i++) /* quality 95 is good to some 6 levels */
            assert_true(fabsf(back.data[i] - data[i]) < 0.05f);
        fmt_table_free(&back);
    }
}

/* A flat 8x8 JPEG of one colour, of any make, straight from libjpeg. */
static void make_jpeg(bytes *b, J_COLOR_SPACE space, int components,
                      const uint8_t *colour, bool progressive, bool adobe)
{
    struct jpeg_compress_struct c;
    struct jpeg_error_mgr errors;
    unsigned char *file = NULL;
    unsigned long size = 0;
    uint8_t row[32];
    uint8_t *line = row;
    for (int i = 0; i < 8 * components; i++)
        row[i] = colour[i % components];
    c.err = jpeg_std_error(&errors);
    jpeg_create_compress(&c);
    jpeg_mem_dest(&c, &file, &size);
    c.image_width = c.image_height = 8;
    c.input_components = components;
    c.in_color_space = space;
    jpeg_set_defaults(&c);
    jpeg_set_quality(&c, 100, TRUE);
    if (progressive)
        jpeg_simple_progression(&c);
    c.write_Adobe_marker = adobe ? TRUE : FALSE;
    jpeg_start_compress(&c, TRUE);
    while (c.next_scanline < 8)
        jpeg_write_scanlines(&c, &line, 1);
    jpeg_finish_compress(&c);
    add(b, file, size);
    jpeg_destroy_compress(&c);
    free(file);
}

static void jpeg_of_every_make_means_its_colour(void **state)
{
    static const struct { J_COLOR_SPACE space; int components; uint8_t colour[4];
                          bool progressive, adobe; unsigned wanted[3]; } cases[] = {
        {JCS_GRAYSCALE, 1, {200}, false, false, {200}},
        {JCS_GRAYSCALE, 1, {200}, true, false, {200}},
        {JCS_RGB, 3, {200, 100, 50}, false, false, {200, 100, 50}},
        {JCS_RGB, 3, {200, 100, 50}, true, false, {200, 100, 50}},
        {JCS_CMYK, 4, {255, 0, 51, 51}, false, false, {0, 204, 163}},
        {JCS_CMYK, 4, {255, 0, 51, 51}, false, true, {51, 0, 10}}, /* inverted */
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        bytes b = {.size = 0};
        fmt_table t;
        make_jpeg(&b, cases[i].space, cases[i].components, cases[i].colour,
                  cases[i].progressive, cases[i].adobe);
        read_ok(&b, "x.jpg", NULL, &t);
        assert_true(t.height == 8 && t.width == 8);
        assert_int_equal(t.channels, cases[i].components == 1 ? 1 : 3);
        for (size_t k = 0; k < t.dim; k++) /* two levels for the change of colours */
            assert_true(fabsf(t.data[k] - pixel(cases[i].wanted[k / 64])) < 0.016f);
        fmt_table_free(&t);
    }
}

static void pnm_of_every_make_means_its_samples(void **state)
{
    static const struct { const char *text; size_t size, channels; double light[6]; } cases[] = {
        {"P2 2 1 255 0 51", 15, 1, {0, 0.2}},
        {"P2\n# a comment\n2 1\n#another\n5\n1\n5\n", 34, 1, {0.2, 1}},
        {"P3 2 1 10  1 2 3  4 5 6\n", 24, 3, {0.1, 0.4, 0.2, 0.5, 0.3, 0.6}},
        {"P5 2 1 255\n\0\63", 13, 1, {0, 0.2}},
        {"P5 2 1 65535\n\63\63\0\1", 17, 1, {0.2, 1 / 65535.0}},
        {"P6\n2 1\n255\n\0\63\377\146\0\63\n", 18, 3, {0, 0.4, 0.2, 0, 1, 0.2}},
        {"P6 1 1 1000 \0\144\3\350\0\0", 18, 3, {0.1, 1, 0}},
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        bytes b = {.size = 0};
        fmt_table t;
        add(&b, cases[i].text, cases[i].size);
        read_ok(&b, "x", NULL, &t);
        assert_true(t.height == 1 && t.channels == cases[i].channels);
        for (size_t k = 0; k < t.dim; k++)
            assert_true(fabs((double)t.data[k] - (2 * cases[i].light[k] - 1)) < 6e-8);
        fmt_table_free(&t);
    }
}

static void picture_faults_have_their_sentences(void **state)
{
    static const struct { const char *name, *text; fmt_status status; const char *sentence; } cases[] = {
        {"x.pbm", "P4 8 1 0", FMT_ERR_UNSUPPORTED, "x.pbm: is a P4 picture; P2, P3, P5 and P6 are read"},
        {"x.pnm", "Q5 8 1 0", FMT_ERR_FORMAT, "x.pnm: is not a PNM picture"},
        {"x.pnm", "P9 8 1 0", FMT_ERR_FORMAT, "x.pnm: is not a PNM picture"},
        {"x.ppm", "P6 8 x", FMT_ERR_FORMAT, "x.ppm: its PNM header has no width and height at byte 5"},
        {"x.ppm", "P6 8 8 65536 ", FMT_ERR_FORMAT, "x.ppm: its PNM header has no maximum of 1 to 65535 at byte 11"},
        {"x.ppm", "P6 8 8 255", FMT_ERR_FORMAT, "x.ppm: its PNM header does not end in a space at byte 10"},
        {"x.ppm", "P6 64 48 255 abc", FMT_ERR_FORMAT, "x.ppm: 64x48 pixels need 9216 bytes or more, but the file has 3"},
        {"x.pgm", "P5 0 5 255 ", FMT_ERR_FORMAT, "x.pgm: is a picture of no pixels"},
        {"x.pgm", "P2 2 1 9 1 10", FMT_ERR_FORMAT, "x.pgm: a pixel is missing, or above the maximum, at byte 12"},
        {"x.pgm", "P2 2 1 9 1   ", FMT_ERR_FORMAT, "x.pgm: a pixel is missing, or above the maximum, at byte 13"},
        {"x.pgm", "P5 2 1 255 abc", FMT_ERR_FORMAT, "x.pgm: something follows the picture at byte 13"},
        {"x.png", "hello", FMT_ERR_FORMAT, "x.png: is not a PNG picture"},
        {"x.jpg", "hello", FMT_ERR_FORMAT, "x.jpg: is not a JPEG picture"},
        {"x.jpg", "\xFF\xD8\xFF", FMT_ERR_FORMAT, "x.jpg: is a damaged JPEG (Premature end of JPEG file)"},
        {"x.png", "\x89PNG\r\n\x1a\n", FMT_ERR_FORMAT, "x.png: is a damaged PNG (cut short)"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
        text_fails(cases[i].text, cases[i].name, cases[i].status, cases[i].sentence);
}

static void put_be32(uint8_t *p, uint32_t value)
{
    for (int i = 0; i < 4; i++)
        p[i] = (uint8_t)(value >> (24 - 8 * i) & 255);
}

static void pictures_larger_than_the_limits_are_refused(void **state)
{
    static const uint32_t sides[4][2] = {{16385, 1}, {16384, 16384}, {1, 20000}, {8192, 8192}};
    static const char *const sentences[4] = {
        "x.png: 16385x1 pixels are more than the limits allow",
        "x.png: 16384x16384 pixels are more than the limits allow",
        "x.png: 1x20000 pixels are more than the limits allow",
        "x.png: 8192x8192 pixels cannot come from a file of 67 bytes",
    };
    uint8_t row[1] = {0};
    bytes b = {.size = 0};
    (void)state;
    make_png(&b, 1, 1, 8, PNG_COLOR_TYPE_GRAY, false, row, 1);
    for (size_t i = 0; i < 4; i++) {
        put_be32(b.data + 16, sides[i][0]);
        put_be32(b.data + 20, sides[i][1]);
        put_be32(b.data + 29, (uint32_t)crc32(0, b.data + 12, 17));
        read_fails(&b, "x.png", NULL, i < 3 ? FMT_ERR_LIMIT : FMT_ERR_FORMAT, sentences[i]);
    }
    bytes p = {.size = 0};
    fmt_options o = fmt_options_default();
    add_text(&p, "P5 20 1 255 abcdefghijklmnopqrst");
    o.max_values = 19;
    read_fails(&p, "x.pgm", &o, FMT_ERR_LIMIT, "x.pgm: 20x1 pixels are more than the limit of 19 values");
}

/* ---- Shape wanted: resizing and colour ---- */

static void a_picture_of_another_shape_is_refused_unless_resizing(void **state)
{
    bytes b = {.size = 0};
    fmt_options o = fmt_options_default();
    fmt_table t;
    (void)state;
    add_text(&b, "P5 4 2 255 abcdefgh");
    o.height = o.width = 2;
    read_fails(&b, "photo.pgm", &o, FMT_ERR_VALUE, "photo.pgm: 4x2 grey, but 2x2 grey is wanted (resizing was not asked for)");
    o.width = 4;
    o.channels = 3;
    read_fails(&b, "photo.pgm", &o, FMT_ERR_VALUE, "photo.pgm: 4x2 grey, but 4x2 RGB is wanted (resizing was not asked for)");
    o.recolour = true;
    read_ok(&b, "photo.pgm", &o, &t);
    assert_true(t.dim == 24 && t.data[9] == pixel('b') && t.data[23] == pixel('h'));
    fmt_table_free(&t);
    o.channels = 2;
    read_fails(&b, "photo.pgm", &o, FMT_ERR_ARGUMENT, "photo.pgm: a picture has 1 or 3 channels, not 2");
}

static void shrinking_is_the_mean_over_the_area(void **state)
{
    bytes b = {.size = 0};
    fmt_options o = fmt_options_default();
    fmt_table t;
    (void)state;
    add_text(&b, "P2 3 2 255  0 90 30  60 30 90");
    o.resize = true;
    o.width = 2;
    o.height = 1;
    read_ok(&b, "x.pgm", &o, &t); /* thirds of 1.5 pixels: (0 + 90/2)/1.5 and so on */
    double left = (0 + 60 + (90 + 30) / 2.0) / 3.0, right = (30 + 90 + (90 + 30) / 2.0) / 3.0;
    assert_true(fabs((double)t.data[0] - (2 * left / 255 - 1)) < 1e-6);
    assert_true(fabs((double)t.data[1] - (2 * right / 255 - 1)) < 1e-6);
    fmt_table_free(&t);
}

static void growing_is_linear_between_centres(void **state)
{
    static const double wanted[4] = {0, 25, 75, 100};
    bytes b = {.size = 0};
    fmt_options o = fmt_options_default();
    fmt_table t;
    (void)state;
    add_text(&b, "P2 2 1 255  0 100");
    o.resize = true;
    o.width = 4;
    o.height = 3;
    read_ok(&b, "x.pgm", &o, &t);
    for (size_t i = 0; i < 12; i++)
        assert_true(fabs((double)t.data[i] - (2 * wanted[i % 4] / 255 - 1)) < 1e-6);
    fmt_table_free(&t);
}

static void resizing_a_flat_picture_leaves_it_flat(void **state)
{
    bytes b = {.size = 0};
    fmt_options o = fmt_options_default();
    (void)state;
    add_text(&b, "P6 5 3 255 ");
    for (size_t i = 0; i < 15; i++)
        add_text(&b, "\144\144\144");
    o.resize = true;
    o.channels = 1;
    for (o.width = 1; o.width < 12; o.width++) {
        for (o.height = 1; o.height < 9; o.height++) {
            fmt_table t;
            read_ok(&b, "x.ppm", &o, &t);
            assert_int_equal(t.dim, o.width * o.height);
            for (size_t i = 0; i < t.dim; i++) /* weights sum to 1 but for rounding */
                assert_true(fabsf(t.data[i] - pixel(100)) < 2e-7f);
            fmt_table_free(&t);
        }
    }
}

static void records_are_resized_like_pictures(void **state)
{
    bytes b = {.size = 0};
    fmt_options o = fmt_options_default();
    fmt_table t;
    (void)state;
    add_idx_images(&b);
    o.resize = true;
    o.height = 1;
    o.width = 1;
    o.channels = 3;
    read_ok(&b, "digits", &o, &t);
    assert_true(t.rows == 3 && t.dim == 3);
    for (size_t i = 0; i < 9; i++) /* means of 0..70, 80..150, 160..230 */
        assert_true(fabs((double)t.data[i] - (2 * (35 + 80 * (double)(i / 3)) / 255 - 1)) < 1e-6);
    fmt_table_free(&t);
}

/* ---- Folders, grids, recognition ---- */

static void a_folder_is_its_pictures_sorted_by_name(void **state)
{
    char path[256], sub[256];
    fmt_options o = fmt_options_default();
    fmt_table t;
    fmt_error e;
    path_in(state, "album", path);
    assert_int_equal(mkdir(path, 0777), 0);
    assert_int_equal(fmt_read(path, NULL, &t, &e), FMT_ERR_FORMAT);
    assert_non_null(strstr(e.message, "is a folder with no pictures"));
    store(state, "album/b.pgm", "P5 1 1 255 b", 12);
    store(state, "album/c.PNM", "P5 1 1 255 c", 12);
    store(state, "album/a.ppm", "P5 1 1 255 a", 12);
    store(state, "album/.hidden.pgm", "P5 9 9 255 a", 12);
    store(state, "album/notes.txt", "hello", 5);
    expect_ok(fmt_read(path, NULL, &t, &e), &e);
    assert_true(t.rows == 3 && t.dim == 1 && t.height == 1);
    for (unsigned i = 0; i < 3; i++)
        assert_true(t.data[i] == pixel('a' + i));
    fmt_table_free(&t);
    o.first_row = 1;
    o.max_rows = 1;
    expect_ok(fmt_read(path, &o, &t, &e), &e);
    assert_true(t.rows == 1 && t.data[0] == pixel('b'));
    fmt_table_free(&t);
    o.first_row = 3;
    assert_int_equal(fmt_read(path, &o, &t, &e), FMT_ERR_VALUE);
    assert_non_null(strstr(e.message, "album: has 3 pictures, so none from number 3 on"));
    store(state, "album/d.pgm", "P5 1 2 255 dd", 13);
    assert_int_equal(fmt_read(path, NULL, &t, &e), FMT_ERR_VALUE);
    assert_non_null(strstr(e.message, "album/d.pgm: 1x2 grey, but the pictures before it are 1x1 grey"));
    store(state, "album/d.pgm", "\x93NUMPY", 6);
    assert_int_equal(fmt_read(path, NULL, &t, &e), FMT_ERR_FORMAT);
    assert_non_null(strstr(e.message, "album/d.pgm: is named like a picture but is none"));
    path_in(state, "album/sub.png", sub);
    assert_int_equal(mkdir(sub, 0777), 0);
    o = fmt_options_default();
    o.kind = FMT_NPY;
    assert_int_equal(fmt_read(path, &o, &t, &e), FMT_ERR_ARGUMENT);
    assert_non_null(strstr(e.message, "album: is a folder, not a .npy file"));
}

static void grid_cells_stand_where_they_should(void **state)
{
    const float cell[12] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12};
    fmt_grid g;
    fmt_error e;
    (void)state;
    expect_ok(fmt_grid_create(2, 3, 2, 2, 3, 1, -1.0f, &g, &e), &e);
    assert_true(g.height == 2 * 2 + 3 && g.width == 3 * 2 + 4);
    expect_ok(fmt_grid_put(&g, 1, 2, cell, &e), &e);
    for (size_t i = 0; i < 3 * g.height * g.width; i++) {
        size_t c = i / (g.height * g.width), y = i / g.width % g.height, x = i % g.width;
        bool inside = y >= 4 && y < 6 && x >= 7 && x < 9;
        assert_true(g.data[i] == (inside ? cell[c * 4 + (y - 4) * 2 + x - 7] : -1.0f));
    }
    assert_int_equal(fmt_grid_put(&g, 2, 0, cell, &e), FMT_ERR_ARGUMENT);
    assert_string_equal(e.message, "grid: there is no cell 2, 0 in 2 rows of 3");
    fmt_grid_free(&g);
    assert_int_equal(fmt_grid_create(1000, 3, 64, 64, 3, 1, 0, &g, &e), FMT_ERR_LIMIT);
    assert_string_equal(e.message, "grid: 1000 by 3 pictures of 64x64 pixels are none or too many for one picture");
    assert_int_equal(fmt_grid_create(1, 1, 1, 1, 4, 0, 0, &g, &e), FMT_ERR_ARGUMENT);
    assert_string_equal(e.message, "grid: a picture has 1 or 3 channels, not 4");
}

static void content_tells_before_the_suffix_does(void **state)
{
    static const struct { const char *name, *data; size_t size; fmt_kind kind; } cases[] = {
        {"x.csv", "\x89PNG\r\n\x1a\n", 8, FMT_PNG}, {"x.png", "\xFF\xD8\xFF\xE0", 4, FMT_JPEG},
        {"x", "P5 1 1 255 a", 12, FMT_PNM},  {"x.bin", "\x93NUMPY\1", 7, FMT_NPY},
        {"x", "PK\3\4", 4, FMT_NPZ},         {"x", "\x1F\x8B", 2, FMT_IDX},
        {"x", "\0\0\10\1\0\0\0\1a", 9, FMT_IDX}, {"x.bin", "\0\0\10\1\0\0\0\2a", 9, FMT_CIFAR},
        {"train-images-idx3-ubyte", "\0", 1, FMT_IDX}, {"X.CSV", "1", 1, FMT_CSV},
        {"x.f32", "P5zz", 4, FMT_RAW},       {"x", "hello", 5, FMT_ANY}, {"x", "", 0, FMT_ANY},
        {"P5.txt", "P512", 4, FMT_CSV},      {NULL, "1", 1, FMT_ANY},
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
        assert_int_equal(fmt_recognise(cases[i].name, (const uint8_t *)cases[i].data, cases[i].size), cases[i].kind);
    text_fails("hello", "x", FMT_ERR_UNSUPPORTED, "x: is no kind of file known here (PNG, JPEG, PNM, .npy, .npz, IDX, CIFAR-10 .bin, .csv, .raw)");
    text_fails("", "x.npy", FMT_ERR_FORMAT, "x.npy: is empty");
    text_fails("", NULL, FMT_ERR_FORMAT, "(memory): is empty");
    assert_string_equal(fmt_kind_name(FMT_CIFAR), "CIFAR-10 binary");
}

static void a_long_name_keeps_its_end_and_the_reason(void **state)
{
    char name[1000];
    fmt_table t;
    fmt_error e;
    (void)state;
    memset(name, 'a', sizeof name);
    strcpy(name + 990, "/end.npy");
    assert_int_equal(fmt_read_memory((const uint8_t *)"x", 1, name, NULL, &t, &e), FMT_ERR_FORMAT);
    assert_non_null(strstr(e.message, "aaa/end.npy: is not an .npy file"));
    assert_memory_equal(e.message, "...aaa", 6);
    assert_true(strlen(e.message) < 260);
}

/* ---- Writing safely ---- */

static void a_failed_write_leaves_what_was_there(void **state)
{
    static float many[20000];
    fmt_table big = {1, 20000, 100, 200, 1, many, NULL};
    const char *const names[] = {"keep.npy", "keep.csv", "keep.npz", "keep.png", "keep.jpg", "keep.pgm", "keep.raw"};
    char home[256], path[300];
    struct rlimit before, small;
    bytes b;
    uint32_t seed = 1;
    for (size_t i = 0; i < 20000; i++) { /* noise, so that nothing compresses it away */
        seed = seed * 1664525u + 1013904223u;
        many[i] = pixel(seed >> 24);
    }
    path_in(state, "full", home);
    assert_int_equal(mkdir(home, 0777), 0);
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &before), 0);
    signal(SIGXFSZ, SIG_IGN);
    for (size_t i = 0; i < 7; i++) {
        fmt_error e = {""};
        char inside[64];
        snprintf(inside, sizeof inside, "full/%s", names[i]);
        store(state, inside, "precious", 8);
        snprintf(path, sizeof path, "%s/%s", home, names[i]);
        small = before;
        small.rlim_cur = 4096; /* a disk that is soon full */
        setrlimit(RLIMIT_FSIZE, &small);
        fmt_status status = fmt_write(path, FMT_ANY, &big, &e);
        setrlimit(RLIMIT_FSIZE, &before);
        assert_int_equal(status, FMT_ERR_IO);
        assert_non_null(strstr(e.message, ": cannot write: File too large"));
        load(state, inside, &b);
        assert_int_equal(b.size, 8);
        assert_memory_equal(b.data, "precious", 8);
        assert_int_equal(files_in(home), i + 1); /* and no scraps */
    }
    signal(SIGXFSZ, SIG_DFL);
}

static void writing_keeps_rights_and_links(void **state)
{
    char path[256], link_path[256];
    fmt_table table = odd_table();
    fmt_error e;
    struct stat info;
    path_in(state, "rights.npy", path);
    path_in(state, "link.npy", link_path);
    expect_ok(fmt_write(path, FMT_ANY, &table, &e), &e);
    assert_int_equal(chmod(path, 0640), 0);
    assert_int_equal(symlink("rights.npy", link_path), 0);
    expect_ok(fmt_write(link_path, FMT_ANY, &table, &e), &e);
    assert_int_equal(lstat(link_path, &info), 0);
    assert_true(S_ISLNK(info.st_mode));
    assert_int_equal(stat(path, &info), 0);
    assert_int_equal(info.st_mode & 0777, 0640);
}

static void write_fails(const char *path, fmt_kind kind, const fmt_table *t,
                        fmt_status status, const char *end)
{
    fmt_error e = {""};
    assert_int_equal(fmt_write(path, kind, t, &e), status);
    size_t length = strlen(e.message), wanted = strlen(end);
    if (length < wanted || strcmp(e.message + length - wanted, end) != 0)
        fail_msg("got '%s', wanted '%s'", e.message, end);
}

static void write_faults_have_their_sentences(void **state)
{
    fmt_table odd = odd_table(), one = {1, 6, 2, 3, 1, (float *)odd_floats, NULL};
    fmt_error e;
    char path[256];
    write_fails("x.xyz", FMT_ANY, &odd, FMT_ERR_UNSUPPORTED, "x.xyz: its suffix does not say what to write (.npy .npz .csv .raw .png .jpg .ppm .pgm)");
    write_fails("x.xyz", FMT_IDX, &odd, FMT_ERR_UNSUPPORTED, "x.xyz: IDX is not written here");
    write_fails("x.png", FMT_ANY, &odd, FMT_ERR_ARGUMENT, "x.png: one picture can be written as PNG, not 2; use a grid or an array");
    one.height = 5;
    write_fails("x.png", FMT_ANY, &one, FMT_ERR_ARGUMENT, "x.png: a row of 6 values is not a picture");
    one.height = 2;
    write_fails("x.ppm", FMT_ANY, &one, FMT_ERR_ARGUMENT, "x.ppm: .ppm is for RGB pictures");
    write_fails("/nowhere/at/all.npy", FMT_ANY, &odd, FMT_ERR_IO, "/nowhere/at/all.npy: cannot make a new file beside it: No such file or directory");
    write_fails(folder_of(state), FMT_NPY, &odd, FMT_ERR_IO, ": cannot write: Is a directory");
    write_fails("/dev/full", FMT_NPY, &odd, FMT_ERR_IO, "/dev/full: cannot write: No space left on device");
    path_in(state, "bad.png", path);
    assert_int_equal(fmt_write_image(path, FMT_ANY, odd_floats, 1, 3, 2, &e), FMT_ERR_ARGUMENT);
    assert_non_null(strstr(e.message, "bad.png: a picture has 1 or 3 channels, not 2"));
    assert_int_equal(fmt_write_image(path, FMT_ANY, odd_floats, 0, 3, 1, &e), FMT_ERR_LIMIT);
    assert_non_null(strstr(e.message, "bad.png: cannot write a picture of 3x0 pixels"));
    assert_int_equal(fmt_write_image(path, FMT_CSV, odd_floats, 1, 3, 1, &e), FMT_ERR_ARGUMENT);
    assert_non_null(strstr(e.message, "bad.png: a picture is not written as CSV"));
    fmt_member nameless = {"", FMT_F32, 1, {6}, odd_floats};
    fmt_member endless = {"a", FMT_F32, 2, {SIZE_MAX, 6}, odd_floats};
    fmt_member large = {"a", FMT_F32, 1, {(size_t)1 << 30}, odd_floats};
    assert_int_equal(fmt_write_npz(path, &nameless, 1, false, &e), FMT_ERR_ARGUMENT);
    assert_non_null(strstr(e.message, "an array of an .npz needs a name of 1 to 1000 bytes"));
    assert_int_equal(fmt_write_npy(path, &endless, &e), FMT_ERR_ARGUMENT);
    assert_non_null(strstr(e.message, "the array to write has an impossible type or shape"));
    assert_int_equal(fmt_write_npz(path, &large, 1, false, &e), FMT_ERR_LIMIT);
    assert_non_null(strstr(e.message, "array 'a' is too large for an .npz"));
    fmt_table t;
    assert_int_equal(access(path, F_OK), -1);
    assert_int_equal(fmt_read("/nowhere/x.npy", NULL, &t, &e), FMT_ERR_IO);
    assert_string_equal(e.message, "/nowhere/x.npy: cannot open: No such file or directory");
}

/* ---- Hostile files: every cut and every corruption of one of each kind ---- */

typedef struct sample {
    const char *name;
    bool strict; /* no proper beginning of it is a sound file */
    bytes b;
} sample;

enum { SAMPLES = 17 };

static void make_samples(void **state, sample *s)
{
    static const char *const names[SAMPLES] = {
        "a.npy", "b.npz", "c.npz", "d.idx", "e.gz", "f.bin", "g.csv", "h.raw", "i.png",
        "j.png", "k.jpg", "l.jpg", "m.pgm", "n.ppm", "o.pgm", "p.png", "q.png"};
    float data[768];
    fmt_table colour = {1, 192, 8, 8, 3, data, NULL}, grey = {1, 64, 8, 8, 1, data, NULL};
    const uint8_t rows[24] = {0x1B, 0x2C, 0x3D, 4, 5, 6, 7, 8, 9};
    fmt_error e;
    for (unsigned i = 0; i < 192; i++)
        data[i] = pixel(i * 3 % 256);
    for (size_t i = 0; i < SAMPLES; i++) {
        s[i] = (sample){.name = names[i], .strict = strchr("ghno", names[i][0]) == NULL};
        const fmt_table *t = i == 11 || i == 9 ? &colour : i == 0 || i == 6 || i == 7 ? &(fmt_table){2, 3, 0, 0, 0, (float *)odd_floats, NULL} : &grey;
        if (strchr("aghijkl", names[i][0]) != NULL) {
            char path[256];
            path_in(state, names[i], path);
            expect_ok(fmt_write(path, FMT_ANY, t, &e), &e);
            load(state, names[i], &s[i].b);
        }
    }
    write_sample_npz(state, "b.npz", false);
    load(state, "b.npz", &s[1].b);
    write_sample_npz(state, "c.npz", true);
    load(state, "c.npz", &s[2].b);
    add_idx_images(&s[3].b);
    gzip(&s[3].b, &s[4].b);
    add_cifar(&s[5].b, 3);
    add(&s[12].b, "P5 2 3 255 abcdef", 17);
    add_text(&s[13].b, "P3 2 1 10  1 2 3  4 5 6\n");
    add_text(&s[14].b, "P2 2 2 900 #x\n 899 0 1 17\n");
    make_png(&s[15].b, 4, 3, 2, PNG_COLOR_TYPE_PALETTE, true, rows, 8);
    make_png(&s[16].b, 1, 3, 16, PNG_COLOR_TYPE_RGB_ALPHA, false, rows, 8);
}

/* Reads in a heap block of the exact size, so that ASan sees the edge. */
static fmt_status try_bytes(const char *name, const uint8_t *data, size_t size)
{
    fmt_options o = fmt_options_default();
    fmt_table t;
    fmt_error e = {""};
    uint8_t *copy = malloc(size > 0 ? size : 1);
    assert_non_null(copy);
    memcpy(copy, data, size);
    o.member = strstr(name, ".npz") != NULL ? "bytes" : NULL;
    o.dim = strstr(name, ".raw") != NULL ? 3 : 0;
    o.max_values = 1 << 20;
    fmt_status status = fmt_read_memory(copy, size, name, &o, &t, &e);
    assert_true((status == FMT_OK) == (e.message[0] == '\0'));
    fmt_table_free(&t);
    free(copy);
    return status;
}

static void no_beginning_of_a_sound_file_is_sound(void **state)
{
    sample *s = calloc(SAMPLES, sizeof *s);
    make_samples(state, s);
    for (size_t i = 0; i < SAMPLES; i++) {
        assert_int_equal(try_bytes(s[i].name, s[i].b.data, s[i].b.size), FMT_OK);
        for (size_t size = 0; size < s[i].b.size; size++)
            if (try_bytes(s[i].name, s[i].b.data, size) == FMT_OK && s[i].strict)
                fail_msg("%s: %zu of %zu bytes were taken for the whole", s[i].name, size, s[i].b.size);
    }
    free(s);
}

static void no_corrupted_byte_does_harm(void **state)
{
    sample *s = calloc(SAMPLES, sizeof *s);
    make_samples(state, s);
    for (size_t i = 0; i < SAMPLES; i++) {
        for (size_t at = 0; at < s[i].b.size; at++) {
            uint8_t good = s[i].b.data[at];
            for (unsigned bit = 0; bit < 10; bit++) {
                s[i].b.data[at] = bit < 8 ? (uint8_t)(good ^ 1u << bit) : bit == 8 ? 0 : 255;
                try_bytes(s[i].name, s[i].b.data, s[i].b.size);
            }
            s[i].b.data[at] = good;
        }
    }
    free(s);
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
    fmt_error e;
    path_in(state, name, path);
    o.member = member;
    expect_ok(fmt_read(path, &o, &t, &e), &e);
    assert_true(t.rows == 2 && t.dim == 12);
    for (size_t i = 0; i < 24; i++)
        assert_true(fabs((double)t.data[i] - ((double)i / 7 - 1)) < tolerance);
    fmt_table_free(&t);
}

static void numpy_reads_ours_and_we_read_numpys(void **state)
{
    static const char *const outs[] = {"ours.npy", "ours.csv", "ours.raw"};
    fmt_table odd = odd_table();
    fmt_error e;
    fmt_array b;
    char path[256], command[600];
    if (system("/usr/bin/python3 -c 'import numpy' 2>/dev/null") != 0) {
        print_message("skipped: /usr/bin/python3 has no numpy here\n");
        skip();
    }
    for (size_t i = 0; i < 3; i++) {
        path_in(state, outs[i], path);
        expect_ok(fmt_write(path, FMT_ANY, &odd, &e), &e);
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
    expect_ok(fmt_npz_read_f64(path, "b", &b, &e), &e); /* a.T: saved in Fortran order */
    assert_true(b.ndim == 3 && b.shape[0] == 4 && b.shape[2] == 2);
    assert_true(b.data[1] == 12 / 7.0 - 1 && b.data[23] == 23 / 7.0 - 1);
    fmt_array_free(&b);
}

#define LAW(name) cmocka_unit_test(name)

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
        LAW(png_of_every_make_means_its_samples),
        LAW(pictures_of_whole_levels_read_back_bit_for_bit),
        LAW(pixels_are_clamped_and_rounded_to_nearest),
        LAW(jpeg_of_a_smooth_picture_comes_back_close),
        LAW(jpeg_of_every_make_means_its_colour),
        LAW(pnm_of_every_make_means_its_samples),
        LAW(picture_faults_have_their_sentences),
        LAW(pictures_larger_than_the_limits_are_refused),
        LAW(a_picture_of_another_shape_is_refused_unless_resizing),
        LAW(shrinking_is_the_mean_over_the_area),
        LAW(growing_is_linear_between_centres),
        LAW(resizing_a_flat_picture_leaves_it_flat),
        LAW(records_are_resized_like_pictures),
        LAW(a_folder_is_its_pictures_sorted_by_name),
        LAW(grid_cells_stand_where_they_should),
        LAW(content_tells_before_the_suffix_does),
        LAW(a_long_name_keeps_its_end_and_the_reason),
        LAW(a_failed_write_leaves_what_was_there),
        LAW(writing_keeps_rights_and_links),
        LAW(write_faults_have_their_sentences),
        LAW(no_beginning_of_a_sound_file_is_sound),
        LAW(no_corrupted_byte_does_harm),
        LAW(numpy_reads_ours_and_we_read_numpys),
    };
    return cmocka_run_group_tests(laws, make_folder, remove_folder);
}
