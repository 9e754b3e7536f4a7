/* The socket that the server listens on. */
#ifndef BPCN_SERVER_LISTEN_H
#define BPCN_SERVER_LISTEN_H

#include "console.h"

struct place {
    int socket;
    char address[64]; /* as in a URL */
    unsigned port;
    bool loopback;
};

/* "127.0.0.1:8765", "[::1]:8765", "localhost:0" (port 0: a free one). Only looks it up; 0, or an exit status after a
   message. */
int listen_find(const struct say *say, const char *text, struct place *place);

/* Binds and listens. */
int listen_open(const struct say *say, struct place *place);

#endif
