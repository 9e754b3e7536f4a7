/* The ranks of bpcn-mpi other than 0, which is the program. */
#ifndef BPCN_MPI_COLLECTIVE_H
#define BPCN_MPI_COLLECTIVE_H

/* Obeys rank 0 until it ends. */
void collective_serve(void);

/* Rank 0 ends the others. */
void collective_end(void);

#endif
