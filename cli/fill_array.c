/* An array filled: what was NaN in it. Unlike a table it is held whole. */
#include "fill.h"
#include "filling.h"
#include "output.h"
#include "table.h"
#include "trials.h"

#include <math.h>
#include <stdlib.h>
#include <strings.h>

bool fill_is_table(const struct fill *fill, const char *path)
{
    fmt_kind kind = fill->input.kind != FMT_ANY ? fill->input.kind : fmt_recognise(path, NULL, 0);
    return kind == FMT_CSV || (kind == FMT_ANY && strcmp(path, "-") == 0);
}

int fill_write(struct fill *fill, const char *name, size_t row, const float *x, const unsigned char *known)
{
    bpcn_write_row became;
    size_t written = 0, dim = fill->file.remark.fields.dim;
    bool whole = memchr(known, 0, dim) == NULL;
    if (memchr(known, 1, dim) == NULL)
        return 0; /* nothing to learn */
    bpcn_status status = trials_write(&fill->file, x, whole ? NULL : known, 1, NULL, &became, &written);
    fill->written += written;
    if (status != BPCN_OK)
        return say_error(fill->file.say, "%s row %zu: %s", name, row, memfile_why(&fill->file));
    return memfile_breathe(&fill->file);
}

/* The spreads of the filled cells, NaN for the others: [rows x cells]. */
struct spreads {
    float *cells;
    size_t rows;
};

static int keep_spread(const struct fill *fill, struct spreads *s, const unsigned char *known, const float *x,
                       const float *spread)
{
    const fmt_schema *schema = &fill->file.remark.fields;
    float *more = realloc(s->cells, (s->rows + 1) * schema->cells * sizeof *more);
    if (more == NULL)
        return say_error(fill->file.say, "out of memory");
    s->cells = more;
    float *row = more + s->rows++ * schema->cells;
    for (size_t k = 0; k < schema->count; k++) {
        const fmt_column *c = &schema->column[k];
        for (size_t j = 0; j < c->cells; j++) {
            size_t at = c->offset + j;
            row[c->cell + j] = known[at] ? NAN : (float)cell_spread(c, x + at, spread + at);
        }
    }
    return 0;
}

/* One row: filled, told, learnt. */
static int fill_row(struct fill *fill, const struct batch *batch, size_t i, struct output *out, struct spreads *spreads,
                    float *whole)
{
    size_t dim = fill->file.remark.fields.dim;
    float *spread = whole + dim;
    unsigned char *known = malloc(dim);
    if (known == NULL)
        return say_error(fill->file.say, "out of memory");
    memset(known, 1, dim);
    memset(spread, 0, dim * sizeof *spread);
    if (batch->known != NULL)
        memcpy(known, batch->known + i * dim, dim);
    memcpy(whole, batch->x + i * dim, dim * sizeof *whole);
    bool gaps = memchr(known, 0, dim) != NULL;
    int status = gaps ? fill_rows(&fill->file, whole, known, 1, spread) : 0;
    for (size_t k = 0; k < fill->file.remark.fields.count; k++) {
        const fmt_column *c = &fill->file.remark.fields.column[k];
        for (size_t j = 0; j < c->cells; j++)
            fill->filled_cells += !known[c->offset + j];
    }
    fill->filled_rows += gaps;
    fill->rows++;
    status = status ? status : output_add(out, NULL, NULL, 1, whole, NULL);
    if (status == 0 && fill->spread != NULL)
        status = keep_spread(fill, spreads, known, whole, spread);
    if (status == 0 && fill->write)
        status = fill_write(fill, batch->name, batch->first + i, batch->x + i * dim, known);
    free(known);
    return status;
}

static int fill_batches(struct fill *fill, struct input *input, struct output *out, struct spreads *spreads,
                        float *whole)
{
    struct batch batch;
    int status = 0, got = 0;
    while (status == 0 && (got = input_next(input, &batch)) > 0) {
        for (size_t i = 0; i < batch.rows && status == 0; i++) {
            progress_update(&fill->progress, fill->rows, input_expected(input));
            status = interrupted() ? EXIT_INTERRUPTED : fill_row(fill, &batch, i, out, spreads, whole);
        }
        batch_free(&batch);
    }
    return got >= 0 ? status : interrupted() ? EXIT_INTERRUPTED : EXIT_FAILED;
}

static int save_spreads(const struct fill *fill, const struct spreads *s)
{
    fmt_error error;
    fmt_table table = {.rows = s->rows, .dim = fill->file.remark.fields.cells, .data = s->cells};
    if (fill->spread == NULL || fmt_write(fill->spread, FMT_ANY, &table, &error) == FMT_OK)
        return 0;
    return say_error(fill->file.say, "%s", error.message);
}

int fill_array(struct fill *fill, const char *path)
{
    const fmt_schema *fields = &fill->file.remark.fields;
    struct output_options options = {.path = fill->output, .channels_last = fill->input.channels_last};
    struct spreads spreads = {0};
    char *names[] = {(char *)(uintptr_t)path};
    float *whole = malloc(2 * fields->dim * sizeof *whole);
    struct output *out = output_open(fill->file.say, fields, &options);
    struct input *input = out && whole ? input_open(fill->file.say, fields, &fill->input, names, 1) : NULL;
    int status = input ? fill_batches(fill, input, out, &spreads, whole) : EXIT_FAILED;
    status = status ? status : save_spreads(fill, &spreads);
    status = status ? status : output_finish(out);
    input_close(input);
    output_close(out);
    free(spreads.cells);
    free(whole);
    return status;
}
