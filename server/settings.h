/* What the server was told on its command line. */
#ifndef BPCN_SERVER_SETTINGS_H
#define BPCN_SERVER_SETTINGS_H

#include <stdbool.h>
#include <stddef.h>

enum { NAMES_MOST = 16, TOKEN_MOST = 512 };

struct names {
    size_t count;
    const char *name[NAMES_MOST];
};

struct settings {
    const char *listen;     /* ADDRESS:PORT */
    char token[TOKEN_MOST]; /* "": none is asked for */
    struct names hosts;     /* --allow-host: besides the address itself and the names of loopback */
    struct names origins;   /* --allow-origin */
    bool read_only;
    size_t most_body;        /* bytes of a request's body */
    size_t most_rows;        /* of a request */
    size_t most_connections; /* at once */
    size_t most_waiting;     /* requests in the queue */
    size_t batch;            /* rows that are read together */
    double gather;           /* seconds that a read waits for others at most */
    double timeout;          /* seconds without a byte; a request may take twice that to arrive */
};

/* Rows for the page to show and to play with. */
struct examples {
    size_t rows;
    float *x;    /* [rows x dim] */
    char *names; /* [rows x NAME_ROOM], "" for none */
};

#endif
