/* The body of a request as rows for the memory. Knows no more of HTTP than content types and statuses. */
#ifndef BPCN_SERVER_BODY_H
#define BPCN_SERVER_BODY_H

#include "formats/schema.h"
#include "http_error.h"
#include "console.h"

#include <stdint.h>

/* Content types of bodies, and of answers. */
enum content { CONTENT_JSON, CONTENT_OCTETS, CONTENT_NPY, CONTENT_PNG, CONTENT_JPEG, CONTENT_OTHER, CONTENT_CSV };

/* By the text of a Content-Type, without its parameters. */
enum content content_of(const char *type);

/* The first of the types of answers that an Accept names; JSON where it names none. */
enum content content_wanted(const char *accept);

/* 415, with the types that are taken. */
bpcn_status body_unknown_type(void);

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
    double noise;        /* of the rows; negative: not given */
    double forgotten;    /* read a copy that has forgotten this much */
    double beta;         /* to forget; negative: not given */
    uint64_t number;     /* of samples, names or examples; 0: not given */
    uint64_t draw;       /* of samples */
    uint64_t first;      /* of the names or examples to be listed */
    uint64_t after;      /* the number of the last event that is known */
    uint64_t step;       /* of the write to undo; 0: not given */
    uint64_t shards;     /* to read in */
    bool spread, resize; /* tell how unsure the answer is; bring a picture to the memory's size */
    bool trace;          /* tell how the energy fell */
    bool seen;           /* tell of each example whether it was written */
};

void body_begin(struct body *body);
void body_free(struct body *body);

/* An option by its name: "noise", "forget", ... 400 when there is none of that name or its value is out of bounds. */
bpcn_status body_option(struct body *body, const char *name, double value);

/* One name more, NULL for a row without one. */
bpcn_status body_name(struct body *body, const char *text, size_t size);

/* An option of the URL, or name=TEXT. */
bpcn_status body_take_text(struct body *body, const char *name, const char *value);

/* Parses. A JSON body may do without rows, and an empty one of any type has none. */
bpcn_status body_parse(struct body *body, const struct shape *shape, enum content content, const void *bytes,
                       size_t size);

#endif
