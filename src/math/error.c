/* Status names and the thread's error: its sentence and its place. */
#include "error.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

enum { ERROR_BYTES = BPCN_MAX_ERROR + 1 };
static _Thread_local char sentence[ERROR_BYTES], sentence_place[ERROR_BYTES];

/* `from` may be the thread's own sentence or place. The cut leaves no half of a UTF-8 character. */
static void error_copy(char *to, const char *from)
{
    size_t length = strlen(from);
    if (length > BPCN_MAX_ERROR) {
        length = BPCN_MAX_ERROR;
        while (length > 0 && ((unsigned char)from[length] & 0xc0) == 0x80)
            length--;
    }
    memmove(to, from, length);
    to[length] = '\0';
}

/* Formats beside the sentence, because it may be among the arguments. */
static void error_set(const char *place, const char *format, va_list arguments)
{
    char text[ERROR_BYTES + 4]; /* longer than a sentence by one character, so that error_copy sees the cut */
    vsnprintf(text, sizeof text, format, arguments);
    error_copy(sentence_place, place);
    error_copy(sentence, text);
}

bpcn_status bpcn_fail(bpcn_status status, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    error_set("", format, arguments);
    va_end(arguments);
    return status;
}

bpcn_status bpcn_fail_at(bpcn_status status, const char *place, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    error_set(place, format, arguments);
    va_end(arguments);
    return status;
}

const char *bpcn_error_place(void)
{
    return sentence_place;
}

const char *bpcn_error(void)
{
    return sentence;
}

const char *bpcn_status_name(bpcn_status status)
{
    static const char *const names[] = {"ok",     "invalid", "no_memory", "numeric",   "refused", "io",       "format", "newer",
                                        "corrupt", "busy",    "read_only", "full",      "no_space", "gone", "not_held"};
    return (size_t)status < sizeof names / sizeof *names ? names[status] : "unknown";
}

const char *bpcn_version(void)
{
    return BPCN_VERSION;
}
