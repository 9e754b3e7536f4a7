/* Request line, fields and what they say of the body. */
#include "http_parse.h"

#include <string.h>
#include <strings.h>

/* ---- bytes */

static bool is_token_char(unsigned char c)
{
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
           (c != '\0' && strchr("!#$%&'*+-.^_`|~", c) != NULL);
}

static bool is_token(const char *text)
{
    size_t n = 0;
    while (is_token_char((unsigned char)text[n]))
        n++;
    return n > 0 && text[n] == '\0';
}

/* Digits alone, at most 18. */
static bool parse_length(const char *text, uint64_t *length)
{
    size_t n = strspn(text, "0123456789");
    *length = 0;
    for (size_t i = 0; i < n && n <= 18; i++)
        *length = 10 * *length + (uint64_t)(text[i] - '0');
    return n > 0 && n <= 18 && text[n] == '\0';
}

static int hex_digit(char c)
{
    return c >= '0' && c <= '9'   ? c - '0'
           : c >= 'a' && c <= 'f' ? c - 'a' + 10
           : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                  : -1;
}

/* In place; false for a broken escape or one of NUL. */
static bool decode_escapes(char *text, bool plus_is_space)
{
    char *out = text;
    for (; *text != '\0'; text++) {
        if (*text == '%') {
            int high = hex_digit(text[1]), low = high < 0 ? -1 : hex_digit(text[2]);
            if (low < 0 || 16 * high + low == 0)
                return false;
            *out++ = (char)(16 * high + low);
            text += 2;
        } else {
            *out++ = plus_is_space && *text == '+' ? ' ' : *text;
        }
    }
    *out = '\0';
    return true;
}

size_t http_head_end(const char *bytes, size_t size, size_t *scanned, bpcn_status *status)
{
    *status = BPCN_OK;
    for (size_t i = *scanned; i < size; i++) {
        if (bytes[i] == '\0')
            *status = http_fail(400, "", "a NUL byte stands in the head of the request");
        else if (bytes[i] == '\n' && (i == 0 || bytes[i - 1] != '\r'))
            *status = http_fail(400, "", "a line of the head ends without a carriage return");
        else if (bytes[i] != '\n' && i > 0 && bytes[i - 1] == '\r')
            *status = http_fail(400, "", "a carriage return stands inside a line of the head");
        else if (bytes[i] == '\n' && i >= 3 && bytes[i - 3] == '\r' && bytes[i - 2] == '\n')
            return *scanned = i + 1;
        if (*status != BPCN_OK)
            return 0;
    }
    *scanned = size;
    return 0;
}

/* ---- the request line */

static bpcn_status parse_version(const char *text, struct http_head *head)
{
    bool shaped = strncmp(text, "HTTP/", 5) == 0 && text[5] >= '0' && text[5] <= '9' && text[6] == '.' &&
                  text[7] >= '0' && text[7] <= '9' && text[8] == '\0';
    if (!shaped)
        return http_fail(400, "", "the request line does not end with a version of HTTP");
    if (text[5] != '1' || text[7] > '1')
        return http_fail(505, "", "this server speaks HTTP/1.1");
    head->keep_alive = text[7] == '1';
    return BPCN_OK;
}

/* "/path?query", "http://host/path?query", or "*" of OPTIONS. */
static bpcn_status parse_target(char *target, struct http_head *head)
{
    for (const char *c = target; *c != '\0'; c++)
        if (*c <= ' ' || *c >= 127 || *c == '#')
            return http_fail(400, "", "the target of the request has a byte that must be escaped");
    if (strncasecmp(target, "http://", 7) == 0 || strncasecmp(target, "https://", 8) == 0) {
        char *host = strstr(target, "//") + 2;
        size_t length = strcspn(host, "/?");
        if (length == 0 || memchr(host, '@', length) != NULL)
            return http_fail(400, "", "the target of the request has no host, or a user's name before it");
        memmove(host - 1, host, length); /* moves it so that its end fits */
        host[length - 1] = '\0';
        head->host = host - 1;
        target = host + length;
        if (*target != '/') {
            /* "http://host" or "http://host?query": the slash of "//" is not needed any more */
            head->path = "/";
            head->query = *target == '?' ? target + 1 : NULL;
            return BPCN_OK;
        }
    } else if (strcmp(target, "*") == 0 && strcmp(head->method, "OPTIONS") == 0) {
        head->path = target;
        return BPCN_OK;
    } else if (*target != '/') {
        return http_fail(400, "", "the target of the request is neither a path nor an absolute URL");
    }
    head->path = target;
    head->query = strchr(target, '?');
    if (head->query != NULL)
        *head->query++ = '\0';
    return decode_escapes(head->path, false) ? BPCN_OK
                                             : http_fail(400, "", "the path has an escape that stands for no byte");
}

static bpcn_status parse_request_line(char *line, struct http_head *head)
{
    char *target = strchr(line, ' '), *version = target != NULL ? strchr(target + 1, ' ') : NULL;
    if (version == NULL || strchr(version + 1, ' ') != NULL)
        return http_fail(400, "", "the request line is not METHOD TARGET VERSION");
    *target++ = '\0';
    *version++ = '\0';
    if (!is_token(line))
        return http_fail(400, "", "the method of the request is no word");
    if (version - target > HTTP_TARGET_MOST)
        return http_fail(414, "", "the target of the request is longer than %d bytes", HTTP_TARGET_MOST);
    head->method = line;
    bpcn_status status = parse_version(version, head);
    return status == BPCN_OK ? parse_target(target, head) : status;
}

/* ---- fields */

static bpcn_status parse_field(char *line, struct http_head *head)
{
    char *colon = strchr(line, ':'), *end;
    if (*line == ' ' || *line == '\t')
        return http_fail(400, "", "a field is folded over two lines");
    if (colon == NULL)
        return http_fail(400, "", "a line of the head is not NAME: VALUE");
    *colon++ = '\0';
    if (!is_token(line))
        return http_fail(400, "", "the name of a field is no word");
    colon += strspn(colon, " \t");
    for (end = colon + strlen(colon); end > colon && (end[-1] == ' ' || end[-1] == '\t'); end--)
        end[-1] = '\0';
    for (const char *c = colon; *c != '\0'; c++)
        if (((unsigned char)*c < ' ' && *c != '\t') || *c == 127)
            return http_fail(400, line, "the value of a field has a control character");
    if (head->fields == HTTP_FIELDS_MOST)
        return http_fail(431, "", "the request has more than %d fields", HTTP_FIELDS_MOST);
    head->field[head->fields].name = line;
    head->field[head->fields++].value = colon;
    return BPCN_OK;
}

static size_t count_fields(const struct http_head *head, const char *name)
{
    size_t count = 0;
    for (size_t k = 0; k < head->fields; k++)
        count += strcasecmp(head->field[k].name, name) == 0;
    return count;
}

const char *http_field(const struct http_head *head, const char *name)
{
    for (size_t k = 0; k < head->fields; k++)
        if (strcasecmp(head->field[k].name, name) == 0)
            return head->field[k].value;
    return NULL;
}

bool http_list_has(const char *value, const char *element)
{
    size_t wanted = strlen(element);
    while (value != NULL && *value != '\0') {
        value += strspn(value, " \t,");
        size_t length = strcspn(value, ","), name = strcspn(value, ",; \t");
        const char *q = memchr(value, ';', length);
        bool refused = false;
        while (q != NULL) {
            q += 1 + strspn(q + 1, " \t");
            size_t zeros = (*q == 'q' || *q == 'Q') && q[1] == '=' ? strspn(q + 2, "0.") : 0;
            refused = refused || (zeros > 0 && (q[2 + zeros] == '\0' || strchr(",; \t", q[2 + zeros]) != NULL));
            q = memchr(q, ';', (size_t)(value + length - q));
        }
        if (name == wanted && strncasecmp(value, element, wanted) == 0)
            return !refused;
        value += length;
    }
    return false;
}

/* How the body is delimited: what a proxy before this server could read in another way is refused. */
static bpcn_status parse_framing(struct http_head *head)
{
    const char *length = http_field(head, "Content-Length"), *coding = http_field(head, "Transfer-Encoding");
    const char *connection = http_field(head, "Connection"), *expect = http_field(head, "Expect");
    bool old = !head->keep_alive;
    if (count_fields(head, "Host") != 1)
        return http_fail(400, "Host", "the request has %s", http_field(head, "Host") ? "several hosts" : "no host");
    if (head->host == NULL)
        head->host = http_field(head, "Host");
    if (head->host[0] == '\0' || head->host[strcspn(head->host, " \t,/@\\?#")] != '\0')
        return http_fail(400, "Host", "is no host");
    if (coding != NULL && (length != NULL || old))
        return http_fail(400, "Transfer-Encoding", old ? "is not of HTTP/1.0" : "stands beside Content-Length");
    if (coding != NULL && (count_fields(head, "Transfer-Encoding") > 1 || strcasecmp(coding, "chunked") != 0))
        return http_fail(501, "Transfer-Encoding", "this server reads the encoding chunked alone");
    if (count_fields(head, "Content-Length") > 1)
        return http_fail(400, "Content-Length", "is given twice");
    if (length != NULL && !parse_length(length, &head->length))
        return http_fail(400, "Content-Length", "is no number of bytes");
    if (expect != NULL && strcasecmp(expect, "100-continue") != 0)
        return http_fail(417, "Expect", "this server meets the expectation 100-continue alone");
    head->has_length = length != NULL;
    head->chunked = coding != NULL;
    head->expects_continue = expect != NULL && !old && (head->chunked || head->length > 0);
    head->keep_alive = old ? http_list_has(connection, "keep-alive") : !http_list_has(connection, "close");
    return BPCN_OK;
}

bpcn_status http_parse_head(char *bytes, size_t size, struct http_head *head)
{
    bpcn_status status = BPCN_OK;
    char *end = bytes + size - 2; /* of the last field, before the empty line */
    *head = (struct http_head){0};
    for (char *line = bytes; status == BPCN_OK && line < end;) {
        char *next = strchr(line, '\r');
        *next = '\0';
        status = line == bytes ? parse_request_line(line, head) : parse_field(line, head);
        line = next + 2;
    }
    return status == BPCN_OK ? parse_framing(head) : status;
}

/* ---- the rest */

bool http_next_option(char **query, char **name, char **value, bpcn_status *status)
{
    *status = BPCN_OK;
    while (*query != NULL && **query == '&')
        ++*query;
    if (*query == NULL || **query == '\0')
        return false;
    *name = *query;
    *query += strcspn(*query, "&");
    if (**query != '\0')
        *(*query)++ = '\0';
    *value = strchr(*name, '=');
    if (*value == NULL)
        *value = *name + strlen(*name);
    else
        *(*value)++ = '\0';
    if (!decode_escapes(*name, true) || !decode_escapes(*value, true))
        *status = http_fail(400, "URL", "an option has an escape that stands for no byte");
    return *status == BPCN_OK;
}

bpcn_status http_parse_chunk_size(const char *line, size_t length, uint64_t *size)
{
    size_t n = 0;
    *size = 0;
    for (; n < length && hex_digit(line[n]) >= 0; n++)
        *size = n < 15 ? 16 * *size + (uint64_t)hex_digit(line[n]) : *size;
    bool ends = n == length || line[n] == ';' || line[n] == ' ' || line[n] == '\t';
    for (size_t i = n; i < length; i++)
        ends = ends && ((unsigned char)line[i] >= ' ' || line[i] == '\t') && line[i] != 127;
    if (n == 0 || n > 15 || !ends)
        return http_fail(400, "body", "a chunk does not begin with its size");
    return BPCN_OK;
}
