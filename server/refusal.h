/* Why a request is not answered as it was meant: a status of HTTP and a sentence. No path of this machine is in it. */
#ifndef BPCN_SERVER_REFUSAL_H
#define BPCN_SERVER_REFUSAL_H

#include <stddef.h>

#if defined(__GNUC__)
#define REFUSAL_FORMAT __attribute__((format(printf, 4, 5)))
#else
#define REFUSAL_FORMAT
#endif

struct refusal {
    unsigned status; /* 0: there is none */
    char message[400];
    char where[160]; /* "rows[3][17]"; "": nowhere in particular */
};

/* Fills it; the where may be "". Returns -1, so that it can end a function. */
int refuse(struct refusal *why, unsigned status, const char *where, const char *format, ...) REFUSAL_FORMAT;

/* {"error": {"status", "message", "where"}}; to be freed, NULL: out of memory. */
char *refusal_json(const struct refusal *why, size_t *size);

#endif
