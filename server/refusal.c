/* Refusals as sentences and as JSON. */
#include "refusal.h"

#include "console.h"

#include <stdarg.h>

int refuse(struct refusal *why, unsigned status, const char *where, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    why->status = status;
    snprintf(why->where, sizeof why->where, "%s", where);
    vsnprintf(why->message, sizeof why->message, format, args);
    va_end(args);
    return -1;
}

char *refusal_json(const struct refusal *why, size_t *size)
{
    char *text = NULL;
    FILE *out = open_memstream(&text, size);
    if (out == NULL)
        return NULL;
    fprintf(out, "{\"error\":{\"status\":%u,\"message\":", why->status);
    json_write_string(out, why->message);
    fputs(",\"where\":", out);
    if (why->where[0] != '\0')
        json_write_string(out, why->where);
    else
        fputs("null", out);
    fputs("}}\n", out);
    return fclose(out) == 0 ? text : NULL;
}
