/* The body of a request as rows for the memory. Knows nothing of HTTP but names of content types. */
#ifndef BPCN_SERVER_BODY_H
#define BPCN_SERVER_BODY_H

#include "formats/schema.h"
#include "console.h"
#include "refusal.h"

#include <stdint.h>

/* Content types that are taken; also those of answers. */
enum content { CONTENT_JSON, CONTENT_OCTETS, CONTENT_NPY, CONTENT_PNG, CONTENT_JPEG, CONTENT_OTHER };

/* By the text of a Content-Type, without its parameters. */
enum content content_of(const char *type);

/* What rows are here, and how many may come. */
struct shape {
    const fmt_schema *schema;
    size_t most_rows;
};

struct body {
    size_t rows;
    float *x;             /* [rows x dim], 0 where it is not known */
    unsigned char *known; /* [rows x dim] */
    bool whole;           /* everything is known */
    bool named;           /* rows came as objects, columns by their names */
    size_t names;         /* that were given */
    char *name;           /* [names x NAME_ROOM], "" for none */
    /* options, each of a JSON body's member or of the URL's query */
    double noise;        /* of the rows; negative: not said */
    double forgotten;    /* read as if so much had been forgotten */
    double beta;         /* to forget; negative: not said */
    uint64_t number;     /* of samples, of names to be listed; 0: not said */
    uint64_t draw;       /* of samples */
    size_t first;        /* of the names to be listed */
    size_t shards;       /* to read in */
    bool spread, resize; /* tell how unsure the answer is; bring a picture to the memory's size */
    bool trace;          /* tell how the energy fell */
};

void body_begin(struct body *body);
void body_free(struct body *body);

/* "noise", "forget", ...; -1 with the refusal when there is no such option or its value is out of bounds. */
int body_option(struct body *body, const char *name, double value, struct refusal *why);

/* One name more, NULL for none; -1 with the refusal when it cannot be one. */
int body_name(struct body *body, const char *text, size_t size, struct refusal *why);

/* Parses; -1 with the refusal. A JSON body may do without rows, and an empty one of any type has none. */
int body_parse(struct body *body, const struct shape *shape, enum content content, const void *bytes, size_t size,
               struct refusal *why);

#endif
