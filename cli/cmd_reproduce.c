/* bpcn reproduce: the paper's tables and figures, one command each. */
#include "commands.h"

#include "reproduce.h"

#include <stdio.h>

int cmd_reproduce(int argc, char **argv)
{
    struct reproduction r;
    struct failure failure = {""};
    int status = reproduce_parse(argc, argv, &r, &failure);
    if (status > 0) {
        fputs(reproduce_usage(), stdout);
        return 0;
    }
    if (status == 0)
        status = reproduce_prepare(&r, &failure);
    if (status == 0 && !r.report_only)
        status = jobs_run(&r.list, r.processes, &failure);
    if (status == 0)
        status = reproduce_finish(&r, &failure);
    if (status == 0)
        printf("%zu cells in %s/cells.csv; the report is %s/report.html\n", r.list.cells, r.out, r.out);
    else
        fprintf(stderr, "bpcn reproduce: %s\n", failure.text);
    reproduce_free(&r);
    return status == 0 ? 0 : 1;
}
