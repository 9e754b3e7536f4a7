/* HTTP/1.1 over TCP: a thread for every connection, which reads a request, runs its endpoint and sends the answer. */
#ifndef BPCN_SERVER_HTTP_H
#define BPCN_SERVER_HTTP_H

#include "access.h"
#include "endpoints.h"

/* Where the server listens. */
struct http_address {
    int socket;
    char text[64]; /* as in a URL */
    unsigned port;
    bool loopback;
};

struct http;

/* "127.0.0.1:8765", "[::1]:8765", "localhost:0" (port 0: a free one), without binding it. */
bpcn_status http_find_address(const char *text, struct http_address *address);

/* Binds and listens. */
bpcn_status http_listen(struct http_address *address);

/* Takes the socket over. */
bpcn_status http_start(const struct server *server, const struct http_address *address, struct http **http);

struct access *http_access(struct http *http);

/* No more connections; idle ones are closed. Requests that have begun are answered for up to `seconds`; then their
   connections are cut. */
void http_quiesce(struct http *http, double seconds);

/* Waits for the threads of all connections: the workers must have ended what waited (worker_abandon). */
void http_free(struct http *http);

#endif
