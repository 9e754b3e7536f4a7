/* Texts that are to be names, made to fit. */
#include "naming.h"

#include "say.h"

#include <string.h>

/* Bytes of the character at p, which are followed by a zero; 0: it is no UTF-8, or a control character. */
static size_t character(const unsigned char *p)
{
    size_t n = utf8_length(p);
    bool control = p[0] < 0x20 || p[0] == 0x7f || (p[0] == 0xc2 && p[1] < 0xa0);
    return control ? 0 : n;
}

void name_of_text(const char *text, size_t size, char out[NAME_ROOM])
{
    unsigned char end[NAME_ROOM] = {0}; /* of the text, as much as there is room for */
    size_t most = size > BPCN_MAX_NAME ? BPCN_MAX_NAME - 3 : size, at = 0, used = size > most ? 3 : 0;
    memcpy(end, text + (size - most), most);
    memset(out, 0, NAME_ROOM);
    memcpy(out, "...", used);
    while (used > 0 && at < most && end[at] >> 6 == 2) /* from the beginning of a character on */
        at++;
    while (at < most) {
        size_t n = character(end + at);
        if (n > 0)
            memcpy(out + used, end + at, n);
        else
            out[used] = '?';
        used += n > 0 ? n : 1;
        at += n > 0 ? n : 1;
    }
}

void name_of_path(const char *path, char out[NAME_ROOM])
{
    const char *slash = strrchr(path, '/'), *name = slash != NULL ? slash + 1 : path;
    name_of_text(name, strlen(name), out);
}
