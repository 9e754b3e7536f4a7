/* The note of a memory file: lines of key=value, so that it can be read by eye. */
#include "memfile.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

void remark_format(const struct remark *r, char *out, size_t room)
{
    char fields[FIELDS_TEXT_MOST];
    fields_format(&r->fields, fields, sizeof fields);
    int n = snprintf(out, room, "fields=%s\n", fields);
    if (r->fullness >= 0 && n > 0 && (size_t)n < room)
        snprintf(out + n, room - (size_t)n, "fullness=%.6f\nprobes=%zu\nrecalled=%zu\nmeasured=%" PRIu64 "\n",
                 r->fullness, r->probes, r->recalled, r->measured);
}

/* The value of a key, up to the end of its line; false when there is none. */
static bool find_value(const char *text, const char *key, char *out, size_t room)
{
    size_t length = strlen(key);
    for (const char *line = text; line != NULL && *line != '\0';) {
        if (strncmp(line, key, length) == 0 && line[length] == '=') {
            const char *value = line + length + 1;
            snprintf(out, room, "%.*s", (int)strcspn(value, "\n"), value);
            return true;
        }
        line = strchr(line, '\n');
        line = line ? line + 1 : NULL;
    }
    return false;
}

int remark_parse(const char *text, size_t dim, struct remark *r)
{
    char value[FIELDS_TEXT_MOST], why[160], size[32];
    *r = (struct remark){.fullness = -1};
    snprintf(size, sizeof size, "%zu", dim);
    if (!find_value(text, "fields", value, sizeof value))
        return fields_parse_shape("row", size, &r->fields, why, sizeof why);
    if (fields_parse(value, &r->fields, why, sizeof why) != 0 || r->fields.dim != dim)
        return -1;
    if (find_value(text, "fullness", value, sizeof value))
        r->fullness = strtod(value, NULL);
    if (find_value(text, "probes", value, sizeof value))
        r->probes = (size_t)strtoull(value, NULL, 10);
    if (find_value(text, "recalled", value, sizeof value))
        r->recalled = (size_t)strtoull(value, NULL, 10);
    if (find_value(text, "measured", value, sizeof value))
        r->measured = strtoull(value, NULL, 10);
    return 0;
}
