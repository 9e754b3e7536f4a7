/* The thread's HTTP status, and the problem document. It stands alone because every file of the server needs it and the
   fuzzer of bodies links it without the rest. */
#include "http_error.h"

#include "console.h"

#include <stdarg.h>

static _Thread_local unsigned last_code;

bpcn_status http_fail(unsigned code, const char *place, const char *format, ...)
{
    char text[BPCN_MAX_ERROR + 1];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    last_code = code;
    return bpcn_fail_at(code == 503   ? BPCN_NO_MEMORY
                        : code == 507 ? BPCN_NO_SPACE
                        : code >= 500 ? BPCN_IO
                                      : BPCN_INVALID,
                        place, "%s", text);
}

unsigned http_error_code(void)
{
    return last_code;
}

const char *http_reason(unsigned code)
{
    static const struct {
        unsigned code;
        const char *reason;
    } reasons[] = {{200, "OK"},
                   {204, "No Content"},
                   {304, "Not Modified"},
                   {400, "Bad Request"},
                   {401, "Unauthorized"},
                   {403, "Forbidden"},
                   {404, "Not Found"},
                   {405, "Method Not Allowed"},
                   {408, "Request Timeout"},
                   {409, "Conflict"},
                   {413, "Content Too Large"},
                   {414, "URI Too Long"},
                   {415, "Unsupported Media Type"},
                   {417, "Expectation Failed"},
                   {421, "Misdirected Request"},
                   {422, "Unprocessable Content"},
                   {431, "Request Header Fields Too Large"},
                   {500, "Internal Server Error"},
                   {501, "Not Implemented"},
                   {503, "Service Unavailable"},
                   {505, "HTTP Version Not Supported"},
                   {507, "Insufficient Storage"}};
    for (size_t k = 0; k < sizeof reasons / sizeof *reasons; k++)
        if (reasons[k].code == code)
            return reasons[k].reason;
    return "Error";
}

char *http_error_json(size_t *size)
{
    char *text = NULL;
    FILE *out = open_memstream(&text, size);
    if (out == NULL)
        return NULL;
    fprintf(out, "{\"type\":\"about:blank\",\"title\":\"%s\",\"status\":%u,\"detail\":", http_reason(last_code),
            last_code);
    json_write_string(out, bpcn_error());
    fputs(",\"where\":", out);
    if (bpcn_error_place()[0] != '\0')
        json_write_string(out, bpcn_error_place());
    else
        fputs("null", out);
    fputs("}\n", out);
    return fclose(out) == 0 ? text : NULL;
}
