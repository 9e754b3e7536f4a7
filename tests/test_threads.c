/* One pool of threads serves a process, however many memories it has, and survives forks. */
#define _DEFAULT_SOURCE /* usleep */
#include "support.h"

#include <dirent.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

enum { DIM = 256, ROWS = 8, FORKS = 40 };

/* -1 where the system does not tell. */
static int threads_of_process(void)
{
    DIR *dir = opendir("/proc/self/task");
    int count = -2; /* . and .. */
    if (dir == NULL)
        return -1;
    while (readdir(dir) != NULL)
        count++;
    closedir(dir);
    return count;
}

static bpcn_memory *memory_of(size_t dim, size_t width, int threads, const float *x)
{
    size_t widths[] = {width, width};
    bpcn_options o = network(dim, 2, widths);
    o.threads = threads;
    bpcn_memory *m = make_memory(o);
    assert_ok(bpcn_memory_write(m, x, NULL, ROWS, NULL));
    return m;
}

static void fill(size_t dim, float *x)
{
    struct dice dice = {5};
    for (size_t j = 0; j < ROWS * dim; j++)
        x[j] = (float)(2 * dice_uniform(&dice) - 1);
}

/* The first of the laws: no thread of a pool runs before it. */
static void a_thousand_small_memories_need_one_thread(void **state)
{
    enum { MANY = 1000, SMALL = 8 };
    static bpcn_memory *m[MANY];
    float x[ROWS * SMALL], answer[ROWS * SMALL];
    (void)state;
    int before = threads_of_process();
    if (before < 0) {
        print_message("skipped: this system does not tell how many threads there are\n");
        skip();
    }
    fill(SMALL, x);
    for (size_t i = 0; i < MANY; i++) {
        m[i] = memory_of(SMALL, 8, 4, x);
        assert_ok(bpcn_memory_read(m[i], x, NULL, ROWS, NULL, answer, NULL));
    }
    assert_int_equal(threads_of_process(), before);
    for (size_t i = 0; i < MANY; i++)
        bpcn_memory_free(m[i]);
}

static float wide[ROWS * DIM];

static void *use_memory(void *argument)
{
    float answer[ROWS * DIM];
    bpcn_memory *m = memory_of(DIM, 256, *(int *)argument, wide);
    assert_ok(bpcn_memory_read(m, wide, NULL, ROWS, NULL, answer, NULL));
    bpcn_memory_free(m);
    return NULL;
}

static void many_large_memories_share_one_pool(void **state)
{
    enum { CALLERS = 6 };
    pthread_t caller[CALLERS];
    int threads = 3;
    (void)state;
    int before = threads_of_process();
    for (int i = 0; i < CALLERS; i++)
        assert_int_equal(pthread_create(&caller[i], NULL, use_memory, &threads), 0);
    for (int i = 0; i < CALLERS; i++)
        pthread_join(caller[i], NULL);
    if (before > 0)
        assert_in_range(threads_of_process(), before, before + threads - 1);
}

static void answers_do_not_depend_on_the_number_of_threads(void **state)
{
    static float answers[4][ROWS * DIM];
    bpcn_memory *m = memory_of(DIM, 64, 1, wide);
    char path[] = "/tmp/bpcn-threads-XXXXXX";
    (void)state;
    int fd = mkstemp(path);
    assert_true(fd >= 0);
    close(fd);
    assert_ok(bpcn_memory_save(m, path));
    bpcn_memory_free(m);
    for (int threads = 1; threads <= 4; threads++) {
        bpcn_open_options how;
        bpcn_open_options_default(&how, sizeof how);
        how.read_only = 1;
        how.threads = threads;
        assert_ok(bpcn_memory_open(path, &how, &m));
        assert_ok(bpcn_memory_read(m, wide, NULL, ROWS, NULL, answers[threads - 1], NULL));
        assert_memory_equal(answers[0], answers[threads - 1], sizeof answers[0]);
        bpcn_memory_free(m);
    }
    unlink(path);
}

/* ---- forks while another thread is in the middle of a read, which prepares what reads share under locks */

static bpcn_memory *shared;
static atomic_int reading;

static void *read_once(void *argument)
{
    float answer[ROWS * DIM];
    (void)argument;
    atomic_store(&reading, 1);
    assert_ok(bpcn_memory_read(shared, wide, NULL, ROWS, NULL, answer, NULL));
    return NULL;
}

static void children_of_a_fork_do_not_wait_for_their_parents_threads(void **state)
{
    float answer[ROWS * DIM];
    int failed = 0;
    (void)state;
    for (int i = 0; i < FORKS && !failed; i++) {
        pthread_t reader;
        int status;
        shared = memory_of(DIM, 256, 2, wide);
        atomic_store(&reading, 0);
        assert_int_equal(pthread_create(&reader, NULL, read_once, NULL), 0);
        while (!atomic_load(&reading)) {
        }
        usleep((useconds_t)(i * 50)); /* another place of the read each time */
        pid_t pid = fork();
        assert_true(pid >= 0);
        if (pid == 0) {
            alarm(60); /* a child that waits for a lock is ended, and fails the law */
            bpcn_status s = bpcn_memory_read(shared, wide, NULL, ROWS, NULL, answer, NULL);
            s = s ? s : bpcn_memory_write(shared, wide, NULL, 1, NULL);
            s = s ? s : bpcn_memory_read(shared, wide, NULL, 2, NULL, answer, NULL);
            _exit(s == BPCN_OK ? 0 : 1);
        }
        assert_int_equal(waitpid(pid, &status, 0), pid);
        failed = !WIFEXITED(status) || WEXITSTATUS(status) != 0;
        pthread_join(reader, NULL);
        bpcn_memory_free(shared);
    }
    assert_false(failed);
}

int main(void)
{
    fill(DIM, wide);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_thousand_small_memories_need_one_thread),
        cmocka_unit_test(many_large_memories_share_one_pool),
        cmocka_unit_test(answers_do_not_depend_on_the_number_of_threads),
        cmocka_unit_test(children_of_a_fork_do_not_wait_for_their_parents_threads),
    };
    return cmocka_run_group_tests_name("threads", tests, NULL, NULL);
}
