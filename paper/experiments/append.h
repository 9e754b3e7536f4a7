/* Tables of text that several processes add to at once. */
#ifndef EXPERIMENTS_APPEND_H
#define EXPERIMENTS_APPEND_H

#include "failure.h"

/* Adds a line, whole or not at all; what a killed process left of one goes first. heading: the first line of a table
   that is still to be made. Neither has its newline. */
int append_line(const char *path, const char *heading, const char *line, struct failure *failure);

#endif
