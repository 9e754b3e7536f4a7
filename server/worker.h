/*
 * The one thread that touches a memory. Requests wait in two queues, reads and changes; the thread takes turns: the
 * reads that wait, in batches of those that go together, then a few rows of the changes that wait, and one sync. So a
 * read waits for one such turn at most, besides the reads before it, and a change is durable before it is answered.
 */
#ifndef BPCN_SERVER_WORKER_H
#define BPCN_SERVER_WORKER_H

#include "recall.h"
#include "memory_file.h"
#include "serve.h"

#include <pthread.h>

enum job_kind {
    JOB_READ,
    JOB_SCORE,
    JOB_SAMPLE,
    JOB_CODES,    /* the hidden activations of rows */
    JOB_SEARCH,   /* the best answers to each row */
    JOB_STATE,    /* brings worker_state up to date */
    JOB_NAMES,    /* lists them */
    JOB_SNAPSHOT, /* a copy of the memory's file */
    JOB_REPLACE,  /* the memory by a reopened one */
    JOB_WRITE,
    JOB_DELETE,
    JOB_FORGET,
    JOB_UNDO,  /* takes the rows of the latest write back */
    JOB_REOPEN /* closes the file and opens what is at its path now */
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
    size_t shards, k;           /* k: answers to each row of a search */
    struct memory_file *replacement; /* of JOB_REPLACE; afterwards the one to close */
    /* out; allocated by the caller, NULL where it is not wanted */
    float *answers;         /* [rows x dim]; of JOB_CODES [rows x code_dim] */
    float *spread;          /* [rows x dim] */
    double *trace;          /* [rows x TRACE_MOST] of reads in a memory of one file */
    bpcn_read_info *info;   /* [rows] of reads and scores */
    double *typicality;     /* [rows] of scores; -1: the memory is a folder, which keeps none */
    char **blame;           /* [rows] of scores: of a table the columns to blame, in JSON, to be freed */
    bpcn_write_row *became; /* [rows] of writes */
    bpcn_match *matches;    /* [rows x k] of a search, whose answers are [rows x k x dim] */
    size_t *found;          /* [rows] of a search */
    char *answered;         /* [rows x NAME_ROOM] of reads, [rows x k x NAME_ROOM] of a search: the row that was recalled, "" where that is not known */
    bpcn_name *list;        /* [listed] names, the oldest first, to be freed */
    size_t listed;
    int snapshot;  /* an open file to read the copy from; the caller closes it */
    uint64_t step; /* of writes: what JOB_UNDO takes, 0: this write cannot be undone; of JOB_UNDO in */
    size_t done;   /* rows that are read, or are in the memory */
    size_t wrong;  /* the row that a change failed at */
    bpcn_status status;
    char why[512]; /* the library's sentence */
    /* the worker's */
    double arrived;          /* in seconds */
    uint64_t number;         /* of reads, by their arrival */
    uint64_t changes_before; /* rows changed until then */
    bool finished;
    pthread_cond_t is_finished;
    struct job *next;
};

/* What is known of the memory without asking it. */
struct worker_state {
    bpcn_stats stats;
    double fullness;
    size_t shards;           /* of rows */
    uint64_t *rows;          /* [shards] written to each */
    uint64_t batches;        /* of reads so far */
    uint64_t changes_waited; /* rows changed while a read waited, at most */
    size_t waiting;          /* jobs */
    uint64_t reopened;       /* how often the file was reopened */
    bpcn_status error;       /* of the file: BPCN_OK, or why it failed */
};

/* What happened to the memory of late, for the page. */
enum { EVENTS_MOST = 256 };
struct worker_event {
    uint64_t number; /* from 1 */
    double when;     /* seconds since 1970 */
    enum job_kind kind;
    double familiarity;
    bpcn_verdict verdict;
    char name[NAME_ROOM];
};

struct worker;

/* The file, its schema and options are the caller's; the memory itself belongs to the worker until worker_stop. */
struct worker *worker_start(struct served *served, const struct settings *settings);

enum worker_answer { WORKER_DONE, WORKER_FULL, WORKER_STOPPED };

/* Waits for the job to be done. The job's status says how it went. */
enum worker_answer worker_do(struct worker *worker, struct job *job);

/* How many connections there are that might ask: a read waits for no more than these. */
void worker_tell_connections(struct worker *worker, int more);

/* A copy; free its rows. */
struct worker_state worker_state(struct worker *worker);

void worker_record(struct worker *worker, enum job_kind kind, double familiarity, bpcn_verdict verdict,
                   const char *name);

/* Events after the one numbered `after`, the oldest first, [EVENTS_MOST]; how many. */
size_t worker_events(struct worker *worker, uint64_t after, struct worker_event *events);

/* Whether the file that the memory is in is still there; changes worker_state().error. */
void worker_check_file(struct worker *worker);

/* What waits ends unfinished, and nothing more is taken. */
void worker_abandon(struct worker *worker);

/* Finishes what waits, takes no more, and ends the thread. The memory file is the caller's again; false: it is closed,
   because it could not be opened again. */
bool worker_stop(struct worker *worker);

#endif
