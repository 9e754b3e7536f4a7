/* Exact comparisons of Host, Origin and token. */
#include "access.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

static void add_own_host(struct access *a, const char *address, unsigned port)
{
    if (a->own_count + 2 > sizeof a->own / sizeof *a->own)
        return;
    snprintf(a->own[a->own_count++], sizeof *a->own, "%s:%u", address, port);
    if (port == 80)
        snprintf(a->own[a->own_count++], sizeof *a->own, "%s", address);
}

void access_begin(struct access *a, const struct settings *settings, const char *address, unsigned port)
{
    bool wildcard = strcmp(address, "0.0.0.0") == 0 || strcmp(address, "[::]") == 0;
    a->settings = settings;
    a->own_count = 0;
    pthread_mutex_init(&a->lock, NULL);
    add_own_host(a, "localhost", port);
    add_own_host(a, "127.0.0.1", port);
    add_own_host(a, "[::1]", port);
    if (!wildcard)
        add_own_host(a, address, port);
}

void access_end(struct access *a)
{
    pthread_mutex_destroy(&a->lock);
}

bpcn_status access_load_tokens(struct access *a, const char *path)
{
    static const char wanted[] = "a token is 8 to 511 visible characters without spaces";
    char line[TOKEN_ROOM + 2], place[32];
    size_t count = 0, number = 0;
    bpcn_status status = BPCN_OK;
    FILE *in = fopen(path, "r");
    char(*token)[TOKEN_ROOM] = calloc(TOKENS_MOST, sizeof *token);
    if (in == NULL || token == NULL) {
        status = in == NULL ? bpcn_fail(BPCN_IO, "%s: the token file cannot be read", path)
                            : bpcn_fail(BPCN_NO_MEMORY, "out of memory");
        free(token);
        if (in != NULL)
            fclose(in);
        return status;
    }
    while (status == BPCN_OK && fgets(line, sizeof line, in) != NULL) {
        size_t length = strcspn(line, "\r\n");
        bool good = length >= 8 && length < TOKEN_ROOM;
        snprintf(place, sizeof place, "line %zu", ++number);
        line[length] = '\0';
        if (length == 0 || line[0] == '#')
            continue;
        for (size_t i = 0; i < length; i++)
            good = good && line[i] > ' ' && line[i] < 127;
        if (!good)
            status = bpcn_fail_at(BPCN_INVALID, place, "%s: %s: %s", path, place, wanted);
        else if (count == TOKENS_MOST)
            status = bpcn_fail_at(BPCN_INVALID, place, "%s: a token file holds at most %d tokens", path, TOKENS_MOST);
        else
            memcpy(token[count++], line, length + 1);
    }
    fclose(in);
    if (status == BPCN_OK && count == 0)
        status = bpcn_fail(BPCN_INVALID, "%s: the file holds no token; %s", path, wanted);
    if (status == BPCN_OK) {
        pthread_mutex_lock(&a->lock);
        memcpy(a->token, token, count * sizeof *token);
        a->tokens = count;
        pthread_mutex_unlock(&a->lock);
    }
    free(token);
    return status;
}

static bool in_list(const struct name_list *list, const char *name, int (*compare)(const char *, const char *))
{
    for (size_t i = 0; i < list->count; i++)
        if (compare(name, list->name[i]) == 0)
            return true;
    return false;
}

static bool host_allowed(const struct access *a, const char *host)
{
    for (size_t i = 0; i < a->own_count; i++)
        if (strcasecmp(host, a->own[i]) == 0)
            return true;
    return in_list(&a->settings->hosts, host, strcasecmp);
}

bool access_allows_origin(const struct access *a, const char *origin)
{
    return origin != NULL && in_list(&a->settings->origins, origin, strcmp);
}

/* The server's own page: http://HOST, or https:// behind a proxy. */
static bool is_own_origin(const char *origin, const char *host)
{
    const char *rest = strncmp(origin, "http://", 7) == 0    ? origin + 7
                       : strncmp(origin, "https://", 8) == 0 ? origin + 8
                                                             : NULL;
    return rest != NULL && strcasecmp(rest, host) == 0;
}

/* Takes as long whatever the first difference is. */
static bool same_secret(const char *given, const char *wanted)
{
    size_t n = strlen(given), m = strlen(wanted);
    volatile unsigned char differs = n != m;
    for (size_t i = 0; i < n; i++)
        differs |= (unsigned char)(given[i] ^ wanted[m > 0 ? i % m : 0]);
    return differs == 0;
}

static bool token_matches(struct access *a, const char *authorization)
{
    static const char scheme[] = "Bearer ";
    bool carries = authorization != NULL && strncasecmp(authorization, scheme, sizeof scheme - 1) == 0;
    pthread_mutex_lock(&a->lock);
    bool matches = a->tokens == 0;
    for (size_t k = 0; k < a->tokens; k++)
        matches |= carries && same_secret(authorization + sizeof scheme - 1, a->token[k]);
    pthread_mutex_unlock(&a->lock);
    return matches;
}

bpcn_status access_check(struct access *a, const struct access_headers *h, bool wants_token)
{
    if (!host_allowed(a, h->host))
        return http_fail(421, "Host", "this server does not have that name (--allow-host adds one)");
    if (h->origin != NULL && !is_own_origin(h->origin, h->host) && !access_allows_origin(a, h->origin))
        return http_fail(403, "Origin", "requests from pages of other origins are refused (--allow-origin accepts one)");
    if (wants_token && !token_matches(a, h->authorization))
        return http_fail(401, "Authorization",
                         h->authorization == NULL ? "this server requires a token: Authorization: Bearer TOKEN"
                                                  : "the token is not valid");
    return BPCN_OK;
}
