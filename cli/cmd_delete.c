/* bpcn delete and bpcn forget: undo the write of rows; let every row fade. */
#include "args.h"
#include "fullness.h"
#include "memory_file.h"
#include "progress.h"
#include "read_rows.h"
#include "sequence_file.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct tally {
    size_t deleted, refused;
};

/* Deletes one row. A refusal is printed and counted; any other error ends the command. */
static int delete_input_row(struct memory_file *file, const struct batch *batch, size_t row, struct tally *tally)
{
    char name[4096];
    const struct console *console = file->console;
    size_t dim = file->note.fields.dim;
    if (batch->known != NULL && memchr(batch->known + row * dim, 0, dim) != NULL)
        return console_error(file->console, "%s: row %zu has missing values; only a complete row can be deleted",
                             batch->name, batch->first + row);
    bpcn_status status = memory_file_delete(file, batch->x + row * file->note.fields.dim);
    batch_row_name(batch, row, name, sizeof name);
    bool refused = status == BPCN_REFUSED || status == BPCN_NOT_HELD;
    if (status != BPCN_OK && !refused)
        return console_error(console, "%s: %s", name, bpcn_error());
    tally->deleted += status == BPCN_OK;
    tally->refused += refused;
    if (refused && !console->json)
        console_error(console, "%s: not deleted: %s", name, bpcn_error());
    if (console->json) {
        fputs("{\"input\":", stdout);
        json_write_string(stdout, batch->name);
        printf(",\"row\":%zu,\"deleted\":%s}\n", batch->first + row, status == BPCN_OK ? "true" : "false");
    }
    return 0;
}

static int delete_batch(struct memory_file *file, const struct batch *batch, struct progress *p, struct tally *tally)
{
    for (size_t f = 0; f < file->note.fields.count; f++)
        if (!batch->given[f])
            return console_error(file->console, "%s: field %s is missing", batch->name,
                                 file->note.fields.column[f].name);
    for (size_t i = 0; i < batch->rows; i++) {
        if (interrupted())
            return EXIT_INTERRUPTED;
        progress_update(p, tally->deleted + tally->refused, 0);
        int status = delete_input_row(file, batch, i, tally);
        if (status != 0)
            return status;
    }
    return 0;
}

/* Saves and reports the deletions so far, also after an error: 0, or an exit status. */
static int finish_delete(struct memory_file *file, const struct tally *tally, int status)
{
    int saved = tally->deleted > 0 ? measure_fullness(file, NULL) : 0;
    saved = saved ? saved : memory_file_commit(file);
    if (saved == 0 && status == EXIT_INTERRUPTED)
        console_error(file->console, "%s: %s; %zu row%s deleted before that", file->path, interruption(),
                      tally->deleted, tally->deleted == 1 ? "" : "s");
    else if (saved == 0)
        console_print(file->console, "%s: %zu row%s deleted\n", file->path, tally->deleted,
                      tally->deleted == 1 ? "" : "s");
    status = status ? status : saved;
    return status == 0 && tally->refused > 0 ? EXIT_REFUSED : status;
}

/* The latest row of a name. */
static int delete_name(struct memory_file *file, const char *name, struct tally *tally)
{
    bpcn_status status = memory_file_delete_name(file, name);
    bool refused = status == BPCN_REFUSED || status == BPCN_NOT_HELD;
    if (status != BPCN_OK && !refused)
        return console_error(file->console, "%s: %s", name, bpcn_error());
    tally->deleted += status == BPCN_OK;
    tally->refused += refused;
    if (refused && !file->console->json)
        console_error(file->console, "%s: not deleted: %s", file->path, bpcn_error());
    if (file->console->json) {
        fputs("{\"name\":", stdout);
        json_write_string(stdout, name);
        printf(",\"deleted\":%s}\n", status == BPCN_OK ? "true" : "false");
    }
    return 0;
}

/* Whether a row of this name is kept. */
static bool is_name(const struct memory_file *file, const char *text)
{
    size_t count;
    bool found = false;
    bpcn_name *names = memory_file_names(file, &count);
    for (size_t i = 0; names != NULL && i < count && !found; i++)
        found = strcmp(names[i].name, text) == 0;
    free(names);
    return found;
}

/* Deletes the rows whose names are among the arguments; returns the number of arguments left. */
static int delete_names(struct memory_file *file, char **given, int count, struct tally *tally, int *status)
{
    int left = 0;
    for (int i = 0; i < count && *status == 0; i++)
        if (strcmp(given[i], "-") == 0 || strchr(given[i], '=') != NULL || access(given[i], F_OK) == 0)
            given[left++] = given[i];
        else if (is_name(file, given[i]))
            *status = delete_name(file, given[i], tally);
        else
            *status = console_error(file->console, "%s: is neither a file nor the name of a row", given[i]);
    return left;
}

static int delete_inputs(struct memory_file *file, struct input *input, struct tally tally)
{
    struct progress p;
    struct batch batch;
    int status = 0, got = 0;
    progress_begin(&p, file->console, "deleting", "rows");
    while (status == 0 && (got = input_next(input, &batch)) > 0) {
        status = delete_batch(file, &batch, &p, &tally);
        batch_free(&batch);
    }
    progress_clear(&p);
    if (got < 0)
        status = interrupted() ? EXIT_INTERRUPTED : EXIT_FAILED;
    status = finish_delete(file, &tally, status);
    int skipped = input_tell_skipped(input);
    return status ? status : skipped;
}

int cmd_delete(int argc, char **argv)
{
    struct args a;
    struct input_options options = {0};
    struct memory_file file;
    args_begin(&a, argc, argv);
    for (int c; (c = args_next(&a)) >= 0;)
        input_option(&a, c, &options);
    if (!args_expect(&a, 2, 1 << 30))
        return a.status;
    catch_interrupts();
    if (sequence_file_is(args_rest(&a)[0]))
        return console_flush(&a.console, sequence_file_delete(&a.console, args_rest(&a)[0], args_rest(&a) + 1, args_count(&a) - 1));
    int status = memory_file_open(&a.console, args_rest(&a)[0], TO_CHANGE, &file);
    if (status != 0)
        return status;
    struct tally tally = {0};
    int left = delete_names(&file, args_rest(&a) + 1, args_count(&a) - 1, &tally, &status);
    struct input *input = NULL;
    if (status == 0 && left > 0)
        input = input_open(&a.console, &file.note.fields, &options, args_rest(&a) + 1, left);
    if (input != NULL)
        status = delete_inputs(&file, input, tally);
    else if (tally.deleted + tally.refused > 0)
        status = finish_delete(&file, &tally, status ? status : left > 0 ? EXIT_FAILED : 0);
    else
        status = status ? status : EXIT_FAILED;
    input_close(input);
    memory_file_close(&file);
    return console_flush(&a.console, status);
}

/* ---- bpcn forget: everything fades towards the prior. */

static int fade(struct memory_file *file, double beta, size_t times, size_t *done)
{
    struct progress p;
    progress_begin(&p, file->console, "forgetting", "times");
    for (*done = 0; *done < times && !interrupted(); ++*done) {
        progress_update(&p, *done, times);
        bpcn_status status = memory_file_forget(file, beta);
        if (status != BPCN_OK) {
            progress_clear(&p);
            return memory_file_error(file, status);
        }
    }
    progress_clear(&p);
    return 0;
}

static int forget_times(struct memory_file *file, double beta, size_t times)
{
    const struct console *console = file->console;
    size_t done = 0;
    int status = fade(file, beta, times, &done);
    if (status == 0)
        status = measure_fullness(file, NULL);
    int saved = memory_file_commit(file);
    status = status ? status : saved;
    if (status != 0)
        return status;
    bpcn_options options;
    memory_file_options(file, &options);
    console_print(console, "%s: forgot by %g, %zu time%s", file->path, beta, done, done == 1 ? "" : "s");
    if (options.kind != BPCN_TABLE) /* which is never full */
        console_print(console, "; %.0f %% full", 100 * file->note.fullness);
    console_print(console, "\n");
    if (console->json)
        printf("{\"forgets\":%zu,\"beta\":%.9g,\"fullness\":%.6g}\n", done, beta, file->note.fullness);
    if (done == times)
        return EXIT_DONE;
    console_error(console, "%s: %s; forgot %zu of %zu times", file->path, interruption(), done, times);
    return EXIT_INTERRUPTED;
}

int cmd_forget(int argc, char **argv)
{
    struct args a;
    struct memory_file file;
    double beta = -1;
    size_t times = 1;
    args_begin(&a, argc, argv);
    for (int c; (c = args_next(&a)) >= 0;)
        if (c == OPT_BETA)
            beta = args_number(&a, optarg, 0, 1);
        else
            times = (size_t)args_whole(&a, optarg, 1, 1000000000);
    if (!args_expect(&a, 1, 1))
        return a.status;
    if (beta < 0)
        return console_usage(&a.console, "give --beta: 0 forgets nothing, 1 everything");
    catch_interrupts();
    if (sequence_file_is(args_rest(&a)[0]))
        return console_flush(&a.console, sequence_file_forget(&a.console, args_rest(&a)[0], beta, times));
    int status = memory_file_open(&a.console, args_rest(&a)[0], TO_CHANGE, &file);
    if (status != 0)
        return status;
    status = forget_times(&file, beta, times);
    memory_file_close(&file);
    return console_flush(&a.console, status);
}
