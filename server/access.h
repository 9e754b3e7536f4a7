/* Who may ask: the Host that a request names, the page that it comes from, the token that it carries. */
#ifndef BPCN_SERVER_ACCESS_H
#define BPCN_SERVER_ACCESS_H

#include "http_error.h"
#include "serve.h"

#include <pthread.h>

enum { TOKEN_ROOM = 512, TOKENS_MOST = 64 };

struct access {
    const struct settings *settings;
    char own[8][80]; /* host names of this server itself */
    size_t own_count;
    pthread_mutex_t lock; /* over the tokens */
    size_t tokens;        /* 0: none is wanted */
    char token[TOKENS_MOST][TOKEN_ROOM];
};

/* address: as it is written in a URL, [::1] with its brackets; wildcard addresses are no Host. */
void access_begin(struct access *access, const struct settings *settings, const char *address, unsigned port);
void access_end(struct access *access);

/* Reads the tokens anew, one a line; lines that are empty or begin with # do not count. The old ones stay after a
   failure. */
bpcn_status access_load_tokens(struct access *access, const char *path);

/* The headers of a request that matter here; NULL where there is none. */
struct access_headers {
    const char *host, *origin, *authorization;
};

/* 421 for the Host, 403 for the origin, 401 for the token where one is wanted. */
bpcn_status access_check(struct access *access, const struct access_headers *headers, bool wants_token);

/* Whether pages of that origin were allowed by --allow-origin. */
bool access_allows_origin(const struct access *access, const char *origin);

#endif
