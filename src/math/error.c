/* Status names and the per-thread error sentence. */
#include "error.h"

#include <stdarg.h>
#include <stdio.h>

static _Thread_local char sentence[512];

bpcn_status fail(bpcn_status status, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(sentence, sizeof sentence, format, arguments);
    va_end(arguments);
    return status;
}

const char *bpcn_error(void)
{
    return sentence;
}

const char *bpcn_status_name(bpcn_status status)
{
    static const char *const names[] = {"ok",     "invalid", "no_memory", "numeric", "refused",   "io",
                                        "format", "newer",   "corrupt",   "busy",    "read_only", "full"};
    return (size_t)status < sizeof names / sizeof *names ? names[status] : "unknown";
}

const char *bpcn_version(void)
{
    return BPCN_VERSION;
}
