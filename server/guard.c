/* Exact comparisons of Host, Origin and token. */
#include "guard.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>

static void add_own(struct guard *g, const char *address, unsigned port)
{
    if (g->own_count + 2 > sizeof g->own / sizeof *g->own)
        return;
    snprintf(g->own[g->own_count++], sizeof *g->own, "%s:%u", address, port);
    if (port == 80)
        snprintf(g->own[g->own_count++], sizeof *g->own, "%s", address);
}

void guard_begin(struct guard *g, const struct settings *settings, const char *address, unsigned port)
{
    bool wildcard = strcmp(address, "0.0.0.0") == 0 || strcmp(address, "[::]") == 0;
    *g = (struct guard){.settings = settings};
    add_own(g, "localhost", port);
    add_own(g, "127.0.0.1", port);
    add_own(g, "[::1]", port);
    if (!wildcard)
        add_own(g, address, port);
}

static bool host_allowed(const struct guard *g, const char *host)
{
    for (size_t i = 0; i < g->own_count; i++)
        if (strcasecmp(host, g->own[i]) == 0)
            return true;
    for (size_t i = 0; i < g->settings->hosts.count; i++)
        if (strcasecmp(host, g->settings->hosts.name[i]) == 0)
            return true;
    return false;
}

bool guard_allows_origin(const struct guard *g, const char *origin)
{
    for (size_t i = 0; origin != NULL && i < g->settings->origins.count; i++)
        if (strcmp(origin, g->settings->origins.name[i]) == 0)
            return true;
    return false;
}

/* The server's own page: http://HOST, or https:// behind a proxy. */
static bool is_own_origin(const char *origin, const char *host)
{
    const char *rest = strncmp(origin, "http://", 7) == 0    ? origin + 7
                       : strncmp(origin, "https://", 8) == 0 ? origin + 8
                                                             : NULL;
    return rest != NULL && strcasecmp(rest, host) == 0;
}

bool same_secret(const char *given, const char *wanted)
{
    size_t n = strlen(given), m = strlen(wanted);
    volatile unsigned char differs = n != m;
    for (size_t i = 0; i < n; i++)
        differs |= (unsigned char)(given[i] ^ wanted[m > 0 ? i % m : 0]);
    return differs == 0;
}

static bool token_matches(const struct guard *g, const char *authorization)
{
    static const char scheme[] = "Bearer ";
    if (g->settings->token[0] == '\0')
        return true;
    return authorization != NULL && strncasecmp(authorization, scheme, sizeof scheme - 1) == 0 &&
           same_secret(authorization + sizeof scheme - 1, g->settings->token);
}

int guard_check(const struct guard *g, const struct visitor *v, bool wants_token, struct refusal *why)
{
    if (v->host == NULL)
        return refuse(why, 400, "Host", "the request names no host");
    if (!host_allowed(g, v->host))
        return refuse(why, 421, "Host", "this server does not go by that name; --allow-host adds one");
    if (v->origin != NULL && !is_own_origin(v->origin, v->host) && !guard_allows_origin(g, v->origin))
        return refuse(why, 403, "Origin", "pages from elsewhere may not ask; --allow-origin lets them");
    if (wants_token && !token_matches(g, v->authorization))
        return refuse(why, 401, "Authorization",
                      v->authorization == NULL ? "this server wants a token: Authorization: Bearer TOKEN"
                                               : "the token is not the one that this server wants");
    return 0;
}
