/* bpcn write: writes every row in one shot and reports how many were new and how full the memory is. */
#include "args.h"
#include "fullness.h"
#include "memory_file.h"
#include "progress.h"
#include "read_rows.h"
#include "sequence_file.h"
#include "recall.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

struct auto_forget {
    double beta;   /* discount of one step; 0: never */
    size_t period; /* writes between steps */
    size_t since;  /* writes since the last */
};

/* A fixed beta after every write, by bpcn_memory_forget. */
struct auto_forget auto_forget_fixed(double beta);

/* Chooses beta and period from the memory's narrowest layer. */
struct auto_forget auto_forget_choose(const bpcn_options *options);

/* Call before every write. */
bpcn_status auto_forget_step(struct auto_forget *auto_forget, struct memory_file *file);

/* ---- Automatic forgetting: a discount before every eighth write, by which a row written as many rows ago as the
   narrowest layer is wide weighs sigma_x^2. With a slower discount the codes of new rows grow without bound
   (docs/MODEL.md, Streams); with a faster one fewer rows stay recallable. */

enum { PERIOD = 8 };

struct auto_forget auto_forget_fixed(double beta)
{
    return (struct auto_forget){.beta = -beta, .period = 1};
}

struct auto_forget auto_forget_choose(const bpcn_options *o)
{
    size_t narrowest = o->dim;
    for (size_t l = 0; l < o->layers; l++)
        narrowest = l == 0 || o->hidden[l] < narrowest ? o->hidden[l] : narrowest;
    double noise = fmin(o->sigma_x, o->sigma_data > 0 ? o->sigma_data : o->sigma_x);
    double left = noise < 1 ? pow(noise, 2. * PERIOD / (double)narrowest) : 0.5;
    return (struct auto_forget){.beta = 1 - fmax(left, 1e-6), .period = PERIOD};
}

bpcn_status auto_forget_step(struct auto_forget *f, struct memory_file *file)
{
    bpcn_stats stats = {.size = sizeof stats};
    if (f->beta == 0 || ++f->since < f->period)
        return BPCN_OK;
    f->since = 0;
    bpcn_status status = memory_file_stats(file, &stats);
    if (status != BPCN_OK || stats.writes == 0)
        return status;
    return f->beta < 0 ? memory_file_forget(file, -f->beta) : memory_file_discount(file, f->beta);
}

enum { MOST = 8192, AHEAD = 64 }; /* the most rows of one write; of one read in all shards */
enum { TRIALS_TOLD = 50 };        /* cells below which their error says little */

struct writing {
    struct memory_file file;
    bpcn_options options;
    struct auto_forget auto_forget;
    struct probes probes;
    struct progress progress;
    size_t written, verdicts[BPCN_NEAR_COPY + 1]; /* rows, and by verdict before they were written */
    bpcn_read_info known[AHEAD];              /* the best shard's verdicts; a write reads only the open shard */
    size_t ahead, until;                      /* the rows of the batch that `known` is about */
    size_t empty;                             /* rows without known entries */
    bool skip_known;                          /* --skip-known */
    size_t passed;                            /* rows skipped because the memory knew them */
};

/* Reads rows without noise: info [rows]. A bad row is no error here; its write reports it. */
static int ask_for(struct writing *w, const struct batch *batch, size_t first, size_t rows, bpcn_read_info *info)
{
    bpcn_read_options o;
    size_t dim = w->options.dim;
    bpcn_read_options_default(&o, sizeof o);
    o.noise = 0;
    o.shards = 1; /* without noise, a single shard can hold a row */
    memset(info, 0, rows * sizeof *info);
    unsigned char *all = malloc(rows * dim);
    if (all == NULL)
        return console_error(w->file.console, "out of memory");
    if (batch->known != NULL)
        memcpy(all, batch->known + first * dim, rows * dim);
    else
        memset(all, 1, rows * dim);
    bpcn_status status = memory_file_read(&w->file, batch->x + first * dim, all, rows, &o, NULL, info);
    free(all);
    return status == BPCN_OK || status == BPCN_INVALID ? 0 : memory_file_error(&w->file, status);
}

/* With several shards: reads the rows from `first` that go to one shard in all shards. */
static int look_ahead(struct writing *w, const struct batch *batch, size_t first)
{
    bpcn_stats stats = {.size = sizeof stats};
    size_t rows = batch->rows - first < AHEAD ? batch->rows - first : AHEAD;
    memory_file_stats(&w->file, &stats);
    size_t room = w->options.shard_rows - (size_t)(stats.writes % w->options.shard_rows);
    rows = room < rows ? room : rows;
    w->ahead = first;
    w->until = first + rows;
    memset(w->known, 0, sizeof w->known);
    if (stats.writes < w->options.shard_rows) /* there is but one, and the write asks it */
        return 0;
    return ask_for(w, batch, first, rows, w->known);
}

/* Whether the row is known already, as the memory is now, and is to be passed over; negative: an error, which was said.
 */
static int passes_over(struct writing *w, const struct batch *batch, size_t row)
{
    bpcn_read_info info;
    if (!w->skip_known)
        return 0;
    if (ask_for(w, batch, row, 1, &info) != 0)
        return -1;
    if (info.verdict != BPCN_KNOWN && info.verdict != BPCN_NEAR_COPY)
        return 0;
    w->passed++;
    if (w->file.console->json) {
        fputs("{\"input\":", stdout);
        json_write_string(stdout, batch->name);
        printf(",\"row\":%zu,\"familiarity\":%.6g,\"verdict\":\"%s\",\"skipped\":true}\n", batch->first + row,
               info.familiarity, bpcn_verdict_name(info.verdict));
    }
    return 1;
}

/* The known entries of rows; NULL: all. */
static const unsigned char *known_of(const struct batch *batch, size_t first, size_t count, size_t dim)
{
    const unsigned char *known = batch->known ? batch->known + first * dim : NULL;
    return known != NULL && memchr(known, 0, count * dim) != NULL ? known : NULL;
}

static const char full_hint[] = " (create a memory with a larger --capacity, or with --when-full recycle or blur)";

static void print_written_row(struct writing *w, const struct batch *batch, size_t row, const bpcn_write_row *became)
{
    double familiarity = became->familiarity;
    bpcn_verdict verdict = became->verdict;
    if (row >= w->ahead && row < w->until && w->known[row - w->ahead].familiarity > familiarity) {
        familiarity = w->known[row - w->ahead].familiarity;
        verdict = w->known[row - w->ahead].verdict;
    }
    w->written++;
    w->verdicts[verdict]++;
    if (w->options.kind == BPCN_NETWORKS && known_of(batch, row, 1, w->options.dim) == NULL)
        probes_add(&w->probes, batch->x + row * w->options.dim);
    if (w->file.console->json) {
        fputs("{\"input\":", stdout);
        json_write_string(stdout, batch->name);
        printf(",\"row\":%zu,\"familiarity\":%.6g,\"verdict\":\"%s\",\"novel\":%s,\"energy\":%.9g"
               ",\"evaluations\":%" PRIu64,
               batch->first + row, familiarity, bpcn_verdict_name(verdict), verdict == BPCN_NEW ? "true" : "false",
               became->energy, became->evaluations);
        if (w->options.shards > 1)
            printf(",\"shard\":%" PRIu64, became->shard);
        puts("}");
    }
}

/* count rows from `first` on, at most MOST. */
static int learn_rows(struct writing *w, const struct batch *batch, size_t first, size_t count)
{
    bpcn_write_row became[MOST];
    size_t written = 0;
    char name[4096];
    bpcn_status status = auto_forget_step(&w->auto_forget, &w->file);
    if (status == BPCN_OK)
        status =
            memory_file_write(&w->file, batch->x + first * w->options.dim, known_of(batch, first, count, w->options.dim),
                         count, batch->names ? batch->names + first * NAME_ROOM : NULL, became, &written);
    for (size_t i = 0; i < written; i++)
        print_written_row(w, batch, first + i, &became[i]);
    if (status == BPCN_OK)
        return 0;
    progress_clear(&w->progress);
    batch_row_name(batch, first + written, name, sizeof name);
    return console_error(w->file.console, "%s: %s%s", name, bpcn_error(), status == BPCN_FULL ? full_hint : "");
}

/* How many rows from `first` on one call writes: those before the next row without known entries. */
static size_t rows_together(const struct batch *batch, size_t first, size_t most, size_t dim)
{
    size_t count = 0, left = batch->rows - first;
    while (count < most && count < left &&
           (batch->known == NULL || memchr(batch->known + (first + count) * dim, 1, dim) != NULL))
        count++;
    return count;
}

static int write_batch(struct writing *w, const struct input *input, const struct batch *batch)
{
    const fmt_schema *fields = &w->file.note.fields;
    size_t before = w->written + w->passed, most = memory_file_write_most(&w->file);
    most = w->auto_forget.beta != 0 || w->skip_known ? 1
           : most < MOST                             ? most
                                                     : MOST; /* forgetting happens between two rows */
    for (size_t f = 0; f < fields->count; f++)
        if (!batch->given[f])
            return console_error(w->file.console, "%s: field %s is missing (give %s=FILE)", batch->name,
                                 fields->column[f].name, fields->column[f].name);
    for (size_t i = 0, count; i < batch->rows; i += count ? count : 1) {
        if (interrupted())
            return EXIT_INTERRUPTED;
        progress_update(&w->progress, before + i, input_expected(input));
        int status = 0;
        count = rows_together(batch, i, most, w->options.dim);
        w->empty += count == 0 && (batch->bad == NULL || !batch->bad[i]);
        if (w->options.shards > 1 && most == 1 && !w->skip_known && (i == 0 || i >= w->until))
            status = look_ahead(w, batch, i);
        int known = count > 0 && status == 0 ? passes_over(w, batch, i) : 0;
        if (count > 0 && status == 0)
            status = known < 0 ? EXIT_FAILED : known ? 0 : learn_rows(w, batch, i, count);
        status = status ? status : memory_file_sync_if_due(&w->file);
        if (status != 0)
            return status;
    }
    return 0;
}

static void print_empty(const struct writing *w)
{
    if (w->empty > 0)
        console_warn(w->file.console, "%zu row%s no known entries and %s skipped", w->empty,
                     w->empty == 1 ? " has" : "s have", w->empty == 1 ? "was" : "were");
}

static void print_written(const struct writing *w, double rate)
{
    const struct console *console = w->file.console;
    const struct memory_note *r = &w->file.note;
    char advice[ADVICE_MOST];
    size_t known = w->verdicts[BPCN_KNOWN], unjudged = w->written - w->verdicts[BPCN_NEW] - known;
    if (console->json) {
        printf("{\"written\":%zu,\"skipped\":%zu,\"novel\":%zu,\"known\":%zu,\"rate\":%.6g,\"fullness\":%.6g,"
               "\"probes\":%zu,"
               "\"recalled\":%zu}\n",
               w->written, w->passed, w->verdicts[BPCN_NEW], known, rate, r->fullness, r->probes, r->recalled);
        return;
    }
    console_print(console, "%s: %zu row%s written at %.3g/s", w->file.path, w->written, w->written == 1 ? "" : "s",
                  rate);
    if (w->options.kind == BPCN_TABLE) { /* rows of a table are never twice the same */
        bpcn_stats stats = {.size = sizeof stats};
        if (memory_file_stats(&w->file, &stats) == BPCN_OK && stats.trials >= TRIALS_TOLD)
            console_print(console, "; error on unseen cells: %.2f column deviations", stats.trial_error);
        console_print(console, "\n");
        print_empty(w);
        return;
    }
    console_print(console, ", %zu new", w->verdicts[BPCN_NEW]);
    if (known > 0)
        console_print(console, ", %zu already known", known);
    if (w->passed > 0)
        console_print(console, ", %zu already known and skipped", w->passed);
    if (unjudged > 0)
        console_print(console, ", %zu undecided", unjudged);
    console_print(console, "; %.0f %% full, %zu of %zu probes recalled\n", 100 * r->fullness, r->recalled, r->probes);
    bool advised = fullness_advice(&w->options, r, advice, sizeof advice);
    if (advised && fullness_recalls(r))
        console_note(console, "%s: %s", w->file.path, advice);
    else if (advised)
        console_warn(console, "%s: %s", w->file.path, advice);
    print_empty(w);
}

/* After an error too, the rows already written stay, and their number is printed. */
static int finish_write(struct writing *w, int status)
{
    double rate = progress_rate(&w->progress);
    const char *stopped = status == EXIT_INTERRUPTED ? interruption() : "";
    if (w->written > 0 && status != EXIT_INTERRUPTED) {
        int measured = measure_fullness(&w->file, &w->probes);
        status = status ? status : measured;
    }
    int saved = w->written > 0 ? memory_file_commit(&w->file) : 0;
    if (saved != 0)
        console_error(w->file.console, "%s: %zu rows were written; bpcn info tells how many reached the file",
                      w->file.path, w->written);
    if (saved != 0)
        return saved;
    if (status == 0)
        print_written(w, rate);
    else if (w->written == 0)
        console_error(w->file.console, "%s: %s%snothing was written", w->file.path, stopped, stopped[0] ? "; " : "");
    else
        console_error(w->file.console, "%s: %s%s%zu row%s written before that %s in the memory", w->file.path, stopped,
                      stopped[0] ? "; " : "", w->written, w->written == 1 ? "" : "s", w->written == 1 ? "is" : "are");
    return status;
}

static int write_inputs(struct writing *w, struct input *input)
{
    struct batch batch;
    int status = 0, got = 0;
    progress_begin(&w->progress, w->file.console, "writing", "rows");
    while (status == 0 && (got = input_next(input, &batch)) > 0) {
        status = write_batch(w, input, &batch);
        batch_free(&batch);
        if (input_pauses(input))
            fflush(stdout);
    }
    w->progress.done = w->written;
    progress_clear(&w->progress);
    if (got < 0)
        status = interrupted() ? EXIT_INTERRUPTED : EXIT_FAILED;
    status = finish_write(w, status);
    int skipped = input_tell_skipped(input);
    int bad = status ? 0 : table_tell_bad(w->file.console, input_bad_rows(input), "not written");
    return status ? status : skipped ? skipped : bad;
}

/* Recycling shards keeps the recent past sharper than --forget auto. */
static void advise_on_shards(const struct console *console, const char *path, const bpcn_options *o)
{
    if (o->shards > 1 && o->when_full == BPCN_RECYCLE)
        console_note(console, "%s: --forget auto is not needed: when all shards are full, the oldest is emptied", path);
    else if (o->shards > 1)
        console_note(console,
                     "%s: instead of --forget auto, create the memory with --when-full recycle: several shards then "
                     "keep the recent past sharper",
                     path);
}

/* --forget auto or --forget BETA */
struct forget_option {
    bool given, automatic;
    double beta;
};

static int open_and_write(struct args *a, const struct input_options *options, const struct forget_option *forget,
                          bool skip_known)
{
    struct writing w = {.skip_known = skip_known};
    int status = memory_file_open(&a->console, args_rest(a)[0], TO_CHANGE, &w.file);
    if (status != 0)
        return status;
    w.options.size = sizeof w.options;
    memory_file_options(&w.file, &w.options);
    if (forget->given)
        w.auto_forget = forget->automatic ? auto_forget_choose(&w.options) : auto_forget_fixed(forget->beta);
    if (forget->automatic)
        advise_on_shards(&a->console, w.file.path, &w.options);
    if (skip_known && w.options.kind == BPCN_TABLE)
        a->status = console_usage(&a->console, "--skip-known: %s is a table's memory and cannot tell whether it knows a row",
                                  w.file.path);
    if (options->name != NULL && w.options.names == 0)
        a->status = console_usage(&a->console, "--name: %s keeps no names (see bpcn create --names)", w.file.path);
    struct input *input = NULL;
    if (a->status < 0 && probes_begin(&w.probes, &w.options, forget->given) == 0)
        input = input_open(&a->console, &w.file.note.fields, options, args_rest(a) + 1, args_count(a) - 1);
    status = input ? write_inputs(&w, input) : a->status >= 0 ? a->status : EXIT_FAILED;
    input_close(input);
    probes_free(&w.probes);
    memory_file_close(&w.file);
    return status;
}

int cmd_write(int argc, char **argv)
{
    struct args a;
    struct input_options options = {0};
    struct forget_option forget = {0};
    bool skip_known = false, go_on = false;
    args_begin(&a, argc, argv);
    for (int c; (c = args_next(&a)) >= 0;)
        if (c == OPT_FORGET) {
            forget.given = true;
            forget.automatic = strcmp(optarg, "auto") == 0;
            forget.beta = forget.automatic ? 0 : args_number(&a, optarg, 0, 1);
        } else if (c == OPT_SKIP_KNOWN)
            skip_known = true;
        else if (c == OPT_NAME)
            options.name = optarg;
        else if (c == OPT_CONTINUE)
            go_on = true;
        else
            input_option(&a, c, &options);
    if (!args_expect(&a, 2, 1 << 30))
        return a.status;
    catch_interrupts();
    if (sequence_file_is(args_rest(&a)[0])) {
        const char *name = options.name;
        options.name = NULL;
        if (forget.given || skip_known)
            return console_usage(&a.console, "--forget and --skip-known do not apply to a sequence");
        return console_flush(&a.console, sequence_file_write(&a.console, args_rest(&a)[0], &options, name, go_on, args_rest(&a) + 1,
                                                             args_count(&a) - 1));
    }
    if (go_on)
        return console_usage(&a.console, "--continue: %s is no sequence", args_rest(&a)[0]);
    int status = open_and_write(&a, &options, &forget, skip_known);
    return console_flush(&a.console, status);
}
