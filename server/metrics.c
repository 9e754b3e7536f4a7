/* Counters and histograms of latency, in the text format of Prometheus. */
#include "metrics.h"

#include <dirent.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#if defined(__clang__)
#define COMPILER "clang " __clang_version__
#elif defined(__GNUC__)
#define COMPILER "gcc " __VERSION__
#else
#define COMPILER "unknown"
#endif

enum { ENDPOINTS_MOST = 32, STATUSES_MOST = 24, BUCKETS = 8 };
static const double bounds[BUCKETS] = {0.001, 0.003, 0.01, 0.03, 0.1, 0.3, 1, 10};

struct endpoint_counts {
    const char *endpoint;
    unsigned status[STATUSES_MOST];
    uint64_t requests[STATUSES_MOST];
    uint64_t below[BUCKETS], all, rows, evaluations;
    double seconds;
};

static double started; /* seconds since 1970 */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct endpoint_counts lines[ENDPOINTS_MOST];

/* With the lock held. */
static struct endpoint_counts *counts_of(const char *endpoint)
{
    size_t k = 0;
    while (k + 1 < ENDPOINTS_MOST && lines[k].endpoint != NULL && strcmp(lines[k].endpoint, endpoint) != 0)
        k++;
    if (lines[k].endpoint == NULL)
        lines[k].endpoint = endpoint;
    return &lines[k];
}

void metrics_request(const char *endpoint, unsigned status, double seconds)
{
    pthread_mutex_lock(&lock);
    struct endpoint_counts *l = counts_of(endpoint);
    size_t k = 0;
    while (k + 1 < STATUSES_MOST && l->status[k] != 0 && l->status[k] != status)
        k++;
    l->status[k] = status;
    l->requests[k]++;
    for (size_t b = 0; b < BUCKETS; b++)
        l->below[b] += seconds <= bounds[b];
    l->all++;
    l->seconds += seconds;
    pthread_mutex_unlock(&lock);
}

void metrics_rows(const char *endpoint, size_t rows, uint64_t evaluations)
{
    pthread_mutex_lock(&lock);
    struct endpoint_counts *l = counts_of(endpoint);
    l->rows += rows;
    l->evaluations += evaluations;
    pthread_mutex_unlock(&lock);
}

static void put_requests(FILE *out)
{
    fputs("# HELP bpcn_requests_total Requests by endpoint and status.\n# TYPE bpcn_requests_total counter\n", out);
    for (size_t k = 0; k < ENDPOINTS_MOST && lines[k].endpoint; k++)
        for (size_t s = 0; s < STATUSES_MOST && lines[k].status[s]; s++)
            fprintf(out, "bpcn_requests_total{endpoint=\"%s\",status=\"%u\"} %" PRIu64 "\n", lines[k].endpoint,
                    lines[k].status[s], lines[k].requests[s]);
}

static void put_row_counts(FILE *out)
{
    fputs("# HELP bpcn_rows_total Rows by endpoint.\n# TYPE bpcn_rows_total counter\n", out);
    for (size_t k = 0; k < ENDPOINTS_MOST && lines[k].endpoint; k++)
        if (lines[k].rows > 0)
            fprintf(out, "bpcn_rows_total{endpoint=\"%s\"} %" PRIu64 "\n", lines[k].endpoint, lines[k].rows);
    fputs("# HELP bpcn_evaluations_total Evaluations of energy and gradient.\n# TYPE bpcn_evaluations_total counter\n",
          out);
    for (size_t k = 0; k < ENDPOINTS_MOST && lines[k].endpoint; k++)
        if (lines[k].rows > 0)
            fprintf(out, "bpcn_evaluations_total{endpoint=\"%s\"} %" PRIu64 "\n", lines[k].endpoint,
                    lines[k].evaluations);
}

static void put_latencies(FILE *out)
{
    fputs("# HELP bpcn_request_seconds Seconds from a request's headers to its answer.\n"
          "# TYPE bpcn_request_seconds histogram\n",
          out);
    for (size_t k = 0; k < ENDPOINTS_MOST && lines[k].endpoint; k++) {
        const struct endpoint_counts *l = &lines[k];
        if (l->all == 0)
            continue;
        for (size_t b = 0; b < BUCKETS; b++)
            fprintf(out, "bpcn_request_seconds_bucket{endpoint=\"%s\",le=\"%g\"} %" PRIu64 "\n", l->endpoint, bounds[b],
                    l->below[b]);
        fprintf(out, "bpcn_request_seconds_bucket{endpoint=\"%s\",le=\"+Inf\"} %" PRIu64 "\n", l->endpoint, l->all);
        fprintf(out, "bpcn_request_seconds_sum{endpoint=\"%s\"} %.6f\n", l->endpoint, l->seconds);
        fprintf(out, "bpcn_request_seconds_count{endpoint=\"%s\"} %" PRIu64 "\n", l->endpoint, l->all);
    }
}

/* ---- the process and the memories */

static void put_help(FILE *out, const char *name, const char *kind, const char *help)
{
    fprintf(out, "# HELP %s %s\n# TYPE %s %s\n", name, help, name, kind);
}

/* What Prometheus' own clients tell of a process; none where there is no /proc. */
static void put_process(FILE *out)
{
    struct rusage used;
    unsigned long pages[2] = {0, 0};
    size_t files = 0;
    if (getrusage(RUSAGE_SELF, &used) == 0) {
        put_help(out, "process_cpu_seconds_total", "counter", "CPU time, user and system.");
        fprintf(out, "process_cpu_seconds_total %.6f\n",
                (double)(used.ru_utime.tv_sec + used.ru_stime.tv_sec) +
                    1e-6 * (double)(used.ru_utime.tv_usec + used.ru_stime.tv_usec));
    }
    FILE *in = fopen("/proc/self/statm", "r");
    if (in != NULL && fscanf(in, "%lu %lu", &pages[0], &pages[1]) == 2) {
        put_help(out, "process_virtual_memory_bytes", "gauge", "Address space.");
        fprintf(out, "process_virtual_memory_bytes %.0f\n", (double)pages[0] * (double)sysconf(_SC_PAGESIZE));
        put_help(out, "process_resident_memory_bytes", "gauge", "Memory in use.");
        fprintf(out, "process_resident_memory_bytes %.0f\n", (double)pages[1] * (double)sysconf(_SC_PAGESIZE));
    }
    if (in != NULL)
        fclose(in);
    DIR *folder = opendir("/proc/self/fd");
    while (folder != NULL && readdir(folder) != NULL)
        files++;
    if (folder != NULL) {
        closedir(folder);
        put_help(out, "process_open_fds", "gauge", "Open files and connections.");
        fprintf(out, "process_open_fds %zu\n", files > 3 ? files - 3 : 0); /* without ., .. and the folder itself */
    }
    put_help(out, "process_start_time_seconds", "gauge", "When the server was started, in seconds since 1970.");
    fprintf(out, "process_start_time_seconds %.3f\n", started);
}

/* One line for every memory. */
static void put_memories(FILE *out, const struct server *server, const struct worker_state *states)
{
    static const struct {
        const char *name, *kind, *help;
    } gauges[] = {{"bpcn_batches_total", "counter", "Reads of the memory, each of the rows of one or more requests."},
                  {"bpcn_queue", "gauge", "Requests that wait or are worked on."},
                  {"bpcn_changes_waited_for", "gauge", "Rows changed while a read waited, at most."},
                  {"bpcn_memory_writes", "gauge", "Rows written since the memory was made."},
                  {"bpcn_memory_fullness", "gauge", "From 0 to 1."},
                  {"bpcn_memory_bytes", "gauge", "Of the memory itself."},
                  {"bpcn_memory_prepared_bytes", "gauge", "Kept beside it between reads."},
                  {"bpcn_memory_shards", "gauge", "Shards that have begun."},
                  {"bpcn_memory_reopened_total", "counter", "How often the file was opened anew."},
                  {"bpcn_memory_trouble", "gauge", "0, or the status of the library that makes the file unreliable."}};
    for (size_t k = 0; k < sizeof gauges / sizeof *gauges; k++) {
        put_help(out, gauges[k].name, gauges[k].kind, gauges[k].help);
        for (size_t i = 0; i < server->memories; i++) {
            const struct worker_state *s = &states[i];
            const double values[] = {(double)s->batches,
                                     (double)s->waiting,
                                     (double)s->changes_waited,
                                     (double)s->stats.writes,
                                     s->fullness < 0 ? 0 : s->fullness,
                                     (double)s->stats.bytes,
                                     (double)s->stats.prepared_bytes,
                                     (double)s->stats.shards,
                                     (double)s->reopened,
                                     (double)s->error};
            fprintf(out, "%s{memory=\"%s\"} %.15g\n", gauges[k].name, server->memory[i].name, values[k]);
        }
    }
}

void metrics_begin(void)
{
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    started = (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

char *metrics_text(const struct server *server, size_t *size)
{
    char *text = NULL;
    struct worker_state *states = calloc(server->memories, sizeof *states);
    FILE *out = states != NULL ? open_memstream(&text, size) : NULL;
    if (out == NULL) {
        free(states);
        return NULL;
    }
    for (size_t i = 0; i < server->memories; i++)
        states[i] = worker_state(server->memory[i].worker);
    put_help(out, "bpcn_build_info", "gauge", "The program that runs.");
    fprintf(out, "bpcn_build_info{version=\"%s\",kernels=\"%s\",compiler=\"%s\"} 1\n", bpcn_version(),
            states[0].stats.kernels ? states[0].stats.kernels : "", COMPILER);
    pthread_mutex_lock(&lock);
    put_requests(out);
    put_row_counts(out);
    put_latencies(out);
    pthread_mutex_unlock(&lock);
    put_memories(out, server, states);
    put_process(out);
    for (size_t i = 0; i < server->memories; i++)
        free(states[i].rows);
    free(states);
    if (fclose(out) == 0)
        return text;
    free(text);
    return NULL;
}
