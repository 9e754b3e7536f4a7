/* The note of a memory file: lines of key=value, and the schema of its rows, so that it can be read by eye. */
#include "memfile.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

int remark_format(const struct remark *r, char *out, size_t room)
{
    char *schema = fmt_schema_format(&r->fields);
    int used = -1, tried = 0;
    if (schema != NULL && r->trials.entries > 0) {
        tried = snprintf(out, room, "tried=%" PRIu64 "\nerrors=%.9g\nspreads=%.9g\nplain=%.9g\n", r->trials.entries,
                         r->trials.errors, r->trials.spreads, r->trials.plain);
        out += tried;
        room -= (size_t)tried;
    }
    if (schema != NULL && r->fullness >= 0)
        used = snprintf(out, room, "fullness=%.6f\nprobes=%zu\nrecalled=%zu\nscale=%.3g\nmeasured=%" PRIu64 "\n%s",
                        r->fullness, r->probes, r->recalled, r->scale, r->measured, schema);
    else if (schema != NULL)
        used = snprintf(out, room, "%s", schema);
    free(schema);
    return used < 0 || (size_t)used >= room ? -1 : 0;
}

/* The value of a key, up to the end of its line; false when there is none. Names of columns have no =. */
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

/* None where they make no sense. */
static void read_trials(const char *text, bpcn_trials *t)
{
    char entries[64], errors[64], spreads[64], plain[64];
    if (!find_value(text, "tried", entries, sizeof entries) || !find_value(text, "errors", errors, sizeof errors) ||
        !find_value(text, "spreads", spreads, sizeof spreads) || !find_value(text, "plain", plain, sizeof plain))
        return;
    *t = (bpcn_trials){strtod(errors, NULL), strtod(spreads, NULL), strtod(plain, NULL), strtoull(entries, NULL, 10)};
    if (!(t->errors >= 0 && t->errors < INFINITY && t->spreads > 0 && t->spreads < INFINITY && t->plain >= 0 &&
          t->plain < INFINITY))
        *t = (bpcn_trials){0};
}

int remark_parse(const char *text, size_t dim, struct remark *r)
{
    char value[64];
    fmt_error error;
    *r = (struct remark){.fullness = -1};
    if (fmt_schema_parse(text, &r->fields, &error) != FMT_OK)
        return -1;
    snprintf(value, sizeof value, "%zu", dim);
    if (r->fields.count == 0 && fields_parse_shape("row", value, &r->fields, &error) != 0)
        return -1;
    if (r->fields.dim != dim) {
        fmt_schema_free(&r->fields);
        return -1;
    }
    if (find_value(text, "fullness", value, sizeof value))
        r->fullness = strtod(value, NULL);
    if (find_value(text, "probes", value, sizeof value))
        r->probes = (size_t)strtoull(value, NULL, 10);
    if (find_value(text, "recalled", value, sizeof value))
        r->recalled = (size_t)strtoull(value, NULL, 10);
    if (find_value(text, "scale", value, sizeof value))
        r->scale = strtod(value, NULL);
    if (find_value(text, "measured", value, sizeof value))
        r->measured = strtoull(value, NULL, 10);
    read_trials(text, &r->trials);
    return 0;
}
