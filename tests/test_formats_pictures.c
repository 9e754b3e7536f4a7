/*
 * Pictures, PNG, JPEG and PNM: every make means its samples, and the shape wanted is checked or
 * resized to; folders and grids of pictures; and how the kind of a file is recognised.
 */
#include "formats_support.h"

#include <math.h>
#include <png.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <zlib.h>

#include <stdio.h>
#include <jpeglib.h>

/* ---- Pictures ---- */

static void png_of_every_make_means_its_samples(void **state)
{
    static const struct {
        int bits, colour;
        unsigned width;
        uint8_t row[8];
        size_t channels;
        double light[6];
    } cases[] = {
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
                assert_true(fabs((double)t.data[c * 3 * w + p] - (2 * cases[k].light[c * w + p % w] - 1)) < 6e-8);
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
        path_in(state, names[i / 2], path);
        expect_ok(fmt_write(path, FMT_ANY, &table));
        expect_ok(fmt_read(path, NULL, &back));
        assert_true(back.rows == 1 && back.height == 16 && back.channels == table.channels);
        same_bits(back.data, data, back.dim);
        fmt_table_free(&back);
    }
}

static void pixels_are_clamped_and_rounded_to_nearest(void **state)
{
    const float data[8] = {-7.0f, 7.0f, NAN, INFINITY, -INFINITY, pixel(100) + 0.0039f, pixel(100) - 0.0039f, 0.0f};
    const unsigned wanted[8] = {0, 255, 0, 255, 0, 100, 100, 128};
    char path[256];
    fmt_table back;
    path_in(state, "clamp.pgm", path);
    expect_ok(fmt_write_image(path, FMT_ANY, data, 2, 4, 1));
    expect_ok(fmt_read(path, NULL, &back));
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
        for (size_t i = 0; i < 256 * channels; i++)
            data[i] = (float)(i % 256) / 256.0f - 0.5f;
        path_in(state, "smooth.jpg", path);
        expect_ok(fmt_write(path, FMT_ANY, &table));
        expect_ok(fmt_read(path, NULL, &back));
        assert_true(back.channels == channels && back.width == 16);
        for (size_t i = 0; i < back.dim; i++) /* quality 95 is good to some 6 levels */
            assert_true(fabsf(back.data[i] - data[i]) < 0.05f);
        fmt_table_free(&back);
    }
}

/* A flat 8x8 JPEG of one colour, of any make, straight from libjpeg. */
static void make_jpeg(bytes *b, J_COLOR_SPACE space, int components, const uint8_t *colour, bool progressive,
                      bool adobe)
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
    static const struct {
        J_COLOR_SPACE space;
        int components;
        uint8_t colour[4];
        bool progressive, adobe;
        unsigned wanted[3];
    } cases[] = {
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
        make_jpeg(&b, cases[i].space, cases[i].components, cases[i].colour, cases[i].progressive, cases[i].adobe);
        read_ok(&b, "x.jpg", NULL, &t);
        assert_true(t.height == 8 && t.width == 8);
        assert_int_equal(t.channels, cases[i].components == 1 ? 1 : 3);
        for (size_t k = 0; k < t.dim; k++) /* two levels for the change of colours */
            assert_true(fabsf(t.data[k] - pixel(cases[i].wanted[k / 64])) < 0.016f);
        fmt_table_free(&t);
    }
}

/* A grey JPEG of 16x8 pixels: white top left, grey top right, black below; with an orientation by EXIF. */
static void make_turned_jpeg(void **state, unsigned orientation, bool big, bytes *turned)
{
    char path[256];
    float x[8 * 16];
    bytes plain = {.size = 0};
    for (size_t i = 0; i < 8 * 16; i++)
        x[i] = i / 16 >= 4 ? -1 : i % 16 < 8 ? 1 : 0;
    path_in(state, "plain.jpg", path);
    expect_ok(fmt_write_image(path, FMT_JPEG, x, 8, 16, 1));
    load(state, "plain.jpg", &plain);
    void (*put)(bytes *, uint64_t, size_t) = big ? add_be : add_le;
    turned->size = 0;
    add(turned, plain.data, 2);
    add_be(turned, 0xFFE1, 2);
    add_be(turned, 2 + 6 + 8 + 2 + 12 + 4, 2);
    add(turned, "Exif\0\0", 6);
    add_text(turned, big ? "MM" : "II");
    put(turned, 42, 2);
    put(turned, 8, 4);
    put(turned, 1, 2);
    put(turned, 0x0112, 2);
    put(turned, 3, 2);
    put(turned, 1, 4);
    put(turned, orientation, 2);
    put(turned, 0, 2);
    put(turned, 0, 4);
    add(turned, plain.data + 2, plain.size - 2);
}

static void jpeg_is_turned_as_exif_says(void **state)
{
    /* by the table of the EXIF standard: where the first row and the first column are to be seen, so where the corners
       of the stored first row go: 0 top left, 1 top right, 2 bottom right, 3 bottom left */
    static const unsigned white[] = {0, 0, 1, 2, 3, 0, 1, 2, 3}, grey[] = {1, 1, 0, 3, 2, 3, 2, 1, 0};
    for (unsigned o = 0; o <= 9; o++) {
        bytes b;
        fmt_table t;
        bool high = o >= 5 && o <= 8;
        make_turned_jpeg(state, o, o % 2 == 1, &b);
        read_ok(&b, "x.jpg", NULL, &t);
        assert_int_equal(t.width, high ? 8 : 16);
        assert_int_equal(t.height, high ? 16 : 8);
        const size_t corner[] = {0, t.width - 1, t.dim - 1, t.dim - t.width};
        for (unsigned k = 0; k < 4; k++) {
            float wanted = k == white[o < 9 ? o : 0] ? 1 : k == grey[o < 9 ? o : 0] ? 0 : -1;
            assert_true(fabsf(t.data[corner[k]] - wanted) < 0.1f); /* the quality is 95 */
        }
        fmt_table_free(&t);
    }
}

static void damaged_exif_leaves_a_picture_as_it_is(void **state)
{
    bytes b;
    for (size_t at = 6; at < 6 + 6 + 8 + 2 + 12; at++) { /* the bytes of the marker, each made 255 */
        fmt_table t;
        make_turned_jpeg(state, 6, true, &b);
        b.data[at] = 255;
        read_ok(&b, "x.jpg", NULL, &t);
        assert_int_equal(t.dim, 8 * 16);
        fmt_table_free(&t);
    }
}

static void pnm_of_every_make_means_its_samples(void **state)
{
    static const struct {
        const char *text;
        size_t size, channels;
        double light[6];
    } cases[] = {
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
    static const struct {
        const char *name, *text;
        bpcn_status status;
        const char *sentence;
    } cases[] = {
        {"x.pbm", "P4 8 1 0", BPCN_FORMAT, "x.pbm: is a P4 picture; P2, P3, P5 and P6 are read"},
        {"x.pnm", "Q5 8 1 0", BPCN_FORMAT, "x.pnm: is not a PNM picture"},
        {"x.pnm", "P9 8 1 0", BPCN_FORMAT, "x.pnm: is not a PNM picture"},
        {"x.ppm", "P6 8 x", BPCN_FORMAT, "x.ppm: its PNM header has no width and height at byte 5"},
        {"x.ppm", "P6 8 8 65536 ", BPCN_FORMAT, "x.ppm: its PNM header has no maximum of 1 to 65535 at byte 11"},
        {"x.ppm", "P6 8 8 255", BPCN_FORMAT, "x.ppm: its PNM header does not end in a space at byte 10"},
        {"x.ppm", "P6 64 48 255 abc", BPCN_FORMAT,
         "x.ppm: 64x48 pixels need 9216 bytes or more, but the file has 3"},
        {"x.pgm", "P5 0 5 255 ", BPCN_FORMAT, "x.pgm: is a picture of no pixels"},
        {"x.pgm", "P2 2 1 9 1 10", BPCN_FORMAT, "x.pgm: a pixel is missing, or above the maximum, at byte 12"},
        {"x.pgm", "P2 2 1 9 1   ", BPCN_FORMAT, "x.pgm: a pixel is missing, or above the maximum, at byte 13"},
        {"x.pgm", "P5 2 1 255 abc", BPCN_FORMAT, "x.pgm: something follows the picture at byte 13"},
        {"x.png", "hello", BPCN_FORMAT, "x.png: is not a PNG picture"},
        {"x.jpg", "hello", BPCN_FORMAT, "x.jpg: is not a JPEG picture"},
        {"x.jpg", "\xFF\xD8\xFF", BPCN_FORMAT, "x.jpg: is a damaged JPEG (Premature end of JPEG file)"},
        {"x.png", "\x89PNG\r\n\x1a\n", BPCN_FORMAT, "x.png: is a damaged PNG (cut short)"},
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
        read_fails(&b, "x.png", NULL, i < 3 ? BPCN_REFUSED : BPCN_FORMAT, sentences[i]);
    }
    bytes p = {.size = 0};
    fmt_options o = fmt_options_default();
    add_text(&p, "P5 20 1 255 abcdefghijklmnopqrst");
    o.max_values = 19;
    read_fails(&p, "x.pgm", &o, BPCN_REFUSED, "x.pgm: 20x1 pixels are more than the limit of 19 values");
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
    read_fails(&b, "photo.pgm", &o, BPCN_INVALID,
               "photo.pgm: is 4x2 grey, but 2x2 grey is wanted, and resizing is off");
    o.width = 4;
    o.channels = 3;
    read_fails(&b, "photo.pgm", &o, BPCN_INVALID,
               "photo.pgm: is 4x2 grey, but 4x2 RGB is wanted, and resizing is off");
    o.recolour = true;
    read_ok(&b, "photo.pgm", &o, &t);
    assert_true(t.dim == 24 && t.data[9] == pixel('b') && t.data[23] == pixel('h'));
    fmt_table_free(&t);
    o.channels = 2;
    read_fails(&b, "photo.pgm", &o, BPCN_INVALID, "photo.pgm: a picture has 1 or 3 channels, not 2");
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
    path_in(state, "album", path);
    assert_int_equal(mkdir(path, 0777), 0);
    assert_int_equal(fmt_read(path, NULL, &t), BPCN_FORMAT);
    assert_non_null(strstr(bpcn_error(), "is a folder with no pictures"));
    store(state, "album/b.pgm", "P5 1 1 255 b", 12);
    store(state, "album/c.PNM", "P5 1 1 255 c", 12);
    store(state, "album/a.ppm", "P5 1 1 255 a", 12);
    store(state, "album/.hidden.pgm", "P5 9 9 255 a", 12);
    store(state, "album/notes.txt", "hello", 5);
    expect_ok(fmt_read(path, NULL, &t));
    assert_true(t.rows == 3 && t.dim == 1 && t.height == 1);
    for (unsigned i = 0; i < 3; i++)
        assert_true(t.data[i] == pixel('a' + i));
    fmt_table_free(&t);
    o.first_row = 1;
    o.max_rows = 1;
    expect_ok(fmt_read(path, &o, &t));
    assert_true(t.rows == 1 && t.data[0] == pixel('b'));
    fmt_table_free(&t);
    o.first_row = 3;
    assert_int_equal(fmt_read(path, &o, &t), BPCN_INVALID);
    assert_non_null(strstr(bpcn_error(), "album: has 3 pictures, so none from number 3 on"));
    store(state, "album/d.pgm", "P5 1 2 255 dd", 13);
    assert_int_equal(fmt_read(path, NULL, &t), BPCN_INVALID);
    assert_non_null(strstr(bpcn_error(), "album/d.pgm: 1x2 grey, but the pictures before it are 1x1 grey"));
    store(state, "album/d.pgm", "\x93NUMPY", 6);
    assert_int_equal(fmt_read(path, NULL, &t), BPCN_FORMAT);
    assert_non_null(strstr(bpcn_error(), "album/d.pgm: is named like a picture but is none"));
    path_in(state, "album/sub.png", sub);
    assert_int_equal(mkdir(sub, 0777), 0);
    o = fmt_options_default();
    o.kind = FMT_NPY;
    assert_int_equal(fmt_read(path, &o, &t), BPCN_INVALID);
    assert_non_null(strstr(bpcn_error(), "album: is a folder, not a .npy file"));
}

static void grid_cells_stand_where_they_should(void **state)
{
    const float cell[12] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12};
    fmt_grid g;
    (void)state;
    expect_ok(fmt_grid_create(2, 3, 2, 2, 3, 1, -1.0f, &g));
    assert_true(g.height == 2 * 2 + 3 && g.width == 3 * 2 + 4);
    expect_ok(fmt_grid_put(&g, 1, 2, cell));
    for (size_t i = 0; i < 3 * g.height * g.width; i++) {
        size_t c = i / (g.height * g.width), y = i / g.width % g.height, x = i % g.width;
        bool inside = y >= 4 && y < 6 && x >= 7 && x < 9;
        assert_true(g.data[i] == (inside ? cell[c * 4 + (y - 4) * 2 + x - 7] : -1.0f));
    }
    assert_int_equal(fmt_grid_put(&g, 2, 0, cell), BPCN_INVALID);
    assert_string_equal(bpcn_error(), "grid: there is no cell 2, 0 in 2 rows of 3");
    fmt_grid_free(&g);
    assert_int_equal(fmt_grid_create(1000, 3, 64, 64, 3, 1, 0, &g), BPCN_REFUSED);
    assert_string_equal(bpcn_error(), "grid: 1000 by 3 pictures of 64x64 pixels are none or too many for one picture");
    assert_int_equal(fmt_grid_create(1, 1, 1, 1, 4, 0, 0, &g), BPCN_INVALID);
    assert_string_equal(bpcn_error(), "grid: a picture has 1 or 3 channels, not 4");
}

static void content_tells_before_the_suffix_does(void **state)
{
    static const struct {
        const char *name, *data;
        size_t size;
        fmt_kind kind;
    } cases[] = {
        {"x.csv", "\x89PNG\r\n\x1a\n", 8, FMT_PNG},
        {"x.png", "\xFF\xD8\xFF\xE0", 4, FMT_JPEG},
        {"x", "P5 1 1 255 a", 12, FMT_PNM},
        {"x.bin", "\x93NUMPY\1", 7, FMT_NPY},
        {"x", "PK\3\4", 4, FMT_NPZ},
        {"x", "\x1F\x8B", 2, FMT_IDX},
        {"x", "\0\0\10\1\0\0\0\1a", 9, FMT_IDX},
        {"x.bin", "\0\0\10\1\0\0\0\2a", 9, FMT_CIFAR},
        {"train-images-idx3-ubyte", "\0", 1, FMT_IDX},
        {"X.CSV", "1", 1, FMT_CSV},
        {"x.f32", "P5zz", 4, FMT_RAW},
        {"x", "hello", 5, FMT_ANY},
        {"x", "", 0, FMT_ANY},
        {"P5.txt", "P512", 4, FMT_CSV},
        {NULL, "1", 1, FMT_ANY},
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
        assert_int_equal(fmt_recognise(cases[i].name, (const uint8_t *)cases[i].data, cases[i].size), cases[i].kind);
    text_fails("hello", "x", BPCN_FORMAT,
               "x: is not of a known kind (PNG, JPEG, PNM, .npy, .npz, IDX, CIFAR-10 .bin, .csv, .raw)");
    text_fails("", "x.npy", BPCN_FORMAT, "x.npy: is empty");
    text_fails("", NULL, BPCN_FORMAT, "(memory): is empty");
    assert_string_equal(fmt_kind_name(FMT_CIFAR), "CIFAR-10 binary");
}

static void a_long_name_keeps_its_end_and_the_reason(void **state)
{
    char name[1000];
    fmt_table t;
    (void)state;
    memset(name, 'a', sizeof name);
    strcpy(name + 990, "/end.npy");
    assert_int_equal(fmt_read_memory((const uint8_t *)"x", 1, name, NULL, &t), BPCN_FORMAT);
    assert_non_null(strstr(bpcn_error(), "aaa/end.npy: is not an .npy file"));
    assert_memory_equal(bpcn_error(), "...aaa", 6);
    assert_true(strlen(bpcn_error()) < 260);
}

int main(void)
{
    const struct CMUnitTest laws[] = {
        LAW(png_of_every_make_means_its_samples),
        LAW(pictures_of_whole_levels_read_back_bit_for_bit),
        LAW(pixels_are_clamped_and_rounded_to_nearest),
        LAW(jpeg_of_a_smooth_picture_comes_back_close),
        LAW(jpeg_of_every_make_means_its_colour),
        LAW(jpeg_is_turned_as_exif_says),
        LAW(damaged_exif_leaves_a_picture_as_it_is),
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
    };
    return cmocka_run_group_tests(laws, make_test_folder, remove_test_folder);
}
