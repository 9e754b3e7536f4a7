/*
 * Processes: a writer and ten readers at once, two writers, a writer killed while readers are at
 * it. No waiting by the clock: everybody goes as fast as he can. Usage: store_processes [steps]
 * that the writer makes.
 */
#include "store_session.h"

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

enum { READERS = 10 };

static char path[512];

static bpcn_memory *open_as(int read_only, const bpcn_options *create, bpcn_status expected)
{
    bpcn_open_options how;
    bpcn_memory *memory;
    bpcn_open_options_default(&how, sizeof how);
    how.read_only = read_only;
    how.create = create;
    how.threads = 1;
    REQUIRE(bpcn_memory_open(path, &how, &memory) == expected);
    return memory;
}

static pid_t start(void (*work)(int input, int output, uint64_t steps), uint64_t steps, int *input, int *output)
{
    int in[2], out[2];
    REQUIRE(pipe(in) == 0 && pipe(out) == 0);
    fflush(stdout);
    pid_t pid = fork();
    REQUIRE(pid >= 0);
    if (pid == 0) {
        close(in[1]);
        close(out[0]);
        work(in[0], out[1], steps);
        _exit(0);
    }
    close(in[0]);
    close(out[1]);
    *input = in[1];
    *output = out[0];
    return pid;
}

static void join(pid_t pid, int killed)
{
    int status;
    REQUIRE(waitpid(pid, &status, 0) == pid);
    REQUIRE(killed ? WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL
                   : WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

/* Makes steps, a checkpoint after every fourth call, closes and opens after every third, and tells each. */
static void writer(int input, int output, uint64_t steps)
{
    bpcn_options o = session_options();
    bpcn_memory *memory = open_as(0, &o, BPCN_OK);
    uint64_t step = 0;
    (void)input;
    for (int calls = 1; step < steps; calls++) {
        size_t made;
        REQUIRE(session_call(memory, step, &made) == BPCN_OK);
        step += made;
        if (calls % 4 == 0)
            REQUIRE(bpcn_memory_checkpoint(memory) == BPCN_OK);
        if (calls % 3 == 0) {
            REQUIRE(bpcn_memory_close(memory) == BPCN_OK);
            memory = open_as(0, NULL, BPCN_OK);
        }
        REQUIRE(write(output, &step, sizeof step) == sizeof step);
    }
    bpcn_memory_free(memory);
}

/* Opens again and again until it has seen the last step: every state it sees is one of the
   session, none older than the one before. */
static void reader(int input, int output, uint64_t steps)
{
    long newest = 0;
    uint64_t opened = 0;
    int last = 0;
    (void)input;
    REQUIRE(write(output, "r", 1) == 1); /* ready */
    while (!last) {
        bpcn_memory *memory = open_as(1, NULL, BPCN_OK);
        long now = session_find(memory, (uint64_t)newest, steps + MOST_TOGETHER);
        REQUIRE(now >= newest);
        newest = now;
        opened++;
        last = session_find(memory, steps, steps + MOST_TOGETHER) >= 0; /* steps may leave the state as it is */
        bpcn_memory_free(memory);
    }
    REQUIRE(write(output, &opened, sizeof opened) == sizeof opened);
}

/* Tries to open for writing while another has it. */
static void rival(int input, int output, uint64_t steps)
{
    char go;
    (void)steps;
    while (read(input, &go, 1) == 1) {
        open_as(0, NULL, BPCN_BUSY);
        REQUIRE(write(output, "b", 1) == 1);
    }
    bpcn_memory_free(open_as(0, NULL, BPCN_OK)); /* the first has closed it */
}

/* Holds the memory read-only open until its input closes, and sees that it did not change. */
static void holder(int input, int output, uint64_t steps)
{
    char stop;
    bpcn_memory *memory = open_as(1, NULL, BPCN_OK);
    uint32_t sum = state_sum(memory);
    (void)steps;
    REQUIRE(write(output, "h", 1) == 1);
    REQUIRE(read(input, &stop, 1) == 0);
    REQUIRE(state_sum(memory) == sum);
    bpcn_memory_free(memory);
}

static uint64_t read_step(int output)
{
    uint64_t step = 0;
    return read(output, &step, sizeof step) == sizeof step ? step : 0;
}

static void writer_and_ten_readers(uint64_t steps)
{
    bpcn_options o = session_options();
    pid_t readers[READERS], writing;
    int input[READERS + 1], output[READERS + 1];
    uint64_t opened = 0;
    char ready;
    for (uint64_t i = 0; i <= steps + MOST_TOGETHER; i++)
        session_sum(i); /* once, for all the processes to come */
    bpcn_memory_free(open_as(0, &o, BPCN_OK));
    for (int i = 0; i < READERS; i++) {
        readers[i] = start(reader, steps, &input[i], &output[i]);
        REQUIRE(read(output[i], &ready, 1) == 1);
    }
    writing = start(writer, steps, &input[READERS], &output[READERS]);
    while (read_step(output[READERS]) != 0)
        continue;
    join(writing, 0);
    for (int i = 0; i < READERS; i++) {
        opened += read_step(output[i]);
        close(input[i]);
        close(output[i]);
        join(readers[i], 0);
    }
    printf("store_processes: a writer of %llu steps and %d readers: %llu openings, each a state of the session\n",
           (unsigned long long)steps, READERS, (unsigned long long)opened);
}

static void two_writers(void)
{
    bpcn_memory *mine = open_as(0, NULL, BPCN_OK);
    int input, output;
    char answer;
    pid_t pid = start(rival, 0, &input, &output);
    for (int i = 0; i < 20; i++) { /* before and after checkpoints, which replace the locked file */
        REQUIRE(write(input, "g", 1) == 1);
        REQUIRE(read(output, &answer, 1) == 1);
        REQUIRE(write_row(mine, (uint64_t)i) == BPCN_OK);
        if (i % 3 == 0)
            REQUIRE(bpcn_memory_checkpoint(mine) == BPCN_OK);
    }
    bpcn_memory_free(mine);
    close(input);
    join(pid, 0);
    close(output);
    printf("store_processes: a second writer was told 20 times that the file is busy, and then had it\n");
}

static void writer_killed_under_readers(void)
{
    pid_t holders[READERS], writing;
    int input[READERS + 1], output[READERS + 1];
    char ready;
    uint64_t step = 0;
    unlink(path);
    writing = start(writer, UINT64_MAX, &input[READERS], &output[READERS]);
    step = read_step(output[READERS]);
    for (int i = 0; i < READERS; i++) {
        holders[i] = start(holder, 0, &input[i], &output[i]);
        REQUIRE(read(output[i], &ready, 1) == 1);
    }
    kill(writing, SIGKILL);
    for (uint64_t last; (last = read_step(output[READERS])) != 0;)
        step = last;
    join(writing, 1);
    bpcn_memory *memory = open_as(0, NULL, BPCN_OK); /* the lock died with its owner */
    REQUIRE(session_find(memory, step, step + MOST_TOGETHER) >= 0);
    bpcn_memory_free(memory);
    for (int i = READERS - 1; i >= 0; i--) { /* the last has no copy of another's pipe */
        close(input[i]);
        join(holders[i], 0);
        close(output[i]);
    }
    printf("store_processes: a writer was killed after step %llu with %d readers open: nothing lost, nothing locked\n",
           (unsigned long long)step, READERS);
}

int main(int argc, char **argv)
{
    uint64_t steps = count_argument(argc, argv, 60);
    snprintf(path, sizeof path, "%s", scratch("memory"));
    for (unsigned long which = 0; which < SESSIONS; which++) {
        session_choose(which);
        unlink(path);
        writer_and_ten_readers(steps / SESSIONS);
    }
    two_writers();
    writer_killed_under_readers();
    return 0;
}
