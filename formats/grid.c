/* grid.c: equal pictures arranged in rows and columns in one picture, with a
 * margin around each. */
#include "internal.h"

#include <stdlib.h>
#include <string.h>

static const char *const NAME = "grid";

/* cells * cell + (cells + 1) * margin, or 0 when beyond the limit of a side. */
static size_t side(size_t cells, size_t cell, size_t margin)
{
    if (cells == 0 || cell == 0 || cells > FMT_MAX_SIDE || cell > FMT_MAX_SIDE ||
        margin > FMT_MAX_SIDE)
        return 0;
    size_t length = cells * cell + (cells + 1) * margin;
    return length > FMT_MAX_SIDE ? 0 : length;
}

fmt_status fmt_grid_create(size_t rows, size_t columns, size_t cell_height,
                           size_t cell_width, size_t channels, size_t margin,
                           float background, fmt_grid *grid, fmt_error *error)
{
    fmt_grid g = {rows, columns, margin, cell_height, cell_width, channels,
                  side(rows, cell_height, margin), side(columns, cell_width, margin),
                  NULL};
    *grid = (fmt_grid){0};
    if (channels != 1 && channels != 3)
        return fmti_fail(error, FMT_ERR_ARGUMENT, NAME,
                         "a picture has 1 or 3 channels, not %zu", channels);
    if (g.height == 0 || g.width == 0 || g.height * g.width > FMT_MAX_PIXELS)
        return fmti_fail(error, FMT_ERR_LIMIT, NAME,
                         "%zu by %zu pictures of %zux%zu pixels are none or too many "
                         "for one picture", rows, columns, cell_width, cell_height);
    size_t values = channels * g.height * g.width;
    g.data = malloc(values * sizeof(float));
    if (g.data == NULL)
        return fmti_no_memory(error, NAME, values * sizeof(float));
    for (size_t i = 0; i < values; i++)
        g.data[i] = background;
    *grid = g;
    return FMT_OK;
}

fmt_status fmt_grid_put(fmt_grid *g, size_t row, size_t column,
                        const float *image, fmt_error *error)
{
    if (row >= g->rows || column >= g->columns)
        return fmti_fail(error, FMT_ERR_ARGUMENT, NAME,
                         "there is no cell %zu, %zu in %zu rows of %zu", row, column,
                         g->rows, g->columns);
    size_t top = g->margin + row * (g->cell_height + g->margin);
    size_t left = g->margin + column * (g->cell_width + g->margin);
    for (size_t c = 0; c < g->channels; c++) {
        for (size_t y = 0; y < g->cell_height; y++) {
            float *to = g->data + (c * g->height + top + y) * g->width + left;
            const float *from = image + (c * g->cell_height + y) * g->cell_width;
            memcpy(to, from, g->cell_width * sizeof(float));
        }
    }
    return FMT_OK;
}

void fmt_grid_free(fmt_grid *grid)
{
    if (grid == NULL)
        return;
    free(grid->data);
    *grid = (fmt_grid){0};
}
