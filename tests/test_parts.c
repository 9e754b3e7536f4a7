/* A memory cut into parts: every shard has the prior of its number in the whole, and so, of the same rows, the same
   parameters and answers to the bit. */
#include "support.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

enum { DIM = 12, WIDTH = 4, SHARDS = 5, PARTS = 2, ROWS = SHARDS * WIDTH };

static bpcn_options whole_options(void)
{
    bpcn_options o;
    bpcn_options_default(&o, sizeof o);
    o.dim = DIM;
    o.layers = 2;
    o.hidden[0] = o.hidden[1] = WIDTH;
    o.seed = 7;
    o.shards = SHARDS;
    o.threads = 1; /* of another number of threads a write may differ in its last bits */
    return o;
}

/* Part p has the shards p, p + PARTS, ... of the whole. */
static bpcn_options part_options(size_t p)
{
    bpcn_options o = whole_options();
    o.shards = (SHARDS - p + PARTS - 1) / PARTS;
    o.first_shard = p;
    o.shard_step = PARTS;
    return o;
}

static const float *row(size_t i)
{
    static float x[DIM];
    for (size_t j = 0; j < DIM; j++)
        x[j] = (float)((i * 37 + j * 101 + i * j * 13) % 97) / 48.f - 1;
    return x;
}

static bpcn_memory *create(const bpcn_options *o)
{
    bpcn_memory *m;
    assert_int_equal(bpcn_memory_create(o, &m), BPCN_OK);
    return m;
}

static void fill(bpcn_memory *whole, bpcn_memory **part)
{
    for (size_t i = 0; i < ROWS; i++) {
        assert_int_equal(bpcn_memory_write(whole, row(i), NULL, 1, NULL), BPCN_OK);
        assert_int_equal(bpcn_memory_write(part[i / WIDTH % PARTS], row(i), NULL, 1, NULL), BPCN_OK);
    }
}

static void same_shard(const bpcn_memory *a, size_t shard_a, const bpcn_memory *b, size_t shard_b)
{
    double mean[2][WIDTH * DIM], covariance[2][WIDTH * WIDTH];
    for (size_t l = 0; l < 2; l++) {
        size_t entries = WIDTH * (l == 0 ? DIM : WIDTH);
        assert_int_equal(bpcn_memory_get_layer(a, shard_a, 0, l, mean[0], covariance[0]), BPCN_OK);
        assert_int_equal(bpcn_memory_get_layer(b, shard_b, 0, l, mean[1], covariance[1]), BPCN_OK);
        assert_memory_equal(mean[0], mean[1], entries * sizeof **mean);
        assert_memory_equal(covariance[0], covariance[1], sizeof *covariance);
    }
}

static void a_shard_of_a_part_is_that_of_the_whole_before_and_after_writes(void **state)
{
    (void)state;
    bpcn_options o = whole_options(), first = part_options(0), second = part_options(1);
    bpcn_memory *whole = create(&o), *part[PARTS] = {create(&first), create(&second)};
    same_shard(whole, 0, part[0], 0);
    fill(whole, part);
    for (size_t k = 0; k < SHARDS; k++)
        same_shard(whole, k, part[k % PARTS], k / PARTS);
    bpcn_memory_free(whole);
    bpcn_memory_free(part[0]);
    bpcn_memory_free(part[1]);
}

static void forgetting_all_restores_the_prior_of_the_number_in_the_whole(void **state)
{
    (void)state;
    bpcn_options second = part_options(1);
    bpcn_memory *written = create(&second), *empty = create(&second);
    assert_int_equal(bpcn_memory_write(written, row(0), NULL, 1, NULL), BPCN_OK);
    assert_int_equal(bpcn_memory_forget(written, 1), BPCN_OK);
    same_shard(written, 0, empty, 0);
    bpcn_memory_free(written);
    bpcn_memory_free(empty);
}

/* The winner of the whole wins its part, with the same answer and density. */
static void the_density_of_the_winning_shard_is_the_same_in_its_part(void **state)
{
    (void)state;
    bpcn_options o = whole_options(), first = part_options(0), second = part_options(1);
    bpcn_memory *whole = create(&o), *part[PARTS] = {create(&first), create(&second)};
    unsigned char known[DIM];
    bpcn_read_options read;
    bpcn_read_options_default(&read, sizeof read);
    read.noise = 0;
    read.shards = SHARDS;
    fill(whole, part);
    for (size_t j = 0; j < DIM; j++)
        known[j] = j % 3 != 0;
    for (size_t i = 0; i < ROWS; i++) {
        float of_whole[DIM], of_part[DIM];
        bpcn_read_info a, b, other;
        assert_int_equal(bpcn_memory_read(whole, row(i), known, 1, &read, of_whole, &a), BPCN_OK);
        size_t p = a.shard % PARTS;
        assert_int_equal(bpcn_memory_read(part[1 - p], row(i), known, 1, &read, of_part, &other), BPCN_OK);
        assert_int_equal(bpcn_memory_read(part[p], row(i), known, 1, &read, of_part, &b), BPCN_OK);
        assert_int_equal(b.shard, a.shard / PARTS);
        assert_memory_equal(&a.shard_density, &b.shard_density, sizeof a.shard_density);
        assert_memory_equal(of_whole, of_part, sizeof of_part);
        assert_true(other.shard_density <= a.shard_density + 1); /* within 1 the more familiar one wins */
    }
    bpcn_memory_free(whole);
    bpcn_memory_free(part[0]);
    bpcn_memory_free(part[1]);
}

static void the_density_of_the_only_shard_is_that_of_the_memory(void **state)
{
    (void)state;
    bpcn_options o = whole_options();
    o.shards = 1;
    bpcn_memory *m = create(&o);
    float answer[DIM];
    bpcn_read_info info;
    assert_int_equal(bpcn_memory_write(m, row(0), NULL, 1, NULL), BPCN_OK);
    assert_int_equal(bpcn_memory_read(m, row(0), NULL, 1, NULL, answer, &info), BPCN_OK);
    assert_memory_equal(&info.shard_density, &info.log_density, sizeof info.log_density);
    bpcn_memory_free(m);
}

static void a_file_keeps_the_place_in_the_whole(void **state)
{
    (void)state;
    char path[] = "/tmp/bpcn-parts-XXXXXX";
    int fd = mkstemp(path);
    bpcn_options second = part_options(1), kept = {.size = sizeof kept};
    bpcn_file_info info = {.size = sizeof info};
    bpcn_memory *written = create(&second), *loaded;
    second.shards = 1; /* a part of one shard is a part all the same */
    bpcn_memory *one = create(&second);
    assert_true(fd >= 0 && close(fd) == 0);
    assert_int_equal(bpcn_memory_save(one, path), BPCN_OK);
    assert_int_equal(bpcn_file_inspect(path, &info, &kept), BPCN_OK);
    assert_int_equal(info.version, 3);
    assert_int_equal(kept.first_shard, 1);
    assert_int_equal(kept.shard_step, PARTS);
    assert_int_equal(bpcn_memory_save(written, path), BPCN_OK);
    assert_int_equal(bpcn_memory_load(path, &loaded), BPCN_OK);
    for (size_t i = 0; i < 2 * WIDTH; i++) { /* into a shard that begins after loading, too */
        assert_int_equal(bpcn_memory_write(written, row(i), NULL, 1, NULL), BPCN_OK);
        assert_int_equal(bpcn_memory_write(loaded, row(i), NULL, 1, NULL), BPCN_OK);
    }
    same_shard(written, 0, loaded, 0);
    same_shard(written, 1, loaded, 1);
    unlink(path);
    bpcn_memory_free(written);
    bpcn_memory_free(loaded);
    bpcn_memory_free(one);
}

static void numbers_beyond_32_bits_are_refused_with_a_sentence(void **state)
{
    (void)state;
    bpcn_options o = part_options(1);
    bpcn_memory *m;
    o.shards = 1;
    o.first_shard = UINT32_MAX;
    assert_int_equal(bpcn_memory_create(&o, &m), BPCN_OK);
    bpcn_memory_free(m);
    o.shards = 2;
    assert_int_equal(bpcn_memory_create(&o, &m), BPCN_INVALID);
    assert_non_null(strstr(bpcn_error(), "first_shard is 4294967295 and shard_step 2"));
    o.first_shard = 0;
    o.shard_step = (size_t)UINT32_MAX + 1;
    assert_int_equal(bpcn_memory_create(&o, &m), BPCN_INVALID);
    assert_null(m);
}

/* Into an empty memory: its counts, its parameters, and where the next row goes. */
static void shards_that_are_set_are_those_of_the_memory_they_were_taken_from(void **state)
{
    (void)state;
    for (int when = BPCN_BLUR; when <= BPCN_RECYCLE; when++) {
        bpcn_options o = whole_options();
        o.when_full = (bpcn_when_full)when;
        bpcn_memory *from = create(&o), *to = create(&o);
        for (size_t i = 0; i < ROWS + 6; i++)
            assert_int_equal(bpcn_memory_write(from, row(i), NULL, 1, NULL), BPCN_OK);
        uint64_t rows[SHARDS], set[SHARDS];
        size_t shards;
        bpcn_stats stats = {.size = sizeof stats}, after = {.size = sizeof after};
        assert_int_equal(bpcn_memory_get_shards(from, rows, SHARDS, &shards), BPCN_OK);
        assert_int_equal(bpcn_memory_get_stats(from, &stats), BPCN_OK);
        assert_int_equal(bpcn_memory_set_shards(to, rows, shards, stats.open_shard), BPCN_OK);
        assert_int_equal(bpcn_memory_get_shards(to, set, SHARDS, &shards), BPCN_OK);
        assert_memory_equal(rows, set, sizeof rows);
        assert_int_equal(bpcn_memory_get_stats(to, &after), BPCN_OK);
        assert_int_equal(after.open_shard, stats.open_shard);
        bpcn_write_row row_from, row_to;
        bpcn_write_info info;
        bpcn_write_info_default(&info, sizeof info);
        for (size_t i = 0; i < 3; i++) {
            info.rows = &row_from;
            assert_int_equal(bpcn_memory_write(from, row(i), NULL, 1, &info), BPCN_OK);
            info.rows = &row_to;
            assert_int_equal(bpcn_memory_write(to, row(i), NULL, 1, &info), BPCN_OK);
            assert_int_equal(row_from.shard, row_to.shard);
        }
        bpcn_memory_free(from);
        bpcn_memory_free(to);
    }
}

static void counts_that_cannot_be_are_refused_and_change_nothing(void **state)
{
    (void)state;
    bpcn_options o = whole_options();
    o.when_full = BPCN_RECYCLE;
    bpcn_memory *m = create(&o);
    uint64_t rows[SHARDS + 1] = {1, WIDTH, 0, 2, 1, 1};
    bpcn_stats stats = {.size = sizeof stats};
    assert_int_equal(bpcn_memory_set_shards(m, NULL, 1, 0), BPCN_INVALID);
    assert_int_equal(bpcn_memory_set_shards(m, rows, 0, 0), BPCN_INVALID);
    assert_int_equal(bpcn_memory_set_shards(m, rows, SHARDS + 1, 0), BPCN_INVALID);
    assert_int_equal(bpcn_memory_set_shards(m, rows, 3, 3), BPCN_INVALID);
    rows[1] = WIDTH + 1;
    assert_int_equal(bpcn_memory_set_shards(m, rows, 3, 0), BPCN_INVALID);
    assert_int_equal(bpcn_memory_get_stats(m, &stats), BPCN_OK);
    assert_int_equal(stats.shards, 1);
    assert_int_equal(stats.writes, 0);
    bpcn_memory_free(m);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_shard_of_a_part_is_that_of_the_whole_before_and_after_writes),
        cmocka_unit_test(forgetting_all_restores_the_prior_of_the_number_in_the_whole),
        cmocka_unit_test(the_density_of_the_winning_shard_is_the_same_in_its_part),
        cmocka_unit_test(the_density_of_the_only_shard_is_that_of_the_memory),
        cmocka_unit_test(a_file_keeps_the_place_in_the_whole),
        cmocka_unit_test(numbers_beyond_32_bits_are_refused_with_a_sentence),
        cmocka_unit_test(shards_that_are_set_are_those_of_the_memory_they_were_taken_from),
        cmocka_unit_test(counts_that_cannot_be_are_refused_and_change_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
