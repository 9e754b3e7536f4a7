/* Names of rows: which are kept, which one answers, and what is deleted by one. */
#include "store_common.h"

#include "format.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

enum { DIM = 256, WIDTH = 32, ROWS = 200 };

/* Pictures of 256 values, smooth as pictures are: a few waves of random place and length. */
static void make_picture(uint64_t i, float *x)
{
    uint64_t state = 77 + i;
    double wave[6][4];
    for (size_t k = 0; k < 24; k++)
        wave[k / 4][k % 4] = (double)(next_random(&state) >> 11) / 9007199254740992.;
    for (size_t j = 0; j < DIM; j++) {
        double sum = 0;
        for (size_t k = 0; k < 6; k++)
            sum += (wave[k][3] - 0.5) * cos(6.283 * (wave[k][0] + 4 * wave[k][1] * (double)(j % 16) / 16 +
                                                     4 * wave[k][2] * (double)(j / 16) / 16));
        x[j] = (float)(2 * rint(255 * fmin(1, fmax(0, 0.5 + sum / 2))) / 255 - 1);
    }
}

static bpcn_options picture_options(size_t names)
{
    bpcn_options o;
    bpcn_options_default(&o, sizeof o);
    o.dim = DIM;
    for (size_t l = 0; l < 3; l++)
        o.hidden[l] = WIDTH;
    o.shards = 8;
    o.names = names;
    o.threads = 1;
    o.surprises = 0;
    return o;
}

static const char *name_of(uint64_t i)
{
    static char text[4][32];
    static size_t next;
    char *name = text[next++ % 4];
    snprintf(name, 32, "picture %03u", (unsigned)i);
    return name;
}

static bpcn_status write_as(bpcn_memory *m, const float *x, const char *name)
{
    bpcn_write_info info;
    bpcn_write_info_default(&info, sizeof info);
    info.names = &name;
    return bpcn_memory_write(m, x, NULL, 1, &info);
}

static void write_pictures(bpcn_memory *m, uint64_t first, uint64_t rows)
{
    float x[DIM];
    for (uint64_t i = first; i < first + rows; i++) {
        make_picture(i, x);
        assert_int_equal(write_as(m, x, name_of(i)), BPCN_OK);
    }
}

static size_t kept(const bpcn_memory *m)
{
    size_t count = 0;
    assert_int_equal(bpcn_memory_get_names(m, NULL, 0, &count), BPCN_OK);
    return count;
}

/* Reads picture i, its right half hidden or with noise; its name into `name`, "" for none. */
static bpcn_read_info ask(const bpcn_memory *m, const float *x, double noise, char name[64])
{
    float query[DIM], answer[DIM];
    unsigned char known[DIM];
    uint64_t state = 5;
    bpcn_read_info info;
    bpcn_read_options options;
    bpcn_read_options_default(&options, sizeof options);
    options.noise = noise;
    for (size_t j = 0; j < DIM; j++) {
        double sum = -6;
        for (int k = 0; k < 12; k++)
            sum += (double)(next_random(&state) >> 11) / 9007199254740992.;
        known[j] = j % 16 < 8;
        query[j] = x[j] + (float)(noise * sum);
    }
    assert_int_equal(bpcn_memory_read(m, query, noise > 0 ? NULL : known, 1, &options, answer, &info), BPCN_OK);
    bpcn_name found = {.number = 0};
    if (info.name > 0)
        assert_int_equal(bpcn_memory_get_name(m, info.name, &found), BPCN_OK);
    memcpy(name, found.name, 64);
    return info;
}

/* Of pictures first .. first + rows - 1, how many answers have their name; a wrong one is a failure, and so is one of a
   row that is not known. */
static size_t named_right(const bpcn_memory *m, uint64_t first, uint64_t rows, double noise)
{
    size_t right = 0;
    for (uint64_t i = first; i < first + rows; i++) {
        float x[DIM];
        char name[64];
        make_picture(i, x);
        bpcn_read_info info = ask(m, x, noise, name);
        if (name[0] == '\0')
            continue;
        assert_string_equal(name, name_of(i));
        assert_int_equal(info.verdict, BPCN_KNOWN);
        right++;
    }
    return right;
}

static void every_name_that_is_said_is_right(void **state)
{
    bpcn_options o = picture_options(1024);
    bpcn_memory *m = create_plain(&o);
    (void)state;
    write_pictures(m, 0, ROWS);
    size_t halves = named_right(m, 0, ROWS, 0), little = named_right(m, 0, ROWS, 0.05),
           noisy = named_right(m, 0, ROWS, 0.2);
    printf("named: %zu of %d from halves, %zu under noise 0.05, %zu under 0.2\n", halves, ROWS, little, noisy);
    assert_true(halves >= ROWS * 9 / 10 && little >= ROWS * 9 / 10 && noisy >= ROWS / 2);
    assert_int_equal(named_right(m, ROWS, 50, 0), 0); /* never written */
    bpcn_memory_forget(m, 0.3);
    (void)named_right(m, 0, ROWS, 0);
    bpcn_memory_forget(m, 1);
    assert_int_equal(named_right(m, 0, ROWS, 0), 0);
    assert_int_equal(kept(m), 0);
    bpcn_memory_free(m);
}

static void latest_names_are_kept_in_constant_bytes(void **state)
{
    bpcn_options o = picture_options(16);
    bpcn_memory *m = create_plain(&o);
    bpcn_stats before = {.size = sizeof before}, after = {.size = sizeof after};
    bpcn_name names[20];
    size_t count;
    (void)state;
    write_pictures(m, 0, 16);
    bpcn_memory_get_stats(m, &before);
    write_pictures(m, 16, 14);
    bpcn_memory_get_stats(m, &after);
    assert_int_equal(after.bytes, before.bytes);
    assert_int_equal(after.names, 16);
    assert_int_equal(bpcn_memory_get_names(m, names, 20, &count), BPCN_OK);
    assert_int_equal(count, 16);
    for (size_t i = 0; i < count; i++)
        assert_string_equal(names[i].name, name_of(14 + i));
    assert_int_equal(named_right(m, 0, 14, 0), 0);
    assert_true(named_right(m, 14, 16, 0) >= 14);
    bpcn_memory_free(m);
}

static void shards_that_are_recycled_take_their_names_along(void **state)
{
    bpcn_options o = picture_options(1024);
    o.shards = 2;
    o.when_full = BPCN_RECYCLE;
    bpcn_memory *m = create_plain(&o);
    (void)state;
    write_pictures(m, 0, 2 * WIDTH);
    assert_int_equal(kept(m), 2 * WIDTH);
    write_pictures(m, 2 * WIDTH, 1);
    assert_int_equal(kept(m), WIDTH + 1);
    bpcn_memory_free(m);
}

/* A half that two rows share decides nothing: the name is that of the row that the answer is nearer to, clearly, or
 * none. */
static void rows_that_are_nearly_equal_are_not_mistaken(void **state)
{
    bpcn_options o = picture_options(1024);
    bpcn_memory *m = create_plain(&o);
    (void)state;
    write_pictures(m, 0, 10);
    for (uint64_t i = 0; i < 10; i++) {
        float x[DIM], y[DIM], answer[DIM];
        unsigned char known[DIM];
        bpcn_read_info info;
        bpcn_name found;
        make_picture(i, x);
        memcpy(y, x, sizeof x);
        for (size_t j = 0; j <= i; j++)
            y[15 + 16 * j] += (y[15 + 16 * j] > 0 ? -8.f : 8.f) / 255; /* of the hidden half */
        assert_int_equal(write_as(m, y, "twin"), BPCN_OK);
        for (size_t j = 0; j < DIM; j++)
            known[j] = j % 16 < 8;
        assert_int_equal(bpcn_memory_read(m, x, known, 1, NULL, answer, &info), BPCN_OK);
        if (info.name == 0)
            continue;
        double to_x = 0, to_y = 0;
        for (size_t j = 0; j < DIM; j++) {
            to_x += pow((double)(answer[j] - x[j]), 2);
            to_y += pow((double)(answer[j] - y[j]), 2);
        }
        assert_int_equal(bpcn_memory_get_name(m, info.name, &found), BPCN_OK);
        assert_true(strcmp(found.name, "twin") == 0 ? to_y < to_x : to_x < to_y);
    }
    bpcn_memory_free(m);
}

static void delete_by_name_is_delete_by_value(void **state)
{
    bpcn_options o = picture_options(1024);
    bpcn_memory *a = create_plain(&o), *b = create_plain(&o);
    char name[64];
    size_t deleted = 0;
    (void)state;
    write_pictures(a, 0, 100);
    write_pictures(b, 0, 100);
    for (uint64_t i = 0; i < 100; i += 5) {
        float x[DIM];
        make_picture(i, x);
        bpcn_status status = bpcn_memory_delete_name(a, name_of(i));
        assert_true(status == BPCN_OK || status == BPCN_REFUSED);
        deleted += status == BPCN_OK;
        if (status == BPCN_OK)
            assert_int_equal(bpcn_memory_delete(b, x), BPCN_OK);
        assert_true(same_state(a, b));
        assert_int_equal(kept(a), 100 - deleted);
        ask(a, x, 0, name);
        assert_true(status != BPCN_OK || name[0] == '\0');
    }
    assert_true(deleted >= 18);
    assert_int_equal(bpcn_memory_delete_name(a, "nobody"), BPCN_INVALID);
    assert_string_equal(bpcn_error(), "no row named 'nobody' is kept");
    assert_true(same_state(a, b));
    bpcn_memory_free(a);
    bpcn_memory_free(b);
}

/* Entries of any size: not to be had again from the weights to the last bit, and then not at all. */
static void rows_that_cannot_be_had_again_are_refused(void **state)
{
    bpcn_options o = picture_options(8);
    bpcn_memory *m = create_plain(&o);
    float x[DIM];
    unsigned char known[DIM];
    const char *name = "holes";
    bpcn_write_info info;
    (void)state;
    make_row(1, DIM, x);
    assert_int_equal(write_as(m, x, "real"), BPCN_OK);
    memset(known, 1, sizeof known);
    known[7] = 0;
    bpcn_write_info_default(&info, sizeof info);
    info.names = &name;
    assert_int_equal(bpcn_memory_write(m, x, known, 1, &info), BPCN_OK);
    uint32_t before = state_sum(m);
    assert_int_equal(bpcn_memory_delete_name(m, "real"), BPCN_REFUSED);
    assert_non_null(strstr(bpcn_error(), "'real' cannot be had again exactly"));
    assert_int_equal(bpcn_memory_delete_name(m, "holes"), BPCN_REFUSED);
    assert_non_null(strstr(bpcn_error(), "written with holes"));
    assert_int_equal(state_sum(m), before);
    bpcn_memory_free(m);
}

/* Of short rows, and of tables, the rows themselves are kept. */
static void short_rows_are_deleted_by_name_whatever_they_are(void **state)
{
    (void)state;
    for (int kind = BPCN_NETWORKS; kind <= BPCN_TABLE; kind++) {
        bpcn_options o = small_options();
        o.hidden[0] = 8;
        o.names = 4;
        o.kind = (bpcn_kind)kind;
        bpcn_memory *a = create_plain(&o), *b = create_plain(&o);
        for (uint64_t i = 0; i < 3; i++)
            assert_true(write_named(a, i) == BPCN_OK && write_named(b, i) == BPCN_OK);
        float x[5];
        make_row(2, 5, x);
        assert_int_equal(bpcn_memory_delete_name(a, "row 2"), bpcn_memory_delete(b, x));
        assert_true(same_state(a, b));
        assert_int_equal(kept(a), 2);
        bpcn_memory_free(a);
        bpcn_memory_free(b);
    }
}

static void latest_of_the_same_name_counts(void **state)
{
    bpcn_options o = small_options();
    o.hidden[0] = 8;
    o.names = 4;
    bpcn_memory *m = create_plain(&o);
    float x[5], y[5];
    bpcn_name names[4];
    size_t count;
    (void)state;
    make_row(0, 5, x);
    make_row(1, 5, y);
    assert_true(write_as(m, x, "it") == BPCN_OK && write_as(m, y, "it") == BPCN_OK);
    assert_int_equal(bpcn_memory_delete_name(m, "it"), BPCN_OK);
    assert_int_equal(bpcn_memory_get_names(m, names, 4, &count), BPCN_OK);
    assert_int_equal(count, 1);
    assert_int_equal(names[0].number, 1);
    bpcn_memory_free(m);
}

static void bad_names_are_refused_before_anything_is_written(void **state)
{
    static const char *const bad[] = {"",
                                      "1234567890123456789012345678901234567890123456789012345678901234",
                                      "a\nb",
                                      "\x7f",
                                      "\xc2\x85",
                                      "\xff",
                                      "\xc3",
                                      "\xe2\x82",
                                      "\xed\xa0\x80",
                                      "\xc0\xaf",
                                      "\xf5\x80\x80\x80"};
    bpcn_options o = small_options();
    float rows[10];
    bpcn_write_info info;
    (void)state;
    o.names = 4;
    bpcn_memory *m = create_plain(&o);
    make_row(0, 10, rows);
    bpcn_write_info_default(&info, sizeof info);
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        const char *const names[] = {"good", bad[i]};
        info.names = names;
        assert_int_equal(bpcn_memory_write(m, rows, NULL, 2, &info), BPCN_INVALID);
        assert_non_null(strstr(bpcn_error(), "the name of row 1 is not"));
        assert_int_equal(kept(m), 0);
    }
    const char *const good[] = {"\xc3\xa4 \xe2\x82\xac \xf0\x9f\x90\x88",
                                "123456789012345678901234567890123456789012345678901234567890123"};
    info.names = good;
    assert_int_equal(bpcn_memory_write(m, rows, NULL, 2, &info), BPCN_OK);
    assert_int_equal(kept(m), 2);
    bpcn_memory_free(m);
    o.names = BPCN_MAX_NAMES + 1;
    assert_int_equal(bpcn_memory_create(&o, &m), BPCN_INVALID);
    assert_string_equal(bpcn_error(), "names is 65537, but must be at most 65536");
}

/* In the log, in the snapshot, in a copy, and after a delete in the log. */
static void names_come_back_with_their_rows(void **state)
{
    bpcn_options o = small_options();
    (void)state;
    o.hidden[0] = 8;
    o.names = 3;
    bpcn_memory *live = create_file(scratch("names"), &o, BPCN_SYNC_EACH), *m;
    for (uint64_t i = 0; i < 4; i++)
        assert_int_equal(write_named(live, i), BPCN_OK);
    for (int step = 0; step < 3; step++) {
        assert_int_equal(bpcn_memory_load(scratch("names"), &m), BPCN_OK);
        assert_true(same_state(m, live));
        assert_int_equal(kept(m), step < 2 ? 3 : 2);
        bpcn_memory_free(m);
        if (step == 0)
            assert_int_equal(bpcn_memory_checkpoint(live), BPCN_OK);
        else if (step == 1)
            assert_int_equal(bpcn_memory_delete_name(live, "row 3"), BPCN_OK);
    }
    bpcn_memory_free(live);
}

static void recovery_without_the_names_keeps_the_rows(void **state)
{
    bpcn_options o = small_options();
    bpcn_recovery report = {.size = sizeof report};
    size_t n, at = 0;
    (void)state;
    o.names = 9;
    bpcn_memory *m = create_file(scratch("whole"), &o, BPCN_SYNC_EACH);
    for (uint64_t i = 0; i < 4; i++)
        assert_int_equal(write_named(m, i), BPCN_OK);
    assert_int_equal(bpcn_memory_checkpoint(m), BPCN_OK);
    for (uint64_t i = 4; i < 6; i++)
        assert_int_equal(write_named(m, i), BPCN_OK);
    bpcn_memory_free(m);
    unsigned char *bytes = read_whole(scratch("whole"), &n);
    while (at + 8 < n && memcmp(bytes + at, "NAME\0\0\0\0", 8) != 0)
        at += 64;
    bytes[at + 200] ^= 1;
    write_whole(scratch("damaged"), bytes, n);
    assert_int_equal(bpcn_file_check(scratch("damaged"), NULL, NULL), BPCN_CORRUPT);
    assert_non_null(strstr(bpcn_error(), "the names (section at byte"));
    assert_int_equal(bpcn_file_recover(scratch("damaged"), scratch("mended"), &report), BPCN_OK);
    assert_int_equal(report.writes, 6);
    assert_int_equal(report.lost_shards, 0);
    m = reopen(scratch("mended"));
    assert_int_equal(kept(m), 2); /* of the rows in the log */
    bpcn_memory_free(m);
    free(bytes);
}

/* Where none are kept, a file is as it was before there were any: names given are passed over. */
static void memory_without_names_is_as_before(void **state)
{
    bpcn_options o = small_options();
    bpcn_memory *a = create_file(scratch("with"), &o, BPCN_SYNC_EACH),
                *b = create_file(scratch("without"), &o, BPCN_SYNC_EACH);
    size_t n, k;
    (void)state;
    for (uint64_t i = 0; i < 3; i++)
        assert_true(write_named(a, i) == BPCN_OK && write_row(b, i) == BPCN_OK);
    assert_int_equal(kept(a), 0);
    bpcn_memory_free(a);
    bpcn_memory_free(b);
    unsigned char *with = read_whole(scratch("with"), &n), *without = read_whole(scratch("without"), &k);
    assert_int_equal(n, k);
    assert_memory_equal(with, without, n);
    assert_int_equal(with[12], 0); /* no feature is required */
    free(with);
    free(without);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_name_that_is_said_is_right),
        cmocka_unit_test(latest_names_are_kept_in_constant_bytes),
        cmocka_unit_test(shards_that_are_recycled_take_their_names_along),
        cmocka_unit_test(rows_that_are_nearly_equal_are_not_mistaken),
        cmocka_unit_test(delete_by_name_is_delete_by_value),
        cmocka_unit_test(rows_that_cannot_be_had_again_are_refused),
        cmocka_unit_test(short_rows_are_deleted_by_name_whatever_they_are),
        cmocka_unit_test(latest_of_the_same_name_counts),
        cmocka_unit_test(bad_names_are_refused_before_anything_is_written),
        cmocka_unit_test(names_come_back_with_their_rows),
        cmocka_unit_test(recovery_without_the_names_keeps_the_rows),
        cmocka_unit_test(memory_without_names_is_as_before),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
