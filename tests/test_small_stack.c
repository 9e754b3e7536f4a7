/* The library on a thread of 64 kB of stack, as the header promises: every kind of change and read, of every kind of
   memory, in a file, with the same results as on a large stack. */
#include "support.h"

#include <limits.h>
#include <math.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

enum { DIM = 100, ROWS = 24, STACK = 64 << 10 };

struct work {
    bpcn_options options;
    const char *path;
    bpcn_status status, deleted;
    char error[256];
    float answers[ROWS * DIM];
};

static void fill(float *x)
{
    for (size_t i = 0; i < ROWS; i++)
        for (size_t j = 0; j < DIM; j++)
            x[i * DIM + j] = (float)(0.7 * sin(0.37 * (double)(i + 1) * (double)(j + 1)) + 0.3 * cos(1.3 * (double)(i * j)));
}

static void *run(void *argument)
{
    static float rows[2][ROWS * DIM];
    struct work *work = argument;
    float *x = rows[0], *scores = rows[1];
    static unsigned char known[ROWS * DIM];
    static double density[ROWS];
    bpcn_open_options how;
    bpcn_memory *m = NULL;
    bpcn_file_info info = {.size = sizeof info};
    bpcn_open_options_default(&how, sizeof how);
    how.create = &work->options;
    how.threads = 2;
    fill(x);
    for (size_t j = 0; j < ROWS * DIM; j++)
        known[j] = j % DIM < DIM / 2;
    bpcn_status s = bpcn_memory_open(work->path, &how, &m);
    s = s ? s : bpcn_memory_write(m, x, NULL, ROWS / 2, NULL);
    s = s ? s : bpcn_memory_write(m, x + ROWS / 2 * DIM, known + ROWS / 2 * DIM, ROWS / 2 - 4, NULL);
    s = s ? s : bpcn_memory_write(m, x + (ROWS - 4) * DIM, NULL, 4, NULL);
    work->deleted = s ? s : bpcn_memory_delete(m, x + (ROWS - 1) * DIM);
    s = s ? s : bpcn_memory_forget(m, 1e-6);
    s = s ? s : bpcn_memory_discount(m, 1e-3);
    s = s ? s : bpcn_memory_set_note(m, "note", 4);
    s = s ? s : bpcn_memory_checkpoint(m);
    s = s ? s : bpcn_memory_write(m, x, NULL, 1, NULL);
    bpcn_status closed = bpcn_memory_close(m);
    s = s ? s : closed;
    m = NULL;
    how.create = NULL;
    s = s ? s : bpcn_file_check(work->path, &info, NULL);
    s = s ? s : bpcn_memory_open(work->path, &how, &m);
    s = s ? s : bpcn_memory_read(m, x, known, ROWS, NULL, work->answers, NULL);
    int table = work->options.kind == BPCN_TABLE; /* of which nothing but gaps can be asked */
    s = s || table ? s : bpcn_memory_read(m, x, NULL, ROWS, NULL, scores, NULL);
    s = s ? s : bpcn_memory_score(m, x, known, ROWS, density);
    s = s ? s : bpcn_memory_sample(m, ROWS, 1, scores);
    closed = bpcn_memory_close(m);
    s = s ? s : closed;
    char copy[256];
    snprintf(copy, sizeof copy, "%s.recovered", work->path);
    bpcn_recovery recovery = {.size = sizeof recovery};
    unlink(copy);
    s = s ? s : bpcn_file_recover(work->path, copy, &recovery);
    unlink(copy);
    unlink(work->path);
    work->status = s;
    snprintf(work->error, sizeof work->error, "%.255s", bpcn_error());
    return NULL;
}

static void *nothing(void *argument)
{
    return argument;
}

/* glibc puts the thread-local variables of all libraries into a thread's stack: of OpenBLAS, where it is linked,
   60 kB. */
static size_t taken_by_libraries(void)
{
    pthread_attr_t attributes;
    pthread_t thread;
    size_t least = (size_t)PTHREAD_STACK_MIN;
    assert_int_equal(pthread_attr_init(&attributes), 0);
    for (;; least += 4096) {
        assert_true(least < 1 << 20);
        assert_int_equal(pthread_attr_setstacksize(&attributes, least), 0);
        if (pthread_create(&thread, &attributes, nothing, NULL) == 0)
            break;
    }
    pthread_join(thread, NULL);
    pthread_attr_destroy(&attributes);
    return least - (size_t)PTHREAD_STACK_MIN;
}

static void run_on(size_t stack, struct work *work)
{
    pthread_attr_t attributes;
    pthread_t thread;
    assert_int_equal(pthread_attr_init(&attributes), 0);
    assert_int_equal(pthread_attr_setstacksize(&attributes, stack), 0);
    assert_int_equal(pthread_create(&thread, &attributes, run, work), 0);
    pthread_join(thread, NULL);
    pthread_attr_destroy(&attributes);
    if (work->status != BPCN_OK)
        print_error("status %d: %s\n", work->status, work->error);
    assert_int_equal(work->status, BPCN_OK);
}

static void sixty_four_kilobytes_of_stack_are_enough(void **state)
{
    static struct work small, large;
    size_t taken = taken_by_libraries();
    (void)state;
    for (int kind = 0; kind < 20; kind++) {
        bpcn_options o;
        bpcn_options_default(&o, sizeof o);
        o.dim = DIM;
        o.layers = 3;
        o.hidden[0] = kind % 10 == 9 ? 200 : 32;
        o.hidden[1] = o.hidden[2] = o.hidden[0];
        o.precision = kind < 10 ? BPCN_FLOAT32 : BPCN_FLOAT64;
        o.activation = kind % 2 ? BPCN_RELU : BPCN_GELU;
        switch (kind % 10) {
        case 2:
            o.particles = 8;
            o.resample = 1;
            break;
        case 3:
        case 4:
            o.shards = 6;
            o.shard_rows = 4;
            o.when_full = kind % 10 == 3 ? BPCN_RECYCLE : BPCN_BLUR;
            break;
        case 5:
            o.kind = BPCN_TABLE;
            break;
        case 6:
            o.minimizer = BPCN_ADAM;
            o.adam_steps = 10;
            o.rounds = 2;
            break;
        case 7:
            o.names = 8;
            break;
        case 8:
            o.layers = 0;
            break;
        default:
            break;
        }
        small = large = (struct work){.options = o};
        small.path = "small-stack.mem";
        large.path = "large-stack.mem";
        run_on(STACK + taken, &small);
        run_on(8 << 20, &large);
        assert_int_equal(small.deleted, large.deleted); /* a kind of memory may refuse it */
        if (kind % 10 == 0)
            assert_int_equal(small.deleted, BPCN_OK);
        assert_memory_equal(small.answers, large.answers, sizeof small.answers);
    }
}

int main(void)
{
    char folder[] = "/tmp/bpcn-stack-XXXXXX";
    if (mkdtemp(folder) == NULL || chdir(folder) != 0)
        return 1;
    const struct CMUnitTest tests[] = {cmocka_unit_test(sixty_four_kilobytes_of_stack_are_enough)};
    int failed = cmocka_run_group_tests_name("small_stack", tests, NULL, NULL);
    return chdir("/") == 0 && rmdir(folder) == 0 ? failed : 1;
}
