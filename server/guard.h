/* Who may ask: the Host that a request names, the page that it comes from, the token that it carries. */
#ifndef BPCN_SERVER_GUARD_H
#define BPCN_SERVER_GUARD_H

#include "refusal.h"
#include "settings.h"

#include <stdbool.h>

struct guard {
    const struct settings *settings;
    char own[8][80]; /* Hosts that mean this server, whatever was told */
    size_t own_count;
};

/* address: as it is written in a URL, [::1] with its brackets; wildcard addresses are no Host. */
void guard_begin(struct guard *guard, const struct settings *settings, const char *address, unsigned port);

/* The headers of a request; NULL where there is none. */
struct visitor {
    const char *host, *origin, *authorization;
};

/* 0, or -1 with the refusal: 400 or 421 for the Host, 403 for the origin, 401 for the token where one is wanted. */
int guard_check(const struct guard *guard, const struct visitor *visitor, bool wants_token, struct refusal *why);

/* Whether pages of that origin were allowed by --allow-origin. */
bool guard_allows_origin(const struct guard *guard, const char *origin);

/* Takes as long whatever the first difference is. */
bool same_secret(const char *given, const char *wanted);

#endif
