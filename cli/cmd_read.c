/* bpcn read recalls rows from fragments or noisy copies; bpcn score only says how familiar they are. Both give a
   verdict on every row. */
#include "args.h"
#include "bayespcn.h"
#include "console.h"
#include "formats/formats.h"
#include "fullness.h"
#include "memory_file.h"
#include "output.h"
#include "progress.h"
#include "query.h"
#include "read_rows.h"
#include "recall.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

struct scores;

/* Opens a CSV file ("-": standard output); NULL after a message. A row with a typicality of at most `alarm` is an
   alarm; a negative alarm leaves that column out. */
struct scores *scores_open(const struct console *console, const char *path, double alarm, bool table);

/* Of the row with that number, counted from 0 over all inputs; a typicality below 0 is not known, and left empty. info
 * NULL: the row could not be read. 0, or an exit status after a message. */
int scores_add(struct scores *scores, size_t row, const bpcn_read_info *info, double typicality);
int scores_flush(struct scores *scores); /* for a reader at the other end of a pipe */

/* Replaces the old file if `keep`, otherwise leaves it; frees. NULL is allowed. 0, or an exit status after a message.
 */
int scores_close(struct scores *scores, bool keep);

/* ---- One line a row. */

struct scores {
    const struct console *console;
    fmt_output *out;
    double alarm;
    bool table; /* whose rows have no familiarity */
};

struct scores *scores_open(const struct console *console, const char *path, double alarm, bool table)
{
    const char *header = table ? (alarm < 0 ? "row,log_density,typicality\n" : "row,log_density,typicality,alarm\n") : alarm < 0 ? "row,log_density,familiarity,verdict,typicality\n"
                                   : "row,log_density,familiarity,verdict,typicality,alarm\n";
    struct scores *s = calloc(1, sizeof *s);
    if (s == NULL) {
        console_error(console, "out of memory");
        return NULL;
    }
    s->console = console;
    s->alarm = alarm;
    s->table = table;
    if (fmt_output_open(path, &s->out) == BPCN_OK && fmt_output_put(s->out, header, strlen(header)) == BPCN_OK)
        return s;
    console_error(console, "%s", bpcn_error());
    scores_close(s, false);
    return NULL;
}

int scores_flush(struct scores *s)
{
    return fmt_output_flush(s->out) == BPCN_OK ? 0 : console_error(s->console, "%s", bpcn_error());
}

int scores_add(struct scores *s, size_t row, const bpcn_read_info *info, double typicality)
{
    char line[160], share[32] = "";
    bool alarm = typicality >= 0 && typicality <= s->alarm;
    if (typicality >= 0)
        snprintf(share, sizeof share, "%.6g", typicality);
    const char *flag = s->alarm < 0 ? "" : alarm ? ",1" : ",0";
    int size = s->table && info == NULL ? snprintf(line, sizeof line, "%zu,not read,%s\n", row, s->alarm < 0 ? "" : ",")
               : s->table ? snprintf(line, sizeof line, "%zu,%.6f,%s%s\n", row, info->log_density, share, flag)
               : info == NULL ? snprintf(line, sizeof line, "%zu,,,not read,%s\n", row, s->alarm < 0 ? "" : ",")
                            : snprintf(line, sizeof line, "%zu,%.6f,%.6g,%s,%s%s\n", row, info->log_density,
                                       info->familiarity, bpcn_verdict_name(info->verdict), share, flag);
    if (fmt_output_put(s->out, line, (size_t)size) == BPCN_OK)
        return 0;
    return console_error(s->console, "%s", bpcn_error());
}

int scores_close(struct scores *s, bool keep)
{
    int status = 0;
    if (s == NULL)
        return 0;
    if (fmt_output_close(s->out, keep ? BPCN_OK : BPCN_INVALID) != BPCN_OK && keep)
        status = console_error(s->console, "%s", bpcn_error());
    free(s);
    return status;
}

enum { CHUNK_BYTES = 64 << 20 }; /* rows of one call of the library, at most */

struct reading {
    struct memory_file file;
    bpcn_options options; /* of the memory */
    struct input_options input;
    struct query_options query;
    struct output_options out_options;
    struct query_maker *maker;
    struct output *out;
    struct progress progress;
    bool score;   /* verdicts only */
    bool write;   /* score --write: write every row after its score */
    double alarm; /* score --alarm: for rows of this typicality and below; negative: none */
    size_t alarms;
    bool explain; /* score --explain */
    const char *scores_path; /* score -o */
    struct scores *scores;
    size_t written;
    double refuse;                   /* --refuse-below */
    size_t shards;                   /* begun so far */
    size_t recall_rows;              /* --shards-read; 0: the library's choice */
    size_t verdicts[BPCN_NEAR_COPY + 1]; /* rows by verdict */
    size_t rows, refused, recalled, judged, right, labelled;
    double error;    /* sum over judged rows */
    size_t doubtful; /* complete rows that are new but may be noisy copies of known ones */
    double noise;    /* sum of the noise that was estimated for them */
};

/* ---- what is said of one row */

struct row_view {
    const struct batch *batch;
    const struct query *query;
    const bpcn_read_info *info;
    const float *answer; /* NULL: refused, or only scored */
    size_t row;
    double typicality;    /* negative: unknown */
    char name[NAME_ROOM]; /* of the recalled row; "": none */
};

/* Mean square error over the hidden entries or, if none is hidden, over all; negative when no truth is known. */
static double row_error(const struct reading *r, const struct row_view *v)
{
    const fmt_schema *fields = &r->file.note.fields;
    size_t at = v->row * fields->dim, count = 0;
    bool hidden = false;
    double sum = 0;
    for (size_t i = 0; i < fields->count; i++)
        hidden = hidden || (v->batch->given[i] &&
                            batch_hides(v->batch, v->query->known, fields->dim, v->row, &fields->column[i]));
    for (size_t i = 0; i < fields->count; i++) {
        const fmt_column *f = &fields->column[i];
        for (size_t j = f->offset; v->batch->given[i] && j < f->offset + f->size; j++) {
            if ((v->query->known[at + j] && hidden) || (v->batch->known != NULL && !v->batch->known[at + j]))
                continue;
            sum += pow((double)(v->answer[j] - v->batch->x[at + j]), 2);
            count++;
        }
    }
    return count ? sum / (double)count : -1;
}

/* Whether the query left the whole field unknown. */
static bool was_asked(const struct query *query, const fmt_column *f, size_t dim, size_t row)
{
    return memchr(query->known + row * dim + f->offset, 1, f->size) == NULL;
}

/* A recalled cell: a number in the table's units, or a word. */
static void json_cell(const fmt_column *f, const float *x)
{
    fmt_style plain = {.separator = '\0', .decimal = '.'};
    char text[FMT_CELL_ROOM];
    if (fmt_column_has_words(f)) {
        json_write_string(stdout, f->words.word[(size_t)fmt_decode_value(f, x)]);
    } else if (fmt_column_is_date(f)) {
        fmt_decode_text(f, x, &plain, text, sizeof text);
        json_write_string(stdout, text);
    } else {
        fmt_format_number(f, fmt_decode_value(f, x), '.', text, sizeof text);
        printf("%s", text);
    }
}

/* Whether an answer to the field is short: a label, a number, a word. */
static bool can_be_told(const fmt_schema *fields, const fmt_column *f)
{
    return fields->count > 1 && (field_is_label(f) || fmt_column_in_table(f));
}

static void json_fields(const struct reading *r, const struct row_view *v)
{
    const fmt_schema *fields = &r->file.note.fields;
    bool first = true;
    for (size_t i = 0; i < fields->count && v->answer != NULL; i++) {
        const fmt_column *f = &fields->column[i];
        if (!can_be_told(fields, f) || !was_asked(v->query, f, fields->dim, v->row))
            continue;
        printf("%s", first ? ",\"answer\":{" : ",");
        json_write_string(stdout, f->name);
        putchar(':');
        first = false;
        size_t label = field_label(f, v->answer);
        if (fmt_column_in_table(f))
            json_cell(f, v->answer + f->offset);
        else
            printf("{\"class\":%zu,\"value\":%.6g}", label, (double)v->answer[f->offset + label]);
    }
    if (!first)
        putchar('}');
}

static bool alarming(const struct reading *r, const struct row_view *v)
{
    return v->typicality >= 0 && v->typicality <= r->alarm;
}

/* "depth 90.9, expected 61.8 +- 1.1 given the others", a line for each column to blame. */
static void print_blame(const struct reading *r, const struct row_view *v)
{
    const fmt_schema *fields = &r->file.note.fields;
    const float *x = v->query->x + v->row * fields->dim;
    const unsigned char *known = v->query->known + v->row * fields->dim;
    fmt_style plain = {.separator = ' ', .decimal = '.'}, given = {.separator = ' ', .decimal = '.', .beyond = true};
    struct blame *blames = calloc(fields->count, sizeof *blames);
    float *expected = calloc(fields->dim, sizeof *expected);
    int count = blames && expected ? recall_explain(&r->file, x, known, blames, expected) : -1;
    for (int i = 0; i < count && i < BLAMED_MOST && blames[i].nats >= recall_blamed_least; i++) {
        const fmt_column *c = blames[i].column;
        char value[FMT_CELL_ROOM], wanted[FMT_CELL_ROOM], spread[FMT_CELL_ROOM];
        fmt_decode_text(c, x + c->offset, &given, value, sizeof value);
        fmt_decode_text(c, expected + c->offset, &plain, wanted, sizeof wanted);
        fmt_column shown = {.kind = FMT_NUMBER, .scale = c->scale};
        fmt_format_number(&shown, blames[i].deviation, '.', spread, sizeof spread);
        if (c->kind == FMT_CATEGORY)
            console_print(r->file.console, "    %s %s, expected %s (probability %.2f, of %s %.3f) given the others\n",
                          c->name, value, wanted, blames[i].deviation, value, blames[i].chance);
        else
            console_print(r->file.console, "    %s %s, expected %s +- %s given the others\n", c->name, value, wanted,
                          spread);
    }
    free(blames);
    free(expected);
}

static void print_row_json(const struct reading *r, const struct row_view *v, double error)
{
    bool refused = !r->score && v->answer == NULL;
    fputs("{\"input\":", stdout);
    json_write_string(stdout, v->batch->name);
    printf(",\"row\":%zu", v->batch->first + v->row);
    if (r->options.kind == BPCN_NETWORKS)
        printf(",\"familiarity\":%.9g,\"verdict\":\"%s\"", v->info->familiarity, bpcn_verdict_name(v->info->verdict));
    if (v->name[0] != '\0') {
        fputs(",\"name\":", stdout);
        json_write_string(stdout, v->name);
    }
    if (!r->score)
        printf(",\"refused\":%s", refused ? "true" : "false");
    fputs(",\"log_density\":", stdout);
    json_write_number(stdout, v->info->log_density);
    if (v->typicality >= 0)
        printf(",\"typicality\":%.6g", v->typicality);
    if (r->alarm >= 0)
        printf(",\"alarm\":%s", alarming(r, v) ? "true" : "false");
    printf(",\"known\":%" PRIu64 ",\"variance\":%.6g", v->info->known, v->info->variance);
    if (r->explain && (r->alarm < 0 || alarming(r, v))) {
        size_t at = v->row * r->file.note.fields.dim;
        fputs(",\"blame\":", stdout);
        recall_blame_json(&r->file, v->query->x + at, v->query->known + at, stdout);
    }
    if (r->options.kind == BPCN_NETWORKS)
        printf(",\"residual\":%.6g,\"noise\":%.6g,\"evaluations\":%" PRIu64 ",\"converged\":%s,\"particle\":%" PRIu64,
           v->info->residual, v->info->noise, v->info->evaluations, v->info->converged ? "true" : "false",
           v->info->particle);
    if (r->options.shards > 1)
        printf(",\"shard\":%" PRIu64, v->info->shard);
    if (error >= 0)
        printf(",\"mse\":%.6g", error);
    json_fields(r, v);
    puts("}");
}

static void print_fields(const struct reading *r, const struct row_view *v)
{
    const fmt_schema *fields = &r->file.note.fields;
    fmt_style plain = {.separator = ' ', .decimal = '.'};
    char text[FMT_CELL_ROOM];
    for (size_t i = 0; i < fields->count && v->answer != NULL; i++) {
        const fmt_column *f = &fields->column[i];
        if (!can_be_told(fields, f) || !was_asked(v->query, f, fields->dim, v->row))
            continue;
        if (fmt_column_in_table(f))
            fmt_decode_text(f, v->answer + f->offset, &plain, text, sizeof text);
        else
            snprintf(text, sizeof text, "%zu", field_label(f, v->answer));
        console_print(r->file.console, "  %s %s", f->name, text);
    }
}

static void print_row(const struct reading *r, const struct row_view *v, double error)
{
    const struct console *console = r->file.console;
    bpcn_verdict verdict = v->info->verdict;
    char name[4096];
    if (console->json) {
        print_row_json(r, v, error);
        return;
    }
    if (r->out_options.path != NULL || r->scores != NULL)
        return;
    batch_row_name(v->batch, v->row, name, sizeof name);
    if (r->options.kind == BPCN_TABLE) /* rows of a table are never twice the same */
        console_print(console, "%s  log density %.3f", name, v->info->log_density);
    else
        console_print(console, "%s  %s%.4f %s%s", name, console_colour(console, verdict_colour(verdict)),
                      v->info->familiarity, bpcn_verdict_name(verdict), console_colour(console, COLOUR_PLAIN));
    if (verdict == BPCN_NEAR_COPY && v->name[0] != '\0')
        console_print(console, " of %s", v->name);
    if (!r->score && v->answer == NULL)
        console_print(console, "  not answered");
    if (v->typicality >= 0 && (r->alarm >= 0 || r->options.kind == BPCN_TABLE))
        console_print(console, "  typicality %.4f", v->typicality);
    if (alarming(r, v))
        console_print(console, "  %salarm%s", console_colour(console, COLOUR_BAD),
                      console_colour(console, COLOUR_PLAIN));
    print_fields(r, v);
    if (error >= 0)
        console_print(console, "  error %.5f", error);
    if (v->name[0] != '\0' && verdict != BPCN_NEAR_COPY)
        console_print(console, "  %s", v->name);
    if (r->shards > 1)
        console_print(console, "  shard %" PRIu64, v->info->shard);
    console_print(console, "\n");
    if (r->explain && (r->alarm < 0 || alarming(r, v)))
        print_blame(r, v);
}

/* ---- counting */

static void count_labels(struct reading *r, const struct row_view *v)
{
    const fmt_schema *fields = &r->file.note.fields;
    for (size_t i = 0; i < fields->count && v->query->truth && v->answer != NULL; i++) {
        const fmt_column *f = &fields->column[i];
        if (fields->count < 2 || !field_is_label(f) || !v->batch->given[i] ||
            !was_asked(v->query, f, fields->dim, v->row))
            continue;
        r->labelled++;
        r->right += field_label(f, v->answer) == field_label(f, v->batch->x + v->row * fields->dim);
    }
}

/* Counts and prints verdicts and errors; blanks the answers of refused rows. */
static void judge(struct reading *r, const struct batch *batch, const struct query *query, size_t first, size_t rows,
                  const bpcn_read_info *info, const double *typicality, float *answers)
{
    size_t dim = r->file.note.fields.dim;
    for (size_t i = 0; i < rows; i++) {
        float *answer = answers ? answers + i * dim : NULL;
        struct row_view v = {batch, query, &info[i], answer, first + i, typicality[i], ""};
        double error = -1;
        r->rows++;
        if (batch->bad != NULL && batch->bad[first + i]) {
            for (size_t j = 0; j < dim && answer != NULL; j++)
                answer[j] = NAN;
            continue; /* it was said */
        }
        r->verdicts[info[i].verdict]++;
        r->alarms += alarming(r, &v);
        if (answer != NULL && info[i].familiarity < r->refuse) {
            r->refused++;
            v.answer = NULL;
            for (size_t j = 0; j < dim; j++)
                answer[j] = NAN;
        } else if (answer != NULL && query->truth) {
            error = row_error(r, &v);
            r->error += error >= 0 ? error : 0;
            r->recalled += error >= 0 && error < 0.01;
            r->judged += error >= 0;
            count_labels(r, &v);
        }
        if (query->all_known && query->noise < 0 && !r->score && info[i].verdict == BPCN_NEW) {
            r->doubtful++;
            r->noise += info[i].noise;
        }
        if (v.answer != NULL || r->score)
            memory_file_name(&r->file, &info[i], v.name);
        print_row(r, &v, error);
    }
}

/* ---- the work */

static int read_chunk(struct reading *r, const struct batch *batch, const struct query *query, size_t first,
                      size_t rows, bpcn_read_info *info, double *typicality, float *answers)
{
    size_t dim = r->file.note.fields.dim;
    struct recall how = {.noise = query->noise, .shards = r->recall_rows, .score = r->score};
    bpcn_status status = recall_rows(&r->file, &how, query->x + first * dim,
                                     query->all_known ? NULL : query->known + first * dim, rows, answers, info);
    for (size_t i = 0; i < rows; i++)
        typicality[i] = -1;
    if (status == BPCN_OK && r->score)
        status = memory_file_typicality(&r->file, query->x + first * dim,
                                        query->all_known ? NULL : query->known + first * dim, rows, typicality);
    if (status == BPCN_OK)
        return 0;
    progress_clear(&r->progress);
    return console_error(r->file.console, "%s rows %zu to %zu: %s", batch->name, batch->first + first,
                         batch->first + first + rows - 1, bpcn_error());
}

/* Writes one row; the query marks its known entries. */
static int learn(struct reading *r, const struct batch *part, const struct query *view)
{
    size_t dim = r->file.note.fields.dim, written = 0;
    bpcn_write_row became;
    bool whole = memchr(view->known, 0, dim) == NULL;
    if (memchr(view->known, 1, dim) == NULL)
        return 0; /* there is nothing to learn */
    bpcn_status status = memory_file_write(&r->file, part->x, whole ? NULL : view->known, 1, NULL, &became, &written);
    r->written += written;
    if (status == BPCN_OK)
        return memory_file_sync_if_due(&r->file);
    progress_clear(&r->progress);
    return console_error(r->file.console, "%s row %zu: %s", part->name, part->first, bpcn_error());
}

static int answer_rows(struct reading *r, const struct input *input, const struct batch *batch,
                       const struct query *query, size_t most, float *answers)
{
    size_t dim = r->file.note.fields.dim;
    bpcn_read_info info[RECALL_MOST];
    double familiarity[RECALL_MOST], typicality[RECALL_MOST];
    for (size_t first = 0; first < batch->rows; first += most) {
        size_t rows = batch->rows - first < most ? batch->rows - first : most;
        if (interrupted())
            return EXIT_INTERRUPTED;
        progress_update(&r->progress, r->rows, input_expected(input));
        int status = read_chunk(r, batch, query, first, rows, info, typicality, answers);
        if (status != 0)
            return status;
        if (r->out_options.path == NULL)
            progress_clear(&r->progress);
        judge(r, batch, query, first, rows, info, typicality, answers);
        if (ferror(stdout))
            return console_flush(r->file.console, EXIT_DONE); /* the reader of the pipe has gone */
        for (size_t i = 0; i < rows; i++)
            familiarity[i] = info[i].familiarity;
        struct batch part = *batch;
        struct query view = *query;
        part.first += first;
        part.rows = rows;
        part.x += first * dim;
        part.known = batch->known ? batch->known + first * dim : NULL;
        view.x += first * dim;
        view.known += first * dim;
        status = output_add(r->out, &part, &view, rows, answers, familiarity);
        for (size_t i = 0; i < rows && r->scores != NULL && status == 0; i++)
            status = scores_add(r->scores, r->rows - rows + i, batch->bad && batch->bad[first + i] ? NULL : &info[i],
                                typicality[i]);
        if (status == 0 && r->write)
            status = learn(r, &part, &view);
        if (status != 0)
            return status;
    }
    return 0;
}

/* Rows of one call: all of the batch, within CHUNK_BYTES and RECALL_MOST. */
static size_t rows_at_once(const struct reading *r, const struct batch *batch)
{
    size_t fit = CHUNK_BYTES / (r->file.note.fields.dim * sizeof(float));
    size_t most = fit < 1 || r->write ? 1 : fit < RECALL_MOST ? fit : RECALL_MOST;
    return batch->rows < most ? batch->rows : most;
}

static int answer_batch(struct reading *r, const struct input *input, const struct batch *batch)
{
    struct query query;
    size_t most = rows_at_once(r, batch);
    if (query_make(r->maker, batch, &query) != 0)
        return EXIT_FAILED;
    float *answers = r->score ? NULL : malloc(most * r->file.note.fields.dim * sizeof *answers);
    int status = answers || r->score ? answer_rows(r, input, batch, &query, most, answers)
                                     : console_error(r->file.console, "out of memory");
    free(answers);
    query_free(&query);
    return status;
}

static void summarize(const struct reading *r)
{
    const struct console *console = r->file.console;
    const char *to = r->scores_path ? r->scores_path : r->out_options.path;
    bool piped = to != NULL && strcmp(to, "-") == 0;
    if (console->json || console->quiet || piped || (r->rows < 2 && to == NULL))
        return;
    size_t undecided = r->verdicts[BPCN_CANNOT_TELL], blends = r->verdicts[BPCN_BLEND];
    size_t copies = r->verdicts[BPCN_NEAR_COPY];
    size_t decided = r->verdicts[BPCN_KNOWN] + r->verdicts[BPCN_NEW] + blends + copies;
    size_t rows = r->score ? undecided + decided : r->rows; /* a bad row is given back, but has no score */
    console_print(console, "%zu row%s", rows, rows == 1 ? "" : "s");
    if (decided > 0)
        console_print(console, ", %zu known", r->verdicts[BPCN_KNOWN]);
    else
        console_print(console, " %s", r->score ? "scored" : "read");
    if (copies > 0)
        console_print(console, ", %zu near cop%s", copies, copies == 1 ? "y" : "ies");
    if (blends > 0)
        console_print(console, ", %zu blend%s", blends, blends == 1 ? "" : "s");
    if (undecided > 0 && decided > 0)
        console_print(console, ", %zu undecided", undecided);
    if (r->alarm >= 0)
        console_print(console, ", %zu unusual at the %g %% level", r->alarms, 100 * r->alarm);
    if (r->refused > 0)
        console_print(console, ", %zu not answered", r->refused);
    if (r->judged > 0 && r->labelled == 0)
        console_print(console, "; %zu of %zu recalled, mean square error %.5f", r->recalled, r->judged,
                      r->error / (double)r->judged);
    if (r->labelled > 0)
        console_print(console, "; %zu of %zu labels right", r->right, r->labelled);
    console_print(console, "\n");
}

/* An estimated noise does not separate a new row from a noisy copy; the user often knows. */
static void hint_at_noise(const struct reading *r)
{
    double scale = fmt_schema_picture(&r->file.note.fields) != NULL ? 2 : 1;
    if (r->doubtful > 0)
        console_note(r->file.console, "%zu row%s new; if %s, add --assume-noise %.2g", r->doubtful,
                     r->doubtful == 1 ? " is" : "s are",
                     r->doubtful == 1 ? "it is a noisy copy" : "they are noisy copies",
                     r->noise / (double)r->doubtful / scale);
}

static void print_interruption(const struct reading *r)
{
    const char *lost = output_waits(r->out) ? r->out_options.path : NULL;
    lost = lost != NULL && strcmp(lost, "-") == 0 ? NULL : lost;
    const char *has = r->scores_path != NULL && strcmp(r->scores_path, "-") != 0 ? r->scores_path : NULL;
    console_error(r->file.console, "%s: %s after %zu row%s%s%s%s", r->file.path, interruption(), r->rows,
                  r->rows == 1 ? "" : "s",
                  lost  ? "; "
                  : has ? ", which "
                        : "",
                  lost  ? lost
                  : has ? has
                        : "",
                  lost  ? " was not written"
                  : has ? " has"
                        : "");
}

static int read_inputs(struct reading *r, struct input *input)
{
    struct batch batch;
    int status = 0, got = 0;
    progress_begin(&r->progress, r->file.console, r->score ? "scoring" : "reading", "rows");
    while (status == 0 && (got = input_next(input, &batch)) > 0) {
        status = answer_batch(r, input, &batch);
        batch_free(&batch);
        if (input_pauses(input)) {
            fflush(stdout);
            status = status || r->scores == NULL ? status : scores_flush(r->scores);
        }
    }
    progress_clear(&r->progress);
    if (got < 0)
        status = interrupted() ? EXIT_INTERRUPTED : EXIT_FAILED;
    if (status == EXIT_INTERRUPTED)
        print_interruption(r);
    status = status ? status : output_finish(r->out);
    int kept = scores_close(r->scores, status == 0 || status == EXIT_INTERRUPTED); /* rows that were scored stay */
    int saved = r->written > 0 ? memory_file_commit(&r->file) : 0;
    if (r->written > 0 && (status || kept || saved))
        console_error(r->file.console, "%s: %zu row%s written before that %s in the memory", r->file.path, r->written,
                      r->written == 1 ? "" : "s", r->written == 1 ? "is" : "are");
    status = status ? status : kept ? kept : saved;
    if (status != 0)
        return status;
    summarize(r);
    hint_at_noise(r);
    if (r->refused > 0)
        console_note(r->file.console, "%zu of %zu rows are less familiar than --refuse-below and were not answered",
                     r->refused, r->rows);
    int skipped = input_tell_skipped(input);
    int bad = table_tell_bad(r->file.console, input_bad_rows(input), r->score ? "not scored" : "not answered");
    return r->refused > 0 ? EXIT_REFUSED : skipped ? skipped : bad;
}

static int open_and_read(struct args *a, struct reading *r)
{
    struct input *input = NULL;
    bpcn_stats stats = {.size = sizeof stats};
    int status = memory_file_open(&a->console, args_rest(a)[0], r->write ? TO_CHANGE : TO_LOOK, &r->file);
    if (status != 0)
        return status;
    r->options.size = sizeof r->options;
    memory_file_options(&r->file, &r->options);
    memory_file_stats(&r->file, &stats);
    r->shards = stats.shards;
    if (r->explain && r->options.kind != BPCN_TABLE) {
        memory_file_close(&r->file);
        return console_usage(&a->console, "--explain: %s is no table's memory", args_rest(a)[0]);
    }
    const fmt_schema *fields = &r->file.note.fields;
    r->out_options.channels_last = r->input.channels_last;
    r->maker = query_open(&a->console, fields, &r->query, &status);
    r->out = r->maker ? output_open(&a->console, fields, &r->out_options) : NULL;
    if (r->out != NULL && r->scores_path != NULL)
        r->scores = scores_open(&a->console, r->scores_path, r->alarm, r->options.kind == BPCN_TABLE);
    if (r->out != NULL && (r->scores != NULL || r->scores_path == NULL))
        input = input_open(&a->console, fields, &r->input, args_rest(a) + 1, args_count(a) - 1);
    if (r->maker != NULL)
        status = input ? read_inputs(r, input) : r->out == NULL ? EXIT_USAGE : EXIT_FAILED;
    input_close(input);
    output_close(r->out);
    query_close(r->maker);
    memory_file_close(&r->file);
    return status;
}

static int read_or_score(int argc, char **argv, bool score)
{
    struct args a;
    struct reading r = {.score = score, .query = query_options_default(), .alarm = -1};
    args_begin(&a, argc, argv);
    for (int c; (c = args_next(&a)) >= 0;)
        if (c == OPT_REFUSE_BELOW)
            r.refuse = args_number(&a, optarg, 0, 1);
        else if (c == OPT_WRITE)
            r.write = true;
        else if (c == OPT_EXPLAIN)
            r.explain = true;
        else if (c == OPT_ALARM)
            r.alarm = args_number(&a, optarg, 0, 1);
        else if (c == OPT_SCORES)
            r.scores_path = optarg;
        else if (c == OPT_SHARDS_READ)
            r.recall_rows = (size_t)args_whole(&a, optarg, 0, BPCN_MAX_SHARDS);
        else if (!input_option(&a, c, &r.input) && !query_option(&a, c, &r.query))
            output_option(&a, c, &r.out_options);
    if (!args_expect(&a, 2, 1 << 30))
        return a.status;
    catch_interrupts();
    int status = open_and_read(&a, &r);
    return console_flush(&a.console, status);
}

int cmd_read(int argc, char **argv)
{
    return read_or_score(argc, argv, false);
}

int cmd_score(int argc, char **argv)
{
    return read_or_score(argc, argv, true);
}
