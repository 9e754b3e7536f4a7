/* How well the memory knows, in words; and how full it is. */
#ifndef BPCN_CLI_VERDICT_H
#define BPCN_CLI_VERDICT_H

#include "bayespcn.h"
#include "fields.h"
#include "memfile.h"
#include "say.h"

/* "known" or "new"; the border is an even chance. */
const char *verdict_word(double familiarity);
enum hue verdict_hue(double familiarity);

/* The chance that the memory has seen it, 0 .. 1, calibrated on pictures: from how far the answer may
   be off, in units of the noise. For a row as it was written that is at most 1, for rows never seen
   tens to thousands; even odds at 4. noise: what the memory was told that the query carries (0 or
   less: nothing); known: entries of the query. */
double familiarity_of_read(const bpcn_options *options, const bpcn_read_info *info, double noise, size_t known);

/* Of a row before it was written, by its leverage alone. */
double familiarity_of_write(const bpcn_options *options, const bpcn_write_row *row);

/* How much of the weights' uncertainty the writes have used up, 0 .. 1, in the fullest layer of the
   heaviest particle; negative when memory runs out. A row uses up one direction of a layer. Of several shards: the
   share of their rows that is written, or, once a shard has more than its rows, the mean of that measure. */
double memory_fullness(const bpcn_memory *memory);

/* A random sample of the rows written by this command, or where old rows are to fade its latest, to
   be asked for again at its end. */
enum { PROBES = 16 };
struct probes {
    float *rows; /* [PROBES x dim] */
    size_t dim, seen, held, most;
    bool latest;
    uint64_t state;
};

/* For rows that go to a memory of these options; fading: old rows are let go. */
int probes_begin(struct probes *probes, const bpcn_options *options, bool fading);
void probes_add(struct probes *probes, const float *row);
void probes_free(struct probes *probes);

/* Measures fullness and recall of the probes and remembers both in the file's remark. */
int measure_fullness(struct memfile *file, const struct probes *probes);

/* A sentence on what to do when it is nearly full, or NULL. */
const char *fullness_advice(const bpcn_options *options, const struct remark *remark);

#endif
