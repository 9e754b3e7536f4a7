/*
 * bpcn-mpi: the commands of bpcn on a folder of memory files that the ranks share out.
 *
 *     mpirun -n 4 bpcn-mpi create faces --image 32x32x3 --shards 64 --hidden 64,64,64
 *     mpirun -n 4 bpcn-mpi write faces photos/
 */
#include "collective.h"
#include "options.h"

#include <mpi.h>

#include <signal.h>
#include <stdio.h>

const char program_name[] = "bpcn-mpi";

int main(int argc, char **argv)
{
    int rank, status = 0;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    setvbuf(stdout, NULL, _IOLBF, BUFSIZ); /* what is acknowledged is printed at once, whichever rank dies next */
    signal(SIGPIPE, SIG_IGN);              /* errors to report, not reasons to end midway */
    signal(SIGXFSZ, SIG_IGN);
    if (rank > 0)
        collective_serve();
    else {
        status = run_command(argc, argv);
        fflush(stdout);
        collective_end();
    }
    MPI_Finalize();
    return status;
}
