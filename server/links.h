/* The connections that are open, and a watch on requests that take too long to arrive: a client that sends a byte now
   and then would otherwise hold its connection for ever. */
#ifndef BPCN_SERVER_LINKS_H
#define BPCN_SERVER_LINKS_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>

struct link {
    int socket;
    double since; /* when the connection was opened, or its last request answered */
    bool busy;    /* the request has arrived */
    struct link *next, **place;
};

struct links {
    pthread_mutex_t lock;
    pthread_cond_t changed;
    pthread_t thread;
    struct link *first;
    size_t count;    /* open connections */
    size_t requests; /* that have begun and are not answered yet */
    double most;     /* seconds for a request to arrive */
    bool stopping, watched;
};

int links_begin(struct links *links, double most); /* -1: no thread could be started */
void links_end(struct links *links);

struct link *links_add(struct links *links, int socket); /* NULL: out of memory */
void links_remove(struct links *links, struct link *link);

void links_request_begins(struct links *links);
void links_request_is_here(struct links *links, struct link *link);
void links_request_ends(struct links *links, struct link *link);

/* From here on links_stopping is true; waits until no request is left. */
void links_wait(struct links *links);
bool links_stopping(struct links *links);
size_t links_count(struct links *links);

#endif
