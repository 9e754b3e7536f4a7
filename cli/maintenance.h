/* Looking after memory files: whether they are sound, what is intact of them, and folding their logs. */
#ifndef BPCN_CLI_MAINTENANCE_H
#define BPCN_CLI_MAINTENANCE_H

#include "console.h"

/* Verifies everything, printing what is wrong and where: EXIT_DAMAGED when something is, EXIT_REFUSED when a crash left
   something that was never finished. A file, or a folder of files. */
int maintenance_check(const struct console *console, const char *path);

/* Saves what is intact of a damaged file to a new one; EXIT_REFUSED when something is lost. */
int maintenance_recover(struct console *console, const char *from, const char *to);

/* Folds the log of a file or of all files of a folder, in its place or (to not NULL) to a new file. */
int maintenance_compact(const struct console *console, const char *path, const char *to);

#endif
