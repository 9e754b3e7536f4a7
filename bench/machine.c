/* The yardsticks: the best of several runs each, because the machine is shared. */
#include "machine.h"

#include <pthread.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

double machine_now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

enum { MOST_CORES = 64 };

static size_t cores(void)
{
    long n = sysconf(_SC_NPROCESSORS_ONLN);
    return n < 1 ? 1 : n > MOST_CORES ? MOST_CORES : (size_t)n;
}

/* Runs work on every core at once, each with its own of the arguments of `size` bytes; returns the seconds. */
static double run_everywhere(void *(*work)(void *), void *arguments, size_t size)
{
    pthread_t thread[MOST_CORES];
    double start = machine_now();
    for (size_t i = 0; i < cores(); i++)
        if (pthread_create(&thread[i], NULL, work, (char *)arguments + i * size) != 0)
            abort();
    for (size_t i = 0; i < cores(); i++)
        pthread_join(thread[i], NULL);
    return machine_now() - start;
}

/* ---- multiplications and additions in registers alone: what no product of matrices exceeds. The Makefile lets the
   compiler fuse them. */

typedef float line __attribute__((vector_size(64)));
enum { ROUNDS = 1 << 21, LANES = sizeof(line) / sizeof(float) };

/* Sums of `count` lines that depend on nothing but themselves: enough to keep every unit busy, few enough for the
   registers. Returns how many products were added. */
static inline __attribute__((always_inline)) double add_products(size_t count, float *result)
{
    line sum[8] = {{0}}, x = {0}, y = x + 1e-3f;
    x += 1 - 1e-3f;
    for (size_t i = 0; i < ROUNDS; i++)
        for (size_t k = 0; k < count; k++)
            sum[k] = sum[k] * x + y;
    for (size_t k = 0; k < count; k++)
        *result += sum[k][0];
    return (double)(LANES * count) * ROUNDS;
}

struct adder {
    float result;
    double products;
};

#if defined(__x86_64__)
static __attribute__((target("avx512f"))) double add_avx512(float *result)
{
    return add_products(8, result);
}

static __attribute__((target("avx2,fma"))) double add_avx2(float *result)
{
    return add_products(5, result);
}
#endif

static void *add_on_core(void *argument)
{
    struct adder *a = argument;
#if defined(__x86_64__)
    if (__builtin_cpu_supports("avx512f"))
        a->products = add_avx512(&a->result);
    else if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma"))
        a->products = add_avx2(&a->result);
    else
#endif
        a->products = add_products(3, &a->result);
    return NULL;
}

double machine_peak_gflops(void)
{
    struct adder part[MOST_CORES] = {{0}};
    double best = 0;
    for (int run = 0; run < 8; run++) {
        double seconds = run_everywhere(add_on_core, part, sizeof *part), products = 0;
        for (size_t i = 0; i < cores(); i++)
            products += part[i].products;
        best = 2e-9 * products / seconds > best ? 2e-9 * products / seconds : best;
    }
    return best;
}

/* ---- memory */

struct reader {
    const double *data;
    size_t count;
    double sum;
};

static void *read_all(void *argument)
{
    struct reader *r = argument;
    double lane[16] = {0};
    for (size_t i = 0; i + 16 <= r->count; i += 16)
        for (size_t j = 0; j < 16; j++)
            lane[j] += r->data[i + j];
    for (size_t j = 0; j < 16; j++)
        r->sum += lane[j];
    return NULL;
}

double machine_stream_gbs(void)
{
    const size_t count = (size_t)32 << 20; /* 256 MB: more than any cache */
    double *data = malloc(count * sizeof *data), best = 0;
    if (data == NULL)
        return 0;
    for (size_t i = 0; i < count; i++)
        data[i] = (double)i; /* zeros could all be one page */
    for (int run = 0; run < 6; run++) {
        struct reader part[MOST_CORES] = {{0}};
        size_t share = count / cores();
        for (size_t i = 0; i < cores(); i++)
            part[i] = (struct reader){data + i * share, share, 0};
        double rate = 1e-9 * (double)(count * sizeof *data) / run_everywhere(read_all, part, sizeof *part);
        best = rate > best ? rate : best;
    }
    free(data);
    return best;
}
