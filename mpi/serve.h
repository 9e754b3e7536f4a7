/* The ranks of bpcn-mpi other than 0, which is the program. */
#ifndef BPCN_MPI_SERVE_H
#define BPCN_MPI_SERVE_H

/* Obeys rank 0 until it ends. */
void serve(void);

#endif
