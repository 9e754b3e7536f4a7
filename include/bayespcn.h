/*
 * bayespcn: an associative memory that learns in one shot and never grows.
 *
 * Write an observation once, recall it from a noisy copy or a fragment, let old things fade, ask
 * whether something was ever seen. The model is BayesPCN, a Bayesian predictive coding network;
 * docs/MODEL.md has the equations and the precision of every quantity.
 *
 *     bpcn_options o;
 *     bpcn_options_default(&o, sizeof o);
 *     o.dim = 784; o.layers = 3; o.hidden[0] = o.hidden[1] = o.hidden[2] = 256;
 *     bpcn_memory *m;
 *     if (bpcn_memory_create(&o, &m) != BPCN_OK) { puts(bpcn_error()); return 1; }
 *     bpcn_memory_write(m, images, NULL, 64, NULL);
 *     bpcn_memory_read(m, fragments, known, 64, NULL, recalled, NULL);
 *     bpcn_memory_free(m);
 *
 * Conventions
 *   - Every call that can fail returns a bpcn_status; results leave through pointers. After a
 *     failure bpcn_error() gives one sentence that says what was wrong and where, and the
 *     memory is as it was before the call (a write of several rows keeps the rows before the bad
 *     one and says how many).
 *   - Rows are contiguous: x[i * dim + j] is entry j of row i. Shapes stand beside the pointers. Entries
 *     have the caller's units: a memory learns the scale of its data (bpcn_scale) and refuses to write
 *     what lies far outside it. Beyond 1e15 every call refuses them.
 *   - Structs that open with `size` may grow at their end in later versions, and a program works with
 *     older and newer libraries than the one it was compiled against. The matching _default() function
 *     sets what a call reads, and the size; in structs that a call only fills, set the size yourself
 *     (bpcn_stats s = {.size = sizeof s}). No more than that many bytes are read or filled, and fields
 *     that a caller does not have count as their defaults. Fields that the library does not know must
 *     be zero, and come back as zero. Structs without `size` never change theirs.
 *   - Threads: any number of threads may call the functions that take a `const bpcn_memory *` on
 *     one memory at once; all others want it alone. What a call computes from the parameters alone is
 *     kept for the calls after it, whichever thread they come from, until the memory changes.
 *   - One pool of threads serves all memories of a process, and is started by the first call that has work for it: a call
 *     whose parameters times rows take less than 512 kB runs on its own thread.
 *   - Stack: a call needs less than 64 kB, on any thread, beside the thread-local variables of other libraries, which
 *     glibc puts into a thread's stack. The library's own threads have 256 kB each.
 *   - Processes: after a fork the child may read a memory that lives in a file, save it elsewhere and free it. Every call
 *     of the child that would change or close the file is BPCN_INVALID; it never touches the parent's file. A fork waits
 *     for the calls of other threads to end, so that the child meets no lock that nobody will open.
 *   - The same seed, inputs and number of threads on the same machine give the same bits; of a read
 *     any number of threads does, and for layers narrower than 256 whatever was read before (wider ones
 *     prepare for a kind of query only when it comes again). A memory that was closed and opened again is the same to the bit, but
 *     what is written to it then may differ in its last bits from what would have been.
 */
#ifndef BAYESPCN_H
#define BAYESPCN_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define BPCN_VERSION_MAJOR 0
#define BPCN_VERSION_MINOR 1
#define BPCN_VERSION_PATCH 0
#define BPCN_VERSION "0.1.0"

#if defined(__GNUC__)
#define BPCN_API __attribute__((visibility("default")))
#else
#define BPCN_API
#endif

/* The version of the library that runs, as opposed to the header's. */
BPCN_API const char *bpcn_version(void);

/* ---- status ------------------------------------------------------------------------------- */

/* The numbers are pinned: they will never mean anything else. */
typedef enum bpcn_status {
    BPCN_OK = 0,
    BPCN_INVALID = 1,   /* an argument is out of range, NULL, NaN, or of the wrong shape */
    BPCN_NO_MEMORY = 2, /* an allocation failed */
    BPCN_NUMERIC = 3,   /* the arithmetic overflowed: inputs far outside the model's scale */
    BPCN_REFUSED = 4,   /* the operation would leave a covariance indefinite (delete), or the input exceeds a limit */
    BPCN_IO = 5,        /* the operating system failed to open, read, write or sync a file */
    BPCN_FORMAT = 6,    /* the file is not of the kind that it should be: not a bayespcn memory, not a picture, ... */
    BPCN_NEWER = 7,     /* wrong version: the file's format is newer than this library */
    BPCN_CORRUPT = 8,   /* the file is damaged; the sentence says what and where */
    BPCN_BUSY = 9,      /* another handle or process has the file open for writing */
    BPCN_READ_ONLY = 10, /* the memory was opened read-only, or this cannot be changed in a file */
    BPCN_FULL = 11,     /* every shard has its rows, and the memory was made to refuse more */
    BPCN_NO_SPACE = 12, /* the disk, the user's quota or the limit on the size of files is reached */
    BPCN_GONE = 13,     /* the file was moved, removed or replaced while the memory was open */
    BPCN_NOT_HELD = 14  /* the memory does not hold the row to delete, or the row has faded since it was written */
} bpcn_status;

/* "ok", "invalid", ...: the status as a word to print or to search for. Never NULL. */
BPCN_API const char *bpcn_status_name(bpcn_status status);

/* What was wrong with this thread's last failed call, as one sentence without a full stop; ""
   when none failed. Valid until this thread's next failing call. */
BPCN_API const char *bpcn_error(void);

/* Where it was wrong, if that is a place in the input: "FILE:LINE", "row 3, entry 7"; otherwise "". The sentence is
   complete without it. Valid as long as bpcn_error(). */
BPCN_API const char *bpcn_error_place(void);

#define BPCN_MAX_ERROR 1023 /* bytes of the sentence, and of the place; longer ones are cut */

#if defined(__GNUC__)
#define BPCN_PRINTF(text, first) __attribute__((__format__(__printf__, text, first)))
#else
#define BPCN_PRINTF(text, first)
#endif

/* For programs and bindings built on the library, so that one error type serves them all: sets this thread's sentence,
   and its place to "", and returns `status`. The arguments may contain bpcn_error() and bpcn_error_place(), so that a
   caller can add what it knows: bpcn_fail(status, "%s: %s", path, bpcn_error()). */
BPCN_API bpcn_status bpcn_fail(bpcn_status status, const char *format, ...) BPCN_PRINTF(2, 3);

/* The same with a place, which may be bpcn_error_place(). */
BPCN_API bpcn_status bpcn_fail_at(bpcn_status status, const char *place, const char *format, ...) BPCN_PRINTF(3, 4);

/* ---- options ------------------------------------------------------------------------------ */

#define BPCN_MAX_LAYERS 64        /* hidden layers */
#define BPCN_MAX_WIDTH (1u << 24) /* entries of one layer */
#define BPCN_MAX_PARTICLES (1u << 16)
#define BPCN_MAX_SHARDS (1u << 18)
#define BPCN_MAX_NOTE 65536 /* bytes of one bpcn_memory_set_note */
#define BPCN_MAX_SURPRISES 65536
#define BPCN_MAX_COLUMNS 16384 /* dim of a BPCN_TABLE */
#define BPCN_MAX_NAMES 65536
#define BPCN_MAX_DELETABLE 65536
#define BPCN_MAX_NAME 63 /* bytes of one name */

typedef enum bpcn_activation {
    BPCN_GELU = 0, /* x Phi(x), exact */
    BPCN_RELU = 1,
    BPCN_TANH = 2,
    BPCN_LINEAR = 3
} bpcn_activation;

/* "gelu", "relu", ...; NULL beyond the last, so that all can be gone through from 0 on. */
BPCN_API const char *bpcn_activation_name(bpcn_activation activation);

typedef enum bpcn_minimizer {
    BPCN_LBFGS = 0, /* ours: top-down start, annealed L-BFGS with its own step for every query */
    BPCN_ADAM = 1   /* the paper's: random start, Adam, fixed numbers of steps */
} bpcn_minimizer;

typedef enum bpcn_precision {
    BPCN_FLOAT32 = 0, /* means and inference in float32; covariances and energies in float64 */
    BPCN_FLOAT64 = 1  /* everything in float64: twice the memory, about half the speed */
} bpcn_precision;

/* What becomes of a row when every shard has its rows. */
typedef enum bpcn_when_full {
    BPCN_BLUR = 0,    /* it is written all the same, evenly over all shards: old and new blur */
    BPCN_RECYCLE = 1, /* the oldest shard is emptied and begun anew: a sharp window over a stream */
    BPCN_REFUSE = 2   /* BPCN_FULL, and nothing changes */
} bpcn_when_full;

/* What a memory is made of. */
typedef enum bpcn_kind {
    BPCN_NETWORKS = 0, /* networks in layers: recalls what was written */
    BPCN_TABLE = 1     /* trees of Gaussians, in closed form, for rows of a table: never twice the same, with gaps in what
                          is learnt and in what is asked (docs/TABLES.md). Of the options it looks at dim, seed,
                          threads, surprises, names, scale, clip and far; it has no layers, no codes and one shard, and
                          computes in float64 */
} bpcn_kind;

/* What entries are divided by. Inside, an entry x is (x - centre) / scale, which should vary about 0 by about 1; answers,
   spreads and samples come back in the caller's units. */
typedef enum bpcn_scale {
    BPCN_SCALE_AUTO = 0,      /* one centre and scale for all entries, from the first rows: pictures, signals,
                                 embeddings; of a table one of each for every entry */
    BPCN_SCALE_AUTO_EACH = 1, /* one of each for every entry, likewise: columns of different units */
    BPCN_SCALE_AS_GIVEN = 2   /* none: entries are taken as they are */
} bpcn_scale;

typedef struct bpcn_options {
    size_t size;                    /* of the caller's struct; set by bpcn_options_default */
    size_t dim;                     /* entries of one observation, 1 .. BPCN_MAX_WIDTH; no default */
    size_t layers;                  /* hidden layers, 0 .. BPCN_MAX_LAYERS; default 3 */
    size_t hidden[BPCN_MAX_LAYERS]; /* their widths from the bottom; default 256 each */
    bpcn_activation activation;     /* default BPCN_GELU */
    size_t particles;               /* mixture components, 1 .. BPCN_MAX_PARTICLES; default 1 */
    double sigma_w;                 /* prior standard deviation of the weights, > 0; default 1 */
    double sigma_x;                 /* noise of every layer, > 0, in units of the scale of the data: to have noise of
                                       s in the data's own units, s / scale (bpcn_memory_get_scale), or for pixels of
                                       0 .. 255, whose scale is about 60, s / 60; default 0.01 */
    double sigma_data;              /* noise of the observations, likewise; 0 (default) means sigma_x */
    uint64_t seed;                  /* draws the prior and every random start; default 0 */
    int resample;                   /* 1: resample particles when their effective number falls
                                       below half; default 0 */
    bpcn_minimizer minimizer;       /* default BPCN_LBFGS */
    bpcn_precision precision;       /* default BPCN_FLOAT32 */
    int threads;                    /* that one call may use, 0 (default): as the environment variable
                                       BPCN_THREADS says, otherwise one per core */
    double adam_rate;               /* BPCN_ADAM: learning rate; default 0.01 */
    double adam_stop;               /* BPCN_ADAM: stop once no energy moved more; default 1e-3 */
    size_t adam_steps;              /* BPCN_ADAM: steps of one descent; default 500 */
    size_t rounds;                  /* rounds of an auto-associative read under
                                       BPCN_OBJECTIVE_PAPER; a hetero-associative Adam read takes
                                       rounds x adam_steps steps; default 30 */
    size_t shards;                  /* networks of this shape, at most, that share the rows out among
                                       them, 1 .. BPCN_MAX_SHARDS; default 1. A shard takes memory when
                                       it is first written to. Rows go to one shard after the other; a
                                       query is answered by the shard that explains it best. Many
                                       narrow shards hold more, sharper and faster than one wide
                                       network, as long as each has no more rows than units */
    size_t shard_rows;              /* rows after which the next shard begins; 0 (default): the width of
                                       layer 1 */
    bpcn_when_full when_full;       /* default BPCN_BLUR */
    bpcn_kind kind;                 /* default BPCN_NETWORKS */
    size_t first_shard;             /* of a part of a larger memory: shard k of it is number first_shard +
                                       k shard_step of the whole, and has that one's prior; default 0 */
    size_t shard_step;              /* 0 (default): 1. No number may be above 4294967295 */
    size_t surprises;               /* of how many of the latest rows it is kept how surprising they were, for
                                       bpcn_memory_typicality, 0 .. BPCN_MAX_SURPRISES; default 1024. 24 bytes each */
    size_t names;                   /* of how many of the latest named rows the names are kept, see bpcn_memory_write;
                                       0 (default) .. BPCN_MAX_NAMES. 216 bytes each and 4 for every unit of layer 1, or
                                       for every entry of a row where those are fewer, or of a table */
    bpcn_scale scale;               /* default BPCN_SCALE_AUTO: from the rows of the first write, at most 256. After fewer
                                       than 16 rows it may still change: the memory is then written again from those
                                       rows, which are kept until 16 were seen or the memory changed otherwise. Data
                                       with a centre from -2 to 2 and a scale from 1/16 to 4, such as pixels of -1 .. 1
                                       or standardised columns, are left bit for bit as they are. The outer tenth of the
                                       values on either side does not count for the scale */
    int clip;                       /* 1: entries to write that lie more than `far` scales from the centre are brought to
                                       there; 0 (default): they are refused, BPCN_INVALID */
    double far;                     /* 0 (default): 100 scales, or without a limit for BPCN_SCALE_AS_GIVEN */
    size_t deletable;               /* of how many of the latest rows it is kept what a delete takes: a fingerprint of 16
                                       bytes, its place, and the codes that it was written with; default 1024, at most
                                       BPCN_MAX_DELETABLE. 40 bytes each and 4 (BPCN_FLOAT64: 8) for every unit of the
                                       hidden layers, times particles. 0 where particles are resampled */
    const size_t *column;           /* of a table, when it is made: NULL (default): every entry is a column; or [dim]:
                                       the number of each entry's column, where several entries are one, such as one
                                       for each word of a category. bpcn_memory_get_options gives NULL */
} bpcn_options;

/* Fills the `size` bytes that the caller has: sizeof *options. NULL is fine. */
BPCN_API void bpcn_options_default(bpcn_options *options, size_t size);

/* What a memory of these options takes: *bytes as soon as it is made, *bytes_most when every shard has begun and all is
   kept that it may keep (as in bpcn_stats); either may be NULL. What reads and writes derive from the parameters comes on
   top, see bpcn_stats. Makes nothing. */
BPCN_API bpcn_status bpcn_options_bytes(const bpcn_options *options, uint64_t *bytes, uint64_t *bytes_most);

/* ---- a memory's life ---------------------------------------------------------------------- */

typedef struct bpcn_memory bpcn_memory;

/* Makes an empty memory (the prior). *memory is NULL after a failure. Free it with
   bpcn_memory_free. BPCN_NO_MEMORY, at once and with both numbers, when it takes more than this machine has. */
BPCN_API bpcn_status bpcn_memory_create(const bpcn_options *options, bpcn_memory **memory);

/* Frees a memory; NULL is fine. A memory that lives in a file is synced and closed first, as by
   bpcn_memory_close. */
BPCN_API void bpcn_memory_free(bpcn_memory *memory);

/* The options it was made with, defaults filled in; options->size says how many bytes to fill. */
BPCN_API bpcn_status bpcn_memory_get_options(const bpcn_memory *memory, bpcn_options *options);

/* Centre and scale in use: pairs of them, 0 (entries are taken as they are), 1 for all entries, or dim. centre and
   scale [room] get as many as fit and may be NULL when room is 0. *settled (may be NULL): 1 when writes will not change
   them. */
BPCN_API bpcn_status bpcn_memory_get_scale(const bpcn_memory *memory, double *centre, double *scale, size_t room,
                                           size_t *pairs, int *settled);

/* Sets and settles them, of a memory that was never written: pairs is 0, 1, or with BPCN_SCALE_AUTO_EACH dim. */
BPCN_API bpcn_status bpcn_memory_set_scale(bpcn_memory *memory, const double *centre, const double *scale,
                                           size_t pairs);

/* Later reads and writes use this minimiser. */
BPCN_API bpcn_status bpcn_memory_set_minimizer(bpcn_memory *memory, bpcn_minimizer minimizer);

typedef struct bpcn_stats {
    size_t size;                /* in: sizeof(bpcn_stats) */
    size_t dim;                 /* entries of one observation */
    size_t code_dim;            /* entries of one code: the sum of the hidden widths */
    size_t particles;           /* mixture components */
    uint64_t writes;            /* rows written since creation */
    uint64_t forgets;           /* calls of forget and discount with beta > 0 */
    uint64_t deletes;           /* rows taken back */
    size_t bytes;               /* of the memory itself: constant but for shards not begun yet */
    double effective_particles; /* 1 / sum of squared weights, 1 .. particles */
    const char *kernels;        /* the inner loops in use: portable, avx2 or avx512. The best that this CPU
                                   has, unless the environment variable BPCN_KERNELS names another set
                                   when the first memory is made; a set that does not exist or that this
                                   CPU lacks is BPCN_INVALID. avx2 and avx512 give the same bits. */
    size_t prepared_bytes;      /* held beside, of what reads and writes prepared and keep until the
                                   memory changes; some times `bytes` at most */
    size_t bytes_most;          /* what `bytes` will be when every shard has begun */
    size_t shards;              /* begun so far */
    size_t open_shard;          /* the one begun last */
    size_t surprises;           /* kept so far, of options.surprises: see bpcn_memory_typicality */
    size_t names;               /* kept so far, of options.names */
    size_t name_bytes;          /* of `bytes`, those for names */
    size_t ancestors;           /* of particles of the open shard: how many of the first ones they come from. Resampling
                                   copies particles: effective_particles then counts copies, this does not */
    size_t deletable;           /* rows that can be taken back, of options.deletable */
    uint64_t trials;            /* of a table: cells that were hidden from rows about to be written, to see how well they
                                   are filled; */
    double trial_error;         /* root mean square of what they were off by, in their columns' deviations, late ones
                                   weighing more: 1 is what the column means would reach. NAN: nothing was tried */
} bpcn_stats;

BPCN_API bpcn_status bpcn_memory_get_stats(const bpcn_memory *memory, bpcn_stats *stats);

/* The rows that each shard was written since it was begun: rows [room], as many as there are shards begun; tells how
   many those are. rows may be NULL when room is 0. */
BPCN_API bpcn_status bpcn_memory_get_shards(const bpcn_memory *memory, uint64_t *rows, size_t room, size_t *shards);

/* ---- familiarity -------------------------------------------------------------------------- */

/* Whether a row was written before, in a word. It comes with a familiarity from 0 to 1, of which 0.5 is the border;
   docs/MODEL.md defines both and says on what they were measured. */
typedef enum bpcn_verdict {
    BPCN_CANNOT_TELL = 0, /* familiarity 0: the memory is empty, nothing is known of the row, no more entries of it
                             than the memory has directions to explain them with, or less noise than was said */
    BPCN_NEW = 1,
    BPCN_KNOWN = 2, /* familiarity 0.5 and above */
    BPCN_BLEND = 3, /* what is known of the row fits, but the answer is a mean of several written rows */
    BPCN_NEAR_COPY = 4 /* familiarity 0.5 and above: a copy of the answer, one of the rows written, that differs in
                          brightness, contrast, sharpness, by a small shift, or in a part: by a read of 32 known entries
                          or more, where the noise is not given */
} bpcn_verdict;

/* "cannot tell", "new", "known", "blend", "near copy"; NULL beyond the last. */
BPCN_API const char *bpcn_verdict_name(bpcn_verdict verdict);

/* ---- write -------------------------------------------------------------------------------- */

/* What became of one row: 64 bytes in every version. */
typedef struct bpcn_write_row {
    double energy;              /* -log density of the row and its code before the write, mixed over
                                   particles: high for what is new, low for what is known */
    double leverage;            /* z U z' of the sensory layer before the write, in the heaviest particle:
                                   how unexplored the row's code was */
    uint64_t evaluations;       /* energy and gradient evaluations, all particles together */
    uint64_t shard;             /* that the row was written to */
    int converged;              /* 1 when the minimiser met its tolerance in every particle */
    bpcn_verdict verdict;       /* on the row before it was written, by the shard that it went to alone; the first one is new */
    double familiarity;         /* likewise: 0 .. 1 */
    double typicality;          /* of the row before it was written, see bpcn_memory_typicality; -1 where it was
                                   not asked for: of several shards it is of one row in 5, with n of them of one
                                   in 5 + n / 4 or so, because to ask them all takes longer than to write to one;
                                   and the surprises of those rows are kept */
    unsigned char reserved[8];  /* 0 */
} bpcn_write_row;

typedef struct bpcn_write_info {
    size_t size;          /* in: of the caller's struct; set by bpcn_write_info_default */
    bpcn_write_row *rows; /* in: NULL, or room for n; filled for the rows written */
    float *codes;         /* in: NULL, or room for the codes [n x particles x code_dim] */
    size_t written;       /* out: rows that are in the memory now, also after a failure */
    uint64_t evaluations; /* out: of all rows */
    const char *const *names; /* in: NULL, or the names of the n rows, of which each may be NULL: none. Where none
                                 are kept (options.names is 0) they are passed over */
} bpcn_write_info;

BPCN_API void bpcn_write_info_default(bpcn_write_info *info, size_t size);

/* Writes n rows of dim floats, one after the other, each in one shot. All rows are checked before
   the first is written. known [n x dim], nonzero where an entry is known, or NULL: all is. What is not
   known of a row is never looked at, may be NaN, and what the memory predicts there stays (docs/MODEL.md); of
   a row with holes the energy counts known entries only. Something of every row must be known.
   `info` may be NULL.

   A row may have a name: 1 to BPCN_MAX_NAME bytes of UTF-8 without control characters. The names of the latest
   options.names rows that had one are kept with the memory, each written together with its row. A read says
   which of them answered, and a row can be deleted by its name. Several rows may have the same name. A row that is
   deleted, recycled or forgotten whole (beta 1) loses its name. */
BPCN_API bpcn_status bpcn_memory_write(bpcn_memory *memory, const float *x, const unsigned char *known,
                                       size_t n, bpcn_write_info *info);

/* Takes back one written row, entry for entry as it was given: undoes its write exactly, by the codes that are kept of the
   latest options.deletable rows. BPCN_NOT_HELD, and nothing changes, for a row that is not among those, that was deleted
   before, that had holes, or that faded (forget, discount) since it was written. BPCN_REFUSED when a covariance would
   become indefinite or larger than the prior's, which no row that was written leads to. */
BPCN_API bpcn_status bpcn_memory_delete(bpcn_memory *memory, const float *x);

/* Takes back n rows, all or none: every one is looked up, and what their removal leads to is checked, before the first is
   taken back. A row that is given twice must be held twice. Only a file that can no longer be written (BPCN_IO,
   BPCN_NO_SPACE, BPCN_GONE) or a crash can end it between two rows. */
BPCN_API bpcn_status bpcn_memory_delete_rows(bpcn_memory *memory, const float *x, size_t n);

/* ---- names -------------------------------------------------------------------------------- */

/* A row whose name is kept: 96 bytes in every version. */
typedef struct bpcn_name {
    char name[BPCN_MAX_NAME + 1]; /* ended by a zero */
    uint64_t number;              /* of the row among those with names: greater for a later one */
    uint64_t shard;               /* that it is in */
    unsigned char reserved[16];   /* 0 */
} bpcn_name;

/* The names that are kept: names [room], the oldest first; tells how many there are. names may be NULL when room is
   0. */
BPCN_API bpcn_status bpcn_memory_get_names(const bpcn_memory *memory, bpcn_name *names, size_t room, size_t *count);

/* The one with this number, as a read gives it. BPCN_INVALID when there is none. */
BPCN_API bpcn_status bpcn_memory_get_name(const bpcn_memory *memory, uint64_t number, bpcn_name *name);

/* Takes back the latest row of this name, as bpcn_memory_delete does. BPCN_INVALID when there is none. The row is had
   again from what is kept with its name and from the memory itself, and only exactly: rows of at most as many entries as
   layer 1 has units always, and longer ones that the memory still recalls and whose entries are multiples of 1/255 from
   -1 or from 0 on, as those of pictures are. Any other is BPCN_REFUSED, and must be given itself. */
BPCN_API bpcn_status bpcn_memory_delete_name(bpcn_memory *memory, const char *name);

/* ---- read --------------------------------------------------------------------------------- */

typedef enum bpcn_objective {
    BPCN_OBJECTIVE_DEFAULT = 0,  /* recall for BPCN_LBFGS, the paper's for BPCN_ADAM */
    BPCN_OBJECTIVE_MARGINAL = 1, /* the density with unknown entries integrated out and the query's
                                    noise in the model; wants BPCN_LBFGS */
    BPCN_OBJECTIVE_PAPER = 2,    /* unknown entries maximised over; iterated conditional modes */
    BPCN_OBJECTIVE_RECALL = 3    /* marginal, weighed for what was written rather than for anything
                                    that might come (docs/MODEL.md); wants BPCN_LBFGS */
} bpcn_objective;

typedef struct bpcn_read_options {
    size_t size;              /* of the caller's struct; set by bpcn_read_options_default */
    bpcn_objective objective; /* default BPCN_OBJECTIVE_DEFAULT */
    double noise;             /* standard deviation of the noise on the known entries, in the caller's units, or
                                 with a pair for each entry in units of the scale. Negative (default): estimated from each query (ReLU with a mask: 0). Known
                                 entries come back as they are unless noise is given. Not used by
                                 BPCN_OBJECTIVE_PAPER. */
    size_t shards;            /* that a query is read in at most, of those that could have it by a quick
                                 look at all; the likeliest answers, where familiarity counts for up to
                                 a nat. 0 (default): 4. As many as there are, or more: all, without
                                 the look. Of every view: those where the row most likely belongs, 16
                                 by default */
    float *spread;            /* out: NULL (default), or room for n x dim: the standard deviation of every entry
                                 of the answers, 0 where the entry is known. Of a table, such
                                 that a hidden value lies within 1.645 spreads of its answer in 90 % of cases, by the
                                 cells that the memory hid from itself. Of networks it is the variance of the shard
                                 that answers, which is too little for rows that were never written */
    double *trace;            /* out: NULL (default), or room for n x trace_room: of every row the energies that its
                                 search met, one an evaluation and in that order, in the shard that answers; NaN
                                 after the last. Stages of a search add variances of their own, so it falls within
                                 a stage. None of a table, or with BPCN_OBJECTIVE_PAPER */
    size_t trace_room;        /* evaluations of a row that are told of; those beyond are not */
} bpcn_read_options;

BPCN_API void bpcn_read_options_default(bpcn_read_options *options, size_t size);

/* What the memory says about one answer: 128 bytes in every version. */
typedef struct bpcn_read_info {
    double energy;              /* the objective at its minimum */
    double log_density;         /* log predictive density of the known entries and the code */
    double familiarity;         /* 0 (never seen) .. 1 (written); 0.5 is the border. Rests on residual,
                                   variance and known; noise that is only estimated counts against it */
    double noise;               /* standard deviation assumed or estimated for the known entries. It, residual and
                                   variance have the units of bpcn_read_options.noise; densities and energies are
                                   those of entries in units of the scale */
    double residual;            /* root mean square discrepancy on the known entries */
    double variance;            /* s_0 = sigma^2 + z U z' of the answer's entries: what the noise of the
                                    observations leaves open, and ignorance of the weights along the code */
    uint64_t evaluations;       /* energy and gradient evaluations */
    uint64_t particle;          /* the mixture component that answers */
    uint64_t shard;             /* and its shard */
    int converged;              /* 1 when the minimiser met its tolerance */
    bpcn_verdict verdict;       /* the familiarity in a word */
    double shard_density;       /* log_density in that shard alone: what shards are compared by */
    uint64_t known;             /* entries of the query that were known */
    uint64_t name;              /* of a bpcn_memory_read: number of the row that was recalled, if its name is kept
                                   and the verdict is BPCN_KNOWN or BPCN_NEAR_COPY; 0: none, or it cannot be told which */
    unsigned char reserved[24]; /* 0 */
} bpcn_read_info;

/* Recalls n queries. known [n x dim], nonzero where the query's entry can be trusted, or NULL for
   an auto-associative read, where no entry is certain. Unknown entries of a query are not looked
   at, except as the start of the paper's minimiser. With a mask and no noise, known entries come
   back as they are. out [n x dim] may be the query itself. options and info (room for n) may be
   NULL. */
BPCN_API bpcn_status bpcn_memory_read(const bpcn_memory *memory, const float *query, const unsigned char *known,
                                      size_t n, const bpcn_read_options *options, float *out, bpcn_read_info *info);

/* ---- search ------------------------------------------------------------------------------- */

#define BPCN_MAX_MATCHES 64 /* of one query */

/* One of the best answers to a query: 64 bytes in every version. */
typedef struct bpcn_match {
    double log_density; /* log predictive density of the query's known entries and the answer's code, in its shard */
    double distance;    /* root mean square difference between query and answer over the known entries, in the caller's
                           units */
    double noise;       /* standard deviation that the densities assume on the known entries, the same for all answers to
                           a query, as in bpcn_read_info */
    uint64_t shard;     /* that has the answer */
    uint64_t name;      /* number of the row that the answer is, if its name is kept; 0: none, or it cannot be told which */
    unsigned char reserved[24]; /* 0 */
} bpcn_match;

/* The k best answers to each of n queries over all shards, 1 <= k <= BPCN_MAX_MATCHES: matches [n x k] in falling order of
   their log densities, rows [n x k x dim] or NULL: the answers, found [n]: how many there are, at most k;
   what lies beyond them is not written. known as in bpcn_memory_read.

   An answer is a row as the memory has it now, also where the query is known. Answers that are the same within the
   memory's own noise count once. Candidates are the 2 k rows that the index has nearest to the query, or, of a memory
   without an index (of one shard, or with room for few rows), of the latest options.deletable rows the 2 k nearest: by
   the codes that they were written with where those are kept, otherwise by a read of the row's levels in its shard.
   Where that leaves out rows of the memory, what a read of the query answers in each shard that could have it is a
   candidate too. The k best are those of greatest density among all these.

   Of the options it takes objective, noise and shards. Noise that is not given is that of the nearest answer. A table's
   memory has no single rows: BPCN_INVALID. */
BPCN_API bpcn_status bpcn_memory_search(const bpcn_memory *memory, const float *query, const unsigned char *known, size_t n,
                                        size_t k, const bpcn_read_options *options, bpcn_match *matches, float *rows,
                                        size_t *found);

/* ---- codes and densities ------------------------------------------------------------------ */

/* The codes (hidden activations, from layer 1 up) that explain n rows best:
   codes [n x code_dim]. Arguments otherwise as in bpcn_memory_read. */
BPCN_API bpcn_status bpcn_memory_infer(const bpcn_memory *memory, const float *x, const unsigned char *known, size_t n,
                                       const bpcn_read_options *options, float *codes, bpcn_read_info *info);

/* Log posterior predictive density of n rows (of their known entries) with the most probable code
   of each: the measure of novelty. log_density [n]. Of several shards it is that of their mixture, weighed
   by their rows, of which the few that explain a row best are looked at, and that to which the next row goes; if that
   has yet to begin, it counts as one row. Of a table the mean over its trees of
   log p(known) + E[log p(rest | known)], which is comparable between rows with other gaps. */
BPCN_API bpcn_status bpcn_memory_score(const bpcn_memory *memory, const float *x, const unsigned char *known, size_t n,
                                       double *log_density);

/* How typical rows are of those written of late, typicality [n] from log_density [n] as bpcn_memory_score
   gives it: (1 + rows kept that were at least as surprising before they were written) / (1 + rows kept), a
   conformal p-value. Surprises are compared by how far they lie from the median of the latest 64 of rows that
   met about as many rows in their shard, in units of the distance between their quartiles, because a network
   that learns expects later rows better. As long as rows come in no particular order, about one in a hundred
   has a typicality of 0.01 or less; docs/MODEL.md says how near to that it comes, and where it does not hold: rows
   that know fewer entries than those written, drift, the rows with which a network runs full. 1 where there are fewer
   than 8 such rows to compare with: for the first rows of a memory, or of its first few shards. */
BPCN_API bpcn_status bpcn_memory_typicality(const bpcn_memory *memory, const double *log_density, size_t n,
                                            double *typicality);

/* Of a table: what every known entry of n rows should be by the known entries of the other columns, expected and
   deviation [n x dim] in the caller's units, and how much less likely it is than that, blame [n x dim] in nats: z^2 / 2
   for an entry z deviations off where the memory expects a normal distribution. Of a column of several entries
   (options.column), which say each other, the blame is 0. All are 0 where nothing is known. A row that
   bpcn_memory_typicality alarms about owes it to the columns of greatest blame. */
BPCN_API bpcn_status bpcn_memory_explain(const bpcn_memory *memory, const float *x, const unsigned char *known, size_t n,
                                         double *expected, double *deviation, double *blame);

/* The energy, -log p(x, h), of given rows and codes [n x code_dim] under the read objective, and
   its gradient over the codes (grad may be NULL); of several shards, of their mixture by their rows. */
BPCN_API bpcn_status bpcn_memory_energy(const bpcn_memory *memory, const float *x, const unsigned char *known,
                                        const float *codes, size_t n, const bpcn_read_options *options, double *energy,
                                        float *grad);

/* ---- forget, sample ----------------------------------------------------------------------- */

/* Lets everything fade towards the prior by 0 <= beta <= 1: 0 changes nothing, 1 restores the
   empty memory exactly (the particle weights stay). */
BPCN_API bpcn_status bpcn_memory_forget(bpcn_memory *memory, double beta);

/* Lets the evidence of everything written weigh (1 - beta) as much, 0 <= beta < 1. Precisions and means fade together:
   U^-1 becomes (1 - beta) U^-1 + beta sigma_w^-2 I, and U^-1 M likewise with sigma_w^-2 M_prior. Recent rows keep their
   answers; directions that only old rows needed become free. With 1 - beta = sigma_x^(2 w / width) before every w-th
   write, width being that of the narrowest layer, the latest width / 2 rows of a stream of any length stay recallable;
   docs/MODEL.md has the derivation and the measurements. */
BPCN_API bpcn_status bpcn_memory_discount(bpcn_memory *memory, double beta);

/* Draws n ancestral samples, out [n x dim], with weights at their means. The same `draw` gives
   the same samples. */
BPCN_API bpcn_status bpcn_memory_sample(const bpcn_memory *memory, size_t n, uint64_t draw, float *out);

/* ---- a memory in a file ------------------------------------------------------------------- */

/* A memory file survives crashes: what a call has acknowledged by BPCN_OK (under BPCN_SYNC_MANUAL:
   what bpcn_memory_sync has) is in it. A change costs a record at the file's end, as long as the
   row and its codes; a checkpoint now and then folds the records into the matrices. Closing seals the
   file: damage to it after that is told from what a crash leaves, and refused (BPCN_CORRUPT). One handle
   at a time may write a file; any number may read it. docs/FORMAT.md has every byte,
   docs/RELIABILITY.md what is promised and how it is tested. */

typedef enum bpcn_sync {
    BPCN_SYNC_EACH = 0,  /* every row, forget or delete is durable before it is made */
    BPCN_SYNC_CALL = 1,  /* one sync at the end of every call, for its rows together. If it fails, the
                            rows are in this memory but perhaps not in its file */
    BPCN_SYNC_MANUAL = 2 /* durable at the next bpcn_memory_sync, checkpoint or close */
} bpcn_sync;

typedef struct bpcn_open_options {
    size_t size;                /* of the caller's struct; set by bpcn_open_options_default */
    int read_only;              /* 1: the memory as the file has it now, no lock, no changes. It does
                                   not follow a writer; default 0 */
    bpcn_sync sync;             /* default BPCN_SYNC_EACH */
    const bpcn_options *create; /* NULL (default): the file must be there. Else an empty memory is
                                   made where there is none; a file that is there is opened and this
                                   ignored */
    int threads;                /* as in bpcn_options; not kept in the file; default 0 */
    uint64_t checkpoint_bytes;  /* a longer log makes a checkpoint; 0 (default): as long as the rest of the
                                   file, at least 1 MiB, or less where the disk has little room;
                                   UINT64_MAX: never */
} bpcn_open_options;

BPCN_API void bpcn_open_options_default(bpcn_open_options *options, size_t size);

/* Opens the memory that lives in the file `path`; `options` may be NULL. After a crash it is as
   if the last acknowledged call had just returned: what was being written then is dropped, or
   there as a whole, and bpcn_memory_get_file tells. BPCN_BUSY when another handle writes it.
   set_layer, set_top and set_weights are refused for such a memory. After a failed sync no more
   is written (BPCN_IO); it can still be read, or saved elsewhere.

   Every sync looks whether the file is still at its path. If it was moved, removed or replaced, the call that wanted the
   sync fails with BPCN_GONE, as do all changes after it, and the sentence says where the rows are: in a file under another
   name, or in this process alone, which can save them elsewhere.

   A file never grows beyond bpcn_file_info.file_most. When its log is as long as that allows and cannot be folded, say
   because nobody may make files in its folder, the next change fails with the reason (BPCN_IO, BPCN_NO_SPACE), nothing
   is lost, and changes go on once the reason is gone. */
BPCN_API bpcn_status bpcn_memory_open(const char *path, const bpcn_open_options *options, bpcn_memory **memory);

/* Makes all changes so far durable. */
BPCN_API bpcn_status bpcn_memory_sync(bpcn_memory *memory);

/* Replaces the file by one with an empty log: written beside it, synced, renamed. A failure (say,
   no room for both, and then the sentence says how much is needed) leaves the file as it was. */
BPCN_API bpcn_status bpcn_memory_checkpoint(bpcn_memory *memory);

/* Syncs, closes and frees; NULL is fine. What bpcn_memory_free does, with a status: after a
   failure, changes not synced before may be lost. Frees in any case. In the child of a fork it frees, leaves the file
   alone and says BPCN_INVALID. */
BPCN_API bpcn_status bpcn_memory_close(bpcn_memory *memory);

/* A plain copy of any memory: to a file that takes the place of the one that was there (no folder, no
   device), whole or not at all, and back as a memory that has nothing to do with the file any more. */
BPCN_API bpcn_status bpcn_memory_save(const bpcn_memory *memory, const char *path);
BPCN_API bpcn_status bpcn_memory_load(const char *path, bpcn_memory **memory);

/* Up to BPCN_MAX_NOTE bytes of the caller's, kept with the memory and in its file. get copies at
   most `room` bytes and tells how many there are; note may be NULL when room is 0. */
BPCN_API bpcn_status bpcn_memory_set_note(bpcn_memory *memory, const void *note, size_t bytes);
BPCN_API bpcn_status bpcn_memory_get_note(const bpcn_memory *memory, void *note, size_t room, size_t *bytes);

typedef struct bpcn_file_info {
    size_t size;                       /* in: sizeof(bpcn_file_info) */
    uint32_t version;                  /* of the format */
    uint64_t generation;               /* checkpoints since the file was made */
    uint64_t writes, forgets, deletes; /* as in bpcn_stats; from bpcn_file_inspect: without the log */
    size_t note_bytes;                 /* likewise */
    uint64_t file_bytes;               /* length: the snapshot, then the log */
    uint64_t snapshot_bytes;
    uint64_t log_bytes;
    uint64_t records;       /* in the log; 0 from bpcn_file_inspect, which does not look */
    uint64_t replayed;      /* records that opening repeated (bpcn_memory_get_file) */
    uint64_t dropped_bytes; /* of a torn end, never acknowledged: found by bpcn_file_check and when opened
                               read-only, cut off by bpcn_memory_open */
    uint64_t dropped_rows;  /* that were being written in it, at most */
    uint64_t sealed;        /* 1: the file is as it was closed; 0: it is open, or a crash ended its writer;
                               0 from bpcn_file_inspect */
    uint64_t file_most;     /* bytes that the file never exceeds: with all shards begun, the log at its
                               longest, the longest note */
    uint64_t disk_most;     /* while the log is folded: that, and the new file beside it */
    uint64_t torn_seal;     /* 1: one of the file's two seals is damaged, or a crash tore it. The other and the log say
                               all there is to know, and the next change makes it anew; 0 from bpcn_file_inspect */
} bpcn_file_info;

/* About a file by its header alone, and the options of the memory in it. Either may be NULL. */
BPCN_API bpcn_status bpcn_file_inspect(const char *path, bpcn_file_info *info, bpcn_options *options);

/* About the file of an open memory. */
BPCN_API bpcn_status bpcn_memory_get_file(const bpcn_memory *memory, bpcn_file_info *info);

/* Reads a whole file, its log too, and checks every byte and number of it. BPCN_OK, or what is
   wrong first and where, in bpcn_error. info and options may be NULL. */
BPCN_API bpcn_status bpcn_file_check(const char *path, bpcn_file_info *info, bpcn_options *options);

typedef struct bpcn_recovery {
    size_t size;                                /* in: sizeof(bpcn_recovery) */
    void (*tell)(void *user, const char *what); /* in: is told what is lost or was mended, a sentence each;
                                                   may be NULL */
    void *user;                                 /* in: for it */
    uint64_t writes;                            /* rows that the new memory counts */
    uint64_t records;                           /* of the log that were repeated */
    uint64_t rows;                              /* in them */
    uint64_t mended;                            /* of those records: one wrong bit was put right */
    uint64_t lost_records;                      /* of the log, at least */
    uint64_t shards, lost_shards;               /* of the snapshot: those that are damaged are empty in the
                                                   new file but for what the log writes to them */
    uint64_t lost_note;                         /* 1: the note is gone */
} bpcn_recovery;

/* Saves every row that is intact of a damaged file, or of one that a crash left, to a new file `to`. The
   file `from` is only read. Its header must be whole but for one bit. A record after the damage is
   repeated with the code that it holds, so that its row is there whatever was lost before it. */
BPCN_API bpcn_status bpcn_file_recover(const char *from, const char *to, bpcn_recovery *report);

/* ---- parameters in and out ---------------------------------------------------------------- */

/* Of a shard that has begun; a memory has shard 0 from the start.

   Layer l of a particle predicts layer l from layer l + 1, l < layers: mean [above x below]
   and row covariance [above x above], where below is the width of layer l (dim for l = 0) and
   above that of layer l + 1. Either pointer may be NULL. */
BPCN_API bpcn_status bpcn_memory_get_layer(const bpcn_memory *memory, size_t shard, size_t particle, size_t layer, double *mean,
                                           double *covariance);

/* The covariance must be symmetric and positive definite. */
BPCN_API bpcn_status bpcn_memory_set_layer(bpcn_memory *memory, size_t shard, size_t particle, size_t layer, const double *mean,
                                           const double *covariance);

/* The top of a particle: mean [width of the highest layer] and its one variance. */
BPCN_API bpcn_status bpcn_memory_get_top(const bpcn_memory *memory, size_t shard, size_t particle, double *mean, double *variance);
BPCN_API bpcn_status bpcn_memory_set_top(bpcn_memory *memory, size_t shard, size_t particle, const double *mean, double variance);

/* Makes `shards` shards of a memory begin, those that have not, as empty ones, and says that rows [shards] were written to
   each, with number `open` begun last; rows written so far become their sum, or that of the first view. Refused for
   counts that cannot be. */
BPCN_API bpcn_status bpcn_memory_set_shards(bpcn_memory *memory, const uint64_t *rows, size_t shards, size_t open);

/* The particles' weights [particles]; set normalises what it is given. */
BPCN_API bpcn_status bpcn_memory_get_weights(const bpcn_memory *memory, size_t shard, double *weights);
BPCN_API bpcn_status bpcn_memory_set_weights(bpcn_memory *memory, size_t shard, const double *weights);

#ifdef __cplusplus
}
#endif

#endif
