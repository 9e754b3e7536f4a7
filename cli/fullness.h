/* The colour of a verdict; how full a memory is; advice. */
#ifndef BPCN_CLI_FULLNESS_H
#define BPCN_CLI_FULLNESS_H

#include "bayespcn.h"
#include "console.h"
#include "memory_file.h"
#include "table_schema.h"

enum colour verdict_colour(bpcn_verdict verdict);

/* How much of the weights' uncertainty the writes have used up, 0 .. 1, in the fullest layer of the
   heaviest particle; negative when memory runs out. A row uses up one direction of a layer. Of several shards: the
   share of their rows that is written, or, once a shard has more than its rows, the mean of that measure. */
double memory_fullness(const bpcn_memory *memory);

/* A random sample of the rows that this command writes (its latest rows if old ones fade), to be recalled at its end.
 */
enum { PROBES = 16 };
struct probes {
    float *rows; /* [PROBES x dim] */
    size_t dim, seen, held, most;
    bool latest;
    uint64_t state;
};

/* For rows that go to a memory of these options; fading: old rows are let go. */
int probes_begin(struct probes *probes, const bpcn_options *options, bool auto_forget);
void probes_add(struct probes *probes, const float *row);
void probes_free(struct probes *probes);

/* Measures fullness and recall of the probes, and stores both in the file's note. */
int measure_fullness(struct memory_file *file, const struct probes *probes);

/* Whether nine in ten of the probes are recalled. */
bool fullness_recalls(const struct memory_note *note);

/* A sentence on what to do when it is nearly full or does not recall what was written; false: nothing. */
enum { ADVICE_MOST = 300 };
bool fullness_advice(const bpcn_options *options, const struct memory_note *note, char *out, size_t capacity);

#endif
