/* What the program prints: errors, notes and results; and its exit statuses. */
#ifndef BPCN_CLI_CONSOLE_H
#define BPCN_CLI_CONSOLE_H

#include "bayespcn.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

extern const char program_name[]; /* "bpcn" or "bpcn-mpi" */

/* Documented in bpcn(1); scripts rely on them. */
enum {
    EXIT_DONE = 0,
    EXIT_FAILED = 1,       /* an input, a file or the system: the message says which */
    EXIT_USAGE = 2,        /* the command line is wrong */
    EXIT_REFUSED = 3,      /* done, but some rows were refused: unknown to the memory */
    EXIT_DAMAGED = 4,      /* the memory file is damaged, or is no memory file */
    EXIT_INTERRUPTED = 130 /* Ctrl-C; finished writes are in the file. SIGTERM makes it 143 (exit_status) */
};

#if defined(__GNUC__)
#define CONSOLE_FORMAT(at) __attribute__((format(printf, at, at + 1)))
#else
#define CONSOLE_FORMAT(at)
#endif

struct console {
    const char *command; /* "write"; NULL before it is known */
    bool quiet;          /* errors and console_warn only */
    bool json;           /* results as one object per line */
    bool colour;         /* standard output is a terminal that wants colours */
};

/* Quiet and json off; colours if standard output is a terminal and NO_COLOR is not set. */
struct console console_default(const char *command);

/* "bpcn write: ..." on standard error. Returns EXIT_FAILED, so that it can end a function. */
int console_error(const struct console *console, const char *format, ...) CONSOLE_FORMAT(2);

/* The same, returning EXIT_USAGE and naming the help page. */
int console_usage(const struct console *console, const char *format, ...) CONSOLE_FORMAT(2);

/* A note on standard error, unless quiet. */
void console_note(const struct console *console, const char *format, ...) CONSOLE_FORMAT(2);

/* A note also when quiet: something was lost, or will be. */
void console_warn(const struct console *console, const char *format, ...) CONSOLE_FORMAT(2);

/* A result on standard output, unless quiet or json. */
void console_print(const struct console *console, const char *format, ...) CONSOLE_FORMAT(2);

enum colour { COLOUR_PLAIN, COLOUR_GOOD, COLOUR_BAD, COLOUR_DIM, COLOUR_BOLD };

/* The escape sequence that starts a hue (COLOUR_PLAIN ends it), or "" without colours. */
const char *console_colour(const struct console *console, enum colour which);

/* The length of the UTF-8 sequence at s, 0 when there is none: file names may hold any bytes. */
size_t utf8_length(const unsigned char *s);

/* A string in JSON, with its quotes. */
void json_write_string(FILE *out, const char *text);

/* A number in JSON; null when it is not finite. */
void json_write_number(FILE *out, double value);

/* "13.9 MB", "6.4 kB": a static buffer, of which there are four in turn. */
const char *console_bytes(uint64_t bytes);

/* Flushes standard output and returns the status; EXIT_FAILED, after a message, if the status was good but the flush
   failed. */
int console_flush(const struct console *console, int status);

/* ---- Names of rows as the program makes them: of file names and of cells. */

enum { NAME_ROOM = BPCN_MAX_NAME + 1 };

/* A text as a name: bytes that are no UTF-8, and control characters, become '?', of a long one the end is kept, after
   "...". "" for an empty text. */
void name_of_text(const char *text, size_t size, char out[NAME_ROOM]);

/* The name of the file at the end of a path. */
void name_of_path(const char *path, char out[NAME_ROOM]);

#endif
