/* The yardsticks: the best of several runs each, because the machine is shared. */
#include "machine.h"

#include <cblas.h>
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

double machine_sgemm_gflops(void)
{
    const int n = 1536;
    size_t entries = (size_t)n * (size_t)n;
    float *a = malloc(3 * entries * sizeof *a);
    double best = 0;
    if (a == NULL)
        return 0;
    for (size_t i = 0; i < 3 * entries; i++)
        a[i] = (float)(i % 7) - 3;
    for (int run = 0; run < 8; run++) {
        double start = machine_now();
        cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, n, n, n, 1, a, n, a + entries, n, 0, a + 2 * entries, n);
        double rate = 2e-9 * (double)n * (double)n * (double)n / (machine_now() - start);
        best = rate > best ? rate : best;
    }
    free(a);
    return best;
}

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
    enum { MOST = 64 };
    const size_t count = (size_t)32 << 20; /* 256 MB: more than any cache */
    long cores = sysconf(_SC_NPROCESSORS_ONLN);
    size_t threads = cores < 1 ? 1 : cores > MOST ? MOST : (size_t)cores;
    double *data = malloc(count * sizeof *data), best = 0;
    if (data == NULL)
        return 0;
    for (size_t i = 0; i < count; i++)
        data[i] = (double)i; /* zeros could all be one page */
    for (int run = 0; run < 6; run++) {
        struct reader part[MOST] = {{0}};
        pthread_t thread[MOST];
        double start = machine_now();
        for (size_t i = 0; i < threads; i++) {
            part[i] = (struct reader){data + i * (count / threads), count / threads, 0};
            if (pthread_create(&thread[i], NULL, read_all, &part[i]) != 0)
                abort();
        }
        for (size_t i = 0; i < threads; i++)
            pthread_join(thread[i], NULL);
        double rate = 1e-9 * (double)(count * sizeof *data) / (machine_now() - start);
        best = rate > best ? rate : best;
    }
    free(data);
    return best;
}
