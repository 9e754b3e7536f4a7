/*
 * bpcn-mpi: the commands of bpcn on a folder of memory files that the ranks share out.
 *
 *     mpirun -n 4 bpcn-mpi create faces --image 32x32x3 --shards 64 --hidden 64,64,64
 *     mpirun -n 4 bpcn-mpi write faces photos/
 */
#include "args.h"
#include "help.h"
#include "progress.h"
#include "collective.h"

#include <mpi.h>

#include <signal.h>
#include <string.h>

const char program_name[] = "bpcn-mpi";

static int command(int argc, char **argv)
{
    struct console console = console_default(NULL);
    const struct command *found = argc > 1 ? find_command(argv[1]) : NULL;
    if (argc < 2)
        return console_usage(&console, "give a command");
    if (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0)
        return find_command("help")->run(1, argv + 1);
    if (found == NULL)
        return console_usage(&console, "unknown command '%s'", argv[1]);
    return exit_status(found->run(argc - 1, argv + 1));
}

int main(int argc, char **argv)
{
    int rank, status = EXIT_DONE;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    setvbuf(stdout, NULL, _IOLBF, BUFSIZ); /* what is acknowledged is seen, whoever dies next */
    signal(SIGPIPE, SIG_IGN);              /* errors to report, not reasons to die in the middle */
    signal(SIGXFSZ, SIG_IGN);
    if (rank > 0)
        collective_serve();
    else {
        status = command(argc, argv);
        fflush(stdout);
        collective_end();
    }
    MPI_Finalize();
    return status;
}
