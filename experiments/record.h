/* A cell's result: named numbers, kept as a small text file that is either whole or not there. */
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

/* The file is written beside its place and renamed into it. */
int record_save(const struct record *record, const char *path, struct failure *failure);

/* -1 when there is no such file or it is not a record. */
int record_load(struct record *record, const char *path);

#endif
