/* bpcn fill: a table, or an array, with its gaps filled in and everything else as it was; with --write each row is
   learnt after it was filled. */
#include "args.h"
#include "commands.h"
#include "fill.h"
#include "progress.h"

#include <string.h>

enum { OPT_SPREAD = 460, OPT_WRITE };

static const struct option own[] = {{"output", required_argument, NULL, 'o'},
                                    {"spread", required_argument, NULL, OPT_SPREAD},
                                    {"write", no_argument, NULL, OPT_WRITE},
                                    {NULL, 0, NULL, 0}};

static void tell(const struct fill *f)
{
    const struct say *say = f->file.say;
    FILE *to = strcmp(f->output, "-") == 0 ? stderr : stdout;
    if (say->quiet)
        return;
    if (say->json) {
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
    int status = memfile_open(&a->say, args_rest(a)[0], f->write ? TO_CHANGE : TO_LOOK, &f->file);
    if (status != 0)
        return status;
    progress_begin(&f->progress, &a->say, "filling", "rows");
    status = fill_is_table(f, input) ? fill_table(f, input) : fill_array(f, input);
    progress_clear(&f->progress);
    if (status == EXIT_INTERRUPTED)
        say_error(&a->say, "%s: %s after %zu row%s%s%s%s", f->file.path, interruption(), f->rows,
                  f->rows == 1 ? "" : "s", piped ? "" : "; ", piped ? "" : f->output, piped ? "" : " was not written");
    int saved = f->written > 0 ? memfile_commit(&f->file) : 0;
    if (status == 0 && saved == 0)
        tell(f);
    else if (f->written > 0)
        say_error(&a->say, "%s: %zu row%s written before that %s in the memory", f->file.path, f->written,
                  f->written == 1 ? "" : "s", f->written == 1 ? "is" : "are");
    memfile_close(&f->file);
    return status ? status : saved;
}

int cmd_fill(int argc, char **argv)
{
    struct args a;
    struct fill f = {.output = "-"};
    args_begin(&a, argc, argv, own);
    args_add(&a, input_option_list);
    for (int c; (c = args_next(&a)) >= 0;)
        if (c == 'o')
            f.output = optarg;
        else if (c == OPT_SPREAD)
            f.spread = optarg;
        else if (c == OPT_WRITE)
            f.write = true;
        else
            input_option(&a, c, &f.input);
    if (!args_expect(&a, 2, 2, "MEM TABLE [-o OUT] [--spread FILE] [--write]"))
        return a.status;
    if (f.input.first > 0 || f.input.count > 0)
        return say_usage(&a.say, "--rows: a table is filled whole");
    if (f.input.skip_bad)
        return say_usage(&a.say, "--skip-bad: there is one table to fill");
    catch_interrupts();
    int status = open_and_run(&a, &f);
    return say_flush(&a.say, status);
}
