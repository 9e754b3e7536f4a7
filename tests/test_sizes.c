/* Callers and libraries of different versions: structs that are shorter or longer than the library's. */
#include "abi.h"
#include "store_common.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

enum { GUARD = 0xAB, MORE = 64, ROOM = 4096 };

/* A caller's struct of any size, with bytes behind it that are not the library's to touch. */
union guarded {
    size_t size;
    bpcn_options options;
    bpcn_read_options read;
    bpcn_write_info write;
    bpcn_open_options open;
    bpcn_stats stats;
    bpcn_file_info file;
    unsigned char bytes[ROOM];
};

static union guarded guard(void)
{
    union guarded g;
    memset(&g, GUARD, sizeof g);
    return g;
}

static int untouched(const union guarded *g, size_t from)
{
    for (size_t i = from; i < ROOM; i++)
        if (g->bytes[i] != GUARD)
            return 0;
    return 1;
}

static int zero(const unsigned char *bytes, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (bytes[i] != 0)
            return 0;
    return 1;
}

static void options_default(union guarded *g, size_t size)
{
    bpcn_options_default(&g->options, size);
}

static void read_default(union guarded *g, size_t size)
{
    bpcn_read_options_default(&g->read, size);
}

static void write_default(union guarded *g, size_t size)
{
    bpcn_write_info_default(&g->write, size);
}

static void open_default(union guarded *g, size_t size)
{
    bpcn_open_options_default(&g->open, size);
}

/* The structs that a call reads. */
static const struct input {
    const struct abi *kind;
    void (*fill)(union guarded *g, size_t size);
} inputs[] = {{&abi_options, options_default},
              {&abi_read_options, read_default},
              {&abi_write_info, write_default},
              {&abi_open_options, open_default}};

enum { INPUTS = sizeof inputs / sizeof *inputs };

/* Any call that takes input number i. */
static bpcn_status hand_over(size_t i, bpcn_memory *m, union guarded *g)
{
    float row[5] = {0}, out[5];
    bpcn_memory *made = NULL;
    bpcn_status status;
    if (i == 0)
        g->options.dim = 5;
    switch (i) {
    case 0:
        status = bpcn_memory_create(&g->options, &made);
        break;
    case 1:
        return bpcn_memory_read(m, row, NULL, 1, &g->read, out, NULL);
    case 2:
        return bpcn_memory_write(m, row, NULL, 1, &g->write);
    default:
        status = bpcn_memory_open(scratch("sizes"), &g->open, &made);
    }
    bpcn_memory_free(made);
    return status;
}

static bpcn_memory *small_memory(void)
{
    bpcn_options o = small_options();
    bpcn_memory_free(create_file(scratch("sizes"), &o, BPCN_SYNC_EACH));
    return create_plain(&o);
}

static void defaults_fill_what_the_caller_has_and_no_more(void **state)
{
    (void)state;
    for (size_t i = 0; i < INPUTS; i++) {
        size_t ours = inputs[i].kind->ours;
        union guarded all = guard();
        inputs[i].fill(&all, ours);
        for (size_t size = sizeof(size_t); size <= ours + MORE; size++) {
            size_t both = size < ours ? size : ours;
            union guarded g = guard();
            inputs[i].fill(&g, size);
            assert_int_equal(g.size, size);
            assert_memory_equal(g.bytes + sizeof size, all.bytes + sizeof size, both - sizeof size);
            assert_true(zero(g.bytes + both, size - both));
            assert_true(untouched(&g, size));
        }
    }
}

/* A struct that has grown since its first release, and one that has not. */
struct grown {
    size_t size;
    double old, later;
};

static const struct abi growing = {"grown", offsetof(struct grown, later), sizeof(struct grown)};

static void an_older_struct_is_read_up_to_its_end(void **state)
{
    (void)state;
    union guarded g = guard();
    struct grown full = {.size = sizeof full, .old = 1, .later = 2}; /* the defaults */
    g.size = growing.first;
    memcpy(g.bytes + offsetof(struct grown, old), &(double){7}, sizeof(double));
    assert_int_equal(abi_take(&growing, &g, &full), BPCN_OK);
    assert_true(full.old == 7 && full.later == 2);
    assert_int_equal(full.size, sizeof full);
}

static void an_older_struct_is_filled_up_to_its_end(void **state)
{
    (void)state;
    union guarded g = guard();
    struct grown full = {.size = sizeof full, .old = 1, .later = 2}, back = {0};
    abi_give(&growing, &full, &g, growing.first);
    memcpy(&back, &g, growing.first);
    assert_true(back.size == growing.first && back.old == 1);
    assert_true(untouched(&g, growing.first));
}

static void a_newer_struct_is_taken_when_what_is_new_is_zero(void **state)
{
    (void)state;
    bpcn_memory *m = small_memory();
    for (size_t i = 0; i < INPUTS; i++) {
        size_t ours = inputs[i].kind->ours;
        union guarded g = guard();
        inputs[i].fill(&g, ours + MORE);
        assert_int_equal(hand_over(i, m, &g), BPCN_OK);
        assert_int_equal(g.size, ours + MORE);
        assert_true(zero(g.bytes + ours, MORE) && untouched(&g, ours + MORE));
        for (size_t at = ours; at < ours + MORE; at += MORE - 1) { /* the first new byte, the last */
            inputs[i].fill(&g, ours + MORE);
            g.bytes[at] = 1;
            assert_int_equal(hand_over(i, m, &g), BPCN_INVALID);
            assert_non_null(strstr(bpcn_error(), "has no such field"));
            assert_non_null(strstr(bpcn_error(), inputs[i].kind->type));
        }
    }
    bpcn_memory_free(m);
}

static void a_size_that_no_version_has_is_refused(void **state)
{
    (void)state;
    bpcn_memory *m = small_memory();
    for (size_t i = 0; i < INPUTS; i++) {
        const size_t sizes[] = {0, inputs[i].kind->first - 1, SIZE_MAX};
        for (size_t k = 0; k < 3; k++) {
            union guarded g = guard();
            inputs[i].fill(&g, inputs[i].kind->ours);
            g.size = sizes[k];
            assert_int_equal(hand_over(i, m, &g), BPCN_INVALID);
            assert_non_null(strstr(bpcn_error(), ".size is "));
            assert_true(untouched(&g, inputs[i].kind->ours));
        }
    }
    bpcn_memory_free(m);
}

/* The calls that fill a struct of the caller's. */
static bpcn_status ask(size_t i, const bpcn_memory *m, union guarded *g)
{
    switch (i) {
    case 0:
        return bpcn_memory_get_options(m, &g->options);
    case 1:
        return bpcn_file_inspect(scratch("sizes"), NULL, &g->options);
    case 2:
        return bpcn_file_check(scratch("sizes"), NULL, &g->options);
    case 3:
        return bpcn_memory_get_stats(m, &g->stats);
    case 4:
        return bpcn_memory_get_file(m, &g->file);
    case 5:
        return bpcn_file_inspect(scratch("sizes"), &g->file, NULL);
    default:
        return bpcn_file_check(scratch("sizes"), &g->file, NULL);
    }
}

static void answers_fill_what_the_caller_has_and_no_more(void **state)
{
    (void)state;
    bpcn_options o = small_options();
    bpcn_memory *m = create_file(scratch("sizes"), &o, BPCN_SYNC_EACH);
    for (size_t i = 0; i < 7; i++) {
        const struct abi *kind = i < 3 ? &abi_options : i == 3 ? &abi_stats : &abi_file_info;
        for (size_t size = kind->ours; size <= kind->ours + MORE; size += MORE) {
            union guarded g = guard();
            g.size = size;
            assert_int_equal(ask(i, m, &g), BPCN_OK);
            assert_int_equal(g.size, size);
            assert_true(zero(g.bytes + kind->ours, size - kind->ours)); /* what it cannot know */
            assert_true(untouched(&g, size));
            assert_true(i >= 3 || g.options.dim == 5);
        }
        const size_t sizes[] = {0, kind->first - 1, SIZE_MAX};
        for (size_t k = 0; k < 3; k++) {
            union guarded g = guard();
            g.size = sizes[k];
            assert_int_equal(ask(i, m, &g), BPCN_INVALID);
            assert_true(untouched(&g, sizeof(size_t)));
        }
    }
    bpcn_memory_free(m);
}

static void elements_of_arrays_have_their_size_for_ever_and_zeros_in_reserve(void **state)
{
    (void)state;
    bpcn_memory *m = small_memory();
    float rows[10], out[10];
    bpcn_write_row became[2];
    bpcn_read_info info[2];
    bpcn_write_info write;
    bpcn_write_info_default(&write, sizeof write);
    assert_int_equal(sizeof *became, 64);
    assert_int_equal(sizeof *info, 128);
    memset(became, GUARD, sizeof became);
    memset(info, GUARD, sizeof info);
    make_row(1, 10, rows);
    write.rows = became;
    assert_int_equal(bpcn_memory_write(m, rows, NULL, 2, &write), BPCN_OK);
    assert_int_equal(bpcn_memory_read(m, rows, NULL, 2, NULL, out, info), BPCN_OK);
    for (size_t i = 0; i < 2; i++) {
        assert_true(zero(became[i].reserved, sizeof became[i].reserved));
        assert_true(zero(info[i].reserved, sizeof info[i].reserved));
    }
    bpcn_memory_free(m);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(defaults_fill_what_the_caller_has_and_no_more),
        cmocka_unit_test(an_older_struct_is_read_up_to_its_end),
        cmocka_unit_test(an_older_struct_is_filled_up_to_its_end),
        cmocka_unit_test(a_newer_struct_is_taken_when_what_is_new_is_zero),
        cmocka_unit_test(a_size_that_no_version_has_is_refused),
        cmocka_unit_test(answers_fill_what_the_caller_has_and_no_more),
        cmocka_unit_test(elements_of_arrays_have_their_size_for_ever_and_zeros_in_reserve),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
