/* Ranks that agree. */
#include "together.h"

#include <mpi.h>

#include <stdlib.h>

int rank_of(void)
{
    int rank;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    return rank;
}

/* A rank without memory for its buffers cannot take part in what follows. */
void *room(size_t count, size_t size)
{
    void *p = calloc(count > 0 ? count : 1, size);
    if (p == NULL) {
        fprintf(stderr, "bpcn-mpi: rank %d is out of memory; what was acknowledged is in the files\n", rank_of());
        MPI_Abort(MPI_COMM_WORLD, EXIT_FAILED);
    }
    return p;
}

void tell_all(void *bytes, size_t count)
{
    MPI_Bcast(bytes, (int)count, MPI_BYTE, 0, MPI_COMM_WORLD);
}

void give_order(struct order *order)
{
    tell_all(order, sizeof *order);
}

/* Every rank has the trouble of the first that has any. */
int agree(struct trouble *trouble)
{
    struct {
        int fine, rank;
    } mine = {trouble->status == 0, rank_of()}, first;
    MPI_Allreduce(&mine, &first, 1, MPI_2INT, MPI_MINLOC, MPI_COMM_WORLD);
    if (first.fine)
        return 0;
    MPI_Bcast(trouble, (int)sizeof *trouble, MPI_BYTE, first.rank, MPI_COMM_WORLD);
    return trouble->status;
}

uint64_t add_up(uint64_t mine)
{
    uint64_t all;
    MPI_Allreduce(&mine, &all, 1, MPI_UINT64_T, MPI_SUM, MPI_COMM_WORLD);
    return all;
}

void find_ranks(struct folder *folder)
{
    MPI_Comm_rank(MPI_COMM_WORLD, &folder->rank);
    MPI_Comm_size(MPI_COMM_WORLD, &folder->ranks);
}

int owner(const struct folder *folder, size_t f)
{
    return (int)(f % (size_t)folder->ranks);
}

void library_failed(struct trouble *trouble, bpcn_status status)
{
    trouble_set(trouble, (int)status, "%s", bpcn_error());
}
