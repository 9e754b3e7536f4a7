/* Requests from libmicrohttpd to the endpoints, and answers back. */
#include "http.h"

#include "guard.h"
#include "links.h"
#include "metrics.h"
#include "progress.h"

#include <microhttpd.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Of a body that is refused so much is taken from the client, so that it gets to read why; a longer one is cut off. */
enum { DISCARD_MOST = 1 << 20, HEADERS_MOST = 64 << 10, BODIES_HELD = 16 /* of the longest, at once */ };

struct http {
    struct MHD_Daemon *daemon;
    const struct house *house;
    struct guard guard;
    struct links links;
    atomic_size_t held; /* bytes of bodies */
};

/* A request on its way. */
struct arrival {
    struct request request;
    const char *name; /* of the endpoint, for the metrics */
    const char *allow;
    double began;
    bool answered;
    char *bytes;
    size_t size, room;
};

static struct link *link_of(struct MHD_Connection *connection)
{
    const union MHD_ConnectionInfo *info = MHD_get_connection_info(connection, MHD_CONNECTION_INFO_SOCKET_CONTEXT);
    return info != NULL ? info->socket_context : NULL;
}

static const char *header(struct MHD_Connection *connection, const char *name)
{
    return MHD_lookup_connection_value(connection, MHD_HEADER_KIND, name);
}

/* ---- answers */

static void add_headers(struct http *h, struct MHD_Connection *connection, struct MHD_Response *response,
                        const struct arrival *a, unsigned status)
{
    const char *origin = header(connection, "Origin");
    MHD_add_response_header(response, "X-Content-Type-Options", "nosniff");
    MHD_add_response_header(response, "Cache-Control", "no-store");
    MHD_add_response_header(response, "Referrer-Policy", "no-referrer");
    MHD_add_response_header(response, "Content-Security-Policy",
                            "default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; "
                            "img-src data: blob:; connect-src 'self'; base-uri 'none'; form-action 'none'; "
                            "frame-ancestors 'none'");
    if (status == 503)
        MHD_add_response_header(response, "Retry-After", "1");
    if (status == 401)
        MHD_add_response_header(response, "WWW-Authenticate", "Bearer");
    if (status == 405 && a->allow != NULL)
        MHD_add_response_header(response, "Allow", a->allow);
    if (a->request.answer.familiarity[0] != '\0')
        MHD_add_response_header(response, "Bpcn-Familiarity", a->request.answer.familiarity);
    if (h->house->settings->origins.count > 0)
        MHD_add_response_header(response, "Vary", "Origin");
    if (guard_allows_origin(&h->guard, origin)) {
        MHD_add_response_header(response, "Access-Control-Allow-Origin", origin);
        MHD_add_response_header(response, "Access-Control-Allow-Headers", "authorization, content-type, accept");
        MHD_add_response_header(response, "Access-Control-Allow-Methods", "GET, POST");
        MHD_add_response_header(response, "Access-Control-Expose-Headers", "Bpcn-Familiarity, Retry-After");
    }
    if (links_stopping(&h->links))
        MHD_add_response_header(response, "Connection", "close");
}

/* Sends what is in the request's answer; the bytes are given away. */
static enum MHD_Result send_answer(struct http *h, struct MHD_Connection *connection, struct arrival *a)
{
    struct answer *answer = &a->request.answer;
    struct MHD_Response *response = MHD_create_response_from_buffer(answer->size, answer->bytes, MHD_RESPMEM_MUST_FREE);
    if (response == NULL) {
        free(answer->bytes);
        return MHD_NO;
    }
    MHD_add_response_header(response, "Content-Type", answer->type);
    add_headers(h, connection, response, a, answer->status);
    enum MHD_Result result = MHD_queue_response(connection, answer->status, response);
    MHD_destroy_response(response);
    metrics_request(a->name, answer->status, seconds_now() - a->began);
    a->answered = true;
    return result;
}

static enum MHD_Result send_refusal(struct http *h, struct MHD_Connection *connection, struct arrival *a)
{
    struct answer *answer = &a->request.answer;
    *answer = (struct answer){.status = a->request.refusal.status, .type = "application/json"};
    answer->bytes = refusal_json(&a->request.refusal, &answer->size);
    return answer->bytes != NULL ? send_answer(h, connection, a) : MHD_NO;
}

/* ---- requests */

/* Options in the URL: ?noise=0.1&spread=1; ?name=a.png is the name of a row, and the next one that of the next. */
static enum MHD_Result take_option(void *cls, enum MHD_ValueKind kind, const char *key, size_t key_size,
                                   const char *value, size_t value_size)
{
    struct request *r = cls;
    char *end = NULL;
    (void)kind;
    (void)key_size;
    double number = value != NULL ? strtod(value, &end) : 0;
    if (r->refusal.status != 0)
        return MHD_NO;
    if (strcmp(key, "name") == 0)
        body_name(&r->body, value != NULL ? value : "", value_size, &r->refusal);
    else if (value == NULL || end == value || *end != '\0')
        refuse(&r->refusal, 400, "URL", "an option is not NAME=NUMBER");
    else
        body_option(&r->body, key, number, &r->refusal);
    return MHD_YES;
}

static enum content content_wanted(const char *accept)
{
    static const char *const names[] = {"", "application/octet-stream", "application/x-npy", "image/png"};
    for (int k = CONTENT_OCTETS; accept != NULL && k <= CONTENT_PNG; k++)
        if (strstr(accept, names[k]) != NULL)
            return (enum content)k;
    return CONTENT_JSON;
}

/* Whether the request is let in, by its headers alone; the refusal says why not. */
static void look_at(struct http *h, struct MHD_Connection *connection, struct arrival *a, const char *method,
                    const char *url)
{
    struct request *r = &a->request;
    const struct settings *settings = h->house->settings;
    struct visitor v = {header(connection, "Host"), header(connection, "Origin"), header(connection, "Authorization")};
    r->endpoint = endpoint_find(method, url, &a->allow, &r->refusal);
    a->name = r->endpoint ? r->endpoint->path : "other";
    bool health = r->endpoint != NULL && strcmp(r->endpoint->path, "/health") == 0;
    if (health)
        return;
    if (guard_check(&h->guard, &v, r->endpoint == NULL || !r->endpoint->open, &r->refusal) != 0 || r->endpoint == NULL)
        return;
    r->content = content_of(header(connection, "Content-Type"));
    r->wanted = content_wanted(header(connection, "Accept"));
    if (strcmp(r->endpoint->method, "POST") == 0 && r->content == CONTENT_OTHER)
        refuse(&r->refusal, 415, "Content-Type",
               "say what the body is: application/json, application/octet-stream, application/x-npy, image/png or "
               "image/jpeg");
    else if (r->endpoint->changes && settings->read_only)
        refuse(&r->refusal, 403, "", "this server only reads");
    else if (links_stopping(&h->links))
        refuse(&r->refusal, 503, "", "the server is stopping");
    else if (links_count(&h->links) > settings->most_connections)
        refuse(&r->refusal, 503, "", "there are too many connections; try again");
    else
        MHD_get_connection_values_n(connection, MHD_GET_ARGUMENT_KIND, take_option, r);
}

/* A body that is longer than it may be is refused, and one that is much longer not waited for. */
static bool too_long(struct http *h, struct MHD_Connection *connection, struct arrival *a)
{
    const char *text = header(connection, "Content-Length");
    unsigned long long length = text != NULL ? strtoull(text, NULL, 10) : 0;
    size_t most = h->house->settings->most_body;
    if (length > most && a->request.refusal.status == 0)
        refuse(&a->request.refusal, 413, "body", "is longer than the %zu bytes that this server takes", most);
    return a->request.refusal.status != 0 && length > DISCARD_MOST;
}

/* A question of a page from elsewhere whether it may ask. */
static bool is_preflight(struct http *h, struct MHD_Connection *connection, const char *method)
{
    return strcmp(method, "OPTIONS") == 0 && guard_allows_origin(&h->guard, header(connection, "Origin"));
}

static enum MHD_Result begin_request(struct http *h, struct MHD_Connection *connection, const char *method,
                                     const char *url, void **place)
{
    struct arrival *a = calloc(1, sizeof *a);
    if (a == NULL)
        return MHD_NO;
    *place = a;
    a->began = seconds_now();
    a->request.house = h->house;
    body_begin(&a->request.body);
    links_request_begins(&h->links);
    if (is_preflight(h, connection, method)) {
        a->name = "other";
        a->request.answer = (struct answer){.status = 204, .type = "text/plain"};
        return send_answer(h, connection, a);
    }
    look_at(h, connection, a, method, url);
    return too_long(h, connection, a) ? send_refusal(h, connection, a) : MHD_YES;
}

static enum MHD_Result take_bytes(struct http *h, struct arrival *a, const char *bytes, size_t size)
{
    size_t most = h->house->settings->most_body;
    struct refusal *why = &a->request.refusal;
    if (why->status != 0)
        return MHD_YES;
    if (size > most - a->size) {
        refuse(why, 413, "body", "is longer than the %zu bytes that this server takes", most);
        return MHD_YES;
    }
    if (a->room - a->size < size) {
        size_t room = 2 * (a->size + size);
        bool fits = atomic_fetch_add(&h->held, room - a->room) + (room - a->room) <= BODIES_HELD * most;
        char *more = fits ? realloc(a->bytes, room) : NULL;
        if (more == NULL) {
            atomic_fetch_sub(&h->held, room - a->room);
            refuse(why, 503, "", "too many long bodies are arriving; try again");
            return MHD_YES;
        }
        a->bytes = more;
        a->room = room;
    }
    memcpy(a->bytes + a->size, bytes, size);
    a->size += size;
    return MHD_YES;
}

static enum MHD_Result run_request(struct http *h, struct MHD_Connection *connection, struct arrival *a)
{
    struct request *r = &a->request;
    links_request_is_here(&h->links, link_of(connection));
    r->bytes = a->bytes;
    r->size = a->size;
    if (r->refusal.status != 0 || r->endpoint->run(r) != 0)
        return send_refusal(h, connection, a);
    if (r->answer.bytes != NULL)
        return send_answer(h, connection, a);
    refuse(&r->refusal, 503, "", "out of memory");
    return send_refusal(h, connection, a);
}

/* ---- libmicrohttpd's calls */

static enum MHD_Result on_request(void *cls, struct MHD_Connection *connection, const char *url, const char *method,
                                  const char *version, const char *bytes, size_t *size, void **place)
{
    struct http *h = cls;
    struct arrival *a = *place;
    (void)version;
    if (a == NULL)
        return begin_request(h, connection, method, url, place);
    if (*size == 0)
        return a->answered ? MHD_YES : run_request(h, connection, a);
    enum MHD_Result result = take_bytes(h, a, bytes, *size);
    *size = 0;
    return result;
}

static void on_completed(void *cls, struct MHD_Connection *connection, void **place,
                         enum MHD_RequestTerminationCode code)
{
    struct http *h = cls;
    struct arrival *a = *place;
    (void)code;
    if (a == NULL)
        return;
    links_request_ends(&h->links, link_of(connection));
    atomic_fetch_sub(&h->held, a->room);
    body_free(&a->request.body);
    free(a->bytes);
    free(a);
    *place = NULL;
}

static void on_connection(void *cls, struct MHD_Connection *connection, void **place,
                          enum MHD_ConnectionNotificationCode code)
{
    struct http *h = cls;
    const union MHD_ConnectionInfo *info = MHD_get_connection_info(connection, MHD_CONNECTION_INFO_CONNECTION_FD);
    if (code == MHD_CONNECTION_NOTIFY_STARTED && info != NULL) {
        *place = links_add(&h->links, info->connect_fd);
        engine_tell_connections(h->house->engine, 1);
    } else if (code == MHD_CONNECTION_NOTIFY_CLOSED && *place != NULL) {
        links_remove(&h->links, *place);
        engine_tell_connections(h->house->engine, -1);
    }
}

struct http *http_start(const struct house *house, const struct place *place)
{
    enum { SPARE = 16 }; /* connections that are told why they are too many */
    const struct settings *s = house->settings;
    struct http *h = calloc(1, sizeof *h);
    if (h == NULL)
        return NULL;
    h->house = house;
    guard_begin(&h->guard, s, place->address, place->port);
    if (links_begin(&h->links, 2 * s->timeout) != 0) {
        free(h);
        return NULL;
    }
    h->daemon = MHD_start_daemon(
        MHD_USE_THREAD_PER_CONNECTION | MHD_USE_INTERNAL_POLLING_THREAD | MHD_USE_POLL | MHD_USE_ITC, 0, NULL, NULL,
        on_request, h, MHD_OPTION_LISTEN_SOCKET, place->socket, MHD_OPTION_NOTIFY_COMPLETED, on_completed, h,
        MHD_OPTION_NOTIFY_CONNECTION, on_connection, h, MHD_OPTION_CONNECTION_LIMIT,
        (unsigned)(s->most_connections + SPARE), MHD_OPTION_CONNECTION_TIMEOUT, (unsigned)s->timeout,
        MHD_OPTION_CONNECTION_MEMORY_LIMIT, (size_t)HEADERS_MOST, MHD_OPTION_END);
    if (h->daemon != NULL)
        return h;
    links_end(&h->links);
    free(h);
    return NULL;
}

void http_stop(struct http *h)
{
    int listening = MHD_quiesce_daemon(h->daemon);
    links_wait(&h->links);
    MHD_stop_daemon(h->daemon);
    if (listening >= 0)
        close(listening);
    links_end(&h->links);
    free(h);
}
