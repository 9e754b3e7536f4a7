/* The shared parts of the tests of formats/: see formats_support.h. */
#include "formats_support.h"

#include <dirent.h>
#include <math.h>
#include <png.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

/* ---- A folder of our own, and bytes built by hand ---- */

char *folder_of(void **state)
{
    return *state;
}

void path_in(void **state, const char *name, char out[256])
{
    snprintf(out, 256, "%s/%s", folder_of(state), name);
}

int make_test_folder(void **state)
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

int remove_test_folder(void **state)
{
    remove_all(*state);
    free(*state);
    return 0;
}

void add(bytes *b, const void *data, size_t size)
{
    assert_true(b->size + size <= sizeof b->data);
    memcpy(b->data + b->size, data, size);
    b->size += size;
}

void add_text(bytes *b, const char *text)
{
    add(b, text, strlen(text));
}

void add_le(bytes *b, uint64_t value, size_t size)
{
    for (size_t i = 0; i < size; i++) {
        uint8_t byte = (uint8_t)(value >> 8 * i & 255);
        add(b, &byte, 1);
    }
}

void add_be(bytes *b, uint64_t value, size_t size)
{
    for (size_t i = size; i-- > 0;) {
        uint8_t byte = (uint8_t)(value >> 8 * i & 255);
        add(b, &byte, 1);
    }
}

void load(void **state, const char *name, bytes *b)
{
    char path[256];
    path_in(state, name, path);
    FILE *file = fopen(path, "rb");
    assert_non_null(file);
    b->size = fread(b->data, 1, sizeof b->data, file);
    fclose(file);
}

void store(void **state, const char *name, const void *data, size_t size)
{
    char path[256];
    path_in(state, name, path);
    FILE *file = fopen(path, "wb");
    assert_non_null(file);
    assert_int_equal(fwrite(data, 1, size, file), size);
    fclose(file);
}

void expect_ok(bpcn_status status)
{
    if (status != BPCN_OK)
        fail_msg("%s", bpcn_error());
}

void read_ok(const bytes *b, const char *name, const fmt_options *o, fmt_table *t)
{
    expect_ok(fmt_read_memory(b->data, b->size, name, o, t));
}

void read_fails(const bytes *b, const char *name, const fmt_options *o, bpcn_status status, const char *sentence)
{
    fmt_table t;
    bpcn_status got = fmt_read_memory(b->data, b->size, name, o, &t);
    assert_string_equal(bpcn_error(), sentence);
    assert_int_equal(got, status);
    assert_null(t.data);
    assert_null(t.labels);
}

void text_fails(const char *text, const char *name, bpcn_status status, const char *sentence)
{
    bytes b = {.size = 0};
    add_text(&b, text);
    read_fails(&b, name, NULL, status, sentence);
}

float pixel(unsigned v)
{
    return (float)(2.0 * v / 255.0 - 1.0);
}

const float odd_floats[6] = {0.1f, -1.0f / 3.0f, 3.4e38f, 1.4e-45f, -0.0f, 16777217.0f};

fmt_table odd_table(void)
{
    return (fmt_table){.rows = 2, .dim = 3, .data = (float *)odd_floats};
}

void same_bits(const float *a, const float *b, size_t count)
{
    assert_memory_equal(a, b, count * sizeof(float));
}

/* ---- Whole files of every kind ---- */

void write_sample_npz(void **state, const char *name, bool deflated)
{
    static const double d[3] = {1e300, NAN, -0.5};
    static const uint8_t u[4] = {1, 2, 3, 4};
    const fmt_member members[3] = {
        {"odd", FMT_F32, 2, {2, 3}, odd_floats}, {"d", FMT_F64, 1, {3}, d}, {"bytes", FMT_U8, 2, {2, 2}, u}};
    char path[256];
    path_in(state, name, path);
    expect_ok(fmt_write_npz(path, members, 3, deflated));
}

void add_idx(bytes *b, unsigned type, size_t ndim, const uint32_t *shape)
{
    add_be(b, type << 8 | (unsigned)ndim, 4);
    for (size_t i = 0; i < ndim; i++)
        add_be(b, shape[i], 4);
}

void add_idx_images(bytes *b)
{
    const uint32_t shape[3] = {3, 2, 4};
    add_idx(b, 8, 3, shape);
    for (unsigned i = 0; i < 24; i++)
        add_be(b, i * 10, 1);
}

void gzip(const bytes *plain, bytes *packed)
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

void add_cifar(bytes *b, uint8_t label)
{
    add(b, &label, 1);
    for (unsigned i = 0; i < 3072; i++)
        add_be(b, (i * 7 + label) % 256, 1);
}

static void append_png(png_structp png, png_bytep data, size_t size)
{
    add(png_get_io_ptr(png), data, size);
}

void make_png(bytes *b, unsigned width, unsigned height, int bits, int colour, bool interlaced, const uint8_t *rows,
              size_t stride)
{
    static const png_color palette[4] = {{0, 0, 0}, {255, 0, 0}, {0, 255, 128}, {9, 9, 9}};
    png_structp png = png_create_write_struct(PNG_LIBPNG_VER_STRING, NULL, NULL, NULL);
    png_infop info = png_create_info_struct(png);
    assert_non_null(info);
    png_set_write_fn(png, b, append_png, NULL);
    png_set_IHDR(png, info, width, height, bits, colour, interlaced ? PNG_INTERLACE_ADAM7 : PNG_INTERLACE_NONE,
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
