/* Counts of what the server did, for /metrics. Any thread may call these. */
#ifndef BPCN_SERVER_METRICS_H
#define BPCN_SERVER_METRICS_H

#include "worker.h"

/* The process starts now. */
void metrics_begin(void);

/* A finished request; the name of its endpoint must stay. */
void metrics_request(const char *endpoint, unsigned status, double seconds);
void metrics_rows(const char *endpoint, size_t rows, uint64_t evaluations);

/* Prometheus' text; to be freed, NULL: out of memory. */
char *metrics_text(const struct server *server, size_t *size);

#endif
