/* A memory file as the commands see it: the memory, what its rows mean, and how full it was found.
   Every function that fails has said why. */
#ifndef BPCN_CLI_MEMFILE_H
#define BPCN_CLI_MEMFILE_H

#include "bayespcn.h"
#include "fields.h"
#include "say.h"

/* What the program keeps in the file's note, next to the memory itself. */
struct remark {
    struct fields fields;
    double fullness;   /* 0 .. 1, measured after the write numbered `measured`; negative: never */
    size_t probes;     /* written rows that were asked for again then */
    size_t recalled;   /* how many of them came back */
    uint64_t measured; /* writes at that time */
};

/* Text of a remark and back. A text without fields means one field of dim entries. */
void remark_format(const struct remark *remark, char *out, size_t room);
int remark_parse(const char *text, size_t dim, struct remark *remark);

/* What a command wants with the file. */
enum purpose {
    TO_LOOK,  /* the memory as the file has it now */
    TO_CHANGE /* every finished write, forget and delete goes to the file at once */
};

struct memfile {
    const struct say *say;
    const char *path;
    bpcn_memory *memory;
    struct remark remark;
    double synced; /* when last, in seconds */
};

/* A new file that holds an empty memory; replaces an old one only with force. */
int memfile_create(const struct say *say, const char *path, const bpcn_options *options, const struct fields *fields,
                   bool force);

/* A new file from a memory made elsewhere, which is freed. */
int memfile_adopt(const struct say *say, const char *path, bpcn_memory *memory, const struct fields *fields,
                  bool force);

int memfile_open(const struct say *say, const char *path, enum purpose purpose, struct memfile *file);

/* Makes sure that everything so far, the remark too, is on disk. */
int memfile_commit(struct memfile *file);

/* Between rows: makes changes durable now and then, so that little is lost when power fails. */
int memfile_breathe(struct memfile *file);

void memfile_close(struct memfile *file);

/* About a memory file, for those who do not want the memory itself. */
struct memhead {
    bpcn_options options;
    bpcn_stats stats;
    struct remark remark;
    uint64_t file_bytes;
    uint64_t *rows; /* [stats.shards]: in each shard that has begun; NULL from the header alone */
};
void memhead_free(struct memhead *head);

/* By the file's header alone, at once: counts as of the last checkpoint, no fields, no fullness. */
int memfile_header(const struct say *say, const char *path, struct memhead *head);

/* By opening it, the log included. */
int memfile_head(const struct say *say, const char *path, struct memhead *head);

/* Verifies everything, printing what is wrong and where; EXIT_DAMAGED when something is. */
int memfile_check(const struct say *say, const char *path);

/* An error of the library as a message that begins with the file. */
int memfile_error(const struct memfile *file);

#endif
