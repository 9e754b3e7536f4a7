/* bpcn check, recover and compact, for a file or every file of a folder. */
#ifndef BPCN_CLI_MAINTENANCE_H
#define BPCN_CLI_MAINTENANCE_H

#include "console.h"

/* Verifies everything and prints the first damage: EXIT_DAMAGED if there is any, EXIT_REFUSED if a crash left something
   unfinished. */
int maintenance_check(const struct console *console, const char *path);

/* Saves what is intact of a damaged file to a new one; EXIT_REFUSED when something is lost. */
int maintenance_recover(struct console *console, const char *from, const char *to);

/* Folds the log of a file or of all files of a folder, in its place or (to not NULL) to a new file. */
int maintenance_compact(const struct console *console, const char *path, const char *to);

#endif
