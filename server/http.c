/* Connections: accepts them, reads requests and sends answers. */
#include "http.h"

#include "http_parse.h"
#include "metrics.h"
#include "progress.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>
#include <unistd.h>
#include <zlib.h>

enum {
    SPARE = 16,             /* connections beyond --max-connections: health, and to answer 503 when it is full */
    LINGER_BYTES = 4 << 20, /* of a request that is refused, read so that the client gets to read why */
    GZIP_LEAST = 1024,      /* bytes; shorter answers go as they are */
    STACK_BYTES = 2 << 20,  /* of a connection's thread: the parser of JSON calls itself 2048 deep */
    BUFFER_BYTES = HTTP_HEAD_MOST + 1
};
static const double linger_seconds = 2, spare_seconds = 2;
static const double evict_idle = 0.2; /* seconds without a request after which a connection may be closed for another */
static const double send_rate = 65536; /* bytes a second that a client must take at least */

enum connection_state { CONNECTION_READING, CONNECTION_ANSWERING };

struct connection {
    struct http *http;
    int socket;
    enum connection_state state;
    double since; /* when the connection was opened, or its last request answered */
    bool spare;   /* beyond --max-connections: one request, and only health is answered */
    bool cut;     /* its socket is shut down */
    struct connection *next, **place;
    /* the thread's own */
    char *buffer;      /* [BUFFER_BYTES] */
    size_t begin, end; /* what was received and not read yet */
    double deadline;   /* for the request to arrive */
    double rest;       /* seconds without a byte until it is given up */
    bool timed_out;
};

struct http {
    const struct server *server;
    struct access access;
    struct budget budget;
    int listening, wake[2];
    pthread_t acceptor;
    pthread_mutex_t lock;
    pthread_cond_t changed;
    struct connection *first;
    size_t count;
    bool stopping;
};

/* A request on its way. */
struct exchange {
    struct connection *c;
    struct http_head head;
    struct request request;
    const char *name; /* of the endpoint, for the metrics */
    double began;
    bool close; /* the connection, after the answer */
    bool body_is_read;
    char *bytes; /* of the body */
    size_t size, capacity;
};

/* ---- addresses */

bpcn_status http_find_address(const char *text, struct http_address *a)
{
    const char *colon = strrchr(text, ':');
    char *end = NULL;
    struct in_addr four;
    struct in6_addr six;
    unsigned long port = colon ? strtoul(colon + 1, &end, 10) : 0;
    size_t length = colon ? (size_t)(colon - text) : 0;
    char bare[64];
    *a = (struct http_address){.socket = -1, .port = (unsigned)port};
    if (colon == NULL || length == 0 || length >= sizeof bare || end == colon + 1 || *end != '\0' || port > 65535)
        return bpcn_fail(BPCN_INVALID, "--listen: '%s' is not ADDRESS:PORT, such as 127.0.0.1:8765", text);
    snprintf(a->text, sizeof a->text, "%.*s", (int)length, text);
    if (strcmp(a->text, "localhost") == 0)
        snprintf(a->text, sizeof a->text, "127.0.0.1");
    snprintf(bare, sizeof bare, "%s", a->text);
    if (bare[0] == '[' && bare[strlen(bare) - 1] == ']') {
        memmove(bare, bare + 1, strlen(bare));
        bare[strlen(bare) - 1] = '\0';
        if (inet_pton(AF_INET6, bare, &six) == 1) {
            a->loopback = memcmp(&six, &in6addr_loopback, sizeof six) == 0;
            return BPCN_OK;
        }
    } else if (inet_pton(AF_INET, bare, &four) == 1) {
        a->loopback = ntohl(four.s_addr) >> 24 == 127;
        return BPCN_OK;
    }
    return bpcn_fail(BPCN_INVALID, "--listen: '%s' is no numeric address; IPv6 goes in brackets, as in [::1]:8765",
                     text);
}

bpcn_status http_listen(struct http_address *a)
{
    struct sockaddr_storage address = {0};
    struct sockaddr_in *four = (struct sockaddr_in *)&address;
    struct sockaddr_in6 *six = (struct sockaddr_in6 *)&address;
    socklen_t size = sizeof *four;
    char bare[64];
    if (a->text[0] != '[') {
        four->sin_family = AF_INET;
        four->sin_port = htons((uint16_t)a->port);
        inet_pton(AF_INET, a->text, &four->sin_addr);
    } else {
        size = sizeof *six;
        snprintf(bare, sizeof bare, "%.*s", (int)(strlen(a->text) - 2), a->text + 1);
        six->sin6_family = AF_INET6;
        six->sin6_port = htons((uint16_t)a->port);
        inet_pton(AF_INET6, bare, &six->sin6_addr);
    }
    int one = 1, s = socket(address.ss_family, SOCK_STREAM, 0);
    if (s >= 0 && setsockopt(s, SOL_SOCKET, SO_REUSEADDR, &one, sizeof one) == 0 &&
        bind(s, (struct sockaddr *)&address, size) == 0 && listen(s, 128) == 0 &&
        getsockname(s, (struct sockaddr *)&address, &size) == 0) {
        a->socket = s;
        a->port = ntohs(address.ss_family == AF_INET ? four->sin_port : six->sin6_port);
        return BPCN_OK;
    }
    bpcn_status status = bpcn_fail(BPCN_IO, "%s:%u: %s", a->text, a->port, strerror(errno));
    if (s >= 0)
        close(s);
    return status;
}

/* ---- bytes in and out */

/* Waits until the socket is ready, for up to `seconds`. */
static bool socket_ready(int socket, short events, double seconds)
{
    struct pollfd p = {.fd = socket, .events = events};
    int ms = seconds <= 0 ? 0 : seconds > 1e6 ? 1000000000 : (int)(1000 * seconds) + 1, got;
    do
        got = poll(&p, 1, ms);
    while (got < 0 && errno == EINTR);
    return got > 0;
}

/* Receives into `out`: how many bytes, 0: the client is gone, or took too long, which c->timed_out says. */
static size_t receive(struct connection *c, char *out, size_t capacity)
{
    ssize_t got = recv(c->socket, out, capacity, MSG_DONTWAIT);
    if (got < 0 && (errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR)) {
        double left = c->deadline - seconds_now();
        if (!socket_ready(c->socket, POLLIN, left < c->rest ? left : c->rest)) {
            c->timed_out = true;
            return 0;
        }
        got = recv(c->socket, out, capacity, 0);
    }
    return got > 0 ? (size_t)got : 0;
}

/* Sends all of it, to a client that takes at least a few bytes now and then. */
static bool send_all(struct connection *c, const char *bytes, size_t size, double deadline, double rest)
{
    while (size > 0) {
        ssize_t sent = send(c->socket, bytes, size, MSG_NOSIGNAL | MSG_DONTWAIT);
        if (sent < 0 && (errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR)) {
            double left = deadline - seconds_now();
            if (!socket_ready(c->socket, POLLOUT, left < rest ? left : rest))
                return false;
            continue;
        }
        if (sent <= 0)
            return false;
        bytes += sent;
        size -= (size_t)sent;
    }
    return true;
}

/* Up to size bytes of what has arrived, waiting for at least one. */
static size_t take(struct connection *c, char *out, size_t size)
{
    if (c->begin == c->end)
        return receive(c, out, size);
    size_t n = c->end - c->begin < size ? c->end - c->begin : size;
    memcpy(out, c->buffer + c->begin, n);
    c->begin += n;
    return n;
}

/* ---- answers */

/* The bytes as gzip in a new buffer, NULL when they are not worth it. */
static char *compress_answer(const struct answer *a, size_t *size)
{
    z_stream z = {0};
    if (deflateInit2(&z, 1, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY) != Z_OK)
        return NULL;
    size_t capacity = deflateBound(&z, (uLong)a->size);
    char *out = malloc(capacity);
    z.next_in = (Bytef *)a->bytes;
    z.avail_in = (uInt)a->size;
    z.next_out = (Bytef *)out;
    z.avail_out = (uInt)capacity;
    bool good = out != NULL && a->size < UINT32_MAX && deflate(&z, Z_FINISH) == Z_STREAM_END;
    *size = capacity - z.avail_out;
    deflateEnd(&z);
    if (good)
        return out;
    free(out);
    return NULL;
}

static bool is_text(const char *type)
{
    return strncmp(type, "text/", 5) == 0 || strstr(type, "json") != NULL || strstr(type, "javascript") != NULL;
}

/* The fields of an answer; of a snapshot, whose bytes are in a file, size says how many there are. */
static size_t format_head(struct exchange *x, char *out, size_t capacity, size_t size, bool gzip)
{
    static const char policy[] = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data: blob:; "
                                 "connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";
    const struct answer *a = &x->request.answer;
    const struct http *h = x->c->http;
    const char *origin = http_field(&x->head, "Origin");
    bool has_body = a->status != 204 && a->status != 304;
    int n = snprintf(out, capacity,
                     "HTTP/1.1 %u %s\r\nX-Content-Type-Options: nosniff\r\nReferrer-Policy: no-referrer\r\n"
                     "Content-Security-Policy: %s\r\nCache-Control: %s\r\nVary: Accept, Accept-Encoding, Origin\r\n",
                     a->status, http_reason(a->status), policy, a->etag[0] != '\0' ? "no-cache" : "no-store");
#define ADD(...) n += snprintf(out + n, (size_t)n < capacity ? capacity - (size_t)n : 0, __VA_ARGS__)
    if (has_body)
        ADD("Content-Type: %s\r\nContent-Length: %zu\r\n", a->type, size);
    if (gzip)
        ADD("Content-Encoding: gzip\r\n");
    if (a->etag[0] != '\0')
        ADD("ETag: %s\r\n", a->etag);
    if (a->allow != NULL)
        ADD("Allow: %s\r\n", a->allow);
    if (a->status == 503)
        ADD("Retry-After: 1\r\n");
    if (a->status == 401)
        ADD("WWW-Authenticate: Bearer\r\n");
    if (a->familiarity[0] != '\0')
        ADD("Bpcn-Familiarity: %s\r\n", a->familiarity);
    if (access_allows_origin(&h->access, origin))
        ADD("Access-Control-Allow-Origin: %s\r\nAccess-Control-Allow-Headers: authorization, content-type, accept\r\n"
            "Access-Control-Allow-Methods: GET, HEAD, POST, OPTIONS\r\n"
            "Access-Control-Expose-Headers: Bpcn-Familiarity, Retry-After\r\n",
            origin);
    ADD("Connection: %s\r\n\r\n", x->close ? "close" : "keep-alive");
#undef ADD
    return (size_t)n < capacity ? (size_t)n : 0;
}

/* A client that was answered before all of its request was read gets to read the answer before the connection ends. */
static void linger(struct connection *c)
{
    char *scrap = c->buffer;
    c->deadline = seconds_now() + linger_seconds;
    c->rest = linger_seconds;
    shutdown(c->socket, SHUT_WR);
    for (size_t got, all = 0; all < LINGER_BYTES && (got = receive(c, scrap, BUFFER_BYTES)) > 0;)
        all += got;
}

/* Sends the request's answer; returns whether the connection stays open. */
static bool send_answer(struct exchange *x)
{
    struct connection *c = x->c;
    struct answer *a = &x->request.answer;
    double rest = c->http->server->settings->timeout;
    bool head_only = x->head.method != NULL && strcmp(x->head.method, "HEAD") == 0;
    char head[8192], *packed = NULL, piece[8192];
    size_t size = a->file >= 0 ? a->size : a->bytes != NULL ? a->size : 0;
    if (a->bytes != NULL && size >= GZIP_LEAST && is_text(a->type) &&
        http_list_has(http_field(&x->head, "Accept-Encoding"), "gzip"))
        packed = compress_answer(a, &size);
    pthread_mutex_lock(&c->http->lock);
    x->close = x->close || c->http->stopping || c->spare;
    pthread_mutex_unlock(&c->http->lock);
    size_t length = format_head(x, head, sizeof head, size, packed != NULL);
    double deadline = seconds_now() + rest + (double)size / send_rate;
    const char *bytes = packed != NULL ? packed : a->bytes;
    bool whole = !head_only && a->file < 0 && a->status != 204 && a->status != 304 && size > 0;
    /* a short answer shares a packet with its head */
    if (whole && size <= sizeof head - length) {
        memcpy(head + length, bytes, size);
        length += size;
        whole = false;
    }
    bool sent =
        length > 0 && send_all(c, head, length, deadline, rest) && (!whole || send_all(c, bytes, size, deadline, rest));
    while (sent && !head_only && a->file >= 0 && size > 0) {
        ssize_t got = read(a->file, piece, sizeof piece < size ? sizeof piece : size);
        sent = got > 0 && send_all(c, piece, (size_t)got, deadline, rest);
        size -= sent ? (size_t)got : 0;
    }
    free(packed);
    metrics_request(x->name, a->status, seconds_now() - x->began);
    if (sent && x->close && !x->body_is_read)
        linger(c);
    return sent && !x->close;
}

/* This thread's error as the answer. */
static void answer_error(struct exchange *x)
{
    struct answer *a = &x->request.answer;
    answer_free(a);
    *a =
        (struct answer){.status = http_error_code(), .type = "application/problem+json", .file = -1, .allow = a->allow};
    a->bytes = http_error_json(&a->size);
    if (!x->body_is_read)
        x->close = true;
}

/* ---- requests */

/* Waits for a head. 0: the connection ends without an answer. */
static size_t read_head(struct connection *c, bpcn_status *status)
{
    size_t scanned = 0;
    *status = BPCN_OK;
    for (;;) {
        while (scanned == 0 && c->end - c->begin >= 2 && memcmp(c->buffer + c->begin, "\r\n", 2) == 0)
            c->begin += 2; /* empty lines before a request */
        if (!(c->end - c->begin == 1 && c->buffer[c->begin] == '\r')) {
            size_t size = http_head_end(c->buffer + c->begin, c->end - c->begin, &scanned, status);
            if (size > 0 || *status != BPCN_OK)
                return size;
        }
        if (c->begin > 0) {
            memmove(c->buffer, c->buffer + c->begin, c->end - c->begin);
            c->end -= c->begin;
            c->begin = 0;
        }
        if (c->end == HTTP_HEAD_MOST) {
            *status = http_fail(431, "", "the head of the request is longer than %d bytes", HTTP_HEAD_MOST);
            return 0;
        }
        size_t got = receive(c, c->buffer + c->end, HTTP_HEAD_MOST - c->end);
        if (got == 0) {
            if (c->timed_out && c->end > c->begin)
                *status = http_fail(408, "", "the request took too long to arrive");
            return 0;
        }
        c->end += got;
    }
}

/* A larger buffer for the body, within what all requests may hold. */
static bpcn_status reserve_body(struct exchange *x, size_t size)
{
    if (x->capacity >= size)
        return BPCN_OK;
    size_t capacity = size < 2 * x->capacity ? 2 * x->capacity : size;
    if (!budget_take(&x->request, capacity - x->capacity))
        return http_fail(503, "", "too many long bodies are arriving; try again");
    char *more = realloc(x->bytes, capacity);
    if (more == NULL)
        return http_fail(503, "", "out of memory");
    x->bytes = more;
    x->capacity = capacity;
    return BPCN_OK;
}

static bpcn_status body_ends_early(const struct connection *c)
{
    return c->timed_out ? http_fail(408, "body", "the body took too long to arrive")
                        : http_fail(400, "body", "the body ends early");
}

static bpcn_status read_bytes(struct exchange *x, uint64_t size)
{
    size_t most = x->c->http->server->settings->most_body;
    if (size > most - x->size)
        return http_fail(413, "body", "is longer than the %zu bytes that this server takes", most);
    while (size > 0) {
        /* no more at once than what comes soon: a length that is only claimed takes no memory */
        size_t step = size < (1 << 16) ? (size_t)size : 1 << 16;
        bpcn_status status = reserve_body(x, x->size + step);
        size_t got = status == BPCN_OK ? take(x->c, x->bytes + x->size, step) : 0;
        if (got == 0)
            return status != BPCN_OK ? status : body_ends_early(x->c);
        x->size += got;
        size -= got;
    }
    return BPCN_OK;
}

/* A line of the chunked coding, without its end, which is CR LF. */
static bpcn_status read_chunk_line(struct exchange *x, char line[HTTP_CHUNK_LINE_MOST], size_t *length)
{
    for (*length = 0;; ++*length) {
        if (*length == HTTP_CHUNK_LINE_MOST)
            return http_fail(400, "body", "a line of the chunked coding is longer than %d bytes", HTTP_CHUNK_LINE_MOST);
        if (take(x->c, line + *length, 1) == 0)
            return body_ends_early(x->c);
        bool ends = line[*length] == '\n';
        if (ends != (*length > 0 && line[*length - 1] == '\r'))
            return http_fail(400, "body", "a line of the chunked coding does not end with CR LF");
        if (ends) {
            --*length;
            return BPCN_OK;
        }
    }
}

static bpcn_status read_chunks(struct exchange *x)
{
    char line[HTTP_CHUNK_LINE_MOST];
    size_t length;
    uint64_t size;
    bpcn_status status;
    do {
        status = read_chunk_line(x, line, &length);
        if (status == BPCN_OK)
            status = http_parse_chunk_size(line, length, &size);
        if (status == BPCN_OK && size > 0)
            status = read_bytes(x, size);
        if (status == BPCN_OK && size > 0)
            status = read_chunk_line(x, line, &length);
        if (status == BPCN_OK && size > 0 && length > 0)
            status = http_fail(400, "body", "a chunk is longer than its size");
    } while (status == BPCN_OK && size > 0);
    for (size_t lines = 0; status == BPCN_OK; lines++) { /* fields after the body say nothing here */
        status = lines < HTTP_FIELDS_MOST ? read_chunk_line(x, line, &length)
                                          : http_fail(431, "", "the request has more than %d fields", HTTP_FIELDS_MOST);
        if (status == BPCN_OK && length == 0)
            return BPCN_OK;
    }
    return status;
}

/* Whether the request is let in, by its head alone. */
static bpcn_status admit(struct exchange *x)
{
    struct connection *c = x->c;
    struct http *h = c->http;
    struct request *r = &x->request;
    const struct http_head *head = &x->head;
    const struct settings *settings = h->server->settings;
    const char *type = http_field(head, "Content-Type"), *encoding = http_field(head, "Content-Encoding");
    struct access_headers who = {head->host, http_field(head, "Origin"), http_field(head, "Authorization")};
    char *query = head->query, *name, *value;
    bool is_options = strcmp(head->method, "OPTIONS") == 0;
    bpcn_status found = endpoint_find(r, head->method, head->path), status;
    unsigned code = http_error_code();
    char sentence[BPCN_MAX_ERROR + 1];
    snprintf(sentence, sizeof sentence, "%s", bpcn_error());
    x->name = r->endpoint != NULL ? r->endpoint->path : "other";
    if (r->endpoint != NULL && r->endpoint->for_probes)
        return BPCN_OK;
    status = access_check(&h->access, &who, !is_options && (r->endpoint == NULL || !r->endpoint->open));
    if (status != BPCN_OK)
        return status;
    if (found != BPCN_OK)
        return http_fail(code, "", "%s", sentence);
    if (c->spare)
        return http_fail(503, "", "there are too many connections; try again");
    if (is_options)
        return BPCN_OK;
    if (encoding != NULL && strcasecmp(encoding, "identity") != 0)
        return http_fail(415, "Content-Encoding", "this server reads bodies as they are, not compressed");
    r->content = content_of(type);
    r->wanted = content_wanted(http_field(head, "Accept"));
    r->if_none_match = http_field(head, "If-None-Match");
    if (strcmp(r->endpoint->method, "POST") == 0 && r->content == CONTENT_OTHER)
        return body_unknown_type();
    if (r->endpoint->changes && settings->read_only)
        return http_fail(403, "", "this server is read-only");
    if (head->has_length && head->length > settings->most_body)
        return http_fail(413, "body", "is longer than the %zu bytes that this server takes", settings->most_body);
    while (http_next_option(&query, &name, &value, &status))
        if ((status = body_take_text(&r->body, name, value)) != BPCN_OK)
            return status;
    return status;
}

/* Reads the body, runs the endpoint and leaves the answer in the request. */
static bpcn_status run_request(struct exchange *x)
{
    struct connection *c = x->c;
    struct request *r = &x->request;
    bpcn_status status = admit(x);
    if (status != BPCN_OK)
        return status;
    if (x->head.expects_continue && c->begin == c->end &&
        !send_all(c, "HTTP/1.1 100 Continue\r\n\r\n", 25, c->deadline, c->rest))
        return body_ends_early(c);
    status = x->head.chunked ? read_chunks(x) : read_bytes(x, x->head.length);
    if (status != BPCN_OK)
        return status;
    x->body_is_read = true;
    x->close = !x->head.keep_alive;
    r->bytes = x->bytes;
    r->size = x->size;
    if (strcmp(x->head.method, "OPTIONS") == 0) {
        r->answer = (struct answer){.status = 204, .file = -1, .allow = r->answer.allow};
        return BPCN_OK;
    }
    status = r->endpoint->run(r);
    if (status == BPCN_OK && r->answer.bytes == NULL && r->answer.file < 0 && r->answer.status == 200)
        return http_fail(503, "", "out of memory");
    return status;
}

/* Handles one request; returns whether the connection stays open. */
static bool serve_request(struct connection *c)
{
    struct http *h = c->http;
    struct exchange x = {.c = c, .name = "other", .close = true};
    bpcn_status status;
    x.request.server = h->server;
    x.request.budget = &h->budget;
    x.request.answer.file = -1;
    body_begin(&x.request.body);
    size_t size = read_head(c, &status);
    x.began = seconds_now();
    pthread_mutex_lock(&h->lock);
    bool cut = c->cut;
    c->state = CONNECTION_ANSWERING;
    pthread_mutex_unlock(&h->lock);
    if (cut || (size == 0 && status == BPCN_OK))
        return false;
    if (status == BPCN_OK) {
        /* what follows the head stays behind it: a body is read past the buffer */
        char *head = c->buffer + c->begin;
        c->begin += size;
        status = http_parse_head(head, size, &x.head);
        x.body_is_read = status == BPCN_OK && !x.head.chunked && x.head.length == 0;
        x.close = status != BPCN_OK || !x.head.keep_alive;
    }
    if (status == BPCN_OK)
        status = run_request(&x);
    if (status != BPCN_OK)
        answer_error(&x);
    bool goes_on = send_answer(&x);
    budget_give_back(&x.request);
    answer_free(&x.request.answer);
    body_free(&x.request.body);
    free(x.bytes);
    return goes_on;
}

/* ---- connections */

static void *connection_thread(void *arg)
{
    struct connection *c = arg;
    struct http *h = c->http;
    double timeout = h->server->settings->timeout;
    for (bool goes_on = true; goes_on;) {
        c->timed_out = false;
        c->rest = c->spare ? spare_seconds : timeout;
        c->deadline = seconds_now() + (c->spare ? spare_seconds : 2 * timeout);
        goes_on = serve_request(c);
        pthread_mutex_lock(&h->lock);
        c->state = CONNECTION_READING;
        c->since = seconds_now();
        goes_on = goes_on && !c->cut;
        pthread_mutex_unlock(&h->lock);
    }
    server_tell_connections(h->server, -1);
    pthread_mutex_lock(&h->lock);
    *c->place = c->next;
    if (c->next != NULL)
        c->next->place = c->place;
    h->count--;
    close(c->socket);
    pthread_cond_broadcast(&h->changed);
    pthread_mutex_unlock(&h->lock);
    free(c->buffer);
    free(c);
    return NULL;
}

/* With the lock held. Its thread then reads the end of the stream and ends. */
static void cut_connection(struct connection *c)
{
    if (!c->cut)
        shutdown(c->socket, SHUT_RDWR);
    c->cut = true;
}

/* With the lock held: closes the connection that has waited longest for a request, so that idle clients keep nobody
   out; false: none has waited for long. */
static bool evict_one(struct http *h)
{
    struct connection *oldest = NULL;
    for (struct connection *c = h->first; c != NULL; c = c->next)
        if (!c->cut && c->state == CONNECTION_READING && (oldest == NULL || c->since < oldest->since))
            oldest = c;
    if (oldest == NULL || seconds_now() - oldest->since <= evict_idle)
        return false;
    cut_connection(oldest);
    return true;
}

static bpcn_status add_connection(struct http *h, int socket)
{
    int one = 1;
    pthread_t thread;
    pthread_attr_t attributes;
    struct connection *c = calloc(1, sizeof *c);
    char *buffer = malloc(BUFFER_BYTES);
    if (c == NULL || buffer == NULL) {
        free(c);
        free(buffer);
        close(socket);
        return BPCN_NO_MEMORY;
    }
    setsockopt(socket, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
    pthread_mutex_lock(&h->lock);
    *c = (struct connection){
        .http = h, .socket = socket, .since = seconds_now(), .buffer = buffer, .next = h->first, .place = &h->first};
    c->spare = h->count >= h->server->settings->most_connections && !evict_one(h);
    if (h->first != NULL)
        h->first->place = &c->next;
    h->first = c;
    h->count++;
    pthread_mutex_unlock(&h->lock);
    server_tell_connections(h->server, 1);
    pthread_attr_init(&attributes);
    pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
    pthread_attr_setstacksize(&attributes, STACK_BYTES);
    if (pthread_create(&thread, &attributes, connection_thread, c) != 0) {
        pthread_mutex_lock(&h->lock);
        *c->place = c->next;
        if (c->next != NULL)
            c->next->place = c->place;
        h->count--;
        pthread_mutex_unlock(&h->lock);
        server_tell_connections(h->server, -1);
        close(socket);
        free(buffer);
        free(c);
    }
    pthread_attr_destroy(&attributes);
    return BPCN_OK;
}

static void *accept_thread(void *arg)
{
    struct http *h = arg;
    struct pollfd p[2] = {{.fd = h->wake[0], .events = POLLIN}, {.fd = h->listening, .events = POLLIN}};
    size_t most = h->server->settings->most_connections + SPARE;
    for (;;) {
        pthread_mutex_lock(&h->lock);
        while (h->count >= most && !h->stopping) {
            struct timespec soon;
            clock_gettime(CLOCK_MONOTONIC, &soon);
            soon.tv_nsec += 100000000;
            soon.tv_sec += soon.tv_nsec / 1000000000;
            soon.tv_nsec %= 1000000000;
            evict_one(h);
            pthread_cond_timedwait(&h->changed, &h->lock, &soon);
        }
        bool stopping = h->stopping;
        pthread_mutex_unlock(&h->lock);
        if (stopping)
            return NULL;
        if (poll(p, 2, -1) < 0 && errno != EINTR)
            continue;
        if (p[0].revents != 0)
            return NULL;
        if (p[1].revents == 0)
            continue;
        int socket = accept(h->listening, NULL, NULL);
        if (socket >= 0)
            add_connection(h, socket);
        else if (errno == EMFILE || errno == ENFILE || errno == ENOMEM || errno == ENOBUFS)
            socket_ready(h->wake[0], POLLIN,
                         0.1); /* the system is out of descriptors: other connections must end first */
    }
}

bpcn_status http_start(const struct server *server, const struct http_address *address, struct http **http)
{
    struct http *h = calloc(1, sizeof *h);
    pthread_condattr_t clock;
    *http = NULL;
    if (h == NULL || pipe(h->wake) != 0) {
        free(h);
        return bpcn_fail(BPCN_NO_MEMORY, "the server could not start: out of memory");
    }
    h->server = server;
    h->listening = address->socket;
    fcntl(h->listening, F_SETFL, fcntl(h->listening, F_GETFL) | O_NONBLOCK); /* a client may go before accept */
    atomic_init(&h->budget.held, 0);
    h->budget.most = server->settings->most_held;
    access_begin(&h->access, server->settings, address->text, address->port);
    pthread_mutex_init(&h->lock, NULL);
    pthread_condattr_init(&clock);
    pthread_condattr_setclock(&clock, CLOCK_MONOTONIC);
    pthread_cond_init(&h->changed, &clock);
    pthread_condattr_destroy(&clock);
    bpcn_status status =
        server->settings->token_file != NULL ? access_load_tokens(&h->access, server->settings->token_file) : BPCN_OK;
    if (status == BPCN_OK && pthread_create(&h->acceptor, NULL, accept_thread, h) != 0)
        status = bpcn_fail(BPCN_NO_MEMORY, "the server could not start: no thread could be made");
    if (status == BPCN_OK)
        *http = h;
    else
        http_free(h);
    return status;
}

struct access *http_access(struct http *h)
{
    return &h->access;
}

void http_quiesce(struct http *h, double seconds)
{
    struct timespec when;
    pthread_mutex_lock(&h->lock);
    h->stopping = true;
    pthread_cond_broadcast(&h->changed);
    pthread_mutex_unlock(&h->lock);
    ssize_t told = write(h->wake[1], "", 1);
    (void)told;
    pthread_join(h->acceptor, NULL);
    clock_gettime(CLOCK_MONOTONIC, &when);
    when.tv_sec += (time_t)seconds;
    pthread_mutex_lock(&h->lock);
    for (struct connection *c = h->first; c != NULL; c = c->next)
        if (c->state == CONNECTION_READING)
            cut_connection(c);
    while (h->count > 0 && pthread_cond_timedwait(&h->changed, &h->lock, &when) == 0)
        continue;
    for (struct connection *c = h->first; c != NULL; c = c->next)
        cut_connection(c);
    pthread_mutex_unlock(&h->lock);
}

void http_free(struct http *h)
{
    pthread_mutex_lock(&h->lock);
    while (h->count > 0)
        pthread_cond_wait(&h->changed, &h->lock);
    pthread_mutex_unlock(&h->lock);
    close(h->listening);
    close(h->wake[0]);
    close(h->wake[1]);
    access_end(&h->access);
    pthread_mutex_destroy(&h->lock);
    pthread_cond_destroy(&h->changed);
    free(h);
}
