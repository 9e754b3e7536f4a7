/* HTTP, by libmicrohttpd: a thread for every connection, which waits for the engine. */
#ifndef BPCN_SERVER_HTTP_H
#define BPCN_SERVER_HTTP_H

#include "endpoints.h"
#include "listen.h"

struct http;

/* Takes the socket over. NULL: it could not start. */
struct http *http_start(const struct house *house, const struct place *place);

/* No more connections; waits for the requests that have begun, and closes. */
void http_stop(struct http *http);

#endif
