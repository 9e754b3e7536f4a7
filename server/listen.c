/* Addresses and ports. */
#include "listen.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

int listen_find(const struct say *say, const char *text, struct place *place)
{
    const char *colon = strrchr(text, ':');
    char *end = NULL;
    struct in_addr four;
    struct in6_addr six;
    unsigned long port = colon ? strtoul(colon + 1, &end, 10) : 0;
    size_t length = colon ? (size_t)(colon - text) : 0;
    char bare[64];
    *place = (struct place){.socket = -1, .port = (unsigned)port};
    if (colon == NULL || length == 0 || length >= sizeof bare || end == colon + 1 || *end != '\0' || port > 65535)
        return say_usage(say, "--listen: '%s' is not ADDRESS:PORT, such as 127.0.0.1:8765", text);
    snprintf(place->address, sizeof place->address, "%.*s", (int)length, text);
    if (strcmp(place->address, "localhost") == 0)
        snprintf(place->address, sizeof place->address, "127.0.0.1");
    snprintf(bare, sizeof bare, "%s", place->address);
    if (bare[0] == '[' && bare[strlen(bare) - 1] == ']') {
        memmove(bare, bare + 1, strlen(bare));
        bare[strlen(bare) - 1] = '\0';
        if (inet_pton(AF_INET6, bare, &six) == 1) {
            place->loopback = memcmp(&six, &in6addr_loopback, sizeof six) == 0;
            return 0;
        }
    } else if (inet_pton(AF_INET, bare, &four) == 1) {
        place->loopback = ntohl(four.s_addr) >> 24 == 127;
        return 0;
    }
    return say_usage(say, "--listen: '%s' is no numeric address; IPv6 goes in brackets, as in [::1]:8765", text);
}

static socklen_t address_of(const struct place *place, struct sockaddr_storage *out)
{
    struct sockaddr_in *four = (struct sockaddr_in *)out;
    struct sockaddr_in6 *six = (struct sockaddr_in6 *)out;
    char bare[64];
    *out = (struct sockaddr_storage){0};
    if (place->address[0] != '[') {
        four->sin_family = AF_INET;
        four->sin_port = htons((uint16_t)place->port);
        inet_pton(AF_INET, place->address, &four->sin_addr);
        return sizeof *four;
    }
    snprintf(bare, sizeof bare, "%.*s", (int)(strlen(place->address) - 2), place->address + 1);
    six->sin6_family = AF_INET6;
    six->sin6_port = htons((uint16_t)place->port);
    inet_pton(AF_INET6, bare, &six->sin6_addr);
    return sizeof *six;
}

int listen_open(const struct say *say, struct place *place)
{
    struct sockaddr_storage address;
    socklen_t size = address_of(place, &address);
    int one = 1, s = socket(address.ss_family, SOCK_STREAM, 0);
    if (s >= 0 && setsockopt(s, SOL_SOCKET, SO_REUSEADDR, &one, sizeof one) == 0 &&
        bind(s, (struct sockaddr *)&address, size) == 0 && listen(s, 128) == 0 &&
        getsockname(s, (struct sockaddr *)&address, &size) == 0) {
        place->socket = s;
        place->port = ntohs(address.ss_family == AF_INET ? ((struct sockaddr_in *)&address)->sin_port
                                                         : ((struct sockaddr_in6 *)&address)->sin6_port);
        return 0;
    }
    int failed = say_error(say, "%s:%u: %s", place->address, place->port, strerror(errno));
    if (s >= 0)
        close(s);
    return failed;
}
