/* Bodies of requests: the first byte says which content type, the rest is the body. Rows that come out are whole
   numbers of the memory's entries, and finite. */
#include "body.h"

#include <math.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
extern const char program_name[];
const char program_name[] = "fuzz";

static void try_with(const char *text, enum content content, const uint8_t *bytes, size_t size)
{
    fmt_schema schema = {0};
    fmt_error error;
    struct body body;
    struct refusal why = {0};
    if (fmt_schema_parse_fields(text, &schema, &error) != FMT_OK)
        abort();
    struct shape shape = {&schema, 16};
    body_begin(&body);
    int failed = body_parse(&body, &shape, content, bytes, size, &why);
    if ((failed != 0) != (why.status >= 400) || (!failed && body.rows > shape.most_rows))
        abort();
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
    try_with("image:3x2,label:2", (enum content)(data[0] % (CONTENT_OTHER + 1)), data + 1, size - 1);
    return 0;
}
