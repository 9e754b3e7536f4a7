/* Memories of many shards whose reads go by the index, against the look at all shards. */
#define _XOPEN_SOURCE 700 /* mkdtemp */
#include "support.h"

#include "assign.h"
#include "routing.h"
#include "store.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { UNITS = 16, SHARDS = 40, N = UNITS * SHARDS };

/* Memories that have an index; rows of `shape` vary in precision, particles and activation. */
static bpcn_options shape(size_t i)
{
    const size_t hidden[] = {UNITS, UNITS};
    bpcn_options o = network(PICTURE, 2, hidden);
    o.sigma_x = 0.02;
    o.seed = 5 + i;
    o.shards = SHARDS;
    o.precision = i == 1 ? BPCN_FLOAT64 : BPCN_FLOAT32;
    o.particles = i == 2 ? 2 : 1;
    o.activation = i == 3 ? BPCN_RELU : BPCN_GELU;
    return o;
}

enum { WHOLE, LEFT, OWN, FEW, NOISY, KINDS };
static const char *const kind_name[KINDS] = {"whole rows", "left half", "half, others for each", "a tenth", "noise 0.3"};

struct queries {
    float *x;
    unsigned char *known; /* NULL for whole rows and noisy ones */
};

static struct queries queries_of(const float *x, size_t n, size_t kind)
{
    struct queries q = {room(n * PICTURE, sizeof *q.x), NULL};
    struct dice dice = {60 + kind};
    memcpy(q.x, x, n * PICTURE * sizeof *q.x);
    if (kind == NOISY)
        for (size_t j = 0; j < n * PICTURE; j++)
            q.x[j] += (float)(0.3 * dice_normal(&dice));
    if (kind == WHOLE || kind == NOISY)
        return q;
    q.known = room(n * PICTURE, 1);
    if (kind == LEFT)
        left_half(n, q.known);
    for (size_t j = 0; kind != LEFT && j < n * PICTURE; j++)
        q.known[j] = dice_uniform(&dice) < (kind == OWN ? 0.5 : 0.1);
    return q;
}

static void queries_free(struct queries q)
{
    free(q.x);
    free(q.known);
}

struct answers {
    float *out;
    bpcn_read_info *info;
};

static struct answers read_all(const bpcn_memory *m, struct queries q, size_t n)
{
    struct answers a = {room(n * PICTURE, sizeof *a.out), room(n, sizeof *a.info)};
    assert_ok(bpcn_memory_read(m, q.x, q.known, n, NULL, a.out, a.info));
    return a;
}

static void answers_free(struct answers a)
{
    free(a.out);
    free(a.info);
}

/* The same read by the residuals of all shards. */
static struct answers read_without_index(bpcn_memory *m, struct queries q, size_t n)
{
    struct index *index = m->contents.index;
    m->contents.index = NULL;
    struct answers a = read_all(m, q, n);
    m->contents.index = index;
    return a;
}

static size_t count_right(struct answers a, size_t n)
{
    size_t right = 0;
    for (size_t i = 0; i < n; i++)
        right += a.info[i].shard == i / UNITS;
    return right;
}

/* Where both readings take the same shard they give the same bits but for what a batch's size rounds. */
static void the_index_finds_the_shards_that_a_look_at_all_finds(void **state)
{
    (void)state;
    for (size_t s = 0; s < 4; s++) {
        struct gallery *g = gallery_of(shape(s), N, 40 + s);
        assert_non_null(g->memory->contents.index);
        assert_true(index_ready(g->memory->contents.index));
        for (size_t kind = 0; kind < KINDS; kind++) {
            struct queries q = queries_of(g->x, N, kind);
            struct answers by_index = read_all(g->memory, q, N), all = read_without_index(g->memory, q, N);
            double worst = 0;
            size_t other = 0, right = count_right(by_index, N), right_all = count_right(all, N);
            for (size_t i = 0; i < N; i++) {
                if (by_index.info[i].shard != all.info[i].shard)
                    other++;
                else
                    worst = fmax(worst, mean_square_error(PICTURE, by_index.out + i * PICTURE, all.out + i * PICTURE));
            }
            print_message("shape %zu, %s: right %zu, by all shards %zu of %d; %zu differ; error %.1g\n", s, kind_name[kind],
                          right, right_all, N, other, worst);
            assert_true(right + N / 200 >= right_all);
            assert_true(kind == FEW || right * 100 >= N * (size_t)99);
            assert_true(worst < 1e-4); /* a tenth known leaves a shallow minimum; pictures vary by 0.1 squared */
            answers_free(by_index);
            answers_free(all);
            queries_free(q);
        }
        gallery_free(g);
    }
}

/* A query alone is answered as in a batch. */
static void a_lone_query_is_answered_as_in_a_batch(void **state)
{
    (void)state;
    struct gallery *g = gallery_of(shape(0), N, 44);
    for (size_t kind = 0; kind < KINDS; kind++) {
        struct queries q = queries_of(g->x, N, kind);
        struct answers batch = read_all(g->memory, q, N);
        for (size_t i = 0; i < N; i += 31) {
            struct answers one = read_all(
                g->memory, (struct queries){q.x + i * PICTURE, q.known ? q.known + i * PICTURE : NULL}, 1);
            assert_int_equal(one.info[0].shard, batch.info[i].shard);
            /* other sums, other roundings: see above */
            assert_true(mean_square_error(PICTURE, one.out, batch.out + i * PICTURE) < 1e-4);
            answers_free(one);
        }
        answers_free(batch);
        queries_free(q);
    }
    gallery_free(g);
}

/* New rows are no less new, and their densities are those of a look at all shards. */
static void scores_are_those_of_all_shards(void **state)
{
    (void)state;
    struct gallery *g = gallery_of(shape(0), N, 45);
    double by_index[N], all[N];
    for (int unseen = 0; unseen < 2; unseen++) {
        const float *x = unseen ? g->unseen : g->x;
        assert_ok(bpcn_memory_score(g->memory, x, NULL, N, by_index));
        struct index *index = g->memory->contents.index;
        g->memory->contents.index = NULL;
        assert_ok(bpcn_memory_score(g->memory, x, NULL, N, all));
        g->memory->contents.index = index;
        for (size_t i = 0; i < N; i++) /* of some 600 nats; the search stops within 1e-2 */
            assert_near(by_index[i], all[i], 0.1);
    }
    struct answers a = read_all(g->memory, (struct queries){g->unseen, NULL}, N);
    for (size_t i = 0; i < N; i++)
        assert_int_not_equal(a.info[i].verdict, BPCN_KNOWN);
    answers_free(a);
    gallery_free(g);
}

/* ---- changes */

static struct index_query found(const bpcn_memory *m, const float *row)
{
    struct index_query q = {.row = row};
    assert_int_equal(index_find(m->contents.index, 1, &q), BPCN_OK);
    free(q.hits);
    return q;
}

static int indexed(const bpcn_memory *m, const float *row)
{
    struct index_query q = found(m, row);
    return q.how == INDEX_EQUAL && q.found > 0;
}

static void deleted_and_forgotten_rows_leave_the_index(void **state)
{
    (void)state;
    struct gallery *g = gallery_of(shape(0), N, 46);
    for (size_t i = 5; i < N; i += 100) {
        assert_true(indexed(g->memory, g->x + i * PICTURE));
        assert_ok(bpcn_memory_delete(g->memory, g->x + i * PICTURE));
        assert_false(indexed(g->memory, g->x + i * PICTURE));
    }
    assert_int_equal(index_items(g->memory->contents.index), N - 7);
    assert_ok(bpcn_memory_discount(g->memory, 0.99)); /* a hundredth of a precision of 1 / 0.02^2: recalled as before */
    assert_true(indexed(g->memory, g->x));
    assert_ok(bpcn_memory_forget(g->memory, 0.5));
    assert_true(indexed(g->memory, g->x));
    assert_ok(bpcn_memory_forget(g->memory, 1));
    assert_int_equal(index_items(g->memory->contents.index), 0);
    assert_false(indexed(g->memory, g->x));
    gallery_free(g);
}

static void a_recycled_shard_takes_its_rows_along(void **state)
{
    (void)state;
    bpcn_options o = shape(0);
    o.when_full = BPCN_RECYCLE;
    struct gallery *g = gallery_of(o, N, 47);
    size_t bytes = index_bytes(g->memory->contents.index);
    assert_ok(bpcn_memory_write(g->memory, g->unseen, NULL, N / 2, NULL));
    assert_false(indexed(g->memory, g->x));
    assert_true(indexed(g->memory, g->unseen));
    assert_true(indexed(g->memory, g->x + (N - 1) * PICTURE));
    assert_int_equal(index_items(g->memory->contents.index), N);
    assert_int_equal(index_bytes(g->memory->contents.index), bytes);
    struct answers a = read_all(g->memory, (struct queries){g->unseen, NULL}, N / 2);
    assert_int_equal(count_right(a, N / 2), N / 2);
    answers_free(a);
    gallery_free(g);
}

/* Beyond the rows that it has room for, the index remembers shards instead. */
static void an_overfull_memory_is_read_as_without_an_index(void **state)
{
    (void)state;
    struct gallery *g = gallery_of(shape(0), N, 48);
    assert_int_equal(index_missing(g->memory->contents.index), 0);
    assert_ok(bpcn_memory_write(g->memory, g->unseen, NULL, SHARDS, NULL)); /* one to each */
    assert_true(index_missing(g->memory->contents.index) >= SHARDS - 1);
    struct queries q = queries_of(g->x, N, OWN);
    struct answers by_index = read_all(g->memory, q, N), all = read_without_index(g->memory, q, N);
    assert_true(count_right(by_index, N) + N / 200 >= count_right(all, N));
    answers_free(by_index);
    answers_free(all);
    queries_free(q);
    gallery_free(g);
}

static void rows_with_gaps_are_found_too(void **state)
{
    (void)state;
    struct gallery *g = gallery_of(shape(0), N - UNITS, 49);
    unsigned char known[UNITS * PICTURE];
    struct dice dice = {50};
    for (size_t j = 0; j < UNITS * PICTURE; j++)
        known[j] = dice_uniform(&dice) < 0.8;
    assert_ok(bpcn_memory_write(g->memory, g->unseen, known, UNITS, NULL)); /* the last shard */
    assert_int_equal(index_missing(g->memory->contents.index), 1);
    assert_true(index_misses(g->memory->contents.index, SHARDS - 1));
    struct answers a = read_all(g->memory, (struct queries){g->unseen, known}, UNITS);
    for (size_t i = 0; i < UNITS; i++)
        assert_int_equal(a.info[i].shard, SHARDS - 1);
    answers_free(a);
    a = read_all(g->memory, (struct queries){g->x, NULL}, N - UNITS);
    assert_int_equal(count_right(a, N - UNITS), N - UNITS);
    answers_free(a);
    gallery_free(g);
}

/* Neither writes nor reads of any kind leave more than a third of the memory's size in the caches of its shards: norms,
   one factor of UNITS^2 doubles, and in the open shard a writer's G and its panels. */
static void many_small_shards_keep_little_for_readers(void **state)
{
    (void)state;
    const size_t hidden[] = {48, 48};
    bpcn_options o = network(PICTURE, 2, hidden);
    o.shards = 20;
    struct gallery *g = gallery_of(o, 20 * 48, 54);
    bpcn_stats stats = {.size = sizeof stats};
    assert_ok(bpcn_memory_get_stats(g->memory, &stats));
    print_message("%zu bytes; prepared after writing %zu", stats.bytes, stats.prepared_bytes);
    assert_true(stats.prepared_bytes * 3 < stats.bytes);
    for (size_t kind = 0; kind < KINDS; kind++) {
        struct queries q = queries_of(g->x, 20 * 48, kind);
        answers_free(read_all(g->memory, q, 20 * 48));
        answers_free(read_without_index(g->memory, q, 20 * 48));
        queries_free(q);
    }
    assert_ok(bpcn_memory_get_stats(g->memory, &stats));
    print_message(", after reading %zu\n", stats.prepared_bytes);
    assert_true(stats.prepared_bytes * 3 < stats.bytes);
    gallery_free(g);
}

/* ---- files */

static char folder[] = "/tmp/test_index_XXXXXX";

static const char *path_of(const char *name)
{
    static char path[2][64];
    static int turn;
    turn = !turn;
    snprintf(path[turn], sizeof path[turn], "%s/%s", folder, name);
    return path[turn];
}

static bpcn_memory *open_file(const char *name, const bpcn_options *create, int read_only)
{
    bpcn_open_options o;
    bpcn_memory *m;
    bpcn_open_options_default(&o, sizeof o);
    o.create = create;
    o.read_only = read_only;
    o.sync = BPCN_SYNC_MANUAL;
    o.threads = 1;
    assert_ok(bpcn_memory_open(path_of(name), &o, &m));
    return m;
}

static void check_same_index(const bpcn_memory *a, const bpcn_memory *b)
{
    const struct contents *c = &a->contents;
    size_t n = (size_t)index_file_bytes(index_form(c->index), index_count(c->index), PICTURE, c->options.shards);
    unsigned char *x = room(n, 1), *y = room(n, 1);
    assert_int_equal(index_form(c->index), index_form(b->contents.index));
    assert_int_equal(index_count(c->index), index_count(b->contents.index));
    assert_int_equal(index_items(c->index), index_items(b->contents.index));
    index_encode(c->index, 0, n, x);
    index_encode(b->contents.index, 0, n, y);
    assert_memory_equal(x, y, n);
    free(x);
    free(y);
}

/* Whatever was folded into the snapshot and whatever is still in the log, and though the writer never closed the file,
   whoever opens it has the index that the writer had. */
static void the_index_survives_a_crash(void **state)
{
    (void)state;
    bpcn_options o = shape(0);
    o.when_full = BPCN_RECYCLE;
    struct gallery *g = gallery_of(shape(0), N, 51);
    bpcn_memory *m = open_file("crash", &o, 0);
    const size_t steps[] = {40, 60, 300, 200, 40, 300, 40};
    const float *x = g->x;
    for (size_t s = 0, at = 0; s < sizeof steps / sizeof *steps; s++) {
        for (size_t i = 0; i < steps[s]; i++, at++)
            assert_ok(bpcn_memory_write(m, (at < N ? g->x : g->unseen) + at % N * PICTURE, NULL, 1, NULL));
        if (s == 3)
            assert_ok(bpcn_memory_delete(m, x + 590 * PICTURE));
        if (s == 4)
            assert_ok(bpcn_memory_forget(m, 0.1));
        bpcn_memory *reader = open_file("crash", NULL, 1);
        check_same_index(m, reader);
        bpcn_memory_free(reader);
        if (s % 2 == 0)
            assert_ok(bpcn_memory_checkpoint(m));
        reader = open_file("crash", NULL, 1);
        check_same_index(m, reader);
        bpcn_memory_free(reader);
    }
    bpcn_memory_free(m);
    m = open_file("crash", NULL, 0);
    bpcn_file_info info = {.size = sizeof info};
    assert_ok(bpcn_memory_get_file(m, &info));
    assert_true(info.file_bytes <= info.file_most);
    bpcn_memory_free(m);
    gallery_free(g);
}

/* A file of before has no index: its rows are found by their shards, and new rows by the index. */
static void a_file_without_an_index_gets_one_for_its_new_rows(void **state)
{
    (void)state;
    struct gallery *g = gallery_of(shape(0), N / 2, 52);
    struct index *index = g->memory->contents.index;
    g->memory->contents.index = NULL;
    assert_ok(bpcn_memory_save(g->memory, path_of("old")));
    g->memory->contents.index = index;
    bpcn_memory *m = open_file("old", NULL, 0);
    assert_non_null(m->contents.index);
    assert_int_equal(index_missing(m->contents.index), SHARDS / 2);
    assert_ok(bpcn_memory_write(m, g->unseen, NULL, N / 2, NULL));
    assert_int_equal(index_items(m->contents.index), N / 2);
    bpcn_memory_free(m);
    m = open_file("old", NULL, 0);
    assert_int_equal(index_missing(m->contents.index), SHARDS / 2);
    struct answers a = read_all(m, (struct queries){g->x, NULL}, N / 2);
    assert_int_equal(count_right(a, N / 2), N / 2);
    answers_free(a);
    a = read_all(m, (struct queries){g->unseen, NULL}, N / 2);
    for (size_t i = 0; i < N / 2; i++)
        assert_int_equal(a.info[i].shard, SHARDS / 2 + i / UNITS);
    answers_free(a);
    bpcn_memory_free(m);
    gallery_free(g);
}

/* Parameters that are set from outside may hold any rows. */
static void parameters_that_were_set_are_looked_at(void **state)
{
    (void)state;
    struct gallery *g = gallery_of(shape(0), N, 53);
    double mean[UNITS], variance;
    assert_ok(bpcn_memory_get_top(g->memory, 3, 0, mean, &variance));
    assert_ok(bpcn_memory_set_top(g->memory, 3, 0, mean, variance));
    assert_int_equal(index_missing(g->memory->contents.index), 1);
    assert_true(index_misses(g->memory->contents.index, 3));
    gallery_free(g);
}

static int make_folder(void **state)
{
    (void)state;
    return mkdtemp(folder) == NULL ? -1 : 0;
}

static int remove_folder(void **state)
{
    (void)state;
    unlink(path_of("crash"));
    unlink(path_of("old"));
    return rmdir(folder);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_index_finds_the_shards_that_a_look_at_all_finds),
        cmocka_unit_test(a_lone_query_is_answered_as_in_a_batch),
        cmocka_unit_test(scores_are_those_of_all_shards),
        cmocka_unit_test(deleted_and_forgotten_rows_leave_the_index),
        cmocka_unit_test(a_recycled_shard_takes_its_rows_along),
        cmocka_unit_test(an_overfull_memory_is_read_as_without_an_index),
        cmocka_unit_test(rows_with_gaps_are_found_too),
        cmocka_unit_test(parameters_that_were_set_are_looked_at),
        cmocka_unit_test(many_small_shards_keep_little_for_readers),
        cmocka_unit_test(the_index_survives_a_crash),
        cmocka_unit_test(a_file_without_an_index_gets_one_for_its_new_rows),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
