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
    switch (status) {
    case BPCN_OK:
        return "ok";
    case BPCN_INVALID:
        return "invalid";
    case BPCN_NO_MEMORY:
        return "no_memory";
    case BPCN_NUMERIC:
        return "numeric";
    case BPCN_REFUSED:
        return "refused";
    case BPCN_IO:
        return "io";
    case BPCN_FORMAT:
        return "format";
    case BPCN_NEWER:
        return "newer";
    case BPCN_CORRUPT:
        return "corrupt";
    case BPCN_BUSY:
        return "busy";
    case BPCN_READ_ONLY:
        return "read_only";
    }
    return "unknown";
}

const char *bpcn_version(void)
{
    return BPCN_VERSION;
}
