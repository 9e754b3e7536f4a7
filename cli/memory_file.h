/* A memory as the commands of bpcn and bpcn-mpi see it, in a file or in a folder of files. They use an open memory only
   through these functions. */
#ifndef BPCN_CLI_MEMORY_FILE_H
#define BPCN_CLI_MEMORY_FILE_H

#include "bayespcn.h"
#include "console.h"
#include "table_schema.h"

/* What the program keeps in the file's note: lines of key=value. */
struct memory_note {
    fmt_schema fields; /* what a row is */
    double fullness;   /* 0 .. 1, measured after the write numbered `measured`; negative: never */
    size_t probes;     /* written rows whose recall was tested */
    size_t recalled;   /* how many of them were recalled */
    double scale;      /* root mean square of their values; 0: not known */
    uint64_t measured; /* writes at that time */
};

enum { NOTE_MOST = BPCN_MAX_NOTE };

/* Converts a note to text and back; -1 if it does not fit or is invalid. A text without a schema means one vector of
   dim entries. The caller frees the schema of a parsed note. */
int note_format(const struct memory_note *note, char *out, size_t capacity);
int note_parse(const char *text, size_t dim, struct memory_note *note);

/* How a command opens the file. */
enum purpose {
    TO_LOOK,  /* the memory as the file has it now */
    TO_CHANGE /* every finished write, forget and delete goes to the file at once */
};

struct memory_file {
    const struct console *console;
    const char *path;
    struct memory_note note;
    bpcn_options options;  /* of the whole memory */
    double synced;         /* when last, in seconds */
    bpcn_memory *memory;   /* of one file */
    struct folder *folder; /* or of a folder of files; NULL: it is one file */
};

/* Functions that return an int print their errors: 0, or the exit status. Those that return a bpcn_status do not; the
   caller prints bpcn_error(). */

/* A new, empty memory: a folder of so many files; 0: one file, or in bpcn-mpi a folder of as many as there are
   processes. Replaces an old one only with force. */
int memory_file_create(const struct console *console, const char *path, const bpcn_options *options,
                       const fmt_schema *fields, bool force, size_t files);

/* Makes a new file from a memory, and frees the memory. */
int memory_file_adopt(const struct console *console, const char *path, bpcn_memory *memory, const fmt_schema *fields,
                      bool force);

int memory_file_open(const struct console *console, const char *path, enum purpose purpose, struct memory_file *file);

/* Warns, once a run and also when quiet, of what a crash left at the end of a file. */
void memory_file_tell_dropped(const struct console *console, const char *path, uint64_t bytes, uint64_t rows);

/* Warns, once a run, of a damaged seal. */
void memory_file_tell_seal(const struct console *console, const char *path, uint64_t torn);

/* Makes all changes durable, with the note; the second without the note and without a message. */
int memory_file_commit(struct memory_file *file);
bpcn_status memory_file_sync(struct memory_file *file);

/* Call between rows: makes changes durable now and then, so that a power failure loses little. */
int memory_file_sync_if_due(struct memory_file *file);

void memory_file_close(struct memory_file *file);

/* ---- what is done with an open memory: the library's functions of these names. Samples of a folder are others than
   those of one file with the same shards */
bpcn_status memory_file_options(const struct memory_file *file, bpcn_options *options);
bpcn_status memory_file_stats(const struct memory_file *file, bpcn_stats *stats);

/* rows [options.shards]: of every shard, the rows written since it was begun. */
bpcn_status memory_file_shard_rows(const struct memory_file *file, uint64_t *rows);

/* out and info may be NULL. A folder keeps no traces, and its spreads are those of the answering shard. */
bpcn_status memory_file_read(const struct memory_file *file, const float *query, const unsigned char *known, size_t n,
                             const bpcn_read_options *options, float *out, bpcn_read_info *info);

/* typicality [n] of rows; -1 if the memory does not keep recent surprises, as a folder does not. */
bpcn_status memory_file_typicality(const struct memory_file *file, const float *x, const unsigned char *known, size_t n,
                                   double *typicality);
bpcn_status memory_file_sample(const struct memory_file *file, size_t n, uint64_t draw, float *out);
bpcn_status memory_file_delete(struct memory_file *file, const float *x);
bpcn_status memory_file_delete_name(struct memory_file *file, const char *name);
bpcn_status memory_file_forget(struct memory_file *file, double beta);
bpcn_status memory_file_discount(struct memory_file *file, double beta);

/* The name of the recalled row; "" for none. */
bpcn_status memory_file_name(const struct memory_file *file, const bpcn_read_info *info, char name[NAME_ROOM]);

/* All names, to be freed by the caller; those of a folder file by file. NULL after a failure. */
bpcn_name *memory_file_names(const struct memory_file *file, size_t *count);

/* 0 .. 1 (memory_fullness); negative after a failure. */
double memory_file_fullness(const struct memory_file *file);

/* info [n] of the rows written, and how many those are, also after a failure. known [n x dim], or NULL: everything.
   names: n of them in NAME_ROOM bytes each, "" for none; or NULL. */
bpcn_status memory_file_write(struct memory_file *file, const float *x, const unsigned char *known, size_t n,
                              const char *names, bpcn_write_row *info, size_t *written);

/* The best number of rows for one call of memory_file_write: 1, or more if several machines write. */
size_t memory_file_write_most(const struct memory_file *file);

/* The library's memory; NULL after a message for a folder. */
const bpcn_memory *memory_file_memory(const struct memory_file *file);

/* ---- without opening it */

/* The description of a memory, without opening the memory itself. */
struct memory_head {
    bpcn_options options;
    bpcn_stats stats;
    struct memory_note note;
    uint64_t file_bytes;
    uint64_t file_most;   /* that it never exceeds, */
    uint64_t disk_most;   /* and what it takes of the disk while its log is folded */
    uint64_t *rows;       /* [options.shards], of which stats.shards have begun: in each; NULL from the header alone */
    size_t files;         /* of the folder; 0: it is a file */
    size_t pairs;         /* of centre and scale of the data: 0, 1 or one for each entry */
    int settled;          /* they will not change any more */
    double centre, scale; /* the first */
};
void memory_head_free(struct memory_head *head);

/* By the file's header alone, at once: counts as of the last checkpoint, no fields, no fullness. A folder is opened. */
int memory_file_header(const struct console *console, const char *path, struct memory_head *head);

/* By opening it, the log included. */
int memory_file_head(const struct console *console, const char *path, struct memory_head *head);

/* Whether the path is, or in bpcn-mpi is to be, a folder of memory files. */
bool memory_file_is_folder(const char *path);

/* ---- errors */

/* Says the library's sentence, with the file's name before it, and what to do. The status to exit with. */
int memory_file_refuse(const struct console *console, const char *path, bpcn_status status);
int memory_file_error(const struct memory_file *file, bpcn_status status);

#endif
