/* A progress bar with rate and time left on a terminal; nothing in a pipe. Also the clock and the
   Ctrl-C that long commands watch. */
#ifndef BPCN_CLI_PROGRESS_H
#define BPCN_CLI_PROGRESS_H

#include "console.h"

struct progress {
    bool shown;       /* standard error is a terminal and nobody asked for quiet */
    const char *verb; /* "writing" */
    const char *unit; /* "rows" */
    size_t done;
    size_t total; /* 0: not known */
    double start; /* seconds */
    double drawn; /* when last */
};

void progress_begin(struct progress *p, const struct console *console, const char *verb, const char *unit);
void progress_update(struct progress *p, size_t done, size_t total);
void progress_clear(struct progress *p); /* takes the line away, before other output */

double seconds_now(void);
double progress_rate(const struct progress *p); /* units per second so far */

/* From here on Ctrl-C (and SIGTERM) only raises a flag, which commands look at between rows. A
   second Ctrl-C ends the program at once: the memory file is as its last finished write made it. */
void catch_interrupts(void);
bool interrupted(void);
const char *interruption(void); /* "interrupted", or "terminated" by SIGTERM */

/* What the program exits with after a command's status: where that is EXIT_INTERRUPTED, as the shell numbers signals.
 */
int exit_status(int status);

#endif
