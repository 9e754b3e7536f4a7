/* bpcn sample: what the memory imagines. */
#include "args.h"
#include "commands.h"
#include "memfile.h"
#include "output.h"

#include <stdlib.h>

enum { OPT_DRAW = 400 };

static const struct option own[] = {
    {"number", required_argument, NULL, 'n'}, {"seed", required_argument, NULL, OPT_DRAW}, {NULL, 0, NULL, 0}};

static int run(struct memfile *file, struct output *out, size_t n, uint64_t draw)
{
    float *x = malloc(n * file->remark.fields.dim * sizeof *x);
    if (x == NULL)
        return say_error(file->say, "out of memory");
    int status = memfile_sample(file, n, draw, x) == BPCN_OK ? 0 : memfile_error(file);
    status = status ? status : output_add(out, NULL, NULL, n, x, NULL);
    status = status ? status : output_finish(out);
    free(x);
    return status;
}

int cmd_sample(int argc, char **argv)
{
    struct args a;
    struct memfile file;
    struct output_options options = {0};
    size_t n = 16;
    uint64_t draw = 0;
    args_begin(&a, argc, argv, own);
    args_add(&a, output_option_list);
    for (int c; (c = args_next(&a)) >= 0;)
        if (c == 'n')
            n = (size_t)args_whole(&a, "-n", optarg, 1, 1000000);
        else if (c == OPT_DRAW)
            draw = args_whole(&a, "--seed", optarg, 0, UINT64_MAX);
        else
            output_option(&a, c, &options);
    if (!args_expect(&a, 1, 1, "MEM [-n 16] -o samples.png"))
        return a.status;
    if (options.path == NULL)
        return say_usage(&a.say, "say where to with -o, such as -o samples.png");
    int status = memfile_open(&a.say, args_rest(&a)[0], TO_LOOK, &file);
    if (status != 0)
        return status;
    struct output *out = output_open(&a.say, &file.remark.fields, &options);
    status = out ? run(&file, out, n, draw) : EXIT_USAGE;
    output_close(out);
    memfile_close(&file);
    return say_flush(&a.say, status);
}
