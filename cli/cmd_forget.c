/* bpcn forget: everything fades towards the prior. */
#include "args.h"
#include "commands.h"
#include "memfile.h"
#include "progress.h"
#include "verdict.h"

enum { OPT_BETA = 400, OPT_TIMES };

static const struct option own[] = {
    {"beta", required_argument, NULL, OPT_BETA}, {"times", required_argument, NULL, OPT_TIMES}, {NULL, 0, NULL, 0}};

static int fade(struct memfile *file, double beta, size_t times, size_t *done)
{
    struct progress p;
    progress_begin(&p, file->say, "forgetting", "times");
    for (*done = 0; *done < times && !interrupted(); ++*done) {
        progress_update(&p, *done, times);
        if (memfile_forget(file, beta) != BPCN_OK) {
            progress_clear(&p);
            return memfile_error(file);
        }
    }
    progress_clear(&p);
    return 0;
}

static int run(struct memfile *file, double beta, size_t times)
{
    const struct say *say = file->say;
    size_t done = 0;
    int status = fade(file, beta, times, &done);
    if (status == 0)
        status = measure_fullness(file, NULL);
    int saved = memfile_commit(file);
    status = status ? status : saved;
    if (status != 0)
        return status;
    say_result(say, "%s: forgot by %g, %zu time%s; %.0f %% full\n", file->path, beta, done, done == 1 ? "" : "s",
               100 * file->remark.fullness);
    if (say->json)
        printf("{\"forgets\":%zu,\"beta\":%.9g,\"fullness\":%.6g}\n", done, beta, file->remark.fullness);
    if (done == times)
        return EXIT_DONE;
    say_error(say, "%s: %s; forgot %zu of %zu times", file->path, interruption(), done, times);
    return EXIT_INTERRUPTED;
}

int cmd_forget(int argc, char **argv)
{
    struct args a;
    struct memfile file;
    double beta = -1;
    size_t times = 1;
    args_begin(&a, argc, argv, own);
    for (int c; (c = args_next(&a)) >= 0;)
        if (c == OPT_BETA)
            beta = args_number(&a, "--beta", optarg, 0, 1);
        else
            times = (size_t)args_whole(&a, "--times", optarg, 1, 1000000000);
    if (!args_expect(&a, 1, 1, "MEM --beta 0.01 [--times N]"))
        return a.status;
    if (beta < 0)
        return say_usage(&a.say, "--beta is needed: 0 forgets nothing, 1 everything");
    catch_interrupts();
    int status = memfile_open(&a.say, args_rest(&a)[0], TO_CHANGE, &file);
    if (status != 0)
        return status;
    status = run(&file, beta, times);
    memfile_close(&file);
    return say_flush(&a.say, status);
}
