/* The named parts of a memory's rows: `image:32x32x3,label:10`. */
#ifndef BPCN_CLI_FIELDS_H
#define BPCN_CLI_FIELDS_H

#include <stdbool.h>
#include <stddef.h>

enum { FIELDS_MOST = 16, FIELD_NAME_MOST = 31, FIELDS_TEXT_MOST = 1024 };

struct field {
    char name[FIELD_NAME_MOST + 1];
    size_t width, height, channels; /* of a picture; all 0 for plain values */
    size_t offset, size;            /* entries of the row */
};

struct fields {
    size_t count, dim;
    struct field field[FIELDS_MOST];
};

/* "NAME:WIDTHxHEIGHT[xCHANNELS]" (a picture) or "NAME:N" (values), separated by commas. 0, or -1
   with a sentence in why. */
int fields_parse(const char *text, struct fields *fields, char *why, size_t room);

/* One unnamed picture or vector, as --image and --dim give it. */
int fields_parse_shape(const char *name, const char *shape, struct fields *fields, char *why, size_t room);

/* The text that fields_parse reads. */
void fields_format(const struct fields *fields, char *out, size_t room);

/* "32x32x3" or "10". */
void field_shape(const struct field *field, char *out, size_t room);

/* The field of that name (of `length` characters), or NULL. */
const struct field *fields_find(const struct fields *fields, const char *name, size_t length);

/* The first picture among them, or NULL. */
const struct field *fields_picture(const struct fields *fields);

bool field_is_picture(const struct field *field);

/* The index of the greatest entry: which label a one-of-n field shows. */
size_t field_label(const struct field *field, const float *row);

#endif
