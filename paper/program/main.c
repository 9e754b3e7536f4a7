/* bpcn-paper: the laboratory's program. It measures methods on datasets and makes the paper's tables and figures. */
#include "rechecks.h"
#include "program.h"
#include "reproduce.h"

#include <stdio.h>
#include <string.h>

static int compute(struct reproduction *r, struct failure *failure)
{
    int status = r->plan_only ? 0 : jobs_run(&r->list, r->processes, failure);
    if (status == 0)
        status = reproduce_finish(r, failure);
    if (status == 0)
        reproduce_tell(r, stdout);
    return status;
}

static int paper_reproduce(int argc, char **argv)
{
    struct reproduction r;
    struct failure failure = {""};
    size_t moved = 0;
    int status = reproduce_parse(argc, argv, &r, &failure);
    if (status > 0) {
        fputs(reproduce_usage(), stdout);
        return 0;
    }
    if (status == 0)
        status = reproduce_prepare(&r, &failure);
    if (status == 0)
        status = r.check ? recheck_cells(&r.list, r.sample, r.seed, r.record, stdout, &moved, &failure)
                         : compute(&r, &failure);
    if (status != 0)
        fprintf(stderr, "bpcn-paper reproduce: %s\n", failure.text);
    reproduce_free(&r);
    return status == 0 && moved == 0 ? 0 : 1;
}

int main(int argc, char **argv)
{
    static const char usage[] = "usage: bpcn-paper COMMAND [OPTIONS]\n"
                                "\n"
                                "  eval       measure how well a method recalls the images of a dataset\n"
                                "  reproduce  compute a table or figure of the paper\n"
                                "\n"
                                "  bpcn-paper COMMAND --help prints the options.\n";
    if (argc > 1 && strcmp(argv[1], "eval") == 0)
        return paper_eval(argc - 1, argv + 1);
    if (argc > 1 && strcmp(argv[1], "reproduce") == 0)
        return paper_reproduce(argc - 1, argv + 1);
    int help = argc > 1 && strcmp(argv[1], "--help") == 0;
    fputs(usage, help ? stdout : stderr);
    return help ? 0 : 2;
}
