/* The settings of bpcn serve, and the memories that it serves. */
#ifndef BPCN_SERVER_SERVE_H
#define BPCN_SERVER_SERVE_H

#include "memory_file.h"

#include <stdbool.h>
#include <stddef.h>

enum { NAMES_MOST = 16, MEMORIES_MOST = 32, MEMORY_NAME_ROOM = 64 };

struct name_list {
    size_t count;
    const char *name[NAMES_MOST];
};

struct settings {
    const char *listen;       /* ADDRESS:PORT */
    const char *token_file;   /* NULL: requests need no token */
    const char *log;          /* file that errors go to, NULL: standard error */
    struct name_list hosts;   /* --allow-host: besides the address itself and the names of loopback */
    struct name_list origins; /* --allow-origin */
    bool read_only;
    size_t most_body;        /* bytes of a request's body */
    size_t most_rows;        /* of a request */
    size_t most_connections; /* at once */
    size_t most_waiting;     /* requests in a memory's queue */
    size_t most_held;        /* bytes of bodies and answers that all requests hold at once */
    size_t batch;            /* rows that are read together */
    double gather;           /* seconds that a read waits for others at most */
    double timeout;          /* seconds without a byte; a request may take twice that to arrive */
    double follow;           /* seconds between looks at a file that is only read */
};

/* Rows for the page to show and to play with. */
struct examples {
    size_t rows;
    float *x;    /* [rows x dim] */
    char *names; /* [rows x NAME_ROOM], "" for none */
};

/* A memory under its name. */
struct served {
    char name[MEMORY_NAME_ROOM];
    const char *path;
    struct memory_file file; /* the worker's, while there is one */
    fmt_schema schema;   /* of the file; stays when the file is reopened */
    bpcn_options options;
    struct worker *worker;
    struct examples examples;
};

struct server {
    const struct settings *settings;
    struct served memory[MEMORIES_MOST];
    size_t memories;
};

/* To every memory's worker: see worker_tell_connections. */
void server_tell_connections(const struct server *server, int more);

#endif
