/* One case of the golden numbers: its tensors, what was compared with them, and how far off that was. */
#ifndef BPCN_TESTS_GOLDEN_CASE_H
#define BPCN_TESTS_GOLDEN_CASE_H

#include "golden_files.h"

struct tensor {
    char name[128];
    fmt_array array;
    enum { UNSEEN, INPUT, COMPARED } seen;
    struct tensor *next;
};

struct golden_case {
    const char *folder, *name;
    const struct json *about;
    struct tensor *tensors;
    double worst;
    char worst_name[128];
    int failures;
};

/* All tensors of the case in its folder. */
void load_tensors(struct golden_case *c);

/* The tensor of that name, or NULL; it stays unseen. */
struct tensor *find(const struct golden_case *c, const char *name);

/* A tensor to compute with: NULL, or a failed test, when there is none of that name. */
const fmt_array *input(struct golden_case *c, const char *format, ...);
const fmt_array *required(struct golden_case *c, const char *format, ...);

/* Compares what we computed with a tensor, if the folder has it. */
void compare(struct golden_case *c, const char *name, size_t count, const double *got);

#endif
