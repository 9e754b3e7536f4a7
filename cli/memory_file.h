/* A memory as the commands see it, in a file or in a folder of files: what its rows mean, how full it was found, and
   what is done with it. Every function that fails and returns an int has said why.

   In bpcn-mpi what is done with a memory is done by all ranks (parts.h). Commands that are in both programs touch an
   open memory through these functions alone. */
#ifndef BPCN_CLI_MEMORY_FILE_H
#define BPCN_CLI_MEMORY_FILE_H

#include "bayespcn.h"
#include "console.h"
#include "table_schema.h"


/* What the program keeps in the file's note, next to the memory itself. */
struct remark {
    fmt_schema fields; /* what a row is */
    double fullness;   /* 0 .. 1, measured after the write numbered `measured`; negative: never */
    size_t probes;     /* written rows that were asked for again then */
    size_t recalled;   /* how many of them came back */
    double scale;      /* root mean square of their values; 0: not known */
    uint64_t measured; /* writes at that time */
    bpcn_trials trials;
};

enum { NOTE_MOST = BPCN_MAX_NOTE };

/* Text of a remark and back; -1 when it does not fit or makes no sense. A text without a schema means one vector of dim
   entries. Free the schema of what was parsed. */
int remark_format(const struct remark *remark, char *out, size_t room);
int remark_parse(const char *text, size_t dim, struct remark *remark);

/* What a command wants with the file. */
enum purpose {
    TO_LOOK,  /* the memory as the file has it now */
    TO_CHANGE /* every finished write, forget and delete goes to the file at once */
};

struct memfile {
    const struct say *say;
    const char *path;
    struct remark remark;
    double synced; /* when last, in seconds */
    struct folder *folder;
};

/* A new, empty memory: a folder of so many files; 0: one file, or in bpcn-mpi a folder of as many as there are ranks.
   Replaces an old one only with force. */
int memfile_create(const struct say *say, const char *path, const bpcn_options *options, const fmt_schema *fields,
                   bool force, size_t files);

/* A new file from a memory made elsewhere, which is freed. */
int memfile_adopt(const struct say *say, const char *path, bpcn_memory *memory, const fmt_schema *fields, bool force);

int memfile_open(const struct say *say, const char *path, enum purpose purpose, struct memfile *file);

/* What a crash left at the end of a file, once a run. */
void memfile_tell_dropped(const struct say *say, const char *path, uint64_t bytes, uint64_t rows);

/* That one of its seals is no longer one, once a run. */
void memfile_tell_seal(const struct say *say, const char *path, uint64_t torn);

/* Makes sure that everything so far, the remark too, is on disk. */
int memfile_commit(struct memfile *file);

/* The same without the remark. */
int memfile_sync(struct memfile *file);

/* Between rows: makes changes durable now and then, so that little is lost when power fails. */
int memfile_breathe(struct memfile *file);

void memfile_close(struct memfile *file);

/* ---- what is done with an open memory: the library's functions of these names. Of a read, out may be NULL. Samples
   are taken in bpcn alone; those of a folder are others than those of one file with the same shards */
bpcn_status memfile_options(const struct memfile *file, bpcn_options *options);
bpcn_status memfile_stats(const struct memfile *file, bpcn_stats *stats);
bpcn_status memfile_read(const struct memfile *file, const float *query, const unsigned char *known, size_t n,
                         const bpcn_read_options *options, float *out, bpcn_read_info *info);
/* typicality [n] of rows; -1 where the memory does not keep what it takes, as folders do not. */
bpcn_status memfile_typicality(const struct memfile *file, const float *x, const unsigned char *known, size_t n,
                               double *typicality);
bpcn_status memfile_sample(const struct memfile *file, size_t n, uint64_t draw, float *out);
bpcn_status memfile_delete(struct memfile *file, const float *x);
bpcn_status memfile_forget(struct memfile *file, double beta);
bpcn_status memfile_discount(struct memfile *file, double beta);
bpcn_status memfile_delete_name(struct memfile *file, const char *name);

/* The name that an answer has; "" for none. */
bpcn_status memfile_name(const struct memfile *file, const bpcn_read_info *info, char name[NAME_ROOM]);

/* Those that are kept, to be freed; of a folder file by file. NULL after a failure. */
bpcn_name *memfile_names(const struct memfile *file, size_t *count);

double memfile_fullness(const struct memfile *file);

/* info [n] of the rows written, and how many those are, also after a failure. known [n x dim], or NULL: everything.
   names: n of them in NAME_ROOM bytes each, "" for none; or NULL. */
bpcn_status memfile_write(struct memfile *file, const float *x, const unsigned char *known, size_t n, const char *names,
                          bpcn_write_row *info, size_t *written);

/* Rows that are best given to it at once, 1 or more: then several machines write. */
size_t memfile_write_most(const struct memfile *file);

/* What was wrong with the last of these that failed. */
const char *memfile_why(const struct memfile *file);

/* The library's memory; NULL, having said so, of a folder. */
const bpcn_memory *memfile_memory(const struct memfile *file);

/* ---- without opening it */

/* About a memory, for those who do not want the memory itself. */
struct memhead {
    bpcn_options options;
    bpcn_stats stats;
    struct remark remark;
    uint64_t file_bytes;
    uint64_t file_most; /* that it never exceeds, */
    uint64_t disk_most; /* and what it takes of the disk while its log is folded */
    uint64_t *rows;     /* [options.shards], of which stats.shards have begun: in each; NULL from the header alone */
    size_t files;       /* of the folder; 0: it is a file */
};
void memhead_free(struct memhead *head);

/* By the file's header alone, at once: counts as of the last checkpoint, no fields, no fullness. A folder is opened. */
int memfile_header(const struct say *say, const char *path, struct memhead *head);

/* By opening it, the log included. */
int memfile_head(const struct say *say, const char *path, struct memhead *head);

/* Whether the path is, or under MPI is to be, a folder of memory files. */
bool memfile_is_folder(const char *path);

/* The library's last sentence, as a message that begins with the file. */
int memfile_refuse(const struct say *say, const char *path, bpcn_status status);

/* An error of the library as a message that begins with the file. */
int memfile_error(const struct memfile *file);

#endif
