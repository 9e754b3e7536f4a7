/* Options and numbers of a command line, with getopt_long. The options that every command knows
   (--quiet, --json, --help) are handled here. */
#ifndef BPCN_CLI_ARGS_H
#define BPCN_CLI_ARGS_H

#include "bayespcn.h"
#include "console.h"

#include <getopt.h>
#include <stdint.h>

enum { ARGS_MOST = 48 };

struct args {
    struct console console;
    int argc;
    char **argv;                  /* argv[0] is the command's name */
    struct option all[ARGS_MOST]; /* the command's own options, then the common ones */
    size_t count;
    char shorts[2 * ARGS_MOST]; /* of those whose value is a letter */
    int status;                 /* -1, or the status to exit with at once */
};

/* own: options of the command, ended by an empty one. */
void args_begin(struct args *a, int argc, char **argv, const struct option *own);

/* More options, before the first args_next: those that several commands share. */
void args_add(struct args *a, const struct option *more);

/* The value of the next option, its argument in optarg; -1 after the last, or when a->status says
   how to exit. */
int args_next(struct args *a);

/* The arguments that are not options; after args_next has returned -1. */
int args_count(const struct args *a);
char **args_rest(const struct args *a);

/* Whether there are least to most of them; otherwise sets the status and says what is missing. */
bool args_expect(struct args *a, int least, int most, const char *usage);

/* A number within bounds, or 0 with the status set and a message that names `what`. */
double args_number(struct args *a, const char *what, const char *text, double least, double most);
uint64_t args_whole(struct args *a, const char *what, const char *text, uint64_t least, uint64_t most);

/* The place of `word` in a list that ends with NULL; -1 when it is not there. */
int word_place(const char *word, const char *const *list);

/* The names of the activations, ended by NULL. */
const char *const *activation_words(void);

/* What becomes of a row when every shard has its rows, in words, ended by NULL. */
extern const char *const when_full_words[];

/* The candidate that `word` was probably meant to be, or NULL. */
const char *nearest_word(const char *word, const char *const *candidates, size_t count);

#endif
