/*
 * What a memory keeps prepared between calls is never seen: an answer does not depend on how its rows were cut into
 * calls, on what was read before, on who reads beside, or on how the memory came to its parameters; and what is written
 * does not depend on what was read.
 */
#define _XOPEN_SOURCE 700
#include "support.h"

#include "gram.h"
#include "prepared.h"
#include "store_common.h"

#include <dirent.h>
#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

/* Widths of the first layer that differ in how a picture's 192 entries are taken: read and written through inner
   products; only written so; never, being wider than a picture. */
enum { THROUGH_G, NARROW, WIDE, SHAPES };
static const size_t first_width[SHAPES] = {48, 104, 200};
enum { SECOND = 24, STORED = 4 };

static bpcn_options options_of(int shape, bpcn_activation activation, bpcn_precision precision, size_t particles)
{
    bpcn_options o = network(PICTURE, 2, (size_t[]){first_width[shape], SECOND});
    o.activation = activation;
    o.precision = precision;
    o.particles = particles;
    o.seed = 5;
    return o;
}

/* ---- what a memory says */

/* Half of the entries and some, others for every number; as many for all, so that only the entries tell them apart. */
static void mask_number(size_t number, size_t n, unsigned char *known)
{
    for (size_t j = 0; j < n * PICTURE; j++)
        known[j] = (j % PICTURE + 16 * number) % PICTURE < 110;
}

/* Answers, codes and reports of n rows in calls of `most`. */
struct says {
    float *out, *codes;
    bpcn_read_info *info, *code_info;
    size_t n, code;
};

static struct says say(const bpcn_memory *m, const float *x, const unsigned char *known, size_t n, size_t most,
                       const bpcn_read_options *o)
{
    size_t code = m->contents.shard[0]->code_dim, count;
    struct says s = {.out = room(n * PICTURE, sizeof *s.out),
                     .codes = room(n * code, sizeof *s.codes),
                     .info = room(n, sizeof *s.info),
                     .code_info = room(n, sizeof *s.code_info),
                     .n = n,
                     .code = code};
    for (size_t i = 0; i < n; i += count) {
        const float *row = x + i * PICTURE;
        const unsigned char *mask = known ? known + i * PICTURE : NULL;
        count = n - i < most ? n - i : most;
        assert_ok(bpcn_memory_read(m, row, mask, count, o, s.out + i * PICTURE, s.info + i));
        assert_ok(bpcn_memory_infer(m, row, mask, count, o, s.codes + i * code, s.code_info + i));
    }
    return s;
}

static void says_free(struct says *s)
{
    free(s->out);
    free(s->codes);
    free(s->info);
    free(s->code_info);
}

static int same_words(const struct says *a, const struct says *b)
{
    return memcmp(a->out, b->out, a->n * PICTURE * sizeof *a->out) == 0 &&
           memcmp(a->codes, b->codes, a->n * a->code * sizeof *a->codes) == 0 &&
           memcmp(a->info, b->info, a->n * sizeof *a->info) == 0 &&
           memcmp(a->code_info, b->code_info, a->n * sizeof *a->code_info) == 0;
}

/* A copy through a file, which never had anything prepared; with its own number of threads, 0: as the environment says.
 */
static bpcn_memory *fresh_copy(const bpcn_memory *m, int threads)
{
    bpcn_memory *copy;
    bpcn_open_options how;
    bpcn_open_options_default(&how, sizeof how);
    how.read_only = 1;
    how.threads = threads;
    assert_ok(bpcn_memory_save(m, scratch("copy")));
    assert_ok(bpcn_memory_open(scratch("copy"), &how, &copy));
    return copy;
}

/* ---- rows cut into calls */

enum { ROWS = 9 };

static void noisy_rows(const struct gallery *s, double noise, float *x)
{
    struct dice dice = {21};
    for (size_t j = 0; j < ROWS * PICTURE; j++)
        x[j] = s->x[j % (STORED * PICTURE)] + (float)(noise * dice_normal(&dice));
}

/* A call with all rows and calls with one each end in the same minima. Under the density, and without an estimate of
   the noise, which stops somewhere within a nat: there the minimiser stops once two steps gain no more than 5e-7 for
   each entry, 1e-4 here, which is also what they are found to differ by. */
static void check_same_minima(const bpcn_memory *m, const float *x, const unsigned char *known)
{
    bpcn_read_options exact;
    bpcn_read_options_default(&exact, sizeof exact);
    exact.objective = BPCN_OBJECTIVE_MARGINAL;
    exact.noise = 0;
    struct says together = say(m, x, known, ROWS, ROWS, &exact), apart = say(m, x, known, ROWS, 1, &exact);
    for (size_t i = 0; i < ROWS; i++)
        assert_near(together.info[i].energy, apart.info[i].energy, 0.01);
    assert_true(mean_square_error(ROWS * PICTURE, together.out, apart.out) < 1e-6); /* a hundredth of sigma_x^2 */
    says_free(&together);
    says_free(&apart);
}

/* Every row follows its own path, so the bits are the same wherever each number comes from the same sums. Only M x',
   which enters a read through inner products, is summed up otherwise in calls of 8 rows and more: then paths differ
   from the last digit on, and only their ends are the same. */
static void check_cuts(const bpcn_memory *m, const float *x, const unsigned char *known, int through_g)
{
    static const size_t calls[] = {ROWS, 7, 3, 1};
    struct says many = say(m, x, known, ROWS, ROWS, NULL), few = say(m, x, known, ROWS, 1, NULL);
    for (size_t c = 0; c < sizeof calls / sizeof *calls; c++) {
        bpcn_memory *copy = fresh_copy(m, 2 + (int)c % 2);
        struct says got = say(copy, x, known, ROWS, calls[c], NULL);
        assert_true(same_words(&got, calls[c] < 8 ? &few : &many));
        says_free(&got);
        bpcn_memory_free(copy);
    }
    if (through_g)
        check_same_minima(m, x, known);
    else
        assert_true(same_words(&many, &few));
    says_free(&many);
    says_free(&few);
}

static void check_cuts_of(int shape, bpcn_activation activation, bpcn_precision precision, size_t particles)
{
    struct gallery *s = gallery_of(options_of(shape, activation, precision, particles), STORED, 4);
    float *x = room(ROWS * PICTURE, sizeof *x);
    unsigned char *known = room(ROWS * PICTURE, 1);
    noisy_rows(s, 0.1, x);
    check_cuts(s->memory, x, NULL, shape == THROUGH_G);
    left_half(ROWS, known);
    check_cuts(s->memory, x, known, shape == THROUGH_G);
    free(x);
    free(known);
    gallery_free(s);
}

static void rows_get_the_same_bits_however_they_are_cut_into_calls_and_threads(void **state)
{
    static const bpcn_activation activations[] = {BPCN_GELU, BPCN_TANH, BPCN_RELU};
    (void)state;
    for (size_t shape = 0; shape < SHAPES; shape++)
        for (size_t a = 0; a < 3; a++) /* every pair of shape, activation and precision */
            check_cuts_of((int)shape, activations[a], (shape + a) % 2 == 0 ? BPCN_FLOAT32 : BPCN_FLOAT64, 1);
    check_cuts_of(THROUGH_G, BPCN_GELU, BPCN_FLOAT32, 3);
    check_cuts_of(WIDE, BPCN_GELU, BPCN_FLOAT32, 3);
}

/* Rows that know different entries share a preconditioner for the average of what they know, so that their paths
   differ. */
static void rows_that_know_different_entries_end_in_the_same_minima_in_any_call(void **state)
{
    (void)state;
    for (int shape = 0; shape < SHAPES; shape++) {
        struct gallery *s = gallery_of(options_of(shape, BPCN_GELU, BPCN_FLOAT32, 1), STORED, 4);
        float *x = room(ROWS * PICTURE, sizeof *x);
        unsigned char *known = room(ROWS * PICTURE, 1);
        noisy_rows(s, 0.01, x); /* as sigma_x: with more, and none assumed, there are minima to choose from */
        for (size_t i = 0; i < ROWS; i++)
            mask_number(i, 1, known + i * PICTURE);
        check_same_minima(s->memory, x, known);
        free(x);
        free(known);
        gallery_free(s);
    }
}

/* ---- changes */

enum { KINDS = 4 }; /* of reads, each prepared for on its own */

/* Reads the gallery without a mask, with one for all, with one for each, and scores it. */
struct view {
    struct says kind[KINDS - 1];
    double score[STORED];
};

static struct view view_of(const bpcn_memory *m, const float *x)
{
    struct view v;
    unsigned char known[2][STORED * PICTURE];
    left_half(STORED, known[0]);
    for (size_t i = 0; i < STORED; i++)
        mask_number(i, 1, known[1] + i * PICTURE);
    for (size_t k = 0; k < KINDS - 1; k++)
        v.kind[k] = say(m, x, k == 0 ? NULL : known[k - 1], STORED, STORED, NULL);
    assert_ok(bpcn_memory_score(m, x, NULL, STORED, v.score));
    return v;
}

static int same_view(const struct view *a, const struct view *b)
{
    int same = memcmp(a->score, b->score, sizeof a->score) == 0;
    for (size_t k = 0; k < KINDS - 1; k++)
        same = same && same_words(&a->kind[k], &b->kind[k]);
    return same;
}

static void view_free(struct view *v)
{
    for (size_t k = 0; k < KINDS - 1; k++)
        says_free(&v->kind[k]);
}

static void do_write(struct gallery *s)
{
    assert_ok(bpcn_memory_write(s->memory, s->unseen, NULL, 2, NULL));
}

static void do_delete(struct gallery *s)
{
    assert_ok(bpcn_memory_delete(s->memory, s->x + PICTURE));
}

static void do_forget(struct gallery *s)
{
    assert_ok(bpcn_memory_forget(s->memory, 0.01));
}

static void do_discount(struct gallery *s)
{
    assert_ok(bpcn_memory_discount(s->memory, 0.1));
}

/* The means of a layer of both particles, a tenth larger. */
static void enlarge(bpcn_memory *m, size_t layer)
{
    size_t above = m->contents.shard[0]->width[layer + 1], below = m->contents.shard[0]->width[layer];
    double *mean = room(above * below, sizeof *mean), *u = room(above * above, sizeof *u);
    for (size_t k = 0; k < 2; k++) {
        assert_ok(bpcn_memory_get_layer(m, 0, k, layer, mean, u));
        for (size_t j = 0; j < above * below; j++)
            mean[j] *= 1.1;
        assert_ok(bpcn_memory_set_layer(m, 0, k, layer, mean, u));
    }
    free(mean);
    free(u);
}

static void do_set_layer(struct gallery *s)
{
    enlarge(s->memory, 0);
}

static void do_set_upper_layer(struct gallery *s)
{
    enlarge(s->memory, 1);
}

static void do_set_top(struct gallery *s)
{
    double mean[SECOND] = {0.5, -0.5};
    for (size_t k = 0; k < 2; k++)
        assert_ok(bpcn_memory_set_top(s->memory, 0, k, mean, 0.3));
}

static void do_set_weights(struct gallery *s)
{
    assert_ok(bpcn_memory_set_weights(s->memory, 0, (double[]){0.3, 0.7}));
}

static void do_set_minimizer(struct gallery *s)
{
    bpcn_options *of_memory = &s->memory->contents.options, *of_shard = &s->memory->contents.shard[0]->options;
    of_memory->adam_steps = of_shard->adam_steps = 5; /* of few steps, to be quick */
    of_memory->rounds = of_shard->rounds = 2;
    assert_ok(bpcn_memory_set_minimizer(s->memory, BPCN_ADAM));
}

static const struct change_kind_of {
    const char *name;
    void (*make)(struct gallery *s);
} changes[] = {
    {"write", do_write},       {"delete", do_delete},           {"forget", do_forget},
    {"discount", do_discount}, {"set_layer", do_set_layer},     {"set_layer above", do_set_upper_layer},
    {"set_top", do_set_top},   {"set_weights", do_set_weights}, {"set_minimizer", do_set_minimizer},
};

/* Reads, and reads of a copy that was never read before, give the same. */
static struct view check_fresh(const bpcn_memory *m, const float *x, const char *after)
{
    struct view got = view_of(m, x); /* first: else the copy could take the place of a model that is gone */
    bpcn_memory *copy = fresh_copy(m, 0);
    struct view want = view_of(copy, x);
    if (!same_view(&got, &want))
        fail_msg("after %s a read differs from that of a fresh copy", after);
    view_free(&want);
    bpcn_memory_free(copy);
    return got;
}

static void check_changes(int shape, bpcn_precision precision)
{
    for (size_t c = 0; c < sizeof changes / sizeof *changes; c++) {
        struct gallery *s = gallery_of(options_of(shape, BPCN_GELU, precision, 2), STORED, 8);
        struct view before = view_of(s->memory, s->x);
        changes[c].make(s);
        struct view after = check_fresh(s->memory, s->x, changes[c].name);
        assert_false(same_view(&before, &after)); /* what was prepared before would show */
        view_free(&before);
        view_free(&after);
        gallery_free(s);
    }
}

static void after_every_change_a_read_is_that_of_a_fresh_copy(void **state)
{
    (void)state;
    check_changes(THROUGH_G, BPCN_FLOAT32);
    check_changes(WIDE, BPCN_FLOAT64);
}

/* Parameters that are in the memory but not in its file, as a change leaves them that overflows. */
static void spoil(bpcn_memory *m)
{
    struct layer *layer = &m->contents.shard[0]->particles[0].layer[0];
    for (size_t j = 0; j < layer->above * layer->below; j++)
        ((float *)layer->mean)[j] *= 1.1f;
    m->contents.shard[0]->particles[0].top_mean[0] = NAN;
}

static void after_a_change_that_was_taken_back_a_read_is_that_of_a_fresh_copy(void **state)
{
    (void)state;
    bpcn_options o = options_of(THROUGH_G, BPCN_GELU, BPCN_FLOAT32, 2);
    struct gallery *s = gallery_of(o, STORED, 8);
    bpcn_memory *m = create_file(scratch("spoilt"), &o, BPCN_SYNC_MANUAL);
    assert_ok(bpcn_memory_write(m, s->x, NULL, STORED, NULL));
    struct view before = view_of(m, s->x);
    spoil(m);
    assert_status(bpcn_memory_discount(m, 0.1), BPCN_NUMERIC);
    struct view after = check_fresh(m, s->x, "a change that was taken back");
    assert_true(same_view(&before, &after));
    view_free(&before);
    view_free(&after);
    assert_ok(bpcn_memory_write(m, s->unseen, NULL, 2, NULL)); /* and it goes on */
    after = check_fresh(m, s->x, "a write after that");
    view_free(&after);
    bpcn_memory_free(m);
    gallery_free(s);
}

/* ---- writing */

/* Writes of one row at a time, many of them without anything else between, then one of each. */
static void live(bpcn_memory *m, const struct gallery *s, int read_between)
{
    enum { WRITES = 3 * STORED };
    for (size_t i = 0; i < WRITES; i++) {
        assert_ok(bpcn_memory_write(m, (i < STORED ? s->unseen : s->x) + i % STORED * PICTURE, NULL, 1, NULL));
        if (read_between) {
            struct view v = view_of(m, s->x);
            view_free(&v);
        }
        if (i != WRITES - 3)
            continue;
        assert_ok(bpcn_memory_delete(m, s->x));
        assert_ok(bpcn_memory_forget(m, 0.001));
        assert_ok(bpcn_memory_discount(m, 0.01));
    }
}

static void check_no_trace(int shape, bpcn_activation activation, bpcn_precision precision, int resample)
{
    bpcn_options o = options_of(shape, activation, precision, 2);
    o.resample = resample;
    struct gallery *s = gallery_of(o, STORED, 3), *twin = gallery_of(o, STORED, 3);
    live(s->memory, s, 0);
    live(twin->memory, s, 1);
    assert_true(same_state(s->memory, twin->memory));
    gallery_free(s);
    gallery_free(twin);
}

static void reading_leaves_no_trace_in_what_is_written(void **state)
{
    (void)state;
    check_no_trace(THROUGH_G, BPCN_GELU, BPCN_FLOAT32, 1);
    check_no_trace(THROUGH_G, BPCN_TANH, BPCN_FLOAT64, 0);
    check_no_trace(NARROW, BPCN_RELU, BPCN_FLOAT32, 1);
    check_no_trace(WIDE, BPCN_GELU, BPCN_FLOAT32, 0);
}

static void check_rows_one_by_one(int shape, bpcn_activation activation, bpcn_precision precision)
{
    enum { PARTICLES = 3 };
    bpcn_options o = options_of(shape, activation, precision, PARTICLES);
    o.resample = 1;
    struct gallery *s = gallery_of(o, STORED, 6), *twin = gallery_of(o, STORED, 6);
    size_t code = PARTICLES * s->memory->contents.shard[0]->code_dim;
    bpcn_write_row rows[STORED], one;
    float *codes = room(STORED * code, sizeof *codes), *codes_one = room(code, sizeof *codes);
    bpcn_write_info info;
    bpcn_write_info_default(&info, sizeof info);
    info.rows = rows;
    info.codes = codes;
    assert_ok(bpcn_memory_write(s->memory, s->unseen, NULL, STORED, &info));
    info.rows = &one;
    info.codes = codes_one;
    for (size_t i = 0; i < STORED; i++) {
        assert_ok(bpcn_memory_write(twin->memory, s->unseen + i * PICTURE, NULL, 1, &info));
        assert_memory_equal(&one, &rows[i], sizeof one);
        assert_memory_equal(codes_one, codes + i * code, code * sizeof *codes);
    }
    assert_true(same_state(s->memory, twin->memory));
    free(codes);
    free(codes_one);
    gallery_free(s);
    gallery_free(twin);
}

static void rows_written_together_are_rows_written_one_by_one(void **state)
{
    (void)state;
    check_rows_one_by_one(THROUGH_G, BPCN_GELU, BPCN_FLOAT32);
    check_rows_one_by_one(THROUGH_G, BPCN_TANH, BPCN_FLOAT64);
    check_rows_one_by_one(NARROW, BPCN_RELU, BPCN_FLOAT32);
    check_rows_one_by_one(WIDE, BPCN_GELU, BPCN_FLOAT32);
}

/* Also in particles that were resampled. G has entries of up to some hundreds, which double rounds by 3e-14, and every
   write rounds each a few times. Measured: 1e-12. */
static void the_inner_products_that_writes_follow_are_those_of_the_parameters(void **state)
{
    enum { PARTICLES = 3 };
    (void)state;
    bpcn_options o = options_of(THROUGH_G, BPCN_GELU, BPCN_FLOAT64, PARTICLES);
    o.resample = 1;
    struct gallery *s = gallery_of(o, 5 * STORED, 6);
    size_t strangers = 0, above = first_width[THROUGH_G];
    for (size_t k = 0; k < PARTICLES; k++) {
        const struct particle *particle = &s->memory->contents.shard[0]->particles[k];
        struct gram *followed = prepared_gram(s->memory->prepared[0], k, NULL);
        struct gram *fresh = gram_create(&particle->layer[0], NULL, NULL, NULL);
        assert_non_null(followed);
        assert_non_null(fresh);
        strangers += particle->origin != k && followed->age > 0;
        for (size_t i = 0; i < above; i++)
            for (size_t j = i; j < above; j++)
                assert_near(followed->g[i * above + j], fresh->g[i * above + j], 1e-10);
        gram_free(fresh);
    }
    assert_true(strangers > 0);
    gallery_free(s);
}

/* ---- many masks, many threads */

enum { MASKS = 12, EACH = 2 }; /* more masks than a particle stays prepared for */

/* Reads of some rows with mask after mask, from number `first` on. */
struct reader {
    const struct gallery *scene;
    const bpcn_memory *memory;
    size_t first;
    float out[MASKS][EACH * PICTURE];
    bpcn_read_info info[MASKS][EACH];
    double score[MASKS];
    bpcn_status status;
};

static void *read_masks(void *argument)
{
    struct reader *r = argument;
    for (size_t k = 0; r->status == BPCN_OK && k < MASKS; k++) {
        size_t mask = (r->first + k) % MASKS;
        const float *x = r->scene->x + mask % STORED / EACH * EACH * PICTURE;
        unsigned char known[EACH * PICTURE];
        mask_number(mask, EACH, known);
        r->status = bpcn_memory_read(r->memory, x, known, mask % 3 == 0 ? 1 : EACH, NULL, r->out[mask], r->info[mask]);
        if (r->status == BPCN_OK)
            r->status = bpcn_memory_score(r->memory, x, known, 1, &r->score[mask]);
    }
    return NULL;
}

static void check_same_reading(const struct reader *a, const struct reader *b)
{
    assert_ok(a->status);
    assert_memory_equal(a->out, b->out, sizeof a->out);
    assert_memory_equal(a->info, b->info, sizeof a->info);
    assert_memory_equal(a->score, b->score, sizeof a->score);
}

/* Whoever comes first has the library's own threads, the others have none; and all make and drop each other's
   preparations. */
static void threads_with_many_masks_read_the_same_bits_as_one_alone(void **state)
{
    enum { THREADS = 4, TIMES = 3 };
    (void)state;
    struct gallery *s = gallery_of(options_of(THROUGH_G, BPCN_GELU, BPCN_FLOAT32, 2), STORED, 9);
    bpcn_memory *alone = fresh_copy(s->memory, 1);
    struct reader *r = room(THREADS + 1, sizeof *r);
    r[THREADS] = (struct reader){.scene = s, .memory = alone};
    read_masks(&r[THREADS]);
    assert_ok(r[THREADS].status);
    for (int time = 0; time < TIMES; time++) {
        bpcn_memory *shared = fresh_copy(s->memory, 2);
        pthread_t thread[THREADS];
        for (size_t i = 0; i < THREADS; i++) {
            r[i] = (struct reader){.scene = s, .memory = shared, .first = i * (size_t)time};
            assert_int_equal(pthread_create(&thread[i], NULL, read_masks, &r[i]), 0);
        }
        for (size_t i = 0; i < THREADS; i++)
            pthread_join(thread[i], NULL);
        for (size_t i = 0; i < THREADS; i++)
            check_same_reading(&r[i], &r[THREADS]);
        bpcn_memory_free(shared);
    }
    free(r);
    bpcn_memory_free(alone);
    gallery_free(s);
}

static size_t prepared_of(const bpcn_memory *m)
{
    return core_for(m->contents.shard[0])->prepared_bytes(m->prepared[0]);
}

/* A hundred masks, one after the other, hold no more than the first four, but for what masks differ by: the levels of
   noise that their rows went through. And those used before still give what they gave. */
static void many_masks_take_no_more_memory_than_a_few(void **state)
{
    (void)state;
    struct gallery *s = gallery_of(options_of(THROUGH_G, BPCN_GELU, BPCN_FLOAT32, 1), STORED, 9);
    struct reader *first = room(2, sizeof *first), *again = first + 1;
    size_t empty = prepared_of(s->memory), most = 0, few = 0;
    unsigned char known[PICTURE];
    float out[PICTURE];
    for (size_t k = 0; k < 100; k++) {
        mask_number(k % 44, 1, known);
        known[k % PICTURE] ^= 1;
        assert_ok(bpcn_memory_read(s->memory, s->x, known, 1, NULL, out, NULL));
        size_t held = prepared_of(s->memory) - empty;
        few = k < 4 ? held : few;
        most = held > most ? held : most;
    }
    assert_true(few > 0 && 2 * most < 3 * few);
    bpcn_memory *copy = fresh_copy(s->memory, 0);
    *first = (struct reader){.scene = s, .memory = copy};
    *again = (struct reader){.scene = s, .memory = s->memory, .first = 5};
    read_masks(first);
    read_masks(again);
    check_same_reading(first, again);
    bpcn_memory_free(copy);
    assert_ok(bpcn_memory_forget(s->memory, 0.001));
    assert_true(prepared_of(s->memory) <= empty); /* what no longer holds is not kept */
    free(first);
    gallery_free(s);
}

/* ---- processes */

/* What a process finds when it reads, writes and reads again. */
struct findings {
    struct reader before, after;
    uint32_t sum;
    size_t threads; /* of the process in the end; 0: the system does not tell */
};

static size_t count_threads(void)
{
    size_t count = 0;
    DIR *tasks = opendir("/proc/self/task");
    for (struct dirent *entry; tasks != NULL && (entry = readdir(tasks)) != NULL;)
        count += entry->d_name[0] != '.';
    if (tasks != NULL)
        closedir(tasks);
    return count;
}

static void find_out(bpcn_memory *m, const struct gallery *s, struct findings *f)
{
    f->before = f->after = (struct reader){.scene = s, .memory = m};
    read_masks(&f->before);
    if (bpcn_memory_write(m, s->unseen, NULL, 2, NULL) != BPCN_OK)
        f->before.status = BPCN_INVALID;
    read_masks(&f->after);
    f->sum = state_sum(m);
    f->threads = count_threads();
}

/* The child's part: tells its findings, or dies of them; a minute is what a deadlock gets. */
static void be_child(bpcn_memory *m, const struct gallery *s, int to)
{
    struct findings *f = room(1, sizeof *f);
    alarm(60);
    find_out(m, s, f);
    size_t told = 0;
    while (told < sizeof *f) {
        ssize_t n = write(to, (const char *)f + told, sizeof *f - told);
        if (n <= 0)
            _exit(1);
        told += (size_t)n;
    }
    bpcn_memory_free(m);
    _exit(0);
}

static void hear_child(int from, struct findings *f)
{
    size_t heard = 0;
    ssize_t n;
    while (heard < sizeof *f && (n = read(from, (char *)f + heard, sizeof *f - heard)) > 0)
        heard += (size_t)n;
    assert_int_equal(heard, sizeof *f);
}

static void check_ended_well(pid_t child)
{
    int how;
    assert_int_equal(waitpid(child, &how, 0), child);
    assert_true(WIFEXITED(how) && WEXITSTATUS(how) == 0);
}

static void a_forked_child_reads_and_writes_its_copy_and_the_parent_goes_on(void **state)
{
    (void)state;
    bpcn_options o = options_of(THROUGH_G, BPCN_GELU, BPCN_FLOAT32, 2);
    o.threads = 3;
    struct gallery *s = gallery_of(o, STORED, 9); /* by the team, which so exists */
    struct findings *f = room(2, sizeof *f), *child = f + 1;
    int ends[2];
    assert_int_equal(pipe(ends), 0);
    pid_t pid = fork();
    assert_true(pid >= 0);
    if (pid == 0)
        be_child(s->memory, s, ends[1]);
    close(ends[1]);
    hear_child(ends[0], child);
    close(ends[0]);
    check_ended_well(pid);
    find_out(s->memory, s, f);
    check_same_reading(&child->before, &f->before);
    check_same_reading(&child->after, &f->after);
    assert_int_equal(child->sum, f->sum);
    assert_int_equal(child->threads, f->threads); /* none of the parent's, but as many of its own */
    free(f);
    gallery_free(s);
}

static void a_forked_child_may_free_its_copy_unused(void **state)
{
    (void)state;
    bpcn_options o = options_of(THROUGH_G, BPCN_GELU, BPCN_FLOAT32, 1);
    o.threads = 3;
    struct gallery *s = gallery_of(o, STORED, 9);
    pid_t pid = fork();
    assert_true(pid >= 0);
    if (pid == 0) {
        alarm(60);
        bpcn_memory_free(s->memory);
        _exit(0);
    }
    check_ended_well(pid);
    assert_ok(bpcn_memory_write(s->memory, s->unseen, NULL, 1, NULL));
    gallery_free(s);
}

/* ---- replay */

struct life {
    size_t written, deleted, deleted_after_write, records;
    int wrote; /* last */
};

/* One change at random. Rows are deleted in the order in which they were written; a delete may be refused. */
static void change_at_random(bpcn_memory *m, const float *x, struct dice *dice, struct life *life)
{
    double which = dice_uniform(dice);
    bpcn_status status = BPCN_OK;
    int wrote = 0;
    if (which < 0.6) {
        status = bpcn_memory_write(m, x + life->written++ * PICTURE, NULL, 1, NULL);
        wrote = 1;
    } else if (which < 0.85 && life->deleted < life->written) {
        status = bpcn_memory_delete(m, x + life->deleted++ * PICTURE);
        life->deleted_after_write += status == BPCN_OK && life->wrote;
    } else if (which < 0.93)
        status = bpcn_memory_forget(m, 1e-4);
    else
        status = bpcn_memory_discount(m, 0.001);
    assert_true(status == BPCN_OK || status == BPCN_REFUSED);
    life->records += status == BPCN_OK;
    life->wrote = wrote;
}

static void check_replay(int shape, bpcn_precision precision, int resample, uint64_t seed)
{
    enum { CHANGES = 20 };
    struct dice dice = {seed};
    struct life life = {0};
    bpcn_options o = options_of(shape, BPCN_GELU, precision, 3);
    bpcn_file_info info = empty_info();
    float *x = room(CHANGES * PICTURE, sizeof *x);
    unsigned char known[PICTURE];
    float out[PICTURE];
    o.resample = resample;
    o.sigma_x = 0.1; /* so that what forgetting leaves can still be taken back */
    pictures(&dice, CHANGES, x);
    mask_number(3, 1, known);
    bpcn_memory *m = create_file(scratch("life"), &o, BPCN_SYNC_MANUAL);
    for (size_t i = 0; i < CHANGES; i++) {
        change_at_random(m, x, &dice, &life);
        assert_ok(bpcn_memory_read(m, x, known, 1, NULL, out, NULL));
    }
    uint32_t lived = state_sum(m);
    bpcn_memory_free(m);
    m = reopen(scratch("life"));
    assert_ok(bpcn_memory_get_file(m, &info));
    assert_int_equal(info.replayed, life.records); /* nothing came from a snapshot */
    assert_true(life.deleted_after_write > 0);
    assert_int_equal(state_sum(m), lived);
    bpcn_memory_free(m);
    free(x);
}

static void a_replay_ends_in_the_state_that_was_lived(void **state)
{
    (void)state;
    for (int resample = 0; resample <= 1; resample++) {
        check_replay(THROUGH_G, BPCN_FLOAT32, resample, 31);
        check_replay(NARROW, BPCN_FLOAT64, resample, 32);
    }
}

/* What preparing costs grows with the width, what a row saves by it does not: the first rows of a kind go without, and
   come to the same minimum. */
static void a_lone_row_of_a_wide_network_does_not_wait_for_what_only_many_pay_for(void **state)
{
    (void)state;
    enum { ENTRIES = 600, UNITS = 512, ROWS_READ = 4 };
    bpcn_options o = network(ENTRIES, 1, (size_t[]){UNITS});
    o.precision = BPCN_FLOAT32;
    struct dice dice = {17};
    float *x = room(ROWS_READ * ENTRIES, sizeof *x), *out = room(ROWS_READ * ENTRIES, sizeof *out);
    unsigned char *known = room(ENTRIES, 1);
    double energy[ROWS_READ];
    size_t held[ROWS_READ + 1];
    bpcn_memory *m = make_memory(o);
    bpcn_stats stats = {.size = sizeof stats};
    dice_normals_f32(&dice, ROWS_READ * ENTRIES, 0.5, x);
    for (size_t j = 0; j < ENTRIES; j++)
        known[j] = j % 3 != 0;
    assert_ok(bpcn_memory_write(m, x, NULL, ROWS_READ, NULL));
    assert_ok(bpcn_memory_get_stats(m, &stats));
    held[0] = stats.prepared_bytes;
    for (size_t i = 0; i < ROWS_READ; i++) { /* the same row, again and again */
        bpcn_read_info info;
        assert_ok(bpcn_memory_read(m, x, known, 1, NULL, out, &info));
        assert_ok(bpcn_memory_get_stats(m, &stats));
        held[i + 1] = stats.prepared_bytes;
        energy[i] = info.energy;
        assert_near(energy[i], energy[0], 0.05); /* twice the tolerance of a recall, 1e-5 for each of 1112 entries */
    }
    assert_true(held[1] - held[0] < stats.bytes / 100); /* norms alone */
    assert_true(held[ROWS_READ] - held[0] > stats.bytes / 2);
    free(x);
    free(out);
    free(known);
    bpcn_memory_free(m);
}

/* A third is no binary fraction: summed row by row its last bits would depend on how many rows there are. */
static void rows_that_know_the_same_are_of_one_kind_however_many_are_read(void **state)
{
    (void)state;
    enum { HELD = 12 };
    struct gallery *s = gallery_of(options_of(THROUGH_G, BPCN_GELU, BPCN_FLOAT32, 1), HELD, 9);
    unsigned char known[HELD * PICTURE];
    float out[HELD * PICTURE];
    size_t first = 0;
    for (size_t j = 0; j < HELD * PICTURE; j++)
        known[j] = j % PICTURE % 3 == 0;
    for (size_t n = HELD; n > 1; n--) {
        assert_ok(bpcn_memory_read(s->memory, s->x, known, n, NULL, out, NULL));
        first = first == 0 ? prepared_of(s->memory) : first;
        assert_int_equal(prepared_of(s->memory), first);
    }
    gallery_free(s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rows_that_know_the_same_are_of_one_kind_however_many_are_read),
        cmocka_unit_test(a_lone_row_of_a_wide_network_does_not_wait_for_what_only_many_pay_for),
        cmocka_unit_test(rows_get_the_same_bits_however_they_are_cut_into_calls_and_threads),
        cmocka_unit_test(rows_that_know_different_entries_end_in_the_same_minima_in_any_call),
        cmocka_unit_test(after_every_change_a_read_is_that_of_a_fresh_copy),
        cmocka_unit_test(after_a_change_that_was_taken_back_a_read_is_that_of_a_fresh_copy),
        cmocka_unit_test(reading_leaves_no_trace_in_what_is_written),
        cmocka_unit_test(rows_written_together_are_rows_written_one_by_one),
        cmocka_unit_test(the_inner_products_that_writes_follow_are_those_of_the_parameters),
        cmocka_unit_test(threads_with_many_masks_read_the_same_bits_as_one_alone),
        cmocka_unit_test(many_masks_take_no_more_memory_than_a_few),
        cmocka_unit_test(a_forked_child_reads_and_writes_its_copy_and_the_parent_goes_on),
        cmocka_unit_test(a_forked_child_may_free_its_copy_unused),
        cmocka_unit_test(a_replay_ends_in_the_state_that_was_lived),
    };
    return cmocka_run_group_tests_name("prepared", tests, NULL, NULL);
}
