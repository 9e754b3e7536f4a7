/* A stream of writes with measurements along the way: one stream serves all lengths. */
#ifndef EXPERIMENTS_STREAM_H
#define EXPERIMENTS_STREAM_H

#include "method.h"
#include "record.h"
#include "task.h"

/* Says how far something long has come; context as given. total may be 0. */
typedef void progress_fn(void *context, const char *what, size_t done, size_t total);

struct stream {
    const struct dataset *dataset;
    struct method method;
    double write_seconds; /* so far, forgetting included */
    size_t learnt;        /* images that an offline network has learnt from, and the seconds that took */
    double learn_seconds;
    int twice;             /* reads are timed once more with everything prepared: again_seconds, prepared_bytes */
    progress_fn *progress; /* or NULL */
    void *context;
};

enum { AGES = 16 }; /* groups of equal size, oldest first, that errors are also reported by */

int stream_create(struct stream *stream, const struct dataset *dataset, const struct method_spec *spec,
                  struct failure *failure);
void stream_free(struct stream *stream);

/* Writes on until `length` images are stored. */
int stream_advance(struct stream *stream, size_t length, struct failure *failure);

/* An offline network learns from what is written; else its first read would. Others have learnt already. */
int stream_learn(struct stream *stream, struct failure *failure);

/* Notes learn_seconds, of offline networks. */
void note_learning(const struct stream *stream, struct record *record);

/* Reads back every stored image, or `limit` of them spread evenly (0: all), corrupted. The record gets length,
   queries, mse, mse_max, mse_std, accuracy, identity_mse, evaluations (per query), above_stored (share; absent
   for opponents and shards), right (share answered by the shard that has the row; shards only), write_seconds,
   read_seconds, bytes, and age_0 .. age_15. */
int stream_measure(struct stream *stream, const struct task *task, bpcn_objective objective, size_t limit,
                   struct record *record, struct failure *failure);

/* The same for the latest `latest` images alone, `limit` of them (0: all); the ages are theirs, and exact_0 .. exact_15
   are the shares recalled correctly. */
int stream_measure_latest(struct stream *stream, const struct task *task, bpcn_objective objective, size_t latest,
                          size_t limit, struct record *record, struct failure *failure);

#endif
