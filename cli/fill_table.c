/* A CSV table filled as it is read: its own bytes, but for the cells that were missing. */
#include "fill.h"
#include "filling.h"
#include "table.h"

#include <math.h>
#include <stdlib.h>

enum { ROWS_AT_ONCE = 256, BYTES_AT_ONCE = 16 << 20 };

/* Text that waits for what is to be put into it. */
struct waiting {
    char *bytes;
    size_t size, room;
};

/* A cell to fill. */
struct gap {
    size_t row;       /* of those that wait */
    size_t at, empty; /* where the value goes in the text, and its spread in the other */
    const struct table_cell *cell;
    bool quoted;
};

struct filler {
    struct fill *fill;
    struct table *table;
    fmt_output *out, *spread_out;
    fmt_error error;
    struct waiting text, spreads;
    struct gap *gap;
    size_t gaps, gap_room;
    size_t rows, most;         /* with gaps, waiting; at most */
    float *x, *whole, *spread; /* [most x dim]; x as it was read */
    unsigned char *known;      /* [most x dim] */
};

static bool append(struct waiting *w, const char *bytes, size_t size)
{
    if (w->room - w->size < size) {
        size_t room = 2 * (w->size + size) + 4096;
        char *more = realloc(w->bytes, room);
        if (more == NULL)
            return false;
        w->bytes = more;
        w->room = room;
    }
    if (size > 0)
        memcpy(w->bytes + w->size, bytes, size);
    w->size += size;
    return true;
}

static bool add_gap(struct filler *f, const struct table_cell *cell, bool quoted)
{
    if (f->gaps == f->gap_room) {
        size_t room = 2 * f->gap_room + 64;
        struct gap *more = realloc(f->gap, room * sizeof *more);
        if (more == NULL)
            return false;
        f->gap = more;
        f->gap_room = room;
    }
    f->gap[f->gaps++] = (struct gap){f->rows, f->text.size, f->spreads.size, cell, quoted};
    return true;
}

/* The row just read, whose gaps stay open. Whether it has any, or -1. */
static int add_row(struct filler *f)
{
    const struct table *t = f->table;
    const fmt_record *r = &t->record;
    size_t before = f->gaps;
    bool good = append(&f->text, r->before, r->before_size);
    for (size_t i = 0; i < r->count && good; i++) {
        const fmt_cell *c = &r->cell[i];
        bool open = t->cell[i].column != NULL && t->state[i] == FMT_CELL_MISSING;
        if (i > 0)
            good = append(&f->text, &t->style.separator, 1) && append(&f->spreads, &t->style.separator, 1);
        if (good && open)
            good = add_gap(f, &t->cell[i], c->quoted);
        else if (good)
            good = append(&f->text, c->raw, c->raw_size);
    }
    good = good && append(&f->text, r->ending, r->ending_size) &&
           append(&f->spreads, r->ending_size ? r->ending : "\n", r->ending_size ? r->ending_size : 1);
    if (!good)
        say_error(f->fill->file.say, "out of memory");
    return good ? f->gaps > before : -1;
}

static fmt_status put_gap(struct filler *f, const struct gap *g)
{
    size_t at = g->row * f->fill->file.remark.fields.dim + g->cell->entry;
    const fmt_column *column = g->cell->column;
    char text[FMT_CELL_ROOM];
    fmt_decode_text(column, f->whole + at, &f->table->style, text, sizeof text);
    bool quote = g->quoted && text[0] != '"';
    fmt_status status = quote ? fmt_output_put(f->out, "\"", 1) : FMT_OK;
    status = status == FMT_OK ? fmt_output_put(f->out, text, strlen(text)) : status;
    status = status == FMT_OK && quote ? fmt_output_put(f->out, "\"", 1) : status;
    if (status != FMT_OK || f->spread_out == NULL)
        return status;
    double spread = cell_spread(column, f->whole + at, f->spread + at);
    fmt_column shown = {.kind = FMT_NUMBER, .scale = column->kind == FMT_CATEGORY ? 1 : column->scale};
    fmt_format_number(&shown, spread, f->table->style.decimal, text, sizeof text);
    return fmt_output_put(f->spread_out, text, strlen(text));
}

static fmt_status put_part(fmt_output *out, const struct waiting *w, size_t from, size_t to)
{
    return to > from ? fmt_output_put(out, w->bytes + from, to - from) : FMT_OK;
}

/* What waits goes out, its gaps filled. */
static int flush(struct filler *f)
{
    size_t dim = f->fill->file.remark.fields.dim, at = 0, empty = 0;
    memcpy(f->whole, f->x, f->rows * dim * sizeof *f->x);
    int failed = fill_rows(&f->fill->file, f->whole, f->known, f->rows, f->spread);
    if (failed)
        return failed;
    fmt_status status = FMT_OK;
    for (size_t i = 0; i <= f->gaps && status == FMT_OK; i++) {
        size_t end = i < f->gaps ? f->gap[i].at : f->text.size;
        size_t stop = i < f->gaps ? f->gap[i].empty : f->spreads.size;
        status = put_part(f->out, &f->text, at, end);
        if (status == FMT_OK && f->spread_out != NULL)
            status = put_part(f->spread_out, &f->spreads, empty, stop);
        if (status == FMT_OK && i < f->gaps)
            status = put_gap(f, &f->gap[i]);
        at = end;
        empty = stop;
    }
    f->fill->filled_cells += f->gaps;
    f->fill->filled_rows += f->rows;
    f->gaps = f->rows = f->text.size = f->spreads.size = 0;
    return status == FMT_OK ? 0 : say_error(f->fill->file.say, "%s", f->error.message);
}

static int take_row(struct filler *f)
{
    struct fill *fill = f->fill;
    size_t dim = fill->file.remark.fields.dim;
    float *x = f->x + f->rows * dim;
    unsigned char *known = f->known + f->rows * dim;
    int gaps = add_row(f);
    if (gaps < 0)
        return EXIT_FAILED;
    f->rows += (size_t)gaps;
    fill->rows++;
    int status = 0;
    if (f->rows == f->most || f->text.size > BYTES_AT_ONCE || fill->write)
        status = flush(f);
    if (status == 0 && fill->write)
        status = fill_write(fill, f->table->name, fill->rows - 1, x, known);
    return status;
}

static int run(struct filler *f)
{
    size_t dim = f->fill->file.remark.fields.dim;
    int got = 1, status = 0;
    if (f->table->header != NULL &&
        (fmt_output_put(f->out, f->table->header, f->table->header_size) != FMT_OK ||
         (f->spread_out != NULL && fmt_output_put(f->spread_out, f->table->header, f->table->header_size) != FMT_OK)))
        return say_error(f->fill->file.say, "%s", f->error.message);
    while (status == 0 && got > 0) {
        if (interrupted())
            return EXIT_INTERRUPTED;
        progress_update(&f->fill->progress, f->fill->rows, 0);
        got = table_row(f->table, f->x + f->rows * dim, f->known + f->rows * dim);
        if (got > 0)
            status = take_row(f);
    }
    if (got < 0)
        return interrupted() ? EXIT_INTERRUPTED : EXIT_FAILED;
    if (status == 0 && !append(&f->text, f->table->record.before, f->table->record.before_size))
        status = say_error(f->fill->file.say, "out of memory");
    return status ? status : flush(f);
}

/* Both files, or neither. */
static int finish(struct filler *f, int status)
{
    fmt_status kept = status == 0 ? FMT_OK : FMT_ERR_ARGUMENT;
    kept = fmt_output_close(f->out, kept);
    kept = fmt_output_close(f->spread_out, kept);
    return status == 0 && kept != FMT_OK ? say_error(f->fill->file.say, "%s", f->error.message) : status;
}

int fill_table(struct fill *fill, const char *path)
{
    size_t dim = fill->file.remark.fields.dim, fit = BYTES_AT_ONCE / (dim * sizeof(float));
    struct filler f = {.fill = fill, .most = fill->write || fit < 1 ? 1 : fit < ROWS_AT_ONCE ? fit : ROWS_AT_ONCE};
    f.x = malloc(f.most * dim * sizeof *f.x);
    f.whole = malloc(f.most * dim * sizeof *f.whole);
    f.spread = malloc(f.most * dim * sizeof *f.spread);
    f.known = malloc(f.most * dim);
    int status = EXIT_FAILED;
    if (f.x == NULL || f.whole == NULL || f.spread == NULL || f.known == NULL)
        say_error(fill->file.say, "out of memory");
    else if ((f.table = table_open(fill->file.say, &fill->file.remark.fields, path, fill->input.clip)) == NULL)
        status = EXIT_FAILED;
    else if ((f.out = fmt_output_open(fill->output, &f.error)) == NULL ||
             (fill->spread != NULL && (f.spread_out = fmt_output_open(fill->spread, &f.error)) == NULL))
        status = finish(&f, say_error(fill->file.say, "%s", f.error.message));
    else
        status = finish(&f, run(&f));
    table_close(f.table);
    void *all[] = {f.x, f.whole, f.spread, f.known, f.text.bytes, f.spreads.bytes, f.gap};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        free(all[i]);
    return status;
}
