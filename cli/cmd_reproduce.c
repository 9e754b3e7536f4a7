/* bpcn reproduce: the paper's tables and figures, one command each. */
#include "commands.h"

#include "check.h"
#include "commit.h"
#include "reproduce.h"

#include <stdio.h>

static int compute(struct reproduction *r, struct failure *failure)
{
    int status = r->report_only ? 0 : jobs_run(&r->list, r->processes, failure);
    if (status == 0)
        status = reproduce_finish(r, failure);
    if (status == 0)
        reproduce_tell(r, stdout);
    return status;
}

int cmd_reproduce(int argc, char **argv)
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
        status = reproduce_prepare(&r, program_commit(), &failure);
    if (status == 0)
        status = r.check ? check_cells(&r.list, r.sample, r.seed, r.record, stdout, &moved, &failure)
                         : compute(&r, &failure);
    if (status != 0)
        fprintf(stderr, "bpcn reproduce: %s\n", failure.text);
    reproduce_free(&r);
    return status == 0 && moved == 0 ? 0 : 1;
}
