/* bpcn-mpi reproduce: called by all ranks with the same arguments; 0, above 0 after the help, or below with the reason.
 */
#ifndef BPCN_MPI_SHARE_CELLS_H
#define BPCN_MPI_SHARE_CELLS_H

#include "reproduce.h"

int share_cells(int argc, char **argv, int rank, int ranks, struct failure *failure);

#endif
