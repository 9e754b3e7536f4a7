/* Counters and histograms of latency, in the text format of Prometheus. */
#include "metrics.h"

#include <inttypes.h>
#include <pthread.h>
#include <string.h>

enum { ENDPOINTS_MOST = 24, STATUSES_MOST = 24, BUCKETS = 8 };
static const double bounds[BUCKETS] = {0.001, 0.003, 0.01, 0.03, 0.1, 0.3, 1, 10};

struct line {
    const char *endpoint;
    unsigned status[STATUSES_MOST];
    uint64_t requests[STATUSES_MOST];
    uint64_t below[BUCKETS], all, rows, evaluations;
    double seconds;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct line lines[ENDPOINTS_MOST];

/* With the lock held. */
static struct line *line_of(const char *endpoint)
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
    struct line *l = line_of(endpoint);
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
    struct line *l = line_of(endpoint);
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

static void put_rows(FILE *out)
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
        const struct line *l = &lines[k];
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

static void put_gauge(FILE *out, const char *name, const char *help, double value)
{
    fprintf(out, "# HELP %s %s\n# TYPE %s gauge\n%s %.15g\n", name, help, name, name, value);
}

char *metrics_text(const struct state *s, size_t *size)
{
    char *text = NULL;
    FILE *out = open_memstream(&text, size);
    if (out == NULL)
        return NULL;
    pthread_mutex_lock(&lock);
    put_requests(out);
    put_rows(out);
    put_latencies(out);
    pthread_mutex_unlock(&lock);
    fprintf(out,
            "# HELP bpcn_batches_total Reads of the memory, each of the rows of one or more requests.\n"
            "# TYPE bpcn_batches_total counter\nbpcn_batches_total %" PRIu64 "\n",
            s->batches);
    put_gauge(out, "bpcn_queue", "Requests that wait or are worked on.", (double)s->waiting);
    put_gauge(out, "bpcn_changes_waited_for", "Rows changed while a read waited, at most.", (double)s->changes_waited);
    put_gauge(out, "bpcn_memory_writes", "Rows written since the memory was made.", (double)s->stats.writes);
    put_gauge(out, "bpcn_memory_fullness", "From 0 to 1.", s->fullness < 0 ? 0 : s->fullness);
    put_gauge(out, "bpcn_memory_bytes", "Of the memory itself.", (double)s->stats.bytes);
    put_gauge(out, "bpcn_memory_prepared_bytes", "Kept beside it between reads.", (double)s->stats.prepared_bytes);
    put_gauge(out, "bpcn_memory_shards", "Shards that have begun.", (double)s->stats.shards);
    return fclose(out) == 0 ? text : NULL;
}
