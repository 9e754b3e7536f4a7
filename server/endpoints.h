/* What the server answers: a request that was let in and has arrived whole, to an answer. Knows nothing of sockets. */
#ifndef BPCN_SERVER_ENDPOINTS_H
#define BPCN_SERVER_ENDPOINTS_H

#include "answer.h"

#include <stdatomic.h>

/* Bytes of bodies, parsed rows and answers that all requests hold. */
struct budget {
    atomic_size_t held;
    size_t most;
};

struct request;

struct endpoint {
    const char *method, *path;
    bool open;       /* without a token */
    bool changes;    /* the memory: not with --read-only */
    bool for_probes; /* without a token, whatever the Host, and when there are too many connections */
    bpcn_status (*run)(struct request *request);
};

struct request {
    const struct server *server;
    struct budget *budget;
    size_t held;                 /* of the budget */
    const struct served *memory; /* that the path names */
    const struct endpoint *endpoint;
    struct body body;     /* options of the URL are in it already */
    enum content content; /* of the bytes */
    enum content wanted;  /* of the answer */
    const char *if_none_match;
    const char *bytes;
    size_t size;
    struct answer answer; /* out */
};

/* Sets memory, endpoint and answer.allow. 404, or 405 where the path has another method. OPTIONS finds the endpoint
   of any method. */
bpcn_status endpoint_find(struct request *request, const char *method, const char *path);

/* Takes bytes of the budget for the request; false: there are not so many. */
bool budget_take(struct request *request, size_t bytes);
void budget_give_back(struct request *request);

/* A page file, the description of the interface: in the program, made of the files by scripts/embed. */
struct embedded {
    const char *name;
    const unsigned char *bytes;
    size_t size;
};
extern const struct embedded embedded_files[]; /* ended by one without a name */

#endif
