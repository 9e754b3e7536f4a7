/* A cell's result: named numbers. */
#ifndef EXPERIMENTS_RECORD_H
#define EXPERIMENTS_RECORD_H

#include "failure.h"

#include <stddef.h>

enum { RECORD_ITEMS = 96, RECORD_NAME = 40 };

struct record {
    size_t count;
    struct {
        char name[RECORD_NAME];
        double value;
    } item[RECORD_ITEMS];
};

/* Sets or replaces a number. What does not fit any more is dropped: records are small by design. */
void record_set(struct record *record, const char *name, double value);

/* The number of that name, NaN when there is none. */
double record_get(const struct record *record, const char *name);

#endif
