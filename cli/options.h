/* The table of commands and options (options.def), and what comes from it: the help pages, and the man pages and
   completions that `make` generates. */
#ifndef BPCN_CLI_OPTIONS_H
#define BPCN_CLI_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#define COMMAND(id, ...) CMD_##id,
#define GROUP(id, ...)
#define OPTION(id, ...)
enum command_id {
#include "options.def"
    COMMANDS
};
#undef COMMAND
#undef GROUP
#undef OPTION

#define COMMAND(id, ...)
#define GROUP(id, ...) GROUP_##id,
#define OPTION(id, ...)
enum group_id {
#include "options.def"
    GROUPS
};
#undef COMMAND
#undef GROUP
#undef OPTION

/* What args_next returns: beyond every letter. */
#define COMMAND(id, ...)
#define GROUP(id, ...)
#define OPTION(id, ...) OPT_##id,
enum option_id {
    OPT_BEFORE_FIRST = 255,
#include "options.def"
    OPT_BEHIND_LAST
};
#undef COMMAND
#undef GROUP
#undef OPTION

/* A command's main: argv[0] is its name. Returns the exit status. */
#define COMMAND(id, function, ...) int cmd_##function(int argc, char **argv);
#define GROUP(id, ...)
#define OPTION(id, ...)
#include "options.def"
#undef COMMAND
#undef GROUP
#undef OPTION

/* NULL in a build without the server's libraries. */
__attribute__((weak)) int cmd_serve(int argc, char **argv);

struct command {
    const char *name;
    int (*run)(int argc, char **argv); /* NULL: left out of this build */
    const char *summary;               /* one line */
    const char *usage;                 /* what follows the name */
    const char *note;                  /* a paragraph of the help page; NULL: none */
    const char *examples;              /* whole lines; NULL: none */
    bool ranks;                        /* bpcn-mpi has it too */
};

struct option_group {
    const char *title;
    const char *text; /* a paragraph below it, for the commands of these bits; NULL: none */
    unsigned text_of;
};

/* What a completion offers as a value where there are no words. */
enum option_value { OPTION_TEXT, OPTION_FILES };

struct option_entry {
    enum option_id id;
    const char *name;
    char letter;          /* 0: none */
    unsigned commands;    /* a bit for each command that has it */
    enum group_id group;  /* where it stands on a page */
    const char *argument; /* NULL: a switch */
    bool repeat;          /* may be given several times */
    enum option_value value;
    const char *words;       /* the values allowed, separated by blanks; NULL: others too */
    const char *suggest;     /* values for a completion to offer; NULL: none */
    const char *initial;     /* the default; NULL: none worth a word */
    const char *help, *more; /* one line; sentences of the man page or NULL */
};

extern const struct command commands[COMMANDS];
extern const struct option_group option_groups[GROUPS];
extern const struct option_entry option_entries[];
extern const size_t option_count;

/* NULL when there is none of that name. */
const struct command *find_command(const char *name);

/* "bpcn" or "bpcn-mpi"; whether this program has the command. */
extern const char program_name[];
bool has_command(const struct command *command);

/* A word of the option's list by its position: a static buffer. */
const char *option_word(enum option_id id, size_t place);

bool command_has(const struct command *command, const struct option_entry *option);

/* Runs the command that argv[1] names, and returns the status to exit with. */
int run_command(int argc, char **argv);

/* The page of one command. */
void help_command(FILE *out, const struct command *command);

/* The man page whose hand-written part is the file at `path`, .../NAME.roff: 0, or -1 when it cannot be read. */
int man_page(FILE *out, const char *path);

void bash_completion(FILE *out);
void zsh_completion(FILE *out);

#endif
