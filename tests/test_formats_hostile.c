/*
 * What goes wrong: a write that fails leaves what was there, and no file, however cut or corrupted,
 * does more than be refused. Run it under ASan and UBSan too: half of its worth is there.
 */
#include "formats_support.h"

#include <dirent.h>
#include <png.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

/* ---- Writing safely ---- */

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
        char inside[64];
        snprintf(inside, sizeof inside, "full/%s", names[i]);
        store(state, inside, "precious", 8);
        snprintf(path, sizeof path, "%s/%s", home, names[i]);
        small = before;
        small.rlim_cur = 4096; /* a disk that is soon full */
        setrlimit(RLIMIT_FSIZE, &small);
        bpcn_status status = fmt_write(path, FMT_ANY, &big);
        setrlimit(RLIMIT_FSIZE, &before);
        assert_int_equal(status, BPCN_NO_SPACE);
        assert_non_null(strstr(bpcn_error(), ": cannot write: File too large"));
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
    struct stat info;
    path_in(state, "rights.npy", path);
    path_in(state, "link.npy", link_path);
    expect_ok(fmt_write(path, FMT_ANY, &table));
    assert_int_equal(chmod(path, 0640), 0);
    assert_int_equal(symlink("rights.npy", link_path), 0);
    expect_ok(fmt_write(link_path, FMT_ANY, &table));
    assert_int_equal(lstat(link_path, &info), 0);
    assert_true(S_ISLNK(info.st_mode));
    assert_int_equal(stat(path, &info), 0);
    assert_int_equal(info.st_mode & 0777, 0640);
}

static void write_fails(const char *path, fmt_kind kind, const fmt_table *t, bpcn_status status, const char *end)
{
    assert_int_equal(fmt_write(path, kind, t), status);
    size_t length = strlen(bpcn_error()), wanted = strlen(end);
    if (length < wanted || strcmp(bpcn_error() + length - wanted, end) != 0)
        fail_msg("got '%s', wanted '%s'", bpcn_error(), end);
}

static void write_faults_have_their_sentences(void **state)
{
    fmt_table odd = odd_table(), one = {1, 6, 2, 3, 1, (float *)odd_floats, NULL};
    char path[256];
    write_fails("x.xyz", FMT_ANY, &odd, BPCN_FORMAT,
                "x.xyz: its suffix does not say what to write (.npy .npz .csv .raw .png .jpg .ppm .pgm)");
    write_fails("x.xyz", FMT_IDX, &odd, BPCN_FORMAT, "x.xyz: IDX is not written here");
    write_fails("x.png", FMT_ANY, &odd, BPCN_INVALID,
                "x.png: one picture can be written as PNG, not 2; use a grid or an array");
    one.height = 5;
    write_fails("x.png", FMT_ANY, &one, BPCN_INVALID, "x.png: a row of 6 values is not a picture");
    one.height = 2;
    write_fails("x.ppm", FMT_ANY, &one, BPCN_INVALID, "x.ppm: .ppm is for RGB pictures");
    write_fails("/nowhere/at/all.npy", FMT_ANY, &odd, BPCN_IO,
                "/nowhere/at/all.npy: cannot make a new file beside it: No such file or directory");
    write_fails(folder_of(state), FMT_NPY, &odd, BPCN_IO, ": cannot write: Is a directory");
    write_fails("/dev/full", FMT_NPY, &odd, BPCN_IO, "/dev/full: is a device, which is neither written to nor replaced");
    path_in(state, "bad.png", path);
    assert_int_equal(fmt_write_image(path, FMT_ANY, odd_floats, 1, 3, 2), BPCN_INVALID);
    assert_non_null(strstr(bpcn_error(), "bad.png: a picture has 1 or 3 channels, not 2"));
    assert_int_equal(fmt_write_image(path, FMT_ANY, odd_floats, 0, 3, 1), BPCN_REFUSED);
    assert_non_null(strstr(bpcn_error(), "bad.png: cannot write a picture of 3x0 pixels"));
    assert_int_equal(fmt_write_image(path, FMT_CSV, odd_floats, 1, 3, 1), BPCN_INVALID);
    assert_non_null(strstr(bpcn_error(), "bad.png: a picture is not written as CSV"));
    fmt_member nameless = {"", FMT_F32, 1, {6}, odd_floats};
    fmt_member endless = {"a", FMT_F32, 2, {SIZE_MAX, 6}, odd_floats};
    fmt_member large = {"a", FMT_F32, 1, {(size_t)1 << 30}, odd_floats};
    assert_int_equal(fmt_write_npz(path, &nameless, 1, false), BPCN_INVALID);
    assert_non_null(strstr(bpcn_error(), "an array of an .npz needs a name of 1 to 1000 bytes"));
    assert_int_equal(fmt_write_npy(path, &endless), BPCN_INVALID);
    assert_non_null(strstr(bpcn_error(), "the array to write has an impossible type or shape"));
    assert_int_equal(fmt_write_npz(path, &large, 1, false), BPCN_REFUSED);
    assert_non_null(strstr(bpcn_error(), "array 'a' is too large for an .npz"));
    fmt_table t;
    assert_int_equal(access(path, F_OK), -1);
    assert_int_equal(fmt_read("/nowhere/x.npy", NULL, &t), BPCN_IO);
    assert_string_equal(bpcn_error(), "/nowhere/x.npy: cannot open: No such file or directory");
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
    static const char *const names[SAMPLES] = {"a.npy", "b.npz", "c.npz", "d.idx", "e.gz",  "f.bin",
                                               "g.csv", "h.raw", "i.png", "j.png", "k.jpg", "l.jpg",
                                               "m.pgm", "n.ppm", "o.pgm", "p.png", "q.png"};
    float data[768];
    fmt_table colour = {1, 192, 8, 8, 3, data, NULL}, grey = {1, 64, 8, 8, 1, data, NULL};
    const uint8_t rows[24] = {0x1B, 0x2C, 0x3D, 4, 5, 6, 7, 8, 9};
    for (unsigned i = 0; i < 192; i++)
        data[i] = pixel(i * 3 % 256);
    for (size_t i = 0; i < SAMPLES; i++) {
        s[i] = (sample){.name = names[i], .strict = strchr("ghno", names[i][0]) == NULL};
        const fmt_table *t = i == 11 || i == 9            ? &colour
                             : i == 0 || i == 6 || i == 7 ? &(fmt_table){2, 3, 0, 0, 0, (float *)odd_floats, NULL}
                                                          : &grey;
        if (strchr("aghijkl", names[i][0]) != NULL) {
            char path[256];
            path_in(state, names[i], path);
            expect_ok(fmt_write(path, FMT_ANY, t));
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
static bpcn_status try_bytes(const char *name, const uint8_t *data, size_t size)
{
    fmt_options o = fmt_options_default();
    fmt_table t;
    uint8_t *copy = malloc(size > 0 ? size : 1);
    assert_non_null(copy);
    memcpy(copy, data, size);
    o.member = strstr(name, ".npz") != NULL ? "bytes" : NULL;
    o.dim = strstr(name, ".raw") != NULL ? 3 : 0;
    o.max_values = 1 << 20;
    bpcn_fail(BPCN_OK, "%s", "");
    bpcn_status status = fmt_read_memory(copy, size, name, &o, &t);
    assert_true((status == BPCN_OK) == (bpcn_error()[0] == '\0'));
    fmt_table_free(&t);
    free(copy);
    return status;
}

static void no_beginning_of_a_sound_file_is_sound(void **state)
{
    sample *s = calloc(SAMPLES, sizeof *s);
    make_samples(state, s);
    for (size_t i = 0; i < SAMPLES; i++) {
        assert_int_equal(try_bytes(s[i].name, s[i].b.data, s[i].b.size), BPCN_OK);
        for (size_t size = 0; size < s[i].b.size; size++)
            if (try_bytes(s[i].name, s[i].b.data, size) == BPCN_OK && s[i].strict)
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
                s[i].b.data[at] = (uint8_t)(bit < 8 ? good ^ 1u << bit : bit == 8 ? 0u : 255u);
                try_bytes(s[i].name, s[i].b.data, s[i].b.size);
            }
            s[i].b.data[at] = good;
        }
    }
    free(s);
}

int main(void)
{
    const struct CMUnitTest laws[] = {
        LAW(a_failed_write_leaves_what_was_there), LAW(writing_keeps_rights_and_links),
        LAW(write_faults_have_their_sentences),    LAW(no_beginning_of_a_sound_file_is_sound),
        LAW(no_corrupted_byte_does_harm),
    };
    return cmocka_run_group_tests(laws, make_test_folder, remove_test_folder);
}
