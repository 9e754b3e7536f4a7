/* bpcn fill: a table, or an array, with its gaps filled in and everything else as it was; with --write each row is
   learnt after it was filled. */
#include "args.h"
#include "memory_file.h"
#include "output.h"
#include "progress.h"
#include "read_rows.h"
#include "recall.h"
#include "table.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>

struct fill {
    struct memory_file file;
    struct input_options input;
    struct progress progress;
    const char *output; /* -o; "-": standard output */
    const char *spread; /* --spread, or NULL */
    char **added;       /* [added_count] --add: columns that the table lacks */
    size_t added_count;
    bool write;         /* learn every row after it was filled */
    bool beyond;        /* fills may lie beyond the values seen */
    bool kept;          /* after an interrupt: the output has the rows so far */
    size_t rows, filled_rows, filled_cells, written, bad_rows;
};

/* Whether the input is read as text, cell by cell. */
bool fill_is_table(const struct fill *fill, const char *path);

/* 0, or an exit status after a message; then nothing of the output is left. */
int fill_table(struct fill *fill, const char *path);
int fill_array(struct fill *fill, const char *path);

/* Learns a row as it was before it was filled. 0, or an exit status after a message about `name`, row `row`. */
int fill_write(struct fill *fill, const char *name, size_t row, const float *x, const unsigned char *known);

/* ---- An array filled: what was NaN in it. Unlike a table it is held whole. */

bool fill_is_table(const struct fill *fill, const char *path)
{
    fmt_kind kind = fill->input.kind != FMT_ANY ? fill->input.kind : fmt_recognise(path, NULL, 0);
    return kind == FMT_CSV || (kind == FMT_ANY && strcmp(path, "-") == 0);
}

int fill_write(struct fill *fill, const char *name, size_t row, const float *x, const unsigned char *known)
{
    bpcn_write_row became;
    size_t written = 0, dim = fill->file.note.fields.dim;
    bool whole = memchr(known, 0, dim) == NULL;
    if (memchr(known, 1, dim) == NULL)
        return 0; /* nothing to learn */
    bpcn_status status = memory_file_write(&fill->file, x, whole ? NULL : known, 1, NULL, &became, &written);
    fill->written += written;
    if (status != BPCN_OK)
        return console_error(fill->file.console, "%s row %zu: %s", name, row, bpcn_error());
    return memory_file_sync_if_due(&fill->file);
}

/* The spreads of the filled cells, NaN for the others: [rows x cells]. */
struct spreads {
    float *cells;
    size_t rows;
};

static int keep_spread(const struct fill *fill, struct spreads *s, const unsigned char *known, const float *x,
                       const float *spread)
{
    const fmt_schema *schema = &fill->file.note.fields;
    float *more = realloc(s->cells, (s->rows + 1) * schema->cells * sizeof *more);
    if (more == NULL)
        return console_error(fill->file.console, "out of memory");
    s->cells = more;
    float *row = more + s->rows++ * schema->cells;
    for (size_t k = 0; k < schema->count; k++) {
        const fmt_column *c = &schema->column[k];
        for (size_t j = 0; j < c->cells; j++) {
            size_t at = c->offset + j;
            row[c->cell + j] = known[at] ? NAN : (float)recall_cell_spread(c, x + at, spread + at);
        }
    }
    return 0;
}

/* One row: filled, told, learnt. */
static int fill_row(struct fill *fill, const struct batch *batch, size_t i, struct output *out, struct spreads *spreads,
                    float *whole)
{
    size_t dim = fill->file.note.fields.dim;
    float *spread = whole + dim;
    unsigned char *known = malloc(dim);
    if (known == NULL)
        return console_error(fill->file.console, "out of memory");
    memset(known, 1, dim);
    memset(spread, 0, dim * sizeof *spread);
    if (batch->known != NULL)
        memcpy(known, batch->known + i * dim, dim);
    memcpy(whole, batch->x + i * dim, dim * sizeof *whole);
    bool gaps = memchr(known, 0, dim) != NULL;
    bpcn_status done = gaps ? recall_fill(&fill->file, whole, known, 1, spread) : BPCN_OK;
    int status = done != BPCN_OK ? memory_file_error(&fill->file, done) : 0;
    for (size_t k = 0; k < fill->file.note.fields.count; k++) {
        const fmt_column *c = &fill->file.note.fields.column[k];
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
    fmt_table table = {.rows = s->rows, .dim = fill->file.note.fields.cells, .data = s->cells};
    if (fill->spread == NULL || fmt_write(fill->spread, FMT_ANY, &table) == BPCN_OK)
        return 0;
    return console_error(fill->file.console, "%s", bpcn_error());
}

int fill_array(struct fill *fill, const char *path)
{
    const fmt_schema *fields = &fill->file.note.fields;
    struct output_options options = {.path = fill->output, .channels_last = fill->input.channels_last};
    struct spreads spreads = {0};
    char *names[] = {(char *)(uintptr_t)path};
    float *whole = malloc(2 * fields->dim * sizeof *whole);
    struct output *out = output_open(fill->file.console, fields, &options);
    struct input *input = out && whole ? input_open(fill->file.console, fields, &fill->input, names, 1) : NULL;
    int status = input ? fill_batches(fill, input, out, &spreads, whole) : out ? EXIT_FAILED : EXIT_USAGE;
    status = status ? status : save_spreads(fill, &spreads);
    status = status ? status : output_finish(out);
    input_close(input);
    output_close(out);
    free(spreads.cells);
    free(whole);
    return status;
}

/* ---- A CSV table filled as it is read: its own bytes, but for the cells that were missing. */

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
    size_t part; /* what of the column goes there: PART_VALUE, PART_DEVIATION, or PART_WORD + the word's number */
};

enum { PART_VALUE, PART_DEVIATION, PART_WORD };

struct filler {
    struct fill *fill;
    struct table *table;
    fmt_output *out, *spread_out;
    struct waiting text, spreads;
    struct gap *gap;
    size_t gaps, gap_room;
    size_t rows, most;         /* with gaps, waiting; at most */
    bool in_place;             /* the output is the input */
    struct table_cell *added;  /* [fill->added_count] */
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

static bool add_gap(struct filler *f, const struct table_cell *cell, bool quoted, size_t part)
{
    if (f->gaps == f->gap_room) {
        size_t room = 2 * f->gap_room + 64;
        struct gap *more = realloc(f->gap, room * sizeof *more);
        if (more == NULL)
            return false;
        f->gap = more;
        f->gap_room = room;
    }
    f->gap[f->gaps++] = (struct gap){f->rows, f->text.size, f->spreads.size, cell, quoted, part};
    return true;
}

/* ---- columns that the table lacks */

/* Cells that a column adds: its value, and how sure it is. */
static size_t added_cells(const fmt_column *c)
{
    return c->kind == FMT_CATEGORY ? 1 + c->size : 2;
}

/* Finds them in the memory, none of them in the table. */
static int find_added(struct filler *f)
{
    const struct fill *fill = f->fill;
    const struct console *console = fill->file.console;
    f->added = calloc(fill->added_count + 1, sizeof *f->added);
    if (f->added == NULL)
        return console_error(console, "out of memory");
    if (fill->added_count > 0 && f->table->header == NULL)
        return console_error(console, "%s: --add: the table has no header", f->table->name);
    for (size_t k = 0; k < fill->added_count; k++) {
        const char *name = fill->added[k];
        const fmt_column *c = fmt_schema_find(&fill->file.note.fields, name, strlen(name));
        if (c == NULL || !fmt_column_in_table(c))
            return console_error(console, "--add: the memory has no column '%s'", name);
        for (size_t i = 0; i < f->table->columns; i++)
            if (f->table->cell[i].column == c)
                return console_error(console, "%s: --add: the table has a column '%s' already", f->table->name, name);
        f->added[k] = (struct table_cell){c, c->offset};
    }
    return 0;
}

static bool append_name(struct filler *f, struct waiting *w, const char *name, const char *suffix)
{
    char text[FMT_CELL_ROOM], whole[FMT_CELL_ROOM];
    snprintf(whole, sizeof whole, "%.500s%.500s", name, suffix);
    fmt_quote(whole, f->table->style.separator, text, sizeof text);
    return append(w, &f->table->style.separator, 1) && append(w, text, strlen(text));
}

/* The header, with the added columns before its line's end. */
static bool append_header(struct filler *f, struct waiting *w)
{
    const struct table *t = f->table;
    size_t end = t->header_size;
    while (end > 0 && (t->header[end - 1] == '\n' || t->header[end - 1] == '\r'))
        end--;
    bool good = append(w, t->header, end);
    for (size_t k = 0; k < f->fill->added_count && good; k++) {
        const fmt_column *c = f->added[k].column;
        char word[FMT_CELL_ROOM];
        good = append_name(f, w, c->name, "") && (c->kind == FMT_CATEGORY || append_name(f, w, c->name, "_deviation"));
        for (size_t i = 0; c->kind == FMT_CATEGORY && i < c->size && good; i++) {
            snprintf(word, sizeof word, "=%.500s", c->words.word[i]);
            good = append_name(f, w, c->name, word);
        }
    }
    return good && append(w, t->header + end, t->header_size - end);
}

/* Their gaps behind a row, or nothing in them. */
static bool append_added(struct filler *f, bool open)
{
    bool good = true;
    for (size_t k = 0; k < f->fill->added_count && good; k++)
        for (size_t i = 0; i < added_cells(f->added[k].column) && good; i++) {
            size_t part = i == 0 ? PART_VALUE : f->added[k].column->kind == FMT_CATEGORY ? PART_WORD + i - 1 : PART_DEVIATION;
            good = append(&f->text, &f->table->style.separator, 1) && append(&f->spreads, &f->table->style.separator, 1) &&
                   (!open || add_gap(f, &f->added[k], false, part));
        }
    return good;
}

static bpcn_status put_text(fmt_output *out, const char *text)
{
    return fmt_output_put(out, text, strlen(text));
}

/* How sure a prediction is. */
static bpcn_status put_certainty(struct filler *f, const struct gap *g, char decimal)
{
    size_t at = g->row * f->fill->file.note.fields.dim + g->cell->entry;
    const fmt_column *column = g->cell->column;
    char text[FMT_CELL_ROOM];
    double all = 0, own = 0;
    for (size_t k = 0; g->part >= PART_WORD && k < column->size; k++) { /* a mean of ones and zeros estimates a chance */
        double chance = fmin(fmax((double)f->whole[at + k] * column->scale + column->centre, 0), 1) + 1e-3;
        all += chance;
        own = k == g->part - PART_WORD ? chance : own;
    }
    fmt_column shown = {.kind = FMT_NUMBER, .scale = g->part >= PART_WORD ? 1 : column->scale};
    double value = g->part >= PART_WORD ? own / all : recall_cell_spread(column, f->whole + at, f->spread + at);
    fmt_format_number(&shown, value, decimal, text, sizeof text);
    return put_text(f->out, text);
}

/* The row just read, which could not be understood, as it stands; its spreads are an empty line. */
static bool add_bad_row(struct filler *f)
{
    const fmt_record *r = &f->table->record;
    bool good = append(&f->text, r->before, r->before_size);
    for (size_t i = 0; i < r->count && good; i++)
        good = (i == 0 || append(&f->text, &f->table->style.separator, 1)) &&
               append(&f->text, r->cell[i].raw, r->cell[i].raw_size);
    for (size_t i = 1; i < f->table->columns && good; i++)
        good = append(&f->spreads, &f->table->style.separator, 1);
    good = good && append_added(f, false);
    return good && append(&f->text, r->ending, r->ending_size) && append(&f->spreads, "\n", 1);
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
            good = add_gap(f, &t->cell[i], c->quoted, PART_VALUE);
        else if (good)
            good = append(&f->text, c->raw, c->raw_size);
    }
    good = good && append_added(f, true) && append(&f->text, r->ending, r->ending_size) &&
           append(&f->spreads, r->ending_size ? r->ending : "\n", r->ending_size ? r->ending_size : 1);
    if (!good)
        console_error(f->fill->file.console, "out of memory");
    return good ? f->gaps > before : -1;
}

static bpcn_status put_gap(struct filler *f, const struct gap *g)
{
    size_t at = g->row * f->fill->file.note.fields.dim + g->cell->entry;
    const fmt_column *column = g->cell->column;
    char text[FMT_CELL_ROOM];
    fmt_style style = table_style(f->table);
    style.beyond = f->fill->beyond;
    if (g->part != PART_VALUE)
        return put_certainty(f, g, style.decimal);
    fmt_decode_text(column, f->whole + at, &style, text, sizeof text);
    bool quote = g->quoted && text[0] != '"';
    bpcn_status status = quote ? fmt_output_put(f->out, "\"", 1) : BPCN_OK;
    status = status == BPCN_OK ? fmt_output_put(f->out, text, strlen(text)) : status;
    status = status == BPCN_OK && quote ? fmt_output_put(f->out, "\"", 1) : status;
    if (status != BPCN_OK || f->spread_out == NULL)
        return status;
    double spread = recall_cell_spread(column, f->whole + at, f->spread + at);
    fmt_column shown = {.kind = FMT_NUMBER, .scale = fmt_column_has_words(column) ? 1 : column->scale};
    fmt_format_number(&shown, spread, style.decimal, text, sizeof text);
    return fmt_output_put(f->spread_out, text, strlen(text));
}

static bpcn_status put_part(fmt_output *out, const struct waiting *w, size_t from, size_t to)
{
    return to > from ? fmt_output_put(out, w->bytes + from, to - from) : BPCN_OK;
}

/* What waits goes out, its gaps filled. */
static int flush(struct filler *f)
{
    size_t dim = f->fill->file.note.fields.dim, at = 0, empty = 0;
    memcpy(f->whole, f->x, f->rows * dim * sizeof *f->x);
    bpcn_status filled = recall_fill(&f->fill->file, f->whole, f->known, f->rows, f->spread);
    if (filled != BPCN_OK)
        return memory_file_error(&f->fill->file, filled);
    bpcn_status status = BPCN_OK;
    for (size_t i = 0; i <= f->gaps && status == BPCN_OK; i++) {
        size_t end = i < f->gaps ? f->gap[i].at : f->text.size;
        size_t stop = i < f->gaps ? f->gap[i].empty : f->spreads.size;
        status = put_part(f->out, &f->text, at, end);
        if (status == BPCN_OK && f->spread_out != NULL)
            status = put_part(f->spread_out, &f->spreads, empty, stop);
        if (status == BPCN_OK && i < f->gaps)
            status = put_gap(f, &f->gap[i]);
        at = end;
        empty = stop;
    }
    for (size_t i = 0; i < f->gaps; i++)
        f->fill->filled_cells += f->gap[i].part == PART_VALUE;
    f->fill->filled_rows += f->rows;
    f->gaps = f->rows = f->text.size = f->spreads.size = 0;
    return status == BPCN_OK ? 0 : console_error(f->fill->file.console, "%s", bpcn_error());
}

static int take_row(struct filler *f)
{
    struct fill *fill = f->fill;
    size_t dim = fill->file.note.fields.dim;
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

static int hand_on(struct filler *f)
{
    int status = f->text.size > 0 ? flush(f) : 0;
    if (status == 0 &&
        (fmt_output_flush(f->out) != BPCN_OK || (f->spread_out != NULL && fmt_output_flush(f->spread_out) != BPCN_OK)))
        status = console_error(f->fill->file.console, "%s", bpcn_error());
    return status;
}

/* The rows that were read are filled, and stay in the output; unless that is to replace the very file that they come
   from. */
static int stop_after(struct filler *f)
{
    f->fill->kept = flush(f) == 0 && !f->in_place;
    return EXIT_INTERRUPTED;
}

static int run(struct filler *f)
{
    size_t dim = f->fill->file.note.fields.dim;
    int got = 1, status = 0;
    if (find_added(f) != 0)
        return EXIT_FAILED;
    if (f->table->header != NULL && !(append_header(f, &f->text) && append_header(f, &f->spreads)))
        return console_error(f->fill->file.console, "out of memory");
    while (status == 0 && got > 0) {
        if (interrupted())
            return stop_after(f);
        progress_update(&f->fill->progress, f->fill->rows, table_expected(f->table));
        if (table_pauses(f->table))
            status = hand_on(f); /* who waits for an answer gets it now */
        got = status == 0 ? table_row(f->table, f->x + f->rows * dim, f->known + f->rows * dim) : got;
        if (status == 0 && got == TABLE_BAD) {
            f->fill->bad_rows++;
            f->fill->rows += f->table->bad == BAD_KEEP;
            if (f->table->bad == BAD_KEEP && !add_bad_row(f))
                status = console_error(f->fill->file.console, "out of memory");
        } else if (status == 0 && got > 0) {
            status = take_row(f);
        }
    }
    if (got < 0)
        return interrupted() ? stop_after(f) : EXIT_FAILED;
    if (status == 0 && !append(&f->text, f->table->record.before, f->table->record.before_size))
        status = console_error(f->fill->file.console, "out of memory");
    return status ? status : flush(f);
}

/* Both files, or neither. */
static int finish(struct filler *f, int status)
{
    bpcn_status kept = status == 0 || (status == EXIT_INTERRUPTED && f->fill->kept) ? BPCN_OK : BPCN_INVALID;
    kept = fmt_output_close(f->out, kept);
    kept = fmt_output_close(f->spread_out, kept);
    return status == 0 && kept != BPCN_OK ? console_error(f->fill->file.console, "%s", bpcn_error()) : status;
}

int fill_table(struct fill *fill, const char *path)
{
    size_t dim = fill->file.note.fields.dim, fit = BYTES_AT_ONCE / (dim * sizeof(float));
    struct stat from, to;
    struct filler f = {.fill = fill, .most = fill->write || fit < 1 ? 1 : fit < ROWS_AT_ONCE ? fit : ROWS_AT_ONCE};
    f.in_place =
        stat(path, &from) == 0 && stat(fill->output, &to) == 0 && from.st_dev == to.st_dev && from.st_ino == to.st_ino;
    f.x = malloc(f.most * dim * sizeof *f.x);
    f.whole = malloc(f.most * dim * sizeof *f.whole);
    f.spread = malloc(f.most * dim * sizeof *f.spread);
    f.known = malloc(f.most * dim);
    int status = EXIT_FAILED;
    if (f.x == NULL || f.whole == NULL || f.spread == NULL || f.known == NULL)
        console_error(fill->file.console, "out of memory");
    else if ((f.table = table_open(fill->file.console, &fill->file.note.fields, path, fill->input.clip,
                                   fill->input.bad)) == NULL)
        status = EXIT_FAILED;
    else if (fmt_output_open(fill->output, &f.out) != BPCN_OK ||
             (fill->spread != NULL && fmt_output_open(fill->spread, &f.spread_out) != BPCN_OK))
        status = finish(&f, console_error(fill->file.console, "%s", bpcn_error()));
    else
        status = finish(&f, run(&f));
    table_close(f.table);
    void *all[] = {f.x, f.whole, f.spread, f.known, f.text.bytes, f.spreads.bytes, f.gap, f.added};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        free(all[i]);
    return status;
}

static void tell(const struct fill *f)
{
    const struct console *console = f->file.console;
    FILE *to = strcmp(f->output, "-") == 0 ? stderr : stdout;
    if (console->quiet)
        return;
    if (console->json) {
        fprintf(to, "{\"rows\":%zu,\"filled_rows\":%zu,\"filled_cells\":%zu,\"written\":%zu}\n", f->rows,
                f->filled_rows, f->filled_cells, f->written);
        return;
    }
    fprintf(to, "%s: %zu row%s, %zu missing cell%s filled in %zu of them",
            strcmp(f->output, "-") == 0 ? "bpcn fill" : f->output, f->rows, f->rows == 1 ? "" : "s", f->filled_cells,
            f->filled_cells == 1 ? "" : "s", f->filled_rows);
    if (f->write)
        fprintf(to, "; %zu written to %s", f->written, f->file.path);
    fputs("\n", to);
}

static int open_and_run(struct args *a, struct fill *f)
{
    const char *input = args_rest(a)[1];
    bool piped = strcmp(f->output, "-") == 0;
    int status = memory_file_open(&a->console, args_rest(a)[0], f->write ? TO_CHANGE : TO_LOOK, &f->file);
    if (status != 0)
        return status;
    progress_begin(&f->progress, &a->console, "filling", "rows");
    status = fill_is_table(f, input) ? fill_table(f, input) : fill_array(f, input);
    progress_clear(&f->progress);
    if (status == EXIT_INTERRUPTED)
        console_error(&a->console, "%s: %s after %zu row%s%s%s%s", f->file.path, interruption(), f->rows,
                      f->rows == 1 ? "" : "s", piped ? "" : "; ", piped ? "" : f->output,
                      piped     ? ""
                      : f->kept ? (f->rows == 1 ? " has it" : " has them")
                                : " was not written");
    int saved = f->written > 0 ? memory_file_commit(&f->file) : 0;
    if (status == 0 && saved == 0)
        tell(f);
    else if (f->written > 0)
        console_error(&a->console, "%s: %zu row%s written before that %s in the memory", f->file.path, f->written,
                      f->written == 1 ? "" : "s", f->written == 1 ? "is" : "are");
    status = status ? status : saved;
    status =
        status ? status
               : table_tell_bad(&a->console, f->bad_rows, f->input.bad == BAD_SKIP ? "left out" : "left as it stands");
    memory_file_close(&f->file);
    return status;
}

int cmd_fill(int argc, char **argv)
{
    struct args a;
    struct fill f = {.output = "-", .added = calloc((size_t)argc, sizeof *f.added)};
    if (f.added == NULL)
        return EXIT_FAILED;
    args_begin(&a, argc, argv);
    for (int c; (c = args_next(&a)) >= 0;)
        if (c == OPT_FILLED)
            f.output = optarg;
        else if (c == OPT_SPREAD)
            f.spread = optarg;
        else if (c == OPT_WRITE)
            f.write = true;
        else if (c == OPT_ADD)
            f.added[f.added_count++] = optarg;
        else if (c == OPT_BEYOND)
            f.beyond = true;
        else
            input_option(&a, c, &f.input);
    if (!args_expect(&a, 2, 2)) {
        free(f.added);
        return a.status;
    }
    catch_interrupts();
    int status = open_and_run(&a, &f);
    free(f.added);
    return console_flush(&a.console, status);
}
