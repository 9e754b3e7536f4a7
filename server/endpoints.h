/* What the server answers: a request that was let in and has arrived whole, to an answer. Knows nothing of sockets. */
#ifndef BPCN_SERVER_ENDPOINTS_H
#define BPCN_SERVER_ENDPOINTS_H

#include "answer.h"

struct house {
    const struct settings *settings;
    const struct memfile *file; /* its schema and options; the memory itself is the engine's */
    struct engine *engine;
    struct examples examples;
};

struct request;

struct endpoint {
    const char *method, *path;
    bool open;    /* without a token */
    bool changes; /* the memory: not with --read-only */
    int (*run)(struct request *request);
};

struct request {
    const struct house *house;
    const struct endpoint *endpoint;
    struct body body;     /* options of the URL are in it already */
    enum content content; /* of the bytes */
    enum content wanted;  /* of the answer */
    const char *bytes;
    size_t size;
    /* out */
    struct answer answer;
    struct refusal refusal; /* where run returns -1 */
};

/* NULL, and the refusal: 404, or 405 with *allow the method that there is. */
const struct endpoint *endpoint_find(const char *method, const char *path, const char **allow, struct refusal *why);

#endif
