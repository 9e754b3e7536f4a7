/* Answers to where -o says: a picture, an array, a folder of pictures, or raw floats to a pipe. */
#ifndef BPCN_CLI_OUTPUT_H
#define BPCN_CLI_OUTPUT_H

#include "args.h"
#include "table_schema.h"
#include "read_rows.h"
#include "query.h"

struct output_options {
    const char *path;   /* -o; NULL: nothing is written; "-": standard output */
    int kind;           /* --output-format; 0: by suffix, raw on standard output */
    const char *only;   /* --only FIELD: that part of the rows */
    bool plain;         /* --plain: answers alone, no truth and no query beside them */
    bool channels_last; /* arrays of pictures as height x width x channels */
};

bool output_option(struct args *a, int c, struct output_options *options);

struct output;

/* Checks before any work that the file can be written; NULL after a message. */
struct output *output_open(const struct console *console, const fmt_schema *fields,
                           const struct output_options *options);

/* Answers [rows x dim] to the queries made of a batch. query and batch may be NULL: samples.
   familiarity [rows] may be NULL. 0, or an exit status after a message. */
int output_add(struct output *out, const struct batch *batch, const struct query *query, size_t rows,
               const float *answers, const double *familiarity);

/* Whether nothing of it is there before output_finish. */
bool output_waits(const struct output *out);

/* Writes what is still to be written; 0, or an exit status after a message. */
int output_finish(struct output *out);
void output_close(struct output *out);

#endif
