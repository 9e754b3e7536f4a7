/* A short look at the first rows chooses width and noise; the views are the same for all tables. */
#include "table_options.h"

#include "table.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { VIEWS = 8, CELLS = 32 };             /* measured best of 2 to 8 views of 8 to 32: docs/TABLES.md */
enum { LOOK_VIEWS = 4, LOOK_CELLS = 16 };   /* enough to tell settings apart */
enum { LOOK_MOST = 600, LOOK_LEAST = 200 }; /* rows */
static const double noticeably = 0.97;      /* a setting must be better by this than the usual one */
static const struct setting {
    size_t width;
    double sigma_x;
} settings[] = {{32, 0.1}, {32, 0.2}, {64, 0.1}}; /* the usual one first */

static void apply(const struct setting *setting, size_t dim, size_t views, size_t cells, bpcn_options *o)
{
    o->dim = dim;
    o->layers = 2;
    o->hidden[0] = o->hidden[1] = setting->width;
    o->activation = BPCN_GELU;
    o->sigma_x = setting->sigma_x; /* rows of a table are never twice the same: as much is noise */
    o->views = views;
    o->shards = views * cells;
}

/* ---- the look */

struct look {
    size_t dim, rows;
    float *x;             /* [rows x dim] */
    unsigned char *known; /* likewise: what the file has */
    unsigned char *shown; /* and of that what is shown of rows that are filled */
};

static void look_free(struct look *l)
{
    free(l->x);
    free(l->known);
    free(l->shown);
}

/* Every third cell or so is hidden, in a fixed pattern that does not follow the columns. */
static void hide(const fmt_schema *columns, struct look *l)
{
    memcpy(l->shown, l->known, l->rows * l->dim);
    for (size_t i = 0; i < l->rows; i++)
        for (size_t c = 0; c < columns->count; c++)
            if ((i * 7 + c * 5 + i / 3 * (c + 1)) % 10 < 3)
                memset(l->shown + i * l->dim + columns->column[c].offset, 0, columns->column[c].size);
}

static int look_at(const struct say *say, const fmt_schema *columns, const char *path, struct look *l)
{
    int got = 1;
    struct say quiet = *say; /* what is odd in the table is said when it is written */
    quiet.quiet = true;
    *l = (struct look){.dim = columns->dim};
    l->x = calloc(LOOK_MOST * l->dim, sizeof *l->x);
    l->known = calloc(LOOK_MOST, l->dim);
    l->shown = calloc(LOOK_MOST, l->dim);
    struct table *table = l->x && l->known && l->shown ? table_open(&quiet, columns, path, true) : NULL;
    while (table != NULL && l->rows < LOOK_MOST && got > 0) {
        unsigned char *known = l->known + l->rows * l->dim;
        got = table_row(table, l->x + l->rows * l->dim, known);
        l->rows += got > 0 && memchr(known, 1, l->dim) != NULL;
    }
    if (table != NULL)
        table_close(table);
    hide(columns, l);
    return l->x && l->known && l->shown ? 0 : say_error(say, "out of memory");
}

/* Mean square error of hidden cells of the last quarter of the rows, after learning from the others. Infinite if it
   cannot be had. */
static double tried(const struct look *l, const bpcn_options *options)
{
    bpcn_memory *memory = NULL;
    size_t learnt = l->rows * 3 / 4, left = l->rows - learnt, at = learnt * l->dim;
    float *out = malloc(left * l->dim * sizeof *out);
    double sum = 0;
    bpcn_read_options how;
    bpcn_read_options_default(&how, sizeof how);
    how.objective = BPCN_OBJECTIVE_MARGINAL;
    how.noise = 0;
    bpcn_status status = out ? bpcn_memory_create(options, &memory) : BPCN_NO_MEMORY;
    if (status == BPCN_OK)
        status = bpcn_memory_write(memory, l->x, l->known, learnt, NULL);
    if (status == BPCN_OK)
        status = bpcn_memory_read(memory, l->x + at, l->shown + at, left, &how, out, NULL);
    for (size_t j = 0; status == BPCN_OK && j < left * l->dim; j++)
        if (l->known[at + j] && !l->shown[at + j])
            sum += pow((double)(out[j] - l->x[at + j]), 2);
    bpcn_memory_free(memory);
    free(out);
    return status == BPCN_OK ? sum : INFINITY;
}

int table_options(const struct say *say, const fmt_schema *columns, const char *path, bpcn_options *options)
{
    struct look look = {0};
    const struct setting *best = settings;
    double usual = 0, least = INFINITY;
    int status = strcmp(path, "-") != 0 ? look_at(say, columns, path, &look) : 0; /* a stream has no first rows twice */
    for (size_t i = 0; status == 0 && look.rows >= LOOK_LEAST && i < sizeof settings / sizeof *settings; i++) {
        bpcn_options o = *options;
        apply(&settings[i], columns->dim, LOOK_VIEWS, LOOK_CELLS, &o);
        o.surprises = 0;
        double error = tried(&look, &o);
        usual = i == 0 ? error : usual;
        if (i == 0 || (error < least && error < noticeably * usual)) {
            best = &settings[i];
            least = error;
        }
    }
    apply(best, columns->dim, VIEWS, CELLS, options);
    look_free(&look);
    return status;
}
