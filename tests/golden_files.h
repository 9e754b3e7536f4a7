/* Reading a folder of golden numbers: its manifest.json, and float64 arrays in .npz or .npy files. */
#ifndef BPCN_TESTS_GOLDEN_FILES_H
#define BPCN_TESTS_GOLDEN_FILES_H

#include "formats.h"

#include <stddef.h>

/* ---- JSON */

enum json_kind { JSON_NULL, JSON_BOOL, JSON_NUMBER, JSON_STRING, JSON_ARRAY, JSON_OBJECT };

struct json {
    enum json_kind kind;
    double number;             /* of a number; 0 or 1 of a bool */
    char *text;                /* of a string */
    char *key;                 /* of a member of an object */
    struct json *first, *next; /* first child of an array or object; next sibling */
};

/* NULL, and a sentence in `error`, when the text is not JSON. */
struct json *json_parse(const char *text, char *error, size_t room);
struct json *json_read(const char *path, char *error, size_t room);
void json_free(struct json *value);

/* A member of an object, or NULL. */
const struct json *json_member(const struct json *object, const char *key);
double json_number(const struct json *object, const char *key, double otherwise);
const char *json_string(const struct json *object, const char *key, const char *otherwise);

/* ---- tensors: all those of a case in CASE.npz or, when there is none, each in CASE.TENSOR.npy */

bpcn_status golden_names(const char *folder, const char *name, fmt_names *names);
bpcn_status golden_tensor(const char *folder, const char *name, const char *tensor, fmt_array *array);

#endif
