/*
 * bayespcn_sequence: episodes. Write films, signals or any streams of frames into one memory; play them back from any
 * place, find the place of a noisy or partial frame, and follow a stream.
 *
 *     bpcn_sequence_options o;
 *     bpcn_sequence_options_default(&o, sizeof o);
 *     o.dim = 784; o.capacity = 10000;
 *     bpcn_sequence *s;
 *     if (bpcn_sequence_create(&o, &s) != BPCN_OK) { puts(bpcn_error()); return 1; }
 *     bpcn_sequence_append(s, "film", 0, frames, 500, NULL);
 *     bpcn_sequence_play(s, 0, 100, 1, 50, out, NULL);
 *     bpcn_sequence_locate(s, cues, NULL, 3, NULL, places, 5, &found);
 *     bpcn_sequence_close(s);
 *
 * One frame is one row of a bpcn_memory: [ code of its position | frame | sketches of the three frames before ]. The
 * position is given, not inferred: each frame is recalled from its own position, so the errors of a long play do not add
 * up. A filter over positions finds the place of what is seen (docs/MODEL.md has its equations). Nothing here predicts
 * motion that was never written.
 *
 * Conventions are those of bayespcn.h. Frames are rows of dim floats in the caller's units. Functions that take a
 * `const bpcn_sequence *` may run on many threads at once; all others want it alone.
 */
#ifndef BAYESPCN_SEQUENCE_H
#define BAYESPCN_SEQUENCE_H

#include "bayespcn.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct bpcn_sequence bpcn_sequence;

typedef struct bpcn_sequence_options {
    size_t size;              /* of the caller's struct; set by bpcn_sequence_options_default */
    size_t dim;               /* entries of a frame; no default */
    size_t height, width, channels; /* what a frame is, for those who show it: their product is dim. 0 (default): a vector */
    uint64_t capacity;        /* frames, rounded up to a multiple of 60; default 4096 */
    bpcn_when_full when_full; /* BPCN_REFUSE (default), or BPCN_RECYCLE: the oldest 60 frames go, a window over an endless
                                 stream. BPCN_BLUR is refused */
    double centre, scale;     /* of the frames' entries, which should vary about `centre` by about `scale`. A scale of 0
                                 (default): both from the frames of the first append, at most 256 */
    double restart;           /* probability that the next cue of a stream comes from anywhere rather than from the next
                                 place, > 0, < 1; default 0.01 */
    uint64_t seed;            /* default 0 */
    int threads;              /* as in bpcn_options; default 0 */
} bpcn_sequence_options;

BPCN_API void bpcn_sequence_options_default(bpcn_sequence_options *options, size_t size);

/* An empty sequence in this process alone. *sequence is NULL after a failure. */
BPCN_API bpcn_status bpcn_sequence_create(const bpcn_sequence_options *options, bpcn_sequence **sequence);

/* The sequence in the file `path`. `create`: NULL, the file must be there; otherwise an empty one is made where there is
   none. `open` may be NULL; its own `create` must be. BPCN_FORMAT for a memory that holds no sequence. After a crash all
   frames whose append had returned are there, and of the append under way the first so many. */
BPCN_API bpcn_status bpcn_sequence_open(const char *path, const bpcn_open_options *open,
                                        const bpcn_sequence_options *create, bpcn_sequence **sequence);

/* Closes its file, if it has one, and frees it, also after a failure; NULL is fine. */
BPCN_API bpcn_status bpcn_sequence_close(bpcn_sequence *sequence);

/* The options in use, size set by the caller; centre and scale are those of the frames, 0 and 0 before the first. */
BPCN_API bpcn_status bpcn_sequence_get_options(const bpcn_sequence *sequence, bpcn_sequence_options *options);

/* The memory below: to forget, sync, checkpoint or save it, and for its counts. It belongs to the sequence; rows and notes
   that others write to it damage the sequence. */
BPCN_API bpcn_memory *bpcn_sequence_memory(bpcn_sequence *sequence);

/* ---- write -------------------------------------------------------------------------------- */

/* One episode: the frames of one film. 96 bytes in every version. */
typedef struct bpcn_episode {
    char name[BPCN_MAX_NAME + 1]; /* "" for none */
    uint64_t frames;              /* that were written */
    uint64_t dropped;             /* of those, the first so many are gone: their places were recycled */
    uint64_t position;            /* of its first frame, among all frames ever written */
    unsigned char reserved[8];    /* 0 */
} bpcn_episode;

/* Appends n frames [n x dim]: to a new episode with this name (NULL: none), or with go_on = 1 to the one that was written
   last. *written (may be NULL) says how many are in, also after a failure. Names follow the rules of bpcn_memory_write
   and need not differ. Some thousand episodes fit (64 kB of names). */
BPCN_API bpcn_status bpcn_sequence_append(bpcn_sequence *sequence, const char *name, int go_on, const float *frames,
                                          size_t n, size_t *written);

/* All episodes that have frames, oldest first: episodes [room]; tells how many there are. */
BPCN_API bpcn_status bpcn_sequence_episodes(const bpcn_sequence *sequence, bpcn_episode *episodes, size_t room,
                                            size_t *count);

/* The number, in that order, of the latest episode of this name. BPCN_INVALID when there is none. */
BPCN_API bpcn_status bpcn_sequence_find(const bpcn_sequence *sequence, const char *name, size_t *episode);

/* Takes back an episode exactly, all its frames or none; later episodes move down by one. frames [its frames x dim] are
   those that were written. NULL: they are played back, which is exact where their values are multiples of 1/255 from -1 or
   from 0 on, or whole numbers from 0 to 255, as those of pictures are. BPCN_NOT_HELD, and nothing changes, when a frame
   is another one or has faded or been recycled. */
BPCN_API bpcn_status bpcn_sequence_delete(bpcn_sequence *sequence, size_t episode, const float *frames);

/* ---- play --------------------------------------------------------------------------------- */

/* Recalls the frames of an episode at the places from, from + stride, ...: out [count x dim], spread [count x dim] (may
   be NULL) the standard deviation of each entry. stride 1 plays forward, -1 backward. BPCN_INVALID for a place that the
   episode does not have, BPCN_NOT_HELD for one that was recycled. */
BPCN_API bpcn_status bpcn_sequence_play(const bpcn_sequence *sequence, size_t episode, uint64_t from, int64_t stride,
                                        size_t count, float *out, float *spread);

/* ---- find the place, follow a stream ------------------------------------------------------ */

/* A place that the filter holds. 64 bytes in every version. */
typedef struct bpcn_place {
    double probability;         /* given all cues so far, and that the stream is in the sequence: bpcn_step.verdict and
                                   misfit say whether a cue was ever written */
    uint64_t episode;           /* number of the episode */
    uint64_t place;             /* of the latest cue, from 0 within its episode */
    double residual;            /* root mean square of latest cue - frame, in the caller's units; 0 if nothing was known */
    unsigned char reserved[32]; /* 0 */
} bpcn_place;

/* What the filter says of one cue. 128 bytes in every version. */
typedef struct bpcn_step {
    bpcn_place place;   /* the most probable; probability 0: there is none */
    double surprise;    /* of the place, in nats: -log of the probability that the filter gave, before the cue, to what
                           explains it. About 0: as expected; log(frames / restart) for a jump; log(frames) at first */
    double misfit;      /* of the frame: squares of cue - frame at the place that fits best, by how many of their standard
                           deviations they exceed what the noise of the cues before explains; some 2 are usual, hundreds
                           are a frame that was never written; 0 for the first cue, unless its noise is stated */
    double noise;       /* standard deviation stated or estimated for this cue, in the caller's units */
    bpcn_verdict verdict; /* the memory's: whether the cue itself is a frame that was written */
    int known;          /* 1: something of the cue was known; 0: it only let time pass */
    unsigned char reserved[32]; /* 0 */
} bpcn_step;

typedef struct bpcn_follow_options {
    size_t size;      /* of the caller's struct; set by bpcn_follow_options_default */
    double noise;     /* standard deviation of the noise on known entries, in the caller's units; negative (default):
                         estimated for each cue from the place that fits it best */
    double restart;   /* 0 (default): the sequence's */
    size_t beam;      /* places that are held; default 64 */
    size_t proposals; /* places that the frame alone proposes; default 16 */
    size_t window;    /* cues remembered, by which a proposed place is weighed; default 16 */
} bpcn_follow_options;

BPCN_API void bpcn_follow_options_default(bpcn_follow_options *options, size_t size);

/* One stream of cues. It must not outlive the sequence, and is void after an append or delete: free it. */
typedef struct bpcn_follower bpcn_follower;
BPCN_API bpcn_status bpcn_follower_create(const bpcn_sequence *sequence, const bpcn_follow_options *options,
                                          bpcn_follower **follower);
BPCN_API void bpcn_follower_free(bpcn_follower *follower);

/* The next cue of the stream: cue [dim], known [dim] or NULL (all). A cue of which nothing is known is a missing frame: the
   stream moves on by one place. Out, each may be NULL: step; cleaned [dim], the expected frame given all cues; next [dim]
   and spread [dim], the expected next frame and its standard deviations. */
BPCN_API bpcn_status bpcn_follower_step(bpcn_follower *follower, const float *cue, const unsigned char *known,
                                        bpcn_step *step, float *cleaned, float *next, float *spread);

/* The places held now, most probable first: places [room]; tells how many it filled. */
BPCN_API bpcn_status bpcn_follower_places(const bpcn_follower *follower, bpcn_place *places, size_t room, size_t *found);

/* The most probable places of the last of n consecutive cues [n x dim]: all of the above in one call. */
BPCN_API bpcn_status bpcn_sequence_locate(const bpcn_sequence *sequence, const float *cues, const unsigned char *known,
                                          size_t n, const bpcn_follow_options *options, bpcn_place *places, size_t room,
                                          size_t *found);

#ifdef __cplusplus
}
#endif

#endif
