/*
 * What is written does not depend on what a memory keeps prepared between calls: not on what was read between, on how
 * rows were cut into calls, on whether it was lived or replayed, or on which process it is.
 */
#define _XOPEN_SOURCE 700
#include "cache_common.h"

#include "gram.h"
#include "cache.h"
#include "store_common.h"

#include <dirent.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

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
        bpcn_options o = {.size = sizeof o};
        assert_ok(bpcn_memory_get_options(m, &o));
        assert_int_equal(bpcn_memory_delete(m, s->x), o.resample ? BPCN_NOT_HELD : BPCN_OK);
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
        struct gram *followed = cache_gram(s->memory->cache[0], k, NULL);
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
    size_t written, deleted_after_write, records;
    int wrote; /* last */
};

/* One change at random. The row written last is deleted; that is refused where it is gone or has faded. */
static void change_at_random(bpcn_memory *m, const float *x, struct dice *dice, struct life *life)
{
    double which = dice_uniform(dice);
    bpcn_status status = BPCN_OK;
    int wrote = 0;
    if (which < 0.6) {
        status = bpcn_memory_write(m, x + life->written++ * PICTURE, NULL, 1, NULL);
        wrote = 1;
    } else if (which < 0.85 && life->written > 0) {
        status = bpcn_memory_delete(m, x + (life->written - 1) * PICTURE);
        life->deleted_after_write += status == BPCN_OK && life->wrote;
    } else if (which < 0.93)
        status = bpcn_memory_forget(m, 1e-4);
    else
        status = bpcn_memory_discount(m, 0.001);
    assert_true(status == BPCN_OK || status == BPCN_REFUSED || status == BPCN_NOT_HELD);
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
    o.sigma_x = 0.1;
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
    assert_true(resample || life.deleted_after_write > 0); /* a memory that resamples takes nothing back */
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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reading_leaves_no_trace_in_what_is_written),
        cmocka_unit_test(rows_written_together_are_rows_written_one_by_one),
        cmocka_unit_test(the_inner_products_that_writes_follow_are_those_of_the_parameters),
        cmocka_unit_test(a_forked_child_reads_and_writes_its_copy_and_the_parent_goes_on),
        cmocka_unit_test(a_forked_child_may_free_its_copy_unused),
        cmocka_unit_test(a_replay_ends_in_the_state_that_was_lived),
    };
    return cmocka_run_group_tests_name("prepared writes", tests, NULL, NULL);
}
