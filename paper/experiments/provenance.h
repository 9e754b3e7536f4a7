/*
 * How a cell was computed: by the program of which commit and of which code, with which kernels, when, on what. The
 * code is a digest of the sources that the cell depends on, which the build computes (paper.mk): a cell is fresh as
 * long as the program has the same.
 */
#ifndef EXPERIMENTS_PROVENANCE_H
#define EXPERIMENTS_PROVENANCE_H

#include "method.h"

enum { PROVENANCE_FIELDS = 5 };

struct provenance {
    char commit[48]; /* hexadecimal; with a + behind where the tree had changes besides */
    char kernels[16], date[16], cpu[96];
    char code[16];
};

/* The names of the fields, as columns have them, and where each is. */
extern const char *const provenance_names[PROVENANCE_FIELDS];
const char *provenance_field(const struct provenance *p, size_t field);

/* Parses "commit,kernels,date,cpu,code"; what is missing stays empty. */
void provenance_parse(const char *text, struct provenance *p);

/* Of a cell that this program computes here and today by that method. */
void provenance_here(const struct method_spec *spec, struct provenance *p);

/* The digest of the sources that the numbers of a method depend on; the build sets it. */
const char *provenance_code(const struct method_spec *spec);

enum freshness {
    FRESH,   /* computed by today's code */
    VOUCHED, /* by other code, but others of its kind came out the same by today's (rechecks.h) */
    STALE,   /* by other code, or it does not say by which */
};

#endif
