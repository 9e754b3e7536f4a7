/*
 * bpcn-paper-mpi reproduce: the cells of an experiment on many machines. Rank 0 hands out jobs, one at a time, to
 * whoever is free; all ranks see the results folder through a shared file system.
 *
 *     mpirun -n 8 bpcn-paper-mpi reproduce recall --tier paper
 */
#include "reproduce.h"

#include <mpi.h>

#include <stdio.h>
#include <string.h>

enum { NO_MORE = -1, ASK = 1, GIVE = 2 };

/* What a worker says when it asks for its next job. */
struct message {
    int failed;
    char text[1024];
};

static void serve(const struct job_list *list, int workers, int *status, struct failure *failure)
{
    int next = 0;
    while (workers > 0) {
        struct message m;
        MPI_Status from;
        MPI_Recv(&m, (int)sizeof m, MPI_BYTE, MPI_ANY_SOURCE, ASK, MPI_COMM_WORLD, &from);
        if (m.failed && *status == 0)
            *status = failed(failure, "%.900s", m.text);
        int job = *status == 0 && next < (int)list->jobs ? next++ : NO_MORE;
        workers -= job == NO_MORE;
        MPI_Send(&job, 1, MPI_INT, from.MPI_SOURCE, GIVE, MPI_COMM_WORLD);
    }
}

static void work(const struct job_list *list, int prepared, const struct failure *reason)
{
    struct message m = {.failed = prepared != 0};
    int job = 0;
    snprintf(m.text, sizeof m.text, "%s", reason->text);
    while (job != NO_MORE) {
        MPI_Send(&m, (int)sizeof m, MPI_BYTE, 0, ASK, MPI_COMM_WORLD);
        MPI_Recv(&job, 1, MPI_INT, 0, GIVE, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        struct failure failure = {""};
        m.failed = job != NO_MORE && job_run(list, (size_t)job, &failure) != 0;
        snprintf(m.text, sizeof m.text, "%s", failure.text);
    }
}

/* Every rank makes the same list of jobs from the same arguments. */
static int share_cells(int argc, char **argv, int rank, int ranks, struct failure *failure)
{
    struct reproduction r;
    int status = reproduce_parse(argc, argv, &r, failure);
    if (status > 0 && rank == 0)
        fputs(reproduce_usage(), stdout);
    if (status != 0)
        return status;
    if (r.check)
        return failed(failure, "--check is an option of bpcn-paper reproduce only");
    r.processes = 2; /* several on one machine are likely: one thread each */
    status = reproduce_prepare(&r, failure);
    MPI_Barrier(MPI_COMM_WORLD); /* nobody adds cells while somebody still counts them */
    if (rank > 0) {
        work(&r.list, status, failure);
        status = 0;
    } else {
        serve(&r.list, ranks - 1, &status, failure);
        for (size_t job = 0; ranks == 1 && status == 0 && job < r.list.jobs; job++)
            status = job_run(&r.list, job, failure);
        if (status == 0)
            status = reproduce_finish(&r, failure);
        if (status == 0)
            reproduce_tell(&r, stdout);
    }
    reproduce_free(&r);
    return status;
}

int main(int argc, char **argv)
{
    struct failure failure = {""};
    int rank, ranks, status = -1;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    if (argc > 1 && strcmp(argv[1], "reproduce") == 0)
        status = share_cells(argc - 1, argv + 1, rank, ranks, &failure);
    else
        failed(&failure, "the only command is reproduce");
    if (status < 0 && rank == 0)
        fprintf(stderr, "bpcn-paper-mpi: %s\n", failure.text);
    MPI_Finalize();
    return status < 0 ? 1 : 0;
}
