/* What the tests of what a memory keeps prepared share: memories of three shapes, all that a memory says, copies that
   never had anything prepared, and readers with many masks. */
#ifndef TESTS_PREPARED_COMMON_H
#define TESTS_PREPARED_COMMON_H

#include "support.h"

/* Widths of the first layer that differ in how a picture's 192 entries are taken: read and written through inner
   products; only written so; never, being wider than a picture. */
enum { THROUGH_G, NARROW, WIDE, SHAPES };
extern const size_t first_width[SHAPES];
enum { SECOND = 24, STORED = 4 };

bpcn_options options_of(int shape, bpcn_activation activation, bpcn_precision precision, size_t particles);

/* ---- what a memory says */

/* Half of the entries and some, others for every number; as many for all, so that only the entries tell them apart. */
void mask_number(size_t number, size_t n, unsigned char *known);

/* Answers, codes and reports of n rows in calls of `most`. */
struct says {
    float *out, *codes;
    bpcn_read_info *info, *code_info;
    size_t n, code;
};

struct says say(const bpcn_memory *m, const float *x, const unsigned char *known, size_t n, size_t most,
                const bpcn_read_options *o);
void says_free(struct says *s);
int same_words(const struct says *a, const struct says *b);

enum { KINDS = 4 }; /* of reads, each prepared for on its own */

/* Reads the gallery without a mask, with one for all, with one for each, and scores it. */
struct view {
    struct says kind[KINDS - 1];
    double score[STORED];
};

struct view view_of(const bpcn_memory *m, const float *x);
int same_view(const struct view *a, const struct view *b);
void view_free(struct view *v);

/* A copy through a file, which never had anything prepared; with its own number of threads, 0: as the environment says.
 */
bpcn_memory *fresh_copy(const bpcn_memory *m, int threads);

/* ---- many masks */

enum { MASKS = 12, EACH = 2 }; /* more masks than a particle stays prepared for */

/* Reads of some rows with mask after mask, from number `first` on. */
struct reader {
    const struct gallery *scene;
    const bpcn_memory *memory;
    size_t first;
    float out[MASKS][EACH * PICTURE];
    bpcn_read_info info[MASKS][EACH];
    double score[MASKS];
    bpcn_status status;
};

void *read_masks(void *reader);
void check_same_reading(const struct reader *a, const struct reader *b);

#endif
