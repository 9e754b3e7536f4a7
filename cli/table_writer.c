/* Decoded rows, cell by cell. */
#include "table_writer.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

struct table_writer {
    const fmt_schema *schema;
    const fmt_column *only; /* NULL: all of them */
    fmt_output *out;
    fmt_error error;
};

static fmt_status put(struct table_writer *w, const char *text)
{
    return fmt_output_put(w->out, text, strlen(text));
}

static fmt_status put_header(struct table_writer *w)
{
    char text[FMT_CELL_ROOM], name[FMT_CELL_ROOM];
    const char *before = "";
    fmt_status status = FMT_OK;
    for (size_t k = 0; k < w->schema->count; k++) {
        const fmt_column *c = &w->schema->column[k];
        for (size_t j = 0; (w->only == NULL || w->only == c) && j < c->cells && status == FMT_OK; j++) {
            if (c->cells == 1)
                snprintf(name, sizeof name, "%s", c->name);
            else
                snprintf(name, sizeof name, "%.1000s_%zu", c->name, j + 1);
            fmt_quote(name, ',', text, sizeof text);
            status = put(w, before);
            status = status == FMT_OK ? put(w, text) : status;
            before = ",";
        }
    }
    return status == FMT_OK ? put(w, "\n") : status;
}

struct table_writer *table_writer_open(const fmt_schema *schema, const fmt_column *only, const char *path,
                                       fmt_error *error)
{
    struct table_writer *w = calloc(1, sizeof *w);
    if (w == NULL) {
        snprintf(error->message, sizeof error->message, "%.200s: out of memory", path);
        return NULL;
    }
    *w = (struct table_writer){.schema = schema, .only = only};
    w->out = fmt_output_open(path, &w->error);
    if (w->out != NULL && put_header(w) == FMT_OK)
        return w;
    *error = w->error;
    table_writer_close(w, false, NULL);
    return NULL;
}

static fmt_status put_row(struct table_writer *w, const float *x)
{
    static const fmt_style style = {.separator = ',', .decimal = '.'};
    char text[FMT_CELL_ROOM];
    const char *before = "";
    fmt_status status = FMT_OK;
    for (size_t k = 0; k < w->schema->count; k++) {
        const fmt_column *c = &w->schema->column[k];
        for (size_t j = 0; (w->only == NULL || w->only == c) && j < c->cells && status == FMT_OK; j++) {
            const float *at = x + c->offset + j;
            text[0] = '\0';
            if (!isnan(*at))
                fmt_decode_text(c, at, &style, text, sizeof text);
            status = put(w, before);
            status = status == FMT_OK ? put(w, text) : status;
            before = ",";
        }
    }
    return status == FMT_OK ? put(w, "\n") : status;
}

fmt_status table_writer_add(struct table_writer *w, const float *x, size_t rows)
{
    fmt_status status = FMT_OK;
    for (size_t i = 0; i < rows && status == FMT_OK; i++)
        status = put_row(w, x + i * w->schema->dim);
    return status;
}

const char *table_writer_error(const struct table_writer *w)
{
    return w->error.message;
}

fmt_status table_writer_close(struct table_writer *w, bool keep, fmt_error *error)
{
    if (w == NULL)
        return FMT_OK;
    fmt_status status = fmt_output_close(w->out, keep ? FMT_OK : FMT_ERR_ARGUMENT);
    if (error != NULL)
        *error = w->error;
    free(w);
    return status;
}
