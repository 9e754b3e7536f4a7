/* The help pages, and what `make` generates from the table of options: the man pages and the completions. */
#ifndef BPCN_CLI_HELP_H
#define BPCN_CLI_HELP_H

#include "options.h"

#include <stdio.h>

/* The page of one command. */
void help_command(FILE *out, const struct command *command);

/* What `bpcn help` prints. */
void help_overview(FILE *out);

/* The command that an unknown word was probably meant to be, or NULL. */
const char *nearest_command(const char *word);

/* The man page whose hand-written part is the file at `path`, .../NAME.roff: 0, or -1 when it cannot be read. */
int man_page(FILE *out, const char *path);

void bash_completion(FILE *out);
void zsh_completion(FILE *out);

#endif
