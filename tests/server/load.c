/* Many clients of a running server on loopback, and by turns with them the library alone, doing the same work.
     load PORT MEM ROWS.f32 CLIENTS SECONDS ROWS_PER_REQUEST WRITES_PERCENT
   MEM is the server's; it holds the first of the rows (little-endian floats). Requests ask for some of those with the
   right half hidden, or write the rows that come next. The library reads and writes as many in a copy of MEM as it was
   before, 256 reads and the writes that belong to them by turns, each turn's writes durable by one sync. Prints rows
   per second, latencies and both ratios: to the same work, and to reads alone. */
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

enum { BATCH = 256, LATENCIES_MOST = 1 << 20, ROWS_MOST = 8192, TURN = 3 /* seconds */ };

static struct {
    int port, clients, seconds, each, writes;
    size_t dim, rows, held; /* of which the memory has the first */
    float *x;               /* [rows x dim] */
    double ends;
    pthread_mutex_t lock;
    size_t read, written, refused, broken, count; /* rows, rows, requests, requests, latencies */
    size_t next;                                  /* to be written */
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

static int send_all(int s, const void *bytes, size_t size, int more)
{
    for (const char *p = bytes; size > 0;) {
        ssize_t n = send(s, p, size, MSG_NOSIGNAL | more);
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

/* The rows from there on; one to be read lacks its right half. */
static void fill(float *body, size_t row, int write)
{
    const float *x = load.x + row * load.dim;
    for (size_t j = 0; j < load.dim; j++)
        body[j] = !write && j % 28 >= 14 ? NAN : x[j];
}

static size_t next_to_write(void)
{
    pthread_mutex_lock(&load.lock);
    size_t row = load.next;
    load.next = row + 1 < load.rows ? row + 1 : load.held;
    pthread_mutex_unlock(&load.lock);
    return row;
}

/* One request; -1 when the connection broke. */
static int request(int s, unsigned *state, float *body, char *buffer, size_t room)
{
    char head[256];
    size_t each = (size_t)load.each, bytes = each * load.dim * sizeof *body;
    int write = rand_r(state) % 100 < load.writes;
    for (size_t i = 0; i < each; i++)
        fill(body + i * load.dim, write ? next_to_write() : (size_t)rand_r(state) % load.held, write);
    snprintf(head, sizeof head,
             "POST /v1/%s HTTP/1.1\r\nHost: 127.0.0.1:%d\r\nContent-Type: application/octet-stream\r\n"
             "Accept: application/octet-stream\r\nContent-Length: %zu\r\n\r\n",
             write ? "write" : "read", load.port, bytes);
    double began = now();
    int status =
        send_all(s, head, strlen(head), MSG_MORE) || send_all(s, body, bytes, 0) ? -1 : answer(s, buffer, room);
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

/* ---- the library */

static void must(bpcn_status status)
{
    if (status == BPCN_OK)
        return;
    fprintf(stderr, "%s\n", bpcn_error());
    exit(1);
}

static bpcn_memory *open_memory(const char *path, int read_only)
{
    bpcn_memory *m;
    bpcn_open_options o;
    bpcn_open_options_default(&o, sizeof o);
    o.read_only = read_only;
    o.sync = BPCN_SYNC_CALL;
    must(bpcn_memory_open(path, &o, &m));
    return m;
}

/* Reads so many rows in batches, and after each batch writes what belongs to it; how many seconds that takes. */
static double library_does(bpcn_memory *m, size_t reads, size_t writes, unsigned *state, size_t *next)
{
    float *query = malloc(BATCH * load.dim * sizeof *query);
    unsigned char *known = malloc(BATCH * load.dim);
    bpcn_read_options r;
    bpcn_read_options_default(&r, sizeof r);
    r.noise = 0;
    for (size_t j = 0; j < BATCH * load.dim; j++)
        known[j] = j % load.dim % 28 < 14;
    double began = now();
    for (size_t done = 0, written = 0; done < reads;) {
        size_t rows = reads - done < BATCH ? reads - done : BATCH;
        for (size_t i = 0; i < rows; i++)
            fill(query + i * load.dim, (size_t)rand_r(state) % load.held, 1);
        must(bpcn_memory_read(m, query, known, rows, &r, query, NULL));
        done += rows;
        while (written < writes * done / reads) {
            size_t more = writes * done / reads - written;
            more = more < load.rows - *next ? more : load.rows - *next;
            must(bpcn_memory_write(m, load.x + *next * load.dim, NULL, more, NULL));
            written += more;
            *next = *next + more < load.rows ? *next + more : load.held;
        }
    }
    free(query);
    free(known);
    return now() - began;
}

/* ---- both */

static int by_size(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* The rows, and a copy of the memory as it is. */
static void prepare(const char *mem, const char *path, const char *copy)
{
    FILE *in = fopen(path, "rb");
    if (in == NULL) {
        perror(path);
        exit(1);
    }
    bpcn_memory *m = open_memory(mem, 1);
    bpcn_stats stats = {.size = sizeof stats};
    bpcn_options options = {.size = sizeof options};
    must(bpcn_memory_get_stats(m, &stats));
    must(bpcn_memory_save(m, copy));
    must(bpcn_memory_get_options(m, &options));
    load.dim = options.dim;
    bpcn_memory_free(m);
    load.x = malloc(ROWS_MOST * load.dim * sizeof *load.x);
    load.rows = fread(load.x, load.dim * sizeof *load.x, ROWS_MOST, in);
    load.held = load.next = stats.writes < load.rows ? stats.writes : load.rows;
    fclose(in);
    if (load.held == 0 || (load.writes > 0 && load.held == load.rows)) {
        fprintf(stderr, "%s: %zu rows, of which the memory has %zu\n", path, load.rows, load.held);
        exit(1);
    }
}

static void run_clients(double seconds)
{
    pthread_t *thread = malloc((size_t)load.clients * sizeof *thread);
    unsigned *number = malloc((size_t)load.clients * sizeof *number);
    load.ends = now() + seconds;
    for (unsigned i = 0; i < (unsigned)load.clients; i++) {
        number[i] = i;
        pthread_create(&thread[i], NULL, client, &number[i]);
    }
    for (int i = 0; i < load.clients; i++)
        pthread_join(thread[i], NULL);
    free(thread);
    free(number);
}

int main(int argc, char **argv)
{
    char copy[4096];
    if (argc != 8 || snprintf(copy, sizeof copy, "%s.library", argv[2]) >= (int)sizeof copy) {
        fputs("load PORT MEM ROWS.f32 CLIENTS SECONDS ROWS_PER_REQUEST WRITES_PERCENT\n", stderr);
        return 2;
    }
    load.port = atoi(argv[1]);
    load.clients = atoi(argv[4]);
    load.seconds = atoi(argv[5]);
    load.each = atoi(argv[6]);
    load.writes = atoi(argv[7]);
    prepare(argv[2], argv[3], copy);
    bpcn_memory *with = open_memory(copy, 0), *without = open_memory(copy, 1);
    double server = 0, same = 0, alone = 0;
    unsigned state = 1;
    size_t next = load.held;
    for (double left = load.seconds; left > 0; left -= TURN) { /* by turns, because a machine is not always as fast */
        size_t read = load.read, written = load.written;
        double began = now();
        run_clients(left < TURN ? left : TURN);
        server += now() - began;
        alone += library_does(without, load.read - read, 0, &state, &next);
        same += library_does(with, load.read - read, load.written - written, &state, &next);
    }
    bpcn_memory_free(with);
    bpcn_memory_free(without);
    unlink(copy);
    double rows = (double)load.read;
    printf("library: %.0f rows/s read in batches of %d with as many writes, %.0f without any\n", rows / same, BATCH,
           rows / alone);
    printf("server:  %.0f rows/s read by %d clients, %d a request (%.2f and %.2f of the library), %.0f written; "
           "%zu refused, %zu broken\n",
           rows / server, load.clients, load.each, same / server, alone / server, (double)load.written / server,
           load.refused, load.broken);
    qsort(load.latency, load.count, sizeof *load.latency, by_size);
    if (load.count > 0)
        printf("a read:  median %.1f ms, 99 of 100 within %.1f ms\n", 1e3 * load.latency[load.count / 2],
               1e3 * load.latency[load.count * 99 / 100]);
    return load.broken > 0;
}
