/* Tables: which cell is which column, and the sentences for cells that are none. */
#include "table.h"

#include "progress.h"
#include "table_schema.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum { TEXT_KEPT = 40, NAMES_TOLD = 3 };

bool table_suits(const fmt_schema *schema)
{
    for (size_t i = 0; i < schema->count; i++)
        if (schema->column[i].cells != 1)
            return false;
    return fmt_schema_is_table(schema) || schema->count > 1;
}

/* ---- which cell is which column */

static bool is_ignored(const fmt_schema *schema, const fmt_cell *cell)
{
    for (size_t i = 0; i < schema->ignored_count; i++)
        if (strlen(schema->ignored[i].name) == cell->size &&
            memcmp(schema->ignored[i].name, cell->text, cell->size) == 0)
            return true;
    return cell->size == 0;
}

/* $12 */
static bool is_written(const fmt_notation *n, const fmt_cell *c)
{
    fmt_number_text a;
    return n->prefix[0] + n->suffix[0] != '\0' &&
           (fmt_number_take(c->text, c->size, '.', true, &a) || fmt_number_take(c->text, c->size, ',', true, &a)) &&
           a.prefix_size + a.suffix_size > 0;
}

/* A first record is a header when it has a name of ours in it, or nothing but words. */
static bool is_header(const struct table *t)
{
    bool words = true;
    for (size_t i = 0; i < t->record.count; i++) {
        const fmt_cell *c = &t->record.cell[i];
        double value;
        if (c->size > 0 && fmt_schema_find(t->schema, c->text, c->size) != NULL)
            return true;
        for (size_t k = 0; k < t->schema->count && words; k++) /* a date, or what costs something */
            words = t->schema->column[k].kind != FMT_NUMBER || fmt_means_missing(NULL, c->text, c->size) ||
                    (t->schema->column[k].notation.pattern[0] != '\0'
                         ? !fmt_date_parse(t->schema->column[k].notation.pattern, c->text, c->size, &value)
                         : !is_written(&t->schema->column[k].notation, c));
        words = words && !fmt_parse_number(c->text, c->size, '.', &value) &&
                !fmt_parse_number(c->text, c->size, t->style.separator == ',' ? '.' : ',', &value);
    }
    return words;
}

/* "a, b, c and 4 more" of what is told one after the other. */
struct names {
    char text[200];
    size_t count;
};

static void tell_name(struct names *n, const char *name, size_t size)
{
    size_t used = strlen(n->text);
    if (n->count++ < NAMES_TOLD)
        snprintf(n->text + used, sizeof n->text - used, "%s'%.*s'", used ? ", " : "", (int)(size < 50 ? size : 50),
                 name);
    else if (n->count == NAMES_TOLD + 1)
        snprintf(n->text + used, sizeof n->text - used, " and others");
}

/* at [columns of the schema]: where in the header each is, counted from 1; 0: nowhere. */
static int match_names(struct table *t, size_t *at, struct names *strange)
{
    size_t found = 0;
    for (size_t i = 0; i < t->columns; i++) {
        const fmt_cell *c = &t->record.cell[i];
        const fmt_column *column = fmt_schema_find(t->schema, c->text, c->size);
        if (column == NULL && !is_ignored(t->schema, c))
            tell_name(strange, c->text, c->size);
        if (column == NULL || column->cells != 1)
            continue;
        size_t *place = &at[column - t->schema->column];
        if (*place > 0)
            return -console_error(t->console, "%s: line %zu: columns %zu and %zu are both called '%s'", t->name,
                                  t->record.line, *place, i + 1, column->name);
        t->cell[i] = (struct table_cell){column, column->offset};
        *place = i + 1;
        found++;
    }
    return found > 0;
}

static void tell_matches(const struct table *t, const size_t *at, const struct names *strange)
{
    struct names absent = {0};
    for (size_t k = 0; k < t->schema->count; k++)
        if (at[k] == 0)
            tell_name(&absent, t->schema->column[k].name, strlen(t->schema->column[k].name));
    if (absent.count > 0)
        console_note(t->console, "%s: missing columns count as unknown: %s", t->name, absent.text);
    if (strange->count > 0)
        console_note(t->console, "%s: columns that the memory does not have are skipped: %s", t->name, strange->text);
}

/* Without names: the cells of the memory in their order, with or without what it ignores between them. */
static int match_places(struct table *t)
{
    const fmt_schema *s = t->schema;
    bool all = t->columns == s->cells + s->ignored_count;
    size_t at = 0, ignored = 0, cells = 0;
    if (t->columns != s->cells && !all) {
        console_error(t->console, "%s: line %zu: %zu values per row%s, but this memory takes %zu", t->name,
                      t->record.line, t->columns, t->first ? " and no header" : "", s->cells);
        return -1;
    }
    for (size_t k = 0; k < s->count; k++)
        for (size_t j = 0; j < s->column[k].cells; j++, cells++) {
            for (; all && ignored < s->ignored_count && s->ignored[ignored].place <= cells; ignored++)
                at++;
            t->cell[at++] = (struct table_cell){&s->column[k], s->column[k].offset + j};
        }
    return 0;
}

static int keep_header(struct table *t)
{
    const fmt_record *r = &t->record;
    const fmt_cell *last = &r->cell[r->count - 1];
    size_t body = (size_t)(last->raw + last->raw_size - r->cell[0].raw);
    t->header_size = r->before_size + body + r->ending_size;
    t->header = malloc(t->header_size + 1);
    if (t->header == NULL) {
        console_error(t->console, "out of memory");
        return -1;
    }
    if (r->before_size > 0)
        memcpy(t->header, r->before, r->before_size);
    memcpy(t->header + r->before_size, r->cell[0].raw, body);
    memcpy(t->header + r->before_size + body, r->ending, r->ending_size);
    t->lines = r->line;
    return 0;
}

static int match(struct table *t)
{
    struct names strange = {0}, ours = {0};
    t->columns = t->record.count;
    t->cell = calloc(t->columns, sizeof *t->cell);
    t->state = calloc(t->columns, sizeof *t->state);
    if (t->cell == NULL || t->state == NULL) {
        console_error(t->console, "out of memory");
        return -1;
    }
    t->first = !is_header(t);
    if (t->first)
        return match_places(t);
    size_t *at = calloc(t->schema->count, sizeof *at);
    if (at == NULL)
        return -console_error(t->console, "out of memory");
    int found = match_names(t, at, &strange);
    if (found > 0)
        tell_matches(t, at, &strange);
    else if (found == 0 && !fmt_schema_is_table(t->schema) && t->columns == t->schema->cells)
        found = match_places(t) == 0;
    else if (found == 0) {
        for (size_t k = 0; k < t->schema->count; k++)
            tell_name(&ours, t->schema->column[k].name, strlen(t->schema->column[k].name));
        console_error(t->console, "%s: line %zu: none of its columns (%s) is one of the memory's (%s)", t->name,
                      t->record.line, strange.text, ours.text);
    }
    free(at);
    return found > 0 ? keep_header(t) : -1;
}

/* ---- opening and closing */

/* The next record into t->record; 1, 0 at the end, -1 after a message; TABLE_BAD after one about it. */
static int next_record(struct table *t)
{
    bpcn_status status = fmt_records_next(t->records, &t->record);
    if (status == BPCN_OK)
        return t->record.count > 0;
    bool row = t->record.line > 0 && t->columns > 0; /* the next one can be read */
    if (!interrupted() && (!row || t->bad_rows < BAD_TOLD))
        console_error(t->console, "%s", bpcn_error());
    return row ? TABLE_BAD : -1;
}

static int begin(struct table *t, const char *path)
{
    bool standard = strcmp(path, "-") == 0;
    t->name = strdup(standard ? "standard input" : path);
    t->stream = standard ? stdin : fopen(path, "rb");
    if (t->name == NULL || t->stream == NULL) {
        console_error(t->console, "%s: cannot open: %s", path, strerror(errno));
        return -1;
    }
    if (fmt_records_open(t->stream, t->name, 0, &t->records) != BPCN_OK) {
        if (!interrupted())
            console_error(t->console, "%s", bpcn_error());
        return -1;
    }
    t->style.separator = fmt_records_separator(t->records);
    struct stat st;
    t->bytes = fstat(fileno(t->stream), &st) == 0 && S_ISREG(st.st_mode) ? (uint64_t)st.st_size : 0;
    int got = next_record(t);
    if (got == 0)
        console_error(t->console, "%s: no rows", t->name);
    return got == 1 ? match(t) : -1;
}

struct table *table_open(const struct console *console, const fmt_schema *schema, const char *path, bool clip,
                         enum bad_rows bad)
{
    struct table *t = calloc(1, sizeof *t);
    if (t == NULL) {
        console_error(console, "out of memory");
        return NULL;
    }
    *t = (struct table){.console = console, .schema = schema, .style.clip = clip, .bad = bad};
    if (begin(t, path) == 0)
        return t;
    table_close(t);
    return NULL;
}

void table_close(struct table *t)
{
    if (t == NULL)
        return;
    if (t->unseen > 0)
        console_note(t->console, "%s: %zu cell%s (%s)", t->name, t->unseen,
                     t->unseen == 1 ? " has a word that its category does not have, and counts as unknown"
                                    : "s have a word that their category does not have, and count as unknown",
                     t->sample);
    if (t->records != NULL && fmt_records_latin1(t->records))
        console_note(t->console, "%s: is no UTF-8, and was read as Windows-1252 (Latin-1)", t->name);
    fmt_records_close(t->records);
    if (t->stream != NULL && t->stream != stdin)
        fclose(t->stream);
    free(t->cell);
    free(t->state);
    free(t->header);
    free(t->name);
    free(t);
}

/* ---- rows */

static void describe_far(const fmt_column *column, const char *what, bool scaled, char *out, size_t room)
{
    if (scaled)
        snprintf(out, room, "%s, more than %g scales of %g from the column's centre %g (--clip brings it to %g)", what,
                 FMT_FAR, column->scale, column->centre, FMT_CLIP);
    else
        snprintf(out, room, "%s, beyond %g", what, FMT_FAR_PLAIN);
}

static int bad_cell(const struct table *t, size_t i)
{
    const fmt_cell *c = &t->record.cell[i];
    const fmt_column *column = t->cell[i].column;
    char what[TEXT_KEPT + 1], why[400];
    snprintf(what, sizeof what, "%.*s", (int)(c->size < TEXT_KEPT ? c->size : TEXT_KEPT), c->text);
    if (t->state[i] == FMT_CELL_FAR)
        describe_far(column, what, column->kind == FMT_NUMBER, why, sizeof why);
    else if (t->state[i] == FMT_CELL_COMMA)
        snprintf(why, sizeof why, "'%s', but other numbers have a decimal %s", what,
                 t->style.decimal == ',' ? "comma" : "point");
    else if (fmt_column_is_date(column))
        snprintf(why, sizeof why, "'%s', not a %s written %s", what,
                 fmt_pattern_is_date(column->notation.pattern) ? "date" : "time", column->notation.pattern);
    else
        snprintf(why, sizeof why, "'%s', not a number", what);
    for (char *k = why; *k != '\0'; k++)
        *k = (unsigned char)*k < 0x20 ? '?' : *k;
    if (t->bad_rows < BAD_TOLD)
        console_error(t->console, "%s: line %zu, column %zu (%s) is %s", t->name, t->record.line, i + 1, column->name,
                      why);
    return TABLE_BAD;
}

static void note_unseen(struct table *t, size_t i)
{
    const fmt_cell *c = &t->record.cell[i];
    if (t->unseen++ == 0)
        snprintf(t->sample, sizeof t->sample, "first in line %zu, column %zu (%.40s): '%.*s'", t->record.line, i + 1,
                 t->cell[i].column->name, (int)(c->size < TEXT_KEPT ? c->size : TEXT_KEPT), c->text);
}

static int encode(struct table *t, float *x, unsigned char *known)
{
    memset(x, 0, t->schema->dim * sizeof *x);
    memset(known, 0, t->schema->dim);
    for (size_t i = 0; i < t->columns; i++) {
        const struct table_cell *cell = &t->cell[i];
        const fmt_cell *c = &t->record.cell[i];
        if (cell->column == NULL)
            continue;
        t->state[i] = fmt_encode_text(t->schema, cell->column, c->text, c->size, &t->style, x + cell->entry);
        if (t->state[i] == FMT_CELL_KNOWN)
            memset(known + cell->entry, 1, fmt_cell_size(cell->column));
        else if (t->state[i] == FMT_CELL_UNSEEN)
            note_unseen(t, i);
        else if (t->state[i] != FMT_CELL_MISSING && t->state[i] != FMT_CELL_KEPT)
            return bad_cell(t, i);
    }
    return 1;
}

int table_row(struct table *t, float *x, unsigned char *known)
{
    int got = t->first ? 1 : next_record(t);
    t->first = false;
    if (got == 1 && t->record.count == t->columns) {
        got = encode(t, x, known);
    } else if (got == 1) {
        if (t->bad_rows < BAD_TOLD)
            console_error(t->console, "%s: line %zu has %zu values, but %s %zu", t->name, t->record.line,
                          t->record.count, t->lines > 0 ? "its header has" : "its first row has", t->columns);
        got = TABLE_BAD;
    }
    t->rows += got > 0;
    if (got != TABLE_BAD)
        return got;
    if (t->bad == BAD_STOP)
        return -1;
    if (t->bad_rows++ == BAD_TOLD)
        console_error(t->console, "%s: more bad rows follow, which are counted but not listed", t->name);
    memset(x, 0, t->schema->dim * sizeof *x);
    memset(known, 0, t->schema->dim);
    return TABLE_BAD;
}

bool table_pauses(struct table *t)
{
    return !t->first && fmt_records_pause(t->records);
}

size_t table_expected(const struct table *t)
{
    uint64_t taken = fmt_records_bytes(t->records);
    if (t->bytes == 0 || t->rows < 2)
        return 0;
    double all = (double)t->rows * (double)t->bytes / (double)taken;
    return taken >= t->bytes || all < (double)t->rows ? t->rows : (size_t)all;
}

fmt_style table_style(const struct table *t)
{
    fmt_style style = t->style;
    if (style.decimal == 0)
        style.decimal = t->schema->decimal == ',' && style.separator != ',' ? ',' : '.';
    style.latin1 = fmt_records_latin1(t->records);
    return style;
}

int table_tell_bad(const struct console *console, size_t bad, const char *done)
{
    if (bad == 0)
        return EXIT_DONE;
    console_error(console, "%zu row%s could not be read and %s %s", bad, bad == 1 ? "" : "s", bad == 1 ? "was" : "were",
                  done);
    return EXIT_REFUSED;
}

/* ---- names of rows */

int table_name_by(struct table *t, const char *column)
{
    for (size_t i = 0; column != NULL && !t->first && i < t->record.count; i++)
        if (t->record.cell[i].size == strlen(column) && memcmp(t->record.cell[i].text, column, strlen(column)) == 0)
            t->named = i + 1;
    if (column == NULL || t->named > 0)
        return 0;
    console_error(t->console, "%s: has no column '%s'%s", t->name, column, t->first ? " and no header" : "");
    return -1;
}

void table_name(const struct table *t, char name[NAME_ROOM])
{
    const fmt_cell *c = &t->record.cell[t->named - 1];
    name_of_text(c->text, c->size, name);
}

/* ---- arrays */

int table_encode(const struct console *console, const fmt_schema *schema, const char *name, size_t first,
                 const float *values, size_t rows, bool clip, float *x, unsigned char *known)
{
    memset(known, 0, rows * schema->dim);
    for (size_t i = 0; i < rows; i++)
        for (size_t k = 0; k < schema->count; k++) {
            const fmt_column *c = &schema->column[k];
            size_t each = fmt_cell_size(c);
            for (size_t j = 0; j < c->cells; j++) {
                size_t at = i * schema->dim + c->offset + j * each;
                double value = (double)values[i * schema->cells + c->cell + j];
                fmt_cell_state state = fmt_encode_value(c, value, clip, x + at);
                memset(known + at, state == FMT_CELL_KNOWN, each);
                char what[40], why[400] = "not the position of a word of its category";
                if (state == FMT_CELL_KNOWN || state == FMT_CELL_MISSING || state == FMT_CELL_KEPT)
                    continue;
                snprintf(what, sizeof what, "%g", value);
                if (state == FMT_CELL_FAR)
                    describe_far(c, what, c->kind == FMT_NUMBER, why, sizeof why);
                console_error(console, "%s: row %zu, column %zu (%s) is %s", name, first + i, c->cell + j, c->name,
                              why);
                return -1;
            }
        }
    return 0;
}

void table_decode(const fmt_schema *schema, const float *x, float *values)
{
    for (size_t k = 0; k < schema->count; k++) {
        const fmt_column *c = &schema->column[k];
        for (size_t j = 0; j < c->cells; j++)
            values[c->cell + j] = isnan(x[c->offset + j]) ? NAN : (float)fmt_decode_value(c, x + c->offset + j);
    }
}

/* ---- Decoded rows, cell by cell. */

struct table_writer {
    const fmt_schema *schema;
    const fmt_column *only; /* NULL: all of them */
    fmt_output *out;
};

static bpcn_status put(struct table_writer *w, const char *text)
{
    return fmt_output_put(w->out, text, strlen(text));
}

static bpcn_status put_header(struct table_writer *w)
{
    char text[FMT_CELL_ROOM], name[FMT_CELL_ROOM];
    const char *before = "";
    bpcn_status status = BPCN_OK;
    for (size_t k = 0; k < w->schema->count; k++) {
        const fmt_column *c = &w->schema->column[k];
        for (size_t j = 0; (w->only == NULL || w->only == c) && j < c->cells && status == BPCN_OK; j++) {
            if (c->cells == 1)
                snprintf(name, sizeof name, "%s", c->name);
            else
                snprintf(name, sizeof name, "%.1000s_%zu", c->name, j + 1);
            fmt_quote(name, ',', text, sizeof text);
            status = put(w, before);
            status = status == BPCN_OK ? put(w, text) : status;
            before = ",";
        }
    }
    return status == BPCN_OK ? put(w, "\n") : status;
}

struct table_writer *table_writer_open(const fmt_schema *schema, const fmt_column *only, const char *path)
{
    struct table_writer *w = calloc(1, sizeof *w);
    if (w == NULL) {
        bpcn_fail(BPCN_NO_MEMORY, "%.200s: out of memory", path);
        return NULL;
    }
    *w = (struct table_writer){.schema = schema, .only = only};
    if (fmt_output_open(path, &w->out) == BPCN_OK && put_header(w) == BPCN_OK)
        return w;
    table_writer_close(w, false);
    return NULL;
}

static bpcn_status put_row(struct table_writer *w, const float *x)
{
    static const fmt_style style = {.separator = ',', .decimal = '.'};
    char text[FMT_CELL_ROOM];
    const char *before = "";
    bpcn_status status = BPCN_OK;
    for (size_t k = 0; k < w->schema->count; k++) {
        const fmt_column *c = &w->schema->column[k];
        for (size_t j = 0; (w->only == NULL || w->only == c) && j < c->cells && status == BPCN_OK; j++) {
            const float *at = x + c->offset + j;
            text[0] = '\0';
            if (!isnan(*at))
                fmt_decode_text(c, at, &style, text, sizeof text);
            status = put(w, before);
            status = status == BPCN_OK ? put(w, text) : status;
            before = ",";
        }
    }
    return status == BPCN_OK ? put(w, "\n") : status;
}

bpcn_status table_writer_add(struct table_writer *w, const float *x, size_t rows)
{
    bpcn_status status = BPCN_OK;
    for (size_t i = 0; i < rows && status == BPCN_OK; i++)
        status = put_row(w, x + i * w->schema->dim);
    return status;
}

bpcn_status table_writer_close(struct table_writer *w, bool keep)
{
    if (w == NULL)
        return BPCN_OK;
    bpcn_status status = fmt_output_close(w->out, keep ? BPCN_OK : BPCN_INVALID);
    free(w);
    return status;
}
