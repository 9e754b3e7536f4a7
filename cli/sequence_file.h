/* Sequences in files: what the commands share that write, play and find episodes. */
#ifndef BPCN_CLI_SEQUENCE_FILE_H
#define BPCN_CLI_SEQUENCE_FILE_H

#include "bayespcn_sequence.h"
#include "console.h"
#include "read_rows.h"
#include "table_schema.h"

struct sequence_file {
    const struct console *console;
    const char *path;
    bpcn_sequence *sequence;
    bpcn_sequence_options options;
    fmt_schema fields; /* of a frame: one picture or vector */
    bpcn_episode *episode;
    size_t episodes;
};

/* Whether the file's header is that of a sequence: false for what is no memory file. */
bool sequence_file_is(const char *path);

/* 0, or an exit status after a message. */
int sequence_file_open(const struct console *console, const char *path, bool to_change, struct sequence_file *file);
int sequence_file_create(const struct console *console, const char *path, const fmt_schema *fields,
                         const bpcn_sequence_options *options, bool force);

/* Syncs and closes: the status, or where that is 0, one for what this comes to. */
int sequence_file_close(struct sequence_file *file, int status);

/* The episode of this name, the latest of several, or of the number N for #N; NULL: the one written last. */
int sequence_file_episode(const struct sequence_file *file, const char *name, size_t *episode);

/* Prints the library's sentence. */
int sequence_file_error(const struct sequence_file *file, bpcn_status status);

/* ---- what commands of other memories do with a sequence */
int sequence_file_info(const struct console *console, const char *path);
int sequence_file_forget(const struct console *console, const char *path, double beta, size_t times);
int sequence_file_delete(const struct console *console, const char *path, char **names, int count);
int sequence_file_write(const struct console *console, const char *path, const struct input_options *options,
                        const char *name, bool go_on, char **inputs, int count);

#endif
