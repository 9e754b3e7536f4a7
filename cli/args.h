/* The options of a command line, parsed as the table of options says (options.def). --quiet, --json and --help, which
   every command has, are handled here. */
#ifndef BPCN_CLI_ARGS_H
#define BPCN_CLI_ARGS_H

#include "bayespcn.h"
#include "console.h"
#include "options.h"

#include <getopt.h>
#include <stdint.h>

enum { ARGS_MOST = 64 };

struct args {
    struct console console;
    int argc;
    char **argv; /* argv[0] is the command's name */
    const struct command *command;
    const struct option_entry *option;         /* the one that args_next returned last */
    const struct option_entry *own[ARGS_MOST]; /* the command's, in the order of `all` */
    struct option all[ARGS_MOST];
    size_t count;
    char letters[2 * ARGS_MOST]; /* for getopt_long */
    int status;                  /* -1, or the status to exit with at once */
};

void args_begin(struct args *a, int argc, char **argv);

/* The next option, an option_id, with its argument in optarg; -1 after the last one, or when a->status says how to
   exit. */
int args_next(struct args *a);

/* The arguments that are not options; after args_next has returned -1. */
int args_count(const struct args *a);
char **args_rest(const struct args *a);

/* Whether there are least to most of them; otherwise sets the status and prints the command's usage. */
bool args_expect(struct args *a, int least, int most);

/* All of these for a command that has only the common options. */
bool args_only(struct args *a, int argc, char **argv, int least, int most);

/* The text as a number within bounds. Otherwise 0, with the status set and a message that names the current option. */
double args_number(struct args *a, const char *text, double least, double most);
uint64_t args_whole(struct args *a, const char *text, uint64_t least, uint64_t most);

/* The position of optarg among the words of the current option. Otherwise 0, with the status set and a message. */
int args_word(struct args *a);

/* The position of a word in a list that blanks separate; -1 when it is not there. */
int word_place(const char *word, size_t length, const char *words);

/* The candidate that `word` was probably meant to be, or NULL. */
const char *nearest_word(const char *word, const char *const *candidates, size_t count);

#endif
