/*
 * The head of an HTTP/1.1 request, from bytes to its parts, by RFC 9112 and more strictly: what two programs could
 * understand in two ways is refused. Knows no sockets and no endpoints.
 */
#ifndef BPCN_SERVER_HTTP_PARSE_H
#define BPCN_SERVER_HTTP_PARSE_H

#include "http_error.h"

#include <stdbool.h>

enum {
    HTTP_HEAD_MOST = 64 << 10 /* bytes */,
    HTTP_TARGET_MOST = 8 << 10,
    HTTP_FIELDS_MOST = 100,
    HTTP_CHUNK_LINE_MOST = 256
};

struct http_head {
    const char *method;
    char *path;       /* decoded; "*" of OPTIONS * */
    char *query;      /* as it came, for http_next_option; NULL: there is none */
    const char *host; /* of the target where that has one, otherwise of the field Host */
    bool keep_alive;
    bool chunked;
    bool has_length;
    bool expects_continue;
    uint64_t length; /* of the body, by Content-Length */
    size_t fields;
    struct {
        const char *name, *value;
    } field[HTTP_FIELDS_MOST];
};

/* Looks for the end of a head in bytes [size], from *scanned on, which it moves: how many bytes the head has, its empty
   line included; 0: it is not complete. *status is not BPCN_OK as soon as a byte cannot be part of a head. */
size_t http_head_end(const char *bytes, size_t size, size_t *scanned, bpcn_status *status);

/* Takes a whole head of `size` bytes apart; its strings point into the bytes, which are changed. */
bpcn_status http_parse_head(char *bytes, size_t size, struct http_head *head);

/* The value of a field, NULL: there is none. Of several fields of a name, the first. */
const char *http_field(const struct http_head *head, const char *name);

/* Whether a comma-separated field value has this element, in any case of letters, parameters aside. An element with
   ";q=0" does not count. */
bool http_list_has(const char *value, const char *element);

/* The next NAME=VALUE of a query, decoded in place; false after the last. Fails for a broken escape or a NUL. */
bool http_next_option(char **query, char **name, char **value, bpcn_status *status);

/* The size in a line that begins a chunk, without its end of line. */
bpcn_status http_parse_chunk_size(const char *line, size_t length, uint64_t *size);

#endif
