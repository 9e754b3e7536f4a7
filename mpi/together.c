/* together.h for the ranks of an MPI job. Of a rank that dies MPI ends the job. */
#include "together.h"

#include <mpi.h>

#include <stdlib.h>

enum { AT_ONCE = 1 << 30 }; /* bytes of a broadcast: MPI counts them in an int */

static int rank_of(void)
{
    int rank;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    return rank;
}

bool alone(void)
{
    return false;
}

void find_ranks(struct folder *folder)
{
    MPI_Comm_rank(MPI_COMM_WORLD, &folder->rank);
    MPI_Comm_size(MPI_COMM_WORLD, &folder->ranks);
}

void *room(size_t count, size_t size)
{
    void *p = calloc(count > 0 ? count : 1, size);
    if (p == NULL) {
        fprintf(stderr, "bpcn-mpi: rank %d is out of memory; what was acknowledged is in the files\n", rank_of());
        MPI_Abort(MPI_COMM_WORLD, EXIT_FAILED);
    }
    return p;
}

void give_order(struct order *order)
{
    tell_all(order, sizeof *order);
}

void tell_all(void *bytes, size_t count)
{
    tell_from(0, bytes, count);
}

void tell_from(int rank, void *bytes, size_t count)
{
    for (unsigned char *at = bytes; count > 0;) {
        size_t some = count < AT_ONCE ? count : AT_ONCE;
        MPI_Bcast(at, (int)some, MPI_BYTE, rank, MPI_COMM_WORLD);
        at += some;
        count -= some;
    }
}

int agree(struct trouble *trouble)
{
    struct {
        int fine, rank;
    } mine = {trouble->status == 0, rank_of()}, first;
    MPI_Allreduce(&mine, &first, 1, MPI_2INT, MPI_MINLOC, MPI_COMM_WORLD);
    if (first.fine)
        return 0;
    tell_from(first.rank, trouble, sizeof *trouble);
    return trouble->status;
}

void add_up(uint64_t *number, size_t n)
{
    MPI_Allreduce(MPI_IN_PLACE, number, (int)n, MPI_UINT64_T, MPI_SUM, MPI_COMM_WORLD);
}

void add_up_reals(double *number, size_t n)
{
    MPI_Allreduce(MPI_IN_PLACE, number, (int)n, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
}

void greatest(double *number, size_t n)
{
    MPI_Allreduce(MPI_IN_PLACE, number, (int)n, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
}

void highest(struct claim *claim, size_t n)
{
    MPI_Allreduce(MPI_IN_PLACE, claim, (int)n, MPI_DOUBLE_INT, MPI_MAXLOC, MPI_COMM_WORLD);
}

static MPI_Datatype item_of(size_t bytes)
{
    MPI_Datatype item;
    MPI_Type_contiguous((int)bytes, MPI_BYTE, &item);
    MPI_Type_commit(&item);
    return item;
}

void hand_out(const void *all, const int *count, const int *at, size_t bytes, void *mine)
{
    MPI_Datatype item = item_of(bytes);
    MPI_Scatterv(all, count, at, item, mine, count[rank_of()], item, 0, MPI_COMM_WORLD);
    MPI_Type_free(&item);
}

void hand_in(const void *mine, const int *count, const int *at, size_t bytes, void *all)
{
    MPI_Datatype item = item_of(bytes);
    MPI_Gatherv(mine, count[rank_of()], item, all, count, at, item, 0, MPI_COMM_WORLD);
    MPI_Type_free(&item);
}
