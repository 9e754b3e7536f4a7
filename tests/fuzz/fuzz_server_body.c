/* Bodies of requests: the first byte says which content type, the rest is the body; beyond the last type it is a name
   from the URL. Rows that come out are whole numbers of the memory's entries, and finite; names can be names. */
#include "body.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
extern const char program_name[];
const char program_name[] = "fuzz";

enum { A_NAME = CONTENT_OTHER + 1, KINDS };

/* What has been taken as a name is taken again, and is the same. */
static void check_names(const struct body *body)
{
    char again[NAME_ROOM];
    for (size_t i = 0; i < body->names; i++) {
        const char *name = body->name + i * NAME_ROOM;
        if (memchr(name, '\0', NAME_ROOM) == NULL)
            abort();
        name_of_text(name, strlen(name), again);
        if (strcmp(name, again) != 0)
            abort();
    }
}

static void try_with(const char *text, int kind, const uint8_t *bytes, size_t size)
{
    fmt_schema schema = {0};
    struct body body;
    if (fmt_schema_parse_fields(text, &schema) != BPCN_OK)
        abort();
    struct shape shape = {&schema, 16};
    body_begin(&body);
    bool failed = (kind == A_NAME ? body_name(&body, (const char *)bytes, size)
                                  : body_parse(&body, &shape, (enum content)kind, bytes, size)) != BPCN_OK;
    if ((failed && http_error_code() < 400) ||
        (!failed && (body.rows > shape.most_rows || body.names > shape.most_rows)))
        abort();
    check_names(&body);
    for (size_t j = 0; !failed && j < body.rows * schema.dim; j++)
        if (!isfinite(body.x[j]) || body.known[j] > 1 || (!body.known[j] && body.x[j] != 0))
            abort();
    body_free(&body);
    fmt_schema_free(&schema);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size == 0)
        return 0;
    try_with("image:3x2,label:2", data[0] % KINDS, data + 1, size - 1);
    return 0;
}
