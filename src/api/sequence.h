/*
 * A sequence on top of a memory. Row number p of the memory is the frame with position p:
 *     [ code of p, CODE signs | frame, dim | sketches of frames p - 1, p - 2, p - 3 ]
 * The memory's count of rows written is the position of the next frame, so the note need not change while frames are
 * appended: it has where each episode begins, and the last one ends where the memory does.
 */
#ifndef BPCN_SEQUENCE_INNER_H
#define BPCN_SEQUENCE_INNER_H

#include "bayespcn_sequence.h"
#include "symbols.h"
#include "transaction.h"

enum {
    SEQUENCE_UNITS = 64, /* of each of a shard's two layers: one layer fails, and wider ones are slower to write */
    SEQUENCE_ROWS = 60,  /* of a shard. Of 64, as many as units, the last has an error of 1e-5 instead of 1e-8 (Fashion-MNIST) */
    SEQUENCE_CODE = 128, /* signs of a position. With as many as rows of a shard 8 % of frames blur, with 1.5 times as many
                            none of 1,024 (Fashion-MNIST) */
    SEQUENCE_LAGS = 3,   /* frames before that a row has sketches of */
    SEQUENCE_SKETCH = 64 /* entries of a sketch, at most */
};

struct episode {
    char name[BPCN_MAX_NAME + 1];
    uint64_t first, frames; /* frames: of the open one 0, it reaches to the end */
};

struct bpcn_sequence {
    bpcn_memory *memory;
    bpcn_sequence_options options; /* scale 0: not yet measured */
    size_t sketch, row;            /* entries of a sketch, of a row */
    int stated;                    /* the caller stated centre and scale */
    struct episode *episode;       /* [count], oldest first */
    size_t count, room;
    int open;                      /* the last episode can go on */
    float recent[SEQUENCE_LAGS * SEQUENCE_SKETCH]; /* sketches of the open episode's last frames, the latest first */
    int recalled;                                  /* 1: `recent` holds them */
};

/* Positions from `first` to before `end` are held by the memory. */
void sequence_held(const bpcn_sequence *s, uint64_t *first, uint64_t *end);

/* The episode that this held position belongs to; s->count: none. */
size_t sequence_episode_at(const bpcn_sequence *s, uint64_t position);
uint64_t sequence_episode_frames(const bpcn_sequence *s, size_t episode);

/* Frames that can be found. */
uint64_t sequence_frames(const bpcn_sequence *s);

/* frames [n x dim] at these positions, which are held, and the variance of each [n], in units of the scale. */
bpcn_status sequence_recall(const bpcn_sequence *s, const uint64_t *position, size_t n, float *frames, double *variance);

/* A sketch of a frame: out [s->sketch], with entry e a sum with random signs over the e-th part of the frame, divided by
   the square root of its entries, so that noise stays as large as it is. out_known (may be NULL): whether all of that
   part is known. */
void sequence_sketch(const bpcn_sequence *s, const float *frame, const unsigned char *known, float *out,
                     unsigned char *out_known);

#endif
