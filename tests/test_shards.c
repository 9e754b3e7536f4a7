/*
 * Shards: a memory of several networks takes its rows one shard after the other, and answers from the one that has the
 * row. Whatever a shard does it does as a memory of its own would, with the same seed and the same rows.
 */
#include "support.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const size_t hidden[] = {16, 12};
enum { ROWS = 4, MOST = 6, CODE = 16 + 12 }; /* rows of a shard, shards of a memory, of one code */

static bpcn_options narrow(size_t shards, bpcn_when_full when_full)
{
    bpcn_options o = network(PICTURE, 2, hidden);
    o.sigma_x = 0.02;
    o.seed = 5;
    o.shards = shards;
    o.shard_rows = ROWS;
    o.when_full = when_full;
    return o;
}

/* Every shape that the laws of reading are checked with. */
enum { SHAPES = 4 };
static bpcn_options shape(size_t i)
{
    bpcn_options o = narrow(MOST, BPCN_BLUR);
    o.precision = i == 1 || i == 3 ? BPCN_FLOAT64 : BPCN_FLOAT32;
    o.particles = i >= 2 ? 2 : 1;
    return o;
}

/* A memory of its own with the seed of shard k and its rows: x [ROWS x PICTURE]. */
static bpcn_memory *alone(const bpcn_options *options, size_t k, const float *x)
{
    bpcn_options o = shard_options(options, k);
    o.shards = 1;
    bpcn_memory *m = make_memory(o);
    assert_ok(bpcn_memory_write(m, x, ROWS, NULL));
    return m;
}

static bpcn_stats stats_of(const bpcn_memory *m)
{
    bpcn_stats stats = {.size = sizeof stats};
    assert_ok(bpcn_memory_get_stats(m, &stats));
    return stats;
}

/* Whether two shards are the same in every bit of their parameters, as far as the header shows them. */
static int same_layer(const bpcn_memory *a, size_t i, const bpcn_memory *b, size_t j, size_t particle, size_t l)
{
    const struct model *shape = a->contents.shard[0];
    size_t above = shape->width[l + 1], means = above * shape->width[l], all = means + above * above;
    double *p = room(2 * all, sizeof *p), *q = p + all;
    assert_ok(bpcn_memory_get_layer(a, i, particle, l, p, p + means));
    assert_ok(bpcn_memory_get_layer(b, j, particle, l, q, q + means));
    int same = memcmp(p, q, all * sizeof *p) == 0;
    free(p);
    return same;
}

static int same_shard(const bpcn_memory *a, size_t i, const bpcn_memory *b, size_t j)
{
    const struct model *shape = a->contents.shard[0];
    size_t width = top_width(shape), particles = shape->options.particles;
    double *p = room(2 * (width + particles + 1), sizeof *p), *q = p + width + particles + 1;
    assert_ok(bpcn_memory_get_weights(a, i, p));
    assert_ok(bpcn_memory_get_weights(b, j, q));
    int same = memcmp(p, q, particles * sizeof *p) == 0;
    for (size_t k = 0; k < particles; k++) {
        assert_ok(bpcn_memory_get_top(a, i, k, p, p + width));
        assert_ok(bpcn_memory_get_top(b, j, k, q, q + width));
        same &= memcmp(p, q, (width + 1) * sizeof *p) == 0;
        for (size_t l = 0; l < shape->options.layers; l++)
            same &= same_layer(a, i, b, j, k, l);
    }
    free(p);
    return same;
}

/* ---- one shard */

static unsigned char *saved(const bpcn_memory *m, size_t *bytes)
{
    char path[] = "/tmp/bpcn-shards-XXXXXX";
    close(mkstemp(path));
    assert_ok(bpcn_memory_save(m, path));
    FILE *file = fopen(path, "rb");
    assert_non_null(file);
    unsigned char *all = room(1, 1 << 20);
    *bytes = fread(all, 1, 1 << 20, file);
    fclose(file);
    unlink(path);
    return all;
}

static void one_shard_is_the_memory_as_it_was_before_there_were_shards(void **state)
{
    (void)state;
    struct gallery *g = gallery_of(small_network(2), 6, 31);
    bpcn_options o = small_network(2);
    o.shards = 1;
    o.shard_rows = 2;
    bpcn_memory *one = make_memory(o);
    size_t n, m;
    float out[6 * PICTURE], again[6 * PICTURE];
    bpcn_read_info info[6], same[6];
    assert_ok(bpcn_memory_write(one, g->x, 6, NULL)); /* more than shard_rows: there is nowhere else */
    for (bpcn_memory *it = one; it != NULL; it = it == one ? g->memory : NULL) {
        assert_ok(bpcn_memory_delete(it, g->x + 5 * PICTURE));
        assert_ok(bpcn_memory_forget(it, 0.01));
    }
    assert_true(same_shard(one, 0, g->memory, 0));
    unsigned char *a = saved(one, &n), *b = saved(g->memory, &m);
    assert_int_equal(n, m);
    assert_memory_equal(a, b, n);
    assert_int_equal(a[8], 1); /* the version */
    assert_ok(bpcn_memory_read(one, g->x, NULL, 6, NULL, out, info));
    assert_ok(bpcn_memory_read(g->memory, g->x, NULL, 6, NULL, again, same));
    assert_memory_equal(out, again, sizeof out);
    assert_memory_equal(info, same, sizeof info);
    assert_int_equal(info[3].shard, 0);
    free(a);
    free(b);
    bpcn_memory_free(one);
    gallery_free(g);
}

static void impossible_shards_are_refused(void **state)
{
    (void)state;
    bpcn_memory *m;
    bpcn_options o = narrow(0, BPCN_BLUR);
    assert_status(bpcn_memory_create(&o, &m), BPCN_INVALID);
    assert_non_null(strstr(bpcn_error(), "shards is 0"));
    o.shards = BPCN_MAX_SHARDS + (size_t)1;
    assert_status(bpcn_memory_create(&o, &m), BPCN_INVALID);
    o = narrow(2, (bpcn_when_full)3);
    assert_status(bpcn_memory_create(&o, &m), BPCN_INVALID);
    assert_non_null(strstr(bpcn_error(), "when_full 3"));
    o = narrow(2, BPCN_BLUR);
    o.shard_rows = (size_t)UINT32_MAX + 1;
    assert_status(bpcn_memory_create(&o, &m), BPCN_INVALID);
    assert_non_null(strstr(bpcn_error(), "shard_rows"));
}

/* ---- which shard a row goes to */

static void rows_go_to_one_shard_after_the_other(void **state)
{
    (void)state;
    bpcn_write_row rows[MOST * ROWS];
    bpcn_write_info info;
    uint64_t of[MOST + 1] = {0};
    size_t begun;
    struct dice dice = {32};
    float x[MOST * ROWS * PICTURE];
    bpcn_memory *m = make_memory(narrow(MOST, BPCN_BLUR));
    pictures(&dice, MOST * ROWS, x);
    bpcn_write_info_default(&info, sizeof info);
    info.rows = rows;
    assert_int_equal(stats_of(m).shards, 1); /* shard 0 is there from the start */
    for (size_t i = 0; i < MOST * ROWS; i++) {
        info.rows = rows + i;
        assert_ok(bpcn_memory_write(m, x + i * PICTURE, 1, &info));
        assert_int_equal(rows[i].shard, i / ROWS);
        assert_int_equal(stats_of(m).shards, i / ROWS + 1);
        assert_int_equal(stats_of(m).open_shard, i / ROWS);
        assert_ok(bpcn_memory_get_shards(m, of, MOST + 1, &begun));
        assert_int_equal(begun, i / ROWS + 1);
        assert_int_equal(of[i / ROWS], i % ROWS + 1);
    }
    of[1] = 99;
    assert_ok(bpcn_memory_get_shards(m, of, 1, &begun)); /* as many as there is room for */
    assert_int_equal(begun, MOST);
    assert_int_equal(of[1], 99);
    assert_ok(bpcn_memory_get_shards(m, NULL, 0, &begun));
    assert_status(bpcn_memory_get_shards(m, NULL, 1, &begun), BPCN_INVALID);
    assert_status(bpcn_memory_get_shards(m, of, 1, NULL), BPCN_INVALID);
    bpcn_memory_free(m);
}

static void without_a_number_of_rows_a_shard_has_as_many_as_units(void **state)
{
    (void)state;
    bpcn_options o = narrow(2, BPCN_BLUR), back = {.size = sizeof back};
    o.shard_rows = 0;
    bpcn_memory *m = make_memory(o);
    assert_ok(bpcn_memory_get_options(m, &back));
    assert_int_equal(back.shard_rows, hidden[0]);
    assert_int_equal(back.shards, 2);
    bpcn_memory_free(m);
}

static void a_shard_depends_on_its_number_and_its_rows_alone(void **state)
{
    (void)state;
    for (size_t i = 0; i < SHAPES; i++) {
        bpcn_options o = shape(i), more = o;
        more.shards = 1000;
        struct gallery *few = gallery_of(o, 3 * ROWS, 33), *many = gallery_of(more, 3 * ROWS, 33);
        for (size_t k = 0; k < 3; k++) {
            bpcn_memory *own = alone(&o, k, few->x + k * ROWS * PICTURE);
            assert_true(same_shard(few->memory, k, many->memory, k));
            assert_true(same_shard(few->memory, k, own, 0));
            for (size_t j = 0; j < k; j++)
                assert_false(same_shard(few->memory, k, few->memory, j));
            bpcn_memory_free(own);
        }
        gallery_free(few);
        gallery_free(many);
    }
}

static uint64_t splitmix(uint64_t x)
{
    x += UINT64_C(0x9E3779B97F4A7C15);
    x = (x ^ (x >> 30)) * UINT64_C(0xBF58476D1CE4E5B9);
    x = (x ^ (x >> 27)) * UINT64_C(0x94D049BB133111EB);
    return x ^ (x >> 31);
}

/* Files do not hold what is drawn from it: it may never be another. */
static void the_seed_of_a_shard_is_the_one_in_the_format(void **state)
{
    (void)state;
    for (uint64_t seed = 0; seed < 1000; seed += 333)
        for (size_t k = 0; k < 5; k++) {
            bpcn_options o = {.seed = seed};
            assert_true(shard_options(&o, k).seed ==
                        (k == 0 ? seed : splitmix(splitmix(splitmix(5) + seed) + (uint64_t)k)));
        }
}

static void rows_may_be_written_in_calls_of_any_length(void **state)
{
    (void)state;
    struct gallery *together = gallery_of(narrow(MOST, BPCN_RECYCLE), (MOST + 2) * ROWS, 34);
    bpcn_memory *m = make_memory(narrow(MOST, BPCN_RECYCLE));
    size_t all = (MOST + 2) * ROWS;
    for (size_t i = 0, n = 1; i < all; i += n, n = n % 7 + 1)
        assert_ok(bpcn_memory_write(m, together->x + i * PICTURE, n < all - i ? n : all - i, NULL));
    struct snapshot *s = snapshot_take(together->memory);
    assert_true(snapshot_same(s, m));
    snapshot_free(s);
    bpcn_memory_free(m);
    gallery_free(together);
}

static void a_shard_takes_memory_when_it_is_first_written(void **state)
{
    (void)state;
    bpcn_options one = narrow(1, BPCN_BLUR), o = narrow(MOST, BPCN_RECYCLE);
    struct gallery *g = gallery_of(o, 2 * MOST * ROWS, 35);
    bpcn_memory *m = make_memory(o), *single = make_memory(one);
    size_t each = 0, most = stats_of(m).bytes_most;
    for (size_t i = 0; i < 2 * MOST * ROWS; i++) {
        size_t before = stats_of(m).bytes;
        assert_ok(bpcn_memory_write(m, g->x + i * PICTURE, 1, NULL));
        size_t grown = stats_of(m).bytes - before;
        if (i > 0 && i % ROWS == 0 && i < MOST * ROWS) {
            each = each > 0 ? each : grown;
            assert_true(grown == each && grown > 0);
        } else {
            assert_int_equal(grown, 0);
        }
        assert_int_equal(stats_of(m).bytes_most, most);
    }
    assert_int_equal(stats_of(m).bytes, most);
    assert_true(each < stats_of(single).bytes); /* as much as a memory of one, but for the handle */
    assert_true(each > stats_of(single).bytes / 2);
    bpcn_memory_free(m);
    bpcn_memory_free(single);
    gallery_free(g);
}

/* ---- when all are full */

static void a_full_memory_blurs_evenly(void **state)
{
    (void)state;
    struct gallery *g = gallery_of(narrow(3, BPCN_BLUR), 3 * ROWS + 7, 36);
    uint64_t rows[3];
    size_t begun;
    assert_ok(bpcn_memory_get_shards(g->memory, rows, 3, &begun));
    assert_int_equal(begun, 3);
    for (size_t k = 0; k < 3; k++)
        assert_int_equal(rows[k], ROWS + (k == 0 ? 3 : 2)); /* 7 rows over three, the first first */
    assert_int_equal(stats_of(g->memory).writes, 3 * ROWS + 7);
    gallery_free(g);
}

static void recycling_empties_the_oldest_shard_and_touches_no_other(void **state)
{
    (void)state;
    bpcn_options o = narrow(3, BPCN_RECYCLE);
    struct dice dice = {37};
    float x[9 * ROWS * PICTURE];
    bpcn_memory *m = make_memory(o);
    pictures(&dice, 9 * ROWS, x);
    assert_ok(bpcn_memory_write(m, x, 3 * ROWS, NULL));
    for (size_t round = 3; round < 9; round++) {
        size_t oldest = round % 3;
        bpcn_memory *own[3];
        for (size_t k = 0; k < 3; k++) /* what each has: the last ROWS that went to it, begun anew from its prior */
            own[k] = alone(&o, k, x + (k == oldest ? round : round - 3 + (k + 3 - oldest) % 3) * ROWS * PICTURE);
        for (size_t i = 0; i < ROWS; i++) {
            uint64_t rows[3];
            size_t begun;
            assert_ok(bpcn_memory_write(m, x + (round * ROWS + i) * PICTURE, 1, NULL));
            assert_ok(bpcn_memory_get_shards(m, rows, 3, &begun));
            assert_int_equal(rows[oldest], i + 1);
            assert_int_equal(stats_of(m).open_shard, oldest);
            for (size_t k = 0; k < 3; k++)
                if (k != oldest)
                    assert_true(same_shard(m, k, own[k], 0));
        }
        assert_true(same_shard(m, oldest, own[oldest], 0));
        for (size_t k = 0; k < 3; k++)
            bpcn_memory_free(own[k]);
    }
    bpcn_memory_free(m);
}

static void one_shard_can_be_recycled_too(void **state)
{
    (void)state;
    bpcn_options o = narrow(1, BPCN_RECYCLE);
    struct gallery *g = gallery_of(o, 3 * ROWS, 38);
    bpcn_memory *own = alone(&o, 0, g->x + 2 * ROWS * PICTURE);
    assert_true(same_shard(g->memory, 0, own, 0));
    bpcn_memory_free(own);
    gallery_free(g);
}

static void a_full_memory_that_refuses_changes_nothing_and_keeps_the_rows_before(void **state)
{
    (void)state;
    bpcn_options o = narrow(2, BPCN_REFUSE);
    struct gallery *full = gallery_of(o, 2 * ROWS, 39);
    bpcn_memory *m = make_memory(o);
    bpcn_write_row rows[3 * ROWS];
    bpcn_write_info info;
    float x[4 * ROWS * PICTURE];
    memcpy(x, full->x, sizeof x); /* and those unseen after them */
    bpcn_write_info_default(&info, sizeof info);
    info.rows = rows;
    assert_status(bpcn_memory_write(m, x, 3 * ROWS, &info), BPCN_FULL);
    assert_non_null(strstr(bpcn_error(), "full"));
    assert_string_equal(bpcn_status_name(BPCN_FULL), "full");
    assert_int_equal(info.written, 2 * ROWS);
    assert_int_equal(rows[2 * ROWS - 1].shard, 1);
    struct snapshot *s = snapshot_take(full->memory);
    assert_true(snapshot_same(s, m));
    assert_status(bpcn_memory_write(m, x, 1, &info), BPCN_FULL);
    assert_int_equal(info.written, 0);
    assert_true(snapshot_same(s, m));
    assert_ok(bpcn_memory_forget(m, 0)); /* all but writing goes on */
    assert_ok(bpcn_memory_delete(m, x));
    snapshot_free(s);
    bpcn_memory_free(m);
    gallery_free(full);
}

/* ---- reading */

/* Answers and what is said about them. */
struct reading {
    float *out;
    bpcn_read_info *info;
};

static struct reading read_all(const bpcn_memory *m, const float *query, const unsigned char *known, size_t n,
                               const bpcn_read_options *options)
{
    struct reading r = {room(n * PICTURE, sizeof *r.out), room(n, sizeof *r.info)};
    assert_ok(bpcn_memory_read(m, query, known, n, options, r.out, r.info));
    return r;
}

static void reading_free(struct reading r)
{
    free(r.out);
    free(r.info);
}

/* Half of the entries, others for every row. */
static void half_of_each(struct dice *dice, size_t n, unsigned char *known)
{
    for (size_t j = 0; j < n * PICTURE; j++)
        known[j] = dice_uniform(dice) < 0.5;
}

/* Row i was written to shard i / ROWS, which answers, and its answer is the row. Pictures vary by about 0.3 a pixel
   (0.1 squared), and a sixteenth of that is what another picture would never have by chance. */
static void check_answers(const struct gallery *g, struct reading r, const char *how, double tolerance)
{
    double worst = 0;
    for (size_t i = 0; i < MOST * ROWS; i++) {
        assert_int_equal(r.info[i].shard, i / ROWS);
        worst = fmax(worst, mean_square_error(PICTURE, r.out + i * PICTURE, g->x + i * PICTURE));
    }
    print_message("%s: mean square error at most %.2g\n", how, worst);
    assert_true(worst < tolerance);
}

static void a_query_is_answered_by_the_shard_that_has_it(void **state)
{
    (void)state;
    for (size_t s = 0; s < SHAPES; s++) {
        enum { N = MOST * ROWS };
        struct gallery *g = gallery_of(shape(s), N, 40);
        struct dice dice = {41};
        bpcn_read_options exact;
        unsigned char left[N * PICTURE], own[N * PICTURE];
        float noisy[N * PICTURE];
        struct reading r;
        bpcn_read_options_default(&exact, sizeof exact);
        left_half(N, left);
        half_of_each(&dice, N, own);
        dice_normals_f32(&dice, N * PICTURE, 0.1, noisy);
        for (size_t j = 0; j < N * PICTURE; j++)
            noisy[j] += g->x[j];
        reading_free((check_answers(g, r = read_all(g->memory, g->x, NULL, N, NULL), "whole rows", 0.005), r));
        reading_free((check_answers(g, r = read_all(g->memory, g->x, left, N, NULL), "one mask", 0.005), r));
        reading_free((check_answers(g, r = read_all(g->memory, g->x, own, N, NULL), "a mask each", 0.005), r));
        reading_free((check_answers(g, r = read_all(g->memory, noisy, NULL, N, NULL), "noise", 0.005), r));
        exact.noise = 0.1;
        reading_free((check_answers(g, r = read_all(g->memory, noisy, left, N, &exact), "noise and a mask", 0.02), r));
        gallery_free(g);
    }
}

/* Two steps of the quick look with a stand-in for a row's own G put others before the right shard by chance when there
   are many and little is known; looked at closely, it comes first. */
static void among_many_shards_a_few_entries_of_its_own_find_a_row(void **state)
{
    (void)state;
    enum { SHARDS = 96, UNITS = 12, N = SHARDS * UNITS };
    const size_t equal[] = {UNITS, UNITS};
    bpcn_options o = network(PICTURE, 2, equal);
    bpcn_read_options one;
    o.shards = SHARDS;
    struct gallery *g = gallery_of(o, N, 47);
    struct dice dice = {48};
    unsigned char *known = room(N, PICTURE);
    size_t right = 0;
    for (size_t j = 0; j < N * PICTURE; j++)
        known[j] = dice_uniform(&dice) < 0.12;
    bpcn_read_options_default(&one, sizeof one);
    one.shards = 1; /* the quick look alone chooses */
    struct reading r = read_all(g->memory, g->x, known, N, &one);
    for (size_t i = 0; i < N; i++)
        right += r.info[i].shard == i / UNITS;
    print_message("%zu of %d right\n", right, N);
    assert_true(right > 0.98 * N); /* 23 entries against 12 units: others explain some as well. Without it 92 % */
    reading_free(r);
    free(known);
    gallery_free(g);
}

/* Reading a row in a shard gives the same bits whichever rows are read there beside it, where all know the same. */
static void the_default_answers_as_all_shards_would(void **state)
{
    (void)state;
    for (size_t s = 0; s < SHAPES; s++) {
        enum { N = MOST * ROWS };
        struct gallery *g = gallery_of(shape(s), N, 42);
        bpcn_read_options all;
        unsigned char left[N * PICTURE];
        left_half(N, left);
        bpcn_read_options_default(&all, sizeof all);
        all.shards = 1000;
        for (int masked = 0; masked < 2; masked++) {
            struct reading few = read_all(g->memory, g->x, masked ? left : NULL, N, NULL),
                           every = read_all(g->memory, g->x, masked ? left : NULL, N, &all);
            assert_memory_equal(few.out, every.out, N * PICTURE * sizeof *few.out);
            for (size_t i = 0; i < N; i++) {
                assert_int_equal(few.info[i].shard, every.info[i].shard);
                assert_true(few.info[i].evaluations <= every.info[i].evaluations);
            }
            reading_free(few);
            reading_free(every);
        }
        gallery_free(g);
    }
}

static void an_answer_is_that_of_a_memory_of_the_shard_alone(void **state)
{
    (void)state;
    for (size_t s = 0; s < SHAPES; s++) {
        enum { N = MOST * ROWS };
        bpcn_options o = shape(s);
        struct gallery *g = gallery_of(o, N, 43);
        unsigned char left[N * PICTURE];
        float codes[N * CODE], own_codes[ROWS * CODE];
        left_half(N, left);
        struct reading r = read_all(g->memory, g->x, left, N, NULL);
        assert_ok(bpcn_memory_infer(g->memory, g->x, left, N, NULL, codes, NULL));
        for (size_t k = 0; k < MOST; k++) {
            const float *x = g->x + k * ROWS * PICTURE;
            bpcn_memory *m = alone(&o, k, x);
            struct reading own = read_all(m, x, left, ROWS, NULL);
            assert_memory_equal(own.out, r.out + k * ROWS * PICTURE, ROWS * PICTURE * sizeof *own.out);
            assert_ok(bpcn_memory_infer(m, x, left, ROWS, NULL, own_codes, NULL));
            assert_memory_equal(own_codes, codes + k * ROWS * CODE, sizeof own_codes);
            for (size_t i = 0; i < ROWS; i++) {
                const bpcn_read_info *a = &r.info[k * ROWS + i], *b = &own.info[i];
                assert_true(a->energy == b->energy && a->familiarity == b->familiarity && a->noise == b->noise &&
                            a->residual == b->residual && a->variance == b->variance && a->particle == b->particle &&
                            a->converged == b->converged);
            }
            reading_free(own);
            bpcn_memory_free(m);
        }
        reading_free(r);
        gallery_free(g);
    }
}

static void an_answer_may_take_the_place_of_its_query(void **state)
{
    (void)state;
    enum { N = MOST * ROWS };
    struct gallery *g = gallery_of(shape(0), N, 44);
    float *x = room(N * PICTURE, sizeof *x);
    memcpy(x, g->unseen, N * PICTURE * sizeof *x);
    struct reading r = read_all(g->memory, x, NULL, N, NULL);
    assert_ok(bpcn_memory_read(g->memory, x, NULL, N, NULL, x, NULL));
    assert_memory_equal(x, r.out, N * PICTURE * sizeof *x);
    reading_free(r);
    free(x);
    gallery_free(g);
}

/* An energy of a batch is summed in another order than that of a single row. */
static void same_but_for_roundings(const bpcn_read_info *a, const bpcn_read_info *b)
{
    assert_true(a->shard == b->shard && a->particle == b->particle && a->evaluations == b->evaluations);
    assert_near(a->energy, b->energy, 1e-9 * (1 + fabs(b->energy)));
    assert_near(a->log_density, b->log_density, 1e-9 * (1 + fabs(b->log_density)));
    assert_near(a->familiarity, b->familiarity, 1e-9);
}

static void answers_depend_neither_on_the_calls_nor_on_the_threads(void **state)
{
    (void)state;
    enum { N = MOST * ROWS };
    for (int masked = 0; masked < 2; masked++) {
        bpcn_options o = shape(0);
        struct gallery *g = gallery_of(o, N, 45);
        unsigned char left[N * PICTURE], *known = masked ? left : NULL;
        left_half(N, left);
        for (size_t i = 0; i < N; i += 2) /* half of them rows that no shard has */
            memcpy(g->x + i * PICTURE, g->unseen + i * PICTURE, PICTURE * sizeof *g->x);
        struct reading r = read_all(g->memory, g->x, known, N, NULL);
        for (size_t i = 0, n = 1; i < N; i += n, n = n % 5 + 1) {
            size_t some = n < N - i ? n : N - i;
            struct reading part = read_all(g->memory, g->x + i * PICTURE, known, some, NULL);
            assert_memory_equal(part.out, r.out + i * PICTURE, some * PICTURE * sizeof *r.out);
            for (size_t k = 0; k < some; k++)
                same_but_for_roundings(&part.info[k], &r.info[i + k]);
            reading_free(part);
        }
        for (int threads = 2; threads <= 5; threads++) { /* shards side by side, and threads in one shard */
            struct crew *before = g->memory->crew;
            g->memory->crew = crew_create(threads);
            struct reading again = read_all(g->memory, g->x, known, N, NULL);
            assert_memory_equal(again.out, r.out, N * PICTURE * sizeof *r.out);
            assert_memory_equal(again.info, r.info, N * sizeof *r.info);
            reading_free(again);
            crew_free(g->memory->crew);
            g->memory->crew = before;
        }
        reading_free(r);
        gallery_free(g);
    }
}

static void no_more_shards_are_read_than_asked_for(void **state)
{
    (void)state;
    enum { N = MOST * ROWS };
    bpcn_options o = shape(0);
    struct gallery *g = gallery_of(o, N, 46);
    bpcn_read_options one;
    unsigned char nothing[PICTURE] = {0};
    bpcn_read_options_default(&one, sizeof one);
    one.shards = 1;
    for (size_t i = 0; i < N; i += 5) { /* a row that is known in full, and one of which nothing is: all are alike */
        struct reading whole = read_all(g->memory, g->x + i * PICTURE, NULL, 1, &one),
                       blank = read_all(g->memory, g->x + i * PICTURE, nothing, 1, &one);
        for (int b = 0; b < 2; b++) {
            size_t k = (size_t)(b ? blank : whole).info->shard;
            bpcn_memory *own = alone(&o, k, g->x + k * ROWS * PICTURE);
            struct reading r = read_all(own, g->x + i * PICTURE, b ? nothing : NULL, 1, NULL);
            assert_int_equal(r.info->evaluations, (b ? blank : whole).info->evaluations);
            assert_memory_equal(r.out, (b ? blank : whole).out, PICTURE * sizeof *r.out);
            reading_free(r);
            bpcn_memory_free(own);
        }
        reading_free(whole);
        reading_free(blank);
    }
    gallery_free(g);
}

static void what_a_quick_look_keeps_is_counted(void **state)
{
    (void)state;
    bpcn_options o = shape(0);
    struct gallery *g = gallery_of(o, MOST * ROWS, 46);
    bpcn_read_options one;
    bpcn_read_options_default(&one, sizeof one);
    one.shards = 1;
    assert_ok(bpcn_memory_forget(g->memory, 0.001)); /* what the writes had is gone */
    size_t before = stats_of(g->memory).prepared_bytes;
    reading_free(read_all(g->memory, g->x, NULL, 1, &one));
    size_t looked = hidden[0] * hidden[0] * sizeof(double) + PICTURE * hidden[0] * sizeof(float); /* factor and means */
    assert_true(stats_of(g->memory).prepared_bytes >= before + MOST * looked);
    gallery_free(g);
}

static void without_layers_the_nearest_top_answers(void **state)
{
    (void)state;
    bpcn_options o = narrow(MOST, BPCN_BLUR);
    o.layers = 0;
    o.shard_rows = 1;
    struct gallery *g = gallery_of(o, MOST, 47);
    bpcn_read_options one;
    double energy[MOST];
    float samples[2 * PICTURE], no_code[1];
    bpcn_read_options_default(&one, sizeof one);
    for (one.shards = 0; one.shards < 3; one.shards++) {
        struct reading r = read_all(g->memory, g->x, NULL, MOST, &one);
        for (size_t i = 0; i < MOST; i++)
            assert_int_equal(r.info[i].shard, i);
        reading_free(r);
    }
    assert_ok(bpcn_memory_energy(g->memory, g->x, NULL, NULL, MOST, NULL, energy, no_code));
    assert_ok(bpcn_memory_infer(g->memory, g->x, NULL, MOST, NULL, no_code, NULL));
    assert_ok(bpcn_memory_sample(g->memory, 2, 1, samples));
    assert_ok(bpcn_memory_delete(g->memory, g->x + 3 * PICTURE));
    assert_ok(bpcn_memory_forget(g->memory, 0.5));
    assert_ok(bpcn_memory_discount(g->memory, 0.5));
    gallery_free(g);
}

/* ---- the mixture */

enum { MIXED = 3 }; /* shards, all of which are looked at; the last has fewer rows */

struct mixture {
    struct gallery *g;
    bpcn_memory *own[MIXED];
    double share[MIXED];
};

static struct mixture mixture_of(bpcn_options o)
{
    enum { ALL = MIXED * ROWS - 2 };
    struct mixture m = {.g = gallery_of(o, ALL, 48)};
    for (size_t k = 0; k < MIXED; k++) {
        size_t rows = k + 1 < MIXED ? ROWS : ROWS - 2;
        bpcn_options own = shard_options(&o, k);
        own.shards = 1;
        m.own[k] = make_memory(own);
        assert_ok(bpcn_memory_write(m.own[k], m.g->x + k * ROWS * PICTURE, rows, NULL));
        m.share[k] = (double)rows / ALL;
    }
    return m;
}

static void mixture_free(struct mixture m)
{
    for (size_t k = 0; k < MIXED; k++)
        bpcn_memory_free(m.own[k]);
    gallery_free(m.g);
}

/* log sum of share exp(value) */
static double mixed(const struct mixture *m, const double *value)
{
    double high = -INFINITY, sum = 0;
    for (size_t k = 0; k < MIXED; k++)
        high = fmax(high, value[k]);
    for (size_t k = 0; k < MIXED; k++)
        sum += m->share[k] * exp(value[k] - high);
    return high + log(sum);
}

/* The same densities, added up here in another order: roundings of double of numbers of some hundreds. */
static void a_score_is_the_density_of_the_mixture_by_rows(void **state)
{
    (void)state;
    for (size_t s = 0; s < SHAPES; s++) {
        struct mixture m = mixture_of(shape(s));
        unsigned char left[8 * PICTURE];
        left_half(8, left);
        for (int masked = 0; masked < 2; masked++) {
            double score[8], own[MIXED][8];
            float x[8 * PICTURE];
            memcpy(x, m.g->x + 3 * PICTURE, 4 * PICTURE * sizeof *x);
            memcpy(x + 4 * PICTURE, m.g->unseen, 4 * PICTURE * sizeof *x);
            for (size_t j = 0; j < PICTURE; j++)
                x[7 * PICTURE + j] = 0; /* which every shard explains about as well */
            assert_ok(bpcn_memory_score(m.g->memory, x, masked ? left : NULL, 8, score));
            for (size_t k = 0; k < MIXED; k++)
                assert_ok(bpcn_memory_score(m.own[k], x, masked ? left : NULL, 8, own[k]));
            for (size_t i = 0; i < 8; i++) {
                double value[MIXED];
                for (size_t k = 0; k < MIXED; k++)
                    value[k] = own[k][i];
                assert_near(score[i], mixed(&m, value), 1e-9 * (1 + fabs(score[i])));
            }
        }
        mixture_free(m);
    }
}

/* Codes of the first rows, and some that are far from any. */
static void codes_of(const struct mixture *m, size_t n, float *codes)
{
    struct dice dice = {49};
    assert_ok(bpcn_memory_infer(m->g->memory, m->g->x, NULL, n, NULL, codes, NULL));
    dice_normals_f32(&dice, n / 2 * CODE, 0.3, codes);
}

static void an_energy_is_that_of_the_mixture_by_rows(void **state)
{
    (void)state;
    for (size_t s = 0; s < SHAPES; s++) {
        enum { N = 4 };
        struct mixture m = mixture_of(shape(s));
        float codes[N * CODE], grad[N * CODE], own_grad[MIXED][N * CODE];
        double energy[N], own[MIXED][N];
        codes_of(&m, N, codes);
        for (size_t j = 0; j < N * CODE; j++)
            grad[j] = NAN; /* whatever was there is not seen in what comes */
        assert_ok(bpcn_memory_energy(m.g->memory, m.g->x, NULL, codes, N, NULL, energy, grad));
        for (size_t k = 0; k < MIXED; k++)
            assert_ok(bpcn_memory_energy(m.own[k], m.g->x, NULL, codes, N, NULL, own[k], own_grad[k]));
        for (size_t i = 0; i < N; i++) {
            double value[MIXED];
            for (size_t k = 0; k < MIXED; k++)
                value[k] = -own[k][i];
            double all = mixed(&m, value);
            assert_near(energy[i], -all, 1e-9 * (1 + fabs(all)));
            for (size_t j = i * CODE; j < (i + 1) * CODE; j++) {
                double want = 0, most = 1;
                for (size_t k = 0; k < MIXED; k++) {
                    want += m.share[k] * exp(value[k] - all) * (double)own_grad[k][j];
                    most = fmax(most, fabs((double)own_grad[k][j]));
                }
                assert_near((double)grad[j], want, 1e-6 * most); /* floats */
            }
        }
        mixture_free(m);
    }
}

/* A mixture whose parts weigh about the same, so that the weights' own slopes count: three shards that each know
   little. Central differences of step h err by h^2 times the third derivative, some tens (with h = 2^-9 by 1e-4 in
   all), and by the roundings of energies of some hundreds over h, 1e-9. The gradient leaves as a float. */
static void the_gradient_of_the_energy_is_its_slope(void **state)
{
    (void)state;
    enum { N = 2 };
    bpcn_options o = shape(3);
    o.sigma_x = 1;
    struct mixture m = mixture_of(o);
    float codes[N * CODE], grad[N * CODE], moved[N * CODE];
    double low[N], high[N], energy[N];
    codes_of(&m, N, codes);
    assert_ok(bpcn_memory_energy(m.g->memory, m.g->x, NULL, codes, N, NULL, energy, grad));
    for (size_t j = 0; j < CODE; j++) {
        const float h = 0x1p-14f;
        for (int up = 0; up < 2; up++) {
            memcpy(moved, codes, sizeof moved);
            for (size_t i = 0; i < N; i++)
                moved[i * CODE + j] += up ? h : -h;
            assert_ok(bpcn_memory_energy(m.g->memory, m.g->x, NULL, moved, N, NULL, up ? high : low, NULL));
        }
        for (size_t i = 0; i < N; i++) {
            double step = (double)(codes[i * CODE + j] + h) - (double)(codes[i * CODE + j] - h);
            double slope = (high[i] - low[i]) / step, got = (double)grad[i * CODE + j];
            assert_near(got, slope, 1e-6 * (1 + fabs(slope)));
        }
    }
    mixture_free(m);
}

static void samples_come_from_every_shard_and_a_draw_gives_the_same(void **state)
{
    (void)state;
    enum { N = 200 };
    bpcn_options o = narrow(MIXED, BPCN_BLUR);
    o.sigma_x = 1e-3; /* a sample is what a shard's top predicts, with little noise */
    struct mixture m = mixture_of(o);
    float *x = room(2 * N * PICTURE, sizeof *x), mean[MIXED * PICTURE];
    size_t count[MIXED] = {0};
    assert_ok(bpcn_memory_sample(m.g->memory, N, 7, x));
    assert_ok(bpcn_memory_sample(m.g->memory, N, 7, x + N * PICTURE));
    assert_memory_equal(x, x + N * PICTURE, N * PICTURE * sizeof *x);
    assert_ok(bpcn_memory_sample(m.g->memory, N, 8, x + N * PICTURE));
    assert_memory_not_equal(x, x + N * PICTURE, N * PICTURE * sizeof *x);
    for (size_t k = 0; k < MIXED; k++)
        assert_ok(bpcn_memory_sample(m.own[k], 1, 1, mean + k * PICTURE));
    for (size_t i = 0; i < N; i++) {
        size_t nearest = 0;
        for (size_t k = 1; k < MIXED; k++)
            if (mean_square_error(PICTURE, x + i * PICTURE, mean + k * PICTURE) <
                mean_square_error(PICTURE, x + i * PICTURE, mean + nearest * PICTURE))
                nearest = k;
        count[nearest]++;
    }
    for (size_t k = 0; k < MIXED; k++) /* four standard deviations of a binomial */
        assert_near((double)count[k], N * m.share[k], 4 * sqrt(N * m.share[k] * (1 - m.share[k])));
    free(x);
    mixture_free(m);
}

/* ---- changes of shards that are there */

static void a_row_is_deleted_from_the_shard_that_has_it(void **state)
{
    (void)state;
    for (size_t s = 0; s < SHAPES; s++) {
        enum { N = MOST * ROWS };
        struct gallery *g = gallery_of(shape(s), N, 50);
        for (size_t i = 1; i < N; i += 5) {
            bpcn_memory *before = make_memory(shape(s));
            assert_ok(bpcn_memory_write(before, g->x, N, NULL));
            struct snapshot *now = snapshot_take(g->memory);
            snapshot_restore(now, before);
            double there, gone;
            assert_ok(bpcn_memory_score(g->memory, g->x + i * PICTURE, NULL, 1, &there));
            assert_ok(bpcn_memory_delete(g->memory, g->x + i * PICTURE));
            assert_ok(bpcn_memory_score(g->memory, g->x + i * PICTURE, NULL, 1, &gone));
            assert_true(gone < there - 50); /* 192 entries, each a good part of a nat dearer */
            for (size_t k = 0; k < MOST; k++)
                assert_int_equal(same_shard(g->memory, k, before, k), k != i / ROWS);
            snapshot_free(now);
            bpcn_memory_free(before);
        }
        assert_int_equal(stats_of(g->memory).deletes, 5);
        gallery_free(g);
    }
}

static void a_row_that_no_shard_has_is_not_deleted(void **state)
{
    (void)state;
    for (size_t s = 0; s < SHAPES; s++) {
        enum { N = MOST * ROWS };
        struct gallery *g = gallery_of(shape(s), N, 51);
        struct snapshot *before = snapshot_take(g->memory);
        for (size_t i = 0; i < N; i++)
            assert_status(bpcn_memory_delete(g->memory, g->unseen + i * PICTURE), BPCN_REFUSED);
        assert_true(snapshot_same(before, g->memory));
        snapshot_free(before);
        gallery_free(g);
    }
}

static void forgetting_and_discounting_are_of_all_shards(void **state)
{
    (void)state;
    bpcn_options o = shape(2);
    struct gallery *g = gallery_of(o, MOST * ROWS, 52);
    for (size_t k = 0; k < MOST; k++) {
        bpcn_memory *own = alone(&o, k, g->x + k * ROWS * PICTURE);
        if (k == 0) {
            assert_ok(bpcn_memory_forget(g->memory, 0.25));
            assert_ok(bpcn_memory_discount(g->memory, 0.125));
        }
        assert_ok(bpcn_memory_forget(own, 0.25));
        assert_ok(bpcn_memory_discount(own, 0.125));
        assert_true(same_shard(g->memory, k, own, 0));
        bpcn_memory_free(own);
    }
    assert_int_equal(stats_of(g->memory).forgets, 2);
    assert_ok(bpcn_memory_forget(g->memory, 1)); /* the prior of each, whose weights stay */
    for (size_t k = 0; k < MOST; k++) {
        bpcn_options empty = shard_options(&o, k);
        empty.shards = 1;
        bpcn_memory *own = make_memory(empty);
        double weights[2];
        assert_ok(bpcn_memory_get_weights(g->memory, k, weights));
        assert_ok(bpcn_memory_set_weights(own, 0, weights));
        for (size_t particle = 0; particle < 2; particle++)
            for (size_t l = 0; l < 2; l++)
                assert_true(same_layer(g->memory, k, own, 0, particle, l));
        bpcn_memory_free(own);
    }
    gallery_free(g);
}

static void the_minimiser_is_of_all_shards_and_of_those_to_come(void **state)
{
    (void)state;
    bpcn_options o = narrow(3, BPCN_BLUR), adam = o;
    adam.minimizer = BPCN_ADAM;
    adam.adam_steps = o.adam_steps = 5;
    adam.rounds = o.rounds = 2;
    struct gallery *set = gallery_of(o, ROWS, 53), *made = gallery_of(o, ROWS, 53);
    float x[2 * ROWS * PICTURE];
    struct dice dice = {54};
    pictures(&dice, 2 * ROWS, x);
    assert_ok(bpcn_memory_write(made->memory, x, 1, NULL)); /* shard 1 begins before, there after */
    for (struct gallery *g = set; g != NULL; g = g == set ? made : NULL)
        assert_ok(bpcn_memory_set_minimizer(g->memory, BPCN_ADAM));
    assert_ok(bpcn_memory_write(set->memory, x, 2 * ROWS, NULL));
    assert_ok(bpcn_memory_write(made->memory, x + PICTURE, 2 * ROWS - 1, NULL));
    assert_true(same_shard(set->memory, 0, made->memory, 0));
    assert_false(same_shard(set->memory, 1, made->memory, 1)); /* its first row was found otherwise */
    assert_true(same_shard(set->memory, 2, made->memory, 2));
    bpcn_options own = shard_options(&adam, 2);
    own.shards = 1;
    bpcn_memory *m = make_memory(own);
    assert_ok(bpcn_memory_write(m, x + ROWS * PICTURE, ROWS, NULL));
    assert_true(same_shard(set->memory, 2, m, 0));
    struct reading r = read_all(set->memory, x, NULL, ROWS, NULL);
    for (size_t i = 0; i < ROWS; i++)
        assert_true(r.info[i].shard < 3);
    reading_free(r);
    bpcn_memory_free(m);
    gallery_free(set);
    gallery_free(made);
}

static void parameters_are_those_of_the_shard_named(void **state)
{
    (void)state;
    struct gallery *g = gallery_of(shape(2), 2 * ROWS, 55);
    bpcn_memory *m = g->memory, *as_it_was = make_memory(shape(2));
    double mean[PICTURE * 16], u[16 * 16], top[12], variance, weights[2] = {0.25, 0.75};
    assert_ok(bpcn_memory_write(as_it_was, g->x, 2 * ROWS, NULL));
    for (size_t shard = 2; shard <= MOST; shard += MOST - 2) { /* one that has not begun, one that never will */
        struct snapshot *before = snapshot_take(m);
        assert_ok(bpcn_memory_get_layer(m, 1, 0, 0, mean, u));
        assert_ok(bpcn_memory_get_top(m, 1, 0, top, &variance));
        assert_status(bpcn_memory_get_layer(m, shard, 0, 0, mean, u), BPCN_INVALID);
        assert_non_null(strstr(bpcn_error(), "there is no shard"));
        assert_status(bpcn_memory_get_top(m, shard, 0, top, &variance), BPCN_INVALID);
        assert_status(bpcn_memory_get_weights(m, shard, weights), BPCN_INVALID);
        assert_status(bpcn_memory_set_layer(m, shard, 0, 0, mean, u), BPCN_INVALID);
        assert_status(bpcn_memory_set_top(m, shard, 0, top, 1), BPCN_INVALID);
        assert_status(bpcn_memory_set_weights(m, shard, weights), BPCN_INVALID);
        assert_status(bpcn_memory_get_layer(m, 1, 2, 0, mean, u), BPCN_INVALID);
        assert_status(bpcn_memory_get_layer(m, 1, 0, 2, mean, u), BPCN_INVALID);
        assert_true(snapshot_same(before, m));
        snapshot_free(before);
    }
    struct reading before = read_all(m, g->x, NULL, 2 * ROWS, NULL);
    for (size_t j = 0; j < PICTURE * 16; j++)
        mean[j] = 0;
    assert_ok(bpcn_memory_set_layer(m, 1, 0, 0, mean, u));
    assert_ok(bpcn_memory_set_top(m, 1, 0, top, 2));
    weights[0] = 1, weights[1] = 0;
    assert_ok(bpcn_memory_set_weights(m, 1, weights));
    assert_true(same_shard(m, 0, as_it_was, 0));
    assert_false(same_shard(m, 1, as_it_was, 1));
    struct reading after = read_all(m, g->x, NULL, 2 * ROWS, NULL);
    assert_memory_equal(before.out, after.out, ROWS * PICTURE * sizeof *after.out);
    for (size_t i = ROWS; i < 2 * ROWS; i++) /* nothing that was prepared of the old parameters answers */
        assert_memory_not_equal(before.out + i * PICTURE, after.out + i * PICTURE, PICTURE * sizeof *after.out);
    reading_free(before);
    reading_free(after);
    bpcn_memory_free(as_it_was);
    gallery_free(g);
}

/* ---- files */

static bpcn_memory *opened(const char *path, const bpcn_options *create)
{
    bpcn_open_options how;
    bpcn_memory *m = NULL;
    bpcn_open_options_default(&how, sizeof how);
    how.create = create;
    how.threads = 1;
    how.sync = BPCN_SYNC_MANUAL;
    assert_ok(bpcn_memory_open(path, &how, &m));
    return m;
}

static void check_same(const struct snapshot *want, const bpcn_memory *m, const bpcn_options *o)
{
    bpcn_options back = {.size = sizeof back};
    char note[8];
    size_t bytes;
    assert_true(snapshot_same(want, m));
    assert_ok(bpcn_memory_get_options(m, &back));
    assert_int_equal(back.shards, o->shards);
    assert_int_equal(back.shard_rows, o->shard_rows);
    assert_int_equal(back.when_full, o->when_full);
    assert_ok(bpcn_memory_get_note(m, note, sizeof note, &bytes));
    assert_int_equal(bytes, 6);
    assert_memory_equal(note, "shards", 6);
}

static void a_memory_of_shards_comes_back_from_its_file_to_the_bit(void **state)
{
    (void)state;
    for (size_t s = 0; s < 3 * SHAPES; s++) {
        char path[] = "/tmp/bpcn-shards-XXXXXX";
        bpcn_options o = shape(s % SHAPES);
        o.shards = 3;
        o.when_full = (bpcn_when_full)(s / SHAPES);
        size_t n = o.when_full == BPCN_REFUSE ? 3 * ROWS : 4 * ROWS + 1;
        struct gallery *g = gallery_of(o, n, 56);
        close(mkstemp(path));
        unlink(path);
        bpcn_memory *m = opened(path, &o), *copy = NULL;
        bpcn_file_info info = {.size = sizeof info};
        assert_ok(bpcn_memory_write(m, g->x, n, NULL));
        for (bpcn_memory *it = m; it != NULL; it = it == m ? g->memory : NULL) {
            assert_ok(bpcn_memory_delete(it, g->x + (n - 1) * PICTURE));
            assert_ok(bpcn_memory_discount(it, 0.01));
            assert_ok(bpcn_memory_set_note(it, "shards", 6));
        }
        struct snapshot *want = snapshot_take(g->memory);
        check_same(want, m, &o);
        assert_ok(bpcn_memory_get_file(m, &info));
        assert_int_equal(info.version, 2);
        if (o.when_full == BPCN_REFUSE)
            assert_status(bpcn_memory_write(m, g->x, 1, NULL), BPCN_FULL);
        assert_ok(bpcn_memory_close(m));
        m = opened(path, NULL); /* by its log */
        check_same(want, m, &o);
        assert_ok(bpcn_memory_checkpoint(m));
        check_same(want, m, &o);
        assert_ok(bpcn_memory_close(m));
        m = opened(path, NULL); /* by its snapshot */
        check_same(want, m, &o);
        assert_ok(bpcn_memory_load(path, &copy));
        check_same(want, copy, &o);
        assert_ok(bpcn_file_check(path, &info, &o));
        assert_int_equal(info.writes, n);
        bpcn_memory_free(copy);
        struct reading a = read_all(m, g->x, NULL, n, NULL), b = read_all(g->memory, g->x, NULL, n, NULL);
        assert_memory_equal(a.out, b.out, n * PICTURE * sizeof *a.out);
        assert_memory_equal(a.info, b.info, n * sizeof *a.info);
        reading_free(a);
        reading_free(b);
        assert_ok(bpcn_memory_close(m));
        unlink(path);
        snapshot_free(want);
        gallery_free(g);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_shard_is_the_memory_as_it_was_before_there_were_shards),
        cmocka_unit_test(impossible_shards_are_refused),
        cmocka_unit_test(rows_go_to_one_shard_after_the_other),
        cmocka_unit_test(without_a_number_of_rows_a_shard_has_as_many_as_units),
        cmocka_unit_test(a_shard_depends_on_its_number_and_its_rows_alone),
        cmocka_unit_test(the_seed_of_a_shard_is_the_one_in_the_format),
        cmocka_unit_test(rows_may_be_written_in_calls_of_any_length),
        cmocka_unit_test(a_shard_takes_memory_when_it_is_first_written),
        cmocka_unit_test(a_full_memory_blurs_evenly),
        cmocka_unit_test(recycling_empties_the_oldest_shard_and_touches_no_other),
        cmocka_unit_test(one_shard_can_be_recycled_too),
        cmocka_unit_test(a_full_memory_that_refuses_changes_nothing_and_keeps_the_rows_before),
        cmocka_unit_test(a_query_is_answered_by_the_shard_that_has_it),
        cmocka_unit_test(among_many_shards_a_few_entries_of_its_own_find_a_row),
        cmocka_unit_test(the_default_answers_as_all_shards_would),
        cmocka_unit_test(an_answer_is_that_of_a_memory_of_the_shard_alone),
        cmocka_unit_test(an_answer_may_take_the_place_of_its_query),
        cmocka_unit_test(answers_depend_neither_on_the_calls_nor_on_the_threads),
        cmocka_unit_test(no_more_shards_are_read_than_asked_for),
        cmocka_unit_test(what_a_quick_look_keeps_is_counted),
        cmocka_unit_test(without_layers_the_nearest_top_answers),
        cmocka_unit_test(a_score_is_the_density_of_the_mixture_by_rows),
        cmocka_unit_test(an_energy_is_that_of_the_mixture_by_rows),
        cmocka_unit_test(the_gradient_of_the_energy_is_its_slope),
        cmocka_unit_test(samples_come_from_every_shard_and_a_draw_gives_the_same),
        cmocka_unit_test(a_row_is_deleted_from_the_shard_that_has_it),
        cmocka_unit_test(a_row_that_no_shard_has_is_not_deleted),
        cmocka_unit_test(forgetting_and_discounting_are_of_all_shards),
        cmocka_unit_test(the_minimiser_is_of_all_shards_and_of_those_to_come),
        cmocka_unit_test(parameters_are_those_of_the_shard_named),
        cmocka_unit_test(a_memory_of_shards_comes_back_from_its_file_to_the_bit),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
