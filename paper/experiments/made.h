/*
 * How a cell was made: by the program of which commit, with which kernels, when, on what. A cell is fresh as long as
 * nothing that its method depends on has changed since that commit; this is asked of git, in the tree of the results.
 */
#ifndef EXPERIMENTS_MADE_H
#define EXPERIMENTS_MADE_H

#include "method.h"

enum { MADE_FIELDS = 4, MADE_TEXT = 96 };

struct made {
    char commit[48]; /* hexadecimal; with a + behind where the tree had changes besides */
    char kernels[16], date[16], cpu[MADE_TEXT];
};

/* The names of the fields, and where each is. */
extern const char *const made_names[MADE_FIELDS];
const char *made_field(const struct made *made, size_t field);

/* Of a line "commit,kernels,date,cpu"; everything is empty where there is less. */
void made_parse(const char *text, struct made *made);

/* Here and today, by a program of that commit ("" when it was not told). */
void made_here(const char *commit, struct made *made);

/* "model name" of the first processor. */
void processor_name(char *name, size_t room);

enum freshness {
    FRESH,
    VOUCHED, /* stale or untold, but others of its kind have come out the same since (checked.h) */
    STALE,   /* what it depends on has changed since */
    UNTOLD,  /* its commit was not told, had changes besides, or is unknown here */
};

/* What git was asked already. */
struct freshness_cache {
    size_t count;
    struct {
        char commit[48];
        const char *const *paths;
        enum freshness answer;
    } known[64];
};

/* The paths that the numbers of a method depend on, NULL-terminated: the same pointer for the same paths. */
const char *const *method_paths(const struct method_spec *spec);

/* Of a cell with these paths; folder: any of the tree; own: the commit of this program, which needs no git. */
enum freshness freshness_of(const struct made *made, const char *const *paths, const char *folder, const char *own,
                            struct freshness_cache *cache);

#endif
