/*
 * The one thread that touches the memory. Requests wait in two queues, those that look and those that change; the
 * thread takes turns: the looks that wait, in batches of those that go together, then a few rows of the changes that
 * wait, and one sync. So a look waits for one such turn at most, besides the looks before it, and a change is durable
 * before it is answered.
 */
#ifndef BPCN_SERVER_ENGINE_H
#define BPCN_SERVER_ENGINE_H

#include "recall.h"
#include "memory_file.h"
#include "settings.h"

#include <pthread.h>

enum job_kind {
    JOB_READ,
    JOB_SCORE,
    JOB_SAMPLE,
    JOB_LOOK,  /* brings engine_state up to date */
    JOB_NAMES, /* lists them */
    JOB_WRITE,
    JOB_DELETE,
    JOB_FORGET
};

struct job {
    /* in */
    enum job_kind kind;
    size_t rows;                /* of samples: how many */
    const float *x;             /* [rows x dim] */
    const unsigned char *known; /* [rows x dim], or NULL: rows are whole */
    const char *names;          /* [rows x NAME_ROOM] of writes, "" for none; of deletes in place of x; or NULL */
    double noise, forgotten;    /* of reads; see body.h */
    double beta;                /* to forget */
    uint64_t draw;              /* of samples */
    size_t shards;
    /* out; room of the caller's, NULL where it is not wanted */
    float *answers;         /* [rows x dim] */
    float *spread;          /* [rows x dim] */
    double *trace;          /* [rows x TRACE_MOST] of reads in a memory of one file */
    bpcn_read_info *info;   /* [rows] of reads and scores */
    double *typicality;     /* [rows] of scores; -1: cannot be told of a folder */
    bpcn_write_row *became; /* [rows] of writes */
    char *answered;         /* [rows x NAME_ROOM] of reads: the row that was recalled, "" where that is not known */
    bpcn_name *list;        /* [listed] names, the oldest first, to be freed */
    size_t listed;
    size_t done;  /* rows that are read, or are in the memory */
    size_t wrong; /* the row that a change failed at */
    bpcn_status status;
    char why[512]; /* the library's sentence */
    /* the engine's */
    double arrived;       /* in seconds */
    uint64_t number;      /* of looks, by their arrival */
    uint64_t made_before; /* rows that had been changed then */
    bool finished;
    pthread_cond_t is_finished;
    struct job *next;
};

/* What is known of the memory without asking it. */
struct state {
    bpcn_stats stats;
    double fullness;
    size_t shards;           /* of rows */
    uint64_t *rows;          /* [shards] written to each */
    uint64_t batches;        /* of reads so far */
    uint64_t changes_waited; /* rows changed while a look waited, at most */
    size_t waiting;          /* jobs */
};

struct engine;

struct engine *engine_start(struct memfile *file, const struct settings *settings);

enum engine_answer { ENGINE_DONE, ENGINE_FULL, ENGINE_STOPPED };

/* Waits for the job to be done. The job's status says how it went. */
enum engine_answer engine_do(struct engine *engine, struct job *job);

/* How many connections there are that might ask: a read waits for no more than these. */
void engine_tell_connections(struct engine *engine, int more);

/* A copy; free its rows. */
struct state engine_state(struct engine *engine);

/* Finishes what waits, takes no more, and ends the thread. The memory file is the caller's again. */
void engine_stop(struct engine *engine);

#endif
