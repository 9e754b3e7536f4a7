/* Names of rows as the program makes them: of file names and of cells. */
#ifndef BPCN_CLI_NAMING_H
#define BPCN_CLI_NAMING_H

#include "bayespcn.h"

#include <stdbool.h>
#include <stddef.h>

enum { NAME_ROOM = BPCN_MAX_NAME + 1 };

/* A text as a name: bytes that are no UTF-8, and control characters, become '?', of a long one the end is kept, after
   "...". "" for an empty text. */
void name_of_text(const char *text, size_t size, char out[NAME_ROOM]);

/* The name of the file at the end of a path. */
void name_of_path(const char *path, char out[NAME_ROOM]);

#endif
