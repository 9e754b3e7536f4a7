/* The help pages, and the list of commands that dispatch, help and completion share. */
#ifndef BPCN_CLI_HELP_H
#define BPCN_CLI_HELP_H

#include <stdio.h>

struct command {
    const char *name;
    int (*run)(int argc, char **argv);
    const char *summary; /* one line */
    const char *usage;   /* what follows the name */
    const char *details; /* options and examples */
};

extern const struct command commands[];
extern const size_t command_count;

const struct command *find_command(const char *name);

/* The page of one command; -1 when there is no such command. */
int help_command(FILE *out, const char *name);

/* What `bpcn help` prints. */
void help_overview(FILE *out);

#endif
