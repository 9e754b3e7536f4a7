/* Many clients of a running server on loopback, and beside them what the library does in batches of 256 without one.
     load PORT MEM ROWS.f32 CLIENTS SECONDS ROWS_PER_REQUEST WRITES_PERCENT
   MEM is opened read-only for the comparison and for its shape; rows are little-endian floats, of which every request
   asks for some with the right half hidden. Prints rows per second, latencies and the ratio. */
#include "bayespcn.h"

#include <arpa/inet.h>
#include <math.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

enum { BATCH = 256, LATENCIES_MOST = 1 << 20 };

static struct {
    int port, clients, seconds, each, writes;
    size_t dim, rows;
    float *x; /* [rows x dim] */
    double ends;
    pthread_mutex_t lock;
    size_t read, written, refused, broken, count; /* rows, rows, requests, requests, latencies */
    double latency[LATENCIES_MOST];
} load = {.lock = PTHREAD_MUTEX_INITIALIZER};

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static int connect_to_server(void)
{
    struct sockaddr_in a = {.sin_family = AF_INET, .sin_port = htons((uint16_t)load.port)};
    a.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    int one = 1, s = socket(AF_INET, SOCK_STREAM, 0);
    if (s >= 0 && setsockopt(s, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one) == 0 &&
        connect(s, (struct sockaddr *)&a, sizeof a) == 0)
        return s;
    perror("connect");
    exit(1);
}

static int send_all(int s, const void *bytes, size_t size)
{
    for (const char *p = bytes; size > 0;) {
        ssize_t n = send(s, p, size, MSG_NOSIGNAL);
        if (n <= 0)
            return -1;
        p += n;
        size -= (size_t)n;
    }
    return 0;
}

/* The status of an answer that is read to its end; -1 when the connection broke. */
static int answer(int s, char *buffer, size_t room)
{
    size_t have = 0, length = 0;
    char *end = NULL;
    while (end == NULL || have < (size_t)(end + 4 - buffer) + length) {
        ssize_t n = recv(s, buffer + have, room - 1 - have, 0);
        if (n <= 0)
            return -1;
        have += (size_t)n;
        buffer[have] = '\0';
        if (end == NULL && (end = strstr(buffer, "\r\n\r\n")) != NULL) {
            const char *at = strstr(buffer, "Content-Length: ");
            length = at != NULL ? strtoul(at + 16, NULL, 10) : 0;
        }
    }
    return (int)strtol(buffer + 9, NULL, 10);
}

/* One request; -1 when the connection broke. */
static int request(int s, unsigned *state, float *body, char *buffer, size_t room)
{
    char head[256];
    size_t each = (size_t)load.each, bytes = each * load.dim * sizeof *body;
    int write = rand_r(state) % 100 < load.writes;
    for (size_t i = 0; i < each; i++)
        memcpy(body + i * load.dim, load.x + (size_t)rand_r(state) % load.rows * load.dim, load.dim * sizeof *body);
    for (size_t j = 0; !write && j < each * load.dim; j++)
        body[j] = j % 28 >= 14 ? NAN : body[j];
    snprintf(head, sizeof head,
             "POST /v1/%s HTTP/1.1\r\nHost: 127.0.0.1:%d\r\nContent-Type: application/octet-stream\r\n"
             "Accept: application/octet-stream\r\nContent-Length: %zu\r\n\r\n",
             write ? "write" : "read", load.port, bytes);
    double began = now();
    int status = send_all(s, head, strlen(head)) || send_all(s, body, bytes) ? -1 : answer(s, buffer, room);
    pthread_mutex_lock(&load.lock);
    if (status == 200 && !write && load.count < LATENCIES_MOST)
        load.latency[load.count++] = now() - began;
    load.read += status == 200 && !write ? each : 0;
    load.written += status == 200 && write ? each : 0;
    load.refused += status == 503;
    load.broken += status != 200 && status != 503;
    pthread_mutex_unlock(&load.lock);
    return status;
}

static void *client(void *arg)
{
    unsigned state = 1 + *(unsigned *)arg;
    size_t bytes = (size_t)load.each * load.dim * sizeof(float), room = bytes + (1 << 16);
    float *body = malloc(bytes);
    char *buffer = malloc(room);
    int s = connect_to_server();
    while (now() < load.ends && request(s, &state, body, buffer, room) > 0)
        ;
    close(s);
    free(body);
    free(buffer);
    return NULL;
}

/* Rows per second that the library reads in batches. */
static double library_rate(const char *path, const float *x, size_t rows)
{
    bpcn_memory *m;
    bpcn_open_options o;
    bpcn_open_options_default(&o, sizeof o);
    o.read_only = 1;
    if (bpcn_memory_open(path, &o, &m) != BPCN_OK) {
        fprintf(stderr, "%s\n", bpcn_error());
        exit(1);
    }
    float *query = malloc(BATCH * load.dim * sizeof *query), *out = malloc(BATCH * load.dim * sizeof *out);
    unsigned char *known = malloc(BATCH * load.dim);
    bpcn_read_options r;
    bpcn_read_options_default(&r, sizeof r);
    r.noise = 0;
    for (size_t j = 0; j < BATCH * load.dim; j++) {
        query[j] = x[j / load.dim % rows * load.dim + j % load.dim];
        known[j] = j % 28 < 14;
    }
    double began = now();
    size_t done = 0;
    for (; now() < began + 3; done += BATCH)
        bpcn_memory_read(m, query, known, BATCH, &r, out, NULL);
    double rate = (double)done / (now() - began);
    bpcn_memory_free(m);
    free(query);
    free(out);
    free(known);
    return rate;
}

static int by_size(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static void read_rows(const char *mem, const char *path)
{
    bpcn_options o = {.size = sizeof o};
    FILE *in = fopen(path, "rb");
    if (in == NULL || bpcn_file_inspect(mem, NULL, &o) != BPCN_OK) {
        fprintf(stderr, "%s or %s cannot be read\n", mem, path);
        exit(1);
    }
    load.dim = o.dim;
    load.x = malloc(4096 * load.dim * sizeof *load.x);
    load.rows = fread(load.x, load.dim * sizeof *load.x, 4096, in);
    fclose(in);
}

int main(int argc, char **argv)
{
    if (argc != 8) {
        fputs("load PORT MEM ROWS.f32 CLIENTS SECONDS ROWS_PER_REQUEST WRITES_PERCENT\n", stderr);
        return 2;
    }
    load.port = atoi(argv[1]);
    load.clients = atoi(argv[4]);
    load.seconds = atoi(argv[5]);
    load.each = atoi(argv[6]);
    load.writes = atoi(argv[7]);
    read_rows(argv[2], argv[3]);
    double alone = library_rate(argv[2], load.x, load.rows), began = now();
    load.ends = began + load.seconds;
    pthread_t *thread = malloc((size_t)load.clients * sizeof *thread);
    unsigned *number = malloc((size_t)load.clients * sizeof *number);
    for (unsigned i = 0; i < (unsigned)load.clients; i++) {
        number[i] = i;
        pthread_create(&thread[i], NULL, client, &number[i]);
    }
    for (int i = 0; i < load.clients; i++)
        pthread_join(thread[i], NULL);
    double took = now() - began, rate = (double)load.read / took;
    qsort(load.latency, load.count, sizeof *load.latency, by_size);
    printf("library: %.0f rows/s in batches of %d\n", alone, BATCH);
    printf("server:  %.0f rows/s read by %d clients, %d a request (%.2f of the library), %.0f rows/s written; "
           "%zu refused, %zu broken\n",
           rate, load.clients, load.each, rate / alone, (double)load.written / took, load.refused, load.broken);
    if (load.count > 0)
        printf("a read:  median %.1f ms, 99 of 100 within %.1f ms\n", 1e3 * load.latency[load.count / 2],
               1e3 * load.latency[load.count * 99 / 100]);
    return load.broken > 0;
}
