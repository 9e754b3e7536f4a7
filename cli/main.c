/* bpcn. A file of its own because bpcn-mpi, which shares all others, has another main. */
#include "options.h"

#include <signal.h>

const char program_name[] = "bpcn";

int main(int argc, char **argv)
{
    signal(SIGPIPE, SIG_IGN); /* a closed pipe and a limit on file sizes are */
    signal(SIGXFSZ, SIG_IGN); /* errors to report, not reasons to end midway */
    return run_command(argc, argv);
}
